//! Crash recovery: completes a crashed session from its transcript, and records what it was in the middle of.
//! Recovering twice equals recovering once.
//!
//! An ended session is completed too, where its agent's hooks do not report everything.

use std::path::Path;
use std::time::Duration;

use cerberus_agents::install::Surroundings;
use cerberus_agents::transcripts::{self, TranscriptEvent};
use cerberus_os::clock::Clock;
use cerberus_os::home::Home;
use cerberus_recall::brief::stopped;
use cerberus_record::clean::text::{Keep, line, phrase};
use cerberus_record::event::{Event, Recovery};
use cerberus_record::fact::TEXT_CHARS_MAX;
use cerberus_record::id::Agent;
use cerberus_record::session::{IDLE_AFTER, SessionStatus};
use memchr::memmem;

use crate::import::ending::{TranscriptEnding, transcripts_of};
use crate::import::{Import, TakeForgotten, ending};
use crate::journal::own_record;
use crate::memory::change::MemoryWriter;
use crate::memory::distill::{self, DistillResult};
use crate::memory::notes;
use crate::project::{identity, privacy};
use crate::sessions::find::Recent;
use crate::sessions::sweep::derive_state;
use crate::sessions::{shell_edits, unreported};
use crate::view::fold::FoldError;
use crate::view::recorder::Recorder;
use crate::view::{FactFilter, SessionRow, Store};

/// How many ended sessions are looked at for their last message.
const SILENT_MAX: usize = 3;

/// How long after its last hook an agent may write the end of a transcript.
const WRITTEN_WITHIN: Duration = Duration::from_secs(60);

/// How many crashed sessions are recovered without being asked, the newest first. The next start recovers others.
const CRASHED_MAX: usize = 20;

/// A tool use is shown by how it begins.
const IN_FLIGHT_CHARS_MAX: usize = 80;

/// The result of recovering a session.
#[derive(Clone, Debug, PartialEq)]
pub struct RecoveredSession {
    pub actions: Vec<String>,
    pub in_flight: Vec<String>,
}

/// Recovers a crashed session. A session that was recovered before is left alone.
pub fn recover(
    recorder: &mut Recorder,
    surroundings: &Surroundings,
    session: &SessionRow,
    is_automatic: bool,
) -> Result<Option<RecoveredSession>, FoldError> {
    if session.state.status != SessionStatus::Crashed || session.device.is_some() {
        return Ok(None);
    }
    let (home, clock) = (recorder.home, recorder.clock);
    let mut actions = Vec::new();
    let mut in_flight = complete_from_transcript(recorder, surroundings, session, &mut actions)?;
    unreported::record(recorder, surroundings, session)?;
    let store = recorder.store();
    if let Some(prompt) = store.unanswered_prompt(session, clock.now)? {
        in_flight.push(request_in_flight(&prompt));
    }
    let facts = store.carried(std::slice::from_ref(session), FactFilter::All, clock.now)?.facts.len();
    actions.push(format!("carried over {facts} {}", if facts == 1 { "fact" } else { "facts" }));
    actions.extend(learn(recorder, surroundings, session)?);
    notes::record(recorder, surroundings, session)?;
    if !in_flight.is_empty() {
        let shown: Vec<String> = in_flight.iter().map(|text| phrase(text, IN_FLIGHT_CHARS_MAX)).collect();
        actions.push(format!("recorded interrupted work: {}", shown.join("; ")));
    }
    let clean = |texts: &[String], keep| texts.iter().map(|text| home.cleaner().clean(text.clone(), keep)).collect();
    let (acted, in_flight_words) = (clean(&actions, Keep::SUBJECT), clean(&in_flight, Keep::PROMPT));
    let event = Event::Recover(Recovery { actions: acted, in_flight: in_flight_words, is_automatic });
    let agent = Agent::from_name(&session.agent).unwrap_or(Agent::MANUAL);
    let key = format!("recover-{}", session.last_activity.millis());
    let record = own_record(home, clock, agent, &session.agent_session_id, session.location(), key, event);
    // The crash may not be recorded yet. A recovery needs a crash before it.
    let evidence = session.state.ended.as_ref().map_or(String::new(), |(_, evidence)| evidence.clone());
    let crash = Event::Crash { evidence: home.cleaner().clean(evidence, Keep::SUBJECT) };
    let key = format!("crash-{}", session.last_activity.millis());
    let crash = own_record(home, clock, agent, &session.agent_session_id, session.location(), key, crash);
    recorder.record(&[crash, record])?;
    Ok(Some(RecoveredSession { actions, in_flight }))
}

/// What the user asked for, without what they pasted; if they only pasted something, how it begins.
fn request_in_flight(prompt: &str) -> String {
    let request = line(&stopped::request(prompt), TEXT_CHARS_MAX);
    if request.is_empty() { phrase(prompt, IN_FLIGHT_CHARS_MAX) } else { request }
}

