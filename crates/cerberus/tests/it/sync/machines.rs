//! Two machines of one user.

use std::time::Duration;

use cerberus_os::clock::Clock;
use cerberus_os::home::Home;
use cerberus_store::view::fold;
use cerberus_sync::exchange::Exchange;
use cerberus_sync::transport::folder::Folder;
use serde_json::json;

use super::{Hub, decide, init, join, machine, pair, problems, space};

#[test]
fn what_one_machine_records_the_other_is_told() {
    let (hub, a, b) = pair();
    decide(&a, "use sqlite for the queue");
    a.ok(&["sync"]);
    assert!(!b.brief().contains("sqlite"));
    b.ok(&["sync"]);
    assert!(b.brief().contains("sqlite"), "{}", b.brief());
    decide(&b, "ship on friday");
    b.ok(&["sync"]);
    a.ok(&["sync"]);
    assert!(a.brief().contains("friday") && a.brief().contains("sqlite"), "{}", a.brief());
    assert_eq!((problems(&a), problems(&b)), (Vec::<String>::new(), Vec::new()));
    // The hub saw neither words nor names.
    for (path, bytes) in hub.files() {
        for word in ["sqlite", "friday", "hydra", "laptop", "workstation", "acme"] {
            assert!(!bytes.windows(word.len()).any(|window| window == word.as_bytes()), "{word} in {}", path.display());
            assert!(!path.strip_prefix(hub.path()).unwrap().to_string_lossy().contains(word), "{}", path.display());
        }
    }
}

#[test]
fn pulling_twice_equals_once_and_a_rebuild_changes_nothing() {
    let (_hub, a, b) = pair();
    a.start("s1", "startup");
    a.hook("s1", "UserPromptSubmit", json!({"prompt": "We decided to use sqlite for the queue."}));
    a.write_file("s1", "t1", "queue.rs", "fn queue() {}");
    a.hook("s1", "SessionEnd", json!({"reason": "other"}));
    a.ok(&["sync"]);
    b.ok(&["sync"]);
    let journal = |env: &cerberus_testkit::env::TestEnv| -> u64 {
        std::fs::read_dir(env.home().join("journal"))
            .unwrap()
            .map(|entry| entry.unwrap().metadata().unwrap().len())
            .sum()
    };
    let before = (b.brief(), journal(&b));
    assert!(before.0.contains("queue.rs"), "{}", before.0);
    b.ok(&["sync"]);
    b.ok(&["sync"]);
    assert_eq!((b.brief(), journal(&b)), before);
    b.rebuild();
    assert_eq!(b.brief(), before.0);
    // A session of another device is judged by that device alone.
    let sessions = b.sessions();
    assert_eq!(sessions.len(), 1, "{sessions:?}");
}

#[test]
fn nothing_is_sent_before_a_project_is_shared_and_nothing_after_it_is_not() {
    let (hub, a) = (Hub::new(), machine());
    decide(&a, "before sharing");
    a.json(&["sync", "init", &hub.url(), "--name", "laptop"]);
    a.ok(&["sync"]);
    assert!(hub.batches().is_empty());
    let preview = a.json(&["share", "--dry-run"]);
    assert!(preview["records"].as_u64().unwrap() > 0, "{preview}");
    let screen = a.ok(&["share", "--dry-run"]);
    let shown = ["If you share hydra, your own devices get", "Nothing was sent yet", "before sharing", "To share it:"];
    for words in shown {
        assert!(screen.contains(words), "{words}: {screen}");
    }
    assert!(!screen.contains('{') && !screen.contains("\":"), "words, not records: {screen}");
    assert!(hub.batches().is_empty(), "a preview sends nothing");
    a.ok(&["share"]);
    assert!(!hub.batches().is_empty());
    let b = machine();
    join(&a, &b, &hub, "workstation", &[]);
    assert!(b.brief().contains("before sharing"), "{}", b.brief());
    let said = a.ok(&["unshare", "--erase", "--yes"]);
    assert!(said.contains("removed with their next exchange: workstation ("), "{said}");
    b.ok(&["sync"]);
    assert!(!b.brief().contains("before sharing"), "{}", b.brief());
    decide(&a, "afterwards");
    a.ok(&["sync"]);
    b.ok(&["sync"]);
    assert!(!b.brief().contains("afterwards"));
    assert!(a.brief().contains("before sharing"), "what is here stays here");
}

#[test]
fn what_is_not_shared_any_more_leaves_the_hub_and_stays_where_it_was_read() {
    let (hub, a, b) = pair();
    decide(&a, "before sharing ended");
    a.ok(&["sync"]);
    b.ok(&["sync"]);
    let said = a.ok(&["unshare"]);
    assert!(said.contains("kept by workstation (1 record); --erase would have removed it"), "{said}");
    let project = a.json(&["sync", "status"])["spaces"][0]["device"].as_str().unwrap().to_string();
    let left = hub.batches().into_iter().filter(|path| path.to_string_lossy().contains(&project));
    assert!(left.clone().all(|path| path.to_string_lossy().contains("/space/")), "{:?}", left.collect::<Vec<_>>());
    decide(&a, "afterwards");
    a.ok(&["sync"]);
    for _ in 0..2 {
        b.ok(&["sync"]);
        assert!(b.brief().contains("before sharing ended") && !b.brief().contains("afterwards"), "{}", b.brief());
    }
    assert_eq!(problems(&b), [""; 0]);
    // Shared again, it is there once.
    a.ok(&["share"]);
    b.ok(&["sync"]);
    let brief = b.brief();
    assert!(brief.contains("afterwards"), "{brief}");
    assert_eq!(brief.matches("before sharing ended").count(), 1, "{brief}");
}

