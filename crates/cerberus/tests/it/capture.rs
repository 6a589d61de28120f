//! From payload to brief: what is captured, what counts once, what a session is told and when.

use cerberus_testkit::env::codes;
use serde_json::{Value, json};

use crate::env;

#[test]
fn the_same_event_twice_counts_once() {
    let env = env();
    for _ in 0..3 {
        env.start("s1", "startup");
        env.hook("s1", "UserPromptSubmit", json!({"prompt": "go on", "prompt_id": "p1"}));
        env.write_file("s1", "toolu_1", "a.rs", "fn a() {}\n");
        env.hook("s1", "SessionEnd", json!({"reason": "other"}));
    }
    let sessions = env.sessions();
    assert_eq!(sessions.len(), 1);
    assert_eq!((&sessions[0]["tools_used"], &sessions[0]["turn_count"]), (&json!({"Write": 1}), &json!(1)));
    assert_eq!(sessions[0]["status"], "ended");
}

#[test]
fn a_session_can_end_and_go_on() {
    let mut env = env();
    env.start("s1", "startup");
    env.hook("s1", "SessionEnd", json!({"reason": "prompt_input_exit"}));
    let session = env.sessions()[0].clone();
    assert_eq!((&session["status"], &session["end_trigger"]), (&json!("ended"), &json!("prompt_input_exit")));
    env.set_now(Some("2026-01-22T14:00:00Z"));
    env.start("s1", "resume");
    assert_eq!(env.sessions()[0]["status"], "active");
    env.hook("s1", "SessionEnd", json!({"reason": "prompt_input_exit"}));
    assert_eq!(env.sessions()[0]["ended_at"], "2026-01-22T14:00:00Z");
}

#[test]
fn the_past_is_reproduced_and_reading_it_changes_nothing() {
    let mut env = env();
    env.start("s1", "startup");
    env.write_file("s1", "toolu_1", "a.rs", "fn a() {}\n");
    env.ok(&["record", "next", "write tests"]);
    let then = env.json(&["brief"]);
    env.set_now(Some("2026-01-23T09:00:00Z"));
    env.write_file("s1", "toolu_2", "b/a.rs", "fn b() {}\n");
    env.ok(&["record", "done", "write tests"]);
    env.hook("s1", "SessionEnd", json!({"reason": "other"}));
    assert_eq!(env.brief(), "proj:hydra\nimpl:b/a.rs b\nimpl:a.rs a");
    assert_eq!(env.json(&["brief", "--now", "2026-01-22T13:35:14Z"]), then);
    assert_eq!(env.json(&["brief", "--now", "2026-01-22T13:35:13Z"])["text"], "");
    let sessions =
        env.json(&["memory", "session-status", "--all", "--now", "2026-01-22T13:50:00Z"])["sessions"].clone();
    assert_eq!(
        (&sessions[0]["status"], &sessions[0]["last_activity"]),
        (&json!("active"), &json!("2026-01-22T13:35:14Z"))
    );
}

#[test]
fn subagents_belong_to_the_session_and_notifications_are_no_turn() {
    let env = env();
    env.start("s1", "startup");
    let tool = json!({"tool_name": "Bash", "tool_use_id": "toolu_9", "tool_input": {"command": "ls"},
        "agent_id": "a67", "agent_type": "general-purpose"});
    env.hook("s1", "PostToolUse", tool);
    env.hook("s1", "SubagentStop", json!({"agent_id": "a67", "agent_type": "general-purpose"}));
    env.hook("s1", "UserPromptSubmit", json!({"prompt": "<task-notification>\n<task-id>a67</task-id>"}));
    let sessions = env.sessions();
    assert_eq!(sessions.len(), 1);
    assert_eq!((&sessions[0]["tools_used"], &sessions[0]["turn_count"]), (&json!({"Bash": 1}), &json!(0)));
}

