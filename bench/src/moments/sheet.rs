//! A sheet for a reader who judges what was told: what was going on, what was told, and what happened next, as JSON Lines.

use std::path::Path;

use anyhow::Result;
use cerberus_record::event::{Event, Outcome, Record, Touch};
use cerberus_record::id::fnv1a;
use serde_json::{Value, json};

use super::same;

/// More of a kind are not read by anybody.
const SAMPLE_MAX: usize = 60;
const AFTER_MAX: usize = 8;
/// Steps of an earlier session.
const THEN_MAX: usize = 30;
const WATCHED_MAX: usize = 100;
const TEXT_CHARS_MAX: usize = 1_500;

/// The kinds of which a sample is enough.
const SAMPLED: [&str; 2] = ["seen", "recurring"];

/// A moment, in the transcript in which it happened.
#[derive(Clone, Copy)]
pub struct Moment<'a> {
    pub person: &'a str,
    pub records: &'a [Record<'static>],
    pub place: usize,
}

impl<'a> Moment<'a> {
    pub fn record(self) -> &'a Record<'static> {
        &self.records[self.place]
    }

    /// What was going on and what happened next.
    pub fn case(self, kind: &str, told: Option<&str>) -> Value {
        let record = self.record();
        let asked = self.records[..self.place].iter().rfind(|earlier| matches!(earlier.event, Event::Prompt { .. }));
        let session: String = record.session.chars().take(8).collect();
        let key = fnv1a(record.key.as_bytes()) as u32;
        let mut case = json!({
            "id": format!("{kind}/{}/{session}/{key:08x}", self.person), "kind": kind, "person": self.person,
            "at": record.at.to_string(), "now": shown(record), "told": told,
            "after": shown_all(&self.records[self.place + 1..], AFTER_MAX),
        });
        if !matches!(record.event, Event::Prompt { .. }) {
            case["asked"] = asked.map(shown).unwrap_or_default();
        }
        case
    }

    /// The same failure in an earlier session, and what was done until the command passed.
    pub fn then(self) -> Value {
        let record = self.record();
        let wanted = command(record).map(same);
        let rest = &self.records[self.place + 1..];
        let is_passed = |later: &Record| {
            command(later).map(same) == wanted
                && matches!(&later.event, Event::Tool(used) if used.outcome == Outcome::Done)
        };
        let passed = rest.iter().take(WATCHED_MAX).position(is_passed);
        let until = passed.map_or(THEN_MAX.min(rest.len()), |place| place + 1);
        let said = rest[until..].iter().find(|later| matches!(later.event, Event::Stop { .. }));
        json!({"at": record.at.to_string(), "failed": shown(record), "passed": passed.is_some(),
            "steps": shown_all(&rest[until.saturating_sub(THEN_MAX)..until], THEN_MAX), "said": said.map(shown)})
    }
}

pub fn command<'a>(record: &'a Record) -> Option<&'a str> {
    match &record.event {
        Event::Tool(used) => used.command.as_deref(),
        _ => None,
    }
}

fn shown_all(records: &[Record], most: usize) -> Vec<Value> {
    records.iter().take(most).map(shown).collect()
}

fn shown(record: &Record) -> Value {
    let text = |text: &str| text.chars().take(TEXT_CHARS_MAX).collect::<String>();
    match &record.event {
        Event::Prompt { text: prompt } => json!({ "asked": text(prompt) }),
        Event::Stop { message } => json!({ "said": text(message) }),
        Event::Tool(used) => {
            let error = used.failure.as_ref().map(|failure| &*failure.message).or(used.error.as_deref());
            let touched = |how: Touch| {
                let files = used.files.iter().filter(move |file| file.how == how);
                files.map(|file| file.path.to_string()).collect::<Vec<_>>()
            };
            let mut value = json!({"tool": &*used.tool});
            let mut add = |name: &str, said: Value| {
                if !said.is_null() && said != json!([]) {
                    value[name] = said;
                }
            };
            add("ran", used.command.as_deref().map(text).into());
            add("edited", touched(Touch::Edited).into());
            add("read", touched(Touch::Read).into());
            add("failed", (used.outcome == Outcome::Failed).then_some(true).into());
            add("error", error.map(text).into());
            value
        }
        _ => Value::Null,
    }
}

/// Writes all cases, but no more than a seeded sample of those kinds that are many.
pub fn write(file: &Path, mut cases: Vec<Value>, seed: u64) -> Result<()> {
    cases.sort_by_cached_key(|case| fnv1a(format!("{seed} {}", case["id"]).as_bytes()));
    let mut counts = [0; SAMPLED.len()];
    cases.retain(|case| match SAMPLED.iter().position(|kind| case["kind"] == *kind) {
        Some(kind) => {
            counts[kind] += 1;
            counts[kind] <= SAMPLE_MAX
        }
        None => true,
    });
    cases.sort_by_key(|case| case["kind"].as_str().unwrap_or_default().to_string());
    let lines: String = cases.iter().map(|case| format!("{case}\n")).collect();
    Ok(std::fs::write(file, lines)?)
}
