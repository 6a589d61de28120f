//! The names of our references: `refs/cerberus/loop/RUN/N`, and `refs/cerberus/loop-WORKTREE/RUN/N` for a linked
//! worktree, because worktrees share their references.
//!
//! A reference leads to a tag of a tree, never to a commit, so `git log --all` does not show it.

use super::worktree_id::WorktreeId;

/// All references of ours.
pub const ALL: &str = "refs/cerberus/";
const LOOP: &str = "refs/cerberus/loop";

/// A reference of ours in a repository.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Reference {
    /// The linked worktree whose files it holds; `None` for the main worktree.
    pub worktree: Option<WorktreeId>,
    pub run: u32,
    pub name: String,
}

impl Reference {
    pub fn parse(name: &str) -> Option<Reference> {
        let rest = name.strip_prefix(LOOP)?;
        let (worktree, rest) = match rest.strip_prefix('-') {
            Some(rest) => {
                let (worktree, rest) = rest.split_once('/')?;
                (Some(WorktreeId::parse(worktree)?), rest)
            }
            None => (None, rest.strip_prefix('/')?),
        };
        let run = rest.split('/').next()?.parse().ok()?;
        Some(Reference { worktree, run, name: name.to_string() })
    }

    /// The number of its iteration. A state saved before a restore has none.
    pub(super) fn number(&self) -> Option<u32> {
        self.name.rsplit('/').next()?.parse().ok()
    }
}

/// The beginning of all names of a worktree's references.
pub fn prefix(worktree: Option<&WorktreeId>) -> String {
    worktree.map_or(LOOP.to_string(), |worktree| format!("{LOOP}-{worktree}"))
}
