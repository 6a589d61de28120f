//! Containers: a key for one project, in one variable.

use std::fs;
use std::path::PathBuf;

use cerberus_agents::claude_code;
use cerberus_os::clock::Clock;
use cerberus_os::home::Home;
use cerberus_record::event::{Event, Record};
use cerberus_store::journal;
use cerberus_store::journal::own_record;
use cerberus_store::project::identity;
use cerberus_testkit::env::TestEnv;
use serde_json::Value;

use super::{Hub, decide, init, join, machine, pair, problems};

#[test]
fn a_container_reads_and_writes_one_project() {
    let (hub, a) = (Hub::new(), machine());
    init(&a, &hub, "laptop");
    decide(&a, "use sqlite for the queue");
    a.ok(&["learn", "I like short answers", "--everywhere"]);
    a.ok(&["sync"]);
    let token = printed_key(&a);
    let containers = [machine(), machine()];
    for (number, container) in containers.iter().enumerate() {
        let heads = hub.paths("/heads/").len();
        started(container, &token);
        assert_eq!(hub.paths("/heads/").len(), heads, "a container that has nothing to say leaves nothing");
        assert!(container.brief().contains("use sqlite"), "{}", container.brief());
        assert!(!container.brief().contains("short answers"), "only this project");
        decide(container, &format!("made in container {number}"));
        container.ok(&["sync"]);
    }
    a.ok(&["sync"]);
    for number in 0..2 {
        assert!(a.brief().contains(&format!("made in container {number}")), "{}", a.brief());
    }
    assert_eq!(problems(&a), [""; 0]);
    // Other devices believe them too, and not any more when the key is removed.
    let b = machine();
    join(&a, &b, &hub, "workstation", &[]);
    assert!(b.brief().contains("made in container 0"));
    // All keys that were printed for containers go together.
    printed_key(&a);
    a.ok(&["sync", "remove", "containers of hydra", "--yes"]);
    decide(&containers[0], "after the removal");
    let output = containers[0].run(&["sync"]);
    assert!(String::from_utf8_lossy(&output.stderr).contains("was removed"), "{output:?}");
    a.ok(&["sync"]);
    assert!(!a.brief().contains("after the removal"));
    assert_eq!(problems(&a), [""; 0]);
    for wrong in ["", "nonsense", "cerberus1.00ff", "cerberus1.7b2276223a317d"] {
        let output = machine().command().args(["sync", "--for-project"]).env("CERBERUS_SYNC", wrong).output().unwrap();
        assert_eq!(output.status.code(), Some(1), "{wrong}");
    }
}

#[test]
fn an_agent_cannot_send_a_project_to_a_hub_of_its_choice() {
    let (hub, attacker, _) = pair();
    let token = printed_key(&attacker);
    let (before, victim) = (hub.files(), machine());
    decide(&victim, "the lighthouse is painted red");
    let join = |marker: Option<&str>| {
        let mut command = victim.command();
        command.args(["sync", "--for-project"]).env("CERBERUS_SYNC", &token);
        marker.map(|marker| command.env(marker, "1"));
        command.output().unwrap()
    };
    let output = join(Some("CLAUDECODE"));
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(output.status.code() == Some(1) && said.contains("only the user can join"), "{said}");
    assert!(!victim.home().join("sync").exists() && hub.files() == before, "nothing was set up or sent");
    let leaves = || victim.doctor().to_string();
    assert!(leaves().contains("nothing leaves this machine"), "{}", leaves());
    // The start of a container is not an agent; then `doctor` names the hub.
    let output = join(None);
    assert!(output.status.success(), "{output:?}");
    assert!(leaves().contains(&format!("hydra shared with your own devices at {}", hub.url())), "{}", leaves());
    // What is shared already, an agent may exchange.
    assert!(victim.command().arg("sync").env("CLAUDECODE", "1").output().unwrap().status.success());
}

pub fn printed_key(env: &TestEnv) -> String {
    env.json(&["sync", "pair", "--for-project"])["token"].as_str().unwrap().to_string()
}

/// Runs `sync --for-project` and returns what it says about its space.
pub fn started(container: &TestEnv, token: &str) -> Value {
    let mut command = container.command();
    let output = command.args(["sync", "--for-project", "--json"]).env("CERBERUS_SYNC", token).output().unwrap();
    assert!(output.status.success(), "{output:?}");
    let said: Value = serde_json::from_slice(&output.stdout).unwrap();
    said["spaces"][0].clone()
}

/// Many records of one long session.
pub fn fill(env: &TestEnv, session: &str, count: usize) {
    let (home, clock) = (Home::new(env.home()), Clock::new(None));
    let located = identity::locate(&env.project());
    let record = |number: usize| -> Record<'static> {
        let location = located.location(home.cleaner());
        own_record(&home, &clock, claude_code::AGENT, session, location, format!("key-{number}"), Event::Pulse)
    };
    let records: Vec<Record> = (0..count).map(record).collect();
    journal::append_all(&home, clock.wall, &records).unwrap();
}

