//! The commands, one file each. The doc comment of a command is its help text.

pub mod brief;
mod completions;
mod doctor;
mod forget;
mod handoff;
mod import;
mod install;
mod loops;
mod man;
mod mcp;
pub mod memory;
mod pause;
mod project;
pub mod record;
mod run;
mod scan;
mod session;
mod stats;
mod status;
mod statusline;
mod summarize;
mod try_out;
mod watch;

use std::io::IsTerminal;
use std::path::PathBuf;
use std::process::ExitCode;

use cerberus_core::agents::names;
use cerberus_core::clean::text::{name, printable};
use cerberus_core::model::time::Timestamp;
use clap::{Parser, Subcommand};

use crate::context::Context;
use crate::failure::Result;
use crate::render;

/// Your coding agent continues where it left off: after an exit, a crash, a compaction or a full context window.
///
/// Cerberus runs in the agent's hooks, records what happens as it happens, and tells the next session what it needs to
/// know in about a thousand tokens. It has no daemon, and it uses no network and no model unless you configure a
/// provider for summaries.
#[derive(Parser)]
#[command(name = "cerberus", version, max_term_width = 100, arg_required_else_help = true)]
struct Arguments {
    #[command(subcommand)]
    command: Command,

    /// Use this time instead of the current one (RFC 3339); anything recorded later is ignored
    #[arg(long, global = true, value_name = "TIME", value_parser = Timestamp::parse)]
    now: Option<Timestamp>,

    /// The project's folder, or any folder inside it [default: the current folder]
    #[arg(long, global = true, value_name = "DIR")]
    cwd: Option<PathBuf>,

    /// Print the result as JSON
    #[arg(long, global = true)]
    json: bool,
}

#[derive(Subcommand)]
enum Command {
    Try(try_out::Try),
    Install(install::Install),
    Uninstall(install::Uninstall),
    Doctor(doctor::Doctor),
    Hook(Hook),
    Brief(brief::BriefCommand),
    Status(status::Status),
    Stats(stats::Stats),
    #[command(name = "statusline")]
    StatusLine(statusline::StatusLineCommand),
    Import(import::Import),
    Record(record::RecordCommand),
    Handoff(handoff::HandoffCommand),
    Run(run::Run),
    Loop(loops::Loop),
    Watch(watch::Watch),
    Session(session::Session),
    Forget(forget::Forget),
    Memory(memory::Memory),
    Project(project::Project),
    Pause(pause::PauseCommand),
    Unpause(pause::Unpause),
    Scan(scan::Scan),
    Mcp(mcp::Mcp),
    Summarize(summarize::Summarize),
    Completions(completions::Completions),
    Man(man::ManPage),
}

impl Command {
    /// Whether the command uses what is in the home. `doctor` and the status line say themselves that it is unsafe.
    fn needs_home(&self) -> bool {
        !matches!(
            self,
            Command::Try(_)
                | Command::Doctor(_)
                | Command::StatusLine(_)
                | Command::Hook(_)
                | Command::Completions(_)
                | Command::Man(_)
        )
    }
}

/// Process one hook payload from standard input (called by agents, not by people)
///
/// Always exits with 0. Prints nothing, or exactly the reply that the agent expects. Errors are shown by
/// `cerberus doctor`.
#[derive(clap::Args)]
struct Hook {
    #[arg(value_name = "AGENT", help = format!("The calling agent: {}", names(|_| true)))]
    _agent: String,
}

pub fn run() -> ExitCode {
    if is_called_by_old_hook() {
        return ExitCode::SUCCESS;
    }
    let arguments = match Arguments::try_parse() {
        Err(error) if error.use_stderr() => return usage_error(&error),
        Err(help_or_version) => help_or_version.exit(),
        Ok(arguments) => arguments,
    };
    let run = || -> Result<()> {
        let context = Context::new(arguments.now, arguments.cwd, arguments.json)?;
        if arguments.command.needs_home() {
            context.require_safe_home()?;
        }
        match arguments.command {
            Command::Try(command) => command.run(),
            Command::Install(command) => command.run(&context),
            Command::Uninstall(command) => command.run(&context),
            Command::Doctor(command) => command.run(&context),
            // `main` handles every call that names an agent; clap has rejected the others.
            Command::Hook(_) => Ok(()),
            Command::Brief(command) => command.run(&context),
            Command::Status(command) => command.run(&context),
            Command::Stats(command) => command.run(&context),
            Command::StatusLine(command) => command.run(&context),
            Command::Import(command) => command.run(&context),
            Command::Record(command) => command.run(&context),
            Command::Handoff(command) => command.run(&context),
            Command::Run(command) => command.run(&context),
            Command::Loop(command) => command.run(&context),
            Command::Watch(command) => command.run(&context),
            Command::Session(command) => command.run(&context),
            Command::Forget(command) => command.run(&context),
            Command::Memory(command) => command.run(&context),
            Command::Project(command) => command.run(&context),
            Command::Pause(command) => command.run(&context),
            Command::Unpause(command) => command.run(&context),
            Command::Scan(command) => command.run(&context),
            Command::Mcp(command) => command.run(&context),
            Command::Summarize(command) => command.run(&context),
            Command::Completions(command) => command.run(),
            Command::Man(command) => command.run(),
        }
    };
    match run() {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => {
            render::talk(&format!("cerberus: {:#}", failure.error));
            render::talk(&format!("          {}", failure.hint));
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
    let typed = std::env::args_os().map(|typed| name(&typed.to_string_lossy()).into_owned());
    let text = match Arguments::try_parse_from(typed) {
        Err(error) => error.render().to_string(),
        Ok(_) => error.render().to_string(),
    };
    eprint!("{}", printable(&text));
    ExitCode::from(USAGE)
}

const USAGE: u8 = 2;
