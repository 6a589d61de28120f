//! Who may run a command. Every command and subcommand is in one table without a rest, so that a new one does not compile
//! before somebody has decided about it; and so is every option that makes a command another one.
//!
//! An agent may look at everything, record facts, propose memories, and take back what is its own. What it may not do
//! removes data, changes what others are told or allowed, sends data to a new place, or starts agents. Who calls is
//! decided by `sessions/caller.rs`, never by a terminal, so that scripts can run everything.

use cerberus_agents::settings::shell_word;
use cerberus_record::clean::text::line;
use cerberus_store::sessions::caller::{self, CalledBy};

use super::archive::ArchiveArgs;
use super::check::CheckCommand;
use super::command_line::Command;
use super::forget::{self, ForgetArgs};
use super::import::ImportArgs;
use super::install::{InstallArgs, SelectionArgs, UninstallArgs};
#[cfg(feature = "loop")]
use super::loops::LoopCommand;
use super::memory::MemoryCommand;
use super::project::ProjectCommand;
#[cfg(feature = "sync")]
use super::record::RecordArgs;
use super::resume::ResumeArgs;
use super::scan::ScanArgs;
use super::session::SessionCommand;
use super::summarize::SummarizeArgs;
#[cfg(feature = "sync")]
use super::sync::{ShareArgs, SyncArgs, SyncCommand, UnshareArgs};
use super::undo::{UndoArgs, UndoCommand};
use crate::context::{Context, only_the_user};
use crate::failure::Result;

/// Who may run a command.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Permission<'a> {
    Anyone,
    /// An agent may do this with the session that it runs in and with no other.
    OwnSession(&'a [String]),
    NotAnAgent(UserOnly),
}

/// What only the user can do, and why. `what` completes "only the user can …".
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct UserOnly {
    pub what: &'static str,
    pub why: &'static str,
}

use Permission::{Anyone, NotAnAgent, OwnSession};

const fn only(what: &'static str, why: &'static str) -> Permission<'static> {
    NotAnAgent(UserOnly { what, why })
}

/// For a command that changes nothing if it is only asked what it would do.
fn unless<'a>(is_harmless: bool, permission: Permission<'a>) -> Permission<'a> {
    if is_harmless { Anyone } else { permission }
}

const OWN: UserOnly = UserOnly { what: "forget this session", why: "an agent may forget only the one that it runs in" };
const FORGET: UserOnly = UserOnly { what: "forget this", why: "it is deleted for good, on all devices" };

