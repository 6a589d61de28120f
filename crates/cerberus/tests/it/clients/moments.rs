//! What reaches the model at a moment that calls for it.

use std::io::Write;
use std::process::{Command, Stdio};
use std::time::{SystemTime, UNIX_EPOCH};

use cerberus_record::time::Timestamp;
use cerberus_testkit::clients::Client;
use cerberus_testkit::clients::claude_code::ClaudeCode;
use cerberus_testkit::clients::codex::Codex;
use cerberus_testkit::model_server::{ModelServer, Reply, request_text};
use serde_json::{Value, json};

use super::{Stage, finish, times};

const TEST: &str = "import test from 'node:test'
import assert from 'node:assert'
import { readFileSync } from 'node:fs'

test('the cache is ready', () => {
  assert.equal(readFileSync('state.txt', 'utf8').trim(), 'ready')
})
";

/// A test fails, a file is changed, the test passes. When it fails again in the next session, the model is told so with
/// the result of the failed command.
fn a_test_that_failed_before_fails_again(client: &dyn Client) {
    let stage = Stage::new(client);
    let repo = stage.scratch.repo();
    let state = repo.join("state.txt");
    std::fs::write(repo.join("cache.test.mjs"), TEST).unwrap();
    let server = ModelServer::start([
        client.write(&state, "cold\n"),
        client.run("node --test"),
        client.edit(&state, "cold", "ready"),
        client.run("node --test"),
        Reply::text("The test passes."),
    ]);
    finish(&mut client.session(&stage.place(&server), "Make the test pass"));
    assert!(server.main_requests().iter().all(|request| !request_text(request).contains("seen:")), "it was new");

    std::fs::write(&state, "cold\n").unwrap();
    let server =
        ModelServer::start([client.run("node --test"), client.run("node --test"), Reply::text("I know this.")]);
    finish(&mut client.session(&stage.place(&server), "Run the tests"));
    let requests = server.main_requests();
    let last = request_text(requests.last().unwrap());
    assert!(!request_text(&requests[0]).contains("seen:"), "nothing has failed yet");
    assert!(request_text(&requests[1]).contains("seen:"), "{}", request_text(&requests[1]));
    assert_eq!(times(&last, "Changed before it passed: state.txt"), 1, "{last}");
}

#[test]
fn claude_code_is_told_what_helped_before() {
    a_test_that_failed_before_fails_again(&ClaudeCode);
}

#[test]
fn codex_is_told_what_helped_before() {
    a_test_that_failed_before_fails_again(&Codex);
}

/// Something was decided about a file, and an error was solved. The next session is told the one before it edits the file, and
/// the other with the prompt that quotes the error.
fn what_is_known_is_told_when_it_matters(client: &dyn Client) {
    let stage = Stage::new(client);
    let state = stage.scratch.repo().join("state.txt");
    std::fs::write(
        stage.scratch.repo().join("check.sh"),
        "grep -q ready state.txt || { echo 'fatal: the cache is cold' >&2; exit 3; }\n",
    )
    .unwrap();
    stage.cerberus(&["record", "decision", "state.txt is only ever cold or ready"]);
    let server = ModelServer::start([
        client.write(&state, "cold\n"),
        client.run("sh check.sh"),
        client.run("echo ready > state.txt"),
        client.run("sh check.sh"),
        Reply::text("It is ready."),
    ]);
    finish(&mut client.session(&stage.place(&server), "Warm the cache up"));
    let told = "state.txt is only ever cold or ready";

    let server = ModelServer::start([client.edit(&state, "ready", "cold"), Reply::text("Done.")]);
    finish(&mut client.session(&stage.place(&server), "Why is this?\n\nfatal: the cache is cold\n"));
    let requests: Vec<String> = server.main_requests().iter().map(request_text).collect();
    let count = |request: &String| request.matches(told).count();
    let (first, last) = (&requests[0], requests.last().unwrap());
    assert_eq!(count(last), count(first) + 1, "{last}");
    if client.pin().name == ClaudeCode.pin().name {
        // The other one does not say how a command ended.
        assert!(first.contains("seen:\"fatal: the cache is cold\"") && first.contains("> state.txt`"), "{first}");
    }
}

#[test]
fn claude_code_is_told_what_is_known_when_it_matters() {
    what_is_known_is_told_when_it_matters(&ClaudeCode);
}

