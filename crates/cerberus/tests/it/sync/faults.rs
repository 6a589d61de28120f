//! kill -9 and a full disk at every labelled point of an exchange: nothing is lost, nothing counts twice.

use std::collections::HashSet;
use std::fs;
use std::net::TcpListener;
use std::os::unix::fs::PermissionsExt;
use std::process::Stdio;
use std::time::Duration;

use cerberus_os::fault::{FORGETTING_POINTS, POINTS, SYNC_POINTS};
use cerberus_os::home::Home;
use cerberus_os::platform::{ProcessEnd, end_process};
use cerberus_store::journal::{self, JournalLine};
use cerberus_testkit::env::TestEnv;
use cerberus_testkit::harness::Dice;
use cerberus_testkit::hubs::git::Repositories;
use cerberus_testkit::process::wait_until;
use cerberus_testkit::processes::command_lines;
use serde_json::{Value, json};

use super::interleave::record_at;
use super::{Hub, decide, init, machine, pair, problems};

/// Every record of another device must be in the journal once. Returns how many there are.
pub fn replica_lines(env: &TestEnv) -> usize {
    let mut known = HashSet::new();
    journal::each_line(&Home::new(env.home()), |position, line| {
        let JournalLine::Whole(sealed) = line else { return };
        if let Some((_, replica)) = position.segment.split_once("-replica-") {
            let (device, record) = (sealed.order.unwrap().device.to_string(), sealed.record().unwrap());
            let names = [record.agent.name(), &record.session, &record.key].map(str::to_string);
            let event = serde_json::to_string(&record.event).unwrap();
            let is_new = known.insert((replica.to_string(), device, names, event.clone()));
            assert!(is_new, "twice in {}: {} {event}", position.segment, &*record.key);
        }
    })
    .unwrap();
    known.len()
}

fn sync_with_fault(env: &TestEnv, label: &str, fault: &str) -> std::process::Output {
    env.command().args(["sync"]).env("CERBERUS_FAULT", format!("{label}={fault}")).output().unwrap()
}

/// Both sides of an exchange, with a fault at this point on each of them.
fn survives(label: &str, fault: &str) {
    let (_hub, a, b) = pair();
    a.start("s1", "startup");
    a.hook("s1", "UserPromptSubmit", json!({"prompt": "We decided to use sqlite for the queue."}));
    a.write_file("s1", "t1", "queue.rs", "fn queue() {}");
    decide(&a, "ship on friday");
    let mut passed = sync_with_fault(&a, label, fault).status.success();
    decide(&a, "made after the fault");
    a.ok(&["sync"]);
    passed &= sync_with_fault(&b, label, fault).status.success();
    assert!(!passed, "{label}: nothing failed");
    b.ok(&["sync"]);
    a.ok(&["sync"]);
    b.ok(&["sync"]);
    for what in ["queue.rs", "ship on friday", "made after the fault"] {
        assert_eq!(b.brief().matches(what).count(), 1, "{label}={fault}: {what}: {}", b.brief());
    }
    assert_eq!((problems(&a), problems(&b)), (Vec::<String>::new(), Vec::new()), "{label}={fault}");
    assert_eq!(super::space(&a)["unsent"], 0);
    assert_eq!(fs::read_dir(a.home().join("sync/outbox")).unwrap().count(), 0, "{label}={fault}: the hub has it all");
    assert!(replica_lines(&b) > 0);
    let before = b.brief();
    b.rebuild();
    assert_eq!(b.brief(), before, "{label}={fault}");
}

#[test]
fn death_at_every_labelled_point_of_an_exchange() {
    for label in SYNC_POINTS {
        survives(label, "kill");
    }
}

#[test]
fn a_full_disk_at_every_labelled_point_of_an_exchange() {
    for label in SYNC_POINTS {
        survives(label, "enospc");
    }
}

/// An exchange that is killed, most of the time. Returns whether it was.
fn sync_that_dies(env: &TestEnv, dice: &mut Dice) -> bool {
    let mut command = env.command();
    command.arg("sync").stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    let by_label = dice.below(3) > 0;
    if by_label {
        let points = [&SYNC_POINTS[..], &POINTS[..7], &FORGETTING_POINTS[..], &["sync-appended"; 8]].concat();
        let label = points[dice.below(points.len() as u64) as usize];
        command.env("CERBERUS_FAULT", format!("{label}=kill@{}", 1 + dice.below(2)));
    }
    let mut child = command.spawn().unwrap();
    if !by_label {
        // Randomizes the moment of the kill; nothing depends on this delay.
        std::thread::sleep(Duration::from_micros(dice.below(60_000)));
        let _ = child.kill();
    }
    !child.wait().unwrap().success()
}

