//! What the score needs from a transcript: which files were edited and read when, the prompts, and what was left open.

use std::collections::{BTreeSet, HashSet};
use std::path::Path;

use anyhow::{Context, Result};
use serde_json::Value;

const EDITING: [&str; 5] = ["Edit", "Write", "MultiEdit", "NotebookEdit", "Update"];

/// A prompt that begins like this was not typed.
const NOT_TYPED: [&str; 3] = ["[Request", "Caveat:", "This session is being continued"];
/// Blocks that clients add to prompts.
const BLOCKS: [&str; 6] =
    ["system-reminder", "ide_", "local-command-", "command-message", "bash-", "task-notification"];
/// A resumed session repeats the opening of one of the last so many.
const COPIED_MAX: usize = 4;
const COPIED_CHARS_MIN: usize = 30;

/// One use of a file.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Use {
    pub at: String,
    pub is_edit: bool,
    pub path: String,
}

/// The state of a todo list, or the answer to a question, at a time.
#[derive(Clone, Debug)]
pub struct Left {
    pub at: String,
    pub open: Vec<String>,
}

#[derive(Debug, Default)]
pub struct Session {
    pub id: String,
    pub uses: Vec<Use>,
    pub todos: Vec<Left>,
    pub answers: Vec<Left>,
    prompts: Vec<(String, String)>,
}

impl Session {
    pub fn read(path: &Path) -> Result<Session> {
        let bytes = cerberus_store::import::files::read(path).with_context(|| path.display().to_string())?;
        let mut session = Session::default();
        let (mut root, mut seen) = (None, HashSet::new());
        for line in bytes.split(|byte| *byte == b'\n') {
            let Ok(line) = serde_json::from_slice::<Value>(line) else { continue };
            root = root.or_else(|| line["cwd"].as_str().map(str::to_string));
            if let Some(id) = line["uuid"].as_str()
                && !seen.insert(id.to_string())
            {
                continue;
            }
            session.add(&line, root.as_deref().unwrap_or_default());
        }
        session.uses.sort();
        session.prompts.sort();
        Ok(session)
    }

    fn add(&mut self, line: &Value, root: &str) {
        let Some(at) = line["timestamp"].as_str() else { return };
        let content = &line["message"]["content"];
        let is_of = |kind: &str| line["type"] == kind;
        if self.id.is_empty() {
            self.id = line["sessionId"].as_str().unwrap_or_default().to_string();
        }
        if is_of("user") && line["isMeta"] != true && line["isSidechain"] != true {
            let text = text(content);
            if !text.trim().is_empty() {
                self.prompts.push((at.to_string(), text.trim().to_string()));
            }
        }
        if is_of("user")
            && let Some(answers) = line["toolUseResult"]["answers"].as_object()
        {
            let open = answers.values().filter_map(Value::as_str).map(str::to_string).collect();
            self.answers.push(Left { at: at.to_string(), open });
        }
        if !is_of("assistant") {
            return;
        }
        for used in content.as_array().into_iter().flatten().filter(|block| block["type"] == "tool_use") {
            let (name, input) = (used["name"].as_str().unwrap_or_default(), &used["input"]);
            if name == "TodoWrite" {
                let open = input["todos"].as_array().into_iter().flatten().filter(|todo| todo["status"] != "completed");
                let open = open.filter_map(|todo| todo["content"].as_str()).map(str::to_string).collect();
                self.todos.push(Left { at: at.to_string(), open });
            }
            let path = input["file_path"].as_str().or(input["notebook_path"].as_str());
            let is_edit = EDITING.contains(&name);
            if let Some(path) = path.filter(|_| is_edit || name == "Read").and_then(|path| relative(path, root)) {
                self.uses.push(Use { at: at.to_string(), is_edit, path });
            }
        }
    }

    pub fn edited(&self) -> BTreeSet<&str> {
        self.uses.iter().filter(|used| used.is_edit).map(|used| used.path.as_str()).collect()
    }

    /// Its activity before the next session started.
    pub fn before<'a>(&'a self, start: &'a str) -> impl DoubleEndedIterator<Item = &'a Use> {
        self.uses.iter().filter(move |used| used.at.as_str() < start)
    }

    /// The first thing that somebody typed.
    pub fn first_prompt(&self) -> String {
        self.prompts.iter().map(|(_, text)| typed(text)).find(|text| !text.is_empty()).unwrap_or_default()
    }

