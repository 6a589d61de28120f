//! What a host is about to do, from the payload that it sends before a tool runs.
//!
//! The hosts differ in the names of fields and tools, but no name means two things, so one reader knows them all. Only
//! shell and write tools are read; everything else is none of our business.

use cerberus_record::id::Agent;
use cerberus_record::words::is_one_of;
use serde_json::Value;

use super::profile;
use crate::action::{Action, WrittenFile};
use crate::host::ClaudePromptMarks;
pub use crate::host::{AskingTime, HookRefusal};

/// A tool use that has not happened yet.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Before {
    /// The agent at work, which is not always the one whose hook called us.
    pub agent: Agent,
    pub session: String,
    pub cwd: String,
    /// What identifies this one call; empty if nothing does.
    pub call: String,
    pub action: Action,
}

const EVENTS: [&str; 5] = ["PreToolUse", "preToolUse", "BeforeTool", "beforeShellExecution", "before"];
const SHELLS: [&str; 7] = ["Bash", "bash", "Shell", "shell", "run_shell_command", "powershell", "run_commands"];
const WRITERS: &str = "Edit Write MultiEdit NotebookEdit Update StrReplace Delete apply_patch replace write_file edit create \
    write patch multiedit str_replace_editor";

/// More files than any patch of an agent changes.
const FILES_MAX: usize = 200;

/// Whether a tool runs commands.
pub fn is_shell(tool: &str) -> bool {
    SHELLS.contains(&tool)
}

/// Reads the payload of a shell or write tool before it runs; `None` for everything else.
pub fn before(agent: Agent, payload: &[u8]) -> Option<Before> {
    let value: Value = serde_json::from_slice(payload).ok()?;
    let text = |names: &[&str]| text(&value, names);
    match text(&["hook_event_name", "event"]) {
        Some(event) if !EVENTS.contains(&event) => return None,
        Some(_) => {}
        // One host does not name its events: this one has a tool without a result.
        None if value.get("toolName").is_none() => return None,
        None if ["toolResult", "error"].iter().any(|field| value.get(field).is_some()) => return None,
        None => {}
    }
    let call = text(&["tool_use_id", "id"]).map_or_else(|| scalar(&value, "timestamp"), str::to_string);
    let root = value["workspace_roots"].get(0).and_then(Value::as_str);
    let action = match text(&["tool_name", "toolName", "tool"]) {
        Some(tool) => action(tool, &input(&value))?,
        None => Action::Shell { line: text(&["command"])?.to_string(), folder: None },
    };
    Some(Before {
        agent: sender(agent, &value),
        session: text(&["conversation_id", "session_id", "sessionId", "sessionID"])?.to_string(),
        cwd: text(&["cwd"]).or(root)?.to_string(),
        call,
        action,
    })
}

/// Whether the host says that it is already going on because of a stop hook.
pub fn is_stopped_again(payload: &[u8]) -> bool {
    serde_json::from_slice::<Value>(payload).is_ok_and(|value| value["stop_hook_active"] == Value::Bool(true))
}

/// Hosts also run hooks that were installed for another agent.
fn sender(agent: Agent, value: &Value) -> Agent {
    let mut parts = value["transcript_path"].as_str().map(|path| path.rsplit('/')).into_iter().flatten();
    let has = |field: &str| value.get(field).is_some_and(|value| !value.is_null());
    let marks = ClaudePromptMarks {
        transcript_name: parts.next(),
        transcript_folder: parts.next(),
        has_turn: has("turn_id"),
        has_time: has("timestamp"),
        has_conversation: has("conversation_id") || has("cursor_version"),
    };
    super::sender(&marks).map_or(agent, |found| found.agent)
}

/// The first of these fields that is a text.
fn text<'a>(value: &'a Value, names: &[&str]) -> Option<&'a str> {
    names.iter().find_map(|name| value.get(name)?.as_str()).filter(|text| !text.is_empty())
}

/// A text or a number.
fn scalar(value: &Value, name: &str) -> String {
    match value.get(name) {
        Some(Value::String(text)) => text.clone(),
        Some(Value::Number(number)) => number.to_string(),
        _ => String::new(),
    }
}

/// The arguments of the tool: an object, or JSON in a string.
fn input(value: &Value) -> Value {
    let given = ["tool_input", "toolArgs", "args"].iter().find_map(|name| value.get(name));
    match given {
        Some(Value::String(text)) => serde_json::from_slice(text.as_bytes()).unwrap_or_default(),
        Some(given) => given.clone(),
        None => Value::Null,
    }
}

