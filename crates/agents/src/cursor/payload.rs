//! Cursor's hook payloads: its own, and those it sends to hooks installed for Claude Code.
//!
//! Unverified: written from the documentation, never checked with the real client, so every field has a fallback.
//! Only the general tool event is read; the specific ones (`afterFileEdit`, `afterShellExecution`) report the same
//! uses again, without ids.

use std::borrow::Cow;

use cerberus_record::clean::Cleaner;
use cerberus_record::clean::text::{Clean, Keep};
use cerberus_record::event::{CompactStage, Event, Outcome, StartSource, ToolUse};
use cerberus_record::id::{Agent, fnv1a};
use serde::Deserialize;

use crate::key::prompt_key;
use crate::loose::{Escaped, Flag, List, Object, RawJson, Text};
use crate::tool::CommandExit;
use crate::transcripts::tools::{self, ToolAnswer, ToolArguments};
use crate::{HookEvent, PayloadError};

pub const AGENT: Agent = Agent::new("cursor");

#[derive(Default, Deserialize)]
#[serde(default, bound = "'de: 'a")]
struct CursorPayload<'a> {
    hook_event_name: Text<'a>,
    conversation_id: Text<'a>,
    session_id: Text<'a>,
    /// Changes with every prompt.
    generation_id: Text<'a>,
    workspace_roots: List<Text<'a>>,
    cwd: Text<'a>,
    source: Text<'a>,
    prompt: Text<'a>,
    tool_name: Text<'a>,
    tool_use_id: Text<'a>,
    tool_input: RawJson<'a>,
    /// JSON in a string.
    tool_output: Escaped<'a>,
    error_message: Text<'a>,
    is_interrupt: Flag,
    /// The agent's text.
    text: Text<'a>,
    summary: Text<'a>,
    reason: Text<'a>,
}

#[derive(Default, Deserialize)]
#[serde(default, rename_all = "camelCase", bound = "'de: 'a")]
struct CursorHookPrinted<'a> {
    exit_code: Text<'a>,
    stdout: Text<'a>,
    output: Text<'a>,
    stderr: Text<'a>,
}

/// Parses one payload. Returns `None` for events we do not capture.
pub(crate) fn parse<'a>(cleaner: &'a Cleaner, payload: &'a [u8]) -> Result<Option<HookEvent<'a>>, PayloadError> {
    let mut fields: CursorPayload = serde_json::from_slice(payload)?;
    let name = fields.hook_event_name.0.take().ok_or(PayloadError::Missing("hook_event_name"))?;
    let session = fields.conversation_id.0.take().or(fields.session_id.0.take()).filter(|id| !id.is_empty());
    let session = session.ok_or(PayloadError::Missing("conversation_id"))?;
    let root = std::mem::take(&mut fields.workspace_roots).0.into_iter().find_map(|root| root.0);
    let cwd =
        fields.cwd.0.take().filter(|cwd| !cwd.is_empty()).or(root).ok_or(PayloadError::Missing("workspace_roots"))?;
    let (turn, tool_use_id) = (fields.generation_id.0.take().unwrap_or_default(), fields.tool_use_id.0.take());
    let Some(event) = event(cleaner, &name, fields) else { return Ok(None) };
    // A hook installed for another host receives the event under another name; the turn is the same in both.
    let key = match (&event, tool_use_id) {
        (Event::Tool(_), Some(id)) => cleaner.clean(id, Keep::NAME),
        (Event::Tool(_), None) => Clean::hashes("", &[fnv1a(payload)]),
        (Event::Prompt { text }, _) => prompt_key(text, turn.as_bytes()),
        (Event::Stop { message } | Event::SubagentStop { message }, _) => {
            cleaner.clean(format!("stop-{turn}-{:016x}", fnv1a(message.as_bytes())), Keep::NAME)
        }
        (Event::Compact { .. }, _) => cleaner.clean(format!("compact-{turn}"), Keep::NAME),
        (Event::Start { .. }, _) => Clean::word("start"),
        _ => Clean::word("end"),
    };
    let session = cleaner.clean(session, Keep::NAME);
    Ok(Some(HookEvent { agent: AGENT, session, cwd, key, event, untyped: None }))
}

