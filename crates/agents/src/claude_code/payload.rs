//! Claude Code's hook payloads, and those of hosts that use its protocol.
//!
//! Some hosts run hooks installed for Claude Code. Such a payload is recognised and read as if it came through the
//! host's own hook, with the same agent and the same keys, so an event reported by both counts once. Paths are kept
//! as the client wrote them; the caller makes them relative to the project.

use cerberus_record::clean::Cleaner;
use cerberus_record::clean::text::{Clean, Keep};
use cerberus_record::event::{CompactStage, Event, Outcome, StartSource, TaskState, ToolUse};
use cerberus_record::id::{Agent, fnv1a};
use cerberus_record::ours::without_handoff;
use cerberus_record::source::MemorySource;
use serde::Deserialize;
use serde::de::IgnoredAny;

use super::tool::{ClaudeHookCall, ToolInput, ToolResponse, tool_use};
use super::typed;
use crate::host::ClaudePromptMarks;
use crate::key::prompt_key;
use crate::loose::{Flag, List, Object, Text};
use crate::profile::Profile;
use crate::tool::task;
use crate::{HookEvent, PayloadError, SubagentStart};

pub const AGENT: Agent = Agent::new("claude-code");

/// A payload in Claude Code's format. The types of tool inputs and responses differ by host.
#[derive(Default, Deserialize)]
#[serde(default, bound = "'de: 'a, Input: Default + Deserialize<'de>, Response: Default + Deserialize<'de>")]
pub(crate) struct ClaudePayload<'a, Input, Response> {
    hook_event_name: Text<'a>,
    session_id: Text<'a>,
    transcript_path: Text<'a>,
    cwd: Text<'a>,
    source: Text<'a>,
    reason: Text<'a>,
    prompt: Text<'a>,
    tool_name: Text<'a>,
    tool_use_id: Text<'a>,
    tool_input: Input,
    tool_response: Response,
    error: Text<'a>,
    is_interrupt: Flag,
    agent_id: Text<'a>,
    agent_type: Text<'a>,
    last_assistant_message: Text<'a>,
    background_tasks: List<Object<BackgroundTask<'a>>>,
    compact_summary: Text<'a>,
    task_id: Text<'a>,
    task_subject: Text<'a>,
    // Only transcripts are known to say these.
    #[serde(rename = "isMeta", alias = "is_meta")]
    is_meta: Flag,
    #[serde(rename = "turnOrigin", alias = "turn_origin")]
    turn_origin: Text<'a>,
    #[serde(rename = "promptSource", alias = "prompt_source")]
    prompt_source: Text<'a>,
    // Sent only by other hosts.
    turn_id: Text<'a>,
    timestamp: Text<'a>,
    conversation_id: Text<'a>,
    cursor_version: Text<'a>,
}

/// Work that goes on after the agent's message.
#[derive(Default, Deserialize)]
#[serde(default, bound = "'de: 'a")]
struct BackgroundTask<'a> {
    #[serde(rename = "type")]
    kind: Text<'a>,
    status: Text<'a>,
}

impl BackgroundTask<'_> {
    /// A subagent wakes its agent when it is done; a server that runs on does not.
    fn is_waited_for(&self) -> bool {
        self.kind.0.as_deref() == Some("subagent") && matches!(self.status.0.as_deref(), Some("running" | "pending"))
    }
}

/// Parses one payload. Returns `None` for events we do not capture.
///
/// If `sender` knows another agent by the marks, that one's parser reads it.
pub(crate) fn parse<'a>(
    cleaner: &'a Cleaner,
    payload: &'a [u8],
    sender: impl Fn(&ClaudePromptMarks) -> Option<&'static Profile>,
) -> Result<Option<HookEvent<'a>>, PayloadError> {
    let fields: ClaudePayload<Object<ToolInput>, Object<ToolResponse>> = serde_json::from_slice(payload)?;
    match sender(&fields.marks()) {
        Some(sender) => (sender.parse)(cleaner, payload),
        None => hook_event(cleaner, AGENT, payload, fields, tool_use),
    }
}

