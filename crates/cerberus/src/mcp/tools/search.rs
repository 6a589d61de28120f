//! `memory_search`: searches memories.

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::parameters::{ToolEffect, ToolParameters, limit_schema, query_limit, scope};
use crate::commands::memory::search::{FoundMemory, MemorySearchArgs};
use crate::context::Context;
use crate::failure::Result;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub struct MemorySearch {
    query: String,
    limit: Option<u16>,
    scope: Option<String>,
    category: Option<String>,
}

#[derive(Serialize)]
pub struct MemoryResults {
    memories: Vec<FoundMemory>,
}

impl ToolParameters for MemorySearch {
    const NAME: &'static str = "memory_search";
    const DESCRIPTION: &'static str =
        "Search remembered rules, preferences and notes by words, parts of names or paths; best match first.";
    const EFFECT: ToolEffect = ToolEffect::Reads;
    const REQUIRED: &'static [&'static str] = &["query"];
    type Answer = MemoryResults;

    fn properties() -> Value {
        json!({
            "query": {"type": "string", "description": "\"Quoted words\" must appear together; a trailing * matches any ending"},
            "limit": limit_schema(),
            "scope": {
                "type": "string",
                "description": "Only memories of this scope: universal, project (this one), project:NAME, language:NAME",
            },
            "category": {"type": "string", "description": "Only memories of this category"},
        })
    }

    fn call(self, context: &Context) -> Result<MemoryResults> {
        let limit = query_limit(&self.query, self.limit)?;
        let given = self.scope.as_deref().map(scope).transpose()?;
        let scope = given.map(|scope| scope.resolve(&context.located().name).to_string());
        let search = MemorySearchArgs { query: vec![self.query], limit, scope, category: self.category };
        Ok(MemoryResults { memories: search.search(context)? })
    }
}
