//! How the archive takes part in what the store does: it is written after a turn, by a process of its own, and
//! forgetting and scanning reach it.

use std::fs::File;
use std::io;
use std::path::Path;
use std::process::Child;

use cerberus_os::clock::Clock;
use cerberus_os::home::Home;
use cerberus_os::{failures, platform};
use cerberus_recall::forget::ForgetRequest;
use cerberus_record::clean::secret::kinds_of;
use cerberus_record::memory::Evidence;
use cerberus_store::capability::{Capability, CapabilityError, Finding};
use cerberus_store::summary::detached::{FLAG, command};
use cerberus_store::view::Store;

use crate::error::ArchiveError;
use crate::segment::lock;
use crate::{elsewhere, erase, secrets};

pub struct ArchiveCapability;

impl Capability for ArchiveCapability {
    fn after_turn(&self, home: &Home, clock: &Clock) {
        start(home, clock);
    }

    fn hold(&self, home: &Home) -> io::Result<Option<File>> {
        // A process that archives a turn may wait with what the journal said before.
        if home.archive_dir().is_dir() { lock(home).map(Some) } else { Ok(None) }
    }

    fn forget(&self, home: &Home, request: &ForgetRequest) -> io::Result<()> {
        erase::forget(home, request).map_err(io::Error::other)
    }

    fn count_conversations(&self, home: &Home, request: &ForgetRequest) -> io::Result<usize> {
        Ok(erase::count(home, request)?)
    }

    fn forget_words(&self, home: &Home, said: &[&Evidence]) -> io::Result<()> {
        Ok(erase::forget_words(home, said)?)
    }

    fn forgotten_elsewhere(&self, home: &Home, store: &Store) -> Result<(), CapabilityError> {
        Ok(elsewhere::forget(home, store)?)
    }

    fn secrets(&self, home: &Home, _here: &Path) -> Result<Vec<Finding>, CapabilityError> {
        let mut found = Vec::new();
        secrets::secrets(home, &mut |name, offset, clean, line| {
            let kinds = kinds_of(clean, line);
            found.push(Finding { file: format!("archive/{name}"), at: format!("byte {offset}"), kinds });
        })?;
        found.dedup();
        Ok(found)
    }

    fn remove_secrets(&self, home: &Home, _here: &Path) -> Result<(), CapabilityError> {
        Ok(secrets::remove_secrets(home)?)
    }
}

/// Starts the process that brings the archive up to date, and returns at once. Nobody waits for it.
pub fn start(home: &Home, clock: &Clock) -> Option<Child> {
    let started = command(home).and_then(|mut command| platform::in_own_group(command.args(["archive", FLAG])).spawn());
    started.inspect_err(|error| failures::note(home, clock.now, "archive", error)).ok()
}

impl From<ArchiveError> for io::Error {
    fn from(error: ArchiveError) -> io::Error {
        io::Error::other(error)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nobody_archives_while_something_is_forgotten() {
        let dir = tempfile::tempdir().unwrap();
        let home = Home::new(dir.path().join("home"));
        assert!(ArchiveCapability.hold(&home).unwrap().is_none(), "there is no archive");
        drop(lock(&home).unwrap());
        let held = ArchiveCapability.hold(&home).unwrap();
        let writer = File::open(home.archive_dir().join("lock")).unwrap();
        assert!(writer.try_lock().is_err());
        erase::forget(&home, &ForgetRequest::Sessions(std::collections::HashSet::default())).unwrap();
        drop(held);
        assert!(writer.try_lock().is_ok());
    }
}
