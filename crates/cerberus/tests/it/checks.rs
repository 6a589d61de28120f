//! Rules that hold: the hook refuses what breaks them, only the user sets them, and everything about them is recorded.

use std::fs;
use std::path::PathBuf;

use cerberus_testkit::env::TestEnv;
use serde_json::{Value, json};

use crate::env;

/// A memory of this project in the user's words.
fn learned(env: &TestEnv, text: &str) -> String {
    env.json(&["learn", text, "--scope", "project"])["id"].as_str().unwrap().to_string()
}

/// A memory with the check that its words state.
fn checked(env: &TestEnv, text: &str, level: &str) -> String {
    let id = learned(env, text);
    env.ok(&["check", "add", &id, "--level", level]);
    id
}

/// What the hook answers before a tool use.
fn before(env: &TestEnv, session: &str, call: &str, tool: &str, input: Value) -> String {
    env.hook(session, "PreToolUse", json!({"tool_name": tool, "tool_use_id": call, "tool_input": input}))
}

fn shell(env: &TestEnv, session: &str, call: &str, line: &str) -> String {
    before(env, session, call, "Bash", json!({"command": line}))
}

/// The reason of a denial.
fn reason(reply: &str) -> String {
    let reply: Value = serde_json::from_str(reply).unwrap_or_else(|_| panic!("not denied: {reply:?}"));
    let output = &reply["hookSpecificOutput"];
    assert_eq!((&output["hookEventName"], &output["permissionDecision"]), (&json!("PreToolUse"), &json!("deny")));
    output["permissionDecisionReason"].as_str().unwrap().to_string()
}

fn ran(env: &TestEnv, session: &str, call: &str, line: &str) {
    let extra = json!({"tool_name": "Bash", "tool_use_id": call, "tool_input": {"command": line}, "tool_response": {"stdout": ""}});
    env.hook(session, "PostToolUse", extra);
}

fn journal(env: &TestEnv) -> String {
    let days = fs::read_dir(env.home().join("journal")).unwrap();
    days.map(|day| fs::read_to_string(day.unwrap().path()).unwrap()).collect()
}

fn checks_file(env: &TestEnv) -> PathBuf {
    env.home().join("checks")
}

#[test]
fn a_reminder_denies_once_and_the_identical_retry_passes() {
    let env = env();
    let id = checked(&env, "Use pnpm, not npm.", "remind");
    let said = reason(&shell(&env, "s1", "t1", "cd web && npm install left-pad"));
    let expected = format!("Not run. Your user's rule ({id}): \"Use pnpm, not npm\". Run: pnpm install left-pad.");
    assert!(said.starts_with(&expected), "{said}");
    assert!(said.ends_with(&format!("the user can run: cerberus check allow-once {id}")), "{said}");
    // The same call, reported by a second hook, is not a retry.
    reason(&shell(&env, "s1", "t1", "cd web && npm install left-pad"));
    assert_eq!(journal(&env).matches("\"denied\"").count(), 1, "it is recorded once");
    assert_eq!(shell(&env, "s1", "t2", "cd web && npm install left-pad"), "");
    reason(&shell(&env, "s1", "t3", "npm test"));
    reason(&shell(&env, "s2", "t4", "cd web && npm install left-pad"));
    assert_eq!(shell(&env, "s1", "t5", "pnpm install"), "");
    assert_eq!(before(&env, "s1", "t6", "Read", json!({"file_path": "npm"})), "");
    let decisions = &env.json(&["stats"])["checks"][0];
    assert_eq!(decisions["id"], json!(id));
    assert_eq!(
        decisions["decisions"],
        json!({"prevented": 2, "overridden": 1, "allowed": 0, "sessions": 2, "obeyed": 1})
    );
    assert!(!journal(&env).contains("left-pad"), "what was tried is not recorded");
    let stats = env.ok(&["stats"]);
    assert!(stats.contains("prevented 2, overridden 1, obeyed afterwards in 1 of 2 sessions"), "{stats}");
}

