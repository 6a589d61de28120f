//! Turns records into rows. Called only by the fold, inside its transaction.
//!
//! The rows of a session are written in the order of its records. Rows of several sessions are compared by time and by
//! the place of their event, never by when they were written.

use std::cell::{OnceCell, RefCell};
use std::collections::BTreeMap;

use cerberus_recall::brief::rank::PastPrompt;
use cerberus_recall::brief::rank::terms::path_like;
use cerberus_recall::brief::title::{self, Rank};
use cerberus_recall::extract::{RECORDED_BY_AGENT, extract, scan_reference};
use cerberus_record::clean::text::clip_front;
use cerberus_record::echo::{ECHO_MAX, same_words};
use cerberus_record::event::{Event, FileTouch, NamedSymbols, Record, Severity, StartSource, ToolUse, Touch};
use cerberus_record::fact::{ClosedAs, Closing, ClosingTarget, Fact, FactKind};
use cerberus_record::id::Agent;
use cerberus_record::kind::EventKind;
use cerberus_record::language;
use cerberus_record::map::FastSet;
use cerberus_record::session::{self, Mark};
use cerberus_record::time::Timestamp;
use rusqlite::{OptionalExtension, Transaction, params};
use serde::Serialize;

use super::kinds::SEPARATING_KINDS;
use super::marks::mark_row;
use super::{Result, StoreError};
use crate::journal::forgotten::Namer;

pub(super) struct RowSource {
    pub session: i64,
    pub event: i64,
    pub at: Timestamp,
    pub name: &'static str,
}

/// How much of the agent's last message is kept, as context for the user's answer.
const LAST_WORDS_BYTES_MAX: usize = 2000;

/// Records about memories and projects belong to no session.
const NO_SESSION: i64 = 0;

/// The source of facts that a model found.
pub const MODEL_SOURCE: &str = "model";

/// The source of facts that the user recorded for a team.
pub const TEAM_SOURCE: &str = "team";

fn source_name(record: &Record) -> &'static str {
    match &record.event {
        Event::Note(_) if record.by_agent => "agent",
        Event::Note(note) if note.for_team => TEAM_SOURCE,
        Event::Note(_) => "record",
        Event::Quote(_) => "quote",
        Event::Seed(_) => "seed",
        Event::Summary(_) => MODEL_SOURCE,
        _ if record.imported => "import",
        _ => "hook",
    }
}

/// All tables, but for the search index.
const TABLES: &str = "SELECT name FROM pragma_table_list WHERE schema = 'main' AND type IN ('table', 'virtual')
    AND name NOT IN ('sqlite_schema', 'entry_terms')";

/// The result of applying a record.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ApplyResult {
    InOrder,
    /// It belongs before a record of the same session that was already folded.
    Late,
}

/// The rows of one fold: all of them and the new offset, or none.
pub struct FoldTransaction<'a> {
    pub(super) transaction: Transaction<'a>,
    path: String,
    /// Computes the names of forgotten records; `None` if nothing was ever forgotten.
    pub(super) namer: OnceCell<Option<Namer>>,
    /// Sessions whose digest was dropped.
    pub(super) undigested: RefCell<FastSet<i64>>,
    /// Seconds whose sessions are to be named, from which row on.
    pub(super) unnamed: RefCell<BTreeMap<String, i64>>,
}

