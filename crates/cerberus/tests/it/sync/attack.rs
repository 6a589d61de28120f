//! A hub that lies, and homes that are copies.

use std::fs;
use std::path::{Path, PathBuf};

use cerberus_os::home::Home;
use cerberus_sync::batch::{self, Position};
use cerberus_sync::files::Files;
use cerberus_testkit::env::TestEnv;

use super::containers::{printed_key, started};
use super::{Hub, decide, init, join, machine, pair, problems};

pub fn copy(from: &Path, to: &Path) {
    fs::create_dir_all(to).unwrap();
    for entry in fs::read_dir(from).unwrap().flatten() {
        let target = to.join(entry.file_name());
        match entry.file_type().unwrap().is_dir() {
            true => copy(&entry.path(), &target),
            false => drop(fs::copy(entry.path(), target).unwrap()),
        }
    }
}

/// The hub as it was, to be shown again later.
pub struct Past {
    pub dir: tempfile::TempDir,
}

impl Past {
    pub fn of(hub: &Hub) -> Past {
        let dir = tempfile::tempdir().unwrap();
        copy(&hub.path(), dir.path());
        Past { dir }
    }

    pub fn restore(&self, hub: &Hub) {
        for entry in fs::read_dir(hub.path()).unwrap().flatten() {
            fs::remove_dir_all(entry.path()).unwrap();
        }
        copy(self.dir.path(), &hub.path());
    }
}

/// The batches and heads that appeared since `before`.
fn new_files(hub: &Hub, before: &Past) -> Vec<PathBuf> {
    let known = |path: &Path| before.dir.path().join(path.strip_prefix(hub.path()).unwrap()).exists();
    hub.files().into_iter().map(|(path, _)| path).filter(|path| !known(path)).collect()
}

#[test]
fn a_hub_that_goes_back_is_noticed() {
    let (hub, a, b) = pair();
    decide(&a, "first");
    a.ok(&["sync"]);
    b.ok(&["sync"]);
    let past = Past::of(&hub);
    decide(&a, "second");
    a.ok(&["sync"]);
    b.ok(&["sync"]);
    let before = b.brief();
    past.restore(&hub);
    b.ok(&["sync"]);
    assert!(problems(&b).iter().any(|problem| problem.contains("rollback")), "{:?}", problems(&b));
    assert_eq!(b.brief(), before, "what was read stays");
    let doctor = b.doctor();
    assert!(doctor.to_string().contains("rollback"), "{doctor}");
    // The device whose records the hub has lost sends them again. Nothing was forgotten that others had to confirm.
    let said = a.ok(&["sync"]);
    assert!(!said.contains("confirmed"), "{said}");
    b.ok(&["sync"]);
    assert_eq!(problems(&b), [""; 0]);
    assert_eq!(b.brief(), before);
    let c = machine();
    join(&a, &c, &hub, "tablet", &[]);
    assert!(c.brief().contains("second"), "{}", c.brief());
}

#[test]
fn a_withheld_tail_is_noticed_by_what_others_have_seen() {
    let (hub, a, b) = pair();
    let c = machine();
    join(&a, &c, &hub, "tablet", &[]);
    for env in [&a, &b, &c] {
        env.ok(&["sync"]);
    }
    let before = Past::of(&hub);
    decide(&a, "not for c");
    a.ok(&["sync"]);
    let changed: Vec<(PathBuf, Vec<u8>)> = hub.files();
    b.ok(&["sync"]);
    // The hub shows c what a wrote before, but b's new head names what a wrote since.
    for (path, bytes) in changed {
        let past = before.dir.path().join(path.strip_prefix(hub.path()).unwrap());
        match fs::read(&past) {
            Ok(old) if old != bytes => fs::write(&path, old).unwrap(),
            Ok(_) => {}
            Err(_) => fs::remove_file(&path).unwrap(),
        }
    }
    c.ok(&["sync"]);
    assert!(problems(&c).iter().any(|problem| problem.contains("withholds")), "{:?}", problems(&c));
}

