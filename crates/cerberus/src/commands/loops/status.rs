use std::io::{IsTerminal, Write};
use std::time::Duration;

use cerberus_agents::meter::price::PricedBy;
use cerberus_checkpoint::room::RoomTaken;
use cerberus_checkpoint::{Checkpoints, erase};
use cerberus_loop::history;
use cerberus_loop::run::audience::LoopStatus;
use cerberus_loop::run::list::{self, LoopRun};
use cerberus_loop::settings::LoopLimits;
use cerberus_record::time::Timestamp;
use serde_json::{Value, json};

use super::ledger::ledger;
use crate::context::Context;
use crate::failure::Result;
use crate::render;
use crate::render::loops::{limits, limits_json, money, thousands};
use crate::render::room::room;
use crate::render::time::{LocalTime, rough};

/// Show the state of this project's loop
#[derive(clap::Args)]
pub struct LoopStatusArgs {
    /// Show it again whenever it changes, until the loop ends
    #[arg(long, short)]
    watch: bool,
}

const RUNNER_DIED: &str = "its runner died; continue with `cerberus loop run --resume`";
const LOOK_EVERY: Duration = Duration::from_millis(500);

impl LoopStatusArgs {
    pub fn run(self, context: &Context) -> Result<()> {
        let room = room_of(context);
        if !self.watch {
            let state = LoopState { room, ..LoopState::read(context)? };
            match context.json {
                true => render::json(&state.as_json()),
                false => state.lines(context).iter().for_each(|line| render::line(line)),
            }
            return Ok(());
        }
        let mut shown = Vec::new();
        loop {
            let context = context.now_again();
            let state = LoopState { room: room.clone(), ..LoopState::read(&context)? };
            let lines = if context.json { vec![state.as_json().to_string()] } else { state.lines(&context) };
            if lines != shown {
                show_again(&lines, shown.len(), context.json);
                shown = lines;
            }
            if !state.is_running {
                return Ok(());
            }
            std::thread::sleep(LOOK_EVERY);
        }
    }
}

/// What the checkpoints of the repository take. Asked once: git has to look at all of them.
fn room_of(context: &Context) -> Option<RoomTaken> {
    let located = context.located();
    let may_have = erase::may_have_references(&located);
    Checkpoints::new(&context.home, &located).ok().filter(|_| may_have)?.room().ok()
}

/// On a terminal, the new lines replace the old ones.
fn show_again(lines: &[String], shown: usize, json: bool) {
    if json {
        lines.iter().for_each(|line| render::json_text(line));
        return;
    }
    if std::io::stdout().is_terminal() && shown > 0 {
        let _ = write!(std::io::stdout(), "\u{1b}[{shown}A\u{1b}[J");
    } else if shown > 0 {
        render::line("");
    }
    lines.iter().for_each(|line| render::line(line));
}

/// What is known about the loop of a project, right now.
pub(super) struct LoopState {
    is_running: bool,
    run: Option<LoopRun>,
    /// Of the context at work.
    output: list::LastOutput,
    room: Option<RoomTaken>,
}

impl LoopState {
    pub fn read(context: &Context) -> Result<LoopState> {
        let ledger = ledger(context);
        let is_running = ledger.is_running()?;
        let entries = ledger.read(context.clock.until())?;
        let run = history::latest_run(&entries).and_then(|state| list::of_run(&ledger, &entries, state.run));
        let output = match &run {
            Some(run) if is_running && run.state.open.is_some() => list::last_output(&context.home, run),
            _ => list::LastOutput::default(),
        };
        Ok(LoopState { is_running, run, output, room: None })
    }

    pub fn is_running(&self) -> bool {
        self.is_running
    }

    /// Until when the loop waits, and why.
    pub fn waiting(&self, now: Timestamp) -> Option<(Timestamp, &str)> {
        let wait = self.run.as_ref()?.state.waiting.as_ref().filter(|_| self.is_running)?;
        (wait.until > now).then_some((wait.until, &*wait.reason))
    }

    /// The same as the runner reports it.
    pub fn status(&self, now: Timestamp) -> Option<LoopStatus> {
        let run = self.run.as_ref().filter(|_| self.is_running)?;
        let totals = &run.state.totals;
        let (iteration, phase) = match (&run.state.open, self.waiting(now)) {
            (Some(_), _) => (totals.iteration(), "working"),
            (None, Some(_)) => (totals.spent, "waiting"),
            (None, None) => (totals.spent, "between two contexts"),
        };
        Some(LoopStatus {
            iteration,
            iterations_max: self.limits().and_then(|limits| limits.iterations),
            phase: phase.to_string(),
            waiting_until: self.waiting(now).map(|(until, _)| until),
            fill_percent: self.output.fill_percent,
            certainty: self.output.certainty,
            tokens: self.tokens(run),
            cost_usd: self.cost_usd(run),
            priced_by: self.priced_by(run),
            elapsed: totals.elapsed(now),
        })
    }

