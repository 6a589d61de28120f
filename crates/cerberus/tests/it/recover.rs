//! Sessions of every agent that were killed: what their transcripts tell beyond their hooks is carried over, and what was
//! in flight is told to the next session.

use std::path::{Path, PathBuf};
use std::process::Stdio;

use cerberus_testkit::env::{TestEnv, codes, without_first_line};
use serde_json::{Value, json};

use crate::env;
use crate::lifecycle::Agent;

const ID: &str = "0f3a9b1c-77aa-4c1e-9d1e-5a5a5a5a5a5a";

/// Second `second` of the minute in which everything happens.
fn at(second: u64) -> String {
    format!("2026-01-22T13:35:{second:02}.000Z")
}

fn millis(second: u64) -> u64 {
    1_769_088_900_000 + second * 1_000
}

fn lines(lines: &[Value]) -> String {
    lines.iter().map(|line| format!("{line}\n")).collect()
}

/// What an agent's hooks report: the start, a prompt, and an edit of `store.rs`.
type Heard = fn(cwd: &str, transcript: Option<&Path>) -> Vec<Value>;

/// What it wrote down: the same, an edit of `late.rs`, and an edit of `half.rs` and a command without a result.
type Written = fn(cwd: &str) -> String;

struct Case {
    agent: &'static str,
    heard: Heard,
    written: Written,
    /// Below the user's home; where it can be found without having been recorded.
    place: &'static str,
    /// What was in flight.
    edit: &'static str,
    command: &'static str,
}

const CASES: [Case; 8] = [
    Case {
        agent: "claude-code",
        heard: heard_by_claude,
        written: written_by_claude,
        place: ".claude/projects/CWD/ID.jsonl",
        edit: "Write: half.rs",
        command: "Bash: cargo bench",
    },
    Case {
        agent: "codex",
        heard: heard_by_codex,
        written: written_by_codex,
        place: ".codex/sessions/2026/01/22/rollout-2026-01-22T14-35-00-ID.jsonl",
        edit: "apply_patch: half.rs",
        command: "Bash: cargo bench",
    },
    Case {
        agent: "copilot",
        heard: heard_by_copilot,
        written: written_by_copilot,
        place: ".copilot/session-state/ID/events.jsonl",
        edit: "create: half.rs",
        command: "bash: cargo bench",
    },
    Case {
        agent: "gemini",
        heard: heard_by_gemini,
        written: written_by_gemini,
        place: ".gemini/tmp/hydra/chats/session-2026-01-22T13-35-0f3a9b1c.jsonl",
        edit: "write_file: half.rs",
        command: "run_shell_command: cargo bench",
    },
    Case {
        agent: "gemini",
        heard: heard_by_gemini,
        written: written_by_older_gemini,
        place: ".gemini/tmp/hydra/chats/session-2026-01-22T13-35-0f3a9b1c.json",
        edit: "write_file: half.rs",
        command: "run_shell_command: cargo bench",
    },
    Case {
        agent: "opencode",
        heard: heard_by_opencode,
        written: |_| String::new(),
        place: ".local/share/opencode/opencode.db",
        edit: "write: half.rs",
        command: "bash: cargo bench",
    },
    Case {
        agent: "qwen-code",
        heard: heard_by_qwen_code,
        written: written_by_qwen_code,
        place: ".qwen/projects/CWD/chats/ID.jsonl",
        edit: "write_file: half.rs",
        command: "run_shell_command: cargo bench",
    },
    Case {
        agent: "cline",
        heard: heard_by_cline,
        written: written_by_cline,
        place: ".cline/data/sessions/ID/ID.messages.json",
        edit: "editor: half.rs",
        command: "run_commands: cargo bench",
    },
];

fn merged(mut base: Value, extra: Value) -> Value {
    base.as_object_mut().unwrap().extend(extra.as_object().unwrap().clone());
    base
}

fn heard_by_claude(cwd: &str, transcript: Option<&Path>) -> Vec<Value> {
    let base = |name: &str, extra| {
        merged(json!({"session_id": ID, "cwd": cwd, "hook_event_name": name, "transcript_path": transcript}), extra)
    };
    let input = json!({"file_path": format!("{cwd}/store.rs"), "content": "x"});
    vec![
        base("SessionStart", json!({"source": "startup"})),
        base("UserPromptSubmit", json!({"prompt": "Write the store"})),
        base("PostToolUse", json!({"tool_name": "Write", "tool_use_id": "t1", "tool_input": input})),
    ]
}

