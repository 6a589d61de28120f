//! One checkpoint per iteration: the whole worktree, including untracked files, as a tree in the repository's own object
//! store that only a reference of ours holds.
//!
//! Git stores the files and nothing else: the user's index, branch and stash are not touched, and are not asked what has
//! changed (`files.rs`). Ignored files, untracked private files, large files and the contents of submodules are not
//! included. Restoring changes files only (`restore.rs`).

mod diff;
mod files;
mod reference;
mod restore;
mod saved;

use std::collections::HashSet;
use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;

use cerberus_os::home::{Home, create_dir};
use cerberus_record::clean::text::line;
use cerberus_record::private::PrivacyRules;
use cerberus_record::time::Timestamp;
use cerberus_store::project::git;
use cerberus_store::project::git::command::{command, printed, printed_bytes};
use cerberus_store::project::identity::Located;
pub use files::FILE_BYTES_MAX;
use files::{SUBMODULE, fields};
pub use reference::Reference;
pub use restore::RestoredPaths;
use saved::SavedState;

use super::ledger::WorktreeId;

/// The first checkpoint of a repository with a million files takes a while.
const TIME_MAX: Duration = Duration::from_secs(300);

/// Enough for the names of a million files.
const LIST_BYTES_MAX: usize = 256 * 1024 * 1024;

/// The author of a checkpoint.
const NAME: &str = "Cerberus";
const EMAIL: &str = "cerberus@localhost";

/// The folder for temporary files, beside the ledgers.
pub(super) const SCRATCH: &str = "scratch";

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
    #[error("ignored files are in the way of files of the checkpoint: {}", .0.join(", "))]
    InTheWay(Vec<String>),
    #[error("files changed while they were being saved: {}", .0.join(", "))]
    Changed(Vec<String>),
    #[error("the repository has lost the contents of files of the checkpoint: {}", .0.join(", "))]
    Lost(Vec<String>),
}

/// An existing checkpoint.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Checkpoint {
    pub run: u32,
    pub number: u32,
    /// The tag that holds it.
    pub object: String,
    pub at: Timestamp,
}

/// A new checkpoint, and the files that were too large for it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NewCheckpoint {
    pub checkpoint: Checkpoint,
    pub left_out: Vec<String>,
}

/// The checkpoints of a project.
#[derive(Debug)]
pub struct Checkpoints<'a> {
    located: &'a Located,
    git_dir: &'a Path,
    /// The beginning of the names of this worktree's references.
    prefix: String,
    scratch: PathBuf,
    privacy_rules: &'a PrivacyRules,
}

