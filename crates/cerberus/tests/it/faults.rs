//! A full disk, a failing disk, a locked or damaged database: the agent is not disturbed, nothing stored is lost, and
//! what could not be stored is shown.

use std::os::unix::fs::PermissionsExt;
use std::process::{Output, Stdio};

use cerberus_testkit::env::TestEnv;
use serde_json::json;

use crate::env;

pub fn hook_with_fault(env: &TestEnv, fault: &str, event: &str, extra: serde_json::Value) -> Output {
    let mut command = env.command();
    command.args(["hook", "claude-code"]).env("CERBERUS_FAULT", fault);
    let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    std::io::Write::write_all(&mut child.stdin.take().unwrap(), &env.payload("s1", event, extra)).unwrap();
    child.wait_with_output().unwrap()
}

fn write(n: u32) -> serde_json::Value {
    json!({"tool_name": "Write", "tool_use_id": format!("t{n}"), "tool_input": {"file_path": format!("f{n}.rs")}})
}

#[test]
fn a_full_or_failing_disk_is_noted_and_loses_nothing_stored() {
    for (fault, shown) in [
        ("journal-write=enospc", "No space left on device"),
        ("journal-open=eio", "Input/output error"),
        ("journal-write=short", "is the disk full?"),
        ("journal-sync=eio", "Input/output error"),
    ] {
        let env = env();
        env.hook("s1", "PostToolUse", write(1));
        let output = hook_with_fault(&env, fault, "PostToolUse", write(2));
        assert_eq!((output.status.code(), output.stdout.len(), output.stderr.len()), (Some(0), 0, 0), "{fault}");
        let failures = env.json(&["status"])["failures"].clone();
        assert!(failures[0]["detail"].as_str().unwrap().contains(shown), "{fault}: {failures}");
        env.hook("s1", "PostToolUse", write(3));
        let brief = env.brief();
        assert!(brief.contains("impl:f1.rs") && brief.contains("impl:f3.rs"), "{fault}: {brief}");
    }
}

#[test]
fn a_bug_in_a_hook_is_noted_and_the_agent_sees_nothing_of_it() {
    for fault in ["journal-write=panic", "fold-apply=panic"] {
        let env = env();
        let output = hook_with_fault(&env, fault, "SessionStart", json!({"source": "startup"}));
        assert_eq!((output.status.code(), output.stdout.len(), output.stderr.len()), (Some(0), 0, 0), "{fault}");
        let failures = env.json(&["status"])["failures"].clone();
        assert_eq!(
            (failures.as_array().unwrap().len(), &failures[0]["what"]),
            (1, &json!("hook claude-code")),
            "{fault}"
        );
        let detail = failures[0]["detail"].as_str().unwrap();
        assert!(detail.contains("it panicked at ") && detail.contains("fault.rs:"), "{fault}: {detail}");
        let doctor = String::from_utf8(env.run(&["doctor"]).stdout).unwrap();
        assert!(doctor.contains("it panicked at "), "{fault}: {doctor}");
    }
}

#[test]
fn a_bug_after_the_answer_leaves_the_answer_whole() {
    let env = env();
    env.hook("s1", "PostToolUse", write(1));
    let output = hook_with_fault(&env, "answer-given=panic", "SessionStart", json!({"source": "compact"}));
    assert_eq!(output.status.code(), Some(0));
    serde_json::from_slice::<serde_json::Value>(&output.stdout).expect("a reply");
    assert_eq!(env.json(&["status"])["failures"].as_array().unwrap().len(), 1);
}

#[test]
fn a_start_that_cannot_fold_stays_silent_and_the_next_one_tells() {
    for fault in ["fold-apply=eio", "fold-commit=enospc", "fold-done=eio"] {
        let env = env();
        env.hook("s1", "PostToolUse", write(1));
        let output = hook_with_fault(&env, fault, "SessionStart", json!({"source": "compact"}));
        assert_eq!((output.status.code(), output.stdout.len()), (Some(0), 0), "{fault}");
        assert_eq!(env.start("s2", "startup"), "proj:hydra\nimpl:f1.rs", "{fault}");
    }
}

#[test]
fn a_write_lock_held_by_another_process_delays_nobody_for_long() {
    let env = env();
    env.hook("s1", "PostToolUse", write(1));
    env.brief();
    env.hook("s1", "PostToolUse", write(2));
    // Another process takes the view's write lock and keeps it.
    const HOLD: &str = "import sqlite3, sys\nc = sqlite3.connect(sys.argv[1], isolation_level=None)\n\
        c.execute('BEGIN IMMEDIATE')\nprint('held', flush=True)\nsys.stdin.read()\n";
    let mut command = env.command_for("python3");
    let view = std::fs::read_dir(env.home()).unwrap().map(|entry| entry.unwrap().path());
    let view = view.into_iter().find(|path| path.extension().is_some_and(|ending| ending == "db")).unwrap();
    let mut holder =
        command.args(["-c", HOLD]).arg(&view).stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
    std::io::BufRead::read_line(&mut std::io::BufReader::new(holder.stdout.take().unwrap()), &mut String::new())
        .unwrap();
    env.hook("s1", "PostToolUse", write(3));
    let told = env.start("s2", "startup");
    assert_eq!(told, "proj:hydra\nimpl:f1.rs", "what was folded before the lock is told");
    holder.kill().unwrap();
    holder.wait().unwrap();
    assert_eq!(env.brief(), "proj:hydra\nimpl:f1.rs\nimpl:f2.rs\nimpl:f3.rs", "and nothing is lost");
}

#[test]
fn a_missing_log_of_the_view_costs_nothing() {
    let env = env();
    env.hook("s1", "PostToolUse", write(1));
    env.brief();
    for entry in std::fs::read_dir(env.home()).unwrap() {
        let path = entry.unwrap().path();
        if path.to_string_lossy().ends_with("-wal") || path.to_string_lossy().ends_with("-shm") {
            std::fs::remove_file(path).unwrap();
        }
    }
    env.hook("s1", "PostToolUse", write(2));
    assert_eq!(env.brief(), "proj:hydra\nimpl:f1.rs\nimpl:f2.rs");
}

#[test]
fn a_read_only_home_disturbs_nobody() {
    // Root may write anywhere; a file in the journal's place refuses even root.
    let env = env();
    std::fs::create_dir_all(env.home()).unwrap();
    std::fs::write(env.home().join("journal"), "not a folder").unwrap();
    std::fs::set_permissions(env.home(), std::fs::Permissions::from_mode(0o500)).unwrap();
    assert_eq!(env.hook("s1", "PostToolUse", write(1)), "");
    assert_eq!(env.start("s1", "startup"), "");
    std::fs::set_permissions(env.home(), std::fs::Permissions::from_mode(0o700)).unwrap();
    std::fs::remove_file(env.home().join("journal")).unwrap();
    env.hook("s1", "PostToolUse", write(2));
    assert_eq!(env.brief(), "proj:hydra\nimpl:f2.rs");
}
