//! A project that is opted out, private or paused: nothing of it is sent, nothing that arrives is stored.

use std::fs;
use std::path::Path;

use cerberus_testkit::env::TestEnv;

use super::faults::replica_lines;
use super::{Hub, decide, decide_for_team, init, join, machine, pair, problems, space};

/// Everything in the journal of a machine.
fn journal(env: &TestEnv) -> String {
    let mut files = Vec::new();
    super::each_file(&env.home().join("journal"), &mut files);
    files.iter().map(|(_, bytes)| String::from_utf8_lossy(bytes).into_owned()).collect()
}

/// Runs a command in another folder.
fn ok_in(env: &TestEnv, dir: &Path, args: &[&str]) -> String {
    let output = env.command().current_dir(dir).args(args).output().unwrap();
    assert!(output.status.success(), "{args:?}: {output:?}");
    String::from_utf8_lossy(&output.stdout).into_owned()
}

/// Another project that both machines share.
fn second_project(env: &TestEnv) -> std::path::PathBuf {
    let dir = env.add_repository("atlas");
    env.git(&dir, &["remote", "add", "origin", "https://git.example.com/acme/atlas.git"]);
    ok_in(env, &dir, &["share"]);
    dir
}

/// Ends with `end` on b what both machines share, checks that it ended there and nowhere else, and shares it again after
/// `lift`.
fn ends_here(end: impl Fn(&TestEnv), lift: impl Fn(&TestEnv), reason: &str) {
    let (_hub, a, b) = pair();
    let [atlas_a, atlas_b] = [&a, &b].map(second_project);
    decide(&b, "decided by b before");
    decide(&a, "decided by a before");
    for env in [&a, &b, &a] {
        env.ok(&["sync"]);
    }
    assert!(a.brief().contains("decided by b before") && journal(&b).contains("decided by a before"));
    end(&b);
    decide(&a, "zanzibar by a");
    ok_in(&a, &atlas_a, &["record", "decision", "atlas goes on"]);
    a.ok(&["sync"]);
    let said = b.ok(&["sync"]);
    assert!(said.contains("hydra is no longer shared with your own devices") && said.contains(reason), "{said}");
    assert!(!b.ok(&["sync"]).contains("no longer shared"), "said once");
    let stored = journal(&b);
    assert!(!stored.contains("zanzibar"), "what arrives is not stored");
    assert!(stored.contains("atlas goes on"), "other projects go on");
    assert!(stored.contains("decided by a before"), "what was stored stays");
    let status = b.ok(&["sync", "status"]);
    assert!(status.contains("ended        hydra") && status.contains("shared       atlas"), "{status}");
    assert!(space(&b)["projects"][0]["ended"].as_str().unwrap().contains(reason));
    for told in [b.doctor().to_string(), b.ok(&["status"])] {
        assert!(told.contains("hydra is no longer shared") && told.contains(reason), "{told}");
    }
    assert_eq!(problems(&b), [""; 0], "the user wanted it");
    // What it sent is gone from the hub, and from the others.
    a.ok(&["sync"]);
    assert!(!a.brief().contains("decided by b before"), "{}", a.brief());
    assert!(a.brief().contains("zanzibar"), "{}", a.brief());
    assert_eq!(problems(&a), [""; 0]);
    // Sharing begins again with `share`, and not before.
    lift(&b);
    decide(&b, "decided by b after");
    b.ok(&["sync"]);
    assert!(!journal(&b).contains("zanzibar"));
    b.ok(&["share"]);
    a.ok(&["sync"]);
    b.ok(&["sync"]);
    assert!(b.brief().contains("zanzibar") && b.brief().contains("decided by a before"), "{}", b.brief());
    for what in ["decided by b before", "decided by b after"] {
        assert_eq!(a.brief().matches(what).count(), 1, "{what}: {}", a.brief());
    }
    assert_eq!((problems(&a), problems(&b)), (Vec::<String>::new(), Vec::new()));
    assert_eq!(space(&b)["projects"][0]["ended"], serde_json::Value::Null);
    replica_lines(&b);
    ok_in(&b, &atlas_b, &["unshare"]);
}

