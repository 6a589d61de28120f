//! Turns that the user took back with `/rewind`: no session is told them as asked, said or done.

use std::path::PathBuf;

use cerberus_testkit::env::TestEnv;
use serde_json::{Value, json};

use crate::env;

const KEPT: &str = "Write the proxy";
const UNDONE: &str = "Make the cache global";
const INSTEAD: &str = "Keep the cache in each request";

/// A line of a transcript: what it is called, which line it follows, and its words.
type Line<'a> = (&'a str, Option<&'a str>, &'a str);

/// A transcript in which one turn was undone, as Claude Code writes it.
const REWOUND: [Line; 3] =
    [("kept", None, KEPT), ("undone", Some("end-kept"), UNDONE), ("instead", Some("end-kept"), INSTEAD)];

/// What the agent says in answer to one of the prompts.
fn answer(words: &str) -> &'static str {
    match words {
        KEPT => "It forwards to the first backend.",
        UNDONE => "One global map holds all entries.",
        _ => "Every handler has its own map.",
    }
}

fn transcript(env: &TestEnv, lines: &[Line]) -> PathBuf {
    let mut text = String::new();
    for (number, (uuid, parent, words)) in lines.iter().enumerate() {
        let line = |kind: &str, uuid: &str, parent: Option<&str>, content: Value, second: usize| {
            json!({"type": kind, "uuid": uuid, "parentUuid": parent, "isSidechain": false, "sessionId": "s",
                "timestamp": format!("2026-01-22T13:00:{second:02}.000Z"), "cwd": env.project(), "version": "2.1.325",
                "entrypoint": "cli", "message": {"role": kind, "content": content}})
        };
        let answer = json!([{"type": "text", "text": answer(words)}]);
        let asked = line("user", uuid, *parent, json!(words), number * 2);
        let answered = line("assistant", &format!("end-{uuid}"), Some(uuid), answer, number * 2 + 1);
        text += &format!("{asked}\n{answered}\n");
    }
    let path = env.root().join("s.jsonl");
    std::fs::write(&path, text).unwrap();
    path
}

fn turn(env: &TestEnv, words: &str, file: &str) {
    env.hook("s", "UserPromptSubmit", json!({"prompt": words}));
    env.write_file("s", &format!("toolu_{file}"), file, "package main\n\nfunc Run() {}\n");
    env.hook("s", "Stop", json!({"last_assistant_message": answer(words), "stop_hook_active": false}));
}

/// All three turns, as hooks report them.
fn turns(env: &TestEnv, lines: &[Line]) {
    let transcript = transcript(env, lines);
    env.hook("s", "SessionStart", json!({"source": "startup", "transcript_path": transcript}));
    turn(env, KEPT, "proxy.go");
    turn(env, UNDONE, "global.go");
    turn(env, INSTEAD, "request.go");
}

fn check(brief: &str) {
    assert!(brief.contains(&format!("last:{INSTEAD}")) && brief.contains(&format!("asked:{KEPT}")), "{brief}");
    assert!(brief.contains("proxy.go") && brief.contains("request.go"), "{brief}");
    assert!(!brief.contains("global"), "{brief}");
}

#[test]
fn an_undone_turn_is_not_told_after_the_end() {
    let env = env();
    turns(&env, &REWOUND);
    assert!(env.brief().contains(UNDONE), "nothing says so before the transcript is read");
    env.hook("s", "SessionEnd", json!({"reason": "prompt_input_exit"}));
    check(&env.brief());
    assert!(!env.ok(&["search", "global"]).contains(UNDONE));
    // The journal says so, not the transcript.
    std::fs::remove_file(env.root().join("s.jsonl")).unwrap();
    env.rebuild();
    check(&env.brief());
}

#[test]
fn an_undone_turn_is_not_told_after_a_compaction_or_a_later_start() {
    let env = env();
    turns(&env, &REWOUND);
    let transcript = env.root().join("s.jsonl");
    check(&env.hook("s", "SessionStart", json!({"source": "compact", "transcript_path": transcript})));
}

#[test]
fn an_imported_transcript_tells_no_undone_turn() {
    let env = env();
    let transcript = transcript(&env, &REWOUND);
    env.ok(&["import", "claude-code", transcript.to_str().unwrap()]);
    let brief = env.brief();
    assert!(brief.contains(INSTEAD) && brief.contains(KEPT) && !brief.contains("global"), "{brief}");
}

#[test]
fn a_turn_that_was_undone_after_an_import_is_taken_back_by_the_next() {
    let env = env();
    let import = |lines: &[Line]| {
        let transcript = transcript(&env, lines);
        env.ok(&["import", "claude-code", transcript.to_str().unwrap()]);
        env.brief()
    };
    let brief = import(&REWOUND[..2]);
    assert!(brief.contains(UNDONE), "{brief}");
    let brief = import(&REWOUND);
    assert!(brief.contains(INSTEAD) && brief.contains(KEPT) && !brief.contains("global"), "{brief}");
}

#[test]
fn a_session_whose_first_turn_was_undone_is_named_by_the_next() {
    let env = env();
    turns(&env, &[("kept", None, KEPT), ("undone", None, UNDONE), ("instead", None, INSTEAD)]);
    env.hook("s", "SessionEnd", json!({"reason": "prompt_input_exit"}));
    let shown = env.ok(&["log"]);
    assert!(shown.contains(INSTEAD) && !shown.contains(KEPT), "{shown}");
}

#[test]
fn turns_that_follow_each_other_stand() {
    let env = env();
    let lines = [("kept", None, KEPT), ("undone", Some("end-kept"), UNDONE), ("instead", Some("end-undone"), INSTEAD)];
    turns(&env, &lines);
    env.hook("s", "SessionEnd", json!({"reason": "prompt_input_exit"}));
    assert!(env.brief().contains(UNDONE), "{}", env.brief());
}

/// What stands in a list below a heading is told with it: a list of next steps does not read as done.
#[test]
fn a_list_is_quoted_with_its_heading() {
    let env = env();
    env.start("s", "startup");
    env.hook("s", "UserPromptSubmit", json!({"prompt": KEPT}));
    let message = "The proxy forwards requests.\n\n## Limits\n\n- Add retries with backoff\n- Close idle connections\n";
    env.hook("s", "Stop", json!({"last_assistant_message": message, "stop_hook_active": false}));
    let brief = env.brief();
    let told = "said:The proxy forwards requests. Limits: Add retries with backoff; Close idle connections";
    assert!(brief.contains(told), "{brief}");
}
