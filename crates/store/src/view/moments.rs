//! What the view knows for a moment that calls for a word: failed commands by their signature, and what came after them.

use cerberus_recall::extract::ExtractedFacts;
use cerberus_recall::moments::seen::SeenStep;
use cerberus_record::clean::text::clip;
use cerberus_record::event::{Outcome, Record, ToolUse};
use cerberus_record::fact::FactKind;
use cerberus_record::id::{Agent, ProjectId};
use cerberus_record::runs::RunVerdict;
use cerberus_record::shell::{self, Join};
use cerberus_record::time::Timestamp;
use rusqlite::params;

use super::read::{row_list, time};
use super::write::{FoldTransaction, RowSource, json};
use super::{Result, SessionRow, Store};

/// How much of a command can be searched.
const COMMAND_BYTES_MAX: usize = 400;

/// More steps are not read.
const STEPS_MAX: usize = 80;
/// More times that a command failed in the same way are not looked at.
const SAME_MAX: usize = 20;

/// More commands, failures or files are not looked at.
const TAKE_BACKS_MAX: usize = 200;
const FAILED_MAX: usize = 300;
const FILES_MAX: usize = 50;

/// A time that a command failed in some way.
#[derive(Clone, Debug)]
pub struct FailureRow {
    pub session: i64,
    pub project: ProjectId,
    pub event: i64,
    pub command: String,
}

/// A step of a session, with its place.
#[derive(Clone, Debug)]
pub struct StepRow {
    pub session: i64,
    pub event: i64,
    pub at: Timestamp,
    pub step: SeenStep,
}

/// A git command that may have taken back edits.
#[derive(Clone, Debug)]
pub struct TakeBack {
    pub session: i64,
    pub event: i64,
    pub at: Timestamp,
    pub command: String,
}

impl FoldTransaction<'_> {
    pub(super) fn command(
        &self,
        source: &RowSource,
        record: &Record,
        used: &ToolUse,
        extracted: &ExtractedFacts,
    ) -> Result<()> {
        let Some(command) = used.command.as_deref().filter(|command| !command.is_empty()) else { return Ok(()) };
        let passed = match (extracted.run.as_ref().map(|(_, run)| run.verdict), used.outcome) {
            (Some(RunVerdict::Green), _) => Some(true),
            (Some(RunVerdict::Red), _) | (_, Outcome::Failed) => Some(false),
            // The status of a pipe is that of its last command.
            (_, Outcome::Done) if !is_piped(command) => Some(true),
            _ => None,
        };
        // What failed elsewhere was solved elsewhere.
        let is_own = record.origin.is_none() && passed == Some(false);
        let signature = used.failure.as_ref().filter(|_| is_own).map(|failure| &*failure.signature);
        let sql = "INSERT INTO command VALUES (?1, ?2, ?3, ?4, ?5, ?6)";
        let text = clip(command, COMMAND_BYTES_MAX);
        self.run(sql, params![source.event, source.session, source.at.millis(), signature, passed, text])?;
        Ok(())
    }
}

fn is_piped(command: &str) -> bool {
    command.contains('|') && shell::read(command).line().iter().any(|simple| simple.join == Join::Pipe)
}

impl Store {
    /// Whether another session has a failure with this signature.
    pub fn knows_failure(&self, signature: &str, agent: Agent, agent_session_id: &str) -> Result<bool> {
        let sql = "SELECT 1 FROM command JOIN session ON session.row = command.session WHERE signature = ?1
            AND NOT (agent = ?2 AND agent_session_id = ?3) LIMIT 1";
        Ok(!self.rows(sql, params![signature, agent.name(), agent_session_id], |_| Ok(()))?.is_empty())
    }

    /// The failures with this signature in other sessions, newest first.
    pub fn failures(&self, signature: &str, but: &SessionRow, now: Timestamp) -> Result<Vec<FailureRow>> {
        let sql = "SELECT command.session, project, event, text FROM command
            JOIN session ON session.row = command.session WHERE signature = ?1 AND command.session <> ?2 AND at <= ?3
            ORDER BY 3 DESC LIMIT ?4";
        self.rows(sql, params![signature, but.row, now.millis(), SAME_MAX], |row| {
            let project = ProjectId::from_stored(row.get(1)?);
            Ok(FailureRow { session: row.get(0)?, project, event: row.get(2)?, command: row.get(3)? })
        })
    }