fn event<'a>(cleaner: &'a Cleaner, name: &str, fields: CursorPayload<'a>) -> Option<Event<'a>> {
    let message = |text: Text<'a>| cleaner.clean(text.0.unwrap_or_default(), Keep::MESSAGE);
    Some(match name {
        "sessionStart" | "SessionStart" => Event::Start {
            source: fields.source.0.and_then(|source| StartSource::from_word(&source)).unwrap_or(StartSource::Startup),
            transcript: None,
            phase: None,
            process: None,
        },
        "beforeSubmitPrompt" | "UserPromptSubmit" => {
            Event::Prompt { text: cleaner.clean(fields.prompt.0?, Keep::PROMPT) }
        }
        "postToolUse" | "PostToolUse" => Event::Tool(tool_use(cleaner, fields)?),
        "postToolUseFailure" | "PostToolUseFailure" => {
            let outcome = if fields.is_interrupt.0 { Outcome::Interrupted } else { Outcome::Failed };
            let answer = ToolAnswer::ended(outcome, fields.error_message.0.unwrap_or_default());
            let arguments = ToolArguments::read(fields.tool_input.0);
            Event::Tool(tools::tool_use(cleaner, &fields.tool_name.0?, &arguments, &answer))
        }
        "afterAgentResponse" => Event::Stop { message: message(fields.text) },
        "stop" | "Stop" => Event::Stop { message: Clean::default() },
        "subagentStop" | "SubagentStop" => Event::SubagentStop { message: message(fields.summary) },
        "preCompact" | "PreCompact" => Event::Compact { stage: CompactStage::Before, summary: None },
        "sessionEnd" | "SessionEnd" => {
            Event::End { reason: cleaner.clean(fields.reason.0.unwrap_or_default(), Keep::SUBJECT) }
        }
        _ => return None,
    })
}

fn tool_use(cleaner: &Cleaner, fields: CursorPayload) -> Option<ToolUse<'static>> {
    let name = fields.tool_name.0?;
    let answer = match &*name {
        "Shell" | "Bash" => {
            let (exit, output) = ending(&fields.tool_output.unescaped());
            ToolAnswer::exit(exit, Cow::Owned(output))
        }
        _ => ToolAnswer::default(),
    };
    Some(tools::tool_use(cleaner, &name, &ToolArguments::read(fields.tool_input.0), &answer))
}

/// Exit code and output of a command. Anything that is not JSON is all output.
fn ending(tool_output: &str) -> (CommandExit, String) {
    let Ok(Object(printed)) = serde_json::from_slice::<Object<CursorHookPrinted>>(tool_output.as_bytes()) else {
        return (CommandExit::Unknown, tool_output.to_string());
    };
    let exit = printed.exit_code.0.and_then(|code| code.parse().ok()).map_or(CommandExit::Unknown, CommandExit::Code);
    let texts = [printed.stdout, printed.output, printed.stderr];
    let texts: Vec<Cow<str>> = texts.into_iter().filter_map(|text| text.0).filter(|text| !text.is_empty()).collect();
    (exit, texts.join("\n"))
}

#[cfg(test)]
mod tests {
    use cerberus_record::clean::BUILT_IN;
    use serde_json::{Value, json};

    use super::*;
    use crate::claude_code;

    /// A payload with the base fields that the documentation describes.
    fn payload(name: &str, extra: Value) -> Vec<u8> {
        let mut value = json!({
            "conversation_id": "c-77", "generation_id": "g-1", "model": "m", "hook_event_name": name,
            "cursor_version": "2.4.1", "workspace_roots": ["/home/ann/hydra"], "user_email": null,
        });
        value.as_object_mut().unwrap().extend(extra.as_object().unwrap().clone());
        value.to_string().into_bytes()
    }