fn written_by_claude(cwd: &str) -> String {
    let line = |kind: &str, second, content: Value| {
        json!({"type": kind, "uuid": format!("u{second}"), "sessionId": ID, "cwd": cwd, "timestamp": at(second),
            "message": {"content": content}})
    };
    let used = |id: &str, tool: &str, input: Value| json!({"type": "tool_use", "id": id, "name": tool, "input": input});
    let write = |id: &str, name: &str| used(id, "Write", json!({"file_path": format!("{cwd}/{name}"), "content": "x"}));
    let done = |id: &str| json!([{"type": "tool_result", "tool_use_id": id, "content": "ok"}]);
    lines(&[
        line("user", 1, json!("Write the store")),
        line("assistant", 2, json!([{"type": "text", "text": "I will."}, write("t1", "store.rs")])),
        line("user", 3, done("t1")),
        line("assistant", 4, json!([write("t2", "late.rs")])),
        line("user", 5, done("t2")),
        line("assistant", 6, json!([write("t3", "half.rs"), used("t4", "Bash", json!({"command": "cargo bench"}))])),
    ])
}

fn patch(name: &str) -> String {
    format!("*** Begin Patch\n*** Add File: {name}\n+x\n*** End Patch")
}

fn heard_by_codex(cwd: &str, transcript: Option<&Path>) -> Vec<Value> {
    let base = |name: &str, extra| {
        merged(json!({"session_id": ID, "cwd": cwd, "hook_event_name": name, "transcript_path": transcript}), extra)
    };
    let used = json!({"tool_name": "apply_patch", "tool_use_id": "t1", "turn_id": "1",
        "tool_input": {"command": patch("store.rs")}, "tool_response": "Exit code: 0\nOutput:\nSuccess."});
    vec![
        base("SessionStart", json!({"source": "startup"})),
        base("UserPromptSubmit", json!({"prompt": "Write the store", "turn_id": "1"})),
        base("PostToolUse", used),
    ]
}

fn written_by_codex(cwd: &str) -> String {
    let line = |second, kind: &str, payload: Value| json!({"timestamp": at(second), "type": kind, "payload": payload});
    let call = |second, id: &str, name: &str| {
        let call = json!({"type": "custom_tool_call", "name": "apply_patch", "call_id": id, "input": patch(name)});
        line(second, "response_item", call)
    };
    let done = |second, id: &str| {
        let output = "Exit code: 0\nOutput:\nSuccess.";
        line(second, "response_item", json!({"type": "custom_tool_call_output", "call_id": id, "output": output}))
    };
    let bench = json!({"cmd": "cargo bench"}).to_string();
    lines(&[
        line(0, "session_meta", json!({"id": ID, "cwd": cwd, "source": "cli"})),
        line(1, "event_msg", json!({"type": "user_message", "message": "Write the store"})),
        line(1, "event_msg", json!({"type": "agent_message", "message": "I will."})),
        call(2, "t1", "store.rs"),
        done(3, "t1"),
        call(4, "t2", "late.rs"),
        done(5, "t2"),
        call(6, "t3", "half.rs"),
        line(
            7,
            "response_item",
            json!({"type": "function_call", "name": "exec_command", "call_id": "t4", "arguments": bench}),
        ),
    ])
}

fn created(cwd: &str, name: &str) -> Value {
    json!({"path": format!("{cwd}/{name}"), "file_text": "x"})
}

fn heard_by_copilot(cwd: &str, _: Option<&Path>) -> Vec<Value> {
    let base = |second, extra| merged(json!({"sessionId": ID, "timestamp": millis(second), "cwd": cwd}), extra);
    let result = json!({"resultType": "success", "textResultForLlm": "Created"});
    vec![
        base(0, json!({"source": "new", "initialPrompt": "Write the store"})),
        base(1, json!({"prompt": "Write the store"})),
        base(3, json!({"toolName": "create", "toolArgs": created(cwd, "store.rs"), "toolResult": result})),
    ]
}

fn copilot_line(second: u64, kind: &str, data: Value) -> Value {
    json!({"type": kind, "id": format!("e{second}"), "timestamp": at(second), "data": data})
}

fn copilot_begins(second: u64, id: &str, tool: &str, arguments: Value) -> Value {
    let data = json!({"toolCallId": id, "toolName": tool, "arguments": arguments});
    copilot_line(second, "tool.execution_start", data)
}

fn copilot_ends(second: u64, id: &str) -> Value {
    let data = json!({"toolCallId": id, "success": true, "result": {"content": "ok\n<exited with exit code 0>"}});
    copilot_line(second, "tool.execution_complete", data)
}

