//! What a capability on top of the store adds to its work: checks, loops and sync each implement [`Capability`], and the
//! program puts them together. The store calls them and knows none of them.

use std::error::Error;
use std::fs::File;
use std::io;
use std::path::Path;

use cerberus_os::clock::Clock;
use cerberus_os::home::Home;
use cerberus_recall::forget::ForgetRequest;
use cerberus_record::memory::Evidence;
use serde::Serialize;

use crate::view::Store;

pub type CapabilityError = Box<dyn Error + Send + Sync>;

/// All capabilities of a program.
pub type Capabilities<'a> = &'a [&'a dyn Capability];

/// Secrets in one place: their kinds, never the secrets themselves.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Finding {
    /// The file, relative to the home.
    pub file: String,
    /// The position: the byte offset of a record, the line of a text, or the table of a view.
    pub at: String,
    pub kinds: Vec<String>,
}

pub trait Capability {
    /// Called after everything was brought up to date, before a session is told its brief.
    fn before_brief(&self, _home: &Home, _store: &mut Store) -> Result<(), CapabilityError> {
        Ok(())
    }

    /// Called when the transcript of a session has grown: after a turn, after a session, after a recovery. Does not wait
    /// for what it starts.
    fn after_turn(&self, _home: &Home, _clock: &Clock) {}

    /// Whether a hook could enforce what a sentence states.
    fn can_enforce(&self, _sentence: &str) -> bool {
        false
    }

    /// Called when a session has ended. Does not wait for what it starts.
    fn after_end(&self, _home: &Home, _clock: &Clock) {}

    /// Called before something is forgotten: until the file is closed, nobody copies it once more.
    fn hold(&self, _home: &Home) -> io::Result<Option<File>> {
        Ok(None)
    }

    /// Removes its own copies of what is forgotten, while it is held.
    fn forget(&self, _home: &Home, _request: &ForgetRequest) -> io::Result<()> {
        Ok(())
    }

    /// Of how many conversations it keeps a request removes something.
    fn count_conversations(&self, _home: &Home, _request: &ForgetRequest) -> io::Result<usize> {
        Ok(0)
    }

    /// Removes from its own copies words that the user wants forgotten, while it is held.
    fn forget_words(&self, _home: &Home, _said: &[&Evidence]) -> io::Result<()> {
        Ok(())
    }

    /// How many copies outside the home a request affects. `here` is a folder that may not be in the journal yet.
    fn count_copies(&self, _home: &Home, _here: &Path, _request: &ForgetRequest) -> Result<usize, CapabilityError> {
        Ok(0)
    }

    /// Removes the copies outside the home that a request affects.
    fn remove_copies(&self, _home: &Home, _here: &Path, _request: &ForgetRequest) -> Result<(), CapabilityError> {
        Ok(())
    }

    /// Removes its own copies of what other devices have forgotten.
    fn forgotten_elsewhere(&self, _home: &Home, _store: &Store) -> Result<(), CapabilityError> {
        Ok(())
    }

    /// Secrets in what it keeps outside the home.
    fn secrets(&self, _home: &Home, _here: &Path) -> Result<Vec<Finding>, CapabilityError> {
        Ok(Vec::new())
    }

    /// Removes what holds these secrets.
    fn remove_secrets(&self, _home: &Home, _here: &Path) -> Result<(), CapabilityError> {
        Ok(())
    }
}