/// Keeps the user's corrections: turns them into proposals, and the most certain of those into memories.
fn learn(recorder: &mut Recorder, surroundings: &Surroundings, session: &SessionRow) -> Result<Vec<String>, FoldError> {
    let located = identity::locate(Path::new(&session.root));
    let writer = MemoryWriter { home: recorder.home, clock: recorder.clock, located: &located };
    let DistillResult { proposed, approved } = distill::distill_into(&writer, surroundings, recorder)?;
    let said = |count: usize, what: &str| {
        let things = if count == 1 { "correction" } else { "corrections" };
        (count > 0).then(|| format!("{what} {count} {things}"))
    };
    let said = [said(approved.len(), "learned from"), said(proposed.len(), "left for review")];
    Ok(said.into_iter().flatten().collect())
}

/// Recovers the crashed sessions of a project, without being asked, and adds the last words of ended ones. Says whether
/// there were any.
pub fn recover_project(
    recorder: &mut Recorder,
    surroundings: &Surroundings,
    sessions: &[SessionRow],
) -> Result<bool, FoldError> {
    let open = needs_transcript(recorder.store(), sessions, |session| session.state.status)?;
    recover_each(recorder, surroundings, &open)?;
    Ok(!open.is_empty())
}

fn recover_each(
    recorder: &mut Recorder,
    surroundings: &Surroundings,
    sessions: &[SessionRow],
) -> Result<(), FoldError> {
    // Git is asked once, and only now: the newest one's last turn did not end.
    let is_crashed = |session: &&SessionRow| session.state.status == SessionStatus::Crashed && session.device.is_none();
    if let Some(session) = sessions.iter().rfind(is_crashed) {
        let located = identity::locate(Path::new(&session.root));
        if privacy::storage_block(recorder.home, recorder.clock.now, &located).is_none() {
            shell_edits::record(recorder, &located, session)?;
        }
    }
    for session in sessions {
        match session.state.status {
            SessionStatus::Crashed => drop(recover(recorder, surroundings, session, true)?),
            _ => drop(complete_from_transcript(recorder, surroundings, session, &mut Vec::new())?),
        }
    }
    Ok(())
}

/// Calls `read` with the view as the next session of the project will find it: crashed sessions are recovered, and
/// nothing of that is kept. What was read before is passed on if it still holds.
pub fn with_recovered<T>(
    home: &Home,
    clock: &Clock,
    store: &Store,
    surroundings: &Surroundings,
    recent: Recent,
    read: impl FnOnce(&Store, Option<Recent>) -> T,
) -> Result<T, FoldError> {
    let derived = |session: &SessionRow| derive_state(session.clone(), clock, IDLE_AFTER).0;
    let status = |session: &SessionRow| match session.state.status {
        status if status.is_live() => derived(session).state.status,
        status => status,
    };
    let open = needs_transcript(store, &recent.sessions, status)?;
    if open.is_empty() {
        return Ok(read(store, Some(recent)));
    }
    let mut preview = match Recorder::preview(home, clock, store) {
        // Another process is writing. What it has committed so far is all there is to show.
        Err(FoldError::Store(error)) if error.is_busy() => return Ok(read(store, Some(recent))),
        begun => begun?,
    };
    recover_each(&mut preview, surroundings, &open.iter().map(derived).collect::<Vec<_>>())?;
    Ok(read(preview.store(), None))
}

/// The newest crashed sessions, and the newest others whose hooks did not report the agent's last message.
fn needs_transcript(
    store: &Store,
    sessions: &[SessionRow],
    status: impl Fn(&SessionRow) -> SessionStatus,
) -> Result<Vec<SessionRow>, FoldError> {
    let crashed = sessions.iter().rev().filter(|session| status(session) == SessionStatus::Crashed);
    let mut all: Vec<SessionRow> = crashed.take(CRASHED_MAX).cloned().collect();
    all.reverse();
    let is_silent = |session: &SessionRow| {
        Agent::from_name(&session.agent)
            .and_then(cerberus_agents::profile)
            .is_some_and(|profile| !profile.reports_words && session.device.is_none())
    };
    let is_meant = |session: &&SessionRow| match status(session) {
        SessionStatus::Ended => true,
        status => status.is_live() && is_silent(session),
    };
    for session in sessions.iter().rev().filter(is_meant).take(SILENT_MAX) {
        let is_missing = match is_silent(session) {
            true => store.lacks_newest_words(session)?,
            false => store.lacks_last_words(session)?,
        };
        if is_missing {
            all.push(session.clone());
        }
    }
    Ok(all)
}

