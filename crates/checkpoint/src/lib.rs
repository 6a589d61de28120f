//! Checkpoints: the whole worktree, including untracked files, as a tree in the repository's own object store that only a
//! reference of ours holds. Loops make one per iteration (`runs.rs`), other sessions one per turn, if the user wants that
//! (`turns.rs`).
//!
//! Git stores the files and nothing else: the user's index, branch and stash are not touched, and are not asked what has
//! changed (`files.rs`). Ignored files, private files, large files and the contents of submodules are not included.
//! Restoring changes files only (`restore.rs`).

pub mod before;
mod checkpoints;
mod destructive;
pub mod detached;
mod diff;
mod entries;
pub mod erase;
mod error;
mod files;
mod folder;
mod reference;
mod restore;
pub mod room;
mod runs;
mod saved;
mod seen;
mod snapshot;
pub mod switch;
pub mod turns;
mod worktree_id;

pub use checkpoints::Checkpoints;
pub use diff::ChangedFile;
pub use error::CheckpointError;
pub use reference::Reference;
pub use restore::RestoredPaths;
pub use runs::{Checkpoint, NewCheckpoint};
pub use saved::{SavedState, TurnMoment, TurnSession};
pub use snapshot::Snapshot;
pub use worktree_id::WorktreeId;

#[cfg(test)]
mod tests;
