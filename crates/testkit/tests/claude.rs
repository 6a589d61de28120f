//! The real Claude Code against the scripted model server: what every later test with it stands on.

// Clippy takes what stands beside the test functions for production code.
#![allow(clippy::unwrap_used, clippy::panic)]

use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};

use cerberus_testkit::clients::claude_code::ClaudeCode;
use cerberus_testkit::clients::{Client, Place};
use cerberus_testkit::model_server::{ModelServer, Reply, request_text};
use cerberus_testkit::process::{LIMIT, Running, kill_group, running_in, wait_until};
use cerberus_testkit::scratch::Scratch;
use serde_json::{Value, json};

const SIGKILL: i32 = 9;
const MARKER: &str = "MARKER-6f1d: the parser was left half done";
const EVENTS: [&str; 6] = ["SessionStart", "UserPromptSubmit", "PreToolUse", "PostToolUse", "Stop", "SessionEnd"];

/// Hooks every event to a recorder; the one of SessionStart also hands the marker to the model.
fn install_recorder(scratch: &Scratch) -> PathBuf {
    let record = scratch.root().join("hooks.jsonl");
    let context = json!({
        "hookSpecificOutput": { "hookEventName": "SessionStart", "additionalContext": MARKER },
    });
    let hooks: serde_json::Map<String, Value> = EVENTS
        .iter()
        .map(|event| {
            let answer = if *event == "SessionStart" { context.to_string() } else { String::new() };
            let script = r#"cat >> "$0"; printf %s "$1""#;
            let handler = json!({
                "type": "command", "command": "/bin/sh", "args": ["-c", script, record, answer], "timeout": 60,
            });
            ((*event).to_owned(), json!([{ "hooks": [handler] }]))
        })
        .collect();
    let settings = scratch.home().join(".claude");
    std::fs::create_dir(&settings).unwrap();
    std::fs::write(settings.join("settings.json"), json!({ "hooks": hooks }).to_string()).unwrap();
    record
}

/// The recorded payloads, one JSON object after the other.
fn payloads(record: &Path) -> Vec<Value> {
    let text = std::fs::read_to_string(record).unwrap();
    serde_json::Deserializer::from_str(&text).into_iter().map(Result::unwrap).collect()
}

/// The events as they came, each with its tool if it has one.
fn event_names(payloads: &[Value]) -> Vec<String> {
    let name = |payload: &Value| {
        let event = payload["hook_event_name"].as_str().unwrap();
        payload["tool_name"].as_str().map_or(event.to_owned(), |tool| format!("{event} {tool}"))
    };
    payloads.iter().map(name).collect()
}

#[test]
fn a_scripted_session_acts_and_fires_its_hooks() {
    let scratch = Scratch::new();
    let record = install_recorder(&scratch);
    let written = scratch.repo().join("notes.txt");
    let server = ModelServer::start([
        Reply::text("Writing.").and_tool("Write", json!({ "file_path": written, "content": "half done\n" })),
        Reply::tool("Bash", json!({ "command": "wc -l notes.txt && touch ran", "description": "Count lines" })),
        Reply::text("All written."),
    ]);

    let mut session =
        Running::spawn(&mut ClaudeCode.session(&Place::new(&scratch, &server), "Write the notes")).unwrap();
    let finished = session.wait(LIMIT).unwrap();

    assert!(finished.status.success(), "{finished:?}");
    assert_eq!(std::fs::read_to_string(&written).unwrap(), "half done\n");
    assert!(scratch.repo().join("ran").exists());
    let expected = [
        "SessionStart",
        "UserPromptSubmit",
        "PreToolUse Write",
        "PostToolUse Write",
        "PreToolUse Bash",
        "PostToolUse Bash",
        "Stop",
        "SessionEnd",
    ];
    let payloads = payloads(&record);
    assert_eq!(event_names(&payloads), expected);
    assert_eq!(payloads[1]["prompt"], "Write the notes");
    assert_eq!(payloads[6]["last_assistant_message"], "All written.");

    let requests = server.main_requests();
    assert_eq!(requests.len(), 3, "{:?}", server.received());
    let first = request_text(&requests[0]);
    assert!(first.contains(MARKER) && first.contains("Write the notes"), "{first}");
    assert!(request_text(&requests[2]).contains("1 notes.txt"), "the model sees what Bash printed");
}

#[test]
fn a_killed_session_leaves_nothing_running_and_no_session_end() {
    let scratch = Scratch::new();
    let record = install_recorder(&scratch);
    let server = ModelServer::start([
        Reply::tool("Bash", json!({ "command": "touch ran", "description": "Leave a trace" })),
        Reply::hang(),
    ]);

    let mut session =
        Running::spawn(&mut ClaudeCode.session(&Place::new(&scratch, &server), "Start and never end")).unwrap();
    let group = session.pid();
    server.wait_for_main_requests(2, LIMIT).unwrap();
    let running = running_in(group, scratch.root());
    assert!(running.iter().any(|one| one.starts_with(&format!("{group} "))), "{running:?}");

    kill_group(group).unwrap();
    let finished = session.wait(LIMIT).unwrap();
    assert_eq!(finished.status.signal(), Some(SIGKILL), "{finished:?}");
    let nothing_runs = || running_in(group, scratch.root()).is_empty().then_some(());
    wait_until("the whole group to be gone", LIMIT, nothing_runs).unwrap();

    assert!(scratch.repo().join("ran").exists());
    let expected = ["SessionStart", "UserPromptSubmit", "PreToolUse Bash", "PostToolUse Bash"];
    assert_eq!(event_names(&payloads(&record)), expected);
}