/// The subagent that a payload says has started; `None` if it says something else.
pub(crate) fn subagent(
    payload: &[u8],
    sender: impl Fn(&ClaudePromptMarks) -> Option<&'static Profile>,
) -> Option<SubagentStart<'_>> {
    const NAME: &str = "SubagentStart";
    let fields: ClaudePayload<IgnoredAny, IgnoredAny> = serde_json::from_slice(payload).ok()?;
    let is_ours = sender(&fields.marks()).is_none();
    fields.hook_event_name.0.as_deref().filter(|name| is_ours && *name == NAME)?;
    Some(SubagentStart { session: fields.session_id.0?, cwd: fields.cwd.0? })
}

impl<Input, Response> ClaudePayload<'_, Input, Response> {
    fn marks(&self) -> ClaudePromptMarks<'_> {
        let mut parts = self.transcript_path.0.as_deref().map(|path| path.rsplit('/')).into_iter().flatten();
        ClaudePromptMarks {
            transcript_name: parts.next(),
            transcript_folder: parts.next(),
            has_turn: self.turn_id.0.is_some(),
            has_time: self.timestamp.0.is_some(),
            has_conversation: self.conversation_id.0.is_some() || self.cursor_version.0.is_some(),
        }
    }

    fn untyped(&self) -> Option<MemorySource> {
        let (turn_origin, prompt_source) = (self.turn_origin.0.as_deref(), self.prompt_source.0.as_deref());
        typed::PromptMarks { is_meta: self.is_meta.0, turn_origin, prompt_source, ..typed::PromptMarks::default() }
            .untyped()
    }
}

/// The event in a payload of this format. `tool_use` reads the tools.
pub(crate) fn hook_event<'a, Input, Response>(
    cleaner: &'a Cleaner,
    agent: Agent,
    payload: &'a [u8],
    mut fields: ClaudePayload<'a, Input, Response>,
    tool_use: impl FnOnce(&'a Cleaner, ClaudeHookCall<'a, Input, Response>) -> ToolUse<'a>,
) -> Result<Option<HookEvent<'a>>, PayloadError> {
    let name = fields.hook_event_name.0.take().ok_or(PayloadError::Missing("hook_event_name"))?;
    let session = fields.session_id.0.take().filter(|id| !id.is_empty()).ok_or(PayloadError::Missing("session_id"))?;
    let cwd = fields.cwd.0.take().filter(|cwd| !cwd.is_empty()).ok_or(PayloadError::Missing("cwd"))?;
    let tool_use_id = fields.tool_use_id.0.take();
    let untyped = fields.untyped();
    let Some(event) = event(cleaner, &name, fields, tool_use) else {
        return Ok(None);
    };
    let key = match (&event, tool_use_id) {
        (Event::Tool(_), Some(id)) => cleaner.clean(id, Keep::NAME),
        (Event::Prompt { text }, _) => prompt_key(text, payload),
        _ => Clean::hashes("", &[fnv1a(payload)]),
    };
    Ok(Some(HookEvent { agent, session: cleaner.clean(session, Keep::NAME), cwd, key, event, untyped }))
}

