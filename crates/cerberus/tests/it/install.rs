//! `install` and `uninstall` on real files.

use serde_json::{Value, json};

use crate::env;

#[test]
fn install_wires_every_event_and_uninstall_gives_the_file_back() {
    let env = env();
    let path = env.root().join("user/.claude/settings.json");
    std::fs::create_dir_all(path.parent().unwrap()).unwrap();
    let before = "{\n  // my own\n  \"model\": \"opus\",\n  \"hooks\": {\n    \"Stop\": [{\"hooks\": \
        [{\"type\": \"command\", \"command\": \"say done\"}]}]\n  }\n}\n";
    std::fs::write(&path, before).unwrap();

    let dry = env.ok(&["install", "--agent", "claude-code", "--dry-run"]);
    assert!(dry.contains("+") && dry.contains("\"hook\"") && dry.contains("would change"), "{dry}");
    assert_eq!(std::fs::read_to_string(&path).unwrap(), before);

    assert!(env.ok(&["install", "--agent", "claude-code"]).contains(": changed"));
    let after = std::fs::read_to_string(&path).unwrap();
    assert!(after.contains("// my own") && after.contains("say done"));
    assert!(env.ok(&["install"]).contains("nothing to change"));
    assert_eq!(std::fs::read_to_string(&path).unwrap(), after);
    let check =
        env.json(&["doctor"])["checks"].as_array().unwrap().iter().find(|c| c["name"] == "claude-code").cloned();
    assert_eq!(check.unwrap()["ok"], true);

    env.ok(&["uninstall"]);
    assert_eq!(std::fs::read_to_string(&path).unwrap(), before);
}

#[test]
fn the_installed_command_runs_without_a_shell() {
    let env = env();
    env.ok(&["install", "--agent", "claude-code", "--scope", "project"]);
    let path = env.project().join(".claude/settings.json");
    let settings: Value = serde_json::from_str(&std::fs::read_to_string(&path).unwrap()).unwrap();
    let hook = &settings["hooks"]["PostToolUse"][0]["hooks"][0];
    assert_eq!(hook["args"], json!(["hook", "claude-code"]));
    assert!(std::path::Path::new(hook["command"].as_str().unwrap()).is_absolute());
    env.ok(&["uninstall", "--scope", "project"]);
    assert!(!path.exists(), "a file that we made goes again");
}

#[test]
fn what_does_not_parse_is_left_alone_with_a_message() {
    let env = env();
    let path = env.root().join("user/.claude/settings.json");
    std::fs::create_dir_all(path.parent().unwrap()).unwrap();
    std::fs::write(&path, "{ \"hooks\": ").unwrap();
    let output = env.run(&["install"]);
    assert_eq!(output.status.code(), Some(1));
    let message = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(message.contains("was left alone") && message.contains("line 1"), "{message}");
    assert_eq!(std::fs::read_to_string(&path).unwrap(), "{ \"hooks\": ");
}

#[test]
fn no_agent_found_is_said() {
    let output = env().run(&["install"]);
    assert_eq!(output.status.code(), Some(1));
    assert!(String::from_utf8_lossy(&output.stderr).contains("no agent was found"));
}