#[test]
fn tasks_and_todos_come_and_go() {
    let env = env();
    env.start("s1", "startup");
    let tool = |name: &str, id: &str, input: Value, response: Value| {
        let extra = json!({"tool_name": name, "tool_use_id": id, "tool_input": input, "tool_response": response});
        env.hook("s1", "PostToolUse", extra);
    };
    tool("TaskCreate", "t1", json!({"subject": "Write tests"}), json!({"task": {"id": "1"}}));
    tool("TaskCreate", "t2", json!({"subject": "Update the docs"}), json!({"task": {"id": "2"}}));
    let todos = |names: &[(&str, &str)]| {
        let list: Vec<Value> = names.iter().map(|(name, status)| json!({"content": name, "status": status})).collect();
        json!({"todos": list})
    };
    tool("TodoWrite", "t3", todos(&[("Parse flags", "in_progress"), ("Draw a picture", "pending")]), json!({}));
    assert_eq!(
        env.brief(),
        "proj:hydra\nnext:Write tests\nnext:Update the docs\nnext:Parse flags\nnext:Draw a picture"
    );
    env.hook("s1", "TaskCompleted", json!({"task_id": "1", "task_subject": "Write tests"}));
    tool("TaskUpdate", "t4", json!({"taskId": "2", "status": "deleted"}), json!({}));
    tool("TodoWrite", "t5", todos(&[("Parse flags", "completed")]), json!({}));
    assert_eq!(env.brief(), "");
    assert_eq!(codes(&env.sessions()[0], "done"), ["done:Write tests", "done:Parse flags"]);
}

#[test]
fn what_is_told_depends_on_how_the_session_begins() {
    let mut env = env();
    env.start("old", "startup");
    env.write_file("old", "t1", "old.rs", "");
    assert_eq!(env.start("s1", "startup"), "proj:hydra\nimpl:old.rs");
    env.set_now(Some("2026-01-22T14:00:00Z"));
    env.write_file("s1", "t2", "own.rs", "");
    // Its context still holds the brief and its own work.
    assert_eq!(env.start("s1", "resume"), "");
    // Compaction lost both.
    assert_eq!(env.start("s1", "compact"), "proj:hydra\nimpl:own.rs\nimpl:old.rs");
    env.set_now(Some("2026-01-22T14:05:00Z"));
    env.write_file("old", "t3", "new.rs", "");
    assert_eq!(env.start("s1", "resume"), "proj:hydra\nimpl:new.rs");
    assert_eq!(env.start("s1", "resume"), "", "nothing is told twice");
    // A fork carries its parent's context.
    env.set_now(Some("2026-01-22T14:06:00Z"));
    env.hook("s1", "UserPromptSubmit", json!({"prompt": "fork it"}));
    assert_eq!(env.start("s1-fork", "fork"), "", "nor is its parent another session at work");
    env.hook("s1", "Stop", json!({}));
    assert_eq!(env.start("s2", "clear"), "proj:hydra\nlast:fork it\nimpl:new.rs\nimpl:old.rs\nimpl:own.rs");
}

#[test]
fn a_session_stays_with_its_project_when_the_agent_goes_elsewhere() {
    let env = env();
    env.start("s1", "startup");
    env.write_file("s1", "t1", "a.rs", "");
    let other = env.add_repository("other");
    let outside = other.join("b.rs");
    let extra = json!({"cwd": other, "tool_name": "Write", "tool_use_id": "t2", "tool_input": {"file_path": outside}});
    env.hook("s1", "PostToolUse", extra);
    let told = env.hook("s1", "SessionStart", json!({"source": "compact", "cwd": other}));
    assert!(told.contains("proj:hydra") && told.contains("impl:a.rs"), "{told}");
}

#[test]
fn no_file_content_and_no_secret_is_ever_written() {
    let env = env();
    let key = concat!("gh", "p_0123456789abcdefghijABCDEFGHIJ012345");
    let marker = "MARKER_CONTENT_7f3a";
    env.start("s1", "startup");
    env.write_file("s1", "t1", "a.rs", &format!("fn a() {{ \"{marker}\" }}\n"));
    let read = json!({"tool_name": "Read", "tool_use_id": "t2", "tool_input": {"file_path": "b.rs"},
        "tool_response": {"type": "text", "file": {"content": marker}}});
    env.hook("s1", "PostToolUse", read);
    let edit = json!({"tool_name": "Edit", "tool_use_id": "t3",
        "tool_input": {"file_path": "a.rs", "old_string": marker, "new_string": format!("{marker}\nfn b() {{")},
        "tool_response": {"originalFile": marker, "structuredPatch": [{"newStart": 1, "lines": [format!("+{marker}")]}]}});
    env.hook("s1", "PostToolUse", edit);
    env.hook("s1", "UserPromptSubmit", json!({"prompt": format!("use {key} to push")}));
    let bash = json!({"tool_name": "Bash", "tool_use_id": "t4", "tool_input": {"command": format!("curl -H 'Authorization: Bearer {key}' x")}});
    env.hook("s1", "PostToolUse", bash);
    env.hook("s1", "Stop", json!({"last_assistant_message": format!("pushed with {key}")}));
    env.ok(&["record", "decision", &format!("store {key} in the vault"), "--why", key]);
    env.hook_bytes(format!("not json {key}").as_bytes());
    env.ok(&["brief"]);
    let mut looked_at = 0;
    for entry in walk(&env.home()) {
        let bytes = std::fs::read(&entry).unwrap();
        for secret in [key, marker] {
            let found = bytes.windows(secret.len()).any(|window| window == secret.as_bytes());
            assert!(!found, "{secret} in {}", entry.display());
        }
        looked_at += 1;
    }
    assert!(looked_at >= 3);
    assert_eq!(codes(&env.sessions()[0], "function"), ["impl:a", "impl:b"]);
}