/// A device with a memory, a decision, and far more records after them than a container reads.
fn long_ago() -> (Hub, TestEnv) {
    let (hub, a) = (Hub::new(), machine());
    init(&a, &hub, "laptop");
    a.ok(&["learn", "Always use zanzibar", "--scope", "project:hydra"]);
    decide(&a, "use sqlite for the queue");
    fill(&a, "long", 6_000);
    a.ok(&["sync"]);
    (hub, a)
}

/// The files of bases, the heads last.
fn base_files(hub: &Hub) -> Vec<PathBuf> {
    hub.paths("-base/")
}

#[test]
fn a_container_gets_what_is_old_but_still_holds_and_reads_no_more_than_it_must() {
    let (hub, a) = long_ago();
    assert!(!base_files(&hub).is_empty());
    let (token, container) = (printed_key(&a), machine());
    let said = started(&container, &token);
    let received = said["received"].as_u64().unwrap();
    assert!(received <= 4_000, "{received} records");
    let brief = container.brief();
    assert!(brief.contains("zanzibar") && brief.contains("sqlite"), "{brief}");
    assert_eq!(said["problems"], serde_json::json!([]));
    // From now on it reads what is new, and no more.
    decide(&a, "ship on friday");
    a.ok(&["sync"]);
    let said = container.json(&["sync"]);
    assert!(said["spaces"][0]["received"].as_u64().unwrap() < 10, "{said}");
    assert!(container.brief().contains("friday"));
    // Without a base, what is new is still there.
    for file in base_files(&hub) {
        fs::remove_file(file).unwrap();
    }
    let other = machine();
    let said = started(&other, &token);
    assert!(said["received"].as_u64().unwrap() <= 2_000, "{said}");
    assert!(other.brief().contains("friday") && !other.brief().contains("zanzibar"), "{}", other.brief());
}

#[test]
fn what_is_old_but_still_holds_moves_to_another_hub() {
    let (hub, a) = long_ago();
    let other = Hub::new();
    a.ok(&["sync", "move", &other.url()]);
    assert!(!base_files(&other).is_empty() && !base_files(&hub).is_empty());
    let (token, container) = (printed_key(&a), machine());
    assert_eq!(started(&container, &token)["problems"], serde_json::json!([]));
    assert!(container.brief().contains("zanzibar"), "{}", container.brief());
}

#[test]
fn a_base_that_was_changed_is_refused_and_the_streams_are_read() {
    let (hub, a) = long_ago();
    let token = printed_key(&a);
    let batches: Vec<PathBuf> =
        base_files(&hub).into_iter().filter(|path| !path.to_string_lossy().contains("/heads/")).collect();
    let mut bytes = fs::read(&batches[0]).unwrap();
    let last = bytes.len() - 1;
    bytes[last] ^= 1;
    fs::write(&batches[0], bytes).unwrap();
    decide(&a, "ship on friday");
    a.ok(&["sync"]);
    let container = machine();
    let said = started(&container, &token);
    assert_eq!(said["problems"].as_array().unwrap().len(), 1, "{said}");
    assert!(container.brief().contains("friday") && !container.brief().contains("zanzibar"), "{}", container.brief());
}

#[test]
fn what_is_forgotten_leaves_the_base_and_an_old_base_does_not_bring_it_back() {
    let (hub, a) = long_ago();
    let token = printed_key(&a);
    let before: Vec<(PathBuf, Vec<u8>)> =
        hub.files().into_iter().filter(|(path, _)| path.to_string_lossy().contains("-base/")).collect();
    let id = a.json(&["memory", "list"])[0]["id"].as_str().unwrap().to_string();
    a.ok(&["forget", "--memory", &id, "--yes"]);
    a.ok(&["sync"]);
    let batches = before.iter().filter(|(path, _)| !path.to_string_lossy().contains("/heads/"));
    assert!(batches.clone().all(|(path, _)| !path.exists()), "the hub has none of the old base");
    let container = machine();
    started(&container, &token);
    assert!(container.brief().contains("sqlite") && !container.brief().contains("zanzibar"), "{}", container.brief());
    // A hub that shows the old base again.
    for (path, bytes) in &before {
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, bytes).unwrap();
    }
    let container = machine();
    started(&container, &token);
    assert!(!container.brief().contains("zanzibar"), "{}", container.brief());
    a.ok(&["unshare"]);
    assert!(base_files(&hub).iter().all(|path| path.to_string_lossy().contains("/heads/")), "nothing of it stays");
}

#[test]
fn the_end_of_a_session_sends_what_it_left() {
    let (_hub, a, b) = super::pair();
    a.start("s1", "startup");
    a.write_file("s1", "t1", "queue.rs", "fn queue() {}");
    a.hook("s1", "SessionEnd", serde_json::json!({"reason": "other"}));
    // The process that sends it runs on its own: it holds the lock until it is done.
    let is_sent = || super::space(&a)["unsent"] == 0;
    for _ in 0..600 {
        if is_sent() {
            break;
        }
        std::thread::sleep(std::time::Duration::from_millis(50));
    }
    assert!(is_sent());
    b.ok(&["sync"]);
    assert!(b.brief().contains("queue.rs"), "{}", b.brief());
}
