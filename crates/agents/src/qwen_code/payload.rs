//! Qwen Code's hook payloads: Claude Code's protocol with the tools of Gemini CLI, from which it was forked.
//!
//! The hooks name a tool use differently from the transcript, so the key is made from the arguments. After every round
//! of tools it submits an empty prompt, which is not the user's. A failing command is a result in older versions and a
//! failure in newer ones; both carry the same text.

use std::borrow::Cow;

use cerberus_record::clean::Cleaner;
use cerberus_record::event::{Event, Outcome, ToolUse};
use cerberus_record::id::Agent;

use crate::claude_code::payload::{ClaudePayload, hook_event};
use crate::claude_code::tool::ClaudeHookCall;
use crate::gemini::payload::{GeminiHookResponse, key_of_arguments};
use crate::loose::{Object, RawJson};
use crate::tool::CommandExit;
use crate::transcripts::tools::{self, ToolAnswer, ToolArguments};
use crate::{HookEvent, PayloadError};

pub const AGENT: Agent = Agent::new("qwen-code");

/// Parses one payload. Returns `None` for events we do not capture.
pub(crate) fn parse<'a>(cleaner: &'a Cleaner, payload: &'a [u8]) -> Result<Option<HookEvent<'a>>, PayloadError> {
    let fields: ClaudePayload<RawJson, Object<GeminiHookResponse>> = serde_json::from_slice(payload)?;
    let mut arguments = "";
    let tool_use = |cleaner, call: ClaudeHookCall<'a, RawJson<'a>, _>| {
        arguments = call.input.0;
        tool_use(cleaner, call)
    };
    let mut hook_event = hook_event(cleaner, AGENT, payload, fields, tool_use)?;
    if let Some(HookEvent { key, event: Event::Tool(_), .. }) = &mut hook_event {
        *key = key_of_arguments(cleaner, arguments, payload);
    }
    Ok(hook_event)
}

fn tool_use(cleaner: &Cleaner, call: ClaudeHookCall<RawJson, Object<GeminiHookResponse>>) -> ToolUse<'static> {
    let ClaudeHookCall { tool, input, response: Object(response), error, outcome } = call;
    let answer = match (&*tool, outcome) {
        ("run_shell_command", _) => {
            let (exit, output) = ending(&error.unwrap_or_else(|| response.for_model.unescaped()));
            let exit = if outcome == Outcome::Interrupted { CommandExit::Interrupted } else { exit };
            ToolAnswer::exit(exit, Cow::Owned(output))
        }
        (_, Outcome::Done) => ToolAnswer { diff: response.shown.0.diff, ..ToolAnswer::default() },
        _ => ToolAnswer::ended(outcome, error.unwrap_or_default()),
    };
    tools::tool_use(cleaner, &tool, &ToolArguments::read(input.0), &answer)
}

/// Exit code and output of a command: labelled lines around `Output: …`.
pub(super) fn ending(for_model: &str) -> (CommandExit, String) {
    let Some((_, text)) = for_model.split_once("\nOutput: ") else {
        let is_cancelled = for_model.starts_with("Command was cancelled");
        return (if is_cancelled { CommandExit::Interrupted } else { CommandExit::Unknown }, for_model.to_string());
    };
    let mut exit = CommandExit::Unknown;
    let mut output = text;
    while let Some((before, last)) = output.rsplit_once('\n') {
        match last.split_once(": ") {
            Some(("Exit Code", code)) if exit == CommandExit::Unknown => {
                exit = code.parse().map_or(exit, CommandExit::Code)
            }
            // A command that was not stopped by a signal has none, or 0.
            Some(("Signal", "(none)" | "0")) => {}
            Some(("Signal", _)) => exit = CommandExit::Interrupted,
            Some(("Exit Code" | "Process Group PGID" | "Background PIDs", _)) => {}
            Some(("Error", _)) => {
                output = before;
                break;
            }
            _ => break,
        }
        output = before;
    }
    (exit, if output == "(empty)" { String::new() } else { output.to_string() })
}

#[cfg(test)]
mod tests {
    use cerberus_record::clean::BUILT_IN;
    use serde_json::{Value, json};

    use super::*;
    use crate::claude_code;
    use crate::transcripts::use_key;

    const TRANSCRIPT: &str = "/home/ann/.qwen/projects/-home-ann-hydra/chats/3df6.jsonl";

