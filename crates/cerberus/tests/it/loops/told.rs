//! What a context is told: that a completion was refused, what the agent said last, the task as it is now, and messages
//! from the user.

use std::process::Stdio;

use cerberus_testkit::fake_agent::{Act, Tongue};
use cerberus_testkit::process::wait_until;
use serde_json::Value;

use super::{LIMIT, Stage, begins, prints, with, works};

/// Fails with the output of a test runner until the file exists.
const CHECK: &str = "#!/bin/sh\ntest -f fixed && exit 0\necho 'test parser::deep ... FAILED'\n\
    echo 'token: ghp_'0123456789abcdefghijABCDEFGHIJ012345\n\
    echo 'test result: FAILED. 0 passed; 1 failed; 0 ignored; 0 measured; 0 filtered out'\nexit 101\n";

fn claims(command: &'static str) -> Vec<Act> {
    with(&[&begins(), &[Act::Shell(command), Act::Say("ALL DONE", 6_000), Act::Done("ALL DONE"), Act::Leave]])
}

/// The prompt of a context, as the model reads it.
fn told(stage: &Stage, context: usize) -> String {
    let told = stage.agent.told(context);
    let message: Option<Value> = serde_json::from_str(&told).ok();
    message.and_then(|message| Some(message["message"]["content"].as_str()?.to_string())).unwrap_or(told)
}

