//! `cerberus memory`: manages sessions and memories. One file per command, or per pair of related commands.

pub mod arguments;
pub mod changed;
mod cleanup;
mod decide;
mod edit;
pub mod forget;
pub mod found;
pub mod history;
pub mod learn;
mod list;
mod live;
mod propose;
mod publish;
mod recover;
pub mod review;
pub mod search;
mod show;
mod stats;
mod status;
mod transfer;

use crate::context::Context;
use crate::failure::Result;

/// Manage sessions and memories
#[derive(clap::Args)]
pub struct MemoryArgs {
    #[command(subcommand)]
    pub(super) command: MemoryCommand,
}

commands! {
    pub(super) enum MemoryCommand {
        SessionStart(live::SessionStartArgs),
        SessionEnd(live::SessionEndArgs),
        #[command(hide = true)]
        SessionStatus(status::SessionStatusArgs),
        #[command(hide = true)]
        SessionHistory(history::MemoryHistoryArgs),
        SessionCleanup(cleanup::SessionCleanupArgs),
        Recover(recover::MemoryRecoverArgs),
        Propose(propose::MemoryProposeArgs),
        #[command(hide = true)]
        Review(review::MemoryReviewArgs),
        Approve(decide::MemoryApproveArgs),
        Reject(decide::MemoryRejectArgs),
        Undo(decide::MemoryUndoArgs),
        #[command(hide = true)]
        Learn(learn::MemoryLearnArgs),
        #[command(hide = true)]
        Search(search::MemorySearchArgs),
        List(list::MemoryListArgs),
        Show(show::MemoryShowArgs),
        Edit(edit::MemoryEditArgs),
        Forget(forget::MemoryForgetArgs),
        Stats(stats::MemoryStatsArgs),
        Publish(publish::MemoryPublishArgs),
        Unpublish(publish::MemoryUnpublishArgs),
        Export(transfer::MemoryExportArgs),
        Import(transfer::MemoryImportArgs),
    }
}

impl MemoryArgs {
    pub fn run(self, context: &Context) -> Result<()> {
        self.command.run(context)
    }
}
