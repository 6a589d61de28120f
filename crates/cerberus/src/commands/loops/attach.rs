use std::time::Duration;

use cerberus_loop::history::{self, Iteration};
use cerberus_loop::run::audience::{AttemptSummary, Audience, LoopEvent};
use cerberus_loop::totals::{EndedAttempt, LoopProgress, SpentIteration};
use cerberus_record::time::Timestamp;

use super::ledger::ledger;
use super::logs::ShownOutput;
use super::status::LoopState;
use crate::context::Context;
use crate::failure::{Hint, Result};
use crate::render;

/// Show this project's running loop, as if it ran in this terminal
///
/// Ctrl-C ends the view, not the loop: `cerberus loop stop` does. When the loop ends, so does this command, with the same
/// exit code.
#[derive(clap::Args)]
pub struct LoopAttachArgs {}

const LOOK_EVERY: Duration = Duration::from_millis(200);

impl LoopAttachArgs {
    pub fn run(self, context: &Context) -> Result<()> {
        if !ledger(context).is_running()? {
            return Err(anyhow::anyhow!("no loop is running in this project"))
                .hint("`cerberus loop status` shows how the last one ended");
        }
        if !context.json {
            render::talk("── Ctrl-C ends this view; `cerberus loop stop` ends the loop");
        }
        let mut view = AttachedView { output: ShownOutput::new(context.json), first: None, ended: 0, waiting: None };
        loop {
            let context = context.now_again();
            let state = LoopState::read(&context)?;
            view.show_new(&context, &state)?;
            if !state.is_running() {
                view.output.screen.clear();
                std::process::exit(i32::from(view.end(&context, &state)));
            }
            std::thread::sleep(LOOK_EVERY);
        }
    }
}

/// What was shown.
struct AttachedView {
    output: ShownOutput,
    /// The iteration that was at work at the beginning.
    first: Option<u32>,
    /// The last iteration whose end was shown.
    ended: u32,
    waiting: Option<Timestamp>,
}

impl AttachedView {
    fn show_new(&mut self, context: &Context, state: &LoopState) -> Result<()> {
        let ledger = ledger(context);
        let entries = ledger.read(context.clock.until())?;
        let mut rows = history::iterations(&entries);
        let run = rows.iter().map(|row| row.run).max();
        rows.retain(|row| Some(row.run) == run);
        let Some(last) = rows.last().map(|row| row.iteration) else { return Ok(()) };
        let first = *self.first.get_or_insert(last);
        for row in rows.iter().filter(|row| row.iteration >= first) {
            self.output.add(&ledger, row);
            self.output.show_new(context)?;
            // How many files it changed is known a little later.
            let is_known = row.changed_files.is_some() || row.iteration < last || !state.is_running();
            if row.ended_at.is_some() && row.iteration > self.ended && is_known {
                self.ended = row.iteration;
                let (ended, summary) = end_of(row);
                self.output.screen.report(&LoopEvent::Ended(&ended, &summary));
            }
        }
        let waiting = state.waiting(context.clock.now);
        if let Some((until, reason)) = waiting.filter(|(until, _)| self.waiting != Some(*until)) {
            self.waiting = Some(until);
            self.output.screen.report(&LoopEvent::Waiting { until, reason });
        }
        if let Some(status) = state.status(context.clock.now) {
            self.output.screen.report(&LoopEvent::Status(&status));
        }
        Ok(())
    }

    /// Says how the loop ended. Returns its exit code.
    fn end(&mut self, context: &Context, state: &LoopState) -> u8 {
        let (class, words, code) = state.end();
        match context.json {
            true => render::json_text(
                &serde_json::json!({ "event": "stopped", "class": class, "reason": words }).to_string(),
            ),
            false => render::talk(&format!("cerberus: {words}")),
        }
        code
    }
}

fn end_of(row: &Iteration) -> (EndedAttempt, AttemptSummary) {
    let ended = EndedAttempt {
        how: row.how.unwrap_or(cerberus_loop::totals::AttemptEnd::IterationEnd),
        counts: SpentIteration::Spent,
        progress: LoopProgress::Unknown,
        claimed: false,
        failure: row.failure.clone(),
        tokens: row.tokens.unwrap_or_default(),
        cost_usd: row.cost_usd,
        priced_by: row.priced_by.clone(),
        fill_percent: row.fill_percent,
        certainty: row.certainty,
    };
    let check = row.check.as_ref().map(|check| match check.passed {
        true => "passed".to_string(),
        false => format!("failed: {}", &*check.words),
    });
    let took = row.ended_at.map_or(Duration::ZERO, |ended| ended.since(row.started_at));
    let changed_files = row.changed_files.map(|files| files as usize);
    (ended, AttemptSummary { iteration: row.iteration, took, changed_files, check })
}
