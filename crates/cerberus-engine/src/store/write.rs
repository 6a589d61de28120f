//! Records become rows. Called by the fold alone, inside its transaction.

use cerberus_core::brief::base;
use cerberus_core::brief::rank::terms::path_like;
use cerberus_core::clean::text::clip_front;
use cerberus_core::extract::symbols::Language;
use cerberus_core::extract::{extract, scan_reference};
use cerberus_core::learn::correction;
use cerberus_core::learn::correction::Correction;
use cerberus_core::model::echo::{ECHO_MAX, same_words};
use cerberus_core::model::event::{Event, Named, Outcome, Record, Severity, StartSource, ToolUse, Touch};
use cerberus_core::model::fact::{Closing, Fact, Kind, Settled, Target};
use cerberus_core::model::id::Agent;
use cerberus_core::model::session::TIMEOUT;
use cerberus_core::model::time::Timestamp;
use rusqlite::{OptionalExtension, Transaction, params};
use serde::Serialize;

use super::{Result, StoreError};

/// Where rows came from.
pub(crate) struct Source {
    pub session: i64,
    pub event: i64,
    pub at: Timestamp,
    pub name: &'static str,
}

/// As much of the agent's words as tells what the user answers to.
const LAST_WORDS_BYTES_MAX: usize = 600;

/// What is said about memories and projects belongs to no session.
const NO_SESSION: i64 = 0;

fn source_name(record: &Record) -> &'static str {
    match &record.event {
        Event::Note(_) => "record",
        Event::Seed(_) => "seed",
        _ if record.imported => "import",
        _ => "hook",
    }
}

/// Rows of one fold: all of them and the new offset, or none.
pub struct FoldTransaction<'a> {
    pub(crate) transaction: Transaction<'a>,
    path: String,
}

