//! Proposals and memories in the view: one row per version, each with the time for which it was current.

use std::collections::HashMap;

use cerberus_recall::search::rank::{self, CandidateMemory};
use cerberus_record::clean::text::Clean;
use cerberus_record::event::{MemoryChange, Record};
use cerberus_record::id::{MemoryId, ProjectId};
use cerberus_record::memory::{Background, Memory, MemoryStatus, Scope, Uses};
use cerberus_record::source::MemorySource;
use cerberus_record::time::Timestamp;
use cerberus_text::terms;
use rusqlite::{OptionalExtension, Params, Row, params};

use super::read::time;
use super::write::{FoldTransaction, RowSource, json};
use super::{Result, Store};

/// A proposal or memory as of the time of the query.
#[derive(Clone, Debug)]
pub struct MemoryRow {
    pub row: i64,
    pub id: MemoryId,
    pub memory: Memory<'static>,
    /// From a file that the user imported. `memory.source` is then what the file said.
    pub is_imported: bool,
    /// All uses, including those before it was imported.
    pub uses: Uses,
    /// The version number, starting at 1.
    pub version: usize,
    /// The name of the version, on every device.
    pub version_key: String,
    /// Whether undoing the last change brings back an earlier version.
    pub has_earlier: bool,
    /// The newer memory that contradicts it.
    pub superseded_by: Option<MemoryId>,
}

impl MemoryRow {
    /// Where it came from.
    pub fn origin(&self) -> MemorySource {
        if self.is_imported { MemorySource::Import } else { MemorySource::named(&self.memory.source) }
    }

    /// Where it came from, as people read it.
    pub fn origin_title(&self) -> String {
        match &self.memory.background.author {
            Some(author) if self.origin() == MemorySource::Team => format!("from {}, a teammate", &**author),
            _ => self.origin().title().to_string(),
        }
    }

    /// Whether it is from this source, or a file said that it was.
    pub fn is_from(&self, source: MemorySource) -> bool {
        self.origin() == source || MemorySource::named(&self.memory.source) == source
    }

    pub fn scope(&self) -> Scope {
        Scope::parse(&self.memory.scope).unwrap_or(Scope::Universal)
    }

    /// The form that `recall` ranks; `scope` is the result of [`MemoryRow::scope`].
    pub fn candidate<'a>(&'a self, scope: &'a Scope) -> CandidateMemory<'a> {
        CandidateMemory {
            content: &self.memory.content,
            category: &self.memory.category,
            scope,
            project: self.memory.project.as_ref(),
            confidence: self.memory.confidence,
            updated_at: self.memory.updated_at,
            used_at: self.uses.last_at,
            uses: self.uses.count,
        }
    }

    /// Whether it was neither changed nor used for so long that the user should review it.
    pub fn is_stale(&self, now: Timestamp) -> bool {
        rank::is_stale(&self.candidate(&self.scope()), now)
    }
}

pub(super) const COLUMNS: &str =
    "row, id, status, content, category, scope, project, confidence, created_at, updated_at, source,
    background, before IS NOT NULL,
    (SELECT count(*) FROM memory AS version WHERE version.id = memory.id AND version.row <= memory.row), is_imported,
    version";

/// Current at the time `?1`.
pub(super) const IS_CURRENT: &str = "from_at <= ?1 AND (until_at IS NULL OR until_at > ?1)";

