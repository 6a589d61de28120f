//! `cerberus memory`: sessions looked after, one file a command.

mod cleanup;
mod history;
mod live;
mod recover;
mod status;

use crate::context::Context;
use crate::failure::Result;

/// Look after sessions and memories
#[derive(clap::Args)]
pub struct Memory {
    #[command(subcommand)]
    command: MemoryCommand,
}

#[derive(clap::Subcommand)]
enum MemoryCommand {
    SessionStart(live::SessionStart),
    SessionEnd(live::SessionEnd),
    SessionStatus(status::SessionStatus),
    SessionHistory(history::SessionHistory),
    SessionCleanup(cleanup::SessionCleanup),
    Recover(recover::Recover),
}

/// What to do when the view or the journal fails.
const DOCTOR: &str = "`cerberus doctor` says what is wrong";

impl Memory {
    pub fn run(self, context: &Context) -> Result<()> {
        match self.command {
            MemoryCommand::SessionStart(command) => command.run(context),
            MemoryCommand::SessionEnd(command) => command.run(context),
            MemoryCommand::SessionStatus(command) => command.run(context),
            MemoryCommand::SessionHistory(command) => command.run(context),
            MemoryCommand::SessionCleanup(command) => command.run(context),
            MemoryCommand::Recover(command) => command.run(context),
        }
    }
}
