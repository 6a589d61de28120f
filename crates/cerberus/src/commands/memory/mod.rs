//! `cerberus memory`: manages sessions and memories. One file per command, or per pair of related commands.

mod cleanup;
mod decide;
mod edit;
pub mod forget;
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

use std::str::FromStr;

use cerberus_record::memory::{MemoryStatus, Scope};
use cerberus_record::source::MemorySource;
use cerberus_record::time::Timestamp;
use cerberus_store::memory::change::ChangeError;
use cerberus_store::same_project::joined::joined;
use cerberus_store::view::{MemoryRow, Store};
use clap::builder::{PossibleValuesParser, TypedValueParser};

use crate::context::Context;
use crate::failure::{self, Hint, Result};
use crate::render;

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

/// A scope on the command line. `project` alone is the current project.
#[derive(Clone, Debug)]
pub enum ScopeArgument {
    ThisProject,
    Given(Scope),
}

impl FromStr for ScopeArgument {
    type Err = String;

    fn from_str(text: &str) -> std::result::Result<ScopeArgument, String> {
        match Scope::parse(text) {
            Some(scope) => Ok(ScopeArgument::Given(scope)),
            None if text == "project" => Ok(ScopeArgument::ThisProject),
            None => Err("write universal, language:NAME, project:NAME, or project for this one".to_string()),
        }
    }
}

impl ScopeArgument {
    pub fn resolve(self, project: &str) -> Scope {
        match self {
            ScopeArgument::ThisProject => Scope::Project(project.to_string()),
            ScopeArgument::Given(scope) => scope,
        }
    }
}

/// A source on the command line.
fn sources() -> impl TypedValueParser<Value = MemorySource> {
    PossibleValuesParser::new(
        MemorySource::ALL.map(MemorySource::word).into_iter().chain([MemorySource::Unknown.word()]),
    )
    .map(|word| MemorySource::named(&word))
}

/// All scopes that match the given one. The current project may have other names in other folders.
fn scopes(context: &Context, store: &Store, scope: Option<&str>) -> Result<Vec<String>> {
    let Some(scope) = scope else { return Ok(Vec::new()) };
    let own = joined(store, &context.located(), context.clock.now)?.scopes();
    Ok(if own.iter().any(|own| own == scope) { own } else { vec![scope.to_string()] })
}

/// The memory or proposal with this id. The start of an id is enough if it is unique.
pub fn find(store: &Store, id: &str, now: Timestamp) -> Result<MemoryRow> {
    let found = store.memory(id, now)?;
    let missing = || anyhow::anyhow!("no memory, or more than one, has an id that starts with {id:?}");
    found.ok_or_else(missing).hint("`cerberus memory list --all` lists the ids")
}

/// Adds a hint to a change that failed.
pub fn changed<T>(result: std::result::Result<T, ChangeError>) -> Result<T> {
    let hint = match &result {
        Err(ChangeError::ChangedMeanwhile(id)) => {
            format!("look at the new version with `cerberus memory show {id}`, then try again")
        }
        Err(ChangeError::TooManySuggestions) => {
            "the user can decide about them with `cerberus memory review`, or remove them with `cerberus memory forget \
             --source mcp`"
                .to_string()
        }
        _ => failure::DOCTOR.to_string(),
    };
    result.hint(hint)
}

/// The approved memories; with `wants_undecided` also proposals and rejected ones.
fn all(store: &Store, wants_undecided: bool, now: Timestamp) -> Result<Vec<MemoryRow>> {
    let mut rows = store.memories(MemoryStatus::Approved, now)?;
    if wants_undecided {
        rows.extend(store.memories(MemoryStatus::Proposed, now)?);
        rows.extend(store.memories(MemoryStatus::Rejected, now)?);
    }
    Ok(rows)
}

fn print_superseded(rows: &[MemoryRow]) {
    for row in rows {
        render::talk(&format!("replaces {}: {}", row.id, cerberus_record::clean::text::line(&row.memory.content, 120)));
    }
}
