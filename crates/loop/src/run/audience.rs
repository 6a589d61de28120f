//! The audience of a loop, and what is reported to it.

use std::time::Duration;

use cerberus_agents::meter::Certainty;
use cerberus_agents::meter::price::PricedBy;
use cerberus_agents::stream::StreamEvent;
use cerberus_record::time::Timestamp;

use crate::settings::LoopLimits;
use crate::stop::StopReason;
use crate::totals::EndedAttempt;

/// Shows a loop's progress.
pub trait Audience {
    fn report(&mut self, report: &LoopEvent);
}

/// Something that happened. The agent's text is passed on as it came; the audience cleans it before showing it.
#[derive(Debug)]
pub enum LoopEvent<'a> {
    /// What ends the loop at the latest. Said before anything is spent.
    Limits(&'a LoopLimits),
    Begun {
        iteration: u32,
        attempt: u32,
    },
    Session(&'a str),
    Said(&'a StreamEvent),
    /// A line of the agent's error output.
    Error(&'a str),
    Checking(&'a str),
    Message(&'a str),
    /// Nothing happens until then, and why.
    Waiting {
        until: Timestamp,
        reason: &'a str,
    },
    Ended(&'a EndedAttempt, &'a AttemptSummary),
    Status(&'a LoopStatus),
    Stopped(&'a StopReason),
}

/// What else is known about an attempt that is over.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct AttemptSummary {
    pub iteration: u32,
    pub took: Duration,
    /// Files that differ from the state before; `None` without checkpoints.
    pub changed_files: Option<usize>,
    /// The result of the user's check, if it ran.
    pub check: Option<String>,
}

/// The state of a loop, sent a few times per second.
#[derive(Clone, Debug, PartialEq)]
pub struct LoopStatus {
    pub iteration: u32,
    pub iterations_max: Option<u32>,
    pub phase: String,
    /// Until when it waits.
    pub waiting_until: Option<Timestamp>,
    pub fill_percent: Option<f64>,
    pub certainty: Option<Certainty>,
    pub tokens: u64,
    pub cost_usd: Option<f64>,
    pub priced_by: Option<PricedBy>,
    pub elapsed: Duration,
}
