use std::collections::BTreeMap;
use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};

use cerberus_os::home::Home;

use super::wiring::{Repair, SettingsChange, WiringError, plan_uninstall};
use super::*;
use crate::settings::{InstallTarget, Part, ProgramVersion, strict};

const COMMAND: &str = "/usr/local/bin/cerberus";
const TARGET: InstallTarget<'_> = InstallTarget {
    command: COMMAND,
    client: Some(ProgramVersion(2, 1, 325)),
    home: None,
    checks: false,
    has_server: true,
};

fn plan_install(
    home: &Home,
    agent: Agent,
    file: &SettingsFile,
    target: &InstallTarget<'_>,
) -> Result<SettingsChange, WiringError> {
    wiring::plan_install(home, agent, file, target, Repair::No)
}

/// Every agent with its files, in a home and a project below `root`.
fn files(root: &Path, scope: InstallScope) -> Vec<(&'static Profile, SettingsFile)> {
    let home = root.join("user");
    let variable = |name: &str| (name == "HOME").then(|| OsString::from(&home));
    let surroundings = Surroundings::new(&variable, root.join("project"));
    let all = all().flat_map(|profile| (profile.files)(&surroundings, scope).into_iter().map(move |f| (profile, f)));
    // A file without parts only holds trust.
    all.filter(|(_, file)| !file.parts.is_empty()).collect()
}

fn is_toml(file: &SettingsFile) -> bool {
    file.path.extension().is_some_and(|extension| extension == "toml")
}

fn is_whole(file: &SettingsFile) -> bool {
    matches!(file.parts, [Part::Whole(_)])
}

/// Possible contents of the file before installation.
fn original_texts(file: &SettingsFile) -> Vec<Option<&'static str>> {
    let json = [
        Some("{}"),
        Some("{ }\n"),
        Some("\u{feff}{\r\n\t\"a\": 1\r\n}\r\n"),
        Some("{\n  // mine\n  \"model\": \"x\", /* y */\n  \"hooks\": {},\n}\n"),
        Some("{\n  // mine\n  \"model\": \"x\", /* y */\n  \"hooks\": {}\n}\n"),
        Some(
            "{\n      \"hooks\" : {\n   \"Stop\": [ {\"hooks\": [{\"command\": \"beep\"}]} ],\n \"stop\":[{\"command\": \"beep\"}] } }",
        ),
        Some("{\"version\":1,\"mcpServers\":{\"x\":{\"command\":\"y\"}},\"mcp\":{}}"),
        Some("{\"a\": 1, \"a\": 2}\n"),
    ];
    let toml = [
        Some("# mine\r\nmodel = \"x\"\r\n"),
        Some("\u{feff}[mcp_servers.x]\n  command = 'y'   # z"),
        Some("a = [ 1,\n2, ]\n\n\n[b.c]\n"),
    ];
    let missing_or_empty = [None, Some(""), Some(" \n")];
    match (is_whole(file), is_toml(file)) {
        (true, _) => missing_or_empty.to_vec(),
        (false, true) => [&[None, Some("")][..], &toml].concat(),
        (false, false) => {
            let accepted = |text: &Option<&'static str>| strict::refused(text.unwrap_or(""), file.syntax) == Ok(None);
            [&missing_or_empty[..], &json].concat().into_iter().filter(accepted).collect()
        }
    }
}

