//! What our opencode plugin sends: one object per event, in our own format.
//!
//! opencode has no hooks that start a program, so its plugin, `install/plugin.js`, does. The two files must change
//! together. Every message has a timestamp (`at`, milliseconds); tool uses and prompts have opencode's own ids. In
//! opencode a subagent is a session of its own; the plugin reports it as part of its parent. Plugins for other agents
//! send the same messages with other tools.

use cerberus_record::clean::Cleaner;
use cerberus_record::clean::text::{Clean, Keep};
use cerberus_record::event::{CompactStage, Event, StartSource, ToolUse};
use cerberus_record::id::{Agent, fnv1a};
use cerberus_record::source::MemorySource;
use serde::Deserialize;

use crate::key::prompt_key;
use crate::loose::{Escaped, Flag, List, RawJson, Text};
use crate::tool::CommandExit;
use crate::transcripts::tools::{self, ToolAnswer, ToolArguments};
use crate::{HookEvent, PayloadError};

pub const AGENT: Agent = Agent::new("opencode");

/// A message of one of our plugins.
#[derive(Default, Deserialize)]
#[serde(default, bound = "'de: 'a")]
pub(crate) struct OpencodeHookMessage<'a> {
    event: Text<'a>,
    #[serde(rename = "sessionID")]
    session: Text<'a>,
    cwd: Text<'a>,
    id: Text<'a>,
    source: Text<'a>,
    reason: Text<'a>,
    text: Text<'a>,
    pub tool: Text<'a>,
    pub args: RawJson<'a>,
    pub output: Text<'a>,
    pub error: Text<'a>,
    exit: Text<'a>,
    diff: Escaped<'a>,
    answers: List<Text<'a>>,
    /// The agent runs without a terminal.
    headless: Flag,
}

/// Parses one message. Returns `None` for events we do not capture.
pub(crate) fn parse<'a>(cleaner: &'a Cleaner, payload: &'a [u8]) -> Result<Option<HookEvent<'a>>, PayloadError> {
    parse_message(cleaner, AGENT, payload, tool_use)
}

/// Reads the tool use in a message.
type ReadUse<'a> = fn(&'a Cleaner, OpencodeHookMessage<'a>) -> Option<ToolUse<'a>>;

/// Parses one message of the plugin for `agent`.
pub(crate) fn parse_message<'a>(
    cleaner: &'a Cleaner,
    agent: Agent,
    payload: &'a [u8],
    tool_use: ReadUse<'a>,
) -> Result<Option<HookEvent<'a>>, PayloadError> {
    let mut fields: OpencodeHookMessage = serde_json::from_slice(payload)?;
    let name = fields.event.0.take().ok_or(PayloadError::Missing("event"))?;
    let session = fields.session.0.take().filter(|id| !id.is_empty()).ok_or(PayloadError::Missing("sessionID"))?;
    let cwd = fields.cwd.0.take().filter(|cwd| !cwd.is_empty()).ok_or(PayloadError::Missing("cwd"))?;
    let id = fields.id.0.take().filter(|id| !id.is_empty());
    let untyped = fields.headless.0.then_some(MemorySource::Headless);
    let Some(event) = event(cleaner, &name, fields, tool_use) else { return Ok(None) };
    let key = match (&event, id) {
        (Event::Prompt { text }, Some(id)) => prompt_key(text, id.as_bytes()),
        (Event::Prompt { text }, None) => prompt_key(text, payload),
        (Event::Tool(_), Some(id)) => cleaner.clean(id, Keep::NAME),
        _ => Clean::hashes("", &[fnv1a(payload)]),
    };
    let session = cleaner.clean(session, Keep::NAME);
    Ok(Some(HookEvent { agent, session, cwd, key, event, untyped }))
}

fn event<'a>(
    cleaner: &'a Cleaner,
    name: &str,
    fields: OpencodeHookMessage<'a>,
    tool_use: ReadUse<'a>,
) -> Option<Event<'a>> {
    let message = |text: Text<'a>| cleaner.clean(text.0.unwrap_or_default(), Keep::MESSAGE);
    Some(match name {
        "start" => Event::Start {
            source: fields.source.0.and_then(|source| StartSource::from_word(&source)).unwrap_or(StartSource::Startup),
            transcript: None,
            phase: None,
            process: None,
        },
        "prompt" => Event::Prompt { text: cleaner.clean(fields.text.0?, Keep::PROMPT) },
        "tool" => Event::Tool(tool_use(cleaner, fields)?),
        "stop" => Event::Stop { message: message(fields.text) },
        "subagent-stop" => Event::SubagentStop { message: message(fields.text) },
        "failure" => Event::StopFailure { error: cleaner.clean(fields.text.0.unwrap_or_default(), Keep::ERROR) },
        "compact" => Event::Compact { stage: CompactStage::Before, summary: None },
        "end" => Event::End { reason: cleaner.clean(fields.reason.0.unwrap_or_default(), Keep::SUBJECT) },
        _ => return None,
    })
}

fn tool_use<'a>(cleaner: &'a Cleaner, fields: OpencodeHookMessage<'a>) -> Option<ToolUse<'a>> {
    let tool = fields.tool.0?;
    let answer = match &*tool {
        "bash" => {
            let exit = fields.exit.0.and_then(|code| code.parse().ok()).map_or(CommandExit::Unknown, CommandExit::Code);
            ToolAnswer::exit(exit, fields.output.0.unwrap_or_default())
        }
        "question" => {
            let chosen = fields.answers.0.into_iter().map(|answer| answer.0.unwrap_or_default());
            ToolAnswer { chosen: chosen.collect(), ..ToolAnswer::default() }
        }
        _ => ToolAnswer { diff: fields.diff, ..ToolAnswer::default() },
    };
    Some(tools::tool_use(cleaner, &tool, &ToolArguments::read(fields.args.0), &answer))
}

