//! `cerberus loop`: runs an agent in one fresh context after another. The other commands control a loop from any
//! terminal.

mod attach;
mod detach;
mod diff;
mod dry_run;
mod fallback;
mod guard;
mod history;
mod ledger;
mod list;
mod logs;
mod prune;
mod restore;
mod run;
mod status;
mod stop;
mod tell;
mod worktree;

use crate::context::Context;
use crate::failure::Result;

/// Let an agent work through a task in one fresh context after another
///
/// When a context is nearly full or ends, the next one is told what it needs to continue: completed and pending work,
/// changed files, decisions, blockers, the state of the tests.
#[derive(clap::Args)]
pub struct LoopArgs {
    #[command(subcommand)]
    pub(super) command: LoopCommand,
}

commands! {
    pub(super) enum LoopCommand {
        Run(Box<run::LoopRunArgs>),
        Attach(attach::LoopAttachArgs),
        Status(status::LoopStatusArgs),
        Stop(stop::LoopStopArgs),
        Tell(tell::LoopTellArgs),
        List(list::LoopListArgs),
        Logs(logs::LoopLogsArgs),
        Diff(diff::LoopDiffArgs),
        History(history::LoopHistoryArgs),
        Restore(restore::LoopRestoreArgs),
        Prune(prune::LoopPruneArgs),
        Guard(guard::LoopGuardArgs),
    }
}

impl LoopArgs {
    pub fn run(self, context: &Context) -> Result<()> {
        self.command.run(context)
    }
}
