use cerberus_store::memory::distill;

use crate::context::Context;
use crate::failure::Result;
use crate::render;

/// List your sentences that wait for a decision
///
/// They are what an agent quoted, what you said you prefer, and what you typed again in another session, in your own
/// words. A sentence is approved automatically if you typed it in a short prompt, and it says that it lasts ("from now
/// on", "always", "never", "remember") or you said it again in another session after it was quoted. It is listed too; `cerberus memory reject ID` reverts that. Nothing that you may have pasted, that a
/// schedule or a program sent, or that is from an agent, is ever approved automatically.
#[derive(clap::Args)]
pub struct MemoryProposeArgs {}

impl MemoryProposeArgs {
    pub fn run(self, context: &Context) -> Result<()> {
        let mut store = context.store()?;
        let located = context.located();
        let rows = distill::proposals(&context.keeper(&located), &context.agent_surroundings(), &mut store)?;
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
