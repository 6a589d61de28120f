//! The types of the machine: its states, inputs and effects.

use cerberus_agents::meter::MeterReading;
use cerberus_agents::stream::{Speaker, StreamEvent};
use cerberus_record::time::Timestamp;

use crate::completion::CompletionCheck;
use crate::failure::{LoopFailure, ProgramExit};
use crate::settings::Worker;
use crate::stop::{Limit, StopReason};
use crate::totals::{AttemptEnd, EndedAttempt, LoopProgress, SpentIteration, Totals};

/// How a session can be asked for its handoff.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum HandoffAsking {
    /// While it runs, with one more message.
    Live,
    /// After it was stopped, by resuming it.
    Resumed,
    Never,
}

impl Worker {
    pub fn asking(self) -> HandoffAsking {
        match self.headless() {
            Some(headless) if headless.stays_open() => HandoffAsking::Live,
            Some(headless) if headless.resume.is_some() => HandoffAsking::Resumed,
            _ => HandoffAsking::Never,
        }
    }
}

#[derive(Clone, Debug, PartialEq)]
pub struct MachineState {
    pub phase: Phase,
    pub totals: Totals,
    /// The loop should end after this iteration.
    pub ending: Option<StopReason>,
}

#[derive(Clone, Debug, PartialEq)]
pub enum Phase {
    Resting {
        until: Timestamp,
        why: Delay,
        hook: Hook,
    },
    Starting(RunningContext),
    Working(RunningContext),
    /// It was asked for its handoff.
    HandingOver {
        attempt: RunningContext,
        how: AttemptEnd,
        asked: Timestamp,
        turns: u32,
        is_written: bool,
    },
    /// It should exit soon.
    Leaving {
        attempt: RunningContext,
        over: ContextEnd,
        since: Timestamp,
    },
    /// It is gone; its result is being determined.
    Settling {
        attempt: RunningContext,
        over: ContextEnd,
    },
    Stopped(StopReason),
}

/// Why the next context does not start at once.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Delay {
    /// Contexts keep a distance from each other.
    Pace,
    /// The model's server asked for it. A usage limit, unlike others, is one of this agent alone.
    Limited { words: String, is_usage: bool },
    /// The last context failed.
    Failed { words: String },
}

impl Delay {
    pub fn words(&self) -> String {
        match self {
            Delay::Pace => "the next context may not start yet (min_interval, max_reboots_per_hour)".to_string(),
            Delay::Limited { words, .. } => words.clone(),
            Delay::Failed { words } => format!("the last context failed: {words}"),
        }
    }
}

/// Whether the user's hook permitted the fresh context.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Hook {
    ToAsk,
    Asked,
    Agreed,
}

