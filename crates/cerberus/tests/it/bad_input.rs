//! Whatever arrives, the agent is not disturbed: exit 0, nothing on stdout, a line in `status`, nothing lost.

use std::process::Stdio;

use serde_json::json;

use crate::env;

#[test]
fn bad_payloads_are_noted_and_change_nothing() {
    let env = env();
    env.start("s1", "startup");
    env.write_file("s1", "t1", "a.rs", "fn a() {}\n");
    let before = env.brief();
    let mut truncated = env.payload("s1", "PostToolUse", json!({"tool_name": "Write", "tool_input": {}}));
    truncated.truncate(truncated.len() / 2);
    let huge = vec![b'x'; 50 * 1024 * 1024];
    let wrong_types = br#"{"session_id": 5.5, "cwd": [], "hook_event_name": {}, "tool_input": "x"}"#;
    let deep = [b"[".repeat(200_000), b"]".repeat(200_000)].concat();
    let bad: [(&str, &[u8]); 8] = [
        ("empty", b""),
        ("not JSON", b"hello"),
        ("truncated", &truncated),
        ("50 MB", &huge),
        ("wrong types", wrong_types),
        ("NUL bytes", b"{\"session_id\":\"a\0b\"}\0\0"),
        ("not UTF-8", b"{\"session_id\":\"\xff\xfe\",\"cwd\":\"/x\",\"hook_event_name\":\"Stop\"}"),
        ("deep", &deep),
    ];
    for (number, (what, payload)) in bad.iter().enumerate() {
        let output = env.hook_bytes(payload);
        assert_eq!(output.status.code(), Some(0), "{what}");
        assert!(output.stdout.is_empty() && output.stderr.is_empty(), "{what}");
        let failures = env.json(&["status"])["failures"].as_array().unwrap().len();
        assert_eq!(failures, number + 1, "{what} is shown");
    }
    assert!(env.ok(&["doctor"]).contains("8 failures"));
    assert_eq!(env.brief(), before);
}

#[test]
fn odd_but_readable_payloads_are_captured() {
    let env = env();
    let content = "let x = 1;\n".repeat(25 * 1024 * 1024 / 11);
    env.write_file("big", "t1", "big.rs", &content);
    env.hook(
        "../../x",
        "PostToolUse",
        json!({"tool_name": "Write", "tool_use_id": "t1",
        "tool_input": {"file_path": "a\nb\u{202e}c.rs"}}),
    );
    env.hook(
        "odd",
        "PostToolUse",
        json!({"tool_name": "Write", "tool_use_id": "t2", "tool_response": 7,
        "tool_input": {"file_path": "odd.rs", "content": {"not": "text"}}, "unknown": [null]}),
    );
    env.hook("odd", "NoSuchEvent", json!({}));
    let brief = env.brief();
    for code in ["impl:big.rs", "impl:a?b?c.rs", "impl:odd.rs"] {
        assert!(brief.lines().any(|line| line == code), "{code} in {brief}");
    }
    assert_eq!(env.json(&["status"])["failures"], json!([]));
    let outside: Vec<_> = std::fs::read_dir(env.root()).unwrap().map(|e| e.unwrap().file_name()).collect();
    assert_eq!(outside.len(), 3, "only home, hydra and user: {outside:?}");
}

#[test]
fn a_hook_without_a_home_or_agent_stays_silent() {
    let env = env();
    for (args, remove) in [(vec!["hook", "vim"], None), (vec!["hook", "claude-code"], Some("CERBERUS_HOME"))] {
        let mut command = env.command();
        command.args(&args).stdin(Stdio::null());
        if let Some(name) = remove {
            command.env_remove(name).env_remove("HOME");
        }
        let output = command.output().unwrap();
        assert_eq!((output.status.code(), output.stdout.len()), (Some(0), 0), "{args:?}");
    }
    assert!(env.ok(&["status"]).contains("there is no agent"));
}

#[test]
fn a_home_that_cannot_be_written_disturbs_nobody() {
    let env = env();
    std::fs::write(env.home(), "a file in its place").unwrap();
    assert_eq!(env.hook("s1", "Stop", json!({})), "");
    assert_eq!(env.start("s1", "startup"), "");
    let output = env.run(&["brief"]);
    assert_eq!(output.status.code(), Some(1));
    let message = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(message.starts_with("cerberus: ") && message.lines().count() == 2, "{message}");
}

#[test]
fn a_silent_client_does_not_keep_the_hook() {
    let env = env();
    let mut command = env.command();
    let mut child = command.args(["hook", "claude-code"]).stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
    // The pipe stays open and nothing is said; the hook gives up by itself.
    let output = {
        let stdin = child.stdin.take();
        let output = child.wait_with_output().unwrap();
        drop(stdin);
        output
    };
    assert_eq!((output.status.code(), output.stdout.len()), (Some(0), 0));
    assert!(env.ok(&["status"]).contains("no payload within"));
}
