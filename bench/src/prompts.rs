//! How well the user's words are understood: labelled prompts through the real hook, scored per label.
//!
//! The labelled prompts are the reader's own: JSON Lines with `prompt`, `labels` and `disputed`, plain or gzipped. A
//! prompt that is disputed for a label does not count for it.

use std::collections::{HashMap, HashSet};
use std::io::Read;
use std::path::Path;

use anyhow::{Context, Result};
use serde::Deserialize;
use serde_json::json;

use crate::measure::{say, table};
use crate::payload::payload;
use crate::programs::Programs;
use crate::scratch::Scratch;

const LABELS: [&str; 3] = ["decision", "blocker", "next"];

#[derive(Deserialize)]
struct Labelled {
    prompt: String,
    labels: HashSet<String>,
    #[serde(default)]
    disputed: HashSet<String>,
}

pub fn run(programs: &Programs) -> Result<()> {
    let Some(data) = programs.data.as_deref().filter(|data| data.is_file()) else {
        return say(
            "labelled prompts are needed: --data FILE (JSON Lines with prompt, labels, disputed; may be gzipped)",
        );
    };
    let rows = read(data)?;
    let scratch = Scratch::new()?;
    let home = scratch.home("prompts");
    for (number, row) in rows.iter().enumerate() {
        let said = payload(&scratch.repo(), &format!("s{number}"), "UserPromptSubmit", json!({"prompt": row.prompt}));
        scratch.heard(programs, &home, None, &said)?;
    }
    let status = scratch.json(programs, &home, &["memory", "session-status", "--all"])?;
    let mut found: HashMap<String, HashSet<String>> = HashMap::new();
    for session in status["sessions"].as_array().into_iter().flatten() {
        let kinds = session["facts"].as_array().into_iter().flatten().filter_map(|fact| fact["kind"].as_str());
        let name = session["agent_session_id"].as_str().unwrap_or_default().to_string();
        found.insert(name, kinds.map(str::to_string).collect());
    }
    let mut lines = Vec::new();
    for label in LABELS {
        let (mut right, mut wrong, mut missed) = (0, 0, 0);
        for (number, row) in rows.iter().enumerate().filter(|(_, row)| !row.disputed.contains(label)) {
            let is_found = found.get(&format!("s{number}")).is_some_and(|kinds| kinds.contains(label));
            match (is_found, row.labels.contains(label)) {
                (true, true) => right += 1,
                (true, false) => wrong += 1,
                (false, true) => missed += 1,
                (false, false) => {}
            }
        }
        let share = |part: usize, whole: usize| format!("{:.2}", part as f64 / whole.max(1) as f64);
        lines.push(vec![
            label.to_string(),
            share(right, right + wrong),
            share(right, right + missed),
            format!("{right}/{wrong}/{missed}"),
        ]);
    }
    say(&format!("{} prompts through `cerberus hook`; aim: precision >= 0.80 at recall >= 0.40", rows.len()))?;
    table(&["label", "precision", "recall", "right/wrong/missed"], &lines)
}

fn read(path: &Path) -> Result<Vec<Labelled>> {
    let bytes = cerberus_engine::import::read(path).with_context(|| path.display().to_string())?;
    let mut text = String::new();
    bytes.as_slice().read_to_string(&mut text)?;
    text.lines().map(|line| serde_json::from_str(line).context("a labelled prompt")).collect()
}
