//! One conversation of the archive.

use std::path::PathBuf;

use cerberus_record::id::{Agent, ProjectId};
use cerberus_record::time::Timestamp;

/// What the archive has of one session.
#[derive(Clone, Debug, PartialEq)]
pub struct Conversation {
    pub agent: Agent,
    /// The agent's own name for the session.
    pub session: String,
    pub project: ProjectId,
    /// The root of the project.
    pub root: String,
    pub first_at: Option<Timestamp>,
    pub last_at: Option<Timestamp>,
    /// The transcripts it was read from: the session's own first, then those of its subagents.
    pub sources: Vec<PathBuf>,
    /// The size of the cleaned lines.
    pub text_bytes: u64,
}
