//! Who belongs to a space, attacked: by a hub, a removed device, a member and a container.

use std::collections::BTreeSet;
use std::fs;
use std::path::PathBuf;

use cerberus_os::home::Home;
use cerberus_sync::chain::{Chain, ChainChange, Keys};
use cerberus_sync::crypto::{Secrets, hex};
use cerberus_sync::document::{self, Head, Proof, SPACE_PLACE, VERSION};
use cerberus_sync::files::Files;
use cerberus_sync::local::{Space, SpaceKey};
use cerberus_sync::{keys, links, spaces};
use cerberus_testkit::env::TestEnv;
use serde_json::{Value, json};

use super::attack::{Past, copy};
use super::containers::{printed_key, started};
use super::{Hub, decide, init, join, machine, pair, problems, space};

/// What a home knows about its space.
pub fn known(env: &TestEnv) -> (Space, Chain) {
    let home = Home::new(env.home());
    let files = Files::new(&home);
    let space = files.spaces().unwrap().spaces.remove(0);
    let chain = links::known(&files, &space).unwrap().unwrap();
    (space, chain)
}

pub fn secrets(env: &TestEnv) -> Secrets {
    Files::new(&Home::new(env.home())).device().unwrap().secrets
}

pub fn id(env: &TestEnv) -> String {
    space(env)["device"].as_str().unwrap().to_string()
}

/// The files of the space itself: the document with the chain, and each link.
pub fn chain_files(hub: &Hub) -> Vec<PathBuf> {
    hub.paths("/space/").into_iter().filter(|path| path.to_string_lossy().contains("chain")).collect()
}

pub fn document_of(hub: &Hub) -> PathBuf {
    chain_files(hub).into_iter().find(|path| path.ends_with("heads/chain")).unwrap()
}

/// Writes a link on the hub, as if it followed the chain that `env` knows.
pub fn plant(hub: &Hub, env: &TestEnv, by: &str, secrets: &Secrets, change: ChainChange) {
    let (space, chain) = known(env);
    let link = chain.next(VERSION, by, change);
    let bytes = document::signed(secrets, &space.place(SPACE_PLACE), "link", &link).unwrap();
    let document = document_of(hub);
    let mut links: Vec<String> = serde_json::from_slice(&fs::read(&document).unwrap()).unwrap();
    links.push(hex::text(&bytes));
    fs::write(&document, serde_json::to_vec(&links).unwrap()).unwrap();
    let stream = document.ancestors().nth(2).unwrap().join("chain");
    let stream = stream.join(format!("{:016x}", links::place_after(&link.previous)));
    fs::create_dir_all(&stream).unwrap();
    fs::write(stream.join(format!("{:016x}", link.number)), bytes).unwrap();
}

/// Shows an older chain, and nothing else of the past.
pub fn show_old_chain(hub: &Hub, past: &Past) {
    for path in chain_files(hub) {
        let old = past.dir.path().join(path.strip_prefix(hub.path()).unwrap());
        match fs::read(old) {
            Ok(old) => fs::write(path, old).unwrap(),
            Err(_) => fs::remove_file(path).unwrap(),
        }
    }
}

pub fn said(env: &TestEnv, args: &[&str]) -> String {
    let output = env.run(args);
    assert_eq!(output.status.code(), Some(1), "{output:?}");
    String::from_utf8_lossy(&output.stderr).into_owned()
}

#[test]
fn an_old_chain_on_the_hub_brings_no_removed_device_back() {
    let (hub, a, b) = pair();
    let c = machine();
    join(&a, &c, &hub, "tablet", &[]);
    let past = Past::of(&hub);
    a.ok(&["sync", "remove", "tablet", "--yes"]);
    show_old_chain(&hub, &past);
    decide(&a, "after the removal");
    a.ok(&["sync"]);
    assert!(problems(&a).iter().any(|problem| problem.contains("who belongs to this space")), "{:?}", problems(&a));
    b.ok(&["sync"]);
    assert_eq!((space(&a)["epoch"].clone(), space(&b)["epoch"].clone()), (json!(2), json!(2)));
    assert!(b.brief().contains("after the removal"), "{}", b.brief());
    assert!(said(&c, &["sync"]).contains("was removed"));
    assert!(!c.brief().contains("after the removal"));
    // It was put back: nothing is wrong any more.
    a.ok(&["sync"]);
    assert_eq!((problems(&a), problems(&b)), (Vec::<String>::new(), Vec::new()));
}