fn walk(dir: &std::path::Path) -> Vec<std::path::PathBuf> {
    let entries = std::fs::read_dir(dir).unwrap().map(|entry| entry.unwrap().path());
    entries.flat_map(|path| if path.is_dir() { walk(&path) } else { vec![path] }).collect()
}

#[test]
fn what_we_told_never_comes_back_as_a_fact() {
    let env = env();
    env.start("s1", "startup");
    env.ok(&["record", "next", "write tests"]);
    let told = env.start("s2", "startup");
    env.hook("s2", "UserPromptSubmit", json!({"prompt": told, "prompt_id": "1"}));
    env.hook("s2", "Stop", json!({"last_assistant_message": told}));
    env.hook("s2", "PostCompact", json!({"compact_summary": told}));
    let sessions = env.sessions();
    let second = sessions.iter().find(|session| session["agent_session_id"] == "s2").unwrap();
    assert_eq!(second["facts"], json!([]));
}

#[test]
fn facts_recorded_by_hand() {
    let env = env();
    assert_eq!(
        env.ok(&["record", "decision", "use WAL", "--why", "readers must not wait"]),
        "dec:use WAL - readers must not wait\n"
    );
    let session = env.sessions()[0].clone();
    assert_eq!((&session["agent"], &session["status"]), (&json!("manual"), &json!("active")));
    env.start("s1", "startup");
    env.hook("s1", "UserPromptSubmit", json!({"prompt": "hello"}));
    env.ok(&["record", "blocker", "needs ollama", "--type", "need", "--severity", "high"]);
    env.ok(&["record", "note", "green", "--key", "build"]);
    let sessions = env.sessions();
    let facts: Vec<&Value> = sessions.iter().flat_map(|session| session["facts"].as_array().unwrap()).collect();
    assert!(facts.iter().any(|fact| fact["severity"] == "high"), "{facts:?}");
    assert!(facts.iter().any(|fact| fact["key"] == "build" && fact["text"] == "green"), "{facts:?}");
    env.ok(&["record", "note", "green", "--resolve"]);
    env.ok(&["record", "file", "src/../lib.rs"]);
    env.ok(&["record", "function", "Store.open"]);
    env.ok(&["record", "objective", "make it fast"]);
    env.ok(&["record", "note", "the CI is slow on Mondays"]);
    env.ok(&["record", "next", "measure the hook"]);
    let expected = "proj:hydra\nlast:hello\nblock:need:needs ollama\ngoal:make it fast\nnext:measure the hook\n\
        note:the CI is slow on Mondays\ndec:use WAL - readers must not wait\nimpl:lib.rs\nimpl:Store.open";
    assert_eq!(env.brief(), expected);
    env.ok(&["record", "blocker", "needs ollama", "--type", "need", "--resolve"]);
    env.ok(&["record", "done", "measure the hook"]);
    assert!(!env.brief().contains("block:") && !env.brief().contains("next:"));
}

#[test]
fn of_what_failed_only_the_first_line_is_stored() {
    let env = env();
    env.start("s1", "startup");
    let failed = |id: &str, tool: &str, input: serde_json::Value, error: &str| {
        let extra = json!({"tool_name": tool, "tool_use_id": id, "tool_input": input, "error": error});
        env.hook("s1", "PostToolUseFailure", extra);
    };
    failed("t1", "Bash", json!({"command": "cat notes.txt; false"}), "Exit code 1\nxylophonist");
    failed("t2", "Edit", json!({"file_path": "a.rs"}), "String to replace not found in file.\nString: xylophonist");
    failed("t3", "Bash", json!({"command": "cargo test"}), "Exit code 101\ntest harpist ... FAILED");
    env.ok(&["brief"]);
    let stored = String::from_utf8_lossy(&crate::summary::all_files(&env.home())).into_owned();
    assert!(!stored.contains("xylophonist"), "it may be a file's content");
    assert!(stored.contains("Exit code 1") && stored.contains("String to replace not found in file."));
    assert!(stored.contains("harpist"), "a test's output is kept");
}
