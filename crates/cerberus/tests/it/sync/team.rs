//! A team of three: they see what is decided, never what was said.

use std::io::Write;
use std::process::Stdio;

use cerberus_testkit::env::TestEnv;
use serde_json::{Value, json};

use super::forget::holds;
use super::{Hub, decide, decide_for_team, join, machine, problems};

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
    decide_for_team(&ann, "use sqlite for the queue");
    ann.ok(&["learn", "Never push to main", "--scope", "project:hydra"]);
    ann.ok(&["learn", "I like short answers", "--everywhere"]);
    approve_for_team(&ann, "Never push");
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
    decide_for_team(&ann, "without eve");
    ann.ok(&["sync"]);
    bob.ok(&["sync"]);
    assert!(bob.brief().contains("without eve"));
    assert!(!eve.run(&["sync"]).status.success());
    assert_eq!(problems(&bob), [""; 0]);
}

/// Says yes to what contains this, and no to everything else.
pub fn approve_for_team(env: &TestEnv, words: &str) -> String {
    let listed = env.json(&["share", "--review"]);
    let answer = |item: &Value| if item["text"].as_str().unwrap().contains(words) { "y\n" } else { "n\n" };
    let asked = listed["items"].as_array().unwrap().iter().filter(|item| item["told"] == false);
    let typed: String = asked.map(answer).collect();
    let mut review = env.command();
    let review = review.args(["share", "--review"]).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut review = review.spawn().unwrap();
    review.stdin.take().unwrap().write_all(typed.as_bytes()).unwrap();
    let said = review.wait_with_output().unwrap();
    String::from_utf8_lossy(&said.stdout).into_owned()
}

/// A team of two, of whom the first has a session.
fn team_at_work() -> (Hub, TestEnv, TestEnv) {
    let hub = Hub::new();
    let (ann, bob) = (machine(), machine());
    ann.ok(&["sync", "init", &hub.url(), "--team", "acme", "--name", "ann"]);
    ann.ok(&["share", "--team", "acme"]);
    join(&ann, &bob, &hub, "bob", &["--team", "acme"]);
    ann.start("s1", "startup");
    (hub, ann, bob)
}

#[test]
fn no_memory_goes_to_a_team_by_itself() {
    let (_hub, ann, bob) = team_at_work();
    ann.hook("s1", "UserPromptSubmit", json!({"prompt": "From now on, always use zanzibar for the queue."}));
    ann.hook("s1", "SessionEnd", json!({"reason": "other"}));
    ann.ok(&["learn", "Never tell marzipan to anybody"]);
    ann.ok(&["learn", "Always run the linter"]);
    let approved = ann.json(&["memory", "list"]).to_string();
    for words in ["zanzibar", "marzipan", "linter"] {
        assert!(approved.contains(words), "{words}: {approved}");
    }
    let preview = ann.json(&["share", "--dry-run", "--team", "acme"]).to_string();
    assert!(!preview.contains("zanzibar") && !preview.contains("linter"), "{preview}");
    assert!(approve_for_team(&ann, "linter").contains("1 item will be told"));
    ann.ok(&["sync"]);
    bob.ok(&["sync"]);
    let proposals = bob.json(&["memory", "propose"]).to_string();
    assert!(proposals.contains("linter"), "{proposals}");
    // Other words were not read for the team.
    let memories = ann.json(&["memory", "list"]);
    let linter = memories.as_array().unwrap().iter().find(|one| one.to_string().contains("linter")).unwrap();
    let id = linter["id"].as_str().unwrap().to_string();
    ann.ok(&["memory", "edit", &id, "Always run the trombone"]);
    ann.ok(&["sync"]);
    bob.ok(&["sync"]);
    for words in ["zanzibar", "marzipan", "trombone"] {
        assert!(!holds(&bob, words), "{words}");
    }
}

#[test]
fn who_is_let_in_by_whom_is_told_to_everybody_and_no_two_have_one_name() {
    let hub = Hub::new();
    let (ann, bob, thief) = (machine(), machine(), machine());
    ann.ok(&["sync", "init", &hub.url(), "--team", "acme", "--name", "ann"]);
    ann.ok(&["share", "--team", "acme"]);
    join(&ann, &bob, &hub, "bob", &["--team", "acme"]);
    ann.ok(&["sync"]);
    bob.ok(&["sync"]);
    join(&bob, &thief, &hub, "Ann", &["--team", "acme"]);
    let own = super::space(&thief)["device"].as_str().unwrap().to_string();
    let told = format!("Ann {} ({own}) was let in by bob", &own[..4]);
    // An exchange in the background tells nobody, and does not count.
    ann.ok(&["sync", "--detached"]);
    assert!(ann.ok(&["sync"]).contains(&told));
    assert!(!ann.ok(&["sync"]).contains("was let in"), "once");
    let devices = super::space(&ann)["devices"].clone();
    let one = |id: &str| devices.as_array().unwrap().iter().find(|one| one["device"] == id).unwrap().clone();
    assert_eq!((&one(&own)["let_in_by"], &one(&own)["name"]), (&json!("bob"), &json!(format!("Ann {}", &own[..4]))));
    let first = super::space(&ann)["device"].as_str().unwrap().to_string();
    assert_eq!(
        (&one(&first)["let_in_by"], &one(&first)["name"]),
        (&Value::Null, &json!(format!("ann {}", &first[..4])))
    );
    decide_for_team(&thief, "use a kazoo");
    thief.ok(&["sync"]);
    bob.ok(&["sync"]);
    assert!(bob.brief().contains(&format!("team:use a kazoo (Ann {}", &own[..4])), "{}", bob.brief());
    let refused = bob.run(&["sync", "remove", "Ann", "--team", "acme", "--yes"]);
    assert!(refused.status.success(), "the other is called ann: {refused:?}");
}