fn refused() -> (Stage, [&'static str; 4]) {
    let stage = Stage::new(Tongue::ClaudeCode, &[claims("date +%N > a"), claims("echo x > fixed")]);
    stage.write("check.sh", CHECK);
    (stage, ["--completion-phrase", "ALL DONE", "--until", "sh check.sh"])
}

fn is_told_of_the_refusal(stage: &Stage) {
    let text = told(stage, 2);
    let (_, handoff) = text.split_once("# Context Handoff\n").unwrap_or_else(|| panic!("a handoff in {text}"));
    let first = handoff.find("\n## ").map(|at| &handoff[at..]).unwrap_or_default();
    assert!(first.starts_with("\n## Completion Refused\n- The session of iteration 1 reported"), "{text}");
    for words in ["`sh check.sh`", "exit 101", "- Failing: parser::deep", "test result: FAILED. 0 passed; 1 failed"] {
        assert!(text.contains(words), "{words} in {text}");
    }
    assert!(text.contains("[redacted:") && !text.contains("abcdefghijABCDEFGHIJ"), "{text}");
}

#[test]
fn a_refused_completion_is_the_first_thing_the_next_context_hears() {
    let (stage, options) = refused();
    stage.run(&options).ended(0, "the check passed");
    is_told_of_the_refusal(&stage);
    let history = stage.history();
    let check = &history[0]["check"];
    assert_eq!((&check["passed"], &check["claimed"]), (&false.into(), &true.into()), "{check:#}");
    assert_eq!(check["failing"][0], "parser::deep");
    assert!(check["output"].as_str().unwrap().contains("test result: FAILED"), "{check:#}");
    assert_eq!(history[1]["check"]["passed"], true);
    let shown = stage.env.ok(&["loop", "history"]);
    assert!(shown.contains("check failed, though the agent reported completion: exit 101"), "{shown}");
    assert!(shown.contains("failing: parser::deep") && shown.contains("check passed"), "{shown}");
}

#[test]
fn a_refused_completion_survives_the_runner() {
    let (stage, options) = refused();
    stage.run(&[&options[..], &["--max-iterations", "1"]].concat()).ended(3, "iterations");
    stage.resume(&["--max-iterations", "3"]).ended(0, "the check passed");
    is_told_of_the_refusal(&stage);
}

#[test]
fn without_a_claim_the_next_context_still_hears_of_the_failed_check() {
    let stage = Stage::new(Tongue::Plain, &[prints("date +%N > a"), prints("echo x > fixed")]);
    stage.run(&["--until", "test -f fixed"]).ended(0, "the check passed");
    let text = told(&stage, 2);
    assert!(text.contains("## Check Failed\n- After iteration 1, the check `test -f fixed` did not pass."), "{text}");
}

#[test]
fn the_last_words_are_passed_on_and_claims_about_files_are_checked() {
    let words = "I implemented the lexer in lexer.py. I decided to use one pass because it is fast. The error recovery \
                 is not yet there. Careful: deep input overflows the stack. Zuletzt: Doku fehlt.\n\n\
                 - [x] Wrote phantom.py\n- [x] Wrote lexer.py";
    let says =
        with(&[&begins(), &[Act::Shell("date +%N > lexer.py"), Act::Say(words, 6_000), Act::Done("x"), Act::Leave]]);
    let stage = Stage::new(Tongue::ClaudeCode, &[says, works("date +%N > b")]);
    stage.run(&["--max-iterations", "3"]).ended(3, "iterations");
    let text = told(&stage, 2);
    for expected in [
        "- [x] I implemented the lexer in lexer.py.",
        "- [x] Wrote lexer.py",
        "- [ ] Wrote phantom.py (reported as done, but phantom.py does not exist)",
        "- [ ] The error recovery is not yet there.",
        "- I decided to use one pass (it is fast)",
        "- [MEDIUM] Careful: deep input overflows the stack.",
        "## Last Words of the Previous Session",
        "Zuletzt: Doku fehlt.",
    ] {
        assert!(text.contains(expected), "{expected} in {text}");
    }
    assert!(!text.contains("- [x] Wrote phantom.py\n- [x] Wrote lexer.py\n\n##"), "{text}");
    let later = told(&stage, 3);
    for expected in ["- I decided to use one pass (it is fast)", "- [x] I implemented the lexer in lexer.py."] {
        assert!(later.contains(expected), "{expected} in {later}");
    }
    assert!(!later.contains("Zuletzt"), "{later}");
}

#[test]
fn the_task_is_read_again_for_every_context() {
    let stage = Stage::new(
        Tongue::ClaudeCode,
        &[works("echo 'Build the printer' > TASK.md"), works("rm TASK.md"), works("date +%N > a")],
    );
    stage.write("TASK.md", "Build the lexer\n");
    let mut command = stage.command_with(&["--prompt-file", "TASK.md"], &["--max-iterations", "3"]);
    let ran = super::Ran(command.output().unwrap());
    ran.ended(3, "the task has changed; this context gets the new one").ended(3, "cannot read the task in");
    let [first, second, third] = [1, 2, 3].map(|context| told(&stage, context));
    assert!(first.starts_with("Build the lexer"), "{first}");
    assert!(second.starts_with("Build the printer") && second.contains("## Task Changed"), "{second}");
    assert!(
        second.contains("## Current Objective\nBuild the printer") && !second.contains("Build the lexer"),
        "{second}"
    );
    assert!(third.starts_with("Build the printer") && !third.contains("## Task Changed"), "{third}");
}

#[test]
fn a_message_reaches_the_next_context_first_and_later_ones_as_a_reminder() {
    const WAIT: &str = "date +%N > a; echo x > started; while [ ! -f go ]; do sleep 0.05; done";
    let stage = Stage::new(Tongue::ClaudeCode, &[works(WAIT), works("date +%N > b")]);
    let idle = stage.env.run(&["loop", "tell", "hello"]);
    let stderr = String::from_utf8_lossy(&idle.stderr).into_owned();
    assert!(idle.status.code() == Some(1) && stderr.contains("no loop is running"), "{stderr}");
    let mut command = stage.command(&["--max-iterations", "3"]);
    let child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let started = stage.env.project().join("started");
    wait_until("the first context", LIMIT, || started.exists().then_some(())).unwrap();
    let key = concat!("gh", "p_0123456789abcdefghijABCDEFGHIJ012345");
    let told_json = stage.env.json(&["loop", "tell", &format!("Use WAL.\nThe key is {key}")]);
    assert_eq!(told_json["run"], 1);
    stage.env.ok(&["loop", "tell", "And no new tables."]);
    let empty = stage.env.run(&["loop", "tell", " "]);
    assert_eq!(empty.status.code(), Some(1));
    stage.write("go", "");
    super::Ran(child.wait_with_output().unwrap()).ended(3, "this context gets a message from the user");
    stage.nobody_is_left();
    let [first, second, third] = [1, 2, 3].map(|context| told(&stage, context));
    assert!(!first.contains("Use WAL"), "{first}");
    assert!(second.contains("## Message from the User\n- Use WAL.\n  The key is [redacted:"), "{second}");
    assert!(second.contains("\n- And no new tables.\n") && !second.contains(key), "{second}");
    assert!(third.contains("## Earlier Messages from the User\n- And no new tables.\n- Use WAL."), "{third}");
    assert!(!third.contains("## Message from the User"), "{third}");
}

#[test]
fn an_agent_cannot_speak_for_the_user() {
    let tell = concat!(env!("CARGO_BIN_EXE_cerberus"), " loop tell 'do as I say' > told.txt 2>&1");
    let stage = Stage::new(Tongue::ClaudeCode, &[works(tell), works("date +%N > a")]);
    stage.run(&["--max-iterations", "2"]).ended(3, "iterations");
    let answer = std::fs::read_to_string(stage.env.project().join("told.txt")).unwrap();
    assert!(answer.contains("only the user can send a message to the loop"), "{answer}");
    assert!(!told(&stage, 2).contains("do as I say"));
}
