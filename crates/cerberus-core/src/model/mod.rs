//! The words the rest of the program is written in: events, facts, sessions, memories, ids and times.
//!
//! Types and the rules that belong to a single value. Nothing here parses an agent's bytes or decides what is told.

pub mod echo;
pub mod event;
pub mod fact;
pub mod id;
pub mod kind;
pub mod memory;
pub mod order;
pub mod path;
pub mod repository;
pub mod session;
pub mod span;
pub mod time;