fn event<'a, Input, Response>(
    cleaner: &'a Cleaner,
    name: &str,
    fields: ClaudePayload<'a, Input, Response>,
    tool_use: impl FnOnce(&'a Cleaner, ClaudeHookCall<'a, Input, Response>) -> ToolUse<'a>,
) -> Option<Event<'a>> {
    let tool = |fields: ClaudePayload<'a, Input, Response>, outcome| {
        let (tool, error) = (fields.tool_name.0?, fields.error.0);
        let call = ClaudeHookCall { tool, input: fields.tool_input, response: fields.tool_response, error, outcome };
        Some(Event::Tool(tool_use(cleaner, call)))
    };
    Some(match name {
        "SessionStart" => Event::Start {
            source: fields.source.0.and_then(|source| StartSource::from_word(&source)).unwrap_or(StartSource::Startup),
            transcript: fields.transcript_path.0.map(|path| cleaner.clean(path, Keep::NAME)),
            phase: None,
            process: None,
        },
        // A subagent is prompted by its agent, not by the user.
        "UserPromptSubmit" if fields.agent_id.0.is_some() => return None,
        "UserPromptSubmit" => {
            let words = without_handoff(fields.prompt.0?);
            // The loop's own prompt, with nothing from the user.
            if words.is_empty() {
                return None;
            }
            Event::Prompt { text: cleaner.clean(words, Keep::PROMPT) }
        }
        "PostToolUse" => tool(fields, Outcome::Done)?,
        "PostToolUseFailure" if fields.is_interrupt.0 => tool(fields, Outcome::Interrupted)?,
        "PostToolUseFailure" => tool(fields, Outcome::Failed)?,
        "Stop" if fields.background_tasks.0.iter().any(|Object(task)| task.is_waited_for()) => {
            Event::SubagentStop { message: message(cleaner, fields.last_assistant_message) }
        }
        "Stop" => Event::Stop { message: message(cleaner, fields.last_assistant_message) },
        // Compaction sends one for an internal subagent, with an empty type.
        "SubagentStop" if fields.agent_type.0.as_deref() == Some("") => return None,
        "SubagentStop" => Event::SubagentStop { message: message(cleaner, fields.last_assistant_message) },
        "StopFailure" => Event::StopFailure { error: cleaner.clean(fields.error.0.unwrap_or_default(), Keep::ERROR) },
        "PreCompact" => Event::Compact { stage: CompactStage::Before, summary: None },
        "PostCompact" => Event::Compact {
            stage: CompactStage::After,
            summary: fields.compact_summary.0.map(|summary| cleaner.clean(summary, Keep::MESSAGE)),
        },
        "TaskCreated" => Event::Task(task(cleaner, fields.task_id.0, fields.task_subject.0, TaskState::Open)?),
        "TaskCompleted" => Event::Task(task(cleaner, fields.task_id.0, fields.task_subject.0, TaskState::Done)?),
        "SessionEnd" => Event::End { reason: cleaner.clean(fields.reason.0.unwrap_or_default(), Keep::SUBJECT) },
        _ => return None,
    })
}

fn message<'a>(cleaner: &Cleaner, text: Text<'a>) -> Clean<'a> {
    cleaner.clean(text.0.unwrap_or_default(), Keep::MESSAGE)
}

#[cfg(test)]
mod tests {
    use cerberus_record::clean::BUILT_IN;
    use serde_json::{Value, json};

    use super::*;

    /// A payload with the base fields that the client always sends.
    fn payload(name: &str, extra: Value) -> Vec<u8> {
        let mut value = json!({
            "session_id": "bf96a996", "transcript_path": "/home/dev/.claude/projects/-p/bf96a996.jsonl",
            "cwd": "/home/dev/project", "permission_mode": "default", "hook_event_name": name,
        });
        value.as_object_mut().unwrap().extend(extra.as_object().unwrap().clone());
        value.to_string().into_bytes()
    }

    fn event_of(name: &str, extra: Value) -> Value {
        let bytes = payload(name, extra);
        match crate::parse(&BUILT_IN, AGENT, &bytes).unwrap() {
            Some(hook_event) => serde_json::to_value(hook_event.event).unwrap(),
            None => Value::Null,
        }
    }

