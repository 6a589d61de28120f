//! Memories: learned from corrections, and changed by the user's commands.

pub mod distill;
pub mod keep;
