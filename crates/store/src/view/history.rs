//! What all sessions of a project did with its files, for ranking; and git's last output, cached until it changes.

use std::cmp::Reverse;

use cerberus_recall::brief::digest::{self, WantedPrompts, WantedWork};
use cerberus_recall::brief::rank::weights::{PROMPTED_SESSIONS_MAX, SESSIONS_MAX};
use cerberus_recall::brief::rank::{PastPrompt, SessionWork, TouchedFile};
use cerberus_record::fact::FactKind;
use cerberus_record::id::{ProjectId, SessionId};
use cerberus_record::map::FastMap;
use cerberus_record::time::Timestamp;
use rusqlite::{Row, params};

use super::read::time;
use super::{Result, Store};

impl Store {
    /// The project's sessions up to `now`, however old. The session that touched a file last comes first. The words of
    /// prompts may be missing if they are compared with no other prompt.
    pub fn history(&self, projects: &[ProjectId], asks: Asks, now: Timestamp) -> Result<Vec<SessionWork>> {
        let sql = "SELECT session.row, id, iif(until <= ?2, work, NULL) FROM session
            LEFT JOIN digest ON digest.session = session.row WHERE project = ?1 AND started_at <= ?2
            ORDER BY last_activity DESC, session.row DESC LIMIT ?3";
        let mut found = self.with_path(self.connection.prepare(sql))?;
        let mut sessions = Vec::new();
        for project in projects {
            let asked = params![project.as_str(), now.millis(), SESSIONS_MAX];
            let mut rows = self.with_path(found.query(asked))?;
            while let Some(row) = self.with_path(rows.next())? {
                let read = work_row(row, wanted(sessions.len(), asks));
                sessions.push(self.with_path(read)?);
            }
        }
        let unpacked = sessions.iter().filter(|(.., work)| work.is_none()).map(|(row, ..)| *row).collect();
        let mut unpacked = self.work(unpacked, now)?;
        let mut history = Vec::with_capacity(sessions.len());
        for (place, (row, id, work)) in sessions.into_iter().enumerate() {
            let has_mentions = work.is_some() && place < MENTIONING_SESSIONS_MAX;
            let found = work.or_else(|| Some(SessionWork { session: id, ..unpacked.remove(&row)? }));
            let Some(mut work) = found.filter(|work| !work.touched.is_empty()) else { continue };
            if place >= PROMPTED_SESSIONS_MAX {
                work.prompts.clear();
            }
            history.push((last_at(&work.touched), row, has_mentions, work));
        }
        history.sort_unstable_by_key(|(at, row, ..)| Reverse((*at, *row)));
        history.truncate(SESSIONS_MAX);
        if let Some((_, row, false, latest)) = history.first_mut() {
            latest.mentions = self.mentions(*row, now)?;
        }
        history.iter_mut().skip(1).for_each(|(.., work)| work.mentions.clear());
        Ok(history.into_iter().map(|(.., work)| work).collect())
    }

    /// What sessions of other projects edited below `root` since a time, the last edited first. Their prompts were about
    /// something else.
    pub fn edits_from_outside(&self, root: &str, since: Timestamp, now: Timestamp) -> Result<Vec<SessionWork>> {
        let sql = "SELECT session.id, substr(path, length(?1) + 1), fact.at FROM fact INDEXED BY fact_outside
            JOIN session ON session.row = fact.session WHERE kind = 'file' AND path >= '/' AND path < '0'
            AND path > ?1 AND path < ?2 AND fact.at BETWEEN ?3 AND ?4 AND session.root || '/' <> ?1
            ORDER BY fact.session, path, fact.at";
        let (low, high) = (format!("{root}/"), format!("{root}0"));
        let mut found: Vec<SessionWork> = Vec::new();
        self.rows(sql, params![low, high, since.millis(), now.millis()], |row| {
            let session = SessionId::new(row.get_ref(0)?.as_str()?);
            if found.last().is_none_or(|work| work.session != session) {
                found.push(SessionWork { session, ..nothing_done() });
            }
            let Some(work) = found.last_mut() else { return Ok(()) };
            add(&mut work.touched, row.get_ref(1)?.as_str()?, TouchKind::Edit, time(row, 2)?);
            Ok(())
        })?;
        found.sort_by_key(|work| Reverse(last_at(&work.touched)));
        Ok(found)
    }

    /// The work of these sessions, from their rows; without names and mentions.
    pub(super) fn work(&self, sessions: Vec<i64>, now: Timestamp) -> Result<FastMap<i64, SessionWork>> {
        // With an empty list SQLite cannot use the indexes named below, and reports an error.
        if sessions.is_empty() {
            return Ok(FastMap::default());
        }
        let list = row_list(sessions);
        let mut prompts = self.past_prompts(&list, now)?;
        let touched = self.touched(&list, &mut prompts, now)?;
        let mut found: FastMap<i64, SessionWork> = FastMap::default();
        for (session, touched) in touched {
            found.insert(session, SessionWork { touched, ..nothing_done() });
        }
        for (session, prompts) in prompts {
            let newest_first = prompts.into_iter().rev().map(|(_, prompt)| prompt).collect();
            found.entry(session).or_insert_with(nothing_done).prompts = newest_first;
        }
        Ok(found)
    }