    /// How the loop ended: its class, in words, and its exit code.
    pub fn end(&self) -> (&str, String, u8) {
        match self.run.as_ref().and_then(|run| run.state.stopped.as_ref()) {
            Some((class, words)) => (class.word(), format!("{}: {words}", class.word()), class.exit_code()),
            None => ("failed", RUNNER_DIED.to_string(), 1),
        }
    }

    /// What ends it at the latest. A setting that contained a secret is not known any more.
    fn limits(&self) -> Option<LoopLimits> {
        let state = &self.run.as_ref()?.state;
        LoopLimits::new(&state.layer, state.worker).ok()
    }

    fn tokens(&self, run: &LoopRun) -> u64 {
        run.state.totals.tokens.saturating_add(self.output.tokens)
    }

    fn cost_usd(&self, run: &LoopRun) -> Option<f64> {
        match (run.state.totals.cost_usd, self.output.cost_usd) {
            (None, None) => None,
            (before, now) => Some(before.unwrap_or(0.0) + now.unwrap_or(0.0)),
        }
    }

    fn priced_by(&self, run: &LoopRun) -> Option<PricedBy> {
        PricedBy::and(run.state.totals.priced_by.clone(), self.output.priced_by.clone())
    }

    fn as_json(&self) -> Value {
        let Some(run) = &self.run else { return json!({ "running": false, "run": null }) };
        let state = &run.state;
        let iteration = if state.open.is_some() { state.totals.iteration() } else { state.totals.spent };
        let agent = state.open.as_ref().and_then(|open| open.agent.as_ref()).map(|agent| agent.pid);
        let runner = state.runner.as_ref().map(|runner| runner.pid);
        let stop = state.stopped.as_ref().map(|(class, words)| json!({ "class": class, "reason": words }));
        let waiting = state.waiting.as_ref().filter(|_| self.is_running);
        json!({
            "running": self.is_running, "run": state.run, "agent": state.worker, "iteration": iteration,
            "session_id": state.sessions.last(), "tokens": self.tokens(run), "cost_usd": self.cost_usd(run),
            "fill_percent": self.output.fill_percent.map(|percent| (percent * 10.0).round() / 10.0),
            "waiting": waiting.map(|wait| json!({ "until": wait.until.to_string(), "reason": &*wait.reason })),
            "runner_pid": runner.filter(|_| self.is_running), "agent_pid": agent.filter(|_| self.is_running),
            "last_activity": state.last_at.to_string(), "stop": stop,
            "priced_by": self.priced_by(run), "limits": self.limits().map(|limits| limits_json(&limits)),
            "room": self.room.as_ref().map(|room| json!({ "bytes": room.bytes, "bytes_max": room.bytes_max,
                "removed": room.removed.as_ref().map(|removed| {
                    json!({ "at": removed.at.to_string(), "checkpoints": removed.checkpoints })
                }) })),
        })
    }

    fn lines(&self, context: &Context) -> Vec<String> {
        let Some(run) = &self.run else {
            return vec!["no loop has run in this project; `cerberus loop run` starts one".to_string()];
        };
        let (state, now) = (&run.state, context.clock.now);
        let local = LocalTime::new(now);
        let runner = state.runner.as_ref().map_or("unknown".to_string(), |runner| runner.pid.to_string());
        let words = match (self.is_running, &state.stopped) {
            (true, _) => format!("is running, process {runner}"),
            (false, Some((class, words))) => format!("{}: {words}", class.word()),
            (false, None) => RUNNER_DIED.to_string(),
        };
        let session = state.sessions.last().map_or("unknown", String::as_str);
        let (iteration, working) = match state.open {
            Some(_) => (state.totals.iteration(), "running"),
            None => (state.totals.spent, "done"),
        };
        let mut lines = vec![
            format!("run {}      {} {words}", state.run, state.worker.name()),
            format!("iteration  {iteration}, {working}, session {session}"),
        ];
        if let Some(wait) = state.waiting.as_ref().filter(|wait| self.is_running && wait.until > now) {
            let (at, left) = (local.when(wait.until), rough(wait.until.since(now)));
            lines.push(format!("waiting    until {at} (in {left}): {}", &*wait.reason));
        }
        lines.extend(self.output.fill_percent.map(|percent| format!("context    {percent:.0} % full")));
        let cost = money(self.cost_usd(run), self.priced_by(run).as_ref());
        lines.push(format!("spent      {} tokens{cost}", thousands(self.tokens(run))));
        lines.extend(self.limits().map(|set| format!("limits     {}", limits(&set))));
        lines.extend(self.room.as_ref().map(|taken| format!("room       {}", room(taken, now))));
        lines.push(format!("active     {}", local.ago(state.last_at)));
        lines.extend(self.output.lines.last().map(|line| format!("last       {line}")));
        lines
    }
}
