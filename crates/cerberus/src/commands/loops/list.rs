use std::collections::HashSet;

use cerberus_loop::run::list::{self, LoopRun};
use serde_json::{Value, json};

use crate::context::Context;
use crate::failure::Result;
use crate::render;
use crate::render::loops::{money, thousands};
use crate::render::time::LocalTime;

/// List the loops of all projects and worktrees, running ones first
#[derive(clap::Args)]
pub struct LoopListArgs {
    /// Show all runs, not only the last of each project and worktree
    #[arg(long)]
    all: bool,
}

impl LoopListArgs {
    pub fn run(self, context: &Context) -> Result<()> {
        let mut runs = list::runs(&context.home, context.clock.until())?;
        if !self.all {
            let mut seen = HashSet::new();
            // The newest run of each comes first.
            runs.retain(|run| seen.insert(run.ledger(&context.home).name()));
        }
        if context.json {
            render::json(&runs.iter().map(as_json).collect::<Vec<_>>());
            return Ok(());
        }
        if runs.is_empty() {
            render::line("no loop has run yet; `cerberus loop run` starts one");
        }
        let local = LocalTime::new(context.clock.now);
        for run in &runs {
            show(run, &local);
        }
        Ok(())
    }
}

fn root(run: &LoopRun) -> Option<&str> {
    run.state.place.as_ref().map(|place| &*place.root).filter(|root| !root.is_empty())
}

fn branch(run: &LoopRun) -> Option<&str> {
    run.state.place.as_ref().and_then(|place| place.branch.as_deref())
}

fn iteration(run: &LoopRun) -> u32 {
    if run.state.open.is_some() { run.state.totals.iteration() } else { run.state.totals.spent }
}

fn as_json(run: &LoopRun) -> Value {
    let stop = run.state.stopped.as_ref().map(|(class, words)| json!({ "class": class, "reason": words }));
    json!({
        "root": root(run), "branch": branch(run), "is_worktree": run.worktree.is_some(), "running": run.is_running,
        "run": run.state.run, "agent": run.state.worker, "iteration": iteration(run),
        "tokens": run.state.totals.tokens, "cost_usd": run.state.totals.cost_usd,
        "priced_by": run.state.totals.priced_by, "started_at": run.started_at.to_string(), "last_activity": run.state.last_at.to_string(), "stop": stop,
    })
}

fn show(run: &LoopRun, local: &LocalTime) {
    let state = match (run.is_running, &run.state.stopped) {
        (true, _) => "running".to_string(),
        (false, Some((class, words))) => format!("{}: {words}", class.word()),
        (false, None) => "its runner died".to_string(),
    };
    let branch = branch(run).map(|branch| format!(" ({branch})")).unwrap_or_default();
    render::line(&format!("{}{branch}", root(run).unwrap_or("unknown folder")));
    let totals = &run.state.totals;
    let (tokens, cost) = (thousands(totals.tokens), money(totals.cost_usd, totals.priced_by.as_ref()));
    render::line(&format!(
        "    run {}, {}, iteration {}, {tokens} tokens{cost}, active {}",
        run.state.run,
        run.state.worker.name(),
        iteration(run),
        local.ago(run.state.last_at)
    ));
    render::line(&format!("    {state}"));
}