fn written_by_copilot(cwd: &str) -> String {
    lines(&[
        copilot_line(0, "session.start", json!({"sessionId": ID, "context": {"cwd": cwd, "gitRoot": cwd}})),
        copilot_line(1, "user.message", json!({"content": "Write the store"})),
        copilot_line(1, "assistant.message", json!({"content": "I will."})),
        copilot_begins(2, "t1", "create", created(cwd, "store.rs")),
        copilot_ends(3, "t1"),
        copilot_begins(4, "t2", "create", created(cwd, "late.rs")),
        copilot_ends(5, "t2"),
        copilot_begins(6, "t3", "create", created(cwd, "half.rs")),
        copilot_begins(7, "t4", "bash", json!({"command": "cargo bench"})),
    ])
}

fn gemini_args(cwd: &str, name: &str) -> Value {
    json!({"file_path": format!("{cwd}/{name}"), "content": "x"})
}

fn heard_by_gemini(cwd: &str, transcript: Option<&Path>) -> Vec<Value> {
    let base = |name: &str, second, extra| {
        let said = json!({"session_id": ID, "cwd": cwd, "hook_event_name": name, "timestamp": at(second),
            "transcript_path": transcript});
        merged(said, extra)
    };
    let used = json!({"tool_name": "write_file", "tool_input": gemini_args(cwd, "store.rs"), "tool_response": {"llmContent": "ok"}});
    vec![
        base("SessionStart", 0, json!({"source": "startup"})),
        base("BeforeAgent", 1, json!({"prompt": "Write the store"})),
        base("AfterTool", 3, used),
    ]
}

fn gemini_messages(cwd: &str) -> Vec<Value> {
    let write = |second, id: &str, name: &str, status: &str| json!({"id": id, "name": "write_file", "args": gemini_args(cwd, name), "status": status, "timestamp": at(second)});
    let says = |second, id: &str, words: &str, calls: Vec<Value>| json!({"id": id, "timestamp": at(second), "type": "gemini", "content": words, "toolCalls": calls});
    let bench = json!({"id": "t4", "name": "run_shell_command", "args": {"command": "cargo bench"}, "status": "executing",
        "timestamp": at(7)});
    vec![
        json!({"id": "m1", "timestamp": at(1), "type": "user", "content": [{"text": "Write the store"}]}),
        says(2, "m2", "I will.", vec![write(2, "t1", "store.rs", "success")]),
        says(4, "m3", "", vec![write(4, "t2", "late.rs", "success")]),
        says(6, "m4", "", vec![write(6, "t3", "half.rs", "executing"), bench]),
    ]
}

fn written_by_gemini(cwd: &str) -> String {
    let mut all = vec![json!({"sessionId": ID, "projectHash": "9", "startTime": at(0), "kind": "main"})];
    all.extend(gemini_messages(cwd));
    lines(&all)
}

fn written_by_older_gemini(cwd: &str) -> String {
    let chat = json!({"sessionId": ID, "projectHash": "9", "startTime": at(0), "messages": gemini_messages(cwd)});
    serde_json::to_string_pretty(&chat).unwrap()
}

fn heard_by_qwen_code(cwd: &str, transcript: Option<&Path>) -> Vec<Value> {
    let base = |name: &str, second, extra| {
        let said = json!({"session_id": ID, "cwd": cwd, "hook_event_name": name, "timestamp": at(second),
            "transcript_path": transcript});
        merged(said, extra)
    };
    let used = json!({"tool_name": "write_file", "tool_use_id": "toolu_9", "tool_input": gemini_args(cwd, "store.rs"),
        "tool_response": {"llmContent": "ok"}});
    vec![
        base("SessionStart", 0, json!({"source": "startup"})),
        base("UserPromptSubmit", 1, json!({"prompt": "Write the store"})),
        base("PostToolUse", 3, used),
    ]
}

fn written_by_qwen_code(cwd: &str) -> String {
    let line = |second: u64, kind: &str, parts: Value| {
        json!({"uuid": format!("u{second}"), "sessionId": ID, "timestamp": at(second), "cwd": cwd, "type": kind,
            "message": {"parts": parts}, "toolCallResult": {"status": "success"}})
    };
    let write = |id: &str, name: &str| json!({"functionCall": {"id": id, "name": "write_file", "args": gemini_args(cwd, name)}});
    let done = |id: &str| json!([{"functionResponse": {"id": id, "response": {"output": "ok"}}}]);
    let bench = json!({"functionCall": {"id": "t4", "name": "run_shell_command", "args": {"command": "cargo bench"}}});
    lines(&[
        line(1, "user", json!([{"text": "Write the store"}])),
        line(2, "assistant", json!([{"text": "I will."}, write("t1", "store.rs")])),
        line(3, "tool_result", done("t1")),
        line(4, "assistant", json!([write("t2", "late.rs")])),
        line(5, "tool_result", done("t2")),
        line(6, "assistant", json!([write("t3", "half.rs"), bench])),
    ])
}

