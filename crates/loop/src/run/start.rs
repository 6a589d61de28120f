//! Begins a run, or resumes one after whatever ended it.
//!
//! To resume, first end what a dead runner left running, then read what it recorded. An attempt whose agent was
//! launched counts; one that was not launched is repeated. Either way it is settled before anything else begins.

use std::time::{Duration, Instant};

use cerberus_agents::meter::windows;
use cerberus_os::process;
use cerberus_record::clean::text::{Clean, Keep};
use cerberus_record::session::LoopEnd;
use cerberus_record::time::Timestamp;
use cerberus_store::project::git;

use super::audience::{Audience, LoopEvent};
use super::child::GuardLauncher;
use super::descendants;
use super::handover::{LeftContext, RunHistory};
use super::interrupts::Interrupts;
use super::job::Job;
use super::ledger::LoopLedger;
use super::preflight::{remember_check, try_check};
use super::runner::{LoopError, Runner, TurnEnd, now};
use super::sessions::RecordedBy;
use super::spent::{self, AttemptRemains};
use crate::entry::{LedgerEntry, LedgerStep, RunPlace};
use crate::handoff::messages::AgentMessages;
use crate::history::{self, RunState};
use crate::machine::Machine;
use crate::stop::StopReason;
use crate::totals::{AttemptEnd, EndedAttempt, Totals};

/// How long the processes of a dead runner may take to end.
const REAP_TIME_MAX: Duration = Duration::from_secs(30);

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Start {
    Fresh,
    Resume,
}

/// The state of the project's last run, if it can be resumed.
pub fn resumable(ledger: &LoopLedger) -> Result<RunState, LoopError> {
    let nothing = |why: &str| LoopError::NothingToResume(why.to_string());
    let run_state = history::latest_run(&ledger.read(Timestamp::LAST)?)
        .ok_or_else(|| nothing("no loop has run in this project"))?;
    match &run_state.stopped {
        Some((LoopEnd::Complete, words)) => Err(nothing(&format!("the last run is complete: {words}"))),
        _ => Ok(run_state),
    }
}

/// Runs a loop to its end. Whenever the agent at work reaches its usage limit, the one that is available first goes on.
pub fn run(
    jobs: &[Job],
    start: Start,
    audience: &mut dyn Audience,
    interrupts: &Interrupts,
) -> Result<StopReason, LoopError> {
    let Some(first) = jobs.first() else { return Err(LoopError::NothingToResume("there is no job".to_string())) };
    let ledger = LoopLedger::at(&first.home, &first.located);
    let Some(_lock) = ledger.lock()? else { return Err(LoopError::AnotherRunner) };
    ledger.forget_requests();
    descendants::adopt();
    audience.report(&LoopEvent::Limits(&first.settings.limits));
    let mut limited = vec![Timestamp::EPOCH; jobs.len()];
    let (mut current, mut start, mut left) = (0, start, None);
    loop {
        let job = &jobs[current];
        let turned = run_with(job, &ledger, start, left.take(), limited[current], audience, interrupts)?;
        let (until, what_is_left) = match turned {
            TurnEnd::Stopped(stop) => return Ok(stop),
            TurnEnd::Limited { until, left } => (until, left),
        };
        (limited[current], start, left) = (until, Start::Resume, what_is_left);
        let before = job.settings.worker.name();
        current = (0..jobs.len()).min_by_key(|index| limited[*index].max(now())).unwrap_or(current);
        let words = match jobs[current].settings.worker.name() {
            next if next == before => format!("{before} reached its usage limit, and so did the other agent"),
            next => format!("{before} reached its usage limit; {next} continues"),
        };
        audience.report(&LoopEvent::Message(&words));
    }
}