impl<'a> FoldTransaction<'a> {
    pub(crate) fn new(transaction: Transaction<'a>, path: String) -> FoldTransaction<'a> {
        let (undigested, unnamed) = (RefCell::default(), RefCell::default());
        FoldTransaction { transaction, path, namer: OnceCell::new(), undigested, unnamed }
    }

    pub fn commit(self) -> Result<()> {
        self.name_sessions()?;
        self.transaction.commit().map_err(|source| StoreError::Sqlite { path: self.path, source })
    }

    /// Empties the view, so that it can be folded from the beginning.
    pub fn clear(&self) -> Result<()> {
        let clear: String = self.tables(TABLES)?.into_iter().map(|table| format!("DELETE FROM {table};")).collect();
        // The index is filled later, so what is deleted from it must not stay until then.
        let clear = format!("{clear} INSERT INTO entry_terms (entry_terms) VALUES ('delete-all');");
        self.with_path(self.transaction.execute_batch(&clear))
    }

    /// The names that a query finds.
    pub(super) fn tables(&self, sql: &str) -> Result<Vec<String>> {
        let read = || -> rusqlite::Result<Vec<String>> {
            self.transaction.prepare_cached(sql)?.query_map([], |row| row.get(0))?.collect()
        };
        self.with_path(read())
    }

    pub fn folded_bytes(&self, segment: &str) -> Result<u64> {
        let sql = "SELECT folded_bytes FROM segment WHERE name = ?1";
        let found = self.transaction.query_row(sql, [segment], |row| row.get(0)).optional();
        Ok(self.with_path(found)?.unwrap_or(0))
    }

    pub fn set_folded(&self, segment: &str, folded_bytes: u64, stumps: usize, unknown: usize) -> Result<()> {
        let sql = "INSERT INTO segment VALUES (?1, ?2, ?3, ?4) ON CONFLICT (name) DO UPDATE SET
            folded_bytes = excluded.folded_bytes, stumps = stumps + excluded.stumps, unknown = unknown + excluded.unknown";
        self.run(sql, params![segment, folded_bytes, stumps, unknown])?;
        Ok(())
    }

    /// Removes all memories and everything about projects, so that they can be folded again. That a session was told a
    /// memory is part of the session.
    pub fn clear_memories(&self) -> Result<()> {
        for sql in [
            "DELETE FROM memory_use WHERE event IN (SELECT row FROM event WHERE session = 0)",
            "DELETE FROM event WHERE session = 0",
            "DELETE FROM memory_terms",
            "DELETE FROM memory",
            "DELETE FROM repository",
            "DELETE FROM project_answer",
            "DELETE FROM rule",
            "DELETE FROM pause",
            "DELETE FROM open_list",
            "DELETE FROM memory_progress",
        ] {
            self.run(sql, [])?;
        }
        Ok(())
    }

    pub fn segments(&self) -> Result<Vec<(String, u64)>> {
        let read = || -> rusqlite::Result<Vec<(String, u64)>> {
            let mut all = self.transaction.prepare_cached("SELECT name, folded_bytes FROM segment")?;
            all.query_map([], |row| Ok((row.get(0)?, row.get(1)?)))?.collect()
        };
        self.with_path(read())
    }

    /// Applies a record; applying it again changes nothing. `rank` is its place in the journal's order.
    pub fn apply(&self, rank: i64, segment: &str, record: &Record) -> Result<ApplyResult> {
        let session = match EventKind::of(&record.event).is_of_a_session() {
            true => self.session(rank, segment, record)?,
            // Lists are compared when they are read, so they may arrive in any order.
            false if matches!(record.event, Event::Open(_)) => Some(NO_SESSION),
            false => self.memories_reach(rank)?.then_some(NO_SESSION),
        };
        let Some(session) = session else { return Ok(ApplyResult::Late) };
        if let Some(event) = self.event(rank, session, record)? {
            self.rows(&RowSource { session, event, at: record.at, name: source_name(record) }, record)?;
        }
        Ok(ApplyResult::InOrder)
    }

    /// Applies a record as if it were the newest of the journal.
    pub(super) fn apply_newest(&self, record: &Record) -> Result<()> {
        let last =
            self.transaction.query_row("SELECT coalesce(max(row), 0) FROM event", [], |row| row.get::<_, i64>(0));
        self.apply(self.with_path(last)? + 1, "", record)?;
        self.name_sessions()
    }

    /// Adds an event and returns its row; `None` if it is known or the echo of a known one.
    fn event(&self, mut rank: i64, session: i64, record: &Record) -> Result<Option<i64>> {
        if self.is_echo(session, record)? {
            return Ok(None);
        }
        let kind = EventKind::of(&record.event).word();
        let tool = if let Event::Tool(used) = &record.event { Some(&*used.tool) } else { None };
        let begun = if let Event::Start { source, .. } = &record.event { Some(source.word()) } else { None };
        let sql = "INSERT OR IGNORE INTO event (row, session, key, at, kind, tool, start_source, heard_by)
            VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8)";
        loop {
            let (key, at) = (&*record.key, record.at.millis());
            let event = params![rank, session, key, at, kind, tool, begun, record.heard_by];
            if self.run(sql, event)? > 0 {
                return Ok(Some(rank));
            }
            let mut known = self.with_path(self.transaction.prepare_cached("SELECT 1 FROM event WHERE row = ?1"))?;
            let mut same =
                self.with_path(self.transaction.prepare_cached("SELECT 1 FROM event WHERE session = ?1 AND key = ?2"))?;
            if self.with_path(same.exists(params![session, &*record.key]))? || !self.with_path(known.exists([rank]))? {
                return Ok(None);
            }
            // Another record has the same place: this one goes right after it.
            rank += 1;
        }
    }

