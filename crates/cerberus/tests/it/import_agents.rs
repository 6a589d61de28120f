//! `import` of what agents other than Claude Code wrote down: the same facts, wherever the files lie and however often.

use std::io::Write;
use std::path::{Path, PathBuf};

use cerberus_testkit::env::{TestEnv, codes};
use serde_json::{Value, json};

use crate::env;

fn lines(lines: &[Value]) -> String {
    lines.iter().map(|line| format!("{line}\n")).collect()
}

fn codex(session: &str, cwd: &str) -> String {
    let at = |second: u32| format!("2026-01-21T10:00:{second:02}.500Z");
    let line = |second, kind: &str, payload: Value| json!({"timestamp": at(second), "type": kind, "payload": payload});
    let patch = "*** Begin Patch\n*** Add File: src/store.rs\n+pub fn open() {}\n*** End Patch";
    let plan = json!({"plan": [{"step": "Write tests", "status": "pending"}]}).to_string();
    lines(&[
        line(0, "session_meta", json!({"id": session, "cwd": cwd, "source": "cli", "git": {"branch": "main"}})),
        line(1, "event_msg", json!({"type": "user_message", "message": "Write the store"})),
        line(
            2,
            "response_item",
            json!({"type": "custom_tool_call", "name": "apply_patch", "call_id": "call_1", "input": patch}),
        ),
        line(
            3,
            "response_item",
            json!({"type": "custom_tool_call_output", "call_id": "call_1", "output": "Exit code: 0\nOutput:\nSuccess."}),
        ),
        line(
            4,
            "response_item",
            json!({"type": "function_call", "name": "update_plan", "call_id": "call_2", "arguments": plan}),
        ),
        line(
            5,
            "response_item",
            json!({"type": "function_call_output", "call_id": "call_2", "output": "Plan updated"}),
        ),
        line(6, "event_msg", json!({"type": "task_complete", "turn_id": "t1", "last_agent_message": "All done."})),
    ])
}

fn copilot(session: &str, cwd: &str) -> String {
    let line = |second: u32, kind: &str, data: Value| json!({"type": kind, "id": format!("e{second}"), "timestamp": format!("2026-01-21T10:00:{second:02}.500Z"), "data": data});
    let path = format!("{cwd}/src/store.rs");
    let arguments = json!({"path": path, "file_text": "pub fn open() {}\n"});
    lines(&[
        line(
            0,
            "session.start",
            json!({"sessionId": session, "context": {"cwd": cwd, "gitRoot": cwd, "branch": "main"}}),
        ),
        line(1, "user.message", json!({"content": "Write the store"})),
        line(2, "tool.execution_start", json!({"toolCallId": "t1", "toolName": "create", "arguments": arguments})),
        line(
            3,
            "tool.execution_complete",
            json!({"toolCallId": "t1", "success": true, "result": {"content": "Created"}}),
        ),
        line(4, "assistant.message", json!({"content": "All done."})),
    ])
}

fn gemini(session: &str, cwd: &str) -> String {
    let args = json!({"file_path": format!("{cwd}/src/store.rs"), "content": "pub fn open() {}\n"});
    let call = json!({"id": "w1", "name": "write_file", "args": args, "status": "success", "timestamp": "2026-01-21T10:00:02Z"});
    lines(&[
        json!({"sessionId": session, "projectHash": "9", "startTime": "2026-01-21T10:00:00Z", "kind": "main"}),
        json!({"id": "m1", "timestamp": "2026-01-21T10:00:01Z", "type": "user", "content": [{"text": "Write the store"}]}),
        json!({"id": "m2", "timestamp": "2026-01-21T10:00:02Z", "type": "gemini", "content": "I will.", "toolCalls": [call]}),
        json!({"id": "m3", "timestamp": "2026-01-21T10:00:03Z", "type": "gemini", "content": "All done."}),
    ])
}

