//! What an agent is about to do.

/// A tool use before it happens.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Action {
    Shell {
        line: String,
        /// The folder that the agent named for it.
        folder: Option<String>,
    },
    Write(Vec<WrittenFile>),
}

/// One file that is about to be written or deleted.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct WrittenFile {
    pub path: String,
    /// The new text.
    pub text: String,
    pub is_deleted: bool,
}
