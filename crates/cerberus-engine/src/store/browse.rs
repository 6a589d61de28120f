//! Queries for the pages that people look at. Every query is as of a given time.

use std::collections::{HashMap, HashSet};

use cerberus_core::extract::runs::{Command, Run};
use cerberus_core::model::id::ProjectId;
use cerberus_core::model::time::Timestamp;
use rusqlite::params;

use super::read::{row_list, time};
use super::{Result, SessionRow, Store};

/// What a session was told at one time: codes, and the ids of memories.
type Receipt = (Timestamp, Vec<String>, Vec<String>);

impl Store {
    /// How many files each session edited, by row.
    pub fn edited_counts(&self, sessions: &[SessionRow], now: Timestamp) -> Result<HashMap<i64, usize>> {
        let sql = format!(
            "SELECT session, count(DISTINCT path) FROM fact WHERE session IN ({}) AND kind = 'file' AND at <= ?1
             GROUP BY session",
            row_list(sessions)
        );
        let counts = self.rows(&sql, [now.millis()], |row| Ok((row.get(0)?, row.get(1)?)))?;
        Ok(counts.into_iter().collect())
    }

    /// The tests, builds and lints of each session in order, by row.
    pub fn runs_by_session(
        &self,
        sessions: &[SessionRow],
        now: Timestamp,
    ) -> Result<HashMap<i64, Vec<(Command, Run)>>> {
        let sql = format!(
            "SELECT session, report FROM run WHERE session IN ({}) AND at <= ?1 ORDER BY session, at, event",
            row_list(sessions)
        );
        let mut runs: HashMap<i64, Vec<(Command, Run)>> = HashMap::new();
        for (session, report) in self.rows(&sql, [now.millis()], |row| Ok((row.get(0)?, row.get::<_, String>(1)?)))? {
            if let Ok(run) = serde_json::from_str(&report) {
                runs.entry(session).or_default().push(run);
            }
        }
        Ok(runs)
    }

    /// When hooks or transcripts reported compactions of each session, by row, oldest first.
    pub fn compactions(&self, sessions: &[SessionRow], now: Timestamp) -> Result<HashMap<i64, Vec<Timestamp>>> {
        let sql = format!(
            "SELECT session, at FROM event WHERE session IN ({}) AND at <= ?1
             AND (kind = 'compact' OR start_source = 'compact') ORDER BY session, at",
            row_list(sessions)
        );
        let mut found: HashMap<i64, Vec<Timestamp>> = HashMap::new();
        for (session, at) in self.rows(&sql, [now.millis()], |row| Ok((row.get(0)?, time(row, 1)?)))? {
            found.entry(session).or_default().push(at);
        }
        Ok(found)
    }

    /// The sessions that crashed at least once, by row.
    pub fn ever_crashed(&self, sessions: &[SessionRow], now: Timestamp) -> Result<HashSet<i64>> {
        let sql = format!(
            "SELECT DISTINCT session FROM mark WHERE session IN ({}) AND what = 'crashed' AND at <= ?1",
            row_list(sessions)
        );
        Ok(self.rows(&sql, [now.millis()], |row| row.get(0))?.into_iter().collect())
    }

    /// The sessions that edited a file whose path is `path` or ends with it, by row.
    pub fn sessions_that_edited(&self, path: &str, now: Timestamp) -> Result<Vec<i64>> {
        let sql = "SELECT DISTINCT session FROM fact WHERE kind = 'file' AND at <= ?2
            AND (path = ?1 OR substr(path, -length(?1) - 1) = '/' || ?1)";
        self.rows(sql, params![path, now.millis()], |row| row.get(0))
    }

    /// The user's prompts, oldest first.
    pub fn asked(&self, session: &SessionRow, now: Timestamp) -> Result<Vec<(Timestamp, String)>> {
        let sql = "SELECT prompt.at, text FROM prompt JOIN event ON event.row = prompt.event
            WHERE prompt.session = ?1 AND prompt.at <= ?2 AND kind = 'prompt' ORDER BY prompt.at, prompt.event";
        self.rows(sql, params![session.row, now.millis()], |row| Ok((time(row, 0)?, row.get(1)?)))
    }

    /// The messages with which the agent ended its turns, oldest first.
    pub fn said(&self, session: &SessionRow, now: Timestamp) -> Result<Vec<(Timestamp, String)>> {
        let sql = "SELECT at, text FROM message WHERE session = ?1 AND at <= ?2 ORDER BY at, event";
        self.rows(sql, params![session.row, now.millis()], |row| Ok((time(row, 0)?, row.get(1)?)))
    }

    /// What the session was told, oldest first.
    pub fn receipts(&self, session: &SessionRow, now: Timestamp) -> Result<Vec<Receipt>> {
        let sql = "SELECT at, codes, memories FROM receipt WHERE session = ?1 AND at <= ?2 ORDER BY at, row";
        let list = |json: String| serde_json::from_str::<Vec<String>>(&json).unwrap_or_default();
        self.rows(sql, params![session.row, now.millis()], |row| {
            Ok((time(row, 0)?, list(row.get(1)?), list(row.get(2)?)))
        })
    }

    /// The projects with this name, in any case.
    pub fn projects_named(&self, name: &str, now: Timestamp) -> Result<Vec<ProjectId>> {
        let sql = "SELECT DISTINCT project FROM session WHERE project_name = ?1 COLLATE NOCASE AND started_at <= ?2
            ORDER BY project";
        let stored = self.rows(sql, params![name, now.millis()], |row| row.get::<_, String>(0))?;
        Ok(stored.into_iter().map(ProjectId::from_stored).collect())
    }

    /// All names of projects that have sessions.
    pub fn project_names(&self, now: Timestamp) -> Result<Vec<String>> {
        let sql = "SELECT DISTINCT project_name FROM session WHERE started_at <= ?1 ORDER BY project_name";
        self.rows(sql, [now.millis()], |row| row.get(0))
    }
}
