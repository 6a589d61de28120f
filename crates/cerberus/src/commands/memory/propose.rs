use cerberus_engine::memory::distill;

use super::DOCTOR;
use crate::context::Context;
use crate::failure::{Hint, Result};
use crate::render;

/// Turn what you corrected into proposals, and list those that wait for your word
///
/// What is sure enough (confidence 0.9) is approved by itself and listed too; `cerberus memory reject ID` takes it back.
#[derive(clap::Args)]
pub struct Propose {}

impl Propose {
    pub fn run(self, context: &Context) -> Result<()> {
        let mut store = context.store()?;
        let located = context.located();
        let rows = distill::proposals(&context.keeper(&located), &mut store).hint(DOCTOR)?;
        if context.json {
            render::json(&rows.iter().map(render::memory::proposal).collect::<Vec<_>>());
            return Ok(());
        }
        if rows.is_empty() {
            render::line("nothing to propose");
        }
        for row in &rows {
            let memory = &row.memory;
            let (status, confidence) = (memory.status.word(), memory.confidence);
            render::line(&format!("{}  {status}  {confidence:.2}  {}  {}", row.id, &*memory.scope, &*memory.content));
            if let Some(rationale) = &memory.background.rationale {
                render::line(&format!("    {}", &**rationale));
            }
        }
        Ok(())
    }
}