#[test]
fn offline_changes_nothing_and_everything_is_sent_later() {
    let (hub, a, b) = pair();
    let (here, away) = (hub.path(), hub.path().with_extension("away"));
    std::fs::rename(&here, &away).unwrap();
    decide(&a, "made offline");
    let output = a.run(&["sync"]);
    assert_eq!(output.status.code(), Some(1));
    assert!(String::from_utf8_lossy(&output.stderr).contains("cannot reach"), "{output:?}");
    assert!(a.brief().contains("made offline"));
    assert!(!here.exists(), "a folder that is away is not made anew");
    std::fs::rename(&away, &here).unwrap();
    a.ok(&["sync"]);
    b.ok(&["sync"]);
    assert!(b.brief().contains("made offline"));
}

#[test]
fn memories_go_along_and_a_removed_device_gets_nothing_new() {
    let (hub, a, b) = pair();
    let c = machine();
    join(&a, &c, &hub, "tablet", &[]);
    a.ok(&["learn", "Always run the linter before a commit"]);
    a.ok(&["sync"]);
    b.ok(&["sync"]);
    c.ok(&["sync"]);
    assert!(b.brief().contains("linter") && c.brief().contains("linter"), "{}", b.brief());
    a.ok(&["sync", "remove", "tablet", "--yes"]);
    decide(&a, "after the removal");
    a.ok(&["sync"]);
    b.ok(&["sync"]);
    assert!(b.brief().contains("after the removal"));
    assert_eq!(space(&b)["epoch"], 2);
    let output = c.run(&["sync"]);
    assert!(String::from_utf8_lossy(&output.stderr).contains("removed"), "{output:?}");
    for (name, why) in [("tablet", "no device is called"), ("laptopx", "no device is called")] {
        let output = a.run(&["sync", "remove", name, "--yes"]);
        assert!(String::from_utf8_lossy(&output.stderr).contains(why), "{output:?}");
    }
    assert!(!c.brief().contains("after the removal"));
    // What it writes is ignored, and no problem is reported about it.
    assert_eq!(problems(&b), [""; 0]);
    assert_eq!(b.json(&["sync", "status"])["spaces"][0]["devices"].as_array().unwrap().len(), 2);
}

#[test]
fn a_recovery_code_joins_after_every_device_was_lost() {
    let (hub, a) = (Hub::new(), machine());
    let recovery = init(&a, &hub, "laptop");
    decide(&a, "keep this");
    a.ok(&["sync"]);
    let b = machine();
    let wrong =
        b.run(&["sync", "init", &hub.url(), "--recovery", &recovery.replace(|c: char| c.is_ascii_digit(), "7")]);
    assert_eq!(wrong.status.code(), Some(1));
    drop(a);
    b.ok(&["sync", "init", &hub.url(), "--recovery", &recovery, "--name", "new"]);
    b.ok(&["share"]);
    assert!(b.brief().contains("keep this"), "{}", b.brief());
}

#[test]
fn a_code_lets_in_one_device() {
    let (hub, a, _b) = pair();
    let code = a.json(&["sync", "pair", "--wait", "0"])["code"].as_str().unwrap().to_string();
    let (c, d) = (machine(), machine());
    for other in [&c, &d] {
        other.ok(&["sync", "init", &hub.url(), "--code", &code, "--name", "x", "--wait", "0"]);
    }
    let let_in = a.json(&["sync"]);
    assert_eq!(let_in["spaces"][0]["let_in"].as_array().unwrap().len(), 1, "{let_in}");
    let is_in = |env: &cerberus_testkit::env::TestEnv| env.run(&["sync"]).status.success();
    assert_eq!([is_in(&c), is_in(&d)].iter().filter(|is_in| **is_in).count(), 1);
    let mistyped = format!("{}7", &code[..code.len() - 2]);
    let output = machine().run(&["sync", "init", &hub.url(), "--code", &mistyped, "--wait", "0"]);
    assert!(String::from_utf8_lossy(&output.stderr).contains("mistyped"), "{output:?}");
}

#[test]
fn an_agent_can_neither_pair_nor_remove_nor_share() {
    let (hub, a, _b) = pair();
    let before = hub.files();
    for args in [
        &["sync", "pair", "--wait", "0"][..],
        &["sync", "pair", "--for-project"],
        &["sync", "remove", "workstation", "--yes"],
        &["sync", "init", "/tmp", "--team", "x"],
        &["share"],
        &["unshare"],
    ] {
        let output = a.command().args(args).env("CLAUDECODE", "1").output().unwrap();
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(output.status.code() == Some(1) && said.contains("only the user can"), "{args:?}: {said}");
    }
    assert_eq!(hub.files(), before);
}

