//! The supported agents. Each has a folder with everything it sends, writes and accepts, and a [`Profile`].
//!
//! To add an agent, add a folder and an entry in [`ALL`]. Parsing is tolerant: unknown events, tools and fields are
//! not errors, and a field of the wrong type counts as missing. A payload is malformed only if it is not JSON or does
//! not identify a session.

pub mod action;
pub mod before;
pub mod claude_code;
pub mod cline;
mod code;
pub mod codex;
pub mod conversation;
pub mod copilot;
pub mod cursor;
pub mod gemini;
pub mod headless;
mod hook_event;
pub mod host;
pub mod install;
mod key;
mod loose;
pub mod meter;
pub mod model_calls;
pub mod opencode;
mod patch;
mod profile;
pub mod qwen_code;
#[cfg(test)]
mod recorded;
pub mod settings;
pub mod status;
pub mod stream;
mod tool;
pub mod transcripts;

use cerberus_record::clean::Cleaner;
use cerberus_record::id::Agent;

use self::host::{ClaudePromptMarks, Occasion};
use self::status::AgentStatus;
use self::stream::StreamEvent;
pub use hook_event::{HookEvent, PayloadError, SubagentStart};
pub use profile::{Profile, ReadContext};

/// All supported agents, in display order.
pub static ALL: [&Profile; 8] = [
    &claude_code::PROFILE,
    &codex::PROFILE,
    &gemini::PROFILE,
    &opencode::PROFILE,
    &cursor::PROFILE,
    &copilot::PROFILE,
    &qwen_code::PROFILE,
    &cline::PROFILE,
];

/// The profile of `agent`; `None` for an agent of a newer version, or one that is not a program.
pub fn profile(agent: Agent) -> Option<&'static Profile> {
    ALL.into_iter().find(|profile| profile.agent == agent)
}

/// The agent with this name, if it is supported.
pub fn find(name: &str) -> Option<Agent> {
    Agent::from_name(name).filter(|agent| profile(*agent).is_some())
}

/// The program and its arguments that continue a session on a terminal; `None` if nothing is known to do that.
pub fn resume_command(agent: &str, agent_session_id: &str) -> Option<Vec<String>> {
    let profile = profile(find(agent)?)?;
    Some(profile.command(profile.resume, agent_session_id))
}

/// The program and its arguments that begin a session on a terminal with a prompt.
pub fn begin_command(agent: Agent, prompt: &str) -> Option<Vec<String>> {
    let profile = profile(agent)?;
    Some(profile.command(profile.begin, prompt))
}

/// The names of the matching agents, joined for display: `a, b, c`.
pub fn names(is_meant: impl Fn(&Profile) -> bool) -> String {
    let meant = ALL.iter().filter(|profile| is_meant(profile));
    meant.map(|profile| profile.agent.name()).collect::<Vec<_>>().join(", ")
}

/// What the lines at the end of a transcript say about the size of the context, in their order. Empty if the agent's
/// transcripts do not say it, or nothing could be shown to its user. The first line may be cut.
pub fn context_size(agent: Agent, ending: &[u8]) -> Vec<StreamEvent> {
    let Some(profile) = profile(agent).filter(|profile| profile.shows_notice) else { return Vec::new() };
    let Some(read) = profile.context else { return Vec::new() };
    ending.split(|byte| *byte == b'\n').flat_map(read).collect()
}

/// Whether a transcript that ends like this says that the user ended its last turn.
pub fn was_interrupted(agent: Agent, ending: &[u8]) -> bool {
    let Some(profile) = profile(agent) else { return false };
    ending.rsplit(|byte| *byte == b'\n').find_map(profile.ends_turn).unwrap_or(false)
}

/// Whether [`context_size`] may find anything for this agent.
pub fn tells_context_size(agent: Agent) -> bool {
    profile(agent).is_some_and(|profile| profile.shows_notice && profile.context.is_some())
}

/// Reads from a line of the agent's transcript what it says about the size of the context, if its transcripts say that.
pub fn context_reader(agent: Agent) -> Option<ReadContext> {
    profile(agent)?.context
}