#[test]
fn a_block_holds_until_the_user_lets_it_pass_once() {
    let env = env();
    let id = checked(&env, "Never force push.", "block");
    for call in ["t1", "t2"] {
        reason(&shell(&env, "s1", call, "git push -f"));
    }
    let mut by_agent = env.command();
    by_agent.args(["check", "allow-once", &id]).env("CLAUDECODE", "1");
    assert!(!by_agent.output().unwrap().status.success());
    reason(&shell(&env, "s1", "t3", "git push -f"));
    env.ok(&["check", "allow-once", &id]);
    assert_eq!(shell(&env, "s1", "t4", "git push -f"), "");
    reason(&shell(&env, "s1", "t5", "git push -f"));
    assert_eq!(shell(&env, "s1", "t6", "git push --force-with-lease"), "");
}

#[test]
fn a_permission_is_used_once_in_any_session_and_within_an_hour() {
    let mut env = env();
    env.set_now(Some("2026-01-22T12:00:00Z"));
    let id = checked(&env, "Never force push.", "block");
    env.ok(&["check", "allow-once", &id]);
    assert_eq!(shell(&env, "s1", "t1", "git push -f"), "");
    assert_eq!(shell(&env, "s1", "t1", "git push -f"), "", "the same call, reported by a second hook");
    reason(&shell(&env, "s2", "t2", "git push -f"));
    env.set_now(Some("2026-01-22T12:10:00Z"));
    env.ok(&["check", "allow-once", &id]);
    env.set_now(Some("2026-01-22T13:09:00Z"));
    assert_eq!(shell(&env, "s2", "t3", "git push -f"), "");
    env.set_now(Some("2026-01-22T13:10:00Z"));
    env.ok(&["check", "allow-once", &id]);
    env.set_now(Some("2026-01-22T14:11:00Z"));
    reason(&shell(&env, "s2", "t4", "git push -f"));
}

#[test]
fn a_block_is_never_overridden_and_a_text_never_blocks() {
    let env = env();
    checked(&env, "Use pnpm, not npm.", "block");
    for call in ["t1", "t2", "t3"] {
        assert!(!reason(&shell(&env, "s1", call, "npm i")).contains("the identical call"), "{call}");
    }
    let id = learned(&env, "No console.log.");
    let refused = env.run(&["check", "add", &id, "--text", "console.log", "--level", "block"]);
    assert!(!refused.status.success());
    env.ok(&["check", "add", &id, "--text", "console.log", "--level", "remind"]);
    let write = |call: &str| {
        before(&env, "s1", call, "Write", json!({"file_path": env.project().join("a.ts"), "content": "console.log(1)"}))
    };
    assert!(reason(&write("w1")).starts_with("Not written."));
    assert_eq!(write("w2"), "");
}

#[test]
fn sessions_with_odd_names_are_reminded_once_too() {
    let env = env();
    checked(&env, "Use pnpm, not npm.", "remind");
    checked(&env, "Run `cargo test` before committing.", "block");
    for session in ["a \"b\" \\ c", "größe", "../x"] {
        reason(&shell(&env, session, "t1", "npm i"));
        assert_eq!(shell(&env, session, "t2", "npm i"), "", "{session}");
        env.write_file(session, "w1", "src/a.rs", "fn a() {}");
        reason(&shell(&env, session, "t3", "git commit -m x"));
    }
}

#[test]
fn the_home_folder_is_a_place_like_any_other() {
    let env = env();
    checked(&env, "Use pnpm, not npm.", "block");
    let at_home = |home: PathBuf, line: &str| {
        let payload = env.payload("s1", "PreToolUse", json!({"tool_name": "Bash", "tool_input": {"command": line}}));
        let input = env.root().join("before.json");
        fs::write(&input, payload).unwrap();
        let mut hook = env.command();
        hook.args(["hook", "claude-code"]).env("HOME", home).stdin(fs::File::open(&input).unwrap());
        String::from_utf8(hook.output().unwrap().stdout).unwrap()
    };
    let (above, name) = (env.project().parent().unwrap().to_path_buf(), env.project());
    let name = name.file_name().unwrap().to_str().unwrap();
    reason(&at_home(above.clone(), &format!("cd ~/{name} && npm i")));
    reason(&at_home(env.project(), "cd ~ && npm i"));
    assert_eq!(at_home(above.clone(), "cd ~/elsewhere && npm i"), "");
    assert_eq!(at_home(above, &format!("cd ~bob/{name} && npm i")), "");
}

