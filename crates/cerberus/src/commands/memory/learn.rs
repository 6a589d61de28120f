use cerberus_core::learn::exchange::CONTENT_BYTES_MAX;
use cerberus_engine::memory::change::Learned;
use schemars::JsonSchema;
use serde::Serialize;
use serde_json::json;

use super::{DOCTOR, ScopeArgument};
use crate::context::Context;
use crate::failure::{Hint, Result};
use crate::render;

/// Keep a rule, a preference or any other short text for later sessions
///
/// A memory that contradicts an older one of the same scope takes its place; the older one is kept and shown as
/// superseded.
#[derive(clap::Args)]
pub struct Learn {
    /// What to remember, in one sentence
    pub text: String,

    /// What it is: rule, preference, or a word of your own
    #[arg(long, value_name = "CATEGORY", default_value = "rule")]
    pub category: String,

    /// Where it holds: universal, language:NAME, project:NAME, or project (this one)
    #[arg(long, value_name = "SCOPE", default_value = "universal")]
    pub scope: ScopeArgument,
}

/// What became of it, as it is printed.
#[derive(Serialize, JsonSchema)]
pub struct LearntMemory {
    pub id: String,
    /// false: these very words were known already
    pub new: bool,
    /// Ids of the memories whose place it takes
    pub supersedes: Vec<String>,
}

impl From<&Learned> for LearntMemory {
    fn from(learnt: &Learned) -> LearntMemory {
        let supersedes = learnt.supersedes.iter().map(|older| older.id.to_string()).collect();
        LearntMemory { id: learnt.id.to_string(), new: learnt.is_new, supersedes }
    }
}

impl Learn {
    pub fn run(self, context: &Context) -> Result<()> {
        let learnt = self.learn(context)?;
        if context.json {
            render::json(&json!(LearntMemory::from(&learnt)));
            return Ok(());
        }
        let id = &learnt.id;
        render::line(&if learnt.is_new { format!("learnt {id}") } else { format!("known already: {id}") });
        super::tell_superseded(&learnt.supersedes);
        Ok(())
    }

    pub fn learn(self, context: &Context) -> Result<Learned> {
        let too_long = self.text.len() > CONTENT_BYTES_MAX;
        if self.text.trim().is_empty() || too_long {
            let what = if too_long { "too long" } else { "empty" };
            return Err(anyhow::anyhow!("the text is {what}")).hint("say it in a sentence");
        }
        let located = context.located();
        context.may_store(&located)?;
        let mut store = context.store()?;
        let scope = self.scope.resolve(&located.name);
        context.keeper(&located).learn(&mut store, &self.text, &self.category, &scope).hint(DOCTOR)
    }
}
