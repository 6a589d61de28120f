//! One order of all records: it survives rewriting, late arrival, old and newer formats, and nothing forgotten returns.

use std::fs;
use std::path::PathBuf;

use cerberus_record::event::Record;
use cerberus_record::order::{DeviceId, Order};
use cerberus_store::journal;
use cerberus_testkit::env::TestEnv;
use serde_json::{Value, json};

use crate::env;
use crate::lifecycle::Agent;

fn segments(env: &TestEnv) -> Vec<PathBuf> {
    let mut found: Vec<PathBuf> =
        fs::read_dir(env.home().join("journal")).unwrap().map(|entry| entry.unwrap().path()).collect();
    found.sort();
    found
}

/// Everything that is shown of a project.
fn shown(env: &TestEnv) -> Vec<Value> {
    [&["brief"][..], &["memory", "session-status", "--all"], &["memory", "session-history", "--days", "3650"]]
        .iter()
        .map(|args| env.json(args))
        .collect()
}

/// A rebuilt view says what the grown one says.
fn same_when_rebuilt(env: &TestEnv) {
    let before = shown(env);
    env.rebuild();
    assert_eq!(shown(env), before);
}

fn holds(env: &TestEnv, words: &str) -> bool {
    segments(env).iter().any(|segment| fs::read_to_string(segment).unwrap().contains(words))
}

#[test]
fn a_record_that_loses_words_keeps_its_place() {
    let env = env();
    let mut agent = Agent::start(&env);
    let words = "Fix the parser. Always consult the xylophonist before releases.";
    agent.hook(&env, "s1", "SessionStart", json!({"source": "startup"}));
    agent.hook(&env, "s1", "UserPromptSubmit", json!({"prompt": words, "prompt_id": "1"}));
    agent.write_file(&env, "s1", "t1", "parser.rs");
    agent.hook(&env, "s1", "Stop", json!({"last_assistant_message": "The parser is fixed."}));
    env.ok(&["memory", "propose"]);
    let id = env.json(&["memory", "list"])[0]["id"].as_str().unwrap().to_string();
    env.ok(&["memory", "forget", &id]);
    assert!(!holds(&env, "xylophonist") && holds(&env, "Fix the parser."));
    agent.kill();
    let told = env.start("s2", "startup");
    assert!(!told.contains("interrupted"), "the request was answered before its session died: {told}");
    same_when_rebuilt(&env);
}

#[test]
fn every_record_has_a_version_a_device_and_a_sequence_number() {
    let env = env();
    env.start("s1", "startup");
    env.write_file("s1", "t1", "a.rs", "");
    env.ok(&["record", "next", "go on"]);
    let device = fs::read_to_string(env.home().join("device")).unwrap();
    let mut last = 0;
    for line in fs::read_to_string(&segments(&env)[0]).unwrap().lines().filter(|line| !line.is_empty()) {
        let record: Value = serde_json::from_str(line).unwrap();
        assert_eq!((&record["v"], &record["device"]), (&json!(2), &json!(device)), "{line}");
        let seq = record["seq"].as_u64().unwrap();
        assert!(seq > last, "{line}");
        last = seq;
    }
}

/// Appends a line to a segment of our choice, as a process does whose clock is wrong or that was held up at midnight.
fn append(env: &TestEnv, day: &str, line: &[u8]) {
    let path = env.home().join("journal").join(format!("{day}.jsonl"));
    let mut bytes = fs::read(&path).unwrap_or_default();
    bytes.extend_from_slice(line);
    fs::write(path, bytes).unwrap();
}

fn first_line(env: &TestEnv) -> Value {
    let text = fs::read_to_string(&segments(env)[0]).unwrap();
    serde_json::from_str(text.lines().find(|line| !line.is_empty()).unwrap()).unwrap()
}

fn encoded(record: &Value, seq: u64) -> Vec<u8> {
    let text = record.to_string();
    let record: Record = serde_json::from_str(&text).unwrap();
    journal::encode(&record, Order { seq, device: DeviceId::from_bytes([7; 8]) }).unwrap()
}

#[test]
fn sessions_keep_their_ids_when_a_record_arrives_late() {
    let env = env();
    env.hook("first", "Stop", json!({"last_assistant_message": "Next: one"}));
    env.hook("second", "Stop", json!({"last_assistant_message": "Next: two"}));
    let id = |name: &str| {
        let found = env.sessions().into_iter().find(|one| one["agent_session_id"] == name).unwrap();
        found["id"].as_str().unwrap().to_string()
    };
    assert_eq!((id("first"), id("second")), ("20260122-133514".to_string(), "20260122-133514-2".to_string()));
    // A record of the second session, written to an older segment: by its place it came after both.
    let mut late = first_line(&env);
    (late["session"], late["key"]) = (json!("second"), json!("late"));
    append(&env, "2020-01-01", &encoded(&late, 9_000_000_000_000_000));
    assert_eq!(id("second"), "20260122-133514-2");
    same_when_rebuilt(&env);
    // One that really came before: the ids change places, and stay so.
    late["key"] = json!("earlier");
    append(&env, "2020-01-01", &encoded(&late, 5));
    assert_eq!((id("second"), id("first")), ("20260122-133514".to_string(), "20260122-133514-2".to_string()));
    same_when_rebuilt(&env);
}

