//! What sharing a project would send, before anything is sent.

use std::collections::BTreeMap;

use cerberus_os::home::Home;
use cerberus_record::clean::text::line;
use cerberus_record::event::Record;
use cerberus_record::kind::EventKind;
use cerberus_store::view::Store;

use super::batch::Entry;
use super::local::{Shared, Space};
use super::{Result, gather};

const LINES_MAX: usize = 20;
const LINE_CHARS_MAX: usize = 160;

#[derive(Debug)]
pub struct Preview {
    pub records: usize,
    pub kinds: BTreeMap<&'static str, usize>,
    /// The newest records, as they would be sent.
    pub lines: Vec<String>,
}

pub fn preview(home: &Home, store: &Store, space: &Space, shared: &Shared) -> Result<Preview> {
    let mut entries: Vec<Entry> = Vec::new();
    for one in space.projects.iter().filter(|one| one.is_space()).chain([shared]) {
        entries.extend(gather::gather(home, store, space, one, &BTreeMap::new())?.entries);
    }
    let mut kinds: BTreeMap<&'static str, usize> = BTreeMap::new();
    for entry in &entries {
        if let Ok(record) = Record::read_json(entry.json.as_bytes()) {
            *kinds.entry(EventKind::of(&record.event).word()).or_default() += 1;
        }
    }
    let event = |entry: &Entry| -> String {
        let record: serde_json::Value = serde_json::from_slice(entry.json.as_bytes()).unwrap_or_default();
        line(&record["event"].to_string(), LINE_CHARS_MAX)
    };
    let lines = entries.iter().rev().take(LINES_MAX).map(event).collect();
    Ok(Preview { records: entries.len(), kinds, lines })
}
