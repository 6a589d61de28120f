//! What sessions are called.

use std::collections::HashMap;

use cerberus_core::brief::title::{self, Rank};
use cerberus_core::clean::text;
use cerberus_core::model::time::Timestamp;
use rusqlite::params;

use super::read::row_list;
use super::{Result, SessionRow, Store};

/// The title of a session that nothing is known about.
const UNTITLED: &str = "(no prompt)";
/// How many files are counted for a title.
const FILES_MAX: usize = 1_000;

impl Store {
    /// The titles of these sessions as of `now`, by row. Every session has one.
    pub fn titles(&self, sessions: &[SessionRow], now: Timestamp) -> Result<HashMap<i64, String>> {
        let sql = format!(
            "SELECT session, rank, text FROM title WHERE session IN ({}) AND at <= ?1
             ORDER BY session, rank, iif(rank < ?2, -at, at), iif(rank < ?2, -event, event)",
            row_list(sessions)
        );
        let found = self.rows(&sql, params![now.millis(), Rank::Request.number()], |row| {
            Ok((row.get::<_, i64>(0)?, row.get::<_, u8>(1)?, row.get::<_, String>(2)?))
        })?;
        let mut best: HashMap<i64, (u8, String)> = HashMap::new();
        for (session, rank, text) in found {
            best.entry(session).or_insert((rank, text));
        }
        let mut titles = HashMap::new();
        for session in sessions {
            let title = match best.remove(&session.row) {
                Some((rank, text)) if rank <= Rank::Request.number() => text,
                other => self.fallback_title(session, other.map(|(_, text)| text), now)?,
            };
            titles.insert(session.row, title);
        }
        Ok(titles)
    }

    pub fn title(&self, session: &SessionRow, now: Timestamp) -> Result<String> {
        let mut titles = self.titles(std::slice::from_ref(session), now)?;
        Ok(titles.remove(&session.row).unwrap_or_else(|| UNTITLED.to_string()))
    }

    /// Sessions of agents that were active since `since`, have no title of their own, and whose transcript was not
    /// searched for one since, newest first.
    pub fn untitled(&self, since: Timestamp, now: Timestamp, limit: usize) -> Result<Vec<SessionRow>> {
        let sql = "SELECT row FROM session WHERE last_activity BETWEEN ?1 AND ?2 AND transcript IS NOT NULL
            AND NOT EXISTS (SELECT 1 FROM title WHERE title.session = session.row AND rank < ?3)
            AND NOT EXISTS (SELECT 1 FROM title_asked WHERE title_asked.session = session.row
                AND title_asked.last_activity = session.last_activity)
            ORDER BY last_activity DESC LIMIT ?4";
        let asked = params![since.millis(), now.millis(), Rank::Request.number(), limit];
        let rows = self.rows(sql, asked, |row| row.get(0))?;
        self.sessions_at(&rows, now)
    }

    /// Remembers that the transcript was searched. If that fails, it is searched again.
    pub fn set_title_asked(&self, session: &SessionRow) {
        let sql = "INSERT OR REPLACE INTO title_asked VALUES (?1, ?2)";
        let _ = self.connection.execute(sql, params![session.row, session.last_activity.millis()]);
    }

    /// For a session without a request: its files, its first prompt, or the first thing recorded about it.
    fn fallback_title(&self, session: &SessionRow, prompt: Option<String>, now: Timestamp) -> Result<String> {
        let sql = "SELECT path FROM fact WHERE session = ?1 AND kind = 'file' AND path IS NOT NULL AND at <= ?2
            GROUP BY path ORDER BY max(at) DESC, max(event) DESC LIMIT ?3";
        let files: Vec<String> = self.rows(sql, params![session.row, now.millis(), FILES_MAX], |row| row.get(0))?;
        if let Some(title) = title::of_files(&files).or(prompt) {
            return Ok(title);
        }
        let sql = "SELECT text FROM fact WHERE session = ?1 AND at <= ?2 ORDER BY at, row LIMIT 1";
        let first = self.rows(sql, params![session.row, now.millis()], |row| row.get::<_, String>(0))?;
        let first = first.first().map(|fact| text::line(fact, title::TITLE_CHARS_MAX));
        Ok(first.filter(|fact| !fact.is_empty()).unwrap_or_else(|| UNTITLED.to_string()))
    }
}
