//! `memory_search`: searches memories.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{LIMIT_MAX, ToolEffect, ToolParameters, query_limit, scope};
use crate::commands::memory::search::{FoundMemory, MemorySearchArgs};
use crate::context::Context;
use crate::failure::Result;

/// Search remembered rules, preferences and notes by words, parts of names or paths; best match first.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct MemorySearch {
    /// "Quoted words" must appear together; a trailing * matches any ending
    query: String,
    /// Maximum number of results (default 10)
    #[schemars(range(min = 1, max = LIMIT_MAX))]
    limit: Option<u16>,
    /// Only memories of this scope: universal, project (this one), project:NAME, language:NAME
    scope: Option<String>,
    /// Only memories of this category
    category: Option<String>,
}

#[derive(Serialize)]
pub struct MemoryResults {
    memories: Vec<FoundMemory>,
}

impl ToolParameters for MemorySearch {
    const NAME: &'static str = "memory_search";
    const EFFECT: ToolEffect = ToolEffect::Reads;
    type Answer = MemoryResults;

    fn call(self, context: &Context) -> Result<MemoryResults> {
        let limit = query_limit(&self.query, self.limit)?;
        let given = self.scope.as_deref().map(scope).transpose()?;
        let scope = given.map(|scope| scope.resolve(&context.located().name).to_string());
        let search = MemorySearchArgs { query: vec![self.query], limit, scope, category: self.category };
        Ok(MemoryResults { memories: search.search(context)? })
    }
}