fn heard_by_cline(cwd: &str, _: Option<&Path>) -> Vec<Value> {
    let base = |event: &str, second, extra| {
        merged(json!({"event": event, "sessionID": ID, "cwd": cwd, "at": millis(second)}), extra)
    };
    let args = json!({"path": format!("{cwd}/store.rs"), "new_text": "x"});
    vec![
        base("start", 0, json!({"source": "startup"})),
        base("prompt", 1, json!({"id": "m1", "text": "Write the store"})),
        base("tool", 3, json!({"id": "t1", "tool": "editor", "args": args, "output": "File created"})),
    ]
}

fn written_by_cline(cwd: &str) -> String {
    let said = |second, role: &str, content: Value| json!({"id": format!("m{second}"), "role": role, "content": content, "ts": millis(second)});
    let used = |id: &str, tool: &str, input: Value| json!({"type": "tool_use", "id": id, "name": tool, "input": input});
    let write = |id: &str, name: &str| used(id, "editor", json!({"path": format!("{cwd}/{name}"), "new_text": "x"}));
    let outcome = json!({"query": "edit", "result": "File created", "success": true}).to_string();
    let done = |id: &str| json!([{"type": "tool_result", "tool_use_id": id, "content": outcome}]);
    let bench = used("t4", "run_commands", json!({"commands": ["cargo bench"]}));
    let typed = "<user_input mode=\"act\">Write the store</user_input>";
    let messages = [
        said(1, "user", json!([{"type": "text", "text": typed}])),
        said(2, "assistant", json!([{"type": "text", "text": "I will."}, write("t1", "store.rs")])),
        said(3, "user", done("t1")),
        said(4, "assistant", json!([write("t2", "late.rs")])),
        said(5, "user", done("t2")),
        said(6, "assistant", json!([write("t3", "half.rs"), bench])),
    ];
    json!({"version": 1, "agent": "lead", "sessionId": ID, "messages": messages}).to_string()
}

fn heard_by_opencode(cwd: &str, _: Option<&Path>) -> Vec<Value> {
    let base = |event: &str, second, extra| {
        merged(json!({"event": event, "sessionID": ID, "cwd": cwd, "at": millis(second)}), extra)
    };
    let args = json!({"filePath": format!("{cwd}/store.rs"), "content": "x"});
    vec![
        base("start", 0, json!({"source": "startup"})),
        base("prompt", 1, json!({"id": "m1", "text": "Write the store"})),
        base("tool", 3, json!({"id": "t1", "tool": "write", "args": args})),
    ]
}

/// The client's database; the edit of `late.rs` is a subagent's.
fn write_opencode(path: &Path, cwd: &str) {
    let database = rusqlite::Connection::open(path).unwrap();
    let tables = "CREATE TABLE session (id TEXT PRIMARY KEY, parent_id TEXT, directory TEXT, time_created INTEGER);
        CREATE TABLE message (id TEXT PRIMARY KEY, session_id TEXT, time_created INTEGER, data TEXT);
        CREATE TABLE part (id TEXT PRIMARY KEY, message_id TEXT, session_id TEXT, data TEXT);";
    database.execute_batch(tables).unwrap();
    for (id, parent) in [(ID, None), ("other", None), ("child", Some(ID))] {
        database.execute("INSERT INTO session VALUES (?1, ?2, ?3, 1)", (id, parent, cwd)).unwrap();
    }
    let message = |id: &str, session: &str, second: u64, role: &str, parts: Vec<Value>| {
        let info = json!({"role": role, "time": {"created": millis(second)}}).to_string();
        let sql = "INSERT INTO message VALUES (?1, ?2, ?3, ?4)";
        database.execute(sql, (id, session, millis(second), info)).unwrap();
        for (index, part) in parts.iter().enumerate() {
            let sql = "INSERT INTO part VALUES (?1, ?2, ?3, ?4)";
            database.execute(sql, (format!("{id}{index}"), id, session, part.to_string())).unwrap();
        }
    };
    let tool = |id: &str, tool: &str, status: &str, second: u64, input: Value| {
        let state = json!({"status": status, "input": input, "output": "ok", "time": {"end": millis(second)}});
        json!({"type": "tool", "callID": id, "tool": tool, "state": state})
    };
    let write = |id: &str, status: &str, second, name: &str| {
        tool(id, "write", status, second, json!({"filePath": format!("{cwd}/{name}"), "content": "x"}))
    };
    let text = |words: &str| json!({"type": "text", "text": words});
    message("m1", ID, 1, "user", vec![text("Write the store")]);
    message("m2", ID, 2, "assistant", vec![text("I will."), write("t1", "completed", 3, "store.rs")]);
    message("m3", "child", 4, "assistant", vec![write("t2", "completed", 5, "late.rs")]);
    let bench = tool("t4", "bash", "running", 7, json!({"command": "cargo bench"}));
    message("m4", ID, 6, "assistant", vec![write("t3", "running", 6, "half.rs"), bench]);
    message("m5", "other", 6, "assistant", vec![write("t5", "completed", 6, "other.rs")]);
}

