//! What the archive makes of sessions at work: turns that go on, subagents, pauses, kills.

use std::fs;
use std::process::Stdio;
use std::time::Duration;

use cerberus_testkit::env::TestEnv;
use cerberus_testkit::harness::Dice;
use serde_json::{Value, json};

use super::{Written, archived, found, kept_session};
use crate::env;
use crate::poison::as_agent;

fn at(env: &mut TestEnv, time: &str) {
    env.set_now(Some(&format!("2026-01-21T{time}Z")));
}

fn used(env: &TestEnv, id: &str, command: &str) {
    let used = json!({"tool_name": "Bash", "tool_use_id": id, "tool_input": {"command": command},
        "tool_response": {"stdout": "", "stderr": ""}});
    env.hook("session-one", "PostToolUse", used);
}

/// A session whose first tool use was reported at ten past.
fn begun(env: &mut TestEnv) -> Written<'_> {
    at(env, "10:00:00");
    env.start("session-one", "startup");
    env.hook("session-one", "UserPromptSubmit", json!({"prompt": "Find the marimba", "prompt_id": "p"}));
    at(env, "10:00:10");
    used(env, "call-1", "ls");
    let mut written = Written::new(env, "session-one");
    written.prompt("10:00:00", "Find the marimba").ran("10:00:10", "ls", "marimba.log");
    written
}

fn call(id: &str, command: &str) -> Value {
    json!([{"type": "tool_use", "id": id, "name": "Bash", "input": {"command": command}}])
}

fn result(id: &str, printed: &str) -> Value {
    json!([{"type": "tool_result", "tool_use_id": id, "content": printed}])
}

#[test]
fn a_turn_that_goes_on_while_it_is_archived_loses_nothing() {
    for archive in ["archive", "archive --detached", "import claude-code"] {
        let mut env = env();
        let mut written = begun(&mut env);
        written.said("10:00:29", "Now the xylorimba.").push("10:00:30", "assistant", call("late", "cat xylorimba"));
        let (path, mut lines) = (written.save(), written.lines.clone());
        at(&mut env, "10:01:00");
        let run = |env: &TestEnv| {
            let words: Vec<&str> = archive.split(' ').collect();
            match archive {
                "import claude-code" => env.ok(&[&words[..], &[path.to_str().unwrap()]].concat()),
                _ => env.ok(&words),
            }
        };
        run(&env);
        assert!(archived(&env, "session-one").contains("marimba.log"), "{archive}");
        at(&mut env, "10:03:00");
        used(&env, "late", "cat xylorimba");
        env.hook("session-one", "Stop", json!({"last_assistant_message": "It is tuned."}));
        let mut written = Written::new(&env, "session-one");
        written.lines.append(&mut lines);
        written.push("10:03:00", "user", result("late", "a glockenspiel")).said("10:03:00", "It is tuned.").save();
        run(&env);
        let text = archived(&env, "session-one");
        for words in ["Now the xylorimba.", "\"id\":\"late\"", "\"tool_use_id\":\"late\"", "It is tuned."] {
            assert_eq!(text.matches(words).count(), 1, "{archive} {words}: {text}");
        }
        assert_eq!(text.lines().count(), lines_of(&path), "{archive}");
    }
}

fn lines_of(path: &std::path::Path) -> usize {
    fs::read_to_string(path).unwrap().lines().count()
}

#[test]
fn what_an_interrupted_turn_said_is_kept() {
    let mut env = env();
    let mut written = begun(&mut env);
    written.said("10:00:40", "The xylorimba may be it.").prompt("10:02:00", "No, look at the celesta");
    written.said("10:02:01", "I look.").save();
    at(&mut env, "10:02:00");
    env.hook("session-one", "UserPromptSubmit", json!({"prompt": "No, look at the celesta", "prompt_id": "q"}));
    env.hook("session-one", "Stop", json!({"last_assistant_message": "I look."}));
    env.ok(&["archive"]);
    let text = archived(&env, "session-one");
    assert!(text.contains("The xylorimba may be it.") && text.contains("I look."), "{text}");
}

#[test]
fn what_a_subagent_does_is_kept_and_shuts_no_turn() {
    for is_own_file in [false, true] {
        let mut env = env();
        let mut written = begun(&mut env);
        written.push(
            "10:00:20",
            "assistant",
            json!([{"type": "tool_use", "id": "task", "name": "Task",
            "input": {"prompt": "Tune the bassoon"}}]),
        );
        let own = written.lines.len();
        written.push("10:00:30", "user", json!("Tune the bassoon")).said("10:00:31", "I tune the bassoon.").ran(
            "10:00:50",
            "tune bassoon",
            "bassoon: out of tune",
        );
        let mut side = written.lines.split_off(own);
        side.iter_mut().for_each(|line| line["isSidechain"] = json!(true));
        if is_own_file {
            let folder = written.path().with_extension("").join("subagents");
            fs::create_dir_all(&folder).unwrap();
            let text: String = side.iter().map(|line| format!("{line}\n")).collect();
            fs::write(folder.join("agent-1.jsonl"), text).unwrap();
        } else {
            written.lines.append(&mut side);
        }
        written
            .push("10:01:20", "user", result("task", "It is tuned."))
            .said("10:01:30", "The bassoon is ready.")
            .save();
        at(&mut env, "10:00:50");
        used(&env, "side", "tune bassoon");
        at(&mut env, "10:01:30");
        env.hook("session-one", "Stop", json!({"last_assistant_message": "The bassoon is ready."}));
        env.ok(&["archive"]);
        let text = archived(&env, "session-one");
        for words in ["I tune the bassoon.", "bassoon: out of tune", "The bassoon is ready."] {
            assert!(text.contains(words), "{is_own_file} {words}: {text}");
        }
        assert_eq!(found(&env, &["\"out of tune\""])[0].0, "output", "{is_own_file}");
        // Nobody typed what the subagent was asked.
        assert_eq!(env.json(&["show", "--turn", "1"])["turns"].as_array().unwrap().len(), 1, "{is_own_file}");
        assert!(!env.run(&["show", "--turn", "2"]).status.success(), "{is_own_file}");
    }
}

