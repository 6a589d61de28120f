use cerberus_record::memory::MemoryStatus;
use cerberus_store::memory::distill;
use cerberus_store::view::MemoryRow;
use serde_json::json;

use super::{changed, found};
use crate::context::Context;
use crate::failure::{Hint, Result};
use crate::render;

/// Approve proposals, so that sessions are told them from now on
#[derive(clap::Args)]
pub struct MemoryApproveArgs {
    /// The ids, or the start of each id
    #[arg(required = true)]
    ids: Vec<String>,
}

/// Reject proposals or approved memories permanently; they are not proposed again in nearly the same words
#[derive(clap::Args)]
pub struct MemoryRejectArgs {
    /// The ids, or the start of each id
    #[arg(required = true)]
    ids: Vec<String>,
}

/// Undo the last change to a memory or proposal: an approval, a rejection, an edit
#[derive(clap::Args)]
pub struct MemoryUndoArgs {
    /// Its id, or the start of its id
    id: String,
}

impl MemoryApproveArgs {
    pub fn run(self, context: &Context) -> Result<()> {
        decide(context, &self.ids, MemoryStatus::Approved)
    }
}

impl MemoryRejectArgs {
    pub fn run(self, context: &Context) -> Result<()> {
        decide(context, &self.ids, MemoryStatus::Rejected)
    }
}

fn decide(context: &Context, ids: &[String], status: MemoryStatus) -> Result<()> {
    let mut store = context.store()?;
    let located = context.located();
    let keeper = context.keeper(&located);
    distill::distill(&keeper, &context.agent_surroundings(), &mut store)?;
    let rows = ids.iter().map(|id| found::find(&store, id, context.clock.now)).collect::<Result<Vec<MemoryRow>>>()?;
    for row in rows.iter().filter(|row| row.memory.status != status) {
        let superseded = changed::changed(keeper.decide(&mut store, row, status))?;
        changed::print_superseded(&superseded);
    }
    match context.json {
        true => {
            let decided: Vec<_> = rows.iter().map(|row| json!({"id": row.id, "status": status})).collect();
            render::json(&decided);
        }
        false => rows.iter().for_each(|row| render::line(&format!("{} {}", status.word(), row.id))),
    }
    Ok(())
}

impl MemoryUndoArgs {
    pub fn run(self, context: &Context) -> Result<()> {
        let mut store = context.store()?;
        let located = context.located();
        let row = found::find(&store, &self.id, context.clock.now)?;
        if !changed::changed(context.keeper(&located).undo(&mut store, &row))? {
            return Err(anyhow::anyhow!("{} was never changed", row.id))
                .hint(format!("`cerberus memory forget {}` removes it", row.id));
        }
        let restored = found::find(&store, row.id.as_str(), context.clock.now)?;
        context.answer(&render::memory::whole(&restored, context.clock.now), || {
            let memory = &restored.memory;
            render::line(&format!("{} is {} again: {}", row.id, memory.status.word(), &*memory.content));
        })
    }
}