/// Adds the uses of a tool that only the transcript of an ended session reports. Returns whether there was one.
pub fn complete_ended(
    recorder: &mut Recorder,
    surroundings: &Surroundings,
    session: &SessionRow,
) -> Result<bool, FoldError> {
    let Some((agent, kept)) = transcripts_of(session) else { return Ok(false) };
    let Some(tool) = cerberus_agents::profile(agent).and_then(|profile| profile.unreported_tool) else {
        return Ok(false);
    };
    let Some(ending) = ending::ending(surroundings, kept, session) else { return Ok(false) };
    let named = format!("\"name\":\"{tool}\"");
    let mut actions = Vec::new();
    if memmem::find(&ending.bytes, named.as_bytes()).is_some() {
        import_ending(recorder, session, &ending, Some(tool), &mut actions)?;
    }
    Ok(!actions.is_empty())
}

/// Adds them again for a session that ended just now: agents write their transcript a little later than they call hooks.
pub fn complete_just_ended(
    recorder: &mut Recorder,
    surroundings: &Surroundings,
    sessions: &[SessionRow],
) -> Result<bool, FoldError> {
    let now = recorder.clock.now;
    let is_fresh = |session: &&SessionRow| {
        session.state.status == SessionStatus::Ended && now.since(session.last_activity) <= WRITTEN_WITHIN
    };
    match sessions.iter().rev().find(is_fresh) {
        Some(session) => complete_ended(recorder, surroundings, session),
        None => Ok(false),
    }
}

/// Adds what the hooks of a session did not report.
pub fn complete(recorder: &mut Recorder, surroundings: &Surroundings, session: &SessionRow) -> Result<(), FoldError> {
    complete_from_transcript(recorder, surroundings, session, &mut Vec::new()).map(drop)
}

/// Imports the end of the session's transcript. Returns the tool uses in it that never got a result.
fn complete_from_transcript(
    recorder: &mut Recorder,
    surroundings: &Surroundings,
    session: &SessionRow,
    actions: &mut Vec<String>,
) -> Result<Vec<String>, FoldError> {
    let Some((_, kept)) = transcripts_of(session) else { return Ok(Vec::new()) };
    match ending::ending(surroundings, kept, session) {
        Some(ending) => import_ending(recorder, session, &ending, None, actions),
        None => Ok(Vec::new()),
    }
}

/// Records what is new in a transcript, or only the uses of one tool.
fn import_ending(
    recorder: &mut Recorder,
    session: &SessionRow,
    ending: &TranscriptEnding,
    tool: Option<&str>,
    actions: &mut Vec<String>,
) -> Result<Vec<String>, FoldError> {
    let (home, clock) = (recorder.home, recorder.clock);
    let Some((agent, kept)) = transcripts_of(session) else { return Ok(Vec::new()) };
    let Some(mut transcript) = transcripts::read(home.cleaner(), agent, &ending.bytes) else { return Ok(Vec::new()) };
    // The transcript may contain other sessions, and what happened after the time that is asked about.
    let is_meant = |told: &TranscriptEvent| *told.session == *session.agent_session_id && told.at <= clock.now;
    transcript.events.retain(is_meant);
    transcript
        .in_flight
        .retain(|unfinished| unfinished.began_at <= clock.now && unfinished.edit.as_ref().is_none_or(is_meant));
    if let Some(tool) = tool {
        transcript.events.retain(|told| matches!(&told.event, Event::Tool(used) if *used.tool == *tool));
        transcript.in_flight.retain(|unfinished| unfinished.tool == tool);
    }
    // The last message may announce a tool use that is not written yet; only a hook knows that a turn has ended.
    let last = transcript.events.iter().rposition(|told| !matches!(told.event, Event::Title { .. }));
    let words = last.filter(|last| matches!(transcript.events[*last].event, Event::Stop { .. }));
    if let Some(words) = words.filter(|_| kept.writes_uses_at_end) {
        transcript.events.remove(words);
    }
    transcript.cwd = Some(session.root.as_str().into());
    let in_flight = transcript.in_flight.clone();
    let import =
        Import { home, clock, agent, project: None, forgotten: TakeForgotten::No, by_agent: false, user: None };
    let (report, records) = import.new_records(recorder.store(), transcript, ending.is_whole)?;
    recorder.record(&records)?;
    if report.new_events > 0 {
        let events = if report.new_events == 1 { "event" } else { "events" };
        actions.push(format!("added {} {events} from the transcript", report.new_events));
    }
    let known = recorder.store().event_keys(agent, &session.agent_session_id)?;
    let open = in_flight.into_iter().filter(|used| !used.is_finished(&known));
    Ok(open.map(|used| line(&used.shown(&session.root), IN_FLIGHT_CHARS_MAX)).collect())
}