#[test]
fn only_the_user_changes_checks_and_an_agent_is_told_the_line() {
    let env = env();
    let id = learned(&env, "Use pnpm, not npm.");
    let by_agent = |args: &[&str]| {
        let output = env.command().args(args).env("CLAUDECODE", "1").output().unwrap();
        (output.status.success(), String::from_utf8_lossy(&output.stderr).into_owned())
    };
    let (is_done, said) = by_agent(&["check", "add", &id, "--forbid", "npm", "--level", "block"]);
    assert!(!is_done && said.contains(&format!("cerberus check add {id} --forbid npm --level block")), "{said}");
    let (is_done, _) = by_agent(&["check", "add", "Use uv, not pip.", "--level", "block"]);
    assert!(!is_done && !env.ok(&["memory", "list", "--all"]).contains("pip"));
    env.ok(&["check", "add", &id, "--level", "remind"]);
    for args in [&["check", "level", &id, "tell"][..], &["check", "remove", &id], &["check", "allow-once", &id]] {
        assert!(!by_agent(args).0, "{args:?}");
    }
    assert_eq!(env.json(&["check", "show", &id])["level"], "remind");
    assert!(by_agent(&["check", "list"]).0 && by_agent(&["check", "show", &id]).0);
}

#[test]
fn nothing_binds_that_the_user_did_not_approve_by_hand() {
    let env = env();
    let refused = |id: &str| {
        let output = env.run(&["check", "add", id, "--forbid", "npm", "--level", "block"]);
        assert!(!output.status.success() && !checks_file(&env).exists());
        String::from_utf8_lossy(&output.stderr).into_owned()
    };
    // An agent's proposal.
    let mut by_agent = env.command();
    by_agent.args(["learn", "Never use npm.", "--json"]).env("CLAUDECODE", "1");
    let proposed: Value = serde_json::from_slice(&by_agent.output().unwrap().stdout).unwrap();
    let id = proposed["id"].as_str().unwrap().to_string();
    assert!(refused(&id).contains("it is not approved"));
    // A rule that was approved without asking.
    env.start("s1", "startup");
    env.hook("s1", "UserPromptSubmit", json!({"prompt": "Never push to main", "prompt_id": "p"}));
    env.hook("s1", "SessionEnd", json!({"reason": "other"}));
    let listed = env.json(&["memory", "list"]);
    let automatic = listed.as_array().unwrap().iter().find(|memory| memory["automatic"] == true);
    let automatic = automatic.unwrap_or_else(|| panic!("{listed}"));
    assert!(refused(automatic["id"].as_str().unwrap()).contains("it was approved without asking you"));
    // Approved by hand, it binds, and no longer when it is rejected.
    env.ok(&["memory", "approve", &id]);
    env.ok(&["check", "add", &id, "--level", "block"]);
    reason(&shell(&env, "s2", "t1", "npm i"));
    env.ok(&["memory", "reject", &id]);
    assert!(!checks_file(&env).exists());
    assert_eq!(shell(&env, "s2", "t2", "npm i"), "");
    // An imported one never does.
    let line = json!({"content": "Never use bun.", "category": "rule", "scope": "universal", "status": "approved"});
    fs::write(env.root().join("memories.jsonl"), format!("{line}\n")).unwrap();
    env.ok(&["memory", "import", env.root().join("memories.jsonl").to_str().unwrap()]);
    let listed = env.json(&["memory", "list"]);
    let imported = listed.as_array().unwrap().iter().find(|memory| memory["content"] == "Never use bun.").unwrap();
    assert!(refused(imported["id"].as_str().unwrap()).contains("you did not write it on this device"));
}