#[test]
fn install_and_uninstall_leave_every_file_of_every_agent_as_it_was() {
    let mut checked = 0;
    for scope in InstallScope::ALL {
        let dir = tempfile::tempdir().unwrap();
        for (profile, file) in files(dir.path(), scope) {
            for before in original_texts(&file) {
                let home = Home::new(dir.path().join("home"));
                fs::create_dir_all(dir.path().join("user")).unwrap();
                fs::create_dir_all(dir.path().join("project")).unwrap();
                if let Some(text) = before {
                    fs::create_dir_all(file.path.parent().unwrap()).unwrap();
                    fs::write(&file.path, text).unwrap();
                }
                let change = plan_install(&home, profile.agent, &file, &TARGET).unwrap();
                assert!(!change.is_none() && !change.diff().is_empty());
                change.apply(&home).unwrap();
                let wired = wiring::wiring(&file, TARGET.client).unwrap();
                assert_eq!((&wired.missing[..], wired.is_empty()), (&[][..], false), "{file:?} {before:?}");
                let after = fs::read_to_string(&file.path).unwrap();
                let again = plan_install(&home, profile.agent, &file, &TARGET).unwrap();
                assert!(again.is_none(), "{file:?}");
                again.apply(&home).unwrap();
                assert_eq!(fs::read_to_string(&file.path).unwrap(), after);
                plan_uninstall(&home, profile.agent, &file).unwrap().apply(&home).unwrap();
                assert_eq!(fs::read_to_string(&file.path).ok().as_deref(), before, "{file:?}");
                let again = plan_uninstall(&home, profile.agent, &file).unwrap();
                assert!(again.is_none());
                if before.is_none() {
                    let left = |name: &str| fs::read_dir(dir.path().join(name)).unwrap().count();
                    assert_eq!((left("user"), left("project")), (0, 0), "folders made for {file:?}");
                }
                let _ = fs::remove_dir_all(dir.path().join("user"));
                let _ = fs::remove_dir_all(dir.path().join("project"));
                checked += 1;
            }
        }
    }
    assert!(checked > 100, "only {checked} files: does this test still see them?");
}

#[test]
fn invalid_and_read_only_files_are_left_alone() {
    use std::os::unix::fs::PermissionsExt;
    let dir = tempfile::tempdir().unwrap();
    let home = Home::new(dir.path().join("home"));
    for (profile, file) in files(dir.path(), InstallScope::User) {
        fs::create_dir_all(file.path.parent().unwrap()).unwrap();
        let broken: &[&[u8]] = match (is_whole(&file), is_toml(&file)) {
            (true, _) => &[b"export const mine = 1\n", b"\xff\xfe"],
            (_, true) => {
                &[b"a = \n", b"[a]\n[a]\n", b"[mcp_servers.cerberus]\nurl = 'x'\n", b"mcp_servers = {}\n", b"\xff"]
            }
            _ => &[b"{ broken", b"[]", b"{\"hooks\": 1, \"mcpServers\": 1, \"mcp\": 1}", b"{} {}", b"\xff\xfe{}"],
        };
        for bytes in broken {
            fs::write(&file.path, bytes).unwrap();
            let error = plan_install(&home, profile.agent, &file, &TARGET).unwrap_err().to_string();
            assert!(error.contains("was left alone"), "{error}");
            assert_eq!(fs::read(&file.path).unwrap(), *bytes);
        }
        fs::write(&file.path, "").unwrap();
        fs::set_permissions(&file.path, fs::Permissions::from_mode(0o444)).unwrap();
        let error = plan_install(&home, profile.agent, &file, &TARGET).unwrap_err().to_string();
        assert!(error.contains("is read-only"), "{error}");
        fs::remove_file(&file.path).unwrap();
    }
    assert!(!home.backups_dir().exists(), "nothing was changed, so nothing was kept");
}

#[test]
fn links_are_kept_and_concurrent_changes_are_not_lost() {
    let dir = tempfile::tempdir().unwrap();
    let home = Home::new(dir.path().join("home"));
    let (profile, file) = files(dir.path(), InstallScope::User).remove(0);
    let real = dir.path().join("dotfiles.json");
    fs::create_dir_all(file.path.parent().unwrap()).unwrap();
    fs::write(&real, "{}\n").unwrap();
    std::os::unix::fs::symlink(&real, &file.path).unwrap();
    let change = plan_install(&home, profile.agent, &file, &TARGET).unwrap();
    fs::write(&real, "{\"theirs\": 1}\n").unwrap();
    assert!(change.apply(&home).unwrap_err().to_string().contains("another program changed it"));
    assert_eq!(fs::read_to_string(&real).unwrap(), "{\"theirs\": 1}\n");
    plan_install(&home, profile.agent, &file, &TARGET).unwrap().apply(&home).unwrap();
    assert!(fs::symlink_metadata(&file.path).unwrap().is_symlink());
    assert!(fs::read_to_string(&real).unwrap().contains(COMMAND));
    plan_uninstall(&home, profile.agent, &file).unwrap().apply(&home).unwrap();
    assert_eq!(fs::read_to_string(&real).unwrap(), "{\"theirs\": 1}\n");
}

