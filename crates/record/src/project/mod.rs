//! Decides when two folders hold the same project.
//!
//! A project's id is derived from the path of its git directory. That is cheap to find, but it changes when the folder is
//! moved, and every clone has its own. This module compares what else is known about repositories: their origin, their
//! first commit and the name they give themselves. It is pure and reads no files.

pub mod config;
pub mod join;
pub mod origin;
pub mod worktrees;
