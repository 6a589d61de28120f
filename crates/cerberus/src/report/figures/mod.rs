//! What the report shows: which sessions, in which buckets, on which scale. Drawing is done elsewhere.
//!
//! What is unknown stays `None` up to the drawing, and is never counted as zero. Days are numbers since 1970-01-01 in
//! the user's zone; the caller knows the zone.

pub mod calendar;
pub mod context;
pub mod files;
pub mod loops;
pub mod memories;
pub mod scale;
pub mod shares;
pub mod weeks;

use std::time::Duration;

use cerberus_record::session::SessionStatus;
use cerberus_record::time::Timestamp;

/// What is known about the context of a session.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct ContextUse {
    /// The fullest it was, in percent of the window.
    pub peak_percent: Option<f64>,
    /// The window was assumed, not reported.
    pub is_estimated: bool,
    /// All tokens that the model read and wrote, cached ones included.
    pub tokens: Option<u64>,
}

/// A session as the report counts it.
#[derive(Clone, Debug)]
pub struct ReportSession {
    pub id: String,
    pub title: String,
    pub project: String,
    pub agent: String,
    pub started_at: Timestamp,
    /// The day it began.
    pub day: i64,
    pub duration: Duration,
    pub status: SessionStatus,
    /// It crashed at least once, whatever happened then.
    pub has_crashed: bool,
    /// Tests and commands that failed when they last ran.
    pub failing: usize,
    /// Tests, builds and lints in order: whether each was green.
    pub runs: Vec<bool>,
    pub context: ContextUse,
    pub compactions: usize,
    /// What the agent said it cost, or what its tokens cost.
    pub cost_usd: Option<f64>,
    /// How many lines it was told.
    pub told: usize,
    /// The files it edited, with the number of edits.
    pub edited: Vec<(String, usize)>,
    pub asked: Vec<String>,
    pub left: Vec<String>,
    /// The archive has its conversation.
    pub is_archived: bool,
}

impl ReportSession {
    pub fn minutes(&self) -> f64 {
        self.duration.as_secs_f64() / 60.0
    }
}

#[cfg(test)]
pub(crate) fn session(day: i64) -> ReportSession {
    ReportSession {
        id: format!("day-{day}"),
        title: String::new(),
        project: "hydra".to_string(),
        agent: "a".to_string(),
        started_at: Timestamp::from_millis(day * 86_400_000),
        day,
        duration: Duration::from_secs(600),
        status: SessionStatus::Ended,
        has_crashed: false,
        failing: 0,
        runs: Vec::new(),
        context: ContextUse::default(),
        compactions: 0,
        cost_usd: None,
        told: 0,
        edited: Vec::new(),
        asked: Vec::new(),
        left: Vec::new(),
        is_archived: false,
    }
}