impl Case {
    fn place(&self, env: &TestEnv) -> PathBuf {
        let project = env.project();
        let cwd: String =
            project.to_str().unwrap().chars().map(|c| if c.is_ascii_alphanumeric() { c } else { '-' }).collect();
        env.root().join("user").join(self.place.replace("ID", ID).replace("CWD", &cwd))
    }

    fn write(&self, path: &Path, cwd: &str) {
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        match self.agent {
            "opencode" => write_opencode(path, cwd),
            "cline" => {
                std::fs::write(path, (self.written)(cwd)).unwrap();
                // The folder of a session is in a file beside its messages.
                let about = path.with_file_name(format!("{ID}.json"));
                std::fs::write(about, json!({ "cwd": cwd }).to_string()).unwrap();
            }
            _ => std::fs::write(path, (self.written)(cwd)).unwrap(),
        }
    }

    /// The session is held and killed; its transcript lies at `path`.
    fn die(&self, env: &mut TestEnv, path: &Path, recorded: Option<&Path>) {
        env.set_now(Some(&at(0)));
        let project = env.project();
        let cwd = project.to_str().unwrap();
        let mut agent = Agent::start_as(env, self.agent);
        for payload in (self.heard)(cwd, recorded) {
            agent.say(payload.to_string().into_bytes());
        }
        agent.kill();
        self.write(path, cwd);
        env.set_now(Some(&at(14)));
    }

    fn check(&self, env: &TestEnv) {
        let agent = self.agent;
        let shown = without_first_line(&env.ok(&["brief"]));
        let before = journal(env);
        assert_eq!(without_first_line(&env.ok(&["brief", "--now", &at(14)])), shown, "{agent}");
        assert!(journal(env) == before, "{agent}: showing it changes nothing");
        let told = env.start("next", "startup");
        assert_eq!(shown.trim_end(), told, "{agent}");
        for code in ["impl:store.rs", "impl:late.rs", "impl:half.rs", "next:interrupted:Write the store"] {
            assert_eq!(told.lines().filter(|line| *line == code).count(), 1, "{agent}: {code} in {told}");
        }
        for what in [self.edit, self.command] {
            let code = format!("next:interrupted:{what}");
            assert_eq!(told.lines().filter(|line| **line == code).count(), 1, "{agent}: {code} in {told}");
        }
        assert!(!told.contains("other.rs"), "{agent}: {told}");
        let dead =
            |env: &TestEnv| env.sessions().into_iter().find(|session| session["agent_session_id"] == ID).unwrap();
        let session = dead(env);
        assert_eq!((&session["status"], &session["turn_count"]), (&json!("recovered"), &json!(1)), "{agent}");
        let mut edited = codes(&session, "file");
        edited.sort();
        assert_eq!(edited, ["impl:half.rs", "impl:late.rs", "impl:store.rs"], "{agent}");
        let id = session["id"].as_str().unwrap();
        assert_eq!(
            env.json(&["memory", "recover", id])["recovery_actions"],
            json!(["was already recovered"]),
            "{agent}"
        );
        env.rebuild();
        assert_eq!(dead(env), session, "{agent}: twice equals once");
    }
}

/// Everything in the journal.
fn journal(env: &TestEnv) -> Vec<u8> {
    let mut segments: Vec<_> =
        std::fs::read_dir(env.home().join("journal")).unwrap().map(|entry| entry.unwrap().path()).collect();
    segments.sort();
    segments.into_iter().flat_map(|path| std::fs::read(path).unwrap()).collect()
}

