//! Turns that the user took back. Their rows are removed, so that nothing tells, counts or finds them; the journal keeps
//! them.
//!
//! What cannot be taken back stays: commits, pull requests, pushes and deployments, what somebody recorded, and rules of the user.

use cerberus_record::clean::text::Clean;
use cerberus_record::id::Agent;
use rusqlite::{OptionalExtension, params};

use super::write::{FoldTransaction, RowSource};
use super::{Result, SessionRow, Store};

/// The events of a turn: from a prompt up to the next one, or up to the record that takes it back.
const TURN: &str = "event IN (SELECT row FROM event WHERE session = ?1 AND row >= ?2 AND row < ?3
    AND kind IN ('prompt', 'notification', 'tool', 'stop', 'task'))";

impl FoldTransaction<'_> {
    pub(super) fn undone(&self, source: &RowSource, agent: Agent, prompts: &[Clean]) -> Result<()> {
        self.drop_digest(source.session)?;
        for key in prompts {
            let sql = "SELECT row, (SELECT min(row) FROM event WHERE session = ?1 AND row > asked.row
                AND kind = 'prompt') FROM event AS asked WHERE session = ?1 AND key = ?2";
            let mut turn = self.with_path(self.transaction.prepare_cached(sql))?;
            let read = |row: &rusqlite::Row| Ok((row.get::<_, i64>(0)?, row.get::<_, Option<i64>>(1)?));
            let found = self.with_path(turn.query_row(params![source.session, &**key], read).optional())?;
            let Some((first, next)) = found else { continue };
            self.remove_turn(source.session, first, next.unwrap_or(source.event))?;
        }
        self.title_from_rest(source, agent)
    }

    fn remove_turn(&self, session: i64, first: i64, end: i64) -> Result<()> {
        // The names of functions are recorded later than the edits.
        let named = format!(
            "DELETE FROM fact WHERE session = ?1 AND kind = 'function' AND source IN ('hook', 'import')
            AND path IN (SELECT path FROM fact WHERE kind = 'file' AND {TURN})
            AND path NOT IN (SELECT path FROM fact WHERE session = ?1 AND kind = 'file' AND NOT {TURN})"
        );
        self.run(&named, params![session, first, end])?;
        let kept = format!("DELETE FROM fact WHERE {TURN} AND kind NOT IN ('commit', 'pull_request', 'step')");
        self.run(&kept, params![session, first, end])?;
        for table in ["closing", "run", "mention", "prompt", "message", "title", "edited_line"] {
            self.run(&format!("DELETE FROM {table} WHERE {TURN}"), params![session, first, end])?;
        }
        Ok(())
    }

    /// The session may have been named by a prompt that is gone.
    fn title_from_rest(&self, source: &RowSource, agent: Agent) -> Result<()> {
        let sql = "SELECT text FROM prompt WHERE session = ?1 ORDER BY event LIMIT 1";
        let mut first = self.with_path(self.transaction.prepare_cached(sql))?;
        let prompt = self.with_path(first.query_row([source.session], |row| row.get::<_, String>(0)).optional())?;
        match prompt {
            Some(prompt) => self.title_from_prompt(source, agent, &prompt),
            None => Ok(()),
        }
    }
}

impl Store {
    /// The keys of the session's prompts that nobody took back.
    pub fn standing_prompts(&self, session: &SessionRow) -> Result<Vec<String>> {
        let sql = "SELECT key FROM event JOIN prompt ON prompt.event = event.row WHERE event.session = ?1";
        self.rows(sql, [session.row], |row| row.get(0))
    }
}