impl FoldTransaction<'_> {
    /// Replaces the current version with a new one, or brings back the version before it. If the change is based on
    /// another version, its device either did not know the current one, then both texts are kept, or it did, then the
    /// change is refused and its event removed.
    pub(super) fn memory(&self, source: &RowSource, change: &MemoryChange, record: &Record) -> Result<()> {
        if !self.is_of_current(change)? {
            return self.changed_twice(source, change, record);
        }
        let sql = "SELECT row, before FROM memory WHERE id = ?1 AND until_at IS NULL ORDER BY row DESC LIMIT 1";
        let find = |row: &Row| Ok((row.get::<_, i64>(0)?, row.get::<_, Option<i64>>(1)?));
        let current =
            self.transaction.prepare_cached(sql).and_then(|mut s| s.query_row([&*change.id], find).optional());
        let current = self.with_path(current)?;
        match (&change.memory, current) {
            (Some(memory), _) => {
                self.new_version(source, &change.id, memory, current.map(|(row, _)| row), record)?;
            }
            (None, Some((_, Some(before)))) => self.old_version(source, before, record)?,
            (None, _) => return Ok(()),
        }
        if let Some((row, _)) = current {
            let sql = "UPDATE memory SET until_at = max(?2, from_at) WHERE row = ?1";
            self.run(sql, params![row, source.at.millis()])?;
        }
        Ok(())
    }

    pub(super) fn versions(&self, id: &str) -> Result<usize> {
        let mut count = self.with_path(self.transaction.prepare_cached("SELECT count(*) FROM memory WHERE id = ?1"))?;
        self.with_path(count.query_row([id], |row| row.get(0)))
    }

    pub(super) fn new_version(
        &self,
        source: &RowSource,
        id: &str,
        memory: &Memory,
        before: Option<i64>,
        record: &Record,
    ) -> Result<()> {
        // It stays imported until somebody changes its words.
        let sql = "INSERT INTO memory (id, from_at, before, status, content, category, scope, project, confidence,
            created_at, updated_at, source, supersedes, background, version, device, is_imported)
            VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15, ?16,
            ?17 OR coalesce((SELECT is_imported AND content = ?5 FROM memory WHERE row = ?3), 0))";
        let background = &memory.background;
        let supersedes = (!background.supersedes.is_empty()).then(|| json(&background.supersedes));
        self.run(
            sql,
            params![
                id,
                source.at.millis(),
                before,
                memory.status.word(),
                &*memory.content,
                &*memory.category,
                &*memory.scope,
                memory.project.as_ref().map(ProjectId::as_str),
                memory.confidence,
                memory.created_at.millis(),
                memory.updated_at.millis(),
                &*memory.source,
                supersedes,
                (!background.is_empty()).then(|| json(background)),
                &*record.key,
                device(record),
                record.imported,
            ],
        )?;
        self.index(&memory.content)
    }

    fn old_version(&self, source: &RowSource, before: i64, record: &Record) -> Result<()> {
        let sql = "INSERT INTO memory (id, from_at, before, status, content, category, scope, project, confidence,
            created_at, updated_at, source, supersedes, background, is_imported, version, device)
            SELECT id, ?2, before, status, content, category, scope, project, confidence, created_at, updated_at,
            source, supersedes, background, is_imported, ?3, ?4 FROM memory WHERE row = ?1";
        self.run(sql, params![before, source.at.millis(), &*record.key, device(record)])?;
        let row = self.transaction.last_insert_rowid();
        let content: String =
            self.with_path(
                self.transaction.query_row("SELECT content FROM memory WHERE row = ?1", [row], |found| found.get(0)),
            )?;
        self.index(&content)
    }

    /// Adds the newest version to the search index.
    fn index(&self, content: &str) -> Result<()> {
        let row = self.transaction.last_insert_rowid();
        let sql = "INSERT INTO memory_terms (rowid, terms) VALUES (?1, ?2)";
        self.run(sql, params![row, terms::index_terms(content)])?;
        Ok(())
    }

    /// Rewrites the search index: until then it still contains what was deleted.
    pub fn forget_terms(&self) -> Result<()> {
        self.run("INSERT INTO memory_terms (memory_terms) VALUES ('optimize')", [])?;
        Ok(())
    }

    pub(super) fn used(&self, source: &RowSource, memories: &[Clean]) -> Result<()> {
        for id in memories {
            let sql = "INSERT OR IGNORE INTO memory_use (event, id, at) VALUES (?1, ?2, ?3)";
            self.run(sql, params![source.event, &**id, source.at.millis()])?;
        }
        Ok(())
    }
}

impl Store {
    /// How many proposals wait for the user's decision.
    pub fn count_proposals(&self, now: Timestamp) -> Result<usize> {
        let sql = format!("SELECT count(*) FROM memory WHERE status = 'proposed' AND {IS_CURRENT}");
        Ok(self.rows(&sql, [now.millis()], |row| row.get(0))?.into_iter().next().unwrap_or(0))
    }

    /// The memory with this id, or with the only id that starts with it.
    pub fn memory(&self, id: &str, now: Timestamp) -> Result<Option<MemoryRow>> {
        let exact = self.memory_rows("id = ?2", params![now.millis(), id], now)?;
        if let [_, ..] = exact.as_slice() {
            return Ok(exact.into_iter().next());
        }
        let after = format!("{id}\u{10ffff}");
        let mut begun = self.memory_rows("id >= ?2 AND id < ?3 LIMIT 2", params![now.millis(), id, after], now)?;
        Ok(if begun.len() == 1 && !id.is_empty() { begun.pop() } else { None })
    }

