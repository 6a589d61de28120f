//! Every input has a limit: what is larger is cut, refused with a word, or read no further.

use std::fs;
use std::path::PathBuf;

use cerberus_os::home::Home;
use cerberus_record::clean::BUILT_IN;
use cerberus_record::clean::text::{Clean, Keep};
use cerberus_record::event::{Event, Location, Note, Record};
use cerberus_record::fact::FactKind;
use cerberus_record::id::{Agent, ProjectId};
use cerberus_record::time::Timestamp;
use cerberus_store::journal;
use cerberus_testkit::env::{TestEnv, codes};
use serde_json::{Value, json};

use crate::env;

fn journal_bytes(env: &TestEnv) -> u64 {
    let entries = fs::read_dir(env.home().join("journal")).unwrap();
    entries.map(|entry| entry.unwrap().metadata().unwrap().len()).sum()
}

fn message(env: &TestEnv, args: &[&str]) -> String {
    let output = env.run(args);
    assert_eq!(output.status.code(), Some(1), "{args:?}");
    String::from_utf8_lossy(&output.stderr).into_owned()
}

#[test]
fn a_payload_has_a_limit() {
    let env = env();
    let payload = vec![b' '; 64 * 1024 * 1024 + 1];
    assert_eq!(env.hook_bytes(&payload).status.code(), Some(0));
    let failures = env.json(&["status"])["failures"].clone();
    assert!(failures[0]["detail"].as_str().unwrap().contains("is larger than"), "{failures}");
}

#[test]
fn every_field_of_a_payload_has_a_limit() {
    let env = env();
    let much = "word ".repeat(200_000);
    env.hook("s1", "UserPromptSubmit", json!({"prompt": much}));
    env.hook("s1", "Stop", json!({"last_assistant_message": much}));
    let run = json!({"tool_name": much, "tool_use_id": much, "tool_input": {"command": format!("cargo test {much}")},
        "tool_response": {"stdout": much, "stderr": much}});
    env.hook("s1", "PostToolUse", run);
    let todos: Vec<Value> = (0..5_000).map(|n| json!({"content": format!("task {n}"), "status": "pending"})).collect();
    env.hook(
        "s1",
        "PostToolUse",
        json!({"tool_name": "TodoWrite", "tool_use_id": "t", "tool_input": {"todos": todos}}),
    );
    env.hook(&much, "SessionEnd", json!({"reason": much}));
    assert!(journal_bytes(&env) < 100_000, "{} bytes of 7 MB", journal_bytes(&env));
    let session = env.sessions().into_iter().find(|one| one["agent_session_id"] == "s1").unwrap();
    assert!(codes(&session, "next").len() <= 100, "{}", codes(&session, "next").len());
}

#[test]
fn the_facts_of_a_session_have_a_limit() {
    let env = env();
    let home = Home::new(env.home());
    let located = cerberus_store::project::identity::locate(&env.project());
    let at = Timestamp::parse("2026-01-22T13:00:00Z").unwrap();
    let names: Vec<(String, String)> = (0..10_200).map(|n| (format!("k{n}"), format!("step {n}"))).collect();
    let note = |text| Note {
        kind: FactKind::Next,
        text,
        why: None,
        sort: None,
        severity: None,
        custom_key: None,
        for_team: false,
        resolved: false,
    };
    let record = |(key, text): &(String, String)| Record {
        at,
        key: BUILT_IN.clean(key.clone(), Keep::NAME),
        agent: Agent::MANUAL,
        imported: false,
        heard_by: None,
        by_agent: false,
        origin: None,
        session: Clean::word("s1"),
        location: Location {
            project: ProjectId::from_stored(located.project.as_str().to_string()),
            ..located.location(&BUILT_IN)
        },
        event: Event::Note(note(BUILT_IN.clean(text.clone(), Keep::NAME))),
    };
    let records: Vec<Record> = names.iter().map(record).collect();
    journal::append_all(&home, at, &records).unwrap();
    let sessions = env.sessions();
    let facts = sessions[0]["facts"].as_array().unwrap();
    assert_eq!(facts.len(), 10_000);
    assert_eq!(facts.last().unwrap()["text"], "step 10199", "the newest are kept");
    assert!(env.json(&["brief"])["tokens"].as_u64().unwrap() <= 1_000);
}

#[test]
fn files_that_are_read_have_limits() {
    let env = env();
    fs::create_dir_all(env.home()).unwrap();
    fs::write(env.home().join("config.toml"), "#".repeat(300 * 1024)).unwrap();
    assert!(message(&env, &["brief"]).contains("larger than"));
    fs::remove_file(env.home().join("config.toml")).unwrap();
    let large = env.root().join("user/large.json");
    fs::File::create(&large).unwrap().set_len(600 * 1024 * 1024).unwrap();
    let large = large.to_str().unwrap();
    assert!(message(&env, &["brief", "--prompt-file", large]).contains("larger than"));
    assert!(message(&env, &["memory", "import", large]).contains("larger than"));
    let imported = env.run(&["import", "gemini", large]);
    assert!(String::from_utf8_lossy(&imported.stderr).contains("larger than"), "{imported:?}");
    // Nothing is left out of one that is an object: it is read as a whole, or refused.
    let object = env.root().join("user/session-1.json");
    fs::write(&object, format!("{{\"sessionId\": \"s1\", \"messages\": [{}]}}", " ".repeat(64 * 1024 * 1024))).unwrap();
    let imported = env.run(&["import", "gemini", object.to_str().unwrap()]);
    let told = String::from_utf8_lossy(&imported.stderr).into_owned();
    assert!(told.contains("session-1.json: it is one JSON object, larger than 64 MiB"), "{told}");
    // Of a transcript in lines, a line that is too long is left out.
    let imported = env.run(&["import", "claude-code", large]);
    assert!(String::from_utf8_lossy(&imported.stderr).contains("skipped 1 damaged or overlong line"), "{imported:?}");
    assert!(message(&env, &["session", "import", large]).contains("larger than"));
}