impl Command {
    pub(super) fn permission(&self) -> Permission<'_> {
        match self {
            // They only look. What they bring up to date on the way, hooks would bring up to date too.
            Command::Status(_) | Command::Log(_) | Command::Show(_) | Command::Search(_) | Command::Stats(_) => Anyone,
            Command::Report(_) | Command::Brief(_) | Command::Watch(_) | Command::StatusLine(_) => Anyone,
            // `--rebuild` makes the view again, from the journal.
            Command::Doctor(_) | Command::Completions(_) | Command::Man(_) | Command::Try(_) => Anyone,
            // What an agent records and learns is marked as its own; a memory of it is a proposal.
            #[cfg(feature = "sync")]
            Command::Record(RecordArgs { team: true, .. }) => only("record something for a team", TEAM),
            Command::Record(_) | Command::Quote(_) | Command::Learn(_) => Anyone,
            #[cfg(feature = "loop")]
            Command::Handoff(_) => Anyone,
            // What agents themselves call. The tools of `mcp` do nothing that this table refuses.
            Command::Hook(_) | Command::Mcp(_) => Anyone,
            // They start what an agent can start itself, and give it nothing more.
            Command::Run(_) | Command::Resume(ResumeArgs { .. }) => Anyone,
            // Agents are asked to install things. It adds our own entries and keeps the others.
            Command::Install(InstallArgs { selection, repair_json: true, statusline: _, no_mcp: _, mcp: _ }) => {
                unless(selection.dry_run, only("repair a settings file", "it changes more than Cerberus's own entries"))
            }
            // Without the server, hooks still record and check everything.
            Command::Install(InstallArgs { selection: _, repair_json: false, statusline: _, no_mcp: _, mcp: _ }) => {
                Anyone
            }
            Command::Uninstall(UninstallArgs { selection: SelectionArgs { dry_run, agents: _, scope: _ } }) => {
                unless(*dry_run, only("uninstall Cerberus", "nothing would be recorded or checked any more"))
            }
            Command::Import(ImportArgs { forgotten: false, agent: _, project: _, paths: _ }) => Anyone,
            Command::Import(ImportArgs { forgotten: true, agent: _, project: _, paths: _ }) => {
                only("bring back what was forgotten", "the user had it deleted")
            }
            Command::Archive(ArchiveArgs { delete: true, detached: _ }) => {
                only("delete the archive", "conversations that agents have deleted would be gone")
            }
            // Hooks start it below the agent; it keeps what hooks would keep.
            Command::Archive(ArchiveArgs { delete: false, detached: _ }) => Anyone,
            Command::Undo(command) => undo(command),
            Command::Forget(command) => forget(command),
            Command::Review(_) => only("review proposals", DECIDES),
            Command::Summarize(SummarizeArgs { detached: false, id: _ }) => {
                only("have a session summarized", "its facts are sent to a provider")
            }
            // Hooks start it below the agent, once for the same facts.
            Command::Summarize(SummarizeArgs { detached: true, id: _ }) => Anyone,
            Command::Scan(ScanArgs { redact }) => {
                unless(!*redact, only("redact what is stored", "it is changed for good, in every file"))
            }
            Command::Pause(_) => only("pause Cerberus", "nothing is recorded or checked during a pause"),
            Command::Unpause(_) => only("lift a pause", "the user wants nothing recorded until then"),
            #[cfg(feature = "sync")]
            Command::Share(ShareArgs { review: true, .. }) => only("decide what a team is told", TEAM),
            #[cfg(feature = "sync")]
            Command::Share(ShareArgs { dry_run, review: false, team: _, conversations: _ }) => {
                unless(*dry_run, only("share a project", LEAVES))
            }
            #[cfg(feature = "sync")]
            Command::Unshare(UnshareArgs { team: _, conversations: _, erase: _, yes: _ }) => {
                only("stop sharing a project", "other devices lose what was sent")
            }
            #[cfg(feature = "sync")]
            Command::Sync(command) => sync(command),
            Command::Check(command) => check(&command.command),
            #[cfg(feature = "loop")]
            Command::Loop(command) => loops(&command.command),
            Command::Memory(command) => memory(&command.command),
            Command::Session(command) => session(&command.command),
            Command::Project(command) => project(command.command.as_ref()),
        }
    }
}

#[cfg(feature = "sync")]
const TEAM: &str = "teammates read it";
#[cfg(feature = "sync")]
const LEAVES: &str = "from then on, its sessions leave this machine";
const DECIDES: &str = "sessions are told what is approved, as the user's own words";
const BINDS: &str = "a check holds because agents cannot change it";

fn undo(command: &UndoArgs) -> Permission<'_> {
    const KEEPS: &str = "it decides whether files can be put back";
    match command {
        UndoArgs { on: true, .. } => only("switch on undo", KEEPS),
        UndoArgs { off: true, .. } => only("switch off undo", KEEPS),
        // Hooks start it below the agent. It keeps the files where the user wants that, and changes none.
        UndoArgs { keep: Some(_), .. } | UndoArgs { command: Some(UndoCommand::Diff { .. }), .. } => Anyone,
        UndoArgs { what: None, last: false, .. } => Anyone,
        UndoArgs { .. } => only("undo a turn", "it replaces files, even those that the user wrote"),
    }
}

fn forget(command: &ForgetArgs) -> Permission<'_> {
    let ForgetArgs { session, project, path, since, until, memory, dry_run, yes: _ } = command;
    let is_more = *project || path.is_some() || since.is_some() || until.is_some() || !memory.is_empty();
    match is_more {
        _ if *dry_run => Anyone,
        true => NotAnAgent(FORGET),
        false => OwnSession(session),
    }
}

