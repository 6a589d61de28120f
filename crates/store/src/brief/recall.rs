//! Makes a brief: reads what the project's sessions left, and lets `recall` decide what to tell.

use std::cmp::Reverse;
use std::collections::HashSet;
use std::path::Path;

use cerberus_recall::brief::ledger::TestsPassed;
use cerberus_recall::brief::rank::SessionWork;
use cerberus_recall::brief::stopped::{Quotable, WorkDone};
use cerberus_recall::brief::{
    self, AlreadyKnown, Brief, BriefRequest, EndRoom, GuideRule, LastWork, LiveSession, MemoryItem, PromptPosition,
    TeamFact, failing, ledger, live,
};
use cerberus_recall::moments::rules;
use cerberus_recall::summary::read_stored;
use cerberus_recall::summary::render::{self, Format, SummaryInput};
use cerberus_record::event::StartSource;
use cerberus_record::fact::FactKind;
use cerberus_record::id::SessionId;
use cerberus_record::map::FastSet;
use cerberus_record::ours::SUMMARY_TITLE;
use cerberus_record::seed::expiry;
use cerberus_record::session::{CARRY_OVER, SessionStatus};
use cerberus_record::time::Timestamp;

use crate::brief::question::{INTRODUCED_MIN, Question};
use crate::brief::subject::View;
use crate::brief::survey::{self, Survey};
use crate::brief::{limit, lines, merged, notes, remember, work};
use crate::project::guides;
use crate::project::identity::{self, Located};
use crate::same_project::joined::JoinedProject;
use crate::sessions::find::{Recent, is_running};
use crate::view::{self, Asks, CarriedFacts, FactFilter, SessionRow, Store, SummaryRow};

/// The topic of a session is taken from this many of its last prompts.
const PROMPTS_MAX: usize = 20;

#[derive(Debug)]
pub struct Briefing {
    pub project: String,
    pub brief: Brief,
    /// The newest session in the brief.
    pub session_id: Option<SessionId>,
    pub expires_at: Option<Timestamp>,
    /// The summary of the last working session, if the brief includes it.
    pub summary: Option<SummarizedSession>,
    /// The sessions that may be quoted, each with how many of its requests were read.
    pub read: Vec<(SessionRow, usize)>,
}

/// A summary and its session.
#[derive(Debug)]
pub struct SummarizedSession {
    pub session: SessionId,
    pub row: SummaryRow,
}