#[test]
fn codex_is_told_what_is_known_when_it_matters() {
    what_is_known_is_told_when_it_matters(&Codex);
}

/// A hook of a session that this test plays, perhaps days ago.
fn heard(stage: &Stage, days_ago: Option<u64>, session: &str, event: &str, extra: Value) {
    let mut payload = json!({"session_id": session, "cwd": stage.scratch.repo(), "hook_event_name": event,
        "transcript_path": format!("/none/{session}.jsonl"), "permission_mode": "default"});
    payload.as_object_mut().unwrap().extend(extra.as_object().unwrap().clone());
    let mut hook = stage.command(&["hook", "claude-code"]);
    if let Some(days) = days_ago {
        let seconds = SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_secs() - days * 86_400;
        hook.env("CERBERUS_NOW", Timestamp::from_millis(seconds as i64 * 1_000).to_string());
    }
    let mut child = hook.stdin(Stdio::piped()).stdout(Stdio::null()).spawn().unwrap();
    child.stdin.take().unwrap().write_all(payload.to_string().as_bytes()).unwrap();
    assert!(child.wait().unwrap().success());
}

/// A whole session that changed a file, days ago.
fn worked(stage: &Stage, days: u64, prompt: &str, path: &str, command: Option<&str>, said: &str) {
    let session = format!("worked-{days}");
    let hook = |event: &str, extra: Value| heard(stage, Some(days), &session, event, extra);
    hook("SessionStart", json!({"source": "startup"}));
    hook("UserPromptSubmit", json!({ "prompt": prompt }));
    let edit = json!({"file_path": stage.scratch.repo().join(path), "old_string": "one", "new_string": "two"});
    hook("PostToolUse", json!({"tool_name": "Edit", "tool_use_id": "w1", "tool_input": edit, "tool_response": {}}));
    if let Some(command) = command {
        let response = json!({"stdout": "", "stderr": "", "interrupted": false});
        hook(
            "PostToolUse",
            json!({"tool_name": "Bash", "tool_use_id": "w2", "tool_input": {"command": command},
            "tool_response": response}),
        );
    }
    hook("Stop", json!({"last_assistant_message": said, "stop_hook_active": false}));
    hook("SessionEnd", json!({"reason": "other"}));
}

/// A prompt asks for what an earlier one asked for, about the same file. Before that file is edited, a change is known that
/// was taken back.
fn what_came_of_earlier_work_is_told(client: &dyn Client) {
    let stage = Stage::new(client);
    let queue = stage.scratch.repo().join("queue.txt");
    std::fs::write(&queue, "one\n").unwrap();
    let said = "The retry kept the id, so the broker sent the message twice.";
    worked(&stage, 40, "The retry in queue.txt sends a message twice after a timeout", "queue.txt", None, said);
    for days in 31..39 {
        worked(&stage, days, "Polish the colours of the panel", "panel.txt", None, "The panel is polished.");
    }
    let said = "A lock in queue.txt made it slower, so I took it back.";
    worked(&stage, 2, "Try a lock", "queue.txt", Some("git checkout -- queue.txt"), said);

    let server = ModelServer::start([client.edit(&queue, "one", "two"), Reply::text("Done.")]);
    let prompt = "In queue.txt a message is sent twice again when the retry has a timeout";
    finish(&mut client.session(&stage.place(&server), prompt));
    let requests: Vec<String> = server.main_requests().iter().map(request_text).collect();
    let (first, last) = (&requests[0], requests.last().unwrap());
    let past =
        "ago, changed queue.txt. The agent said then: \"The retry kept the id, so the broker sent the message twice.\"";
    assert_eq!(first.matches(past).count(), 1, "{first}");
    let tried =
        "tried:queue.txt was changed and taken back 2d ago. The agent said then: \"A lock in queue.txt made it slower";
    assert_eq!((first.matches(tried).count(), last.matches(tried).count()), (0, 1), "{last}");
}

#[test]
fn claude_code_is_told_what_came_of_earlier_work() {
    what_came_of_earlier_work_is_told(&ClaudeCode);
}

#[test]
fn codex_is_told_what_came_of_earlier_work() {
    what_came_of_earlier_work_is_told(&Codex);
}

