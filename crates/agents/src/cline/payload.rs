//! What our Cline plugin sends: the messages of the plugin for opencode, with the tools of Cline.
//!
//! Cline's own hook commands cannot tell the model anything before its first tool use, so the plugin `cline.js`
//! reports instead. The two files must change together. Each command of one `run_commands` is a message of
//! its own; the id of the use is followed by its number, from the second on.

use std::borrow::Cow;
use std::fmt::Write;

use cerberus_record::clean::Cleaner;
use cerberus_record::event::{Outcome, ToolUse};
use cerberus_record::id::Agent;

use crate::loose::Escaped;
use crate::opencode::payload::parse_message;
use crate::transcripts::tools::{self, ToolAnswer, ToolArguments};
use crate::{HookEvent, PayloadError};

pub const AGENT: Agent = Agent::new("cline");

/// Parses one message. Returns `None` for events we do not capture.
pub(crate) fn parse<'a>(cleaner: &'a Cleaner, payload: &'a [u8]) -> Result<Option<HookEvent<'a>>, PayloadError> {
    parse_message(cleaner, AGENT, payload, |cleaner, fields| {
        let result = fields.output.0.unwrap_or_default();
        Some(tool_use(cleaner, &fields.tool.0?, fields.args.0, &result, fields.error.0.as_deref()))
    })
}

/// What is kept of a tool use with this result. A failed one has an error.
pub(super) fn tool_use(
    cleaner: &Cleaner,
    tool: &str,
    input: &str,
    result: &str,
    error: Option<&str>,
) -> ToolUse<'static> {
    let mut arguments = ToolArguments::read(input);
    let diff = if tool == "editor" { tools::escaped(&unified(result)) } else { String::new() };
    let answer = match (tool, error) {
        ("run_commands", _) => ending(result, error),
        (_, Some(error)) => ToolAnswer::ended(Outcome::Failed, Cow::Borrowed(error)),
        ("editor", None) => {
            if result.starts_with("File created") {
                arguments.content = Some(std::mem::take(&mut arguments.new_text));
            }
            ToolAnswer { diff: Escaped(&diff), ..ToolAnswer::default() }
        }
        ("ask_question", None) => ToolAnswer { chosen: vec![Cow::Borrowed(result)], ..ToolAnswer::default() },
        _ => ToolAnswer::default(),
    };
    tools::tool_use(cleaner, tool, &arguments, &answer)
}

/// A failing command starts with its exit code: `[Command exited with code 3]`. Without one, it was stopped.
fn ending<'a>(result: &'a str, error: Option<&'a str>) -> ToolAnswer<'a> {
    let coded = result.strip_prefix("[Command exited with code ").and_then(|rest| rest.split_once(']'));
    match (coded.and_then(|(code, output)| Some((code.parse().ok()?, output))), error) {
        (Some((code, output)), _) => ToolAnswer::exited(code, Cow::Borrowed(output.trim_start_matches('\n'))),
        (None, Some(error)) => ToolAnswer::ended(Outcome::Interrupted, Cow::Borrowed(error)),
        (None, None) => ToolAnswer::exited(0, Cow::Borrowed(result)),
    }
}

/// The editor shows a change as `-2: old` and `+2: new`, with the numbers of the lines; the same as a unified diff.
fn unified(result: &str) -> String {
    let mut diff = String::new();
    let shown = result.split_once("```diff\n").map_or("", |(_, shown)| shown);
    for line in shown.lines().take_while(|line| *line != "```") {
        let Some((number, text)) = line.get(1..).and_then(|rest| rest.split_once(": ")) else { continue };
        if let (Some(sign @ ('+' | '-')), Ok(number)) = (line.chars().next(), number.parse::<u32>()) {
            // Writing to a string never fails.
            let _ = write!(diff, "@@ -{number} +{number} @@\n{sign}{text}\n");
        }
    }
    diff
}