/// A journal as the first released format wrote it: no version, no device, no sequence number.
const FIRST_FORMAT: &str = include_str!("fixtures/journal-1.jsonl");

#[test]
fn a_journal_of_the_first_format_is_understood_and_can_be_added_to() {
    let env = env();
    fs::write(env.home().join("journal/2026-01-21.jsonl"), in_project(&env, FIRST_FORMAT)).unwrap();
    let brief = env.brief();
    assert!(brief.contains("impl:proxy.go") && brief.contains("next:Add a mutex"), "{brief}");
    env.write_file("new", "t9", "later.rs", "");
    assert!(env.brief().contains("impl:later.rs"));
    same_when_rebuilt(&env);
    env.ok(&["forget", "--path", "proxy.go", "--yes"]);
    assert!(!holds(&env, "proxy.go") && env.brief().contains("next:Add a mutex"), "{}", env.brief());
    same_when_rebuilt(&env);
}

/// The fixture's records, as if they were of this project; the checksums are made anew.
fn in_project(env: &TestEnv, fixture: &str) -> Vec<u8> {
    env.write_file("probe", "t0", "probe.rs", "");
    let place = first_line(env)["place"].clone();
    fs::remove_dir_all(env.home().join("journal")).unwrap();
    fs::create_dir_all(env.home().join("journal")).unwrap();
    let lines = fixture.lines().filter(|line| !line.is_empty()).flat_map(|line| {
        let mut record: Value = serde_json::from_str(line).unwrap();
        record["place"] = place.clone();
        record.as_object_mut().unwrap().remove("crc");
        let text = record.to_string();
        let record: Record = serde_json::from_str(&text).unwrap();
        journal::sealed_line(&record).unwrap()
    });
    lines.collect()
}

/// What a newer version might write: an event that this one does not know.
fn from_a_newer_version(env: &TestEnv, words: &str) -> Vec<u8> {
    let mut record = first_line(env);
    record["key"] = json!("newer");
    record["event"] = json!({"dreamed": {"of": words}});
    for field in ["v", "device", "seq", "crc"] {
        record.as_object_mut().unwrap().remove(field);
    }
    let text = record.to_string();
    let open = text.strip_suffix('}').unwrap();
    let order = Order { seq: 9_000_000_000_000_000, device: DeviceId::from_bytes([7; 8]) };
    journal::encode_open(open.as_bytes(), journal::FORMAT + 1, order)
}

#[test]
fn records_of_a_newer_version_are_kept_and_forgotten_with_their_session() {
    let env = env();
    env.write_file("s1", "t1", "a.rs", "");
    append(&env, "2026-01-22", &from_a_newer_version(&env, "xylophones"));
    assert!(env.brief().contains("impl:a.rs"), "the rest is read");
    let detail = env.doctor()["checks"].to_string();
    assert!(detail.contains("1 of a newer version"), "{detail}");
    env.rebuild();
    assert!(holds(&env, "xylophones"), "it is kept for the version that wrote it");

    let id = env.sessions()[0]["id"].as_str().unwrap().to_string();
    let output = env.run(&["forget", "--session", &id, "--yes"]);
    assert!(output.status.success());
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(said.contains("1 record written by a newer version"), "{said}");
    assert!(!holds(&env, "xylophones"));
}

fn transcript(env: &TestEnv) -> PathBuf {
    let line = |kind: &str, number: u32, message: Value| {
        json!({"type": kind, "uuid": format!("u{number}"), "sessionId": "old", "cwd": env.project(),
            "timestamp": format!("2026-01-22T10:00:{number:02}Z"), "message": message})
    };
    let path = env.project().join("src/xylophone.rs");
    let use_it = json!([{"type": "tool_use", "id": "toolu_1", "name": "Write",
        "input": {"file_path": path, "content": "fn x() {}\n"}}]);
    let lines = [
        line("user", 1, json!({"content": "Tune the xylophone"})),
        line("assistant", 2, json!({"content": use_it})),
        line("user", 3, json!({"content": [{"type": "tool_result", "tool_use_id": "toolu_1", "content": "ok"}]})),
        line("assistant", 4, json!({"content": [{"type": "text", "text": "The xylophone is tuned."}]})),
    ];
    let file = env.root().join("old.jsonl");
    fs::write(&file, lines.map(|line| format!("{line}\n")).concat()).unwrap();
    file
}

