//! Bytes from an agent, reduced to an [`Event`]: one file an agent.
//!
//! Tolerant by construction: unknown events, tools and fields are not errors, a field of the wrong type counts as
//! missing. Only text that is not JSON, or says nothing of a session, is malformed.

pub mod claude_code;
pub mod codex;
pub mod copilot;
pub mod cursor;
pub mod gemini;
pub mod host;
pub mod loose;
pub mod opencode;
pub mod patch;
#[cfg(test)]
mod recorded;
pub mod stream;
pub mod tool;
pub mod transcripts;

use crate::clean::text::Clean;
use crate::model::event::Event;
use crate::model::id::Agent;

/// What one payload said.
#[derive(Debug, PartialEq)]
pub struct Heard<'a> {
    /// Who said it: not always the agent whose hook it came through.
    pub agent: Agent,
    pub session: Clean<'a>,
    pub cwd: Clean<'a>,
    pub key: Clean<'a>,
    pub event: Event<'a>,
}

/// Reads what `agent`'s hook was given; `None` when it is of no interest to us.
pub fn parse(agent: Agent, payload: &[u8]) -> Result<Option<Heard<'_>>, WireError> {
    match agent {
        Agent::ClaudeCode => claude_code::payload::parse(payload),
        Agent::Codex => codex::payload::parse(payload),
        Agent::Gemini => gemini::payload::parse(payload),
        Agent::Opencode => opencode::payload::parse(payload),
        Agent::Cursor => cursor::payload::parse(payload),
        Agent::Copilot => copilot::payload::parse(payload),
        Agent::Manual | Agent::Seed => Err(WireError::NoHooks(agent)),
    }
}

#[derive(Debug, thiserror::Error)]
pub enum WireError {
    #[error("{0} has no hooks")]
    NoHooks(Agent),
    #[error("the payload is not JSON: {0}")]
    NotJson(#[from] serde_json::Error),
    #[error("the payload has no {0}")]
    Missing(&'static str),
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::{Value, json};

    /// Payloads with everything that any parser looks at.
    fn payloads() -> Vec<(Agent, Value)> {
        let base = json!({
            "session_id": "s", "cwd": "/p", "transcript_path": "/t/s.jsonl", "tool_use_id": "t", "prompt": "p",
            "prompt_response": "r", "last_assistant_message": "m", "source": "clear", "reason": "r", "trigger": "manual",
            "tool_response": {"llmContent": "Output: x", "returnDisplay": {"fileDiff": "d"}, "error": {"message": "e"},
                "structuredPatch": [{"newStart": 1, "lines": ["+a"]}], "answers": {"q": "a"}, "stdout": "o"},
            "tool_input": {"command": "cargo test", "file_path": "a.rs", "content": "fn a() {}", "todos": [{"content": "c"}],
                "plan": [{"step": "s", "status": "x"}], "questions": [{"id": "i", "question": "q"}], "include": ["a"]},
            "tool_output": "{}", "error_message": "e", "is_interrupt": true, "text": "t", "generation_id": "g",
        });
        let with = |extra: Value| {
            let mut payload = base.clone();
            payload.as_object_mut().unwrap().extend(extra.as_object().unwrap().clone());
            payload
        };
        let mut all = Vec::new();
        for tool in ["Bash", "Edit", "TodoWrite", "AskUserQuestion"] {
            all.push((Agent::ClaudeCode, with(json!({"hook_event_name": "PostToolUse", "tool_name": tool}))));
        }
        for tool in ["Bash", "apply_patch", "update_plan", "request_user_input"] {
            all.push((Agent::Codex, with(json!({"hook_event_name": "PostToolUse", "tool_name": tool}))));
        }
        for tool in ["run_shell_command", "replace", "read_many_files", "write_todos", "ask_user"] {
            all.push((Agent::Gemini, with(json!({"hook_event_name": "AfterTool", "tool_name": tool}))));
        }
        for tool in ["Shell", "Write", "Read", "TodoWrite"] {
            let extra = json!({"hook_event_name": "postToolUse", "tool_name": tool, "workspace_roots": ["/p"]});
            all.push((Agent::Cursor, with(extra)));
        }
        let args = json!({"path": "a.rs", "command": "c", "file_text": "fn a() {}", "todos": "- [ ] a"});
        for tool in ["bash", "create", "edit", "update_todo"] {
            let result = json!({"resultType": "success", "textResultForLlm": "x\n<exit code 1>"});
            let own = json!({"sessionId": "s", "timestamp": 1, "cwd": "/p", "toolName": tool, "toolArgs": args,
                "toolResult": result});
            all.push((Agent::Copilot, own));
        }
        let args = json!({"filePath": "a.rs", "command": "c", "content": "fn a() {}", "patchText": "*** Add File: a",
            "todos": [{"content": "c"}], "questions": [{"question": "q"}]});
        for tool in ["bash", "edit", "apply_patch", "todowrite", "question"] {
            let own = json!({"event": "tool", "sessionID": "s", "cwd": "/p", "at": 1, "id": "t", "tool": tool, "args": args,
                "output": "o", "exit": 1, "diff": "@@ -1 +1 @@", "answers": ["a"]});
            all.push((Agent::Opencode, own));
        }
        all
    }

    /// Every payload that results from putting `odd` in the place of one value.
    fn variations(value: &Value, odd: &Value) -> Vec<Value> {
        let mut all = vec![odd.clone()];
        if let Value::Object(fields) = value {
            for (name, field) in fields {
                all.extend(variations(field, odd).into_iter().map(|varied| {
                    let mut whole = fields.clone();
                    whole.insert(name.clone(), varied);
                    Value::Object(whole)
                }));
            }
        }
        if let Value::Array(items) = value {
            all.extend(
                items.first().into_iter().flat_map(|item| variations(item, odd)).map(|varied| json!([varied, 3])),
            );
        }
        all
    }

    #[test]
    fn a_field_of_the_wrong_type_counts_as_missing() {
        let odd =
            [json!(null), json!(-7), json!(1.5), json!(true), json!("x\n\u{0}ü"), json!([[1], {}]), json!({"a": {}})];
        for (agent, payload) in payloads() {
            assert!(parse(agent, payload.to_string().as_bytes()).unwrap().is_some(), "{agent} {payload}");
            // All but the whole payload itself.
            for varied in odd.iter().flat_map(|odd| variations(&payload, odd).split_off(1)) {
                let bytes = varied.to_string().into_bytes();
                match parse(agent, &bytes) {
                    Ok(_) | Err(WireError::Missing(_)) => {}
                    Err(error) => panic!("{agent}: {error}: {varied}"),
                }
            }
        }
    }

    #[test]
    fn who_has_no_hooks_is_told_so() {
        for agent in Agent::ALL {
            let is_refused = matches!(parse(agent, b"{}"), Err(WireError::NoHooks(_)));
            assert_eq!(is_refused, !agent.is_program(), "{agent}");
        }
    }
}
