//! A memory that was changed on two devices that did not know of each other.
//!
//! The change that comes first in the order of all records holds. The other one waits for the user, as a proposal with
//! both texts, so nothing is lost. The result depends on the records alone, not on the order in which they arrived.

use cerberus_record::clean::text::Clean;
use cerberus_record::event::{MemoryChange, Record};
use cerberus_record::id::MemoryId;
use cerberus_record::memory::{Memory, MemoryStatus};
use rusqlite::{OptionalExtension, params};

use super::Result;
use super::memories::{COLUMNS, MemoryRow, device, memory_row};
use super::write::{FoldTransaction, RowSource};

impl FoldTransaction<'_> {
    /// Whether a change was made to the current version.
    pub(super) fn is_of_current(&self, change: &MemoryChange) -> Result<bool> {
        match (&change.parent, change.based_on) {
            (Some(parent), _) => {
                let current = self.one_version("id = ?1 AND until_at IS NULL ORDER BY row DESC", &change.id, "")?;
                Ok(current.is_none_or(|current| current.version_key == **parent))
            }
            (None, Some(based_on)) => Ok(self.versions(&change.id)? <= based_on),
            (None, None) => Ok(true),
        }
    }

    /// Keeps a change of a version that is no longer current, if its device could not know that.
    pub(super) fn changed_twice(&self, source: &RowSource, change: &MemoryChange, record: &Record) -> Result<()> {
        let is_team = record.origin.as_ref().is_some_and(|origin| origin.author.is_some());
        if is_team || self.knew_better(change, device(record))? {
            self.run("DELETE FROM event WHERE row = ?1", [source.event])?;
            return Ok(());
        }
        let parent = change.parent.as_deref().unwrap_or_default();
        let current = self.one_version("id = ?1 AND until_at IS NULL ORDER BY row DESC", &change.id, "")?;
        let other = match &change.memory {
            Some(memory) => Some((**memory).clone()),
            // An undone change: the version before it.
            None => {
                let sql = "row = (SELECT before FROM memory WHERE id = ?1 AND version = ?2)";
                self.one_version(sql, &change.id, parent)?.map(|row| row.memory)
            }
        };
        let (Some(current), Some(other)) = (current, other) else { return Ok(()) };
        // The other device went on with a text that waits here.
        let waiting = "version = ?2 AND id <> ?1 AND status = 'proposed' AND until_at IS NULL ORDER BY row DESC";
        let waiting = self.one_version(waiting, &change.id, parent)?;
        self.keep_both(source, record, &current, other, waiting.as_ref())
    }

    /// Whether the device made a later version itself, so that it knew of one.
    fn knew_better(&self, change: &MemoryChange, device: Option<&str>) -> Result<bool> {
        let parent = match (&change.parent, change.based_on) {
            (Some(parent), _) => {
                let found = self.one_version("id = ?1 AND version = ?2 ORDER BY row DESC", &change.id, parent)?;
                // Another device made it, and it has not arrived.
                let Some(found) = found else { return Ok(false) };
                Some(found)
            }
            (None, Some(based_on)) if based_on > 0 => {
                let nth = format!("id = ?1 ORDER BY row LIMIT 1 OFFSET {}", based_on - 1);
                self.one_version(&nth, &change.id, "")?
            }
            (None, _) => None,
        };
        self.knew(&change.id, parent.map_or(0, |parent| parent.row), device)
    }

    /// Whether a device has made a later version itself.
    fn knew(&self, id: &str, since: i64, device: Option<&str>) -> Result<bool> {
        let sql = "SELECT 1 FROM memory WHERE id = ?1 AND row > ?2 AND device IS ?3";
        let mut later = self.with_path(self.transaction.prepare_cached(sql))?;
        self.with_path(later.exists(params![id, since, device]))
    }

    fn keep_both(
        &self,
        source: &RowSource,
        record: &Record,
        current: &MemoryRow,
        other: Memory,
        waiting: Option<&MemoryRow>,
    ) -> Result<()> {
        let held = &current.memory;
        if held.content == other.content && held.status == other.status {
            return Ok(());
        }
        let why = |text: String| Some(Clean::from_stored(text));
        if other.status == MemoryStatus::Rejected {
            // One device rejected what the other one changed or approved: the user decides again.
            let mut again = held.clone();
            again.status = MemoryStatus::Proposed;
            again.background.is_automatic = false;
            again.background.rationale = why("rejected on one device and kept on another".to_string());
            self.new_version(source, current.id.as_str(), &again, Some(current.row), record)?;
            return self.replaced(source, current);
        }
        let id = waiting.map_or_else(|| MemoryId::of(&[current.id.as_str(), &record.key]), |row| row.id.clone());
        let mut proposal = other;
        proposal.status = MemoryStatus::Proposed;
        proposal.background.is_automatic = false;
        proposal.background.supersedes.clear();
        proposal.background.other_of = Some(Clean::from_stored(current.id.to_string()));
        proposal.background.rationale = why(format!(
            "{} was changed on two devices; the other text, which holds, is: {}",
            current.id, &*held.content
        ));
        self.new_version(source, id.as_str(), &proposal, waiting.map(|row| row.row), record)?;
        waiting.map_or(Ok(()), |row| self.replaced(source, row))
    }

    /// Ends the time in which a version was current.
    fn replaced(&self, source: &RowSource, version: &MemoryRow) -> Result<()> {
        let sql = "UPDATE memory SET until_at = max(?2, from_at) WHERE row = ?1";
        self.run(sql, params![version.row, source.at.millis()])?;
        Ok(())
    }

    fn one_version(&self, filter: &str, id: &str, version: &str) -> Result<Option<MemoryRow>> {
        let limit = if filter.contains("LIMIT") { "" } else { "LIMIT 1" };
        let sql = format!("SELECT {COLUMNS} FROM memory WHERE {filter} {limit}");
        let mut find = self.with_path(self.transaction.prepare_cached(&sql))?;
        let found = match filter.contains("?2") {
            true => find.query_row([id, version], memory_row),
            false => find.query_row([id], memory_row),
        };
        self.with_path(found.optional())
    }
}
