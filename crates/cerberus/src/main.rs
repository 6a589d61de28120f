//! The binary: arguments, output, exit codes. What it does is decided and done in the crates below it.
//!
//! `hook` is dispatched before the argument parser is built, because it runs at every step of an agent and must be
//! fast.

mod capabilities;
mod commands;
mod context;
mod failure;
mod hook;
mod mcp;
mod passages;
mod platform;
mod render;
mod report;
mod tui;
mod usage;

use std::process::ExitCode;

fn main() -> ExitCode {
    platform::survive_size_limit();
    let mut arguments = std::env::args_os().skip(1);
    if arguments.next().is_some_and(|first| first == "hook") {
        match arguments.next() {
            Some(agent) if !agent.to_string_lossy().starts_with('-') => return hook::run(&agent.to_string_lossy()),
            _ => {}
        }
    }
    commands::run()
}
