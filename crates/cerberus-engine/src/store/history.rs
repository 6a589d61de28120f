//! What all sessions of a project did with its files, for ranking; and git's last output, cached until it changes.

use std::collections::HashMap;

use cerberus_core::brief::rank::weights::{PROMPTED_SESSIONS_MAX, SESSIONS_MAX};
use cerberus_core::brief::rank::{PastPrompt, SessionWork, Touched};
use cerberus_core::model::fact::Kind;
use cerberus_core::model::id::{ProjectId, SessionId};
use cerberus_core::model::time::Timestamp;
use rusqlite::params;

use super::read::time;
use super::{Result, Store};

impl Store {
    /// The project's sessions up to `now`, however old. The session that touched a file last comes first.
    pub fn history(&self, projects: &[ProjectId], now: Timestamp) -> Result<Vec<SessionWork>> {
        let mut sessions = Vec::new();
        for project in projects {
            let sql = "SELECT row, id FROM session WHERE project = ?1 AND started_at <= ?2
                ORDER BY last_activity DESC, row DESC LIMIT ?3";
            let read = |row: &rusqlite::Row| Ok((row.get::<_, i64>(0)?, SessionId::new(row.get::<_, String>(1)?)));
            sessions.extend(self.rows(sql, params![project.as_str(), now.millis(), SESSIONS_MAX], read)?);
        }
        let lately: Vec<i64> = sessions.iter().take(PROMPTED_SESSIONS_MAX).map(|(row, _)| *row).collect();
        let ids: HashMap<i64, SessionId> = sessions.into_iter().collect();
        // With an empty list SQLite cannot use the indexes named below, and reports an error.
        if ids.is_empty() {
            return Ok(Vec::new());
        }
        let mut prompts = self.past_prompts(&lately, now)?;
        let mut worked = self.touched(&ids, &mut prompts, now)?;
        let mut order: Vec<(Timestamp, i64)> = worked.iter().map(|(row, touched)| (last_at(touched), *row)).collect();
        order.sort_unstable_by(|a, b| b.cmp(a));
        order.truncate(SESSIONS_MAX);
        let mut history: Vec<SessionWork> = Vec::with_capacity(order.len());
        for (index, (_, row)) in order.into_iter().enumerate() {
            let (Some(touched), Some(session)) = (worked.remove(&row), ids.get(&row).cloned()) else { continue };
            let mentions = if index == 0 { self.mentions(row, now)? } else { Vec::new() };
            let prompts =
                prompts.remove(&row).unwrap_or_default().into_iter().rev().map(|(_, prompt)| prompt).collect();
            history.push(SessionWork { session, touched, mentions, prompts });
        }
        Ok(history)
    }

    /// The prompts of each session, oldest first.
    fn past_prompts(&self, sessions: &[i64], now: Timestamp) -> Result<Prompts> {
        let sql = format!(
            "SELECT session, at, terms, paths FROM prompt INDEXED BY prompt_by_session
             WHERE session IN ({}) AND at <= ?1 ORDER BY session, at, event",
            row_list(sessions.to_vec())
        );
        let mut prompts = Prompts::new();
        self.rows(&sql, [now.millis()], |row| {
            let (terms, paths) = (row.get(2)?, row.get_ref(3)?.as_str()?.lines().map(str::to_string).collect());
            let prompt = PastPrompt { terms, paths, ..PastPrompt::default() };
            prompts.entry(row.get(0)?).or_default().push((time(row, 1)?, prompt));
            Ok(())
        })?;
        Ok(prompts)
    }

