//! What a checkpoint does not contain.

use std::collections::HashSet;
use std::fs;

use super::{CheckpointError, Checkpoints};
use crate::project::git::command::command;
use crate::project::tracked;

/// A larger file is listed, not copied: every iteration would add another copy to the repository.
pub const FILE_BYTES_MAX: u64 = 50 * 1024 * 1024;

#[derive(Debug, Default)]
pub struct LeftOut {
    /// Not to be added.
    pub paths: Vec<String>,
    /// Those among them that are too large.
    pub large: Vec<String>,
}

impl Checkpoints<'_> {
    /// Private files and nested repositories that are not submodules, as far as they are untracked, and files that are
    /// too large. Git would turn nested repositories into submodules, or fail if they have no commit yet.
    pub(super) fn left_out(&self) -> Result<LeftOut, CheckpointError> {
        let mut git = self.files_command()?;
        git.args(["ls-files", "--others", "--exclude-standard", "-z"]);
        let printed = self.run("ls-files", git)?;
        let mut left_out = LeftOut { paths: Vec::new(), large: self.large_tracked()? };
        for path in printed.split('\0').filter(|path| !path.is_empty()) {
            // Only a repository is listed as a folder; everything else is listed file by file.
            if let Some(repository) = path.strip_suffix('/') {
                left_out.paths.push(repository.to_string());
            } else if self.privacy_rules.is_private(path) {
                left_out.paths.push(path.to_string());
            } else if self.is_large(path) {
                left_out.large.push(path.to_string());
            }
        }
        left_out.paths.extend(left_out.large.iter().cloned());
        Ok(left_out)
    }

    /// Tracked files that are too large and were changed. An unchanged one is in the repository already.
    fn large_tracked(&self) -> Result<Vec<String>, CheckpointError> {
        let large: Vec<String> = tracked::paths(self.git_dir).into_iter().filter(|path| self.is_large(path)).collect();
        if large.is_empty() {
            return Ok(large);
        }
        let mut git = self.files_command()?;
        git.args(["ls-files", "--modified", "-z"]);
        let printed = self.run("ls-files", git)?;
        let modified: HashSet<&str> = printed.split('\0').collect();
        Ok(large.into_iter().filter(|path| modified.contains(path.as_str())).collect())
    }

    fn is_large(&self, path: &str) -> bool {
        let known = fs::symlink_metadata(self.located.root.join(path));
        known.is_ok_and(|known| known.is_file() && known.len() > FILE_BYTES_MAX)
    }

    /// The paths of the repository's submodules. Each is a repository of its own, whose files are not saved.
    pub fn submodules(&self) -> Vec<String> {
        if !self.located.root.join(".gitmodules").is_file() {
            return Vec::new();
        }
        let mut git = command(&self.located.root);
        git.args(["config", "--file", ".gitmodules", "-z", "--get-regexp", "^submodule\\..*\\.path$"]);
        let printed = self.run("config", git).unwrap_or_default();
        printed.split('\0').filter_map(|entry| Some(entry.split_once('\n')?.1.to_string())).collect()
    }
}