#[test]
fn a_wrong_key_is_refused_before_anything_is_sent() {
    let (hub, a, b) = pair();
    let path = b.home().join("sync/spaces.json");
    let text = std::fs::read_to_string(&path).unwrap();
    let mut spaces: serde_json::Value = serde_json::from_str(&text).unwrap();
    spaces["spaces"][0]["keys"][0]["key"] = json!("00".repeat(32));
    std::fs::write(&path, spaces.to_string()).unwrap();
    decide(&b, "sealed with the wrong key");
    let before = hub.files();
    let output = b.run(&["sync"]);
    assert!(String::from_utf8_lossy(&output.stderr).contains("not the key of"), "{output:?}");
    assert_eq!(hub.files(), before, "nothing was sent");
    std::fs::write(&path, text).unwrap();
    b.ok(&["sync"]);
    a.ok(&["sync"]);
    assert!(a.brief().contains("sealed with"));
}

#[test]
fn keys_are_readable_by_their_owner_only() {
    use std::os::unix::fs::PermissionsExt;
    let (_hub, a, _b) = pair();
    let mode = |path: &str| std::fs::metadata(a.home().join(path)).unwrap().permissions().mode() & 0o777;
    assert_eq!((mode("sync"), mode("sync/spaces.json"), mode("sync/device.json")), (0o700, 0o600, 0o600));
}

#[test]
fn an_address_that_is_no_hub_is_refused_with_what_helps() {
    let (env, hub) = (machine(), Hub::new());
    let refused = |url: &str| {
        let output = env.run(&["sync", "init", url]);
        assert_eq!(output.status.code(), Some(1), "{url}");
        String::from_utf8_lossy(&output.stderr).into_owned()
    };
    for url in ["ftp://x/y", "s3://", "git+http://example.com/x.git"] {
        assert!(refused(url).contains("`cerberus sync init --help` shows the address of each hub"), "{url}");
    }
    let unreachable = refused("postgres://ann:hunter2@127.0.0.1:1/db");
    assert!(unreachable.contains("nothing is lost") && !unreachable.contains("hunter2"), "{unreachable}");
    let missing = refused("/nowhere/at-all");
    assert!(missing.contains("mkdir -p '/nowhere/at-all'"), "{missing}");
    init(&env, &hub, "one");
    let paired = env.run(&["sync", "pair", "--wait", "1"]);
    let told = String::from_utf8_lossy(&paired.stderr).into_owned();
    assert!(told.contains("waiting for it, at most") && told.contains("nobody has used the code yet"), "{told}");
    assert!(refused(&hub.url()).contains("sync with your own devices is already set up here"));
}

#[test]
fn a_code_ends_after_fifteen_minutes() {
    let (hub, a, _b) = pair();
    let code = a.json(&["sync", "pair", "--wait", "0"])["code"].as_str().unwrap().to_string();
    let c = machine();
    c.ok(&["sync", "init", &hub.url(), "--code", &code, "--name", "late", "--wait", "0"]);
    let home = Home::new(a.home());
    let let_in = |minutes: u64| {
        let wall = Clock::new(None).wall.plus(Duration::from_secs(minutes * 60));
        let clock = Clock { now: wall, wall, is_given: false };
        let mut store = fold::open(&home).unwrap();
        let mut hub = Folder::open(hub.path()).unwrap();
        let mut exchange = Exchange { home: &home, clock: &clock, store: &mut store, only: None, records_max: None };
        exchange.run(&mut hub, 0).unwrap().let_in
    };
    assert_eq!(let_in(16), [""; 0]);
    assert_eq!(let_in(0), [""; 0], "and does not begin again");
    let code = a.json(&["sync", "pair", "--wait", "0"])["code"].as_str().unwrap().to_string();
    c.ok(&["sync", "init", &hub.url(), "--code", &code, "--name", "in time", "--wait", "0"]);
    assert_eq!(let_in(14), ["in time"]);
}

#[test]
fn what_is_private_here_is_not_stored_when_it_arrives() {
    let (_hub, a, b) = pair();
    std::fs::create_dir_all(b.home()).unwrap();
    std::fs::write(b.home().join("config.toml"), "[private]\npaths = [\"harbour/**\"]\n").unwrap();
    a.start("s1", "startup");
    a.write_file("s1", "t1", "harbour/pier.rs", "fn pier() {}");
    a.write_file("s1", "t2", "open.rs", "fn lantern() {}");
    a.ok(&["sync"]);
    b.ok(&["sync"]);
    let mut files = Vec::new();
    super::each_file(&b.home().join("journal"), &mut files);
    let text: String = files.iter().map(|(_, bytes)| String::from_utf8_lossy(bytes).into_owned()).collect();
    assert!(text.contains("open.rs") && !text.contains("harbour"), "{text}");
}
