use cerberus_store::view::MemoryQuery;
use serde::Serialize;
use serde_json::{Map, Value, json};

use super::arguments;
use crate::context::Context;
use crate::failure::Result;
use crate::render;

/// Search memories by words, parts of names or paths; best match first
///
/// "Quoted words" must appear together; a trailing * matches any ending.
#[derive(clap::Args)]
pub struct MemorySearchArgs {
    /// What to search for
    #[arg(required = true)]
    pub query: Vec<String>,

    /// Maximum number of results
    #[arg(long, value_name = "N", default_value_t = 10, value_parser = clap::value_parser!(u16).range(1..=1000))]
    pub limit: u16,

    /// Only memories of this scope: universal, language:NAME, project:NAME
    #[arg(long, value_name = "SCOPE")]
    pub scope: Option<String>,

    /// Only memories of this category
    #[arg(long, value_name = "CATEGORY")]
    pub category: Option<String>,
}

/// A search result.
#[derive(Serialize)]
pub struct FoundMemory {
    pub id: String,
    pub content: String,
    pub category: String,
    pub scope: String,
    /// From 0 to 1; higher is better
    pub score: f64,
    pub created_at: String,
    pub metadata: Map<String, Value>,
    pub snippet: String,
    pub use_count: u64,
    /// The newer memory that replaced it
    pub superseded_by: Option<String>,
}

impl MemorySearchArgs {
    pub fn run(self, context: &Context) -> Result<()> {
        let found = self.search(context)?;
        if context.json {
            render::json(&json!(found));
            return Ok(());
        }
        if found.is_empty() {
            render::talk(&format!("nothing found for {:?}", self.query.join(" ")));
        }
        for found in &found {
            render::line(&format!("{:.2}  {}  {}  {}", found.score, found.id, found.scope, found.snippet));
        }
        Ok(())
    }

    /// Best match first. Being found counts as a use.
    pub fn search(&self, context: &Context) -> Result<Vec<FoundMemory>> {
        let store = context.view()?;
        let now = context.clock.now;
        let text = self.query.join(" ");
        let scopes = arguments::scopes(context, &store, self.scope.as_deref())?;
        let category = self.category.as_deref();
        let query = MemoryQuery { text: &text, limit: usize::from(self.limit), scopes: &scopes, category };
        let found = store.search(&query, now)?;
        let rows: Vec<i64> = found.iter().map(|found| found.row).collect();
        let rows = store.memories_at(&rows, now)?;
        let ids: Vec<_> = rows.iter().map(|row| row.id.clone()).collect();
        let is_counted = context.keeper(&context.located()).used(&ids)?;
        let shown = found.into_iter().zip(rows).map(|(found, row)| {
            let memory = row.memory;
            FoundMemory {
                id: row.id.to_string(),
                content: memory.content.to_string(),
                category: memory.category.to_string(),
                scope: memory.scope.to_string(),
                score: found.score,
                created_at: memory.created_at.to_string(),
                metadata: memory.background.metadata.shown(),
                snippet: found.snippet,
                use_count: row.uses.count + u64::from(is_counted),
                superseded_by: row.superseded_by.map(|newer| newer.to_string()),
            }
        });
        Ok(shown.collect())
    }
}
