//! The project a session works in: its identity, its git history, its files and the guides that agents read there.
//!
//! Read from the disk and from git alone. It never asks the view, never writes into a project, and starts no program but
//! git, in `git/command.rs`.

pub mod git;
pub mod guides;
pub mod identity;
pub mod privacy;
pub(crate) mod tracked;
