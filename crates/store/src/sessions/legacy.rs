//! Session files of the original tool in the home: imported once, left in place, reported if unreadable.

use std::fs;
use std::io;
use std::path::Path;

use cerberus_os::clock::Clock;
use cerberus_os::failures;
use cerberus_os::home::Home;
use cerberus_os::outside;
use cerberus_record::clean::text::{Clean, Keep};
use cerberus_record::event::{Event, Location, Record};
use cerberus_record::id::{Agent, ProjectId, fnv1a};
use cerberus_record::seed::{self, SeedError, SeedFile};
use cerberus_record::time::Timestamp;

use crate::journal;
use crate::view::Store;
use crate::view::fold::{self, FoldError};

/// Real files are a few kilobytes.
const SEED_BYTES_MAX: u64 = 4 * 1024 * 1024;

/// Journals and folds every `active-*.json` that is not in the journal yet.
pub fn import_all(home: &Home, clock: &Clock, store: &mut Store) -> Result<(), FoldError> {
    let folder = home.seeds_dir();
    let entries = match home.open_folder(&folder).and_then(|_| fs::read_dir(&folder)) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
        Err(error) => {
            note_once(home, clock, &folder, &error.to_string());
            return Ok(());
        }
        Ok(entries) => entries,
    };
    let mut paths: Vec<_> = entries.flatten().map(|entry| entry.path()).collect();
    paths.retain(|path| {
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        name.starts_with("active-") && name.ends_with(".json")
    });
    paths.sort();
    let mut is_new = false;
    for path in paths {
        let text = home.text(&path, SEED_BYTES_MAX).map_err(|error| error.to_string());
        match text.and_then(|text| parse(home, &text)) {
            Ok((file, key)) => {
                let location = location_by_name(home, &file.project);
                is_new |= journal_seed(home, clock, store, &file, &key, location)?;
            }
            Err(reason) => note_once(home, clock, &path, &reason),
        }
    }
    if is_new { fold::fold(home, store) } else { Ok(()) }
}

/// Journals one file under the given location; `false` if the journal already has it.
pub fn journal_seed(
    home: &Home,
    clock: &Clock,
    store: &Store,
    file: &SeedFile,
    key: &str,
    location: Location<'static>,
) -> Result<bool, FoldError> {
    let session = format!("{}/{}", location.project.as_str(), file.session_id);
    if store.has_event(Agent::SEED, &session, key)? {
        return Ok(false);
    }
    let record = Record {
        at: file.at,
        key: home.cleaner().clean(key, Keep::NAME),
        agent: Agent::SEED,
        imported: true,
        heard_by: None,
        by_agent: false,
        origin: None,
        session: home.cleaner().clean(session, Keep::NAME),
        location,
        event: Event::Seed(file.codes.clone()),
    };
    journal::append(home, clock.wall, &record)?;
    Ok(true)
}

/// Removes the files behind these records; otherwise they would be imported again.
pub fn forget(home: &Home, keys: &[String]) -> io::Result<()> {
    let entries = home.open_folder(&home.seeds_dir()).and_then(|_| fs::read_dir(home.seeds_dir()));
    for path in entries.into_iter().flatten().flatten().map(|entry| entry.path()).filter(|_| !keys.is_empty()) {
        let text = home.text(&path, SEED_BYTES_MAX).unwrap_or_default();
        if keys.contains(&key_of(&text)) {
            fs::remove_file(path)?;
        }
    }
    Ok(())
}

fn key_of(text: &str) -> String {
    format!("{:016x}", fnv1a(text.as_bytes()))
}

/// Reads a file. Returns it with the key that makes importing it twice the same as once.
pub fn read(home: &Home, path: &Path) -> Result<(SeedFile, String), String> {
    let text = outside::text(path, SEED_BYTES_MAX).map_err(|error| error.to_string())?;
    parse(home, &text)
}

fn parse(home: &Home, text: &str) -> Result<(SeedFile, String), String> {
    let file = seed::parse(home.cleaner(), text).map_err(|error: SeedError| error.to_string())?;
    Ok((file, key_of(text)))
}

/// The original tool identified a project only by its name.
fn location_by_name(home: &Home, name: &str) -> Location<'static> {
    let clean = |text: &str| home.cleaner().clean(text.to_string(), Keep::NAME);
    Location {
        project: ProjectId::of_name(name),
        name: clean(name),
        root: Clean::word(""),
        cwd: Clean::word(""),
        branch: None,
    }
}

fn note_once(home: &Home, clock: &Clock, path: &Path, reason: &str) {
    let detail = format!("{} was not imported: {reason}", path.display());
    if !failures::list(home, Timestamp::from_millis(i64::MAX)).iter().any(|known| known.detail == detail) {
        failures::note(home, clock.now, "importing a file of the original tool", &detail);
    }
}