fn opencode(session: &str, cwd: &str) -> String {
    let input = json!({"filePath": format!("{cwd}/src/store.rs"), "content": "pub fn open() {}\n"});
    let state = json!({"status": "completed", "input": input, "output": "ok", "time": {"end": 1_768_989_602_000_u64}});
    let asked = json!({"info": {"id": "m1", "role": "user", "time": {"created": 1_768_989_601_000_u64}},
        "parts": [{"type": "text", "text": "Write the store"}]});
    let done = json!({"info": {"id": "m2", "role": "assistant", "time": {"created": 1_768_989_602_000_u64}},
        "parts": [{"type": "tool", "callID": "c1", "tool": "write", "state": state}, {"type": "text", "text": "All done."}]});
    let export = json!({"info": {"id": session, "directory": cwd}, "messages": [asked, done]});
    serde_json::to_string_pretty(&export).unwrap()
}

fn qwen_code(session: &str, cwd: &str) -> String {
    let line = |second: u32, kind: &str, parts: Value| {
        json!({"uuid": format!("u{second}"), "sessionId": session, "timestamp": format!("2026-01-21T10:00:{second:02}Z"),
            "cwd": cwd, "type": kind, "message": {"parts": parts}, "toolCallResult": {"status": "success"}})
    };
    let args = json!({"file_path": format!("{cwd}/src/store.rs"), "content": "pub fn open() {}\n"});
    lines(&[
        line(1, "user", json!([{"text": "Write the store"}])),
        line(2, "assistant", json!([{"functionCall": {"id": "w1", "name": "write_file", "args": args}}])),
        line(3, "tool_result", json!([{"functionResponse": {"id": "w1", "response": {"output": "ok"}}}])),
        line(4, "assistant", json!([{"text": "All done."}])),
    ])
}

fn cline(session: &str, cwd: &str) -> String {
    let said = |second: u64, role: &str, content: Value| json!({"id": format!("m{second}"), "role": role, "content": content, "ts": 1_768_989_600_000 + second * 1_000});
    let typed = "<user_input mode=\"act\">Write the store</user_input>";
    let input = json!({"path": format!("{cwd}/src/store.rs"), "new_text": "pub fn open() {}\n"});
    let outcome = json!({"query": "edit", "result": "File created", "success": true}).to_string();
    let messages = [
        said(1, "user", json!([{"type": "text", "text": typed}])),
        said(2, "assistant", json!([{"type": "tool_use", "id": "c1", "name": "editor", "input": input}])),
        said(3, "user", json!([{"type": "tool_result", "tool_use_id": "c1", "content": outcome}])),
        said(4, "assistant", json!([{"type": "text", "text": "All done."}])),
    ];
    json!({"version": 1, "agent": "lead", "sessionId": session, "messages": messages}).to_string()
}

type Written = fn(&str, &str) -> String;

/// The agent, what it writes, where below the user's home, how many events that are.
const AGENTS: [(&str, Written, &str, usize); 6] = [
    ("codex", codex, ".codex/sessions/2026/01/21/rollout-2026-01-21T10-00-00-s1.jsonl", 4),
    ("copilot", copilot, ".copilot/session-state/s1/events.jsonl", 3),
    ("gemini", gemini, ".gemini/tmp/hydra/chats/session-2026-01-21T10-00-s1.jsonl", 3),
    ("opencode", opencode, "exported/s1.json", 3),
    ("qwen-code", qwen_code, ".qwen/projects/-hydra/chats/s1.jsonl", 3),
    ("cline", cline, ".cline/data/sessions/s1/s1.messages.json", 3),
];

fn write(path: &Path, bytes: impl AsRef<[u8]>) {
    std::fs::create_dir_all(path.parent().unwrap()).unwrap();
    std::fs::write(path, bytes).unwrap();
}

fn keep(env: &TestEnv, below: &str, text: &str) -> PathBuf {
    let path = env.root().join("user").join(below);
    write(&path, text);
    path
}

