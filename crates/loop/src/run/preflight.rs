//! Before a run begins: the check is tried once, and its files are remembered.

use std::time::Duration;

use super::audience::{Audience, LoopEvent};
use super::check_files;
use super::child::GuardLauncher;
use super::commands::LoopCommands;
use super::interrupts::Interrupts;
use super::job::Job;
use super::ledger::LoopLedger;
use super::runner::{LoopError, now};
use crate::entry::{LedgerEntry, LedgerStep};
use crate::history::RunState;
use crate::memory::RunMemory;
use crate::texts::OneLine;

/// A check that still runs after this time can be started, which is all that matters before the first context.
const TRY_TIME_MAX: Duration = Duration::from_secs(60);

/// Runs a new check once before any money is spent. One that cannot work is refused.
pub fn try_check(
    job: &Job,
    before: Option<&RunState>,
    guards: &GuardLauncher,
    audience: &mut dyn Audience,
    interrupts: &Interrupts,
) -> Result<(), LoopError> {
    let completion = &job.settings.completion;
    let Some(check) = &completion.check else { return Ok(()) };
    if before.is_some_and(|run_state| run_state.layer.until.as_ref() == Some(check)) {
        return Ok(());
    }
    audience.report(&LoopEvent::Checking(check));
    let (cwd, cleaner) = (&job.located.cwd, job.home.cleaner());
    let commands = LoopCommands { guards, cwd, cleaner, interrupts };
    if commands.try_check(check, completion.check_time_limit.min(TRY_TIME_MAX)).map_err(LoopError::Check)? {
        let told = "the check passes already, before any work; make sure that it proves what you want";
        audience.report(&LoopEvent::Message(told));
    }
    Ok(())
}

/// Records the files of the check, unless the run knows them already.
pub fn remember_check(job: &Job, ledger: &LoopLedger, run: u32, mut memory: RunMemory) -> Result<RunMemory, LoopError> {
    let Some(check) = &job.settings.completion.check else { return Ok(memory) };
    let command = OneLine::new(job.home.cleaner(), check);
    let is_known = memory.check_files.as_ref().is_some_and(|(known, _)| *known == command);
    if !is_known || job.settings.completion.allow_check_change {
        let files = check_files::read(&job.located.cwd, job.home.cleaner(), check);
        let step = LedgerStep::CheckFiles { command, files };
        memory.apply(&step);
        ledger.append(&LedgerEntry { at: now(), run, step })?;
    }
    Ok(memory)
}
