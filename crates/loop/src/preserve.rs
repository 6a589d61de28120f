//! `[loop.preserve]`: what a context passes on to its successor, and how much of it.

use cerberus_record::fact::FactKind;
use serde::{Deserialize, Serialize};

/// As in a settings file; everything is optional.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct PreserveLayer {
    /// `objective`, `done`, `next`, `file`, `decision`, `blocker`, `note`; by default all of them.
    pub kinds: Option<Vec<FactKind>>,
    /// Files whose text is included, relative to the project.
    pub include_files: Option<Vec<String>>,
    pub git_history: Option<bool>,
    pub git_history_count: Option<u32>,
    pub test_state: Option<bool>,
    /// In bytes.
    pub max_state_size: Option<usize>,
}

impl PreserveLayer {
    pub(crate) fn over(self, other: PreserveLayer) -> PreserveLayer {
        PreserveLayer {
            kinds: self.kinds.or(other.kinds),
            include_files: self.include_files.or(other.include_files),
            git_history: self.git_history.or(other.git_history),
            git_history_count: self.git_history_count.or(other.git_history_count),
            test_state: self.test_state.or(other.test_state),
            max_state_size: self.max_state_size.or(other.max_state_size),
        }
    }
}

/// What is preserved.
#[derive(Clone, Debug, PartialEq)]
pub struct Preserve {
    pub kinds: Vec<FactKind>,
    pub include_files: Vec<String>,
    /// How many commits to list; zero for no git history.
    pub commits: u32,
    pub test_state: bool,
    pub max_state_bytes: usize,
}

impl Preserve {
    pub const KINDS: [FactKind; 7] = [
        FactKind::Objective,
        FactKind::Done,
        FactKind::Next,
        FactKind::File,
        FactKind::Decision,
        FactKind::Blocker,
        FactKind::Note,
    ];
    pub const COMMITS: u32 = 5;
    pub const MAX_STATE_BYTES: usize = 50_000;
    /// Anything smaller cannot hold the mandatory parts.
    pub const MIN_STATE_BYTES: usize = 500;

    pub fn keeps(&self, kind: FactKind) -> bool {
        self.kinds.contains(&kind)
    }
}

impl Default for Preserve {
    fn default() -> Preserve {
        PreserveLayer::default().into()
    }
}

impl From<PreserveLayer> for Preserve {
    fn from(layer: PreserveLayer) -> Preserve {
        Preserve {
            kinds: layer.kinds.unwrap_or_else(|| Preserve::KINDS.to_vec()),
            include_files: layer.include_files.unwrap_or_default(),
            commits: match layer.git_history {
                Some(false) => 0,
                _ => layer.git_history_count.unwrap_or(Preserve::COMMITS),
            },
            test_state: layer.test_state.unwrap_or(true),
            max_state_bytes: layer.max_state_size.unwrap_or(Preserve::MAX_STATE_BYTES).max(Preserve::MIN_STATE_BYTES),
        }
    }
}