#[test]
fn every_agents_transcript_carries_over_once() {
    for (agent, written, below, events) in AGENTS {
        let env = env();
        let file = keep(&env, below, &written("s1", "/home/somebody/project"));
        // The files of Gemini and Cline say nothing of their folder; these stand beside them.
        keep(&env, ".gemini/tmp/hydra/.project_root", "/home/somebody/project");
        keep(&env, ".cline/data/sessions/s1/s1.json", "{\"cwd\": \"/home/somebody/project\"}");
        let project = env.project();
        let args = ["import", agent, "--project", project.to_str().unwrap(), file.to_str().unwrap()];
        let report = env.json(&args);
        assert_eq!((&report["sessions"], &report["events"]), (&json!(1), &json!(events)), "{agent}");
        assert_eq!(report["agents"][agent]["events"], events, "{agent}");
        let session = env.sessions()[0].clone();
        assert_eq!(codes(&session, "file"), ["impl:src/store.rs"], "{agent}");
        assert_eq!((&session["agent"], &session["turn_count"]), (&json!(agent), &json!(1)), "{agent}");
        assert_eq!((&session["status"], &session["end_trigger"]), (&json!("ended"), &json!("import")), "{agent}");
        assert!(
            env.brief().contains("last:Write the store") && env.brief().contains("\nimpl:src/store.rs"),
            "{agent}: {}",
            env.brief()
        );

        let again = env.json(&args);
        assert_eq!((&again["events"], &again["known_events"]), (&json!(0), &json!(events)), "{agent}");
        assert_eq!(env.sessions(), [session], "{agent}");
    }
}

#[test]
fn compressed_transcripts_are_the_same() {
    let gz = |bytes: &[u8]| {
        let mut gz = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
        gz.write_all(bytes).unwrap();
        gz.finish().unwrap()
    };
    let zstd = |bytes: &[u8]| zstd::bulk::compress(bytes, 1).unwrap();
    let text = codex("s1", "/home/somebody/project");
    let (begin, end) = text.as_bytes().split_at(text.len() / 2);
    for (ending, bytes) in [
        ("gz", gz(text.as_bytes())),
        ("zst", zstd(text.as_bytes())),
        ("gz", [gz(begin), gz(end)].concat()),
        ("zst", [zstd(begin), zstd(end)].concat()),
    ] {
        let env = env();
        let file = env.root().join(format!("kept/rollout-s1.jsonl.{ending}"));
        write(&file, bytes);
        let project = env.project();
        let folder = env.root().join("kept");
        let report = env.json(&["import", "codex", "--project", project.to_str().unwrap(), folder.to_str().unwrap()]);
        assert_eq!(
            (&report["files"], &report["events"], &report["damaged_lines"]),
            (&json!(1), &json!(4), &json!(0)),
            "{ending}"
        );
        assert_eq!(codes(&env.sessions()[0], "file"), ["impl:src/store.rs"]);
    }
}

#[test]
fn a_broken_archive_is_said_and_costs_only_itself() {
    let env = env();
    write(&env.root().join("kept/a.jsonl.zst"), "no archive");
    write(&env.root().join("kept/b.jsonl"), codex("s1", "/home/somebody/project"));
    let output = env.run(&["import", "codex", env.root().join("kept").to_str().unwrap()]);
    assert_eq!(output.status.code(), Some(1));
    assert!(String::from_utf8_lossy(&output.stdout).starts_with("2 files: 1 session, 4 new events"));
    assert!(String::from_utf8_lossy(&output.stderr).contains("1 file could not be read"));
}

