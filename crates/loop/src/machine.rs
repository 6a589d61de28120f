//! The loop as a state machine: inputs are what happened, effects are what to do next. It does no I/O and never reads
//! the clock.
//!
//! Every context goes through: rest, start, work, hand over, leave, settle. An iteration is spent once, when its
//! attempt is settled. An attempt that had to wait, or never got to work, does not spend its iteration. Every path
//! leads to the next context or to a reason to stop.

mod state;

use std::time::Duration;

pub use state::{
    ContextEnd, Delay, Effect, HandoffAsking, Hook, Input, MachineState, Phase, RunningContext, WantedHandoff,
    WarmUpState,
};

use cerberus_agents::meter::redline::Fill;
use cerberus_agents::stream::{Finish, Speaker, StreamEvent, Wait};
use cerberus_record::time::Timestamp;

use super::completion::CompletionCheck;
use super::failure::{self, LoopFailure, Remedy};
use super::fallback::{WAIT_MIN, is_usage_limit};
use super::reset::{self, UtcOffset};
use super::settings::{Settings, Worker};
use super::stop::{Limit, StopReason};
use super::totals::{AttemptEnd, EndedAttempt, LoopProgress, Totals};

/// The transition function of the loop.
pub struct Machine<'a> {
    settings: &'a Settings,
    asking: HandoffAsking,
    utc_offset: UtcOffset,
}

type Step = (Phase, Vec<Effect>);

impl<'a> Machine<'a> {
    pub fn new(settings: &'a Settings) -> Machine<'a> {
        Machine { settings, asking: settings.worker.asking(), utc_offset: UtcOffset::default() }
    }

    /// Agents tell times of day in local time.
    pub fn in_zone(self, utc_offset: UtcOffset) -> Machine<'a> {
        Machine { utc_offset, ..self }
    }

    /// The first context needs no permission from the hook; later ones do.
    pub fn start(&self, totals: Totals, now: Timestamp) -> MachineState {
        let hook = if totals.last.is_some() { Hook::ToAsk } else { Hook::Agreed };
        MachineState {
            phase: Phase::Resting { until: totals.next_start(&self.settings.pace, now), why: Delay::Pace, hook },
            totals,
            ending: None,
        }
    }

    /// Starts when a limit has passed.
    pub fn start_after(&self, totals: Totals, until: Timestamp, words: String, now: Timestamp) -> MachineState {
        let state = self.start(totals, now);
        let phase = match state.phase {
            Phase::Resting { until: paced, hook, .. } if paced < until => {
                Phase::Resting { until, why: Delay::Limited { words, is_usage: true }, hook }
            }
            phase => phase,
        };
        MachineState { phase, ..state }
    }

    pub fn step(&self, state: MachineState, input: Input, now: Timestamp) -> (MachineState, Vec<Effect>) {
        let MachineState { phase, mut totals, mut ending } = state;
        match (&input, &ending) {
            (Input::Asked, None) => ending = Some(StopReason::Asked),
            (Input::StopFile, None) => ending = Some(StopReason::StopFile),
            (Input::AskedNow, _) => ending = Some(StopReason::AskedNow),
            _ => {}
        }
        let (phase, effects) = match phase {
            Phase::Resting { .. } => self.resting(&mut totals, ending.as_ref(), phase, input, now),
            Phase::Starting(attempt) => self.starting(&totals, attempt, input, now),
            Phase::Working(attempt) => self.working(&totals, attempt, input, now),
            Phase::HandingOver { .. } => self.handing_over(&totals, phase, input, now),
            Phase::Leaving { attempt, over, since } => self.leaving(attempt, over, since, input, now),
            Phase::Settling { attempt, over } => self.settling(&mut totals, ending.as_ref(), attempt, over, input, now),
            Phase::Stopped(stop) => (Phase::Stopped(stop), Vec::new()),
        };
        (MachineState { phase, totals, ending }, effects)
    }

    fn resting(
        &self,
        totals: &mut Totals,
        ending: Option<&StopReason>,
        phase: Phase,
        input: Input,
        now: Timestamp,
    ) -> Step {
        let Phase::Resting { until, why, hook } = phase else { return (phase, Vec::new()) };
        if let Some(stop) = ending {
            return finish(stop.clone());
        }
        if let Some(limit) = totals.limit(&self.settings.limits, 0, None, now) {
            return finish(StopReason::Limit(limit));
        }
        let hook = match (input, hook) {
            (Input::HookAgreed, Hook::Asked) => Hook::Agreed,
            (Input::HookRefused { words }, Hook::Asked) => return finish(StopReason::HookRefused { words }),
            (_, hook) => hook,
        };
        match hook {
            _ if now < until => (Phase::Resting { until, why, hook }, Vec::new()),
            Hook::ToAsk => {
                let how = totals.last.unwrap_or(AttemptEnd::IterationEnd);
                (Phase::Resting { until, why, hook: Hook::Asked }, vec![Effect::AskHook(how)])
            }
            Hook::Asked => (Phase::Resting { until, why, hook }, Vec::new()),
            Hook::Agreed => {
                totals.begin_attempt(now);
                (Phase::Starting(self.attempt(now)), vec![Effect::Begin])
            }
        }
    }

