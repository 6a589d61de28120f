//! The loop at work: one fresh context after another, guarded, written down ahead of every step.
//!
//! What is to be done is decided by the machine in core; here it is done.

pub mod below;
pub mod checkpoint;
pub mod child;
pub mod guard;
pub mod ledger;
pub mod preserve;
pub mod rollout;
pub mod windows;
pub mod worktree;