#[cfg(feature = "sync")]
fn sync(command: &SyncArgs) -> Permission<'_> {
    let SyncArgs { command, for_project, detached } = command;
    match command {
        Some(SyncCommand::Init(_)) => only("set up sync", LEAVES),
        Some(SyncCommand::Pair(_)) => only("let devices in", "whoever has the code reads what is shared"),
        Some(SyncCommand::Remove(_)) => only("remove devices", "it can read nothing new from then on"),
        Some(SyncCommand::Leave(_)) => only("leave a space", "nothing is exchanged from then on"),
        Some(SyncCommand::Move(_)) => only("move a space", LEAVES),
        Some(SyncCommand::Settle(_)) => only("settle a fork", "it decides who belongs to the space"),
        Some(SyncCommand::RotateRecovery(_)) => only("make a recovery code", "whoever has it decides about the space"),
        Some(SyncCommand::Status(_) | SyncCommand::HubSql(_)) => Anyone,
        // It joins the hub that a variable names, and an agent chooses its variables. A container is set up before an
        // agent runs in it.
        None if *for_project && !*detached => only("join with a key", LEAVES),
        // It sends, sealed, what the user shares already, to the hubs that the user chose. Hooks start it too.
        None => Anyone,
    }
}

fn check(command: &CheckCommand) -> Permission<'_> {
    match command {
        CheckCommand::List(_) | CheckCommand::Show(_) => Anyone,
        CheckCommand::Add(_) => only("switch on a check", BINDS),
        CheckCommand::Level(_) => only("change a check", BINDS),
        CheckCommand::Remove(_) => only("remove a check", BINDS),
        CheckCommand::AllowOnce(_) => only("let a check pass", BINDS),
    }
}

#[cfg(feature = "loop")]
fn loops(command: &LoopCommand) -> Permission<'_> {
    match command {
        // Also with `--dry-run`: it runs the check of the loop.
        LoopCommand::Run(_) => only("start a loop", "it starts agents whose rights and costs nobody watches"),
        LoopCommand::Tell(_) => only("send a message to the loop", "it is told as the user's own words"),
        LoopCommand::Prune(command) => unless(command.dry_run, only("remove checkpoints", "they are deleted for good")),
        LoopCommand::Attach(_) => Anyone,
        LoopCommand::Status(_) | LoopCommand::List(_) | LoopCommand::Logs(_) => Anyone,
        LoopCommand::Diff(_) | LoopCommand::History(_) => Anyone,
        // `loop run --resume` goes on.
        LoopCommand::Stop(_) => Anyone,
        // It saves the files as they are first.
        LoopCommand::Restore(_) => Anyone,
        // The runner's own process.
        LoopCommand::Guard(_) => Anyone,
    }
}

fn memory(command: &MemoryCommand) -> Permission<'_> {
    match command {
        MemoryCommand::SessionStart(_) | MemoryCommand::SessionEnd(_) | MemoryCommand::SessionStatus(_) => Anyone,
        MemoryCommand::SessionHistory(_) | MemoryCommand::Search(_) | MemoryCommand::List(_) => Anyone,
        MemoryCommand::Show(_) | MemoryCommand::Stats(_) | MemoryCommand::Export(_) | MemoryCommand::Propose(_) => {
            Anyone
        }
        // Without `--older-than` too: it applies the retention, at any time that `--now` names.
        MemoryCommand::SessionCleanup(command) => {
            unless(command.dry_run, only("delete old sessions", "they are deleted for good"))
        }
        MemoryCommand::Recover(command) => {
            unless(!command.discard, only("discard a session", "it is deleted for good"))
        }
        // Proposals, if an agent runs them.
        MemoryCommand::Learn(_) | MemoryCommand::Import(_) => Anyone,
        MemoryCommand::Review(_) => only("review proposals", DECIDES),
        MemoryCommand::Approve(_) => only("approve memories", DECIDES),
        MemoryCommand::Reject(_) => only("reject memories", "they are never proposed again"),
        MemoryCommand::Undo(_) => only("undo changes to memories", DECIDES),
        MemoryCommand::Edit(_) => only("edit memories", DECIDES),
        // The command looks at what is meant: an agent may take back what agents proposed.
        MemoryCommand::Forget(command) => match command.source {
            Some(_) if !command.dry_run => only("forget memories by their source", "they are deleted for good"),
            _ => Anyone,
        },
        MemoryCommand::Publish(command) => {
            unless(command.dry_run, only("publish memories", "teammates are told what is in the file"))
        }
        MemoryCommand::Unpublish(command) => {
            unless(command.dry_run, only("remove published memories", "teammates are told what is in the file"))
        }
    }
}