    fn attempt(&self, now: Timestamp) -> RunningContext {
        let has_warm_up = self.settings.warm_up.is_some() && self.asking == HandoffAsking::Live;
        RunningContext {
            began: now,
            last_output: now,
            quiet_until: now,
            turns: 0,
            tool_failures: 0,
            denied: None,
            warming: if has_warm_up { WarmUpState::Busy } else { WarmUpState::No },
            wanted: WantedHandoff::Nothing,
            is_acknowledged: false,
            reading: None,
            tokens: 0,
            cost_usd: None,
        }
    }

    /// The first sign of work acknowledges the handoff, which was part of the prompt.
    fn starting(&self, totals: &Totals, mut attempt: RunningContext, input: Input, now: Timestamp) -> Step {
        let is_sign = match &input {
            Input::Output { event, .. } => matches!(
                event,
                StreamEvent::Text(_)
                    | StreamEvent::Tool { .. }
                    | StreamEvent::Usage { own: Speaker::Main, .. }
                    | StreamEvent::Finished(Finish::Done { .. })
            ),
            Input::Exited { exit, .. } => self.settings.worker == Worker::COMMAND && exit.is_success(),
            _ => false,
        };
        if !is_sign {
            return match self.working(totals, attempt, input, now) {
                (Phase::Working(attempt), effects) => (Phase::Starting(attempt), effects),
                other => other,
            };
        }
        attempt.is_acknowledged = true;
        let (phase, mut effects) = self.working(totals, attempt, input, now);
        effects.insert(0, Effect::Acknowledged);
        (phase, effects)
    }

    fn working(&self, totals: &Totals, mut attempt: RunningContext, input: Input, now: Timestamp) -> Step {
        match input {
            Input::Output { event, reading, tokens, cost_usd } => {
                attempt.observe(&event, reading, tokens, cost_usd, now);
                if let StreamEvent::Finished(finish) = event {
                    return self.finished(attempt, finish, now);
                }
                if let Some(limit) = totals.limit(&self.settings.limits, tokens, cost_usd, now) {
                    return leave_now(attempt, ContextEnd::limited(limit), now);
                }
                self.triggered(attempt, &event)
            }
            Input::Tick => self.waited(totals, attempt, now),
            Input::HookAgreed => self.agreed(attempt, now),
            Input::HookRefused { words } => {
                attempt.wanted = WantedHandoff::Refused;
                let notice = format!("the pre_reboot hook refused a fresh context; this one continues: {words}");
                (Phase::Working(attempt), vec![Effect::Tell(notice)])
            }
            Input::Exited { exit, words } => {
                let over = match (self.settings.worker, exit.is_success()) {
                    (Worker::COMMAND, true) => ContextEnd::of(AttemptEnd::IterationEnd),
                    _ => ContextEnd::failed(self.with_end(failure::of_exit(exit, &words), &attempt, now)),
                };
                settle(attempt, over)
            }
            Input::Flooded { bytes_max } => {
                let words = format!("it printed more than {} MiB", bytes_max >> 20);
                leave_now(attempt, ContextEnd::failed(LoopFailure::Crashed { words }), now)
            }
            Input::Unpriced { model } => self.unpriced(attempt, &model, now),
            Input::AskedNow => leave_now(attempt, ContextEnd::of(AttemptEnd::Interrupted), now),
            _ => (Phase::Working(attempt), Vec::new()),
        }
    }

    /// A limit that cannot be checked is no limit.
    fn unpriced(&self, attempt: RunningContext, model: &str, now: Timestamp) -> Step {
        if self.settings.limits.cost_usd.is_none() {
            return (Phase::Working(attempt), Vec::new());
        }
        let words = format!("the price of {model} is unknown, so the limit in dollars cannot be kept");
        leave_now(attempt, ContextEnd::failed(LoopFailure::NeedsUser { remedy: Remedy::Price, words }), now)
    }