/// Parses what an agent passes to the command of a status line.
pub fn read_status(payload: &[u8]) -> Option<(Agent, AgentStatus)> {
    let with_line = ALL.iter().filter_map(|profile| Some((profile.agent, profile.status?)));
    with_line.into_iter().find_map(|(agent, read)| Some((agent, read(payload)?)))
}

/// Whether no person sits at this session: a program runs it, or it is a CI job. `variable` reads the environment.
pub fn is_headless(agent: Agent, session: &str, variable: &dyn Fn(&str) -> Option<String>) -> bool {
    variable("CI").is_some_and(|value| matches!(&*value, "true" | "1"))
        || profile(agent).is_some_and(|profile| (profile.is_headless)(session, variable))
}

/// Variables that child processes must not inherit.
pub fn nesting_variables() -> impl Iterator<Item = &'static str> {
    ALL.iter().flat_map(|profile| profile.nesting_variables.iter().copied())
}

/// Variables that show that an agent runs a command.
pub fn command_variables() -> impl Iterator<Item = &'static str> {
    ALL.iter().flat_map(|profile| profile.command_variables.iter().copied())
}

/// Reads whether a payload that is not captured says that a subagent starts. Only one agent's subagents can be told anything.
pub fn subagent(agent: Agent, payload: &[u8]) -> Option<SubagentStart<'_>> {
    (agent == claude_code::AGENT).then(|| claude_code::payload::subagent(payload, sender))?
}

/// The agent that sent a payload through the hook of another one. Some hosts run the hooks of Claude Code.
fn sender(marks: &ClaudePromptMarks) -> Option<&'static Profile> {
    ALL.into_iter().find(|other| (other.is_sender)(marks))
}

/// Parses a payload from `agent`'s hook. Returns `None` for events we do not capture.
pub fn parse<'a>(cleaner: &'a Cleaner, agent: Agent, payload: &'a [u8]) -> Result<Option<HookEvent<'a>>, PayloadError> {
    if agent == claude_code::AGENT {
        return claude_code::payload::parse(cleaner, payload, sender);
    }
    match profile(agent) {
        Some(profile) => (profile.parse)(cleaner, payload),
        None => Err(PayloadError::NoHooks(agent)),
    }
}

/// The hook output that passes `context` to the model and, where the host can, shows `notice` to the user; `None` if the
/// host accepts no context.
pub fn reply(agent: Agent, occasion: Occasion, context: &str, notice: Option<&str>) -> Option<String> {
    let profile = profile(agent)?;
    let mut reply = (profile.reply)(occasion, context)?;
    if let Some(notice) = notice.filter(|_| profile.shows_notice) {
        reply["systemMessage"] = notice.into();
    }
    Some(reply.to_string())
}

/// Whether the host accepts context on this occasion.
pub fn accepts(agent: Agent, occasion: Occasion) -> bool {
    profile(agent).is_some_and(|profile| (profile.reply)(occasion, "").is_some())
}

/// The hook output that only shows `notice` to the user; `None` if the host cannot.
pub fn notice(agent: Agent, notice: &str) -> Option<String> {
    profile(agent).filter(|profile| profile.shows_notice)?;
    Some(serde_json::json!({ "systemMessage": notice }).to_string())
}

#[cfg(test)]
mod tests {
    use cerberus_record::clean::BUILT_IN;
    use cerberus_record::source::MemorySource;
    use serde_json::{Value, json};

    use super::*;

