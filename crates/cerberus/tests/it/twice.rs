//! A client that runs our plugin and our hooks in its settings: every event is told by two processes at once.

use std::io::Write;
use std::process::{Child, Output, Stdio};

use cerberus_testkit::env::TestEnv;
use serde_json::{Value, json};

use crate::env;

/// Two hooks that have begun and wait for the same payload.
fn pair(env: &TestEnv, payload: &[u8]) -> [Output; 2] {
    let begin = || {
        let mut command = env.command();
        command.args(["hook", "claude-code"]).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        command.spawn().unwrap()
    };
    let mut children: [Child; 2] = [begin(), begin()];
    // Both are told before either is waited for.
    children.iter_mut().for_each(|child| child.stdin.as_mut().unwrap().write_all(payload).unwrap());
    children.iter_mut().for_each(|child| drop(child.stdin.take()));
    children.map(|child| child.wait_with_output().unwrap())
}

fn replies(outputs: &[Output; 2]) -> usize {
    outputs.iter().filter(|output| !output.stdout.is_empty()).count()
}

fn receipts(env: &TestEnv) -> usize {
    let journal = std::fs::read_dir(env.home().join("journal")).unwrap();
    let text: String = journal.map(|day| std::fs::read_to_string(day.unwrap().path()).unwrap()).collect();
    text.matches("{\"receipt\":").count()
}

#[test]
fn at_once_exactly_one_reply_carries_the_brief() {
    let mut env = env();
    env.set_now(None);
    env.start("s0", "startup");
    env.ok(&["record", "next", "write tests"]);
    for round in 0..25 {
        let session = format!("s-{round}");
        let outputs = pair(&env, &env.payload(&session, "SessionStart", json!({"source": "startup"})));
        assert_eq!(replies(&outputs), 1, "round {round}: {outputs:?}");
    }
    assert_eq!(receipts(&env), 25, "what was told once is on record once");
}

#[test]
fn in_sequence_exactly_one_reply_carries_the_brief_and_a_later_start_is_a_start() {
    let mut env = env();
    env.start("s0", "startup");
    env.ok(&["record", "next", "write tests"]);
    assert!(env.start("s1", "startup").contains("next:write tests"));
    assert_eq!(env.start("s1", "startup"), "", "the same event by a second hook");
    assert!(env.start("s1", "compact").contains("next:write tests"), "another event of the same session");
    assert!(env.start("s2", "startup").contains("next:write tests"), "another session");
    env.set_now(Some("2026-01-22T13:35:18Z"));
    assert!(env.start("s1", "startup").contains("next:write tests"), "the same words, later");
}

#[test]
fn a_prompt_is_answered_by_one_of_two_hooks() {
    let env = env();
    let sessions: Vec<String> = (0..10).map(|number| format!("s-{number}")).collect();
    sessions.iter().for_each(|session| assert_eq!(env.start(session, "startup"), ""));
    env.ok(&["memory", "learn", "Deploy with make ship"]);
    for session in &sessions {
        let prompt = json!({"prompt": "how do we deploy with make?", "prompt_id": "p1"});
        let outputs = pair(&env, &env.payload(session, "UserPromptSubmit", prompt));
        assert_eq!(replies(&outputs), 1, "{session}: {outputs:?}");
    }
}

#[test]
fn every_event_counts_once() {
    let env = env();
    let tool = json!({"tool_name": "Bash", "tool_use_id": "toolu_1", "tool_input": {"command": "ls"}});
    for (event, extra) in [
        ("SessionStart", json!({"source": "startup"})),
        ("UserPromptSubmit", json!({"prompt": "go on", "prompt_id": "p1"})),
        ("PostToolUse", tool),
        ("Stop", json!({"last_assistant_message": "Next: write tests"})),
        ("SessionEnd", json!({"reason": "other"})),
    ] {
        pair(&env, &env.payload("s1", event, extra));
    }
    let sessions = env.sessions();
    assert_eq!(sessions.len(), 1);
    let counted = |name: &str| sessions[0][name].clone();
    assert_eq!((counted("tools_used"), counted("turn_count")), (json!({"Bash": 1}), json!(1)));
    assert_eq!((counted("status"), counted("ended_at")), (json!("ended"), json!(cerberus_testkit::env::START)));
    let once: Value = env.json(&["brief"]);
    env.rebuild();
    assert_eq!(env.json(&["brief"]), once, "folded anew it is the same");
}

#[test]
fn a_context_that_is_emptied_again_at_once_is_told_again() {
    let env = env();
    env.write_file("s1", "t1", "a.rs", "fn a() {}\n");
    for round in 0..3 {
        assert!(env.start("s1", "compact").contains("impl:a.rs"), "round {round}");
        env.hook("s1", "UserPromptSubmit", json!({"prompt": format!("go on {round}")}));
    }
}
