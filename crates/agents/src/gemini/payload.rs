//! Gemini CLI's hook payloads.
//!
//! Tool uses have no id, so the key is made from the arguments and the payload, which has a timestamp in
//! milliseconds. A command's exit code appears only in the text for the model, below the output, and only if it is
//! not zero. A prompt may start with context from hooks, including ours, which is not the user's text.

use std::borrow::Cow;

use cerberus_record::clean::Cleaner;
use cerberus_record::clean::text::{Clean, Keep};
use cerberus_record::event::{CompactStage, Event, Outcome, StartSource, ToolUse};
use cerberus_record::id::{Agent, fnv1a};
use serde::Deserialize;

use crate::key::prompt_key;
use crate::loose::{Escaped, Object, Pairs, RawJson, Text};
use crate::tool::{ANSWERS_MAX, CommandExit};
use crate::transcripts::tools::{self, ToolAnswer, ToolArguments};
use crate::transcripts::use_key;
use crate::{HookEvent, PayloadError};

pub const AGENT: Agent = Agent::new("gemini");

#[derive(Default, Deserialize)]
#[serde(default, bound = "'de: 'a")]
struct GeminiPayload<'a> {
    hook_event_name: Text<'a>,
    session_id: Text<'a>,
    transcript_path: Text<'a>,
    cwd: Text<'a>,
    source: Text<'a>,
    reason: Text<'a>,
    trigger: Text<'a>,
    prompt: Text<'a>,
    prompt_response: Text<'a>,
    tool_name: Text<'a>,
    tool_input: RawJson<'a>,
    tool_response: Object<GeminiHookResponse<'a>>,
}

#[derive(Default, Deserialize)]
#[serde(default, bound = "'de: 'a")]
pub(crate) struct GeminiHookResponse<'a> {
    #[serde(rename = "llmContent")]
    pub for_model: Escaped<'a>,
    #[serde(rename = "returnDisplay")]
    pub shown: Object<ShownEdit<'a>>,
    error: Option<Object<GeminiHookFailure<'a>>>,
}

/// What the user sees of an edit.
#[derive(Default, Deserialize)]
#[serde(default, bound = "'de: 'a")]
pub(crate) struct ShownEdit<'a> {
    #[serde(rename = "fileDiff")]
    pub diff: Escaped<'a>,
}

#[derive(Default, Deserialize)]
#[serde(default, bound = "'de: 'a")]
struct GeminiHookFailure<'a> {
    message: Text<'a>,
}

/// The key of a tool use, from its arguments exactly as sent; the transcript identifies it by the same text.
pub(crate) fn key_of_arguments(cleaner: &Cleaner, arguments: &str, payload: &[u8]) -> Clean<'static> {
    use_key(cleaner, arguments, format_args!("{:016x}", fnv1a(payload)))
}

/// Parses one payload. Returns `None` for events we do not capture.
pub(crate) fn parse<'a>(cleaner: &'a Cleaner, payload: &'a [u8]) -> Result<Option<HookEvent<'a>>, PayloadError> {
    let mut fields: GeminiPayload = serde_json::from_slice(payload)?;
    let name = fields.hook_event_name.0.take().ok_or(PayloadError::Missing("hook_event_name"))?;
    let session = fields.session_id.0.take().filter(|id| !id.is_empty()).ok_or(PayloadError::Missing("session_id"))?;
    let cwd = fields.cwd.0.take().filter(|cwd| !cwd.is_empty()).ok_or(PayloadError::Missing("cwd"))?;
    let arguments = fields.tool_input;
    let Some(event) = event(cleaner, &name, fields) else {
        return Ok(None);
    };
    let key = match &event {
        Event::Prompt { text } => prompt_key(text, payload),
        Event::Tool(_) => key_of_arguments(cleaner, arguments.0, payload),
        _ => Clean::hashes("", &[fnv1a(payload)]),
    };
    let session = cleaner.clean(session, Keep::NAME);
    Ok(Some(HookEvent { agent: AGENT, session, cwd, key, event, untyped: None }))
}

