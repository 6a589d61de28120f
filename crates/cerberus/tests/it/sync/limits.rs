//! What another device may send at most, and what becomes of the rest.

use std::collections::BTreeMap;
use std::fs;
use std::process::Command;

use cerberus_os::clock::Clock;
use cerberus_os::home::Home;
use cerberus_store::journal;
use cerberus_sync::batch::{self, Entry, Position};
use cerberus_sync::crypto;
use cerberus_sync::document::{self, Head, Proof, Reach, VERSION};
use cerberus_sync::files::Files;
use cerberus_sync::transport::folder::Folder;
use cerberus_sync::transport::{Sealed, Transport};
use cerberus_testkit::env::TestEnv;
use serde_json::{Value, json};

use super::forget::holds;
use super::{Hub, decide, join, machine, pair, problems};

/// More than the program itself ever writes.
const GENERATION: u64 = 7;

/// A list of what is open, as a team gets it.
fn list(word: &str, padding: usize) -> String {
    let fact = json!({"kind": "decision", "code": format!("dec:{word}"), "at": Clock::new(None).wall.millis(), "session": "s"});
    record(json!({"open": {"facts": [fact]}, "padding": "x".repeat(padding)}), word)
}

fn record(event: Value, key: &str) -> String {
    let location = json!({"project": "here", "name": "", "root": "", "cwd": ""});
    let at = Clock::new(None).wall.millis();
    let mut record = json!({"at": at, "key": key, "agent": "manual", "session": "", "place": location});
    let padding = event["padding"].clone();
    let mut event = event;
    event.as_object_mut().unwrap().remove("padding");
    record["event"] = event;
    if padding.is_string() {
        record["padding"] = padding;
    }
    record.to_string()
}

/// What a device with a changed program writes: a stream of its own that holds this, each list in one batch.
fn write_stream(hub: &Hub, env: &TestEnv, batches: &[Vec<String>]) {
    let files_home = Home::new(env.home());
    let files = Files::new(&files_home);
    let (device, space) = (files.device().unwrap(), files.spaces().unwrap().spaces.remove(0));
    let shared = space.projects.iter().find(|shared| !shared.is_space()).unwrap().clone();
    let (place, name) = (space.place(&shared.id), device.id.to_string());
    let (stream, key) = (space.stream(&shared.id, device.id), &space.project_keys(&shared.id)[0]);
    let mut reach = Reach { generation: GENERATION, sequence: 0, hash: [0; 32] };
    let mut sealed = Vec::new();
    let first = journal::micros(Clock::new(None).wall) - 1_000_000;
    for batch in batches {
        let position = Position { generation: GENERATION, sequence: reach.sequence + 1, previous: reach.hash };
        let entries: Vec<Entry> = (first..).zip(batch).map(|(seq, json)| Entry { seq, json: json.clone() }).collect();
        let (bytes, taken) = batch::seal(key, &stream, position, [9; 16], &entries).unwrap();
        assert_eq!(taken, entries.len());
        reach = Reach { generation: GENERATION, sequence: position.sequence, hash: crypto::hash(&bytes) };
        sealed.push(Sealed { sequence: position.sequence, bytes });
    }
    let mut hub = Folder::open(hub.path()).unwrap();
    hub.put_if_absent(&stream, GENERATION, &sealed).unwrap();
    let Proof { reach, signature } = Proof::new(&device.secrets, &place, &name, reach).unwrap();
    let (at, seen, proofs) = (Clock::new(None).wall, BTreeMap::new(), BTreeMap::new());
    let head = Head { v: VERSION, reach, signature, at, seen, era: 0, proofs, pass: None, is_kept: false };
    let bytes = document::signed(&device.secrets, &place, &name, &head).unwrap();
    hub.replace(&place, &name, &bytes, Some(GENERATION)).unwrap();
}

fn is_said(env: &TestEnv, words: &str) -> bool {
    problems(env).iter().any(|problem| problem.contains(words))
}

fn team() -> (Hub, TestEnv, TestEnv) {
    let hub = Hub::new();
    let (ann, bob) = (machine(), machine());
    ann.ok(&["sync", "init", &hub.url(), "--team", "acme", "--name", "ann"]);
    ann.ok(&["share", "--team", "acme"]);
    join(&ann, &bob, &hub, "bob", &["--team", "acme"]);
    (hub, ann, bob)
}