    /// Whether it repeats the opening of an earlier session, because it resumes or forks it.
    pub fn is_copy(&self, past: &[Session]) -> bool {
        let opening = self.first_prompt();
        let is_same = |other: &Session| other.first_prompt() == opening;
        opening.chars().count() > COPIED_CHARS_MIN && past.iter().rev().take(COPIED_MAX).any(is_same)
    }
}

/// What was typed, out of what the client adds; empty if nothing was.
fn typed(prompt: &str) -> String {
    let between = |name: &str| {
        let (_, rest) = prompt.split_once(&format!("<{name}>"))?;
        Some(rest.split_once(&format!("</{name}>"))?.0.trim().to_string())
    };
    if NOT_TYPED.iter().any(|opening| prompt.starts_with(opening)) {
        return String::new();
    }
    if let Some(name) = between("command-name") {
        return format!("{name} {}", between("command-args").unwrap_or_default()).trim().to_string();
    }
    let text = without_blocks(prompt);
    let text = match (text.trim_start().strip_prefix("<teammate-message"), text.split_once('>')) {
        (Some(_), Some((_, message))) => message.split("</teammate-message>").next().unwrap_or_default().to_string(),
        _ => text,
    };
    if text.trim_start().starts_with('<') { String::new() } else { text.trim().to_string() }
}

fn without_blocks(text: &str) -> String {
    let mut kept = String::new();
    let mut rest = text;
    while let Some(open) = rest.find('<') {
        let tag = &rest[open + 1..];
        let name = tag.split(|c: char| !(c.is_ascii_lowercase() || c == '-' || c == '_')).next().unwrap_or_default();
        let close = format!("</{name}>");
        let is_block = BLOCKS.iter().any(|block| name.starts_with(block));
        match tag.find(&close).filter(|_| is_block) {
            Some(end) => {
                kept.push_str(&rest[..open]);
                rest = &tag[end + close.len()..];
            }
            None => {
                kept.push_str(&rest[..=open]);
                rest = tag;
            }
        }
    }
    kept + rest
}

fn text(content: &Value) -> String {
    match content {
        Value::String(text) => text.clone(),
        content => {
            let blocks = content.as_array().into_iter().flatten().filter(|block| block["type"] == "text");
            blocks.filter_map(|block| block["text"].as_str()).collect::<Vec<_>>().join("\n")
        }
    }
}

/// The path relative to the project; files outside it are not predicted.
fn relative(path: &str, root: &str) -> Option<String> {
    let has_drive =
        |path: &str| path.as_bytes().get(1) == Some(&b':') && path.starts_with(|c: char| c.is_ascii_alphabetic());
    let (path, root) =
        (if has_drive(path) { path.replace('\\', "/") } else { path.to_string() }, root.replace('\\', "/"));
    if !path.starts_with('/') && !has_drive(&path) {
        return Some(path);
    }
    for folder in ["/.worktrees/", "/worktrees/", "/.worktree/", "/worktree/", "/.claude/worktrees/"] {
        if let Some((before, inside)) = path.split_once(folder)
            && root.starts_with(before)
            && let Some((_, inside)) = inside.split_once('/')
        {
            return Some(inside.to_string());
        }
    }
    path.strip_prefix(&root)?.strip_prefix('/').map(str::to_string)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_are_relative_to_the_project_on_every_system() {
        for (path, root, expected) in [
            ("/p/src/a.rs", "/p", Some("src/a.rs")),
            ("src/a.rs", "/p", Some("src/a.rs")),
            ("/p/.worktrees/x/src/a.rs", "/p", Some("src/a.rs")),
            ("D:\\p\\src\\a.rs", "D:\\p", Some("src/a.rs")),
            ("/elsewhere/a.rs", "/p", None),
        ] {
            assert_eq!(relative(path, root).as_deref(), expected, "{path}");
        }
    }

    #[test]
    fn what_was_typed_is_found_in_what_the_client_sent() {
        for (prompt, expected) in [
            ("fix a.rs", "fix a.rs"),
            ("<system-reminder>b.rs</system-reminder>fix a < b", "fix a < b"),
            ("<command-name>/review</command-name><command-args>a.rs</command-args>", "/review a.rs"),
            ("<teammate-message from=\"x\">do it</teammate-message>", "do it"),
            ("<local-command-stdout>ok</local-command-stdout>", ""),
            ("[Request interrupted by user]", ""),
            ("<unknown>text</unknown>", ""),
        ] {
            assert_eq!(typed(prompt), expected, "{prompt}");
        }
    }
}
