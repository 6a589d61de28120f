//! The binary: talk, arguments, exit codes. Decisions are in core, files and the database in the engine.
//!
//! `hook` is taken before the argument parser is built: it runs at every step of an agent, and must cost next to
//! nothing.

mod commands;
mod context;
mod failure;
mod hook;
mod mcp;
mod render;

use std::process::ExitCode;

fn main() -> ExitCode {
    let mut arguments = std::env::args_os().skip(1);
    if arguments.next().is_some_and(|first| first == "hook") {
        match arguments.next() {
            Some(agent) if !agent.to_string_lossy().starts_with('-') => return hook::run(&agent.to_string_lossy()),
            _ => {}
        }
    }
    commands::run()
}
