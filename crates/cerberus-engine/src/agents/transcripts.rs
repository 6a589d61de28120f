//! Where agents keep their transcripts, and in which files.

use std::path::{Path, PathBuf};

use super::Surroundings;

/// The files in which an agent keeps its transcripts.
#[derive(Debug)]
pub struct TranscriptFiles {
    /// Folders and files that hold them.
    pub roots: fn(&Surroundings) -> Vec<PathBuf>,
    /// Is a file with this name one?
    pub is_one: fn(name: &str) -> bool,
    /// In a folder with a file of this name nothing else is one.
    pub only: Option<&'static str>,
    /// What the place of a file says of its session.
    pub beside: fn(&Path) -> Beside,
    /// Opens a file that ends in `.db`, where the agent keeps its sessions in a database.
    pub open: Option<OpenDatabase>,
    /// Can the end of one be understood without what stands before it?
    pub is_tail_enough: bool,
}

/// What the place of a file says of its session.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Beside {
    pub cwd: Option<String>,
    /// The session that started this one.
    pub parent: Option<String>,
}

pub type OpenDatabase = fn(&Path) -> Result<Box<dyn Database>, DatabaseError>;

/// A database of many sessions, only ever read.
pub trait Database {
    /// The ids of all sessions, oldest first.
    fn sessions(&self) -> Result<Vec<String>, DatabaseError>;

    /// A session with all its messages. A subagent's names the session that it all began with.
    fn export(&self, session: &str) -> Result<Exported, DatabaseError>;
}

/// One session, as its agent would export it.
pub struct Exported {
    pub json: Vec<u8>,
    pub damaged_rows: usize,
}

#[derive(Debug, thiserror::Error)]
#[error("{name}'s database {path}: {source}")]
pub struct DatabaseError {
    pub(super) name: &'static str,
    pub(super) path: String,
    pub(super) source: Box<dyn std::error::Error + Send + Sync>,
}

/// A file's name without the ending of its compression.
pub(super) fn plain_name(name: &str) -> &str {
    name.strip_suffix(".gz").or(name.strip_suffix(".zst")).unwrap_or(name)
}

pub(super) fn below(dir: Option<PathBuf>, names: &[&str]) -> Vec<PathBuf> {
    dir.iter().flat_map(|dir| names.iter().map(|name| dir.join(name))).collect()
}
