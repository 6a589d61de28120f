//! kill -9 and a full disk at every labelled point of an exchange: nothing is lost, nothing counts twice.

use cerberus_engine::os::fault::SYNC_POINTS;
use cerberus_testkit::env::TestEnv;
use serde_json::json;

use super::{decide, pair, problems};

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

#[test]
fn a_full_hub_is_shown_until_it_has_room() {
    let (_hub, a, _) = pair();
    decide(&a, "ship on friday");
    let shown = || {
        let told = [a.json(&["sync", "status"]).to_string(), a.ok(&["status"]), a.doctor().to_string()];
        told.map(|told| told.matches("is full").count())
    };
    assert_eq!(shown(), [0, 0, 0]);
    for _ in 0..2 {
        assert!(!sync_with_fault(&a, "hub-write", "enospc").status.success());
        assert_eq!(shown(), [1, 1, 1]);
    }
    a.ok(&["sync"]);
    assert_eq!(shown(), [0, 0, 0]);
}
