//! Any order of work and exchanges gives every device the same brief, byte for byte.

use std::time::Duration;

use cerberus_os::clock::Clock;
use cerberus_os::home::Home;
use cerberus_record::clean::text::Keep;
use cerberus_record::event::{Event, Note};
use cerberus_record::fact::FactKind;
use cerberus_record::id::Agent;
use cerberus_record::time::Timestamp;
use cerberus_store::journal;
use cerberus_store::journal::own_record;
use cerberus_store::project::identity;
use cerberus_store::view::fold;
use cerberus_sync::exchange::Exchange;
use cerberus_sync::transport::folder::Folder;
use cerberus_testkit::env::TestEnv;
use cerberus_testkit::simulation::random::Random;
use serde_json::json;

use super::{Hub, decide, init, join, machine, pair, problems};

/// Whether sessions are told something when they start.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Told {
    Nothing,
    Briefs,
}

fn work(env: &TestEnv, device: usize, step: usize, told: Told, random: &mut Random) {
    let session = format!("session-{device}-{}", step / 4);
    match random.below(4) {
        0 => super::decide(env, &format!("decision {step} of device {device}")),
        1 => {
            if told == Told::Briefs {
                env.start(&session, "startup");
            }
            env.hook(
                &session,
                "UserPromptSubmit",
                json!({"prompt": format!("We decided to use tool{step} for part{device}.")}),
            );
            env.hook(&session, "SessionEnd", json!({"reason": "other"}));
        }
        2 => drop(env.ok(&["record", "next", &format!("do step {step} of device {device}")])),
        _ => drop(env.ok(&["learn", &format!("Always check item {step} of device {device}")])),
    }
}

/// Three devices that worked and exchanged in an order that follows from the seed, until all have everything.
fn worked(seed: u64, told: Told) -> (Hub, [TestEnv; 3]) {
    let mut random = Random::new(seed);
    let hub = Hub::new();
    let devices = [machine(), machine(), machine()];
    init(&devices[0], &hub, "a");
    join(&devices[0], &devices[1], &hub, "b", &[]);
    join(&devices[0], &devices[2], &hub, "c", &[]);
    for step in 0..14 {
        let device = random.below(3);
        match random.below(3) {
            0 => drop(devices[device].ok(&["sync"])),
            _ => work(&devices[device], device, step, told, &mut random),
        }
    }
    for _ in 0..2 {
        devices.iter().for_each(|env| drop(env.ok(&["sync"])));
    }
    (hub, devices)
}

fn brief(env: &TestEnv, now: &str) -> String {
    let text = env.json(&["brief", "--budget", "4000", "--now", now])["text"].as_str().unwrap().to_string();
    text.replace(&*env.root().to_string_lossy(), "ROOT")
}

#[test]
fn three_devices_agree_whatever_the_order() {
    for seed in 1..=3 {
        let (_hub, devices) = worked(seed, Told::Nothing);
        let now = Clock::new(None).now.to_string();
        let expected = brief(&devices[0], &now);
        for env in &devices[1..] {
            assert_eq!(brief(env, &now), expected, "seed {seed}");
        }
        for env in &devices {
            env.rebuild();
            assert_eq!(brief(env, &now), expected, "seed {seed}, rebuilt");
        }
    }
}

/// What was told where concerns one device: it ranks the memories of that device. So the devices tell the same lines,
/// though not in the same order; and a device tells the same bytes however its records came to it.
#[test]
fn devices_that_were_told_something_tell_the_same_lines_and_each_the_same_bytes_in_any_order_of_arrival() {
    for seed in 4..=6 {
        let (_hub, devices) = worked(seed, Told::Briefs);
        let now = Clock::new(None).now.to_string();
        let lines = |env: &TestEnv| {
            let text = brief(env, &now);
            let mut lines: Vec<String> = text.lines().map(str::to_string).collect();
            lines.sort();
            lines
        };
        let expected = lines(&devices[0]);
        for env in &devices {
            assert_eq!(lines(env), expected, "seed {seed}");
            let before = brief(env, &now);
            forget_arrivals(env);
            env.ok(&["sync"]);
            assert_eq!(brief(env, &now), before, "seed {seed}: everything in one go");
            env.rebuild();
            assert_eq!(brief(env, &now), before, "seed {seed}, rebuilt");
        }
    }
}

