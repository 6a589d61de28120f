use cerberus_checkpoint::{CheckpointError, Checkpoints};
use cerberus_loop::history;
use serde_json::json;

use super::ledger::ledger;
use crate::context::Context;
use crate::failure::{self, Hint, Result};
use crate::render;

/// Show what an iteration of this project's loop changed
///
/// Compares the checkpoints before and after it, so it does not matter what was committed.
#[derive(clap::Args)]
pub struct LoopDiffArgs {
    /// The number of the iteration in `loop history` [default: the last one]
    iteration: Option<u32>,

    /// The run [default: the last one]
    #[arg(long, value_name = "N")]
    run: Option<u32>,

    /// Only name the files
    #[arg(long)]
    stat: bool,
}

impl LoopDiffArgs {
    pub fn run(self, context: &Context) -> Result<()> {
        let entries = ledger(context).read(context.clock.until())?;
        let last = history::latest_run(&entries).map(|run_state| run_state.run);
        let nothing = || anyhow::anyhow!("no loop has run in this project");
        let run = self.run.or(last).ok_or_else(nothing).hint("`cerberus loop run` starts one")?;
        let located = context.located();
        let checkpoints =
            Checkpoints::new(&context.home, &located).hint("without git there are no checkpoints to compare")?;
        let saved = checkpoints.list(run)?;
        let iteration = self.iteration.or(saved.last().map(|one| one.number)).unwrap_or(1);
        let around = checkpoints.around(run, iteration);
        let hint = match &around {
            Err(CheckpointError::Missing { .. }) => "`cerberus loop history --all` lists the iterations",
            _ => failure::DOCTOR,
        };
        let (from, to) = around.hint(hint)?;
        let files = checkpoints.changed_lines(&from.object, &to.object)?;
        // The files are still worth showing if the patch is too large.
        let patch = if self.stat { None } else { checkpoints.patch(&from.object, &to.object).ok() };
        if context.json {
            let files: Vec<_> = files
                .iter()
                .map(|file| json!({ "path": file.path, "added": file.added, "removed": file.removed }))
                .collect();
            render::json(&json!({ "run": run, "iteration": iteration, "from": from.object, "to": to.object,
                "files": files, "patch": patch }));
            return Ok(());
        }
        if files.is_empty() {
            render::line(&format!("iteration {iteration} changed no file"));
        }
        for file in &files {
            let lines = match (file.added, file.removed) {
                (Some(added), Some(removed)) => format!("+{added} -{removed}"),
                _ => "binary".to_string(),
            };
            render::line(&format!("{lines:>12}  {}", file.path));
        }
        match patch {
            Some(patch) if !patch.is_empty() => render::block(&format!("\n{}", patch.replace('\t', "    "))),
            None if !self.stat => render::talk("the patch is too large to show; --stat names the files only"),
            _ => {}
        }
        Ok(())
    }
}