impl<'a> Checkpoints<'a> {
    /// Creates nothing yet. Temporary files go into the home.
    pub fn new(home: &'a Home, located: &'a Located) -> Result<Checkpoints<'a>, CheckpointError> {
        let git_dir = located.git_dir.as_deref().ok_or_else(|| CheckpointError::NoGit(located.root.clone()))?;
        Ok(Checkpoints {
            located,
            git_dir,
            prefix: reference::prefix(WorktreeId::of(located).as_ref()),
            scratch: home.loops_dir().join(SCRATCH),
            privacy_rules: home.privacy_rules(),
        })
    }

    /// Saves the worktree as iteration `number` of `run`. Replaces a checkpoint of the same number.
    pub fn save(&self, run: u32, number: u32, now: Timestamp) -> Result<NewCheckpoint, CheckpointError> {
        let (object, left_out) = self.snapshot(format!("cerberus loop: run {run}, iteration {number}"), now)?;
        self.set_reference(&format!("{}/{run}/{number}", self.prefix), &object)?;
        Ok(NewCheckpoint { checkpoint: Checkpoint { run, number, object, at: now }, left_out })
    }

    /// A run's checkpoints, in order.
    pub fn list(&self, run: u32) -> Result<Vec<Checkpoint>, CheckpointError> {
        let mut found: Vec<Checkpoint> = self.all()?.into_iter().filter(|one| one.run == run).collect();
        found.sort_by_key(|one| one.number);
        Ok(found)
    }

    /// One checkpoint of a run.
    pub fn find(&self, run: u32, number: u32) -> Result<Checkpoint, CheckpointError> {
        let found = self.list(run)?.into_iter().find(|one| one.number == number);
        found.ok_or(CheckpointError::Missing { run, number })
    }

    /// The states before and after an iteration. Before is the last checkpoint with a smaller number.
    pub fn around(&self, run: u32, number: u32) -> Result<(Checkpoint, Checkpoint), CheckpointError> {
        let after = self.find(run, number)?;
        let before = self.list(run)?.into_iter().rfind(|one| one.number < number);
        Ok((before.ok_or(CheckpointError::Missing { run, number: number.saturating_sub(1) })?, after))
    }

    /// The paths that differ between two checkpoints.
    pub fn changed_between(&self, from: &str, to: &str) -> Result<Vec<String>, CheckpointError> {
        let printed = self.raw_differences(from, to)?;
        Ok(fields(&printed).skip(1).step_by(2).map(|path| String::from_utf8_lossy(path).into_owned()).collect())
    }

    /// This worktree's references to all but the last runs, states saved before a restore included.
    pub fn old_references(&self, runs_kept: usize) -> Result<Vec<Reference>, CheckpointError> {
        let own = WorktreeId::of(self.located);
        let mut all = self.references()?;
        all.retain(|one| one.worktree == own);
        let mut runs: Vec<u32> = all.iter().map(|one| one.run).collect();
        runs.sort_unstable();
        runs.dedup();
        let gone: HashSet<u32> = runs.iter().rev().skip(runs_kept).copied().collect();
        all.retain(|one| gone.contains(&one.run));
        Ok(all)
    }

    /// References of worktrees that do not exist any more.
    pub fn references_of_removed_worktrees(&self) -> Result<Vec<Reference>, CheckpointError> {
        let common_dir = self.located.common_dir.as_deref().unwrap_or(self.git_dir);
        let entries = fs::read_dir(common_dir.join("worktrees")).into_iter().flatten().flatten();
        let existing: Vec<WorktreeId> = entries.filter_map(|entry| WorktreeId::of_git_dir(&entry.path())).collect();
        let mut all = self.references()?;
        all.retain(|one| one.worktree.as_ref().is_some_and(|worktree| !existing.contains(worktree)));
        Ok(all)
    }

    /// Everything that we hold in the repository: checkpoints of all worktrees, and states saved before a restore.
    pub fn references(&self) -> Result<Vec<Reference>, CheckpointError> {
        let mut git = command(&self.located.root);
        git.args(["for-each-ref", "--format=%(refname)", reference::ALL]);
        Ok(self.run("for-each-ref", git)?.lines().filter_map(Reference::parse).collect())
    }

    /// Removes a reference. Git itself removes the objects later, when nothing else needs them.
    pub fn remove_reference(&self, reference: &Reference) -> Result<(), CheckpointError> {
        let mut git = command(&self.located.root);
        git.args(["update-ref", "-d", &reference.name]);
        self.run("update-ref", git).map(drop)
    }

    /// The files that a checkpoint adds to the commit it is based on, or changes in it: path and blob.
    pub fn changed_files(&self, reference: &Reference) -> Result<Vec<(String, String)>, CheckpointError> {
        let base = self.saved(&reference.name).base.unwrap_or_else(|| format!("{}^1", reference.name));
        let printed = match self.raw_differences(&base, &reference.name) {
            Ok(printed) => printed,
            // The commit is gone, so every file counts.
            Err(_) => self.raw_differences(&self.empty_tree()?, &reference.name)?,
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

    /// Saves the whole worktree, without a reference yet. Returns the tag, and the files that were too large.
    fn snapshot(&self, title: String, now: Timestamp) -> Result<(String, Vec<String>), CheckpointError> {
        let (tree, left_out) = self.save_files()?;
        let saved = SavedState { title, base: git::head(self.located), left_out };
        let mut git = command(&self.located.root);
        git.arg("mktag");
        let tag = self.feed("mktag", git, saved.tag(&tree, now).as_bytes())?;
        Ok((String::from_utf8_lossy(&tag).trim().to_string(), saved.left_out))
    }

    fn set_reference(&self, reference: &str, object: &str) -> Result<(), CheckpointError> {
        let mut git = command(&self.located.root);
        git.args(["update-ref", reference, object]);
        self.run("update-ref", git).map(drop)
    }

    fn all(&self) -> Result<Vec<Checkpoint>, CheckpointError> {
        let mut git = command(&self.located.root);
        let format = "--format=%(refname) %(objectname) %(creatordate:unix)";
        git.args(["for-each-ref", format, &format!("{}/", self.prefix)]);
        let printed = self.run("for-each-ref", git)?;
        Ok(printed.lines().filter_map(reference::checkpoint).map(|(_, checkpoint)| checkpoint).collect())
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