#[test]
fn a_container_changes_no_key_and_cannot_keep_its_removal_from_taking_effect() {
    let (hub, a, b) = pair();
    let (token, container) = (printed_key(&a), machine());
    a.ok(&["sync"]);
    b.ok(&["sync"]);
    started(&container, &token);
    let token: Value = serde_json::from_slice(&hex::bytes(token.split_once('.').unwrap().1).unwrap()).unwrap();
    let grant = Secrets::of(&hex::bytes(token["granted"]["secret"].as_str().unwrap()).unwrap());
    let grant_id = keys::public(&grant).unwrap();
    let grant_id = cerberus_sync::chain::id_of(&grant_id.sign);
    let (space_here, chain) = known(&a);
    for number in [2, u32::MAX] {
        let key = SpaceKey { epoch: number, key: [7; 32] };
        let members = chain.state.members.iter().map(|(id, member)| (id.as_str(), &member.device.keys));
        let to = members.chain([("recovery", &chain.state.recovery)]);
        let epoch = keys::epoch(&space_here.id, key, to, String::new()).unwrap();
        plant(&hub, &a, &grant_id, &grant, ChainChange::Rotate(epoch));
        decide(&a, &format!("sealed as before {number}"));
        a.ok(&["sync"]);
        b.ok(&["sync"]);
        assert_eq!((space(&a)["epoch"].clone(), space(&b)["epoch"].clone()), (json!(1), json!(1)));
        assert!(problems(&a).iter().any(|problem| problem.contains("not valid")), "{:?}", problems(&a));
        assert!(b.brief().contains(&format!("sealed as before {number}")));
    }
    // What it planted stands where the next link belongs.
    a.ok(&["sync", "remove", "containers of hydra", "--yes"]);
    b.ok(&["sync"]);
    assert_eq!((space(&a)["epoch"].clone(), space(&b)["epoch"].clone()), (json!(2), json!(2)));
    assert!(said(&container, &["sync"]).contains("was removed"));
}

#[test]
fn a_member_cannot_speak_as_another_device() {
    let (hub, a, b) = pair();
    let c = machine();
    join(&a, &c, &hub, "tablet", &[]);
    for env in [&a, &b, &c] {
        env.ok(&["sync"]);
    }
    // b lets in a device that has the signing key of a, but lets b read what is wrapped for it.
    let (space_here, chain) = known(&b);
    let victim = chain.state.members[&id(&a)].device.keys.clone();
    let device = Keys { agree: keys::public(&secrets(&b)).unwrap().agree, ..victim };
    let change =
        spaces::add(&space_here, &chain.state, &space_here.keys, device, "laptop", &[], String::new()).unwrap();
    plant(&hub, &b, &id(&b), &secrets(&b), change);
    // And it signs the head of a stream of a.
    let head = hub.paths(&format!("/heads/{}", id(&a)));
    let head = head.iter().find(|path| !path.to_string_lossy().contains("/space/")).unwrap();
    let project = head.ancestors().nth(2).unwrap().file_name().unwrap().to_str().unwrap();
    let genuine: Head = document::claimed(&fs::read(head).unwrap()).unwrap();
    let place = space_here.place(project);
    let forged = document::signed(&secrets(&b), &place, &id(&a), &genuine).unwrap();
    fs::write(head, forged).unwrap();
    c.ok(&["sync"]);
    assert!(problems(&c).iter().any(|problem| problem.contains("the signature is wrong")), "{:?}", problems(&c));
    assert_eq!(known(&c).1.state.members[&id(&a)].device.keys, chain.state.members[&id(&a)].device.keys);
}

