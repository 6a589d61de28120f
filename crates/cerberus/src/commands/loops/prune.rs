use cerberus_loop::run::prune;
use serde_json::json;

use super::ledger::ledger;
use crate::context::Context;
use crate::failure::{Hint, Result};
use crate::render;

/// Remove the checkpoints and outputs of old runs of this project's loop
///
/// A loop itself keeps those of its last five runs. Checkpoints of worktrees that do not exist any more are removed too.
/// What only they held leaves the repository.
#[derive(clap::Args)]
pub struct LoopPruneArgs {
    /// How many of the last runs keep their checkpoints
    #[arg(long, value_name = "RUNS", default_value_t = 1)]
    keep: usize,

    /// Only show what would be removed
    #[arg(long)]
    pub(in crate::commands) dry_run: bool,
}

impl LoopPruneArgs {
    pub fn run(self, context: &Context) -> Result<()> {
        const AGAIN: &str = "nothing else was changed; fix the problem and try again";
        if ledger(context).is_running()? && self.keep == 0 {
            return Err(anyhow::anyhow!("a loop is running and saves checkpoints"))
                .hint("keep at least the last run, or stop the loop first with `cerberus loop stop`");
        }
        let located = context.located();
        let old = prune::of_old_runs(&context.home, &located, self.keep)?;
        let removed = prune::of_removed_worktrees(&context.home, &located)?;
        if !self.dry_run {
            old.remove(&context.home, &located).hint(AGAIN)?;
            removed.remove(&context.home, &located).hint(AGAIN)?;
        }
        let (checkpoints, outputs) = (old.references.len() + removed.references.len(), old.outputs.len());
        context.answer(&json!({ "checkpoints": checkpoints, "outputs": outputs, "dry_run": self.dry_run }), || {
            let verb = if self.dry_run { "would be removed" } else { "removed" };
            let (checkpoints, outputs) =
                (render::count(checkpoints, "checkpoint"), render::count(outputs, "output file"));
            render::line(&format!("{checkpoints} and {outputs} {verb}"));
        })
    }
}