#[test]
fn a_check_survives_a_rebuild_and_binds_on_its_own_device_only() {
    let env = env();
    let id = checked(&env, "Use pnpm, not npm.", "block");
    let shown = env.json(&["check", "show", &id]);
    env.rebuild();
    assert_eq!(env.json(&["check", "show", &id]), shown);
    let compiled = fs::read_to_string(checks_file(&env)).unwrap();
    fs::remove_file(checks_file(&env)).unwrap();
    env.start("s1", "startup");
    assert_eq!(fs::read_to_string(checks_file(&env)).unwrap(), compiled, "a session's start writes it again");
    // It belongs to these words.
    env.ok(&["memory", "edit", &id, "Use npm, not pnpm."]);
    assert!(!checks_file(&env).exists());
    let shown = env.json(&["check", "show", &id]);
    assert_eq!(shown["off_because"], "the words of the memory changed since it was set");
    env.ok(&["memory", "undo", &id]);
    env.start("s1b", "startup");
    assert_eq!(fs::read_to_string(checks_file(&env)).unwrap(), compiled);
    // The same records on another device bind nobody.
    fs::write(env.home().join("device"), "0123456789abcdef").unwrap();
    env.start("s2", "startup");
    assert!(!checks_file(&env).exists());
    assert_eq!(env.json(&["check", "show", &id])["off_because"], "it was set on another device");
    // Forgotten with its memory.
    env.ok(&["memory", "forget", &id, "--yes"]);
    assert!(!journal(&env).contains("--forbid"));
}

#[test]
fn an_order_and_the_end_of_a_turn_need_runs_after_the_last_edit() {
    let env = env();
    checked(&env, "Run `cargo test` before committing.", "block");
    checked(&env, "Run `cargo fmt` before finishing a task.", "remind");
    env.start("s1", "startup");
    env.hook("s1", "UserPromptSubmit", json!({"prompt": "write it", "prompt_id": "p1"}));
    assert_eq!(shell(&env, "s1", "t1", "git commit -m x"), "", "nothing was edited");
    env.write_file("s1", "w1", "src/a.rs", "fn a() {}");
    let said = reason(&shell(&env, "s1", "t2", "git commit -m x"));
    assert!(said.contains("Run first: cargo test."), "{said}");
    assert_eq!(shell(&env, "s1", "t3", "cargo test && git commit -m x"), "");
    ran(&env, "s1", "r1", "cargo test -q");
    assert_eq!(shell(&env, "s1", "t4", "git commit -m x"), "");
    let stop = |extra: Value| env.hook("s1", "Stop", extra);
    let last = json!({"last_assistant_message": "Done", "stop_hook_active": false});
    assert_eq!(stop(json!({"last_assistant_message": "Done.", "stop_hook_active": true})), "");
    let reply: Value = serde_json::from_str(&stop(last.clone())).unwrap();
    assert_eq!(reply["decision"], "block");
    assert!(reply["reason"].as_str().unwrap().contains("Run first: cargo fmt"), "{reply}");
    assert_eq!(stop(json!({"last_assistant_message": "Done again", "stop_hook_active": false})), "", "once per turn");
    env.hook("s1", "UserPromptSubmit", json!({"prompt": "more", "prompt_id": "p2"}));
    env.write_file("s1", "w2", "src/a.rs", "fn b() {}");
    ran(&env, "s1", "r2", "cargo fmt");
    assert_eq!(stop(last.clone()), "");
    env.write_file("s1", "w3", "src/a.rs", "fn c() {}");
    let interrupted = json!({"tool_name": "Bash", "tool_use_id": "r3", "tool_input": {"command": "x"}, "error": "e", "is_interrupt": true});
    env.hook("s1", "PostToolUseFailure", interrupted);
    assert_eq!(stop(last), "", "an interrupted turn may end");
    // The hook of the repository runs the tests.
    fs::write(env.project().join(".git/hooks/pre-commit"), "#!/bin/sh\ncargo test\n").unwrap();
    assert_eq!(shell(&env, "s1", "t5", "git commit -m x"), "");
    reason(&shell(&env, "s1", "t6", "git commit --no-verify -m x"));
    // A task of the project runs them.
    fs::write(env.project().join("Makefile"), "check: lint\n\tcargo test\nlint:\n\tcargo clippy\n").unwrap();
    reason(&shell(&env, "s1", "t7", "make lint && git commit --no-verify -m x"));
    assert_eq!(shell(&env, "s1", "t8", "make check && git commit --no-verify -m x"), "");
    ran(&env, "s1", "r4", "make check");
    assert_eq!(shell(&env, "s1", "t9", "git commit --no-verify -m x"), "");
}

