//! What a hook acknowledges is on the disk: the order of its system calls, and what it says when the disk refuses.

use std::collections::BTreeSet;
use std::io::Write;
use std::process::Stdio;

use cerberus_testkit::env::TestEnv;
use cerberus_testkit::need;
use serde_json::{Value, json};

use crate::env;
use crate::faults::hook_with_fault;

#[derive(Debug, PartialEq)]
enum Call {
    /// To a segment of the journal.
    Append {
        segment: String,
        text: String,
    },
    /// To standard output.
    Reply {
        text: String,
    },
    /// A file or a folder, by its path.
    Sync {
        path: String,
    },
    Exit,
}

/// What a hook does in the order in which it does it, as strace sees it.
fn calls(env: &TestEnv, event: &str, extra: Value) -> Vec<Call> {
    let trace = env.root().join("trace");
    let mut command = env.command_for("strace");
    command.args(["-y", "-s", "4096", "-e", "trace=write,fdatasync,fsync,exit_group", "-o"]).arg(&trace);
    command.arg(env!("CARGO_BIN_EXE_cerberus")).args(["hook", "claude-code"]);
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().unwrap();
    child.stdin.take().unwrap().write_all(&env.payload("traced", event, extra)).unwrap();
    let output = child.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(0), "{}", String::from_utf8_lossy(&output.stderr));
    let printed = std::fs::read_to_string(&trace).unwrap();
    let calls: Vec<Call> = printed.lines().filter_map(call).collect();
    assert_eq!(calls.last(), Some(&Call::Exit), "{printed}");
    calls
}

/// Reads `write(3</home/journal/2026-01-22.jsonl>, "…", 5) = 5`. A call that failed did nothing.
fn call(line: &str) -> Option<Call> {
    let (name, rest) = line.split_once('(')?;
    if name == "exit_group" {
        return Some(Call::Exit);
    }
    let (arguments, result) = rest.rsplit_once(") = ")?;
    if result.starts_with('-') {
        return None;
    }
    let (file, path_and_text) = arguments.split_once('<')?;
    let (path, text) = path_and_text.split_once('>')?;
    let (path, text) = (path.to_string(), text.to_string());
    match name {
        "fdatasync" | "fsync" => Some(Call::Sync { path }),
        "write" if file == "1" => Some(Call::Reply { text }),
        "write" if path.ends_with(".jsonl") && path.contains("/journal/") => Some(Call::Append { segment: path, text }),
        _ => None,
    }
}

/// Nothing is said, and the hook does not end, while a record is not on the disk.
fn assert_synced_in_time(calls: &[Call]) {
    let mut unsynced = BTreeSet::new();
    for call in calls {
        match call {
            Call::Append { segment, .. } => drop(unsynced.insert(segment)),
            Call::Sync { path } => drop(unsynced.remove(path)),
            Call::Reply { .. } | Call::Exit => assert!(unsynced.is_empty(), "{call:?} before a sync: {calls:#?}"),
        }
    }
}

#[test]
fn a_record_is_synced_before_the_hook_ends() {
    if !need::has(&["strace"]) {
        return;
    }
    let env = env();
    let used = |id: &str| json!({"tool_name": "Write", "tool_use_id": id, "tool_input": {"file_path": "a.rs"}});
    for (id, is_new) in [("t1", true), ("t2", false)] {
        let calls = calls(&env, "PostToolUse", used(id));
        let appended: Vec<&String> = calls
            .iter()
            .filter_map(|call| if let Call::Append { text, .. } = call { Some(text) } else { None })
            .collect();
        assert!(appended.len() == 1 && appended[0].contains("traced"), "one write a record: {calls:#?}");
        assert!(!calls.iter().any(|call| matches!(call, Call::Reply { .. })), "{calls:#?}");
        assert_synced_in_time(&calls);
        // The name of a new segment must survive, too.
        let folder = Call::Sync { path: env.home().join("journal").display().to_string() };
        assert_eq!(calls.contains(&folder), is_new, "{calls:#?}");
    }
}

#[test]
fn a_start_is_synced_before_it_is_answered_and_its_receipt_before_the_hook_ends() {
    if !need::has(&["strace"]) {
        return;
    }
    let env = env();
    env.write_file("s1", "t1", "src/a.rs", "");
    let calls = calls(&env, "SessionStart", json!({"source": "startup"}));
    let place = |is_it: &dyn Fn(&Call) -> bool| calls.iter().position(is_it);
    let started = place(&|call| matches!(call, Call::Append { text, .. } if text.contains("traced"))).unwrap();
    let answered = place(&|call| matches!(call, Call::Reply { text } if text.contains("impl:src/a.rs"))).unwrap();
    let receipts = calls[answered..].iter().filter(|call| matches!(call, Call::Append { .. })).count();
    assert!(started < answered && receipts == 1, "{calls:#?}");
    assert_synced_in_time(&calls);
}

#[test]
fn a_start_that_is_not_on_the_disk_is_not_answered() {
    for fault in ["journal-open=eio", "journal-write=enospc", "journal-write=short", "journal-sync=eio"] {
        let env = env();
        env.write_file("s0", "t1", "src/a.rs", "");
        let output = hook_with_fault(&env, fault, "SessionStart", json!({"source": "startup"}));
        assert_eq!((output.status.code(), String::from_utf8_lossy(&output.stdout).as_ref()), (Some(0), ""), "{fault}");
        assert_eq!(env.start("s2", "startup"), "proj:hydra\nimpl:src/a.rs", "{fault}: the next one is");
    }
}
