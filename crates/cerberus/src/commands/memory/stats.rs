use std::collections::BTreeMap;

use cerberus_record::memory::MemoryStatus;
use serde_json::json;

use crate::context::Context;
use crate::failure::Result;
use crate::render;

/// Count memories by scope and category, and how many are stale, superseded, unused or proposed
#[derive(clap::Args)]
pub struct MemoryStatsArgs {}

impl MemoryStatsArgs {
    pub fn run(self, context: &Context) -> Result<()> {
        let store = context.store()?;
        let now = context.clock.now;
        let (mut by_scope, mut by_category) = (BTreeMap::new(), BTreeMap::new());
        let (mut proposed, mut rejected) = (0, 0);
        for (status, scope, category, count) in store.memory_counts(now)? {
            match status {
                MemoryStatus::Approved => {
                    *by_scope.entry(scope).or_insert(0) += count;
                    *by_category.entry(category).or_insert(0) += count;
                }
                MemoryStatus::Proposed => proposed += count,
                MemoryStatus::Rejected => rejected += count,
            }
        }
        let total: usize = by_scope.values().sum();
        let rows = store.memories(MemoryStatus::Approved, now)?;
        let count = |is_it: &dyn Fn(&cerberus_store::view::MemoryRow) -> bool| rows.iter().filter(|r| is_it(r)).count();
        let stale = count(&|row| row.is_stale(now));
        let superseded = count(&|row| row.superseded_by.is_some());
        let unused = count(&|row| row.uses.count == 0);
        let corrections = store.correction_count(now)?;
        if context.json {
            render::json(&json!({
                "total": total, "by_scope": by_scope, "by_category": by_category, "stale": stale,
                "superseded": superseded, "unused": unused, "proposed": proposed, "rejected": rejected,
                "corrections": corrections,
            }));
            return Ok(());
        }
        render::line(&render::counted(total, "memory", "memories"));
        for (title, counts) in [("scope", by_scope), ("category", by_category)] {
            counts.iter().for_each(|(name, count)| render::line(&format!("  {title} {name}: {count}")));
        }
        render::line(&format!("  stale {stale}, superseded {superseded}, never used {unused}"));
        render::line(&format!("  proposed {proposed}, rejected {rejected}, corrections {corrections}"));
        Ok(())
    }
}