    /// The prompts of each session, oldest first.
    fn past_prompts(&self, sessions: &str, now: Timestamp) -> Result<SessionPrompts> {
        let sql = format!(
            "SELECT session, at, terms, paths FROM prompt INDEXED BY prompt_by_session
             WHERE session IN ({sessions}) AND at <= ?1 ORDER BY session, at, event"
        );
        let mut prompts = SessionPrompts::default();
        self.rows(&sql, [now.millis()], |row| {
            let (terms, paths) = (row.get(2)?, row.get_ref(3)?.as_str()?.lines().map(str::to_string).collect());
            let prompt = PastPrompt { terms, paths, ..PastPrompt::default() };
            prompts.entry(row.get(0)?).or_default().push((time(row, 1)?, prompt));
            Ok(())
        })?;
        Ok(prompts)
    }

    /// The files of each session, and which of them each prompt led to. In the order of the index, so that nothing is
    /// sorted.
    fn touched(
        &self,
        sessions: &str,
        prompts: &mut SessionPrompts,
        now: Timestamp,
    ) -> Result<FastMap<i64, Vec<TouchedFile>>> {
        let sql = format!(
            "SELECT session, path, kind, at FROM fact INDEXED BY fact_files
             WHERE kind IN ('file', 'read') AND session IN ({sessions}) AND path IS NOT NULL AND at <= ?1
             ORDER BY session, path, kind, at"
        );
        let mut all: FastMap<i64, Vec<TouchedFile>> = FastMap::default();
        self.rows(&sql, [now.millis()], |row| {
            let session: i64 = row.get(0)?;
            let touched = all.entry(session).or_default();
            let touch =
                if row.get_ref(2)?.as_str()? == FactKind::File.word() { TouchKind::Edit } else { TouchKind::Read };
            let at = time(row, 3)?;
            add(touched, row.get_ref(1)?.as_str()?, touch, at);
            if let Some(prompts) = prompts.get_mut(&session).filter(|_| touch == TouchKind::Edit) {
                add_to_prompt(prompts, touched.len() - 1, at);
            }
            Ok(())
        })?;
        Ok(all)
    }

    /// Path-like words of the last message.
    pub(super) fn mentions(&self, session: i64, now: Timestamp) -> Result<Vec<String>> {
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

/// Whether a prompt will be compared with those of the past.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Asks {
    Prompt,
    Nothing,
}

/// The session that touched a file last is nearly always among the first.
const MENTIONING_SESSIONS_MAX: usize = 4;

fn wanted(place: usize, asks: Asks) -> WantedWork {
    let prompts = match asks {
        _ if place >= PROMPTED_SESSIONS_MAX => WantedPrompts::None,
        Asks::Prompt => WantedPrompts::All,
        Asks::Nothing => WantedPrompts::Paths,
    };
    WantedWork { mentions: place < MENTIONING_SESSIONS_MAX, prompts }
}

/// The row of a session, its name and its work, if that is packed.
fn work_row(row: &Row, wanted: WantedWork) -> rusqlite::Result<(i64, SessionId, Option<SessionWork>)> {
    let id = SessionId::new(row.get_ref(1)?.as_str()?);
    let packed = row.get_ref(2)?.as_blob_or_null()?;
    let work = packed.and_then(|packed| digest::unpack_work(packed, id.clone(), wanted));
    Ok((row.get(0)?, id, work))
}

/// By the row of their session, oldest first.
type SessionPrompts = FastMap<i64, Vec<(Timestamp, PastPrompt)>>;

/// The edits after a prompt belong to it until the next one.
fn add_to_prompt(prompts: &mut [(Timestamp, PastPrompt)], place: usize, at: Timestamp) {
    let later = prompts.partition_point(|(asked, _)| *asked <= at);
    let Some((_, prompt)) = later.checked_sub(1).and_then(|last| prompts.get_mut(last)) else { return };
    if prompt.edited.last() != Some(&place) {
        prompt.edited.push(place);
    }
}

fn row_list(mut rows: Vec<i64>) -> String {
    rows.sort_unstable();
    rows.iter().map(i64::to_string).collect::<Vec<_>>().join(",")
}

/// How a session touched a file.
#[derive(Clone, Copy, PartialEq, Eq)]
enum TouchKind {
    Edit,
    Read,
}

/// Rows arrive path by path, in the order of the index, older before newer.
fn add(touched: &mut Vec<TouchedFile>, path: &str, touch: TouchKind, at: Timestamp) {
    if touched.last().is_none_or(|last| last.path != path) {
        let path = path.to_string();
        touched.push(TouchedFile { path, edits: 0, reads: 0, last_at: at, last_edit: None, last_read: None });
    }
    let Some(last) = touched.last_mut() else { return };
    last.last_at = last.last_at.max(at);
    match touch {
        TouchKind::Edit => (last.edits, last.last_edit) = (last.edits + 1, last.last_edit.max(Some(at))),
        TouchKind::Read => (last.reads, last.last_read) = (last.reads + 1, last.last_read.max(Some(at))),
    }
}

/// The work of a session without any.
pub(super) fn nothing_done() -> SessionWork {
    SessionWork { session: SessionId::new(""), touched: Vec::new(), mentions: Vec::new(), prompts: Vec::new() }
}

fn last_at(touched: &[TouchedFile]) -> Timestamp {
    touched.iter().map(|touched| touched.last_at).max().unwrap_or(Timestamp::EPOCH)
}
