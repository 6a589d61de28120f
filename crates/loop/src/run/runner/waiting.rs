//! Waiting is reported and recorded with its reason and its end, so that every terminal and every log shows it.

use std::time::Duration;

use cerberus_agents::meter::limit_notice;
use cerberus_agents::stream::StreamEvent;
use cerberus_os::clock::Clock;
use cerberus_record::clean::text::Keep;
use cerberus_record::span::Span;
use cerberus_record::time::Timestamp;
use serde_json::json;

use super::{LoopError, Runner, now};
use crate::entry::{LedgerStep, WaitState};
use crate::machine::{Delay, Phase};
use crate::run::audience::LoopEvent;

/// A shorter pause is not worth a message.
const SHORT: Duration = Duration::from_secs(2);

/// By how much the system's clock must be set before it is worth a message.
const CLOCK_CHANGE_MS: i64 = 60_000;

impl Runner<'_> {
    /// Between two contexts.
    pub(super) fn report_rest(&mut self) -> Result<(), LoopError> {
        match &self.state.phase {
            Phase::Resting { until, why, .. } => {
                let (until, words) = (*until, why.words());
                let is_usage = matches!(why, Delay::Limited { is_usage: true, .. });
                let is_first = matches!(why, Delay::Limited { .. }) && self.state.totals.waits == 1;
                if is_first && !self.is_waiting_told {
                    self.notify(&format!("waiting: {words}"), &[("waiting", json!(words))]);
                }
                self.is_waiting_told = is_first || self.state.totals.waits > 1;
                self.report_wait(until, &words)?;
                if is_usage && is_first {
                    self.report_other_agents();
                }
                Ok(())
            }
            _ => Ok(()),
        }
    }

    /// What the user can do while a usage limit lasts.
    fn report_other_agents(&mut self) {
        let Some(session) = self.run_history.sessions.last() else { return };
        let words = format!("`{}` goes on in another agent", limit_notice::command(session));
        self.audience.report(&LoopEvent::Message(&words));
    }

    /// The agent itself waits for its model.
    pub(super) fn report_agents_wait(&mut self, said: &StreamEvent) -> Result<(), LoopError> {
        let StreamEvent::Waiting { wait, fault } = said else { return Ok(()) };
        let Some(until) = wait.end(now()) else { return Ok(()) };
        let words = if fault.words.is_empty() { &fault.kind } else { &fault.words };
        let status = fault.http_status.map(|status| format!(" ({status})")).unwrap_or_default();
        self.report_wait(until, &format!("the agent waits for its model: {words}{status}"))
    }

    /// The system's clock was set.
    pub(super) fn report_clock(&mut self) {
        let ahead_ms = Clock::new(None).wall.millis().saturating_sub(now().millis());
        let changed_ms = ahead_ms.saturating_sub(self.clock_ahead_ms);
        if changed_ms.saturating_abs() < CLOCK_CHANGE_MS {
            return;
        }
        self.clock_ahead_ms = ahead_ms;
        let by = Span(Duration::from_secs((changed_ms.unsigned_abs() + 30_000) / 60_000 * 60));
        let way = if changed_ms > 0 { "forward" } else { "back" };
        let words =
            format!("the system's clock was set {way} by {by}; the loop counts the time that has really passed");
        self.audience.report(&LoopEvent::Message(&words));
    }

    fn report_wait(&mut self, until: Timestamp, reason: &str) -> Result<(), LoopError> {
        if until <= now().plus(SHORT) {
            return Ok(());
        }
        let before = self.waiting.replace((until, reason.to_string()));
        if before.as_ref().is_some_and(|before| before.0 == until && before.1 == reason) {
            return Ok(());
        }
        let reason = self.job.home.cleaner().clean(reason.to_string(), Keep::ERROR);
        self.write(LedgerStep::Waiting(WaitState { until, reason: reason.clone() }))?;
        // An agent that gives up waits for the same moment as the loop does then.
        if before.is_none_or(|before| before.0 != until) {
            self.audience.report(&LoopEvent::Waiting { until, reason: &reason });
        }
        Ok(())
    }
}
