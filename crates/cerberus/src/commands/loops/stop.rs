use cerberus_loop::run::ledger::RunnerRequest;
use serde_json::json;

use super::ledger::ledger;
use crate::context::Context;
use crate::failure::{Hint, Result};
use crate::render;

/// Ask this project's loop to stop after the current iteration
#[derive(clap::Args)]
pub struct LoopStopArgs {
    /// Stop immediately, in the middle of the agent's work
    #[arg(long = "at-once")]
    at_once: bool,
}

impl LoopStopArgs {
    pub fn run(self, context: &Context) -> Result<()> {
        let ledger = ledger(context);
        if !ledger.is_running()? {
            return Err(anyhow::anyhow!("no loop is running in this project"))
                .hint("`cerberus loop status` shows how the last one ended");
        }
        let request = if self.at_once { RunnerRequest::StopNow } else { RunnerRequest::Stop };
        ledger.write_request(request)?;
        match context.json {
            true => render::json(&json!({ "asked": request })),
            false if self.at_once => render::sentence("asked the loop to stop immediately"),
            false => render::sentence(
                "asked the loop to stop after the current iteration; use --at-once to stop immediately",
            ),
        }
        Ok(())
    }
}