#[test]
fn without_an_agent_all_that_any_of_them_keeps_is_imported() {
    let env = env();
    assert_eq!(env.ok(&["import"]), "no transcripts were found on this machine\n");
    for (_, written, below, _) in AGENTS {
        keep(&env, below, &written("s1", env.project().to_str().unwrap()));
    }
    keep(&env, ".gemini/tmp/hydra/.project_root", env.project().to_str().unwrap());
    keep(&env, ".cline/data/sessions/s1/s1.json", &json!({ "cwd": env.project() }).to_string());
    keep(&env, ".gemini/tmp/hydra/logs.json", "[]");
    keep(&env, ".copilot/session-state/s1/files/notes.jsonl", "{}");
    let printed = env.ok(&["import"]);
    let expected = "cline: 1 file: 1 session, 3 new events, 0 already known\n\
        codex: 1 file: 1 session, 4 new events, 0 already known\n\
        copilot: 1 file: 1 session, 3 new events, 0 already known\n\
        gemini: 1 file: 1 session, 3 new events, 0 already known\n\
        qwen-code: 1 file: 1 session, 3 new events, 0 already known\n";
    assert!(printed.starts_with(expected), "opencode's exports lie nowhere of their own: {printed}");
    let report = env.json(&["import"]);
    assert_eq!((&report["files"], &report["events"], &report["known_events"]), (&json!(5), &json!(0), &json!(16)));
    assert_eq!(report["agents"]["codex"]["known_events"], 4);
}

#[test]
fn where_an_agent_was_told_to_keep_things_is_where_they_are_looked_for() {
    for (variable, agent, below) in [
        ("CODEX_HOME", "codex", "archived_sessions/rollout-s1.jsonl"),
        ("COPILOT_HOME", "copilot", "session-state/s1/events.jsonl"),
        ("GEMINI_CLI_HOME", "gemini", ".gemini/tmp/hydra/chats/session-s1.jsonl"),
        ("QWEN_HOME", "qwen-code", "projects/-hydra/chats/s1.jsonl"),
        ("CLINE_DIR", "cline", "data/sessions/s1/s1.messages.json"),
        ("CLINE_DATA_DIR", "cline", "sessions/s1/s1.messages.json"),
    ] {
        let env = env();
        let (_, written, ..) = AGENTS.into_iter().find(|(name, ..)| *name == agent).unwrap();
        let elsewhere = env.root().join("elsewhere");
        write(&elsewhere.join(below), written("s1", "/home/somebody/project"));
        let output = env.command().args(["import", agent]).env(variable, &elsewhere).output().unwrap();
        assert!(String::from_utf8_lossy(&output.stdout).starts_with("1 file: 1 session"), "{agent}: {output:?}");
    }
}

#[test]
fn a_path_needs_the_agent_that_wrote_it() {
    let env = env();
    let output = env.run(&["import", "rollout.jsonl"]);
    assert_eq!(output.status.code(), Some(2), "a usage error");
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(said.contains("give the agent before any PATH, one of claude-code, cline, codex"), "{said}");
}

#[test]
fn a_subagents_chat_belongs_to_the_session_that_started_it() {
    let env = env();
    let root = env.project();
    keep(&env, ".gemini/tmp/hydra/.project_root", root.to_str().unwrap());
    keep(&env, ".gemini/tmp/hydra/chats/session-2026-s1.jsonl", &gemini("s1", root.to_str().unwrap()));
    let subagent = gemini("s2", root.to_str().unwrap())
        .replace("\"kind\":\"main\"", "\"kind\":\"subagent\"")
        .replace("store.rs", "sub.rs");
    keep(&env, ".gemini/tmp/hydra/chats/s1/s2.jsonl", &subagent);
    env.ok(&["import", "gemini"]);
    let sessions = env.sessions();
    assert_eq!(sessions.len(), 1);
    let mut edited = codes(&sessions[0], "file");
    edited.sort();
    assert_eq!(edited, ["impl:src/store.rs", "impl:src/sub.rs"]);
    assert_eq!(sessions[0]["turn_count"], 1);
}

#[test]
fn what_cannot_be_put_back_for_its_agent_is_said() {
    let env = env();
    let (root, chat) = (env.project(), ".gemini/tmp/hydra/chats/session-2026-s1.jsonl");
    keep(&env, ".gemini/tmp/hydra/.project_root", root.to_str().unwrap());
    let chat = keep(&env, chat, &gemini("s1", root.to_str().unwrap()));
    env.ok(&["import", "gemini"]);
    std::fs::remove_file(chat).unwrap();
    let output = env.run(&["resume", "--print"]);
    let told = String::from_utf8_lossy(&output.stderr);
    assert!(told.contains("cannot be put back where gemini keeps it; `cerberus show"), "{told}");
    assert!(told.contains("--in AGENT` starts a new session"), "{told}");
    assert!(env.ok(&["show", "--full"]).contains("All done."));
}

