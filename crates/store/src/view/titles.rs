//! What sessions are called.

use std::collections::HashMap;

use cerberus_recall::brief::title::{self, Rank};
use cerberus_record::clean::text;
use cerberus_record::session::CARRY_OVER;
use cerberus_record::time::Timestamp;
use rusqlite::params;

use super::read::row_list;
use super::{Result, SessionRow, Store};

/// The title of a session that nothing is known about.
const UNTITLED: &str = "(no prompt)";
/// How many files are counted for a title.
const FILES_MAX: usize = 1_000;

/// So many sessions in a row may go on with the one before them.
const CONTINUED_MAX: usize = 20;
/// What one query names.
const SESSIONS_PER_QUERY: usize = 500;

/// A title that was given to a session, or that a prompt gives it.
struct OwnTitle {
    rank: u8,
    text: String,
    /// An earlier session of the project has the same.
    is_known: bool,
}

impl Store {
    /// The titles of these sessions as of `now`, by row. Every session has one.
    pub fn titles(&self, sessions: &[SessionRow], now: Timestamp) -> Result<HashMap<i64, String>> {
        let mut titles = HashMap::new();
        for sessions in sessions.chunks(SESSIONS_PER_QUERY) {
            let mut own = self.own_titles(sessions, now)?;
            for session in sessions {
                titles.insert(session.row, self.chosen_title(session, own.remove(&session.row), now, CONTINUED_MAX)?);
            }
        }
        Ok(titles)
    }

    /// The best title that was given to each session or is in its prompts.
    fn own_titles(&self, sessions: &[SessionRow], now: Timestamp) -> Result<HashMap<i64, OwnTitle>> {
        // The newest name that was given, the first request. The text of an earlier request of the project names nothing.
        let sql = format!(
            "SELECT session, rank, text, rank >= ?2 AND EXISTS (SELECT 1 FROM title AS same
                JOIN session AS earlier ON earlier.row = same.session JOIN session AS this ON this.row = title.session
                WHERE same.text = title.text AND same.rank >= ?2 AND same.at <= ?1 AND earlier.project = this.project
                AND (earlier.started_at, earlier.row) < (this.started_at, this.row))
             FROM title WHERE session IN ({}) AND at <= ?1
             ORDER BY session, rank, iif(rank < ?2, -at, at), iif(rank < ?2, -event, event)",
            row_list(sessions)
        );
        let found = self.rows(&sql, params![now.millis(), Rank::Request.number()], |row| {
            let title = OwnTitle { rank: row.get(1)?, text: row.get(2)?, is_known: row.get(3)? };
            Ok((row.get::<_, i64>(0)?, title))
        })?;
        let mut best = HashMap::new();
        for (session, title) in found {
            best.entry(session).or_insert(title);
        }
        Ok(best)
    }

    /// What a session is called: its own title if that tells it from others, else what it went on with or did.
    fn chosen_title(
        &self,
        session: &SessionRow,
        own: Option<OwnTitle>,
        now: Timestamp,
        steps: usize,
    ) -> Result<String> {
        let is_at_most = |own: &OwnTitle, rank: Rank| own.rank <= rank.number() && !own.is_known;
        if let Some(own) = own.as_ref().filter(|own| is_at_most(own, Rank::Request)) {
            return Ok(own.text.clone());
        }
        if own.as_ref().is_some_and(|own| own.rank == Rank::Prompt.number())
            && let Some(title) = self.continued_title(session, now, steps)?
        {
            return Ok(title);
        }
        if let Some(title) = self.first_commit(session, now)?.and_then(|fact| title::of_commit(&fact)) {
            return Ok(title);
        }
        if let Some(own) = own.as_ref().filter(|own| is_at_most(own, Rank::Vague)) {
            return Ok(own.text.clone());
        }
        if let Some(title) = self.last_message(session, now)?.and_then(|message| title::of_reply(&message)) {
            return Ok(title);
        }
        match own {
            Some(own) if own.rank <= Rank::Vague.number() => Ok(own.text),
            own => self.fallback_title(session, own.map(|own| own.text), now),
        }
    }

    /// The title of the session of the project before this one, for one that says nothing but "go on".
    fn continued_title(&self, session: &SessionRow, now: Timestamp, steps: usize) -> Result<Option<String>> {
        if steps == 0 {
            return Ok(None);
        }
        let sql = "SELECT row FROM session WHERE project = ?1 AND row <> ?2 AND last_activity >= ?3
            AND (started_at, row) < (?4, ?2) ORDER BY started_at DESC, row DESC LIMIT 1";
        let since = session.started_at.minus(CARRY_OVER).millis();
        let asked = params![session.project.as_str(), session.row, since, session.started_at.millis()];
        let rows: Vec<i64> = self.rows(sql, asked, |row| row.get(0))?;
        let Some(before) = self.sessions_at(&rows, now)?.pop() else { return Ok(None) };
        let own = self.own_titles(std::slice::from_ref(&before), now)?.remove(&before.row);
        let title = self.chosen_title(&before, own, now, steps - 1)?;
        Ok((title != UNTITLED).then(|| title::of_continued(&title)))
    }

    fn first_commit(&self, session: &SessionRow, now: Timestamp) -> Result<Option<String>> {
        let sql = "SELECT text FROM fact WHERE session = ?1 AND kind = 'commit' AND kind NOT IN ('file', 'read')
            AND at <= ?2 ORDER BY at, row LIMIT 1";
        Ok(self.rows(sql, params![session.row, now.millis()], |row| row.get(0))?.pop())
    }

    fn last_message(&self, session: &SessionRow, now: Timestamp) -> Result<Option<String>> {
        let sql = "SELECT text FROM message WHERE session = ?1 AND at <= ?2 ORDER BY at DESC, event DESC LIMIT 1";
        Ok(self.rows(sql, params![session.row, now.millis()], |row| row.get(0))?.pop())
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

    /// For a session of which little is known: its files, its first prompt, or the first thing recorded about it.
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
