//! What is kept: the journal, its SQLite view, sessions, memories, settings; and what hooks do with them.
//!
//! No argument parser, no terminal, no environment, no async. The home and the time are passed in. Only `summary` uses
//! the network. Checks, loops and sync are not known here: each contributes through [`capability::Capability`].

pub mod authorities;
pub mod brief;
pub mod browse;
pub mod capability;
pub mod config;
pub mod erase;
pub mod hook;
pub mod import;
pub mod journal;
pub mod memory;
pub mod moments;
pub mod project;
pub mod same_project;
pub mod sessions;
pub mod summary;
pub mod view;
