//! What a loop would do first, without doing it. Only the check runs, once.

use super::child::GuardLauncher;
use super::commands::LoopCommands;
use super::interrupts::Interrupts;
use super::job::Job;
use super::runner::now;
use super::task::TaskError;
use crate::completion::CompletionCheck;
use crate::invoke::{Invocation, OpeningPrompts, fresh};
use crate::totals::Totals;

/// The first context of a run.
#[derive(Clone, Debug)]
pub struct FirstContext {
    /// The first message, and the one that follows a warm-up.
    pub opening: OpeningPrompts,
    pub invocation: Invocation,
    pub checked: Option<CompletionCheck>,
}

/// The id that stands for the one that a real run chooses.
const SESSION: &str = "SESSION-ID";

pub fn plan(job: &Job, interrupts: &Interrupts) -> Result<FirstContext, TaskError> {
    let opening = OpeningPrompts::new(&job.settings, &job.task.read()?, None);
    let budget_usd = Totals::new(now()).budget_usd(&job.settings.limits);
    let invocation = fresh(&job.settings, &opening.first, Some(SESSION), budget_usd);
    let token = format!("{:x}-{}", now().millis(), std::process::id());
    let guards = GuardLauncher { program: job.program.clone(), token };
    let commands = LoopCommands { guards: &guards, cwd: &job.located.cwd, cleaner: job.home.cleaner(), interrupts };
    let completion = &job.settings.completion;
    let checked = completion.check.as_ref().map(|check| commands.check(check, completion.check_time_limit).0);
    Ok(FirstContext { opening, invocation, checked })
}