#[cfg(test)]
mod tests {
    use cerberus_record::clean::BUILT_IN;
    use serde_json::{Value, json};

    use super::*;

    fn message(event: &str, extra: Value) -> Vec<u8> {
        let mut value =
            json!({"event": event, "sessionID": "ses_1", "cwd": "/home/ann/hydra", "at": 1769088914120_u64});
        value.as_object_mut().unwrap().extend(extra.as_object().unwrap().clone());
        value.to_string().into_bytes()
    }

    fn event_of(event: &str, extra: Value) -> Value {
        let bytes = message(event, extra);
        parse(&BUILT_IN, &bytes)
            .unwrap()
            .map_or(Value::Null, |hook_event| serde_json::to_value(hook_event.event).unwrap())
    }

    #[test]
    fn every_captured_event_is_reduced() {
        for (event, extra, expected) in [
            ("start", json!({"source": "compact"}), json!({"start": {"source": "compact"}})),
            ("prompt", json!({"id": "msg_1", "text": "go on"}), json!({"prompt": {"text": "go on"}})),
            ("stop", json!({"text": "Done."}), json!({"stop": {"message": "Done."}})),
            ("subagent-stop", json!({"text": "found"}), json!({"subagent_stop": {"message": "found"}})),
            ("failure", json!({"text": "overloaded"}), json!({"stop_failure": {"error": "overloaded"}})),
            ("compact", json!({}), json!({"compact": {"stage": "before"}})),
            ("end", json!({"reason": "exit"}), json!({"end": {"reason": "exit"}})),
            ("prompt", json!({}), Value::Null),
            ("other", json!({}), Value::Null),
        ] {
            assert_eq!(event_of(event, extra.clone()), expected, "{event} {extra}");
        }
        assert!(
            parse(&BUILT_IN, b"{\"event\"").is_err()
                && parse(&BUILT_IN, b"{\"event\":\"stop\",\"sessionID\":\"s\"}").is_err()
        );
    }

    #[test]
    fn every_tool_use_is_reduced() {
        for (tool, extra, expected) in [
            (
                "bash",
                json!({"args": {"command": "cargo test"}, "output": "bad", "exit": 101}),
                json!({"command": "cargo test", "outcome": "failed", "error": "Exit code 101\nbad"}),
            ),
            ("bash", json!({"args": {"command": "ls"}, "output": "a", "exit": 0}), json!({"command": "ls"})),
            ("bash", json!({"args": {"command": "ls"}}), json!({"command": "ls", "outcome": "unknown"})),
            (
                "write",
                json!({"args": {"filePath": "/p/a.rs", "content": "fn a() {}\n"}}),
                json!({"files": [{"path": "/p/a.rs", "how": "edited"}], "names": ["a"]}),
            ),
            (
                "edit",
                json!({"args": {"filePath": "/p/a.rs", "newString": "fn b() {}"}, "diff": "@@ -1,1 +7,1 @@\n-x\n+fn b() {}\n"}),
                json!({"files": [{"path": "/p/a.rs", "how": "edited", "lines": [[7, 7]]}], "names": ["b"]}),
            ),
            (
                "apply_patch",
                json!({"args": {"patchText": "*** Begin Patch\n*** Add File: a.rs\n+fn a() {}\n*** End Patch"}}),
                json!({"files": [{"path": "a.rs", "how": "edited"}], "names": ["a"]}),
            ),
            (
                "write",
                json!({"args": {"filePath": "/p/empty", "content": "", "contents": 3, "file_path": null}}),
                json!({"files": [{"path": "/p/empty", "how": "edited"}]}),
            ),
            ("read", json!({"args": {"filePath": "a"}}), json!({"files": [{"path": "a", "how": "read"}]})),
            (
                "todowrite",
                json!({"args": {"todos": [{"content": "A", "status": "completed"}, {"content": "B", "status": "pending"}]}}),
                json!({"todos": [{"subject": "A", "state": "done"}, {"subject": "B", "state": "open"}]}),
            ),
            (
                "question",
                json!({"args": {"questions": [{"question": "Which?"}, {"question": "And?"}]}, "answers": ["WAL", ""]}),
                json!({"answers": [["Which?", "WAL"]]}),
            ),
            (
                "question",
                json!({"args": {"questions": [{"header": "Store"}, {"question": "And?"}]}, "answers": ["WAL", "yes"]}),
                json!({"answers": [["And?", "yes"]]}),
            ),
            ("task", json!({"args": {"prompt": "look"}}), json!({})),
        ] {
            let mut expected = expected;
            expected["tool"] = json!(tool);
            let mut extra = extra;
            extra["tool"] = json!(tool);
            extra["id"] = json!("call_1");
            assert_eq!(event_of("tool", extra.clone())["tool"], expected, "{extra}");
        }
        let hook_event = message("tool", json!({"tool": "read", "id": "call_1"}));
        assert_eq!(&*parse(&BUILT_IN, &hook_event).unwrap().unwrap().key, "call_1");
    }
}
