//! Queries for the pages that people look at. Every query is as of a given time.

use std::collections::{HashMap, HashSet};
use std::time::Duration;

use cerberus_recall::brief::usage::EarlierWork;
use cerberus_record::event::StartSource;
use cerberus_record::fact::FactKind;
use cerberus_record::id::ProjectId;
use cerberus_record::kind::EventKind;
use cerberus_record::runs::{Run, RunCommand};
use cerberus_record::time::Timestamp;
use rusqlite::{Row, params};

use super::read::{row_list, time};
use super::write::json;
use super::{Result, SessionRow, Store};

/// What a session was told at one time.
#[derive(Clone, Debug)]
pub struct ReceiptRow {
    pub at: Timestamp,
    /// How the session began; `None` if it was told something later.
    pub source: Option<StartSource>,
    pub codes: Vec<String>,
    /// The ids of memories.
    pub memories: Vec<String>,
}

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
    ) -> Result<HashMap<i64, Vec<(RunCommand, Run)>>> {
        let sql = format!(
            "SELECT session, report FROM run WHERE session IN ({}) AND at <= ?1 ORDER BY session, at, event",
            row_list(sessions)
        );
        let mut runs: HashMap<i64, Vec<(RunCommand, Run)>> = HashMap::new();
        for (session, report) in self.rows(&sql, [now.millis()], |row| Ok((row.get(0)?, row.get::<_, String>(1)?)))? {
            if let Ok(run) = serde_json::from_slice(report.as_bytes()) {
                runs.entry(session).or_default().push(run);
            }
        }
        Ok(runs)
    }

    /// How long each session was at work, by row: the time between its events, without pauses that are longer than this.
    pub fn active_times(
        &self,
        sessions: &[SessionRow],
        pause: Duration,
        now: Timestamp,
    ) -> Result<HashMap<i64, Duration>> {
        let ours = EventKind::ALL.iter().filter(|kind| !kind.is_activity()).map(|kind| format!("'{}'", kind.word()));
        let sql = format!(
            "SELECT session, sum(gap) FROM (SELECT session, at - lag(at) OVER (PARTITION BY session ORDER BY at) AS gap
             FROM event WHERE session IN ({}) AND at <= ?1 AND kind NOT IN ({})) WHERE gap <= ?2 GROUP BY session",
            row_list(sessions),
            ours.collect::<Vec<_>>().join(",")
        );
        let pause = i64::try_from(pause.as_millis()).unwrap_or(i64::MAX);
        let found = self.rows(&sql, params![now.millis(), pause], |row| Ok((row.get(0)?, row.get::<_, u64>(1)?)))?;
        Ok(found.into_iter().map(|(session, millis)| (session, Duration::from_millis(millis))).collect())
    }

    /// The sessions whose start a hook reported, by row.
    pub fn hooked(&self, sessions: &[SessionRow]) -> Result<HashSet<i64>> {
        let sql = format!(
            "SELECT DISTINCT session FROM event WHERE session IN ({}) AND kind = '{}'",
            row_list(sessions),
            EventKind::Start.word()
        );
        Ok(self.rows(&sql, [], |row| row.get(0))?.into_iter().collect())
    }

    /// The files that each session edited or read, by row.
    pub fn touched_paths(&self, sessions: &[SessionRow], now: Timestamp) -> Result<HashMap<i64, Vec<String>>> {
        let sql = format!(
            "SELECT DISTINCT session, path FROM fact INDEXED BY fact_files WHERE session IN ({})
             AND kind IN ('file', 'read') AND path IS NOT NULL AND at <= ?1 ORDER BY session, path",
            row_list(sessions)
        );
        let mut found: HashMap<i64, Vec<String>> = HashMap::new();
        for (session, path) in self.rows(&sql, [now.millis()], |row| Ok((row.get(0)?, row.get(1)?)))? {
            found.entry(session).or_default().push(path);
        }
        Ok(found)
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
    pub fn receipts(&self, session: &SessionRow, now: Timestamp) -> Result<Vec<ReceiptRow>> {
        let sql = "SELECT at, codes, memories, source FROM receipt WHERE session = ?1 AND at <= ?2 ORDER BY at, row";
        let list = |json: String| serde_json::from_slice::<Vec<String>>(json.as_bytes()).unwrap_or_default();
        self.rows(sql, params![session.row, now.millis()], |row| {
            let source = row.get::<_, Option<String>>(3)?.and_then(|source| StartSource::from_word(&source));
            Ok(ReceiptRow { at: time(row, 0)?, source, codes: list(row.get(1)?), memories: list(row.get(2)?) })
        })
    }

    /// The sessions that were told anything, by row.
    pub fn told_sessions(&self, now: Timestamp) -> Result<Vec<i64>> {
        self.rows("SELECT DISTINCT session FROM receipt WHERE at <= ?1", [now.millis()], |row| row.get(0))
    }

    /// What the sessions of a project had done between two times, by kind and code.
    pub fn earlier_facts(&self, project: &ProjectId, since: Timestamp, until: Timestamp) -> Result<Vec<EarlierWork>> {
        let sql = "SELECT kind, code, path, count(DISTINCT session), max(at) FROM fact
            WHERE session IN (SELECT row FROM session WHERE project = ?1) AND at >= ?2 AND at < ?3
            GROUP BY kind, code, path";
        let read = |row: &Row| {
            let (kind, last_at) = (row.get::<_, String>(0)?, time(row, 4)?);
            Ok((kind, row.get(1)?, row.get(2)?, row.get(3)?, last_at))
        };
        let found = self.rows(sql, params![project.as_str(), since.millis(), until.millis()], read)?;
        let earlier = |(kind, code, path, sessions, last_at): (String, _, _, _, _)| {
            Some(EarlierWork { kind: FactKind::from_word(&kind)?, code, path, sessions, last_at })
        };
        Ok(found.into_iter().filter_map(earlier).collect())
    }

    /// The name of a project in its newest session.
    pub fn project_name(&self, project: &ProjectId, now: Timestamp) -> Result<Option<String>> {
        let sql = "SELECT project_name FROM session WHERE project = ?1 AND started_at <= ?2
            ORDER BY started_at DESC LIMIT 1";
        Ok(self.rows(sql, params![project.as_str(), now.millis()], |row| row.get(0))?.pop())
    }

    /// The sessions of these projects that were completed last, all at the same time.
    pub fn last_completed(&self, projects: &[ProjectId], now: Timestamp) -> Result<Vec<SessionRow>> {
        let projects: Vec<&str> = projects.iter().map(ProjectId::as_str).collect();
        let sql = "SELECT session.row FROM mark JOIN session ON session.row = mark.session
            WHERE what = 'completed' AND mark.at = (SELECT max(mark.at) FROM mark
                JOIN session ON session.row = mark.session WHERE what = 'completed' AND mark.at <= ?2
                AND project IN (SELECT value FROM json_each(?1)))
            AND project IN (SELECT value FROM json_each(?1))";
        let rows = self.rows(sql, params![json(&projects), now.millis()], |row| row.get(0))?;
        self.sessions_at(&rows, now)
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
