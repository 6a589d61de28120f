//! Everything that decides, and nothing that acts: bytes become events, events become facts, facts become a brief.
//!
//! This crate never opens a file, reads a clock or the environment, speaks SQL or waits. Time, paths and text are
//! arguments, so every rule here is tested as data.

pub mod agents;
pub mod brief;
pub mod clean;
pub mod extract;
pub mod forget;
pub mod language;
pub mod learn;
pub mod loops;
pub mod model;
pub mod private;
pub mod project;
pub mod search;
pub mod seed;
pub mod settings;
pub mod summary;