    #[test]
    fn every_captured_event_is_reduced() {
        let transcript = "/home/dev/.claude/projects/-p/bf96a996.jsonl";
        for (name, extra, expected) in [
            (
                "SessionStart",
                json!({"source": "clear"}),
                json!({"start": {"source": "clear", "transcript": transcript}}),
            ),
            ("SessionStart", json!({"source": 3}), json!({"start": {"source": "startup", "transcript": transcript}})),
            ("UserPromptSubmit", json!({"prompt": "fix \"it\""}), json!({"prompt": {"text": "fix \"it\""}})),
            ("Stop", json!({"last_assistant_message": "All done"}), json!({"stop": {"message": "All done"}})),
            (
                "SubagentStop",
                json!({"agent_type": "general-purpose", "last_assistant_message": "sub"}),
                json!({"subagent_stop": {"message": "sub"}}),
            ),
            ("SubagentStop", json!({"agent_type": ""}), Value::Null),
            (
                "Stop",
                json!({"last_assistant_message": "I wait", "background_tasks": [{"type": "subagent", "status": "running"}]}),
                json!({"subagent_stop": {"message": "I wait"}}),
            ),
            (
                "Stop",
                json!({"last_assistant_message": "Done", "background_tasks": [3, {"type": "shell", "status": "running"},
                    {"type": "subagent", "status": "completed"}]}),
                json!({"stop": {"message": "Done"}}),
            ),
            ("StopFailure", json!({"error": "rate_limit"}), json!({"stop_failure": {"error": "rate_limit"}})),
            (
                "PreCompact",
                json!({"trigger": "auto", "custom_instructions": null}),
                json!({"compact": {"stage": "before"}}),
            ),
            ("PostCompact", json!({"compact_summary": "s"}), json!({"compact": {"stage": "after", "summary": "s"}})),
            (
                "TaskCreated",
                json!({"task_id": "1", "task_subject": "Write tests"}),
                json!({"task": {"id": "1", "subject": "Write tests", "state": "open"}}),
            ),
            (
                "TaskCompleted",
                json!({"task_id": 1, "task_subject": "Write tests"}),
                json!({"task": {"id": "1", "subject": "Write tests", "state": "done"}}),
            ),
            ("SessionEnd", json!({"reason": "prompt_input_exit"}), json!({"end": {"reason": "prompt_input_exit"}})),
            ("PreToolUse", json!({"tool_name": "Bash", "tool_input": {}}), Value::Null),
            ("SomethingNew", json!({"field": {}}), Value::Null),
        ] {
            assert_eq!(event_of(name, extra.clone()), expected, "{name} {extra}");
        }
    }

    #[test]
    fn every_tool_use_is_reduced() {
        let tool = |name: &str, input: Value, response: Value| {
            let extra =
                json!({"tool_name": name, "tool_use_id": "toolu_1", "tool_input": input, "tool_response": response});
            event_of("PostToolUse", extra)["tool"].take()
        };
        let patch = json!({"structuredPatch": [{"oldStart": 1, "newStart": 8,
            "lines": [" a", "-b", "+c", "+d", " e", " f", "-g", " h"]}]});
        for (name, input, response, expected) in [
            (
                "Edit",
                json!({"file_path": "/home/dev/project/a.rs", "old_string": "b", "new_string": "pub fn c() {\n"}),
                patch,
                json!({"tool": "Edit", "names": ["c"],
                    "files": [{"path": "/home/dev/project/a.rs", "how": "edited", "lines": [[9, 10], [13, 13]]}]}),
            ),
            (
                "Write",
                json!({"file_path": "/x/b.py", "content": "class B:\n    def m(self):\n        pass\n"}),
                json!({"type": "create", "structuredPatch": [], "originalFile": null}),
                json!({"tool": "Write", "names": ["B", "m"], "files": [{"path": "/x/b.py", "how": "edited"}]}),
            ),
            (
                "MultiEdit",
                json!({"file_path": "m.go", "edits": [{"new_string": "func A() {"}, 3, {"new_string": "func B() {"}]}),
                json!({}),
                json!({"tool": "MultiEdit", "names": ["A", "B"], "files": [{"path": "m.go", "how": "edited"}]}),
            ),
            (
                "NotebookEdit",
                json!({"notebook_path": "n.ipynb", "new_source": "def f(): pass"}),
                json!({}),
                json!({"tool": "NotebookEdit", "names": ["f"], "files": [{"path": "n.ipynb", "how": "edited"}]}),
            ),
            (
                "Read",
                json!({"file_path": "a.rs"}),
                json!({"file": {"content": "fn secret() {}"}}),
                json!({"tool": "Read", "files": [{"path": "a.rs", "how": "read"}]}),
            ),
            ("Bash", json!({"command": "ls"}), json!({"stdout": "x"}), json!({"tool": "Bash", "command": "ls"})),
            (
                "Bash",
                json!({"command": "sed -i s/a/b/ x.rs"}),
                json!({"stdout": "", "bashEditDiff": {"changedFiles": ["/home/dev/project/x.rs", {}], "unavailable": true}}),
                json!({"tool": "Bash", "command": "sed -i s/a/b/ x.rs",
                    "files": [{"path": "/home/dev/project/x.rs", "how": "edited"}]}),
            ),
            (
                "ExitPlanMode",
                json!({}),
                json!({"plan": "1. Test", "isAgent": false, "filePath": "/x/plan.md"}),
                json!({"tool": "ExitPlanMode", "plan": "1. Test"}),
            ),
            (
                "TodoWrite",
                json!({"todos": [{"content": "A", "status": "completed"}, {"content": "B", "status": "pending"}, "?"]}),
                json!({}),
                json!({"tool": "TodoWrite", "todos": [{"subject": "A", "state": "done"}, {"subject": "B", "state": "open"}]}),
            ),
            (
                "TaskCreate",
                json!({"subject": "Write tests", "description": "d"}),
                json!({"task": {"id": "7"}}),
                json!({"tool": "TaskCreate", "task": {"id": "7", "subject": "Write tests", "state": "open"}}),
            ),
            (
                "TaskUpdate",
                json!({"taskId": "7", "status": "completed"}),
                json!({"success": true}),
                json!({"tool": "TaskUpdate", "task": {"id": "7", "state": "done"}}),
            ),
            ("mcp__probe__x", json!({"text": "abc"}), json!([{"type": "text"}]), json!({"tool": "mcp__probe__x"})),
            ("Edit", json!("odd"), json!("odd"), json!({"tool": "Edit"})),
        ] {
            assert_eq!(tool(name, input.clone(), response), expected, "{name} {input}");
        }
    }

