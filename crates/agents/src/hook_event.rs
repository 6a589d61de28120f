//! What one hook payload reports.

use std::borrow::Cow;

use cerberus_record::clean::text::Clean;
use cerberus_record::event::Event;
use cerberus_record::id::Agent;
use cerberus_record::source::MemorySource;

/// The event that one hook payload reports.
#[derive(Debug, PartialEq)]
pub struct HookEvent<'a> {
    /// The agent that sent it; not always the agent whose hook received it.
    pub agent: Agent,
    pub session: Clean<'a>,
    /// As the agent says it, to find the project. What is stored of it is cleaned then.
    pub cwd: Cow<'a, str>,
    pub key: Clean<'a>,
    pub event: Event<'a>,
    /// Where a prompt is from, if the payload says that nobody typed it.
    pub untyped: Option<MemorySource>,
}

/// A subagent that starts, and the session that it belongs to.
#[derive(Debug)]
pub struct SubagentStart<'a> {
    pub session: Cow<'a, str>,
    pub cwd: Cow<'a, str>,
}

#[derive(Debug, thiserror::Error)]
pub enum PayloadError {
    #[error("{0} has no hooks")]
    NoHooks(Agent),
    #[error("the payload is not JSON: {0}")]
    NotJson(#[from] serde_json::Error),
    #[error("the payload has no {0}")]
    Missing(&'static str),
}
