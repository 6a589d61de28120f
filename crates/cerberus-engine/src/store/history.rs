//! What all of a project's sessions did with its files, for ranking them; and git's own words, kept until they change.

use std::collections::HashMap;

use cerberus_core::brief::rank::weights::{MENTIONING_SESSIONS_MAX, MENTIONING_TURNS_MAX, SESSIONS_MAX};
use cerberus_core::brief::rank::{Touched, Worked};
use cerberus_core::fact::Kind;
use cerberus_core::id::{ProjectId, SessionId};
use cerberus_core::time::Timestamp;
use rusqlite::params;

use super::read::time;
use super::{Result, Store};

/// One row of `fact_files`: everything a session did with a file in one way.
struct Row {
    session: i64,
    path: String,
    kind: Kind,
    times: usize,
    last_at: Timestamp,
}

impl Store {
    /// The project's sessions up to `now`, however old, the one last at work on a file first.
    pub fn history(&self, projects: &[ProjectId], now: Timestamp) -> Result<Vec<Worked>> {
        let mut sessions = Vec::new();
        for project in projects {
            let sql = "SELECT row, id FROM session WHERE project = ?1 AND started_at <= ?2
                ORDER BY last_activity DESC, row DESC LIMIT ?3";
            let read = |row: &rusqlite::Row| Ok((row.get::<_, i64>(0)?, SessionId::new(row.get::<_, String>(1)?)));
            sessions.extend(self.rows(sql, params![project.as_str(), now.millis(), SESSIONS_MAX], read)?);
        }
        let ids: HashMap<i64, SessionId> = sessions.into_iter().collect();
        let mut worked: HashMap<i64, Worked> = HashMap::new();
        for row in self.file_rows(&ids, now)? {
            let id = ids.get(&row.session);
            let Some(session) = id.cloned() else { continue };
            let new = || Worked { session, touched: Vec::new(), mentions: Vec::new() };
            add(&mut worked.entry(row.session).or_insert_with(new).touched, row);
        }
        let mut order: Vec<(Timestamp, i64)> = worked.iter().map(|(row, done)| (last_at(done), *row)).collect();
        order.sort_unstable_by(|a, b| b.cmp(a));
        order.truncate(SESSIONS_MAX);
        let mut history: Vec<Worked> = Vec::with_capacity(order.len());
        for (place, (_, row)) in order.into_iter().enumerate() {
            let Some(mut done) = worked.remove(&row) else { continue };
            if place < MENTIONING_SESSIONS_MAX {
                done.mentions = self.mentions(row, now)?;
            }
            history.push(done);
        }
        Ok(history)
    }

    fn file_rows(&self, sessions: &HashMap<i64, SessionId>, now: Timestamp) -> Result<Vec<Row>> {
        let mut rows: Vec<i64> = sessions.keys().copied().collect();
        rows.sort_unstable();
        let rows = rows.iter().map(i64::to_string).collect::<Vec<_>>().join(",");
        let sql = format!(
            "SELECT session, path, kind, count(*), max(at) FROM fact INDEXED BY fact_files
             WHERE kind IN ('file', 'read') AND session IN ({rows}) AND path IS NOT NULL AND at <= ?1
             GROUP BY session, path, kind"
        );
        self.rows(&sql, [now.millis()], |row| {
            let kind = if row.get_ref(2)?.as_str()? == Kind::File.word() { Kind::File } else { Kind::Read };
            Ok(Row { session: row.get(0)?, path: row.get(1)?, kind, times: row.get(3)?, last_at: time(row, 4)? })
        })
    }

    fn mentions(&self, session: i64, now: Timestamp) -> Result<Vec<Vec<String>>> {
        let sql = "SELECT paths FROM mention WHERE session = ?1 AND at <= ?2 ORDER BY at DESC, event DESC LIMIT ?3";
        let found =
            self.rows(sql, params![session, now.millis(), MENTIONING_TURNS_MAX], |row| row.get::<_, String>(0))?;
        Ok(found.iter().map(|paths| paths.lines().map(str::to_string).collect()).collect())
    }

    /// Every file of these projects that a session ever named.
    pub fn all_files(&self, projects: &[ProjectId]) -> Result<Vec<String>> {
        let mut found = Vec::new();
        for project in projects {
            found.extend(self.rows("SELECT path FROM file WHERE project = ?1", [project.as_str()], |row| row.get(0))?);
        }
        Ok(found)
    }

    /// What git printed for this commit in this worktree, if it was asked before; else what it printed last.
    pub fn git_log(&self, root: &str) -> Result<Option<(String, String)>> {
        let sql = "SELECT head, printed FROM git_log WHERE root = ?1";
        Ok(self.rows(sql, [root], |row| Ok((row.get(0)?, row.get(1)?)))?.pop())
    }

    /// Keeps it for the next time. Whoever cannot write asks git again.
    pub fn keep_git_log(&self, root: &str, head: &str, printed: &str) {
        let sql = "INSERT OR REPLACE INTO git_log VALUES (?1, ?2, ?3)";
        let _ = self.connection.execute(sql, [root, head, printed]);
    }
}

/// Rows come path by path: editing and reading the same file stand side by side.
fn add(touched: &mut Vec<Touched>, row: Row) {
    let is_same = touched.last().is_some_and(|last| last.path == row.path);
    if !is_same {
        let (path, last_at) = (row.path, row.last_at);
        touched.push(Touched { path, edits: 0, reads: 0, last_at, last_edit: None, last_read: None });
    }
    let Some(last) = touched.last_mut() else { return };
    last.last_at = last.last_at.max(row.last_at);
    match row.kind {
        Kind::File => (last.edits, last.last_edit) = (row.times, Some(row.last_at)),
        _ => (last.reads, last.last_read) = (row.times, Some(row.last_at)),
    }
}

fn last_at(worked: &Worked) -> Timestamp {
    worked.touched.iter().map(|touched| touched.last_at).max().unwrap_or(Timestamp::EPOCH)
}