    /// Adds everything that follows from an event that belongs to no session.
    fn rows_of_none(&self, source: &RowSource, record: &Record) -> Result<()> {
        match &record.event {
            Event::Memory(change) => self.memory(source, change, record),
            Event::Used { memories } => self.used(source, memories),
            Event::Repository(found) => self.repository(source, record, found),
            Event::SameProject { other, is_found } => self.answer(source, record, other, true, *is_found),
            Event::SeparateProject { other } => self.answer(source, record, other, false, false),
            // A rule of another device or of a teammate binds nobody here.
            Event::Check(_) if record.origin.is_some() => Ok(()),
            Event::Check(change) => self.rule(source, change, record.imported || record.by_agent),
            Event::Pause(change) => self.pause(source, record, change),
            Event::Open(list) => self.open_list(source, record, list),
            _ => Ok(()),
        }
    }

    /// Adds everything that follows from a new event.
    fn rows(&self, source: &RowSource, record: &Record) -> Result<()> {
        let session = source.session;
        if session == NO_SESSION {
            return self.rows_of_none(source, record);
        }
        self.run("INSERT OR IGNORE INTO unindexed VALUES (?1)", [session])?;
        self.mark(session, record)?;
        let mut extracted = extract(&record.event);
        for fact in &mut extracted.facts {
            if record.by_agent && matches!(record.event, Event::Note(_)) {
                fact.reference = Some(RECORDED_BY_AGENT.to_string());
            }
            self.fact(source, record, fact)?;
        }
        for closing in &extracted.closings {
            self.closing(source, closing)?;
        }
        if let Some(run) = &extracted.run {
            self.drop_digest(session)?;
            let sql = "INSERT INTO run (event, session, at, report) VALUES (?1, ?2, ?3, ?4)";
            self.run(sql, params![source.event, session, source.at.millis(), json(run)])?;
        }
        match &record.event {
            Event::Receipt { .. } => self.receipt(source, &record.event)?,
            Event::Tool(used) => {
                self.command(source, record, used, &extracted)?;
                // A transcript and another device describe files as they were; the files on disk may differ now.
                if !record.imported && record.origin.is_none() {
                    self.edited_line(source, used)?;
                }
            }
            Event::Title { text, is_users } => {
                let rank = if *is_users { Rank::User } else { Rank::Agent };
                self.title(source, title::given(text).map(|text| (rank, text)))?;
            }
            Event::Lesson(lesson) => self.lesson(source, *lesson)?,
            Event::Untyped(found) => self.untyped(source, found)?,
            Event::Undone { prompts } => self.undone(source, record.agent, prompts)?,
            Event::AgentNotes { text } => self.agent_notes(source, record, text)?,
            Event::Named(named) => self.named(source, named)?,
            Event::Decision(decision) => self.decision(source, decision)?,
            Event::Summary(said) => self.summary(source, said)?,
            Event::Seed(codes) => self.seed_summary(source, codes)?,
            Event::Prompt { text } => {
                self.drop_digest(session)?;
                let (terms, paths) = PastPrompt::words(text);
                let (at, paths) = (source.at.millis(), paths.join("\n"));
                let sql = "INSERT INTO prompt VALUES (?1, ?2, ?3, ?4, ?5, ?6)";
                self.run(sql, params![source.event, session, at, terms, paths, &**text])?;
                if EventKind::of(&record.event) == EventKind::Prompt {
                    self.title_from_prompt(source, record.agent, text)?;
                }
            }
            Event::Stop { message } => self.message(source, message)?,
            _ => {}
        }
        // Every device learns from what was said there, and shares what it learned.
        if record.origin.is_some() {
            return Ok(());
        }
        self.corrections(source, record)
    }

    /// The message with which the agent finished its turn.
    fn message(&self, source: &RowSource, message: &str) -> Result<()> {
        // Some hosts report that a turn ended, but not the agent's words. Those that the transcript has stay.
        if message.trim().is_empty() {
            return Ok(());
        }
        self.drop_digest(source.session)?;
        let sql = "UPDATE session SET last_words = ?2 WHERE row = ?1";
        self.run(sql, params![source.session, clip_front(message, LAST_WORDS_BYTES_MAX)])?;
        self.mentions(source, message)?;
        let sql = "INSERT INTO message VALUES (?1, ?2, ?3, ?4)";
        self.run(sql, params![source.event, source.session, source.at.millis(), message])?;
        Ok(())
    }

