//! The runner: receives events, asks the machine what to do, and does it.
//!
//! Every step is recorded before it is taken. On any error, running processes are ended first.

mod ending;
mod measuring;
mod reporting;
mod saving;
mod waiting;

use std::collections::VecDeque;
use std::time::{Duration, Instant};

use cerberus_agents::meter::price::PricedBy;
use cerberus_agents::meter::{Windows, windows};
use cerberus_agents::stream::StreamEvent;
use cerberus_os::clock;
use cerberus_record::clean::text::Keep;
use cerberus_record::session::REBOOT;
use cerberus_record::time::Timestamp;
use cerberus_store::journal::JournalError;
use ring::rand::{SecureRandom, SystemRandom};
use serde_json::json;

use super::attempt::{AgentLaunch, Attempt, Incoming, PRINTED_BYTES_MAX};
use super::audience::{Audience, LoopEvent};
use super::child::GuardLauncher;
use super::commands::LoopCommands;
use super::handover::{self, LeftContext, RunHistory};
use super::interrupts::Interrupts;
use super::job::Job;
use super::ledger::{AttemptNumber, LedgerError, LoopLedger};
use super::sessions::{LoopSessions, RecordedBy};
use super::task::TaskError;
use super::worktree;
use crate::entry::{LedgerEntry, LedgerStep, Reboot};
use crate::failure::ProgramExit;
use crate::handoff::claims::named_files;
use crate::handoff::written::{self, WrittenHandoff};
use crate::invoke::{OpeningPrompts, fresh, resumed};
use crate::machine::{Effect, Input, Machine, MachineState, Phase};
use crate::settings::HookPoint;
use crate::stop::StopReason;
use crate::totals::{AttemptEnd, EndedAttempt};

/// How often the clock, the stop file and other terminals are checked.
const TICK: Duration = Duration::from_millis(100);

/// The number of the checkpoint of the state before the loop.
const BEFORE_THE_LOOP: u32 = 0;

#[derive(Debug, thiserror::Error)]
pub enum LoopError {
    #[error(transparent)]
    Ledger(#[from] LedgerError),
    #[error(transparent)]
    Journal(#[from] JournalError),
    #[error("another runner is active in this project")]
    AnotherRunner,
    #[error(transparent)]
    Task(#[from] TaskError),
    #[error("the check cannot work: {0}")]
    Check(String),
    #[error("there is no run to resume: {0}")]
    NothingToResume(String),
}

/// How a runner's turn ended.
pub(super) enum TurnEnd {
    Stopped(StopReason),
    /// Its agent is limited until then; another may go on with what it left.
    Limited {
        until: Timestamp,
        left: Option<LeftContext>,
    },
}

pub(super) struct Runner<'a> {
    pub job: &'a Job,
    pub ledger: LoopLedger,
    pub guards: GuardLauncher,
    pub run: u32,
    pub machine: Machine<'a>,
    pub state: MachineState,
    pub attempt: Option<Attempt>,
    pub recorded_by: RecordedBy,
    /// What the previous context left.
    pub left: Option<LeftContext>,
    pub run_history: RunHistory,
    pub windows: Windows,
    pub audience: &'a mut dyn Audience,
    pub interrupts: &'a Interrupts,
    /// The agent is limited until then, and another could go on.
    pub switch: Option<Timestamp>,
    /// Until when it waits, as far as that was reported.
    pub waiting: Option<(Timestamp, String)>,
    /// The user was notified of the waits in a row.
    pub is_waiting_told: bool,
    /// How far the system's clock is from the steady one, in milliseconds, as far as that was reported.
    pub clock_ahead_ms: i64,
    /// The result of the last check, in words.
    pub check: Option<String>,
    /// Files that were too large for the last checkpoint.
    pub left_out: Vec<String>,
    pub ticked: Instant,
}

/// A new session id: a random UUID, or `None` if the system gives no random bytes.
fn new_session_id() -> Option<String> {
    let mut bytes = [0; 16];
    SystemRandom::new().fill(&mut bytes).ok()?;
    (bytes[6], bytes[8]) = (bytes[6] & 0x0f | 0x40, bytes[8] & 0x3f | 0x80);
    let hex: String = bytes.iter().map(|byte| format!("{byte:02x}")).collect();
    Some([&hex[..8], &hex[8..12], &hex[12..16], &hex[16..20], &hex[20..]].join("-"))
}

fn launch<'a>(job: &'a Job, guards: &'a GuardLauncher, ledger: &'a LoopLedger) -> AgentLaunch<'a> {
    let agent_dir = job.agent_dir.as_deref();
    let prices = &job.prices;
    AgentLaunch {
        settings: &job.settings,
        guards,
        cwd: &job.located.cwd,
        ledger,
        agent_dir,
        prices,
        has_handoff: false,
    }
}