/// As if this device had read nothing of the others yet.
fn forget_arrivals(env: &TestEnv) {
    let home = Home::new(env.home());
    for segment in journal::segments(&home).unwrap().iter().filter(|segment| journal::is_replica(&segment.name)) {
        std::fs::remove_file(env.home().join("journal").join(&segment.name)).unwrap();
    }
    let path = env.home().join("sync/state-0.json");
    let mut state: serde_json::Value = serde_json::from_str(&std::fs::read_to_string(&path).unwrap()).unwrap();
    for stream in state["streams"].as_object_mut().unwrap().values_mut() {
        stream["seen"] = json!({});
    }
    std::fs::write(&path, state.to_string()).unwrap();
    env.rebuild();
}

/// Records a decision on a machine whose clock is ahead.
pub fn record_at(env: &TestEnv, ahead: Duration, text: &str) {
    let wall = Clock::new(None).wall.plus(ahead);
    let clock = Clock { now: wall, wall, is_given: false };
    let home = Home::new(env.home());
    let note = Note {
        kind: FactKind::Decision,
        text: home.cleaner().clean(text, Keep::SUBJECT),
        why: None,
        sort: None,
        severity: None,
        custom_key: None,
        for_team: false,
        resolved: false,
    };
    let location = identity::locate(&env.project()).location(home.cleaner());
    let record = own_record(&home, &clock, Agent::MANUAL, "s", location, text.to_string(), Event::Note(note));
    journal::append(&home, wall, &record).unwrap();
}

#[test]
fn a_clock_that_is_off_by_a_year_is_said_and_breaks_nothing() {
    let (hub, a) = (Hub::new(), machine());
    init(&a, &hub, "laptop");
    let b = machine();
    join(&a, &b, &hub, "workstation", &[]);
    // The clock of b is a year ahead: so are its places and times.
    let wall = Clock::new(None).wall.plus(Duration::from_secs(365 * 24 * 60 * 60));
    let ahead = Clock { now: wall, wall, is_given: false };
    let home = Home::new(b.home());
    for text in ["made in the future", "made even later"] {
        record_at(&b, Duration::from_secs(365 * 24 * 60 * 60), text);
    }
    let exchange = || {
        let mut store = fold::open(&home).unwrap();
        let mut hub = Folder::open(hub.path()).unwrap();
        let mut exchange = Exchange { home: &home, clock: &ahead, store: &mut store, only: None, records_max: None };
        exchange.run(&mut hub, 0).unwrap()
    };
    assert_eq!(exchange().sent, 2);
    a.ok(&["sync"]);
    assert!(a.brief().contains("made in the future"), "{}", a.brief());
    // Nothing of it comes after what is done now.
    let (here, newest) = (Home::new(a.home()), journal::micros(Clock::new(None).wall));
    let mut places = Vec::new();
    journal::each_line(&here, |position, line| {
        if let journal::JournalLine::Whole(sealed) = line {
            places.push(position.order(&sealed).seq);
        }
    })
    .unwrap();
    assert!(!places.is_empty() && places.iter().all(|seq| *seq <= newest + 10), "{places:?} after {newest}");
    decide(&a, "made now");
    a.ok(&["sync"]);
    let doctor = a.doctor().to_string();
    assert!(doctor.contains("clock") && doctor.contains("ahead"), "{doctor}");
    assert!(exchange().received > 0);
    let before = a.brief();
    a.rebuild();
    assert_eq!(a.brief(), before);
}

#[test]
fn a_clock_that_is_behind_is_said_and_what_its_device_records_is_told() {
    let (hub, a, mut b) = pair();
    decide(&a, "made now");
    a.ok(&["sync"]);
    // The clock of b is a year behind, but b has read what a has just written.
    let wall = Timestamp::from_millis(Clock::new(None).wall.millis() - 365 * 24 * 60 * 60 * 1_000);
    let behind = Clock { now: wall, wall, is_given: false };
    b.set_now(Some(&wall.to_string()));
    decide(&b, "made by a slow clock");
    let home = Home::new(b.home());
    let mut store = fold::open(&home).unwrap();
    let mut folder = Folder::open(hub.path()).unwrap();
    let mut exchange = Exchange { home: &home, clock: &behind, store: &mut store, only: None, records_max: None };
    assert!(exchange.run(&mut folder, 0).unwrap().received > 0);
    a.ok(&["sync"]);
    assert!(a.brief().contains("made by a slow clock"), "{}", a.brief());
    assert!(problems(&a).iter().any(|problem| problem.ends_with("days behind")), "{:?}", problems(&a));
}
