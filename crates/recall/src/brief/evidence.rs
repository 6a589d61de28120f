//! What is known about the project's files and branches.

use std::collections::HashMap;

use cerberus_record::id::SessionId;
use cerberus_record::map::{FastMap, FastSet};

/// What is known about the project's files and branches. It orders items and removes stale ones.
#[derive(Debug, Default)]
pub struct Likely {
    /// The likeliest to be worked on first. If empty, files stay in the order in which they were touched.
    pub files: Vec<super::rank::RankedFile>,
    /// Files that no longer exist.
    pub gone: FastSet<String>,
    /// Sessions whose work is on a branch that is not merged into the current one.
    pub unmerged: HashMap<SessionId, String>,
    pub repository: super::repository::GitFacts,
    pub ledger: super::ledger::BranchLedger,
    /// By the paths of the files that were edited last.
    pub lines: FastMap<String, FunctionLine>,
}

/// The function of a file that was edited last, and where it stands now.
#[derive(Clone, Debug, PartialEq)]
pub struct FunctionLine {
    pub function: String,
    pub line: u32,
}