    fn finished(&self, mut attempt: RunningContext, finish: Finish, now: Timestamp) -> Step {
        match finish {
            Finish::Done { .. } if attempt.warming == WarmUpState::Busy => {
                let delay = self.settings.warm_up.as_ref().map_or(Duration::ZERO, |warm_up| warm_up.delay);
                attempt.warming = WarmUpState::Done(now.plus(delay));
                (Phase::Working(attempt), Vec::new())
            }
            Finish::Done { .. } => leave(attempt, ContextEnd::of(AttemptEnd::IterationEnd), now),
            Finish::Failed(fault) => {
                let failure = self.with_end(failure::of_fault(&fault), &attempt, now);
                leave(attempt, ContextEnd::failed(failure), now)
            }
        }
    }

    /// Until when a limit lasts: the agent may have reported it earlier, or says it in words.
    fn with_end(&self, failure: LoopFailure, attempt: &RunningContext, now: Timestamp) -> LoopFailure {
        match failure {
            LoopFailure::Limited { kind, wait: Wait::Unknown, words } => {
                let wait = match attempt.quiet_until > now {
                    true => Wait::Until(attempt.quiet_until),
                    false => reset::wait(&words, now, self.utc_offset),
                };
                LoopFailure::Limited { kind, wait, words }
            }
            failure => failure,
        }
    }

    /// Checks whether this context should be replaced by a fresh one.
    fn triggered(&self, attempt: RunningContext, event: &StreamEvent) -> Step {
        let triggers = &self.settings.triggers;
        let fill = attempt.reading.as_ref().map_or(Fill::Below, |reading| self.settings.redline.judge(reading));
        let matches_pattern =
            |pattern: &String| matches!(event, StreamEvent::Text(text) if text.contains(pattern.as_str()));
        let how = match fill {
            Fill::Hard => Some(AttemptEnd::HardRedline),
            Fill::Soft => Some(AttemptEnd::SoftRedline),
            Fill::Below if triggers.turns.is_some_and(|max| attempt.turns >= max) => Some(AttemptEnd::Turns),
            Fill::Below if triggers.tool_failures.is_some_and(|max| attempt.tool_failures >= max) => {
                Some(AttemptEnd::FailureStreak)
            }
            Fill::Below if triggers.output.as_ref().is_some_and(matches_pattern) => Some(AttemptEnd::OutputPattern),
            Fill::Below => None,
        };
        request_reboot(attempt, how)
    }

    fn waited(&self, totals: &Totals, mut attempt: RunningContext, now: Timestamp) -> Step {
        if let Some(limit) = totals.limit(&self.settings.limits, attempt.tokens, attempt.cost_usd, now) {
            return leave_now(attempt, ContextEnd::limited(limit), now);
        }
        if let WarmUpState::Done(task_at) = attempt.warming {
            if now < task_at {
                return (Phase::Working(attempt), Vec::new());
            }
            attempt.warming = WarmUpState::No;
            attempt.last_output = now;
            return (Phase::Working(attempt), vec![Effect::GiveTask]);
        }
        let silent = now.since(attempt.last_output.max(attempt.quiet_until));
        if silent >= self.settings.stall {
            let words = format!("no output for {}", cerberus_record::span::Span(self.settings.stall));
            let over =
                ContextEnd { failure: Some(LoopFailure::Crashed { words }), ..ContextEnd::of(AttemptEnd::Stall) };
            return leave_now(attempt, over, now);
        }
        let is_old = self.settings.triggers.age.is_some_and(|max| now.since(attempt.began) >= max);
        request_reboot(attempt, is_old.then_some(AttemptEnd::Duration))
    }

    /// The user's hook permits a fresh context.
    fn agreed(&self, mut attempt: RunningContext, now: Timestamp) -> Step {
        let WantedHandoff::Asking(how) = attempt.wanted else { return (Phase::Working(attempt), Vec::new()) };
        attempt.wanted = WantedHandoff::Nothing;
        if how == AttemptEnd::HardRedline || self.asking == HandoffAsking::Never {
            return leave_now(attempt, ContextEnd { hook: Hook::Agreed, ..ContextEnd::of(how) }, now);
        }
        let phase = Phase::HandingOver { attempt, how, asked: now, turns: 0, is_written: false };
        (phase, vec![Effect::AskHandoff])
    }

