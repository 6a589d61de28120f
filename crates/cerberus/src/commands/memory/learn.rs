use cerberus_core::learn::exchange::CONTENT_BYTES_MAX;
use cerberus_engine::memory::change::Learned;
use schemars::JsonSchema;
use serde::Serialize;
use serde_json::json;

use super::{DOCTOR, ScopeArgument};
use crate::context::Context;
use crate::failure::{Hint, Result};
use crate::render;

/// Remember a rule, a preference or any other short text for later sessions
///
/// A memory that contradicts an older one of the same scope replaces it; the older one is kept and shown as superseded.
#[derive(clap::Args)]
pub struct Learn {
    /// What to remember, in one sentence
    pub text: String,

    /// The category: rule, preference, or any other word
    #[arg(long, value_name = "CATEGORY", default_value = "rule")]
    pub category: String,

    /// Where it applies: universal, language:NAME, project:NAME, or project (this one)
    #[arg(long, value_name = "SCOPE", default_value = "universal")]
    pub scope: ScopeArgument,
}

/// The result, as it is printed.
#[derive(Serialize, JsonSchema)]
pub struct LearnedMemory {
    pub id: String,
    /// false: a memory with this text existed already
    pub new: bool,
    /// Ids of the memories it replaces
    pub supersedes: Vec<String>,
}

impl From<&Learned> for LearnedMemory {
    fn from(learned: &Learned) -> LearnedMemory {
        let supersedes = learned.supersedes.iter().map(|older| older.id.to_string()).collect();
        LearnedMemory { id: learned.id.to_string(), new: learned.is_new, supersedes }
    }
}

impl Learn {
    pub fn run(self, context: &Context) -> Result<()> {
        let learned = self.learn(context)?;
        if context.json {
            render::json(&json!(LearnedMemory::from(&learned)));
            return Ok(());
        }
        let id = &learned.id;
        render::line(&if learned.is_new { format!("learned {id}") } else { format!("already known: {id}") });
        super::print_superseded(&learned.supersedes);
        Ok(())
    }

    pub fn learn(self, context: &Context) -> Result<Learned> {
        let too_long = self.text.len() > CONTENT_BYTES_MAX;
        if self.text.trim().is_empty() || too_long {
            let what = if too_long { "too long" } else { "empty" };
            return Err(anyhow::anyhow!("the text is {what}")).hint("give one sentence");
        }
        let located = context.located();
        context.may_store(&located)?;
        let mut store = context.store()?;
        let scope = self.scope.resolve(&located.name);
        context.keeper(&located).learn(&mut store, &self.text, &self.category, &scope).hint(DOCTOR)
    }
}