impl<'a> FoldTransaction<'a> {
    pub(crate) fn new(transaction: Transaction<'a>, path: String) -> FoldTransaction<'a> {
        FoldTransaction { transaction, path }
    }

    pub fn commit(self) -> Result<()> {
        self.transaction.commit().map_err(|source| StoreError::Sqlite { path: self.path, source })
    }

    /// Empties the view, to be folded anew from the beginning.
    pub fn clear(&self) -> Result<()> {
        let tables = "segment session event mark fact run mention prompt unnamed closing receipt file correction memory
            memory_use memory_terms distilled git_log summary repository project_answer root_asked";
        let clear: String = tables.split_whitespace().map(|table| format!("DELETE FROM {table};")).collect();
        self.said(self.transaction.execute_batch(&clear))
    }

    pub fn folded_bytes(&self, segment: &str) -> Result<u64> {
        let sql = "SELECT folded_bytes FROM segment WHERE name = ?1";
        let found = self.transaction.query_row(sql, [segment], |row| row.get(0)).optional();
        Ok(self.said(found)?.unwrap_or(0))
    }

    pub fn set_folded(&self, segment: &str, folded_bytes: u64, stumps: usize, unknown: usize) -> Result<()> {
        let sql = "INSERT INTO segment VALUES (?1, ?2, ?3, ?4) ON CONFLICT (name) DO UPDATE SET
            folded_bytes = excluded.folded_bytes, stumps = stumps + excluded.stumps, unknown = unknown + excluded.unknown";
        self.run(sql, params![segment, folded_bytes, stumps, unknown])?;
        Ok(())
    }

    /// Adds what a record says; the same record again changes nothing.
    pub fn apply(&self, record: &Record) -> Result<()> {
        let session = if record.event.is_of_no_session() { NO_SESSION } else { self.session(record)? };
        let (kind, tool) = event_words(&record.event);
        let sql =
            "INSERT OR IGNORE INTO event (session, key, at, kind, tool, heard_by) VALUES (?1, ?2, ?3, ?4, ?5, ?6)";
        let event = params![session, &*record.key, record.at.millis(), kind, tool, record.heard_by];
        if self.is_echo(session, record)? || self.run(sql, event)? == 0 {
            return Ok(());
        }
        let source =
            Source { session, event: self.transaction.last_insert_rowid(), at: record.at, name: source_name(record) };
        match &record.event {
            Event::Memory(change) => return self.memory(&source, change),
            Event::Used { memories } => return self.used(&source, memories),
            Event::Repository(found) => return self.repository(&source, record, found),
            Event::SameProject { other } => return self.answer(&source, record, other, true),
            Event::SeparateProject { other } => return self.answer(&source, record, other, false),
            _ => {}
        }
        self.mark(session, record)?;
        let extracted = extract(&record.event);
        for fact in &extracted.facts {
            self.fact(&source, record, fact)?;
        }
        for closing in &extracted.closings {
            self.closing(&source, closing)?;
        }
        if let Some(run) = &extracted.run {
            let sql = "INSERT INTO run (event, session, at, report) VALUES (?1, ?2, ?3, ?4)";
            self.run(sql, params![source.event, session, source.at.millis(), json(run)])?;
        }
        match &record.event {
            Event::Receipt { source: begun, codes, memories } => {
                let sql = "INSERT INTO receipt (session, at, source, codes, memories) VALUES (?1, ?2, ?3, ?4, ?5)";
                let begun = begun.map(StartSource::name);
                self.run(sql, params![session, source.at.millis(), begun, json(codes), json(memories)])?;
                self.used(&source, memories)?;
            }
            // A transcript speaks of files as they were; looking at them now would tell of others.
            Event::Tool(used) if !record.imported => self.unnamed(&source, record, used)?,
            Event::Named(named) => self.named(&source, named)?,
            Event::Summary(said) => self.summary(&source, said)?,
            Event::Seed(codes) => self.seed_summary(&source, codes)?,
            Event::Prompt { text } => {
                let sql = "INSERT INTO prompt VALUES (?1, ?2, ?3, ?4)";
                self.run(sql, params![source.event, session, source.at.millis(), &**text])?;
            }
            Event::Stop { message } => {
                let sql = "UPDATE session SET last_words = ?2 WHERE row = ?1";
                self.run(sql, params![session, clip_front(message, LAST_WORDS_BYTES_MAX)])?;
                self.mentions(&source, message)?;
            }
            _ => {}
        }
        self.corrections(&source, &record.event)
    }

    /// What the user said against what the agent did: in a prompt, or with a tool use that was rejected.
    fn corrections(&self, source: &Source, event: &Event) -> Result<()> {
        let (prompt, is_rejection) = match event {
            Event::Prompt { text } => (&**text, false),
            Event::Tool(used) if used.outcome == Outcome::Interrupted => {
                match used.error.as_deref().and_then(correction::feedback) {
                    Some(feedback) => (feedback, true),
                    None => return Ok(()),
                }
            }
            _ => return Ok(()),
        };
        let sql = "SELECT last_words, (SELECT kind = 'tool' FROM event WHERE session = ?1 AND row < ?2
            ORDER BY row DESC LIMIT 1) FROM session WHERE row = ?1";
        let read = |row: &rusqlite::Row| Ok((row.get::<_, String>(0)?, row.get::<_, Option<bool>>(1)?));
        let mut find = self.said(self.transaction.prepare_cached(sql))?;
        let (before, was_at_work) = self.said(find.query_row([source.session, source.event], read))?;
        let is_interruption = is_rejection || was_at_work == Some(true);
        let found = correction::corrections(&correction::Turn { prompt, before: &before, is_interruption });
        for Correction { kind, text, confidence } in found {
            let sql = "INSERT INTO correction (event, session, at, kind, confidence, text, before)
                VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)";
            let at = source.at.millis();
            self.run(sql, params![source.event, source.session, at, kind.word(), confidence, text, before])?;
        }
        Ok(())
    }

    /// Were the same words just told by another hook, under another key? When anything happened since, they are new.
    fn is_echo(&self, session: i64, record: &Record) -> Result<bool> {
        let Some((low, high)) = same_words(&record.key) else { return Ok(false) };
        let sql = "SELECT 1 FROM event AS told WHERE session = ?1 AND key > ?2 AND key < ?3 AND at BETWEEN ?4 AND ?5
            AND NOT EXISTS (SELECT 1 FROM event WHERE session = ?1 AND row > told.row
                AND kind NOT IN ('receipt', 'named', 'crash', 'recover', 'summary', 'start', 'end')) LIMIT 1";
        let mut other = self.said(self.transaction.prepare_cached(sql))?;
        let (since, until) = (record.at.minus(ECHO_MAX).millis(), record.at.plus(ECHO_MAX).millis());
        self.said(other.exists(params![session, low, high, since, until]))
    }

    /// The files that the agent names when it closes a turn are likely to be worked on again.
    fn mentions(&self, source: &Source, message: &str) -> Result<()> {
        let mut paths: Vec<String> = path_like(message).into_iter().collect();
        if paths.is_empty() {
            return Ok(());
        }
        paths.sort_unstable();
        let sql = "INSERT INTO mention VALUES (?1, ?2, ?3, ?4)";
        self.run(sql, params![source.event, source.session, source.at.millis(), paths.join("\n")])?;
        Ok(())
    }

    /// What the file itself tells takes the place of what a scan of the edit saw.
    fn named(&self, source: &Source, named: &Named) -> Result<()> {
        for key in &named.edits {
            self.run("DELETE FROM unnamed WHERE session = ?1 AND key = ?2", params![source.session, &**key])?;
        }
        if !named.names.is_empty() {
            let sql = "DELETE FROM fact WHERE session = ?1 AND at <= ?2 AND reference = ?3";
            self.run(sql, params![source.session, source.at.millis(), scan_reference(&named.path)])?;
        }
        Ok(())
    }

    /// Remembers an edit whose definitions are still to be named.
    fn unnamed(&self, source: &Source, record: &Record, used: &ToolUse) -> Result<()> {
        let edited = used.files.iter().find(|touched| touched.how == Touch::Edited);
        let Some(touched) = edited.filter(|touched| Language::of_path(&touched.path).is_some()) else { return Ok(()) };
        let sql = "INSERT OR IGNORE INTO unnamed VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)";
        let (at, root, lines) = (source.at.millis(), &*record.place.root, json(&touched.lines));
        self.run(sql, params![source.event, source.session, &*record.key, at, root, &*touched.path, lines])?;
        Ok(())
    }

    fn session(&self, record: &Record) -> Result<i64> {
        let sql = "SELECT row FROM session WHERE agent = ?1 AND agent_session_id = ?2";
        let mut find = self.said(self.transaction.prepare_cached(sql))?;
        let found = find.query_row(params![record.agent.name(), &*record.session], |row| row.get(0)).optional();
        let row: i64 = match self.said(found)? {
            Some(row) => row,
            None => self.new_session(record)?,
        };
        // What we do with a session is no activity of its own.
        if is_activity(&record.event) {
            let sql = "UPDATE session SET branch = iif(?2 >= last_activity, coalesce(?3, branch), branch),
                last_activity = max(last_activity, ?2), started_at = min(started_at, ?2) WHERE row = ?1";
            self.run(sql, params![row, record.at.millis(), record.place.branch.as_deref()])?;
        }
        if let Event::Start { phase, process, transcript, .. } = &record.event {
            let sql =
                "UPDATE session SET phase = coalesce(?2, phase), process = ?3, transcript = coalesce(?4, transcript)
                WHERE row = ?1";
            let process = process.as_ref().map(json);
            self.run(sql, params![row, phase.as_deref(), process, transcript.as_deref()])?;
        }
        Ok(row)
    }

    fn new_session(&self, record: &Record) -> Result<i64> {
        let place = &record.place;
        let sql = "INSERT INTO session (id, agent, agent_session_id, project, project_name, root, cwd, branch,
            started_at, last_activity) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?9)";
        self.run(
            sql,
            params![
                self.free_id(record)?,
                record.agent.name(),
                &*record.session,
                place.project.as_str(),
                &*place.name,
                &*place.root,
                &*place.cwd,
                place.branch.as_deref(),
                record.at.millis()
            ],
        )?;
        Ok(self.transaction.last_insert_rowid())
    }

    /// `20260122-133514`, or the first of `-2`, `-3`, … that is free. A seed keeps the id it came with.
    fn free_id(&self, record: &Record) -> Result<String> {
        let seed_id = record.session.split('/').next_back().unwrap_or_default();
        let wanted = match record.agent {
            Agent::Seed if is_stamp(seed_id) => seed_id.to_string(),
            _ => record.at.stamp(),
        };
        let mut taken = self.said(self.transaction.prepare_cached("SELECT 1 FROM session WHERE id = ?1"))?;
        let mut id = wanted.clone();
        for number in 2.. {
            if !self.said(taken.exists([&id]))? {
                break;
            }
            id = format!("{wanted}-{number}");
        }
        Ok(id)
    }

    fn mark(&self, session: i64, record: &Record) -> Result<()> {
        let (what, detail) = match &record.event {
            Event::Start { .. } | Event::Prompt { .. } | Event::Note(_) | Event::Pulse => ("alive", None),
            Event::Crash { evidence } => ("crashed", Some(&**evidence)),
            Event::Recover(recovery) => ("recovered", recovery.is_automatic.then_some("automatic")),
            Event::End { reason } => ("ended", Some(&**reason)),
            Event::Seed(_) => ("ended", Some("import")),
            Event::Complete => ("completed", None),
            Event::Archive => ("archived", None),
            event if is_activity(event) => return self.revive(session, record.at),
            _ => return Ok(()),
        };
        let sql = "INSERT INTO mark (session, at, what, detail) VALUES (?1, ?2, ?3, ?4)";
        self.run(sql, params![session, record.at.millis(), what, detail])?;
        let sql = "UPDATE session SET is_open = (SELECT what = 'alive' FROM mark WHERE session = ?1
            ORDER BY at DESC, row DESC LIMIT 1) WHERE row = ?1";
        self.run(sql, [session])?;
        Ok(())
    }

    /// Work that goes on proves wrong whoever thought the session dead or idle; an end that was reported stands.
    fn revive(&self, session: i64, at: Timestamp) -> Result<()> {
        // The plus keeps SQLite from planning anew for every time that is asked about.
        let sql = "INSERT INTO mark (session, at, what) SELECT ?1, ?2, 'alive' FROM session
            WHERE row = ?1 AND NOT is_open AND (SELECT what IN ('crashed', 'recovered') OR detail = ?3 FROM mark
                WHERE session = ?1 AND +at <= ?2 ORDER BY at DESC, row DESC LIMIT 1)";
        if self.run(sql, params![session, at.millis(), TIMEOUT])? > 0 {
            self.run("UPDATE session SET is_open = 1 WHERE row = ?1", [session])?;
        }
        Ok(())
    }

    fn fact(&self, source: &Source, record: &Record, fact: &Fact) -> Result<()> {
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
        if let (Some(path), Kind::File | Kind::Read) = (&fact.path, fact.kind) {
            let sql = "INSERT INTO file VALUES (?1, ?2, ?3, ?4)
                ON CONFLICT (project, base, path) DO UPDATE SET first_at = min(first_at, excluded.first_at)";
            self.run(sql, params![record.place.project.as_str(), base(path), path, record.at.millis()])?;
        }
        Ok(())
    }

    fn closing(&self, source: &Source, closing: &Closing) -> Result<()> {
        let (target, kind) = match &closing.target {
            Target::Reference(reference) => (reference, None),
            Target::Code(kind, code) => (code, Some(kind.word())),
        };
        let done = closing.outcome == Settled::Done;
        let sql = "INSERT INTO closing (event, session, at, target, kind, done) VALUES (?1, ?2, ?3, ?4, ?5, ?6)";
        self.run(sql, params![source.event, source.session, source.at.millis(), target, kind, done])?;
        Ok(())
    }

    pub(crate) fn run(&self, sql: &str, params: impl rusqlite::Params) -> Result<usize> {
        self.said(self.transaction.prepare_cached(sql).and_then(|mut statement| statement.execute(params)))
    }

    pub(crate) fn said<T>(&self, result: rusqlite::Result<T>) -> Result<T> {
        result.map_err(|source| StoreError::Sqlite { path: self.path.clone(), source })
    }
}

