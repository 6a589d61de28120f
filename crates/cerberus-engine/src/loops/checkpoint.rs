//! One checkpoint per iteration: the whole worktree, including untracked files, as a tree in the repository's own object
//! store that only a reference of ours holds.
//!
//! A separate index is used, so the user's index, branch, stash and files are not touched. Ignored files, untracked
//! private files, large files and the contents of submodules are not included. Restoring changes files only. It makes a checkpoint
//! of the current state first, and refuses if something would be lost that no checkpoint holds.

mod diff;
mod left_out;
mod reference;
mod saved;

use std::collections::HashSet;
use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;

use cerberus_core::clean::text::line;
use cerberus_core::model::time::Timestamp;
use cerberus_core::private::PrivacyRules;

pub use left_out::FILE_BYTES_MAX;
pub use reference::Reference;
use saved::Saved;

use super::ledger::WorktreeId;
use super::worktree::files_command;
use crate::os::home::{Home, create_dir};
use crate::project::git;
use crate::project::git::command::{command, printed};
use crate::project::identity::Located;

/// The first checkpoint of a repository with a million files takes a while.
const TIME_MAX: Duration = Duration::from_secs(300);

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

/// What a restore changed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Restored {
    pub written: Vec<String>,
    pub removed: Vec<String>,
    /// The tag that holds the state before the restore.
    pub before: String,
    /// Files that differ and stay as they are, because the checkpoint does not contain them: large files and submodules.
    pub kept: Vec<String>,
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
        Ok(printed.split('\0').skip(1).step_by(2).map(str::to_string).collect())
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
        let mut fields = printed.split('\0');
        let mut found = Vec::new();
        while let (Some(entry), Some(path)) = (fields.next().filter(|entry| !entry.is_empty()), fields.next()) {
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
    fn saved(&self, name: &str) -> Saved {
        let mut git = command(&self.located.root);
        git.args(["cat-file", "tag", name]);
        self.run("cat-file", git).map(|tag| Saved::parse(&tag)).unwrap_or_default()
    }

    fn raw_differences(&self, from: &str, to: &str) -> Result<String, CheckpointError> {
        let mut git = command(&self.located.root);
        git.args(["diff-tree", "-r", "-z", "--raw", "--no-renames", "--no-ext-diff", "--no-textconv"]);
        git.args([tree_of(from), tree_of(to)]);
        self.run("diff-tree", git)
    }

    /// The text of a file; `None` if it is too large.
    pub fn text_of(&self, blob: &str) -> Option<String> {
        let mut git = command(&self.located.root);
        git.args(["cat-file", "blob", blob]);
        printed(git, TIME_MAX)
    }

    /// Restores the files of a checkpoint.
    pub fn restore(&self, run: u32, number: u32, now: Timestamp) -> Result<Restored, CheckpointError> {
        let wanted = self.find(run, number)?.object;
        let title = format!("cerberus loop: before restoring run {run}, iteration {number}");
        let (before, too_large) = self.snapshot(title, now)?;
        self.set_reference(&format!("{}/{run}/before-{}", self.prefix, now.millis()), &before)?;
        let mut left_out = self.saved(&wanted).left_out;
        left_out.extend(too_large);
        let (mut changes, mut kept) = self.differences(&before, &wanted)?;
        // Neither state is known of a file that was too large in either.
        changes.retain(|change| !left_out.contains(&change.path));
        kept.extend(left_out);
        kept.sort();
        kept.dedup();
        self.refuse_loss(&changes)?;
        for path in changes.iter().filter(|change| change.is_gone).map(|change| &change.path) {
            self.remove(path)?;
        }
        let written: Vec<String> =
            changes.iter().filter(|change| !change.is_gone).map(|change| change.path.clone()).collect();
        self.write(&wanted, &written)?;
        let removed = changes.into_iter().filter(|change| change.is_gone).map(|change| change.path).collect();
        Ok(Restored { written, removed, before, kept })
    }

    /// Saves the whole worktree, without a reference yet. Returns the tag, and the files that were too large.
    fn snapshot(&self, title: String, now: Timestamp) -> Result<(String, Vec<String>), CheckpointError> {
        let index = self.scratch_file("index")?;
        // The user's index knows which files are unchanged, so that git need not read them again.
        let own = self.git_dir.join("index");
        if own.is_file() {
            fs::copy(&own, &index.path).map_err(|source| CheckpointError::File { path: own, source })?;
        }
        let mut git = self.with_index(&index)?;
        git.args(["-c", "core.safecrlf=false", "add", "--all", "--", "."]);
        let left_out = self.left_out()?;
        git.args(left_out.paths.iter().map(|path| format!(":(exclude,literal){path}")));
        self.run("add", git)?;
        let mut git = self.with_index(&index)?;
        git.arg("write-tree");
        let tree = self.run("write-tree", git)?;
        let saved = Saved { title, base: git::head(self.located), left_out: left_out.large };
        let tag = self.scratch_file("tag")?;
        let failed = |source| CheckpointError::File { path: tag.path.clone(), source };
        fs::write(&tag.path, saved.tag(tree.trim(), now)).map_err(failed)?;
        let mut git = command(&self.located.root);
        git.arg("mktag").stdin(Stdio::from(File::open(&tag.path).map_err(failed)?));
        Ok((self.run("mktag", git)?.trim().to_string(), saved.left_out))
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

    /// The changes that turn one state into the other, and the submodules that differ, which stay as they are.
    fn differences(&self, from: &str, to: &str) -> Result<(Vec<Change>, Vec<String>), CheckpointError> {
        let printed = self.raw_differences(from, to)?;
        let mut submodules = Vec::new();
        let mut fields = printed.split('\0');
        let mut changes = Vec::new();
        while let (Some(entry), Some(path)) = (fields.next().filter(|entry| !entry.is_empty()), fields.next()) {
            let mut words = entry.trim_start_matches(':').split(' ');
            let (old, new) = (words.next().unwrap_or_default(), words.next().unwrap_or_default());
            if old == SUBMODULE || new == SUBMODULE {
                submodules.push(path.to_string());
                continue;
            }
            if path.contains(char::REPLACEMENT_CHARACTER) {
                let words = format!("the name of {path} is not UTF-8, so the file cannot be restored");
                return Err(CheckpointError::Git { what: "diff-tree", words });
            }
            let status = entry.rsplit(' ').next().unwrap_or_default();
            changes.push(Change { path: path.to_string(), is_gone: status == "D", is_new: status == "A" });
        }
        Ok((changes, submodules))
    }

    /// Everything that the restore overwrites must be in the checkpoint that was just made.
    fn refuse_loss(&self, changes: &[Change]) -> Result<(), CheckpointError> {
        let gone: HashSet<&str> = changes.iter().filter(|change| change.is_gone).map(|one| one.path.as_str()).collect();
        let root = &self.located.root;
        let mut in_the_way = Vec::new();
        for change in changes.iter().filter(|change| !change.is_gone) {
            let path = root.join(&change.path);
            let stands = path.symlink_metadata();
            // The path is new to the worktree, yet something is there: an ignored file, of which no copy exists. A
            // folder is only in the way if it does not disappear with its files.
            let is_other = match &stands {
                Ok(found) if found.is_dir() => !is_emptied(&path, root, &gone),
                Ok(_) => change.is_new,
                Err(_) => false,
            };
            if is_other || blocked(&change.path, root, &gone) {
                in_the_way.push(change.path.clone());
            }
        }
        if in_the_way.is_empty() { Ok(()) } else { Err(CheckpointError::InTheWay(in_the_way)) }
    }

    fn remove(&self, path: &str) -> Result<(), CheckpointError> {
        let full = self.located.root.join(path);
        match fs::remove_file(&full) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => {
                return Err(CheckpointError::File { path: full, source: error });
            }
            _ => {}
        }
        // Git keeps no empty folders.
        let folders = full.ancestors().skip(1).take_while(|folder| *folder != self.located.root);
        for folder in folders {
            if fs::remove_dir(folder).is_err() {
                break;
            }
        }
        Ok(())
    }

    fn write(&self, object: &str, paths: &[String]) -> Result<(), CheckpointError> {
        if paths.is_empty() {
            return Ok(());
        }
        let index = self.scratch_file("index")?;
        let list = self.scratch_file("paths")?;
        let listed: String = paths.iter().map(|path| format!("{path}\0")).collect();
        let failed = |source| CheckpointError::File { path: list.path.clone(), source };
        fs::write(&list.path, listed).map_err(failed)?;
        let mut git = self.with_index(&index)?;
        git.args(["read-tree", &tree_of(object)]);
        self.run("read-tree", git)?;
        let mut git = self.with_index(&index)?;
        git.args(["checkout-index", "--force", "-z", "--stdin"]);
        git.stdin(Stdio::from(File::open(&list.path).map_err(failed)?));
        self.run("checkout-index", git).map(drop)
    }

    fn with_index(&self, index: &Scratch) -> Result<Command, CheckpointError> {
        let mut git = self.files_command()?;
        git.env("GIT_INDEX_FILE", &index.path);
        Ok(git)
    }

    fn files_command(&self) -> Result<Command, CheckpointError> {
        let unanswered = || CheckpointError::Git { what: "config", words: "git does not respond".to_string() };
        files_command(&self.located.root).ok_or_else(unanswered)
    }

    /// Returns what git printed, or an error with its complaint.
    fn run(&self, what: &'static str, mut git: Command) -> Result<String, CheckpointError> {
        let words = self.scratch_file("words")?;
        let failed = |source| CheckpointError::File { path: words.path.clone(), source };
        git.stderr(Stdio::from(File::create(&words.path).map_err(failed)?));
        printed(git, TIME_MAX).ok_or_else(|| {
            let words = fs::read(&words.path).unwrap_or_default();
            let words = line(&String::from_utf8_lossy(&words), 300);
            CheckpointError::Git {
                what,
                words: if words.is_empty() { "git does not respond".to_string() } else { words },
            }
        })
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

struct Change {
    path: String,
    is_gone: bool,
    is_new: bool,
}

/// The mode of a submodule in a tree.
const SUBMODULE: &str = "160000";

fn tree_of(object: &str) -> String {
    format!("{object}^{{tree}}")
}

/// Whether a folder is empty once these files are gone.
fn is_emptied(folder: &Path, root: &Path, gone: &HashSet<&str>) -> bool {
    let Ok(entries) = fs::read_dir(folder) else { return false };
    entries.flatten().all(|entry| {
        let path = entry.path();
        let relative = path.strip_prefix(root).unwrap_or(&path).to_string_lossy().into_owned();
        match entry.file_type() {
            Ok(kind) if kind.is_dir() => is_emptied(&path, root, gone),
            Ok(_) => gone.contains(relative.as_str()),
            Err(_) => false,
        }
    })
}

/// Whether something other than a folder is where one is needed.
fn blocked(path: &str, root: &Path, gone: &HashSet<&str>) -> bool {
    let folders = Path::new(path).ancestors().skip(1).filter(|folder| !folder.as_os_str().is_empty());
    let mut folders = folders.filter(|folder| !gone.contains(&*folder.to_string_lossy()));
    folders.any(|folder| root.join(folder).symlink_metadata().is_ok_and(|found| !found.is_dir()))
}

#[cfg(test)]
mod tests;
