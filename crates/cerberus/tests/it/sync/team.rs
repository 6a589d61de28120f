//! A team of three: they see what is decided, never what was said.

use serde_json::json;

use super::forget::holds;
use super::{Hub, decide, join, machine, problems};

#[test]
fn a_team_shares_decisions_and_rules_but_no_words() {
    let hub = Hub::new();
    let (ann, bob, eve) = (machine(), machine(), machine());
    let made = ann.run(&["sync", "init", &hub.url(), "--team", "acme", "--name", "ann"]);
    let said = String::from_utf8_lossy(&made.stderr).into_owned();
    assert!(
        said.contains("`cerberus share --team 'acme'`") && said.contains("`cerberus sync pair --team 'acme'`"),
        "{said}"
    );
    ann.ok(&["share", "--team", "acme"]);
    join(&ann, &bob, &hub, "bob", &["--team", "acme"]);
    join(&ann, &eve, &hub, "eve", &["--team", "acme"]);
    ann.start("s1", "startup");
    ann.hook("s1", "UserPromptSubmit", json!({"prompt": "please look at the xylophone module"}));
    ann.write_file("s1", "t1", "xylophone.rs", "fn play() {}");
    decide(&ann, "use sqlite for the queue");
    ann.ok(&["learn", "Never push to main", "--scope", "project:hydra"]);
    ann.ok(&["learn", "I like short answers", "--everywhere"]);
    ann.ok(&["sync"]);
    bob.ok(&["sync"]);
    let brief = bob.brief();
    assert!(brief.contains("use sqlite") && brief.contains("ann"), "{brief}");
    assert!(!brief.contains("xylophone") && !brief.contains("short answers"), "{brief}");
    // Their rules are proposals: they bind nobody.
    assert!(!brief.contains("Never push"), "{brief}");
    let proposals = bob.json(&["memory", "propose"]).to_string();
    assert!(proposals.contains("Never push to main") && proposals.contains("ann"), "{proposals}");
    let mut files = Vec::new();
    super::each_file(&bob.home(), &mut files);
    let text: Vec<u8> = files.into_iter().flat_map(|(_, bytes)| bytes).collect();
    for word in ["xylophone", "short answers"] {
        assert!(!text.windows(word.len()).any(|window| window == word.as_bytes()), "{word}");
    }
    eve.ok(&["sync"]);
    assert!(eve.brief().contains("use sqlite"));
    ann.ok(&["sync", "remove", "eve", "--team", "acme", "--yes"]);
    decide(&ann, "without eve");
    ann.ok(&["sync"]);
    bob.ok(&["sync"]);
    assert!(bob.brief().contains("without eve"));
    assert!(!eve.run(&["sync"]).status.success());
    assert_eq!(problems(&bob), [""; 0]);
}

#[test]
fn a_team_gets_what_a_person_recorded_and_nothing_that_was_found_or_that_an_agent_recorded() {
    let hub = Hub::new();
    let (ann, bob) = (machine(), machine());
    ann.ok(&["sync", "init", &hub.url(), "--team", "acme", "--name", "ann"]);
    ann.ok(&["share", "--team", "acme"]);
    join(&ann, &bob, &hub, "bob", &["--team", "acme"]);
    ann.start("s1", "startup");
    ann.hook("s1", "UserPromptSubmit", json!({"prompt": "Let's use zanzibar for the queue."}));
    let by_agent = ann.command().args(["record", "decision", "use marzipan"]).env("CLAUDECODE", "1").output().unwrap();
    assert!(by_agent.status.success(), "{by_agent:?}");
    decide(&ann, "use sqlite for the queue");
    assert!(ann.brief().contains("zanzibar") && ann.brief().contains("marzipan"), "{}", ann.brief());
    ann.ok(&["sync"]);
    bob.ok(&["sync"]);
    assert!(bob.brief().contains("use sqlite"), "{}", bob.brief());
    assert!(!holds(&bob, "zanzibar") && !holds(&bob, "marzipan"));
}

#[test]
fn own_devices_in_a_team_are_no_teammates() {
    let (_hub, a, b) = super::pair();
    let hub = Hub::new();
    a.json(&["sync", "init", &hub.url(), "--team", "acme", "--name", "ann"]);
    a.ok(&["share", "--team", "acme"]);
    join(&a, &b, &hub, "ann", &["--team", "acme"]);
    decide(&a, "use sqlite for the queue");
    a.ok(&["learn", "Never push to main", "--scope", "project:hydra"]);
    for env in [&a, &b, &a, &b] {
        env.ok(&["sync"]);
    }
    let brief = b.brief();
    assert!(brief.contains("use sqlite") && !brief.contains("(ann"), "{brief}");
    assert_eq!(brief.matches("use sqlite").count(), 1, "{brief}");
    assert!(brief.contains("Never push"), "it is one's own rule: {brief}");
    let proposals = b.json(&["memory", "propose"]).to_string();
    assert!(!proposals.contains("Never push"), "{proposals}");
}

#[test]
fn what_a_teammate_forgets_is_gone_from_the_others() {
    let hub = Hub::new();
    let (ann, bob) = (machine(), machine());
    ann.ok(&["sync", "init", &hub.url(), "--team", "acme", "--name", "ann"]);
    ann.ok(&["share", "--team", "acme"]);
    join(&ann, &bob, &hub, "bob", &["--team", "acme"]);
    ann.start("s1", "startup");
    decide(&ann, "use zanzibar for the queue");
    ann.ok(&["sync"]);
    bob.ok(&["sync"]);
    assert!(bob.brief().contains("zanzibar"), "{}", bob.brief());
    ann.ok(&["forget", "--session", "s1", "--yes"]);
    ann.ok(&["sync"]);
    bob.ok(&["sync"]);
    assert!(!holds(&ann, "zanzibar") && !holds(&bob, "zanzibar"));
}