    /// Reads in the order of the index, which is the order needed for grouping.
    fn touched(
        &self,
        sessions: &HashMap<i64, SessionId>,
        prompts: &mut Prompts,
        now: Timestamp,
    ) -> Result<HashMap<i64, Vec<Touched>>> {
        let rows = row_list(sessions.keys().copied().collect());
        let sql = format!(
            "SELECT session, path, kind, at FROM fact INDEXED BY fact_files
             WHERE kind IN ('file', 'read') AND session IN ({rows}) AND path IS NOT NULL AND at <= ?1
             ORDER BY session, path, kind, at"
        );
        let mut touched: HashMap<i64, Vec<Touched>> = HashMap::new();
        let mut current: (i64, Vec<Touched>) = (0, Vec::new());
        self.rows(&sql, [now.millis()], |row| {
            let session: i64 = row.get(0)?;
            if session != current.0 {
                let done = std::mem::replace(&mut current, (session, Vec::new()));
                touched.insert(done.0, done.1);
            }
            let touch = if row.get_ref(2)?.as_str()? == Kind::File.word() { Touch::Edit } else { Touch::Read };
            let at = time(row, 3)?;
            add(&mut current.1, row.get_ref(1)?.as_str()?, touch, at);
            if let Some(prompts) = prompts.get_mut(&session) {
                add_to_prompt(prompts, current.1.len() - 1, touch, at);
            }
            Ok(())
        })?;
        touched.insert(current.0, current.1);
        touched.retain(|_, touched| !touched.is_empty());
        Ok(touched)
    }

    /// Path-like words of the last message.
    fn mentions(&self, session: i64, now: Timestamp) -> Result<Vec<String>> {
        let sql = "SELECT paths FROM mention WHERE session = ?1 AND at <= ?2 ORDER BY at DESC, event DESC LIMIT 1";
        let found = self.rows(sql, params![session, now.millis()], |row| row.get::<_, String>(0))?;
        Ok(found.iter().flat_map(|paths| paths.lines()).map(str::to_string).collect())
    }

    /// Every file of these projects that a session ever named.
    pub fn all_files(&self, projects: &[ProjectId]) -> Result<Vec<String>> {
        let mut found = Vec::new();
        for project in projects {
            found.extend(self.rows("SELECT path FROM file WHERE project = ?1", [project.as_str()], |row| row.get(0))?);
        }
        Ok(found)
    }

    /// The commit for which git was last asked in this worktree, and what it printed.
    pub fn git_log(&self, root: &str) -> Result<Option<(String, String)>> {
        let sql = "SELECT head, printed FROM git_log WHERE root = ?1";
        Ok(self.rows(sql, [root], |row| Ok((row.get(0)?, row.get(1)?)))?.pop())
    }

    /// Caches it for the next time. If this fails, git is simply asked again.
    pub fn cache_git_log(&self, root: &str, head: &str, printed: &str) {
        let sql = "INSERT OR REPLACE INTO git_log VALUES (?1, ?2, ?3)";
        let _ = self.connection.execute(sql, [root, head, printed]);
    }
}

/// By the row of their session, oldest first.
type Prompts = HashMap<i64, Vec<(Timestamp, PastPrompt)>>;

/// The work after a prompt belongs to it until the next one.
fn add_to_prompt(prompts: &mut [(Timestamp, PastPrompt)], place: usize, touch: Touch, at: Timestamp) {
    let later = prompts.partition_point(|(asked, _)| *asked <= at);
    let Some((_, prompt)) = later.checked_sub(1).and_then(|last| prompts.get_mut(last)) else { return };
    let places = match touch {
        Touch::Edit => &mut prompt.edited,
        Touch::Read => &mut prompt.read,
    };
    if places.last() != Some(&place) {
        places.push(place);
    }
}

fn row_list(mut rows: Vec<i64>) -> String {
    rows.sort_unstable();
    rows.iter().map(i64::to_string).collect::<Vec<_>>().join(",")
}

/// How a session touched a file.
#[derive(Clone, Copy)]
enum Touch {
    Edit,
    Read,
}

/// Rows arrive path by path, in the order of the index, older before newer.
fn add(touched: &mut Vec<Touched>, path: &str, touch: Touch, at: Timestamp) {
    if touched.last().is_none_or(|last| last.path != path) {
        let path = path.to_string();
        touched.push(Touched { path, edits: 0, reads: 0, last_at: at, last_edit: None, last_read: None });
    }
    let Some(last) = touched.last_mut() else { return };
    last.last_at = last.last_at.max(at);
    match touch {
        Touch::Edit => (last.edits, last.last_edit) = (last.edits + 1, last.last_edit.max(Some(at))),
        Touch::Read => (last.reads, last.last_read) = (last.reads + 1, last.last_read.max(Some(at))),
    }
}

fn last_at(touched: &[Touched]) -> Timestamp {
    touched.iter().map(|touched| touched.last_at).max().unwrap_or(Timestamp::EPOCH)
}