#[test]
fn a_memory_has_a_limit() {
    let env = env();
    let much = "word ".repeat(10_000);
    assert!(message(&env, &["memory", "learn", &much]).contains("too long"));
    let lines: PathBuf = env.root().join("lines");
    fs::write(&lines, format!("{}\n", json!({"content": much}))).unwrap();
    assert!(message(&env, &["memory", "import", lines.to_str().unwrap()]).contains("line 1"));
    let metadata = json!({"content": "x", "metadata": {"k": "v".repeat(100_000)}});
    fs::write(&lines, format!("{metadata}\n")).unwrap();
    assert!(message(&env, &["memory", "import", lines.to_str().unwrap()]).contains("line 1"));
}

/// An old session that taught something, and a new one.
fn old_and_new(env: &mut TestEnv) -> Value {
    env.set_now(Some("2025-10-01T10:00:00Z"));
    env.start("old", "startup");
    env.hook("old", "UserPromptSubmit", json!({"prompt": "Always ask the zitherist before releases."}));
    env.write_file("old", "t1", "src/xylophonist.rs", "fn xylophonist() {}\n");
    env.hook("old", "SessionEnd", json!({"reason": "other"}));
    env.set_now(Some("2026-01-22T12:00:00Z"));
    env.write_file("new", "t1", "src/new.rs", "fn new() {}\n");
    env.json(&["brief"])
}

#[test]
fn nothing_leaves_unless_the_settings_say_so() {
    let mut env = env();
    let brief = old_and_new(&mut env);
    let store = env.json(&["status"])["store"].clone();
    assert!(store["journal_bytes"].as_u64() > Some(500) && store["view_bytes"].as_u64() > Some(500), "{store}");
    assert_eq!((&store["sessions_due"], &store["retention_days"]), (&json!(0), &Value::Null));
    env.ok(&["memory", "session-cleanup"]);
    assert_eq!((env.sessions().len(), env.json(&["brief"])), (2, brief));
    assert!(env.ok(&["status"]).contains("everything is kept"));
}

#[test]
fn sessions_past_the_retention_leave_and_memories_never() {
    let mut env = env();
    let brief = old_and_new(&mut env);
    assert!(brief["text"].as_str().unwrap().contains("rule:\"Always ask the zitherist"), "{brief}");
    fs::write(env.home().join("config.toml"), "[store]\nretention = \"60d\"\n").unwrap();
    assert_eq!(env.json(&["status"])["store"]["sessions_due"], 1);
    assert!(env.ok(&["status"]).contains("1 session due for deletion"));
    assert_eq!(env.json(&["memory", "session-cleanup", "--dry-run"])["left"].as_array().unwrap().len(), 1);
    assert_eq!(env.sessions().len(), 2, "a dry run changes nothing");
    // As if it had been written long ago: no hook appends there any more.
    let day = fs::read_dir(env.home().join("journal")).unwrap().next().unwrap().unwrap().path();
    fs::rename(&day, day.with_file_name("2025-10-01.jsonl")).unwrap();
    env.rebuild();
    let before = journal_bytes(&env);
    env.ok(&["memory", "session-cleanup"]);
    assert!(journal_bytes(&env) < before, "the segment is shorter");
    assert_eq!(env.sessions().len(), 1);
    assert_eq!(env.json(&["brief"])["text"], brief["text"], "memories stay, and so does what is told");
    env.rebuild();
    assert_eq!(env.json(&["brief"])["text"], brief["text"]);
    assert_eq!(env.json(&["status"])["store"]["sessions_due"], 0);
}

#[test]
fn the_oldest_leave_first_when_there_is_no_room() {
    let mut env = env();
    for (month, session) in ["2025-08", "2025-09", "2025-10"].iter().zip(["one", "two", "three"]) {
        env.set_now(Some(&format!("{month}-01T10:00:00Z")));
        for number in 0..60 {
            env.hook(session, "UserPromptSubmit", json!({"prompt": format!("{number} {}", "word ".repeat(1_100))}));
        }
    }
    env.set_now(Some("2026-01-22T12:00:00Z"));
    env.write_file("new", "t1", "src/new.rs", "");
    let store = env.json(&["status"])["store"].clone();
    let bytes = store["journal_bytes"].as_u64().unwrap() + store["view_bytes"].as_u64().unwrap();
    assert!(bytes > 2_000_000, "{store}");
    fs::write(env.home().join("config.toml"), "[store]\nmax_size = \"2 MB\"\n").unwrap();
    env.ok(&["memory", "session-cleanup"]);
    let left: Vec<Value> = env.sessions().iter().map(|session| session["agent_session_id"].clone()).collect();
    assert!(!left.contains(&json!("one")) && left.contains(&json!("new")), "{left:?} of {bytes} bytes");
    fs::write(env.home().join("config.toml"), "[store]\nmax_size = \"0 MB\"\n").unwrap();
    env.ok(&["memory", "session-cleanup"]);
    assert_eq!(env.sessions().len(), 1, "what is still told stays whatever the settings say");
}
