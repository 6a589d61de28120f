//! What only Claude Code can do: resume, clear, compact, worktrees, subagents, plugins.

use std::path::{Path, PathBuf};
use std::process::Command;

use cerberus_testkit::clients::claude_code::ClaudeCode;
use cerberus_testkit::clients::{Client, Place};
use cerberus_testkit::model_server::{ModelServer, Reply, request_text};
use cerberus_testkit::scratch::SYSTEM_PATH;
use serde_json::{Value, json};

use super::{Stage, finish, kill_after, times, told, what_a_command_wrote_is_told};

#[test]
fn what_a_killed_session_did_is_counted_and_what_it_was_doing_is_told() {
    let stage = Stage::new(&ClaudeCode);
    let path = stage.scratch.repo().join("proxy.go");
    let content = "package proxy\n\nfunc Forward() error {\n\treturn nil\n}\n";
    let server = ModelServer::start([ClaudeCode.write(&path, content), ClaudeCode.run("echo working"), Reply::hang()]);
    kill_after(&mut ClaudeCode.session(&stage.place(&server), "Write the proxy"), &server, 3);
    stage.cerberus(&["record", "next", "add a mutex to the proxy"]);

    let text = told(&stage, &ClaudeCode, "Go on");
    for code in
        ["proj:repo", "impl:proxy.go:3 Forward", "next:interrupted:Write the proxy", "next:add a mutex to the proxy"]
    {
        assert!(text.contains(code), "{code} is not in the first request");
    }
    let sessions = stage.sessions();
    assert_eq!(sessions.len(), 3, "the killed one, the one by hand, the new one: {sessions:?}");
    assert_eq!((&sessions[0]["status"], &sessions[0]["end_trigger"]), (&json!("ended"), &json!("other")));
    let killed = &sessions[2];
    assert_eq!((&killed["status"], &killed["tools_used"]), (&json!("recovered"), &json!({"Bash": 1, "Write": 1})));
    assert_eq!(killed["end_trigger"], "the agent's process is gone");
    let facts = killed["facts"].to_string();
    assert!(!facts.contains("echo working"), "what finished was not in flight: {facts}");
}

fn with_plugin(place: &Place, prompt: &str) -> Command {
    add_plugin(ClaudeCode.session(place, prompt))
}

/// A session with our plugin, which finds the binary on PATH.
pub(super) fn add_plugin(mut command: Command) -> Command {
    let programs = Path::new(env!("CARGO_BIN_EXE_cerberus")).parent().unwrap();
    command.env("PATH", format!("{}:{SYSTEM_PATH}", programs.display()));
    command.arg("--plugin-dir").arg(plugin());
    command
}

pub(super) fn plugin() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../plugin").canonicalize().unwrap()
}

pub(super) fn journal(stage: &Stage) -> String {
    let days = std::fs::read_dir(stage.scratch.home().join(".cerberus/journal")).unwrap();
    days.map(|day| std::fs::read_to_string(day.unwrap().path()).unwrap()).collect()
}

#[test]
fn the_plugin_is_enough() {
    let stage = Stage::bare();
    let path = stage.scratch.repo().join("proxy.go");
    let server = ModelServer::start([ClaudeCode.write(&path, "package proxy\n\nfunc Forward() {}\n"), Reply::hang()]);
    kill_after(&mut with_plugin(&stage.place(&server), "Write the proxy"), &server, 2);
    let server = ModelServer::start([Reply::text("Done.")]);
    finish(&mut with_plugin(&stage.place(&server), "Go on"));
    let first = request_text(&server.main_requests()[0]);
    for code in ["impl:proxy.go:3 Forward", "next:interrupted:Write the proxy"] {
        assert_eq!(times(&first, code), 1, "{code} in {first}");
    }
}

