//! Copilot CLI's hook payloads: its own, in camelCase and without the event's name, and those it sends to hooks
//! installed for Claude Code, in snake_case.
//!
//! Both have the same content and the same timestamp in milliseconds. The fields identify the event and the timestamp
//! makes the key, so an event that both hooks report counts once. Tool uses have no id, and a failed command is only
//! recognised by its last line.

use std::borrow::Cow;

use cerberus_record::clean::Cleaner;
use cerberus_record::clean::text::{Clean, Keep};
use cerberus_record::event::{CompactStage, Event, Outcome, StartSource, ToolUse};
use cerberus_record::id::{Agent, fnv1a};
use cerberus_record::time::Timestamp;
use serde::Deserialize;
use serde_json::value::RawValue;

use crate::key::prompt_key_prefix;
use crate::loose::{Escaped, Object, Text};
use crate::tool::{self, CommandExit, Use};
use crate::transcripts::tools::{self, ToolAnswer, ToolArguments};
use crate::transcripts::use_key;
use crate::{HookEvent, PayloadError};

pub const AGENT: Agent = Agent::new("copilot");

#[derive(Default, Deserialize)]
#[serde(default, bound = "'de: 'a")]
struct CopilotPayload<'a> {
    #[serde(rename = "sessionId", alias = "session_id")]
    session: Text<'a>,
    /// Milliseconds, or RFC 3339.
    timestamp: Text<'a>,
    cwd: Text<'a>,
    source: Text<'a>,
    prompt: Text<'a>,
    #[serde(rename = "toolName", alias = "tool_name")]
    tool: Text<'a>,
    #[serde(rename = "toolArgs", alias = "tool_input")]
    input: Option<&'a RawValue>,
    #[serde(rename = "toolResult", alias = "tool_result")]
    result: Option<Object<ToolResult<'a>>>,
    error: Text<'a>,
    #[serde(rename = "stopReason", alias = "stop_reason")]
    stop_reason: Text<'a>,
    trigger: Text<'a>,
    reason: Text<'a>,
}

#[derive(Default, Deserialize)]
#[serde(default, bound = "'de: 'a")]
struct ToolResult<'a> {
    #[serde(rename = "resultType", alias = "result_type")]
    kind: Text<'a>,
    #[serde(rename = "textResultForLlm", alias = "text_result_for_llm")]
    text: Escaped<'a>,
}

/// Parses one payload. Returns `None` for events we do not capture.
pub(crate) fn parse<'a>(cleaner: &'a Cleaner, payload: &'a [u8]) -> Result<Option<HookEvent<'a>>, PayloadError> {
    let mut fields: CopilotPayload = serde_json::from_slice(payload)?;
    let session = fields.session.0.take().filter(|id| !id.is_empty()).ok_or(PayloadError::Missing("sessionId"))?;
    let cwd = fields.cwd.0.take().filter(|cwd| !cwd.is_empty()).ok_or(PayloadError::Missing("cwd"))?;
    let millis = fields.timestamp.0.take().and_then(|at| match at.parse() {
        Ok(millis) => Some(millis),
        Err(_) => Timestamp::parse(&at).ok().map(Timestamp::millis),
    });
    let input = fields.input.map_or("", RawValue::get);
    let Some(event) = event(cleaner, fields, input) else { return Ok(None) };
    let time = millis.map_or_else(|| format!("{:016x}", fnv1a(payload)), |millis: i64| millis.to_string());
    let event_key = match &event {
        Event::Prompt { text } => prompt_key_prefix(text),
        // Several tools may end in the same millisecond.
        Event::Tool(_) => use_key(cleaner, input, "").to_string(),
        Event::Start { .. } => "start-".to_string(),
        Event::Stop { .. } => "stop-".to_string(),
        Event::Compact { .. } => "compact-".to_string(),
        _ => "end-".to_string(),
    };
    let key = cleaner.clean(format!("{event_key}{time}"), Keep::NAME);
    let session = cleaner.clean(session, Keep::NAME);
    Ok(Some(HookEvent { agent: AGENT, session, cwd, key, event, untyped: None }))
}

/// Each event is recognised by a field that no other event has.
fn event<'a>(cleaner: &'a Cleaner, fields: CopilotPayload<'a>, input: &'a str) -> Option<Event<'a>> {
    let failed = fields.error.0;
    match (fields.tool.0, fields.result, failed) {
        (Some(tool), Some(Object(result)), _) => {
            return Some(Event::Tool(tool_use(cleaner, &own_name(tool), input, result)));
        }
        (Some(tool), None, Some(error)) => {
            let mut used = Use::new(cleaner);
            tool::failed(&mut used, error);
            return Some(Event::Tool(used.of(own_name(tool))));
        }
        // The tool has not run yet.
        (Some(_), None, None) => return None,
        (None, ..) => {}
    }
    if let Some(prompt) = fields.prompt.0 {
        return Some(Event::Prompt { text: cleaner.clean(prompt, Keep::PROMPT) });
    }
    if fields.stop_reason.0.is_some() {
        return Some(Event::Stop { message: Clean::default() });
    }
    if fields.trigger.0.is_some() {
        return Some(Event::Compact { stage: CompactStage::Before, summary: None });
    }
    if let Some(source) = fields.source.0 {
        // A new session has the source `new`.
        let source = StartSource::from_word(&source).unwrap_or(StartSource::Startup);
        return Some(Event::Start { source, transcript: None, phase: None, process: None });
    }
    fields.reason.0.map(|reason| Event::End { reason: cleaner.clean(reason, Keep::SUBJECT) })
}

