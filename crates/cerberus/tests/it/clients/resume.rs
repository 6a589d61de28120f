//! `cerberus resume` with the real agents, which it starts as a user would, but without a terminal.

use std::ffi::OsStr;
use std::process::Command;

use cerberus_agents::settings::shell_word;
use cerberus_testkit::clients::Client;
use cerberus_testkit::clients::claude_code::ClaudeCode;
use cerberus_testkit::clients::codex::Codex;
use cerberus_testkit::model_server::{ModelServer, Reply, request_text};
use cerberus_testkit::process::write_program;

use super::{Stage, finish};

const MARK: &str = "THE-ARGUMENTS";

/// Stands for the last argument alone: without a terminal, the prompt follows another flag.
const LAST_MARK: &str = "THE-LAST-ARGUMENT";

/// A program on the stage's PATH that runs `command` with its own arguments in the place of the mark.
fn put_program(stage: &Stage, client: &dyn Client, command: &Command) {
    let word = |text: &OsStr| match text.to_str().unwrap() {
        MARK => "\"$@\"".to_string(),
        LAST_MARK => "\"$last\"".to_string(),
        text => shell_word(text),
    };
    let set = command.get_envs().filter_map(|(name, value)| Some(format!("{}={}", name.to_str()?, word(value?))));
    let words = set.chain([word(command.get_program())]).chain(command.get_args().map(word));
    let words = words.collect::<Vec<_>>().join(" ");
    let script = format!("#!/bin/sh\nfor last in \"$@\"; do :; done\nexec env {words}\n");
    let path = stage.scratch.root().join("programs").join(client.pin().program);
    let _ = std::fs::remove_file(&path);
    write_program(&path, &script);
}

/// Runs `cerberus resume` to the end of the agent that it starts.
fn resume(stage: &Stage, args: &[&str]) {
    let mut command = Command::new(env!("CARGO_BIN_EXE_cerberus"));
    command.arg("resume").args(args).env_clear().env("HOME", stage.scratch.home()).env("PATH", &stage.path);
    finish(command.current_dir(stage.scratch.repo()));
}

/// A session of one agent; what the other one's model is asked when it goes on.
fn handed_over(from: &dyn Client, to: &dyn Client) {
    let stage = Stage::new(from);
    to.prepare(&stage.scratch);
    let file = stage.scratch.repo().join("limiter.rs");
    let replies = [
        from.write(&file, "pub struct Limiter;\n"),
        Reply::text("The limiter counts requests; the header is missing."),
    ];
    let server = ModelServer::start(replies);
    finish(&mut from.session(&stage.place(&server), "Add a limiter with a Retry-After header"));
    let id = stage.sessions()[0]["id"].as_str().unwrap().to_string();

    let server = ModelServer::start([Reply::text("I go on.")]);
    put_program(&stage, to, &to.session(&stage.place(&server), LAST_MARK));
    resume(&stage, &[&id, "--in", to.pin().program]);
    let text = request_text(&server.main_requests()[0]);
    for expected in
        ["# Context Handoff", "Add a limiter with a Retry-After header", "limiter.rs", "the header is missing"]
    {
        assert!(text.contains(expected), "no {expected:?} in {text}");
    }
}

#[test]
fn a_session_of_claude_code_goes_on_in_codex() {
    handed_over(&ClaudeCode, &Codex);
}

#[test]
fn a_session_of_codex_goes_on_in_claude_code() {
    handed_over(&Codex, &ClaudeCode);
}

#[cfg(feature = "all-clients")]
mod others {
    use cerberus_testkit::clients::gemini::Gemini;
    use cerberus_testkit::clients::opencode::Opencode;

    use super::*;

    #[test]
    fn a_session_of_claude_code_goes_on_in_gemini() {
        handed_over(&ClaudeCode, &Gemini);
    }

    #[test]
    fn a_session_of_claude_code_goes_on_in_opencode() {
        handed_over(&ClaudeCode, &Opencode);
    }
}

/// Every file below the folder that `is_meant` accepts is deleted; how many.
fn delete(folder: &std::path::Path, is_meant: &dyn Fn(&str) -> bool) -> usize {
    let mut deleted = 0;
    for entry in std::fs::read_dir(folder).unwrap().flatten() {
        let path = entry.path();
        if path.is_dir() {
            deleted += delete(&path, is_meant);
        } else if is_meant(&entry.file_name().to_string_lossy()) {
            std::fs::remove_file(path).unwrap();
            deleted += 1;
        }
    }
    deleted
}

/// A session whose transcript was deleted; what the model is asked when it goes on.
fn put_back(client: &dyn Client, transcripts: &str, goes_on: impl Fn(&Stage, &ModelServer) -> Command) {
    let stage = Stage::new(client);
    let file = stage.scratch.repo().join("limiter.rs");
    let replies = [
        client.write(&file, "pub struct Limiter;\n"),
        Reply::text("The limiter counts requests; the header is missing."),
    ];
    let server = ModelServer::start(replies);
    finish(&mut client.session(&stage.place(&server), "Add a limiter with a Retry-After header"));
    let id = stage.sessions()[0]["id"].as_str().unwrap().to_string();
    stage.cerberus(&["archive"]);
    let is_transcript = |name: &str| name.ends_with(".jsonl");
    assert_eq!(delete(&stage.scratch.home().join(transcripts), &is_transcript), 1);

    let server = ModelServer::start([Reply::text("I go on.")]);
    put_program(&stage, client, &goes_on(&stage, &server));
    resume(&stage, &[&id]);
    let text = request_text(&server.main_requests()[0]);
    for expected in ["Add a limiter with a Retry-After header", "limiter.rs", "the header is missing", "What is left?"]
    {
        assert!(text.contains(expected), "no {expected:?} in {text}");
    }
}

#[test]
fn claude_code_resumes_a_session_whose_transcript_was_deleted() {
    put_back(&ClaudeCode, ".claude/projects", |stage, server| {
        let mut command = ClaudeCode.session(&stage.place(server), "What is left?");
        command.arg(MARK);
        command
    });
}

#[test]
fn codex_resumes_a_session_whose_transcript_was_deleted() {
    put_back(&Codex, ".codex/sessions", |stage, server| {
        let mut command = Codex.command(&stage.place(server), &["exec"]);
        command.args(["--json", "--dangerously-bypass-hook-trust", "--dangerously-bypass-approvals-and-sandbox"]);
        command.args([MARK, "What is left?"]);
        command
    });
}
