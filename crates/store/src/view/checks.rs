//! Checks in the view: what the user said about each, and what was decided because of them.

use cerberus_record::check::{CheckChange, CheckDecision, CheckLevel, CheckVerdict, PauseChange};
use cerberus_record::event::Record;
use cerberus_record::id::ProjectId;
use cerberus_record::time::Timestamp;
use rusqlite::{Row, params};

use super::read::time;
use super::write::{FoldTransaction, RowSource};
use super::{Result, Store};

/// The check of a memory, as the user last set it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RuleRow {
    /// The id of the memory.
    pub memory: String,
    pub words: Vec<String>,
    pub level: CheckLevel,
    /// A hash of the memory's words when it was set.
    pub content: String,
    /// The device on which it was set.
    pub device: String,
    pub at: Timestamp,
    /// Whether the next violation passes.
    pub allows_once: bool,
}

/// One decision, with the session that it was made in.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DecisionRow {
    pub memory: String,
    pub session: i64,
    pub at: Timestamp,
    pub verdict: CheckVerdict,
}

/// A pause that began while checks were on, or was lifted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PauseRow {
    pub at: Timestamp,
    /// `None` for all projects.
    pub project: Option<ProjectId>,
    pub until: Option<Timestamp>,
    pub is_lifted: bool,
}

impl FoldTransaction<'_> {
    /// What somebody else brought does not bind.
    pub(super) fn rule(&self, source: &RowSource, change: &CheckChange, is_foreign: bool) -> Result<()> {
        if is_foreign {
            return Ok(());
        }
        let words: Vec<&str> = change.rule.iter().map(|word| &**word).collect();
        let words = serde_json::to_string(&words).unwrap_or_default();
        let sql = "INSERT INTO rule (event, at, memory, words, level, content, device, allows_once)
            VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8)";
        let CheckChange { memory, level, content, device, allows_once, .. } = change;
        let (event, at, level) = (source.event, source.at.millis(), level.word());
        self.run(sql, params![event, at, &**memory, words, level, &**content, &**device, allows_once])?;
        Ok(())
    }

    pub(super) fn pause(&self, source: &RowSource, record: &Record, change: &PauseChange) -> Result<()> {
        let sql = "INSERT INTO pause (event, at, project, until, is_lifted) VALUES (?1, ?2, ?3, ?4, ?5)";
        let project = (!change.everywhere).then(|| record.location.project.as_str());
        let until = change.until.map(Timestamp::millis);
        self.run(sql, params![source.event, source.at.millis(), project, until, change.is_lifted])?;
        Ok(())
    }

    pub(super) fn decision(&self, source: &RowSource, decision: &CheckDecision) -> Result<()> {
        let sql = "INSERT INTO decision (event, session, at, memory, verdict) VALUES (?1, ?2, ?3, ?4, ?5)";
        let (at, verdict) = (source.at.millis(), decision.verdict.word());
        self.run(sql, params![source.event, source.session, at, &*decision.memory, verdict])?;
        Ok(())
    }
}

impl Store {
    /// The checks that were not removed, by memory.
    pub fn rules(&self, now: Timestamp) -> Result<Vec<RuleRow>> {
        let sql =
            "SELECT memory, words, level, device, at, allows_once, content FROM rule AS known WHERE at <= ?1 AND words <> '[]'
            AND NOT EXISTS (SELECT 1 FROM rule AS later WHERE later.memory = known.memory AND later.at <= ?1
            AND (later.at, later.event) > (known.at, known.event)) ORDER BY memory";
        self.rows(sql, [now.millis()], rule_row)
    }

    /// Every pause up to `now` while checks were on, oldest first.
    pub fn pauses(&self, now: Timestamp) -> Result<Vec<PauseRow>> {
        let sql = "SELECT at, project, until, is_lifted FROM pause WHERE at <= ?1 ORDER BY at, event";
        let read = |row: &Row| {
            let (project, until): (Option<String>, Option<i64>) = (row.get(1)?, row.get(2)?);
            Ok(PauseRow {
                at: time(row, 0)?,
                project: project.map(ProjectId::from_stored),
                until: until.map(Timestamp::from_millis),
                is_lifted: row.get(3)?,
            })
        };
        self.rows(sql, [now.millis()], read)
    }

    /// Every decision up to `now`, oldest first.
    pub fn decisions(&self, now: Timestamp) -> Result<Vec<DecisionRow>> {
        let sql = "SELECT memory, session, at, verdict FROM decision WHERE at <= ?1 ORDER BY at, event";
        let read = |row: &Row| {
            let verdict: String = row.get(3)?;
            let verdict = CheckVerdict::from_word(&verdict).unwrap_or(CheckVerdict::Denied);
            Ok(DecisionRow { memory: row.get(0)?, session: row.get(1)?, at: time(row, 2)?, verdict })
        };
        self.rows(sql, [now.millis()], read)
    }
}

fn rule_row(row: &Row) -> rusqlite::Result<RuleRow> {
    let (words, level): (String, String) = (row.get(1)?, row.get(2)?);
    Ok(RuleRow {
        memory: row.get(0)?,
        words: serde_json::from_slice(words.as_bytes()).unwrap_or_default(),
        level: CheckLevel::from_word(&level).unwrap_or(CheckLevel::Tell),
        device: row.get(3)?,
        at: time(row, 4)?,
        allows_once: row.get(5)?,
        content: row.get(6)?,
    })
}
