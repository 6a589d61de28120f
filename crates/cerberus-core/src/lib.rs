//! Everything that decides, and nothing that acts: bytes become events, events become facts, facts become a brief.
//!
//! This crate never opens a file, reads a clock or the environment, speaks SQL or waits. Time, paths and text are
//! arguments, so every rule here is tested as data.

pub mod brief;
pub mod echo;
pub mod event;
pub mod extract;
pub mod fact;
pub mod forget;
pub mod glob;
pub mod id;
pub mod injected;
pub mod loops;
pub mod memory;
pub mod path;
pub mod private;
pub mod secret;
pub mod seed;
pub mod session;
pub mod settings;
pub mod span;
pub mod summary;
pub mod text;
pub mod time;
pub mod tokens;
pub mod wire;
