//! Finds the memories that a command is about.

use cerberus_record::memory::MemoryStatus;
use cerberus_record::time::Timestamp;
use cerberus_store::view::{MemoryRow, Store};

use crate::failure::{Hint, Result};

/// The memory or proposal with this id. The start of an id is enough if it is unique.
pub fn find(store: &Store, id: &str, now: Timestamp) -> Result<MemoryRow> {
    let found = store.memory(id, now)?;
    let missing = || anyhow::anyhow!("no memory, or more than one, has an id that starts with {id:?}");
    found.ok_or_else(missing).hint("`cerberus memory list --all` lists the ids")
}

/// The approved memories; with `wants_undecided` also proposals and rejected ones.
pub(super) fn all(store: &Store, wants_undecided: bool, now: Timestamp) -> Result<Vec<MemoryRow>> {
    let mut rows = store.memories(MemoryStatus::Approved, now)?;
    if wants_undecided {
        rows.extend(store.memories(MemoryStatus::Proposed, now)?);
        rows.extend(store.memories(MemoryStatus::Rejected, now)?);
    }
    Ok(rows)
}