#[test]
fn other_projects_paused_ones_and_damaged_files_are_left_alone() {
    let env = env();
    checked(&env, "Use pnpm, not npm.", "block");
    let other = env.add_repository("other");
    let line = format!("cd {} && npm i", other.display());
    assert_eq!(shell(&env, "s1", "t1", &line), "");
    env.ok(&["pause"]);
    assert_eq!(shell(&env, "s1", "t2", "npm i"), "");
    env.ok(&["unpause"]);
    reason(&shell(&env, "s1", "t3", "npm i"));
    fs::write(checks_file(&env), "{ no list").unwrap();
    assert_eq!(shell(&env, "s1", "t4", "npm i"), "");
    let report = env.doctor().to_string();
    assert!(report.contains("is damaged"), "{report}");
    env.ok(&["check", "list"]);
    reason(&shell(&env, "s1", "t5", "npm i"));
}

#[test]
fn what_was_denied_is_remembered_without_the_journal_and_forgotten_with_it() {
    let env = env();
    checked(&env, "Use pnpm, not npm.", "remind");
    let denied = env.home().join("denied");
    reason(&shell(&env, "s1", "t1", "npm i"));
    assert_eq!(shell(&env, "s1", "t2", "npm i"), "");
    assert!(!fs::read_to_string(&denied).unwrap().contains("npm"));
    // Anything that removes records removes it; a reminder is then given once more.
    ran(&env, "s1", "t3", "ls");
    env.ok(&["forget", "--session", "s1", "--yes"]);
    assert!(!denied.exists());
    reason(&shell(&env, "s1", "t4", "npm i"));
    assert_eq!(shell(&env, "s1", "t5", "npm i"), "");
    // A reminder that cannot be remembered would be repeated for ever, so nothing is denied. A block still holds.
    fs::remove_file(&denied).unwrap();
    fs::create_dir(&denied).unwrap();
    assert_eq!(shell(&env, "s1", "t6", "npm i"), "");
    assert!(env.doctor().to_string().contains("denied"));
    checked(&env, "Never force push.", "block");
    reason(&shell(&env, "s1", "t7", "git push -f"));
}

#[test]
fn the_hook_opens_no_view() {
    let env = env();
    checked(&env, "Use pnpm, not npm.", "block");
    let views = || {
        let names = fs::read_dir(env.home()).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap());
        names.filter(|name| name.starts_with("view-")).collect::<Vec<_>>()
    };
    views().iter().for_each(|name| fs::remove_file(env.home().join(name)).unwrap());
    reason(&shell(&env, "s1", "t1", "npm i"));
    assert_eq!(shell(&env, "s1", "t2", "ls"), "");
    assert_eq!(views(), [""; 0]);
}

#[test]
fn every_host_is_refused_in_its_own_words() {
    let env = env();
    checked(&env, "Use pnpm, not npm.", "ask");
    let cwd = env.project();
    let answered = |agent: &str, payload: Value| {
        let output = env.hook_of(agent, payload.to_string().as_bytes());
        assert_eq!((output.status.code(), output.stderr.len()), (Some(0), 0));
        serde_json::from_slice::<Value>(&output.stdout).unwrap_or_else(|_| panic!("{agent} is not refused"))
    };
    let codex = json!({"session_id": "x", "turn_id": "u", "cwd": cwd, "hook_event_name": "PreToolUse", "tool_name": "Bash",
        "tool_use_id": "t", "tool_input": {"command": "npm i"}});
    assert_eq!(answered("codex", codex)["hookSpecificOutput"]["permissionDecision"], "deny", "it is never asked");
    let gemini = json!({"session_id": "g", "cwd": cwd, "hook_event_name": "BeforeTool", "timestamp": "2026-01-22T13:35:14Z",
        "transcript_path": "/h/.gemini/tmp/p/chats/session-1.jsonl", "tool_name": "run_shell_command",
        "tool_input": {"command": "npm i"}});
    assert_eq!(answered("gemini", gemini)["decision"], "deny");
    let copilot =
        json!({"sessionId": "c", "timestamp": 17, "cwd": cwd, "toolName": "bash", "toolArgs": {"command": "npm i"}});
    assert_eq!(answered("copilot", copilot)["permissionDecision"], "ask");
    let opencode = json!({"event": "before", "sessionID": "o", "cwd": cwd, "at": 1, "id": "t", "tool": "bash", "args": {"command": "npm i"}});
    assert!(answered("opencode", opencode)["deny"].as_str().unwrap().starts_with("Not run."));
    // Only on a terminal can this one ask.
    reason(&shell(&env, "s1", "t1", "npm i"));
}