#[test]
fn a_removed_first_device_removes_nobody() {
    let (hub, a, b) = pair();
    let c = machine();
    join(&a, &c, &hub, "tablet", &[]);
    b.ok(&["sync"]);
    let past = Past::of(&hub);
    b.ok(&["sync", "remove", "laptop", "--yes"]);
    c.ok(&["sync"]);
    assert!(said(&a, &["sync", "remove", "workstation", "--yes"]).contains("was removed"));
    // The thief can write the hub, and shows its device the time before.
    let thief = machine();
    copy(&a.home(), &thief.home());
    past.restore(&hub);
    let path = thief.home().join("sync/chain-0.json");
    let mut links: Vec<String> = serde_json::from_str(&fs::read_to_string(&path).unwrap()).unwrap();
    links.truncate(3);
    fs::write(&path, serde_json::to_string(&links).unwrap()).unwrap();
    thief.ok(&["sync", "remove", "workstation", "--yes"]);
    let before = hub.files();
    for env in [&b, &c] {
        decide(env, "written meanwhile");
        assert!(said(env, &["sync"]).contains("shows another history of who belongs"));
        assert_eq!(space(env)["epoch"], 2);
    }
    assert_eq!(hub.files(), before, "nothing was sent");
}

#[test]
fn the_recovery_code_ends_a_fork() {
    let (hub, a, b, c) = (Hub::new(), machine(), machine(), machine());
    let recovery = init(&a, &hub, "laptop");
    join(&a, &b, &hub, "workstation", &[]);
    join(&a, &c, &hub, "tablet", &[]);
    b.ok(&["sync"]);
    let past = Past::of(&hub);
    // The stolen workstation removes the tablet; the laptop, to which that is not shown, removes the workstation.
    b.ok(&["sync", "remove", "tablet", "--yes"]);
    past.restore(&hub);
    a.ok(&["sync", "remove", "workstation", "--yes"]);
    let mine = Past::of(&hub);
    c.ok(&["sync"]);
    assert!(said(&b, &["sync"]).contains("another history"));
    mine.restore(&hub);
    let wrong = init(&machine(), &Hub::new(), "other");
    assert!(said(&a, &["sync", "settle", "--recovery", &wrong]).contains("mistyped"));
    a.ok(&["sync", "settle", "--recovery", &recovery]);
    decide(&a, "after the fork");
    a.ok(&["sync"]);
    c.ok(&["sync"]);
    assert!(c.brief().contains("after the fork"), "{}", c.brief());
    assert!(said(&b, &["sync"]).contains("was removed"));
}

#[test]
fn no_member_can_tell_a_home_that_it_is_a_copy() {
    let (hub, a, b) = pair();
    decide(&a, "mine");
    a.ok(&["sync"]);
    b.ok(&["sync"]);
    let head = hub.paths(&format!("/heads/{}", id(&b)));
    let head = head.iter().find(|path| !path.to_string_lossy().contains("/space/")).unwrap();
    let project = head.ancestors().nth(2).unwrap().file_name().unwrap().to_str().unwrap();
    let mut lie: Head = document::claimed(&fs::read(head).unwrap()).unwrap();
    let reach = lie.seen.get_mut(&id(&a)).unwrap();
    (reach.generation, reach.sequence) = (u64::MAX, u64::MAX);
    let place = known(&b).0.place(project);
    // It even signs its claim, with the only key that it has.
    let proof = Proof::new(&secrets(&b), &place, &id(&a), reach.clone()).unwrap();
    lie.proofs.insert(id(&a), proof);
    fs::write(head, document::signed(&secrets(&b), &place, &id(&b), &lie).unwrap()).unwrap();
    let before = id(&a);
    decide(&a, "and mine again");
    let said = a.json(&["sync"]);
    assert_eq!(said["spaces"][0]["new_device"], false, "{said}");
    assert_eq!(id(&a), before);
    assert!(
        problems(&a).iter().any(|problem| problem.contains("more of this device than it wrote")),
        "{:?}",
        problems(&a)
    );
    b.ok(&["sync"]);
    assert!(b.brief().contains("and mine again"));
}

