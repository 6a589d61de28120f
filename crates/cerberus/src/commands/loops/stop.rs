use cerberus_engine::loops::ledger::Request;
use serde_json::json;

use super::{DOCTOR, ledger};
use crate::context::Context;
use crate::failure::{Hint, Result};
use crate::render;

/// Ask this project's loop to stop after the iteration
#[derive(clap::Args)]
pub struct Stop {
    /// At once: the agent is stopped in the middle of its work
    #[arg(long = "at-once")]
    at_once: bool,
}

impl Stop {
    pub fn run(self, context: &Context) -> Result<()> {
        let ledger = ledger(context);
        if !ledger.is_running().hint(DOCTOR)? {
            return Err(anyhow::anyhow!("no loop runs in this project"))
                .hint("`cerberus loop status` says how it ended");
        }
        let request = if self.at_once { Request::StopNow } else { Request::Stop };
        ledger.write_request(request).hint(DOCTOR)?;
        match context.json {
            true => render::json(&json!({ "asked": request })),
            false if self.at_once => render::line("it was asked to stop at once"),
            false => render::line("it was asked to stop after the iteration; --at-once does not wait for that"),
        }
        Ok(())
    }
}
