//! `memory_learn`: stores a rule or preference.

use cerberus_record::source::MemorySource;
use schemars::JsonSchema;
use serde::Deserialize;

use super::{ToolEffect, ToolParameters, scope};
use crate::commands::memory::learn::{LearnedMemory, MemoryLearnArgs};
use crate::context::Context;
use crate::failure::Result;

/// Propose a rule, a preference or another short text that the user wants remembered in later sessions of this project.
/// The user decides about it; until then it is not told.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct MemoryLearn {
    /// What to remember, in one sentence
    text: String,
    /// rule (default), preference, or another word
    category: Option<String>,
    /// Where it should apply: universal, project (this one), project:NAME, language:NAME. It is proposed for this project
    scope: Option<String>,
}

impl ToolParameters for MemoryLearn {
    const NAME: &'static str = "memory_learn";
    const EFFECT: ToolEffect = ToolEffect::Adds;
    type Answer = LearnedMemory;

    fn call(self, context: &Context) -> Result<LearnedMemory> {
        let scope = scope(self.scope.as_deref().unwrap_or("project"))?;
        let category = self.category.unwrap_or_else(|| "rule".to_string());
        let learned = MemoryLearnArgs { text: self.text, category, scope, everywhere: false };
        let learned = learned.learn(context, Some(MemorySource::Mcp))?;
        Ok(LearnedMemory::from(&learned))
    }
}
