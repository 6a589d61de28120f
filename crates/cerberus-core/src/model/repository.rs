//! What is known of a project's repository beside where it is: enough to know it again in another folder.

use serde::{Deserialize, Serialize};

use crate::clean::text::Clean;

/// A repository as it was when somebody looked. Every look that finds something else is recorded whole.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Repository<'a> {
    /// The git directory that all its worktrees share, or the folder itself where there is no git.
    #[serde(borrow)]
    pub folder: Clean<'a>,
    /// Where it was cloned from, in one spelling and without credentials.
    #[serde(borrow, default, skip_serializing_if = "Option::is_none")]
    pub origin: Option<Clean<'a>>,
    /// The first commit of its history; of several the smallest. Unknown for a shallow clone.
    #[serde(borrow, default, skip_serializing_if = "Option::is_none")]
    pub root_commit: Option<Clean<'a>>,
    /// What its `.cerberus-project` says.
    #[serde(borrow, default, skip_serializing_if = "Option::is_none")]
    pub name: Option<Clean<'a>>,
}

impl Repository<'_> {
    /// Nothing is known by which it could be found again.
    pub fn is_unknown(&self) -> bool {
        self.origin.is_none() && self.root_commit.is_none() && self.name.is_none()
    }
}
