//! Labelled prompts: JSON Lines, plain or gzipped, one file or a folder of them.

use std::collections::HashSet;
use std::io::Read;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};
use cerberus_core::extract::is_bare_answer;
use cerberus_core::extract::words::Before;
use cerberus_core::extract::words::unit::Units;
use serde::Deserialize;

#[derive(Clone, Deserialize)]
pub struct Labelled {
    pub prompt: String,
    pub labels: HashSet<String>,
    #[serde(default)]
    pub disputed: HashSet<String>,
    /// The agent's previous message.
    #[serde(default)]
    pub prev_assistant: String,
    #[serde(default)]
    pub after_interrupt: bool,
    /// The words that the labels are about.
    #[serde(default)]
    pub span: String,
    /// The person. All prompts of a file without this field count as one person's.
    #[serde(default, rename = "chain")]
    pub person: String,
}

impl Labelled {
    pub fn is(&self, label: &str) -> bool {
        self.labels.contains(label)
    }

    /// A disputed label does not count. That an assent is told as a decision is neither right nor wrong; readers who had
    /// no such label left bare answers unlabelled.
    pub fn counts_for(&self, label: &str) -> bool {
        let agrees = self.is("assent") || (self.labels.is_empty() && is_bare_answer(&self.prompt));
        let is_assent = label == "decision" && agrees && !self.is("decision");
        !self.disputed.contains(label) && !is_assent
    }

    pub fn before(&self) -> Before<'_> {
        Before { message: &self.prev_assistant, is_interruption: self.after_interrupt }
    }

    pub fn language(&self) -> &'static str {
        Units::new(&self.prompt).lexicon.name
    }
}

pub fn read(data: &Path) -> Result<Vec<Labelled>> {
    let mut paths = vec![data.to_path_buf()];
    if data.is_dir() {
        let entries: Vec<PathBuf> = data.read_dir()?.map(|entry| Ok(entry?.path())).collect::<Result<_>>()?;
        let is_lines = |path: &PathBuf| path.to_string_lossy().contains(".jsonl");
        paths = entries.into_iter().filter(is_lines).collect();
        paths.sort();
    }
    let mut rows = Vec::new();
    for path in paths {
        let name = path.display().to_string();
        let bytes = cerberus_engine::import::files::read(&path).with_context(|| name.clone())?;
        let mut text = String::new();
        bytes.as_slice().read_to_string(&mut text)?;
        for line in text.lines() {
            let mut row: Labelled = serde_json::from_str(line).with_context(|| format!("{name}: a labelled prompt"))?;
            if row.person.is_empty() {
                row.person = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
            }
            rows.push(row);
        }
    }
    if rows.is_empty() {
        bail!("no labelled prompts in {}", data.display());
    }
    Ok(rows)
}