#[test]
fn after_hundreds_of_kills_every_record_of_another_device_is_there_once() {
    let (_hub, a, b) = pair();
    let (mut dice, mut kills, mut round) = (Dice(11), 0, 0);
    while kills < 200 {
        round += 1;
        let (one, other) = if round % 2 == 0 { (&a, &b) } else { (&b, &a) };
        decide(one, &format!("decision {round}"));
        if round % 10 == 0 {
            one.ok(&["learn", &format!("Always use tool{round}")]);
        }
        if round % 20 == 0 {
            // A stream begins again.
            let id = one.json(&["memory", "list"])[0]["id"].as_str().unwrap().to_string();
            one.ok(&["forget", "--memory", &id, "--yes"]);
        }
        one.ok(&["sync"]);
        for _ in 0..4 {
            kills += usize::from(sync_that_dies(other, &mut dice));
        }
    }
    for env in [&a, &b, &a, &b] {
        env.ok(&["sync"]);
    }
    for (env, other) in [(&a, 0), (&b, 1)] {
        assert!(replica_lines(env) >= round / 2, "{round} rounds");
        let mut files = Vec::new();
        super::each_file(&env.home().join("journal"), &mut files);
        let text: String = files.iter().map(|(_, bytes)| String::from_utf8_lossy(bytes).into_owned()).collect();
        let made = (1..=round).filter(|number| (number % 2 == 0) == (other == 1));
        made.for_each(|number| assert!(text.contains(&format!("\"decision {number}\"")), "decision {number} is lost"));
        assert_eq!(problems(env), [""; 0]);
        let before = env.brief();
        env.rebuild();
        assert_eq!(env.brief(), before);
    }
}

#[test]
fn a_record_of_a_clock_that_is_ahead_is_there_once_after_a_kill() {
    let (_hub, a, b) = pair();
    let ahead = |env: &TestEnv, text: &str, hours: u64| record_at(env, Duration::from_secs(hours * 60 * 60), text);
    ahead(&a, "made in an hour", 1);
    ahead(&a, "made in two hours", 2);
    a.ok(&["sync"]);
    for label in ["sync-appended", "fold-commit", "sync-state"] {
        assert!(!sync_with_fault(&b, label, "kill").status.success(), "{label}");
    }
    b.ok(&["sync"]);
    assert!(b.brief().contains("made in an hour") && b.brief().contains("made in two hours"), "{}", b.brief());
    replica_lines(&b);
}

#[test]
fn what_a_killed_exchange_stored_is_replaced_when_the_stream_begins_again() {
    let (hub, a, b) = (Hub::new(), machine(), machine());
    init(&a, &hub, "laptop");
    decide(&a, "zanzibar");
    a.ok(&["sync"]);
    let code = a.json(&["sync", "pair", "--wait", "0"])["code"].as_str().unwrap().to_string();
    b.ok(&["sync", "init", &hub.url(), "--code", &code, "--wait", "0"]);
    a.ok(&["sync"]);
    b.ok(&["sync"]);
    // It dies after the first records of the project are stored, before it has noted whose they are.
    let share = b.command().arg("share").env("CERBERUS_FAULT", "sync-appended=kill@2").output().unwrap();
    assert!(!share.status.success());
    assert_eq!(replica_lines(&b), 1);
    a.ok(&["unshare", "--erase", "--yes"]);
    b.ok(&["sync"]);
    assert_eq!(replica_lines(&b), 0, "nothing of the earlier generation stays");
    assert!(!b.brief().contains("zanzibar"), "{}", b.brief());
}

/// Every process whose command line names this.
fn processes_naming(text: &str) -> Vec<String> {
    command_lines().into_iter().filter(|line| line.contains(text)).collect()
}

/// From now on, the hub of this home accepts connections and says nothing.
fn silence(env: &TestEnv) -> TcpListener {
    let silent = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = format!("git+http://{}/x.git", silent.local_addr().unwrap());
    let file = env.home().join("sync/spaces.json");
    let mut spaces: Value = serde_json::from_slice(&fs::read(&file).unwrap()).unwrap();
    spaces["spaces"][0]["hub"] = address.into();
    fs::write(&file, serde_json::to_vec(&spaces).unwrap()).unwrap();
    silent
}

#[test]
fn a_hub_that_says_nothing_leaves_no_process_behind() {
    let (_hub, a, _b) = pair();
    let _silent = silence(&a);
    // As after the end of a session, until its time is over.
    a.run(&["sync", "--detached"]);
    assert_eq!(processes_naming(&a.home().to_string_lossy()), [""; 0]);
}

#[test]
fn whoever_ends_sync_ends_what_it_started() {
    let (_hub, a, _b) = pair();
    let silent = silence(&a);
    let mut sync = a.command().args(["sync"]).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
    let connection = silent.accept().unwrap();
    let home = a.home().to_string_lossy().into_owned();
    assert!(!processes_naming(&home).is_empty(), "git waits for an answer");
    end_process(sync.id(), ProcessEnd::Ask);
    assert!(!sync.wait().unwrap().success());
    // By itself it would give up after half a minute.
    let is_over = || processes_naming(&home).is_empty().then_some(());
    wait_until("git has ended", Duration::from_secs(15), is_over).unwrap();
    drop(connection);
}

