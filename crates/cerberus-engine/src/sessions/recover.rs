//! Crash recovery: completes a crashed session from its transcript, and records what it was in the middle of.
//! Recovering twice equals recovering once.

use std::path::Path;

use cerberus_core::agents::transcripts::{self, TranscriptEvent};
use cerberus_core::clean::text::{Keep, line};
use cerberus_core::model::event::{Event, Recovery};
use cerberus_core::model::id::Agent;
use cerberus_core::model::session::Status;

use crate::agents::{Profile, Surroundings};
use crate::import::{Import, TakeForgotten, ending};
use crate::journal::{self, own_record};
use crate::memory::change::MemoryWriter;
use crate::memory::distill;
use crate::memory::distill::Distilled;
use crate::os::clock::Clock;
use crate::os::home::Home;
use crate::project::identity;
use crate::store::fold;
use crate::store::fold::FoldError;
use crate::store::{FactFilter, SessionRow, Store};

/// What fits into one line of a brief.
const IN_FLIGHT_CHARS_MAX: usize = 80;

/// The result of recovering a session.
#[derive(Clone, Debug, PartialEq)]
pub struct Recovered {
    pub actions: Vec<String>,
    pub in_flight: Vec<String>,
}

/// Recovers a crashed session. A session that was recovered before is left alone.
pub fn recover(
    home: &Home,
    clock: &Clock,
    store: &mut Store,
    surroundings: &Surroundings,
    session: &SessionRow,
    is_automatic: bool,
) -> Result<Option<Recovered>, FoldError> {
    if session.state.status != Status::Crashed {
        return Ok(None);
    }
    let mut actions = Vec::new();
    let mut in_flight = complete_from_transcript(home, clock, store, surroundings, session, &mut actions)?;
    if let Some(prompt) = store.unanswered_prompt(session, clock.now)? {
        in_flight.push(line(&prompt, IN_FLIGHT_CHARS_MAX));
    }
    let facts = store.carried(std::slice::from_ref(session), FactFilter::All, clock.now)?.facts.len();
    actions.push(format!("carried over {facts} {}", if facts == 1 { "fact" } else { "facts" }));
    actions.extend(learn(home, clock, store, session)?);
    if !in_flight.is_empty() {
        actions.push(format!("recorded interrupted work: {}", in_flight.join("; ")));
    }
    let clean = |texts: &[String]| texts.iter().map(|text| home.cleaner().clean(text.clone(), Keep::SUBJECT)).collect();
    let event = Event::Recover(Recovery { actions: clean(&actions), in_flight: clean(&in_flight), is_automatic });
    let agent = Agent::from_name(&session.agent).unwrap_or(Agent::MANUAL);
    let key = format!("recover-{}", session.last_activity.millis());
    let record = own_record(home, clock, agent, &session.agent_session_id, session.location(), key, event);
    // The crash may not be recorded yet. A recovery needs a crash before it.
    let evidence = session.state.ended.as_ref().map_or(String::new(), |(_, evidence)| evidence.clone());
    let crash = Event::Crash { evidence: home.cleaner().clean(evidence, Keep::SUBJECT) };
    let key = format!("crash-{}", session.last_activity.millis());
    let crash = own_record(home, clock, agent, &session.agent_session_id, session.location(), key, crash);
    journal::append_all(home, clock.wall, &[crash, record])?;
    fold::fold(home, store)?;
    Ok(Some(Recovered { actions, in_flight }))
}

/// Keeps the user's corrections: turns them into proposals, and the most certain of those into memories.
fn learn(home: &Home, clock: &Clock, store: &mut Store, session: &SessionRow) -> Result<Vec<String>, FoldError> {
    let located = identity::locate(Path::new(&session.root));
    let Distilled { proposed, approved } = distill::distill(&MemoryWriter { home, clock, located: &located }, store)?;
    let said = |count: usize, what: &str| {
        let things = if count == 1 { "correction" } else { "corrections" };
        (count > 0).then(|| format!("{what} {count} {things}"))
    };
    let said = [said(approved.len(), "learned from"), said(proposed.len(), "left for review")];
    Ok(said.into_iter().flatten().collect())
}

/// Recovers the crashed sessions of a project, without being asked.
pub fn recover_project(
    home: &Home,
    clock: &Clock,
    store: &mut Store,
    surroundings: &Surroundings,
    sessions: &[SessionRow],
) -> Result<(), FoldError> {
    for session in sessions.iter().filter(|session| session.state.status == Status::Crashed) {
        recover(home, clock, store, surroundings, session, true)?;
    }
    Ok(())
}

/// Imports the end of the session's transcript. Returns the tool uses in it that never got a result.
fn complete_from_transcript(
    home: &Home,
    clock: &Clock,
    store: &mut Store,
    surroundings: &Surroundings,
    session: &SessionRow,
    actions: &mut Vec<String>,
) -> Result<Vec<String>, FoldError> {
    let Some(agent) = Agent::from_name(&session.agent) else { return Ok(Vec::new()) };
    let Some(kept) = Profile::of(agent).and_then(|profile| profile.transcripts) else { return Ok(Vec::new()) };
    let Some(ending) = ending::ending(surroundings, kept, session) else { return Ok(Vec::new()) };
    let Some(mut transcript) = transcripts::read(home.cleaner(), agent, &ending.bytes) else { return Ok(Vec::new()) };
    // The transcript may contain other sessions.
    transcript.events.retain(|told| *told.session == *session.agent_session_id);
    // The last message may announce a tool use that is not written yet; only a hook knows that a turn has ended.
    let ends_with_words = matches!(transcript.events.last(), Some(TranscriptEvent { event: Event::Stop { .. }, .. }));
    if kept.writes_uses_at_end && ends_with_words {
        transcript.events.pop();
    }
    transcript.cwd = Some(session.root.as_str().into());
    let in_flight = std::mem::take(&mut transcript.in_flight);
    let import = Import { home, clock, agent, project: None, forgotten: TakeForgotten::No };
    let report = import.read(store, transcript, ending.is_whole)?;
    if report.new_events > 0 {
        fold::fold(home, store)?;
        let events = if report.new_events == 1 { "event" } else { "events" };
        actions.push(format!("added {} {events} from the transcript", report.new_events));
    }
    let known = store.event_keys(agent, &session.agent_session_id)?;
    let open = in_flight.into_iter().filter(|used| !used.is_finished(&known));
    Ok(open.map(|used| line(&used.shown(&session.root), IN_FLIGHT_CHARS_MAX)).collect())
}
