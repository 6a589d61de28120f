//! What is known about a project's repository besides its path, so that it can be recognised in another folder.

use serde::{Deserialize, Serialize};

use crate::clean::text::Clean;

/// The state of a repository at one time. A change is recorded as a whole new state.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(bound(deserialize = "'de: 'a"))]
pub struct Repository<'a> {
    /// The git directory shared by all worktrees, or the folder itself without git.
    pub folder: Clean<'a>,
    /// The normalised URL or path of its origin, without credentials.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub origin: Option<Clean<'a>>,
    /// The first commit of its history, the smallest if there are several. Unknown for a shallow clone.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub root_commit: Option<Clean<'a>>,
    /// The content of its `.cerberus-project`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<Clean<'a>>,
}

impl Repository<'_> {
    /// Nothing is known by which it could be recognised.
    pub fn is_unknown(&self) -> bool {
        self.origin.is_none() && self.root_commit.is_none() && self.name.is_none()
    }
}
