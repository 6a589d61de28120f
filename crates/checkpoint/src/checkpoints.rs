//! The repository that checkpoints are kept in: how git is asked, and the temporary files for that.

use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;

use cerberus_os::fault;
use cerberus_os::home::{Home, create_dir};
use cerberus_record::clean::text::line;
use cerberus_record::private::PrivacyRules;
use cerberus_store::config::{self, UndoConfig};
use cerberus_store::project::git::command::{command, printed_bytes};
use cerberus_store::project::identity::Located;

use super::error::CheckpointError;
use super::reference;
use super::worktree_id::WorktreeId;

/// The first checkpoint of a repository with a million files takes a while.
pub(super) const TIME_MAX: Duration = Duration::from_secs(300);

/// Enough for the names of a million files.
const LIST_BYTES_MAX: usize = 256 * 1024 * 1024;

/// The folder for temporary files.
const SCRATCH: &str = "scratch";

/// A file that was changed more recently is read again. Longer than the system keeps a mapped page without writing it.
const SETTLED_AFTER: Duration = Duration::from_secs(60);

/// Somebody may be about to refer to what was written more recently.
pub(super) const UNUSED_FOR: Duration = Duration::from_secs(60 * 60);

/// The checkpoints of a project.
#[derive(Debug)]
pub struct Checkpoints<'a> {
    pub(super) home: &'a Home,
    pub(super) located: &'a Located,
    pub(super) git_dir: &'a Path,
    /// The beginning of the names of this worktree's references.
    pub(super) prefix: String,
    pub(super) scratch: PathBuf,
    pub(super) privacy_rules: &'a PrivacyRules,
    /// The user's. They hold for loops too.
    pub(super) limits: UndoConfig,
    /// What was the same for this long when it was hashed is not hashed again.
    pub(super) settled_after: Duration,
    /// What nobody has written again for this long may be removed.
    pub(super) unused_for: Duration,
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
            settled_after: SETTLED_AFTER,
            unused_for: UNUSED_FOR,
        })
    }

    /// A labelled point: in tests, this process may die or fail here.
    pub(super) fn point(&self, label: &str) -> Result<(), CheckpointError> {
        let failed = |source| CheckpointError::File { path: self.located.root.clone(), source };
        fault::point(label).map(drop).map_err(failed)
    }

    /// Makes a reference that does not exist yet.
    pub(super) fn create_reference(&self, reference: &str, object: &str) -> Result<(), CheckpointError> {
        let mut git = command(&self.located.root);
        git.args(["update-ref", reference, object, ""]);
        self.run("update-ref", git).map(drop)
    }

    pub(super) fn set_reference(&self, reference: &str, object: &str) -> Result<(), CheckpointError> {
        let mut git = command(&self.located.root);
        git.args(["update-ref", reference, object]);
        self.run("update-ref", git).map(drop)
    }

    /// Returns what git printed, or an error with its complaint.
    pub(super) fn run(&self, what: &'static str, git: Command) -> Result<String, CheckpointError> {
        self.run_bytes(what, git).map(|printed| String::from_utf8_lossy(&printed).into_owned())
    }

    pub(super) fn run_bytes(&self, what: &'static str, mut git: Command) -> Result<Vec<u8>, CheckpointError> {
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
    pub(super) fn feed(&self, what: &'static str, mut git: Command, input: &[u8]) -> Result<Vec<u8>, CheckpointError> {
        git.stdin(self.scratch_input(input)?);
        self.run_bytes(what, git)
    }

    /// An input for git.
    pub(super) fn scratch_input(&self, input: &[u8]) -> Result<Stdio, CheckpointError> {
        let scratch = self.scratch_file("input")?;
        let written = fs::write(&scratch.path, input).and_then(|()| File::open(&scratch.path));
        written.map(Stdio::from).map_err(|source| CheckpointError::File { path: scratch.path.clone(), source })
    }

    pub(super) fn scratch_file(&self, what: &str) -> Result<Scratch, CheckpointError> {
        create_dir(&self.scratch).map_err(|source| CheckpointError::File { path: self.scratch.clone(), source })?;
        Ok(Scratch { path: self.scratch.join(format!("{what}-{}-{}", std::process::id(), next_number())) })
    }
}

/// A temporary file that is removed on drop, together with a lock that git may have left.
#[derive(Debug)]
pub(super) struct Scratch {
    pub path: PathBuf,
}

impl Drop for Scratch {
    fn drop(&mut self) {
        let _ = fs::remove_file(&self.path);
        let _ = fs::remove_file(self.path.with_extension("lock"));
    }
}

pub(super) fn next_number() -> u64 {
    static NUMBER: std::sync::atomic::AtomicU64 = std::sync::atomic::AtomicU64::new(0);
    NUMBER.fetch_add(1, std::sync::atomic::Ordering::Relaxed)
}

pub(super) fn tree_of(object: &str) -> String {
    format!("{object}^{{tree}}")
}