fn event<'a>(cleaner: &'a Cleaner, name: &str, fields: GeminiPayload<'a>) -> Option<Event<'a>> {
    Some(match name {
        "SessionStart" => Event::Start {
            source: fields.source.0.and_then(|source| StartSource::from_word(&source)).unwrap_or(StartSource::Startup),
            transcript: fields.transcript_path.0.map(|path| cleaner.clean(path, Keep::NAME)),
            phase: None,
            process: None,
        },
        "BeforeAgent" => Event::Prompt { text: cleaner.clean(without_context(fields.prompt.0?), Keep::PROMPT) },
        "AfterTool" => {
            Event::Tool(tool_use(cleaner, &fields.tool_name.0?, fields.tool_input.0, fields.tool_response.0))
        }
        "AfterAgent" => {
            let message = fields.prompt_response.0.unwrap_or_default();
            Event::Stop { message: cleaner.clean(without_repeated_end(&message), Keep::MESSAGE) }
        }
        // The automatic one is sent before every model call, even if nothing is compressed.
        "PreCompress" if fields.trigger.0.as_deref() == Some("manual") => {
            Event::Compact { stage: CompactStage::Before, summary: None }
        }
        "SessionEnd" => Event::End { reason: cleaner.clean(fields.reason.0.unwrap_or_default(), Keep::SUBJECT) },
        _ => return None,
    })
}

/// A streamed answer arrives complete, followed by all of its chunks except the first, separated by spaces.
fn without_repeated_end(answer: &str) -> String {
    let chars: Vec<(usize, char)> = answer.char_indices().filter(|(_, c)| !c.is_whitespace()).collect();
    let same = |(one, two): (&(usize, char), &(usize, char))| one.1 == two.1;
    let repeats = |length: &usize| {
        let (before, end) = chars.split_at(chars.len() - length);
        let starts_after_a_space = answer[..end[0].0].ends_with(' ');
        starts_after_a_space && before[before.len() - length..].iter().zip(end).all(same)
    };
    // The first chunk is not repeated, so the repetition is shorter than the answer.
    let longest = (1..chars.len().div_ceil(2)).rev().find(repeats);
    let kept = longest.map_or(answer.len(), |length| chars[chars.len() - length].0);
    answer[..kept].trim_end().to_string()
}

/// The user's text: the prompt without the hook contexts before and after it.
pub(crate) fn without_context(prompt: Cow<'_, str>) -> Cow<'_, str> {
    let mut rest = &*prompt;
    while let Some((_, after)) = rest.strip_prefix("<hook_context>").and_then(|it| it.split_once("</hook_context>")) {
        rest = after.trim_start();
    }
    let start = prompt.len() - rest.len();
    if let Some((before, _)) =
        rest.trim_end().strip_suffix("</hook_context>").and_then(|it| it.rsplit_once("\n<hook_context>"))
    {
        rest = before.trim_end();
    }
    let kept = start..start + rest.len();
    match prompt {
        Cow::Borrowed(prompt) => Cow::Borrowed(&prompt[kept]),
        Cow::Owned(prompt) => Cow::Owned(prompt[kept].to_string()),
    }
}

fn tool_use(cleaner: &Cleaner, name: &str, arguments: &str, response: GeminiHookResponse) -> ToolUse<'static> {
    let answer = match (name, response.error) {
        ("run_shell_command", _) => {
            let (exit, output) = ending(&response.for_model.unescaped());
            ToolAnswer::exit(exit, Cow::Owned(output))
        }
        (_, Some(Object(failure))) => ToolAnswer::ended(Outcome::Failed, failure.message.0.unwrap_or_default()),
        ("ask_user", None) => ToolAnswer { chosen: chosen(&response.for_model.unescaped()), ..ToolAnswer::default() },
        _ => ToolAnswer { diff: response.shown.0.diff, ..ToolAnswer::default() },
    };
    tools::tool_use(cleaner, name, &ToolArguments::read(arguments), &answer)
}

/// Exit code and output of a command: `Output: …`, then labelled lines, some of which may be missing.
fn ending(for_model: &str) -> (CommandExit, String) {
    let text = for_model.trim().trim_start_matches("<untrusted_context>").trim_end_matches("</untrusted_context>");
    let Some(text) = text.trim().strip_prefix("Output: ") else {
        let is_cancelled = text.trim().starts_with("Command was") && text.contains("cancelled");
        return (if is_cancelled { CommandExit::Interrupted } else { CommandExit::Unknown }, text.trim().to_string());
    };
    let mut exit = CommandExit::Code(0);
    let mut output = text;
    while let Some((before, last)) = output.rsplit_once('\n') {
        match last.split_once(": ") {
            Some(("Exit Code", code)) => exit = code.parse().map_or(CommandExit::Unknown, CommandExit::Code),
            Some(("Signal", _)) => exit = CommandExit::Interrupted,
            Some(("Process Group PGID" | "Background PIDs", _)) => {}
            _ => break,
        }
        output = before;
    }
    (exit, if output == "(empty)" { String::new() } else { output.to_string() })
}

