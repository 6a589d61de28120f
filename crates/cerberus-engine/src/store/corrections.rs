//! Corrections in the view, and how many of them have been turned into proposals.

use cerberus_core::extract::words::unit::Units;
use cerberus_core::learn::correction::{self, Correction, CorrectionKind};
use cerberus_core::learn::voice;
use cerberus_core::model::event::{Event, Outcome, Record, Untyped};
use cerberus_core::model::id::ProjectId;
use cerberus_core::model::source::Source as MemorySource;
use cerberus_core::model::time::Timestamp;
use rusqlite::{Row, params};

use super::read::time;
use super::write::{FoldTransaction, Source};
use super::{Result, SessionRow, Store};

/// A correction with its session and time.
#[derive(Clone, Debug)]
pub struct CorrectionRow {
    pub session: i64,
    pub agent: String,
    pub agent_session_id: String,
    pub project: ProjectId,
    pub project_name: String,
    pub key: String,
    pub at: Timestamp,
    pub correction: Correction,
    /// What the agent said before it.
    pub before: String,
    pub source: MemorySource,
}

/// What the user said, read once for everything that is found in it.
pub(super) struct ReadWords {
    pub units: Units,
    /// What the agent last said before it.
    pub message: String,
    /// Whether the agent was at work.
    pub is_interruption: bool,
}

impl FoldTransaction<'_> {
    /// Reads what the user said, with what the agent last said before it.
    pub(super) fn read_words(&self, source: &Source, said: &str) -> Result<ReadWords> {
        // The plus makes SQLite go back from the event, instead of sorting all events of the session. None of them has a
        // lower row than the session.
        let sql = "SELECT last_words, (SELECT kind = 'tool' FROM event WHERE +session = ?1 AND row >= ?1 AND row < ?2
            ORDER BY row DESC LIMIT 1) FROM session WHERE row = ?1";
        let read = |row: &rusqlite::Row| Ok((row.get::<_, String>(0)?, row.get::<_, Option<bool>>(1)?));
        let mut find = self.with_path(self.transaction.prepare_cached(sql))?;
        let (message, was_at_work) = self.with_path(find.query_row([source.session, source.event], read))?;
        Ok(ReadWords { units: Units::new(said), message, is_interruption: was_at_work == Some(true) })
    }

    /// Finds corrections of the agent's work: in a prompt, or in the feedback to a rejected tool use.
    pub(super) fn corrections(&self, source: &Source, record: &Record, prompt: Option<ReadWords>) -> Result<()> {
        let is_rejection = prompt.is_none();
        let (prompt, read) = match (&record.event, prompt) {
            (Event::Prompt { text }, Some(read)) => (&**text, read),
            (Event::Tool(used), _) if used.outcome == Outcome::Interrupted => {
                let Some(feedback) = used.error.as_deref().and_then(correction::feedback) else { return Ok(()) };
                (feedback, self.read_words(source, feedback)?)
            }
            _ => return Ok(()),
        };
        let ReadWords { units, message: before, is_interruption } = read;
        let is_interruption = is_rejection || is_interruption;
        let turn = correction::Turn { prompt, before: &before, is_interruption };
        for Correction { kind, text, confidence } in correction::corrections(&turn, &units) {
            let from = match () {
                () if record.by_agent => MemorySource::Agent,
                // The error of a tool use may contain what the tool printed.
                () if is_rejection => MemorySource::Tool,
                () if voice::is_typed(prompt, &text) => MemorySource::Prompt,
                () => MemorySource::Pasted,
            };
            let sql = "INSERT INTO correction (event, session, at, kind, confidence, text, before, source)
                VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8)";
            let (at, from) = (source.at.millis(), from.word());
            self.run(sql, params![source.event, source.session, at, kind.word(), confidence, text, before, from])?;
        }
        Ok(())
    }

    /// Notes prompts that nobody typed. They may be folded later.
    pub(super) fn untyped(&self, source: &Source, found: &Untyped) -> Result<()> {
        self.drop_digest(source.session)?;
        for key in &found.prompts {
            let sql = "INSERT OR IGNORE INTO untyped VALUES (?1, ?2, ?3)";
            self.run(sql, params![source.session, &**key, found.source.word()])?;
        }
        Ok(())
    }
}

