use cerberus_engine::memory::distill;

use super::DOCTOR;
use crate::context::Context;
use crate::failure::{Hint, Result};
use crate::render;

/// Turn your corrections into proposals, and list the proposals that wait for your decision
///
/// Proposals with a confidence of at least 0.9 are approved automatically and listed too; `cerberus memory reject ID`
/// reverts that.
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
            render::line("no proposals");
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