#[test]
fn a_link_is_never_removed() {
    let dir = tempfile::tempdir().unwrap();
    let home = Home::new(dir.path().join("home"));
    for (index, (profile, file)) in files(dir.path(), InstallScope::User).into_iter().enumerate() {
        let real = dir.path().join(format!("real-{index}.json"));
        fs::create_dir_all(file.path.parent().unwrap()).unwrap();
        std::os::unix::fs::symlink(&real, &file.path).unwrap();
        let is_link = || fs::symlink_metadata(&file.path).unwrap().is_symlink();
        // It points to nothing: what we created is removed, and it points to nothing again.
        plan_install(&home, profile.agent, &file, &TARGET).unwrap().apply(&home).unwrap();
        assert!(is_link() && fs::read_to_string(&real).unwrap().contains(COMMAND), "{file:?}");
        plan_uninstall(&home, profile.agent, &file).unwrap().apply(&home).unwrap();
        assert!(is_link() && !real.exists(), "{file:?}");
        // It points to a file of the user.
        fs::write(&real, "").unwrap();
        plan_install(&home, profile.agent, &file, &TARGET).unwrap().apply(&home).unwrap();
        plan_uninstall(&home, profile.agent, &file).unwrap().apply(&home).unwrap();
        assert!(is_link() && fs::read_to_string(&real).unwrap().is_empty(), "{file:?}");
        // The user moved our file away and put a link in its place.
        fs::remove_file(&file.path).unwrap();
        plan_install(&home, profile.agent, &file, &TARGET).unwrap().apply(&home).unwrap();
        fs::rename(&file.path, &real).unwrap();
        std::os::unix::fs::symlink(&real, &file.path).unwrap();
        plan_uninstall(&home, profile.agent, &file).unwrap().apply(&home).unwrap();
        assert!(is_link() && !fs::read_to_string(&real).unwrap().contains(COMMAND), "{file:?}");
    }
}

#[test]
fn a_file_that_its_agent_ignores_is_left_alone_or_repaired() {
    let dir = tempfile::tempdir().unwrap();
    let home = Home::new(dir.path().join("home"));
    let text = "{\n  // mine\n  \"a\": 1,\n}\n";
    let mut refusing = Vec::new();
    for (profile, file) in
        files(dir.path(), InstallScope::User).into_iter().filter(|(_, file)| !is_toml(file) && !is_whole(file))
    {
        fs::create_dir_all(file.path.parent().unwrap()).unwrap();
        fs::write(&file.path, text).unwrap();
        let Err(error) = plan_install(&home, profile.agent, &file, &TARGET) else { continue };
        refusing.push(profile.agent.name());
        assert!(error.to_string().contains(" is not strict JSON"), "{error}");
        let repaired = wiring::plan_install(&home, profile.agent, &file, &TARGET, Repair::Yes).unwrap();
        repaired.apply(&home).unwrap();
        assert_eq!(fs::read_to_string(repaired.unrepaired().unwrap()).unwrap(), text);
        assert!(wiring::wiring(&file, TARGET.client).unwrap().missing.is_empty());
        plan_uninstall(&home, profile.agent, &file).unwrap().apply(&home).unwrap();
        let expected = strict::repair(text, file.syntax).unwrap();
        assert_eq!(fs::read_to_string(&file.path).unwrap(), expected, "the repair stays");
        // In a file that is ignored, we are not wired, whatever stands in it.
        plan_install(&home, profile.agent, &file, &TARGET).unwrap().apply(&home).unwrap();
        let wired = fs::read_to_string(&file.path).unwrap();
        fs::write(&file.path, wired.replacen("1,", "1, ", 1).replace("\n}\n", ",\n}\n")).unwrap();
        assert!(matches!(wiring::wiring(&file, TARGET.client), Err(WiringError::Ignored { .. })), "{file:?}");
        plan_uninstall(&home, profile.agent, &file).unwrap().apply(&home).unwrap();
        assert!(!fs::read_to_string(&file.path).unwrap().contains(COMMAND));
    }
    assert_eq!(refusing, ["claude-code", "claude-code", "codex", "gemini", "copilot", "copilot", "qwen-code", "cline"]);
}