#[test]
fn changed_moved_replayed_and_missing_batches_are_refused_and_repaired_later() {
    let (hub, a, b) = pair();
    b.ok(&["sync"]);
    let before = Past::of(&hub);
    for number in 0..3 {
        decide(&a, &format!("decision number {number}"));
        a.ok(&["sync"]);
    }
    let whole = Past::of(&hub);
    let batches: Vec<PathBuf> =
        new_files(&hub, &before).into_iter().filter(|path| !path.to_string_lossy().contains("/heads/")).collect();
    assert_eq!(batches.len(), 3, "{batches:?}");
    let flip = |path: &Path| {
        let mut bytes = fs::read(path).unwrap();
        let last = bytes.len() - 1;
        bytes[last] ^= 1;
        fs::write(path, bytes).unwrap();
    };
    let state = b.brief();
    for damage in ["flipped", "reordered", "replayed", "missing"] {
        whole.restore(&hub);
        match damage {
            "flipped" => flip(&batches[1]),
            "reordered" => {
                let (one, two) = (fs::read(&batches[0]).unwrap(), fs::read(&batches[1]).unwrap());
                fs::write(&batches[0], two).unwrap();
                fs::write(&batches[1], one).unwrap();
            }
            "replayed" => drop(fs::copy(&batches[0], &batches[2]).unwrap()),
            _ => fs::remove_file(&batches[1]).unwrap(),
        }
        b.ok(&["sync"]);
        assert!(!problems(&b).is_empty(), "{damage}");
        assert_eq!(b.brief(), state, "{damage}: nothing of it was read");
    }
    whole.restore(&hub);
    b.ok(&["sync"]);
    assert_eq!(problems(&b), [""; 0]);
    assert!((0..3).all(|number| b.brief().contains(&format!("decision number {number}"))), "{}", b.brief());
}

#[test]
fn a_forged_stream_is_ignored() {
    let (hub, a, b) = pair();
    let heads = hub.paths("/heads/");
    // Somebody with access to the hub invents a device, and signs in the name of another.
    let own: Vec<&PathBuf> = heads
        .iter()
        .filter(|path| path.file_name().unwrap().len() == 16 && !path.to_string_lossy().contains("/space/"))
        .collect();
    let forged = own[0].with_file_name("00000000deadbeef");
    fs::copy(own[0], &forged).unwrap();
    b.ok(&["sync"]);
    assert!(problems(&b).iter().any(|problem| problem.contains("not signed by a device")), "{:?}", problems(&b));
    fs::remove_file(&forged).unwrap();
    let (one, other) = (fs::read(own[0]).unwrap(), fs::read(own[1]).unwrap());
    fs::write(own[0], &other).unwrap();
    fs::write(own[1], &one).unwrap();
    for env in [&a, &b] {
        env.ok(&["sync"]);
        assert!(!problems(env).is_empty());
    }
}

#[test]
fn a_newer_version_is_left_and_said() {
    let (hub, a, b) = pair();
    b.ok(&["sync"]);
    let before = Past::of(&hub);
    decide(&a, "of the future");
    a.ok(&["sync"]);
    let batch = new_files(&hub, &before).into_iter().find(|path| !path.to_string_lossy().contains("/heads/")).unwrap();
    let whole = fs::read(&batch).unwrap();
    let mut bytes = whole.clone();
    bytes[3] += 1;
    fs::write(&batch, bytes).unwrap();
    b.ok(&["sync"]);
    assert!(problems(&b).iter().any(|problem| problem.contains("newer version")), "{:?}", problems(&b));
    fs::write(&batch, whole).unwrap();
    b.ok(&["sync"]);
    assert!(b.brief().contains("of the future"));
}

#[test]
fn a_copied_home_becomes_a_device_of_its_own_and_nothing_is_lost() {
    let (_hub, a, b) = pair();
    decide(&a, "before the copy");
    a.ok(&["sync"]);
    let c = machine();
    copy(&a.home(), &c.home());
    decide(&a, "by the original");
    decide(&c, "by the copy");
    a.ok(&["sync"]);
    let said = c.json(&["sync"]);
    assert_eq!(said["spaces"][0]["new_device"], true, "{said}");
    assert_ne!(super::space(&a)["device"], super::space(&c)["device"]);
    for env in [&a, &b, &c] {
        env.ok(&["sync"]);
    }
    for env in [&a, &b, &c] {
        env.ok(&["sync"]);
        let brief = env.brief();
        for what in ["before the copy", "by the original", "by the copy"] {
            assert_eq!(brief.matches(what).count(), 1, "{what}: {brief}");
        }
        assert_eq!(problems(env), [""; 0]);
    }
    // From now on both write without meeting again.
    decide(&c, "later by the copy");
    let said = c.json(&["sync"]);
    assert_eq!(said["spaces"][0]["new_device"], false);
    b.ok(&["sync"]);
    assert!(b.brief().contains("later by the copy"));
}

#[test]
fn a_restored_home_becomes_a_device_of_its_own() {
    let (_hub, a, b) = pair();
    decide(&a, "before the backup");
    a.ok(&["sync"]);
    let backup = tempfile::tempdir().unwrap();
    copy(&a.home(), backup.path());
    decide(&a, "after the backup");
    a.ok(&["sync"]);
    b.ok(&["sync"]);
    fs::remove_dir_all(a.home()).unwrap();
    copy(backup.path(), &a.home());
    let said = a.json(&["sync"]);
    assert_eq!(said["spaces"][0]["new_device"], true, "{said}");
    a.ok(&["sync"]);
    assert!(a.brief().contains("after the backup"), "its own past comes back: {}", a.brief());
}

