use cerberus_engine::memory::distill;

use super::DOCTOR;
use crate::context::Context;
use crate::failure::{Hint, Result};
use crate::render;

/// Turn your corrections into proposals, and list the proposals that wait for your decision
///
/// A proposal is approved automatically if you typed it as an explicit rule in a short prompt, or said it on three
/// different days. It is listed too; `cerberus memory reject ID` reverts that. Nothing that you may have pasted, that a
/// schedule or a program sent, or that is from an agent, is ever approved automatically.
#[derive(clap::Args)]
pub struct Propose {}

impl Propose {
    pub fn run(self, context: &Context) -> Result<()> {
        let mut store = context.store()?;
        let located = context.located();
        let rows =
            distill::proposals(&context.keeper(&located), &context.agent_surroundings(), &mut store).hint(DOCTOR)?;
        if context.json {
            render::json(&rows.iter().map(render::memory::proposal).collect::<Vec<_>>());
            return Ok(());
        }
        if rows.is_empty() {
            render::line("no proposals");
        }
        for row in &rows {
            let memory = &row.memory;
            let (status, confidence, source) = (memory.status.word(), memory.confidence, row.origin().word());
            let (scope, content) = (&*memory.scope, &*memory.content);
            render::line(&format!("{}  {status}  {confidence:.2}  {source}  {scope}  {content}", row.id));
            if let Some(rationale) = &memory.background.rationale {
                render::line(&format!("    {}", &**rationale));
            }
        }
        Ok(())
    }
}
