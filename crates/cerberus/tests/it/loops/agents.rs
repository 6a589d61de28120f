//! Other agents, and falling back to one of them.

use cerberus_testkit::fake_agent::{Act, FakeAgent, Tongue};
use cerberus_testkit::process::write_program;

use super::{Stage, begins, with};

/// A usage limit that ends in 2100.
const REJECTED: &str =
    r#"echo '{"type":"rate_limit_event","rate_limit_info":{"status":"rejected","resetsAt":4102444800}}'"#;

#[test]
fn another_agent_continues_when_the_first_has_reached_its_limit() {
    let acts = [Act::Shell("echo x > a"), Act::Shell(REJECTED), Act::Fail(429, "usage limit reached"), Act::Leave];
    let stage = Stage::new(Tongue::ClaudeCode, &[with(&[&begins(), &acts])]);
    let works = [Act::Start, Act::Say("I go on.", 0), Act::Shell("echo y > b"), Act::Done("done"), Act::Leave];
    let other = FakeAgent::new(&stage.env.root().join("other"), Tongue::Codex, &[works.to_vec()]);
    let options = ["--fallback", "codex", "--fallback-program", other.program(), "--fallback-arg", "--full-auto"];
    let ran = stage.run(&[&options[..], &["--until", "test -f b"]].concat());
    ran.ended(0, "claude-code reached its usage limit; codex continues").ended(0, "the check passed");
    assert_eq!((stage.agent.contexts(), other.contexts()), (1, 1));
    assert!(other.arguments(1).contains("exec --json --full-auto"), "{}", other.arguments(1));
    assert!(other.told(1).contains("# Context Handoff") && other.told(1).contains("a (new)"), "{}", other.told(1));
    let history = stage.history();
    assert_eq!((history.len(), history[0]["attempts"].as_u64()), (1, Some(2)), "{history:#?}");
    assert_eq!(history[0]["agent"], "codex");
    let sessions = stage.env.sessions();
    let agents: Vec<&str> = sessions.iter().filter_map(|session| session["agent"].as_str()).collect();
    assert!(agents.contains(&"claude-code") && agents.contains(&"codex"), "{sessions:#?}");
    assert!(sessions.iter().all(|session| session["status"] == "ended"), "{sessions:#?}");
}

#[test]
fn a_short_wait_and_an_overload_are_waited_for() {
    let acts = [Act::Fail(529, "Overloaded"), Act::Leave];
    let stage = Stage::new(Tongue::ClaudeCode, &[with(&[&begins(), &acts]), super::works("echo x > a")]);
    let options = ["--fallback", "codex", "--fallback-program", "/nowhere", "--backoff-max", "0"];
    let ran = stage.run(&[&options[..], &["--until", "test -f a"]].concat());
    ran.ended(0, "the check passed");
    assert!(!ran.stderr().contains("usage limit"), "{}", ran.stderr());
    assert_eq!(stage.agent.contexts(), 2);
}

/// A program that prints what a real agent would, line by line.
fn printing(stage: &Stage, agent: &str, lines: &str, options: &[&str]) -> std::process::Output {
    let program = stage.env.root().join(format!("{agent}-program"));
    let args = stage.env.root().join(format!("{agent}-args"));
    let text = format!("#!/bin/sh\nprintf '%s ' \"$@\" > '{}'\ncat > /dev/null\n{lines}\n", args.display());
    write_program(&program, &text);
    let mut command = stage.env.command();
    command.args(["loop", "run", "--agent", agent, "--program", program.to_str().unwrap(), "--prompt", "Build it"]);
    command.args(["--min-interval", "0", "--max-iterations", "1"]).args(options).stdin(std::process::Stdio::null());
    command.output().unwrap()
}

#[test]
fn gemini_is_metered_by_its_chat_file() {
    let stage = Stage::new(Tongue::Plain, &[vec![]]);
    let lines = r#"id=""; for arg in "$@"; do [ "$last" = --session-id ] && id=$arg; last=$arg; done
d="$HOME/.gemini/tmp/p/chats"; mkdir -p "$d"; f="$d/session-2026-11-16T10-13-$(echo $id | cut -c1-8).jsonl"
echo '{"type":"init","session_id":"'$id'","model":"gemini-2.5-pro"}'
echo '{"id":"m","type":"gemini","content":"Half done.","tokens":{"input":524288,"output":0,"cached":0,"total":524288},"model":"gemini-2.5-pro"}' >> $f
echo x > a
echo '{"type":"result","status":"success","stats":{"total_tokens":524288,"input_tokens":524288,"cached":0}}'"#;
    let output = printing(&stage, "gemini", lines, &["--", "--yolo"]);
    assert_eq!(output.status.code(), Some(3), "{}", String::from_utf8_lossy(&output.stderr));
    assert!(String::from_utf8_lossy(&output.stdout).contains("Half done."));
    let row = &stage.history()[0];
    assert_eq!((row["fill_percent"].as_f64(), row["tokens"].as_u64()), (Some(50.0), Some(524_288)), "{row:#}");
    assert!((row["cost_usd"].as_f64().unwrap() - 1.31).abs() < 0.01, "$2.50 per million: {row:#}");
    let args = std::fs::read_to_string(stage.env.root().join("gemini-args")).unwrap();
    assert!(args.starts_with("--output-format stream-json --yolo --session-id "), "{args}");
}

#[test]
fn opencode_is_metered_by_its_steps() {
    let stage = Stage::new(Tongue::Plain, &[vec![]]);
    let lines = r#"echo '{"type":"step_start","sessionID":"ses_1","part":{"id":"p0"}}'
echo '{"type":"text","sessionID":"ses_1","part":{"text":"I look around."}}'
echo x > a
echo '{"type":"step_finish","sessionID":"ses_1","part":{"id":"p1","reason":"stop","tokens":{"input":50000,"output":0,"reasoning":0,"cache":{"read":0,"write":0}},"cost":0.2}}'"#;
    let output = printing(
        &stage,
        "opencode",
        lines,
        &["--max-cost-usd", "9", "--", "--auto", "-m", "anthropic/claude-opus-5-5"],
    );
    assert_eq!(output.status.code(), Some(3), "{}", String::from_utf8_lossy(&output.stderr));
    let row = &stage.history()[0];
    assert_eq!((row["fill_percent"].as_f64(), row["cost_usd"].as_f64()), (Some(25.0), Some(0.2)), "{row:#}");
    assert_eq!(row["session_id"], "ses_1");
    let args = std::fs::read_to_string(stage.env.root().join("opencode-args")).unwrap();
    assert_eq!(args.trim(), "run --format json --auto -m anthropic/claude-opus-5-5");
}