    #[test]
    fn a_failed_use_changes_no_file() {
        let failed = |tool: &str, interrupt: bool| {
            let input = json!({"file_path": "a.rs", "new_string": "fn x() {}", "command": "make"});
            let extra =
                json!({"tool_name": tool, "tool_input": input, "error": "Exit code 3", "is_interrupt": interrupt});
            event_of("PostToolUseFailure", extra)
        };
        let expected = json!({"tool": {"tool": "Edit", "outcome": "failed", "error": "Exit code 3"}});
        assert_eq!(failed("Edit", false), expected);
        let expected =
            json!({"tool": {"tool": "Bash", "outcome": "interrupted", "command": "make", "error": "Exit code 3"}});
        assert_eq!(failed("Bash", true), expected);
    }

    #[test]
    fn the_key_is_the_tool_use_or_the_payload_itself() {
        let key = |bytes: &[u8]| crate::parse(&BUILT_IN, AGENT, bytes).unwrap().unwrap().key.to_string();
        let tool = payload("PostToolUse", json!({"tool_name": "Bash", "tool_use_id": "toolu_1", "tool_input": {}}));
        assert_eq!(key(&tool), "toolu_1");
        let (a, b) = (payload("Stop", json!({"prompt_id": "1"})), payload("Stop", json!({"prompt_id": "2"})));
        assert_eq!(key(&a), key(&a));
        assert_ne!(key(&a), key(&b));
    }

    #[test]
    fn only_a_payload_without_a_session_is_malformed() {
        for bad in [
            &b""[..],
            b"not json",
            b"{\"session_id\":\"x\"",
            b"[]",
            b"42",
            b"{}",
            b"{\"hook_event_name\":\"Stop\",\"cwd\":\"/x\"}",
            b"{\"hook_event_name\":\"Stop\",\"session_id\":{},\"cwd\":\"/x\"}",
            b"{\"hook_event_name\":\"Stop\",\"session_id\":\"x\",\"cwd\":null}",
            b"{\"hook_event_name\":\"Stop\",\"session_id\":\"\xff\",\"cwd\":\"/x\"}",
        ] {
            assert!(crate::parse(&BUILT_IN, AGENT, bad).is_err(), "{}", String::from_utf8_lossy(bad));
        }
        assert!(
            crate::parse(
                &BUILT_IN,
                AGENT,
                &payload("Stop", json!({"session_id": "../../x", "unknown": [1, {"a": null}]}))
            )
            .unwrap()
            .is_some()
        );
    }
}
