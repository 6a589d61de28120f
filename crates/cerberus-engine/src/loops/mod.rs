//! Running a loop: one fresh context after another, guarded, with every step recorded before it is taken.
//!
//! The machine in core decides what to do; this folder does it.

mod attempt;
pub mod audience;
mod below;
pub mod checkpoint;
mod child;
mod commands;
pub mod dry_run;
pub(crate) mod forget;
pub mod guard;
mod handover;
pub mod interrupts;
pub mod ledger;
pub mod list;
pub mod logs;
mod notify;
mod output;
mod preserve;
mod progress;
pub mod prune;
pub mod runner;
mod sessions;
mod spent;
pub mod start;
mod tail;
pub mod windows;
mod worktree;
pub mod worktrees;
