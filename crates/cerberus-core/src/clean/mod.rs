//! Text from outside made safe to store and show: bounded, secrets cut, private passages removed.
//!
//! Knows nothing of events or agents, so every other folder can depend on it.

pub mod glob;
pub mod secret;
pub mod tag;
pub mod text;
