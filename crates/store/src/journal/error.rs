//! What can go wrong with the journal.

use std::io;
use std::path::PathBuf;

#[derive(Debug, thiserror::Error)]
pub enum JournalError {
    #[error("cannot write the journal {path}: {source}")]
    Write { path: PathBuf, source: io::Error },
    #[error("cannot read the journal {path}: {source}")]
    Read { path: PathBuf, source: io::Error },
    #[error("cannot encode a record: {0}")]
    Encode(#[from] serde_json::Error),
}
