//! Commands that change a session's state: completing sessions, and archiving expired ones.

use cerberus_os::clock::Clock;
use cerberus_os::home::Home;
use cerberus_record::event::Event;
use cerberus_record::id::{Agent, SessionId};
use cerberus_record::kind::EventKind;
use cerberus_record::session::CARRY_OVER;

use crate::journal;
use crate::journal::own_record;
use crate::view::fold::FoldError;
use crate::view::{self, SessionRow, Store};

/// Marks sessions as completed: their open items no longer carry over.
pub fn complete(home: &Home, clock: &Clock, sessions: &[SessionRow]) -> Result<(), FoldError> {
    mark_all(home, clock, sessions, &Event::Complete)
}

/// Takes completions back: the sessions' open items carry over again.
pub fn reopen(home: &Home, clock: &Clock, sessions: &[SessionRow]) -> Result<(), FoldError> {
    mark_all(home, clock, sessions, &Event::Reopen)
}

/// Archives every session that is too old for a brief. Returns those that were not archived before.
pub fn archive_expired(home: &Home, clock: &Clock, store: &Store) -> Result<Vec<SessionId>, FoldError> {
    let expired = store.expired(clock.now.minus(CARRY_OVER), clock.now)?;
    mark_all(home, clock, &expired, &Event::Archive)?;
    Ok(expired.into_iter().map(|session| session.id).collect())
}

/// The sessions that [`archive_expired`] would archive.
pub fn expired(clock: &Clock, store: &Store) -> view::Result<Vec<SessionId>> {
    let expired = store.expired(clock.now.minus(CARRY_OVER), clock.now)?;
    Ok(expired.into_iter().map(|session| session.id).collect())
}

/// Records the same event for many sessions, with one sync.
fn mark_all(home: &Home, clock: &Clock, sessions: &[SessionRow], event: &Event<'static>) -> Result<(), FoldError> {
    let word = EventKind::of(event).word();
    let record = |session: &SessionRow| {
        // A session may be completed, reopened and completed again at the same time that was asked about.
        let key = format!("{word}-{}", clock.wall.millis());
        let agent = Agent::from_name(&session.agent)?;
        Some(own_record(home, clock, agent, &session.agent_session_id, session.location(), key, event.clone()))
    };
    let records: Vec<_> = sessions.iter().filter_map(record).collect();
    Ok(journal::append_all(home, clock.wall, &records)?)
}
