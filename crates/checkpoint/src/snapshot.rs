//! A state of the worktree as a tag of a tree, and what differs between two of them.

use cerberus_record::time::Timestamp;
use cerberus_store::project::git;
use cerberus_store::project::git::command::{command, printed};

use super::checkpoints::{Checkpoints, TIME_MAX, tree_of};
use super::entries::{SUBMODULE, fields};
use super::error::CheckpointError;
use super::files::SavedFiles;
use super::reference::Reference;
use super::saved::SavedState;

/// A state that was just saved, without a reference yet.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Snapshot {
    /// The tag.
    pub object: String,
    pub tree: String,
    pub left_out: Vec<String>,
    pub(super) private: Vec<String>,
}

impl Checkpoints<'_> {
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
    pub(super) fn files_since_base(&self, name: &str) -> Result<Vec<(String, String)>, CheckpointError> {
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
    pub(super) fn saved(&self, name: &str) -> SavedState {
        let mut git = command(&self.located.root);
        git.args(["cat-file", "tag", name]);
        self.run("cat-file", git).map(|tag| SavedState::parse(&tag)).unwrap_or_default()
    }

    pub(super) fn raw_differences(&self, from: &str, to: &str) -> Result<Vec<u8>, CheckpointError> {
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
    pub(super) fn snapshot(&self, title: String, now: Timestamp) -> Result<Snapshot, CheckpointError> {
        let SavedFiles { tree, left_out, private, .. } = self.save_files(None)?;
        self.tagged(tree, SavedState { title, left_out, private, ..SavedState::default() }, now)
    }

    /// Tags a tree, so that it says what it is of.
    pub(super) fn tagged(&self, tree: String, saved: SavedState, now: Timestamp) -> Result<Snapshot, CheckpointError> {
        let saved = SavedState { base: git::head(self.located), ..saved };
        let mut git = command(&self.located.root);
        git.arg("mktag");
        let tag = self.feed("mktag", git, saved.tag(&tree, now).as_bytes())?;
        self.point("checkpoint-tagged")?;
        let object = String::from_utf8_lossy(&tag).trim().to_string();
        Ok(Snapshot { object, tree, left_out: saved.left_out, private: saved.private })
    }
}