fn action(tool: &str, input: &Value) -> Option<Action> {
    if is_shell(tool) {
        let folder = text(input, &["workdir", "dir_path", "directory", "working_directory", "cwd"]).map(str::to_string);
        return Some(Action::Shell { line: text(input, &["command"])?.to_string(), folder });
    }
    if !is_one_of(tool, WRITERS) {
        return None;
    }
    let patch = text(input, &["patchText", "input", "command", "patch"]).filter(|text| text.contains("*** "));
    if let Some(patch) = patch {
        return Some(Action::Write(patched(patch)));
    }
    let path = text(input, &["file_path", "filePath", "path", "notebook_path", "target_file", "absolute_path"])?;
    let fields = ["content", "contents", "new_string", "newString", "new_source", "file_text", "new_str"];
    let edits = input["edits"].as_array().into_iter().flatten();
    let texts =
        std::iter::once(input).chain(edits).flat_map(|one| fields.iter().filter_map(|name| one.get(name)?.as_str()));
    let text = texts.collect::<Vec<_>>().join("\n");
    Some(Action::Write(vec![WrittenFile { path: path.to_string(), text, is_deleted: tool == "Delete" }]))
}

/// The files of a patch in the `apply_patch` format, with the lines that it adds.
fn patched(patch: &str) -> Vec<WrittenFile> {
    let mut files: Vec<WrittenFile> = Vec::new();
    for line in patch.lines() {
        let named = |mark: &str| line.strip_prefix(mark).map(|path| path.trim().to_string());
        let (added, deleted) = (named("*** Add File:").or(named("*** Update File:")), named("*** Delete File:"));
        let moved = named("*** Move to:");
        let is_deleted = deleted.is_some();
        if let Some(path) = added.or(deleted).or(moved).filter(|_| files.len() < FILES_MAX) {
            files.push(WrittenFile { path, text: String::new(), is_deleted });
        } else if let (Some(text), Some(file)) = (line.strip_prefix('+'), files.last_mut()) {
            file.text.push_str(text);
            file.text.push('\n');
        }
    }
    files
}

/// Whether this agent can ask its user now. `variable` reads the environment.
pub fn can_ask(agent: Agent, variable: &dyn Fn(&str) -> Option<String>) -> bool {
    match profile(agent).map_or(AskingTime::Never, |profile| profile.asking) {
        AskingTime::Never => false,
        AskingTime::Always => true,
        AskingTime::If(name, value) => variable(name).as_deref() == Some(value),
    }
}

