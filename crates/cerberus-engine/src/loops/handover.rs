//! What a context leaves to its successor, from what is on record, what it wrote itself, and git.

use cerberus_core::loops::handoff::heard::Heard;
use cerberus_core::loops::handoff::{Handoff, compose as composed, written};
use cerberus_core::loops::history;
use cerberus_core::loops::totals::How;
use cerberus_core::time::Timestamp;

use super::checkpoint::Checkpoints;
use super::ledger::Ledger;
use super::preserve::{Preserved, Wanted, preserve, without_view};
use super::runner::Job;
use crate::clock::Clock;
use crate::fold;

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

/// The state that the contexts of a run leave. A view that cannot be asked takes nothing from the rest.
pub fn state(job: &Job, ledger: &Ledger, run: u32, left: &Left) -> Preserved {
    let now = Clock::new(None).now;
    let agent = job.settings.worker.agent();
    let ids = history::sessions(&ledger.read(now).unwrap_or_default(), run);
    let sessions: Vec<_> = ids.into_iter().map(|id| (agent, id)).collect();
    let base = Checkpoints::new(&job.home, &job.located).ok().and_then(|checkpoints| checkpoints.base(run));
    let heard = Heard::of(&left.words, left.written.as_deref());
    let wanted = Wanted {
        located: &job.located,
        now,
        sessions: &sessions,
        base: base.as_deref(),
        prompt: Some(&job.task),
        heard: &heard,
        rules: &job.settings.preserve,
    };
    let store = fold::open(&job.home).ok();
    store.and_then(|store| preserve(&store, &wanted).ok()).unwrap_or_else(|| without_view(&wanted))
}

pub fn compose(job: &Job, preserved: &Preserved) -> Handoff {
    composed(&preserved.state, &job.settings.preserve)
}
