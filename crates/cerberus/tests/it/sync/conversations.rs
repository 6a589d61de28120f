//! Whole conversations travel to the user's own devices when one is asked for, and to nobody else.

use std::fs;
use std::path::PathBuf;

use cerberus_testkit::env::TestEnv;
use cerberus_testkit::process::write_program;
use serde_json::{Value, json};

use super::containers::{printed_key, started};
use super::{Hub, init, join, machine, pair};
use crate::forget::holding;

pub const SESSION: &str = "aaaa-session";

/// A session that Claude Code had on this machine, imported, and its transcript deleted.
pub fn conversation(env: &TestEnv, session: &str, words: &str) {
    let lines = [
        ("user", json!("Find out why the marimba is late")),
        ("assistant", json!([{"type": "text", "text": format!("It waits for {words}.")}])),
        ("assistant", json!([{"type": "tool_use", "id": "c", "name": "Bash", "input": {"command": "ls"}}])),
        (
            "user",
            json!([{"type": "tool_result", "tool_use_id": "c",
            "content": format!("{}/src/late.rs {}", env.project().display(), printed())}]),
        ),
        ("assistant", json!([{"type": "text", "text": "That was all."}])),
    ];
    let line = |(number, (role, content)): (usize, &(&str, Value))| {
        let written = json!({
            "type": role, "uuid": format!("u{number}"), "sessionId": session, "cwd": env.project(),
            "timestamp": format!("2026-01-21T10:00:0{number}Z"), "message": {"role": role, "content": content},
        });
        format!("{written}\n")
    };
    let path = transcript(env, session);
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(&path, lines.iter().enumerate().map(line).collect::<String>()).unwrap();
    env.ok(&["import", "claude-code", path.to_str().unwrap()]);
    fs::remove_file(path).unwrap();
}

/// A text that is long even when it is compressed.
fn printed() -> String {
    (0..60_000).map(|number| format!("{} ", number * 7919 % 10_007)).collect()
}

/// Where Claude Code keeps a transcript.
fn transcript(env: &TestEnv, session: &str) -> PathBuf {
    let folder: String = env
        .project()
        .to_string_lossy()
        .chars()
        .map(|one| if one.is_ascii_alphanumeric() { one } else { '-' })
        .collect();
    env.root().join(format!("user/.claude/projects/{folder}/{session}.jsonl"))
}

pub fn id(env: &TestEnv, session: &str) -> String {
    let all = env.sessions();
    let found = all.iter().find(|one| one["agent_session_id"] == session).unwrap_or_else(|| panic!("{all:?}"));
    found["id"].as_str().unwrap().to_string()
}

/// What `show --full` prints; empty if it has nothing.
pub fn shown(env: &TestEnv) -> String {
    String::from_utf8(env.run(&["show", &id(env, SESSION), "--full"]).stdout).unwrap()
}

/// A pair of machines; the first has a conversation and has agreed to send it.
fn sent() -> (Hub, TestEnv, TestEnv) {
    let (hub, a, b) = pair();
    conversation(&a, SESSION, "a glockenspiel");
    a.ok(&["share", "--conversations"]);
    b.ok(&["sync"]);
    (hub, a, b)
}

/// The conversation of another machine goes on here.
pub fn resumes(env: &TestEnv) {
    let programs = env.root().join("programs");
    write_program(&programs.join("claude"), "#!/bin/sh\necho \"$@\"\n");
    let mut command = env.command();
    let path = format!("{}:{}", programs.display(), std::env::var("PATH").unwrap());
    let output = command.args(["resume", &id(env, SESSION)]).env("PATH", path).output().unwrap();
    let told = String::from_utf8_lossy(&output.stderr);
    assert_eq!(String::from_utf8_lossy(&output.stdout).trim(), format!("--resume {SESSION}"), "{told}");
    assert!(told.contains("put its transcript back from another device"), "{told}");
}

/// How many files of the hub are as large as a conversation.
fn objects(hub: &Hub) -> usize {
    hub.files().iter().map(|(_, bytes)| bytes.len()).filter(|bytes| *bytes > 20_000).count()
}

