//! Why the archive cannot be read or written.

use std::io;

use cerberus_store::view::StoreError;

#[derive(Debug, thiserror::Error)]
pub enum ArchiveError {
    #[error("the archive: {0}")]
    Io(#[from] io::Error),
    /// A transcript.
    #[error("{0}")]
    Unreadable(io::Error),
    #[error(transparent)]
    Store(#[from] StoreError),
    #[error("the archive: {0}")]
    Json(#[from] serde_json::Error),
    #[error("the index of the archive: {0}")]
    Index(#[from] rusqlite::Error),
}
