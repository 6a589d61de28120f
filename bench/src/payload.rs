//! Generates payloads as Claude Code sends them, with code and text of a typical size.
//!
//! The same arguments always give the same bytes. No files are read.

use std::path::Path;

use serde_json::{Value, json};

/// A payload with the fields that the client always sends.
pub fn payload(repo: &Path, session: &str, event: &str, extra: Value) -> Vec<u8> {
    let mut payload = json!({
        "session_id": session,
        "transcript_path": format!("/home/dev/.claude/projects/-home-dev-hydra/{session}.jsonl"),
        "cwd": repo,
        "permission_mode": "default",
        "hook_event_name": event,
    });
    if let (Value::Object(fields), Value::Object(extra)) = (&mut payload, extra) {
        fields.extend(extra);
    }
    payload.to_string().into_bytes()
}

/// A tool use, with its input and its result.
pub fn tool(repo: &Path, session: &str, id: &str, tool: &str, input: Value, response: Value) -> Vec<u8> {
    let extra = json!({"tool_name": tool, "tool_use_id": id, "tool_input": input, "tool_response": response});
    payload(repo, session, "PostToolUse", extra)
}

/// A written file; the client sends its content twice.
pub fn write(repo: &Path, session: &str, id: &str, path: &str, content: &str) -> Vec<u8> {
    let path = repo.join(path);
    let input = json!({"file_path": path, "content": content});
    let response = json!({
        "type": "create", "filePath": path, "content": content, "structuredPatch": [], "originalFile": null,
        "userModified": false,
    });
    tool(repo, session, id, "Write", input, response)
}

/// An edit of a few lines.
pub fn edit(repo: &Path, session: &str, id: &str, path: &str, new: &str) -> Vec<u8> {
    let path = repo.join(path);
    let old = "    todo_later(&self.entries)";
    let input = json!({"file_path": path, "old_string": old, "new_string": new, "replace_all": false});
    let added = new.lines().map(|line| format!("+{line}"));
    let lines: Vec<String> = [" {".to_string(), format!("-{old}")].into_iter().chain(added).collect();
    let hunk = json!({"oldStart": 40, "oldLines": 2, "newStart": 40, "newLines": lines.len() - 1, "lines": lines});
    let response = json!({
        "filePath": path, "oldString": old, "newString": new, "originalFile": rust_code(3, 60),
        "structuredPatch": [hunk], "userModified": false, "replaceAll": false,
    });
    tool(repo, session, id, "Edit", input, response)
}

/// A file that was read.
pub fn read(repo: &Path, session: &str, id: &str, path: &str) -> Vec<u8> {
    let path = repo.join(path);
    let file = json!({"filePath": path, "content": rust_code(5, 80), "numLines": 80, "startLine": 1, "totalLines": 80});
    let response = json!({"type": "text", "file": file});
    tool(repo, session, id, "Read", json!({"file_path": path}), response)
}

const NOUNS: [&str; 16] = [
    "Ledger", "Cursor", "Segment", "Budget", "Session", "Receipt", "Worktree", "Branch", "Settings", "Receiver",
    "Window", "Digest", "Lease", "Outline", "Marker", "Registry",
];

const BLOCK: &str = r#"/// Keeps the @lower@ entries in the order in which they came, the newest last.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct @Noun@@number@ {
    /// What was said, and when; never longer than the limit.
    entries: Vec<(String, Timestamp)>,
    limit_bytes: usize,
}
impl @Noun@@number@ {
    pub fn push_@lower@@number@(&mut self, name: &str, at: Timestamp) -> Result<(), LimitError> {
        if name.trim().is_empty() || name.len() > self.limit_bytes {
            return Err(LimitError::new("the @lower@ is empty or too long", name, self.limit_bytes));
        }
        self.entries.retain(|(known, _)| known != name.trim()); // said twice: it moves to the end
        self.entries.push((name.trim().to_string(), at));
        Ok(())
    }
    fn newest_@lower@@number@(&self) -> Option<&(String, Timestamp)> {
        self.entries.iter().filter(|(name, _)| !name.starts_with('.')).max_by_key(|(_, at)| *at)
    }
}
"#;

/// This many lines of Rust, about 45 bytes each, with three definitions per twenty lines; `seed` varies the names.
pub fn rust_code(seed: usize, lines: usize) -> String {
    let mut code = String::new();
    for block in 0..lines.div_ceil(BLOCK.lines().count()) {
        let noun = NOUNS[(seed + block) % NOUNS.len()];
        let filled = BLOCK
            .replace("@Noun@", noun)
            .replace("@lower@", &noun.to_lowercase())
            .replace("@number@", &(seed * 100 + block).to_string());
        code.push_str(&filled);
    }
    let mut kept: String = code.lines().take(lines).collect::<Vec<_>>().join("\n");
    kept.push('\n');
    kept
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn code_has_the_size_it_is_said_to_have() {
        let code = rust_code(0, 200);
        assert_eq!(code.lines().count(), 200);
        assert!((8_000..10_000).contains(&code.len()), "{} bytes", code.len());
        assert_eq!(code, rust_code(0, 200));
        assert_ne!(code, rust_code(1, 200));
    }

    #[test]
    fn a_payload_is_what_the_hook_understands() {
        let repo = Path::new("/r");
        let said = write(repo, "s", "toolu_1", "src/a.rs", &rust_code(0, 20));
        let heard =
            cerberus_agents::parse(&cerberus_record::clean::BUILT_IN, cerberus_agents::claude_code::AGENT, &said)
                .unwrap()
                .unwrap();
        let cerberus_record::event::Event::Tool(used) = heard.event else {
            panic!("a tool was used");
        };
        assert_eq!(&*used.files[0].path, "/r/src/a.rs");
        assert_eq!(used.names.len(), 3);
    }
}