    #[test]
    fn every_event_is_the_same_from_both_hooks() {
        let shell = |output: &str| {
            json!({"tool_name": "Shell", "tool_use_id": "t1", "cwd": "/home/ann/hydra",
                "tool_input": {"command": "npm test"}, "tool_output": output})
        };
        let used = |extra: Value| {
            let mut used = json!({"tool": "Shell", "command": "npm test"});
            used.as_object_mut().unwrap().extend(extra.as_object().unwrap().clone());
            json!({"tool": used})
        };
        for (own, borrowed, extra, expected) in [
            ("sessionStart", "SessionStart", json!({"session_id": "c-77"}), json!({"start": {"source": "startup"}})),
            (
                "beforeSubmitPrompt",
                "UserPromptSubmit",
                json!({"prompt": "go on"}),
                json!({"prompt": {"text": "go on"}}),
            ),
            (
                "postToolUse",
                "PostToolUse",
                shell("{\"exitCode\":1,\"stdout\":\"1 failing\"}"),
                used(json!({"outcome": "failed", "error": "Exit code 1\n1 failing"})),
            ),
            (
                "postToolUse",
                "PostToolUse",
                shell("{\"exitCode\":0,\"stdout\":\"ok\",\"stderr\":\"warned\"}"),
                used(json!({"output": "ok\nwarned"})),
            ),
            (
                "postToolUse",
                "PostToolUse",
                shell("just text"),
                used(json!({"outcome": "unknown", "output": "just text"})),
            ),
            (
                "postToolUseFailure",
                "PostToolUseFailure",
                json!({"tool_name": "Shell", "tool_use_id": "t1", "tool_input": {"command": "npm test"},
                    "error_message": "timed out", "is_interrupt": true}),
                used(json!({"outcome": "interrupted", "error": "timed out"})),
            ),
            (
                "postToolUse",
                "PostToolUse",
                json!({"tool_name": "Write", "tool_use_id": "t2",
                    "tool_input": {"file_path": "/home/ann/hydra/a.py", "content": "def a():\n"}}),
                json!({"tool": {"tool": "Write", "names": ["a"],
                    "files": [{"path": "/home/ann/hydra/a.py", "how": "edited"}]}}),
            ),
            (
                "postToolUse",
                "PostToolUse",
                json!({"tool_name": "StrReplace", "tool_use_id": "t3", "tool_input": {"path": "a.py", "new_string": "x"}}),
                json!({"tool": {"tool": "StrReplace", "files": [{"path": "a.py", "how": "edited", "lines": [[0, 0]]}]}}),
            ),
            (
                "postToolUse",
                "PostToolUse",
                json!({"tool_name": "Read", "tool_use_id": "t4", "tool_input": {"target_file": "a.py"}}),
                json!({"tool": {"tool": "Read", "files": [{"path": "a.py", "how": "read"}]}}),
            ),
            ("stop", "Stop", json!({"status": "completed", "loop_count": 0}), json!({"stop": {"message": ""}})),
            ("preCompact", "PreCompact", json!({"trigger": "auto"}), json!({"compact": {"stage": "before"}})),
            ("sessionEnd", "SessionEnd", json!({"reason": "completed"}), json!({"end": {"reason": "completed"}})),
            ("afterFileEdit", "Other", json!({"file_path": "a.py", "edits": []}), Value::Null),
        ] {
            let (first, second) = (payload(own, extra.clone()), payload(borrowed, extra));
            let (first, second) =
                (parse(&BUILT_IN, &first).unwrap(), crate::parse(&BUILT_IN, claude_code::AGENT, &second).unwrap());
            assert_eq!(first, second, "{own}");
            let event = first.map_or(Value::Null, |hook_event| {
                assert_eq!(
                    (hook_event.agent, &*hook_event.session, &*hook_event.cwd),
                    (AGENT, "c-77", "/home/ann/hydra")
                );
                serde_json::to_value(hook_event.event).unwrap()
            });
            assert_eq!(event, expected, "{own}");
        }
    }

    #[test]
    fn turns_tell_events_apart() {
        let key = |turn: &str| {
            let bytes = payload("beforeSubmitPrompt", json!({"generation_id": turn, "prompt": "go on"}));
            parse(&BUILT_IN, &bytes).unwrap().unwrap().key.to_string()
        };
        assert_eq!(key("g-1"), key("g-1"));
        assert_ne!(key("g-1"), key("g-2"));
        let words = payload("afterAgentResponse", json!({"text": "Done."}));
        let Some(HookEvent { event: Event::Stop { message }, .. }) = parse(&BUILT_IN, &words).unwrap() else {
            panic!()
        };
        assert_eq!(&*message, "Done.");
        assert!(parse(&BUILT_IN, b"{").is_err() && parse(&BUILT_IN, b"{}").is_err());
    }
}