/// A session is in the middle of a turn and has changed a file. The client is started beside it, edits the same file, and
/// runs `git checkout`: it is told of the other, and the command is held once.
fn a_session_beside_one_at_work(client: &dyn Client) {
    let stage = Stage::new(client);
    let repo = stage.scratch.repo();
    let shared = repo.join("shared.txt");
    std::fs::write(&shared, "one\n").unwrap();
    git(&stage, &["add", "."]);
    git(&stage, &["commit", "--quiet", "-m", "Shared"]);
    // The process that runs this test plays the agent at work.
    let other = |event: &str, extra: Value| heard(&stage, None, "other", event, extra);
    other("SessionStart", json!({"source": "startup"}));
    other("UserPromptSubmit", json!({"prompt": "Count to two"}));
    std::fs::write(&shared, "two\n").unwrap();
    let edit = json!({"file_path": shared, "old_string": "one", "new_string": "two"});
    other("PostToolUse", json!({"tool_name": "Edit", "tool_use_id": "o1", "tool_input": edit, "tool_response": {}}));

    let server = ModelServer::start([
        client.run("cat shared.txt"),
        client.edit(&shared, "two", "two and three"),
        client.run("git checkout -- shared.txt"),
        client.run("git checkout -- shared.txt"),
        Reply::text("Done."),
    ]);
    finish(&mut client.session(&stage.place(&server), "Count on"));
    let requests: Vec<String> = server.main_requests().iter().map(request_text).collect();
    let at = |at: usize| requests.get(at).unwrap_or_else(|| panic!("{} requests", requests.len()));
    assert!(!at(1).contains("and changed shared.txt"), "{}", at(1));
    assert_eq!(times(at(2), "at work in another window and changed shared.txt"), 1, "{}", at(2));
    assert!(at(3).contains("has not committed shared.txt. Not run: `git checkout` may take that away"), "{}", at(3));
    assert_eq!(at(4).matches("has not committed shared.txt").count(), 1, "{}", at(4));
    assert_eq!(std::fs::read_to_string(&shared).unwrap(), "one\n", "it insisted");
}

fn git(stage: &Stage, args: &[&str]) {
    let author = ["-c", "user.name=Test", "-c", "user.email=test@localhost"];
    let mut git = Command::new("git");
    finish(git.args(author).args(args).current_dir(stage.scratch.repo()).env("HOME", stage.scratch.home()));
}

#[test]
fn claude_code_is_told_who_else_is_at_work() {
    a_session_beside_one_at_work(&ClaudeCode);
}

#[test]
fn codex_is_told_who_else_is_at_work() {
    a_session_beside_one_at_work(&Codex);
}

#[test]
fn claude_code_is_told_its_rules_again_after_a_compaction() {
    let stage = Stage::new(&ClaudeCode);
    std::fs::write(stage.scratch.repo().join("CLAUDE.md"), "- NEVER edit `gen/` by hand.\n").unwrap();
    let told = "rule:NEVER edit `gen/` by hand (CLAUDE.md)";
    let server = ModelServer::start([Reply::text("Hello.")]);
    finish(&mut ClaudeCode.session(&stage.place(&server), "Say hello"));
    assert!(!request_text(&server.main_requests()[0]).contains(told));
    let server = ModelServer::start([Reply::text("The user said hello.")]);
    finish(&mut ClaudeCode.compact(&stage.place(&server)).unwrap());
    let server = ModelServer::start([Reply::text("Hello again.")]);
    finish(&mut ClaudeCode.resume(&stage.place(&server), "And again"));
    let requests = server.main_requests();
    let text = request_text(&requests[0]);
    assert_eq!(times(&text, told), 1, "{text}");
}

/// Codex compacts by itself in the middle of a turn, when the context is full.
#[test]
fn codex_is_told_its_rules_again_after_a_compaction() {
    let stage = Stage::new(&Codex);
    std::fs::write(stage.scratch.repo().join("AGENTS.md"), "- NEVER edit `gen/` by hand.\n").unwrap();
    let told = "rule:NEVER edit `gen/` by hand (AGENTS.md)";
    let server =
        ModelServer::start([Codex.run("echo one").reading(60_000), Reply::text("Counted."), Reply::text("Counted.")]);
    let mut session = Codex.session(&stage.place(&server), "Count to one");
    finish(session.args(["-c", "model_auto_compact_token_limit=50000"]));
    let requests: Vec<String> = server.requests().iter().map(request_text).collect();
    assert_eq!(times(&requests[0], told), 0);
    assert_eq!(times(requests.last().unwrap(), told), 1, "{requests:#?}");
}