/// Whether `sync status`, `status` and `doctor` say this.
fn shown(env: &TestEnv, what: &str) -> [bool; 3] {
    let told = [env.json(&["sync", "status"]).to_string(), env.ok(&["status"]), env.doctor().to_string()];
    told.map(|told| told.contains(what))
}

#[test]
fn a_full_hub_is_shown_until_it_has_room() {
    let (_hub, a, _) = pair();
    decide(&a, "ship on friday");
    assert_eq!(shown(&a, "is full"), [false; 3]);
    for _ in 0..2 {
        assert!(!sync_with_fault(&a, "hub-write", "enospc").status.success());
        assert_eq!(shown(&a, "is full"), [true; 3]);
        let status = a.ok(&["status"]);
        assert!(status.matches("is full").count() == 1 && status.contains("health    sync: see above"), "{status}");
    }
    a.ok(&["sync"]);
    assert_eq!(shown(&a, "is full"), [false; 3]);
}

#[test]
fn a_refusal_is_shown_until_an_exchange_succeeds() {
    let repositories = Repositories::new();
    let a = machine();
    a.ok(&["sync", "init", &repositories.file(), "--name", "laptop"]);
    a.ok(&["share"]);
    let hook = repositories.dir().join("app.git/hooks/pre-receive");
    fs::create_dir_all(hook.parent().unwrap()).unwrap();
    fs::write(&hook, "#!/bin/sh\nexit 1\n").unwrap();
    fs::set_permissions(&hook, fs::Permissions::from_mode(0o755)).unwrap();
    decide(&a, "ship on friday");
    assert_eq!(shown(&a, "refused"), [false; 3]);
    for _ in 0..2 {
        assert!(!a.run(&["sync"]).status.success());
        assert_eq!(shown(&a, "refused"), [true; 3]);
    }
    fs::remove_file(&hook).unwrap();
    a.ok(&["sync"]);
    assert_eq!(shown(&a, "refused"), [false; 3]);
}

#[test]
fn a_hub_that_is_no_folder_any_more_is_shown_until_it_is_one() {
    let (hub, a, _) = pair();
    let path = hub.path();
    let aside = path.with_extension("aside");
    fs::rename(&path, &aside).unwrap();
    fs::write(&path, "").unwrap();
    assert!(!a.run(&["sync"]).status.success());
    assert_eq!(shown(&a, "refused"), [true; 3]);
    fs::remove_file(&path).unwrap();
    fs::rename(&aside, &path).unwrap();
    a.ok(&["sync"]);
    assert_eq!(shown(&a, "refused"), [false; 3]);
}

/// Something that may happen to a file of the hub.
fn mutated(dice: &mut Dice, bytes: &[u8], other: &[u8]) -> Option<Vec<u8>> {
    let mut bytes = bytes.to_vec();
    let at = dice.below(bytes.len().max(1) as u64) as usize;
    match dice.below(6) {
        0 => return None,
        1 => bytes.truncate(at),
        2 => bytes.extend_from_slice(other),
        3 => bytes = other.to_vec(),
        4 => bytes = [&bytes[..at], &other[..other.len() / 2], &bytes[at..]].concat(),
        _ => bytes.iter_mut().skip(at).take(1).for_each(|byte| *byte ^= 1 << dice.below(8)),
    }
    Some(bytes)
}

#[test]
fn after_hundreds_of_mutations_of_the_hub_every_record_is_there_once() {
    let (hub, a, b) = pair();
    let mut dice = Dice(40);
    const ROUNDS: usize = 84;
    for round in 0..ROUNDS {
        let (one, other) = if round % 2 == 0 { (&a, &b) } else { (&b, &a) };
        decide(one, &format!("decision {round}"));
        one.ok(&["sync"]);
        let files = hub.files();
        let mut planted = Vec::new();
        for _ in 0..3 {
            let mut any = || &files[dice.below(files.len() as u64) as usize];
            let ((path, bytes), (_, another)) = (any(), any());
            let new = mutated(&mut dice, bytes, another);
            match &new {
                None => drop(fs::remove_file(path)),
                Some(new) => fs::write(path, new).unwrap(),
            }
            planted.push((path, bytes, new));
        }
        let output = other.run(&["sync"]);
        assert!(matches!(output.status.code(), Some(0 | 1)), "round {round}: {output:?}");
        // What no device has written over since becomes what it was.
        for (path, bytes, new) in planted.into_iter().rev() {
            if fs::read(path).ok() == new && path.parent().unwrap().is_dir() {
                fs::write(path, bytes).unwrap();
            }
        }
    }
    for env in [&a, &b, &a, &b, &a, &b] {
        env.ok(&["sync"]);
    }
    for env in [&a, &b] {
        let mut files = Vec::new();
        super::each_file(&env.home().join("journal"), &mut files);
        let text: String = files.iter().map(|(_, bytes)| String::from_utf8_lossy(bytes).into_owned()).collect();
        for round in 0..ROUNDS {
            assert_eq!(text.matches(&format!("\"decision {round}\"")).count(), 1, "decision {round}");
        }
        assert_eq!(problems(env), [""; 0]);
    }
}