/// What the user typed, without the tags that Cline puts around it; the plugin removes them too.
pub(super) fn typed(words: Cow<'_, str>) -> Cow<'_, str> {
    let inside = words.trim().strip_prefix("<user_input").and_then(|rest| rest.strip_suffix("</user_input>"));
    match inside.and_then(|inside| inside.split_once('>')) {
        Some((_, inside)) => Cow::Owned(inside.to_string()),
        None => words,
    }
}

#[cfg(test)]
mod tests {
    use cerberus_record::clean::BUILT_IN;
    use serde_json::{Value, json};

    use super::*;

    fn message(event: &str, extra: Value) -> Vec<u8> {
        let mut value = json!({"event": event, "sessionID": "17_a", "cwd": "/home/ann/hydra", "at": 1769088914120_u64});
        value.as_object_mut().unwrap().extend(extra.as_object().unwrap().clone());
        value.to_string().into_bytes()
    }

    fn event_of(event: &str, extra: Value) -> Value {
        let bytes = message(event, extra);
        let hook_event = parse(&BUILT_IN, &bytes).unwrap();
        assert!(hook_event.as_ref().is_none_or(|hook_event| hook_event.agent == AGENT));
        hook_event.map_or(Value::Null, |hook_event| serde_json::to_value(hook_event.event).unwrap())
    }

    #[test]
    fn every_captured_event_is_reduced() {
        for (event, extra, expected) in [
            ("start", json!({"source": "resume"}), json!({"start": {"source": "resume"}})),
            ("prompt", json!({"id": "m1", "text": "go on"}), json!({"prompt": {"text": "go on"}})),
            ("stop", json!({"text": "Done."}), json!({"stop": {"message": "Done."}})),
            ("subagent-stop", json!({"text": "found"}), json!({"subagent_stop": {"message": "found"}})),
            ("failure", json!({"text": "overloaded"}), json!({"stop_failure": {"error": "overloaded"}})),
            ("end", json!({"reason": "SIGTERM"}), json!({"end": {"reason": "SIGTERM"}})),
            ("other", json!({}), Value::Null),
        ] {
            assert_eq!(event_of(event, extra.clone()), expected, "{event} {extra}");
        }
    }

    #[test]
    fn every_tool_use_is_reduced() {
        let edited = "Edited /p/a.rs\n```diff\n-4: fn y() {\n+4: fn z() {\n+5: }\n+9: x\n```";
        let edit = json!({"path": "/p/a.rs", "old_text": "fn y() {", "new_text": "fn z() {"});
        let patch = json!({"input": "*** Begin Patch\n*** Add File: /p/c.rs\n+fn c() {}\n*** End Patch"});
        for (tool, args, extra, expected) in [
            (
                "run_commands",
                json!({"command": "cargo test"}),
                json!({"output": "ok"}),
                json!({"command": "cargo test", "output": "ok"}),
            ),
            (
                "run_commands",
                json!({"command": "make check"}),
                json!({"output": "[Command exited with code 3]\nbad\nworse", "error": "Command exited with code 3"}),
                json!({"command": "make check", "outcome": "failed", "error": "Exit code 3\nbad\nworse"}),
            ),
            (
                "run_commands",
                json!({"command": "make check"}),
                json!({"output": "", "error": "Command timed out after 30000ms"}),
                json!({"command": "make check", "outcome": "interrupted", "error": "Command timed out after 30000ms"}),
            ),
            (
                "editor",
                edit.clone(),
                json!({"output": edited}),
                json!({"files": [{"path": "/p/a.rs", "how": "edited", "lines": [[4, 5], [9, 9]]}], "names": ["z"]}),
            ),
            (
                "editor",
                json!({"path": "/p/b.py", "new_text": "class B:\n"}),
                json!({"output": "File created successfully at: /p/b.py"}),
                json!({"files": [{"path": "/p/b.py", "how": "edited"}], "names": ["B"]}),
            ),
            (
                "editor",
                edit,
                json!({"error": "Editor operation failed: text not found\nin /p/a.rs"}),
                json!({"outcome": "failed", "error": "Editor operation failed: text not found"}),
            ),
            ("apply_patch", patch, json!({}), json!({"files": [{"path": "/p/c.rs", "how": "edited"}], "names": ["c"]})),
            (
                "read_files",
                json!({"files": [{"path": "a", "start_line": 3}, {"path": "b"}]}),
                json!({}),
                json!({"files": [{"path": "a", "how": "read"}, {"path": "b", "how": "read"}]}),
            ),
            (
                "ask_question",
                json!({"question": "Which one?", "options": ["A", "B"]}),
                json!({"output": "B"}),
                json!({"answers": [["Which one?", "B"]]}),
            ),
            ("search_codebase", json!({"queries": ["x"]}), json!({}), json!({})),
        ] {
            let (mut expected, mut all) = (expected, json!({"id": "t1", "tool": tool, "args": args}));
            expected["tool"] = json!(tool);
            all.as_object_mut().unwrap().extend(extra.as_object().unwrap().clone());
            assert_eq!(event_of("tool", all)["tool"], expected, "{tool} {args} {extra}");
        }
    }

    #[test]
    fn tags_around_what_was_typed_are_removed() {
        for (words, expected) in [
            ("<user_input mode=\"act\">a > b</user_input>", "a > b"),
            ("plain", "plain"),
            ("<user_input mode=\"act\">half", "<user_input mode=\"act\">half"),
        ] {
            assert_eq!(typed(Cow::Borrowed(words)), expected);
        }
    }
}
