//! Checkpoints: the whole worktree, including untracked files, as a tree in the repository's own object store that only a
//! reference of ours holds. Loops make one per iteration (`runs.rs`), other sessions one per turn, if the user wants that
//! (`turns.rs`).
//!
//! Git stores the files and nothing else: the user's index, branch and stash are not touched, and are not asked what has
//! changed (`files.rs`). Ignored files, private files, large files and the contents of submodules are not included.
//! Restoring changes files only (`restore.rs`).

pub mod before;
mod destructive;
pub mod detached;
mod diff;
pub mod erase;
mod files;
mod reference;
mod restore;
pub mod room;
mod runs;
mod saved;
mod seen;
pub mod switch;
pub mod turns;
mod worktree_id;

use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;

use cerberus_os::fault;
use cerberus_os::home::{Home, create_dir};
use cerberus_record::clean::text::line;
use cerberus_record::private::PrivacyRules;
use cerberus_record::time::Timestamp;
use cerberus_store::config::{self, UndoConfig};
use cerberus_store::project::git;
use cerberus_store::project::git::command::{command, printed, printed_bytes};
use cerberus_store::project::identity::Located;
pub use diff::ChangedFile;
use files::{SUBMODULE, SavedFiles, fields};
pub use reference::Reference;
pub use restore::RestoredPaths;
pub use runs::{Checkpoint, NewCheckpoint};
pub use saved::{SavedState, TurnMoment, TurnSession};
pub use worktree_id::WorktreeId;

/// The first checkpoint of a repository with a million files takes a while.
const TIME_MAX: Duration = Duration::from_secs(300);

/// Enough for the names of a million files.
const LIST_BYTES_MAX: usize = 256 * 1024 * 1024;

/// The author of a checkpoint.
const NAME: &str = "Cerberus";
const EMAIL: &str = "cerberus@localhost";

/// The folder for temporary files.
const SCRATCH: &str = "scratch";

/// How often files are read again that changed while they were being saved.
const TRIES_MAX: usize = 3;

#[derive(Debug, thiserror::Error)]
pub enum CheckpointError {
    #[error("{0} is not a git repository")]
    NoGit(PathBuf),
    #[error("git {what} failed: {words}")]
    Git { what: &'static str, words: String },
    #[error("{path}: {source}")]
    File { path: PathBuf, source: io::Error },
    #[error("run {run} has no checkpoint {number}")]
    Missing { run: u32, number: u32 },
    #[error("no turn {0} is kept")]
    NoTurn(u32),
    #[error("nothing is kept from before turn {0}")]
    NothingBefore(u32),
    #[error("ignored files are in the way of files of the checkpoint: {}", .0.join(", "))]
    InTheWay(Vec<String>),
    #[error("files changed while they were being saved: {}", .0.join(", "))]
    Changed(Vec<String>),
    #[error("the repository has lost the contents of files of the checkpoint: {}", .0.join(", "))]
    Lost(Vec<String>),
}

/// The checkpoints of a project.
#[derive(Debug)]
pub struct Checkpoints<'a> {
    home: &'a Home,
    located: &'a Located,
    git_dir: &'a Path,
    /// The beginning of the names of this worktree's references.
    prefix: String,
    scratch: PathBuf,
    privacy_rules: &'a PrivacyRules,
    /// The user's. They hold for loops too.
    limits: UndoConfig,
    /// What was the same for this long when it was hashed is not hashed again.
    settled_after: Duration,
    /// What nobody has written again for this long may be removed.
    unused_for: Duration,
}

/// A state that was just saved, without a reference yet.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Snapshot {
    /// The tag.
    pub object: String,
    pub tree: String,
    pub left_out: Vec<String>,
    private: Vec<String>,
}