#[test]
fn something_else_where_a_device_writes_makes_it_no_copy() {
    let (hub, a, b) = pair();
    decide(&a, "first");
    a.ok(&["sync"]);
    let batches = hub.batches();
    let own = batches
        .iter()
        .filter(|path| path.to_string_lossy().contains(&id(&a)) && !path.to_string_lossy().contains("/space/"));
    let last = own.max().unwrap();
    let number = u64::from_str_radix(last.file_name().unwrap().to_str().unwrap(), 16).unwrap();
    fs::write(last.with_file_name(format!("{:016x}", number + 1)), b"planted").unwrap();
    decide(&a, "second");
    let said = a.json(&["sync"]);
    assert_eq!(said["spaces"][0]["new_device"], false, "{said}");
    b.ok(&["sync"]);
    assert!(b.brief().contains("first") && b.brief().contains("second"), "{}", b.brief());
    assert_eq!(problems(&b), [""; 0]);
}

#[test]
fn what_stands_in_the_way_of_one_stream_keeps_no_other_from_being_sent() {
    let (hub, a, b) = pair();
    a.ok(&["learn", "I like short answers", "--everywhere"]);
    a.ok(&["sync"]);
    // Wherever the stream of what belongs to no project may go on or begin again, there is something.
    let stream = hub.path().join(&known(&a).0.id).join("space").join(id(&a));
    for generation in 1..8 {
        let dir = stream.join(format!("{generation:016x}"));
        fs::create_dir_all(&dir).unwrap();
        for number in 1..8 {
            let path = dir.join(format!("{number:016x}"));
            if !path.exists() {
                fs::write(path, b"planted").unwrap();
            }
        }
    }
    a.ok(&["learn", "I like long answers", "--everywhere"]);
    decide(&a, "written in a project");
    a.ok(&["sync"]);
    assert!(problems(&a).iter().any(|problem| problem.contains("where this device writes")), "{:?}", problems(&a));
    b.ok(&["sync"]);
    assert!(b.brief().contains("written in a project"), "{}", b.brief());
    // Each exchange goes further; nothing is lost.
    a.ok(&["sync"]);
    b.ok(&["sync"]);
    assert!(b.json(&["memory", "list"]).to_string().contains("long answers"));
}

#[test]
fn no_lost_object_stops_anybody() {
    let (hub, a, b) = (Hub::new(), machine(), machine());
    let recovery = init(&a, &hub, "laptop");
    join(&a, &b, &hub, "workstation", &[]);
    a.ok(&["sync", "rotate-recovery", "--recovery", &recovery]);
    b.ok(&["sync"]);
    let lost = chain_files(&hub);
    assert!(lost.len() > 3, "{lost:?}");
    for (number, path) in lost.iter().enumerate() {
        let bytes = fs::read(path).unwrap();
        fs::remove_file(path).unwrap();
        decide(&a, &format!("decision number {number}."));
        a.ok(&["sync"]);
        b.ok(&["sync"]);
        assert!(b.brief().contains(&format!("decision number {number}")), "without {}: {}", path.display(), b.brief());
        assert_eq!((problems(&a), problems(&b)), (Vec::<String>::new(), Vec::new()), "{}", path.display());
        fs::write(path, bytes).unwrap();
    }
    // All of it at once, too.
    chain_files(&hub).iter().for_each(|path| fs::remove_file(path).unwrap());
    b.ok(&["sync"]);
    assert!(problems(&b).iter().any(|problem| problem.contains("who belongs to this space")), "{:?}", problems(&b));
    let c = machine();
    join(&b, &c, &hub, "tablet", &[]);
    assert!(c.brief().contains("decision number"), "{}", c.brief());
}