/// The answers to the questions in their order, from `{"answers": {"0": "…"}}`; empty where there is none.
fn chosen(for_model: &str) -> Vec<Cow<'static, str>> {
    #[derive(Default, Deserialize)]
    #[serde(default, bound = "'de: 'b")]
    struct Given<'b> {
        answers: Pairs<'b>,
    }
    let Object(given) = serde_json::from_slice::<Object<Given>>(for_model.as_bytes()).unwrap_or_default();
    let answer = |number: usize| {
        let number = number.to_string();
        given
            .answers
            .0
            .iter()
            .find(|(key, _)| **key == number)
            .map_or_else(String::new, |(_, answer)| answer.to_string())
    };
    (0..ANSWERS_MAX).map(|number| Cow::Owned(answer(number))).collect()
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
            "session_id": "gem-1", "transcript_path": "/home/ann/.gemini/tmp/hydra/chats/session-gem-1.jsonl",
            "cwd": "/home/ann/hydra", "hook_event_name": name, "timestamp": "2026-01-22T13:35:14.120Z",
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
        let transcript = "/home/ann/.gemini/tmp/hydra/chats/session-gem-1.jsonl";
        for (name, extra, expected) in [
            (
                "SessionStart",
                json!({"source": "clear"}),
                json!({"start": {"source": "clear", "transcript": transcript}}),
            ),
            ("BeforeAgent", json!({"prompt": "go on"}), json!({"prompt": {"text": "go on"}})),
            (
                "BeforeAgent",
                json!({"prompt": "<hook_context>proj:x\nnext:y</hook_context>\n<hook_context>z</hook_context>\n\ngo on"}),
                json!({"prompt": {"text": "go on"}}),
            ),
            (
                "BeforeAgent",
                json!({"prompt": "go\non\n<hook_context>proj:x\nnext:y</hook_context>"}),
                json!({"prompt": {"text": "go\non"}}),
            ),
            ("BeforeAgent", json!({"prompt": "<hook_context>go"}), json!({"prompt": {"text": "<hook_context>go"}})),
            (
                "AfterAgent",
                json!({"prompt": "go on", "prompt_response": "Done."}),
                json!({"stop": {"message": "Done."}}),
            ),
            (
                "AfterAgent",
                json!({"prompt_response": "I looked.\nNext:  add a test. d a t est."}),
                json!({"stop": {"message": "I looked.\nNext:  add a test."}}),
            ),
            ("AfterAgent", json!({"prompt_response": "Done. Done."}), json!({"stop": {"message": "Done. Done."}})),
            ("AfterAgent", json!({"prompt_response": "All pass"}), json!({"stop": {"message": "All pass"}})),
            ("PreCompress", json!({"trigger": "manual"}), json!({"compact": {"stage": "before"}})),
            ("PreCompress", json!({"trigger": "auto"}), Value::Null),
            ("SessionEnd", json!({"reason": "exit"}), json!({"end": {"reason": "exit"}})),
            ("BeforeTool", json!({"tool_name": "read_file", "tool_input": {"file_path": "a"}}), Value::Null),
            ("BeforeModel", json!({"llm_request": {"messages": []}}), Value::Null),
            ("Notification", json!({"message": "m"}), Value::Null),
        ] {
            assert_eq!(event_of(name, extra.clone()), expected, "{name} {extra}");
        }
        assert!(parse(&BUILT_IN, b"{\"hook_event_name\": \"AfterTool\"").is_err() && parse(&BUILT_IN, b"{}").is_err());
    }

    #[test]
    fn every_tool_use_is_reduced() {
        let printed = |text: &str| json!({"llmContent": format!("<untrusted_context>\n{text}\n</untrusted_context>")});
        let diff = json!({"returnDisplay": {"fileDiff": "--- a\n+++ a\n@@ -4,2 +4,2 @@\n x\n-y\n+fn z() {\n"}});
        for (name, input, response, expected) in [
            (
                "run_shell_command",
                json!({"command": "make check"}),
                printed("Output: Exit Code: 9\nbad\nExit Code: 3\nProcess Group PGID: 37"),
                json!({"command": "make check", "outcome": "failed", "error": "Exit code 3\nExit Code: 9\nbad"}),
            ),
            (
                "run_shell_command",
                json!({"command": "cargo test"}),
                printed("Output: Exit Code: 9\nok\nProcess Group PGID: 37"),
                json!({"command": "cargo test", "output": "Exit Code: 9\nok"}),
            ),
            ("run_shell_command", json!({"command": "ls"}), printed("Output: (empty)"), json!({"command": "ls"})),
            (
                "run_shell_command",
                json!({"command": "sleep 9"}),
                json!({"llmContent": "Command was cancelled by user before it could complete."}),
                json!({"command": "sleep 9", "outcome": "interrupted",
                    "error": "Command was cancelled by user before it could complete."}),
            ),
            (
                "replace",
                json!({"file_path": "/p/a.rs", "old_string": "y", "new_string": "fn z() {"}),
                diff,
                json!({"files": [{"path": "/p/a.rs", "how": "edited", "lines": [[5, 5]]}], "names": ["z"]}),
            ),
            (
                "replace",
                json!({"file_path": "/p/a.rs", "new_string": "fn z() {"}),
                json!({"returnDisplay": "done"}),
                json!({"files": [{"path": "/p/a.rs", "how": "edited", "lines": [[0, 0]]}], "names": ["z"]}),
            ),
            (
                "write_file",
                json!({"file_path": "/p/b.py", "content": "class B:\n"}),
                json!({}),
                json!({"files": [{"path": "/p/b.py", "how": "edited"}], "names": ["B"]}),
            ),
            ("read_file", json!({"file_path": "a"}), json!({}), json!({"files": [{"path": "a", "how": "read"}]})),
            (
                "read_file",
                json!({"absolute_path": "a"}),
                json!({"error": {"message": "File not found: a"}}),
                json!({"outcome": "failed", "error": "File not found: a"}),
            ),
            (
                "read_many_files",
                json!({"include": ["a.rs", "src/**/*.rs"]}),
                json!({}),
                json!({"files": [{"path": "a.rs", "how": "read"}]}),
            ),
            (
                "write_todos",
                json!({"todos": [{"description": "A", "status": "completed"}, {"description": "B", "status": "cancelled"}]}),
                json!({}),
                json!({"todos": [{"subject": "A", "state": "done"}, {"subject": "B", "state": "dropped"}]}),
            ),
            (
                "ask_user",
                json!({"questions": [{"question": "Which store?"}, {"question": "And?"}]}),
                json!({"llmContent": "{\"answers\":{\"1\":\"WAL\"}}"}),
                json!({"answers": [["And?", "WAL"]]}),
            ),
            ("glob", json!({"pattern": "*"}), json!({"llmContent": [1]}), json!({})),
            ("write_file", json!("odd"), json!("odd"), json!({})),
        ] {
            let mut expected = expected;
            expected["tool"] = json!(name);
            let extra = json!({"tool_name": name, "tool_input": input, "tool_response": response});
            assert_eq!(event_of("AfterTool", extra)["tool"], expected, "{name} {input} {response}");
        }
    }

    #[test]
    fn a_hook_installed_for_claude_code_gives_the_same_event() {
        for name in ["SessionStart", "BeforeAgent", "AfterTool", "SessionEnd"] {
            let bytes = payload(name, json!({"prompt": "go on", "tool_name": "glob", "source": "clear"}));
            let hook_event = parse(&BUILT_IN, &bytes).unwrap();
            assert_eq!(hook_event.as_ref().map(|hook_event| hook_event.agent), Some(AGENT));
            assert_eq!(crate::parse(&BUILT_IN, claude_code::AGENT, &bytes).unwrap(), hook_event, "{name}");
        }
    }

    #[test]
    fn without_an_id_the_payload_is_the_key() {
        let key = |timestamp: &str| {
            let extra = json!({"timestamp": timestamp, "tool_name": "glob", "tool_input": {}});
            parse(&BUILT_IN, &payload("AfterTool", extra)).unwrap().unwrap().key.to_string()
        };
        assert_eq!(key("2026-01-22T13:35:14.120Z"), key("2026-01-22T13:35:14.120Z"));
        assert_ne!(key("2026-01-22T13:35:14.120Z"), key("2026-01-22T13:35:14.121Z"));
    }
}
