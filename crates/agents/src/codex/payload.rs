//! Codex's hook payloads: Claude Code's protocol with Codex's own tools.
//!
//! A tool's response is one text, and there is no event for failures, so the exit code is known only if the text
//! mentions it. Edits are patches.

use std::borrow::Cow;

use cerberus_record::clean::Cleaner;
use cerberus_record::event::ToolUse;
use cerberus_record::id::Agent;
use serde::Deserialize;

use crate::claude_code::payload::{ClaudePayload, hook_event};
use crate::claude_code::tool::ClaudeHookCall;
use crate::loose::{Escaped, List, Object, RawJson};
use crate::tool::{self, CommandExit, Use, UserQuestion};
use crate::transcripts::tools::{self, ToolAnswer, ToolArguments};
use crate::{HookEvent, PayloadError, patch};

pub const AGENT: Agent = Agent::new("codex");

#[derive(Default, Deserialize)]
#[serde(default, bound = "'de: 'a")]
struct CodexHookInput<'a> {
    /// A patch.
    command: Escaped<'a>,
    questions: List<Object<UserQuestion<'a>>>,
}

/// Parses one payload. Returns `None` for events we do not capture.
pub(crate) fn parse<'a>(cleaner: &'a Cleaner, payload: &'a [u8]) -> Result<Option<HookEvent<'a>>, PayloadError> {
    let fields: ClaudePayload<RawJson, Escaped> = serde_json::from_slice(payload)?;
    hook_event(cleaner, AGENT, payload, fields, tool_use)
}

fn tool_use<'a>(cleaner: &'a Cleaner, call: ClaudeHookCall<'a, RawJson<'a>, Escaped<'a>>) -> ToolUse<'a> {
    let ClaudeHookCall { tool: name, input, response, .. } = call;
    let own = || serde_json::from_slice::<Object<CodexHookInput>>(input.0.as_bytes()).unwrap_or_default().0;
    let mut used = Use::new(cleaner);
    match &*name {
        "apply_patch" => match ending(response.unescaped()) {
            (CommandExit::Code(code), output) if code != 0 => tool::failed(&mut used, output),
            _ => patch::apply_patch(&mut used, own().command),
        },
        "request_user_input" => answers(&mut used, own().questions, &response.unescaped()),
        _ => {
            let answer = match &*name {
                "Bash" => {
                    let (exit, output) = ending(response.unescaped());
                    ToolAnswer::exit(exit, output)
                }
                _ => ToolAnswer::default(),
            };
            return tools::tool_use(cleaner, &name, &ToolArguments::read(input.0), &answer);
        }
    }
    used.of(name)
}

/// Exit code and output of a command. The exit code is above an `Output:` line, but not always present.
fn ending(response: Cow<'_, str>) -> (CommandExit, Cow<'_, str>) {
    const HEAD_LINES_MAX: usize = 8;
    let mut exit = CommandExit::Unknown;
    let mut end = 0;
    for line in response.split_inclusive('\n').take(HEAD_LINES_MAX) {
        end += line.len();
        let line = line.trim_end();
        if line == "Output:" && exit != CommandExit::Unknown {
            return (exit, Cow::Owned(response[end..].to_string()));
        }
        let code = line.strip_prefix("Exit code: ").or(line.strip_prefix("Process exited with code "));
        if let Some(code) = code.and_then(|code| code.parse().ok()) {
            exit = CommandExit::Code(code);
        }
    }
    (CommandExit::Unknown, response)
}

/// `{"answers":{"ID":{"answers":["…"]}}}`, one entry per question id.
fn answers<'a>(used: &mut Use<'a>, questions: List<Object<UserQuestion<'a>>>, response: &str) {
    let parsed: serde_json::Value = serde_json::from_slice(response.as_bytes()).unwrap_or_default();
    let answered = questions.0.into_iter().filter_map(|Object(question)| {
        let given = parsed["answers"][&*question.id.0?]["answers"].as_array()?;
        let given: Vec<&str> = given.iter().filter_map(|answer| answer.as_str()).collect();
        Some((question.question.0?, Cow::Owned(given.join(", "))))
    });
    tool::answers(used, answered);
}

#[cfg(test)]
mod tests {
    use cerberus_record::clean::BUILT_IN;
    use serde_json::{Value, json};

    use super::*;
    use crate::claude_code;

    /// A payload with the base fields that the client always sends.
    fn payload(name: &str, extra: Value) -> Vec<u8> {
        let mut value = json!({
            "session_id": "01a2-7c", "transcript_path": "/home/ann/.codex/sessions/2026/01/22/rollout-2026-01a2.jsonl",
            "cwd": "/home/ann/hydra", "hook_event_name": name, "model": "m", "permission_mode": "default",
        });
        value.as_object_mut().unwrap().extend(extra.as_object().unwrap().clone());
        value.to_string().into_bytes()
    }

    fn event_of(name: &str, extra: Value) -> Value {
        let bytes = payload(name, extra);
        parse(&BUILT_IN, &bytes)
            .unwrap()
            .map_or(Value::Null, |hook_event| serde_json::to_value(hook_event.event).unwrap())
    }

