//! When several folders hold the same project: what identifies a repository is recorded, and queries cover all folders.

pub mod joined;
pub mod repository;
pub mod worktrees;