#[test]
fn without_the_program_the_plugin_is_silent() {
    let stage = Stage::with(&ClaudeCode);
    let server = ModelServer::start([ClaudeCode.run("false"), Reply::text("It fails.")]);
    let mut session = ClaudeCode.session(&stage.place(&server), "Go on");
    let finished = finish(session.arg("--include-hook-events").arg("--plugin-dir").arg(plugin()));
    let lines = finished.stdout.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
    let ran: Vec<Value> = lines.filter(|line| line["subtype"] == "hook_response").collect();
    for event in ["SessionStart", "UserPromptSubmit", "PreToolUse", "PostToolUseFailure", "Stop"] {
        assert!(ran.iter().any(|hook| hook["hook_event"] == event), "{event} in {ran:?}");
    }
    let is_silent = |hook: &Value| {
        hook["exit_code"] == 0 && [&hook["stdout"], &hook["stderr"]].into_iter().all(|printed| printed == "")
    };
    assert!(ran.iter().all(is_silent), "{ran:?}");
    assert!(!stage.scratch.home().join(".cerberus").exists());
}

#[test]
fn with_the_plugin_beside_the_settings_everything_is_told_and_counted_once() {
    let stage = Stage::new(&ClaudeCode);
    stage.cerberus(&["record", "next", "add a mutex to the proxy"]);
    let server = ModelServer::start([ClaudeCode.run("echo working"), Reply::text("Done.")]);
    finish(&mut with_plugin(&stage.place(&server), "Go on"));

    let first = request_text(&server.main_requests()[0]);
    assert_eq!(times(&first, "next:add a mutex to the proxy"), 1, "{first}");
    let sessions = stage.sessions();
    let session = sessions.iter().find(|session| session["agent"] == "claude-code").unwrap();
    assert_eq!((&session["tools_used"], &session["turn_count"]), (&json!({"Bash": 1}), &json!(1)), "{session}");
    let starts = journal(&stage).matches("{\"start\":").count();
    assert_eq!(starts, 2, "the plugin's hooks ran beside those of the settings");
}