impl Store {
    /// Corrections of these sessions (of all if empty) up to `now`, oldest first.
    pub fn corrections(&self, sessions: &[i64], limit: usize, now: Timestamp) -> Result<Vec<CorrectionRow>> {
        let rows = sessions.iter().map(i64::to_string).collect::<Vec<_>>().join(",");
        let filter = if rows.is_empty() { String::new() } else { format!("correction.session IN ({rows}) AND") };
        let sql = format!(
            "SELECT correction.session, agent, agent_session_id, project, project_name, event.key, correction.at,
             correction.kind, confidence, text, before, coalesce(untyped.source, correction.source)
             FROM correction JOIN event ON event.row = correction.event
             LEFT JOIN untyped ON untyped.session = correction.session AND untyped.key = event.key
             JOIN session ON session.row = correction.session WHERE {filter} correction.at <= ?1
             ORDER BY correction.at DESC, correction.event DESC, correction.row DESC LIMIT ?2"
        );
        let read = |row: &Row| {
            let kind: String = row.get(7)?;
            let kind = CorrectionKind::from_word(&kind).unwrap_or(CorrectionKind::Fix);
            Ok(CorrectionRow {
                session: row.get(0)?,
                agent: row.get(1)?,
                agent_session_id: row.get(2)?,
                project: ProjectId::from_stored(row.get(3)?),
                project_name: row.get(4)?,
                key: row.get(5)?,
                at: time(row, 6)?,
                correction: Correction { kind, confidence: row.get(8)?, text: row.get(9)? },
                before: row.get(10)?,
                source: MemorySource::from_word(&row.get::<_, String>(11)?),
            })
        };
        let mut found = self.rows(&sql, params![now.millis(), limit], read)?;
        found.reverse();
        Ok(found)
    }

    /// The keys of a session's prompts, in their order.
    pub fn prompt_keys(&self, session: &SessionRow) -> Result<Vec<String>> {
        let sql = "SELECT key FROM event WHERE session = ?1 AND kind IN ('prompt', 'notification') ORDER BY at, row";
        self.rows(sql, [session.row], |row| row.get(0))
    }

    /// Whether there are corrections that were not turned into proposals yet.
    pub fn has_new_corrections(&self) -> Result<bool> {
        Ok(self.corrections_seen()? != self.distilled()?)
    }

    /// The number of corrections, and the row of the last one.
    fn corrections_seen(&self) -> Result<(i64, i64)> {
        let sql = "SELECT count(*), coalesce(max(event), 0) FROM correction";
        Ok(self.rows(sql, [], |row| Ok((row.get(0)?, row.get(1)?)))?.into_iter().next().unwrap_or_default())
    }

    fn distilled(&self) -> Result<(i64, i64)> {
        let sql = "SELECT corrections, last_event FROM distilled";
        Ok(self.rows(sql, [], |row| Ok((row.get(0)?, row.get(1)?)))?.into_iter().next().unwrap_or_default())
    }

    /// Records that all corrections were processed. If another process holds the lock, they are processed again later.
    pub fn set_distilled(&self) -> Result<()> {
        let (corrections, last_event) = self.corrections_seen()?;
        let sql = "INSERT INTO distilled VALUES (1, ?1, ?2) ON CONFLICT (row) DO UPDATE SET
            corrections = excluded.corrections, last_event = excluded.last_event";
        match self.with_path(self.connection.execute(sql, [corrections, last_event])) {
            Err(error) if !error.is_busy() => Err(error),
            _ => Ok(()),
        }
    }

    /// Some of the files that a session edited.
    pub fn edited_paths(&self, session: i64) -> Result<Vec<String>> {
        let sql = "SELECT DISTINCT path FROM fact WHERE session = ?1 AND kind = 'file' AND path IS NOT NULL LIMIT 100";
        self.rows(sql, [session], |row| row.get(0))
    }

    pub fn correction_count(&self, now: Timestamp) -> Result<usize> {
        let found = self.rows("SELECT count(*) FROM correction WHERE at <= ?1", [now.millis()], |row| row.get(0))?;
        Ok(found.into_iter().next().unwrap_or(0))
    }
}
