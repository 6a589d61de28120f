//! `memory_learn`: a rule or preference, kept.

use schemars::JsonSchema;
use serde::Deserialize;

use super::{Arguments, Effect, scope};
use crate::commands::memory::learn::{Learn, LearntMemory};
use crate::context::Context;
use crate::failure::Result;

/// Keep a rule, a preference or another short text that the user wants remembered in later sessions. What contradicts
/// an older memory of the same scope takes its place.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct MemoryLearn {
    /// What to remember, in one sentence
    text: String,
    /// rule (if not given), preference, or another word
    category: Option<String>,
    /// Where it holds: universal (if not given), project (this one), project:NAME, language:NAME
    scope: Option<String>,
}

impl Arguments for MemoryLearn {
    const NAME: &'static str = "memory_learn";
    const EFFECT: Effect = Effect::Adds;
    type Answer = LearntMemory;

    fn call(self, context: &Context) -> Result<LearntMemory> {
        let scope = scope(self.scope.as_deref().unwrap_or("universal"))?;
        let category = self.category.unwrap_or_else(|| "rule".to_string());
        let learnt = Learn { text: self.text, category, scope }.learn(context)?;
        Ok(LearntMemory::from(&learnt))
    }
}