    /// Commands and edits of a session after an event, in their order.
    pub fn steps_after(&self, session: i64, event: i64, now: Timestamp) -> Result<Vec<StepRow>> {
        let sql = "SELECT event, at, text, passed, NULL FROM command WHERE session = ?1 AND event > ?2 AND at <= ?3
            UNION ALL SELECT event, at, '', NULL, path FROM fact WHERE session = ?1 AND event > ?2
            AND kind = 'file' AND path IS NOT NULL AND at <= ?3 ORDER BY 1 LIMIT ?4";
        self.rows(sql, params![session, event, now.millis(), STEPS_MAX], |row| {
            let step = match row.get::<_, Option<String>>(4)? {
                Some(path) => SeenStep::Changed { path },
                None => SeenStep::Ran { command: row.get(2)?, passed: row.get(3)? },
            };
            Ok(StepRow { session, event: row.get(0)?, at: time(row, 1)?, step })
        })
    }

    /// The session of the same project that began next, but not this one.
    pub fn next_session(&self, session: i64, but: &SessionRow) -> Result<Option<i64>> {
        let sql = "SELECT later.row FROM session AS later JOIN session AS one ON one.row = ?1
            WHERE later.project = one.project AND later.row <> ?2 AND later.started_at > one.started_at
            ORDER BY later.started_at, later.row LIMIT 1";
        Ok(self.rows(sql, params![session, but.row], |row| row.get(0))?.pop())
    }

    /// The first message with which the agent finished a turn after an event.
    pub fn message_after(&self, session: i64, event: i64) -> Result<Option<String>> {
        let sql = "SELECT text FROM message WHERE session = ?1 AND event > ?2 ORDER BY event LIMIT 1";
        Ok(self.rows(sql, params![session, event], |row| row.get(0))?.pop())
    }

    /// Failures of a session since its last prompt but one, newest first: their signatures.
    pub fn recent_failures(&self, session: &SessionRow, now: Timestamp) -> Result<Vec<String>> {
        let sql = "SELECT signature FROM command WHERE session = ?1 AND signature IS NOT NULL AND at <= ?2
            AND event > coalesce((SELECT event FROM prompt WHERE session = ?1 AND at <= ?2
                ORDER BY event DESC LIMIT 1 OFFSET 1), 0) ORDER BY event DESC LIMIT 8";
        self.rows(sql, params![session.row, now.millis()], |row| row.get(0))
    }

    /// When a session last had to do with a file in one of these ways.
    pub fn last_touch(
        &self,
        session: &SessionRow,
        path: &str,
        kinds: &[FactKind],
        now: Timestamp,
    ) -> Result<Option<Timestamp>> {
        let kinds = kinds.iter().map(|kind| format!("'{}'", kind.word())).collect::<Vec<_>>().join(",");
        let sql = format!(
            "SELECT at FROM fact WHERE session = ?1 AND path = ?2 AND kind IN ({kinds}) AND at <= ?3 ORDER BY at DESC LIMIT 1"
        );
        Ok(self.rows(&sql, params![session.row, path, now.millis()], |row| time(row, 0))?.pop())
    }

    /// The last edit of a file by a session: its event.
    pub fn last_edit(&self, session: i64, path: &str, now: Timestamp) -> Result<Option<i64>> {
        let sql = "SELECT max(event) FROM fact WHERE session = ?1 AND path = ?2 AND kind = 'file' AND at <= ?3";
        Ok(self.rows(sql, params![session, path, now.millis()], |row| row.get(0))?.pop().flatten())
    }

    /// Whether a session ran a command that contains these words, or edited the file of this name, since a time.
    pub fn has_done(&self, session: &SessionRow, words: &str, since: Timestamp, now: Timestamp) -> Result<bool> {
        let sql = "SELECT 1 FROM command WHERE session = ?1 AND instr(text, ?2) > 0 AND at BETWEEN ?3 AND ?4
            UNION ALL SELECT 1 FROM fact WHERE session = ?1 AND kind = 'file' AND path = ?2 AND at BETWEEN ?3 AND ?4 LIMIT 1";
        let found = self.rows(sql, params![session.row, words, since.millis(), now.millis()], |_| Ok(()))?;
        Ok(!found.is_empty())
    }

