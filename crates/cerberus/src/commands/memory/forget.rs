use cerberus_engine::erase::forget;
use schemars::JsonSchema;
use serde::Serialize;
use serde_json::json;

use super::DOCTOR;
use crate::context::Context;
use crate::failure::{Hint, Result};
use crate::render;

/// Delete memories permanently: from the journal, the view, the index, and the prompts they were learned from
#[derive(clap::Args)]
pub struct Forget {
    /// The ids, or the start of each id
    #[arg(required = true)]
    pub ids: Vec<String>,
}

/// The ids of the deleted memories.
#[derive(Serialize, JsonSchema)]
pub struct Forgotten {
    pub forgotten: Vec<String>,
}

impl Forget {
    pub fn run(self, context: &Context) -> Result<()> {
        let gone = self.forget(context)?;
        match context.json {
            true => render::json(&json!(gone)),
            false => gone.forgotten.iter().for_each(|id| render::line(&format!("forgotten {id}"))),
        }
        Ok(())
    }

    /// Deletes all of them, or none if one is not found.
    pub fn forget(self, context: &Context) -> Result<Forgotten> {
        let mut store = context.store()?;
        let now = context.clock.now;
        let rows = self.ids.iter().map(|id| super::find(&store, id, now)).collect::<Result<Vec<_>>>()?;
        forget::memories(&context.home, &context.clock, &mut store, &rows).hint(DOCTOR)?;
        Ok(Forgotten { forgotten: rows.iter().map(|row| row.id.to_string()).collect() })
    }
}
