//! What the agents of the simulation send: payloads in the shapes of three clients, and transcripts of one.

use std::path::Path;

use cerberus_checks::enforce::CheckCapability;
use cerberus_record::check::{CheckChange, CheckLevel};
use cerberus_record::clean::text::Clean;
use cerberus_store::capability::Capabilities;
use serde_json::{Value, json};

use super::random::Random;

/// No step of the simulation is a loop or an exchange.
pub const CAPABILITIES: Capabilities<'static> = &[&CheckCapability];

pub const AGENTS: [&str; 3] = ["claude-code", "codex", "gemini"];

const PROMPTS: [&str; 9] = [
    "Add a mutex to the process struct",
    "always run the tests before you commit",
    "no, don't use mocks, use the real database",
    "let's go with SQLite because readers must not wait",
    "keep it short",
    "what does proxy.rs do?",
    "fix the failing test in src/lib.rs",
    "from now on write commit messages in English",
    "yes, option 2",
];

const MESSAGES: [&str; 4] = [
    "Done: the mutex is in src/process.rs. Next: measure the hook.",
    "I could not run the tests, the database is not reachable.",
    "Two options: 1. split src/proxy.rs 2. leave it. Which one?",
    "All tests pass now.",
];

const FILES: [&str; 5] = ["src/lib.rs", "src/proxy.rs", "src/process.rs", "README.md", "tests/race.rs"];

/// One event that an agent reports.
pub struct Payload {
    pub name: &'static str,
    pub json: Value,
}

/// What the user says about the check of one of three memories.
pub fn check(random: &mut Random) -> CheckChange<'static> {
    CheckChange {
        memory: Clean::word(random.pick::<&'static str>(&["m-0", "m-1", "m-2"])),
        rule: vec![Clean::word("--forbid"), Clean::word("npm")],
        level: *random.pick(&CheckLevel::ALL),
        content: Clean::word("0"),
        device: Clean::word("1"),
        allows_once: random.once_in(2),
    }
}

pub fn start(agent: &str, session: &str, cwd: &Path, source: &str, number: usize) -> Payload {
    let name = "start";
    let json = with(agent, session, cwd, number, "SessionStart", json!({"source": source}));
    Payload { name, json }
}

/// A random event in the middle of a session.
pub fn anything(agent: &str, session: &str, cwd: &Path, number: usize, random: &mut Random) -> Payload {
    let file = cwd.join(random.pick(&FILES));
    let is_gemini = agent == "gemini";
    let tool = |name: &str, input: Value, response: Value| {
        let event = if is_gemini { "AfterTool" } else { "PostToolUse" };
        let id = format!("use-{number}");
        let fields = json!({"tool_name": name, "tool_use_id": id, "tool_input": input, "tool_response": response});
        with(agent, session, cwd, number, event, fields)
    };
    match random.below(9) {
        0 | 1 => {
            let prompt = random.pick(&PROMPTS);
            let event = if is_gemini { "BeforeAgent" } else { "UserPromptSubmit" };
            Payload { name: "prompt", json: with(agent, session, cwd, number, event, json!({"prompt": prompt})) }
        }
        2 | 3 => {
            let name = if is_gemini { "write_file" } else { "Write" };
            let content = format!("fn made_{number}() {{}}\n");
            let json = tool(name, json!({"file_path": file, "content": content}), json!({"structuredPatch": []}));
            Payload { name: "edit", json }
        }
        4 => {
            let name = if is_gemini { "read_file" } else { "Read" };
            Payload { name: "read", json: tool(name, json!({"file_path": file}), json!({})) }
        }
        5 => {
            let name = if is_gemini { "run_shell_command" } else { "Bash" };
            let (passed, failed) = if random.once_in(2) { (3, 0) } else { (2, 1) };
            let verdict = if failed > 0 { "FAILED" } else { "ok" };
            let output = format!(
                "running 3 tests\ntest race ... {verdict}\n\ntest result: {verdict}. {passed} passed; {failed} failed; 0 ignored; 0 measured; 0 filtered out; finished in 0.01s\n"
            );
            let response = json!({"stdout": output, "stderr": "", "llmContent": output});
            Payload { name: "test run", json: tool(name, json!({"command": "cargo test"}), response) }
        }
        6 => {
            let todos = json!([
                {"content": "Measure the hook", "status": if random.once_in(2) { "completed" } else { "pending" }},
                {"content": format!("Step {number}"), "status": "pending"},
            ]);
            Payload { name: "todo list", json: tool("TodoWrite", json!({"todos": todos}), json!({})) }
        }
        7 => {
            let message = random.pick(&MESSAGES);
            let event = if is_gemini { "AfterAgent" } else { "Stop" };
            let fields = json!({"last_assistant_message": message, "prompt_response": message});
            Payload { name: "stop", json: with(agent, session, cwd, number, event, fields) }
        }
        _ => {
            let json = with(agent, session, cwd, number, "SessionEnd", json!({"reason": "other"}));
            Payload { name: "end", json }
        }
    }
}

fn with(agent: &str, session: &str, cwd: &Path, number: usize, event: &str, fields: Value) -> Value {
    let mut payload = json!({
        "session_id": session, "cwd": cwd, "hook_event_name": event, "transcript_path": "/nowhere/t.jsonl",
        "turn_id": format!("turn-{number}"), "prompt_id": format!("prompt-{number}"),
    });
    if agent == "gemini" {
        payload["timestamp"] = json!(format!("2026-01-22T10:00:00.{:03}Z", number % 1000));
    }
    let all = payload.as_object_mut().expect("an object");
    all.extend(fields.as_object().expect("an object").clone());
    payload
}

/// A transcript of Claude Code with a few turns.
pub fn transcript(session: &str, cwd: &Path, at: &str, number: usize, random: &mut Random) -> Vec<u8> {
    let mut lines = Vec::new();
    for turn in 0..1 + random.below(3) {
        let id = |what: &str| format!("{what}-{number}-{turn}");
        let base = |kind: &str, uuid: String| json!({"type": kind, "uuid": uuid, "sessionId": session, "cwd": cwd, "timestamp": at, "version": "2.1.325"});
        let mut prompt = base("user", id("u"));
        prompt["message"] = json!({"role": "user", "content": random.pick(&PROMPTS)});
        prompt["promptId"] = json!(id("p"));
        let mut answer = base("assistant", id("a"));
        let file = cwd.join(random.pick(&FILES));
        answer["message"] = json!({"role": "assistant", "id": id("m"), "content": [
            {"type": "tool_use", "id": id("use"), "name": "Write", "input": {"file_path": file, "content": "fn t() {}\n"}},
        ]});
        let mut result = base("user", id("r"));
        result["message"] =
            json!({"role": "user", "content": [{"type": "tool_result", "tool_use_id": id("use"), "content": "ok"}]});
        let mut words = base("assistant", id("w"));
        words["message"] =
            json!({"role": "assistant", "id": id("n"), "content": [{"type": "text", "text": random.pick(&MESSAGES)}]});
        lines.extend([prompt, answer, result, words]);
    }
    lines.push(json!({"type": "ai-title", "aiTitle": format!("Work {number}"), "sessionId": session}));
    lines.iter().map(|line| format!("{line}\n")).collect::<String>().into_bytes()
}