#[test]
fn a_file_created_after_uninstalling_is_not_removed() {
    let dir = tempfile::tempdir().unwrap();
    let home = Home::new(dir.path().join("home"));
    for (profile, file) in files(dir.path(), InstallScope::User) {
        plan_install(&home, profile.agent, &file, &TARGET).unwrap().apply(&home).unwrap();
        plan_uninstall(&home, profile.agent, &file).unwrap().apply(&home).unwrap();
        fs::create_dir_all(file.path.parent().unwrap()).unwrap();
        fs::write(&file.path, "").unwrap();
        plan_uninstall(&home, profile.agent, &file).unwrap().apply(&home).unwrap();
        assert_eq!(fs::read_to_string(&file.path).unwrap(), "");
    }
}

#[test]
fn the_installed_text_never_changes() {
    // Codex trusts a hook by a hash of this text: a change here makes every user accept the hooks again.
    let dir = tempfile::tempdir().unwrap();
    let (_, file) =
        files(dir.path(), InstallScope::User).into_iter().find(|(_, f)| f.path.ends_with(".codex/hooks.json")).unwrap();
    let text = crate::settings::install(file.parts, "", &TARGET).unwrap();
    let written: serde_json::Value = serde_json::from_str(&text).unwrap();
    let handler = |timeout: u32| serde_json::json!([{"hooks": [{"type": "command", "command": "/usr/local/bin/cerberus hook codex", "timeout": timeout}]}]);
    let events =
        ["SessionStart", "UserPromptSubmit", "PostToolUse", "Stop", "SubagentStop", "PreCompact", "PostCompact"];
    let mut hooks: BTreeMap<&str, _> = events.into_iter().map(|event| (event, handler(10))).collect();
    hooks.insert("SessionEnd", handler(3));
    assert_eq!(written, serde_json::json!({ "hooks": hooks }));
}

#[test]
fn environment_variables_move_an_agents_folder() {
    for (agent, variable, value, expected) in [
        ("claude-code", "CLAUDE_CONFIG_DIR", "/x", ["/x/settings.json", "/x/.claude.json"]),
        ("claude-code", "HOME", "/h", ["/h/.claude/settings.json", "/h/.claude.json"]),
        ("codex", "CODEX_HOME", "/x", ["/x/hooks.json", "/x/config.toml"]),
        ("opencode", "XDG_CONFIG_HOME", "/x", ["/x/opencode/plugins/cerberus.js", "/x/opencode/opencode.json"]),
        ("cline", "CLINE_DIR", "/x", ["/x/plugins/cerberus.js", "/x/data/settings/cline_mcp_settings.json"]),
        ("cursor", "HOME", "/h", ["/h/.cursor/hooks.json", "/h/.cursor/mcp.json"]),
        ("copilot", "COPILOT_HOME", "/x", ["/x/hooks/cerberus.json", "/x/mcp-config.json"]),
        ("copilot", "HOME", "/h", ["/h/.copilot/hooks/cerberus.json", "/h/.copilot/mcp-config.json"]),
    ] {
        let ask = |name: &str| match name {
            _ if name == variable => Some(OsString::from(value)),
            "HOME" => Some(OsString::from("/elsewhere")),
            _ => None,
        };
        let surroundings = Surroundings::new(&ask, PathBuf::from("/project"));
        let profile = Profile::of(Agent::from_name(agent).unwrap()).unwrap();
        let paths: Vec<_> =
            (profile.files)(&surroundings, InstallScope::User).into_iter().map(|file| file.path).collect();
        assert_eq!(paths, expected.map(PathBuf::from));
    }
    let nowhere = Surroundings::new(&|_| None, PathBuf::from("/project"));
    assert!(
        all().all(|profile| (profile.files)(&nowhere, InstallScope::User).is_empty() && !profile.is_found(&nowhere))
    );
    assert!(crate::ALL.iter().all(|profile| profile.install.agent == profile.agent));
    assert!(all().all(|profile| !profile.program().is_empty()));
}