/// Makes a brief. `recent` is what was read of the project already, if anything was.
pub fn brief(store: &Store, located: &Located, question: &Question, recent: Option<Recent>) -> view::Result<Briefing> {
    let now = question.now;
    let mut recent = recent.map_or_else(|| Recent::read(store, located, now), Ok)?;
    // A session stays with its project, even if its agent has moved to another folder.
    let elsewhere = question.session.filter(|session| !recent.joined.has(&session.project));
    let home_project = elsewhere.map(|session| identity::locate(Path::new(&session.root)));
    if let Some(home_project) = &home_project {
        recent = Recent::read(store, home_project, now)?;
    }
    let located = home_project.as_ref().unwrap_or(located);
    let rules = restated(located, question);
    let question = &question.beside(&rules);
    let Recent { joined, mut sessions, carried } = recent;
    let known = already_known(store, &sessions, question)?;
    let is_fresh = question.is_fresh();
    let outside = store.edits_from_outside(&located.root.to_string_lossy(), now.minus(CARRY_OVER), now)?;
    if is_fresh && question.reminder && outside.is_empty() && has_nothing(store, &sessions, question)? {
        return reminder(&View { store, located, joined: &joined, now }, question);
    }
    sessions.retain(|session| session.state.status.carries_over());
    let Gathered { mut carried, history, worked, at_work, checked } =
        gathered(store, &joined, &sessions, carried, outside, question)?;
    // A fresh session knows what it was asked itself.
    let is_live = |session: &SessionRow| at_work.iter().any(|live| live.session == session.id);
    let is_quoted = |session: &&SessionRow| !(is_fresh && question.is_from(session) || is_live(session));
    let view = View { store, located, joined: &joined, now };
    let mut quoted: Vec<SessionRow> = sessions.iter().filter(is_quoted).cloned().collect();
    let earlier = work::earlier(&view, &carried, &history, &quoted, question)?;
    quoted.extend(earlier.clone());
    let (memories, left_out) = remember::for_brief(&view, &carried, question)?;
    let mut survey = match carried.facts.is_empty() && earlier.is_none() {
        true => Survey::default(),
        false => survey::survey(&view, history, &mut carried, &sessions, question.prompt, question.is_past)?,
    };
    let tested = |passed| merged::tested(&view, passed, &sessions, &survey.tracked);
    survey.likely.ledger.checked = if question.is_past { checked } else { checked.map(tested) };
    live::leave_out_files(&at_work, &mut carried.facts, &mut survey.likely);
    survey.likely.lines = lines::edited_last(&view, &mut carried, &sessions, question.is_past)?;
    let continued = continued(store, &quoted, question)?;
    let turns = work::turns(&view, &quoted, &carried, continued, earlier.as_ref())?;
    let summary = last_summary(store, &sessions, question)?;
    let request = BriefRequest {
        project: &located.name,
        facts: &carried.facts,
        settlements: &carried.settlements,
        likely: &survey.likely,
        now,
        budget_tokens: question.tokens_after(&memories),
        chars_max: question.chars_after(&memories),
        prompt: question.prompt,
        memories: &memories,
        known: known.as_ref(),
        turns: &turns,
        live: &at_work,
        worked: &worked,
    };
    let brief = composed(&request, summary.as_ref(), question);
    let newest = newest_told(&brief, &quoted, &turns, continued);
    let room = EndRoom { budget_tokens: request.budget_tokens, chars_max: request.chars_max, now };
    let brief = with_others(&view, brief, &memories, question, known.as_ref(), &room)?;
    let brief = with_summary(brief, summary.as_ref(), question, &request);
    let brief = brief.after(memories, left_out).restating(rules).introduced(question.first_line());
    let session_id = newest.map(|session| session.id.clone());
    let expires_at = newest.map(|session| expiry(session.last_activity)).filter(|at| *at > now);
    let summary = summary.filter(|_| brief.text.contains(SUMMARY_TITLE));
    let read = work::read(quoted, &turns);
    let briefing = Briefing { project: located.name.clone(), session_id, expires_at, summary, brief, read };
    store.free((survey, carried, sessions, turns));
    Ok(briefing)
}

/// Whether nobody but the session that asks was here, and it has left nothing: it may ask again later.
fn has_nothing(store: &Store, sessions: &[SessionRow], question: &Question) -> view::Result<bool> {
    let is_alone = sessions.iter().all(|session| question.is_from(session));
    Ok(is_alone && store.carried(sessions, FactFilter::NoFiles, question.now)?.facts.is_empty())
}

fn composed(request: &BriefRequest, summary: Option<&SummarizedSession>, question: &Question) -> Brief {
    match summary {
        Some(summary) if question.format == Format::Summary => render::compose(request, &summary.row.text),
        _ => brief::compose(request),
    }
}

/// Adds the summary, if it is told before the codes.
fn with_summary(
    brief: Brief,
    summary: Option<&SummarizedSession>,
    question: &Question,
    request: &BriefRequest,
) -> Brief {
    let Some(summary) = summary.filter(|_| question.format == Format::Both) else { return brief };
    let budget_tokens = question.tokens_with_summary(request.memories);
    let BriefRequest { project, chars_max, .. } = *request;
    render::before(brief, &SummaryInput { project, text: &summary.row.text, budget_tokens, chars_max })
}

/// What a session whose context was compacted is told again of the instructions that it once read.
fn restated(located: &Located, question: &Question) -> Vec<GuideRule> {
    if question.source != StartSource::Compact || question.budget.both_tokens < INTRODUCED_MIN + rules::TOKENS_MAX {
        return Vec::new();
    }
    let guides = guides::read(located, question.folders, |_| false);
    rules::restated(guides.iter().map(|guide| (guide.name.as_str(), guide.text.as_str())))
}

/// What sessions of a project left, without what those that are at work have not finished.
struct Gathered {
    carried: CarriedFacts,
    history: Vec<SessionWork>,
    worked: Vec<LastWork>,
    at_work: Vec<LiveSession>,
    checked: Option<TestsPassed>,
}