#[test]
fn opencodes_own_database_is_read_where_it_lies() {
    let env = env();
    let path = env.root().join("data/opencode/opencode.db");
    std::fs::create_dir_all(path.parent().unwrap()).unwrap();
    let database = rusqlite::Connection::open(&path).unwrap();
    let tables = "CREATE TABLE session (id TEXT, parent_id TEXT, directory TEXT, time_created INTEGER);
        CREATE TABLE message (id TEXT, session_id TEXT, time_created INTEGER, data TEXT);
        CREATE TABLE part (id TEXT, message_id TEXT, session_id TEXT, data TEXT);";
    database.execute_batch(tables).unwrap();
    let export: Value = serde_json::from_str(&opencode("s1", env.project().to_str().unwrap())).unwrap();
    let directory = export["info"]["directory"].as_str().unwrap();
    database.execute("INSERT INTO session VALUES ('s1', NULL, ?1, 1)", [directory]).unwrap();
    for (number, message) in export["messages"].as_array().unwrap().iter().enumerate() {
        let (id, data) = (format!("m{number}"), message["info"].to_string());
        database.execute("INSERT INTO message VALUES (?1, 's1', ?2, ?3)", (&id, number, data)).unwrap();
        for (index, part) in message["parts"].as_array().unwrap().iter().enumerate() {
            let sql = "INSERT INTO part VALUES (?1, ?2, 's1', ?3)";
            database.execute(sql, (format!("p{number}{index}"), &id, part.to_string())).unwrap();
        }
    }
    database.execute("INSERT INTO message VALUES ('m9', 's1', 9, 'damaged')", []).unwrap();
    drop(database);
    let before = std::fs::read(&path).unwrap();
    for (events, known) in [(3, 0), (0, 3)] {
        let mut command = env.command();
        let output = command.args(["import", "--json"]).env("XDG_DATA_HOME", env.root().join("data")).output().unwrap();
        let report: Value = serde_json::from_slice(&output.stdout).unwrap();
        let report = &report["agents"]["opencode"];
        assert_eq!((&report["sessions"], &report["damaged_lines"]), (&json!(1), &json!(1)));
        assert_eq!((&report["events"], &report["known_events"]), (&json!(events), &json!(known)));
    }
    assert_eq!(codes(&env.sessions()[0], "file"), ["impl:src/store.rs"]);
    assert_eq!(std::fs::read(&path).unwrap(), before, "it is theirs");
}

type Heard = fn(&str) -> Vec<Value>;