/// Hooks installed for Claude Code receive its tool names.
fn own_name(tool: Cow<'_, str>) -> Cow<'_, str> {
    Cow::Borrowed(match &*tool {
        "Bash" => "bash",
        "Write" => "create",
        "Edit" => "edit",
        "Read" => "view",
        "TodoWrite" => "update_todo",
        _ => return tool,
    })
}

fn tool_use(cleaner: &Cleaner, name: &str, input: &str, result: ToolResult) -> ToolUse<'static> {
    let answer = match (name, result.kind.0.as_deref()) {
        ("bash", _) => {
            let (exit, output) = ending(&result.text.unescaped());
            ToolAnswer::exit(exit, Cow::Owned(output))
        }
        (_, Some("failure" | "denied" | "rejected")) => ToolAnswer::ended(Outcome::Failed, result.text.unescaped()),
        _ => ToolAnswer::default(),
    };
    tools::tool_use(cleaner, name, &ToolArguments::read(input), &answer)
}

/// Exit code and output of a command; the last line is `<shellId: 1 completed with exit code 3>`.
fn ending(text: &str) -> (CommandExit, String) {
    let text = text.trim_end();
    let (output, last) = text.rsplit_once('\n').unwrap_or(("", text));
    let code = last.strip_prefix('<').and_then(|last| last.strip_suffix('>')?.rsplit_once("exit code "));
    match code.and_then(|(_, code)| code.parse().ok()) {
        Some(code) => (CommandExit::Code(code), output.to_string()),
        None => (CommandExit::Unknown, text.to_string()),
    }
}

#[cfg(test)]
mod tests {
    use cerberus_record::clean::BUILT_IN;
    use serde_json::{Value, json};

    use super::*;
    use crate::claude_code;

    /// The same event as sent to Copilot's own hook and to one installed for Claude Code.
    fn pair(name: &str, own: Value, borrowed: Value) -> (Vec<u8>, Vec<u8>) {
        let mut first = json!({"sessionId": "cop-1", "timestamp": 1769088914120_u64, "cwd": "/home/ann/hydra"});
        let mut second = json!({"hook_event_name": name, "session_id": "cop-1",
            "timestamp": "2026-01-22T13:35:14.120Z", "cwd": "/home/ann/hydra"});
        first.as_object_mut().unwrap().extend(own.as_object().unwrap().clone());
        second.as_object_mut().unwrap().extend(borrowed.as_object().unwrap().clone());
        (first.to_string().into_bytes(), second.to_string().into_bytes())
    }

    /// Both payloads must give the same event.
    fn check(name: &str, own: Value, borrowed: Value, expected: Value) {
        let (first, second) = pair(name, own, borrowed);
        let (first, second) =
            (parse(&BUILT_IN, &first).unwrap(), crate::parse(&BUILT_IN, claude_code::AGENT, &second).unwrap());
        assert_eq!(first, second, "{name}");
        let event = first.map_or(Value::Null, |hook_event| {
            assert_eq!((hook_event.agent, &*hook_event.session), (AGENT, "cop-1"));
            serde_json::to_value(hook_event.event).unwrap()
        });
        assert_eq!(event, expected, "{name}");
    }

    #[test]
    fn every_event_is_the_same_from_both_hooks() {
        let start = |source: &str| json!({"source": source, "initialPrompt": "go"});
        check(
            "SessionStart",
            start("new"),
            json!({"source": "new", "initial_prompt": "go"}),
            json!({"start": {"source": "startup"}}),
        );
        check("SessionStart", start("resume"), json!({"source": "resume"}), json!({"start": {"source": "resume"}}));
        let prompt = json!({"prompt": "go on"});
        check("UserPromptSubmit", prompt.clone(), prompt, json!({"prompt": {"text": "go on"}}));
        let transcript = "/home/ann/.copilot/session-state/cop-1/events.jsonl";
        check(
            "Stop",
            json!({"transcriptPath": transcript, "stopReason": "end_turn", "stop_hook_active": false}),
            json!({"transcript_path": transcript, "stop_reason": "end_turn", "stop_hook_active": false}),
            json!({"stop": {"message": ""}}),
        );
        let compact = json!({"trigger": "auto"});
        check("PreCompact", compact.clone(), compact, json!({"compact": {"stage": "before"}}));
        check(
            "SessionEnd",
            json!({"reason": "complete"}),
            json!({"reason": "complete"}),
            json!({"end": {"reason": "complete"}}),
        );
        let (own, borrowed) =
            (json!({"toolName": "bash", "toolArgs": {}}), json!({"tool_name": "Bash", "tool_input": {}}));
        check("PreToolUse", own, borrowed, Value::Null);
        check("ErrorOccurred", json!({"error": {"message": "m"}}), json!({"error": {"message": "m"}}), Value::Null);
    }

