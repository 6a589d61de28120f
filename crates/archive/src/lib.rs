//! The archive: every conversation as its agent's transcript has it, cleaned of secrets and private passages, without
//! the contents of files unless the user wants them, compressed.
//!
//! It outlives the transcripts, which agents delete. The segments are the truth; the index can be made anew from them.
//! A process of its own writes it, never a hook. The store knows nothing of it.

pub mod segment;

use std::io;
use std::path::PathBuf;

use cerberus_agents::conversation::Part;
use cerberus_os::home::Home;
use cerberus_record::id::{Agent, ProjectId};
use cerberus_record::time::Timestamp;

#[derive(Debug, thiserror::Error)]
pub enum ArchiveError {
    #[error("the archive: {0}")]
    Io(#[from] io::Error),
    #[error("the archive: {0}")]
    Json(#[from] serde_json::Error),
    #[error("the index of the archive: {0}")]
    Index(#[from] rusqlite::Error),
}

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

/// What the archive has of a session; `None` if nothing.
pub fn find(_home: &Home, _agent: Agent, _session: &str) -> Result<Option<Conversation>, ArchiveError> {
    Ok(None)
}

/// The cleaned lines of one of a conversation's transcripts, in their order. They are the agent's own JSON, so that the
/// transcript can be put back: secrets are `[redacted:…]`, contents of files are `[not kept: …]`, and signatures and
/// encrypted thoughts are left out.
pub fn lines(
    _home: &Home,
    _conversation: &Conversation,
    _source: usize,
    _take: &mut dyn FnMut(&str),
) -> Result<(), ArchiveError> {
    Ok(())
}

/// A conversation to read: prompts, messages, calls and what they answered, in order, without its subagents.
pub fn read(_home: &Home, _conversation: &Conversation) -> Result<Vec<Part>, ArchiveError> {
    Ok(Vec::new())
}
