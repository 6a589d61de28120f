//! One memory on several machines: what devices exchange, and how.
//!
//! Every device writes streams of its own, one for each project that it shares, and reads those of the others. What it
//! reads is verified, cleaned and appended to replica segments of the journal, which the fold reads like any other
//! segment. `chain.rs`, `crypto.rs`, `batch.rs`, `document.rs` and `code.rs` are pure: random bytes and the time are
//! arguments.

mod ahead;
mod base;
pub mod batch;
pub mod chain;
mod chain_link;
mod compare;
mod consent;
pub mod conversations;
pub mod crypto;
pub mod detached;
pub mod document;
pub mod exchange;
pub mod files;
pub mod forget;
mod gather;
mod incoming;
pub mod keys;
pub mod links;
pub mod listing;
pub mod local;

mod membership;
pub mod names;
pub mod open;
mod outbox;
pub mod preview;
mod project;
pub mod pull;
pub mod push;
mod reading;
mod replica;
pub mod share;
pub mod spaces;
pub mod status;
pub mod token;
pub mod transport;
mod verified;

use std::io;
use std::path::{Path, PathBuf};

use cerberus_os::fault;
use cerberus_os::home::Home;
pub use cerberus_record::clean::code;

use cerberus_store::journal::JournalError;
use cerberus_store::view::StoreError;
use cerberus_store::view::fold::FoldError;
use ring::rand::{SecureRandom, SystemRandom};
use transport::TransportError;

#[derive(Debug, thiserror::Error)]
pub enum SyncError {
    #[error(transparent)]
    Transport(#[from] TransportError),
    #[error("cannot read or write {path}: {source}")]
    Local { path: PathBuf, source: io::Error },
    #[error("{path} is damaged: {reason}")]
    Damaged { path: PathBuf, reason: String },
    #[error(transparent)]
    Fold(#[from] FoldError),
    #[error(transparent)]
    Store(#[from] StoreError),
    #[error(transparent)]
    Journal(#[from] JournalError),
    #[error("the system provides no random bytes")]
    NoRandomBytes,
    #[error("this home has no space with {0}")]
    NoSpace(String),
    #[error("sync with {0} is already set up here")]
    SpaceExists(String),
    #[error("the key of this home is not the key of {hub}; nothing was sent")]
    WrongKey { hub: String },
    #[error("the key of {space} that {by} began is kept from this device; nothing was sent")]
    KeyWithheld { space: String, by: String },
    #[error("{hub} has nothing that this code belongs to")]
    UnknownSpace { hub: String },
    #[error("the code is mistyped or incomplete")]
    WrongCode,
    #[error("no device is called {0:?}")]
    NoDevice(String),
    #[error("several devices are called {0:?}: {1}")]
    SeveralDevices(String, String),
    #[error("this folder has neither a git origin, nor a commit, nor a name")]
    NoIdentity,
    #[error("this project is not shared")]
    NotShared,
    #[error("this device was removed from {0}")]
    Removed(String),
    #[error(
        "sync was set up here by an earlier version of Cerberus, whose spaces cannot be used any more; `cerberus sync init URL` makes a new one"
    )]
    EarlierFormat,
    #[error(
        "{hub} shows another history of who belongs to {space} than this device has seen (from link {number} on); nothing was exchanged"
    )]
    Forked { hub: String, space: String, number: u64 },
    #[error("{hub} shows a history of who belongs to the space that is not valid: {reason}; nothing was exchanged")]
    NotBelieved { hub: String, reason: String },
    #[error(
        "somebody wrote something else where the next link of {hub} belongs; who belongs to the space cannot be changed"
    )]
    Obstructed { hub: String },
    #[error("this device is waiting to be let in: run `cerberus sync` on the device that printed the code")]
    Waiting,
    #[error("{0}")]
    Unreadable(String),
}

/// What a container reads of a project, besides its base.
pub const CONTAINER_RECORDS_MAX: usize = 2_000;

pub type Result<T> = std::result::Result<T, SyncError>;

fn random<const N: usize>() -> Result<[u8; N]> {
    let mut bytes = [0; N];
    SystemRandom::new().fill(&mut bytes).map_err(|_| SyncError::NoRandomBytes)?;
    Ok(bytes)
}

fn unreadable(error: impl std::fmt::Display) -> SyncError {
    SyncError::Unreadable(error.to_string())
}

/// What was done with a file of this home.
fn at<T>(path: &Path, done: io::Result<T>) -> Result<T> {
    done.map_err(|source| SyncError::Local { path: path.to_path_buf(), source })
}

/// A point at which a test kills this process.
fn pass(home: &Home, label: &str) -> Result<()> {
    at(&home.sync_dir(), fault::point(label).map(drop))
}
