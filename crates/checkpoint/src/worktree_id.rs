//! Which worktree of a repository a checkpoint is of: worktrees share their references.

use std::fmt;
use std::path::Path;

use cerberus_record::id::ProjectId;
use cerberus_store::project::identity::Located;

/// A linked worktree: a hash of its git directory.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WorktreeId(String);

impl WorktreeId {
    /// `None` for the main worktree, and without git.
    pub fn of(located: &Located) -> Option<WorktreeId> {
        located.git_dir.as_ref().filter(|_| located.main_root.is_some()).and_then(|dir| WorktreeId::of_git_dir(dir))
    }

    pub fn of_git_dir(git_dir: &Path) -> Option<WorktreeId> {
        WorktreeId::parse(ProjectId::of_anchor(git_dir.as_os_str().as_encoded_bytes()).as_str())
    }

    pub fn parse(text: &str) -> Option<WorktreeId> {
        let is_id = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_hexdigit());
        is_id.then(|| WorktreeId(text.to_string()))
    }
}

impl fmt::Display for WorktreeId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}
