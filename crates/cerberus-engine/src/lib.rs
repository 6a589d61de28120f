//! Synchronous I/O around `cerberus-core`: the journal, its SQLite view, git, settings files.
//!
//! No argument parser, no terminal, no environment, no async. Where the home is and what time it is are arguments. The
//! network is spoken to by `summary` alone.

pub mod agents;
pub mod answer;
pub mod capture;
pub mod clock;
pub mod config;
pub mod distill;
pub mod failures;
pub mod fault;
pub mod fold;
pub mod forget;
pub mod git;
pub mod guides;
pub mod home;
pub mod identity;
pub mod import;
pub mod journal;
pub mod legacy;
pub mod lifecycle;
pub mod loops;
pub mod memories;
pub mod name;
mod output;
pub mod outside;
pub mod privacy;
pub mod process;
pub mod recall;
pub mod recover;
pub mod remember;
pub mod replace;
pub mod retention;
pub mod scan;
pub mod store;
pub mod summary;
pub mod survey;
pub mod tracked;
