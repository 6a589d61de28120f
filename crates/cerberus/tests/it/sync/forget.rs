//! Forgetting reaches every device, and nothing brings it back.

use cerberus_testkit::env::TestEnv;
use cerberus_testkit::fake_agent::{Act, Tongue};
use serde_json::json;

use super::{Hub, decide, init, join, machine, pair};
use crate::loops::Stage;

/// Whether a text is anywhere in the home, except in sealed batches.
pub fn holds(env: &TestEnv, text: &str) -> bool {
    let mut files = Vec::new();
    super::each_file(&env.home(), &mut files);
    files.iter().any(|(_, bytes)| bytes.windows(text.len()).any(|window| window == text.as_bytes()))
}

#[test]
fn forgotten_on_one_device_is_forgotten_on_three() {
    let (hub, a, b) = pair();
    let c = machine();
    join(&a, &c, &hub, "tablet", &[]);
    a.start("s1", "startup");
    a.hook("s1", "UserPromptSubmit", json!({"prompt": "We decided to use zanzibar for the queue."}));
    a.hook("s1", "SessionEnd", json!({"reason": "other"}));
    for env in [&a, &b, &c] {
        env.ok(&["sync"]);
    }
    assert!(holds(&b, "zanzibar") && holds(&c, "zanzibar"));
    let generations = hub.batches();
    let said = a.run(&["forget", "--session", "s1", "--yes"]);
    assert!(String::from_utf8_lossy(&said.stderr).contains("0 of 2 devices confirmed"), "{said:?}");
    assert!(!holds(&a, "zanzibar"));
    let sync = a.ok(&["sync"]);
    assert!(sync.contains("0 of 2 devices confirmed"), "{sync}");
    assert!(generations.iter().any(|batch| !batch.exists()), "the hub dropped the old batches");
    b.ok(&["sync"]);
    assert!(!holds(&b, "zanzibar") && holds(&c, "zanzibar"));
    let sync = a.ok(&["sync"]);
    assert!(sync.contains("1 of 2 devices confirmed"), "{sync}");
    c.ok(&["sync"]);
    assert!(!holds(&c, "zanzibar"));
    let sync = a.ok(&["sync"]);
    assert!(sync.contains("2 of 2 devices confirmed"), "{sync}");
}

#[test]
fn a_device_that_dies_while_it_is_told_to_forget_keeps_nothing_of_it() {
    let faults = ["sync-appended=kill", "sync-appended=kill@2"];
    for (fault, next) in faults.into_iter().flat_map(|fault| [(fault, "sync"), (fault, "brief")]) {
        let (_hub, a, b) = pair();
        a.start("s1", "startup");
        a.hook("s1", "UserPromptSubmit", json!({"prompt": "We decided to use zanzibar for the queue."}));
        a.ok(&["sync"]);
        b.ok(&["sync"]);
        assert!(holds(&b, "zanzibar"));
        a.ok(&["forget", "--session", "s1", "--yes"]);
        a.ok(&["sync"]);
        let died = b.command().args(["sync"]).env("CERBERUS_FAULT", fault).output().unwrap();
        assert!(!died.status.success(), "{fault}");
        b.ok(&[next]);
        assert!(!holds(&b, "zanzibar"), "{fault}, then {next}");
    }
}

#[test]
fn what_another_device_recorded_is_forgotten_there_too_and_an_import_does_not_bring_it_back() {
    let (_hub, a, b) = pair();
    let session = "4d1f1e0c-0000-4000-8000-000000000001";
    b.start(session, "startup");
    b.hook(session, "UserPromptSubmit", json!({"prompt": "We decided to use zanzibar for the queue."}));
    b.hook(session, "SessionEnd", json!({"reason": "other"}));
    b.ok(&["sync"]);
    a.ok(&["sync"]);
    assert!(holds(&a, "zanzibar"));
    a.ok(&["forget", "--session", session, "--yes"]);
    assert!(!holds(&a, "zanzibar"));
    a.ok(&["sync"]);
    assert!(holds(&b, "zanzibar"));
    b.ok(&["sync"]);
    assert!(!holds(&b, "zanzibar"), "its own record is gone");
    // The agent's transcript is still on b, and a new device gets nothing of it.
    let folder = b.root().join("user/.claude/projects/-hydra");
    std::fs::create_dir_all(&folder).unwrap();
    let line = json!({
        "type": "user", "sessionId": session, "uuid": "u1", "timestamp": "2026-01-22T13:35:14Z", "cwd": b.project(),
        "message": {"role": "user", "content": "We decided to use zanzibar for the queue."},
    });
    std::fs::write(folder.join(format!("{session}.jsonl")), format!("{line}\n")).unwrap();
    b.ok(&["import", "claude-code"]);
    assert!(!b.brief().contains("zanzibar"));
    for env in [&b, &a, &b] {
        env.ok(&["sync"]);
    }
    assert!(!holds(&a, "zanzibar") && !a.brief().contains("zanzibar"));
}

#[test]
fn a_forgotten_memory_does_not_come_back_from_the_device_that_changed_it() {
    let (_hub, a, b) = pair();
    a.ok(&["learn", "Always use zanzibar"]);
    a.ok(&["sync"]);
    b.ok(&["sync"]);
    let id = b.json(&["memory", "list"])[0]["id"].as_str().unwrap().to_string();
    b.ok(&["memory", "edit", &id, "Always use zanzibar twice"]);
    b.ok(&["sync"]);
    a.ok(&["sync"]);
    a.ok(&["forget", "--memory", &id, "--yes"]);
    for env in [&a, &b, &a, &b] {
        env.ok(&["sync"]);
    }
    assert!(!holds(&a, "zanzibar") && !holds(&b, "zanzibar"));
}

