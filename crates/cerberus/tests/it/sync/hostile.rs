//! What a hub, or a member with a changed program, may put where devices look for the chain: it is told, and stops nobody.

use std::fs;
use std::ops::Range;
use std::path::PathBuf;

use cerberus_os::home::Home;
use cerberus_sync::SyncError;
use cerberus_sync::chain::{ChainChange, Keys, MemberDevice};
use cerberus_sync::crypto::{Secrets, hex};
use cerberus_sync::document::{self, SPACE_PLACE};
use cerberus_sync::files::Files;
use cerberus_sync::local::SpaceKey;
use cerberus_sync::transport::folder::Folder;
use cerberus_sync::{keys, links, spaces};
use cerberus_testkit::env::TestEnv;
use serde_json::{Value, json};

use super::attack::Past;
use super::chain::{chain_files, document_of, id, known, plant, said, secrets, show_old_chain};
use super::containers::printed_key;
use super::{Hub, decide, init, join, machine, pair, problems, space};

/// Something new of one device still reaches the other.
fn talk(a: &TestEnv, b: &TestEnv, what: &str) {
    decide(a, &format!("decided {what}."));
    a.ok(&["sync"]);
    b.ok(&["sync"]);
    assert!(b.brief().contains(&format!("decided {what}")), "{what}: {}", b.brief());
}

fn shown(hub: &Hub) -> Vec<String> {
    serde_json::from_slice(&fs::read(document_of(hub)).unwrap()).unwrap()
}

fn show(hub: &Hub, links: &[String]) {
    fs::write(document_of(hub), serde_json::to_vec(links).unwrap()).unwrap();
}

