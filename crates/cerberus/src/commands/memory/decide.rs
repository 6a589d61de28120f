use cerberus_core::model::memory::Status;
use cerberus_engine::memory::distill;
use cerberus_engine::store::MemoryRow;
use serde_json::json;

use super::DOCTOR;
use crate::context::Context;
use crate::failure::{Hint, Result};
use crate::render;

/// Accept proposals: from now on sessions are told them
#[derive(clap::Args)]
pub struct Approve {
    /// Their ids, or the beginnings of them
    #[arg(required = true)]
    ids: Vec<String>,
}

/// Turn proposals down for good, or take back what was approved; in no wording do they come again
#[derive(clap::Args)]
pub struct Reject {
    /// Their ids, or the beginnings of them
    #[arg(required = true)]
    ids: Vec<String>,
}

/// Take back the last change of a memory or proposal: an approval, a rejection, an edit
#[derive(clap::Args)]
pub struct Undo {
    /// Its id, or the beginning of it
    id: String,
}

impl Approve {
    pub fn run(self, context: &Context) -> Result<()> {
        decide(context, &self.ids, Status::Approved)
    }
}

impl Reject {
    pub fn run(self, context: &Context) -> Result<()> {
        decide(context, &self.ids, Status::Rejected)
    }
}

fn decide(context: &Context, ids: &[String], status: Status) -> Result<()> {
    let mut store = context.store()?;
    let located = context.located();
    let keeper = context.keeper(&located);
    distill::distill(&keeper, &mut store).hint(DOCTOR)?;
    let rows = ids.iter().map(|id| super::find(&store, id, context.clock.now)).collect::<Result<Vec<MemoryRow>>>()?;
    for row in rows.iter().filter(|row| row.memory.status != status) {
        let superseded = super::changed(keeper.decide(&mut store, row, status))?;
        super::tell_superseded(&superseded);
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

impl Undo {
    pub fn run(self, context: &Context) -> Result<()> {
        let mut store = context.store()?;
        let located = context.located();
        let row = super::find(&store, &self.id, context.clock.now)?;
        if !super::changed(context.keeper(&located).undo(&mut store, &row))? {
            return Err(anyhow::anyhow!("{} was never changed", row.id))
                .hint(format!("`cerberus memory forget {}` removes it", row.id));
        }
        let now_stands = super::find(&store, row.id.as_str(), context.clock.now)?;
        match context.json {
            true => render::json(&render::memory::whole(&now_stands, context.clock.now)),
            false => {
                let memory = &now_stands.memory;
                render::line(&format!("{} is {} again: {}", row.id, memory.status.word(), &*memory.content));
            }
        }
        Ok(())
    }
}
