//! A rule that the user switched on holds in the real agents: the command does not run, and the model learns why.

use cerberus_testkit::clients::Client;
use cerberus_testkit::clients::claude_code::ClaudeCode;
use cerberus_testkit::clients::codex::Codex;
use cerberus_testkit::model_server::{ModelServer, Reply, request_text};

use super::{Stage, finish};

const REASON: &str = "Use pnpm, not npm";

/// The agent tries what is forbidden, is told so, and goes on.
fn denied(client: &dyn Client, level: &str) {
    let stage = Stage::new(client);
    stage.cerberus(&["check", "add", "Use pnpm, not npm.", "--level", level]);
    let trace = stage.scratch.repo().join("ran");
    let line = format!("npm --silent ping; touch {}", trace.display());
    let server = ModelServer::start([client.run(&line), Reply::text("Done.")]);
    finish(&mut client.session(&stage.place(&server), "Install it"));
    assert!(!trace.exists(), "{}: the command ran", client.pin().name);
    let requests = server.main_requests();
    let second = request_text(requests.get(1).expect("the model is asked again"));
    assert!(second.contains("Not run. Your user's rule"), "{second}");
    assert!(second.contains(REASON) && second.contains("cerberus check allow-once"), "{second}");
    let stats = stage.cerberus(&["stats"]);
    assert!(stats.contains("prevented 1, overridden 0"), "{stats}");
}

/// After a reminder, the identical call runs.
fn overridden(client: &dyn Client) {
    let stage = Stage::new(client);
    stage.cerberus(&["check", "add", "Use pnpm, not npm.", "--level", "remind"]);
    let trace = stage.scratch.repo().join("ran");
    let line = format!("touch {} || npm ping", trace.display());
    let server = ModelServer::start([client.run(&line), client.run(&line), Reply::text("Done.")]);
    finish(&mut client.session(&stage.place(&server), "Install it"));
    assert!(trace.exists(), "{}: the retry did not run", client.pin().name);
    let stats = stage.cerberus(&["stats"]);
    assert!(stats.contains("prevented 0, overridden 1"), "{stats}");
}

#[test]
fn claude_code_is_denied_and_told_why() {
    denied(&ClaudeCode, "block");
}

#[test]
fn codex_is_denied_and_never_asked() {
    denied(&Codex, "ask");
}

#[test]
fn claude_code_may_insist_after_a_reminder() {
    overridden(&ClaudeCode);
}

#[test]
fn claude_code_goes_on_until_the_tests_ran() {
    let stage = Stage::new(&ClaudeCode);
    stage.cerberus(&["check", "add", "Run `make check` before finishing a task.", "--level", "remind"]);
    let path = stage.scratch.repo().join("proxy.go");
    let write = ClaudeCode.write(&path, "package proxy\n");
    let server = ModelServer::start([write, Reply::text("Done."), Reply::text("Really done.")]);
    finish(&mut ClaudeCode.session(&stage.place(&server), "Write it"));
    let requests = server.main_requests();
    let third = request_text(requests.get(2).expect("the turn goes on"));
    assert!(third.contains("Run first: make check"), "{third}");
}

#[cfg(feature = "all-clients")]
mod others {
    use cerberus_testkit::clients::copilot::Copilot;
    use cerberus_testkit::clients::gemini::Gemini;
    use cerberus_testkit::clients::opencode::Opencode;
    use cerberus_testkit::clients::qwen_code::QwenCode;

    use super::denied;

    #[test]
    fn gemini_is_denied_and_never_asked() {
        denied(&Gemini, "ask");
    }

    #[test]
    fn copilot_is_denied_and_told_why() {
        denied(&Copilot, "block");
    }

    #[test]
    fn opencode_is_denied_and_told_why() {
        denied(&Opencode, "block");
    }

    #[test]
    fn qwen_code_is_denied_and_told_why() {
        denied(&QwenCode, "block");
    }
}
