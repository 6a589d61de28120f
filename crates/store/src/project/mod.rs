//! The project a session works in: its identity, its git history, its files and the guides that agents read there.
//!
//! Reads only the disk and git. Never reads the view, never writes into a project, and starts no program except git, in
//! `git/command.rs`.

pub mod git;
pub mod guides;
pub mod identity;
pub mod notes;
pub mod opted_out;
pub mod past_pauses;
pub mod privacy;
pub mod tracked;
