//! What a decision may ask about the surroundings of an action.

use cerberus_record::id::ProjectId;
use cerberus_record::runs::Toolchain;

/// Where a folder is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SceneFolder {
    pub project: ProjectId,
    /// Relative to the top of the project; empty at the top.
    pub folder: String,
    pub branch: Option<String>,
    /// In a folder for temporary files, while the session works elsewhere.
    pub is_scratch: bool,
}

/// What the session did before, oldest first.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Past {
    Prompt,
    /// Of this file, relative to the project.
    Edit(String),
    Run(String),
    /// The last run passed the tests of this toolchain.
    Passed(Toolchain),
    /// The user stopped it.
    Interrupted,
}

/// Reads the session's project, only when it matters.
pub trait Sources {
    /// The script that git runs at this point (`pre-commit`, `pre-push`).
    fn git_hook(&self, name: &str) -> Option<String>;

    /// The text of a file in this folder, as seen from the folder of the session, or else at the top of the project.
    fn file(&self, folder: &str, name: &str) -> Option<String>;
}

/// A project that cannot be read.
impl Sources for () {
    fn git_hook(&self, _: &str) -> Option<String> {
        None
    }

    fn file(&self, _: &str, _: &str) -> Option<String> {
        None
    }
}

/// Answers questions about the surroundings, only when they matter.
pub trait Scene: Sources {
    /// The place of a folder, given as seen from the folder of the session.
    fn place(&self, folder: &str) -> Option<SceneFolder>;

    fn past(&self) -> Vec<Past>;
}