    fn receipt(&self, source: &RowSource, event: &Event) -> Result<()> {
        let Event::Receipt { source: begun, codes, memories, tokens, redline } = event else { return Ok(()) };
        let sql = "INSERT INTO receipt (session, at, source, codes, memories, tokens, redline)
            VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)";
        let begun = begun.map(StartSource::word);
        let (at, codes, named) = (source.at.millis(), json(codes), json(memories));
        self.run(sql, params![source.session, at, begun, codes, named, tokens, redline])?;
        self.used(source, memories)
    }

    /// The first request names the session, unless its agent does.
    pub(super) fn title_from_prompt(&self, source: &RowSource, agent: Agent, prompt: &str) -> Result<()> {
        let sql = "SELECT min(rank) FROM title WHERE session = ?1 AND rank >= ?2";
        let mut best = self.with_path(self.transaction.prepare_cached(sql))?;
        let known = best.query_row(params![source.session, Rank::Request.number()], |row| row.get::<_, Option<u8>>(0));
        let known = self.with_path(known)?;
        if known == Some(Rank::Request.number()) {
            return Ok(());
        }
        let found = title::of_prompt(agent, prompt);
        self.title(source, found.filter(|(rank, _)| known.is_none_or(|known| rank.number() < known)))
    }

    fn title(&self, source: &RowSource, title: Option<(Rank, String)>) -> Result<()> {
        let Some((rank, text)) = title else { return Ok(()) };
        let sql = "INSERT INTO title VALUES (?1, ?2, ?3, ?4, ?5)";
        self.run(sql, params![source.event, source.session, source.at.millis(), rank.number(), text])?;
        Ok(())
    }

    /// Whether another hook just reported the same words under another key, with nothing in between.
    fn is_echo(&self, session: i64, record: &Record) -> Result<bool> {
        let Some((low, high)) = same_words(&record.key) else { return Ok(false) };
        let sql = format!(
            "SELECT 1 FROM event AS told WHERE session = ?1 AND key > ?2 AND key < ?3 AND at BETWEEN ?4 AND ?5
            AND NOT EXISTS (SELECT 1 FROM event WHERE session = ?1 AND row > told.row AND kind IN ({})) LIMIT 1",
            *SEPARATING_KINDS
        );
        let mut other = self.with_path(self.transaction.prepare_cached(&sql))?;
        let (since, until) = (record.at.minus(ECHO_MAX).millis(), record.at.plus(ECHO_MAX).millis());
        self.with_path(other.exists(params![session, low, high, since, until]))
    }

    /// Files that the agent names at the end of a turn are likely to be worked on again.
    fn mentions(&self, source: &RowSource, message: &str) -> Result<()> {
        let mut paths: Vec<String> = path_like(message).into_iter().collect();
        if paths.is_empty() {
            return Ok(());
        }
        paths.sort_unstable();
        let sql = "INSERT INTO mention VALUES (?1, ?2, ?3, ?4)";
        self.run(sql, params![source.event, source.session, source.at.millis(), paths.join("\n")])?;
        Ok(())
    }

    /// Earlier versions read names from the file. They replace those found by scanning the edit.
    fn named(&self, source: &RowSource, named: &NamedSymbols) -> Result<()> {
        if !named.names.is_empty() {
            self.drop_digest(source.session)?;
            let sql = "DELETE FROM fact WHERE session = ?1 AND at <= ?2 AND reference = ?3";
            self.run(sql, params![source.session, source.at.millis(), scan_reference(&named.path)])?;
        }
        Ok(())
    }

    /// Where an edit changed a file. A file that was written whole has no such line.
    fn edited_line(&self, source: &RowSource, used: &ToolUse) -> Result<()> {
        let Some(touched) = used.files.iter().find(|touched| touched.how == Touch::Edited) else { return Ok(()) };
        let Some((line, _)) = touched.lines.first().filter(|lines| **lines != FileTouch::SOMEWHERE) else {
            return Ok(());
        };
        if language::of_path(&touched.path).is_some() {
            let sql = "INSERT OR IGNORE INTO edited_line VALUES (?1, ?2, ?3, ?4, ?5)";
            let edited = params![source.event, source.session, source.at.millis(), &*touched.path, line];
            self.run(sql, edited)?;
        }
        Ok(())
    }

    /// Whether a record about memories comes after all that were folded.
    fn memories_reach(&self, rank: i64) -> Result<bool> {
        let sql = "INSERT INTO memory_progress VALUES (1, ?1) ON CONFLICT (row) DO UPDATE SET
            last_rank = excluded.last_rank WHERE excluded.last_rank >= last_rank";
        Ok(self.run(sql, [rank])? > 0)
    }

    fn mark(&self, session: i64, record: &Record) -> Result<()> {
        let (what, detail) = match &record.event {
            Event::Start { .. } | Event::Prompt { .. } | Event::Note(_) | Event::Pulse => ("alive", None),
            Event::Crash { evidence } => ("crashed", Some(&**evidence)),
            Event::Recover(recovery) => ("recovered", recovery.is_automatic.then_some("automatic")),
            Event::End { reason } => ("ended", Some(&**reason)),
            Event::Seed(_) => ("ended", Some("import")),
            Event::Complete => ("completed", None),
            Event::Reopen => ("reopened", None),
            Event::Archive => ("archived", None),
            event if EventKind::of(event).is_activity() => return self.revive(session, record.at),
            _ => return Ok(()),
        };
        let sql = "INSERT INTO mark (session, at, what, detail) VALUES (?1, ?2, ?3, ?4)";
        self.run(sql, params![session, record.at.millis(), what, detail])?;
        let marks = self.marks_since_alive(session)?;
        self.run("UPDATE session SET is_open = ?2 WHERE row = ?1", params![session, session::is_open(&marks)])?;
        Ok(())
    }

    fn marks_since_alive(&self, session: i64) -> Result<Vec<Mark>> {
        let sql = "SELECT at, what, detail FROM mark WHERE session = ?1
            AND at >= coalesce((SELECT max(at) FROM mark WHERE session = ?1 AND what = 'alive'), 0) ORDER BY at, row";
        let mut marks = self.with_path(self.transaction.prepare_cached(sql))?;
        self.with_path(marks.query_map([session], mark_row).and_then(Iterator::collect))
    }

    /// Activity may disprove that a session is dead or idle.
    fn revive(&self, session: i64, at: Timestamp) -> Result<()> {
        // The plus keeps SQLite from preparing the statement again for every value.
        let sql = "SELECT at, what, detail FROM mark WHERE session = ?1 AND +at <= ?2
            AND NOT (SELECT is_open FROM session WHERE row = ?1) ORDER BY at DESC, row DESC LIMIT 1";
        let mut last = self.with_path(self.transaction.prepare_cached(sql))?;
        let last = self.with_path(last.query_row(params![session, at.millis()], mark_row).optional())?;
        if last.is_some_and(|last| session::is_disproved_by_activity(&last)) {
            self.run("INSERT INTO mark (session, at, what) VALUES (?1, ?2, 'alive')", params![session, at.millis()])?;
            self.run("UPDATE session SET is_open = 1 WHERE row = ?1", [session])?;
        }
        Ok(())
    }

    fn fact(&self, source: &RowSource, record: &Record, fact: &Fact) -> Result<()> {
        self.drop_digest(source.session)?;
        let sql =
            "INSERT INTO fact (event, session, at, kind, code, text, path, source, reference, severity, custom_key,
             why) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12)";
        let severity = fact.severity.map(Severity::word);
        self.run(
            sql,
            params![
                source.event,
                source.session,
                source.at.millis(),
                fact.kind.word(),
                fact.code,
                fact.text,
                fact.path,
                source.name,
                fact.reference,
                severity,
                fact.custom_key,
                fact.why
            ],
        )?;
        if let (Some(path), FactKind::File | FactKind::Read) = (&fact.path, fact.kind) {
            let project = record.location.project.as_str();
            self.run("INSERT OR IGNORE INTO file VALUES (?1, ?2)", params![project, path])?;
        }
        Ok(())
    }

    fn closing(&self, source: &RowSource, closing: &Closing) -> Result<()> {
        self.drop_digest(source.session)?;
        let (target, kind) = match &closing.target {
            ClosingTarget::Reference(reference) => (reference, None),
            ClosingTarget::Code(kind, code) => (code, Some(kind.word())),
        };
        let done = closing.outcome == ClosedAs::Done;
        let sql = "INSERT INTO closing (event, session, at, target, kind, done) VALUES (?1, ?2, ?3, ?4, ?5, ?6)";
        self.run(sql, params![source.event, source.session, source.at.millis(), target, kind, done])?;
        Ok(())
    }

    pub(super) fn run(&self, sql: &str, params: impl rusqlite::Params) -> Result<usize> {
        self.with_path(self.transaction.prepare_cached(sql).and_then(|mut statement| statement.execute(params)))
    }

    pub(super) fn with_path<T>(&self, result: rusqlite::Result<T>) -> Result<T> {
        result.map_err(|source| StoreError::Sqlite { path: self.path.clone(), source })
    }
}

pub(super) fn json<T: Serialize>(value: &T) -> String {
    serde_json::to_string(value).unwrap_or_default()
}
