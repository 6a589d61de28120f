//! The types the rest of the program is built on: events, facts, sessions, memories, ids and times.
//!
//! Types, and rules that concern a single value. Nothing here parses an agent's payload or decides what a brief
//! contains.

pub mod check;
pub mod echo;
pub mod event;
pub mod fact;
pub mod forgotten;
pub mod id;
pub mod kind;
pub mod lesson;
pub mod map;
pub mod memory;
pub mod metadata;
pub mod open;
pub mod order;
pub mod packed;
pub mod path;
pub mod quotation;
pub mod repository;
pub mod seed_codes;
pub mod session;
pub mod source;
pub mod span;
pub mod summary;
pub mod time;
