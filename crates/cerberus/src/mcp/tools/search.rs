//! `memory_search`: searches memories.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{Arguments, Effect, scope};
use crate::commands::memory::search::{FoundMemory, Search};
use crate::context::Context;
use crate::failure::{Hint, Result};

const LIMIT: u16 = 10;
const LIMIT_MAX: u16 = 100;
const QUERY_BYTES_MAX: usize = 2_000;

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
pub struct Memories {
    memories: Vec<FoundMemory>,
}

impl Arguments for MemorySearch {
    const NAME: &'static str = "memory_search";
    const EFFECT: Effect = Effect::Reads;
    type Answer = Memories;

    fn call(self, context: &Context) -> Result<Memories> {
        if self.query.trim().is_empty() || self.query.len() > QUERY_BYTES_MAX {
            let what = if self.query.len() > QUERY_BYTES_MAX { "too long" } else { "empty" };
            return Err(anyhow::anyhow!("the query is {what}")).hint("give a few words");
        }
        let limit = self.limit.unwrap_or(LIMIT);
        if !(1..=LIMIT_MAX).contains(&limit) {
            return Err(anyhow::anyhow!("limit is {limit}")).hint(format!("give a number from 1 to {LIMIT_MAX}"));
        }
        let given = self.scope.as_deref().map(scope).transpose()?;
        let scope = given.map(|scope| scope.resolve(&context.located().name).to_string());
        let search = Search { query: vec![self.query], limit, scope, category: self.category };
        Ok(Memories { memories: search.search(context)? })
    }
}