fn gathered(
    store: &Store,
    joined: &JoinedProject,
    sessions: &[SessionRow],
    carried: Option<CarriedFacts>,
    outside: Vec<SessionWork>,
    question: &Question,
) -> view::Result<Gathered> {
    let now = question.now;
    let mut at_work = live_sessions(store, sessions, question)?;
    let mut history = store.history(&joined.ids, question.asks(), now)?;
    let mut carried = carried.map_or_else(|| store.carried(sessions, FactFilter::NoFiles, now), Ok)?;
    let visitors: Vec<SessionId> = outside.iter().map(|work| work.session.clone()).collect();
    add_work(&mut history, outside);
    carried.add_files(&history, &sessions.iter().map(|session| &session.id).chain(&visitors).collect(), |_| true);
    let runs = store.runs(sessions, now)?;
    let checked = ledger::checked(&runs, &carried.facts);
    carried.add(failing::blockers(&runs, &carried.facts));
    live::take_work(&mut at_work, &mut history);
    live::leave_out_facts(&at_work, &mut carried.facts);
    Ok(Gathered { carried, worked: work::worked(&history), history, at_work, checked })
}

/// Adds work to that of the project's own sessions, the last edited first.
fn add_work(history: &mut Vec<SessionWork>, more: Vec<SessionWork>) {
    if more.is_empty() {
        return;
    }
    for work in more {
        match history.iter_mut().find(|known| known.session == work.session) {
            Some(known) => known.touched.extend(work.touched),
            None => history.push(work),
        }
    }
    let last_at = |work: &SessionWork| work.touched.iter().map(|touched| touched.last_at).max();
    history.sort_by_cached_key(|work| std::cmp::Reverse(last_at(work)));
}

/// The newest session that a line comes from. A question in between is not what goes on.
fn newest_told<'a>(
    brief: &Brief,
    sessions: &'a [SessionRow],
    turns: &[Quotable],
    continued: Option<i64>,
) -> Option<&'a SessionRow> {
    let mut told: HashSet<&SessionId> = brief.items.iter().filter_map(|item| item.session.as_ref()).collect();
    turns.iter().filter(|turn| turn.part == WorkDone::Idle).for_each(|turn| _ = told.remove(&turn.session));
    let order = |session: &&SessionRow| (Some(session.row) == continued, session.last_activity, session.row);
    sessions.iter().filter(|session| told.contains(&session.id)).max_by_key(order)
}

/// Adds what other agents noted and what teammates have open.
fn with_others(
    view: &View,
    brief: Brief,
    memories: &[MemoryItem],
    question: &Question,
    known: Option<&AlreadyKnown>,
    room: &EndRoom,
) -> view::Result<Brief> {
    let brief = match notes::of_others(view, memories, question)? {
        Some((notes, said)) => brief.with_notes(&view.located.name, &notes, said, known, room),
        None => brief,
    };
    let facts = view.store.team_facts(&view.joined.ids, view.now)?;
    let facts: Vec<TeamFact> = facts.into_iter().map(|(_, fact)| fact).collect();
    Ok(brief.with_team(&view.located.name, &facts, known, room))
}

/// The summary of the session that changed something last, if it was written after the session's last fact. Otherwise
/// the codes are more current. A resumed session gets codes, because it knows the rest.
fn last_summary(
    store: &Store,
    sessions: &[SessionRow],
    question: &Question,
) -> view::Result<Option<SummarizedSession>> {
    if question.format == Format::Codes || !question.is_fresh() {
        return Ok(None);
    }
    let others = sessions.iter().filter(|session| question.session.is_none_or(|own| own.row != session.row));
    let mut others: Vec<&SessionRow> = others.collect();
    others.sort_by_key(|session| std::cmp::Reverse((session.last_activity, session.row)));
    let mut last: Option<(&SessionRow, Timestamp)> = None;
    for session in others {
        let facts = store.carried(std::slice::from_ref(session), FactFilter::All, question.now)?.facts;
        let Some(newest) = facts.iter().map(|known| known.at).max() else { continue };
        // A note of the user is not work that a summary would have to cover.
        let worked = facts.iter().any(|known| matches!(known.fact.kind, FactKind::File | FactKind::Function));
        if worked || last.is_none() {
            last = Some((session, newest));
        }
        if worked {
            break;
        }
    }
    let Some((session, newest)) = last else { return Ok(None) };
    let row = store.summary(session, question.now)?.filter(|row| row.at >= newest);
    let told =
        row.and_then(|row| Some(SummaryRow { text: read_stored(store.cleaner(), &row.text)?.to_string(), ..row }));
    Ok(told.map(|row| SummarizedSession { session: session.id.clone(), row }))
}

