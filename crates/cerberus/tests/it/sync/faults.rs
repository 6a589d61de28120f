//! kill -9 and a full disk at every labelled point of an exchange: nothing is lost, nothing counts twice.

use std::fs;
use std::os::unix::fs::PermissionsExt;

use cerberus_engine::os::fault::SYNC_POINTS;
use cerberus_testkit::env::TestEnv;
use cerberus_testkit::hubs::git::Repositories;
use serde_json::json;

use super::{decide, machine, pair, problems};

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

/// How often `sync status`, `status` and `doctor` say this.
fn shown(env: &TestEnv, what: &str) -> [usize; 3] {
    let told = [env.json(&["sync", "status"]).to_string(), env.ok(&["status"]), env.doctor().to_string()];
    told.map(|told| told.matches(what).count())
}

#[test]
fn a_full_hub_is_shown_until_it_has_room() {
    let (_hub, a, _) = pair();
    decide(&a, "ship on friday");
    assert_eq!(shown(&a, "is full"), [0, 0, 0]);
    for _ in 0..2 {
        assert!(!sync_with_fault(&a, "hub-write", "enospc").status.success());
        assert_eq!(shown(&a, "is full"), [1, 1, 1]);
    }
    a.ok(&["sync"]);
    assert_eq!(shown(&a, "is full"), [0, 0, 0]);
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
    assert_eq!(shown(&a, "refused"), [0, 0, 0]);
    for _ in 0..2 {
        assert!(!a.run(&["sync"]).status.success());
        assert_eq!(shown(&a, "refused"), [1, 1, 1]);
    }
    fs::remove_file(&hook).unwrap();
    a.ok(&["sync"]);
    assert_eq!(shown(&a, "refused"), [0, 0, 0]);
}

#[test]
fn a_hub_that_is_no_folder_any_more_is_shown_until_it_is_one() {
    let (hub, a, _) = pair();
    let path = hub.path();
    let aside = path.with_extension("aside");
    fs::rename(&path, &aside).unwrap();
    fs::write(&path, "").unwrap();
    assert!(!a.run(&["sync"]).status.success());
    assert_eq!(shown(&a, "refused"), [1, 1, 1]);
    fs::remove_file(&path).unwrap();
    fs::rename(&aside, &path).unwrap();
    a.ok(&["sync"]);
    assert_eq!(shown(&a, "refused"), [0, 0, 0]);
}
