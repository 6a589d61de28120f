//! The folder in the home where it is remembered what the files of a worktree were.

use std::path::PathBuf;

use cerberus_os::home::Home;
use cerberus_record::id::ProjectId;
use cerberus_store::project::identity::Located;

use super::worktree_id::WorktreeId;

/// The folder of a worktree in the home.
pub(super) fn folder(home: &Home, located: &Located) -> PathBuf {
    folder_of(home, &located.project, WorktreeId::of(located))
}

/// `None` for the main worktree.
pub(super) fn folder_of(home: &Home, project: &ProjectId, worktree: Option<WorktreeId>) -> PathBuf {
    // A project's id is a hash of ours; other characters must not get into a file name.
    let project: String = project.as_str().chars().filter(char::is_ascii_hexdigit).collect();
    let worktree = worktree.map_or(String::new(), |worktree| format!("-{worktree}"));
    home.checkpoints_dir().join(format!("{project}{worktree}"))
}