#[test]
fn a_brief_of_the_past_shows_nothing_of_a_later_transcript() {
    let mut env = env();
    let case = &CASES[0];
    let path = case.place(&env);
    case.die(&mut env, &path, None);
    let shown = env.ok(&["brief", "--now", &at(4)]);
    assert!(shown.contains("next:interrupted:Write the store") && shown.contains("impl:store.rs"), "{shown}");
    assert!(!shown.contains("late.rs") && !shown.contains("half.rs"), "{shown}");
}

#[test]
fn a_start_picks_up_the_session_that_worked_last_by_its_transcript() {
    let mut env = env();
    let case = &CASES[0];
    let path = case.place(&env);
    case.die(&mut env, &path, None);
    // Later than what hooks reported of the dead one, and earlier than what its transcript says.
    env.set_now(Some(&at(3)));
    env.hook("other", "UserPromptSubmit", json!({"prompt": "Describe the format"}));
    env.write_file("other", "t9", "format.md", "x");
    env.hook("other", "SessionEnd", json!({"reason": "other"}));
    env.set_now(Some(&at(14)));
    let reply: Value = serde_json::from_str(&env.hook("next", "SessionStart", json!({"source": "startup"}))).unwrap();
    let shown = reply["systemMessage"].as_str().unwrap();
    assert!(shown.starts_with("cerberus: picked up “Write the store” (now, crashed)"), "{shown}");
}

#[test]
fn an_edit_in_flight_counts_in_an_import() {
    for case in CASES.into_iter().filter(|case| case.agent != "opencode") {
        let env = env();
        let project = env.project();
        let path = case.place(&env);
        // Gemini's files say nothing of their folder; this one stands beside them.
        let folder = env.root().join("user/.gemini/tmp/hydra");
        std::fs::create_dir_all(&folder).unwrap();
        std::fs::write(folder.join(".project_root"), project.to_str().unwrap()).unwrap();
        case.write(&path, project.to_str().unwrap());
        let import = ["import", case.agent, "--project", project.to_str().unwrap(), path.to_str().unwrap()];
        env.ok(&import);
        let session = env.sessions()[0].clone();
        let mut edited = codes(&session, "file");
        edited.sort();
        assert_eq!(edited, ["impl:half.rs", "impl:late.rs", "impl:store.rs"], "{}", case.agent);
        assert_eq!(env.json(&import)["events"], 0, "{}", case.agent);
        assert_eq!(env.sessions(), [session], "{}", case.agent);
    }
}

/// A session whose context is full writes its handoff; after `/clear` it is told all of it.
#[test]
fn a_handoff_outlives_a_cleared_context() {
    let mut env = env();
    let case = &CASES[0];
    env.set_now(Some(&at(0)));
    let (project, path) = (env.project(), case.place(&env));
    let cwd = project.to_str().unwrap();
    for payload in heard_by_claude(cwd, Some(&path)) {
        env.hook_of("claude-code", payload.to_string().as_bytes());
    }
    case.write(&path, cwd);
    env.set_now(Some(&at(14)));
    let hand_over = |text: &str| {
        let mut command = env.command();
        let child =
            command.args(["handoff", "--json"]).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = child.spawn().unwrap();
        std::io::Write::write_all(&mut child.stdin.take().unwrap(), text.as_bytes()).unwrap();
        child.wait_with_output().unwrap()
    };
    let refused = hand_over("nothing of the kind");
    assert_eq!(refused.status.code(), Some(1));
    assert!(String::from_utf8_lossy(&refused.stderr).contains("handoff --form"));
    let text = "## Current Objective\nOne store for all\n## Completed\n- [x] open the store\n## Pending\n- [ ] bound the retries\n\
        ## Key Decisions\n- use WAL (readers must not wait)\n## Known Issues\n- [HIGH] the key has expired\n";
    let output = hand_over(text);
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let written: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(written["recorded"].as_array().unwrap().len(), 5, "{written}");
    let empty = hand_over("");
    assert!(empty.status.success(), "without input, the transcript is read");
    let end = json!({"session_id": ID, "cwd": cwd, "hook_event_name": "SessionEnd", "reason": "clear"});
    env.hook_of("claude-code", end.to_string().as_bytes());
    let told = env.start("after", "clear");
    for code in
        ["impl:store.rs", "impl:late.rs", "next:bound the retries", "dec:use WAL", "block:", "goal:One store for all"]
    {
        assert!(told.lines().any(|line| line.starts_with(code)), "{code} in {told}");
    }
    assert_eq!(without_first_line(written["text"].as_str().unwrap()), told);
}

