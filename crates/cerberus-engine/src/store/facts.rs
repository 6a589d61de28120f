//! What sessions left behind, in the form core works with: facts, what settled them, runs, and edits without names.
//!
//! Every query is as of a given time; later rows are ignored.

use std::collections::{HashMap, HashSet};

use cerberus_core::brief::failing::SessionRun;
use cerberus_core::brief::rank::SessionWork;
use cerberus_core::brief::{Known, Settlement, done_by_reference};
use cerberus_core::extract::INTERRUPTED;
use cerberus_core::model::event::Severity;
use cerberus_core::model::fact::{ClosedAs, Closing, Fact, Kind, Target};
use cerberus_core::model::id::{ProjectId, SessionId};
use cerberus_core::model::time::Timestamp;
use rusqlite::{Row, params};

use super::read::{row_list, time};
use super::{Result, SessionRow, Store};

/// Limits on the facts and runs that are read at once. A week of real work stays far below them.
const FACTS_MAX: usize = 10_000;
const RUNS_MAX: usize = 5_000;

/// The facts and settlements that carry over.
#[derive(Debug, Default)]
pub struct Carried {
    pub facts: Vec<Known>,
    /// The source of each fact, in the same order.
    pub sources: Vec<String>,
    pub settlements: Vec<Settlement>,
}

impl Carried {
    /// Adds derived facts and restores the chronological order.
    pub fn add(&mut self, derived: Vec<Known>) {
        if derived.is_empty() {
            return;
        }
        let said = std::mem::take(&mut self.facts).into_iter().zip(std::mem::take(&mut self.sources));
        let derived = derived.into_iter().map(|known| (known, "hook".to_string()));
        let mut all: Vec<(Known, String)> = said.chain(derived).collect();
        all.sort_by_key(|(known, _)| (known.at, known.event));
        (self.facts, self.sources) = all.into_iter().unzip();
    }

    /// Adds the files that these sessions touched, each with its last edit and last read.
    pub fn add_files(&mut self, history: &[SessionWork], sessions: &[SessionRow]) {
        let ids: HashSet<&SessionId> = sessions.iter().map(|session| &session.id).collect();
        let mut last: HashMap<(Kind, &str), (Timestamp, &SessionId)> = HashMap::new();
        for worked in history.iter().filter(|worked| ids.contains(&worked.session)) {
            for touched in &worked.touched {
                for (kind, at) in [(Kind::File, touched.last_edit), (Kind::Read, touched.last_read)] {
                    let Some(at) = at else { continue };
                    let newest = last.entry((kind, &touched.path)).or_insert((at, &worked.session));
                    *newest = (*newest).max((at, &worked.session));
                }
            }
        }
        let files = last.into_iter().map(|((kind, path), (at, session))| (at, kind, path, session));
        let mut files: Vec<_> = files.collect();
        // The order must not depend on the iteration order of a map.
        files.sort_unstable();
        let known = |(at, kind, path, session): (Timestamp, Kind, &str, &SessionId)| Known {
            fact: Fact::file(kind, path),
            session: session.clone(),
            at,
            // The history has no event position. At the same time, work sorts after the rest.
            event: i64::MAX,
        };
        self.add(files.into_iter().map(known).collect());
    }
}

/// Which facts to read. Most facts are files, and the history has those too.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FactFilter {
    All,
    /// Everything except edited and read files.
    NoFiles,
    /// Everything except files and functions.
    Words,
}

impl FactFilter {
    fn filter(self) -> &'static str {
        match self {
            FactFilter::All => "",
            FactFilter::NoFiles => "AND kind NOT IN ('file', 'read')",
            FactFilter::Words => "AND kind NOT IN ('file', 'read') AND kind <> 'function'",
        }
    }
}

/// An edit whose file was not read yet.
#[derive(Clone, Debug)]
pub struct UnnamedEdit {
    pub session: i64,
    pub agent: String,
    pub agent_session_id: String,
    pub project: ProjectId,
    pub project_name: String,
    pub key: String,
    pub at: Timestamp,
    pub root: String,
    pub path: String,
    pub lines: Vec<(u32, u32)>,
}

impl Store {
    /// Facts and settlements of these sessions up to `now`, in chronological order.
    pub fn carried(&self, sessions: &[SessionRow], wanted: FactFilter, now: Timestamp) -> Result<Carried> {
        let ids: HashMap<i64, &SessionId> = sessions.iter().map(|session| (session.row, &session.id)).collect();
        let rows = row_list(sessions);
        let id_of = |row: &Row, column| -> rusqlite::Result<SessionId> {
            let session: i64 = row.get(column)?;
            Ok(ids.get(&session).map_or_else(|| SessionId::new(""), |id| (*id).clone()))
        };
        // If there are too many, take the newest, in the order of the index.
        let sql = format!(
            "SELECT session, at, kind, code, text, path, reference, severity, custom_key, source, event, why, row FROM fact
             WHERE session IN ({rows}) AND at <= ?1 {} ORDER BY session DESC, at DESC LIMIT {FACTS_MAX}",
            wanted.filter()
        );
        let mut facts = self.rows(&sql, [now.millis()], |row| {
            let known = Known { fact: fact_row(row)?, session: id_of(row, 0)?, at: time(row, 1)?, event: row.get(10)? };
            Ok((known, row.get(9)?, row.get::<_, i64>(12)?))
        })?;
        // Sorted here, because SQL would copy every row once more.
        facts.sort_unstable_by_key(|(known, _, row)| (known.at, known.event, *row));
        let (facts, sources) = facts.into_iter().map(|(known, source, _)| (known, source)).unzip();
        let sql = format!(
            "SELECT session, at, target, kind, done, event FROM closing WHERE session IN ({rows}) AND at <= ?1 ORDER BY at, event, row"
        );
        let settlements = self.rows(&sql, [now.millis()], |row| {
            Ok(Settlement {
                closing: closing_row(row)?,
                session: id_of(row, 0)?,
                at: time(row, 1)?,
                event: row.get(5)?,
            })
        })?;
        let mut carried = Carried { facts, sources, settlements };
        let is_interrupted = |known: &Known| known.fact.reference.as_deref() == Some(INTERRUPTED);
        if wanted != FactFilter::All && carried.facts.iter().any(is_interrupted) {
            carried.add(self.last_edits(sessions, now)?);
        }
        carried.add(done_by_reference(&carried.facts, &carried.settlements));
        Ok(carried)
    }

