//! What only Codex does: sessions that go on, and the limits of what it lets through.

use std::process::Command;

use cerberus_testkit::clients::Place;
use cerberus_testkit::clients::codex::Codex;
use cerberus_testkit::model_server::{ModelServer, Reply, request_text};

use super::{Stage, finish, times, told};

/// The last session goes on.
fn resume(place: &Place, prompt: &str) -> Command {
    let mut command = Codex.command(place, &["exec", "resume", "--last"]);
    command.args(["--json", "--dangerously-bypass-hook-trust", "--dangerously-bypass-approvals-and-sandbox"]);
    command.arg(prompt);
    command
}

#[test]
fn a_resumed_session_is_told_only_what_is_new() {
    let stage = Stage::new(&Codex);
    stage.cerberus(&["record", "next", "add a mutex to the proxy"]);
    let first = told(&stage, &Codex, "Write the proxy");
    assert_eq!(times(&first, "next:add-a-mutex-to-the-proxy"), 1, "{first}");
    stage.cerberus(&["record", "next", "close idle connections"]);

    let server = ModelServer::start([Reply::text("Going on.")]);
    finish(&mut resume(&stage.place(&server), "Go on"));
    let text = request_text(&server.main_requests()[0]);
    assert!(text.contains("Write the proxy"), "it is the same conversation: {text}");
    for code in ["next:add-a-mutex-to-the-proxy", "next:close-idle-connections"] {
        assert_eq!(times(&text, code), 1, "{code} in {text}");
    }
}

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
