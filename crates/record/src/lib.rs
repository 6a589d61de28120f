//! The types the rest of the program is built on: events, facts, sessions, memories, ids and times.
//!
//! Types, rules that concern a single value, and how text is cleaned before it is kept. Nothing here parses an agent's
//! payload or decides what a brief contains, and nothing does I/O.

// Other lints than elsewhere: see clippy.toml. Tests may read files.
#![cfg_attr(
    not(test),
    deny(clippy::disallowed_methods, clippy::disallowed_types, clippy::print_stdout, clippy::print_stderr)
)]
#![cfg_attr(test, allow(clippy::disallowed_methods, clippy::disallowed_types))]

#[macro_use]
pub mod words;

pub mod check;
pub mod clean;
pub mod echo;
pub mod event;
pub mod fact;
pub mod failure;
pub mod forgotten;
pub mod git_report;
pub mod id;
pub mod kind;
pub mod language;
pub mod lesson;
pub mod map;
pub mod memory;
pub mod metadata;
pub mod names;
pub mod open;
pub mod order;
pub mod ours;
pub mod path;
pub mod private;
pub mod project;
pub mod quotation;
pub mod reading;
pub mod repository;
pub mod runs;
pub mod seed;
pub mod seed_codes;
pub mod session;
pub mod shell;
pub mod source;
pub mod span;
pub mod steps;
pub mod summary;
pub mod time;