    /// Each session's last edit, which shows whether work went on after an interruption.
    fn last_edits(&self, sessions: &[SessionRow], now: Timestamp) -> Result<Vec<Known>> {
        let ids: HashMap<i64, &SessionId> = sessions.iter().map(|session| (session.row, &session.id)).collect();
        let sql = format!(
            "SELECT session, path, at, max(event) FROM fact WHERE kind = 'file' AND path IS NOT NULL
             AND session IN ({}) AND at <= ?1 GROUP BY session",
            row_list(sessions)
        );
        let found = self.rows(&sql, [now.millis()], |row| {
            Ok((row.get::<_, i64>(0)?, row.get::<_, String>(1)?, time(row, 2)?, row.get(3)?))
        })?;
        let known = |(session, path, at, event): (i64, String, Timestamp, i64)| {
            Some(Known { fact: Fact::file(Kind::File, &path), session: (*ids.get(&session)?).clone(), at, event })
        };
        Ok(found.into_iter().filter_map(known).collect())
    }

    /// Tests, builds and lints of these sessions up to `now`, in chronological order.
    pub fn runs(&self, sessions: &[SessionRow], now: Timestamp) -> Result<Vec<SessionRun>> {
        let ids: HashMap<i64, &SessionId> = sessions.iter().map(|session| (session.row, &session.id)).collect();
        let rows = row_list(sessions);
        let sql = format!(
            "SELECT session, at, event, report FROM run WHERE session IN ({rows}) AND at <= ?1
             ORDER BY session DESC, at DESC LIMIT {RUNS_MAX}"
        );
        let mut found = self.rows(&sql, [now.millis()], |row| {
            Ok((row.get::<_, i64>(0)?, time(row, 1)?, row.get(2)?, row.get::<_, String>(3)?))
        })?;
        // Sorted here, because SQL would copy every row once more.
        found.sort_unstable_by_key(|(_, at, event, _)| (*at, *event));
        let ran = |(session, at, event, report): (i64, Timestamp, i64, String)| {
            let (command, run) = serde_json::from_str(&report).ok()?;
            Some(SessionRun { command, run, session: (*ids.get(&session)?).clone(), at, event })
        };
        Ok(found.into_iter().filter_map(ran).collect())
    }

    /// Edits without names, newest first.
    pub fn unnamed_edits(&self, limit: usize) -> Result<Vec<UnnamedEdit>> {
        let sql = "SELECT unnamed.session, agent, agent_session_id, project, project_name, key, at, unnamed.root, path,
            lines FROM unnamed JOIN session ON session.row = unnamed.session ORDER BY event DESC LIMIT ?1";
        self.rows(sql, [limit], |row| {
            Ok(UnnamedEdit {
                session: row.get(0)?,
                agent: row.get(1)?,
                agent_session_id: row.get(2)?,
                project: ProjectId::from_stored(row.get(3)?),
                project_name: row.get(4)?,
                key: row.get(5)?,
                at: time(row, 6)?,
                root: row.get(7)?,
                path: row.get(8)?,
                lines: serde_json::from_str(&row.get::<_, String>(9)?).unwrap_or_default(),
            })
        })
    }

    /// The project's known files with these base names.
    pub fn files(&self, project: &ProjectId, bases: &[&str], now: Timestamp) -> Result<Vec<String>> {
        let sql = "SELECT path FROM file WHERE project = ?1 AND base IN (SELECT value FROM json_each(?2))
            AND first_at <= ?3";
        let bases = serde_json::to_string(bases).unwrap_or_default();
        self.rows(sql, params![project.as_str(), bases, now.millis()], |row| row.get(0))
    }
}

fn fact_row(row: &Row) -> rusqlite::Result<Fact> {
    let severity: Option<String> = row.get(7)?;
    Ok(Fact {
        kind: Kind::from_word(row.get_ref(2)?.as_str()?).unwrap_or(Kind::Note),
        code: row.get(3)?,
        text: row.get(4)?,
        path: row.get(5)?,
        reference: row.get(6)?,
        severity: severity.as_deref().and_then(Severity::from_word),
        custom_key: row.get(8)?,
        why: row.get(11)?,
    })
}

fn closing_row(row: &Row) -> rusqlite::Result<Closing> {
    let (target, kind): (String, Option<String>) = (row.get(2)?, row.get(3)?);
    let target = match kind.as_deref().and_then(Kind::from_word) {
        Some(kind) => Target::Code(kind, target),
        None => Target::Reference(target),
    };
    Ok(Closing { target, outcome: if row.get(4)? { ClosedAs::Done } else { ClosedAs::Dropped } })
}