/// Runs until a reason to stop, or until the agent is limited and another could go on.
fn run_with(
    job: &Job,
    ledger: &LoopLedger,
    start: Start,
    left: Option<LeftContext>,
    not_before: Timestamp,
    audience: &mut dyn Audience,
    interrupts: &Interrupts,
) -> Result<TurnEnd, LoopError> {
    let (before, heard) = settle_last_attempt(job, ledger)?;
    let run_state = match start {
        Start::Resume => Some(resumable(ledger)?),
        Start::Fresh => None,
    };
    let task = job.task.read()?;
    let began = now();
    let token = format!("{:x}-{}", began.millis(), std::process::id());
    let guards = GuardLauncher { program: job.program.clone(), token: token.clone() };
    try_check(job, run_state.as_ref(), &guards, audience, interrupts)?;
    let run = run_state.as_ref().or(before.as_ref()).map_or(1, |known| match start {
        Start::Resume => known.run,
        Start::Fresh => known.run.saturating_add(1),
    });
    let base = git::head(&job.located).map(|head| job.home.cleaner().clean(head, Keep::NAME));
    for step in [run_step(job, &token, start, base.clone()), LedgerStep::Place(place(job))] {
        ledger.append(&LedgerEntry { at: began, run, step })?;
    }
    let memory = run_state.as_ref().map(|run_state| run_state.memory.clone()).unwrap_or_default();
    let memory = remember_check(job, ledger, run, memory)?;
    let totals = match start {
        Start::Resume => {
            history::latest_run(&ledger.read(Timestamp::LAST)?).map_or(Totals::new(began), |run_state| run_state.totals)
        }
        Start::Fresh => Totals::new(began),
    };
    let (sessions, base) = match &run_state {
        Some(run_state) => (run_state.sessions.clone(), run_state.base.clone()),
        None => (Vec::new(), base.map(|base| base.to_string())),
    };
    let run_history = RunHistory { sessions, base, memory, task, heard_task: None };
    let left = left.or_else(|| run_state.as_ref().and_then(|run_state| last_context(run_state, heard)));
    let machine = Machine::new(&job.settings).in_zone(job.utc_offset);
    let words = format!("{} has reached its usage limit", job.settings.worker.name());
    let state = machine.start_after(totals, not_before, words, began);
    let windows = windows::load(&job.home);
    let (recorded_by, ticked, attempt) = (RecordedBy::Hooks, Instant::now(), None);
    Runner {
        job,
        ledger: ledger.clone(),
        guards,
        run,
        machine,
        state,
        attempt,
        recorded_by,
        left,
        run_history,
        windows,
        audience,
        interrupts,
        switch: None,
        waiting: None,
        is_waiting_told: false,
        clock_ahead_ms: 0,
        check: None,
        left_out: Vec::new(),
        ticked,
    }
    .run()
}

/// Ends what a dead runner left running, and settles its last attempt.
fn settle_last_attempt(job: &Job, ledger: &LoopLedger) -> Result<(Option<RunState>, AgentMessages), LoopError> {
    let nothing = || Ok((None, AgentMessages::default()));
    let Some(run_state) = history::latest_run(&ledger.read(Timestamp::LAST)?) else { return nothing() };
    descendants::kill_with_token(&run_state.token, REAP_TIME_MAX);
    // Read again, because the guard may have written until it was ended.
    let Some(run_state) = history::latest_run(&ledger.read(Timestamp::LAST)?) else { return nothing() };
    let mut heard = AgentMessages::default();
    if let Some(open) = &run_state.open {
        let remains = spent::of_open_attempt(job, ledger, &run_state, open);
        let AttemptRemains { tokens, cost_usd, priced_by, heard: said } = remains;
        let step = LedgerStep::Ended(EndedAttempt { tokens, cost_usd, priced_by, ..history::died(open) });
        heard = said;
        ledger.append(&LedgerEntry { at: now(), run: run_state.run, step })?;
    }
    Ok((Some(run_state), heard))
}

/// The beginning of a run, or of its continuation.
fn run_step(job: &Job, token: &str, start: Start, base: Option<Clean<'static>>) -> LedgerStep {
    LedgerStep::Run {
        worker: job.settings.worker,
        token: job.home.cleaner().clean(token.to_string(), Keep::NAME),
        runner: process::own(),
        is_resumed: start == Start::Resume,
        layer: Box::new(job.layer.clone().without_secrets(job.home.cleaner())),
        base,
    }
}

fn place(job: &Job) -> RunPlace {
    let clean = |text: String| job.home.cleaner().clean(text, Keep::NAME);
    let root = clean(job.located.root.to_string_lossy().into_owned());
    RunPlace { root, branch: job.located.branch().map(clean) }
}

/// What the last context that got to work left behind.
fn last_context(run_state: &RunState, heard: AgentMessages) -> Option<LeftContext> {
    let how = run_state.totals.last.unwrap_or(AttemptEnd::RunnerDied);
    run_state.totals.last?;
    let session = run_state.sessions.last().cloned();
    Some(LeftContext { how, session, at: run_state.last_at, words: String::new(), heard })
}
