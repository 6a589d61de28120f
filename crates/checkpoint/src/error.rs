//! Why a checkpoint cannot be made, found or put back.

use std::io;
use std::path::PathBuf;

#[derive(Debug, thiserror::Error)]
pub enum CheckpointError {
    #[error("{0} is not a git repository")]
    NoGit(PathBuf),
    #[error("git {what} failed: {words}")]
    Git { what: &'static str, words: String },
    #[error("{path}: {source}")]
    File { path: PathBuf, source: io::Error },
    #[error("run {run} has no checkpoint {number}")]
    Missing { run: u32, number: u32 },
    #[error("no turn {0} is kept")]
    NoTurn(u32),
    #[error("nothing is kept from before turn {0}")]
    NothingBefore(u32),
    #[error("ignored files are in the way of files of the checkpoint: {}", .0.join(", "))]
    InTheWay(Vec<String>),
    #[error("files changed while they were being saved: {}", .0.join(", "))]
    Changed(Vec<String>),
    #[error("the repository has lost the contents of files of the checkpoint: {}", .0.join(", "))]
    Lost(Vec<String>),
}
