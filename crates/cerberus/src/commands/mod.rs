//! The commands, one file each. The doc comment of a command is its help text.

/// Defines commands, each with the type of its arguments, which run it.
macro_rules! commands {
    ($visibility:vis enum $name:ident {
        $($(#[command($($option:tt)*)])? $(#[cfg($($feature:tt)*)])? $command:ident($arguments:ty $(, $value:expr)?),)*
    }) => {
        #[derive(clap::Subcommand)]
        $visibility enum $name {
            $($(#[command($($option)*)])? $(#[cfg($($feature)*)])? $command($arguments),)*
        }

        impl $name {
            $visibility fn run(self, context: &Context) -> Result<()> {
                match self {
                    $($(#[cfg($($feature)*)])? $name::$command(command) => command.run(context $(, $value)?),)*
                }
            }
        }
    };
}

mod agent_start;
mod archive;
pub mod brief;
pub mod check;
mod command_line;
mod completions;
mod deleting;
mod doctor;
mod forget;
#[cfg(feature = "loop")]
mod handoff;
mod import;
mod install;
pub mod log;
#[cfg(feature = "loop")]
mod loops;
mod man;
mod mcp;
pub mod memory;
pub mod noted;
mod pause;
mod permission;
mod project;
pub mod quote;
pub mod record;
mod report;
pub mod resume;
#[cfg(feature = "loop")]
mod resume_in;
mod run;
mod scan;
pub mod search;
mod session;
mod show;
mod standup;
pub mod stats;
mod status;
mod statusline;
mod summarize;
#[cfg(feature = "sync")]
mod sync;
#[cfg(not(feature = "sync"))]
#[path = "../no_sync.rs"]
mod sync;
mod tree;
mod try_out;
pub mod undo;
mod watch;
mod worktrees;

use std::io::IsTerminal;
use std::process::ExitCode;

use cerberus_record::clean::text::{name, printable};
use clap::error::{ContextKind, ContextValue};

use self::command_line::{CommonArgs, parsed};
use crate::context::Context;
use crate::failure::Result;
use crate::render;
use crate::tui;

pub fn run() -> ExitCode {
    if is_called_by_old_hook() {
        return ExitCode::SUCCESS;
    }
    if std::env::args_os().len() <= 1 && tui::is_possible() {
        return ended(false, Context::new(None, None, false).and_then(|context| tui::run(&context)));
    }
    let arguments = match parsed(std::env::args_os()) {
        Err(error) if error.use_stderr() => return usage_error(&error),
        Err(help_or_version) => help_or_version.exit(),
        Ok(arguments) => arguments,
    };
    let CommonArgs { now, cwd, json } = arguments.common;
    let run = || -> Result<()> {
        let context = Context::new(now, cwd, json)?;
        if arguments.command.needs_home() {
            context.require_safe_home()?;
        }
        permission::require(&context, arguments.command.permission())?;
        let may_change_memories = arguments.command.may_change_memories();
        let done = arguments.command.run(&context);
        if may_change_memories && check::wire::is_enforcing(&context) {
            check::follow_memories(&context)?;
        }
        done
    };
    ended(json, run())
}

fn ended(json: bool, result: Result<()>) -> ExitCode {
    match result {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => {
            render::failure(json, &format!("{:#}", failure.error), &failure.hint);
            ExitCode::FAILURE
        }
    }
}

/// Some agents ignore the arguments of a hook, so that an entry of an earlier version runs the bare program. Its exit
/// code must not block a prompt, and help on standard output would become part of it. Nobody reads help there anyway.
fn is_called_by_old_hook() -> bool {
    std::env::args_os().len() <= 1 && !std::io::stdin().is_terminal()
}

/// How it is used. What was typed is repeated, and may have been taken from anywhere: so it is read once more, harmless.
fn usage_error(error: &clap::Error) -> ExitCode {
    let typed: Vec<String> = std::env::args_os().map(|typed| name(&typed.to_string_lossy()).into_owned()).collect();
    let mut text = match parsed(typed.iter().cloned()) {
        Err(error) => suggesting(error, typed.get(1)).render().to_string(),
        Ok(_) => error.render().to_string(),
    };
    if typed.iter().any(|word| word == "--json") {
        let said = text.lines().next().unwrap_or_default().trim_start_matches("error: ").to_string();
        let rest: Vec<&str> = text.lines().skip(1).map(str::trim).filter(|line| !line.is_empty()).collect();
        render::failure(true, &said, &rest.join("; "));
    } else {
        text.truncate(text.trim_end().len());
        let said = text.strip_prefix("error: ").map(|said| format!("{}{said}", render::PREFIX));
        eprintln!("{}", printable(&said.unwrap_or(text)));
    }
    ExitCode::from(USAGE)
}

/// Replaces the suggestions of the parser, which go by letters alone and also name what is hidden.
fn suggesting(mut error: clap::Error, first: Option<&String>) -> clap::Error {
    let unknown = match error.get(ContextKind::InvalidSubcommand) {
        Some(ContextValue::String(unknown)) => unknown.clone(),
        _ => return error,
    };
    if first == Some(&unknown) {
        error.remove(ContextKind::SuggestedSubcommand);
        let meant = tree::meant(&unknown).into_iter().map(str::to_string).collect::<Vec<_>>();
        if !meant.is_empty() {
            error.insert(ContextKind::SuggestedSubcommand, ContextValue::Strings(meant));
        }
    }
    error
}

const USAGE: u8 = 2;