#[test]
fn a_project_that_is_opted_out_ends_its_sharing_here() {
    let file = |env: &TestEnv| env.project().join(".nocerberus");
    ends_here(|env| fs::write(file(env), "").unwrap(), |env| fs::remove_file(file(env)).unwrap(), ".nocerberus");
}

#[test]
fn a_project_that_is_made_private_ends_its_sharing_here() {
    let config = |env: &TestEnv| env.home().join("config.toml");
    let make_private = |env: &TestEnv| {
        let text = format!("[private]\nprojects = [\"{}\"]\n", env.project().display());
        fs::write(config(env), text).unwrap();
    };
    ends_here(make_private, |env| fs::remove_file(config(env)).unwrap(), "private.projects");
}

#[test]
fn a_project_that_was_moved_and_opted_out_ends_its_sharing_too() {
    let (_hub, a, b) = pair();
    let moved = b.root().join("elsewhere");
    fs::rename(b.project(), &moved).unwrap();
    fs::create_dir(b.root().join("other")).unwrap();
    ok_in(&b, &moved, &["record", "decision", "made after the move"]);
    fs::write(moved.join(".nocerberus"), "").unwrap();
    decide(&a, "zanzibar by a");
    a.ok(&["sync"]);
    let said = ok_in(&b, &b.root().join("other"), &["sync"]);
    assert!(said.contains("no longer shared"), "{said}");
    assert!(!journal(&b).contains("zanzibar"));
}

#[test]
fn a_hub_that_is_away_does_not_keep_sharing_alive() {
    let (hub, a, b) = pair();
    decide(&b, "decided by b");
    b.ok(&["sync"]);
    decide(&a, "zanzibar by a");
    a.ok(&["sync"]);
    fs::write(b.project().join(".nocerberus"), "").unwrap();
    let (here, away) = (hub.path(), hub.path().with_extension("away"));
    fs::rename(&here, &away).unwrap();
    assert!(!b.run(&["sync"]).status.success());
    fs::rename(&away, &here).unwrap();
    assert!(b.ok(&["sync"]).contains("no longer shared"));
    assert!(!journal(&b).contains("zanzibar"));
    a.ok(&["sync"]);
    assert!(!a.brief().contains("decided by b"), "{}", a.brief());
    // Unsharing it removes what came from others, too.
    let before = journal(&b);
    b.ok(&["unshare"]);
    assert_eq!(space(&b)["projects"], serde_json::json!([]), "{before}");
}

#[test]
fn what_was_stored_before_an_opt_out_can_be_forgotten() {
    let (_hub, a, b) = pair();
    decide(&a, "zanzibar by a");
    a.ok(&["sync"]);
    b.ok(&["sync"]);
    fs::write(b.project().join(".nocerberus"), "").unwrap();
    b.ok(&["sync"]);
    assert!(journal(&b).contains("zanzibar"), "it stays");
    b.ok(&["forget", "--project", "--yes"]);
    assert!(!journal(&b).contains("zanzibar"));
    b.ok(&["sync"]);
    assert!(!journal(&b).contains("zanzibar"));
}

#[test]
fn a_team_hears_nothing_more_of_an_opted_out_project_and_sends_nothing_into_it() {
    let (hub, a, b) = (Hub::new(), machine(), machine());
    a.json(&["sync", "init", &hub.url(), "--team", "acme", "--name", "ann"]);
    a.ok(&["share", "--team", "acme"]);
    join(&a, &b, &hub, "bob", &["--team", "acme"]);
    decide_for_team(&b, "decided by bob");
    for env in [&b, &a] {
        env.ok(&["sync"]);
    }
    assert!(a.brief().contains("decided by bob"), "{}", a.brief());
    fs::write(b.project().join(".nocerberus"), "").unwrap();
    decide_for_team(&a, "zanzibar by ann");
    a.ok(&["sync"]);
    let said = b.ok(&["sync"]);
    assert!(said.contains("hydra is no longer shared with team acme"), "{said}");
    assert!(!journal(&b).contains("zanzibar"));
    a.ok(&["sync"]);
    assert!(!a.brief().contains("decided by bob"), "{}", a.brief());
}

