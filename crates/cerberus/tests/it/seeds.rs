//! The scenarios of session continuity (seed 000) and session context injection (seed 001), by their numbers.

use cerberus_testkit::env::{TestEnv, codes};
use cerberus_testkit::tokens::real_tokens;
use serde_json::{Value, json};

use crate::env;

const EIGHT_DAYS_LATER: &str = "2026-01-30T13:35:15Z";

/// The seeds' own example of a stored session.
fn hydra_file() -> Value {
    json!({
        "session_id": "20260121-143022", "project": "hydra", "timestamp": "2026-01-21T14:30:22Z",
        "files": ["impl:proxy.go", "impl:supervisor.go"],
        "functions": ["impl:supervisor.Process", "impl:config.Load"],
        "decisions": ["dec:split-proxy-3-files", "dec:plan-splits-before-writing"],
        "blockers": ["block:race:test-failure-line-712"],
        "next_actions": ["next:add-mutex-to-process-struct", "next:rerun-race-detector"],
        "metadata": {"expires_at": "2026-01-28T14:30:22Z"},
    })
}

const HYDRA_BRIEF: &str = "proj:hydra\nblock:race:test-failure-line-712\nnext:add-mutex-to-process-struct\n\
    next:rerun-race-detector\ndec:split-proxy-3-files\ndec:plan-splits-before-writing\nimpl:proxy.go\n\
    impl:supervisor.go\nimpl:supervisor.Process\nimpl:config.Load";

fn leave_file(env: &TestEnv, name: &str, content: &str) {
    let dir = env.home().join("memory/sessions");
    std::fs::create_dir_all(&dir).unwrap();
    std::fs::write(dir.join(name), content).unwrap();
}

/// A session that writes files, decides, is blocked and plans, through hooks and commands.
fn work(env: &TestEnv, files: usize, decisions: usize, blockers: usize) {
    env.start("s1", "startup");
    for n in 0..files {
        env.write_file("s1", &format!("toolu_{n}"), &format!("internal/module{n}/handler_{n}.go"), "package x\n");
    }
    for n in 0..decisions {
        env.ok(&["record", "decision", &format!("use strategy {n} for the request queue"), "--why", "it keeps order"]);
    }
    for n in 0..blockers {
        env.ok(&["record", "blocker", &format!("integration test {n} hangs"), "--type", "race"]);
    }
}

fn lines<'a>(brief: &'a str, prefix: &str) -> Vec<&'a str> {
    brief.lines().filter(|line| line.starts_with(prefix)).collect()
}

#[test]
fn scenario_1_basic_capture() {
    let env = env();
    env.start("s1", "startup");
    env.write_file("s1", "toolu_1", "f1.py", "def fn1():\n    pass\n\ndef fn2():\n    pass\n");
    env.write_file("s1", "toolu_2", "f2.go", "package f2\n\nfunc fn3() {}\n");
    let session = &env.sessions()[0];
    assert_eq!(codes(session, "file"), ["impl:f1.py", "impl:f2.go"]);
    assert_eq!(codes(session, "function"), ["impl:fn1", "impl:fn2", "impl:fn3"]);
    assert_eq!(session["tools_used"], json!({"Write": 2}));
}

#[test]
fn scenario_1_basic_code_injection() {
    let env = env();
    work(&env, 5, 3, 1);
    let told = env.start("s2", "startup");
    assert_eq!((lines(&told, "impl:").len(), lines(&told, "dec:").len(), lines(&told, "block:").len()), (5, 3, 1));
    assert!(real_tokens(&told) < 1500);
    assert_eq!(told, env.brief(), "a session is told exactly what `brief` shows");
}

#[test]
fn scenario_2_save_and_load() {
    let env = env();
    leave_file(&env, "active-hydra.json", &hydra_file().to_string());
    assert_eq!(env.start("s1", "startup"), HYDRA_BRIEF);
    let saved = env.ok(&["session", "export", "--format", "seed"]);
    let exported: Value = serde_json::from_str(&saved).unwrap();
    assert_eq!(exported, hydra_file(), "the export is the file that was read");
    assert!(saved.starts_with("{\n  \"session_id\": \"20260121-143022\",\n  \"project\": \"hydra\","), "{saved}");

    let file = env.root().join("saved.json");
    std::fs::write(&file, saved).unwrap();
    let other = env.add_repository("other");
    let other = other.to_str().unwrap();
    env.ok(&["session", "import", file.to_str().unwrap(), "--cwd", other]);
    env.ok(&["session", "import", file.to_str().unwrap(), "--cwd", other]);
    let loaded = env.json(&["brief", "--cwd", other]);
    assert_eq!(loaded["text"], HYDRA_BRIEF.replace("proj:hydra", "proj:other"));
    assert_eq!(loaded["expires_at"], "2026-01-28T14:30:22Z");
}

#[test]
fn scenario_3_expiry_detection() {
    let mut env = env();
    work(&env, 1, 1, 0);
    env.set_now(Some(EIGHT_DAYS_LATER));
    assert_eq!(env.start("s2", "startup"), "");
    let sessions = env.sessions();
    let old = sessions.iter().find(|session| session["agent_session_id"] == "s1").unwrap();
    assert_eq!(old["status"], "archived");
    assert_eq!(codes(old, "file"), ["impl:internal/module0/handler_0.go"], "archived whole, still readable");
}

