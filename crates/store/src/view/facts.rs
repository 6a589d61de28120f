//! What sessions left behind, in the form `recall` works with: facts, what settled them, runs, and where files were edited.
//!
//! Every query is as of a given time; later rows are ignored.

use cerberus_recall::brief::digest::{self, SOURCES, SessionWords};
use cerberus_recall::brief::failing::SessionRun;
use cerberus_recall::brief::ledger::ToolReport;
use cerberus_recall::brief::rank::SessionWork;
use cerberus_recall::brief::{KnownFact, Settlement, done_by_reference};
use cerberus_recall::extract::INTERRUPTED;
use cerberus_record::event::Severity;
use cerberus_record::fact::{ClosedAs, Closing, ClosingTarget, Fact, FactKind};
use cerberus_record::id::{ProjectId, SessionId};
use cerberus_record::map::{FastMap, FastSet};
use cerberus_record::time::Timestamp;
use rusqlite::{Row, params};

use super::named_sessions::NamedSessions;
use super::read::time;
use super::{Result, SessionRow, Store};

/// Limits on the facts and runs that are read at once. A week of real work stays far below them.
const FACTS_MAX: i64 = 10_000;
const RUNS_MAX: i64 = 5_000;

/// The facts and settlements that carry over.
#[derive(Debug, Default)]
pub struct CarriedFacts {
    pub facts: Vec<KnownFact>,
    /// The source of each fact, in the same order.
    pub sources: Vec<&'static str>,
    pub settlements: Vec<Settlement>,
}

