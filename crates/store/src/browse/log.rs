//! The list of sessions, newest first.

use std::collections::HashSet;
use std::time::Duration;

use cerberus_os::clock::Clock;
use cerberus_record::id::ProjectId;
use cerberus_record::runs::RunLedger;
use cerberus_record::session::IDLE_AFTER;
use cerberus_record::time::Timestamp;

use crate::sessions::sweep::derive_state;
use crate::view::{self, SessionRow, Store};

/// How many sessions are described by one query.
const SESSIONS_PER_QUERY: usize = 100;

/// A longer pause between two events of a session is no work: nobody was there.
pub const PAUSE_MAX: Duration = Duration::from_secs(15 * 60);

/// Which sessions to list. The default lists all.
#[derive(Clone, Debug)]
pub struct LogFilter {
    /// Only these projects; all if empty.
    pub projects: Vec<ProjectId>,
    pub agent: Option<String>,
    /// Only sessions that began at or after this time.
    pub since: Timestamp,
    /// Only sessions that edited a file whose path ends with this.
    pub file: Option<String>,
    /// Only sessions that left something failing.
    pub failing: bool,
    /// Only sessions in which all these words occur.
    pub words: String,
    pub limit: Option<usize>,
}

impl Default for LogFilter {
    fn default() -> LogFilter {
        LogFilter {
            projects: Vec::new(),
            agent: None,
            since: Timestamp::EPOCH,
            file: None,
            failing: false,
            words: String::new(),
            limit: None,
        }
    }
}

/// One session of the list.
#[derive(Clone, Debug)]
pub struct ListedSession {
    pub session: SessionRow,
    pub title: String,
    /// How many files it edited.
    pub files: usize,
    /// How many tests and commands failed when they last ran in it.
    pub failing: usize,
    /// How long it was at work. Longer pauses are not counted.
    pub active: Duration,
}

impl ListedSession {
    pub fn ended_at(&self) -> Option<Timestamp> {
        self.session.state.ended.as_ref().map(|(at, _)| *at)
    }

    /// From its start to its end, or to its last activity, with all pauses.
    pub fn elapsed(&self) -> Duration {
        let session = &self.session;
        self.ended_at().unwrap_or(session.last_activity).max(session.started_at).since(session.started_at)
    }
}

/// A page of the list, and how many sessions match in all.
#[derive(Clone, Debug, Default)]
pub struct SessionLog {
    pub sessions: Vec<ListedSession>,
    pub total: usize,
}

pub fn log(store: &mut Store, clock: &Clock, filter: &LogFilter) -> view::Result<SessionLog> {
    let now = clock.now;
    let mut sessions = store.sessions(&filter.projects, filter.since, now)?;
    sessions.retain(|session| session.started_at >= filter.since);
    if let Some(agent) = &filter.agent {
        sessions.retain(|session| session.agent == *agent);
    }
    if !filter.words.trim().is_empty() {
        store.index_entries(|_, _| {})?;
        let found: HashSet<i64> = store.sessions_with(&filter.words, None, now)?.into_iter().collect();
        sessions.retain(|session| found.contains(&session.row));
    }
    if let Some(path) = &filter.file {
        let found: HashSet<i64> = store.sessions_that_edited(path, now)?.into_iter().collect();
        sessions.retain(|session| found.contains(&session.row));
    }
    sessions.reverse();
    let shown = filter.limit.unwrap_or(usize::MAX);
    let total = sessions.len();
    if !filter.failing {
        sessions.truncate(shown);
        return Ok(SessionLog { sessions: described(store, clock, sessions)?, total });
    }
    let mut listed = described(store, clock, sessions)?;
    listed.retain(|listed| listed.failing > 0);
    let total = listed.len();
    listed.truncate(shown);
    Ok(SessionLog { sessions: listed, total })
}

/// Adds titles and numbers to sessions.
pub fn described(store: &Store, clock: &Clock, sessions: Vec<SessionRow>) -> view::Result<Vec<ListedSession>> {
    let mut all = Vec::with_capacity(sessions.len());
    for sessions in sessions.chunks(SESSIONS_PER_QUERY) {
        let mut titles = store.titles(sessions, clock.now)?;
        let files = store.edited_counts(sessions, clock.now)?;
        let mut failing = store.runs_by_session(sessions, clock.now)?;
        let active = store.active_times(sessions, PAUSE_MAX, clock.now)?;
        for session in sessions {
            let runs = failing.remove(&session.row).unwrap_or_default();
            let mut ledger = RunLedger::default();
            runs.iter().for_each(|(command, run)| ledger.add(command, run));
            all.push(ListedSession {
                title: titles.remove(&session.row).unwrap_or_default(),
                files: files.get(&session.row).copied().unwrap_or(0),
                failing: ledger.failing().count() + ledger.red_commands().count(),
                active: active.get(&session.row).copied().unwrap_or_default(),
                session: derive_state(session.clone(), clock, IDLE_AFTER).0,
            });
        }
    }
    Ok(all)
}