/// Installs into every agent; returns the settings files with their text.
fn settings(env: &TestEnv) -> Vec<(PathBuf, Option<String>)> {
    let user = env.root().join("user");
    let files = [
        ".claude/settings.json",
        ".codex/hooks.json",
        ".gemini/settings.json",
        ".cursor/hooks.json",
        ".copilot/hooks/cerberus.json",
        ".qwen/settings.json",
    ];
    files.iter().map(|name| user.join(name)).map(|path| (path.clone(), fs::read_to_string(path).ok())).collect()
}

#[test]
fn the_hook_before_tool_uses_is_wired_only_while_a_check_is_on() {
    let env = env();
    let user = env.root().join("user");
    fs::create_dir_all(user.join(".claude")).unwrap();
    fs::write(user.join(".claude/settings.json"), "{\n  \"model\": \"opus\"\n}\n").unwrap();
    let original = settings(&env);
    fs::create_dir_all(env.home()).unwrap();
    fs::write(env.home().join("config.toml"), "[moments]\nlive = false\nedits = false\n").unwrap();
    let agents = ["claude-code", "codex", "gemini", "cursor", "copilot", "qwen-code"];
    env.ok(&[&["install", "--agent"][..], &agents].concat());
    let off = settings(&env);
    let has_hook = |files: &[(PathBuf, Option<String>)]| {
        let names = ["PreToolUse", "BeforeTool", "preToolUse", "beforeShellExecution"];
        files
            .iter()
            .filter(|(_, text)| names.iter().any(|name| text.as_ref().is_some_and(|text| text.contains(name))))
            .count()
    };
    assert_eq!(has_hook(&off), 0);
    let id = checked(&env, "Use pnpm, not npm.", "tell");
    assert_eq!(settings(&env), off);
    env.ok(&["check", "level", &id, "remind"]);
    let on = settings(&env);
    assert_eq!(has_hook(&on), agents.len());
    env.ok(&[&["install", "--agent"][..], &agents].concat());
    assert_eq!(settings(&env), on, "installing again changes nothing");
    env.ok(&["check", "level", &id, "tell"]);
    assert_eq!(settings(&env), off);
    env.ok(&["check", "level", &id, "block"]);
    env.ok(&["check", "remove", &id]);
    assert_eq!(settings(&env), off);
    env.ok(&["check", "add", &id, "--level", "block"]);
    assert_eq!(settings(&env), on);
    env.ok(&["uninstall"]);
    assert_eq!(settings(&env), original);
    // Not wired, not enforced: doctor says so.
    let report = env.doctor().to_string();
    assert!(!report.contains("does not enforce"), "{report}");
    env.ok(&[&["install", "--agent"][..], &agents].concat());
    assert_eq!(settings(&env), on);
    fs::write(user.join(".claude/settings.json"), off[0].1.as_ref().unwrap()).unwrap();
    let report = env.doctor().to_string();
    assert!(report.contains("it does not enforce your checks"), "{report}");
    env.ok(&["install", "--agent", "cline", "opencode"]);
    let report = env.doctor().to_string();
    for words in ["cannot enforce checks", "enforces checks, except those at the end of a turn"] {
        assert!(report.contains(words), "{words} in {report}");
    }
}

