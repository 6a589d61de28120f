//! What a hook does besides capturing: a session's start gets its brief, a prompt gets what it makes relevant, a
//! failed command what helped before, and at a session's end corrections become proposals.

use cerberus_agents::host::{Occasion, ReplyLimits};
use cerberus_agents::install::Surroundings;
use cerberus_agents::meter::{redline_notice, windows};
use cerberus_agents::stream::StreamEvent;
use cerberus_os::clock::Clock;
use cerberus_os::home::Home;
use cerberus_recall::brief::memories::BOTH_TOKENS;
use cerberus_recall::brief::{Brief, BriefLine, CHARS_MAX};
use cerberus_recall::moments::rules;
use cerberus_record::clean::text::Keep;
use cerberus_record::event::{Event, FailedCommand, Record, StartSource};
use cerberus_record::session::SessionStatus;
use cerberus_text::tokens;

use crate::brief::question::{Budget, Question};
use crate::brief::subject::View;
use crate::brief::{learn, limit, recall, remember, survey};
use crate::capability::{Capabilities, CapabilityError};
use crate::config::{self, Config, ConfigError};
use crate::hook::capture::{PendingAnswer, Trigger};
use crate::hook::notice;
use crate::import::ending;
use crate::journal::{self, JournalError, own_record};
use crate::memory::change::MemoryWriter;
use crate::memory::{distill, notes};
use crate::moments::past::{self, PastTold};
use crate::moments::seen::{self, Told};
use crate::moments::{edit, live};
use crate::project::guides::UserFolders;
use crate::same_project::joined::joined;
use crate::same_project::repository::{self, Effort};
use crate::sessions::find::Recent;
use crate::sessions::upkeep::{Upkeep, UpkeepOccasion};
use crate::sessions::{caller, recover, shell_edits, unreported};
use crate::summary::detached;
use crate::view::fold::{self, FoldError};
use crate::view::recorder::Recorder;
use crate::view::{Caller, SessionRow, Store, StoreError};

/// At the end of a session, this many are learned from. More wait only after an import, or if their agent reports no end.
const LEARNED_MAX: usize = 8;

