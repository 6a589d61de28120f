//! Whether a session cannot go on because its agent has reached a limit, or was stopped by its user. Hooks do not always
//! say it; the end of the transcript does.

use std::path::Path;

use cerberus_agents::meter::limit_notice;
use cerberus_agents::stream::{StreamEvent, Wait};
use cerberus_os::outside;
use cerberus_record::id::Agent;
use cerberus_record::time::Timestamp;

use crate::view::SessionRow;

/// The last answer of the model is at the very end of the transcript.
const TRANSCRIPT_END_BYTES_MAX: u64 = 64 * 1024;

/// What the end of a session's transcript says about its context and its limits.
pub fn ending_events(session: &SessionRow) -> Vec<StreamEvent> {
    let agent = Agent::from_name(&session.agent).filter(|agent| cerberus_agents::tells_context_size(*agent));
    let transcript = session.transcript.as_deref().filter(|_| session.device.is_none());
    let Some((agent, transcript)) = agent.zip(transcript) else { return Vec::new() };
    match outside::ending(Path::new(transcript), TRANSCRIPT_END_BYTES_MAX) {
        Ok(ending) => cerberus_agents::context_size(agent, &ending),
        Err(_) => Vec::new(),
    }
}

/// Whether the user ended the session's last turn. No hook says so.
pub fn was_interrupted(session: &SessionRow) -> bool {
    let agent = Agent::from_name(&session.agent).filter(|_| session.device.is_none());
    let Some((agent, transcript)) = agent.zip(session.transcript.as_deref()) else { return false };
    let ending = outside::ending(Path::new(transcript), TRANSCRIPT_END_BYTES_MAX);
    ending.is_ok_and(|ending| cerberus_agents::was_interrupted(agent, &ending))
}

/// A limit that a session's agent has reached.
#[derive(Clone, Debug, PartialEq)]
pub struct ReachedLimit {
    /// The command that goes on with the session in another agent.
    pub command: String,
    /// `None` if the agent does not say it.
    pub until: Option<Timestamp>,
}

/// The limit that keeps the session from going on, if there is one.
pub fn reached(session: &SessionRow) -> Option<ReachedLimit> {
    let until = match limit_notice::reached(&ending_events(session))? {
        Wait::Until(until) => Some(until),
        Wait::For(_) | Wait::Unknown => None,
    };
    Some(ReachedLimit { command: limit_notice::command(session.id.as_str()), until })
}

/// The command that goes on with the session in another agent, if its own has reached its limit.
pub fn command(session: &SessionRow) -> Option<String> {
    reached(session).map(|limit| limit.command)
}

/// What the user is told of it.
pub fn notice(events: &[StreamEvent], session: &SessionRow) -> Option<String> {
    let title = Agent::from_name(&session.agent).and_then(cerberus_agents::profile)?.title;
    limit_notice::is_reached(events).then(|| limit_notice::notice(title, session.id.as_str()))
}
