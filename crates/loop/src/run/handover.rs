//! What a context leaves to its successor: what the runner knows, and the handoff made from it.

use cerberus_os::clock::Clock;
use cerberus_record::id::Agent;
use cerberus_record::time::Timestamp;
use cerberus_store::view::fold;

use super::job::Job;
use super::preserve::{PreserveRequest, preserve, without_view};
use crate::handoff::messages::AgentMessages;
use crate::handoff::state::{FailedCheck, Interruption, PreservedState};
use crate::handoff::{Handoff, compose as composed};
use crate::memory::RunMemory;
use crate::settings::Worker;
use crate::totals::AttemptEnd;

/// What the runner knows about a context that is over, or about to be.
#[derive(Clone, Debug)]
pub struct LeftContext {
    pub how: AttemptEnd,
    pub session: Option<String>,
    /// When it was left.
    pub at: Timestamp,
    pub words: String,
    pub heard: AgentMessages,
}

/// The sessions of the run, and where it began.
#[derive(Clone, Debug, Default)]
pub struct RunHistory {
    /// The run's sessions, by the ids of their agent.
    pub sessions: Vec<String>,
    /// The commit that was checked out when the run began.
    pub base: Option<String>,
    /// What it remembers between contexts.
    pub memory: RunMemory,
    /// The task as it was read last.
    pub task: String,
    /// The task that the last context at work was given.
    pub heard_task: Option<String>,
}

impl RunHistory {
    fn task_has_changed(&self) -> bool {
        self.heard_task.as_ref().is_some_and(|heard| *heard != self.task)
    }
}

/// The state that outlives the context, and messages about it for the user.
pub fn state(job: &Job, history: &RunHistory, left: &LeftContext) -> (PreservedState, Vec<String>) {
    // A run may have changed its agent; a session is one of either.
    let agents = [Some(job.settings.worker), job.settings.fallback];
    let agents = agents.into_iter().flatten().map(Worker::agent);
    let sessions: Vec<(Agent, String)> =
        agents.flat_map(|agent| history.sessions.iter().map(move |session| (agent, session.clone()))).collect();
    let wanted = PreserveRequest {
        located: &job.located,
        now: Clock::new(None).now,
        sessions: &sessions,
        base: history.base.as_deref(),
        prompt: Some(&history.task),
        task_has_changed: history.task_has_changed(),
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
            (with_news(preserved.state, history, Some(left)), told)
        }
        // If the view cannot be read, the agent's output is still better than nothing.
        Err(error) => {
            let state = with_news(without_view(&wanted).state, history, Some(left));
            (state, vec![format!("the handoff contains only the agent's messages and the state of git: {error}")])
        }
    }
}

/// Adds what no session has captured: how it was cut off, the result of the check, and messages from the user.
fn with_news(mut state: PreservedState, history: &RunHistory, left: Option<&LeftContext>) -> PreservedState {
    state.interrupted = left.filter(|left| is_cut_off(left.how)).map(|left| {
        let call = left.heard.open_call();
        let since = call.and_then(|(_, since)| *since);
        Interruption {
            how: left.how,
            call: call.map(|(call, _)| call.clone()),
            call_seconds: since.map(|since| left.at.since(since).as_secs()),
        }
    });
    let memory = &history.memory;
    let checked = memory.checked.as_ref().filter(|(_, result)| !result.passed);
    state.failed_check =
        checked.map(|(iteration, result)| FailedCheck { iteration: *iteration, result: result.clone() });
    state.messages = memory.messages.new_ones().to_vec();
    state.earlier_messages = memory.messages.earlier();
    state
}

fn is_cut_off(how: AttemptEnd) -> bool {
    matches!(how, AttemptEnd::Stall | AttemptEnd::HardRedline | AttemptEnd::RunnerDied)
}

/// What the next context is told. The first one gets a handoff only if the user has a message for it.
pub fn compose(job: &Job, history: &RunHistory, left: Option<&LeftContext>) -> Option<(Handoff, Vec<String>)> {
    let (state, told) = match left {
        Some(left) => state(job, history, left),
        None if history.memory.messages.new_ones().is_empty() => return None,
        None => (with_news(PreservedState::default(), history, None), Vec::new()),
    };
    Some((composed(&state, &job.settings.preserve), told))
}
