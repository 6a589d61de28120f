//! What sharing a project would send, before anything is sent.

use std::collections::BTreeMap;

use cerberus_os::home::Home;
use cerberus_record::clean::text::line;
use cerberus_record::event::Record;
use cerberus_record::kind::EventKind;
use cerberus_record::time::Timestamp;
use cerberus_store::view::Store;
use serde_json::Value;

use super::Result;
use super::batch::Entry;
use super::local::{Shared, Space};
use super::project::SharedProject;

/// More records are counted, and not shown.
const LINES_MAX: usize = 10_000;
const LINE_CHARS_MAX: usize = 160;

#[derive(Debug)]
pub struct Preview {
    pub records: usize,
    pub kinds: BTreeMap<&'static str, usize>,
    /// The newest records, as they would be sent.
    pub lines: Vec<String>,
    /// The same for people.
    pub items: Vec<PreviewItem>,
}

/// A record that would be sent: its kind, and all its words.
#[derive(Clone, Debug)]
pub struct PreviewItem {
    pub at: Timestamp,
    pub kind: &'static str,
    pub words: String,
}

pub fn preview(home: &Home, store: &Store, space: &Space, shared: &Shared) -> Result<Preview> {
    let mut entries: Vec<Entry> = Vec::new();
    for shared in space.projects.iter().filter(|one| one.is_space()).chain([shared]) {
        entries.extend(SharedProject { home, space, shared }.gather(store, &BTreeMap::new())?.entries);
    }
    let mut preview = Preview { records: entries.len(), kinds: BTreeMap::new(), lines: Vec::new(), items: Vec::new() };
    for entry in entries.iter().rev() {
        let Ok(record) = Record::read_json(entry.json.as_bytes()) else { continue };
        let kind = EventKind::of(&record.event).word();
        *preview.kinds.entry(kind).or_default() += 1;
        if preview.lines.len() < LINES_MAX {
            let (event, mut words) = (serde_json::to_value(&record.event).unwrap_or_default(), Vec::new());
            strings(&event, &mut words);
            preview.lines.push(line(&event.to_string(), LINE_CHARS_MAX));
            let words = line(&words.join(" · "), LINE_CHARS_MAX);
            preview.items.push(PreviewItem { at: record.at, kind, words });
        }
    }
    Ok(preview)
}

/// Every text in a value, in order.
fn strings(value: &Value, found: &mut Vec<String>) {
    match value {
        Value::String(text) if !text.is_empty() => found.push(text.clone()),
        Value::Array(list) => list.iter().for_each(|one| strings(one, found)),
        Value::Object(map) => map.values().for_each(|one| strings(one, found)),
        _ => {}
    }
}