impl<'a> Checkpoints<'a> {
    /// Creates nothing yet. Temporary files go into the home.
    pub fn new(home: &'a Home, located: &'a Located) -> Result<Checkpoints<'a>, CheckpointError> {
        let git_dir = located.git_dir.as_deref().ok_or_else(|| CheckpointError::NoGit(located.root.clone()))?;
        Ok(Checkpoints {
            home,
            located,
            git_dir,
            prefix: reference::prefix(WorktreeId::of(located).as_ref()),
            scratch: home.checkpoints_dir().join(SCRATCH),
            privacy_rules: home.privacy_rules(),
            // With wrong settings, `doctor` says so; the standard limits hold.
            limits: config::load(home).map(|config| config.undo).unwrap_or_default(),
            settled_after: seen::SETTLED_AFTER,
            unused_for: room::UNUSED_FOR,
        })
    }

    /// The paths that differ between two checkpoints.
    pub fn changed_between(&self, from: &str, to: &str) -> Result<Vec<String>, CheckpointError> {
        let printed = self.raw_differences(from, to)?;
        Ok(fields(&printed).skip(1).step_by(2).map(|path| String::from_utf8_lossy(path).into_owned()).collect())
    }

    /// The files that a checkpoint adds to the commit it is based on, or changes in it: path and blob.
    pub fn changed_files(&self, reference: &Reference) -> Result<Vec<(String, String)>, CheckpointError> {
        self.files_since_base(&reference.name)
    }

    /// The same of any state of ours.
    fn files_since_base(&self, name: &str) -> Result<Vec<(String, String)>, CheckpointError> {
        let base = self.saved(name).base.unwrap_or_else(|| format!("{name}^1"));
        let printed = match self.raw_differences(&base, name) {
            Ok(printed) => printed,
            // The commit is gone, so every file counts.
            Err(_) => self.raw_differences(&self.empty_tree()?, name)?,
        };
        let mut fields = fields(&printed).map(String::from_utf8_lossy);
        let mut found = Vec::new();
        while let (Some(entry), Some(path)) = (fields.next(), fields.next()) {
            let words: Vec<&str> = entry.split(' ').collect();
            if let [_, mode, _, blob, status] = words[..]
                && mode != SUBMODULE
                && status != "D"
            {
                found.push((path.to_string(), blob.to_string()));
            }
        }
        Ok(found)
    }

    fn empty_tree(&self) -> Result<String, CheckpointError> {
        let mut git = command(&self.located.root);
        git.args(["hash-object", "-w", "-t", "tree", "--stdin"]);
        Ok(self.run("hash-object", git)?.trim().to_string())
    }

    /// What a checkpoint says about itself. Those of older versions are commits and say nothing.
    fn saved(&self, name: &str) -> SavedState {
        let mut git = command(&self.located.root);
        git.args(["cat-file", "tag", name]);
        self.run("cat-file", git).map(|tag| SavedState::parse(&tag)).unwrap_or_default()
    }

    fn raw_differences(&self, from: &str, to: &str) -> Result<Vec<u8>, CheckpointError> {
        let mut git = command(&self.located.root);
        git.args(["diff-tree", "-r", "-z", "--raw", "--no-renames", "--no-ext-diff", "--no-textconv"]);
        git.args([tree_of(from), tree_of(to)]);
        self.run_bytes("diff-tree", git)
    }

    /// The text of a file; `None` if it is too large.
    pub fn text_of(&self, blob: &str) -> Option<String> {
        let mut git = command(&self.located.root);
        git.args(["cat-file", "blob", blob]);
        printed(git, TIME_MAX)
    }

    /// Saves the whole worktree, without a reference yet.
    fn snapshot(&self, title: String, now: Timestamp) -> Result<Snapshot, CheckpointError> {
        let SavedFiles { tree, left_out, private, .. } = self.save_files(None)?;
        self.tagged(tree, SavedState { title, left_out, private, ..SavedState::default() }, now)
    }

    /// Tags a tree, so that it says what it is of.
    fn tagged(&self, tree: String, saved: SavedState, now: Timestamp) -> Result<Snapshot, CheckpointError> {
        let saved = SavedState { base: git::head(self.located), ..saved };
        let mut git = command(&self.located.root);
        git.arg("mktag");
        let tag = self.feed("mktag", git, saved.tag(&tree, now).as_bytes())?;
        self.point("checkpoint-tagged")?;
        let object = String::from_utf8_lossy(&tag).trim().to_string();
        Ok(Snapshot { object, tree, left_out: saved.left_out, private: saved.private })
    }

    /// A labelled point: in tests, this process may die or fail here.
    fn point(&self, label: &str) -> Result<(), CheckpointError> {
        let failed = |source| CheckpointError::File { path: self.located.root.clone(), source };
        fault::point(label).map(drop).map_err(failed)
    }

    /// Makes a reference that does not exist yet.
    fn create_reference(&self, reference: &str, object: &str) -> Result<(), CheckpointError> {
        let mut git = command(&self.located.root);
        git.args(["update-ref", reference, object, ""]);
        self.run("update-ref", git).map(drop)
    }

    fn set_reference(&self, reference: &str, object: &str) -> Result<(), CheckpointError> {
        let mut git = command(&self.located.root);
        git.args(["update-ref", reference, object]);
        self.run("update-ref", git).map(drop)
    }

    /// Returns what git printed, or an error with its complaint.
    fn run(&self, what: &'static str, git: Command) -> Result<String, CheckpointError> {
        self.run_bytes(what, git).map(|printed| String::from_utf8_lossy(&printed).into_owned())
    }

    fn run_bytes(&self, what: &'static str, mut git: Command) -> Result<Vec<u8>, CheckpointError> {
        let words = self.scratch_file("words")?;
        let failed = |source| CheckpointError::File { path: words.path.clone(), source };
        git.stderr(Stdio::from(File::create(&words.path).map_err(failed)?));
        printed_bytes(git, TIME_MAX, LIST_BYTES_MAX).ok_or_else(|| {
            let words = fs::read(&words.path).unwrap_or_default();
            let words = line(&String::from_utf8_lossy(&words), 300);
            CheckpointError::Git {
                what,
                words: if words.is_empty() { "git does not respond".to_string() } else { words },
            }
        })
    }

    /// The same with an input.
    fn feed(&self, what: &'static str, mut git: Command, input: &[u8]) -> Result<Vec<u8>, CheckpointError> {
        git.stdin(self.scratch_input(input)?);
        self.run_bytes(what, git)
    }

    /// An input for git.
    fn scratch_input(&self, input: &[u8]) -> Result<Stdio, CheckpointError> {
        let scratch = self.scratch_file("input")?;
        let written = fs::write(&scratch.path, input).and_then(|()| File::open(&scratch.path));
        written.map(Stdio::from).map_err(|source| CheckpointError::File { path: scratch.path.clone(), source })
    }

    fn scratch_file(&self, what: &str) -> Result<Scratch, CheckpointError> {
        create_dir(&self.scratch).map_err(|source| CheckpointError::File { path: self.scratch.clone(), source })?;
        Ok(Scratch { path: self.scratch.join(format!("{what}-{}-{}", std::process::id(), next_number())) })
    }
}

/// A temporary file that is removed on drop, together with a lock that git may have left.
#[derive(Debug)]
struct Scratch {
    path: PathBuf,
}

impl Drop for Scratch {
    fn drop(&mut self) {
        let _ = fs::remove_file(&self.path);
        let _ = fs::remove_file(self.path.with_extension("lock"));
    }
}

fn next_number() -> u64 {
    static NUMBER: std::sync::atomic::AtomicU64 = std::sync::atomic::AtomicU64::new(0);
    NUMBER.fetch_add(1, std::sync::atomic::Ordering::Relaxed)
}

fn tree_of(object: &str) -> String {
    format!("{object}^{{tree}}")
}

#[cfg(test)]
mod tests;
