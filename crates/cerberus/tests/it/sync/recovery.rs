//! The recovery code, used twice, after it was replaced, where it is not needed, and while a hub withholds something.

use std::fs;

use super::attack::Past;
use super::chain::{chain_files, id, known, said, show_old_chain};
use super::{Hub, decide, init, join, machine, problems};

#[test]
fn whoever_is_in_already_stays_the_same_device() {
    let (hub, a) = (Hub::new(), machine());
    let code = init(&a, &hub, "laptop");
    let before = (id(&a), fs::read(a.home().join("sync/spaces.json")).unwrap());
    assert!(said(&a, &["sync", "init", &hub.url(), "--recovery", &code]).contains("already set up"));
    assert_eq!((id(&a), fs::read(a.home().join("sync/spaces.json")).unwrap()), before);
}

#[test]
fn the_newest_recovery_code_wins_and_who_followed_the_old_one_follows_by_itself() {
    let (hub, a, b, c) = (Hub::new(), machine(), machine(), machine());
    let old = init(&a, &hub, "laptop");
    join(&a, &b, &hub, "workstation", &[]);
    b.ok(&["sync"]);
    let past = Past::of(&hub);
    a.ok(&["sync", "rotate-recovery", "--recovery", &old]);
    let newest = Past::of(&hub);
    // The hub shows the others the time before, and somebody uses the old code there.
    past.restore(&hub);
    c.ok(&["sync", "init", &hub.url(), "--recovery", &old, "--name", "old"]);
    b.ok(&["sync"]);
    assert_eq!(known(&b).1.state.members.len(), 3);
    newest.restore(&hub);
    decide(&a, "after the fork");
    a.ok(&["sync"]);
    assert_eq!(problems(&a), [""; 0]);
    b.ok(&["sync"]);
    assert_eq!(known(&b).1.state.members.len(), 2);
    b.ok(&["share"]);
    b.ok(&["sync"]);
    assert!(b.brief().contains("after the fork"), "{}", b.brief());
}

#[test]
fn of_two_new_recovery_codes_the_one_that_is_typed_counts() {
    let (hub, a, b) = (Hub::new(), machine(), machine());
    let old = init(&a, &hub, "laptop");
    join(&a, &b, &hub, "workstation", &[]);
    b.ok(&["sync"]);
    let past = Past::of(&hub);
    let made = a.json(&["sync", "rotate-recovery", "--recovery", &old]);
    let newest = Past::of(&hub);
    past.restore(&hub);
    b.ok(&["sync", "rotate-recovery", "--recovery", &old]);
    newest.restore(&hub);
    assert!(said(&b, &["sync"]).contains("another history"));
    assert!(said(&b, &["sync", "settle", "--recovery", &old]).contains("mistyped"));
    let told = b.ok(&["sync", "settle", "--recovery", made["recovery_code"].as_str().unwrap()]);
    assert!(told.contains("what the hub shows"), "{told}");
    decide(&a, "after the fork");
    a.ok(&["sync"]);
    b.ok(&["sync"]);
    assert!(b.brief().contains("after the fork"), "{}", b.brief());
    assert_eq!(problems(&b), [""; 0]);
}

#[test]
fn who_joins_with_the_code_is_told_what_it_does_not_vouch_for() {
    let (hub, a, b, c) = (Hub::new(), machine(), machine(), machine());
    let code = init(&a, &hub, "laptop");
    let past = Past::of(&hub);
    join(&a, &b, &hub, "workstation", &[]);
    b.ok(&["sync"]);
    let joined = |env: &cerberus_testkit::env::TestEnv| {
        let output = env.run(&["sync", "init", &hub.url(), "--recovery", &code, "--name", "new"]);
        assert!(output.status.success(), "{output:?}");
        String::from_utf8_lossy(&output.stderr).into_owned()
    };
    let whole = Past::of(&hub);
    let told = joined(&machine());
    assert!(told.contains("the first 1 of 2 changes") && told.contains("workstation"), "{told}");
    assert!(!told.contains("shows less"), "{told}");
    whole.restore(&hub);
    show_old_chain(&hub, &past);
    assert!(!chain_files(&hub).is_empty());
    let told = joined(&c);
    assert!(told.contains("shows less") && told.contains(&id(&b)), "{told}");
}