#[test]
fn a_check_is_replayed_over_the_past_before_it_is_on() {
    let env = env();
    env.start("s1", "startup");
    for (call, line) in [
        ("a", "npm install"),
        ("b", "npm test"),
        ("c", "pnpm install"),
        ("d", "npm --version"),
        ("e", "cd /tmp && npm i"),
    ] {
        ran(&env, "s1", call, line);
    }
    let id = learned(&env, "Use pnpm, not npm.");
    let added = env.json(&["check", "add", &id]);
    assert_eq!((&added["level"], &added["on"]), (&json!("tell"), &json!(false)));
    let replay = &added["replay"];
    assert_eq!((&replay["stopped"], &replay["of"], &replay["what"]), (&json!(2), &json!(4), &json!("uses of npm")));
    assert_eq!(replay["last_stopped"][0]["what"], "npm test");
    let shown = env.ok(&["check", "show", &id]);
    assert!(shown.contains("would have stopped 2 of 4 uses of npm") && shown.contains("let pass:"), "{shown}");
    // A sentence that the user picks becomes a memory with a check.
    let added = env.json(&["check", "add", "Never commit to main.", "--level", "remind"]);
    assert_eq!((&added["kind"], &added["on"]), (&json!("branch"), &json!(true)));
    let failed = env.run(&["check", "add", "Be nice to people.", "--level", "remind"]);
    assert!(!failed.status.success() && !env.ok(&["memory", "list"]).contains("nice"));
    fs::write(env.project().join("CLAUDE.md"), "# Rules\n\n- Never force push.\n- Be nice.\n").unwrap();
    let possible = env.ok(&["check", "list", "--possible"]);
    assert!(possible.contains("Never force push.") && possible.contains("--forbid 'git push --force'"), "{possible}");
    assert!(!possible.contains("nice"), "{possible}");
}

#[test]
fn review_shows_what_a_proposal_would_stop_and_names_checks_to_lower() {
    let env = env();
    let mut by_agent = env.command();
    by_agent.args(["learn", "Use pnpm, not npm."]).env("CLAUDECODE", "1");
    assert!(by_agent.output().unwrap().status.success());
    ran(&env, "s0", "a", "npm install");
    let id = checked(&env, "Never use curl.", "remind");
    for number in 0..3 {
        let line = format!("curl {number}");
        reason(&shell(&env, "s1", &format!("a{number}"), &line));
        assert_eq!(shell(&env, "s1", &format!("b{number}"), &line), "");
    }
    let review = env.ok(&["review"]);
    assert!(
        review.contains("as a check (--forbid npm --instead pnpm) it would have stopped 1 of 1 uses of npm"),
        "{review}"
    );
    assert!(review.contains(&format!("the check of {id} is mostly overridden")), "{review}");
}

#[test]
fn a_pause_while_checks_are_on_leaves_a_record() {
    let env = env();
    let pauses = || env.json(&["check", "list"])["pauses"].as_array().unwrap().clone();
    env.ok(&["pause"]);
    env.ok(&["unpause"]);
    checked(&env, "Use pnpm, not npm.", "block");
    assert!(pauses().is_empty(), "no check was on");
    env.ok(&["pause", "--for", "2h"]);
    assert_eq!(shell(&env, "s1", "t1", "npm i"), "", "as before, nothing is enforced");
    assert_eq!(env.json(&["status"])["checks"], "off while paused");
    assert!(env.ok(&["status"]).contains("off while paused"));
    assert!(env.doctor().to_string().contains("off while paused; switched off by a pause 1 time, the last today"));
    env.ok(&["unpause"]);
    env.ok(&["unpause"]);
    env.ok(&["pause", "--project"]);
    let expected = |env: &TestEnv| {
        let rows = env.json(&["check", "list"])["pauses"].as_array().unwrap().clone();
        rows.iter().map(|row| (row["project"].is_null(), row["lifted"] == true, row["until"].is_null())).collect()
    };
    let seen: Vec<(bool, bool, bool)> = expected(&env);
    assert_eq!(seen, [(true, false, false), (true, true, true), (false, false, true)]);
    env.rebuild();
    let again: Vec<(bool, bool, bool)> = expected(&env);
    assert_eq!(again, seen);
    let listed = env.ok(&["check", "list"]);
    assert!(listed.contains("in all projects until") && listed.contains("in this project"), "{listed}");
    env.ok(&["unpause"]);
    assert_eq!(env.json(&["status"])["checks"], "on");
}

#[test]
fn no_time_that_a_command_is_given_switches_checks_off() {
    let env = env();
    checked(&env, "Use pnpm, not npm.", "block");
    for command in [&["check", "list"][..], &["brief"]] {
        env.ok(&[command, &["--now", "2020-01-01T00:00:00Z"]].concat());
        reason(&shell(&env, "s1", command[0], "npm i"));
    }
}