impl CarriedFacts {
    /// Adds derived facts and restores the chronological order.
    pub fn add(&mut self, derived: Vec<KnownFact>) {
        if derived.is_empty() {
            return;
        }
        let said = std::mem::take(&mut self.facts).into_iter().zip(std::mem::take(&mut self.sources));
        let derived = derived.into_iter().map(|known| (known, "hook"));
        let mut all: Vec<(KnownFact, &'static str)> = said.chain(derived).collect();
        all.sort_by_key(|(known, _)| (known.at, known.event));
        (self.facts, self.sources) = all.into_iter().unzip();
    }

    /// Adds the wanted files that these sessions touched, each with its last edit and last read.
    pub fn add_files(
        &mut self,
        history: &[SessionWork],
        sessions: &FastSet<&SessionId>,
        is_wanted: impl Fn(&str) -> bool,
    ) {
        let mut last: FastMap<(FactKind, &str), (Timestamp, &SessionId)> = FastMap::default();
        for worked in history.iter().filter(|worked| sessions.contains(&worked.session)) {
            for touched in worked.touched.iter().filter(|touched| is_wanted(&touched.path)) {
                for (kind, at) in [(FactKind::File, touched.last_edit), (FactKind::Read, touched.last_read)] {
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
        let known = |(at, kind, path, session): (Timestamp, FactKind, &str, &SessionId)| KnownFact {
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
    fn has(self, kind: FactKind) -> bool {
        match self {
            FactFilter::All => true,
            FactFilter::NoFiles => !matches!(kind, FactKind::File | FactKind::Read),
            FactFilter::Words => !matches!(kind, FactKind::File | FactKind::Read | FactKind::Function),
        }
    }

    fn filter(self) -> &'static str {
        match self {
            FactFilter::All => "",
            FactFilter::NoFiles => "AND kind NOT IN ('file', 'read')",
            FactFilter::Words => "AND kind NOT IN ('file', 'read') AND kind <> 'function'",
        }
    }
}

/// More reports are not read, of all projects together.
const REPORTS_MAX: i64 = 500;

/// Only the files that were edited last are looked into.
const EDITED_LINES_MAX: usize = 50;

/// What several sessions said and settled.
struct AllSaid {
    facts: Vec<(KnownFact, &'static str)>,
    settlements: Vec<Settlement>,
    last_edits: Vec<KnownFact>,
}

impl AllSaid {
    /// Nothing yet, with room for a week of ordinary work: a fact is large, and memory that is not used costs nothing.
    fn new() -> AllSaid {
        AllSaid { facts: Vec::with_capacity(1_000), settlements: Vec::with_capacity(1_000), last_edits: Vec::new() }
    }

    fn add(&mut self, said: SessionWords) {
        self.facts.extend(said.facts);
        self.settlements.extend(said.settlements);
        self.last_edits.extend(said.last_edit);
    }
}

/// Where an edit changed a file.
#[derive(Clone, Debug)]
pub struct EditedLine {
    pub session: SessionId,
    pub at: Timestamp,
    pub event: i64,
    pub path: String,
    /// The first changed line, as it was then.
    pub line: u32,
}

impl Store {
    /// Facts and settlements of these sessions up to `now`, in chronological order.
    pub fn carried(&self, sessions: &[SessionRow], wanted: FactFilter, now: Timestamp) -> Result<CarriedFacts> {
        let mut all = match wanted {
            FactFilter::All => self.all_said(sessions, wanted, now)?,
            _ => {
                let mut all = AllSaid::new();
                let unpack = |packed: &[u8], id: &SessionId| {
                    digest::unpack_said(packed, id, |kind| wanted.has(kind)).map(|said| all.add(said))
                };
                let (_, rest) = self.packed("said", sessions, now, unpack)?;
                self.said_by(&rest, wanted, FACTS_MAX, now)?.into_values().for_each(|said| all.add(said));
                all
            }
        };
        if all.facts.len() > FACTS_MAX as usize {
            all = self.all_said(sessions, wanted, now)?;
        }
        let AllSaid { mut facts, mut settlements, last_edits } = all;
        // An event belongs to one session, and each session is in order.
        facts.sort_by_key(|(known, _)| (known.at, known.event));
        settlements.sort_by_key(|settlement| (settlement.at, settlement.event));
        let (facts, sources) = facts.into_iter().unzip();
        let mut carried = CarriedFacts { facts, sources, settlements };
        let is_interrupted = |known: &KnownFact| known.fact.reference.as_deref() == Some(INTERRUPTED);
        if wanted != FactFilter::All && carried.facts.iter().any(is_interrupted) {
            carried.add(last_edits);
        }
        carried.add(done_by_reference(&carried.facts, &carried.settlements));
        Ok(carried)
    }

    /// The records of these projects that state a decision, a blocker or a next step, or settle one: agent, session and
    /// key of each.
    pub fn stated(&self, projects: &[ProjectId]) -> Result<FastSet<(String, String, String)>> {
        let mut found = FastSet::default();
        for table in ["fact", "closing"] {
            let kinds = if table == "fact" { "AND f.kind IN ('decision', 'blocker', 'next')" } else { "" };
            let sql = format!(
                "SELECT s.agent, s.agent_session_id, e.key FROM {table} f JOIN event e ON e.row = f.event
                 JOIN session s ON s.row = f.session WHERE s.project = ?1 {kinds} ORDER BY f.at DESC LIMIT {FACTS_MAX}"
            );
            for project in projects {
                found.extend(self.rows(&sql, [project.as_str()], |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?)))?);
            }
        }
        Ok(found)
    }

    fn all_said(&self, sessions: &[SessionRow], wanted: FactFilter, now: Timestamp) -> Result<AllSaid> {
        let mut all = AllSaid::new();
        self.said_by(&NamedSessions::of(sessions), wanted, FACTS_MAX, now)?
            .into_values()
            .for_each(|said| all.add(said));
        Ok(all)
    }

    /// What each of these sessions said and settled, from their rows.
    pub(super) fn said_by(
        &self,
        sessions: &NamedSessions,
        wanted: FactFilter,
        facts_max: i64,
        now: Timestamp,
    ) -> Result<FastMap<i64, SessionWords>> {
        let mut all: FastMap<i64, SessionWords> = FastMap::default();
        if sessions.is_empty() {
            return Ok(all);
        }
        let rows = sessions.list();
        // If there are too many, take the newest, in the order of the index.
        let sql = format!(
            "SELECT session, at, kind, code, text, path, reference, severity, custom_key, source, event, why, row FROM fact
             WHERE session IN ({rows}) AND at <= ?1 {} ORDER BY session DESC, at DESC LIMIT {facts_max}",
            wanted.filter()
        );
        let mut facts = self.rows(&sql, [now.millis()], |row| {
            let session = row.get(0)?;
            let (session_id, at, event) = (sessions.id(session), time(row, 1)?, row.get(10)?);
            let known = KnownFact { fact: fact_row(row)?, session: session_id, at, event };
            Ok((session, row.get::<_, i64>(12)?, known, source(row.get_ref(9)?.as_str()?)))
        })?;
        // Sorted here, because SQL would copy every row once more.
        facts.sort_unstable_by_key(|(_, row, known, _)| (known.at, known.event, *row));
        for (session, _, known, source) in facts {
            all.entry(session).or_default().facts.push((known, source));
        }
        let sql = format!(
            "SELECT session, at, target, kind, done, event FROM closing WHERE session IN ({rows}) AND at <= ?1 ORDER BY at, event, row"
        );
        self.rows(&sql, [now.millis()], |row| {
            let (session, closing, at, event) = (row.get(0)?, closing_row(row)?, time(row, 1)?, row.get(5)?);
            let settlement = Settlement { closing, session: sessions.id(session), at, event };
            all.entry(session).or_default().settlements.push(settlement);
            Ok(())
        })?;
        if wanted != FactFilter::All {
            for (session, last) in self.last_edits(sessions, now)? {
                all.entry(session).or_default().last_edit = Some(last);
            }
        }
        Ok(all)
    }

    /// Each session's last edit, which shows whether work went on after an interruption.
    fn last_edits(&self, sessions: &NamedSessions, now: Timestamp) -> Result<Vec<(i64, KnownFact)>> {
        let sql = format!(
            "SELECT session, path, at, max(event) FROM fact WHERE kind = 'file' AND path IS NOT NULL
             AND session IN ({}) AND at <= ?1 GROUP BY session",
            sessions.list()
        );
        self.rows(&sql, [now.millis()], |row| {
            let (session, fact) = (row.get(0)?, Fact::file(FactKind::File, row.get_ref(1)?.as_str()?));
            Ok((session, KnownFact { fact, session: sessions.id(session), at: time(row, 2)?, event: row.get(3)? }))
        })
    }

    /// Tests, builds and lints of these sessions up to `now`, in chronological order.
    pub fn runs(&self, sessions: &[SessionRow], now: Timestamp) -> Result<Vec<SessionRun>> {
        let (packed, rest) = self.packed("runs", sessions, now, digest::unpack_runs)?;
        let rest = self.runs_of(&rest, RUNS_MAX, now)?;
        let mut found: Vec<SessionRun> =
            packed.into_iter().flatten().chain(rest.into_iter().map(|(_, run)| run)).collect();
        if found.len() > RUNS_MAX as usize {
            let all = self.runs_of(&NamedSessions::of(sessions), RUNS_MAX, now)?;
            found = all.into_iter().map(|(_, run)| run).collect();
        }
        found.sort_by_key(|ran| (ran.at, ran.event));
        Ok(found)
    }

    /// The runs of these sessions, from their rows, each with the row of its session.
    pub(super) fn runs_of(
        &self,
        sessions: &NamedSessions,
        runs_max: i64,
        now: Timestamp,
    ) -> Result<Vec<(i64, SessionRun)>> {
        if sessions.is_empty() {
            return Ok(Vec::new());
        }
        let sql = format!(
            "SELECT session, at, event, report FROM run WHERE session IN ({}) AND at <= ?1
             ORDER BY session DESC, at DESC LIMIT {runs_max}",
            sessions.list()
        );
        let found = self.rows(&sql, [now.millis()], |row| {
            let Ok((command, run)) = serde_json::from_slice(row.get_ref(3)?.as_bytes()?) else { return Ok(None) };
            let (session, at, event) = (row.get(0)?, time(row, 1)?, row.get(2)?);
            Ok(Some((session, SessionRun { command, run, session: sessions.id(session), at, event })))
        })?;
        let mut found: Vec<(i64, SessionRun)> = found.into_iter().flatten().collect();
        // Sorted here, because SQL would copy every row once more.
        found.sort_unstable_by_key(|(_, ran)| (ran.at, ran.event));
        Ok(found)
    }

    /// What tools reported of the branches of these projects, newest first.
    pub fn reports(&self, projects: &[ProjectId], since: Timestamp, now: Timestamp) -> Result<Vec<ToolReport>> {
        let sql =
            "SELECT s.project, fact.at, fact.kind, code, text, fact.path, reference, severity, custom_key, s.branch,
            s.id, why, s.device IS NOT NULL FROM fact INDEXED BY fact_reported JOIN session s ON s.row = fact.session
            WHERE fact.kind IN ('pull_request', 'step') AND fact.at > ?1 AND fact.at <= ?2
            ORDER BY fact.at DESC, fact.row DESC LIMIT ?3";
        let limits = params![since.millis(), now.millis(), REPORTS_MAX];
        let read = |row: &Row| {
            let project = row.get_ref(0)?.as_str()?;
            if !projects.iter().any(|wanted| wanted.as_str() == project) {
                return Ok(None);
            }
            let (branch, session) = (row.get(9)?, SessionId::new(row.get_ref(10)?.as_str()?));
            let is_elsewhere = row.get(12)?;
            Ok(Some(ToolReport { branch, fact: fact_row(row)?, session, at: time(row, 1)?, is_elsewhere }))
        };
        Ok(self.rows(sql, limits, read)?.into_iter().flatten().collect())
    }

    /// Where these sessions edited files up to `now`, newest first.
    pub fn edited_lines(&self, sessions: &[SessionRow], now: Timestamp) -> Result<Vec<EditedLine>> {
        let sessions = NamedSessions::of(sessions);
        let sql = format!(
            "SELECT session, at, event, path, line FROM edited_line WHERE session IN ({}) AND at <= ?1
             ORDER BY at DESC, event DESC LIMIT {EDITED_LINES_MAX}",
            sessions.list()
        );
        self.rows(&sql, [now.millis()], |row| {
            let (session, at) = (sessions.id(row.get(0)?), time(row, 1)?);
            Ok(EditedLine { session, at, event: row.get(2)?, path: row.get(3)?, line: row.get(4)? })
        })
    }
}

/// The stored source of a fact.
fn source(stored: &str) -> &'static str {
    SOURCES.into_iter().find(|source| *source == stored).unwrap_or(SOURCES[0])
}

fn fact_row(row: &Row) -> rusqlite::Result<Fact> {
    let severity: Option<String> = row.get(7)?;
    Ok(Fact {
        kind: FactKind::from_word(row.get_ref(2)?.as_str()?).unwrap_or(FactKind::Note),
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
    let target = match kind.as_deref().and_then(FactKind::from_word) {
        Some(kind) => ClosingTarget::Code(kind, target),
        None => ClosingTarget::Reference(target),
    };
    Ok(Closing { target, outcome: if row.get(4)? { ClosedAs::Done } else { ClosedAs::Dropped } })
}