fn session(command: &SessionCommand) -> Permission<'_> {
    match command {
        // It can be undone, and deletes nothing.
        SessionCommand::Complete { .. } => Anyone,
        SessionCommand::Export { .. } => Anyone,
        // Facts, as with `record`.
        SessionCommand::Import { .. } => Anyone,
    }
}

fn project(command: Option<&ProjectCommand>) -> Permission<'static> {
    const JOINS: &str = "joined projects are told each other's sessions";
    match command {
        None => Anyone,
        Some(ProjectCommand::SameAs { .. }) => only("join projects", JOINS),
        Some(ProjectCommand::Separate { .. }) => only("separate projects", JOINS),
    }
}

/// Fails if an agent runs a command that it may not.
pub fn require(context: &Context, permission: Permission) -> Result<()> {
    let UserOnly { what, why } = match permission {
        Anyone => return Ok(()),
        NotAnAgent(only) => only,
        OwnSession(_) => OWN,
    };
    if context.caller()? == CalledBy::Person {
        return Ok(());
    }
    if let OwnSession(ids) = permission {
        let store = context.view()?;
        let own = caller::own_session(&store)?;
        let meant = forget::sessions(&store, ids)?;
        if meant.iter().all(|session| Some(session.row) == own) {
            return Ok(());
        }
    }
    Err(only_the_user(&format!("{what} ({why})"), &typed()))
}

/// The command as it was typed, for the user to type it.
fn typed() -> String {
    let words = std::env::args_os().skip(1).map(|word| shell_word(&word.to_string_lossy()).to_string());
    line(&format!("cerberus {}", words.collect::<Vec<_>>().join(" ")), TYPED_CHARS_MAX)
}

const TYPED_CHARS_MAX: usize = 2_000;

#[cfg(all(feature = "loop", feature = "sync"))]
#[cfg(test)]
mod tests {
    use clap::ArgMatches;

    use super::*;
    use crate::commands::command_line::{parsed, program};
    use crate::mcp;

    /// One line for each command that anybody may run, and more where an option decides.
    const ANYONE: &[&str] = &[
        "status",
        "log",
        "show",
        "search x",
        "resume",
        "stats",
        "report",
        "brief",
        "record next x",
        "quote x",
        "learn x",
        "check list",
        "check show m-1",
        "undo",
        "undo diff 3",
        "undo --keep turn",
        "forget --project --dry-run",
        "forget --session s --dry-run",
        "install",
        "install --repair-json --dry-run",
        "import",
        "doctor",
        "doctor --rebuild",
        "try",
        "loop status",
        "loop stop",
        "loop list",
        "loop attach",
        "loop logs",
        "loop diff",
        "loop history",
        "loop restore 1",
        "loop prune --dry-run",
        "loop guard -- true",
        "run -- true",
        "handoff",
        "memory session-start",
        "memory session-end",
        "memory session-status",
        "memory session-history",
        "memory session-cleanup --dry-run --older-than 30d",
        "memory recover --list",
        "memory recover s",
        "memory propose",
        "memory learn x",
        "memory search x",
        "memory list",
        "memory show m-1",
        "memory forget m-1",
        "memory forget --source mcp --dry-run",
        "memory stats",
        "memory publish --dry-run",
        "memory unpublish --dry-run",
        "memory export -",
        "memory import -",
        "session complete",
        "session export",
        "session import x",
        "project",
        "archive",
        "archive --detached",
        "summarize --detached -- s",
        "sync",
        "sync --detached",
        "sync status",
        "sync hub-sql",
        "share --dry-run",
        "uninstall --dry-run",
        "hook claude-code",
        "mcp",
        "statusline",
        "watch",
        "scan",
        "completions bash",
        "man",
    ];

    /// The lines that `docs/commands.md` says an agent may not run, each with the reason.
    fn documented() -> Vec<(String, String)> {
        let page = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/commands.md");
        let page = std::fs::read_to_string(page).unwrap();
        let (_, section) = page.split_once("## What an agent may not run").unwrap();
        let block = section.split("```\n").nth(1).unwrap();
        let lines = block.lines().map(|line| line.strip_prefix("cerberus ").unwrap().split_once("  ").unwrap());
        lines.map(|(line, why)| (line.trim_end().to_string(), why.trim().to_string())).collect()
    }