#[test]
fn a_pause_within_a_turn_is_not_archived() {
    for pause in [&["pause"][..], &["pause", "--project"], &["pause", "--for", "10m"]] {
        let mut env = env();
        let mut written = begun(&mut env);
        written
            .said("10:07:00", "I heard of a didgeridoo.")
            .push("10:08:00", "assistant", call("paused", "cat didgeridoo"))
            .push("10:08:00", "user", result("paused", "a didgeridoo"))
            .push("10:20:00", "assistant", call("after", "cat psaltery"))
            .push("10:20:00", "user", result("after", "a psaltery"))
            .said("10:21:00", "Done.")
            .save();
        at(&mut env, "10:05:00");
        env.ok(pause);
        at(&mut env, "10:15:00");
        env.ok(&["unpause"]);
        at(&mut env, "10:20:00");
        used(&env, "after", "cat psaltery");
        at(&mut env, "10:21:00");
        env.hook("session-one", "Stop", json!({"last_assistant_message": "Done."}));
        env.ok(&["archive"]);
        let text = archived(&env, "session-one");
        assert!(text.contains("a psaltery") && text.contains("marimba.log"), "{pause:?}: {text}");
        assert!(!text.contains("didgeridoo"), "{pause:?}: {text}");
    }
}

#[test]
fn nothing_is_archived_after_an_opt_out() {
    let mut env = env();
    let mut written = begun(&mut env);
    written.said("10:00:11", "The zither is next.").save();
    at(&mut env, "10:00:11");
    fs::write(env.project().join(".nocerberus"), "").unwrap();
    env.hook("session-one", "Stop", json!({"last_assistant_message": "The zither is next."}));
    env.ok(&["archive"]);
    env.ok(&["archive", "--detached"]);
    env.run(&["import", "claude-code"]);
    assert_eq!(archived(&env, "session-one"), "");
    assert_eq!(env.json(&["status"])["archive"]["text_bytes"], 0);
    fs::remove_file(env.project().join(".nocerberus")).unwrap();
    env.ok(&["archive"]);
    assert!(archived(&env, "session-one").contains("The zither is next."));
}

#[test]
fn the_question_just_asked_is_never_found() {
    let mut env = env();
    at(&mut env, "10:00:00");
    env.start("live", "startup");
    env.hook("live", "UserPromptSubmit", json!({"prompt": "Find the marimba", "prompt_id": "p"}));
    env.hook("live", "Stop", json!({"last_assistant_message": "It is tuned."}));
    let mut written = Written::new(&env, "live");
    written.prompt("10:00:00", "Find the marimba").said("10:00:00", "It is tuned.");
    written.prompt("10:05:00.200", "Where was the sousaphone").save();
    at(&mut env, "10:05:00.500");
    env.hook("live", "UserPromptSubmit", json!({"prompt": "Where was the sousaphone", "prompt_id": "q"}));
    env.ok(&["archive"]);
    assert_eq!(archived(&env, "live").lines().count(), 3);
    let asked = |words: &str| {
        let output = as_agent(&env, &["search", words, "--json"]);
        serde_json::from_slice::<Value>(&output.stdout).unwrap().as_array().unwrap().len()
    };
    assert_eq!(asked("sousaphone"), 0);
    assert!(asked("marimba") > 0, "earlier prompts are");
    assert!(!found(&env, &["sousaphone"]).is_empty(), "somebody else asks");
}

#[test]
fn an_archiver_that_is_killed_at_random_loses_and_doubles_nothing() {
    let mut dice = Dice(11);
    let env = env();
    let mut written = kept_session(&env);
    let mixed = |number: u64| {
        (0..3_000).map(|n| format!("{:08x} ", ((number * 7919 + n) * 0x9e37_79b9) >> 8)).collect::<String>()
    };
    let mut kills = 0;
    for round in 0..12 {
        for number in 0..6 {
            written.ran("10:00:41", &format!("seq {round}-{number};"), &mixed(round * 6 + number));
        }
        written.said("10:00:42", &format!("Round {round} is over."));
        fs::create_dir_all(env.home()).unwrap();
        fs::write(env.home().join("config.toml"), "[archive]\nkeep = \"nothing\"\n").unwrap();
        written.import();
        fs::remove_file(env.home().join("config.toml")).unwrap();
        for _ in 0..4 {
            let mut command = env.command();
            command.args(["archive"]).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
            let mut child = command.spawn().unwrap();
            // Nothing depends on when the kill comes.
            std::thread::sleep(Duration::from_micros(dice.below(60_000)));
            let _ = child.kill();
            kills += usize::from(!child.wait().unwrap().success());
        }
    }
    env.ok(&["archive"]);
    let text = archived(&env, "session-one");
    for (round, number) in (0..12).flat_map(|round| (0..6).map(move |number| (round, number))) {
        assert_eq!(text.matches(&format!("seq {round}-{number};")).count(), 1, "{round} {number}");
    }
    assert_eq!(text.lines().count(), written.lines.len());
    assert_eq!(env.json(&["status"])["archive"]["damaged_bytes"], 0);
    assert!(kills > 5, "{kills}");
    env.rebuild();
    assert_eq!(archived(&env, "session-one"), text);
}