#[test]
fn a_team_gets_what_a_person_recorded_for_it_and_nothing_else() {
    let hub = Hub::new();
    let (ann, bob) = (machine(), machine());
    let refused = ann.run(&["record", "decision", "use a violin", "--team"]);
    assert!(String::from_utf8_lossy(&refused.stderr).contains("shared with no team"), "{refused:?}");
    ann.ok(&["sync", "init", &hub.url(), "--team", "acme", "--name", "ann"]);
    ann.ok(&["share", "--team", "acme"]);
    join(&ann, &bob, &hub, "bob", &["--team", "acme"]);
    ann.start("s1", "startup");
    ann.hook("s1", "UserPromptSubmit", json!({"prompt": "Let's use zanzibar for the queue."}));
    let as_agent = |words: &[&str]| ann.command().args(words).env("CLAUDECODE", "1").output().unwrap();
    assert!(as_agent(&["record", "decision", "use marzipan"]).status.success());
    for words in [&["record", "decision", "use a trombone", "--team"][..], &["share", "--review"]] {
        let refused = as_agent(words);
        assert!(String::from_utf8_lossy(&refused.stderr).contains("only the user can"), "{refused:?}");
    }
    decide(&ann, "use kazoos at home");
    decide_for_team(&ann, "use sqlite for the queue");
    let brief = ann.brief();
    for word in ["zanzibar", "marzipan", "kazoos", "sqlite"] {
        assert!(brief.contains(word), "{word}: {brief}");
    }
    ann.ok(&["sync"]);
    bob.ok(&["sync"]);
    assert!(bob.brief().contains("team:use sqlite for the queue (ann, decision"), "{}", bob.brief());
    for word in ["zanzibar", "marzipan", "kazoos", "violin", "trombone"] {
        assert!(!holds(&bob, word), "{word}");
    }
}

#[test]
fn a_person_decides_what_of_the_open_items_a_team_is_told() {
    let (_hub, ann, bob) = team_at_work();
    let by_agent = ann.command().args(["record", "decision", "use marzipan"]).env("CLAUDECODE", "1").output().unwrap();
    assert!(by_agent.status.success(), "{by_agent:?}");
    decide(&ann, "use kazoos at home");
    decide_for_team(&ann, "use sqlite for the queue");
    let listed = ann.json(&["share", "--review"]);
    let told = |text: &str| {
        let items = listed["items"].as_array().unwrap();
        items.iter().find(|item| item["text"].as_str().unwrap().contains(text)).unwrap()["told"].clone()
    };
    assert_eq!((told("marzipan"), told("kazoos"), told("sqlite")), (json!(false), json!(false), json!(true)));
    let said = approve_for_team(&ann, "marzipan");
    assert!(said.contains("1 item will be told"), "{said}");
    ann.ok(&["sync"]);
    bob.ok(&["sync"]);
    let brief = bob.brief();
    assert!(brief.contains("marzipan") && brief.contains("sqlite"), "{brief}");
    assert!(!holds(&bob, "kazoos"));
}

#[test]
fn a_team_learns_no_place_on_a_machine_and_not_what_the_machine_and_its_user_are_called() {
    let hub = Hub::new();
    let (ann, bob) = (machine(), machine());
    ann.ok(&["sync", "init", &hub.url(), "--team", "acme", "--name", "ann"]);
    let shared = ann.command().args(["share", "--team", "acme"]).env("USER", "anna42").output().unwrap();
    assert!(shared.status.success(), "{shared:?}");
    join(&ann, &bob, &hub, "bob", &["--team", "acme"]);
    decide_for_team(
        &ann,
        r"keep the plan of C:\Users\Ann Smith\Salaries\plan.md and \\nas-7\board\q3.doc, as anna42@desk said",
    );
    ann.ok(&["sync"]);
    bob.ok(&["sync"]);
    let brief = bob.brief();
    assert!(brief.contains("~/Salaries/plan.md") && brief.contains("…/q3.doc"), "{brief}");
    for word in ["Smith", "nas-7", "board", "anna42"] {
        assert!(!holds(&bob, word), "{word}: {brief}");
    }
}

#[test]
fn own_devices_in_a_team_are_no_teammates() {
    let (_hub, a, b) = super::pair();
    let hub = Hub::new();
    a.json(&["sync", "init", &hub.url(), "--team", "acme", "--name", "ann"]);
    a.ok(&["share", "--team", "acme"]);
    join(&a, &b, &hub, "ann", &["--team", "acme"]);
    decide_for_team(&a, "use sqlite for the queue");
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
    let (_hub, ann, bob) = team_at_work();
    decide_for_team(&ann, "use zanzibar for the queue");
    ann.ok(&["sync"]);
    bob.ok(&["sync"]);
    assert!(bob.brief().contains("zanzibar"), "{}", bob.brief());
    ann.ok(&["forget", "--session", "s1", "--yes"]);
    ann.ok(&["sync"]);
    bob.ok(&["sync"]);
    assert!(!holds(&ann, "zanzibar") && !holds(&bob, "zanzibar"));
}