/// The hook output that refuses, with the reason for the model; `None` if the host cannot be told so.
pub fn refuse(agent: Agent, refusal: HookRefusal, reason: &str) -> Option<String> {
    Some((profile(agent)?.refuse)(refusal, reason)?.to_string())
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::super::{claude_code, codex, copilot, cursor, gemini, opencode, qwen_code};
    use super::*;

    fn shell(line: &str) -> Action {
        Action::Shell { line: line.to_string(), folder: None }
    }

    fn write(path: &str, text: &str) -> Action {
        Action::Write(vec![WrittenFile { path: path.to_string(), text: text.to_string(), is_deleted: false }])
    }

    #[test]
    fn every_host_says_what_it_is_about_to_do() {
        let claude = |tool: &str, input: Value| {
            json!({"session_id": "s", "cwd": "/p", "hook_event_name": "PreToolUse", "tool_name": tool, "tool_input": input,
                "tool_use_id": "t1", "transcript_path": "/h/.claude/projects/-p/s.jsonl", "permission_mode": "default"})
        };
        let codex_turn = |tool: &str, command: &str| {
            json!({"session_id": "s", "turn_id": "u", "cwd": "/p", "hook_event_name": "PreToolUse", "tool_name": tool,
                "tool_input": {"command": command}, "tool_use_id": "t1"})
        };
        let gemini_tool = |tool: &str, input: Value| {
            json!({"session_id": "s", "cwd": "/p", "hook_event_name": "BeforeTool", "timestamp": "2026-01-22T13:35:14Z",
                "transcript_path": "/h/.gemini/tmp/p/chats/session-1.jsonl", "tool_name": tool, "tool_input": input})
        };
        let patch = "*** Begin Patch\n*** Add File: a.rs\n+fn a() {}\n*** Delete File: b.rs\n*** End Patch";
        let patched = Action::Write(vec![
            WrittenFile { path: "a.rs".into(), text: "fn a() {}\n".into(), is_deleted: false },
            WrittenFile { path: "b.rs".into(), text: String::new(), is_deleted: true },
        ]);
        for (agent, payload, call, expected) in [
            (claude_code::AGENT, claude("Bash", json!({"command": "ls"})), "t1", shell("ls")),
            (
                claude_code::AGENT,
                claude("Write", json!({"file_path": "/p/a", "content": "x"})),
                "t1",
                write("/p/a", "x"),
            ),
            (
                claude_code::AGENT,
                claude("MultiEdit", json!({"file_path": "a", "edits": [{"new_string": "x"}, {"new_string": "y"}]})),
                "t1",
                write("a", "x\ny"),
            ),
            (codex::AGENT, codex_turn("Bash", "ls"), "t1", shell("ls")),
            (codex::AGENT, codex_turn("apply_patch", patch), "t1", patched),
            (
                gemini::AGENT,
                gemini_tool("run_shell_command", json!({"command": "ls"})),
                "2026-01-22T13:35:14Z",
                shell("ls"),
            ),
            (
                gemini::AGENT,
                gemini_tool("replace", json!({"file_path": "a", "new_string": "x"})),
                "2026-01-22T13:35:14Z",
                write("a", "x"),
            ),
            (
                copilot::AGENT,
                json!({"sessionId": "s", "timestamp": 17, "cwd": "/p", "toolName": "bash", "toolArgs": {"command": "ls"}}),
                "17",
                shell("ls"),
            ),
            (
                copilot::AGENT,
                json!({"sessionId": "s", "timestamp": 17, "cwd": "/p", "toolName": "edit", "toolArgs": "{\"path\":\"a\",\"new_str\":\"x\"}"}),
                "17",
                write("a", "x"),
            ),
            (
                opencode::AGENT,
                json!({"event": "before", "sessionID": "s", "cwd": "/p", "at": 1, "id": "t1", "tool": "bash", "args": {"command": "ls"}}),
                "t1",
                shell("ls"),
            ),
            (
                cursor::AGENT,
                json!({"conversation_id": "s", "cwd": "", "workspace_roots": ["/p"], "hook_event_name": "beforeShellExecution",
                    "command": "ls"}),
                "",
                shell("ls"),
            ),
            (
                qwen_code::AGENT,
                json!({"session_id": "s", "cwd": "/p", "hook_event_name": "PreToolUse", "timestamp": "1", "tool_use_id": "t1",
                    "transcript_path": "/h/.qwen/projects/p/chats/s.jsonl", "tool_name": "run_shell_command",
                    "tool_input": {"command": "ls", "directory": "web"}}),
                "t1",
                Action::Shell { line: "ls".into(), folder: Some("web".into()) },
            ),
        ] {
            let found = before(agent, payload.to_string().as_bytes());
            let (session, cwd) = ("s".to_string(), "/p".to_string());
            assert_eq!(
                found,
                Some(Before { agent, session, cwd, call: call.to_string(), action: expected }),
                "{payload}"
            );
        }
        // A hook installed for one agent is run by another.
        let found = before(claude_code::AGENT, codex_turn("Bash", "ls").to_string().as_bytes());
        assert_eq!(found.map(|before| before.agent), Some(codex::AGENT));
    }

    #[test]
    fn other_tools_and_events_are_none_of_our_business() {
        for payload in [
            json!({"session_id": "s", "cwd": "/p", "hook_event_name": "PreToolUse", "tool_name": "Read", "tool_input": {"file_path": "a"}}),
            json!({"session_id": "s", "cwd": "/p", "hook_event_name": "PostToolUse", "tool_name": "Bash", "tool_input": {"command": "ls"}}),
            json!({"session_id": "s", "cwd": "/p", "hook_event_name": "PreToolUse", "tool_name": "Bash", "tool_input": {"command": 3}}),
            json!({"sessionId": "s", "cwd": "/p", "toolName": "bash", "toolArgs": {"command": "ls"}, "toolResult": {}}),
            json!({"session_id": "s", "hook_event_name": "PreToolUse", "tool_name": "Bash", "tool_input": {"command": "ls"}}),
            json!([1, 2]),
        ] {
            assert_eq!(before(claude_code::AGENT, payload.to_string().as_bytes()), None, "{payload}");
        }
        assert_eq!(before(claude_code::AGENT, b"{"), None);
        assert!(is_stopped_again(b"{\"stop_hook_active\": true}") && !is_stopped_again(b"{}"));
    }

    #[test]
    fn the_refusal_is_exactly_what_the_host_accepts() {
        let nested = |decision: &str| {
            Some(json!({"hookSpecificOutput": {"hookEventName": "PreToolUse", "permissionDecision": decision,
                "permissionDecisionReason": "r"}}))
        };
        let flat = |decision: &str| Some(json!({"permissionDecision": decision, "permissionDecisionReason": "r"}));
        let stop = |decision: &str| Some(json!({"decision": decision, "reason": "r"}));
        let cursor_denies = Some(json!({"permission": "deny", "user_message": "r", "agent_message": "r"}));
        for (agent, deny, ask, go_on) in [
            (claude_code::AGENT, nested("deny"), nested("ask"), stop("block")),
            (codex::AGENT, nested("deny"), None, stop("block")),
            (gemini::AGENT, stop("deny"), None, stop("deny")),
            (qwen_code::AGENT, nested("deny"), None, stop("block")),
            (copilot::AGENT, flat("deny"), flat("ask"), stop("block")),
            (opencode::AGENT, Some(json!({"deny": "r"})), None, None),
            (cursor::AGENT, cursor_denies, None, None),
        ] {
            let value = |refusal| refuse(agent, refusal, "r").map(|text| serde_json::from_str::<Value>(&text).unwrap());
            assert_eq!(
                (value(HookRefusal::Deny), value(HookRefusal::Ask), value(HookRefusal::GoOn)),
                (deny, ask.clone(), go_on),
                "{agent}"
            );
            let may_ask = can_ask(agent, &|_| Some("cli".to_string()));
            assert_eq!(may_ask, ask.is_some(), "{agent}");
        }
        assert!(!can_ask(claude_code::AGENT, &|_| Some("sdk-cli".to_string())));
    }
}