/// Codex's hooks do not report its plan.
#[test]
fn the_plan_of_codex_is_told() {
    let env = env();
    let project = env.project();
    let cwd = project.to_str().unwrap();
    let path = CASES[1].place(&env);
    let [start, prompt, _] = &heard_by_codex(cwd, Some(&path))[..] else { panic!("three payloads") };
    env.hook_of("codex", start.to_string().as_bytes());
    env.hook_of("codex", prompt.to_string().as_bytes());
    let plan = json!({"plan": [{"step": "Parse it", "status": "completed"}, {"step": "Test it", "status": "pending"}]});
    let line = |second, kind: &str, payload: Value| json!({"timestamp": at(second), "type": kind, "payload": payload});
    let call = json!({"type": "function_call", "name": "update_plan", "call_id": "t1", "arguments": plan.to_string()});
    let output = json!({"type": "function_call_output", "call_id": "t1", "output": "Plan updated"});
    let written = lines(&[
        line(0, "session_meta", json!({"id": ID, "cwd": cwd, "source": "cli"})),
        line(1, "event_msg", json!({"type": "user_message", "message": "Write the store"})),
        line(2, "response_item", call),
        line(3, "response_item", output),
    ]);
    std::fs::create_dir_all(path.parent().unwrap()).unwrap();
    std::fs::write(&path, written).unwrap();
    let end = json!({"session_id": ID, "cwd": cwd, "hook_event_name": "SessionEnd", "transcript_path": path, "reason": "other"});
    env.hook_of("codex", end.to_string().as_bytes());
    let session = env.sessions()[0].clone();
    assert_eq!((&session["status"], &session["turn_count"]), (&json!("ended"), &json!(1)));
    assert_eq!(session["tools_used"], json!({"update_plan": 1}));
    assert_eq!(codes(&session, "next"), ["next:Test it"]);
    assert!(env.start("next", "startup").contains("next:Test it"));
}

/// Copilot's hooks do not report what it said last, and it writes its events down with a delay.
#[test]
fn the_last_words_of_copilot_are_told() {
    let mut env = env();
    let project = env.project();
    let cwd = project.to_str().unwrap();
    for (second, extra) in [
        (0, json!({"source": "new", "initialPrompt": "Write the store"})),
        (1, json!({"prompt": "Write the store"})),
        // After the message that it does not report.
        (3, json!({"stopReason": "end_turn", "transcriptPath": "/nowhere/events.jsonl"})),
        (4, json!({"reason": "complete"})),
    ] {
        env.set_now(Some(&at(second)));
        let payload = merged(json!({"sessionId": ID, "timestamp": millis(second), "cwd": cwd}), extra);
        env.hook_of("copilot", payload.to_string().as_bytes());
    }
    let path = CASES[2].place(&env);
    std::fs::create_dir_all(path.parent().unwrap()).unwrap();
    let written = lines(&[
        copilot_line(0, "session.start", json!({"sessionId": ID, "context": {"cwd": cwd, "gitRoot": cwd}})),
        copilot_line(1, "user.message", json!({"content": "Write the store"})),
        copilot_line(
            2,
            "assistant.message",
            json!({"content": "It is written.\n\nNext: wire the store into the server"}),
        ),
        copilot_line(2, "assistant.turn_end", json!({})),
        copilot_line(5, "session.shutdown", json!({})),
    ]);
    std::fs::write(&path, written).unwrap();
    env.set_now(Some(&at(14)));
    let before = journal(&env);
    let shown = without_first_line(&env.ok(&["brief"]));
    assert!(journal(&env) == before, "showing it changes nothing");
    let told = env.start("next", "startup");
    assert!(shown.contains("wire the store into the server"), "{shown} / {told}");
    assert_eq!(told, shown.trim_end());
    let session = |env: &TestEnv| env.sessions().into_iter().find(|one| one["agent_session_id"] == ID).unwrap();
    assert_eq!(session(&env)["status"], "ended");
    assert_eq!(session(&env)["turn_count"], 1);
    let after = journal(&env);
    env.ok(&["brief"]);
    assert!(journal(&env) == after, "it is completed once");
}

#[test]
fn a_transcript_is_found_where_the_agent_keeps_it() {
    for case in CASES {
        let mut env = env();
        let path = case.place(&env);
        case.die(&mut env, &path, None);
        case.check(&env);
    }
}