#[test]
fn what_waits_to_be_sent_is_sealed_again_without_it() {
    let (hub, a) = (Hub::new(), machine());
    init(&a, &hub, "laptop");
    decide(&a, "zanzibar");
    let full = a.command().arg("sync").env("CERBERUS_FAULT", "sync-send=enospc").output().unwrap();
    assert!(!full.status.success());
    let waiting = || std::fs::read_dir(a.home().join("sync/outbox")).unwrap().count();
    assert!(waiting() > 0);
    let session = a.sessions()[0]["agent_session_id"].as_str().unwrap_or_default().to_string();
    a.ok(&["forget", "--session", &session, "--yes"]);
    assert_eq!(waiting(), 0);
    a.ok(&["sync"]);
    let b = machine();
    join(&a, &b, &hub, "workstation", &[]);
    assert!(!b.brief().contains("zanzibar") && !holds(&b, "zanzibar"));
}

#[test]
fn what_waits_to_be_sent_still_is_when_something_else_is_forgotten() {
    let (hub, a) = (Hub::new(), machine());
    init(&a, &hub, "laptop");
    decide(&a, "ship on friday");
    let full = a.command().arg("sync").env("CERBERUS_FAULT", "sync-send=enospc").output().unwrap();
    assert!(!full.status.success());
    a.start("s1", "startup");
    a.hook("s1", "UserPromptSubmit", json!({"prompt": "We decided to use zanzibar for the queue."}));
    a.ok(&["forget", "--session", "s1", "--yes"]);
    a.ok(&["sync"]);
    let b = machine();
    join(&a, &b, &hub, "workstation", &[]);
    assert!(b.brief().contains("ship on friday") && !holds(&b, "zanzibar"), "{}", b.brief());
}

#[test]
fn what_a_killed_process_sealed_does_not_stay() {
    let (hub, a) = (Hub::new(), machine());
    init(&a, &hub, "laptop");
    a.ok(&["sync"]);
    a.start("s1", "startup");
    a.hook("s1", "UserPromptSubmit", json!({"prompt": "We decided to use zanzibar for the queue."}));
    let waiting = || std::fs::read_dir(a.home().join("sync/outbox")).map_or(0, Iterator::count);
    // Killed when it writes down for the first time that something was sealed.
    let is_left = |number: usize| {
        let fault = format!("sync-state=kill@{number}");
        assert!(!a.command().arg("sync").env("CERBERUS_FAULT", fault).output().unwrap().status.success());
        waiting() > 0
    };
    assert!((1..5).any(is_left));
    a.ok(&["forget", "--session", "s1", "--yes"]);
    a.ok(&["sync"]);
    assert_eq!(waiting(), 0);
}

/// The same session on two machines: a folder with transcripts that both have imported, for example.
fn same_session(env: &TestEnv) {
    env.start("s1", "startup");
    env.hook("s1", "UserPromptSubmit", json!({"prompt": "We decided to use zanzibar for the queue."}));
    env.hook("s1", "SessionEnd", json!({"reason": "other"}));
}

#[test]
fn what_was_forgotten_before_pairing_stays_forgotten_on_all_devices() {
    for is_founders in [true, false] {
        let (hub, a, b, c) = (Hub::new(), machine(), machine(), machine());
        [&a, &b, &c].into_iter().for_each(same_session);
        let first = if is_founders { &a } else { &b };
        first.ok(&["forget", "--session", "s1", "--yes"]);
        init(&a, &hub, "laptop");
        join(&a, &b, &hub, "workstation", &[]);
        join(&a, &c, &hub, "tablet", &[]);
        for env in [&a, &b, &c, &a, &b, &c] {
            env.ok(&["sync"]);
        }
        for (env, name) in [(&a, "a"), (&b, "b"), (&c, "c")] {
            assert!(!holds(env, "zanzibar"), "{name}, forgotten by the founder: {is_founders}");
        }
    }
}

#[test]
fn a_session_that_is_forgotten_elsewhere_leaves_the_ledger_of_the_loop_that_ran_it() {
    let say = vec![Act::Say("the plan is zanzibar", 0), Act::Shell("date +%N >> a"), Act::Done("next: build zanzibar")];
    let stage = Stage::new(Tongue::Plain, &[say]);
    stage.env.git(&stage.env.project(), &["remote", "add", "origin", "https://git.example.com/acme/hydra.git"]);
    stage.run(&["--max-iterations", "2"]).ended(3, "iterations");
    let (hub, a, b) = (Hub::new(), machine(), &stage.env);
    init(&a, &hub, "laptop");
    join(&a, b, &hub, "workstation", &[]);
    a.ok(&["sync"]);
    assert!(holds(b, "zanzibar"));
    let sessions: Vec<String> =
        a.sessions().iter().map(|session| session["id"].as_str().unwrap().to_string()).collect();
    assert!(!sessions.is_empty());
    let mut args = vec!["forget", "--yes"];
    args.extend(sessions.iter().flat_map(|id| ["--session", id.as_str()]));
    a.ok(&args);
    a.ok(&["sync"]);
    b.ok(&["sync"]);
    assert!(!holds(b, "zanzibar"));
    assert_eq!(stage.history().len(), 2, "numbers and times stay");
    assert_eq!(super::problems(b), [""; 0]);
}