/// What a prompt makes relevant and its session was not told yet, in addition to these memories. `history` is what all
/// sessions did, if somebody has read it.
pub fn on_prompt(
    view: &View,
    session: &SessionRow,
    prompt: &str,
    budget_tokens: usize,
    memories: &[MemoryItem],
    history: Option<Vec<SessionWork>>,
) -> view::Result<Brief> {
    let mut sessions = view.store.newest_sessions(&view.joined.ids, view.now.minus(CARRY_OVER), view.now)?;
    sessions.retain(|session| session.state.status.carries_over());
    // Only files whose names are mentioned are told, so it does not matter where similar prompts led.
    let mut history = history.map_or_else(|| view.store.history(&view.joined.ids, Asks::Nothing, view.now), Ok)?;
    history.iter_mut().flat_map(|work| &mut work.prompts).for_each(|prompt| prompt.terms.clear());
    let mut carried = view.store.carried(&sessions, FactFilter::Words, view.now)?;
    carried.facts.retain(|known| known.session != session.id);
    let others: FastSet<&SessionId> = sessions.iter().map(|other| &other.id).filter(|id| **id != session.id).collect();
    if carried.facts.is_empty() && !history.iter().any(|worked| others.contains(&worked.session)) {
        return Ok(Brief::default());
    }
    let worked = work::worked(&history);
    let survey = survey::for_prompt(view, history, &mut carried, &sessions, prompt)?;
    let own = survey.sessions.iter().filter(|worked| worked.session == session.id);
    let mut known = AlreadyKnown {
        shown_codes: view.store.told_codes(session, view.now)?.into_iter().collect(),
        ..AlreadyKnown::default()
    };
    known.own_sessions.insert(session.id.clone());
    known.own_files = own.flat_map(|worked| &worked.touched).map(|touched| touched.path.clone()).collect();
    let prompted = match view.store.prompt_count(session, view.now)? {
        0 | 1 => PromptPosition::First,
        _ => PromptPosition::later(prompt, &view.store.prompts_before(session, PROMPTS_MAX, view.now)?, &known),
    };
    let asked = || brief::asked_files(&survey.likely.files, prompted, &known);
    let asked: FastSet<&str> = asked().map(|ranked| ranked.path.as_str()).collect();
    carried.add_files(&survey.sessions, &others, |path| asked.contains(path));
    let request = BriefRequest {
        project: &view.located.name,
        facts: &carried.facts,
        settlements: &carried.settlements,
        likely: &survey.likely,
        now: view.now,
        budget_tokens,
        chars_max: usize::MAX,
        prompt: Some(prompt),
        memories,
        known: Some(&known),
        turns: &[],
        live: &[],
        worked: &worked,
    };
    let brief = brief::on_prompt(&request, prompt, prompted, &known);
    view.store.free((survey, carried, sessions));
    Ok(brief)
}

/// What the asking session's context already contains. A fresh or emptied context contains nothing.
fn already_known(store: &Store, sessions: &[SessionRow], question: &Question) -> view::Result<Option<AlreadyKnown>> {
    let newest = sessions.iter().max_by_key(|session| (session.last_activity, session.row));
    let own = question.session.or(newest);
    let lineage: Vec<&SessionRow> = match question.source {
        StartSource::Startup | StartSource::Clear | StartSource::Compact => return Ok(None),
        StartSource::Resume => own.into_iter().collect(),
        StartSource::Fork => own.into_iter().chain(question.session.and_then(|own| parent(sessions, own))).collect(),
    };
    let mut known = AlreadyKnown::default();
    for session in lineage {
        known.shown_codes.extend(store.told_codes(session, question.now)?);
        known.own_sessions.insert(session.id.clone());
    }
    Ok(Some(known))
}

/// The agent does not say which session was forked, so take the last active one of this agent in this folder.
fn parent<'a>(sessions: &'a [SessionRow], forked: &SessionRow) -> Option<&'a SessionRow> {
    let candidates = sessions.iter().filter(|other| {
        other.row != forked.row
            && other.agent == forked.agent
            && other.cwd == forked.cwd
            && other.started_at <= forked.started_at
    });
    candidates.max_by_key(|other| (other.last_activity, other.row))
}

