//! What only Codex does: trust in hooks, and the limits of what it lets through.

use std::fs::OpenOptions;
use std::io::Write as _;
use std::time::Duration;

use cerberus_testkit::clients::Client;
use cerberus_testkit::clients::codex::Codex;
use cerberus_testkit::model_server::{ModelServer, Reply};
use cerberus_testkit::process::wait_until;
use cerberus_testkit::terminal::Terminal;
use serde_json::Value;

use super::{LIMIT, Stage, finish, memories, times, told, what_a_command_wrote_is_told};

/// How many hooks it is asked to trust.
const HOOKS: usize = 9;
const STARTS_MAX: usize = 10;
/// How long nothing is drawn before a key is pressed.
const SILENCE: Duration = Duration::from_secs(1);
/// How long a key may take to have an effect.
const KEY_LIMIT: Duration = Duration::from_secs(20);

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
fn what_a_command_wrote_is_told_as_edited() {
    what_a_command_wrote_is_told(&Codex, &[]);
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

/// Answers the question about new hooks; false if the program ended or heard nothing.
fn trust_all(terminal: &mut Terminal, is_done: impl Fn() -> bool) -> bool {
    wait_until("the question", LIMIT, || {
        let is_asked = terminal.screen().contents().contains(&format!("{HOOKS} hooks are new or changed."));
        (is_asked || terminal.ended().is_some()).then_some(())
    })
    .unwrap();
    terminal.wait_for_silence(SILENCE, LIMIT).unwrap();
    let _ = terminal.type_keys("2");
    terminal.wait_for_text("› 2. Trust all and continue", KEY_LIMIT).is_ok()
        && terminal.type_keys("\r").is_ok()
        && wait_until("the answer", KEY_LIMIT, || is_done().then_some(())).is_ok()
}

#[test]
fn what_was_accepted_in_its_terminal_goes_with_the_hooks() {
    let stage = Stage::new(&Codex);
    let config = stage.scratch.home().join(".codex/config.toml");
    // Only the question about the hooks is left. With two in a row, a key that is pressed once more because the program was
    // slow would answer the wrong one.
    let folder = format!("\n[projects.\"{}\"]\ntrust_level = \"trusted\"\n", stage.scratch.repo().display());
    OpenOptions::new().append(true).create(true).open(&config).unwrap().write_all(folder.as_bytes()).unwrap();
    let trusted = || std::fs::read_to_string(&config).unwrap().matches("trusted_hash").count();
    let server = ModelServer::start([Reply::text("Done.")]);
    // It throws away what was typed ahead, and gives up if that takes long: then it is started again.
    let is_accepted = (0..STARTS_MAX).any(|_| {
        let mut terminal = Terminal::spawn(&Codex.command(&stage.place(&server), &[])).unwrap();
        trust_all(&mut terminal, || trusted() == HOOKS)
    });
    assert!(is_accepted);
    let printed = stage.try_cerberus(&["doctor"]);
    assert!(printed.contains("hooks accepted"), "{printed}");

    stage.cerberus(&["uninstall"]);
    let left = std::fs::read_to_string(&config).unwrap();
    assert!(!left.contains("trusted_hash") && !left.contains("hooks.state") && left.contains("trust_level"), "{left}");
}
