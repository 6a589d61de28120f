//! The loop's decisions: what an agent's output says, how full its context is, and what a fresh context is told.
//!
//! Nothing here starts a program, reads a file or asks for the time: bytes, facts and moments are arguments.

pub mod completion;
pub mod failure;
pub mod handoff;
pub mod history;
pub mod invoke;
pub mod machine;
pub mod meter;
pub mod preserve;
pub mod redline;
pub mod settings;
pub mod stop;
pub mod totals;