    /// The commands that a session ran since a time.
    pub fn commands_since(&self, session: &SessionRow, since: Timestamp, now: Timestamp) -> Result<Vec<String>> {
        let sql = "SELECT text FROM command WHERE session = ?1 AND at BETWEEN ?2 AND ?3 ORDER BY event";
        self.rows(sql, params![session.row, since.millis(), now.millis()], |row| row.get(0))
    }

    /// The files that a session edited, the last edited first.
    pub fn edited_files(&self, session: &SessionRow, now: Timestamp) -> Result<Vec<String>> {
        let sql = "SELECT path FROM fact WHERE session = ?1 AND kind = 'file' AND path IS NOT NULL AND at <= ?2
            GROUP BY path ORDER BY max(event) DESC";
        self.rows(sql, params![session.row, now.millis()], |row| row.get(0))
    }

    /// The git commands of these sessions that may have taken back edits, newest first.
    pub fn take_backs(&self, sessions: &[SessionRow], now: Timestamp) -> Result<Vec<TakeBack>> {
        if sessions.is_empty() {
            return Ok(Vec::new());
        }
        let sql = format!(
            "SELECT session, event, at, text FROM command INDEXED BY command_takes_back
             WHERE session IN ({}) AND at <= ?1 AND passed IS NOT 0
             AND (text LIKE '%git%checkout %-- %' OR text LIKE '%git%restore %') ORDER BY event DESC LIMIT ?2",
            row_list(sessions)
        );
        self.rows(&sql, params![now.millis(), TAKE_BACKS_MAX], |row| {
            Ok(TakeBack { session: row.get(0)?, event: row.get(1)?, at: time(row, 2)?, command: row.get(3)? })
        })
    }

    /// The failures of other sessions that can be recognised, newest first: signature and command.
    pub fn failed_commands(
        &self,
        projects: &[ProjectId],
        but: &SessionRow,
        now: Timestamp,
    ) -> Result<Vec<(String, String)>> {
        let projects: Vec<&str> = projects.iter().map(ProjectId::as_str).collect();
        let sql = "SELECT signature, text FROM command INDEXED BY command_failed
            JOIN session ON session.row = command.session WHERE signature IS NOT NULL
            AND project IN (SELECT value FROM json_each(?1)) AND command.session <> ?2 AND at <= ?3
            GROUP BY signature, text ORDER BY max(event) DESC LIMIT ?4";
        self.rows(sql, params![json(&projects), but.row, now.millis(), FAILED_MAX], |row| {
            Ok((row.get(0)?, row.get(1)?))
        })
    }

    /// The files in which sessions of these projects edited functions or types of these names.
    pub fn files_of_symbols(&self, projects: &[ProjectId], symbols: &[String], now: Timestamp) -> Result<Vec<String>> {
        if symbols.is_empty() {
            return Ok(Vec::new());
        }
        let projects: Vec<&str> = projects.iter().map(ProjectId::as_str).collect();
        let sql = "SELECT DISTINCT path FROM fact INDEXED BY fact_function JOIN session ON session.row = fact.session
            WHERE project IN (SELECT value FROM json_each(?1)) AND kind = 'function' AND path IS NOT NULL
            AND text IN (SELECT value FROM json_each(?2)) AND at <= ?3 ORDER BY path LIMIT ?4";
        self.rows(sql, params![json(&projects), json(&symbols), now.millis(), FILES_MAX], |row| row.get(0))
    }

    /// The decisions of a session, newest first.
    pub fn decided_in(&self, session: &SessionRow, now: Timestamp) -> Result<Vec<String>> {
        let sql =
            "SELECT text FROM fact WHERE session = ?1 AND kind = 'decision' AND at <= ?2 ORDER BY at DESC, row DESC";
        self.rows(sql, params![session.row, now.millis()], |row| row.get(0))
    }
}
