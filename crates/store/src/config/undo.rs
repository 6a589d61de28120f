//! `[undo]`: how long the states of files are kept for `cerberus undo`, and how many; and what holds for the checkpoints of
//! loops too: which files are too large for them, and how much room all of them may take.

use std::time::Duration;

use serde::Deserialize;

use super::{Age, ByteSize};

#[derive(Clone, Copy, Debug, PartialEq, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct UndoConfig {
    pub keep: Age,
    /// How many states of one worktree.
    pub turns: usize,
    /// A larger file is named, not kept.
    pub max_file_size: ByteSize,
    /// How much room the checkpoints of a repository may take, those of loops included.
    pub max_room: ByteSize,
    /// How long a command that may destroy files waits for them to be kept.
    wait_secs: f64,
}

/// Longer than any agent's own limit for a hook.
const WAIT_SECS_MAX: f64 = 30.0;

impl Default for UndoConfig {
    fn default() -> UndoConfig {
        UndoConfig {
            keep: Age(Duration::from_secs(14 * 24 * 60 * 60)),
            turns: 200,
            max_file_size: ByteSize { bytes: 50 << 20 },
            max_room: ByteSize { bytes: 1 << 30 },
            wait_secs: 1.0,
        }
    }
}

impl UndoConfig {
    pub fn wait(&self) -> Duration {
        Duration::try_from_secs_f64(self.wait_secs.clamp(0.0, WAIT_SECS_MAX)).unwrap_or_default()
    }
}
