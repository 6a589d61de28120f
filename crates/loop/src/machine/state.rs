//! The types of the machine: its states, inputs and effects.

use cerberus_agents::meter::Reading;
use cerberus_agents::stream::{Speaker, StreamEvent, Wait};
use cerberus_record::time::Timestamp;

use crate::completion::Checked;
use crate::failure::{Exit, Failure};
use crate::settings::Worker;
use crate::stop::{Limit, Stop};
use crate::totals::{Counts, Ended, How, Progress, Totals};

/// How a session can be asked for its handoff.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Asking {
    /// While it runs, with one more message.
    Live,
    /// After it was stopped, by resuming it.
    Resumed,
    Never,
}

impl Worker {
    pub fn asking(self) -> Asking {
        match self.headless() {
            Some(headless) if headless.stays_open() => Asking::Live,
            Some(headless) if headless.resume.is_some() => Asking::Resumed,
            _ => Asking::Never,
        }
    }
}

#[derive(Clone, Debug, PartialEq)]
pub struct State {
    pub phase: Phase,
    pub totals: Totals,
    /// The loop should end after this iteration.
    pub ending: Option<Stop>,
}

#[derive(Clone, Debug, PartialEq)]
pub enum Phase {
    Resting {
        until: Timestamp,
        why: Why,
        hook: Hook,
    },
    Starting(Attempt),
    Working(Attempt),
    /// It was asked for its handoff.
    HandingOver {
        attempt: Attempt,
        how: How,
        asked: Timestamp,
        turns: u32,
        is_written: bool,
    },
    /// It should exit soon.
    Leaving {
        attempt: Attempt,
        over: Over,
        since: Timestamp,
    },
    /// It is gone; its result is being determined.
    Settling {
        attempt: Attempt,
        over: Over,
    },
    Stopped(Stop),
}

/// Why the next context does not start at once.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Why {
    /// Contexts keep a distance from each other.
    Pace,
    /// The model's server asked for it.
    Limited { words: String },
    /// The last context failed.
    Failed { words: String },
}

impl Why {
    pub fn words(&self) -> String {
        match self {
            Why::Pace => "contexts keep a minimum distance (min_interval, max_reboots_per_hour)".to_string(),
            Why::Limited { words } => words.clone(),
            Why::Failed { words } => format!("the last context failed: {words}"),
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
pub struct Attempt {
    pub began: Timestamp,
    pub last_output: Timestamp,
    /// Until then its silence is explained.
    pub quiet_until: Timestamp,
    pub turns: u32,
    pub tool_failures: u32,
    pub denied: Option<String>,
    pub warming: Warming,
    /// Whether a fresh context was requested, and the hook's answer.
    pub wanted: Wanted,
    pub is_acknowledged: bool,
    pub reading: Option<Reading>,
    pub tokens: u64,
    pub cost_usd: Option<f64>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Warming {
    No,
    /// The warm-up prompt is being answered.
    Busy,
    /// It was answered; the task follows at this time.
    Done(Timestamp),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Wanted {
    Nothing,
    Asking(How),
    Refused,
}

/// How a context's work ended.
#[derive(Clone, Debug, PartialEq)]
pub struct Over {
    pub how: How,
    pub failure: Option<Failure>,
    /// Whether the user's hook has already permitted the next context.
    pub hook: Hook,
    pub limit: Option<Limit>,
}

impl Over {
    pub(crate) fn of(how: How) -> Over {
        Over { how, failure: None, hook: Hook::ToAsk, limit: None }
    }

    pub(crate) fn failed(failure: Failure) -> Over {
        let how = match &failure {
            Failure::Full => How::HardRedline,
            Failure::OwnLimit { .. } => How::IterationEnd,
            Failure::Limited { .. } => How::Limited,
            Failure::NeedsUser { .. } | Failure::Crashed { .. } => How::Failure,
        };
        let failure = Some(failure).filter(|_| matches!(how, How::Limited | How::Failure));
        Over { failure, ..Over::of(how) }
    }
}

/// What happened.
#[derive(Clone, Debug, PartialEq)]
pub enum Input {
    Tick,
    Output {
        event: StreamEvent,
        reading: Reading,
        tokens: u64,
        cost_usd: Option<f64>,
    },
    /// It uses a model of unknown price.
    Unpriced {
        model: String,
    },
    /// Its handoff is written.
    HandedOver,
    /// It is gone, with all its child processes; `words` is the end of its error output.
    Exited {
        exit: Exit,
        words: String,
    },
    /// The answer of the user's hook about a fresh context.
    HookAgreed,
    HookRefused {
        words: String,
    },
    Measured {
        checked: Option<Checked>,
        progress: Progress,
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
    AskHook(How),
    AskHandoff,
    GiveTask,
    CloseInput,
    StopGroup,
    Measure,
    /// The attempt is over.
    Record(Ended),
    Tell(String),
    /// Another agent could go on before then.
    SwitchAgent {
        until: Timestamp,
    },
    Finish(Stop),
}

impl Attempt {
    pub(crate) fn observe(
        &mut self,
        event: &StreamEvent,
        reading: Reading,
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
            StreamEvent::Waiting { wait: Wait::Until(until), .. } => self.quiet_until = *until,
            StreamEvent::Waiting { wait: Wait::For(span), .. } => self.quiet_until = now.plus(*span),
            _ => {}
        }
    }

    /// An attempt that had to wait, or never got to work, does not spend its iteration.
    pub(crate) fn ended(&self, over: &Over, progress: Progress, claimed: bool) -> Ended {
        let failure = over.failure.as_ref().map(|failure| match failure {
            Failure::Limited { words, .. }
            | Failure::NeedsUser { words, .. }
            | Failure::Crashed { words }
            | Failure::OwnLimit { words } => words.clone(),
            Failure::Full => "the context was full".to_string(),
        });
        let is_spent = self.is_acknowledged && over.how != How::Limited;
        let (counts, progress) = match (is_spent, progress) {
            (true, progress) => (Counts::Spent, progress),
            (false, Progress::Made) => (Counts::Again, Progress::Made),
            (false, _) => (Counts::Again, Progress::Unknown),
        };
        Ended {
            how: over.how,
            counts,
            progress,
            claimed,
            failure,
            tokens: self.tokens,
            cost_usd: self.cost_usd,
            fill_percent: self.reading.and_then(|reading| reading.percent),
            certainty: self.reading.map(|reading| reading.certainty),
        }
    }
}