/// What later contexts need too, as far as it is true. What is left to do and what is wrong may change with every
/// context.
fn lasting(said: WrittenHandoff, exists: impl Fn(&str) -> bool) -> WrittenHandoff {
    let WrittenHandoff { mut completed, decisions, notes, .. } = said;
    completed.retain(|item| named_files(item).into_iter().all(&exists));
    WrittenHandoff { completed, decisions, notes, ..WrittenHandoff::default() }
}

/// However the system's clock is set meanwhile.
pub(super) fn now() -> Timestamp {
    clock::steady()
}

impl Runner<'_> {
    /// Runs until there is a reason to stop.
    pub fn run(&mut self) -> Result<TurnEnd, LoopError> {
        let ended = self.turn();
        if let Some(attempt) = &mut self.attempt {
            attempt.stop_now();
            attempt.wait_for_end();
        }
        ended
    }

    fn turn(&mut self) -> Result<TurnEnd, LoopError> {
        if self.state.totals.spent == 0 {
            self.first_checkpoint();
        }
        let _ = self.hook(HookPoint::LoopStart, &json!({}));
        let mut inputs = VecDeque::from([Input::Tick]);
        loop {
            while let Some(input) = inputs.pop_front() {
                let (state, effects) = self.machine.step(self.state.clone(), input, now());
                self.state = state;
                for effect in effects {
                    // Inputs that follow from an effect come before those that arrived meanwhile.
                    self.perform(effect)?.into_iter().rev().for_each(|input| inputs.push_front(input));
                }
                if let Some(until) = self.switch {
                    return self.left_to_another(until);
                }
                self.report_rest()?;
            }
            if let Phase::Stopped(stop) = &self.state.phase {
                return Ok(TurnEnd::Stopped(stop.clone()));
            }
            inputs.extend(self.receive()?);
        }
    }

    /// Ends the session of an agent that cannot go on.
    fn left_to_another(&mut self, until: Timestamp) -> Result<TurnEnd, LoopError> {
        let mut left = self.left.take();
        if let Some(session) = left.as_mut().and_then(|left| left.session.take()) {
            self.sessions().close(&session, REBOOT)?;
        }
        Ok(TurnEnd::Limited { until, left })
    }

    fn perform(&mut self, effect: Effect) -> Result<Vec<Input>, LoopError> {
        match effect {
            Effect::Begin => return self.begin(),
            Effect::Acknowledged => self.acknowledged()?,
            Effect::AskHook(how) => return Ok(vec![self.ask_hook(how)]),
            Effect::AskHandoff => return self.ask_handoff(),
            Effect::GiveTask => {
                let task = self.attempt.as_mut().and_then(|attempt| attempt.opening.task.take());
                if let (Some(attempt), Some(task)) = (&mut self.attempt, task) {
                    attempt.send(&task);
                }
            }
            Effect::CloseInput => self.attempt.iter_mut().for_each(Attempt::close_input),
            Effect::StopGroup if self.interrupts.is_now() => self.attempt.iter_mut().for_each(Attempt::stop_now),
            Effect::StopGroup => self.attempt.iter_mut().for_each(Attempt::stop),
            Effect::Measure => return self.measure(),
            Effect::Record(ended) => self.record(ended)?,
            Effect::Tell(words) => self.audience.report(&LoopEvent::Message(&words)),
            Effect::SwitchAgent { until } => self.switch = Some(until),
            Effect::Finish(stop) => self.finish(&stop)?,
        }
        Ok(Vec::new())
    }

    fn write(&mut self, step: LedgerStep) -> Result<(), LoopError> {
        self.run_history.memory.apply(&step);
        Ok(self.ledger.append(&LedgerEntry { at: now(), run: self.run, step })?)
    }

    fn sessions(&self) -> LoopSessions<'_> {
        LoopSessions { home: &self.job.home, located: &self.job.located, worker: self.job.settings.worker }
    }

    /// Starts a fresh context: composes the handoff, records the attempt, starts the program.
    fn begin(&mut self) -> Result<Vec<Input>, LoopError> {
        let job = self.job;
        self.read_news();
        let totals = &self.state.totals;
        let number = AttemptNumber { run: self.run, iteration: totals.iteration(), attempt: totals.attempts };
        let handoff = handover::compose(job, &self.run_history, self.left.as_ref());
        let (handoff, told) = handoff.map_or((None, Vec::new()), |(handoff, told)| (Some(handoff.text), told));
        told.iter().for_each(|words| self.audience.report(&LoopEvent::Message(words)));
        let text = handoff.as_deref();
        let opening = OpeningPrompts::new(&job.settings, &self.run_history.task, text);
        let _ = self.hook(HookPoint::PreIteration, &json!({ "iteration": number.iteration, "handoff_message": text }));
        let before = self.snapshot()?;
        self.write(LedgerStep::Begun { iteration: number.iteration, attempt: number.attempt })?;
        self.audience.report(&LoopEvent::Begun { iteration: number.iteration, attempt: number.attempt });
        let session = match job.settings.worker.headless() {
            Some(headless) => headless.naming.as_ref().and_then(|_| new_session_id()),
            None => Some(format!("loop-{}-{}-{}", self.guards.token, number.iteration, number.attempt)),
        };
        let budget_usd = self.state.totals.budget_usd(&job.settings.limits);
        let invocation = fresh(&job.settings, &opening.first, session.as_deref(), budget_usd);
        // The agent may choose another id; then it reports it.
        if let Some(session) = session.as_deref().filter(|_| invocation.is_named) {
            self.session_began(session)?;
        }
        let launch = AgentLaunch { has_handoff: handoff.is_some(), ..launch(job, &self.guards, &self.ledger) };
        let started = Attempt::start(&launch, number, &invocation, opening, &self.windows, before);
        let mut attempt = match started {
            Ok(attempt) => attempt,
            Err(error) => {
                let words = format!("the guard could not be started: {error}");
                return Ok(vec![Input::Exited { exit: ProgramExit::Code(1), words }]);
            }
        };
        attempt.handoff = handoff;
        attempt.session = session.filter(|_| invocation.is_named);
        self.attempt = Some(attempt);
        Ok(Vec::new())
    }

    fn session_began(&mut self, session: &str) -> Result<(), LoopError> {
        let id = self.job.home.cleaner().clean(session.to_string(), Keep::NAME);
        self.write(LedgerStep::Session { id })?;
        self.run_history.sessions.push(session.to_string());
        self.audience.report(&LoopEvent::Session(session));
        Ok(())
    }

    /// The new context is at work: records what it was told, and closes its predecessor's session.
    fn acknowledged(&mut self) -> Result<(), LoopError> {
        let Some(attempt) = &self.attempt else { return Ok(()) };
        let session = attempt.session.clone().unwrap_or_default();
        let handoff = attempt.handoff.clone().unwrap_or_default();
        let keep = Keep::words(handoff.len().max(1), 0);
        let reboot = self.left.as_ref().map(|left| Reboot {
            reason: left.how,
            old_session_id: left.session.clone().map(|session| self.job.home.cleaner().clean(session, Keep::NAME)),
            new_session_id: self.job.home.cleaner().clean(session.clone(), Keep::NAME),
            handoff_message: self.job.home.cleaner().clean(handoff, keep),
            transition_time_ms: now().since(left.at).as_millis() as u64,
            warmed_up: self.job.settings.warm_up.is_some(),
        });
        let told = reboot.as_ref().map(|reboot| {
            json!({ "reason": reboot.reason, "old_session_id": reboot.old_session_id.as_deref(),
                "new_session_id": session, "handoff_message": &*reboot.handoff_message,
                "transition_time_ms": reboot.transition_time_ms, "warmed_up": reboot.warmed_up })
        });
        self.write(LedgerStep::Acknowledged { reboot })?;
        self.run_history.heard_task = Some(self.run_history.task.clone());
        if !session.is_empty() {
            self.recorded_by = self.sessions().open(&session)?;
        }
        if let Some(old) = self.left.take().and_then(|left| left.session).filter(|old| *old != session) {
            self.sessions().close(&old, REBOOT)?;
        }
        if let Some(told) = told {
            let _ = self.hook(HookPoint::PostReboot, &told);
        }
        Ok(())
    }

    fn ask_hook(&mut self, how: AttemptEnd) -> Input {
        let preserved = self.attempt.as_ref().map(|attempt| self.left_context(attempt, how));
        let preserved =
            preserved.as_ref().or(self.left.as_ref()).map(|left| handover::state(self.job, &self.run_history, left).0);
        match self.hook(HookPoint::PreReboot, &json!({ "reason": how, "state": preserved })) {
            Ok(()) => Input::HookAgreed,
            Err(words) => Input::HookRefused { words },
        }
    }

    fn ask_handoff(&mut self) -> Result<Vec<Input>, LoopError> {
        let job = self.job;
        let Some(attempt) = &mut self.attempt else { return Ok(Vec::new()) };
        attempt.heard.asked();
        let session = attempt.session.clone().unwrap_or_default();
        let request = written::request();
        let Some(invocation) = resumed(&job.settings, &session, &request) else {
            attempt.send(&request);
            return Ok(Vec::new());
        };
        let launch = launch(job, &self.guards, &self.ledger);
        Ok(match attempt.continue_with(&launch, &invocation) {
            Ok(()) => Vec::new(),
            Err(_) => vec![attempt.exited(ProgramExit::Code(1))],
        })
    }

    fn commands(&self) -> LoopCommands<'_> {
        let (cwd, cleaner) = (&self.job.located.cwd, self.job.home.cleaner());
        LoopCommands { guards: &self.guards, cwd, cleaner, interrupts: self.interrupts }
    }

    /// What the attempt leaves, as far as the runner knows.
    fn left_context(&self, attempt: &Attempt, how: AttemptEnd) -> LeftContext {
        LeftContext {
            how,
            session: attempt.session.clone().filter(|session| !session.is_empty()),
            at: now(),
            words: attempt.last_words.clone(),
            heard: attempt.heard.clone(),
        }
    }

    fn record(&mut self, mut ended: EndedAttempt) -> Result<(), LoopError> {
        ended.priced_by = self.attempt.as_ref().and_then(|attempt| attempt.meter.priced_by());
        self.state.totals.priced_by = PricedBy::and(self.state.totals.priced_by.take(), ended.priced_by.clone());
        self.write(LedgerStep::Ended(ended.clone()))?;
        let Some(attempt) = self.attempt.take() else { return Ok(()) };
        self.checkpoint(attempt.number.iteration);
        windows::learn(&self.job.home, &mut self.windows, attempt.meter.reported_windows());
        let left = self.left_context(&attempt, ended.how);
        if let (RecordedBy::Runner, Some(session)) = (self.recorded_by, &left.session)
            && !left.words.trim().is_empty()
        {
            self.sessions().record_last_words(session, &left.words)?;
        }
        if let (None, Some(session)) = (attempt.handed_over, &left.session) {
            let said = lasting(left.heard.last_words(), worktree::existing(&self.job.located));
            self.sessions().record_handoff(session, &said)?;
        }
        // A successor that never got to work leaves its predecessor's state as it was.
        match &mut self.left {
            Some(kept) => kept.how = ended.how,
            None => self.left = Some(left),
        }
        self.report_end(&ended, attempt.number.iteration, attempt.began)?;
        let told = serde_json::to_value(&ended).unwrap_or_default();
        let _ = self.hook(HookPoint::PostIteration, &json!({ "ended": told }));
        Ok(())
    }

    fn finish(&mut self, stop: &StopReason) -> Result<(), LoopError> {
        let words = self.job.home.cleaner().clean(stop.words(), Keep::ERROR);
        self.write(LedgerStep::Stopped { class: stop.class(), words })?;
        if let Some(session) = self.left.as_ref().and_then(|left| left.session.clone()) {
            self.sessions().close(&session, stop.class().word())?;
        }
        let _ = self.hook(HookPoint::LoopEnd, &json!({ "stop": stop.class(), "stop_reason": stop.words() }));
        self.audience.report(&LoopEvent::Stopped(stop));
        self.on_done(stop);
        self.notify_end(stop);
        Ok(())
    }

    /// The agent's own handoff, once it is complete. It is recorded while its session is live.
    fn take_handoff(&self, attempt: &mut Attempt) -> Result<Option<Input>, LoopError> {
        let Some(written) = attempt.heard.finished().filter(|_| attempt.handed_over.is_none()) else {
            return Ok(None);
        };
        if let Some(session) = &attempt.session {
            self.sessions().record_handoff(session, &written)?;
        }
        attempt.handed_over = Some(now());
        Ok(Some(Input::HandedOver))
    }

    /// Waits briefly for input from the agent, the clock, the user or another terminal.
    fn receive(&mut self) -> Result<Vec<Input>, LoopError> {
        let mut inputs = Vec::new();
        match self.attempt.take() {
            Some(mut attempt) => {
                for heard in attempt.receive(TICK) {
                    let known = attempt.session.clone();
                    match heard {
                        Incoming::Said(said) => {
                            self.audience.report(&LoopEvent::Said(&said));
                            self.report_agents_wait(&said)?;
                            let is_text = matches!(said, StreamEvent::Text(_));
                            inputs.push(attempt.input(said));
                            inputs.extend(attempt.unpriced());
                            if is_text {
                                inputs.extend(self.take_handoff(&mut attempt)?);
                            }
                        }
                        Incoming::Error(text) => self.audience.report(&LoopEvent::Error(&text)),
                        Incoming::Flooded => inputs.push(Input::Flooded { bytes_max: PRINTED_BYTES_MAX }),
                        Incoming::Exited(exit) => inputs.push(attempt.exited(exit)),
                    }
                    if let Some(session) = attempt.session.clone().filter(|_| attempt.session != known) {
                        self.session_began(&session)?;
                    }
                }
                self.attempt = Some(attempt);
            }
            None => std::thread::sleep(TICK),
        }
        if self.ticked.elapsed() >= TICK {
            self.ticked = Instant::now();
            inputs.extend(self.user_request());
            inputs.push(Input::Tick);
            self.report_clock();
            let status = self.status();
            self.audience.report(&LoopEvent::Status(&status));
        }
        Ok(inputs)
    }

    /// A request of the user, from here or from another terminal.
    fn user_request(&mut self) -> Option<Input> {
        if let Some(request) = self.ledger.request() {
            self.interrupts.follow(request);
        }
        let stop_file = self.job.settings.stop_file.as_ref();
        let is_there = stop_file.is_some_and(|path| self.job.located.cwd.join(path).exists());
        match (self.interrupts.is_now(), self.interrupts.is_asked()) {
            (true, _) => Some(Input::AskedNow),
            (false, true) => Some(Input::Asked),
            (false, false) => is_there.then_some(Input::StopFile),
        }
    }
}