#[test]
fn a_committed_opt_out_leaves_the_checks_on_until_the_user_confirms_it() {
    let env = env();
    let id = checked(&env, "Use pnpm, not npm.", "block");
    env.ok(&[
        "check",
        "add",
        "Run cargo test before every commit.",
        "--before",
        "git commit",
        "--need",
        "cargo test",
        "--level",
        "block",
    ]);
    let opt_out = env.project().join(".nocerberus");
    // The user's own file works as ever, ignored or not.
    fs::write(&opt_out, "").unwrap();
    assert_eq!(shell(&env, "s1", "t1", "npm i"), "");
    assert_eq!(env.json(&["status"])["checks"], "off in this project");
    let before = journal(&env);
    env.git(&env.project(), &["add", ".nocerberus"]);
    env.git(&env.project(), &["commit", "--quiet", "-m", "x"]);
    reason(&shell(&env, "s1", "t2", "npm i"));
    // What depends on what the session did is not known, because nothing is recorded.
    assert_eq!(shell(&env, "s1", "t3", "git commit -m x"), "");
    env.start("s1", "startup");
    env.hook("s1", "UserPromptSubmit", json!({"prompt": "Paint it", "prompt_id": "p"}));
    env.hook("s1", "Stop", json!({"last_assistant_message": "Painted."}));
    assert_eq!(journal(&env), before, "nothing is recorded");
    let waits = "if you agree with it: cerberus pause --project";
    assert!(env.ok(&["status"]).contains(waits) && env.doctor().to_string().contains(waits));
    // A worktree has a file of its own.
    let side = env.root().join("side");
    env.git(&env.project(), &["worktree", "add", "--quiet", "-b", "side", side.to_str().unwrap()]);
    let there = |call: &str| {
        let extra = json!({"tool_name": "Bash", "tool_use_id": call, "tool_input": {"command": "npm i"}, "cwd": side});
        env.hook("s2", "PreToolUse", extra)
    };
    reason(&there("t4"));
    // A pause of everything is no word about this project.
    env.ok(&["pause"]);
    assert_eq!(shell(&env, "s3", "t6", "npm i"), "");
    assert_eq!(env.json(&["status"])["checks"], "off while paused");
    env.ok(&["unpause"]);
    reason(&shell(&env, "s3", "t7", "npm i"));
    let pauses = || env.json(&["check", "list"])["pauses"].as_array().unwrap().len();
    assert_eq!(pauses(), 2);
    // `allow-once` lets it pass here too.
    env.ok(&["check", "allow-once", &id]);
    assert_eq!(shell(&env, "s1", "t5", "npm i"), "");
    let mut by_agent = env.command();
    by_agent.args(["pause", "--project"]).env("CLAUDECODE", "1");
    assert!(!by_agent.output().unwrap().status.success());
    env.ok(&["pause", "--project", "--for", "1h"]);
    assert_eq!(pauses(), 3, "it is recorded that it was switched off");
    assert_eq!((shell(&env, "s3", "t8", "npm i"), there("t9")), (String::new(), String::new()));
    assert_eq!(env.json(&["status"])["checks"], "off in this project");
    // It was confirmed once and for all.
    env.ok(&["unpause"]);
    assert_eq!(shell(&env, "s3", "ta", "npm i"), "");
}

#[test]
fn no_form_of_a_committed_opt_out_switches_checks_off() {
    for (number, name) in [".nocerberus", ".nocerberus/x", ".nocerberus/deep/x"].iter().enumerate() {
        let env = env();
        checked(&env, "Use pnpm, not npm.", "block");
        let path = env.project().join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(&path, "").unwrap();
        env.git(&env.project(), &["add", "."]);
        reason(&shell(&env, "s1", &format!("t{number}"), "npm i"));
        // What cannot be read is not the user's word.
        env.git(&env.project(), &["update-index", "--split-index"]);
        reason(&shell(&env, "s1", &format!("u{number}"), "npm i"));
        fs::write(env.project().join(".git/index"), "damaged").unwrap();
        reason(&shell(&env, "s1", &format!("v{number}"), "npm i"));
    }
}
