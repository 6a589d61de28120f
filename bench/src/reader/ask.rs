//! One request to a model, and the file in which answers are kept.

use std::collections::HashMap;
use std::fs::{File, OpenOptions};
use std::io::Write as _;
use std::path::Path;
use std::time::Duration;

use anyhow::{Context, Result};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::facts::QUESTIONS;

/// A small model on a slow machine takes half a minute.
const ANSWER_MAX: Duration = Duration::from_secs(600);
const ANSWER_TOKENS: usize = 300;

pub struct Endpoint {
    url: String,
    model: Option<String>,
    key: Option<String>,
    agent: ureq::Agent,
}

impl Endpoint {
    pub fn new(endpoint: &str, model: Option<&str>) -> Endpoint {
        let config = ureq::Agent::config_builder().timeout_global(Some(ANSWER_MAX)).build();
        Endpoint {
            url: format!("{}/chat/completions", endpoint.trim_end_matches('/')),
            model: model.map(str::to_string),
            key: std::env::var("CERBERUS_READER_KEY").ok(),
            agent: config.into(),
        }
    }

    /// What the model answers to all questions, knowing this text.
    pub fn ask(&self, text: &str) -> Result<String> {
        let mut request = json!({
            "messages": [{"role": "user", "content": question(text)}],
            "temperature": 0, "seed": 1, "max_tokens": ANSWER_TOKENS, "cache_prompt": false,
        });
        if let Some(model) = &self.model {
            request["model"] = model.as_str().into();
        }
        let mut call = self.agent.post(&self.url).header("content-type", "application/json");
        if let Some(key) = &self.key {
            call = call.header("authorization", format!("Bearer {key}"));
        }
        let mut reply = call.send(serde_json::to_vec(&request)?.as_slice())?;
        let reply: Value = serde_json::from_slice(&reply.body_mut().read_to_vec()?)?;
        let answer = reply["choices"][0]["message"]["content"].as_str();
        Ok(answer.context("the server's reply has no answer")?.to_string())
    }
}

fn question(text: &str) -> String {
    let known = match text {
        "" => "You know nothing about what happened before.".to_string(),
        text => format!("This is what is known of the work so far:\n\n{text}"),
    };
    let questions: Vec<String> = QUESTIONS.iter().enumerate().map(|(n, one)| format!("{}. {one}", n + 1)).collect();
    format!(
        "You continue the work of a programmer in a repository. {known}\n\nAnswer in short sentences, with the exact names of \
         files, functions, tests, commands and values. Say \"unknown\" where you cannot know.\n{}",
        questions.join("\n")
    )
}

#[derive(Serialize, Deserialize)]
struct AnswerLine {
    boundary: String,
    arm: String,
    answer: String,
}

/// Answers by moment and arm. Those that are in the file are not asked for again.
pub struct Answers {
    known: HashMap<(String, String), String>,
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
        let known = lines.map(|line| ((line.boundary, line.arm), line.answer)).collect();
        let open = |path: &Path| {
            OpenOptions::new().append(true).create(true).open(path).with_context(|| path.display().to_string())
        };
        Ok(Answers { known, file: path.map(open).transpose()? })
    }

    pub fn get(&self, boundary: &str, arm: &str) -> Option<&str> {
        self.known.get(&(boundary.to_string(), arm.to_string())).map(String::as_str)
    }

    pub fn add(&mut self, boundary: &str, arm: &str, answer: String) -> Result<()> {
        let (boundary, arm) = (boundary.to_string(), arm.to_string());
        if let Some(file) = &mut self.file {
            let line = AnswerLine { boundary: boundary.clone(), arm: arm.clone(), answer: answer.clone() };
            // The break first, so that half a line of a killed run stays by itself.
            write!(file, "\n{}", serde_json::to_string(&line)?)?;
        }
        self.known.insert((boundary, arm), answer);
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
        Answers::open(Some(&path)).unwrap().add("dev01-005", "nothing", "unknown".into()).unwrap();
        let whole = std::fs::read_to_string(&path).unwrap();
        std::fs::write(&path, format!("{whole}\n{{\"boundary\":\"dev01-0")).unwrap();
        let mut answers = Answers::open(Some(&path)).unwrap();
        assert_eq!(answers.get("dev01-005", "nothing"), Some("unknown"));
        assert_eq!(answers.get("dev01-005", "our brief"), None);
        answers.add("dev01-005", "our brief", "src/a.rs".into()).unwrap();
        assert_eq!(Answers::open(Some(&path)).unwrap().get("dev01-005", "our brief"), Some("src/a.rs"));
    }

    #[test]
    fn a_model_is_asked_with_what_is_known() {
        assert!(question("").contains("You know nothing"));
        assert!(question("proj:x").contains("proj:x"));
    }
}