#[test]
fn scenario_4_comprehensive_capture() {
    let env = env();
    work(&env, 20, 10, 5);
    let told = env.start("s2", "startup");
    assert_eq!((lines(&told, "impl:").len(), lines(&told, "dec:").len(), lines(&told, "block:").len()), (20, 10, 5));
    assert!(real_tokens(&told) <= 1000, "{} tokens", real_tokens(&told));
}

#[test]
fn scenario_5_no_previous_session() {
    let env = env();
    assert_eq!(env.start("s1", "startup"), "");
    let brief = env.json(&["brief"]);
    assert_eq!((&brief["text"], &brief["tokens"], &brief["items"]), (&json!(""), &json!(0), &json!([])));
    assert_eq!(env.ok(&["brief"]), "");
}

#[test]
fn scenario_6_token_budget() {
    let env = env();
    work(&env, 15, 8, 3);
    let brief: Value = serde_json::from_str(&env.ok(&["brief", "--json"])).unwrap();
    let real = real_tokens(brief["text"].as_str().unwrap());
    assert!(real < 1500);
    let told = brief["tokens"].as_u64().unwrap() as f64;
    assert!((told - real as f64).abs() <= 0.1 * real as f64, "estimated {told}, really {real}");
}

#[test]
fn scenario_7_malformed_session_file() {
    let env = env();
    leave_file(&env, "active-hydra.json", "{\"session_id\": \"20260121-1430");
    assert_eq!(env.start("s1", "startup"), "");
    assert_eq!(env.brief(), "");
    let failures = env.json(&["status"])["failures"].as_array().unwrap().clone();
    assert_eq!(failures.len(), 1, "reported once, not at every start: {failures:?}");
    assert!(failures[0]["detail"].as_str().unwrap().contains("active-hydra.json was not imported: not JSON"));
    assert!(env.home().join("memory/sessions/active-hydra.json").exists());
}

#[test]
fn scenario_8_multiple_projects() {
    let env = env();
    leave_file(&env, "active-hydra.json", &hydra_file().to_string());
    let mut other = hydra_file();
    other["project"] = json!("cerberus");
    other["files"] = json!(["impl:journal.rs"]);
    leave_file(&env, "active-cerberus.json", &other.to_string());
    assert_eq!(env.brief(), HYDRA_BRIEF);
    let path = env.add_repository("cerberus");
    let brief = env.json(&["brief", "--cwd", path.to_str().unwrap()])["text"].clone();
    let brief = brief.as_str().unwrap();
    assert!(
        brief.starts_with("proj:cerberus\n") && brief.contains("\nimpl:journal.rs\n") && !brief.contains("proxy.go"),
        "{brief}"
    );
}

#[test]
fn scenario_9_cleanup_expired() {
    let mut env = env();
    for (now, session) in [("2026-01-10T10:00:00Z", "a"), ("2026-01-12T10:00:00Z", "b"), ("2026-01-22T09:50:00Z", "c")]
    {
        env.set_now(Some(now));
        env.start(session, "startup");
        env.write_file(session, "toolu_1", &format!("{session}.go"), "package x\n");
    }
    env.set_now(Some("2026-01-22T10:00:00Z"));
    assert_eq!(env.json(&["memory", "session-cleanup"])["archived"], 2);
    assert_eq!(env.ok(&["memory", "session-cleanup"]), "archived 0 sessions\n", "twice is once");
    let statuses: Vec<Value> = env.sessions().iter().map(|session| session["status"].clone()).collect();
    assert_eq!(statuses, [json!("active"), json!("archived"), json!("archived")]);
    assert_eq!(env.brief(), "proj:hydra\nimpl:c.go");
}

#[test]
fn scenario_10_integration_with_memories() {
    // The session part leaves the memories their 1500 of 2500 tokens, however much there is to tell.
    let env = env();
    work(&env, 120, 20, 10);
    let told = env.start("s2", "startup");
    assert!(real_tokens(&told) <= 1000, "{} tokens", real_tokens(&told));
    assert_eq!(lines(&told, "impl:").len(), 20, "more files would only hide the likely ones");
    assert_eq!(lines(&told, "block:").len(), 10, "blockers are the last to go");
}

#[test]
fn completed_sessions_no_longer_carry_over() {
    let env = env();
    work(&env, 2, 1, 1);
    assert_ne!(env.brief(), "");
    env.ok(&["session", "complete"]);
    assert_eq!(env.brief(), "");
    assert_eq!(env.sessions()[0]["status"], "completed");
    assert_eq!(env.start("s2", "startup"), "");
}

#[test]
fn files_of_the_original_tool_are_picked_up_once_and_stay() {
    let env = env();
    let summary = json!({
        "session_id": "20260121-143022", "project": "hydra", "summary": "Split proxy.go into 3 files.",
        "key_context": ["block:test:race-condition", "dec:modularize", "impl:proxy.go"],
        "next_actions": ["fix race, add mutex"], "token_estimate": 120,
        "timestamp": "2026-01-21T14:30:22.123456", "expires_at": "2026-01-28T14:30:22.123456",
    });
    leave_file(&env, "active-hydra.json", &summary.to_string());
    let expected = "proj:hydra\nblock:test:race-condition\nnext:fix race, add mutex\n\
        note:Split proxy.go into 3 files\ndec:modularize\nimpl:proxy.go";
    assert_eq!(env.brief(), expected);
    assert_eq!(env.brief(), expected);
    assert_eq!(env.sessions().len(), 1);
    std::fs::remove_file(env.home().join("memory/sessions/active-hydra.json")).unwrap();
    assert_eq!(env.brief(), expected, "what was picked up does not depend on the file any more");
}
