use cerberus_core::memory::exchange::CONTENT_BYTES_MAX;
use cerberus_engine::memories::Learnt;
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
    text: String,

    /// What it is: rule, preference, or a word of your own
    #[arg(long, value_name = "CATEGORY", default_value = "rule")]
    category: String,

    /// Where it holds: universal, language:NAME, project:NAME, or project (this one)
    #[arg(long, value_name = "SCOPE", default_value = "universal")]
    scope: ScopeArgument,
}

impl Learn {
    pub fn run(self, context: &Context) -> Result<()> {
        let too_long = self.text.len() > CONTENT_BYTES_MAX;
        if self.text.trim().is_empty() || too_long {
            let what = if too_long { "too long" } else { "empty" };
            return Err(anyhow::anyhow!("the text is {what}")).hint("say it in a sentence");
        }
        let located = context.located();
        let mut store = context.store()?;
        let scope = self.scope.resolve(&located.name);
        let keeper = context.keeper(&located);
        let learnt = keeper.learn(&mut store, &self.text, &self.category, &scope).hint(DOCTOR)?;
        let Learnt { id, is_new, supersedes } = learnt;
        if context.json {
            let ids: Vec<_> = supersedes.iter().map(|older| &older.id).collect();
            render::json(&json!({"id": id, "new": is_new, "supersedes": ids}));
            return Ok(());
        }
        render::line(&if is_new { format!("learnt {id}") } else { format!("known already: {id}") });
        super::tell_superseded(&supersedes);
        Ok(())
    }
}
