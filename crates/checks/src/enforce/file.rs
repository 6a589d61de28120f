//! The file `checks`: the rules that hooks enforce, one line of JSON.

use cerberus_record::check::CheckLevel;
use cerberus_record::id::ProjectId;
use cerberus_record::time::Timestamp;
use serde::{Deserialize, Serialize};

use super::CheckRow;
use crate::{Check, Rule};

/// Larger than the largest file that can be written.
pub const BYTES_MAX: u64 = 8 * 1024 * 1024;

/// How much of a memory is quoted to the model.
const SENTENCE_CHARS_MAX: usize = 300;

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct CheckEntry {
    id: String,
    sentence: String,
    level: CheckLevel,
    rule: Vec<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    projects: Option<Vec<ProjectId>>,
    /// When the user let the next violation pass.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    allowed_at: Option<Timestamp>,
}

impl CheckEntry {
    pub(super) fn of(row: &CheckRow, projects: Option<Vec<ProjectId>>) -> CheckEntry {
        CheckEntry {
            id: row.id().as_str().to_string(),
            sentence: cerberus_record::clean::text::line(&row.memory.memory.content, SENTENCE_CHARS_MAX),
            level: row.level,
            rule: row.rule.words(),
            projects,
            allowed_at: row.allows_once.then_some(row.at),
        }
    }

    /// The check, and when the user let it pass once. `None` if only a newer version knows such a rule.
    fn check(self) -> Option<(Check, Option<Timestamp>)> {
        let rule = Rule::parse(&self.rule).ok()?;
        let check = Check { id: self.id, sentence: self.sentence, level: self.level, rule, projects: self.projects };
        Some((check, self.allowed_at))
    }
}

pub(super) fn text(entries: &[CheckEntry]) -> String {
    serde_json::to_string(entries).unwrap_or_default()
}

/// The checks, each with the time of its permission.
pub fn read(text: &str) -> Result<Vec<(Check, Option<Timestamp>)>, serde_json::Error> {
    let entries: Vec<CheckEntry> = serde_json::from_slice(text.as_bytes())?;
    Ok(entries.into_iter().filter_map(CheckEntry::check).collect())
}
