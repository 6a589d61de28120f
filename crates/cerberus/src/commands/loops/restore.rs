use cerberus_checkpoint::{CheckpointError, Checkpoints};
use cerberus_loop::history;
use serde_json::json;

use super::ledger::ledger;
use crate::context::Context;
use crate::failure::{Hint, Result};
use crate::render;

/// Restore the project's files to their state after an iteration
///
/// Does not touch the index, the branch, the stash, ignored files, submodules or large files (`max_file_size`). The
/// current state is saved first.
#[derive(clap::Args)]
pub struct LoopRestoreArgs {
    /// The number of the iteration in `loop history`
    iteration: u32,

    /// The run [default: the last one]
    #[arg(long, value_name = "N")]
    run: Option<u32>,
}

impl LoopRestoreArgs {
    pub fn run(self, context: &Context) -> Result<()> {
        let ledger = ledger(context);
        if ledger.is_running()? {
            return Err(anyhow::anyhow!("a loop is running on these files"))
                .hint("stop it first with `cerberus loop stop`");
        }
        let entries = ledger.read(context.clock.until())?;
        let last = history::latest_run(&entries).map(|run_state| run_state.run);
        let nothing = || anyhow::anyhow!("no loop has run in this project");
        let run = self
            .run
            .or(last)
            .ok_or_else(nothing)
            .hint("`cerberus loop run` saves a checkpoint after every iteration")?;
        let located = context.located();
        let restored = Checkpoints::new(&context.home, &located)
            .and_then(|checkpoints| checkpoints.restore(run, self.iteration, context.clock.wall));
        let hint = match &restored {
            Err(CheckpointError::InTheWay(_)) => "nothing was changed; move these files away and try again",
            Err(CheckpointError::Changed(_)) => "nothing was changed; try again when nothing else writes these files",
            Err(CheckpointError::Lost(_)) => "nothing was changed; `cerberus loop history` lists other iterations",
            Err(CheckpointError::Missing { .. }) => "`cerberus loop history --all` lists the iterations",
            _ => "no files were lost; fix the problem and try again",
        };
        let restored = restored.hint(hint)?;
        let (written, removed) = (restored.written.len(), restored.removed.len());
        match context.json {
            true => render::json(&json!({ "run": run, "iteration": self.iteration, "written": restored.written,
                "removed": restored.removed, "kept": restored.kept, "before": restored.before })),
            false => {
                let files = render::count(written, "file");
                render::line(&format!(
                    "{files} restored, {removed} removed; the previous state is saved as {}",
                    restored.before
                ));
                if !restored.kept.is_empty() {
                    render::line(&format!("not in the checkpoint, left as they are: {}", restored.kept.join(", ")));
                }
            }
        }
        Ok(())
    }
}
