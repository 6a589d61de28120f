use cerberus_recall::learn::exchange::CONTENT_BYTES_MAX;
use cerberus_record::memory::{MemoryStatus, Scope};
use cerberus_record::source::MemorySource;
use cerberus_store::memory::change::LearnResult;
use cerberus_store::sessions::caller::CalledBy;
use serde::Serialize;
use serde_json::json;

use super::arguments::ScopeArgument;
use super::changed;
use crate::context::Context;
use crate::failure::{CommandFailure, Hint, Result};
use crate::render;

/// Remember a rule, a preference or any other short text for later sessions of this project
///
/// With --everywhere, for the sessions of all projects. A memory that contradicts an older one of the same scope replaces it; the older one is kept and shown as superseded.
/// If an agent runs this command, the text is only proposed, for this project, and replaces nothing.
#[derive(clap::Args)]
pub struct MemoryLearnArgs {
    /// What to remember, in one sentence
    pub text: String,

    /// The category: rule, preference, or any other word
    #[arg(long, value_name = "CATEGORY", default_value = "rule")]
    pub category: String,

    /// Where it applies: universal, language:NAME, project:NAME, or project (this one)
    #[arg(long, value_name = "SCOPE", default_value = "project")]
    pub scope: ScopeArgument,

    /// In all projects; the same as --scope universal
    #[arg(long, conflicts_with = "scope")]
    pub everywhere: bool,
}

/// The result, as it is printed.
#[derive(Serialize)]
pub struct LearnedMemory {
    pub id: String,
    /// false: a memory with this text existed already
    pub new: bool,
    /// Ids of the memories it replaces
    pub supersedes: Vec<String>,
    /// approved, or proposed: then it waits for the user's decision and is not told
    pub status: String,
}

impl From<&LearnResult> for LearnedMemory {
    fn from(learned: &LearnResult) -> LearnedMemory {
        let supersedes = learned.supersedes.iter().map(|older| older.id.to_string()).collect();
        let status = learned.status.word().to_string();
        LearnedMemory { id: learned.id.to_string(), new: learned.is_new, supersedes, status }
    }
}

impl MemoryLearnArgs {
    pub fn run(self, context: &Context) -> Result<()> {
        let place = self.place(context);
        let learned = self.learn(context, None)?;
        if context.json {
            render::json(&json!(LearnedMemory::from(&learned)));
            return Ok(());
        }
        let id = &learned.id;
        render::sentence(&match (learned.is_new, learned.status) {
            (true, MemoryStatus::Approved) => format!("learned {id}, {place}"),
            (true, _) => format!("proposed {id}; it is told once the user approves it: cerberus memory approve {id}"),
            (false, MemoryStatus::Approved) => format!("already known: {id}"),
            (false, status) => format!("already {}: {id}", status.word()),
        });
        changed::print_superseded(&learned.supersedes);
        Ok(())
    }

    fn scope(&self) -> ScopeArgument {
        if self.everywhere { ScopeArgument::Given(Scope::Universal) } else { self.scope.clone() }
    }

    /// Where the memory is told, and how to have it told elsewhere.
    fn place(&self, context: &Context) -> String {
        match self.scope().resolve(&context.located().name) {
            Scope::Universal => "for all projects".to_string(),
            Scope::Language(name) => format!("for {name} in all projects"),
            Scope::Project(name) => format!("for {name}; --everywhere learns for all projects"),
        }
    }

    /// `source` is given if it is not the user who runs this command.
    pub fn learn(self, context: &Context, source: Option<MemorySource>) -> Result<LearnResult> {
        let too_long = self.text.len() > CONTENT_BYTES_MAX;
        if self.text.trim().is_empty() || too_long {
            let what = if too_long { "too long" } else { "empty" };
            return Err(anyhow::anyhow!("the text is {what}")).hint("give one sentence");
        }
        let located = context.located();
        context.may_store(&located)?;
        let mut store = context.store()?;
        let keeper = context.keeper(&located);
        let source = match source {
            None if context.called_by(&store)? == CalledBy::Agent => Some(MemorySource::Agent),
            source => source,
        };
        if let Some(source) = source {
            return changed::changed(keeper.suggest(&mut store, &self.text, &self.category, source));
        }
        let scope = self.scope().resolve(&located.name);
        keeper.learn(&mut store, &self.text, &self.category, &scope).map_err(CommandFailure::from)
    }
}