/// The client says which files a command changed only if its user set that.
#[test]
fn what_a_command_wrote_is_told_as_edited() {
    what_a_command_wrote_is_told(&ClaudeCode, &[]);
    what_a_command_wrote_is_told(&ClaudeCode, &["--settings", r#"{"bashEditDiffEnabled": true}"#]);
}

/// What a session wrote that has nothing else to tell.
fn write_proxy(stage: &Stage) -> Reply {
    ClaudeCode.write(&stage.scratch.repo().join("proxy.go"), "package proxy\n\nfunc Forward() {}\n")
}

/// The last session goes on; what reached the model with its first request.
fn continued(stage: &Stage, prompt: &str) -> String {
    let server = ModelServer::start([Reply::text("Going on.")]);
    finish(ClaudeCode.session(&stage.place(&server), prompt).arg("--continue"));
    request_text(&server.main_requests()[0])
}

#[test]
fn a_resumed_session_is_told_only_what_is_new() {
    let stage = Stage::new(&ClaudeCode);
    stage.cerberus(&["record", "next", "add a mutex to the proxy"]);
    let server = ModelServer::start([write_proxy(&stage), Reply::text("Written.")]);
    finish(&mut ClaudeCode.session(&stage.place(&server), "Write the proxy"));
    stage.cerberus(&["record", "next", "close idle connections"]);

    let text = continued(&stage, "Go on");
    assert!(text.contains("Write the proxy"), "it is the same conversation: {text}");
    for (code, count) in
        [("next:add a mutex to the proxy", 1), ("next:close idle connections", 1), ("impl:proxy.go", 0)]
    {
        assert_eq!(times(&text, code), count, "{code} in {text}");
    }
    let again = continued(&stage, "And on");
    assert_eq!(times(&again, "next:close idle connections"), 1, "nothing is new: {again}");
}

#[test]
fn after_compaction_a_session_knows_again_what_it_did() {
    let stage = Stage::new(&ClaudeCode);
    stage.cerberus(&["record", "next", "add a mutex to the proxy"]);
    let server = ModelServer::start([write_proxy(&stage), Reply::text("Written.")]);
    finish(&mut ClaudeCode.session(&stage.place(&server), "Write the proxy"));

    let server = ModelServer::start([Reply::text("<summary>The user asked for something.</summary>")]);
    finish(ClaudeCode.session(&stage.place(&server), "/compact").arg("--continue"));
    let text = continued(&stage, "Go on");
    assert!(text.contains("The user asked for something."), "it was compacted: {text}");
    for code in ["impl:proxy.go:3 Forward", "next:add a mutex to the proxy"] {
        assert_eq!(times(&text, code), 1, "{code} in {text}");
    }
    assert_eq!(stage.sessions().iter().filter(|session| session["agent"] == "claude-code").count(), 1);
}

#[test]
fn a_worktree_is_the_same_project() {
    let stage = Stage::new(&ClaudeCode);
    let server = ModelServer::start([write_proxy(&stage), Reply::hang()]);
    kill_after(&mut ClaudeCode.session(&stage.place(&server), "Write the proxy"), &server, 2);
    stage.scratch.git(&["worktree", "add", "--quiet", "../other"]);

    let server = ModelServer::start([Reply::text("Done.")]);
    let place = Place { cwd: stage.scratch.root().join("other"), ..stage.place(&server) };
    finish(&mut ClaudeCode.session(&place, "Go on"));
    let text = request_text(&server.main_requests()[0]);
    for code in ["proj:repo", "next:interrupted:Write the proxy"] {
        assert!(text.contains(code), "{code} in {text}");
    }
    assert!(!text.contains("impl:proxy.go"), "the file is in the other worktree alone: {text}");
}

const DELEGATE: &str = "Let somebody else do it";

/// The model hands the work to a subagent, which has this script.
fn with_subagent(script: impl IntoIterator<Item = Reply>) -> ModelServer {
    let job = json!({"description": "Write it", "prompt": "Write the file", "subagent_type": "general-purpose"});
    let own = [Reply::tool("Agent", job), Reply::text("Somebody is at it."), Reply::text("It is done.")];
    ModelServer::start(own.into_iter().map(|reply| reply.to(DELEGATE)).chain(script))
}

#[test]
fn what_a_subagent_did_belongs_to_its_session() {
    let stage = Stage::new(&ClaudeCode);
    let server = with_subagent([write_proxy(&stage), Reply::text("Written.")]);
    finish(&mut ClaudeCode.session(&stage.place(&server), DELEGATE));

    let text = told(&stage, &ClaudeCode, "Go on");
    assert_eq!(times(&text, "impl:proxy.go:3 Forward"), 1, "{text}");
    let sessions = stage.sessions();
    assert_eq!(sessions.len(), 2, "{sessions:?}");
    assert_eq!(sessions[1]["tools_used"]["Write"], 1, "{sessions:?}");
}

#[test]
fn a_subagent_is_told_the_rules() {
    let stage = Stage::new(&ClaudeCode);
    stage.cerberus(&["memory", "learn", "Install packages with pnpm"]);
    stage.cerberus(&["record", "next", "add a mutex to the proxy"]);
    let server = with_subagent([Reply::text("Written.")]);
    finish(&mut ClaudeCode.session(&stage.place(&server), DELEGATE));
    let requests: Vec<String> = server.main_requests().iter().map(request_text).collect();
    let (own, others): (Vec<&String>, Vec<&String>) = requests.iter().partition(|text| text.contains(DELEGATE));
    let [others] = others[..] else { panic!("one request of the subagent: {requests:?}") };
    for (text, count) in [(own[0], 1), (others, 0)] {
        assert_eq!(times(text, "rule:Install packages with pnpm"), 1, "{text}");
        assert_eq!(times(text, "next:add a mutex to the proxy"), count, "{text}");
    }
}

#[test]
fn the_model_reaches_the_mcp_server_without_any_hook() {
    let stage = Stage::bare();
    stage.cerberus(&["memory", "learn", "Never push to main"]);
    let server = ModelServer::start([
        Reply::tool("mcp__cerberus__session_record", json!({"kind": "next", "text": "add a mutex"})),
        Reply::tool("mcp__cerberus__session_context", json!({})),
        Reply::text("I know where we were."),
    ]);
    let servers = json!({"mcpServers": {"cerberus": {"command": env!("CARGO_BIN_EXE_cerberus"), "args": ["mcp"]}}});
    let mut command = ClaudeCode.session(&stage.place(&server), "Where were we?");
    finish(command.args(["--strict-mcp-config", "--mcp-config", &servers.to_string()]));
    let requests = server.main_requests();
    assert!(requests[0].to_string().contains("session_context"), "the model is told of the tools");
    let last = request_text(requests.last().unwrap());
    for code in ["rule:Never push to main", "proj:repo", "next:agent: add a mutex"] {
        assert!(last.contains(code), "{code} is not in the last request: {last}");
    }
}
