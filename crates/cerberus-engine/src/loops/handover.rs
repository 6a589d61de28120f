//! What a context leaves to its successor, as the runner knows it and as it is told.

use cerberus_core::loops::handoff::heard::Heard;
use cerberus_core::loops::handoff::state::PreservedState;
use cerberus_core::loops::handoff::{Handoff, compose as composed};
use cerberus_core::loops::totals::How;
use cerberus_core::model::id::Agent;
use cerberus_core::model::time::Timestamp;

use super::preserve::{Wanted, preserve, without_view};
use super::runner::Job;
use crate::os::clock::Clock;
use crate::store::fold;

/// What the runner itself knows of a context that is over, or about to be.
#[derive(Clone, Debug)]
pub struct Left {
    pub how: How,
    pub session: Option<String>,
    /// When it was left.
    pub at: Timestamp,
    pub words: String,
    pub heard: Heard,
}

/// Whose work it is, and since when.
#[derive(Clone, Debug, Default)]
pub struct Story {
    /// The run's sessions, as their agent called them.
    pub sessions: Vec<String>,
    /// The commit that was checked out when the run began.
    pub base: Option<String>,
}

/// The state that outlives the context, and what there is to tell the user about it.
pub fn state(job: &Job, story: &Story, left: &Left) -> (PreservedState, Vec<String>) {
    let agent: Agent = job.settings.worker.agent();
    let sessions: Vec<(Agent, String)> = story.sessions.iter().map(|session| (agent, session.clone())).collect();
    let wanted = Wanted {
        located: &job.located,
        now: Clock::new(None).now,
        sessions: &sessions,
        base: story.base.as_deref(),
        prompt: Some(&job.task),
        heard: &left.heard,
        rules: &job.settings.preserve,
        privacy_rules: job.home.privacy_rules(),
        cleaner: job.home.cleaner(),
    };
    let preserved = fold::open(&job.home)
        .map_err(|error| error.to_string())
        .and_then(|store| preserve(&store, &wanted).map_err(|error| error.to_string()));
    match preserved {
        Ok(preserved) => {
            let missing = preserved.missing.iter();
            let told = missing.map(|(file, why)| format!("{file} is not in the handoff: {why}")).collect();
            (preserved.state, told)
        }
        // Without what is on record, what was heard is still better than nothing.
        Err(error) => {
            let state = without_view(&wanted).state;
            (state, vec![format!("the handoff contains only the agent's messages and the state of git: {error}")])
        }
    }
}

pub fn compose(job: &Job, story: &Story, left: &Left) -> (Handoff, Vec<String>) {
    let (state, told) = state(job, story, left);
    (composed(&state, &job.settings.preserve), told)
}