#[test]
fn what_only_says_that_it_is_newer_stops_nobody() {
    let (hub, a, b) = pair();
    b.ok(&["sync"]);
    let code = a.json(&["sync", "pair", "--wait", "0"])["code"].as_str().unwrap().to_string();
    let whole = shown(&hub);
    let newer = hex::text(&[br#"{"v":99,"by":"recovery"}"#.as_slice(), &[7; 64]].concat());
    for (round, links) in [
        [&whole[..], std::slice::from_ref(&newer)].concat(),
        vec![newer.clone()],
        [vec![newer], whole.clone()].concat(),
    ]
    .iter()
    .enumerate()
    {
        show(&hub, links);
        decide(&a, &format!("decided in round {round}."));
        a.ok(&["sync"]);
        assert!(problems(&a).iter().any(|problem| problem.contains("is not valid")), "{:?}", problems(&a));
        assert_eq!(shown(&hub), whole, "it was put back");
        b.ok(&["sync"]);
        assert!(b.brief().contains(&format!("decided in round {round}")), "{}", b.brief());
    }
    // Of what a member has signed, only a link that follows is believed.
    let (space_here, chain) = known(&b);
    let (number, previous) = (chain.state.number + 1, hex::text(&chain.state.head));
    let newer = |json: Value| {
        let bytes = document::signed(&secrets(&b), &space_here.place(SPACE_PLACE), "link", &json).unwrap();
        vec![hex::text(&bytes)]
    };
    for other in [json!({}), json!({ "number": number - 1, "previous": previous }), json!({ "number": number })] {
        let mut other = other;
        other["v"] = json!(99);
        show(&hub, &[whole.clone(), newer(other)].concat());
        a.ok(&["sync"]);
        assert!(problems(&a).iter().any(|problem| problem.contains("is not valid")), "{:?}", problems(&a));
    }
    let genuine = newer(json!({ "v": 99, "number": number, "previous": previous }));
    show(&hub, &[whole, genuine.clone()].concat());
    let told = said(&a, &["sync"]);
    assert!(told.contains("newer version") && told.contains(&id(&b)), "{told}");
    // So is a founding link by whoever knows no other.
    let shown_to_all = shown(&hub);
    show(&hub, &genuine);
    let code = ["sync", "init", &hub.url(), "--code", &code, "--wait", "0"];
    assert!(said(&machine(), &code).contains("newer version"));
    // If there is no newer version, whoever signed it is removed.
    show(&hub, &shown_to_all);
    a.ok(&["sync", "remove", "workstation", "--yes"]);
    a.ok(&["sync"]);
    assert_eq!(problems(&a), [""; 0]);
}

#[test]
fn a_head_is_only_newer_if_its_device_signed_it() {
    let (hub, a, b) = pair();
    decide(&b, "decided before.");
    b.ok(&["sync"]);
    a.ok(&["sync"]);
    let head = hub.paths(&format!("/heads/{}", id(&b)));
    let head = head.iter().find(|path| !path.to_string_lossy().contains("/space/")).unwrap();
    let project = head.ancestors().nth(2).unwrap().file_name().unwrap().to_str().unwrap();
    let place = known(&b).0.place(project);
    let newer = |by: &TestEnv| document::signed(&secrets(by), &place, &id(&b), &json!({ "v": 99 })).unwrap();
    for (bytes, said) in [(newer(&a), "rollback"), (newer(&b), "newer version of Cerberus")] {
        fs::write(head, bytes).unwrap();
        a.ok(&["sync"]);
        let told = problems(&a);
        assert!(told.iter().any(|problem| problem.contains(said)), "{said}: {told:?}");
        assert_eq!(told.iter().any(|problem| problem.contains("rollback")), said == "rollback", "{told:?}");
        assert!(a.brief().contains("decided before"));
    }
}

#[test]
fn no_form_of_the_chain_on_the_hub_stops_anybody() {
    let (hub, a, b) = pair();
    let c = machine();
    join(&a, &c, &hub, "tablet", &[]);
    b.ok(&["sync"]);
    let (whole, document) = (shown(&hub), document_of(&hub));
    let newest = chain_files(&hub).into_iter().filter(|path| *path != document).max().unwrap();
    let mut reordered = whole.clone();
    reordered.swap(1, 2);
    let doubled: Vec<String> = whole.iter().flat_map(|link| [link.clone(), link.clone()]).collect();
    let upper: Vec<String> = whole.iter().map(|link| link.to_uppercase()).collect();
    let texts = [
        json!(reordered),
        json!(doubled),
        json!(upper),
        json!(whole[1..]),
        json!([whole[0], whole[2]]),
        json!(whole[..1]),
        json!([whole[0], "../../etc/passwd"]),
        json!({ "links": whole }),
    ];
    for (round, text) in texts.iter().enumerate() {
        fs::write(&document, text.to_string()).unwrap();
        talk(&a, &b, &format!("in round {round}"));
        assert_eq!(space(&b)["devices"].as_array().unwrap().len(), 3, "{text}");
        assert_eq!(shown(&hub), whole, "it was put back");
    }
    // Objects that no device can write over, in both places where the newest link is.
    let link = fs::read(&newest).unwrap();
    for what in ["nothing", "a folder", "one gibibyte"] {
        for path in [&document, &newest] {
            fs::remove_file(path).unwrap();
            match what {
                "a folder" => fs::create_dir(path).unwrap(),
                "nothing" => drop(fs::File::create(path).unwrap()),
                _ => fs::File::create(path).unwrap().set_len(1 << 30).unwrap(),
            }
        }
        talk(&a, &b, &format!("beside {what}"));
        for path in [&document, &newest] {
            if path.is_dir() { fs::remove_dir(path).unwrap() } else { fs::remove_file(path).unwrap() }
        }
        fs::write(&newest, &link).unwrap();
        fs::write(&document, json!(whole).to_string()).unwrap();
        talk(&b, &a, &format!("after {what}"));
        assert_eq!((problems(&a), problems(&b)), (Vec::<String>::new(), Vec::new()));
    }
}

/// A member lets in these devices, so many that one document does not hold all of them.
fn let_in_many(env: &TestEnv, hub: &Hub, numbers: Range<u64>) {
    let (space_here, mut chain) = known(env);
    let home = Home::new(env.home());
    let (files, mut folder) = (Files::new(&home), Folder::open(hub.path()).unwrap());
    let device = files.device().unwrap();
    for number in numbers {
        let keys: Keys = keys::public(&Secrets::of(&number.to_be_bytes())).unwrap();
        let long = "5e".repeat(8 * 1024);
        let device_of_many = MemberDevice { keys, name: long.clone(), names: long.clone() };
        let change = ChainChange::Add { device: device_of_many, key: long, welcome: String::new() };
        let mut at = links::ChainHub::of(&mut folder, &files, &space_here, &device);
        at.append(&mut chain, |_, _| Ok(Some(change.clone()))).unwrap();
    }
    assert!(!hub.paths("/before-").is_empty() && fs::metadata(document_of(hub)).unwrap().len() < 2 << 20);
}

/// Somebody writes where the next link belongs, and wherever a link may be that follows one that is known.
fn plant_garbage(env: &TestEnv, hub: &Hub) {
    let chain = known(env).1;
    for (number, shown) in (2..).zip(&chain.links) {
        let generation = format!("{:016x}", links::place_after(&shown.hash));
        let stream = document_of(hub).ancestors().nth(2).unwrap().join("chain").join(generation);
        fs::create_dir_all(&stream).unwrap();
        for number in number..number + 100 {
            let path = stream.join(format!("{number:016x}"));
            if !path.exists() {
                fs::write(path, "garbage").unwrap();
            }
        }
    }
}

#[test]
fn a_member_that_lets_in_ever_more_devices_stops_nobody() {
    let (hub, a, b) = pair();
    b.ok(&["sync"]);
    let_in_many(&b, &hub, 0..24);
    assert_eq!(hub.paths("/before-").len(), 2);
    talk(&a, &b, "among many");
    assert_eq!((problems(&a), problems(&b)), (Vec::<String>::new(), Vec::new()));
    // Whoever joins reads the documents before the newest, too.
    let c = machine();
    join(&a, &c, &hub, "tablet", &[]);
    talk(&a, &c, "for the new one");
    // A removal is seen whatever stands in its place.
    plant_garbage(&a, &hub);
    let removed = a.json(&["sync", "remove", "workstation", "--yes"]);
    assert_eq!(removed["let_in"].as_array().unwrap().len(), 24, "{removed}");
    c.ok(&["sync"]);
    assert_eq!(space(&c)["epoch"], 2);
    assert!(said(&b, &["sync"]).contains("was removed"));
    assert_eq!((problems(&a), problems(&c)), (Vec::<String>::new(), Vec::new()));
}

#[test]
fn nothing_in_the_place_of_the_next_link_keeps_a_removal_from_being_made() {
    let (hub, a, b) = pair();
    let c = machine();
    join(&a, &c, &hub, "tablet", &[]);
    b.ok(&["sync"]);
    plant_garbage(&a, &hub);
    // What only adds something waits: two devices could do it at once.
    let code = a.json(&["sync", "pair", "--wait", "0"])["code"].as_str().unwrap().to_string();
    let d = machine();
    d.ok(&["sync", "init", &hub.url(), "--code", &code, "--name", "phone", "--wait", "0"]);
    assert!(said(&a, &["sync"]).contains("something else where the next link"));
    a.ok(&["sync", "remove", "tablet", "--yes"]);
    b.ok(&["sync"]);
    assert_eq!((space(&b)["epoch"].clone(), problems(&b)), (json!(2), Vec::new()));
    assert!(said(&c, &["sync"]).contains("was removed"));
    // The place of the link after it could not be known before.
    join(&a, &d, &hub, "phone", &[]);
    talk(&a, &d, "after the removal");
    // The documents alone have the removal. They are put back.
    let before = shown(&hub);
    show(&hub, &before[..3]);
    b.ok(&["sync"]);
    assert_eq!(shown(&hub), before);
}

#[test]
fn a_fork_of_a_long_chain_is_seen_and_ended_whatever_stands_in_the_way() {
    let (hub, a, b, c) = (Hub::new(), machine(), machine(), machine());
    let recovery = init(&a, &hub, "laptop");
    join(&a, &b, &hub, "workstation", &[]);
    join(&a, &c, &hub, "tablet", &[]);
    b.ok(&["sync"]);
    let_in_many(&b, &hub, 0..12);
    a.ok(&["sync"]);
    let past = Past::of(&hub);
    a.ok(&["sync", "remove", "workstation", "--yes"]);
    past.restore(&hub);
    // What the newest document has follows links that a has never seen.
    let_in_many(&b, &hub, 12..24);
    c.ok(&["sync"]);
    let told = said(&a, &["sync"]);
    assert!(told.contains("another history"), "{told}");
    plant_garbage(&a, &hub);
    a.ok(&["sync", "settle", "--recovery", &recovery]);
    c.ok(&["sync"]);
    assert!(problems(&c).iter().any(|problem| problem.contains("recovery code")), "{:?}", problems(&c));
    talk(&a, &c, "after the fork");
    assert!(said(&b, &["sync"]).contains("was removed"));
}

/// A member begins a key, keeps it from one device and from the recovery code, and hands no earlier key on.
fn keep_a_key_from(victim: &TestEnv, thief: &TestEnv, hub: &Hub) {
    let (space_here, mut chain) = known(thief);
    let home = Home::new(thief.home());
    let (files, mut folder) = (Files::new(&home), Folder::open(hub.path()).unwrap());
    let device = files.device().unwrap();
    let key = SpaceKey { epoch: 2, key: [9; 32] };
    let members = chain.state.members.iter().map(|(id, member)| (id.as_str(), &member.device.keys));
    let to = members.chain([("recovery", &chain.state.recovery)]);
    let mut epoch = keys::epoch(&space_here.id, key, to, "5e".repeat(100)).unwrap();
    for out in [&id(victim), "recovery"] {
        epoch.to.insert(out.to_string(), "5e".repeat(80));
    }
    let mut at = links::ChainHub::of(&mut folder, &files, &space_here, &device);
    at.append(&mut chain, |_, _| Ok(Some(ChainChange::Rotate(epoch.clone())))).unwrap();
}

#[test]
fn a_member_that_keeps_a_key_from_others_keeps_nobody_out() {
    for way in ["it is removed", "it is removed, and somebody has the recovery code", "it leaves"] {
        let (hub, a, b, c, new) = (Hub::new(), machine(), machine(), machine(), machine());
        let recovery = init(&a, &hub, "laptop");
        join(&a, &b, &hub, "workstation", &[]);
        join(&a, &c, &hub, "tablet", &[]);
        b.ok(&["sync"]);
        talk(&a, &c, "before");
        keep_a_key_from(&a, &b, &hub);
        decide(&c, "decided under the key of the thief.");
        c.ok(&["sync"]);
        assert_eq!(space(&c)["epoch"], 2);
        let before = hub.files();
        let told = said(&a, &["sync"]);
        assert!(told.contains("workstation") && told.contains("is kept from this device"), "{told}");
        assert_eq!(hub.files(), before, "nothing was sent");
        let has_recovery = way.contains("recovery");
        if has_recovery {
            new.ok(&["sync", "init", &hub.url(), "--recovery", &recovery, "--name", "new"]);
            new.ok(&["share"]);
        }
        match way {
            "it leaves" => drop(b.ok(&["sync", "leave", "--yes"])),
            _ => drop(a.ok(&["sync", "remove", "workstation", "--yes"])),
        }
        if !has_recovery {
            join(&a, &new, &hub, "new", &[]);
        }
        // Whoever had the key of the thief seals everything anew.
        for env in [&c, &a, &new, &c] {
            env.ok(&["sync"]);
        }
        for env in [&a, &new] {
            let brief = env.brief();
            assert!(brief.contains("decided before") && brief.contains("under the key of the thief"), "{way}: {brief}");
            assert_eq!(problems(env), [""; 0], "{way}");
        }
        assert_eq!(space(&c)["devices"].as_array().unwrap().len(), 3, "{way}");
    }
}

#[test]
fn what_was_sealed_under_a_withheld_key_is_sealed_anew_whoever_learns_of_the_next() {
    let (hub, a, b, c) = (Hub::new(), machine(), machine(), machine());
    let recovery = init(&a, &hub, "laptop");
    join(&a, &b, &hub, "workstation", &[]);
    join(&a, &c, &hub, "tablet", &[]);
    b.ok(&["sync"]);
    keep_a_key_from(&a, &b, &hub);
    decide(&c, "decided under the key of the thief.");
    c.ok(&["sync"]);
    c.ok(&["sync", "settle", "--recovery", &recovery]);
    for env in [&c, &a] {
        env.ok(&["sync"]);
    }
    assert!(a.brief().contains("under the key of the thief"), "{}", a.brief());
    assert_eq!(problems(&a), [""; 0]);
}

#[test]
fn of_two_devices_that_remove_each_other_at_once_one_is_removed() {
    let (hub, a, b) = pair();
    let c = machine();
    join(&a, &c, &hub, "tablet", &[]);
    b.ok(&["sync"]);
    // What b knows when it begins; a is faster.
    let (mut space_here, mut chain) = known(&b);
    let home = Home::new(b.home());
    let (files, mut folder) = (Files::new(&home), Folder::open(hub.path()).unwrap());
    let (device, gone) = (files.device().unwrap(), [id(&a)].into());
    a.ok(&["sync", "remove", "workstation", "--yes"]);
    let lost = links::remove(&mut folder, &files, &mut space_here, &mut chain, &device, &gone);
    assert!(matches!(lost, Err(SyncError::Removed(_))), "{lost:?}");
    talk(&a, &c, "after the race");
    assert_eq!(space(&c)["devices"].as_array().unwrap().len(), 2);
    assert!(said(&b, &["sync"]).contains("was removed"));
    assert_eq!((problems(&a), problems(&c)), (Vec::<String>::new(), Vec::new()));
}

#[test]
fn a_removal_that_is_withheld_from_one_device_is_told_there() {
    let (hub, a, b) = pair();
    let c = machine();
    join(&a, &c, &hub, "tablet", &[]);
    b.ok(&["sync"]);
    let past = Past::of(&hub);
    a.ok(&["sync", "remove", "tablet", "--yes"]);
    let chain: Vec<(PathBuf, Vec<u8>)> =
        chain_files(&hub).into_iter().map(|path| (path.clone(), fs::read(path).unwrap())).collect();
    decide(&a, "decided under the new key.");
    a.ok(&["sync"]);
    show_old_chain(&hub, &past);
    b.ok(&["sync"]);
    assert!(
        problems(&b).iter().any(|problem| problem.contains("a key that this device does not have")),
        "{:?}",
        problems(&b)
    );
    for (path, bytes) in chain {
        fs::write(path, bytes).unwrap();
    }
    b.ok(&["sync"]);
    assert!(b.brief().contains("decided under the new key"), "{}", b.brief());
    assert_eq!((space(&b)["epoch"].clone(), problems(&b)), (json!(2), Vec::new()));
}

#[test]
fn a_recovery_code_that_is_used_twice_lets_two_devices_in_and_a_stolen_old_one_none() {
    let (hub, a, b, c) = (Hub::new(), machine(), machine(), machine());
    let old = init(&a, &hub, "laptop");
    for (env, name) in [(&b, "second"), (&c, "third")] {
        env.ok(&["sync", "init", &hub.url(), "--recovery", &old, "--name", name]);
        env.ok(&["share"]);
    }
    a.ok(&["sync"]);
    talk(&b, &a, "by the second");
    talk(&c, &a, "by the third");
    let past = Past::of(&hub);
    a.ok(&["sync", "rotate-recovery", "--recovery", &old]);
    b.ok(&["sync"]);
    // Whoever has the old code and the hub shows the time before; nobody who has seen the new code follows.
    past.restore(&hub);
    machine().ok(&["sync", "init", &hub.url(), "--recovery", &old, "--name", "thief"]);
    let output = a.run(&["sync"]);
    let talk = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success() && talk.contains("shows an older state of who belongs"), "{output:?}");
    // What the hub lost is back.
    b.ok(&["sync"]);
    for env in [&a, &b] {
        assert!(!env.ok(&["sync", "status"]).contains("thief"));
    }
}

#[test]
fn a_new_device_believes_only_the_chain_of_whoever_printed_its_code() {
    let (hub, a, b) = pair();
    b.ok(&["sync"]);
    let past = Past::of(&hub);
    a.ok(&["sync", "remove", "workstation", "--yes"]);
    let code = a.json(&["sync", "pair", "--wait", "0"])["code"].as_str().unwrap().to_string();
    let c = machine();
    c.ok(&["sync", "init", &hub.url(), "--code", &code, "--name", "tablet", "--wait", "0"]);
    a.ok(&["sync"]);
    let genuine = Past::of(&hub);
    // The removed device and the hub let c in, too, in a chain without the removal.
    let link = known(&a).1.links.pop().unwrap().link;
    let ChainChange::Add { device, welcome, .. } = link.change else { panic!("{link:?}") };
    let (space_here, past_chain) = known(&b);
    let (state, keys) = (&past_chain.state, &space_here.keys);
    let forged = spaces::add(&space_here, state, keys, device.keys, "tablet", &[], welcome).unwrap();
    past.restore(&hub);
    plant(&hub, &b, &id(&b), &secrets(&b), forged);
    assert!(said(&c, &["sync"]).contains("waiting to be let in"));
    genuine.restore(&hub);
    c.ok(&["sync"]);
    c.ok(&["share"]);
    talk(&a, &c, "with the right one");
}

#[test]
fn a_container_believes_only_the_chain_that_its_key_names() {
    let (hub, a, b) = pair();
    b.ok(&["sync"]);
    let past = Past::of(&hub);
    let token = printed_key(&a);
    let genuine = Past::of(&hub);
    let key: Value = serde_json::from_slice(&hex::bytes(token.split_once('.').unwrap().1).unwrap()).unwrap();
    let secret = hex::bytes(key["granted"]["secret"].as_str().unwrap()).unwrap();
    let sign = keys::public(&Secrets::of(&secret)).unwrap().sign;
    let space_here = known(&b).0;
    let (project, newest) = (key["project"].as_str().unwrap(), space_here.key().unwrap().key);
    let grant = keys::grant(&space_here.id, &newest, sign, project, "containers").unwrap();
    past.restore(&hub);
    plant(&hub, &b, &id(&b), &secrets(&b), ChainChange::Grant(grant));
    let container = machine();
    let start = || container.command().args(["sync", "--for-project"]).env("CERBERUS_SYNC", &token).output().unwrap();
    let output = start();
    let told = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(output.status.code() == Some(1) && told.contains("not the one that the key"), "{told}");
    genuine.restore(&hub);
    assert!(start().status.success());
}

#[test]
fn a_name_is_one_line_whatever_its_device_is_called() {
    let (hub, a, b) = (Hub::new(), machine(), machine());
    init(&a, &hub, "laptop");
    join(&a, &b, &hub, "tab\u{1b}[31m\nlet\u{202e}gnp", &[]);
    a.ok(&["sync"]);
    let name = |device: &Value| device["name"].as_str().unwrap().to_string();
    let names: Vec<String> = space(&a)["devices"].as_array().unwrap().iter().map(name).collect();
    assert!(names.contains(&"tab [31m let gnp".to_string()), "{names:?}");
    a.ok(&["sync", "remove", "tab [31m let gnp", "--yes"]);
}

#[test]
fn what_has_no_name_of_ours_is_not_read() {
    let (hub, a, b) = pair();
    let place = hub.paths("/heads/").into_iter().find(|path| !path.to_string_lossy().contains("/space/")).unwrap();
    let heads = place.parent().unwrap();
    let long = "0".repeat(65);
    for name in ["UPPER", "..hidden", ".hidden", "a b", "a\\..\\b", &long] {
        fs::write(heads.join(name), b"planted").unwrap();
    }
    talk(&a, &b, "beside them");
    assert_eq!((problems(&a), problems(&b)), (Vec::<String>::new(), Vec::new()));
}
