//! Labelled prompts and pasted texts: JSON Lines, plain or gzipped.

use std::collections::HashSet;
use std::path::Path;

use anyhow::{Context, Result};
use serde::Deserialize;
use serde::de::DeserializeOwned;

#[derive(Deserialize)]
pub struct Labelled {
    pub id: String,
    pub prompt: String,
    pub labels: HashSet<String>,
    #[serde(default)]
    pub disputed: HashSet<String>,
    /// The agent's previous message.
    #[serde(default)]
    pub prev_assistant: String,
    /// The words that the labels are about, as the reader quoted them.
    #[serde(default)]
    pub span: String,
    #[serde(rename = "chain")]
    pub person: String,
}

impl Labelled {
    pub fn is(&self, label: &str) -> bool {
        self.labels.contains(label)
    }
}

/// A prompt into which the user pasted somebody else's rule.
#[derive(Deserialize)]
pub struct Pasted {
    pub prompt: String,
}

/// What an agent quoted as a rule; empty if it found none.
#[derive(Deserialize)]
pub struct Answer {
    pub id: String,
    pub quote: String,
}

pub fn read<T: DeserializeOwned>(path: &Path) -> Result<Vec<T>> {
    let bytes = cerberus_store::import::files::read(path).with_context(|| path.display().to_string())?;
    let text = String::from_utf8(bytes)?;
    text.lines().map(|line| serde_json::from_str(line).with_context(|| path.display().to_string())).collect()
}
