use std::time::Duration;

use cerberus_loop::history::{self, Iteration};
use cerberus_loop::run::audience::{Audience, LoopEvent};
use cerberus_loop::run::ledger::{AttemptNumber, LoopLedger};
use cerberus_loop::run::logs::{AttemptLog, AttemptOutput};

use super::ledger::ledger;
use crate::context::Context;
use crate::failure::{Hint, Result};
use crate::render::loops::LoopScreen;

/// Show what the agent printed in this project's loop
#[derive(clap::Args)]
pub struct LoopLogsArgs {
    /// The number of the iteration in `loop history` [default: the last one]
    iteration: Option<u32>,

    /// The run [default: the last one]
    #[arg(long, value_name = "N")]
    run: Option<u32>,

    /// Show what is printed from now on, too, until the loop ends
    #[arg(long, short)]
    follow: bool,
}

const LOOK_EVERY: Duration = Duration::from_millis(200);

impl LoopLogsArgs {
    pub fn run(self, context: &Context) -> Result<()> {
        let mut shown = ShownOutput::new(context.json);
        loop {
            let context = context.now_again();
            let ledger = ledger(&context);
            // Asked first, so that nothing printed before the end is missed.
            let is_running = ledger.is_running()?;
            let entries = ledger.read(context.clock.until())?;
            let rows = history::iterations(&entries);
            let run = self.run.or(rows.last().map(|row| row.run));
            let of_run: Vec<&Iteration> = rows.iter().filter(|row| Some(row.run) == run).collect();
            let first = self.iteration.or(of_run.last().map(|row| row.iteration).filter(|_| shown.logs.is_empty()));
            let known = shown.logs.last().map(|log| log.number.iteration);
            let wanted = |row: &&&Iteration| match (first, known) {
                _ if self.follow => row.iteration >= first.or(known).unwrap_or(0),
                (Some(first), _) => row.iteration == first,
                (None, _) => true,
            };
            for row in of_run.iter().filter(wanted) {
                shown.add(&ledger, row);
            }
            if shown.logs.is_empty() && !(self.follow && is_running) {
                return Err(anyhow::anyhow!("there is no output of such an iteration"))
                    .hint("`cerberus loop history --all` lists the iterations");
            }
            shown.show_new(&context)?;
            if !self.follow || !is_running {
                return Ok(());
            }
            std::thread::sleep(LOOK_EVERY);
        }
    }
}

/// What attempts printed, as far as it was shown.
pub(super) struct ShownOutput {
    pub screen: LoopScreen,
    logs: Vec<AttemptLog>,
}

impl ShownOutput {
    pub fn new(json: bool) -> ShownOutput {
        ShownOutput { screen: LoopScreen::new(json), logs: Vec::new() }
    }

    /// From now on, the attempts of this iteration are shown too.
    pub fn add(&mut self, ledger: &LoopLedger, row: &Iteration) {
        for attempt in 1..=row.attempts {
            let number = AttemptNumber { run: row.run, iteration: row.iteration, attempt };
            if self.logs.iter().all(|log| log.number != number) {
                self.logs.push(AttemptLog::new(ledger, row.worker, number));
            }
        }
    }

    pub fn show_new(&mut self, context: &Context) -> Result<()> {
        for log in self.logs.iter_mut().filter(|log| log.is_there()) {
            while show(&mut self.screen, log, context)? {}
        }
        Ok(())
    }
}

/// Shows what is new. Returns whether there was anything.
fn show(screen: &mut LoopScreen, log: &mut AttemptLog, context: &Context) -> Result<bool> {
    let is_first = log.is_unread();
    let printed = log.read_new(&context.home)?;
    if is_first && !printed.is_empty() {
        let AttemptNumber { iteration, attempt, .. } = log.number;
        screen.report(&LoopEvent::Begun { iteration, attempt });
    }
    for one in &printed {
        match one {
            AttemptOutput::Said(said) => screen.report(&LoopEvent::Said(said)),
            AttemptOutput::Other(text) => screen.report(&LoopEvent::Error(text)),
        }
    }
    Ok(!printed.is_empty())
}
