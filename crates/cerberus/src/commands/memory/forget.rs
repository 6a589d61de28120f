use cerberus_engine::erase::forget;
use schemars::JsonSchema;
use serde::Serialize;
use serde_json::json;

use super::DOCTOR;
use crate::context::Context;
use crate::failure::{Hint, Result};
use crate::render;

/// Remove memories for good: from the journal, the view, the index, and the prompts they were learnt from
#[derive(clap::Args)]
pub struct Forget {
    /// Their ids, or the beginnings of them
    #[arg(required = true)]
    pub ids: Vec<String>,
}

/// The ids of what is gone.
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

    /// All of them, or none when one is not known.
    pub fn forget(self, context: &Context) -> Result<Forgotten> {
        let mut store = context.store()?;
        let now = context.clock.now;
        let rows = self.ids.iter().map(|id| super::find(&store, id, now)).collect::<Result<Vec<_>>>()?;
        forget::memories(&context.home, &context.clock, &mut store, &rows).hint(DOCTOR)?;
        Ok(Forgotten { forgotten: rows.iter().map(|row| row.id.to_string()).collect() })
    }
}