#[test]
fn names_are_certified_and_a_removal_names_whom_the_device_let_in() {
    let (hub, a, b) = pair();
    let c = machine();
    join(&b, &c, &hub, "tablet", &[]);
    a.ok(&["sync"]);
    // Somebody changes a byte of a link, where the name is.
    let document = document_of(&hub);
    let whole = fs::read(&document).unwrap();
    let mut links: Vec<String> = serde_json::from_slice(&whole).unwrap();
    let last = links.pop().unwrap();
    let text = String::from_utf8_lossy(&hex::bytes(&last).unwrap()).into_owned();
    let at = 2 * (text.find("\"name\":\"").unwrap() + 10);
    let other = if &last[at..at + 2] == "31" { "32" } else { "31" };
    links.push(format!("{}{other}{}", &last[..at], &last[at + 2..]));
    fs::write(&document, serde_json::to_vec(&links).unwrap()).unwrap();
    a.ok(&["sync"]);
    let names: Vec<Value> = space(&a)["devices"].as_array().unwrap().iter().map(|one| one["name"].clone()).collect();
    assert!(names.contains(&json!("tablet")), "{names:?}");
    assert_eq!(fs::read(&document).unwrap(), whole, "it was put back");
    let removed = a.json(&["sync", "remove", "workstation", "--yes"]);
    assert_eq!(removed["let_in"], json!([format!("tablet ({})", id(&c))]), "{removed}");
    c.ok(&["sync"]);
    a.ok(&["sync", "remove", "tablet", "--yes"]);
    assert!(said(&c, &["sync"]).contains("was removed"));
}

#[test]
fn who_has_the_recovery_code_after_a_removal_was_withheld_brings_nobody_back() {
    let (hub, a, b, c) = (Hub::new(), machine(), machine(), machine());
    let recovery = init(&a, &hub, "laptop");
    join(&a, &b, &hub, "workstation", &[]);
    let past = Past::of(&hub);
    a.ok(&["sync", "remove", "workstation", "--yes"]);
    past.restore(&hub);
    c.ok(&["sync", "init", &hub.url(), "--recovery", &recovery, "--name", "new"]);
    a.ok(&["sync"]);
    assert!(problems(&a).iter().any(|problem| problem.contains("recovery code")), "{:?}", problems(&a));
    c.ok(&["sync"]);
    let names = |env: &TestEnv| -> BTreeSet<String> {
        let space = space(env);
        space["devices"].as_array().unwrap().iter().map(|one| one["name"].as_str().unwrap().to_string()).collect()
    };
    assert_eq!(
        (names(&a), names(&c)),
        (["laptop", "new"].map(String::from).into(), ["laptop", "new"].map(String::from).into())
    );
    assert!(said(&b, &["sync"]).contains("was removed"));
    decide(&a, "after everything");
    c.ok(&["share"]);
    a.ok(&["sync"]);
    c.ok(&["sync"]);
    assert!(c.brief().contains("after everything"), "{}", c.brief());
}

#[test]
fn a_device_that_leaves_gets_no_new_key_and_a_space_moves_to_another_hub() {
    let (hub, a, b) = pair();
    decide(&a, "before");
    a.ok(&["sync"]);
    b.ok(&["sync"]);
    b.ok(&["sync", "leave", "--yes"]);
    a.ok(&["sync"]);
    assert_eq!((space(&a)["epoch"].clone(), space(&a)["devices"].as_array().unwrap().len()), (json!(2), 1));
    assert!(b.brief().contains("before"), "what was received stays: {}", b.brief());
    // It can come back, as another device.
    join(&a, &b, &hub, "workstation", &[]);
    let other = Hub::new();
    for env in [&a, &b] {
        env.ok(&["sync", "move", &other.url()]);
    }
    decide(&b, "at the new place");
    b.ok(&["sync"]);
    a.ok(&["sync"]);
    assert!(a.brief().contains("at the new place"), "{}", a.brief());
    for env in [&a, &b] {
        env.ok(&["sync"]);
        assert_eq!(problems(env), [""; 0]);
    }
}