#[test]
fn a_hub_and_a_home_that_go_back_together_are_noticed() {
    let (hub, a, b) = pair();
    let past = Past::of(&hub);
    let backup = tempfile::tempdir().unwrap();
    copy(&a.home(), backup.path());
    decide(&a, "before the loss");
    a.ok(&["sync"]);
    b.ok(&["sync"]);
    past.restore(&hub);
    fs::remove_dir_all(a.home()).unwrap();
    copy(backup.path(), &a.home());
    // As many records as the hub has lost, but others.
    decide(&a, "after the loss");
    assert_eq!(a.json(&["sync"])["spaces"][0]["new_device"], false);
    b.ok(&["sync"]);
    assert!(problems(&b).iter().any(|problem| problem.contains("rollback")), "{:?}", problems(&b));
    // What the other device has seen says that there was another past.
    decide(&b, "made by another");
    b.ok(&["sync"]);
    assert_eq!(a.json(&["sync"])["spaces"][0]["new_device"], true);
    b.ok(&["sync"]);
    assert!(b.brief().contains("before the loss") && b.brief().contains("after the loss"), "{}", b.brief());
}

#[test]
fn what_a_container_writes_after_its_key_was_removed_is_ignored() {
    let (hub, a, container) = (Hub::new(), machine(), machine());
    init(&a, &hub, "laptop");
    started(&container, &printed_key(&a));
    decide(&container, "before the removal");
    container.ok(&["sync"]);
    a.ok(&["sync"]);
    let before = Past::of(&hub);
    a.ok(&["sync", "remove", "containers of hydra", "--yes"]);
    let after = Past::of(&hub);
    // The hub shows the container a state in which its key still counts.
    before.restore(&hub);
    decide(&container, "after the removal");
    container.ok(&["sync"]);
    let changed = |(path, bytes): &(PathBuf, Vec<u8>)| {
        let past = before.dir.path().join(path.strip_prefix(hub.path()).unwrap());
        fs::read(past).ok().as_ref() != Some(bytes)
    };
    let written: Vec<(PathBuf, Vec<u8>)> = hub.files().into_iter().filter(changed).collect();
    assert!(!written.is_empty());
    after.restore(&hub);
    for (path, bytes) in written {
        fs::write(path, bytes).unwrap();
    }
    a.ok(&["sync"]);
    assert!(!a.brief().contains("after the removal"), "{}", a.brief());
    assert_eq!(problems(&a), [""; 0]);
}

/// A batch of `of` at this place, sealed by a device that has the key but is not the one that writes the stream.
fn forged(of: &TestEnv, by: &TestEnv, path: &Path) -> Vec<u8> {
    let id = |env: &TestEnv| Files::new(&Home::new(env.home())).device().unwrap().id;
    let space = Files::new(&Home::new(by.home())).spaces().unwrap().spaces.remove(0);
    let project = path.ancestors().nth(3).unwrap().file_name().unwrap().to_str().unwrap();
    let bytes = fs::read(path).unwrap();
    let (genuine, ..) = batch::header(&bytes).unwrap();
    let (generation, sequence, previous) = (genuine.generation, genuine.sequence, genuine.previous);
    let keys = space.project_keys(project);
    let stream = space.stream(project, id(of));
    let (_, mut entries) = batch::open(&keys, &stream, &fs::read(path).unwrap()).unwrap();
    entries.iter_mut().for_each(|entry| entry.json = entry.json.replace("decision number", "forgery number"));
    batch::seal(&keys[0], &stream, Position { generation, sequence, previous }, [9; 16], &entries).unwrap().0
}

#[test]
fn a_batch_that_another_device_with_the_key_sealed_is_refused() {
    let (hub, a, b) = pair();
    b.ok(&["sync"]);
    let before = Past::of(&hub);
    for number in 0..2 {
        decide(&a, &format!("decision number {number}"));
        a.ok(&["sync"]);
    }
    let whole = Past::of(&hub);
    let batches: Vec<PathBuf> =
        new_files(&hub, &before).into_iter().filter(|path| !path.to_string_lossy().contains("/heads/")).collect();
    assert_eq!(batches.len(), 2, "{batches:?}");
    let state = b.brief();
    // The last one does not lead to the signed head; the one before it is not what the last one follows.
    for path in batches.iter().rev() {
        whole.restore(&hub);
        fs::write(path, forged(&a, &b, path)).unwrap();
        b.ok(&["sync"]);
        assert_eq!(problems(&b).len(), 1, "{:?}", problems(&b));
        assert_eq!(b.brief(), state, "nothing of it was read");
    }
}
