//! Bytes from an agent, reduced to an [`Event`]: one file an agent.
//!
//! Tolerant by construction: unknown events, tools and fields are not errors, a field of the wrong type counts as
//! missing. Only text that is not JSON, or says nothing of a session, is malformed.

pub mod claude_code;
pub mod loose;
pub mod transcripts;

use crate::event::Event;
use crate::text::Clean;

/// What one payload said.
#[derive(Debug, PartialEq)]
pub struct Heard<'a> {
    pub session: Clean<'a>,
    pub cwd: Clean<'a>,
    pub key: Clean<'a>,
    pub event: Event<'a>,
}

#[derive(Debug, thiserror::Error)]
pub enum WireError {
    #[error("the payload is not JSON: {0}")]
    NotJson(#[from] serde_json::Error),
    #[error("the payload has no {0}")]
    Missing(&'static str),
}
