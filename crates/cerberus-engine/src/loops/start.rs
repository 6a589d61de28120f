//! A run begins, or is taken up again after whatever ended it.
//!
//! Taking up: what a dead runner left running is ended first, then what it wrote is read. An attempt whose agent was
//! launched is spent, one that was not is made again; either way it is settled before anything else begins.

use std::time::{Duration, Instant};

use cerberus_core::clean::text::Keep;
use cerberus_core::loops::handoff::heard::Heard;
use cerberus_core::loops::history::{self, Entry, Standing, Step};
use cerberus_core::loops::machine::Machine;
use cerberus_core::loops::stop::Stop;
use cerberus_core::loops::totals::{How, Totals};
use cerberus_core::model::session::LoopEnd;

use super::audience::Audience;
use super::below;
use super::child::Guarding;
use super::handover::{Left, Story};
use super::interrupts::Interrupts;
use super::ledger::Ledger;
use super::runner::{Job, LoopError, Runner, now};
use super::sessions::Known;
use super::windows;
use crate::os::process;
use crate::project::git;

/// How long what a dead runner left may take to be gone.
const REAP_TIME_MAX: Duration = Duration::from_secs(30);

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Start {
    Afresh,
    Resume,
}

/// Where the last run of the project stands, and what it was told, if there is one to be taken up again.
pub fn resumable(ledger: &Ledger) -> Result<Standing, LoopError> {
    let nothing = |why: &str| LoopError::NothingToResume(why.to_string());
    let standing = history::standing(&ledger.read(now())?).ok_or_else(|| nothing("no loop has run in this project"))?;
    match &standing.stopped {
        Some((LoopEnd::Complete, words)) => Err(nothing(&format!("the last run is complete: {words}"))),
        _ => Ok(standing),
    }
}

/// Runs a loop to its end.
pub fn run(job: &Job, start: Start, audience: &mut dyn Audience, interrupts: &Interrupts) -> Result<Stop, LoopError> {
    let ledger = Ledger::new(&job.home, &job.located.project);
    let Some(_lock) = ledger.lock()? else { return Err(LoopError::AnotherRunner) };
    ledger.forget_requests();
    below::adopt();
    let before = settled(&ledger)?;
    let standing = match start {
        Start::Resume => Some(resumable(&ledger)?),
        Start::Afresh => None,
    };
    let run = standing.as_ref().or(before.as_ref()).map_or(1, |known| match start {
        Start::Resume => known.run,
        Start::Afresh => known.run.saturating_add(1),
    });
    let began = now();
    let token = format!("{:x}-{}", began.millis(), std::process::id());
    let base = git::head(&job.located).map(|head| job.home.cleaner().clean(head, Keep::NAME));
    let step = Step::Run {
        worker: job.settings.worker,
        token: job.home.cleaner().clean(token.clone(), Keep::NAME),
        runner: process::own(),
        is_resumed: start == Start::Resume,
        layer: Box::new(job.layer.clone().without_secrets(job.home.cleaner())),
        base: base.clone(),
    };
    ledger.append(&Entry { at: began, run, step })?;
    let totals = match start {
        Start::Resume => history::standing(&ledger.read(began)?).map_or(Totals::new(began), |standing| standing.totals),
        Start::Afresh => Totals::new(began),
    };
    let story = match &standing {
        Some(standing) => Story { sessions: standing.sessions.clone(), base: standing.base.clone() },
        None => Story { sessions: Vec::new(), base: base.map(|base| base.to_string()) },
    };
    let left = standing.as_ref().and_then(left_behind);
    let machine = Machine::new(&job.settings);
    let state = machine.start(totals, began);
    let guarding = Guarding { program: job.program.clone(), token };
    let windows = windows::load(&job.home);
    let (known, ticked) = (Known::ByHooks, Instant::now());
    let attempt = None;
    Runner {
        job,
        ledger,
        guarding,
        run,
        machine,
        state,
        attempt,
        known,
        left,
        story,
        windows,
        audience,
        interrupts,
        ticked,
    }
    .run()
}

/// Ends what a dead runner left, and settles the attempt that it did not live to settle.
fn settled(ledger: &Ledger) -> Result<Option<Standing>, LoopError> {
    let Some(standing) = history::standing(&ledger.read(now())?) else { return Ok(None) };
    below::kill_with_token(&standing.token, REAP_TIME_MAX);
    // Read again: the guard may have written until it was ended.
    let Some(standing) = history::standing(&ledger.read(now())?) else { return Ok(None) };
    if let Some(open) = &standing.open {
        let step = Step::Ended(history::died(open));
        ledger.append(&Entry { at: now(), run: standing.run, step })?;
    }
    Ok(Some(standing))
}

/// The context that is taken over from, if any got to work.
fn left_behind(standing: &Standing) -> Option<Left> {
    let how = standing.totals.last.unwrap_or(How::RunnerDied);
    standing.totals.last?;
    let session = standing.sessions.last().cloned();
    Some(Left { how, session, at: standing.last_at, words: String::new(), heard: Heard::default() })
}
