use cerberus_core::loops::history;
use cerberus_engine::loops::checkpoint::{CheckpointError, Checkpoints};
use serde_json::json;

use super::{DOCTOR, ledger};
use crate::context::Context;
use crate::failure::{Hint, Result};
use crate::render;

/// Put the project's files back as they were after an iteration
///
/// Index, branch and stash stay as they are, and so does what git ignores. What is there now is kept as a commit first.
#[derive(clap::Args)]
pub struct Restore {
    /// Which iteration, as `loop history` numbers it
    iteration: u32,

    /// Of which run [default: the last]
    #[arg(long, value_name = "N")]
    run: Option<u32>,
}

impl Restore {
    pub fn run(self, context: &Context) -> Result<()> {
        let ledger = ledger(context);
        if ledger.is_running().hint(DOCTOR)? {
            return Err(anyhow::anyhow!("a loop is at work on these files")).hint("`cerberus loop stop` first");
        }
        let entries = ledger.read(context.clock.now).hint(DOCTOR)?;
        let last = history::latest_run(&entries).map(|run_state| run_state.run);
        let nothing = || anyhow::anyhow!("no loop ever ran in this project");
        let run = self.run.or(last).ok_or_else(nothing).hint("`cerberus loop run` makes a checkpoint an iteration")?;
        let located = context.located();
        let restored = Checkpoints::new(&context.home, &located)
            .and_then(|checkpoints| checkpoints.restore(run, self.iteration, context.clock.wall));
        let hint = match &restored {
            Err(CheckpointError::InTheWay(_)) => "move them away, then try again; nothing was changed",
            Err(CheckpointError::Missing { .. }) => "`cerberus loop history --all` lists the iterations",
            _ => "nothing was lost; mend it and try again",
        };
        let restored = restored.hint(hint)?;
        let (written, removed) = (restored.written.len(), restored.removed.len());
        match context.json {
            true => render::json(&json!({ "run": run, "iteration": self.iteration, "written": restored.written,
                "removed": restored.removed, "before": restored.before })),
            false => {
                let files = render::count(written, "file");
                render::line(&format!(
                    "{files} put back, {removed} removed; what was there is kept as {}",
                    restored.before
                ));
            }
        }
        Ok(())
    }
}