#[test]
fn a_conversation_is_sent_if_the_user_agreed_and_read_where_it_is_asked_for() {
    let (hub, a, b) = pair();
    conversation(&a, SESSION, "a glockenspiel");
    a.ok(&["sync"]);
    b.ok(&["sync"]);
    assert_eq!(a.json(&["status"])["archive"]["conversations"], 1, "an exchange takes nothing from the archive");
    let output = b.run(&["show", &id(&b, SESSION), "--full"]);
    let told = String::from_utf8_lossy(&output.stderr);
    assert!(!output.status.success() && told.contains("cerberus share --conversations"), "{told}");

    let asked = a.ok(&["share", "--conversations", "--dry-run"]);
    assert!(asked.contains("With them go the whole conversations"), "{asked}");
    let output = a.run(&["share", "--conversations"]);
    let told = String::from_utf8_lossy(&output.stderr);
    assert!(told.contains("sent 1 conversation, "), "{told}");
    b.ok(&["sync"]);
    assert!(!b.home().join("archive").join("00000001.segment").exists(), "nobody reads it with an exchange");
    let output = b.run(&["show", &id(&b, SESSION), "--full"]);
    let (text, told) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    assert!(text.contains("It waits for a glockenspiel.") && text.contains("That was all."), "{text}{told}");
    assert!(told.contains("fetched its conversation from laptop: "), "{told}");
    assert!(hub.files().iter().all(|(_, bytes)| !bytes.windows(12).any(|part| part == b"glockenspiel")));
    let again = a.run(&["sync"]);
    assert!(!String::from_utf8_lossy(&again.stderr).contains("conversation"), "it is sent once");
}

#[test]
fn a_session_resumes_on_another_machine() {
    let (_hub, a, b) = sent();
    resumes(&b);
    let put_back = fs::read_to_string(transcript(&b, SESSION)).unwrap();
    assert!(put_back.contains(&format!("{}/src/late.rs", b.project().display())), "the project is elsewhere here");
    assert!(!put_back.contains(&*a.project().to_string_lossy()) && put_back.contains("glockenspiel"));
}

#[test]
fn what_is_forgotten_or_not_shared_any_more_leaves_the_hub() {
    let (hub, a, b) = sent();
    let before = objects(&hub);
    conversation(&a, "bbbb-session", "an ocarina");
    // What one device forgets leaves the archive of the other, and nothing else does.
    b.ok(&["forget", "--yes", "--session", &id(&b, SESSION)]);
    b.ok(&["sync"]);
    a.ok(&["sync"]);
    assert_eq!(holding(&a, "glockenspiel"), [] as [String; 0]);
    assert!(!holding(&a, "ocarina").is_empty());
    assert_eq!(objects(&hub), before, "one left with the exchange that heard of it, the other came");
    a.ok(&["forget", "--yes", "--session", &id(&a, "bbbb-session")]);
    a.ok(&["sync"]);
    assert!(objects(&hub) < before, "its batches are gone");
    b.ok(&["sync"]);
    assert_eq!(holding(&b, "glockenspiel"), [] as [String; 0]);
    assert_eq!(b.sessions().iter().filter(|one| one["agent_session_id"] == SESSION).count(), 0);

    for unshare in [&["unshare", "--conversations"][..], &["unshare", "--yes"], &["unshare", "--erase", "--yes"]] {
        let (hub, a, b) = sent();
        let before = objects(&hub);
        a.ok(unshare);
        assert!(objects(&hub) < before, "{unshare:?}");
        if unshare.len() < 3 {
            assert!(!shown(&b).contains("glockenspiel"), "{unshare:?}");
        }
    }
}

