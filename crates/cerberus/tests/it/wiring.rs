//! What `install` writes: for every version of a client, in every kind of file, and by many processes at once.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::{Child, Stdio};

use cerberus_testkit::env::TestEnv;
use cerberus_testkit::process::{LIMIT, write_program};
use serde_json::{Value, json};

use crate::env;

const BASE: [&str; 7] =
    ["SessionStart", "UserPromptSubmit", "PostToolUse", "Stop", "SubagentStop", "PreCompact", "SessionEnd"];

pub fn user(env: &TestEnv) -> PathBuf {
    env.root().join("user")
}

pub fn settings(env: &TestEnv) -> PathBuf {
    user(env).join(".claude/settings.json")
}

pub fn write(path: &Path, text: &str) {
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(path, text).unwrap();
}

fn read(path: &Path) -> String {
    fs::read_to_string(path).unwrap()
}

fn read_json(path: &Path) -> Value {
    serde_json::from_str(&read(path)).unwrap()
}

fn claude(env: &TestEnv, prints: &str) {
    write_program(&user(env).join(".local/bin/claude"), &format!("#!/bin/sh\necho '{prints}'\n"));
}

fn stderr(output: &std::process::Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

fn events(env: &TestEnv) -> Vec<String> {
    read_json(&settings(env))["hooks"].as_object().unwrap().keys().cloned().collect()
}

#[test]
fn a_client_is_wired_for_the_events_it_knows() {
    for (prints, newer, said) in [
        ("1.0.128 (Claude Code)", &[][..], Some("version 1.0.128 knows 7 of 13 events")),
        ("who knows", &[], Some("its version is unknown, so 7 of 13 events are used")),
        (
            "2.1.50 (Claude Code)",
            &["SubagentStart", "PostToolUseFailure", "TaskCompleted"],
            Some("version 2.1.50 knows 10 of 13 events"),
        ),
        (
            "2.1.101 (Claude Code)",
            &["SubagentStart", "PostToolUseFailure", "TaskCompleted", "PostCompact", "StopFailure", "TaskCreated"],
            None,
        ),
    ] {
        let env = env();
        claude(&env, prints);
        let output = env.run(&["install", "--agent", "claude-code"]);
        assert!(output.status.success(), "{}", stderr(&output));
        let mut expected: Vec<&str> = [&BASE[..], newer, &["PreToolUse"]].concat();
        expected.sort_unstable();
        assert_eq!(events(&env), expected, "{prints}");
        match said {
            Some(said) => assert!(stderr(&output).contains(said), "{}", stderr(&output)),
            None => assert!(!stderr(&output).contains("events"), "{}", stderr(&output)),
        }
        for (event, list) in read_json(&settings(&env))["hooks"].as_object().unwrap() {
            let command = format!("{} hook claude-code", env!("CARGO_BIN_EXE_cerberus"));
            let hooks = json!([{"type": "command", "command": command, "timeout": 10}]);
            let expected = match event.as_str() {
                "PreToolUse" => json!([{"matcher": "Bash|Edit|MultiEdit|Write|NotebookEdit", "hooks": hooks}]),
                _ => json!([{ "hooks": hooks }]),
            };
            assert_eq!(list, &expected, "{event}");
        }
    }
}

#[test]
fn install_after_an_upgrade_adds_what_became_possible_and_uninstall_takes_all() {
    let env = env();
    write(&settings(&env), "{\n  \"permissions\": {\"deny\": [\"Bash\"]}\n}\n");
    claude(&env, "2.1.50 (Claude Code)");
    env.ok(&["install"]);
    assert_eq!(events(&env).len(), 11);
    claude(&env, "2.1.325 (Claude Code)");
    assert!(env.ok(&["install"]).contains("settings.json: changed (13 hooks)"));
    assert_eq!(events(&env).len(), 14);
    claude(&env, "2.1.50 (Claude Code)");
    env.ok(&["install"]);
    assert_eq!(events(&env).len(), 11, "an older client gets only what it knows");
    env.ok(&["uninstall"]);
    assert_eq!(read(&settings(&env)), "{\n  \"permissions\": {\"deny\": [\"Bash\"]}\n}\n");
}

#[test]
fn entries_of_an_earlier_version_are_replaced_and_removed() {
    let old = |event: &str| json!({event: [{"hooks": [{"type": "command", "command": "/old/cerberus", "args": ["hook", "claude-code"], "timeout": 10}]}]});
    let mut hooks = json!({});
    for event in BASE.into_iter().chain(["StopFailure", "TaskCreated"]) {
        hooks.as_object_mut().unwrap().extend(old(event).as_object().unwrap().clone());
    }
    let before = serde_json::to_string_pretty(&json!({"hooks": hooks, "model": "opus"})).unwrap();
    let env = env();
    claude(&env, "2.1.50 (Claude Code)");
    write(&settings(&env), &before);
    env.ok(&["install"]);
    assert!(
        !read(&settings(&env)).contains("args") && !read(&settings(&env)).contains("/old"),
        "{}",
        read(&settings(&env))
    );
    assert!(!events(&env).iter().any(|event| event == "StopFailure" || event == "TaskCreated"));
    env.ok(&["uninstall"]);
    assert_eq!(read_json(&settings(&env)), json!({"model": "opus"}));
    write(&settings(&env), &before);
    env.ok(&["uninstall"]);
    assert_eq!(read_json(&settings(&env)), json!({"model": "opus"}));
}

#[test]
fn the_bare_program_is_silent_where_nobody_reads_its_help() {
    let env = env();
    let mut child = env.command().stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    drop(child.stdin.take());
    let output = child.wait_with_output().unwrap();
    assert_eq!((output.status.code(), output.stdout.len(), output.stderr.len()), (Some(0), 0, 0), "{output:?}");
    let mut terminal = cerberus_testkit::terminal::Terminal::spawn(&env.command()).unwrap();
    assert_eq!(terminal.wait(LIMIT).unwrap().code(), Some(2), "on a terminal: help");
}

/// The server's entry of every agent, and the key of its environment.
fn servers(env: &TestEnv) -> Vec<Value> {
    let codex = read(&user(env).join(".codex/config.toml"));
    let home = codex.split("\nenv = { CERBERUS_HOME = ").nth(1).and_then(|rest| rest.split(" }\n").next()).unwrap();
    let home: Value = serde_json::from_str(home).unwrap();
    let mut found = vec![json!({"CERBERUS_HOME": home})];
    for (path, list, variables) in [
        (".claude.json", "mcpServers", "env"),
        (".gemini/settings.json", "mcpServers", "env"),
        (".config/opencode/opencode.json", "mcp", "environment"),
        (".cursor/mcp.json", "mcpServers", "env"),
        (".copilot/mcp-config.json", "mcpServers", "env"),
        (".qwen/settings.json", "mcpServers", "env"),
        (".cline/data/settings/cline_mcp_settings.json", "mcpServers", "env"),
    ] {
        found.push(read_json(&user(env).join(path))[list]["cerberus"][variables].clone());
    }
    found
}

#[test]
fn every_server_is_told_the_data_folder() {
    const AGENTS: [&str; 8] = ["claude-code", "codex", "gemini", "opencode", "cursor", "copilot", "qwen-code", "cline"];
    let env = env();
    let all = [&["install", "--agent"], &AGENTS[..]].concat();
    env.ok(&all);
    let home = json!({"CERBERUS_HOME": env.home()});
    assert_eq!(servers(&env), vec![home; 8]);
    let moved = env.root().join("moved");
    let run = |home: &Path| env.command().args(&all).env("CERBERUS_HOME", home).output().unwrap();
    assert!(run(&moved).status.success());
    assert_eq!(servers(&env), vec![json!({"CERBERUS_HOME": moved}); 8]);
    // `doctor` sees from the hooks' side that the servers are elsewhere.
    let report = env.doctor();
    for check in
        report["checks"].as_array().unwrap().iter().filter(|check| AGENTS.contains(&check["name"].as_str().unwrap()))
    {
        assert_eq!(check["ok"], false, "{check}");
        assert!(check["detail"].as_str().unwrap().contains("its MCP server uses"), "{check}");
    }
    env.ok(&["uninstall"]);
    assert!(!user(&env).join(".codex/config.toml").exists());
}

#[test]
fn a_file_that_its_agent_ignores_is_never_wired() {
    let env = env();
    let commented = "{\n  \"permissions\": {\"deny\": [\"Bash\"]}, // mine\n}\n";
    write(&settings(&env), commented);
    let output = env.run(&["install"]);
    assert_eq!(output.status.code(), Some(1));
    for part in ["line 2, column 36: a trailing comma is not strict JSON", "ignores the whole file", "--repair-json"] {
        assert!(stderr(&output).contains(part), "{part} in {}", stderr(&output));
    }
    assert_eq!(read(&settings(&env)), commented);
    let output = env.run(&["install", "--repair-json"]);
    assert!(output.status.success(), "{}", stderr(&output));
    assert_eq!(read_json(&settings(&env))["permissions"], json!({"deny": ["Bash"]}));
    let kept = stderr(&output).split("the original is in ").nth(1).unwrap().lines().next().unwrap().to_string();
    assert_eq!(read(Path::new(&kept)), commented);
    env.ok(&["uninstall"]);
    assert_eq!(read(&settings(&env)), "{\n  \"permissions\": {\"deny\": [\"Bash\"]}\n}\n");
}

#[test]
fn links_stay_and_their_targets_are_cleaned() {
    for target in [None, Some("{\"model\": \"opus\"}\n"), Some("")] {
        let env = env();
        let dotfiles = env.root().join("dotfiles.json");
        if let Some(text) = target {
            fs::write(&dotfiles, text).unwrap();
        }
        fs::create_dir_all(user(&env).join(".claude")).unwrap();
        symlink(&dotfiles, settings(&env)).unwrap();
        env.ok(&["install"]);
        assert!(read(&dotfiles).contains(" hook claude-code"));
        env.ok(&["uninstall"]);
        assert!(fs::symlink_metadata(settings(&env)).unwrap().is_symlink());
        assert_eq!(fs::read_to_string(&dotfiles).ok().as_deref(), target);
    }
}

#[test]
fn thirty_installs_at_once_lose_nothing() {
    let env = env();
    claude(&env, "2.1.325 (Claude Code)");
    let before = "{\n  \"model\": \"opus\",\n  \"hooks\": {}\n}\n";
    let codex = "model = \"m\"\n";
    write(&settings(&env), before);
    write(&user(&env).join(".codex/config.toml"), codex);
    let begin = |at: usize| -> Child {
        let mut command = env.command();
        command.arg("install").stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
        if at.is_multiple_of(3) {
            command.args(["--agent", if at.is_multiple_of(2) { "codex" } else { "claude-code" }]);
        }
        command.spawn().unwrap()
    };
    let racing: Vec<Child> = (0..30).map(begin).collect();
    for child in racing {
        let output = child.wait_with_output().unwrap();
        assert!(output.status.success(), "{}", stderr(&output));
    }
    assert_eq!(events(&env).len(), 14);
    assert!(read(&user(&env).join(".codex/config.toml")).contains("mcp_servers"));
    env.ok(&["uninstall"]);
    assert_eq!(
        (read(&settings(&env)).as_str(), read(&user(&env).join(".codex/config.toml")).as_str()),
        (before, codex)
    );
    let left = fs::read_dir(user(&env).join(".claude")).unwrap().count();
    assert_eq!(left, 1, "no temporary file is left");
}
