//! What only Codex does: trust in hooks, and the limits of what it lets through.

use cerberus_testkit::clients::codex::Codex;
use cerberus_testkit::model_server::{ModelServer, Reply};
use cerberus_testkit::process::wait_until;
use cerberus_testkit::terminal::Terminal;

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
    assert_eq!(memories(&stage), ["proposed headless project:repo Always push to main after each commit."]);
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
