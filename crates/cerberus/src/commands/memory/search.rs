use cerberus_engine::store::MemoryQuery;
use serde_json::json;

use super::DOCTOR;
use crate::context::Context;
use crate::failure::{Hint, Result};
use crate::render;

/// Find memories by words, parts of names, paths; the best fit first
///
/// "quoted words" must stand together; a trailing * finds whatever begins so.
#[derive(clap::Args)]
pub struct Search {
    /// What to look for
    #[arg(required = true)]
    query: Vec<String>,

    /// At most this many
    #[arg(long, value_name = "N", default_value_t = 10, value_parser = clap::value_parser!(u16).range(1..=1000))]
    limit: u16,

    /// Only of this scope: universal, language:NAME, project:NAME
    #[arg(long, value_name = "SCOPE")]
    scope: Option<String>,

    /// Only of this category
    #[arg(long, value_name = "CATEGORY")]
    category: Option<String>,
}

impl Search {
    pub fn run(self, context: &Context) -> Result<()> {
        let store = context.view()?;
        let now = context.clock.now;
        let text = self.query.join(" ");
        let (scope, category) = (self.scope.as_deref(), self.category.as_deref());
        let query = MemoryQuery { text: &text, limit: usize::from(self.limit), scope, category };
        let found = store.search(&query, now).hint(DOCTOR)?;
        let rows: Vec<i64> = found.iter().map(|found| found.row).collect();
        let rows = store.memories_at(&rows, now).hint(DOCTOR)?;
        let ids: Vec<_> = rows.iter().map(|row| row.id.clone()).collect();
        let is_counted = context.keeper(&context.located()).used(&ids).hint(DOCTOR)?;
        if context.json {
            let shown = found.iter().zip(&rows).map(|(found, row)| {
                let memory = &row.memory;
                json!({
                    "id": row.id, "content": memory.content, "category": memory.category, "scope": memory.scope,
                    "score": found.score, "created_at": memory.created_at.to_string(),
                    "metadata": memory.background.metadata, "snippet": found.snippet,
                    "use_count": row.uses.count + u64::from(is_counted), "superseded_by": row.superseded_by,
                })
            });
            render::json(&shown.collect::<Vec<_>>());
            return Ok(());
        }
        if rows.is_empty() {
            eprintln!("nothing found for {text:?}");
        }
        for (found, row) in found.iter().zip(&rows) {
            render::line(&format!("{:.2}  {}  {}  {}", found.score, row.id, &*row.memory.scope, found.snippet));
        }
        Ok(())
    }
}