    #[test]
    fn every_captured_event_is_reduced() {
        let transcript = "/home/ann/.codex/sessions/2026/01/22/rollout-2026-01a2.jsonl";
        for (name, extra, expected) in [
            (
                "SessionStart",
                json!({"source": "compact"}),
                json!({"start": {"source": "compact", "transcript": transcript}}),
            ),
            (
                "SessionStart",
                json!({"source": "startup", "transcript_path": null}),
                json!({"start": {"source": "startup"}}),
            ),
            ("UserPromptSubmit", json!({"turn_id": "t", "prompt": "go on"}), json!({"prompt": {"text": "go on"}})),
            ("UserPromptSubmit", json!({"turn_id": "t", "agent_id": "a", "prompt": "sub job"}), Value::Null),
            ("Stop", json!({"turn_id": "t", "last_assistant_message": "Done."}), json!({"stop": {"message": "Done."}})),
            (
                "SubagentStop",
                json!({"agent_id": "a", "agent_type": "default", "last_assistant_message": "found it"}),
                json!({"subagent_stop": {"message": "found it"}}),
            ),
            ("PreCompact", json!({"trigger": "manual"}), json!({"compact": {"stage": "before"}})),
            ("PostCompact", json!({"trigger": "manual"}), json!({"compact": {"stage": "after"}})),
            ("SessionEnd", json!({"reason": "other"}), json!({"end": {"reason": "other"}})),
            ("SubagentStart", json!({"agent_id": "a"}), Value::Null),
            ("PreToolUse", json!({"tool_name": "Bash", "tool_input": {"command": "ls"}}), Value::Null),
            ("PermissionRequest", json!({"tool_name": "Bash"}), Value::Null),
            ("Interrupt", json!({"turn_id": "t"}), Value::Null),
        ] {
            assert_eq!(event_of(name, extra.clone()), expected, "{name} {extra}");
        }
    }

    #[test]
    fn every_tool_use_is_reduced() {
        let patch = "*** Begin Patch\n*** Update File: src/a.rs\n@@ fn open() {\n-  x\n+  y\n*** Add File: b.md\n+B\n\
            *** End Patch";
        let files =
            json!([{"path": "src/a.rs", "how": "edited", "lines": [[0, 0]]}, {"path": "b.md", "how": "edited"}]);
        for (name, input, response, expected) in [
            ("Bash", json!({"command": "ls"}), json!("a.rs\n"), json!({"command": "ls", "outcome": "unknown"})),
            (
                "Bash",
                json!({"command": "cargo test"}),
                json!("test result: ok. 2 passed; 0 failed;\n"),
                json!({"command": "cargo test", "outcome": "unknown", "output": "test result: ok. 2 passed; 0 failed;\n"}),
            ),
            (
                "Bash",
                json!({"command": "make check"}),
                json!("Exit code: 2\nWall time: 1 seconds\nOutput:\nbad\n"),
                json!({"command": "make check", "outcome": "failed", "error": "Exit code 2\nbad\n"}),
            ),
            (
                "Bash",
                json!({"command": "make check"}),
                json!("Chunk ID: 1\nWall time: 1 seconds\nProcess exited with code 0\nOutput:\nall good\n"),
                json!({"command": "make check", "output": "all good\n"}),
            ),
            (
                "Bash",
                json!({"command": "cat log"}),
                json!("Exit code: 3\nnothing more"),
                json!({"command": "cat log", "outcome": "unknown"}),
            ),
            (
                "apply_patch",
                json!({"command": patch}),
                json!(
                    "Exit code: 0\nWall time: 0 seconds\nOutput:\nSuccess. Updated the following files:\nM src/a.rs\n"
                ),
                json!({"files": files, "names": ["open"]}),
            ),
            (
                "apply_patch",
                json!({"command": patch}),
                json!("Exit code: 1\nOutput:\nno such context\n"),
                json!({"outcome": "failed", "error": "no such context"}),
            ),
            (
                "update_plan",
                json!({"plan": [{"step": "Parse", "status": "completed"}, {"step": "Test", "status": "in_progress"}]}),
                json!("Plan updated"),
                json!({"todos": [{"subject": "Parse", "state": "done"}, {"subject": "Test", "state": "open"}]}),
            ),
            (
                "request_user_input",
                json!({"questions": [{"id": "db", "question": "Which store?"}, {"id": "x", "question": "And?"}]}),
                json!("{\"answers\":{\"db\":{\"answers\":[\"SQLite\"]}}}"),
                json!({"answers": [["Which store?", "SQLite"]]}),
            ),
            ("spawn_agent", json!({"message": "look"}), json!("{\"agent_id\":\"a\"}"), json!({})),
            ("mcp__x__y", json!("odd"), json!([1]), json!({})),
        ] {
            let mut expected = expected;
            expected["tool"] = json!(name);
            let extra = json!({"tool_name": name, "tool_use_id": "c1", "tool_input": input, "tool_response": response});
            assert_eq!(event_of("PostToolUse", extra)["tool"], expected, "{name} {input} {response}");
        }
    }

    #[test]
    fn a_hook_installed_for_claude_code_gives_the_same_event() {
        for (name, extra) in [
            ("SessionStart", json!({"source": "startup"})),
            ("UserPromptSubmit", json!({"turn_id": "t", "prompt": "go on", "transcript_path": null})),
            ("PostToolUse", json!({"tool_name": "Bash", "tool_use_id": "c1", "tool_input": {"command": "ls"}})),
            ("SessionEnd", json!({"reason": "other"})),
        ] {
            let bytes = payload(name, extra);
            let hook_event = parse(&BUILT_IN, &bytes).unwrap();
            assert_eq!(hook_event.as_ref().map(|hook_event| hook_event.agent), Some(AGENT));
            assert_eq!(crate::parse(&BUILT_IN, claude_code::AGENT, &bytes).unwrap(), hook_event, "{name}");
        }
    }
}