    /// All memories with this status, oldest first.
    pub fn memories(&self, status: MemoryStatus, now: Timestamp) -> Result<Vec<MemoryRow>> {
        self.memory_rows("status = ?2 ORDER BY row", params![now.millis(), status.word()], now)
    }

    /// Memories and proposals that were not imported, newest first. New proposals are compared with them.
    pub fn own_memories(&self, limit: usize, now: Timestamp) -> Result<Vec<MemoryRow>> {
        self.memory_rows("source <> 'import' ORDER BY row DESC LIMIT ?2", params![now.millis(), limit], now)
    }

    /// Accepted memories of these scopes, most recently changed first.
    pub fn memories_in(&self, scopes: &[String], limit: usize, now: Timestamp) -> Result<Vec<MemoryRow>> {
        let mut found = Vec::new();
        for scope in scopes {
            let filter = "scope = ?2 AND status = 'approved' ORDER BY updated_at DESC LIMIT ?3";
            found.extend(self.memory_rows(filter, params![now.millis(), scope, limit], now)?);
        }
        Ok(found)
    }

    /// Whether any memory applies to a language only.
    pub fn has_language_memories(&self, now: Timestamp) -> Result<bool> {
        let sql = format!(
            "SELECT 1 FROM memory WHERE scope >= 'language:' AND scope < 'language;' AND status = 'approved' AND {IS_CURRENT}
             LIMIT 1"
        );
        Ok(!self.rows(&sql, [now.millis()], |_| Ok(()))?.is_empty())
    }

    /// The memories in these rows, in the same order.
    pub fn memories_at(&self, rows: &[i64], now: Timestamp) -> Result<Vec<MemoryRow>> {
        let list = rows.iter().map(i64::to_string).collect::<Vec<_>>().join(",");
        let mut found = self.memory_rows(&format!("row IN ({list})"), params![now.millis()], now)?;
        found.sort_by_key(|memory| rows.iter().position(|row| *row == memory.row));
        Ok(found)
    }

    /// Every version of a memory, oldest first.
    pub fn memory_versions(&self, id: &str) -> Result<Vec<(Timestamp, Memory<'static>)>> {
        let sql = format!("SELECT {COLUMNS}, from_at FROM memory WHERE id = ?1 ORDER BY row");
        self.rows(&sql, [id], |row| Ok((time(row, 16)?, memory_row(row)?.memory)))
    }

    /// The number of versions of a memory, and when the current one was changed.
    pub fn memory_head(&self, id: &str) -> Result<(usize, Option<Timestamp>)> {
        let sql = "SELECT count(*), max(iif(until_at IS NULL, updated_at, NULL)) FROM memory WHERE id = ?1";
        let read = |row: &Row| Ok((row.get(0)?, row.get::<_, Option<i64>>(1)?.map(Timestamp::from_millis)));
        Ok(self.rows(sql, [id], read)?.into_iter().next().unwrap_or((0, None)))
    }

    /// The place of the last record about memories that was folded; 0 if there is none.
    pub fn last_memory_rank(&self) -> Result<i64> {
        Ok(self.rows("SELECT last_rank FROM memory_progress", [], |row| row.get(0))?.pop().unwrap_or_default())
    }

    /// Whether the change with this key was made, as opposed to refused.
    pub fn has_memory_change(&self, key: &str) -> Result<bool> {
        let sql = "SELECT 1 FROM event WHERE session = 0 AND kind = 'memory' AND key = ?1";
        Ok(!self.rows(sql, [key], |_| Ok(()))?.is_empty())
    }

    /// The number of memories per status, scope and category.
    pub fn memory_counts(&self, now: Timestamp) -> Result<Vec<(MemoryStatus, String, String, usize)>> {
        let sql = format!(
            "SELECT status, scope, category, count(*) FROM memory WHERE {IS_CURRENT} GROUP BY status, scope, category"
        );
        self.rows(&sql, [now.millis()], |row| Ok((status(row, 0)?, row.get(1)?, row.get(2)?, row.get(3)?)))
    }

