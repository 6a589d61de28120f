//! What a brief is about.

use cerberus_record::time::Timestamp;

use crate::project::identity::Located;
use crate::same_project::joined::JoinedProject;
use crate::view::Store;

/// Which project to look at, and as of which time.
#[derive(Clone, Copy)]
pub struct View<'a> {
    pub store: &'a Store,
    pub located: &'a Located,
    /// All ids and names of the project.
    pub joined: &'a JoinedProject,
    pub now: Timestamp,
}
