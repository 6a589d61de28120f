use cerberus_core::loops::history;
use serde_json::json;

use super::{DOCTOR, ledger};
use crate::context::Context;
use crate::failure::{Hint, Result};
use crate::render;
use crate::render::loops::{money, thousands};
use crate::render::time::Local;

/// Show the state of this project's loop
#[derive(clap::Args)]
pub struct Status {}

impl Status {
    pub fn run(self, context: &Context) -> Result<()> {
        let ledger = ledger(context);
        let is_running = ledger.is_running().hint(DOCTOR)?;
        let entries = ledger.read(context.clock.now).hint(DOCTOR)?;
        let Some(run_state) = history::latest_run(&entries) else {
            match context.json {
                true => render::json(&json!({ "running": false, "run": null })),
                false => render::line("no loop has run in this project"),
            }
            return Ok(());
        };
        let totals = &run_state.totals;
        let (is_open, session) = (run_state.open.is_some(), run_state.sessions.last().map(String::as_str));
        let iteration = if is_open { totals.iteration() } else { totals.spent };
        let process = run_state.open.as_ref().and_then(|open| open.agent.as_ref()).map(|agent| agent.pid);
        let runner = run_state.runner.as_ref().map(|runner| runner.pid).filter(|_| is_running);
        if context.json {
            let stop = run_state.stopped.as_ref().map(|(class, words)| json!({ "class": class, "reason": words }));
            render::json(&json!({
                "running": is_running, "run": run_state.run, "agent": run_state.worker, "iteration": iteration,
                "session_id": session, "tokens": totals.tokens, "cost_usd": totals.cost_usd,
                "runner_pid": runner, "agent_pid": process.filter(|_| is_running),
                "last_activity": run_state.last_at.to_string(), "stop": stop,
            }));
            return Ok(());
        }
        let state = match (is_running, &run_state.stopped) {
            (true, _) => format!("is running, process {}", runner.map_or("unknown".to_string(), |pid| pid.to_string())),
            (false, Some((class, words))) => format!("{}: {words}", class.word()),
            (false, None) => "its runner died; continue with `cerberus loop run --resume`".to_string(),
        };
        render::line(&format!("run {}      {} {state}", run_state.run, run_state.worker.name()));
        let working = if is_open { "running" } else { "done" };
        render::line(&format!("iteration  {iteration}, {working}, session {}", session.unwrap_or("unknown")));
        render::line(&format!("spent      {} tokens{}", thousands(totals.tokens), money(totals.cost_usd)));
        render::line(&format!("active     {}", Local::new(context.clock.now).ago(run_state.last_at)));
        Ok(())
    }
}
