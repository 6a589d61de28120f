//! Updates open sessions: evidence and time decide whether they ended or crashed, and the result is recorded.

use std::time::Duration;

use cerberus_os::clock::Clock;
use cerberus_os::home::Home;
use cerberus_os::process;
use cerberus_record::clean::text::Clean;
use cerberus_record::event::{Event, Record};
use cerberus_record::id::Agent;
use cerberus_record::session::{self, CARRY_OVER, IDLE_AFTER, Process, SessionEffect, SessionStatus};

use crate::journal;
use crate::journal::own_record;
use crate::view::fold::{self, FoldError};
use crate::view::{self, SessionRow, Store};

/// The state of a session's process. Manual sessions have no process that could die.
fn evidence(session: &SessionRow) -> Process {
    match &session.process {
        Some(known) => process::probe(known),
        None if Agent::from_name(&session.agent).is_some_and(Agent::is_program) => Process::Unknown,
        None => Process::Elsewhere,
    }
}

/// Derives a session's state from evidence and time, without recording anything.
pub fn derive_state(mut session: SessionRow, clock: &Clock, idle_after: Duration) -> (SessionRow, Vec<SessionEffect>) {
    // What became of a session on another device, only that device can know.
    if !session.state.status.is_live() || session.device.is_some() {
        return (session, Vec::new());
    }
    let process = evidence(&session);
    let (state, effects) = session::settle(session.state, session.last_activity, process, idle_after, clock.now);
    session.state = state;
    (session, effects)
}

/// Updates every open session of this user and records what changed. Cheap, because only open sessions are read.
pub fn sweep(
    home: &Home,
    clock: &Clock,
    store: &mut Store,
    idle_after: Duration,
) -> Result<Vec<SessionRow>, FoldError> {
    let mut records = Vec::new();
    let mut changed = Vec::new();
    // Older sessions are archived by age, whatever happened to them.
    for session in store.open_sessions(clock.now.minus(CARRY_OVER), clock.now)? {
        let (session, effects) = derive_state(session, clock, idle_after);
        let found: Vec<Record> =
            effects.iter().filter_map(|effect| effect_record(home, clock, &session, effect)).collect();
        if !found.is_empty() {
            changed.push(session);
        }
        records.extend(found);
    }
    if !records.is_empty() {
        journal::append_all(home, clock.wall, &records)?;
        fold::fold(home, store)?;
    }
    Ok(changed)
}

fn effect_record(home: &Home, clock: &Clock, session: &SessionRow, effect: &SessionEffect) -> Option<Record<'static>> {
    // The key names the activity before the effect, so that two concurrent sweeps write the same record.
    let last = session.last_activity.millis();
    let (key, event) = match effect {
        SessionEffect::Crash { evidence } => {
            (format!("crash-{last}"), Event::Crash { evidence: Clean::word(evidence) })
        }
        SessionEffect::End { trigger } => (format!("end-{last}"), Event::End { reason: Clean::word(trigger) }),
        // Only `session-cleanup` records archiving. A session this old is already out of every brief.
        SessionEffect::Archive => return None,
    };
    let agent = Agent::from_name(&session.agent)?;
    Some(own_record(home, clock, agent, &session.agent_session_id, session.location(), key, event))
}

/// Crashed sessions that were not recovered yet, newest first.
pub fn crashed(store: &Store, clock: &Clock) -> view::Result<Vec<SessionRow>> {
    let mut sessions = store.sessions(&[], clock.now.minus(CARRY_OVER), clock.now)?;
    sessions = sessions.into_iter().map(|session| derive_state(session, clock, IDLE_AFTER).0).collect();
    sessions.retain(|session| session.state.status == SessionStatus::Crashed && session.device.is_none());
    sessions.reverse();
    Ok(sessions)
}
