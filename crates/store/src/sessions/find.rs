//! Finds a project's sessions: the recent ones, and the live one.

use cerberus_os::clock::Clock;
use cerberus_os::process;
use cerberus_record::id::ProjectId;
use cerberus_record::session::{CARRY_OVER, IDLE_AFTER, Process, SILENCE_MAX, SessionStatus};
use cerberus_record::time::Timestamp;

use crate::project::identity::Located;
use crate::same_project::joined::{JoinedProject, joined};
use crate::sessions::sweep;
use crate::view::{self, CarriedFacts, FactFilter, SessionRow, Store};

/// The project's newest sessions that may still carry over, oldest first. Includes sessions recorded under its name only.
pub fn recent_sessions(store: &Store, located: &Located, now: Timestamp) -> view::Result<Vec<SessionRow>> {
    recent_of(store, &joined(store, located, now)?.ids, now)
}

fn recent_of(store: &Store, projects: &[ProjectId], now: Timestamp) -> view::Result<Vec<SessionRow>> {
    store.newest_sessions(projects, now.minus(CARRY_OVER), now)
}

/// A project with its recent sessions, read once for everything that needs them.
#[derive(Debug)]
pub struct Recent {
    pub joined: JoinedProject,
    /// As [`recent_sessions`].
    pub sessions: Vec<SessionRow>,
    /// What those that carry over left besides files, if somebody has read it.
    pub carried: Option<CarriedFacts>,
}

impl Recent {
    pub fn read(store: &Store, located: &Located, now: Timestamp) -> view::Result<Recent> {
        let joined = joined(store, located, now)?;
        Ok(Recent { sessions: recent_of(store, &joined.ids, now)?, joined, carried: None })
    }

    /// Reads what the sessions that carry over left besides files.
    pub fn read_carried(&self, store: &Store, now: Timestamp) -> view::Result<CarriedFacts> {
        let carrying = self.sessions.iter().filter(|session| session.state.status.carries_over());
        store.carried(&carrying.cloned().collect::<Vec<SessionRow>>(), FactFilter::NoFiles, now)
    }
}

/// The project's live session; of several, the one active last.
pub fn live_session(store: &Store, located: &Located, clock: &Clock) -> view::Result<Option<SessionRow>> {
    let mut sessions = recent_sessions(store, located, clock.now)?;
    sessions = sessions.into_iter().map(|session| sweep::derive_state(session, clock, IDLE_AFTER).0).collect();
    // A session in another clone or on another device belongs to the agent that works there.
    sessions.retain(|session| session.state.status.is_live() && session.project == located.project);
    sessions.retain(|session| session.device.is_none());
    Ok(sessions.into_iter().max_by_key(|session| (session.last_activity, session.row)))
}

/// Whether its program runs on this machine, or reported something a moment ago.
pub fn is_running(session: &SessionRow, now: Timestamp) -> bool {
    session.state.status == SessionStatus::Active
        && session.device.is_none()
        && match &session.process {
            Some(known) => process::probe(known) == Process::Running,
            None => now.since(session.last_activity) <= SILENCE_MAX,
        }
}
