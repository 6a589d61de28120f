//! Releases of Claude Code, old and new: no prompt is blocked, and the user's own settings stay in force.

use std::os::unix::fs::symlink;
use std::path::PathBuf;
use std::process::Command;

use cerberus_testkit::clients::Client;
use cerberus_testkit::clients::claude_code::ClaudeCode;
use cerberus_testkit::model_server::{ModelServer, Reply, request_text};
use serde_json::{Value, json};

use super::claude_code::{add_plugin, plugin};
use super::{Stage, finish, times, told};

fn settings(stage: &Stage) -> PathBuf {
    stage.scratch.home().join(".claude/settings.json")
}

fn write_settings(stage: &Stage, settings_text: &Value) {
    std::fs::create_dir_all(settings(stage).parent().unwrap()).unwrap();
    std::fs::write(settings(stage), settings_text.to_string()).unwrap();
}

/// What the user denied stays denied: the client did not drop the file because of our entries.
fn denial_stays_in_force(client: &dyn Client) {
    let stage = Stage::with(client);
    write_settings(&stage, &json!({"permissions": {"deny": ["Bash(touch *)"]}}));
    stage.cerberus(&["install", "--agent", "claude-code"]);
    stage.cerberus(&["record", "next", "add a mutex"]);
    let server = ModelServer::start([client.run("touch denied"), Reply::text("I may not.")]);
    finish(&mut client.session(&stage.place(&server), "Touch it"));
    let version = client.pin().version;
    assert!(!stage.scratch.repo().join("denied").exists(), "{version}: what was denied was done");
    let requests = server.main_requests();
    assert_eq!(times(&request_text(&requests[0]), "next:add a mutex"), 1, "{version}: our hooks ran");
    let printed = stage.try_cerberus(&["doctor"]);
    assert!(printed.contains(&format!("ok   claude-code  {version} (Claude Code); installed (user)")), "{printed}");
}

/// Entries of an earlier version run the bare program where `args` are ignored. The prompt must get through, alone.
fn old_entries_block_nothing(client: &dyn Client) {
    let stage = Stage::with(client);
    let program = env!("CARGO_BIN_EXE_cerberus");
    let handler = json!({"type": "command", "command": program, "args": ["hook", "claude-code"], "timeout": 10});
    let list = json!([{ "hooks": [handler] }]);
    write_settings(&stage, &json!({"hooks": {"SessionStart": list, "UserPromptSubmit": list, "Stop": list}}));
    let text = told(&stage, client, "Go on with it");
    assert!(text.contains("Go on with it") && !text.contains("Usage: cerberus"), "{text}");
    // Installing again makes them work.
    stage.cerberus(&["record", "next", "add a mutex"]);
    stage.cerberus(&["install", "--agent", "claude-code"]);
    assert_eq!(times(&told(&stage, client, "Go on"), "next:add a mutex"), 1);
    stage.cerberus(&["uninstall"]);
    assert_eq!(std::fs::read_to_string(settings(&stage)).unwrap(), "{}");
}

/// A path that a shell would take apart.
fn any_path_is_quoted(client: &dyn Client) {
    let stage = Stage::with(client);
    let programs = stage.scratch.root().join("my 'own' \"$HOME\" programs");
    std::fs::create_dir(&programs).unwrap();
    symlink(env!("CARGO_BIN_EXE_cerberus"), programs.join("cerberus")).unwrap();
    let mut install = Command::new(programs.join("cerberus"));
    install.args(["install", "--agent", "claude-code"]).env_clear().current_dir(stage.scratch.repo());
    install.env("HOME", stage.scratch.home()).env("PATH", format!("{}:{}", programs.display(), stage.path));
    finish(&mut install);
    assert!(std::fs::read_to_string(settings(&stage)).unwrap().contains("programs/cerberus' hook claude-code"));
    stage.cerberus(&["record", "next", "add a mutex"]);
    assert_eq!(times(&told(&stage, client, "Go on"), "next:add a mutex"), 1, "{}", client.pin().version);
}

/// The plugin alone, on any release.
fn plugin_works(client: &dyn Client) {
    let stage = Stage::with(client);
    stage.cerberus(&["record", "next", "add a mutex"]);
    let server = ModelServer::start([client.run("false"), Reply::text("It fails.")]);
    finish(&mut add_plugin(client.session(&stage.place(&server), "Go on")));
    assert_eq!(times(&request_text(&server.main_requests()[0]), "next:add a mutex"), 1, "{}", client.pin().version);
    let sessions = stage.sessions();
    let session = sessions.iter().find(|session| session["agent"] == "claude-code").unwrap();
    assert_eq!(session["tools_used"], json!({"Bash": 1}), "{}: a failing tool is reported", client.pin().version);
}

/// The client's own check of the plugin, with its skill, command and hooks.
fn plugin_is_valid(client: &dyn Client) {
    let stage = Stage::with(client);
    let server = ModelServer::start([]);
    let session = client.session(&stage.place(&server), "");
    let mut validate = Command::new(client.pin().locate().unwrap());
    let variables = session.get_envs().filter_map(|(name, value)| Some((name, value?)));
    validate.args(["plugin", "validate"]).arg(plugin()).env_clear().envs(variables);
    let finished = finish(validate.current_dir(stage.scratch.repo()));
    assert!(finished.stdout.contains("Validation passed\n"), "{}: {}", client.pin().version, finished.stdout);
}

#[test]
fn the_newest_release() {
    for check in [denial_stays_in_force, old_entries_block_nothing, any_path_is_quoted, plugin_works, plugin_is_valid] {
        check(&ClaudeCode);
    }
}

#[cfg(feature = "all-clients")]
mod old {
    use cerberus_testkit::clients::claude_code::OLD;

    #[test]
    fn denials_stay_in_force() {
        OLD.iter().for_each(|client| super::denial_stays_in_force(client));
    }

    #[test]
    fn entries_of_an_earlier_version_block_nothing() {
        OLD.iter().for_each(|client| super::old_entries_block_nothing(client));
    }

    #[test]
    fn paths_are_quoted() {
        OLD.iter().for_each(|client| super::any_path_is_quoted(client));
    }

    #[test]
    fn the_plugin_works() {
        OLD.iter().for_each(|client| super::plugin_works(client));
    }

    #[test]
    fn the_plugin_is_valid() {
        OLD.iter().for_each(|client| super::plugin_is_valid(client));
    }
}
