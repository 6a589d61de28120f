//! Bytes from an agent, reduced to an [`Event`]: one file an agent.
//!
//! Tolerant by construction: unknown events, tools and fields are not errors, a field of the wrong type counts as
//! missing. Only text that is not JSON, or says nothing of a session, is malformed.

pub mod claude_code;
pub mod codex;
pub mod copilot;
pub mod cursor;
pub mod gemini;
pub mod host;
pub mod loose;
pub mod opencode;
mod patch;
mod tool;
pub mod transcripts;

use crate::event::Event;
use crate::id::Agent;
use crate::text::Clean;

/// What one payload said.
#[derive(Debug, PartialEq)]
pub struct Heard<'a> {
    /// Who said it: not always the agent whose hook it came through.
    pub agent: Agent,
    pub session: Clean<'a>,
    pub cwd: Clean<'a>,
    pub key: Clean<'a>,
    pub event: Event<'a>,
}

/// Reads what `agent`'s hook was given; `None` when it is of no interest to us.
pub fn parse(agent: Agent, payload: &[u8]) -> Result<Option<Heard<'_>>, WireError> {
    match agent {
        Agent::ClaudeCode => claude_code::parse(payload),
        Agent::Codex => codex::parse(payload),
        Agent::Gemini => gemini::parse(payload),
        Agent::Opencode => opencode::parse(payload),
        Agent::Cursor => cursor::parse(payload),
        Agent::Copilot => copilot::parse(payload),
        Agent::Manual | Agent::Seed => Err(WireError::NoHooks(agent)),
    }
}

#[derive(Debug, thiserror::Error)]
pub enum WireError {
    #[error("{0} has no hooks")]
    NoHooks(Agent),
    #[error("the payload is not JSON: {0}")]
    NotJson(#[from] serde_json::Error),
    #[error("the payload has no {0}")]
    Missing(&'static str),
}