    /// Payloads with every field that any parser reads.
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
            all.push((claude_code::AGENT, with(json!({"hook_event_name": "PostToolUse", "tool_name": tool}))));
        }
        for tool in ["Bash", "apply_patch", "update_plan", "request_user_input"] {
            all.push((codex::AGENT, with(json!({"hook_event_name": "PostToolUse", "tool_name": tool}))));
        }
        for tool in ["run_shell_command", "replace", "read_many_files", "write_todos", "ask_user"] {
            all.push((gemini::AGENT, with(json!({"hook_event_name": "AfterTool", "tool_name": tool}))));
        }
        for tool in ["run_shell_command", "edit", "write_file", "todo_write"] {
            all.push((qwen_code::AGENT, with(json!({"hook_event_name": "PostToolUse", "tool_name": tool}))));
        }
        for tool in ["Shell", "Write", "Read", "TodoWrite"] {
            let extra = json!({"hook_event_name": "postToolUse", "tool_name": tool, "workspace_roots": ["/p"]});
            all.push((cursor::AGENT, with(extra)));
        }
        let args =
            json!({"path": "a.rs", "command": "c", "new_text": "fn a() {}", "files": [{"path": "a"}], "question": "q"});
        for tool in ["run_commands", "editor", "read_files", "ask_question"] {
            let own = json!({"event": "tool", "sessionID": "s", "cwd": "/p", "at": 1, "id": "t", "tool": tool, "args": args,
                "output": "o", "error": "e"});
            all.push((cline::AGENT, own));
        }
        let args = json!({"path": "a.rs", "command": "c", "file_text": "fn a() {}", "todos": "- [ ] a"});
        for tool in ["bash", "create", "edit", "update_todo"] {
            let result = json!({"resultType": "success", "textResultForLlm": "x\n<exit code 1>"});
            let own = json!({"sessionId": "s", "timestamp": 1, "cwd": "/p", "toolName": tool, "toolArgs": args,
                "toolResult": result});
            all.push((copilot::AGENT, own));
        }
        let args = json!({"filePath": "a.rs", "command": "c", "content": "fn a() {}", "patchText": "*** Add File: a",
            "todos": [{"content": "c"}], "questions": [{"question": "q"}]});
        for tool in ["bash", "edit", "apply_patch", "todowrite", "question"] {
            let own = json!({"event": "tool", "sessionID": "s", "cwd": "/p", "at": 1, "id": "t", "tool": tool, "args": args,
                "output": "o", "exit": 1, "diff": "@@ -1 +1 @@", "answers": ["a"]});
            all.push((opencode::AGENT, own));
        }
        all
    }

    /// Every payload that results from replacing one value with `odd`.
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
            assert!(parse(&BUILT_IN, agent, payload.to_string().as_bytes()).unwrap().is_some(), "{agent} {payload}");
            // Every variation except the one that replaces the whole payload.
            for varied in odd.iter().flat_map(|odd| variations(&payload, odd).split_off(1)) {
                let bytes = varied.to_string().into_bytes();
                match parse(&BUILT_IN, agent, &bytes) {
                    Ok(_) | Err(PayloadError::Missing(_)) => {}
                    Err(error) => panic!("{agent}: {error}: {varied}"),
                }
            }
        }
    }

    #[test]
    fn an_agent_without_hooks_is_an_error() {
        for agent in [Agent::MANUAL, Agent::SEED, Agent::new("unheard-of")] {
            assert!(matches!(parse(&BUILT_IN, agent, b"{}"), Err(PayloadError::NoHooks(_))), "{agent}");
            assert_eq!(reply(agent, Occasion::Start, "x", None), None);
        }
    }

    #[test]
    fn a_session_is_resumed_as_its_agent_wants() {
        let line = |agent: &str| resume_command(agent, "x").map(|words| words.join(" "));
        assert_eq!(line("claude-code").as_deref(), Some("claude --resume x"));
        assert_eq!(line("codex").as_deref(), Some("codex resume x"));
        assert_eq!(line("copilot").as_deref(), Some("copilot --resume=x"));
        assert_eq!(line("opencode").as_deref(), Some("opencode --session x"));
        assert_eq!(line("cline").as_deref(), Some("cline --id x"));
        assert_eq!(line("gemini").as_deref(), Some("gemini --resume x"));
        assert_eq!(line("qwen-code").as_deref(), Some("qwen --resume x"));
        assert_eq!(line("cursor").as_deref(), Some("cursor-agent --resume x"));
        assert!(ALL.iter().all(|profile| line(profile.agent.name()).is_some_and(|line| line.contains('x'))));
        assert_eq!(line("manual"), None);
    }

    #[test]
    fn a_job_of_a_ci_service_is_headless() {
        let with =
            |value: &'static str| is_headless(gemini::AGENT, "s", &|name| (name == "CI").then(|| value.to_string()));
        assert!(with("true") && with("1") && !with("") && !with("false"));
        assert!(ALL.iter().all(|profile| !is_headless(profile.agent, "s", &|_| None)));
    }

    #[test]
    fn a_payload_may_say_that_nobody_typed_a_prompt() {
        let claude = |extra: Value| {
            let mut payload =
                json!({"hook_event_name": "UserPromptSubmit", "session_id": "s", "cwd": "/p", "prompt": "p"});
            payload.as_object_mut().unwrap().extend(extra.as_object().unwrap().clone());
            parse(&BUILT_IN, claude_code::AGENT, payload.to_string().as_bytes()).unwrap().unwrap().untyped
        };
        assert_eq!(claude(json!({"permission_mode": "default", "prompt_id": "x"})), None);
        assert_eq!(claude(json!({"turnOrigin": "scheduled"})), Some(MemorySource::Scheduled));
        assert_eq!(claude(json!({"isMeta": true})), Some(MemorySource::Client));
        assert_eq!(claude(json!({"prompt_source": "sdk"})), Some(MemorySource::Headless));
        let plugin = |headless: Value| {
            let payload = json!({"event": "prompt", "sessionID": "s", "cwd": "/p", "text": "p", "headless": headless});
            parse(&BUILT_IN, opencode::AGENT, payload.to_string().as_bytes()).unwrap().unwrap().untyped
        };
        assert_eq!((plugin(json!(true)), plugin(json!(false))), (Some(MemorySource::Headless), None));
        assert_eq!(plugin(Value::Null), None, "a plugin of an earlier version");
    }

    #[test]
    fn agent_names_are_stable() {
        let known: Vec<&str> = ALL.iter().map(|profile| profile.agent.name()).collect();
        assert_eq!(known, ["claude-code", "codex", "gemini", "opencode", "cursor", "copilot", "qwen-code", "cline"]);
        assert!(ALL.iter().all(|known| find(known.agent.name()) == Some(known.agent) && known.agent.is_program()));
        assert_eq!((find("manual"), find("vim")), (None, None));
    }

    #[test]
    fn the_reply_is_exactly_what_the_host_accepts() {
        let nested = |event: &str| {
            Some(json!({"hookSpecificOutput": {"hookEventName": event, "additionalContext": "a\n\"b\""}}))
        };
        let flat = |name: &str| Some(json!({name: "a\n\"b\""}));
        for (agent, at_start, at_prompt) in [
            (claude_code::AGENT, nested("SessionStart"), nested("UserPromptSubmit")),
            (codex::AGENT, nested("SessionStart"), nested("UserPromptSubmit")),
            (gemini::AGENT, nested("SessionStart"), nested("BeforeAgent")),
            (qwen_code::AGENT, nested("SessionStart"), nested("UserPromptSubmit")),
            (copilot::AGENT, flat("additionalContext"), flat("additionalContext")),
            (opencode::AGENT, flat("additionalContext"), flat("additionalContext")),
            (cline::AGENT, flat("additionalContext"), flat("additionalContext")),
            (cursor::AGENT, flat("additional_context"), None),
        ] {
            let value = |occasion, notice| -> Option<Value> {
                reply(agent, occasion, "a\n\"b\"", notice).map(|text| serde_json::from_str(&text).unwrap())
            };
            let without = (value(Occasion::Start, None), value(Occasion::Prompt, None));
            assert_eq!(without, (at_start.clone(), at_prompt), "{agent}");
            let mut shown = at_start;
            if [claude_code::AGENT, codex::AGENT, gemini::AGENT, qwen_code::AGENT].contains(&agent) {
                shown.as_mut().unwrap()["systemMessage"] = json!("n");
            }
            assert_eq!(value(Occasion::Start, Some("n")), shown, "{agent}");
        }
    }
}