    /// The ids of the memories that a session was told up to `now`, since its context was last empty.
    pub fn told_memories(&self, session: i64, now: Timestamp) -> Result<Vec<String>> {
        let sql = "SELECT memories FROM receipt WHERE session = ?1 AND at <= ?2 AND row >= coalesce(
            (SELECT max(row) FROM receipt WHERE session = ?1 AND at <= ?2 AND source IN ('startup', 'clear', 'compact')), 0)";
        let lists = self.rows(sql, params![session, now.millis()], |row| row.get::<_, String>(0))?;
        Ok(lists
            .iter()
            .flat_map(|ids| serde_json::from_slice::<Vec<String>>(ids.as_bytes()).unwrap_or_default())
            .collect())
    }

    fn memory_rows(&self, filter: &str, params: impl Params, now: Timestamp) -> Result<Vec<MemoryRow>> {
        let sql = format!("SELECT {COLUMNS} FROM memory WHERE {IS_CURRENT} AND {filter}");
        let mut found = self.repeated_rows(&sql, params, memory_row)?;
        if found.is_empty() {
            return Ok(found);
        }
        let superseded = self.superseded(now)?;
        for memory in &mut found {
            memory.superseded_by = superseded.get(memory.id.as_str()).cloned().map(MemoryId::new);
            memory.uses = memory.uses.plus(self.uses(memory.id.as_str(), now)?);
        }
        Ok(found)
    }

    fn uses(&self, id: &str, now: Timestamp) -> Result<Uses> {
        let sql = "SELECT count(*), max(at) FROM memory_use WHERE id = ?1 AND at <= ?2";
        let read = |row: &Row| {
            let last_at: Option<i64> = row.get(1)?;
            Ok(Uses { count: row.get(0)?, last_at: last_at.map(Timestamp::from_millis) })
        };
        Ok(self.repeated_rows(sql, params![id, now.millis()], read)?.into_iter().next().unwrap_or_default())
    }

    /// Accepted memories that a newer accepted one contradicts, with the newer one's id.
    fn superseded(&self, now: Timestamp) -> Result<HashMap<String, String>> {
        let sql = format!(
            "SELECT id, supersedes FROM memory WHERE supersedes IS NOT NULL AND status = 'approved' AND {IS_CURRENT}"
        );
        let found = self.rows(&sql, [now.millis()], |row| Ok((row.get::<_, String>(0)?, row.get::<_, String>(1)?)))?;
        let pairs = found.into_iter().flat_map(|(newer, older)| {
            let older: Vec<String> = serde_json::from_slice(older.as_bytes()).unwrap_or_default();
            older.into_iter().map(move |older| (older, newer.clone()))
        });
        Ok(pairs.collect())
    }
}

/// The other device that a record came from.
pub(super) fn device<'r>(record: &'r Record) -> Option<&'r str> {
    record.origin.as_ref().map(|origin| &*origin.device)
}

pub(super) fn memory_row(row: &Row) -> rusqlite::Result<MemoryRow> {
    let background: Option<String> = row.get(11)?;
    let background = background
        .and_then(|text| serde_json::from_slice::<Background>(text.as_bytes()).ok().map(Background::into_owned));
    let background = background.unwrap_or_default();
    let project: Option<String> = row.get(6)?;
    let memory = Memory {
        status: status(row, 2)?,
        content: Clean::from_stored(row.get(3)?),
        category: Clean::from_stored(row.get(4)?),
        scope: Clean::from_stored(row.get(5)?),
        project: project.map(ProjectId::from_stored),
        confidence: row.get(7)?,
        created_at: time(row, 8)?,
        updated_at: time(row, 9)?,
        source: Clean::from_stored(row.get(10)?),
        background,
    };
    let id = MemoryId::new(row.get::<_, String>(1)?);
    let is_imported = row.get(14)?;
    let (row, has_earlier, version, version_key) = (row.get(0)?, row.get(12)?, row.get(13)?, row.get(15)?);
    Ok(MemoryRow {
        row,
        id,
        is_imported,
        uses: memory.background.uses,
        memory,
        version,
        version_key,
        has_earlier,
        superseded_by: None,
    })
}

fn status(row: &Row, column: usize) -> rusqlite::Result<MemoryStatus> {
    let word: String = row.get(column)?;
    Ok(MemoryStatus::from_word(&word).unwrap_or(MemoryStatus::Rejected))
}
