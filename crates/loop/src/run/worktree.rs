//! What git says about the files: those that differ since the loop began, and the last commits.
//!
//! Git only reads here, and starts no program that the repository names. Without git, only the disk is checked.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};

use cerberus_store::project::git;
use cerberus_store::project::git::command::{command, on_files, printed};
use cerberus_store::project::identity::Located;
use cerberus_store::project::tracked;

use crate::handoff::check::{Worktree, read_diff, read_status};

/// A fresh context waits at most this long for git.
const TIME_MAX: Duration = Duration::from_secs(20);

/// The files that differ from the commit `base`, or from HEAD if `base` is unknown. `claimed` are files that somebody
/// says were changed.
pub fn inspect(located: &Located, base: Option<&str>, claimed: &[String]) -> Worktree {
    let mut worktree = Worktree::default();
    let mut tracked = Vec::new();
    if let Some(git_dir) = &located.git_dir {
        let status = ["status", "--porcelain=v2", "-z", "--untracked-files=all", "--find-renames"];
        let status = ask(located, &[status.as_slice(), &["--ignore-submodules=all"]].concat());
        worktree.changed = read_status(&status.unwrap_or_default());
        // A comparison with the start of the loop says more than one with the last commit.
        let diff = base.filter(|base| is_commit(base)).and_then(|base| {
            let diff = ["diff", "--name-status", "-z", "--find-renames", "--no-ext-diff", "--no-textconv"];
            ask(located, &[diff.as_slice(), &["--ignore-submodules=all", base, "--"]].concat())
        });
        worktree.changed.extend(read_diff(&diff.unwrap_or_default()));
        tracked = tracked::paths(git_dir);
    }
    let is_there = |path: &&String| located.root.join(path).symlink_metadata().is_ok();
    let unfollowed = claimed.iter().filter(|path| !tracked.contains(path)).filter(is_there);
    worktree.unfollowed = unfollowed.cloned().collect();
    worktree
}

/// The tree of the commit that is checked out. Two commits with the same files have the same tree.
pub fn tree(located: &Located) -> Option<String> {
    let mut git = command(&located.root);
    git.args(["rev-parse", "--verify", "--quiet", "HEAD^{tree}"]);
    printed(git, TIME_MAX).map(|name| name.trim().to_string())
}

/// All files that differ from the commit that is checked out, untracked ones included.
pub fn differing(located: &Located) -> Option<Vec<PathBuf>> {
    let status = ["status", "--porcelain=v2", "-z", "--untracked-files=all", "--no-renames"];
    let changed = read_status(&ask(located, &[status.as_slice(), &["--ignore-submodules=all"]].concat())?);
    Some(changed.into_iter().map(|changed| PathBuf::from(changed.path)).collect())
}

/// Whether a file that somebody names exists: at this path, or at the end of a longer one.
pub fn existing(located: &Located) -> impl Fn(&str) -> bool {
    let (root, cwd) = (located.root.clone(), located.cwd.clone());
    let listed = located.git_dir.as_ref().and_then(|_| git::files(located)).unwrap_or_default();
    move |name: &str| {
        let is_there = |dir: &Path| dir.join(name).symlink_metadata().is_ok();
        let name = name.trim_start_matches("./");
        is_there(&root)
            || is_there(&cwd)
            || listed.split('\0').any(|path| path.strip_suffix(name).is_some_and(|rest| rest.ends_with('/')))
    }
}

/// The last commits as `1a2b3c4 subject`, newest first.
pub fn recent_commits(located: &Located, count: u32) -> Vec<String> {
    if located.git_dir.is_none() || count == 0 {
        return Vec::new();
    }
    let mut git = command(&located.root);
    git.args(["log", "-n", &count.to_string(), "--no-show-signature", "--no-color", "--format=%h %s", "HEAD"]);
    printed(git, TIME_MAX).unwrap_or_default().lines().map(str::to_string).collect()
}

fn ask(located: &Located, args: &[&str]) -> Option<String> {
    let mut git = files_command(&located.root)?;
    git.args(args);
    printed(git, TIME_MAX)
}

/// Git for commands that read the worktree. The query for the repository's drivers has a short time limit, so it is
/// repeated on a busy machine.
pub(super) fn files_command(root: &Path) -> Option<Command> {
    let deadline = Instant::now() + TIME_MAX;
    loop {
        match on_files(root) {
            None if Instant::now() < deadline && root.is_dir() => std::thread::sleep(Duration::from_millis(20)),
            found => return found,
        }
    }
}

fn is_commit(name: &str) -> bool {
    matches!(name.len(), 40 | 64) && name.bytes().all(|byte| byte.is_ascii_hexdigit())
}
