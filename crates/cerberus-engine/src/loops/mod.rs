//! The loop at work: one fresh context after another, guarded, written down ahead of every step.
//!
//! What is to be done is decided by the machine in core; here it is done.

mod attempt;
pub mod audience;
mod below;
pub mod checkpoint;
mod child;
mod commands;
pub(crate) mod forget;
pub mod guard;
mod handover;
pub mod interrupts;
pub mod ledger;
mod output;
mod preserve;
mod progress;
pub mod runner;
mod sessions;
pub mod start;
mod tail;
mod windows;
mod worktree;
