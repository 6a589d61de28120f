//! Where agents keep their transcripts, and in which files.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use cerberus_record::time::Timestamp;
use serde_json::Value;

use super::Surroundings;

/// How an agent stores its transcripts.
#[derive(Debug)]
pub struct TranscriptFiles {
    /// The folders and files that hold them.
    pub roots: fn(&Surroundings) -> Vec<PathBuf>,
    /// Whether a file with this name is a transcript.
    pub is_transcript: fn(name: &str) -> bool,
    /// In a folder that contains a file of this name, no other file is a transcript.
    pub only: Option<&'static str>,
    /// What the location of a file says about its session.
    pub path_hints: fn(&Path) -> PathHints,
    /// Opens a file that ends in `.db`, for agents that store sessions in a database. The duration limits the wait for
    /// a lock that the agent holds.
    pub open: Option<OpenDatabase>,
    /// Finds the transcript of one session below one of the roots.
    pub find: fn(root: &Path, query: &mut SessionQuery) -> Option<PathBuf>,
    /// How a transcript is put where the agent looks for it; `None` if a file is not enough to resume a session.
    pub restoring: Option<Restoring>,
    /// After how many days the agent deletes a transcript; `None` if it keeps them.
    pub days_kept: fn(&Surroundings) -> Option<u64>,
    /// The agent writes a tool use only when it has ended, so the last message of a transcript may announce one.
    pub writes_uses_at_end: bool,
}

impl TranscriptFiles {
    /// One file of lines for each session. What an agent does not say is as here.
    pub const DEFAULT: TranscriptFiles = TranscriptFiles {
        roots: |_| Vec::new(),
        is_transcript: |name| plain_name(name).ends_with(".jsonl"),
        only: None,
        path_hints: |_| PathHints::default(),
        open: None,
        find: |_, _| None,
        restoring: None,
        days_kept: |_| None,
        writes_uses_at_end: false,
    };
}

/// How a transcript is put back from the archive.
#[derive(Clone, Copy, Debug)]
pub struct Restoring {
    /// Where below the first root the agent looks for it.
    pub place: fn(root: &Path, query: &SessionQuery) -> PathBuf,
    /// Makes what mends a transcript line by line, in their order, and says whether a line stays. A model refuses its own
    /// thoughts without their signatures, which the archive does not have.
    pub mend: fn() -> Mend,
}

pub type Mend = Box<dyn FnMut(&mut Value) -> bool>;

/// What the location of a file says about its session.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct PathHints {
    pub cwd: Option<String>,
    /// The session that started this one.
    pub parent: Option<String>,
}

/// Opens a database of sessions. The duration limits the wait for a lock that the agent holds.
pub type OpenDatabase = fn(&Path, Duration) -> Result<Box<dyn Database>, TranscriptDatabaseError>;

/// The session whose transcript is looked for.
#[derive(Debug)]
pub struct SessionQuery<'a> {
    /// Letters, digits, `-` and `_` only, because it is part of a file name.
    pub id: &'a str,
    /// The folder it ran in.
    pub cwd: &'a Path,
    /// The root of its project.
    pub root: &'a Path,
    pub started_at: Timestamp,
    /// How many more directory entries may be read.
    pub entries_left: usize,
}

impl SessionQuery<'_> {
    /// The file in `folder` whose name ends with `ending`, plain or compressed.
    pub fn named(&mut self, folder: &Path, ending: &str) -> Option<PathBuf> {
        let is_named = |path: &PathBuf| {
            let name = path.file_name().unwrap_or_default().to_string_lossy();
            plain_name(&name).ends_with(ending)
        };
        self.entries(folder).into_iter().find(is_named)
    }

    pub fn entries(&mut self, folder: &Path) -> Vec<PathBuf> {
        let listed = fs::read_dir(folder).into_iter().flatten().flatten().take(self.entries_left);
        let found: Vec<PathBuf> = listed.map(|entry| entry.path()).collect();
        self.entries_left -= found.len();
        found
    }
}

/// The file itself, or the compressed file that the agent replaced it with.
pub fn current_path(path: &Path) -> Option<PathBuf> {
    let name = path.file_name()?;
    let packed = ["", ".zst", ".gz"].map(|ending| {
        let mut name = name.to_os_string();
        name.push(ending);
        path.with_file_name(name)
    });
    packed.into_iter().find(|path| path.is_file())
}

/// A read-only database of many sessions.
pub trait Database {
    /// The ids of all sessions, oldest first.
    fn sessions(&self) -> Result<Vec<String>, TranscriptDatabaseError>;

    /// A session with all its messages. A subagent's export names the top-level session.
    fn export(&self, session: &str) -> Result<ExportedSession, TranscriptDatabaseError>;

    /// The newest messages of a session and its subagents, as consecutive exports.
    fn ending(&self, session: &str, bytes_max: usize) -> Result<ExportedSession, TranscriptDatabaseError>;
}

/// One session, in the agent's own export format.
pub struct ExportedSession {
    pub json: Vec<u8>,
    pub damaged_rows: usize,
    /// Nothing was left out to stay within the size limit.
    pub is_whole: bool,
}

#[derive(Debug, thiserror::Error)]
#[error("{name}'s database {path}: {source}")]
pub struct TranscriptDatabaseError {
    pub name: &'static str,
    pub path: String,
    pub source: Box<dyn std::error::Error + Send + Sync>,
}

/// A file name without its compression suffix.
pub fn plain_name(name: &str) -> &str {
    name.strip_suffix(".gz").or(name.strip_suffix(".zst")).unwrap_or(name)
}

pub fn below(dir: Option<PathBuf>, names: &[&str]) -> Vec<PathBuf> {
    dir.iter().flat_map(|dir| names.iter().map(|name| dir.join(name))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_number_of_entries_read_is_limited() {
        let folder = tempfile::tempdir().unwrap();
        for number in 0..5 {
            fs::write(folder.path().join(format!("rollout-{number}-id{number}.jsonl")), "").unwrap();
        }
        let dir = Path::new("/");
        let mut query = SessionQuery { id: "x", cwd: dir, root: dir, started_at: Timestamp::EPOCH, entries_left: 7 };
        assert!(query.named(folder.path(), "-id3.jsonl").is_some());
        assert_eq!(query.entries_left, 2);
        assert_eq!(query.named(folder.path(), "-other.jsonl"), None);
        assert_eq!(query.entries_left, 0);
        assert_eq!(query.named(folder.path(), "-id3.jsonl"), None, "nothing more is read");
    }
}
