//! The loop at work: one fresh context after another, guarded, written down ahead of every step.
//!
//! What is to be done is decided by the machine in core; here it is done.

pub mod attempt;
pub mod audience;
pub mod below;
pub mod checkpoint;
pub mod child;
pub mod commands;
pub mod forget;
pub mod guard;
pub mod handover;
pub mod interrupts;
pub mod ledger;
pub mod output;
pub mod preserve;
pub mod progress;
pub mod runner;
pub mod sessions;
pub mod start;
mod tail;
pub mod windows;
pub mod worktree;
