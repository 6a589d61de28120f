//! What other devices of the user have forgotten leaves the archive of this one: sessions that the journal does not know
//! any more, times of which nothing is left, and what names a file.

use std::cell::RefCell;
use std::collections::HashMap;

use cerberus_os::home::Home;
use cerberus_record::event::Event;
use cerberus_record::id::Agent;
use cerberus_record::time::Timestamp;
use cerberus_store::journal::forgotten::Namer;
use cerberus_store::journal::{self, JournalLine};
use cerberus_store::view::Store;
use serde::{Deserialize, Serialize};

use crate::erase::remove_lines;
use crate::error::ArchiveError;
use crate::index::ArchiveIndex;
use crate::segment::lock;
use crate::segment::{BlockHead, segments};
use crate::words::words;

/// More than a list of periods has.
const APPLIED_BYTES_MAX: u64 = 16 * 1024 * 1024;

/// How many folders of a path are left out at most to recognise the rest.
const FOLDERS_MAX: usize = 16;

/// What was done already.
#[derive(Default, Serialize, Deserialize)]
struct Applied {
    /// The state of the lists.
    mark: String,
    periods: Vec<(Timestamp, Timestamp)>,
}

/// Reads the whole archive, but only after something was forgotten.
pub fn forget(home: &Home, store: &Store) -> Result<(), ArchiveError> {
    // What an unfinished view does not know may still be in the journal.
    if store.is_behind() || segments(home)?.is_empty() {
        return Ok(());
    }
    let (file, mark) = (home.archive_dir().join("forgotten.json"), store.forgotten_mark()?);
    let known = home.text(&file, APPLIED_BYTES_MAX).unwrap_or_default();
    let known: Applied = serde_json::from_slice(known.as_bytes()).unwrap_or_default();
    if known.mark == mark {
        return Ok(());
    }
    let _lock = lock(home)?;
    // Whoever reads an index that is lost waits for the lock to make it anew.
    ArchiveIndex::open_writable(home)?;
    let periods = periods(home)?;
    let new: Vec<_> = periods.iter().filter(|period| !known.periods.contains(period)).copied().collect();
    let (sessions, lost) = (store.known_sessions()?, LostTimes::of(home, store, new)?);
    let namer = Namer::open(home).map_err(std::io::Error::other)?;
    let files = LostFiles { until: store.forgotten_until()?, namer, known: RefCell::default() };
    let is_gone = |head: &BlockHead| !sessions.contains(&(head.agent.to_string(), head.session.clone()));
    remove_lines(home, &is_gone, &|head, at, line| {
        at.is_some_and(|at| lost.covers(head, at) || files.are_named_in(head, at, line))
    })?;
    Ok(home.replace(&file, &serde_json::to_vec(&Applied { mark, periods })?)?)
}

/// All that were forgotten, here or elsewhere.
fn periods(home: &Home) -> Result<Vec<(Timestamp, Timestamp)>, ArchiveError> {
    let mut found = Vec::new();
    let read = journal::each_line(home, |_, line| {
        if let JournalLine::Whole(sealed) = line
            && let Some(Event::Forgotten(names)) = sealed.record().map(|record| record.event)
        {
            found.extend(names.periods);
        }
    });
    read.map_err(std::io::Error::other)?;
    found.sort();
    found.dedup();
    Ok(found)
}

/// Times that were forgotten.
struct LostTimes {
    periods: Vec<(Timestamp, Timestamp)>,
    /// When events of the sessions are recorded.
    recorded: HashMap<(Agent, String), Vec<Timestamp>>,
}

impl LostTimes {
    fn of(home: &Home, store: &Store, periods: Vec<(Timestamp, Timestamp)>) -> Result<LostTimes, ArchiveError> {
        let mut recorded = HashMap::new();
        for one in crate::conversations(home)?.into_iter().filter(|_| !periods.is_empty()) {
            recorded.insert((one.agent, one.session.clone()), store.event_times(one.agent, &one.session)?);
        }
        Ok(LostTimes { periods, recorded })
    }

    /// A session of which something is still recorded in a period is not meant: the device knew nothing of it.
    fn covers(&self, head: &BlockHead, at: Timestamp) -> bool {
        self.periods.iter().filter(|(since, until)| (*since..*until).contains(&at)).any(|(since, until)| {
            let recorded = self.recorded.get(&(head.agent, head.session.clone()));
            recorded.is_none_or(|times| !times.iter().any(|time| (*since..*until).contains(time)))
        })
    }
}

/// Files that were forgotten.
struct LostFiles {
    until: HashMap<String, Timestamp>,
    namer: Namer,
    /// Until when words of a session are forgotten, if they are.
    known: RefCell<HashMap<(String, String), Option<Timestamp>>>,
}

impl LostFiles {
    fn are_named_in(&self, head: &BlockHead, at: Timestamp, line: &str) -> bool {
        if self.until.is_empty() {
            return false;
        }
        let line = words(line).replace(&format!("{}/", head.root), "");
        let is_part = |c: char| c.is_alphanumeric() || matches!(c, '.' | '_' | '-' | '/' | '@' | '+' | '~');
        let words = line.split(|c| !is_part(c)).map(|word| word.trim_start_matches("./").trim_end_matches('.'));
        let mut paths = words.filter(|word| word.contains(['.', '/']));
        paths.any(|path| self.until(head, path).is_some_and(|until| at < until))
    }

    fn until(&self, head: &BlockHead, path: &str) -> Option<Timestamp> {
        let word = (head.session.clone(), path.to_string());
        if let Some(known) = self.known.borrow().get(&word) {
            return *known;
        }
        let ends = path.match_indices('/').take(FOLDERS_MAX).map(|(at, _)| &path[at + 1..]);
        let ends = ends.filter(|end| end.contains('/')).map(str::to_string);
        let base = path.rsplit('/').next().map(Namer::base);
        let names: Vec<String> = ends.chain(base).chain([path.to_string()]).collect();
        let until_of = |namer: &Namer, name: &String| {
            self.until.get(&*namer.file(head.agent.name(), &head.session, name)).copied()
        };
        let until =
            self.namer.all().flat_map(|namer| names.iter().filter_map(|name| until_of(namer, name)).max()).max();
        self.known.borrow_mut().insert(word, until);
        until
    }
}