#[test]
fn a_transcript_is_read_where_the_sessions_start_said() {
    // The starts of these do not name it.
    for case in CASES.into_iter().filter(|case| !matches!(case.agent, "copilot" | "opencode" | "cline")) {
        let mut env = env();
        let name = Path::new(case.place).file_name().unwrap();
        let path = env.root().join("elsewhere").join(name);
        case.die(&mut env, &path, Some(&path));
        case.check(&env);
    }
}

#[test]
fn a_rollout_that_was_compressed_is_read() {
    let mut env = env();
    let case = &CASES[1];
    let path = case.place(&env);
    case.die(&mut env, &path, Some(&path));
    let mut packed = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    std::io::Write::write_all(&mut packed, &std::fs::read(&path).unwrap()).unwrap();
    std::fs::write(path.with_extension("jsonl.gz"), packed.finish().unwrap()).unwrap();
    std::fs::remove_file(&path).unwrap();
    case.check(&env);
}

/// Copilot does not name its tool uses: the third of the same is new, also where the first two are beyond the part that
/// is read.
#[test]
fn of_a_long_transcript_the_end_is_counted_right() {
    let mut env = env();
    let project = env.project();
    let cwd = project.to_str().unwrap();
    let mut all = vec![copilot_line(0, "session.start", json!({"sessionId": ID, "context": {"cwd": cwd}}))];
    let run = |second| {
        let id = format!("t{second}");
        [copilot_begins(second, &id, "bash", json!({"command": "cargo test"})), copilot_ends(second, &id)]
    };
    all.extend(run(1));
    all.extend(run(2));
    let filler = copilot_line(3, "session.info", json!({"content": "x".repeat(1000)}));
    all.extend(std::iter::repeat_n(filler, 1500));
    all.extend(run(30));
    all.push(copilot_begins(31, "t31", "bash", json!({"command": "cargo test"})));
    let path = CASES[2].place(&env);
    std::fs::create_dir_all(path.parent().unwrap()).unwrap();
    std::fs::write(&path, lines(&all)).unwrap();

    let mut agent = Agent::start_as(&env, "copilot");
    let hear = |agent: &mut Agent, second: u64, extra: Value| {
        let payload = merged(json!({"sessionId": ID, "timestamp": millis(second), "cwd": cwd}), extra);
        agent.say(payload.to_string().into_bytes());
    };
    hear(&mut agent, 0, json!({"source": "new"}));
    agent.kill();
    for second in [1, 2] {
        env.set_now(Some(&at(second)));
        let result = json!({"resultType": "success", "textResultForLlm": "ok\n<exited with exit code 0>"});
        let mut agent = Agent::start_as(&env, "copilot");
        hear(
            &mut agent,
            second,
            json!({"toolName": "bash", "toolArgs": {"command": "cargo test"}, "toolResult": result}),
        );
        agent.kill();
    }
    env.set_now(Some(&at(40)));
    let told = env.start("next", "startup");
    assert!(told.contains("next:interrupted:bash: cargo test"), "{told}");
    let sessions = env.sessions();
    let dead = sessions.iter().find(|session| session["agent_session_id"] == ID).unwrap();
    assert_eq!(dead["tools_used"], json!({"bash": 3}));
}

/// Gemini writes a tool use down when it has ended: words at the end of a chat may announce one.
#[test]
fn last_words_that_no_hook_reported_do_not_end_a_turn_of_gemini() {
    let mut env = env();
    let case = &CASES[3];
    let path = case.place(&env);
    case.die(&mut env, &path, None);
    let words = json!({"id": "m9", "timestamp": at(9), "type": "gemini", "content": "I will run the tests."});
    std::fs::write(&path, format!("{}{words}\n", written_by_gemini(env.project().to_str().unwrap()))).unwrap();
    case.check(&env);
}

#[test]
fn an_id_that_is_a_path_leads_nowhere() {
    let env = env();
    let project = env.project();
    let cwd = project.to_str().unwrap();
    let id = "../../../stolen";
    let outside = env.root().join("stolen/events.jsonl");
    std::fs::create_dir_all(outside.parent().unwrap()).unwrap();
    std::fs::create_dir_all(env.root().join("user/.copilot/session-state")).unwrap();
    std::fs::write(&outside, written_by_copilot(cwd).replace(ID, id)).unwrap();
    let mut agent = Agent::start_as(&env, "copilot");
    for mut payload in heard_by_copilot(cwd, None) {
        payload["sessionId"] = json!(id);
        agent.say(payload.to_string().into_bytes());
    }
    agent.kill();
    let told = env.start("next", "startup");
    assert!(told.contains("impl:store.rs") && !told.contains("late.rs"), "{told}");
}
