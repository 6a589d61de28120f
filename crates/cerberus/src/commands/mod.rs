//! The commands, one file each. The doc comment of a command is its help text.

/// Defines commands, each with the type of its arguments, which run it.
macro_rules! commands {
    ($visibility:vis enum $name:ident {
        $($(#[command($($option:tt)*)])? $(#[cfg($($feature:tt)*)])? $command:ident($arguments:ty),)*
    }) => {
        #[derive(clap::Subcommand)]
        $visibility enum $name {
            $($(#[command($($option)*)])? $(#[cfg($($feature)*)])? $command($arguments),)*
        }

        impl $name {
            $visibility fn run(self, context: &Context) -> Result<()> {
                match self {
                    $($(#[cfg($($feature)*)])? $name::$command(command) => command.run(context),)*
                }
            }
        }
    };
}

mod archive;
pub mod brief;
pub mod check;
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

use std::ffi::OsString;
use std::io::IsTerminal;
use std::path::PathBuf;
use std::process::ExitCode;

use cerberus_agents::names;
use cerberus_record::clean::text::{name, printable};
use cerberus_record::time::Timestamp;
use clap::builder::PossibleValuesParser;
use clap::error::{ContextKind, ContextValue};
use clap::{Args, CommandFactory, FromArgMatches, Parser};

use crate::context::Context;
use crate::failure::Result;
use crate::render;
use crate::tui;

/// Your coding agent continues where it left off: after an exit, a crash, a compaction or a full context window.
///
/// Cerberus runs in the agent's hooks, records what happens as it happens, and tells the next session what it needs to
/// know in about 850 tokens. It has no daemon, and it uses no network and no model unless you configure a provider for
/// summaries or set up sync.
///
/// Without a command, `cerberus` opens a screen to look around, if it runs in a terminal.
#[derive(Parser)]
#[command(name = "cerberus", version, max_term_width = 100, arg_required_else_help = true)]
struct CommandLine {
    #[command(subcommand)]
    command: Command,
    #[command(flatten)]
    common: CommonArgs,
}

/// The arguments that every command has.
#[derive(clap::Args)]
struct CommonArgs {
    /// Use this time instead of the current one (RFC 3339); anything recorded later is ignored
    #[arg(long, global = true, value_name = "TIME", value_parser = Timestamp::parse, hide = true)]
    now: Option<Timestamp>,

    /// The project's folder, or any folder inside it [default: the current folder]
    #[arg(long, global = true, value_name = "DIR", hide = true)]
    cwd: Option<PathBuf>,

    /// Print the result as JSON
    #[arg(long, global = true)]
    json: bool,
}

commands! {
    enum Command {
        Status(status::StatusArgs),
        Log(log::LogArgs),
        Show(show::ShowArgs),
        Search(search::SearchArgs),
        Resume(resume::ResumeArgs),
        Stats(stats::StatsArgs),
        Report(report::ReportArgs),
        Brief(brief::BriefArgs),
        Record(record::RecordArgs),
        Quote(quote::QuoteArgs),
        Learn(memory::learn::MemoryLearnArgs),
        Review(memory::review::MemoryReviewArgs),
        Check(check::CheckArgs),
        Undo(undo::UndoArgs),
        Forget(forget::ForgetArgs),
        Install(install::InstallArgs),
        Import(import::ImportArgs),
        Doctor(doctor::DoctorArgs),
        Try(try_out::TryArgs),
        #[cfg(feature = "loop")]
        Loop(loops::LoopArgs),
        Run(run::RunArgs),
        #[cfg(feature = "loop")]
        Handoff(handoff::HandoffArgs),
        Memory(memory::MemoryArgs),
        Session(session::SessionArgs),
        Project(project::ProjectArgs),
        Summarize(summarize::SummarizeArgs),
        #[cfg(feature = "sync")]
        Sync(sync::SyncArgs),
        #[cfg(feature = "sync")]
        Share(sync::ShareArgs),
        #[command(hide = true)]
        #[cfg(feature = "sync")]
        Unshare(sync::UnshareArgs),
        Pause(pause::PauseArgs),
        Unpause(pause::UnpauseArgs),
        Uninstall(install::UninstallArgs),
        #[command(hide = true)]
        Hook(HookArgs),
        #[command(hide = true)]
        Mcp(mcp::McpArgs),
        #[command(name = "statusline", hide = true)]
        StatusLine(statusline::StatusLineArgs),
        #[command(hide = true)]
        Watch(watch::WatchArgs),
        #[command(hide = true)]
        Archive(archive::ArchiveArgs),
        #[command(hide = true)]
        Scan(scan::ScanArgs),
        #[command(hide = true)]
        Completions(completions::CompletionsArgs),
        #[command(hide = true)]
        Man(man::ManPageArgs),
    }
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

    /// Whether a rule may no longer bind after it, or in other places.
    fn may_change_memories(&self) -> bool {
        use Command::{Forget, Learn, Memory, Project, Review, Scan};
        match self {
            Memory(_) | Review(_) | Learn(_) | Forget(_) | Project(_) | Scan(_) => true,
            #[cfg(feature = "sync")]
            Command::Sync(_) | Command::Share(_) | Command::Unshare(_) => true,
            _ => false,
        }
    }
}

/// Process one hook payload from standard input (called by agents, not by people)
///
/// Always exits with 0. Prints nothing, or exactly the reply that the agent expects. Errors are shown by
/// `cerberus doctor`.
#[derive(clap::Args)]
struct HookArgs {
    #[arg(value_name = "AGENT", help = format!("The calling agent: {}", names(|_| true)))]
    _agent: String,
}

impl HookArgs {
    /// `main` handles every call that names an agent; clap has rejected the others.
    fn run(self, _: &Context) -> Result<()> {
        Ok(())
    }
}

/// The names of all agents, for an argument.
fn agent_names() -> PossibleValuesParser {
    PossibleValuesParser::new(cerberus_agents::ALL.iter().map(|profile| profile.agent.name()).chain(["manual", "seed"]))
}

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

/// The program as clap knows it.
fn program() -> clap::Command {
    tree::grouped(CommandLine::command())
}

fn parsed(typed: impl Iterator<Item = impl Into<OsString>>) -> std::result::Result<CommandLine, clap::Error> {
    let typed: Vec<OsString> = typed.map(Into::into).collect();
    if let Some(arguments) = typed.get(1).filter(|command| *command == BRIEF).and_then(|_| as_brief(&typed)) {
        return Ok(arguments);
    }
    let matches = program().try_get_matches_from(typed)?;
    CommandLine::from_arg_matches(&matches)
}

const BRIEF: &str = "brief";

/// Describing all commands to the parser takes a tenth of the time of a brief, so `brief` is described alone. For help and
/// mistakes, all of them are.
fn as_brief(typed: &[OsString]) -> Option<CommandLine> {
    let brief = brief::BriefArgs::augment_args(clap::Command::new(BRIEF));
    let program = CommonArgs::augment_args(clap::Command::new("cerberus")).subcommand(brief);
    let matches = program.try_get_matches_from(typed).ok()?;
    let command = brief::BriefArgs::from_arg_matches(matches.subcommand()?.1).ok()?;
    Some(CommandLine { command: Command::Brief(command), common: CommonArgs::from_arg_matches(&matches).ok()? })
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
