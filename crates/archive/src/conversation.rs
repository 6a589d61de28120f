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
    /// The session's own transcript, the newest first if it was read from several places.
    pub own_sources: Vec<PathBuf>,
    /// How many of those have the end of the conversation.
    pub complete_sources: usize,
    /// The transcripts of its subagents.
    pub subagent_sources: Vec<PathBuf>,
    /// The size of the cleaned lines.
    pub text_bytes: u64,
}

impl Conversation {
    pub fn sources(&self) -> impl Iterator<Item = &PathBuf> {
        self.own_sources.iter().chain(&self.subagent_sources)
    }
}
