//! What a context leaves to its successor, from what is on record, what it wrote itself, and git.

use cerberus_core::loops::handoff::state::PreservedState;
use cerberus_core::loops::handoff::{Evidence, Handoff, compose as composed, gather, written};
use cerberus_core::loops::totals::How;
use cerberus_core::time::Timestamp;

use super::runner::Job;
use crate::clock::Clock;
use crate::fold;
use crate::recall;

/// What the runner itself knows of a context that is over, or about to be.
#[derive(Clone, Debug)]
pub struct Left {
    pub how: How,
    pub session: Option<String>,
    /// When it was left.
    pub at: Timestamp,
    pub words: String,
    /// What it said when it was asked for its handoff.
    pub written: Option<String>,
}

/// What a session is asked whose context is nearly full.
pub fn request() -> String {
    written::request()
}

/// Is this a whole handoff?
pub fn is_written(words: &str) -> bool {
    words.contains("</handoff>") && written::read(words).is_some()
}

pub fn state(job: &Job, left: &Left) -> PreservedState {
    let clock = Clock::new(None);
    let mut state = PreservedState::default();
    if let Ok(store) = fold::open(&job.home)
        && let Ok(sessions) = recall::recent_sessions(&store, &job.located, clock.now)
        && let Ok(carried) = store.carried(&sessions, clock.now)
    {
        let runs = store.runs(&sessions, clock.now).unwrap_or_default();
        state = gather(Evidence { facts: &carried.facts, settlements: &carried.settlements, runs: &runs });
    }
    if let Some(written) = left.written.as_deref().and_then(written::read) {
        state.add_written(written);
    }
    state.keep(&job.settings.preserve);
    state
}

pub fn compose(job: &Job, left: &Left) -> Handoff {
    composed(&state(job, left), &job.settings.preserve)
}