#[derive(Debug, thiserror::Error)]
pub enum AnswerError {
    #[error(transparent)]
    Config(#[from] ConfigError),
    #[error(transparent)]
    Journal(#[from] JournalError),
    #[error(transparent)]
    Fold(#[from] FoldError),
    #[error(transparent)]
    Store(#[from] StoreError),
    #[error("{0}")]
    Capability(CapabilityError),
}

/// What the host passes to the model, and the receipt for it.
#[derive(Debug)]
pub struct HookAnswer {
    pub reply: String,
    pub(super) receipt: Record<'static>,
}

/// What to tell now; `None` if there is nothing, or another hook told it.
pub fn answer(
    home: &Home,
    clock: &Clock,
    folders: &UserFolders,
    surroundings: &Surroundings,
    pending: &PendingAnswer,
    capabilities: Capabilities,
) -> Result<Option<HookAnswer>, AnswerError> {
    match &pending.trigger {
        Trigger::Start(source) => at_start(home, clock, folders, surroundings, pending, *source, capabilities),
        Trigger::Prompt(text) => on_prompt(home, clock, folders, surroundings, pending, text, capabilities),
        Trigger::Failed(failure) => on_failure(home, clock, pending, failure),
        Trigger::Stop | Trigger::CutOff => {
            let mut store = fold::open_in_hook(home)?;
            if let Some(session) = store.agent_session(pending.agent, &pending.session, clock.now)? {
                let mut recorder = Recorder::journal(home, clock, &mut store);
                shell_edits::record(&mut recorder, &pending.located, &session)?;
                unreported::record_words(&mut recorder, surroundings, &session)?;
            }
            store.close();
            Ok(None)
        }
        Trigger::End => {
            let mut store = fold::open_in_hook(home)?;
            if !pending.is_echo(home, clock, &store)? {
                let ended = store.agent_session(pending.agent, &pending.session, clock.now)?;
                if let Some(ended) = &ended {
                    let mut recorder = Recorder::journal(home, clock, &mut store);
                    // A turn that was interrupted has not ended.
                    if recorder.store().unanswered_prompt(ended, clock.now)?.is_some() {
                        shell_edits::record(&mut recorder, &pending.located, ended)?;
                    }
                    recover::complete_ended(&mut recorder, surroundings, ended)?;
                    unreported::record(&mut recorder, surroundings, ended)?;
                    notes::record(&mut recorder, surroundings, ended)?;
                }
                distill::distill(&MemoryWriter { home, clock, located: &pending.located }, surroundings, &mut store)?;
                if config::load(home)?.summary.provider.is_some() {
                    detached::start_each(home, clock, ended.iter());
                }
                let joined = joined(&store, &pending.located, clock.now)?;
                store.make_digests(&joined.ids);
                let view = View { store: &store, located: &pending.located, joined: &joined, now: clock.now };
                survey::ask_ahead(&view)?;
                repository::record_changes(home, clock, &mut store, &pending.located, Effort::WithGit)?;
                if ended.as_ref().is_some_and(|ended| ending::is_kept(surroundings, ended)) {
                    capabilities.iter().for_each(|capability| capability.after_turn(home, clock));
                }
                capabilities.iter().for_each(|capability| capability.after_end(home, clock));
                // Takes longest, so it comes after what others need.
                learn::learn(home, clock, &mut store, &pending.located, LEARNED_MAX)?;
                store.checkpoint_at_end();
            }
            Ok(None)
        }
    }
}

fn at_start(
    home: &Home,
    clock: &Clock,
    folders: &UserFolders,
    surroundings: &Surroundings,
    pending: &PendingAnswer,
    source: StartSource,
    capabilities: Capabilities,
) -> Result<Option<HookAnswer>, AnswerError> {
    let config = config::load(home)?;
    let mut store = fold::open_in_hook(home)?;
    if pending.is_echo(home, clock, &store)? {
        return Ok(None);
    }
    let recent = Some(prepare(home, clock, surroundings, pending, &config, &mut store, capabilities)?);
    if pending.brief_occasion() == Occasion::Prompt {
        return Ok(None);
    }
    let session = store.agent_session(pending.agent, &pending.session, clock.now)?;
    let is_forgotten = cerberus_agents::profile(pending.agent).is_some_and(|profile| profile.forgets_when_resumed);
    let source = if is_forgotten && source == StartSource::Resume { StartSource::Startup } else { source };
    let asked =
        AskedBrief { occasion: Occasion::Start, source, prompt: None, session: session.as_ref(), recent, capabilities };
    let answer = start_brief(home, clock, folders, pending, &store, &config, asked)?;
    store.close();
    Ok(answer)
}

/// Brings everything up to date before a session is told about it: sessions that ended or crashed, and what they left.
/// Returns the recent sessions.
fn prepare(
    home: &Home,
    clock: &Clock,
    surroundings: &Surroundings,
    pending: &PendingAnswer,
    config: &Config,
    store: &mut Store,
    capabilities: Capabilities,
) -> Result<Recent, AnswerError> {
    // What an old view lacks may be recorded already.
    if store.is_behind() {
        return Ok(Recent::read(store, &pending.located, clock.now)?);
    }
    let upkeep = Upkeep { home, clock, surroundings, located: &pending.located, may_store: true };
    let swept = upkeep.run(store, UpkeepOccasion::SessionStart)?;
    // A session that goes on is told its own story.
    if let Some(session) = store.agent_session(pending.agent, &pending.session, clock.now)? {
        unreported::record(&mut Recorder::journal(home, clock, store), surroundings, &session)?;
    }
    let mut recent = Recent::read(store, &pending.located, clock.now)?;
    let mut recorder = Recorder::journal(home, clock, store);
    let is_completed = recover::complete_just_ended(&mut recorder, surroundings, &recent.sessions)?;
    let is_changed = recover::recover_project(&mut recorder, surroundings, &recent.sessions)? || is_completed;
    drop(recorder);
    if is_changed {
        capabilities.iter().for_each(|capability| capability.after_turn(home, clock));
    }
    if config.summary.provider.is_some() {
        let ended = swept.iter().filter(|session| session.state.status == SessionStatus::Ended);
        let recovered = recent.sessions.iter().filter(|session| session.state.status == SessionStatus::Crashed);
        detached::start_each(home, clock, ended.chain(recovered));
    }
    distill::distill(&MemoryWriter { home, clock, located: &pending.located }, surroundings, store)?;
    for capability in capabilities {
        capability.before_brief(home, store).map_err(AnswerError::Capability)?;
    }
    if is_changed {
        recent = Recent::read(store, &pending.located, clock.now)?;
    }
    store.make_digests(&recent.joined.ids);
    live::note_shared(home, store, &pending.located, (pending.agent, &pending.session), clock.now)?;
    let carried = recent.read_carried(store, clock.now)?;
    let view = View { store, located: &pending.located, joined: &recent.joined, now: clock.now };
    edit::note(home, &view, &recent.sessions, &carried)?;
    Ok(Recent { carried: Some(carried), ..recent })
}

/// What the brief of a session answers.
struct AskedBrief<'a> {
    occasion: Occasion,
    source: StartSource,
    prompt: Option<&'a str>,
    session: Option<&'a SessionRow>,
    /// What was read of the project already.
    recent: Option<Recent>,
    capabilities: Capabilities<'a>,
}

/// The brief of a session that has just begun.
fn start_brief(
    home: &Home,
    clock: &Clock,
    folders: &UserFolders,
    pending: &PendingAnswer,
    store: &Store,
    config: &Config,
    mut asked: AskedBrief,
) -> Result<Option<HookAnswer>, AnswerError> {
    let limits = cerberus_agents::profile(pending.agent).map_or(ReplyLimits::NONE, |profile| profile.limits);
    // One text is enough: the prompt is a handoff, and only rules are missing in it.
    let is_known = asked.source == StartSource::Startup && caller::has_handoff();
    let budget = Budget::of_session(if is_known { 0 } else { config.brief.session_tokens });
    let question = Question {
        now: clock.now,
        is_past: false,
        source: asked.source,
        budget: Budget { both_tokens: BOTH_TOKENS.min(limits.tokens_max), ..budget },
        chars_max: CHARS_MAX.min(limits.chars_max),
        prompt: asked.prompt,
        folders,
        format: config.summary.format(),
        reminder: config.brief.reminder,
        session: asked.session,
    };
    let briefing = recall::brief(store, &pending.located, &question, asked.recent.take())?;
    let notice = match (config.brief.notice, asked.source) {
        (false, _) => None,
        // The session goes on.
        (true, StartSource::Compact) => {
            notice::offered(store, &briefing.brief, asked.session, asked.capabilities, clock)?
        }
        (true, _) => notice::shown(store, &briefing, clock)?,
    };
    let brief = briefing.brief;
    let mut codes: Vec<String> = brief.items.iter().map(BriefLine::receipt_code).collect();
    // The lines of one agent's notes have the same.
    codes.dedup();
    codes.extend(rules::codes(&brief.rules));
    let event = receipt(home, Some(asked.source), codes, &brief, false);
    let answer = pending.reply(home, clock, asked.occasion, &brief.text, notice.as_deref(), event);
    Ok(answer)
}

fn on_prompt(
    home: &Home,
    clock: &Clock,
    folders: &UserFolders,
    surroundings: &Surroundings,
    pending: &PendingAnswer,
    prompt: &str,
    capabilities: Capabilities,
) -> Result<Option<HookAnswer>, AnswerError> {
    let mut store = fold::open_in_hook(home)?;
    if pending.is_echo(home, clock, &store)? {
        return Ok(None);
    }
    let Some(session) = store.agent_session(pending.agent, &pending.session, clock.now)? else { return Ok(None) };
    if pending.brief_occasion() == Occasion::Prompt {
        let (mut source, mut recent) = (store.recent_start(&session, clock.now)?, None);
        // Some versions of an agent report no start: the first prompt is one.
        if source.is_none() && store.begins_with_prompt(&session, clock.now)? {
            recent = Some(prepare(home, clock, surroundings, pending, &config::load(home)?, &mut store, capabilities)?);
            source = Some(StartSource::Startup);
        }
        if let Some(source) = source {
            let (prompt, session) = (Some(prompt), Some(&session));
            let asked = AskedBrief { occasion: Occasion::Prompt, source, prompt, session, recent, capabilities };
            return start_brief(home, clock, folders, pending, &store, &config::load(home)?, asked);
        }
    }
    let joined = joined(&store, &pending.located, clock.now)?;
    let view = View { store: &store, located: &pending.located, joined: &joined, now: clock.now };
    let items = remember::for_prompt(&view, &session, folders, prompt)?;
    let budget_tokens = Brief::tokens_after(&items, remember::PROMPT_TOKENS_MAX);
    let past = past_before_prompt(home, &view, &session, prompt)?;
    let relevant = recall::on_prompt(&view, &session, prompt, budget_tokens, &items, past.history)?;
    let mut codes: Vec<String> = relevant.items.iter().map(BriefLine::receipt_code).collect();
    let mut brief = relevant.after(items, Vec::new());
    for told in seen_before_prompt(home, clock, pending, &store, &session)?.into_iter().chain(past.lines) {
        brief.add_line(&told.text);
        codes.push(told.code);
    }
    let events = limit::ending_events(&session);
    let limited = match limit::notice(&events, &session) {
        Some(notice) if config::load(home)?.brief.notice => Some(notice),
        _ => None,
    };
    // One notice is enough; the redline is told with a later prompt.
    let crossed = match limited {
        Some(_) => None,
        None => redline_notice(home, clock, &events, &store, &session)?,
    };
    store.close();
    let event = receipt(home, None, codes, &brief, crossed.is_some());
    let notice = limited.or(crossed);
    Ok(pending.reply(home, clock, Occasion::Prompt, &brief.text, notice.as_deref(), event))
}

/// What helped when a command failed in the same way. Most failures are new: for them nothing is folded.
fn on_failure(
    home: &Home,
    clock: &Clock,
    pending: &PendingAnswer,
    failure: &FailedCommand,
) -> Result<Option<HookAnswer>, AnswerError> {
    // A host that cannot be told now is told with the next prompt.
    if !cerberus_agents::accepts(pending.agent, Occasion::Failure) || !config::load(home)?.moments.errors {
        return Ok(None);
    }
    let mut store = Store::open(home, Caller::Hook)?.short_lived();
    if !store.knows_failure(&failure.signature, pending.agent, &pending.session)? {
        store.close();
        return Ok(None);
    }
    fold::fold(home, &mut store)?;
    if pending.is_echo(home, clock, &store)? {
        return Ok(None);
    }
    let Some(session) = store.agent_session(pending.agent, &pending.session, clock.now)? else { return Ok(None) };
    let (signature, message) = (&*failure.signature, Some(&*failure.message));
    let told = seen::seen(&store, &pending.located, &session, signature, message, clock.now)?;
    store.close();
    Ok(told.and_then(|told| {
        let brief = Brief { tokens: tokens::estimate(&told.text), ..Brief::default() };
        let event = receipt(home, None, [told.code], &brief, false);
        pending.reply(home, clock, Occasion::Failure, &told.text, None, event)
    }))
}

/// The same with the next prompt, for a host that cannot be told earlier.
fn seen_before_prompt(
    home: &Home,
    clock: &Clock,
    pending: &PendingAnswer,
    store: &Store,
    session: &SessionRow,
) -> Result<Option<Told>, AnswerError> {
    if cerberus_agents::accepts(pending.agent, Occasion::Failure) {
        return Ok(None);
    }
    let failures = store.recent_failures(session, clock.now)?;
    if failures.is_empty() || !config::load(home)?.moments.errors {
        return Ok(None);
    }
    for signature in failures {
        if let Some(told) = seen::seen(store, &pending.located, session, &signature, None, clock.now)? {
            return Ok(Some(told));
        }
    }
    Ok(None)
}

/// What came out of earlier work that the prompt is about. A handoff describes the work itself.
fn past_before_prompt(home: &Home, view: &View, session: &SessionRow, prompt: &str) -> Result<PastTold, AnswerError> {
    if caller::has_handoff() || !config::load(home)?.moments.prompts {
        return Ok(PastTold::default());
    }
    Ok(past::told(view, session, prompt)?)
}

/// What the user is told once, when the session's context has passed the soft redline. Hooks do not say how full the
/// context is; the end of the transcript does.
fn redline_notice(
    home: &Home,
    clock: &Clock,
    events: &[StreamEvent],
    store: &Store,
    session: &SessionRow,
) -> Result<Option<String>, AnswerError> {
    if events.is_empty() {
        return Ok(None);
    }
    let config = config::load(home)?;
    let reading = redline_notice::reading(events, windows::load(home));
    let notice = redline_notice::notice(&reading, &config.redline()).filter(|_| config.brief.notice);
    match notice {
        Some(notice) if !store.was_told_of_redline(session, clock.now)? => Ok(Some(notice)),
        _ => Ok(None),
    }
}

pub(super) fn receipt(
    home: &Home,
    source: Option<StartSource>,
    codes: impl IntoIterator<Item = String>,
    brief: &Brief,
    redline: bool,
) -> Event<'static> {
    let clean = |text: String| home.cleaner().clean(text, Keep::NAME);
    let memories = brief.memories.iter().map(|item| clean(item.id.as_str().to_string())).collect();
    let codes = codes.into_iter().map(clean).collect();
    Event::Receipt { source, codes, memories, tokens: brief.tokens, redline }
}

impl PendingAnswer {
    fn brief_occasion(&self) -> Occasion {
        cerberus_agents::profile(self.agent).map_or(Occasion::Start, |profile| profile.brief_occasion)
    }

    fn receipt_key(&self) -> String {
        format!("receipt-{}", &*self.key)
    }

    fn reply(
        &self,
        home: &Home,
        clock: &Clock,
        occasion: Occasion,
        text: &str,
        notice: Option<&str>,
        event: Event<'static>,
    ) -> Option<HookAnswer> {
        let reply = match text.is_empty() {
            true => cerberus_agents::notice(self.agent, notice?)?,
            false => cerberus_agents::reply(self.agent, occasion, text, notice)?,
        };
        let location = self.located.location(home.cleaner());
        let receipt = own_record(home, clock, self.agent, &self.session, location, self.receipt_key(), event);
        Some(HookAnswer { reply, receipt })
    }
}

/// Records the receipt after the answer was given, so that nothing counts as told that was not.
pub fn confirm(home: &Home, clock: &Clock, answer: &HookAnswer) -> Result<(), AnswerError> {
    Ok(journal::append(home, clock.wall, &answer.receipt)?)
}
