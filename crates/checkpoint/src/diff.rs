//! What an iteration changed, as git shows it.

use std::process::Command;

use cerberus_store::project::git::command::command;

use super::checkpoints::tree_of;
use super::{CheckpointError, Checkpoints};

/// A changed file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ChangedFile {
    pub path: String,
    /// Lines; `None` for a binary file.
    pub added: Option<u64>,
    pub removed: Option<u64>,
}

impl Checkpoints<'_> {
    /// The files that differ between two checkpoints, with their numbers of lines.
    pub fn changed_lines(&self, from: &str, to: &str) -> Result<Vec<ChangedFile>, CheckpointError> {
        let printed = self.diff(from, to, &["--numstat", "-z"])?;
        Ok(printed.split('\0').filter_map(changed_file).collect())
    }

    /// The differences as a patch.
    pub fn patch(&self, from: &str, to: &str) -> Result<String, CheckpointError> {
        self.diff(from, to, &["--patch"])
    }

    /// Those of one file or folder, or of all.
    pub fn patch_of(&self, from: &str, to: &str, path: Option<&str>) -> Result<String, CheckpointError> {
        let mut git = self.diff_tree(from, to, &["--patch"]);
        if let Some(path) = path.filter(|path| !path.is_empty()) {
            git.env("GIT_LITERAL_PATHSPECS", "1").args(["--", path]);
        }
        self.run("diff-tree", git)
    }

    fn diff(&self, from: &str, to: &str, how: &[&str]) -> Result<String, CheckpointError> {
        self.run("diff-tree", self.diff_tree(from, to, how))
    }

    fn diff_tree(&self, from: &str, to: &str, how: &[&str]) -> Command {
        let mut git = command(&self.located.root);
        git.args(["diff-tree", "-r", "--no-renames", "--no-ext-diff", "--no-textconv", "--no-color"]);
        git.args(how).args([tree_of(from), tree_of(to)]);
        git
    }
}

/// `ADDED\tREMOVED\tPATH`
fn changed_file(line: &str) -> Option<ChangedFile> {
    let mut fields = line.splitn(3, '\t');
    let (added, removed) = (fields.next()?, fields.next()?);
    Some(ChangedFile { path: fields.next()?.to_string(), added: added.parse().ok(), removed: removed.parse().ok() })
}