#[test]
fn a_new_recovery_code_replaces_the_old_one() {
    let (hub, a) = (Hub::new(), machine());
    let old = init(&a, &hub, "laptop");
    decide(&a, "keep this");
    a.ok(&["sync"]);
    let new = a.json(&["sync", "rotate-recovery", "--recovery", &old])["recovery_code"].as_str().unwrap().to_string();
    let b = machine();
    assert!(said(&b, &["sync", "init", &hub.url(), "--recovery", &old]).contains("mistyped"));
    b.ok(&["sync", "init", &hub.url(), "--recovery", &new, "--name", "new"]);
    b.ok(&["share"]);
    assert!(b.brief().contains("keep this"), "{}", b.brief());
    a.ok(&["sync"]);
    assert_eq!(problems(&a), [""; 0]);
}

#[test]
fn what_is_in_the_place_of_the_document_keeps_no_change_from_being_made() {
    let (hub, a, b) = (Hub::new(), machine(), machine());
    let old = init(&a, &hub, "laptop");
    join(&a, &b, &hub, "workstation", &[]);
    let document = document_of(&hub);
    fs::remove_file(&document).unwrap();
    fs::create_dir(&document).unwrap();
    let new = a.json(&["sync", "rotate-recovery", "--recovery", &old])["recovery_code"].as_str().unwrap().to_string();
    let removed = a.json(&["sync", "remove", "workstation", "--yes"]);
    assert_eq!(removed["let_in"], json!([]), "{removed}");
    a.ok(&["sync"]);
    assert!(problems(&a).iter().any(|problem| problem.contains("heads/chain is a folder")), "{:?}", problems(&a));
    fs::remove_dir(&document).unwrap();
    a.ok(&["sync"]);
    let c = machine();
    c.ok(&["sync", "init", &hub.url(), "--recovery", &new, "--name", "new"]);
    assert_eq!(space(&c)["epoch"], 2);
}

#[test]
fn a_space_of_an_earlier_format_is_said_and_can_be_made_anew() {
    let keys = json!([{ "epoch": 1, "key": "07".repeat(32) }]);
    for old in [
        // Before there was a chain.
        json!({ "spaces": [{ "number": 0, "id": "00", "hub": "/hub", "name": "x", "founder": "5eed" }], "next": 1 }),
        // When keys were wrapped in another way.
        json!({ "v": 2, "spaces": [{ "number": 0, "id": "00", "hub": "/hub", "name": "x", "keys": keys }], "next": 1 }),
    ] {
        let (hub, a) = (Hub::new(), machine());
        fs::create_dir_all(a.home().join("sync")).unwrap();
        fs::write(a.home().join("sync/spaces.json"), old.to_string()).unwrap();
        for args in [&["sync"][..], &["share"], &["sync", "status"], &["sync", "pair"], &["sync", "leave", "--yes"]] {
            let told = said(&a, args);
            assert!(told.contains("by an earlier version") && told.contains("cerberus sync init URL"), "{told}");
        }
        let doctor = a.doctor().to_string();
        assert!(doctor.contains("by an earlier version") && doctor.contains("cerberus share"), "{doctor}");
        decide(&a, "kept");
        init(&a, &hub, "laptop");
        assert_eq!(space(&a)["epoch"], 1);
    }
}

#[test]
fn a_hub_with_a_space_of_an_earlier_format_is_said_to_whoever_joins() {
    let (hub, a, b) = (Hub::new(), machine(), machine());
    init(&a, &hub, "laptop");
    let code = a.json(&["sync", "pair", "--wait", "0"])["code"].as_str().unwrap().to_string();
    let chain = fs::read_to_string(document_of(&hub)).unwrap();
    let version = |number: u32| hex::text(format!("\"v\":{number}").as_bytes());
    fs::write(document_of(&hub), chain.replace(&version(VERSION), &version(VERSION - 1))).unwrap();
    let told = said(&b, &["sync", "init", &hub.url(), "--code", &code]);
    assert!(told.contains("by an earlier version"), "{told}");
}
