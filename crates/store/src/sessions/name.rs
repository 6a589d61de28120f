//! Names what edits changed: reads each edited file once and records the names of its changed definitions.
//!
//! Because the names are recorded, a rebuilt view says the same even if the files have changed since. Time is limited;
//! the rest is left for the next fold.

use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use cerberus_os::clock::Clock;
use cerberus_os::home::Home;
use cerberus_os::outside;
use cerberus_recall::extract::symbols::{self, Language};
use cerberus_record::clean::text::Keep;
use cerberus_record::event::{Event, Location, NamedSymbols, Record};
use cerberus_record::id::Agent;

use crate::journal;
use crate::view::fold::{self, FoldError};
use crate::view::{Store, UnnamedEdit};

/// Source files that people edit are smaller.
const SOURCE_BYTES_MAX: u64 = 1024 * 1024;
const EDITS_MAX: usize = 500;

/// Reads the files of edits that have no names yet, newest first, for about `limit`.
pub fn name_edits(home: &Home, clock: &Clock, store: &mut Store, limit: Duration) -> Result<(), FoldError> {
    let begun = Instant::now();
    let mut edits = store.unnamed_edits(EDITS_MAX)?;
    let mut records = Vec::new();
    while let Some(last) = edits.first().cloned() {
        if begun.elapsed() > limit {
            break;
        }
        // One read names all edits of a file in a session.
        let is_same = |edit: &UnnamedEdit| edit.origin.session == last.origin.session && edit.file() == last.file();
        let (same, others): (Vec<_>, Vec<_>) = edits.into_iter().partition(is_same);
        edits = others;
        records.push(named(home, &last, &same));
    }
    if records.is_empty() {
        return Ok(());
    }
    journal::append_all(home, clock.wall, &records)?;
    fold::fold(home, store)
}

fn named(home: &Home, last: &UnnamedEdit, edits: &[UnnamedEdit]) -> Record<'static> {
    let ranges: Vec<(u32, u32)> = edits.iter().flat_map(|edit| edit.lines.iter().copied()).collect();
    // A file that was written whole has no ranges: all of it is new.
    let ranges = if edits.iter().any(|edit| edit.lines.is_empty()) { Vec::new() } else { ranges };
    let names = match (Language::of_path(&last.path), source(&last.file())) {
        (Some(language), Some(source)) => symbols::changed(language, &source, &ranges),
        _ => Vec::new(),
    };
    let origin = &last.origin;
    let clean = |text: &str| home.cleaner().clean(text.to_string(), Keep::NAME);
    Record {
        at: origin.at,
        key: clean(&format!("named-{}", origin.key)),
        agent: Agent::from_name(&origin.agent).unwrap_or(Agent::MANUAL),
        imported: false,
        heard_by: None,
        by_agent: false,
        origin: None,
        session: clean(&origin.agent_session_id),
        location: Location {
            project: origin.project.clone(),
            name: clean(&origin.project_name),
            root: clean(&last.root),
            cwd: clean(&last.root),
            branch: None,
        },
        event: Event::Named(NamedSymbols {
            path: clean(&last.path),
            names: names.iter().map(|name| clean(name)).collect(),
            edits: edits.iter().map(|edit| clean(&edit.origin.key)).collect(),
        }),
    }
}

fn source(path: &Path) -> Option<String> {
    outside::text(path, SOURCE_BYTES_MAX).ok()
}

impl UnnamedEdit {
    fn file(&self) -> PathBuf {
        Path::new(&self.root).join(&self.path)
    }
}
