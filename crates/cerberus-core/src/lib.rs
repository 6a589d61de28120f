//! Makes all decisions and performs no I/O: bytes become events, events become facts, facts become a brief.
//!
//! This crate never opens a file, reads a clock or the environment, runs SQL or waits. Time, paths and text are
//! arguments, so every rule is tested as data.

pub mod agents;
pub mod brief;
pub mod checks;
pub mod clean;
pub mod extract;
pub mod forget;
pub mod language;
pub mod learn;
pub mod loops;
pub mod model;
pub mod private;
pub mod project;
pub mod report;
pub mod said;
pub mod search;
pub mod seed;
pub mod settings;
pub mod share;
pub mod shell;
pub mod summary;
