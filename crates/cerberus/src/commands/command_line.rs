//! The command line: all commands, as the parser knows them, and the arguments that they share.

use std::ffi::OsString;
use std::path::PathBuf;

use cerberus_agents::names;
use cerberus_record::time::Timestamp;
use clap::{Args, CommandFactory, FromArgMatches, Parser};

#[cfg(feature = "sync")]
use super::sync;
use super::{
    archive, brief, check, completions, doctor, forget, import, install, log, man, mcp, memory, pause, project, quote,
    record, report, resume, run, scan, search, session, show, stats, status, statusline, summarize, tree, try_out,
    undo, watch,
};
#[cfg(feature = "loop")]
use super::{handoff, loops};
use crate::context::Context;
use crate::failure::Result;

/// Your coding agent continues where it left off: after an exit, a crash, a compaction or a full context window.
///
/// Cerberus runs in the agent's hooks, records what happens as it happens, and tells the next session what it needs to
/// know in about 850 tokens. It has no daemon, and it uses no network and no model unless you configure a provider for
/// summaries or set up sync.
///
/// Without a command, `cerberus` opens a screen to look around, if it runs in a terminal.
#[derive(Parser)]
#[command(name = "cerberus", version, max_term_width = 100, arg_required_else_help = true)]
pub(super) struct CommandLine {
    #[command(subcommand)]
    pub command: Command,
    #[command(flatten)]
    pub common: CommonArgs,
}

/// The arguments that every command has.
#[derive(clap::Args)]
pub(super) struct CommonArgs {
    /// Use this time instead of the current one (RFC 3339); anything recorded later is ignored
    #[arg(long, global = true, value_name = "TIME", value_parser = Timestamp::parse, hide = true)]
    pub now: Option<Timestamp>,

    /// The project's folder, or any folder inside it [default: the current folder]
    #[arg(long, global = true, value_name = "DIR", hide = true)]
    pub cwd: Option<PathBuf>,

    /// Print the result as JSON
    #[arg(long, global = true)]
    pub json: bool,
}

commands! {
    pub(super) enum Command {
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
        Completions(completions::CompletionsArgs, program()),
        #[command(hide = true)]
        Man(man::ManPageArgs, program()),
    }
}

impl Command {
    /// Whether the command uses what is in the home. `doctor` and the status line say themselves that it is unsafe.
    pub fn needs_home(&self) -> bool {
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
    pub fn may_change_memories(&self) -> bool {
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
pub(super) struct HookArgs {
    #[arg(value_name = "AGENT", help = format!("The calling agent: {}", names(|_| true)))]
    _agent: String,
}

impl HookArgs {
    /// `main` handles every call that names an agent; clap has rejected the others.
    fn run(self, _: &Context) -> Result<()> {
        Ok(())
    }
}

/// The program as clap knows it.
pub(super) fn program() -> clap::Command {
    tree::grouped(CommandLine::command())
}

pub(super) fn parsed(
    typed: impl Iterator<Item = impl Into<OsString>>,
) -> std::result::Result<CommandLine, clap::Error> {
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
