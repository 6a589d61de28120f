//! What commands do to sessions: complete them, archive what expired, find the one that is live.

use cerberus_core::clean::text::{Clean, Keep};
use cerberus_core::model::event::{Event, Place};
use cerberus_core::model::id::{Agent, SessionId};
use cerberus_core::model::session::{CARRY_OVER, IDLE_AFTER};

use crate::brief::recall;
use crate::hook::capture::own_record;
use crate::journal;
use crate::os::clock::Clock;
use crate::os::home::Home;
use crate::project::identity::Located;
use crate::sessions::recover;
use crate::store::fold::FoldError;
use crate::store::{self, SessionRow, Store};

/// The project's session that is live, the one active last if there are several.
pub fn live_session(store: &Store, located: &Located, clock: &Clock) -> store::Result<Option<SessionRow>> {
    let mut sessions = recall::recent_sessions(store, located, clock.now)?;
    sessions = sessions.into_iter().map(|session| recover::settled(session, clock, IDLE_AFTER).0).collect();
    // A session in another clone belongs to the agent that works there.
    sessions.retain(|session| session.state.status.is_live() && session.project == located.project);
    Ok(sessions.into_iter().max_by_key(|session| (session.last_activity, session.row)))
}

/// Marks sessions as completed: what they left open no longer carries over.
pub fn complete(home: &Home, clock: &Clock, sessions: &[SessionRow]) -> Result<(), FoldError> {
    mark_all(home, clock, sessions, &Event::Complete)
}

/// Archives every session that has left the brief by age; returns those that were not archived before.
pub fn archive_expired(home: &Home, clock: &Clock, store: &Store) -> Result<Vec<SessionId>, FoldError> {
    let expired = store.expired(clock.now.minus(CARRY_OVER), clock.now)?;
    mark_all(home, clock, &expired, &Event::Archive)?;
    Ok(expired.into_iter().map(|session| session.id).collect())
}

/// What [`archive_expired`] would archive.
pub fn expired(clock: &Clock, store: &Store) -> store::Result<Vec<SessionId>> {
    let expired = store.expired(clock.now.minus(CARRY_OVER), clock.now)?;
    Ok(expired.into_iter().map(|session| session.id).collect())
}

/// Records the same about many sessions, with one sync.
fn mark_all(home: &Home, clock: &Clock, sessions: &[SessionRow], event: &Event<'static>) -> Result<(), FoldError> {
    let word = if *event == Event::Archive { "archive" } else { "complete" };
    let record = |session: &SessionRow| {
        let key = format!("{word}-{}", clock.now.millis());
        let agent = Agent::from_name(&session.agent)?;
        Some(own_record(clock, agent, &session.agent_session_id, place_of(session), key, event.clone()))
    };
    let records: Vec<_> = sessions.iter().filter_map(record).collect();
    Ok(journal::append_all(home, clock.wall, &records)?)
}

/// Where a session is at home, as its own records say.
pub fn place_of(session: &SessionRow) -> Place<'static> {
    let clean = |text: &str| Clean::new(text.to_string(), Keep::NAME);
    Place {
        project: session.project.clone(),
        name: clean(&session.project_name),
        root: clean(&session.root),
        cwd: clean(&session.cwd),
        branch: session.branch.as_deref().map(clean),
    }
}
