use cerberus_engine::forget;
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
    ids: Vec<String>,
}

impl Forget {
    pub fn run(self, context: &Context) -> Result<()> {
        let mut store = context.store()?;
        let now = context.clock.now;
        let rows = self.ids.iter().map(|id| super::find(&store, id, now)).collect::<Result<Vec<_>>>()?;
        forget::memories(&context.home, &context.clock, &mut store, &rows).hint(DOCTOR)?;
        if context.json {
            let ids: Vec<_> = rows.iter().map(|row| &row.id).collect();
            render::json(&json!({"forgotten": ids}));
            return Ok(());
        }
        rows.iter().for_each(|row| render::line(&format!("forgotten {}", row.id)));
        Ok(())
    }
}
