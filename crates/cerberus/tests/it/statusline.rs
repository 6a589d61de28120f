//! The status line: what it shows, and that it lives beside the user's own.

use std::io::Write;
use std::process::Stdio;

use cerberus_testkit::env::TestEnv;
use serde_json::{Value, json};

use crate::env;

/// Runs a command with this input; what it printed. It must exit 0.
pub fn print(env: &TestEnv, args: &[&str], input: &Value) -> String {
    let mut command = env.command();
    let mut child = command.args(args).stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
    let _ = child.stdin.take().unwrap().write_all(input.to_string().as_bytes());
    let output = child.wait_with_output().unwrap();
    assert!(output.status.success(), "{args:?}");
    String::from_utf8(output.stdout).unwrap()
}

fn state(env: &TestEnv, session: &str, percent: Value) -> Value {
    json!({"session_id": session, "cwd": env.project().join("src"), "workspace": {"project_dir": env.project()},
        "context_window": {"used_percentage": percent, "context_window_size": 200_000}, "cost": {"total_cost_usd": 0.5}})
}

#[test]
fn it_shows_what_a_session_was_told_and_how_full_it_is() {
    let env = env();
    let line = |session: &str, percent: Value| print(&env, &["statusline"], &state(&env, session, percent));
    assert_eq!(line("s1", json!(3)), "cerberus: nothing captured yet; `cerberus doctor` says more\n");
    assert!(!env.home().exists(), "asking creates nothing");
    env.start("s1", "startup");
    env.write_file("s1", "t1", "a.rs", "pub fn load() {}\n");
    assert_eq!(line("s1", json!(null)), "hydra · told nothing │ ctx – · $0.50\n");
    env.start("s2", "startup");
    // The view is read as it is: a command brings it up to date.
    let brief = env.json(&["brief"]);
    let (lines, tokens) = (brief["items"].as_array().unwrap().len(), &brief["tokens"]);
    let told = format!("hydra · told {lines} lines, {tokens} tokens");
    assert_eq!(line("s2", json!(38.9)), format!("{told} │ ctx 38%, redline 70% · $0.50\n"));
    assert_eq!(line("s2", json!(72)), format!("{told} │ ctx 72%, hand over soon · $0.50\n"));
    std::fs::write(env.home().join("config.toml"), "[loop]\nsoft_redline = \"20k\"\n").unwrap();
    assert_eq!(line("s2", json!(11)), format!("{told} │ ctx 11%, hand over soon · $0.50\n"));
    env.ok(&["pause"]);
    assert!(line("s2", json!(11)).starts_with("cerberus: paused"));
    let nothing = print(&env, &["statusline"], &json!("odd"));
    assert_eq!(nothing, "cerberus: the agent did not describe its session\n");
}

#[test]
fn the_users_own_line_comes_first() {
    let env = env();
    env.start("s1", "startup");
    let own = "printf '\\033[31mmine\\033[0m '; wc -c | tr -d ' '; exit 3";
    let input = state(&env, "s1", json!(1));
    let shown = print(&env, &["statusline", "--wrap", own], &input);
    let lines: Vec<&str> = shown.lines().collect();
    assert_eq!(lines[0], format!("\u{1b}[31mmine\u{1b}[0m {}", input.to_string().len()), "same input, colours kept");
    assert!(lines[1].starts_with("hydra · told nothing"), "{shown}");
    let silent = print(&env, &["statusline", "--wrap", "exit 1"], &input);
    assert_eq!(silent.lines().count(), 1, "{silent}");
}

#[test]
fn what_is_read_has_limits() {
    let env = env();
    env.start("s1", "startup");
    let endless = print(&env, &["statusline", "--wrap", "exec yes"], &state(&env, "s1", json!(1)));
    assert_eq!(endless.lines().count(), 1, "too much output is left out");
    let long = json!({"session_id": "s1", "cwd": env.project(), "filler": "x".repeat(2 << 20)});
    assert!(print(&env, &["statusline"], &long).contains("did not describe"), "the rest is not read");
    let handoff = format!("## Pending\n- [ ] first\n## Notes\n- {}\n## Pending\n- [ ] last\n", "x".repeat(300 << 10));
    let mut command = env.command();
    let mut child = command.args(["handoff", "--json"]).stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
    let _ = child.stdin.take().unwrap().write_all(handoff.as_bytes());
    let printed = String::from_utf8(child.wait_with_output().unwrap().stdout).unwrap();
    assert!(printed.contains("next:first") && !printed.contains("next:last"), "{printed}");
}

#[test]
fn install_wraps_an_existing_line_and_uninstall_restores_it() {
    for before in [
        "{\n  \"statusLine\": {\"type\": \"command\", \"command\": \"echo \\u0061 'b c'\", \"padding\": 0}\n}\n",
        "{\"model\": \"opus\"}",
    ] {
        for asked_later in [false, true] {
            let env = env();
            let settings = env.root().join("user/.claude/settings.json");
            std::fs::create_dir_all(settings.parent().unwrap()).unwrap();
            std::fs::write(&settings, before).unwrap();
            let install = ["install", "--agent", "claude-code"];
            if asked_later {
                env.ok(&install);
                assert!(!std::fs::read_to_string(&settings).unwrap().contains("statusline"), "only on request");
            }
            env.ok(&[&install[..], &["--statusline"]].concat());
            let wired: Value = serde_json::from_str(&std::fs::read_to_string(&settings).unwrap()).unwrap();
            let command = wired["statusLine"]["command"].as_str().unwrap();
            env.ok(&install);
            let again: Value = serde_json::from_str(&std::fs::read_to_string(&settings).unwrap()).unwrap();
            assert_eq!(again, wired, "it stays without asking again");
            env.start("s1", "startup");
            let mut shell = env.command_for("sh");
            let mut child = shell.args(["-c", command]).stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
            let input = state(&env, "s1", json!(1)).to_string();
            child.stdin.take().unwrap().write_all(input.as_bytes()).unwrap();
            let shown = String::from_utf8(child.wait_with_output().unwrap().stdout).unwrap();
            assert_eq!(shown.starts_with("a b c\n"), before.contains("statusLine"), "{shown}");
            assert!(shown.contains("told nothing"), "{shown}");
            env.ok(&["uninstall"]);
            assert_eq!(std::fs::read_to_string(&settings).unwrap(), before);
        }
    }
}
