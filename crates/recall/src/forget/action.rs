//! What becomes of a record in which something is forgotten.

use cerberus_record::event::Record;

/// What happens to a record.
#[derive(Debug, PartialEq)]
pub enum RecordAction {
    Keep,
    Remove,
    /// The record as JSON, without the forgotten content.
    Rewrite(String),
}

pub(super) fn rewrite(record: &Record) -> RecordAction {
    // A record that cannot be serialized is removed.
    serde_json::to_string(record).map_or(RecordAction::Remove, RecordAction::Rewrite)
}