    /// A payload with the base fields that the client always sends.
    fn payload(name: &str, extra: Value) -> Vec<u8> {
        let mut value = json!({
            "session_id": "3df6", "transcript_path": TRANSCRIPT, "cwd": "/home/ann/hydra", "hook_event_name": name,
            "timestamp": "2026-01-22T13:35:14.120Z",
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
        for (name, extra, expected) in [
            (
                "SessionStart",
                json!({"source": "resume", "model": "m"}),
                json!({"start": {"source": "resume", "transcript": TRANSCRIPT}}),
            ),
            ("UserPromptSubmit", json!({"prompt": "go on"}), json!({"prompt": {"text": "go on"}})),
            ("UserPromptSubmit", json!({"prompt": ""}), Value::Null),
            ("Stop", json!({"last_assistant_message": "Done."}), json!({"stop": {"message": "Done."}})),
            ("PreCompact", json!({"trigger": "manual"}), json!({"compact": {"stage": "before"}})),
            ("PostCompact", json!({"compact_summary": "s"}), json!({"compact": {"stage": "after", "summary": "s"}})),
            ("SessionEnd", json!({"reason": "prompt_input_exit"}), json!({"end": {"reason": "prompt_input_exit"}})),
            ("PreToolUse", json!({"tool_name": "read_file"}), Value::Null),
            ("PostToolBatch", json!({"tool_calls": []}), Value::Null),
            ("MessageDisplay", json!({"displayed_text": "x"}), Value::Null),
        ] {
            assert_eq!(event_of(name, extra.clone()), expected, "{name} {extra}");
        }
    }

    #[test]
    fn every_tool_use_is_reduced() {
        let printed = |output: &str, code: u8, signal: &str| {
            format!(
                "Command: make\nDirectory: (root)\nOutput: {output}\nError: (none)\nExit Code: {code}\nSignal: {signal}\n\
                 Process Group PGID: 37"
            )
        };
        let answer = |text: String| json!({"tool_response": {"llmContent": text}});
        let diff = json!({"tool_response": {"returnDisplay": {"fileDiff": "@@ -4,2 +4,2 @@\n x\n-y\n+fn z() {\n"}}});
        let (make, test) = (json!({"command": "make check"}), json!({"command": "cargo test"}));
        for (event, name, input, extra, expected) in [
            (
                "PostToolUse",
                "run_shell_command",
                &make,
                answer(printed("Exit Code: 9\nbad", 3, "0")),
                json!({"command": "make check", "outcome": "failed", "error": "Exit code 3\nExit Code: 9\nbad"}),
            ),
            (
                "PostToolUseFailure",
                "run_shell_command",
                &make,
                json!({"error": printed("bad", 3, "(none)"), "is_interrupt": false}),
                json!({"command": "make check", "outcome": "failed", "error": "Exit code 3\nbad"}),
            ),
            (
                "PostToolUse",
                "run_shell_command",
                &test,
                answer(printed("ok", 0, "(none)")),
                json!({"command": "cargo test", "output": "ok"}),
            ),
            (
                "PostToolUse",
                "run_shell_command",
                &test,
                answer(printed("(empty)", 0, "0")),
                json!({"command": "cargo test"}),
            ),
            (
                "PostToolUse",
                "run_shell_command",
                &test,
                answer(printed("half", 0, "15")),
                json!({"command": "cargo test", "outcome": "interrupted", "error": "half"}),
            ),
            (
                "PostToolUse",
                "edit",
                &json!({"file_path": "/p/a.rs", "old_string": "y", "new_string": "fn z() {"}),
                diff,
                json!({"files": [{"path": "/p/a.rs", "how": "edited", "lines": [[5, 5]]}], "names": ["z"]}),
            ),
            (
                "PostToolUse",
                "write_file",
                &json!({"file_path": "/p/b.py", "content": "class B:\n"}),
                json!({}),
                json!({"files": [{"path": "/p/b.py", "how": "edited"}], "names": ["B"]}),
            ),
            (
                "PostToolUse",
                "read_file",
                &json!({"file_path": "a"}),
                json!({"tool_response": {"llmContent": "text"}}),
                json!({"files": [{"path": "a", "how": "read"}]}),
            ),
            (
                "PostToolUseFailure",
                "read_file",
                &json!({"file_path": "a"}),
                json!({"error": "File not found: a"}),
                json!({"outcome": "failed", "error": "File not found: a"}),
            ),
            (
                "PostToolUse",
                "todo_write",
                &json!({"todos": [{"id": "1", "content": "A", "status": "completed"}, {"content": "B"}]}),
                json!({}),
                json!({"todos": [{"subject": "A", "state": "done"}, {"subject": "B", "state": "open"}]}),
            ),
            ("PostToolUse", "glob", &json!({"pattern": "*"}), answer(String::new()), json!({})),
            ("PostToolUse", "edit", &json!("odd"), json!({"tool_response": "odd"}), json!({})),
        ] {
            let (mut expected, mut all) = (expected, json!({"tool_name": name, "tool_input": input}));
            expected["tool"] = json!(name);
            all.as_object_mut().unwrap().extend(extra.as_object().unwrap().clone());
            assert_eq!(event_of(event, all)["tool"], expected, "{name} {input} {extra}");
        }
    }

    #[test]
    fn a_hook_installed_for_claude_code_gives_the_same_event() {
        for name in ["SessionStart", "UserPromptSubmit", "PostToolUse", "SessionEnd"] {
            let bytes = payload(name, json!({"prompt": "go on", "tool_name": "glob", "source": "clear"}));
            let hook_event = parse(&BUILT_IN, &bytes).unwrap();
            assert_eq!(hook_event.as_ref().map(|hook_event| hook_event.agent), Some(AGENT));
            assert_eq!(crate::parse(&BUILT_IN, claude_code::AGENT, &bytes).unwrap(), hook_event, "{name}");
        }
    }

    #[test]
    fn the_key_is_made_from_the_arguments() {
        let key = |id: &str, input: Value| {
            let extra = json!({"tool_name": "edit", "tool_use_id": id, "tool_input": input});
            let bytes = payload("PostToolUse", extra);
            parse(&BUILT_IN, &bytes).unwrap().unwrap().key.to_string()
        };
        let shared = use_key(&BUILT_IN, "{\"a\":1}", "").to_string();
        assert!(key("t1", json!({"a": 1})).starts_with(&shared));
        assert_ne!(key("t1", json!({"a": 1})), key("t2", json!({"a": 1})));
    }
}
