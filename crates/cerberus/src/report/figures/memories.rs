//! Memories by where they come from, and how often they were used.

use std::collections::BTreeMap;

use cerberus_record::memory::MemoryStatus;
use cerberus_record::source::MemorySource;

/// A memory or proposal.
#[derive(Clone, Debug)]
pub struct MemoryUse {
    pub content: String,
    pub scope: String,
    pub source: MemorySource,
    pub status: MemoryStatus,
    /// How often it was told or found.
    pub uses: u64,
}

/// The memories of one source.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SourceRow {
    pub source: MemorySource,
    pub approved: usize,
    pub proposed: usize,
    pub rejected: usize,
    pub uses: u64,
}

impl SourceRow {
    pub fn count(self) -> usize {
        self.approved + self.proposed + self.rejected
    }
}

/// The sources with most memories first.
pub fn by_source(memories: &[MemoryUse]) -> Vec<SourceRow> {
    let mut rows: BTreeMap<MemorySource, SourceRow> = BTreeMap::new();
    for memory in memories {
        let source = memory.source;
        let empty = SourceRow { source, approved: 0, proposed: 0, rejected: 0, uses: 0 };
        let row = rows.entry(source).or_insert(empty);
        match memory.status {
            MemoryStatus::Approved => row.approved += 1,
            MemoryStatus::Proposed => row.proposed += 1,
            MemoryStatus::Rejected => row.rejected += 1,
        }
        row.uses = row.uses.saturating_add(memory.uses);
    }
    let mut rows: Vec<SourceRow> = rows.into_values().collect();
    rows.sort_by_key(|row| std::cmp::Reverse(row.count()));
    rows
}

/// How many memories are listed.
pub const LISTED_MAX: usize = 30;

/// The accepted memories, most used first.
pub fn most_used(memories: &[MemoryUse]) -> Vec<&MemoryUse> {
    let mut found: Vec<&MemoryUse> = memories.iter().filter(|memory| memory.status == MemoryStatus::Approved).collect();
    found.sort_by_key(|memory| std::cmp::Reverse(memory.uses));
    found.truncate(LISTED_MAX);
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn memories_are_counted_by_source_and_status() {
        let memory = |source, status, uses| MemoryUse {
            content: format!("used {uses} times"),
            scope: "universal".to_string(),
            source,
            status,
            uses,
        };
        let all = [
            memory(MemorySource::User, MemoryStatus::Approved, 1),
            memory(MemorySource::Prompt, MemoryStatus::Approved, 2),
            memory(MemorySource::Prompt, MemoryStatus::Proposed, 0),
            memory(MemorySource::Prompt, MemoryStatus::Rejected, 9),
        ];
        let row = |source, approved, proposed, rejected, uses| SourceRow { source, approved, proposed, rejected, uses };
        assert_eq!(by_source(&all), [row(MemorySource::Prompt, 1, 1, 1, 11), row(MemorySource::User, 1, 0, 0, 1)]);
        let listed: Vec<u64> = most_used(&all).iter().map(|memory| memory.uses).collect();
        assert_eq!(listed, [2, 1], "proposals and rejected ones are not told");
    }
}
