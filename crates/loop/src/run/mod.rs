//! Running a loop: one fresh context after another, guarded, with every step recorded before it is taken.
//!
//! The machine in `machine` decides what to do; this folder does it.

pub mod config;
pub mod erase;
use cerberus_store::project::identity::Located;

use crate::handoff::check::DifferentFile;

mod attempt;
pub mod audience;
mod check_files;
mod child;
mod commands;
mod descendants;
mod done;
pub mod dry_run;
pub mod forget;
pub mod guard;
mod handover;
pub mod interrupts;
pub mod job;
pub mod ledger;
pub mod list;
pub mod logs;
mod notify;
mod output;
mod preflight;
mod preserve;
mod progress;
pub mod prune;
pub mod runner;
pub mod session_handoff;
mod sessions;
mod spent;
pub mod start;
mod tail;
pub mod task;
mod worktree;
pub mod worktrees;

/// The files that differ from a commit, newest information last. For people to look at.
pub fn changed_since(located: &Located, base: Option<&str>) -> Vec<DifferentFile> {
    worktree::inspect(located, base, &[]).changed
}
