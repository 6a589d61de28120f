use cerberus_record::memory::MemoryStatus;
use cerberus_record::source::MemorySource;

use super::super::log::SHOWN;
use super::{arguments, found};
use crate::context::Context;
use crate::failure::Result;
use crate::render;

/// List the memories of all scopes
#[derive(clap::Args)]
pub struct MemoryListArgs {
    /// Only memories of this scope: universal, language:NAME, project:NAME
    #[arg(long, value_name = "SCOPE")]
    scope: Option<String>,

    /// Only memories of this category
    #[arg(long, value_name = "CATEGORY")]
    category: Option<String>,

    /// Only memories of this source, proposals and rejected ones included: prompt, user, import, mcp, agent, pasted, …
    #[arg(long, value_name = "SOURCE", value_parser = arguments::sources(), hide_possible_values = true)]
    source: Option<MemorySource>,

    /// How many to show, the newest [default: 10; all with --json]
    #[arg(short = 'n', long = "number", value_name = "N")]
    limit: Option<usize>,

    /// Also list proposals and rejected memories
    #[arg(long)]
    all: bool,
}

impl MemoryListArgs {
    pub fn run(self, context: &Context) -> Result<()> {
        let store = context.store()?;
        let now = context.clock.now;
        let mut rows = found::all(&store, self.all || self.source.is_some(), now)?;
        rows.retain(|row| self.source.is_none_or(|source| row.is_from(source)));
        let scopes = arguments::scopes(context, &store, self.scope.as_deref())?;
        rows.retain(|row| scopes.is_empty() || scopes.iter().any(|scope| *scope == *row.memory.scope));
        rows.retain(|row| self.category.as_deref().is_none_or(|category| category == &*row.memory.category));
        rows.sort_by_key(|row| row.memory.created_at);
        let total = rows.len();
        if let Some(limit) = self.limit.or((!context.json).then_some(SHOWN)) {
            rows.drain(..total.saturating_sub(limit));
        }
        if context.json {
            render::json(&rows.iter().map(|row| render::memory::whole(row, now)).collect::<Vec<_>>());
            return Ok(());
        }
        if rows.is_empty() {
            render::sentence(
                "no memories; `cerberus memory learn` adds one, `cerberus memory propose` lists proposals",
            );
        }
        for row in &rows {
            let status = row.memory.status;
            let mark = if status == MemoryStatus::Approved { String::new() } else { format!("[{}] ", status.word()) };
            render::line(&format!("{mark}{}", render::memory::line(row, now)));
        }
        if rows.len() < total {
            render::talk(&format!("{} of {total}; -n {total} shows all", rows.len()));
        }
        Ok(())
    }
}
