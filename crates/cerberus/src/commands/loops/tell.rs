use cerberus_loop::entry::{LedgerEntry, LedgerStep};
use cerberus_loop::history;
use cerberus_loop::texts::Passage;
use serde_json::json;

use super::ledger::ledger;
use crate::context::Context;
use crate::failure::{Hint, Result};
use crate::render;

/// Send a message to the next context of this project's running loop
///
/// The context that starts next hears it first, and later ones are reminded of it. The context at work is not disturbed.
#[derive(clap::Args)]
pub struct LoopTellArgs {
    /// The message
    #[arg(value_name = "TEXT")]
    text: String,
}

/// A message, not a document; longer texts belong into the task.
const TEXT_BYTES_MAX: usize = 4_000;

impl LoopTellArgs {
    pub fn run(self, context: &Context) -> Result<()> {
        let ledger = ledger(context);
        if !ledger.is_running()? {
            return Err(anyhow::anyhow!("no loop is running in this project"))
                .hint("`cerberus loop status` shows how the last one ended; a new run gets its task with --prompt");
        }
        if self.text.trim().is_empty() || self.text.len() > TEXT_BYTES_MAX {
            return Err(anyhow::anyhow!("a message has between 1 and {TEXT_BYTES_MAX} bytes"))
                .hint("write a longer text into the file of --prompt-file, which is read again for every context");
        }
        let entries = ledger.read(context.clock.wall)?;
        let run = history::latest_run(&entries).map_or(1, |run_state| run_state.run);
        let text = Passage::new(context.home.cleaner(), self.text.trim());
        let step = LedgerStep::Told { text: text.clone() };
        ledger.append(&LedgerEntry { at: context.clock.wall, run, step })?;
        context.answer(&json!({ "run": run, "told": text }), || {
            render::line("the next context of the loop will hear this first")
        })
    }
}
