//! The real Claude Code, against a scripted model: what it sends to the model is what counts.

use std::time::Duration;

use cerberus_testkit::claude::{ClaudeCode, print_prompt};
use cerberus_testkit::model_server::{ModelServer, Reply, request_text};
use cerberus_testkit::process::{Running, kill_group};
use cerberus_testkit::scratch::{SYSTEM_PATH, Scratch};
use serde_json::json;

const LIMIT: Duration = Duration::from_secs(120);

fn cerberus(scratch: &Scratch, args: &[&str]) -> String {
    let output = std::process::Command::new(env!("CARGO_BIN_EXE_cerberus"))
        .args(args)
        .env_clear()
        .env("HOME", scratch.home())
        .current_dir(scratch.repo())
        .output()
        .unwrap();
    assert!(output.status.success(), "cerberus {args:?}: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8_lossy(&output.stdout).into_owned()
}

fn session(claude: &ClaudeCode, scratch: &Scratch, server: &ModelServer, prompt: &str) -> Running {
    let mut command = claude.command(&scratch.home(), &scratch.repo(), &server.url());
    Running::spawn(print_prompt(&mut command, prompt)).unwrap()
}

#[test]
fn after_kill_9_the_next_session_sends_the_brief_to_the_model() {
    let claude = ClaudeCode::locate().unwrap_or_else(|missing| panic!("{missing}"));
    let scratch = Scratch::new();
    cerberus(&scratch, &["install", "--agent", "claude-code"]);

    let path = scratch.repo().join("proxy.go");
    let content = "package proxy\n\nfunc Forward() error {\n\treturn nil\n}\n";
    let server = ModelServer::start([
        Reply::tool("Write", json!({"file_path": path, "content": content})),
        Reply::tool("Bash", json!({"command": "echo working", "description": "work"})),
        Reply::hang(),
    ]);
    let mut running = session(&claude, &scratch, &server, "Write the proxy");
    server.wait_for_main_requests(3, LIMIT).unwrap();
    kill_group(running.pid()).unwrap();
    let _ = running.wait(LIMIT).unwrap();
    cerberus(&scratch, &["record", "next", "add a mutex to the proxy"]);

    let server = ModelServer::start([Reply::text("I know where we were.")]);
    let finished = session(&claude, &scratch, &server, "Go on").wait(LIMIT).unwrap();
    assert!(finished.status.success(), "{}", finished.stderr);
    let first = &server.main_requests()[0];
    let text = request_text(first);
    for code in [
        "proj:repo",
        "impl:proxy.go",
        "impl:Forward",
        "next:interrupted:Write-the-proxy",
        "next:add-a-mutex-to-the-proxy",
    ] {
        assert!(text.contains(code), "{code} is not in the first request");
    }
    let status = cerberus(&scratch, &["memory", "session-status", "--all", "--json"]);
    let status: serde_json::Value = serde_json::from_str(&status).unwrap();
    let sessions = status["sessions"].as_array().unwrap();
    assert_eq!(sessions.len(), 3, "the killed one, the one by hand, the new one: {status}");
    assert_eq!((&sessions[0]["status"], &sessions[0]["end_trigger"]), (&json!("ended"), &json!("other")));
    let killed = &sessions[2];
    assert_eq!((&killed["status"], &killed["tools_used"]), (&json!("recovered"), &json!({"Bash": 1, "Write": 1})));
    assert_eq!(killed["end_trigger"], "the agent's process is gone");
    let facts = killed["facts"].to_string();
    assert!(!facts.contains("echo working"), "what finished was not in flight: {facts}");
}

#[test]
fn the_model_reaches_the_mcp_server_without_any_hook() {
    let claude = ClaudeCode::locate().unwrap_or_else(|missing| panic!("{missing}"));
    let scratch = Scratch::new();
    cerberus(&scratch, &["memory", "learn", "Never push to main"]);
    let server = ModelServer::start([
        Reply::tool("mcp__cerberus__session_record", json!({"kind": "next", "text": "add a mutex"})),
        Reply::tool("mcp__cerberus__session_context", json!({})),
        Reply::text("I know where we were."),
    ]);
    let servers = json!({"mcpServers": {"cerberus": {"command": env!("CARGO_BIN_EXE_cerberus"), "args": ["mcp"]}}});
    let mut command = claude.command(&scratch.home(), &scratch.repo(), &server.url());
    print_prompt(&mut command, "Where were we?").args(["--strict-mcp-config", "--mcp-config", &servers.to_string()]);
    let finished = Running::spawn(&mut command).unwrap().wait(LIMIT).unwrap();
    assert!(finished.status.success(), "{}", finished.stderr);
    let requests = server.main_requests();
    assert!(requests[0].to_string().contains("session_context"), "the model is told of the tools");
    let last = request_text(requests.last().unwrap());
    for code in ["rule:Never-push-to-main", "proj:repo", "next:add-a-mutex"] {
        assert!(last.contains(code), "{code} is not in the last request: {last}");
    }
}

#[test]
fn with_the_plugin_beside_the_settings_everything_is_told_and_counted_once() {
    let claude = ClaudeCode::locate().unwrap_or_else(|missing| panic!("{missing}"));
    let scratch = Scratch::new();
    cerberus(&scratch, &["install", "--agent", "claude-code"]);
    cerberus(&scratch, &["record", "next", "add a mutex to the proxy"]);
    let workspace = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").canonicalize().unwrap();
    let binary = std::path::Path::new(env!("CARGO_BIN_EXE_cerberus"));
    let path = format!("{}:{SYSTEM_PATH}", binary.parent().unwrap().display());

    let server = ModelServer::start([
        Reply::tool("Bash", json!({"command": "echo working", "description": "work"})),
        Reply::text("Done."),
    ]);
    let mut command = claude.command(&scratch.home(), &scratch.repo(), &server.url());
    command.env("PATH", path).arg("--plugin-dir").arg(workspace.join("plugin"));
    let finished = Running::spawn(print_prompt(&mut command, "Go on")).unwrap().wait(LIMIT).unwrap();
    assert!(finished.status.success(), "{}", finished.stderr);

    let first = request_text(&server.main_requests()[0]);
    assert_eq!(first.matches("next:add-a-mutex-to-the-proxy").count(), 1, "{first}");
    let status = cerberus(&scratch, &["memory", "session-status", "--all", "--json"]);
    let status: serde_json::Value = serde_json::from_str(&status).unwrap();
    let session = status["sessions"].as_array().unwrap().iter().find(|s| s["agent"] == "claude-code").unwrap();
    assert_eq!((&session["tools_used"], &session["turn_count"]), (&json!({"Bash": 1}), &json!(1)), "{session}");
    let journal = std::fs::read_dir(scratch.home().join(".cerberus/journal")).unwrap();
    let heard: String = journal.map(|day| std::fs::read_to_string(day.unwrap().path()).unwrap()).collect();
    assert_eq!(heard.matches("{\"start\":").count(), 2, "the plugin's hooks ran beside those of the settings");
}
