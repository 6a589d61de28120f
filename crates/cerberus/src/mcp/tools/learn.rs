//! `memory_learn`: stores a rule or preference.

use cerberus_record::source::MemorySource;
use serde::Deserialize;
use serde_json::{Value, json};

use super::parameters::{ToolEffect, ToolParameters, scope};
use crate::commands::memory::learn::{LearnedMemory, MemoryLearnArgs};
use crate::context::Context;
use crate::failure::Result;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub struct MemoryLearn {
    text: String,
    category: Option<String>,
    scope: Option<String>,
}

impl ToolParameters for MemoryLearn {
    const NAME: &'static str = "memory_learn";
    const DESCRIPTION: &'static str = "\
        Propose a rule, a preference or another short text that the user wants remembered in later sessions \
        of this project. The user decides about it; until then it is not told.";
    const EFFECT: ToolEffect = ToolEffect::Adds;
    const REQUIRED: &'static [&'static str] = &["text"];
    type Answer = LearnedMemory;

    fn properties() -> Value {
        json!({
            "text": {"type": "string", "description": "What to remember, in one sentence"},
            "category": {"type": "string", "description": "rule (default), preference, or another word"},
            "scope": {
                "type": "string",
                "description": "Where it should apply: universal, project (this one), project:NAME, language:NAME. It is proposed for this project",
            },
        })
    }

    fn call(self, context: &Context) -> Result<LearnedMemory> {
        let scope = scope(self.scope.as_deref().unwrap_or("project"))?;
        let category = self.category.unwrap_or_else(|| "rule".to_string());
        let learned = MemoryLearnArgs { text: self.text, category, scope, everywhere: false };
        let learned = learned.learn(context, Some(MemorySource::Mcp))?;
        Ok(LearnedMemory::from(&learned))
    }
}