    fn words(line: &str) -> impl Iterator<Item = String> {
        std::iter::once("cerberus").chain(line.split_whitespace()).map(|word| word.trim_matches('\'').to_string())
    }

    fn with_permission<T>(line: &str, look: impl Fn(Permission) -> T) -> T {
        let arguments = parsed(words(line)).unwrap_or_else(|wrong| panic!("{line}: {wrong}"));
        look(arguments.command.permission())
    }

    /// The command that a line names, as clap calls it.
    fn named(line: &str) -> Vec<String> {
        let mut names = Vec::new();
        let matches = program().try_get_matches_from(words(line)).unwrap_or_else(|wrong| panic!("{line}: {wrong}"));
        let mut at: Option<&ArgMatches> = Some(&matches);
        while let Some((name, below)) = at.and_then(ArgMatches::subcommand) {
            names.push(name.to_string());
            at = Some(below);
        }
        names
    }

    /// Every command that can be run, hidden ones and aliases too.
    fn runnable(command: &clap::Command, above: &[String], found: &mut Vec<Vec<String>>) {
        for one in command.get_subcommands().filter(|one| one.get_name() != "help") {
            for name in std::iter::once(one.get_name()).chain(one.get_all_aliases()) {
                let path = [above, &[name.to_string()]].concat();
                runnable(one, &path, found);
                if !one.has_subcommands() || !one.is_subcommand_required_set() {
                    found.push(path);
                }
            }
        }
    }

    #[test]
    fn every_command_is_decided_about() {
        let documented = documented();
        let known: Vec<Vec<String>> =
            ANYONE.iter().copied().chain(documented.iter().map(|(line, _)| line.as_str())).map(named).collect();
        let mut all = Vec::new();
        runnable(&program(), &[], &mut all);
        assert!(all.len() > 60, "{all:?}");
        for command in all {
            assert!(known.contains(&command), "may an agent run `cerberus {}`? say so here", command.join(" "));
        }
    }

    #[test]
    fn an_agent_may_run_what_is_not_documented_as_the_users() {
        for line in ANYONE {
            with_permission(line, |permission| assert_eq!(permission, Anyone, "{line}"));
        }
        for (line, why) in documented() {
            with_permission(&line, |permission| match permission {
                Anyone => panic!("{line} is not refused"),
                OwnSession(_) => assert_eq!(OWN.why, why, "{line}"),
                NotAnAgent(only) => assert_eq!(only.why, why, "{line}"),
            });
        }
    }

    #[test]
    fn options_do_not_get_around_it() {
        for line in [
            "forget --since 2026-01-01T00:00:00Z --until 2026-02-01T00:00:00Z --yes",
            "import claude-code --forgotten x.jsonl",
            "memory session-cleanup --older-than 30d --yes",
            "memory session-cleanup --now 2099-01-01T00:00:00Z",
            "sync pair --for-project",
            "sync init /tmp/hub --code x",
            "summarize s",
            "pause --project --for 2h",
            "unpause --project",
            "uninstall --scope project --agent codex",
            "loop run --dry-run",
            "--json share --team x",
        ] {
            with_permission(line, |permission| {
                let is_refused = matches!(permission, NotAnAgent(_)) || matches!(permission, OwnSession(_));
                assert!(is_refused, "{line}: {permission:?}");
            });
        }
    }

    #[test]
    fn the_tools_for_agents_do_nothing_that_is_refused() {
        const SAME: &[(&str, &str)] = &[
            ("session_context", "brief"),
            ("session_record", "record next x"),
            ("user_said", "quote x"),
            ("session_history", "memory session-history"),
            ("search", "search x"),
            ("memory_learn", "learn x"),
            ("memory_search", "memory search x"),
            ("memory_forget", "memory forget m-1"),
        ];
        let tools = mcp::tool_names();
        assert_eq!(tools, SAME.iter().map(|(tool, _)| tool.to_string()).collect::<Vec<_>>());
        for (tool, line) in SAME {
            with_permission(line, |permission| assert_eq!(permission, Anyone, "{tool}"));
        }
    }
}
