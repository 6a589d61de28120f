//! How well the user's words are understood: labelled prompts through the real hook, scored per label.
//!
//! You bring the labelled prompts: JSON Lines with `prompt`, `labels` and `disputed`, optionally with the agent's
//! previous message (`prev_assistant`) and the sampling stratum (`stratum`), plain or gzipped. A prompt whose label is
//! disputed does not count for that label.

use std::collections::{HashMap, HashSet};
use std::io::Read;
use std::path::Path;

use anyhow::{Context, Result};
use serde::Deserialize;
use serde_json::{Value, json};

use crate::measure::{say, table};
use crate::payload::payload;
use crate::programs::Programs;
use crate::scratch::Scratch;

const LABELS: [&str; 3] = ["decision", "blocker", "next"];
/// Corrections with this confidence are approved automatically.
const APPROVED_MIN: f64 = 0.9;

#[derive(Deserialize)]
struct Labelled {
    prompt: String,
    labels: HashSet<String>,
    #[serde(default)]
    disputed: HashSet<String>,
    #[serde(default)]
    prev_assistant: Option<String>,
    #[serde(default)]
    stratum: String,
}

/// What was found in one prompt.
#[derive(Default)]
struct Found {
    facts: HashSet<String>,
    corrections: Vec<(String, f64)>,
}

impl Found {
    fn new(session: &Value) -> Found {
        let list = |name: &str| session[name].as_array().into_iter().flatten();
        let kind = |one: &Value| one["kind"].as_str().unwrap_or_default().to_string();
        Found {
            facts: list("facts").map(kind).collect(),
            corrections: list("corrections")
                .map(|one| (kind(one), one["confidence"].as_f64().unwrap_or_default()))
                .collect(),
        }
    }

    fn has_correction(&self, fits: impl Fn(&str, f64) -> bool) -> bool {
        self.corrections.iter().any(|(kind, confidence)| fits(kind, *confidence))
    }
}

pub fn run(programs: &Programs) -> Result<()> {
    let Some(data) = programs.data.as_deref().filter(|data| data.is_file()) else {
        return say(
            "labelled prompts are needed: --data FILE (JSON Lines with prompt, labels, disputed; may be gzipped)",
        );
    };
    let rows = read(data)?;
    let found = heard(programs, &rows)?;
    let mut lines: Vec<Vec<String>> = LABELS
        .iter()
        .map(|label| score(label, label, &rows, &found, |_| true, |it| it.facts.contains(*label)))
        .collect();
    let durable = |it: &Found| it.has_correction(|kind, _| kind != "fix");
    let approved = |it: &Found| it.has_correction(|kind, sure| kind != "fix" && sure >= APPROVED_MIN);
    let fix = |it: &Found| it.has_correction(|kind, _| kind == "fix");
    lines.push(score("rule (durable)", "rule", &rows, &found, |_| true, durable));
    for stratum in ["random", "enriched"] {
        let name = format!("rule, {stratum}");
        lines.push(score(&name, "rule", &rows, &found, |row| row.stratum == stratum, durable));
    }
    lines.push(score("rule, unasked", "rule", &rows, &found, |_| true, approved));
    lines.push(score("fix", "fix", &rows, &found, |_| true, fix));
    say(&format!(
        "{} prompts through `cerberus hook`; target: precision >= 0.80 at recall >= 0.40, rules at recall >= 0.60, unasked >= 0.95",
        rows.len()
    ))?;
    table(&["label", "precision", "recall", "right/wrong/missed"], &lines)
}

/// Sends each prompt to the hook in its own session. Returns the results in order. If there is a previous message of
/// the agent, corrections are taken from a second session after it: the agent's words must not count as the user's.
fn heard(programs: &Programs, rows: &[Labelled]) -> Result<Vec<Found>> {
    let scratch = Scratch::new()?;
    let home = scratch.home("prompts");
    let tell = |session: &str, event: &str, said: Value| {
        scratch.heard(programs, &home, None, &payload(&scratch.repo(), session, event, said))
    };
    for (number, row) in rows.iter().enumerate() {
        tell(&alone(number), "UserPromptSubmit", json!({"prompt": row.prompt}))?;
        if let Some(before) = row.prev_assistant.as_deref().filter(|before| !before.is_empty()) {
            tell(&answering(number), "Stop", json!({"last_assistant_message": before}))?;
            tell(&answering(number), "UserPromptSubmit", json!({"prompt": row.prompt}))?;
        }
    }
    let status = scratch.json(programs, &home, &["memory", "session-status", "--all"])?;
    let mut sessions: HashMap<&str, Found> = HashMap::new();
    for session in status["sessions"].as_array().into_iter().flatten() {
        sessions.insert(session["agent_session_id"].as_str().unwrap_or_default(), Found::new(session));
    }
    let mut take = |number: usize| {
        let mut found = sessions.remove(alone(number).as_str()).unwrap_or_default();
        if let Some(answer) = sessions.remove(answering(number).as_str()) {
            found.corrections = answer.corrections;
        }
        found
    };
    Ok((0..rows.len()).map(&mut take).collect())
}

fn alone(number: usize) -> String {
    format!("s{number}")
}

fn answering(number: usize) -> String {
    format!("a{number}")
}

/// One row of the table: how often `is_found` is right about `label`.
fn score(
    name: &str,
    label: &str,
    rows: &[Labelled],
    found: &[Found],
    counts: impl Fn(&Labelled) -> bool,
    is_found: impl Fn(&Found) -> bool,
) -> Vec<String> {
    let (mut right, mut wrong, mut missed) = (0, 0, 0);
    for (row, found) in rows.iter().zip(found).filter(|(row, _)| counts(row) && !row.disputed.contains(label)) {
        match (is_found(found), row.labels.contains(label)) {
            (true, true) => right += 1,
            (true, false) => wrong += 1,
            (false, true) => missed += 1,
            (false, false) => {}
        }
    }
    let share = |part: usize, whole: usize| format!("{:.2}", part as f64 / whole.max(1) as f64);
    vec![
        name.to_string(),
        share(right, right + wrong),
        share(right, right + missed),
        format!("{right}/{wrong}/{missed}"),
    ]
}

fn read(path: &Path) -> Result<Vec<Labelled>> {
    let bytes = cerberus_engine::import::files::read(path).with_context(|| path.display().to_string())?;
    let mut text = String::new();
    bytes.as_slice().read_to_string(&mut text)?;
    text.lines().map(|line| serde_json::from_str(line).context("a labelled prompt")).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_found_is_counted_by_label_and_kind() {
        let session = json!({
            "facts": [{"kind": "decision"}],
            "corrections": [{"text": "a", "kind": "rule", "confidence": 0.92}, {"text": "b", "kind": "fix", "confidence": 0.7}],
        });
        let found = vec![Found::new(&session), Found::default(), Found::default()];
        assert!(found[0].facts.contains("decision"));
        let row = |labels: &[&str], disputed: &[&str]| Labelled {
            prompt: String::new(),
            labels: labels.iter().map(|label| label.to_string()).collect(),
            disputed: disputed.iter().map(|label| label.to_string()).collect(),
            prev_assistant: None,
            stratum: String::new(),
        };
        let rows = [row(&["rule"], &[]), row(&["rule"], &[]), row(&["rule"], &["rule"])];
        let is_found = |it: &Found| it.has_correction(|kind, sure| kind != "fix" && sure >= APPROVED_MIN);
        assert_eq!(score("x", "rule", &rows, &found, |_| true, is_found), ["x", "1.00", "0.50", "1/0/1"]);
    }
}
