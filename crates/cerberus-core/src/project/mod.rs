//! When two folders hold the same project: what a repository's configuration says about its origin, and which projects
//! are joined because of it.
//!
//! A project is known by the path of its git directory. That is cheap to find, but changes when the folder is moved, and
//! every clone has its own. What else is known of a repository is compared here. Pure: nothing here reads a file.

pub mod config;
pub mod join;
pub mod origin;