/// A running context.
#[derive(Clone, Debug, PartialEq)]
pub struct RunningContext {
    pub began: Timestamp,
    pub last_output: Timestamp,
    /// Until then its silence is explained.
    pub quiet_until: Timestamp,
    pub turns: u32,
    pub tool_failures: u32,
    pub denied: Option<String>,
    pub warming: WarmUpState,
    /// Whether a fresh context was requested, and the hook's answer.
    pub wanted: WantedHandoff,
    pub is_acknowledged: bool,
    pub reading: Option<MeterReading>,
    pub tokens: u64,
    pub cost_usd: Option<f64>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WarmUpState {
    No,
    /// The warm-up prompt is being answered.
    Busy,
    /// It was answered; the task follows at this time.
    Done(Timestamp),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WantedHandoff {
    Nothing,
    Asking(AttemptEnd),
    Refused,
}

/// How a context's work ended.
#[derive(Clone, Debug, PartialEq)]
pub struct ContextEnd {
    pub how: AttemptEnd,
    pub failure: Option<LoopFailure>,
    /// Whether the user's hook has already permitted the next context.
    pub hook: Hook,
    pub limit: Option<Limit>,
}

impl ContextEnd {
    pub(crate) fn of(how: AttemptEnd) -> ContextEnd {
        ContextEnd { how, failure: None, hook: Hook::ToAsk, limit: None }
    }

    pub(crate) fn limited(limit: Limit) -> ContextEnd {
        ContextEnd { limit: Some(limit), ..ContextEnd::of(AttemptEnd::Limit) }
    }

    pub(crate) fn failed(failure: LoopFailure) -> ContextEnd {
        let how = match &failure {
            LoopFailure::Full => AttemptEnd::HardRedline,
            LoopFailure::OwnLimit { .. } => AttemptEnd::IterationEnd,
            LoopFailure::Limited { .. } => AttemptEnd::Limited,
            LoopFailure::NeedsUser { .. } | LoopFailure::Crashed { .. } => AttemptEnd::Failure,
        };
        let failure = Some(failure).filter(|_| matches!(how, AttemptEnd::Limited | AttemptEnd::Failure));
        ContextEnd { failure, ..ContextEnd::of(how) }
    }
}

/// What happened.
#[derive(Clone, Debug, PartialEq)]
pub enum Input {
    Tick,
    Output {
        event: StreamEvent,
        reading: MeterReading,
        tokens: u64,
        cost_usd: Option<f64>,
    },
    /// It has printed more than this, and was not about to stop.
    Flooded {
        bytes_max: u64,
    },
    /// It uses a model of unknown price.
    Unpriced {
        model: String,
    },
    /// Its handoff is written.
    HandedOver,
    /// It is gone, with all its child processes; `words` is the end of its error output.
    Exited {
        exit: ProgramExit,
        words: String,
    },
    /// The answer of the user's hook about a fresh context.
    HookAgreed,
    HookRefused {
        words: String,
    },
    Measured {
        checked: Option<CompletionCheck>,
        progress: LoopProgress,
        claimed: bool,
    },
    Asked,
    AskedNow,
    StopFile,
}

/// What to do.
#[derive(Clone, Debug, PartialEq)]
pub enum Effect {
    Begin,
    /// The new context is at work, so the old one may be closed.
    Acknowledged,
    AskHook(AttemptEnd),
    AskHandoff,
    GiveTask,
    CloseInput,
    StopGroup,
    Measure,
    /// The attempt is over.
    Record(EndedAttempt),
    Tell(String),
    /// Another agent could go on before then.
    SwitchAgent {
        until: Timestamp,
    },
    Finish(StopReason),
}

impl RunningContext {
    pub(crate) fn observe(
        &mut self,
        event: &StreamEvent,
        reading: MeterReading,
        tokens: u64,
        cost_usd: Option<f64>,
        now: Timestamp,
    ) {
        self.last_output = now;
        self.reading = Some(reading);
        self.tokens = tokens;
        self.cost_usd = cost_usd;
        match event {
            StreamEvent::Usage { own: Speaker::Main, .. } => self.turns = self.turns.saturating_add(1),
            StreamEvent::ToolFailed => self.tool_failures = self.tool_failures.saturating_add(1),
            StreamEvent::ToolDone => self.tool_failures = 0,
            StreamEvent::Denied { tool } => self.denied = Some(tool.clone()),
            StreamEvent::Waiting { wait, .. } => self.quiet_until = wait.end(now).unwrap_or(self.quiet_until),
            _ => {}
        }
    }

    /// An attempt that had to wait, or never got to work, does not spend its iteration.
    pub(crate) fn ended(&self, over: &ContextEnd, progress: LoopProgress, claimed: bool) -> EndedAttempt {
        let failure = over.failure.as_ref().map(|failure| match failure {
            LoopFailure::Limited { words, .. }
            | LoopFailure::NeedsUser { words, .. }
            | LoopFailure::Crashed { words }
            | LoopFailure::OwnLimit { words } => words.clone(),
            LoopFailure::Full => "the context was full".to_string(),
        });
        let is_spent = self.is_acknowledged && over.how != AttemptEnd::Limited;
        let (counts, progress) = match (is_spent, progress) {
            (true, progress) => (SpentIteration::Spent, progress),
            (false, LoopProgress::Made) => (SpentIteration::Again, LoopProgress::Made),
            (false, _) => (SpentIteration::Again, LoopProgress::Unknown),
        };
        EndedAttempt {
            how: over.how,
            counts,
            progress,
            claimed,
            failure,
            tokens: self.tokens,
            cost_usd: self.cost_usd,
            fill_percent: self.reading.and_then(|reading| reading.percent),
            certainty: self.reading.map(|reading| reading.certainty),
            priced_by: None,
        }
    }
}