pub(crate) fn json<T: Serialize>(value: &T) -> String {
    serde_json::to_string(value).unwrap_or_default()
}

fn is_activity(event: &Event) -> bool {
    use Event::{Archive, Complete, Crash, Named, Receipt, Recover, Summary};
    !matches!(event, Receipt { .. } | Named(_) | Crash { .. } | Recover(_) | Summary(_) | Complete | Archive)
}

fn is_stamp(text: &str) -> bool {
    let (day, rest) = text.split_once('-').unwrap_or_default();
    let time = rest.split('-').next().unwrap_or_default();
    day.len() == 8 && time.len() == 6 && rest.len() <= 10 && text.bytes().all(|b| b.is_ascii_digit() || b == b'-')
}

fn event_words<'a>(event: &'a Event) -> (&'static str, Option<&'a str>) {
    match event {
        Event::Start { .. } => ("start", None),
        // Notifications of background work arrive as prompts; nobody typed them.
        Event::Prompt { text } if text.starts_with("<task-notification>") => ("notification", None),
        Event::Prompt { .. } => ("prompt", None),
        Event::Tool(used) => ("tool", Some(&used.tool)),
        Event::Stop { .. } | Event::SubagentStop { .. } | Event::StopFailure { .. } => ("stop", None),
        Event::Compact { .. } => ("compact", None),
        Event::Task(_) => ("task", None),
        Event::End { .. } => ("end", None),
        Event::Note(_) => ("note", None),
        Event::Named(_) => ("named", None),
        Event::Receipt { .. } => ("receipt", None),
        Event::Memory(_) => ("memory", None),
        Event::Used { .. } => ("used", None),
        Event::Pulse => ("pulse", None),
        Event::Crash { .. } => ("crash", None),
        Event::Recover(_) => ("recover", None),
        Event::Summary(_) => ("summary", None),
        Event::Complete => ("complete", None),
        Event::Archive => ("archive", None),
        Event::Seed(_) => ("seed", None),
        Event::Repository(_) => ("repository", None),
        Event::SameProject { .. } => ("same_project", None),
        Event::SeparateProject { .. } => ("separate_project", None),
    }
}