/// What the agents' hooks heard of the very sessions above.
#[test]
fn a_session_that_hooks_saw_counts_once() {
    let root = |env: &TestEnv| env.project().to_str().unwrap().to_string();
    let heard: [(&str, Heard); 5] = [
        ("codex", |cwd| {
            let base = |name: &str, extra: Value| {
                merged(json!({"session_id": "s1", "cwd": cwd, "hook_event_name": name}), extra)
            };
            let patch = "*** Begin Patch\n*** Add File: src/store.rs\n+pub fn open() {}\n*** End Patch";
            vec![
                base("SessionStart", json!({"source": "startup"})),
                base("UserPromptSubmit", json!({"prompt": "Write the store", "turn_id": "t1"})),
                base(
                    "PostToolUse",
                    json!({"tool_name": "apply_patch", "tool_use_id": "call_1", "tool_input": {"command": patch}, "tool_response": "Exit code: 0\nOutput:\nSuccess."}),
                ),
            ]
        }),
        ("copilot", |cwd| {
            let base = |extra: Value| {
                merged(json!({"sessionId": "s1", "timestamp": 1_768_989_603_000_u64, "cwd": cwd}), extra)
            };
            let args = json!({"path": format!("{cwd}/src/store.rs"), "file_text": "pub fn open() {}\n"});
            let result = json!({"resultType": "success", "textResultForLlm": "Created"});
            vec![
                base(json!({"source": "new", "initialPrompt": "Write the store"})),
                base(json!({"prompt": "Write the store"})),
                base(json!({"toolName": "create", "toolArgs": args, "toolResult": result})),
            ]
        }),
        ("cline", |cwd| {
            let base = |event: &str, extra: Value| {
                merged(json!({"event": event, "sessionID": "s1", "cwd": cwd, "at": 1_768_989_602_000_u64}), extra)
            };
            let args = json!({"path": format!("{cwd}/src/store.rs"), "new_text": "pub fn open() {}\n"});
            vec![
                base("start", json!({"source": "startup"})),
                base("prompt", json!({"id": "m1", "text": "Write the store"})),
                base("tool", json!({"id": "c1", "tool": "editor", "args": args, "output": "File created"})),
            ]
        }),
        ("qwen-code", |cwd| {
            let base = |name: &str, extra: Value| {
                merged(
                    json!({"session_id": "s1", "cwd": cwd, "hook_event_name": name, "timestamp": "2026-01-21T10:00:02Z"}),
                    extra,
                )
            };
            let args = json!({"file_path": format!("{cwd}/src/store.rs"), "content": "pub fn open() {}\n"});
            vec![
                base("SessionStart", json!({"source": "startup"})),
                base("UserPromptSubmit", json!({"prompt": "Write the store"})),
                base("PostToolUse", json!({"tool_name": "write_file", "tool_use_id": "x9", "tool_input": args})),
                base("UserPromptSubmit", json!({"prompt": ""})),
            ]
        }),
        ("gemini", |cwd| {
            let base = |name: &str, extra: Value| {
                merged(
                    json!({"session_id": "s1", "cwd": cwd, "hook_event_name": name, "timestamp": "2026-01-21T10:00:02Z"}),
                    extra,
                )
            };
            let args = json!({"file_path": format!("{cwd}/src/store.rs"), "content": "pub fn open() {}\n"});
            vec![
                base("SessionStart", json!({"source": "startup"})),
                base("BeforeAgent", json!({"prompt": "Write the store"})),
                base(
                    "AfterTool",
                    json!({"tool_name": "write_file", "tool_input": args, "tool_response": {"llmContent": "ok"}}),
                ),
            ]
        }),
    ];
    for (agent, payloads) in heard {
        let env = env();
        let cwd = root(&env);
        for payload in payloads(&cwd) {
            hook(&env, agent, &payload);
        }
        let (_, written, below, _) = AGENTS.into_iter().find(|(name, ..)| *name == agent).unwrap();
        let file = keep(&env, below, &written("s1", &cwd));
        keep(&env, ".gemini/tmp/hydra/.project_root", &cwd);
        let report = env.json(&["import", agent, file.to_str().unwrap()]);
        assert_eq!(report["known_events"], 2, "{agent}: the prompt and the edit");
        let sessions = env.sessions();
        assert_eq!((sessions.len(), &sessions[0]["turn_count"]), (1, &json!(1)), "{agent}");
        assert_eq!(sessions[0]["status"], "active", "{agent}: a live session is not ended by an import");
    }
}

fn merged(mut base: Value, extra: Value) -> Value {
    base.as_object_mut().unwrap().extend(extra.as_object().unwrap().clone());
    base
}

fn hook(env: &TestEnv, agent: &str, payload: &Value) {
    let mut command = env.command();
    command.args(["hook", agent]).stdin(std::process::Stdio::piped()).stdout(std::process::Stdio::null());
    let mut child = command.spawn().unwrap();
    child.stdin.take().unwrap().write_all(payload.to_string().as_bytes()).unwrap();
    assert!(child.wait().unwrap().success());
}
