//! What a session leaves, and what the next one is told: facts are extracted from records, the user's words are found
//! and proven, and a brief is chosen from all of it within its budget.
//!
//! This crate never opens a file, reads a clock or the environment, runs SQL or waits. Time, paths and text are
//! arguments, so every rule is tested as data.

// Other lints than elsewhere: see clippy.toml. Tests may read files.
#![cfg_attr(
    not(test),
    deny(clippy::disallowed_methods, clippy::disallowed_types, clippy::print_stdout, clippy::print_stderr)
)]
#![cfg_attr(test, allow(clippy::disallowed_methods, clippy::disallowed_types))]

pub mod brief;
pub mod extract;
pub mod forget;
pub mod learn;
pub mod moments;
pub mod said;
pub mod search;
pub mod summary;