#[test]
fn an_opt_out_that_somebody_committed_withdraws_nothing_until_the_user_confirms_it() {
    let (_hub, a, b) = pair();
    decide(&b, "decided by b before");
    for env in [&b, &a] {
        env.ok(&["sync"]);
    }
    fs::write(b.project().join(".nocerberus"), "").unwrap();
    b.git(&b.project(), &["add", ".nocerberus"]);
    decide(&a, "zanzibar by a");
    a.ok(&["sync"]);
    let said = b.ok(&["sync"]);
    assert!(said.contains(".nocerberus") && said.contains("nothing was sent or stored"), "{said}");
    assert!(!journal(&b).contains("zanzibar"), "what arrives is not stored");
    let status = b.ok(&["sync", "status"]);
    assert!(status.lines().any(|line| line.contains("hydra") && line.contains(".nocerberus")), "{status}");
    a.ok(&["sync"]);
    assert!(a.brief().contains("decided by b before"), "{}", a.brief());
    // A pause of everything does not confirm it.
    b.ok(&["pause", "--for", "1h"]);
    assert!(!b.ok(&["sync"]).contains("no longer shared"));
    b.ok(&["unpause"]);
    b.ok(&["pause", "--project", "--for", "1h"]);
    b.ok(&["unpause"]);
    assert!(b.ok(&["sync"]).contains("hydra is no longer shared with your own devices"));
    a.ok(&["sync"]);
    assert!(!a.brief().contains("decided by b before"), "{}", a.brief());
    assert_eq!((problems(&a), problems(&b)), (Vec::<String>::new(), Vec::new()));
}

/// While `pause` holds on b, nothing of the project is sent or stored there; afterwards everything arrives.
fn pauses(args: &[&str], is_everywhere: bool) {
    let (hub, a, b) = pair();
    let [atlas_a, _] = [&a, &b].map(second_project);
    b.ok(&["sync"]);
    b.ok(args);
    decide(&a, "zanzibar by a");
    a.ok(&["learn", "Always use tool7"]);
    ok_in(&a, &atlas_a, &["record", "decision", "atlas goes on"]);
    a.ok(&["sync"]);
    decide(&b, "decided by b meanwhile");
    let before = hub.files();
    let (stored, said) = (journal(&b), b.ok(&["sync"]));
    assert!(said.contains("paused") && said.contains("nothing was sent or stored"), "{said}");
    assert!(!journal(&b).contains("zanzibar"));
    let status = b.ok(&["sync", "status"]);
    assert!(status.lines().any(|line| line.contains("hydra") && line.contains("paused")), "{status}");
    match is_everywhere {
        true => {
            assert_eq!(journal(&b), stored, "nothing is stored");
            assert_eq!(hub.files(), before, "nothing is sent");
        }
        false => assert!(journal(&b).contains("atlas goes on"), "other projects go on"),
    }
    a.ok(&["sync"]);
    assert!(!a.brief().contains("decided by b meanwhile"), "{}", a.brief());
    b.ok(&["unpause"]);
    b.ok(&["sync"]);
    a.ok(&["sync"]);
    assert!(b.brief().contains("zanzibar") && b.brief().contains("tool7"), "{}", b.brief());
    assert!(journal(&b).contains("atlas goes on"));
    assert!(a.brief().contains("decided by b meanwhile"), "{}", a.brief());
    assert_eq!((problems(&a), problems(&b)), (Vec::<String>::new(), Vec::new()));
    replica_lines(&b);
}

#[test]
fn while_everything_is_paused_sync_sends_and_stores_nothing() {
    pauses(&["pause"], true);
}

#[test]
fn while_a_project_is_paused_sync_sends_and_stores_nothing_of_it() {
    pauses(&["pause", "--project"], false);
}

#[test]
fn a_container_of_an_opted_out_project_does_not_join() {
    let (hub, a, container) = (Hub::new(), machine(), machine());
    init(&a, &hub, "laptop");
    let key = super::containers::printed_key(&a);
    fs::write(container.project().join(".nocerberus"), "").unwrap();
    let output = container.command().args(["sync", "--for-project"]).env("CERBERUS_SYNC", key).output().unwrap();
    assert!(!output.status.success() && String::from_utf8_lossy(&output.stderr).contains(".nocerberus"), "{output:?}");
    assert!(!container.home().join("sync/spaces.json").exists());
}
