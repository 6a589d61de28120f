//! What the runner reports, to the user's hooks and to the audience.

use cerberus_agents::meter::price::PricedBy;
use serde_json::{Value, json};

use super::{Runner, now};
use crate::machine::Phase;
use crate::run::audience::{LoopEvent, LoopStatus};
use crate::settings::HookPoint;

impl Runner<'_> {
    /// Runs the user's hook, if there is one. A failure is reported.
    pub(super) fn hook(&mut self, point: HookPoint, more: &Value) -> Result<(), String> {
        let hooks = &self.job.settings.hooks;
        let Some(command) = hooks.at(point) else { return Ok(()) };
        let mut state = self.state_json();
        if let (Some(fields), Some(more)) = (state.as_object_mut(), more.as_object()) {
            fields.insert("hook".to_string(), json!(point));
            fields.extend(more.clone());
        }
        let ran = self.commands().hook(command, &state, hooks.time_limit());
        if let Err(words) = &ran {
            let told = format!("the {} hook failed: {words}", point.word());
            self.audience.report(&LoopEvent::Message(&told));
        }
        ran
    }

    /// The state of the loop for hooks and audience.
    pub(super) fn state_json(&self) -> Value {
        let status = self.status();
        let session = self.attempt.as_ref().and_then(|attempt| attempt.session.clone());
        json!({
            "project": { "name": self.job.located.name, "root": self.job.located.root },
            "agent": self.job.settings.worker, "run": self.run, "iteration": status.iteration,
            "session_id": session.or_else(|| self.left.as_ref().and_then(|left| left.session.clone())),
            "fill_percent": status.fill_percent, "tokens": status.tokens, "cost_usd": status.cost_usd,
            "elapsed_ms": status.elapsed.as_millis() as u64,
        })
    }

    pub(super) fn status(&self) -> LoopStatus {
        let totals = &self.state.totals;
        let (tokens, cost_usd) = self.attempt.as_ref().map_or((0, None), |attempt| attempt.meter.spent());
        let reading = self.attempt.as_ref().map(|attempt| attempt.meter.reading());
        LoopStatus {
            iteration: if self.attempt.is_some() { totals.iteration() } else { totals.spent },
            iterations_max: self.job.settings.limits.iterations,
            phase: self.phase(),
            waiting_until: self.waiting.as_ref().map(|wait| wait.0).filter(|until| *until > now()),
            fill_percent: reading.and_then(|reading| reading.percent),
            certainty: reading.map(|reading| reading.certainty),
            tokens: totals.tokens.saturating_add(tokens),
            cost_usd: match (totals.cost_usd, cost_usd) {
                (None, None) => None,
                (before, more) => Some(before.unwrap_or(0.0) + more.unwrap_or(0.0)),
            },
            priced_by: PricedBy::and(
                totals.priced_by.clone(),
                self.attempt.as_ref().and_then(|attempt| attempt.meter.priced_by()),
            ),
            elapsed: totals.elapsed(now()),
        }
    }

    fn phase(&self) -> String {
        match &self.state.phase {
            Phase::Resting { until, .. } if *until > now() => "waiting".to_string(),
            Phase::Resting { .. } | Phase::Starting(_) => "starting".to_string(),
            Phase::Working(_) => "working".to_string(),
            Phase::HandingOver { .. } => "writing its handoff".to_string(),
            Phase::Leaving { .. } => "ending".to_string(),
            Phase::Settling { .. } => "being checked".to_string(),
            Phase::Stopped(_) => "stopped".to_string(),
        }
    }
}
