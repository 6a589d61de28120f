//! The archive: every conversation as its agent's transcript has it, cleaned of secrets and private passages, without
//! the contents of files unless the user wants them, compressed.
//!
//! It outlives the transcripts, which agents delete. The segments are the truth; the index can be made anew from them.
//! A process of its own writes it, never a hook. The store knows nothing of it.

pub mod capability;
mod clean;
mod elsewhere;
pub mod erase;
pub mod index;
pub mod search;
pub mod segment;
pub mod update;
pub mod write;

use std::io;
use std::path::PathBuf;

use cerberus_os::home::Home;
use cerberus_record::id::{Agent, ProjectId};
use cerberus_record::time::Timestamp;
use cerberus_store::view::StoreError;

use self::clean::with_name;
use self::index::{ArchiveIndex, LineReader, referred};

#[derive(Debug, thiserror::Error)]
pub enum ArchiveError {
    #[error("the archive: {0}")]
    Io(#[from] io::Error),
    /// A transcript.
    #[error("{0}")]
    Unreadable(io::Error),
    #[error(transparent)]
    Store(#[from] StoreError),
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
pub fn find(home: &Home, agent: Agent, session: &str) -> Result<Option<Conversation>, ArchiveError> {
    match ArchiveIndex::open(home)? {
        Some(index) => Ok(index.conversations(Some((agent, session)))?.pop()),
        None => Ok(None),
    }
}

/// Everything that the archive has, newest first.
pub fn conversations(home: &Home) -> Result<Vec<Conversation>, ArchiveError> {
    ArchiveIndex::open(home)?.map_or(Ok(Vec::new()), |index| index.conversations(None))
}

/// How many bytes of the archive cannot be read.
pub fn damaged_bytes(home: &Home) -> Result<u64, ArchiveError> {
    ArchiveIndex::open(home)?.map_or(Ok(0), |index| index.damaged_bytes())
}

/// The cleaned lines of one of a conversation's transcripts, in their order. They are the agent's own JSON, so that the
/// transcript can be put back: secrets are `[redacted:…]`, contents of files are `[not kept: …]`, and signatures and
/// encrypted thoughts are left out.
pub fn lines(
    home: &Home,
    conversation: &Conversation,
    source: usize,
    take: &mut dyn FnMut(&str),
) -> Result<(), ArchiveError> {
    let Some(index) = ArchiveIndex::open(home)? else { return Ok(()) };
    let wanted = conversation.sources.get(source).map(|path| path.to_string_lossy().into_owned());
    let mut reader = LineReader::new(home, &index);
    for (place, of, _) in index.blocks_of(conversation.agent, &conversation.session)? {
        if Some(of) != wanted {
            continue;
        }
        let Some(block) = segment::block(home, place)? else { continue };
        for line in block.lines {
            let line = match referred(&line) {
                Some(hash) => reader.line(hash)?,
                None => Some(line),
            };
            if let Some(line) = line {
                take(&with_name(&line, &conversation.session));
            }
        }
    }
    Ok(())
}