#[test]
fn a_teammates_record_has_a_limit() {
    let (hub, ann, bob) = team();
    write_stream(&hub, &ann, &[vec![list("xylophone", 0), list("zanzibar", batch::RECORD_BYTES_MAX)]]);
    bob.ok(&["sync"]);
    assert!(is_said(&bob, "1 records of it are too large"), "{:?}", problems(&bob));
    assert!(holds(&bob, "xylophone") && !holds(&bob, "zanzibar"), "{}", bob.brief());
}

#[test]
fn what_a_teammate_sends_has_a_limit() {
    let (hub, ann, bob) = team();
    let batch = || (0..110).map(|number| list(&format!("marimba{number}"), 60_000)).collect::<Vec<_>>();
    write_stream(&hub, &ann, &[batch(), batch(), batch()]);
    bob.ok(&["sync"]);
    assert!(is_said(&bob, "more than is allowed"), "{:?}", problems(&bob));
    assert!(!holds(&bob, "marimba"));
}

#[test]
#[cfg_attr(not(target_os = "linux"), ignore = "only Linux limits the memory of a process")]
fn memory_does_not_grow_with_what_is_sent() {
    let (hub, a, b) = pair();
    // Three hundred megabytes of text that take two on the hub.
    let unknown = record(json!({"of_the_future": {}, "padding": "x".repeat(60_000)}), "k");
    write_stream(&hub, &a, &vec![vec![unknown; 125]; 40]);
    let plain = b.command();
    let mut limited = Command::new("sh");
    limited.args(["-c", "ulimit -v 262144; exec \"$0\" sync"]).arg(plain.get_program());
    for (name, value) in plain.get_envs() {
        value.map(|value| limited.env(name, value));
    }
    let output = limited.current_dir(b.project()).output().unwrap();
    assert!(output.status.success(), "{output:?}");
    assert!(is_said(&b, "5000 records of it are of a kind"), "{:?}", problems(&b));
}

#[test]
fn a_record_of_an_unknown_kind_is_read_after_an_update() {
    let (hub, a, b) = pair();
    decide(&a, "made of glass");
    a.ok(&["sync"]);
    b.ok(&["sync"]);
    let note = |word: &str| {
        record(json!({"note": {"kind": "decision", "text": format!("use {word}"), "resolved": false}}), word)
    };
    write_stream(&hub, &a, &[vec![note("xylophone"), record(json!({"of_the_future": {}}), "k"), note("marimba")]]);
    b.ok(&["sync"]);
    assert!(is_said(&b, "1 records of it are of a kind that this version does not know"), "{:?}", problems(&b));
    assert!(holds(&b, "xylophone") && holds(&b, "marimba"));
    b.ok(&["sync"]);
    assert_eq!(b.json(&["sync"])["spaces"][0]["received"], 0, "the same version does not try again");
    // As if the version before had left more out.
    let state = b.home().join("sync/state-0.json");
    let text = fs::read_to_string(&state).unwrap();
    let mine = format!("\"unknown_to\": \"{}\"", env!("CARGO_PKG_VERSION"));
    assert!(text.contains(&mine), "{text}");
    fs::write(&state, text.replace(&mine, "\"unknown_to\": \"0.0.1\"")).unwrap();
    let replicas = || -> Vec<_> {
        let files = fs::read_dir(b.home().join("journal")).unwrap().flatten().map(|entry| entry.path());
        files.filter(|path| path.to_string_lossy().contains("replica")).collect()
    };
    for path in replicas() {
        let kept = fs::read_to_string(&path).unwrap();
        let kept: Vec<&str> = kept.split('\n').filter(|line| !line.contains("marimba")).collect();
        fs::write(&path, kept.join("\n")).unwrap();
    }
    b.rebuild();
    assert!(!b.brief().contains("marimba"), "{}", b.brief());
    b.ok(&["sync"]);
    assert!(b.brief().contains("marimba"), "{}", b.brief());
    let lines: String = replicas().iter().map(|path| fs::read_to_string(path).unwrap()).collect();
    assert_eq!((lines.matches("use marimba").count(), lines.matches("use xylophone").count()), (1, 1), "{lines}");
}