    /// A live session may finish its current turn before it answers, so the first end of a turn may not be the
    /// answer.
    fn handing_over(&self, totals: &Totals, phase: Phase, input: Input, now: Timestamp) -> Step {
        let Phase::HandingOver { mut attempt, how, asked, mut turns, mut is_written } = phase else {
            return (phase, Vec::new());
        };
        let over = ContextEnd { hook: Hook::Agreed, ..ContextEnd::of(how) };
        match input {
            Input::HandedOver => is_written = true,
            Input::Output { event, reading, tokens, cost_usd } => {
                attempt.observe(&event, reading, tokens, cost_usd, now);
                if let StreamEvent::Finished(finish) = &event {
                    turns += 1;
                    let is_last = is_written || self.asking == HandoffAsking::Resumed || turns > 1;
                    if is_last || matches!(finish, Finish::Failed(_)) {
                        return leave(attempt, over, now);
                    }
                }
                if let Some(limit) = totals.limit(&self.settings.limits, tokens, cost_usd, now) {
                    return leave_now(attempt, ContextEnd { limit: Some(limit), ..over }, now);
                }
                if self.settings.redline.judge(&reading) == Fill::Hard
                    && self.asking == HandoffAsking::Live
                    && !is_written
                {
                    return leave_now(attempt, ContextEnd { how: AttemptEnd::HardRedline, ..over }, now);
                }
            }
            // Asked between two turns, the agent starts a new turn at once. If it does not, it never will.
            Input::Tick if turns > 0 && now.since(attempt.last_output) >= self.settings.linger => {
                return leave_now(attempt, over, now);
            }
            Input::Tick if now.since(asked) >= self.settings.handoff_time_limit => {
                return leave_now(attempt, over, now);
            }
            Input::Exited { .. } => return settle(attempt, over),
            Input::Flooded { .. } => return leave_now(attempt, over, now),
            Input::AskedNow => return leave_now(attempt, ContextEnd::of(AttemptEnd::Interrupted), now),
            _ => {}
        }
        (Phase::HandingOver { attempt, how, asked, turns, is_written }, Vec::new())
    }

    /// If the agent hangs after its last output, its process group is stopped. Its work still counts.
    fn leaving(
        &self,
        mut attempt: RunningContext,
        over: ContextEnd,
        since: Timestamp,
        input: Input,
        now: Timestamp,
    ) -> Step {
        match input {
            Input::Exited { .. } => settle(attempt, over),
            Input::Output { event, reading, tokens, cost_usd } => {
                attempt.observe(&event, reading, tokens, cost_usd, now);
                (Phase::Leaving { attempt, over, since }, Vec::new())
            }
            Input::Tick if now.since(since) >= self.settings.linger => leave_now(attempt, over, now),
            Input::AskedNow => leave_now(attempt, over, now),
            _ => (Phase::Leaving { attempt, over, since }, Vec::new()),
        }
    }

    fn settling(
        &self,
        totals: &mut Totals,
        ending: Option<&StopReason>,
        attempt: RunningContext,
        over: ContextEnd,
        input: Input,
        now: Timestamp,
    ) -> Step {
        let Input::Measured { checked, progress, claimed } = input else {
            return (Phase::Settling { attempt, over }, Vec::new());
        };
        let had_claimed = totals.claimed;
        let ended = attempt.ended(&over, progress, claimed);
        totals.ended(&ended, now);
        let mut effects = vec![Effect::Record(ended.clone())];
        let is_confirmed =
            claimed && had_claimed && progress == LoopProgress::None && self.settings.completion.check.is_none();
        let stop = match (&checked, &over.failure) {
            (Some(CompletionCheck::Passed), _) => Some(StopReason::CheckPassed),
            (Some(CompletionCheck::Changed { files, is_told: true }), _) => {
                Some(StopReason::CheckChanged { files: files.clone() })
            }
            _ if is_confirmed => Some(StopReason::ClaimedTwice),
            _ => self.reason_to_stop(totals, ending, &attempt, &over, &ended, now),
        };
        if let Some(stop) = stop {
            effects.push(Effect::Finish(stop.clone()));
            return (Phase::Stopped(stop), effects);
        }
        effects.extend(notices(&checked, &attempt).map(Effect::Tell));
        let can_switch = self.settings.fallback.is_some() && over.failure.as_ref().is_some_and(is_usage_limit);
        let has_end = !matches!(over.failure, Some(LoopFailure::Limited { wait: Wait::Unknown, .. }));
        let (until, why) = self.rest(totals, over.failure, ended.failure.unwrap_or_default(), now);
        if can_switch && (!has_end || until.since(now) >= WAIT_MIN) {
            effects.push(Effect::SwitchAgent { until });
        } else if totals.is_waiting_too_long(&self.settings.limits, if has_end { until } else { now }) {
            let stop = StopReason::Limit(Limit::Wait);
            effects.push(Effect::Finish(stop.clone()));
            return (Phase::Stopped(stop), effects);
        }
        (Phase::Resting { until, why, hook: over.hook }, effects)
    }

