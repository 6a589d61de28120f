//! A worktree of its own for a loop: made beside the repository, on a branch of its own.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;

use cerberus_record::clean::text::line;
use cerberus_store::project::git;
use cerberus_store::project::git::command::{command, printed};
use cerberus_store::project::identity::{Located, locate};

use super::worktree::files_command;

/// Checking out a repository with a million files takes a while.
const TIME_MAX: Duration = Duration::from_secs(300);

#[derive(Debug, thiserror::Error)]
pub enum WorktreeError {
    #[error("{0} is not a git repository")]
    NoGit(PathBuf),
    #[error("the repository has no commit yet")]
    NoCommit,
    #[error("{0:?} cannot be the name of a branch")]
    Name(String),
    #[error("{0} exists and is not a worktree of this repository on that branch")]
    Taken(PathBuf),
    #[error("git worktree add failed: {0}")]
    Git(String),
}

/// A worktree for a loop.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LoopWorktree {
    pub root: PathBuf,
    pub branch: String,
    /// The worktree from which it was made.
    pub from: PathBuf,
    pub is_new: bool,
}

/// What it contains that the other worktree does not.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AheadCommits {
    pub commits: usize,
    pub uncommitted: usize,
}

/// Finds or makes the worktree on the branch `name`, in a folder beside the main worktree. It starts from the commit
/// that is checked out.
pub fn prepare(located: &Located, name: &str) -> Result<LoopWorktree, WorktreeError> {
    if located.git_dir.is_none() {
        return Err(WorktreeError::NoGit(located.root.clone()));
    }
    if !is_branch_name(&located.root, name) {
        return Err(WorktreeError::Name(name.to_string()));
    }
    let main = located.main_root.as_deref().unwrap_or(&located.root);
    let folder = format!("{}-{}", base_name(main), name.replace('/', "-"));
    let root = main.parent().unwrap_or(main).join(folder);
    let made = LoopWorktree { root, branch: name.to_string(), from: located.root.clone(), is_new: true };
    if fs::symlink_metadata(&made.root).is_ok() {
        let found = locate(&made.root);
        let is_ours = found.project == located.project && found.main_root.is_some();
        return match is_ours && found.root == made.root && found.branch().as_deref() == Some(name) {
            true => Ok(LoopWorktree { is_new: false, ..made }),
            false => Err(WorktreeError::Taken(made.root)),
        };
    }
    git::head(located).ok_or(WorktreeError::NoCommit)?;
    let unanswered = || WorktreeError::Git("git does not respond".to_string());
    let mut git = files_command(&located.root).ok_or_else(unanswered)?;
    git.args(["worktree", "add", "--quiet"]);
    match has_branch(&located.root, name) {
        true => git.arg(&made.root).arg(name),
        false => git.args(["-b", name]).arg(&made.root),
    };
    run(git)?;
    Ok(made)
}

impl LoopWorktree {
    /// The folder in the new worktree that corresponds to `cwd`.
    pub fn folder(&self, located: &Located) -> PathBuf {
        let below = located.cwd.strip_prefix(&located.root).unwrap_or(Path::new(""));
        let folder = self.root.join(below);
        if folder.is_dir() { folder } else { self.root.clone() }
    }

    pub fn ahead(&self) -> Option<AheadCommits> {
        let mut git = command(&self.from);
        git.args(["rev-list", "--count", &format!("HEAD..refs/heads/{}", self.branch)]);
        let commits = printed(git, TIME_MAX)?.trim().parse().ok()?;
        let mut git = files_command(&self.root)?;
        git.args(["status", "--porcelain", "-z", "--no-renames", "--ignore-submodules=all"]);
        let uncommitted = printed(git, TIME_MAX)?.split('\0').filter(|entry| !entry.is_empty()).count();
        Some(AheadCommits { commits, uncommitted })
    }

    /// The commands that bring its work into the worktree it was made from, and remove it.
    pub fn how_to_merge(&self, ahead: Option<AheadCommits>) -> Vec<String> {
        let (root, from) = (quoted(&self.root), quoted(&self.from));
        let commit = format!("git -C {root} add --all && git -C {root} commit");
        let has_rest = ahead.is_none_or(|ahead| ahead.uncommitted > 0);
        let mut commands: Vec<String> = has_rest.then_some(commit).into_iter().collect();
        commands.push(format!("git -C {from} merge {}", self.branch));
        commands.push(format!("git -C {from} worktree remove {root}"));
        commands
    }
}

fn is_branch_name(root: &Path, name: &str) -> bool {
    let mut git = command(root);
    git.args(["check-ref-format", &format!("refs/heads/{name}")]);
    let is_plain = |c: char| c.is_alphanumeric() || matches!(c, '-' | '_' | '.' | '/' | '+');
    !name.starts_with(['-', '.', '/']) && name.chars().all(is_plain) && printed(git, TIME_MAX).is_some()
}

fn has_branch(root: &Path, name: &str) -> bool {
    let mut git = command(root);
    git.args(["show-ref", "--verify", "--quiet", &format!("refs/heads/{name}")]);
    printed(git, TIME_MAX).is_some()
}

/// Runs git; an error is its last complaint.
fn run(mut git: Command) -> Result<(), WorktreeError> {
    let failed = |error: std::io::Error| WorktreeError::Git(error.to_string());
    let output = git.stderr(Stdio::piped()).output().map_err(failed)?;
    match output.status.success() {
        true => Ok(()),
        false => Err(WorktreeError::Git(line(&String::from_utf8_lossy(&output.stderr), 300))),
    }
}

fn base_name(path: &Path) -> String {
    path.file_name().unwrap_or_default().to_string_lossy().into_owned()
}

/// For a shell.
fn quoted(path: &Path) -> String {
    let text = path.to_string_lossy();
    let is_plain = |c: char| c.is_alphanumeric() || matches!(c, '-' | '_' | '.' | '/' | '+');
    if text.chars().all(is_plain) { text.into_owned() } else { format!("'{}'", text.replace('\'', "'\\''")) }
}