/// After a long pause nothing carries over, but the brief still says when the last work was, where it stopped, what
/// git says and which files are likely to be next; memories as usual.
fn reminder(view: &View, question: &Question) -> view::Result<Briefing> {
    let mut sessions = view.store.newest_sessions(&view.joined.ids, Timestamp::EPOCH, view.now)?;
    sessions.retain(|session| session.state.status != SessionStatus::Completed && !question.is_from(session));
    let mut newest: Vec<&SessionRow> = sessions.iter().collect();
    newest.sort_by_key(|session| Reverse((session.last_activity, session.row)));
    let last_turn = view.store.turns(&newest, |_| Ok(WorkDone::Talk), view.now)?.pop();
    sessions.retain(|session| last_turn.as_ref().is_some_and(|turn| turn.session == session.id));
    let mut carried = view.store.carried(&sessions, FactFilter::Words, view.now)?;
    let (memories, dropped) = remember::for_brief(view, &CarriedFacts::default(), question)?;
    let room = EndRoom {
        budget_tokens: question.tokens_after(&memories),
        chars_max: question.chars_after(&memories),
        now: view.now,
    };
    let brief = match &last_turn {
        None => Brief::default(),
        Some(turn) => {
            let history = view.store.history(&view.joined.ids, question.asks(), view.now)?;
            let survey = survey::survey(view, history, &mut carried, &sessions, question.prompt, question.is_past)?;
            brief::remind(&view.located.name, turn, &survey.likely, &carried.facts, &room)
        }
    };
    let session_id = last_turn.map(|turn| turn.session).filter(|_| !brief.text.is_empty());
    let brief = with_others(view, brief, &memories, question, None, &room)?;
    Ok(Briefing {
        project: view.located.name.clone(),
        session_id,
        expires_at: None,
        summary: None,
        brief: brief.after(memories, dropped).introduced(question.first_line()),
        read: Vec::new(),
    })
}

/// More sessions at once are not read: a client may leave many behind in one process.
const LIVE_READ_MAX: usize = 16;

/// Whether both run in the same process.
fn shares_window(session: &SessionRow, other: &SessionRow) -> bool {
    session.process.is_some() && session.process == other.process
}

/// The row of the session whose conversation goes on although its context was emptied. Others may have been active since.
fn continued(store: &Store, sessions: &[SessionRow], question: &Question) -> view::Result<Option<i64>> {
    let Some(asking) = question.session else { return Ok(None) };
    match question.source {
        StartSource::Compact => Ok(Some(asking.row)),
        StartSource::Clear => {
            let is_before = |session: &&SessionRow| session.row != asking.row && shares_window(session, asking);
            let mut before: Vec<&SessionRow> = sessions.iter().filter(is_before).collect();
            before.sort_by_key(|session| Reverse((session.last_activity, session.row)));
            for session in before {
                if store.prompt_count(session, question.now)? > 0 {
                    return Ok(Some(session.row));
                }
            }
            Ok(None)
        }
        StartSource::Startup | StartSource::Resume | StartSource::Fork => Ok(None),
    }
}

/// The sessions that are in the middle of a turn in another window than the one that asks: what they say is not finished.
/// Whoever asks from outside is told of all alike.
fn live_sessions(store: &Store, sessions: &[SessionRow], question: &Question) -> view::Result<Vec<LiveSession>> {
    let mut found = Vec::new();
    // Everything includes what is not finished.
    if question.budget.session_tokens == usize::MAX {
        return Ok(found);
    }
    let Some(asking) = question.session else { return Ok(found) };
    // What was cut off in this window before its context was emptied is not at work.
    let is_here = |session: &SessionRow| question.source != StartSource::Startup && shares_window(session, asking);
    // A fork goes on with the conversation of its parent. So does an emptied context, whose window may be unknown.
    let goes_on = match question.source {
        StartSource::Fork => true,
        StartSource::Clear => asking.process.is_none(),
        StartSource::Startup | StartSource::Resume | StartSource::Compact => false,
    };
    let parent = Some(asking).filter(|_| goes_on).and_then(|own| parent(sessions, own));
    let is_parent = |session: &SessionRow| parent.is_some_and(|parent| parent.row == session.row);
    let is_meant = |session: &&SessionRow| !question.is_from(session) && !is_here(session) && !is_parent(session);
    let others = sessions.iter().filter(is_meant).filter(|session| is_running(session, question.now));
    for session in others.take(LIVE_READ_MAX) {
        let Some(prompt) = store.unanswered_prompt(session, question.now)? else { continue };
        if !question.is_past && limit::was_interrupted(session) {
            continue;
        }
        let (id, agent) = (session.id.clone(), session.agent.clone());
        found.push(LiveSession { session: id, agent, last_activity: session.last_activity, prompt, files: Vec::new() });
    }
    Ok(found)
}