#[test]
fn forgetting_wins_over_importing_until_it_is_taken_back() {
    let env = env();
    let file = transcript(&env);
    let import = ["import", "claude-code", file.to_str().unwrap()];
    env.ok(&import);
    let id = env.sessions()[0]["id"].as_str().unwrap().to_string();
    let said = env.run(&["forget", "--session", &id, "--yes"]);
    assert!(String::from_utf8_lossy(&said.stderr).contains("will not bring it back"), "{said:?}");
    assert!(!holds(&env, "xylophone"));

    // More was written since: of a forgotten session nothing up to then is taken.
    let again = env.run(&import);
    let talk = String::from_utf8_lossy(&again.stderr).into_owned();
    assert!(talk.contains("skipped 3 events") && talk.contains("cerberus import --forgotten"), "{talk}");
    assert_eq!(env.sessions(), [json!(null); 0]);
    assert!(!holds(&env, "xylophone"));
    env.rebuild();
    assert_eq!(env.json(&import)["forgotten_events"], 3, "a rebuilt view knows it too");

    env.ok(&["import", "claude-code", "--forgotten", file.to_str().unwrap()]);
    assert!(env.brief().contains("impl:src/xylophone.rs"), "{}", env.brief());
    same_when_rebuilt(&env);
}

#[test]
fn what_a_hook_captured_and_was_forgotten_does_not_return_through_the_transcript() {
    let mut env = env();
    env.set_now(Some("2026-01-22T10:00:01Z"));
    env.start("old", "startup");
    env.hook("old", "UserPromptSubmit", json!({"prompt": "Tune the xylophone", "prompt_id": "1"}));
    env.set_now(Some("2026-01-22T13:35:14Z"));
    let between = ["forget", "--since", "2026-01-22T10:00:00Z", "--until", "2026-01-22T10:00:02Z", "--yes"];
    env.ok(&between);
    assert!(!holds(&env, "Tune the xylophone"));
    let file = transcript(&env);
    let import = ["import", "claude-code", file.to_str().unwrap()];
    assert_eq!(env.json(&import)["forgotten_events"], 1, "the prompt has another key in the transcript");
    assert!(!holds(&env, "Tune the xylophone") && holds(&env, "xylophone.rs"), "the rest was never forgotten");
    env.ok(&["import", "claude-code", "--forgotten", file.to_str().unwrap()]);
    assert!(holds(&env, "Tune the xylophone"));
}

#[test]
fn what_was_forgotten_does_not_return_through_a_hook_or_an_old_segment() {
    let env = env();
    let words = json!({"prompt": "Tune the xylophone", "prompt_id": "1"});
    env.start("s1", "startup");
    env.hook("s1", "UserPromptSubmit", words.clone());
    env.write_file("s1", "t1", "src/xylophone.rs", "");
    env.write_file("s2", "t2", "src/other.rs", "");
    let segment = segments(&env)[0].clone();
    let copy = fs::read(&segment).unwrap();
    let id =
        env.sessions().iter().find(|one| one["agent_session_id"] == "s1").unwrap()["id"].as_str().unwrap().to_string();
    env.ok(&["forget", "--session", &id, "--yes"]);
    // The client sends the same once more.
    env.write_file("s1", "t1", "src/xylophone.rs", "");
    assert!(!env.brief().contains("xylophone"));
    assert!(!holds(&env, "xylophone"), "it is removed from the journal again");
    // Somebody restores a backup of the journal.
    let list = fs::read(&segment).unwrap();
    fs::write(&segment, [copy, list].concat()).unwrap();
    env.rebuild();
    let brief = env.brief();
    assert!(!brief.contains("xylophone") && brief.contains("impl:src/other.rs"), "{brief}");
    assert!(!holds(&env, "xylophone"));
    // What happens later in the same session is new.
    env.write_file("s1", "t9", "src/new.rs", "");
    assert!(env.brief().contains("impl:src/new.rs"));
}

#[test]
fn hooks_answer_while_another_process_holds_the_view() {
    let env = env();
    env.write_file("s1", "t1", "a.rs", "");
    env.ok(&["status"]);
    let is_view = |path: &PathBuf| path.extension().is_some_and(|end| end == "db");
    let view = fs::read_dir(env.home()).unwrap().map(|entry| entry.unwrap().path()).find(is_view).unwrap();
    let holder = rusqlite::Connection::open(view).unwrap();
    holder.execute_batch("BEGIN IMMEDIATE").unwrap();
    env.write_file("s1", "t2", "b.rs", "");
    let told = env.start("s2", "startup");
    assert!(told.contains("impl:a.rs") && !told.contains("b.rs"), "what is readable is told: {told}");
    env.hook("s2", "UserPromptSubmit", json!({"prompt": "go on", "prompt_id": "1"}));
    env.hook("s2", "SessionEnd", json!({"reason": "other"}));
    holder.execute_batch("ROLLBACK").unwrap();
    assert_eq!(env.json(&["status"])["failures"], json!([]));
    assert!(env.brief().contains("impl:b.rs"), "the next command catches up");
}