    #[test]
    fn every_tool_is_the_same_from_both_hooks() {
        let edited = |lines: Value| {
            let mut file = json!({"path": "/p/a.rs", "how": "edited"});
            if !lines.is_null() {
                file["lines"] = lines;
            }
            json!([file])
        };
        for (own, borrowed, input, text, expected) in [
            (
                "create",
                "Write",
                json!({"path": "/p/a.rs", "file_text": "fn a() {}\n"}),
                "Created file /p/a.rs",
                json!({"files": edited(Value::Null), "names": ["a"]}),
            ),
            (
                "edit",
                "Edit",
                json!({"path": "/p/a.rs", "old_str": "x", "new_str": "fn b() {}"}),
                "updated",
                json!({"files": edited(json!([[0, 0]])), "names": ["b"]}),
            ),
            (
                "view",
                "Read",
                json!({"path": "/p/a.rs"}),
                "fn a() {}",
                json!({"files": [{"path": "/p/a.rs", "how": "read"}]}),
            ),
            (
                "bash",
                "Bash",
                json!({"command": "cargo test"}),
                "test a ... FAILED\n<shellId: 1 completed with exit code 101>",
                json!({"command": "cargo test", "outcome": "failed", "error": "Exit code 101\ntest a ... FAILED", "failure": {"signature": "dd484cc3ddf18d9f"}}),
            ),
            (
                "bash",
                "Bash",
                json!({"command": "cargo test"}),
                "ok\n<shellId: 1 completed with exit code 0>",
                json!({"command": "cargo test", "output": "ok"}),
            ),
            ("bash", "Bash", json!({"command": "ls"}), "still running", json!({"command": "ls", "outcome": "unknown"})),
            (
                "update_todo",
                "TodoWrite",
                json!({"todos": "# List\n- [x] Parse\n- [ ] Test\n* [~] Ship\n[note] see below\n"}),
                "",
                json!({"todos": [{"subject": "Parse", "state": "done"}, {"subject": "Test", "state": "open"},
                    {"subject": "Ship", "state": "open"}]}),
            ),
            (
                "sql",
                "sql",
                json!({"description": "Add", "query": "INSERT INTO todos (id, title) VALUES ('t', 'Test it')"}),
                "1 row(s) inserted. Last inserted row ID: 1.",
                json!({"tasks": [{"id": "t", "subject": "Test it", "state": "open"}]}),
            ),
            ("grep", "Grep", json!({"pattern": "x"}), "found", json!({})),
        ] {
            let mut expected = json!({"tool": expected});
            expected["tool"]["tool"] = json!(own);
            let borrowed_name = if own == "grep" { "grep" } else { borrowed };
            check(
                "PostToolUse",
                json!({"toolName": own, "toolArgs": input, "toolResult": {"resultType": "success", "textResultForLlm": text}}),
                json!({"tool_name": borrowed_name, "tool_input": input,
                    "tool_result": {"result_type": "success", "text_result_for_llm": text}}),
                expected,
            );
        }
        check(
            "PostToolUseFailure",
            json!({"toolName": "view", "toolArgs": {"path": "/p/x"}, "error": "Path does not exist"}),
            json!({"tool_name": "Read", "tool_input": {"path": "/p/x"}, "error": "Path does not exist"}),
            json!({"tool": {"tool": "view", "outcome": "failed", "error": "Path does not exist"}}),
        );
    }

    #[test]
    fn a_patch_under_either_name_is_a_patch() {
        let input = json!({"input": "*** Begin Patch\n*** Add File: a.rs\n+fn a() {}\n*** End Patch"});
        for name in ["apply_patch", "Edit"] {
            let (bytes, _) = pair("", json!({"toolName": name, "toolArgs": input, "toolResult": {}}), json!({}));
            let Some(HookEvent { event: Event::Tool(used), .. }) = parse(&BUILT_IN, &bytes).unwrap() else {
                panic!("{name}")
            };
            assert_eq!((&*used.files[0].path, &*used.names[0]), ("a.rs", "a"));
        }
    }

    #[test]
    fn timestamps_tell_events_apart() {
        let key = |millis: u64, command: &str| {
            let extra =
                json!({"timestamp": millis, "toolName": "bash", "toolArgs": {"command": command}, "toolResult": {}});
            parse(&BUILT_IN, &pair("", extra, json!({})).0).unwrap().unwrap().key.to_string()
        };
        assert_eq!(key(1, "ls"), key(1, "ls"));
        assert_ne!(key(1, "ls"), key(2, "ls"));
        assert_ne!(key(1, "ls"), key(1, "pwd"));
        assert!(parse(&BUILT_IN, b"{\"sessionId\":").is_err() && parse(&BUILT_IN, b"{\"sessionId\":\"a\"}").is_err());
    }
}