#[test]
fn what_one_device_forgets_leaves_the_archive_of_the_other() {
    let requests: [(&[&str], &[&str]); 2] = [
        (&["--path", "src/late.rs"], &["late.rs"]),
        (&["--since", "2026-01-21T10:00:01Z"], &["glockenspiel", "late.rs", "That was all."]),
    ];
    for (request, gone) in requests {
        let (_hub, a, b) = pair();
        conversation(&b, SESSION, "a glockenspiel");
        let other = b.root().join("other");
        fs::create_dir_all(&other).unwrap();
        let line = |role: &str, content: Value, at: &str| {
            let written = json!({"type": role, "uuid": at, "sessionId": "other-session", "cwd": other,
                "timestamp": format!("2026-01-21T{at}Z"), "message": {"role": role, "content": content}});
            format!("{written}\n")
        };
        let text = json!([{"type": "text", "text": "Look at src/late.rs for the zither."}]);
        let path = b.root().join("other-session.jsonl");
        let lines = [line("user", json!("Where is it?"), "10:00:00"), line("assistant", text, "10:00:09")];
        fs::write(&path, lines.concat()).unwrap();
        b.ok(&["import", "claude-code", path.to_str().unwrap()]);
        b.start("s1", "startup");
        b.write_file("s1", "t1", "src/late.rs", "pub fn load() {}\n");
        b.ok(&["sync"]);
        a.ok(&["sync"]);
        let full = |session: &str| b.ok(&["show", &id(&b, session), "--full"]);
        assert!(gone.iter().all(|words| full(SESSION).contains(words)));
        a.ok(&[&["forget", "--yes"], request].concat());
        a.ok(&["sync"]);
        // It is made anew by the process that has locked the archive.
        fs::remove_file(b.home().join("archive/index-3.db")).unwrap();
        b.ok(&["sync"]);
        for words in gone {
            assert!(!full(SESSION).contains(words), "{request:?} {words}: {}", full(SESSION));
        }
        assert!(full(SESSION).contains("marimba is late"), "{request:?}");
        assert!(b.ok(&["search", "zither"]).contains("for the zither"), "{request:?}: it was not shared");
        // What is said later stays.
        let before = fs::read(b.home().join("archive/00000001.segment")).unwrap();
        b.ok(&["sync"]);
        assert_eq!(fs::read(b.home().join("archive/00000001.segment")).unwrap(), before);
    }
}

#[test]
fn a_later_state_replaces_what_was_sent() {
    let (hub, a, b) = sent();
    let before = hub.batches().len();
    conversation(&a, "bbbb-session", "nothing");
    a.ok(&["forget", "--yes", "--since", "2026-01-21T10:00:04Z"]);
    a.ok(&["sync"]);
    let text = shown(&b);
    assert!(text.contains("glockenspiel") && !text.contains("That was all."), "{text}");
    assert!(hub.batches().len() > before, "the other one is there too");
}

#[test]
fn teams_and_containers_get_no_conversation() {
    let (hub, a) = (Hub::new(), machine());
    a.ok(&["sync", "init", &hub.url(), "--team", "acme", "--name", "ann"]);
    conversation(&a, SESSION, "a glockenspiel");
    let refused = a.run(&["share", "--team", "acme", "--conversations"]);
    assert!(!refused.status.success());
    a.ok(&["share", "--team", "acme"]);
    assert_eq!(objects(&hub), 0);

    let (hub, a) = (Hub::new(), machine());
    init(&a, &hub, "laptop");
    conversation(&a, SESSION, "a glockenspiel");
    a.ok(&["share", "--conversations"]);
    assert!(objects(&hub) > 0);
    let container = machine();
    started(&container, &printed_key(&a));
    assert!(!shown(&container).contains("glockenspiel"));
    // A device that joins later may read it.
    let b = machine();
    join(&a, &b, &hub, "workstation", &[]);
    assert!(shown(&b).contains("glockenspiel"));
}

#[test]
fn a_conversation_that_was_changed_on_the_hub_is_not_believed() {
    let (hub, _a, b) = sent();
    for (path, bytes) in hub.files().into_iter().filter(|(_, bytes)| bytes.len() > 20_000) {
        let mut changed = bytes;
        let middle = changed.len() / 2;
        changed[middle] ^= 1;
        fs::write(path, changed).unwrap();
    }
    let output = b.run(&["show", &id(&b, SESSION), "--full"]);
    let told = String::from_utf8_lossy(&output.stderr);
    assert!(!output.status.success() && told.contains("nothing of it was read"), "{told}");
}
