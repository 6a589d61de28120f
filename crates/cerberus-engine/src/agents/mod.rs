//! The agents we live in: one file an agent that finds it, wires us in and takes us out again.

pub mod claude_code;
