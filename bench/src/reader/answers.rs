//! The file in which answers are kept: what is in it is not asked for again.

use std::collections::HashMap;
use std::fs::{File, OpenOptions};
use std::io::Write as _;
use std::path::Path;

use anyhow::{Context, Result};
use serde::{Deserialize, Serialize};

#[derive(Serialize, Deserialize)]
struct AnswerLine {
    key: String,
    /// Who first asked this: for people who look into the file.
    of: String,
    answer: String,
}

pub struct Answers {
    known: HashMap<String, String>,
    file: Option<File>,
}

impl Answers {
    pub fn open(path: Option<&Path>) -> Result<Answers> {
        let text = match path {
            Some(path) if path.exists() => std::fs::read_to_string(path).with_context(|| path.display().to_string())?,
            _ => String::new(),
        };
        // A run that was killed may have left half a line.
        let lines = text.lines().filter_map(|line| serde_json::from_str::<AnswerLine>(line).ok());
        let known = lines.map(|line| (line.key, line.answer)).collect();
        let open = |path: &Path| {
            OpenOptions::new().append(true).create(true).open(path).with_context(|| path.display().to_string())
        };
        Ok(Answers { known, file: path.map(open).transpose()? })
    }

    pub fn get(&self, key: &str) -> Option<&str> {
        self.known.get(key).map(String::as_str)
    }

    pub fn add(&mut self, key: &str, of: &str, answer: String) -> Result<()> {
        if let Some(file) = &mut self.file {
            let line = AnswerLine { key: key.to_string(), of: of.to_string(), answer: answer.clone() };
            // The break first, so that half a line of a killed run stays by itself.
            write!(file, "\n{}", serde_json::to_string(&line)?)?;
        }
        self.known.insert(key.to_string(), answer);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn answers_survive_a_killed_run() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("answers.jsonl");
        Answers::open(Some(&path)).unwrap().add("1a", "dev01-005, nothing", "unknown".into()).unwrap();
        let whole = std::fs::read_to_string(&path).unwrap();
        std::fs::write(&path, format!("{whole}\n{{\"key\":\"2b")).unwrap();
        let mut answers = Answers::open(Some(&path)).unwrap();
        assert_eq!(answers.get("1a"), Some("unknown"));
        assert_eq!(answers.get("2b"), None);
        answers.add("2b", "dev01-005, our brief", "src/a.rs".into()).unwrap();
        assert_eq!(Answers::open(Some(&path)).unwrap().get("2b"), Some("src/a.rs"));
    }
}
