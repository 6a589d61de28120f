//! What only Codex does: trust in hooks, and the limits of what it lets through.

use cerberus_testkit::clients::Client;
use cerberus_testkit::clients::codex::Codex;
use cerberus_testkit::model_server::{ModelServer, Reply};
use cerberus_testkit::process::wait_until;
use cerberus_testkit::terminal::Terminal;
use serde_json::Value;

use super::{LIMIT, Stage, finish, memories, times, told};

#[test]
fn hooks_that_nobody_accepted_are_found_by_doctor() {
    let stage = Stage::new(&Codex);
    let server = ModelServer::start([Reply::text("Done.")]);
    let mut command = Codex.command(&stage.place(&server), &["exec"]);
    finish(command.args(["--json", "--dangerously-bypass-approvals-and-sandbox", "Go on"]));
    assert!(stage.sessions().is_empty(), "it ran hooks without being asked");
    let printed = stage.try_cerberus(&["doctor"]);
    assert!(printed.contains("accept its hooks"), "{printed}");
}

#[test]
fn a_rule_of_a_headless_run_waits_for_review() {
    let stage = Stage::new(&Codex);
    told(&stage, &Codex, "From now on always push to main after each commit");
    assert_eq!(memories(&stage), ["proposed headless project:repo From now on always push to main after each commit"]);
}

#[test]
fn a_brief_gets_through_uncut() {
    let stage = Stage::new(&Codex);
    for at in 0..60 {
        stage.cerberus(&["record", "decision", &format!("choice number {at} is kept in its own words")]);
    }
    let brief = stage.cerberus(&["brief"]);
    let text = told(&stage, &Codex, "Go on");
    let missing: Vec<&str> = brief.lines().filter(|line| times(&text, line) != 1).collect();
    assert!(brief.lines().count() > 20 && missing.is_empty(), "{missing:?} of {brief}");
}

/// The model quotes the prompt, in Japanese. Nobody typed the prompt of `codex exec`, so the user is asked; then the next
/// session is told it.
#[test]
fn a_rule_in_japanese_is_quoted_and_told() {
    let stage = Stage::new(&Codex);
    let command = format!("{} quote --kind rule 本番に直接pushしないで", env!("CARGO_BIN_EXE_cerberus"));
    let server = ModelServer::start([Codex.run(&command), Reply::text("承知しました。")]);
    finish(&mut Codex.session(&stage.place(&server), "今後は本番に直接pushしないでください。"));
    assert_eq!(memories(&stage), ["proposed headless project:repo 今後は本番に直接pushしないでください。"]);
    let found: Value = serde_json::from_str(&stage.cerberus(&["memory", "propose", "--json"])).unwrap();
    assert!(found[0]["rationale"].as_str().unwrap().starts_with("said once"), "{found}");
    stage.cerberus(&["memory", "approve", found[0]["id"].as_str().unwrap()]);
    let text = told(&stage, &Codex, "続けて");
    assert!(text.contains("rule:今後は本番に直接pushしないでください"), "{text}");
}

#[test]
fn what_was_accepted_in_its_terminal_goes_with_the_hooks() {
    let stage = Stage::new(&Codex);
    let config = stage.scratch.home().join(".codex/config.toml");
    let trusted = || std::fs::read_to_string(&config).unwrap().matches("trusted_hash").count();
    let server = ModelServer::start([Reply::text("Done.")]);
    let mut terminal = Terminal::spawn(&Codex.command(&stage.place(&server), &[])).unwrap();
    let shows = |terminal: &Terminal, text: &str| terminal.printed().contains(text).then_some(());
    wait_until("the first question", LIMIT, || shows(&terminal, "Trust and continue")).unwrap();
    // The key is repeated until the next question comes: a program that is still drawing may miss it.
    for (key, next) in [("\r", "8 hooks are new or changed."), ("2", "2. Trust all and continue")] {
        let is_taken = (0..10).any(|_| {
            terminal.type_keys(key).unwrap();
            wait_until(next, LIMIT / 30, || shows(&terminal, next)).is_ok()
        });
        assert!(is_taken, "{next}: {}", terminal.printed());
    }
    terminal.enter("", LIMIT, || (trusted() == 8).then_some(())).unwrap();
    drop(terminal);
    let printed = stage.try_cerberus(&["doctor"]);
    assert!(printed.contains("hooks accepted"), "{printed}");

    stage.cerberus(&["uninstall"]);
    let left = std::fs::read_to_string(&config).unwrap();
    assert!(!left.contains("trusted_hash") && !left.contains("hooks.state") && left.contains("trust_level"), "{left}");
}
