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

use cerberus_record::memory::{Scope, Status};
use cerberus_record::source::Source;
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
pub struct Memory {
    #[command(subcommand)]
    pub(super) command: MemoryCommand,
}

commands! {
    pub(super) enum MemoryCommand {
        SessionStart(live::SessionStart),
        SessionEnd(live::SessionEnd),
        SessionStatus(status::SessionStatus),
        #[command(hide = true)]
        SessionHistory(history::SessionHistory),
        SessionCleanup(cleanup::SessionCleanup),
        Recover(recover::Recover),
        Propose(propose::Propose),
        #[command(hide = true)]
        Review(review::Review),
        Approve(decide::Approve),
        Reject(decide::Reject),
        Undo(decide::Undo),
        #[command(hide = true)]
        Learn(learn::Learn),
        Search(search::Search),
        List(list::List),
        Show(show::Show),
        Edit(edit::Edit),
        Forget(forget::Forget),
        Stats(stats::Stats),
        Publish(publish::Publish),
        Unpublish(publish::Unpublish),
        Export(transfer::Export),
        Import(transfer::Import),
    }
}

impl Memory {
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
fn sources() -> impl TypedValueParser<Value = Source> {
    PossibleValuesParser::new(Source::ALL.map(Source::word).into_iter().chain([Source::Unknown.word()]))
        .map(|word| Source::named(&word))
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
    let mut rows = store.memories(Status::Approved, now)?;
    if wants_undecided {
        rows.extend(store.memories(Status::Proposed, now)?);
        rows.extend(store.memories(Status::Rejected, now)?);
    }
    Ok(rows)
}

fn print_superseded(rows: &[MemoryRow]) {
    for row in rows {
        render::talk(&format!("replaces {}: {}", row.id, cerberus_record::clean::text::line(&row.memory.content, 120)));
    }
}
