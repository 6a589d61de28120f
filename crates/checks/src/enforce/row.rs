//! A check with its memory, its level, and how it is used.

use cerberus_record::check::CheckLevel;
use cerberus_record::id::MemoryId;
use cerberus_record::time::Timestamp;
use cerberus_store::view::MemoryRow;

use crate::Rule;

/// A check with its memory.
#[derive(Clone, Debug)]
pub struct CheckRow {
    pub memory: MemoryRow,
    pub rule: Rule,
    pub level: CheckLevel,
    /// Since when it is as it is.
    pub at: Timestamp,
    pub allows_once: bool,
    /// Why it does not bind, although its level says so.
    pub idle: Option<Idle>,
}

impl CheckRow {
    pub fn id(&self) -> &MemoryId {
        &self.memory.id
    }

    /// Whether hooks enforce it.
    pub fn is_on(&self) -> bool {
        self.level != CheckLevel::Tell && self.idle.is_none()
    }
}

/// Why a check does not bind.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Idle {
    #[error("it was set on another device")]
    Elsewhere,
    #[error("the words of the memory changed since it was set")]
    Reworded,
    #[error(transparent)]
    Memory(#[from] Unfit),
}

/// Why a memory cannot carry a check.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Unfit {
    #[error("it is not approved")]
    NotApproved,
    #[error("it was approved without asking you")]
    Automatic,
    #[error("it was imported")]
    Imported,
    #[error("a newer memory replaces it")]
    Superseded,
    #[error("its project is not known")]
    NoProject,
}