    /// When the next context may start, and why not sooner.
    fn rest(&self, totals: &Totals, failure: Option<LoopFailure>, words: String, now: Timestamp) -> (Timestamp, Delay) {
        let pace = &self.settings.pace;
        let is_usage = failure.as_ref().is_some_and(is_usage_limit);
        let (soonest, why) = match failure {
            Some(LoopFailure::Limited { wait, .. }) => {
                let until = wait.end(now).unwrap_or_else(|| now.plus(totals.pause(pace)));
                (now.max(until), Delay::Limited { words, is_usage })
            }
            Some(_) => (now.plus(totals.backoff(pace)), Delay::Failed { words }),
            None => (now, Delay::Pace),
        };
        let paced = totals.next_start(pace, now);
        if paced > soonest { (paced, Delay::Pace) } else { (soonest, why) }
    }

    fn reason_to_stop(
        &self,
        totals: &Totals,
        ending: Option<&StopReason>,
        attempt: &RunningContext,
        over: &ContextEnd,
        ended: &EndedAttempt,
        now: Timestamp,
    ) -> Option<StopReason> {
        let pace = &self.settings.pace;
        if let Some(LoopFailure::NeedsUser { remedy, words }) = &over.failure {
            return Some(StopReason::NeedsUser { remedy: *remedy, words: words.clone() });
        }
        if let (Some(tool), LoopProgress::None) = (&attempt.denied, ended.progress) {
            let words = format!("the agent was not permitted to use a tool it needs: {tool}");
            return Some(StopReason::NeedsUser { remedy: Remedy::Permission, words });
        }
        if let Some(stop) = ending {
            return Some(stop.clone());
        }
        if let Some(limit) = over.limit.or_else(|| totals.limit(&self.settings.limits, 0, None, now)) {
            return Some(if ended.claimed { StopReason::LimitUnconfirmed(limit) } else { StopReason::Limit(limit) });
        }
        let (words, times) = totals.same.clone().unwrap_or_default();
        if times >= pace.same_failure_max {
            return Some(StopReason::SameFailure { times, words });
        }
        if totals.failures >= pace.failures_max {
            return Some(StopReason::Failures { times: totals.failures, words });
        }
        let idle = totals.without_progress;
        let is_idle = self.settings.limits.no_progress.is_some_and(|max| idle >= max);
        is_idle.then_some(StopReason::NoProgress { iterations: idle })
    }
}

/// Requests a fresh context; the user's hook is asked once.
fn request_reboot(mut attempt: RunningContext, how: Option<AttemptEnd>) -> Step {
    match (how, attempt.wanted) {
        (Some(how), WantedHandoff::Nothing) if attempt.is_acknowledged => {
            attempt.wanted = WantedHandoff::Asking(how);
            (Phase::Working(attempt), vec![Effect::AskHook(how)])
        }
        _ => (Phase::Working(attempt), Vec::new()),
    }
}

/// The agent has finished and should exit by itself.
fn leave(attempt: RunningContext, over: ContextEnd, now: Timestamp) -> Step {
    (Phase::Leaving { attempt, over, since: now }, vec![Effect::CloseInput])
}

fn leave_now(attempt: RunningContext, over: ContextEnd, now: Timestamp) -> Step {
    (Phase::Leaving { attempt, over, since: now }, vec![Effect::StopGroup])
}

fn settle(attempt: RunningContext, over: ContextEnd) -> Step {
    (Phase::Settling { attempt, over }, vec![Effect::Measure])
}

fn finish(stop: StopReason) -> Step {
    (Phase::Stopped(stop.clone()), vec![Effect::Finish(stop)])
}

fn notices(checked: &Option<CompletionCheck>, attempt: &RunningContext) -> impl Iterator<Item = String> {
    let check = match checked {
        Some(CompletionCheck::NoTests) => {
            Some("the check succeeded but ran no tests, so it does not count".to_string())
        }
        Some(CompletionCheck::Failed { words }) => Some(format!("the check does not pass yet: {words}")),
        Some(CompletionCheck::Changed { files, .. }) => {
            Some(format!("the check passed, but does not count, because it was changed: {}", files.join(", ")))
        }
        Some(CompletionCheck::Passed) | None => None,
    };
    let denied = attempt.denied.as_ref().map(|tool| format!("the agent was not permitted to use: {tool}"));
    check.into_iter().chain(denied)
}

#[cfg(test)]
mod tests;
