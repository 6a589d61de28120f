//! Synchronous I/O around `cerberus-core`: the journal, its SQLite view, git, settings files.
//!
//! No argument parser, no terminal, no environment, no async. The home and the time are passed in. Only `summary` and
//! `sync` use the network.

pub mod agents;
pub mod brief;
pub mod browse;
pub mod checks;
pub mod config;
pub mod erase;
pub mod hook;
pub mod import;
pub mod journal;
pub mod loops;
pub mod memory;
pub mod os;
pub mod project;
pub mod report;
pub mod same_project;
pub mod sessions;
pub mod store;
pub mod summary;
pub mod sync;
