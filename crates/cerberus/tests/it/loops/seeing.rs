//! What a loop does can be seen: while it runs, from another terminal, in its log, and the next morning.

use std::process::{Child, Stdio};

use cerberus_testkit::fake_agent::{Act, Tongue};
use cerberus_testkit::process::{wait_until, write_program};
use serde_json::{Value, json};

use super::{LIMIT, Ran, Stage, begins, prints, with, works};

fn started(stage: &Stage, options: &[&str]) -> Child {
    stage.command(options).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap()
}

fn events(ran: &Ran) -> Vec<Value> {
    ran.stdout().lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

/// A usage limit that ends in 2100.
const REJECTED: &str =
    r#"echo '{"type":"rate_limit_event","rate_limit_info":{"status":"rejected","resetsAt":4102444800}}'"#;

fn limited() -> Stage {
    let acts = [Act::Shell(REJECTED), Act::Fail(429, "usage limit reached"), Act::Leave];
    Stage::new(Tongue::ClaudeCode, &[with(&[&begins(), &acts])])
}

#[test]
fn the_log_sums_up_every_iteration() {
    let stage = Stage::new(Tongue::ClaudeCode, &[works("echo x > a; echo y > b")]);
    let ran = stage.run(&["--max-iterations", "1", "--until", "echo not yet; false"]);
    let stderr = ran.stderr();
    let line =
        stderr.lines().find(|line| line.starts_with("── iteration 1 ended")).unwrap_or_else(|| panic!("{stderr}"));
    for part in
        ["iteration-end · ", " · context 5 % · ", " tokens, $0.25 · 2 files changed · check failed: exit 1: not yet"]
    {
        assert!(line.contains(part), "{part} in {line}");
    }
    let (limits, begun) = (stderr.find("── limits: 1 iteration, "), stderr.find("── iteration 1"));
    assert!(limits.is_some() && limits < begun, "before anything is spent: {stderr}");
    assert_eq!(stage.env.json(&["loop", "status"])["limits"]["duration_ms"], 4 * 60 * 60 * 1000);
    assert_eq!(stage.history()[0]["changed_files"], 2);
    assert!(stage.env.ok(&["loop", "history"]).contains("2 files changed"));
}

#[test]
fn waiting_has_a_reason_and_an_end_everywhere() {
    let stage = limited();
    let child = started(&stage, &["--max-wait", "36000d"]);
    let waiting = || Some(stage.env.json(&["loop", "status"])["waiting"].clone()).filter(|wait| !wait.is_null());
    let wait = wait_until("it to wait", LIMIT, waiting).unwrap();
    assert_eq!(wait["until"], "2100-01-01T00:00:00Z");
    wait_until("the loop itself to wait", LIMIT, || {
        let text = stage.env.ok(&["loop", "status"]);
        (text.contains("waiting    until 1 Jan 2100") && text.contains("usage limit reached")).then_some(())
    })
    .unwrap();
    stage.env.ok(&["loop", "stop"]);
    let ran = Ran(child.wait_with_output().unwrap());
    ran.ended(6, "── waiting until 1 Jan 2100");
    assert!(ran.stderr().contains("--in AGENT` goes on in another agent"), "{}", ran.stderr());
    stage.nobody_is_left();
    assert!(stage.env.json(&["loop", "status"])["waiting"].is_null());
}

#[test]
fn a_limit_that_lasts_longer_than_the_user_waits_ends_the_loop_at_once() {
    let stage = limited();
    stage
        .run(&[])
        .ended(3, "usage limit reached")
        .ended(3, "the limit of waiting is reached")
        .ended(3, "resume --in AGENT");
    assert_eq!(stage.agent.contexts(), 1);
}

#[test]
fn the_stream_of_json_has_fill_cost_and_waits() {
    let stage = limited();
    let child = started(&stage, &["--json", "--context-window", "100000", "--max-wait", "36000d"]);
    wait_until("it to wait", LIMIT, || {
        let status = stage.env.json(&["loop", "status"]);
        (!status["waiting"].is_null() && status["session_id"].is_string()).then_some(())
    })
    .unwrap();
    stage.env.ok(&["loop", "stop"]);
    let events = events(&Ran(child.wait_with_output().unwrap()));
    let of = |kind: &str| events.iter().filter(|event| event["event"] == kind).collect::<Vec<_>>();
    // A context this short may have ended before its first status.
    assert!(of("ended")[0].to_string().contains("\"fill_percent\":5.0"), "{events:#?}");
    // Before the agent's first words, nothing is known about its cost.
    let is_complete = |one: &Value| one["cost_usd"].is_f64() || one["phase"] == "starting";
    assert!(of("status").iter().all(|one| is_complete(one) && one.get("fill_percent").is_some()), "{events:#?}");
    assert_eq!(of("waiting").len(), 1, "told once: {events:#?}");
    assert_eq!(of("waiting")[0]["until"], "2100-01-01T00:00:00Z");
    assert!(of("status").len() < 30, "only when something changed: {}", of("status").len());
}

/// Waits for a file before it goes on, so that a test can look meanwhile.
fn held() -> Stage {
    Stage::new(Tongue::Plain, &[prints("echo x > at-work; while ! test -f go-on; do sleep 0.05; done; date +%N >> a")])
}

#[test]
fn status_and_logs_follow_a_loop_to_its_end() {
    let stage = held();
    let child = started(&stage, &["--max-iterations", "2"]);
    let file = stage.env.project().join("at-work");
    wait_until("the agent to work", LIMIT, || file.exists().then_some(())).unwrap();
    let look = |args: &[&str]| {
        let mut command = stage.env.command();
        command.args(args).stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap()
    };
    let lookers = [&["loop", "status", "--watch"][..], &["loop", "logs", "-f"], &["loop", "status", "-w", "--json"]];
    let lookers = lookers.map(look);
    stage.write("go-on", "");
    Ran(child.wait_with_output().unwrap()).ended(3, "iterations");
    let [status, logs, json] = lookers.map(|child| Ran(child.wait_with_output().unwrap()));
    assert!(status.stdout().contains("limit: the limit of iterations is reached"), "{}", status.stdout());
    assert_eq!(logs.stdout().matches("working").count(), 2, "{}", logs.stdout());
    assert!(logs.stderr().contains("── iteration 2"), "{}", logs.stderr());
    let last = events(&json).pop().unwrap();
    assert_eq!((&last["running"], &last["stop"]["class"]), (&json!(false), &json!("limit")));
}

#[test]
fn the_output_of_an_iteration_is_shown_again() {
    let stage = Stage::new(Tongue::ClaudeCode, &[works("date +%N >> a")]);
    assert_eq!(stage.env.run(&["loop", "logs"]).status.code(), Some(1), "nothing ran yet");
    stage.run(&["--max-iterations", "2"]).ended(3, "iterations");
    assert_eq!(stage.env.ok(&["loop", "logs", "1"]).trim(), "I look around.");
    let output = stage.env.run(&["loop", "logs", "--json"]);
    let first: Value = serde_json::from_slice(output.stdout.split(|byte| *byte == b'\n').next().unwrap()).unwrap();
    assert_eq!(first, json!({"event": "begun", "iteration": 2, "attempt": 1}));
    assert_eq!(stage.env.run(&["loop", "logs", "9"]).status.code(), Some(1));
}

#[test]
fn what_an_iteration_changed_is_shown() {
    let shell =
        "echo $n >> a.txt; git add a.txt; git -c user.name=t -c user.email=t@localhost commit -qm x; echo $n > n-$n";
    let stage = Stage::new(Tongue::Plain, &[prints(shell)]);
    stage.run(&["--max-iterations", "2"]).ended(3, "iterations");
    let text = stage.env.ok(&["loop", "diff", "1"]);
    assert!(text.contains("+1 -0  a.txt") && text.contains("+1 -0  n-1") && text.contains("\n+1\n"), "{text}");
    let last = stage.env.json(&["loop", "diff"]);
    assert_eq!((&last["iteration"], last["files"].as_array().unwrap().len()), (&json!(2), 2), "{last:#}");
    assert_eq!(last["files"][0], json!({"path": "a.txt", "added": 1, "removed": 0}));
    assert!(last["patch"].as_str().unwrap().contains("+2"));
    assert!(!stage.env.ok(&["loop", "diff", "1", "--stat"]).contains("@@"));
    assert_eq!(stage.env.run(&["loop", "diff", "9"]).status.code(), Some(1));
}

#[test]
fn a_dry_run_shows_everything_and_starts_nothing() {
    let stage = Stage::new(Tongue::ClaudeCode, &[works("echo x > a")]);
    let options = ["--dry-run", "--max-cost-usd", "3", "--until", "echo once >> checked; exit 4", "--worktree", "side"];
    let ran = stage.run(&options);
    let text = ran.stdout();
    for part in
        ["--max-budget-usd 3.0000", "Build the parser", "cost                   $3.00", "branch side", "(exit 4)"]
    {
        assert!(text.contains(part), "{part} in {text}");
    }
    assert_eq!((ran.0.status.code(), stage.agent.contexts()), (Some(0), 0));
    assert_eq!(std::fs::read_to_string(stage.env.project().join("checked")).unwrap(), "once\n");
    assert_eq!(stage.env.git(&stage.env.project(), &["worktree", "list"]).lines().count(), 1);
    assert!(stage.env.json(&["loop", "history"]).as_array().unwrap().is_empty());
    let plan = &events(&stage.run(&["--dry-run", "--json"]))[0];
    assert_eq!((&plan["event"], &plan["check"]), (&json!("plan"), &Value::Null), "{plan:#}");
}

#[test]
fn the_user_is_notified_at_the_end() {
    let stage = Stage::new(Tongue::Plain, &[prints("date +%N >> a")]);
    stage.write("cerberus.toml", "[loop]\nnotify = \"cat > told.json\"\n");
    stage.run(&["--max-iterations", "1"]).ended(3, "iterations");
    let told: Value = serde_json::from_slice(&std::fs::read(stage.env.project().join("told.json")).unwrap()).unwrap();
    assert_eq!((&told["stop"], &told["stop_reason"]), (&json!("limit"), &json!("the limit of iterations is reached")));
    // On a desktop, its own program is started.
    let (bin, seen) = (stage.env.root().join("bin"), stage.env.root().join("seen"));
    let script = format!("#!/bin/sh\nprintf '%s\\n' \"$@\" > '{}'\n", seen.display());
    write_program(&bin.join("notify-send"), &script);
    let path = format!("{}:{}", bin.display(), std::env::var("PATH").unwrap());
    let output = stage.command(&["--max-iterations", "1", "--notify", "desktop"]).env("PATH", path).output().unwrap();
    Ran(output).ended(3, "iterations");
    assert!(std::fs::read_to_string(&seen).unwrap().contains("limit: the limit of iterations is reached"));
    let ran = stage.run(&["--max-iterations", "1", "--notify", "exit 3"]);
    ran.ended(3, "the notification failed: exit 3");
}

#[test]
fn a_finished_task_is_handed_on_with_branch_title_and_summary() {
    let acts = [Act::Say("The parser reads everything.", 6_000), Act::Shell("echo x > a"), Act::Done(""), Act::Leave];
    let stage = Stage::new(Tongue::ClaudeCode, &[with(&[&begins(), &acts])]);
    let branch = stage.env.git(&stage.env.project(), &["branch", "--show-current"]);
    let told = r#"printf '%s|%s|%s' "$CERBERUS_BRANCH" "$CERBERUS_TITLE" "$CERBERUS_SUMMARY" > ../done; echo pull/7"#;
    let file = stage.env.root().join("done");
    stage.run(&["--max-iterations", "1", "--until", "false", "--on-done", told]).ended(3, "iterations");
    assert!(!file.exists(), "the task is not finished");
    stage.run(&["--until", "test -f a", "--on-done", told]).ended(0, "── on-done: it ran: pull/7");
    let done = std::fs::read_to_string(&file).unwrap();
    let begins = format!("{}|Build the parser|", branch.trim());
    assert!(done.starts_with(&begins) && done.contains("The parser reads everything."), "{done}");
    assert!(done.ends_with("Changed files:\n- a"), "{done}");
    let ran = stage.run(&["--until", "test -f a", "--on-done", "echo no remote; exit 4"]);
    ran.ended(0, "the on-done command failed: exit 4: no remote");
}
