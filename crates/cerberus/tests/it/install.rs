//! `install`, `uninstall` and `doctor` on real files.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Command;

use cerberus_testkit::env::TestEnv;
use cerberus_testkit::process::write_program;
use serde_json::{Value, json};

use crate::env;

const AGENTS: [&str; 8] = ["claude-code", "codex", "gemini", "opencode", "cursor", "copilot", "qwen-code", "cline"];

/// The folders whose presence says that an agent is on this machine, in the order of [`AGENTS`].
const FOLDERS: [&str; 8] =
    [".claude", ".codex", ".gemini", ".config/opencode", ".cursor", ".copilot", ".qwen", ".cline"];

/// Every file that is touched for the user, with something in it that is not ours.
const USER_FILES: [(&str, &str); 12] = [
    (
        ".claude/settings.json",
        "{\n  \"model\": \"opus\",\n  \"hooks\": {\n    \"Stop\": [{\"hooks\": [{\"type\": \"command\", \"command\": \"say done\"}]}]\n  }\n}\n",
    ),
    (
        ".claude.json",
        "{\n  \"numStartups\": 3,\n  \"mcpServers\": {\n    \"x\": {\n      \"command\": \"y\"\n    }\n  }\n}",
    ),
    (".codex/hooks.json", "{\"hooks\":{\"Stop\":[{\"hooks\":[{\"type\":\"command\",\"command\":\"beep\"}]}]}}"),
    (".codex/config.toml", "# mine\r\nmodel = \"m\"\r\n\r\n[mcp_servers.x]\r\ncommand = \"y\"\r\n"),
    (".gemini/settings.json", "\u{feff}{\r\n\t\"theme\": \"dark\" // c\r\n}\r\n"),
    (".config/opencode/opencode.jsonc", "{\n    /* mine */\n    \"model\": \"a/b\",\n}\n"),
    (".cursor/hooks.json", "{\"version\": 1, \"hooks\": {\"stop\": [{\"command\": \"beep\"}]}}\n"),
    (".cursor/mcp.json", ""),
    (".copilot/hooks/cerberus.json", "{ }\n"),
    (".copilot/mcp-config.json", "{\"mcpServers\": {}}\n"),
    (".qwen/settings.json", "{\n  \"model\": {\"name\": \"m\"} // mine\n}\n"),
    (".cline/data/settings/cline_mcp_settings.json", "{\"mcpServers\": {\"x\": {\"command\": \"y\"}}}\n"),
];

fn user(env: &TestEnv) -> PathBuf {
    env.root().join("user")
}

fn write(path: &Path, text: &str) {
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(path, text).unwrap();
}

/// The version of Claude Code that knows every event.
const NEWEST: &str = "2.1.325 (Claude Code)";

/// A Claude Code that prints this as its version, where its own installer puts it.
fn claude(env: &TestEnv, prints: &str) {
    write_program(&user(env).join(".local/bin/claude"), &format!("#!/bin/sh\necho '{prints}'\n"));
}

fn read(path: &Path) -> String {
    fs::read_to_string(path).unwrap()
}

fn read_json(path: &Path) -> Value {
    serde_json::from_str(&read(path)).unwrap()
}

/// Everything below a folder but what is ours alone, with its bytes.
fn snapshot(dir: &Path) -> Vec<(PathBuf, Option<Vec<u8>>)> {
    let mut found = Vec::new();
    let mut dirs = vec![dir.to_path_buf()];
    while let Some(dir) = dirs.pop() {
        for entry in fs::read_dir(dir).unwrap().map(|entry| entry.unwrap().path()) {
            found.push((entry.clone(), entry.is_file().then(|| fs::read(&entry).unwrap())));
            if entry.is_dir() && entry.file_name().is_some_and(|name| name != ".git") {
                dirs.push(entry);
            }
        }
    }
    found.sort();
    found
}

fn check(env: &TestEnv, name: &str) -> Value {
    let checks = env.doctor()["checks"].as_array().unwrap().clone();
    checks.into_iter().find(|check| check["name"] == name).unwrap()
}

fn stderr(output: &std::process::Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

#[test]
fn every_agent_found_is_wired_and_uninstall_gives_every_file_back() {
    let env = env();
    claude(&env, NEWEST);
    USER_FILES.iter().for_each(|(path, text)| write(&user(&env).join(path), text));
    let before = snapshot(&user(&env));

    let dry = env.ok(&["install", "--dry-run"]);
    assert!(dry.contains("+") && dry.contains("hook codex") && dry.contains("would change (13 hooks)"), "{dry}");
    assert_eq!(snapshot(&user(&env)), before);
    assert!(!env.home().exists());

    let told = env.ok(&["install"]);
    assert_eq!(told.matches(": changed").count(), 14, "{told}");
    let after = snapshot(&user(&env));
    for (path, text) in USER_FILES {
        let wired = fs::read_to_string(user(&env).join(path)).unwrap();
        assert!(wired.contains("cerberus") && wired.len() > text.len(), "{path}: {wired}");
    }
    assert!(fs::read_to_string(user(&env).join(".gemini/settings.json")).unwrap().contains("// c"));
    for folder in [".config/opencode", ".cline"] {
        let plugin = fs::read_to_string(user(&env).join(folder).join("plugins/cerberus.js")).unwrap();
        assert!(plugin.contains(&json!(env!("CARGO_BIN_EXE_cerberus")).to_string()), "the plugin calls this binary");
    }

    let again = env.ok(&["install"]);
    assert_eq!(again.matches("nothing to change").count(), 14, "{again}");
    assert_eq!(snapshot(&user(&env)), after);

    for agent in AGENTS.into_iter().filter(|agent| *agent != "codex") {
        assert_eq!(check(&env, agent)["ok"], true, "{}", check(&env, agent));
    }
    let untrusted = check(&env, "codex");
    assert_eq!((&untrusted["ok"], &untrusted["fix"]), (&json!(false), &json!("start `codex` and accept its hooks")));

    let output = env.run(&["uninstall"]);
    assert!(output.status.success() && stderr(&output).contains("is still in"), "{output:?}");
    assert_eq!(snapshot(&user(&env)), before);
    assert!(env.ok(&["uninstall"]).contains("Cerberus was not found"));
}

#[test]
fn what_did_not_exist_is_gone_again() {
    let env = env();
    for scope in ["user", "project"] {
        let dir = if scope == "user" { user(&env) } else { env.project() };
        let before = snapshot(&dir);
        let all = [&["install", "--scope", scope, "--agent"], &AGENTS[..]].concat();
        env.ok(&all);
        assert!(snapshot(&dir).len() > before.len() + 8);
        env.ok(&["uninstall", "--scope", scope]);
        assert_eq!(snapshot(&dir), before, "{scope}");
    }
}

/// The files that name our server.
fn with_server(env: &TestEnv) -> Vec<PathBuf> {
    let names_it = |text: &[u8]| String::from_utf8_lossy(text).contains("\"mcp\"");
    let files = snapshot(&user(env)).into_iter();
    files.filter(|(_, text)| text.as_deref().is_some_and(names_it)).map(|(path, _)| path).collect()
}

#[test]
fn without_the_server_hooks_suffice() {
    let env = env();
    USER_FILES.iter().for_each(|(path, text)| write(&user(&env).join(path), text));
    let before = snapshot(&user(&env));
    let healthy = |agent: &str| assert_eq!(check(&env, agent)["ok"], true, "{}", check(&env, agent));

    let told = env.ok(&["install", "--no-mcp"]);
    assert!(!told.contains("MCP server") && told.contains("hooks)"), "{told}");
    assert!(with_server(&env).is_empty(), "{:?}", with_server(&env));
    healthy("gemini");
    env.ok(&["install"]);
    assert!(with_server(&env).is_empty(), "a later installation remembers it");
    env.ok(&["uninstall"]);
    assert_eq!(snapshot(&user(&env)), before);

    env.ok(&["install"]);
    let wired = snapshot(&user(&env));
    assert_eq!(with_server(&env).len(), 8, "uninstalling forgot it");
    let told = env.ok(&["install", "--no-mcp"]);
    assert!(told.contains(".claude.json: changed (without the MCP server)"), "{told}");
    assert!(with_server(&env).is_empty(), "{:?}", with_server(&env));
    assert_eq!(read(&user(&env).join(".claude.json")), USER_FILES[1].1);
    healthy("gemini");
    env.ok(&["install", "--mcp"]);
    assert_eq!(snapshot(&user(&env)), wired);
    env.ok(&["uninstall"]);
    assert_eq!(snapshot(&user(&env)), before);
}

#[test]
fn only_agents_that_are_found_are_wired() {
    let env = env();
    for (agent, folder) in AGENTS.into_iter().zip(FOLDERS) {
        fs::create_dir_all(user(&env).join(folder)).unwrap();
        let told = env.ok(&["install"]);
        assert!(told.lines().all(|line| line.starts_with(agent)), "{told}");
        env.ok(&["uninstall"]);
        fs::remove_dir(user(&env).join(folder)).unwrap();
    }
    // A program on PATH is as good as a folder.
    let programs = env.root().join("programs");
    write_program(&programs.join("codex"), "#!/bin/sh\necho codex-cli 1.2.3\n");
    let run = |args: &[&str]| env.command().args(args).env("PATH", &programs).output().unwrap();
    assert!(String::from_utf8_lossy(&run(&["install"]).stdout).starts_with("codex: "));
    let printed = String::from_utf8_lossy(&run(&["doctor"]).stdout).into_owned();
    assert!(printed.contains("codex-cli 1.2.3; installed (user)"), "{printed}");
}

#[test]
fn no_agent_found_is_said() {
    let output = env().run(&["install"]);
    assert_eq!(output.status.code(), Some(1));
    assert!(stderr(&output).contains("no agent was found"));
}

#[test]
fn what_is_written_for_a_shell_runs_in_one() {
    let env = env();
    let programs = env.root().join("my 'own' \"programs\"");
    fs::create_dir_all(&programs).unwrap();
    std::os::unix::fs::symlink(env!("CARGO_BIN_EXE_cerberus"), programs.join("cerberus")).unwrap();
    let all = [&["install", "--agent"], &AGENTS[..]].concat();
    assert!(env.command().args(all).env("PATH", &programs).output().unwrap().status.success());
    let (cwd, client) = (env.project(), env.root().join("client"));
    std::os::unix::fs::symlink("/bin/sh", &client).unwrap();
    for (agent, file, pointer, payload) in [
        (
            "claude-code",
            ".claude/settings.json",
            "/hooks/SessionStart/0/hooks/0/command",
            json!({"session_id": "s", "cwd": cwd, "hook_event_name": "SessionStart", "source": "startup"}),
        ),
        (
            "codex",
            ".codex/hooks.json",
            "/hooks/SessionStart/0/hooks/0/command",
            json!({"session_id": "s", "cwd": cwd, "hook_event_name": "SessionStart", "source": "startup"}),
        ),
        (
            "gemini",
            ".gemini/settings.json",
            "/hooks/SessionStart/0/hooks/0/command",
            json!({"session_id": "s", "cwd": cwd, "hook_event_name": "SessionStart", "source": "startup",
                "timestamp": "2026-01-22T13:35:14Z"}),
        ),
        (
            "qwen-code",
            ".qwen/settings.json",
            "/hooks/SessionStart/0/hooks/0/command",
            json!({"session_id": "s", "cwd": cwd, "hook_event_name": "SessionStart", "source": "startup",
                "timestamp": "2026-01-22T13:35:14Z"}),
        ),
        (
            "cursor",
            ".cursor/hooks.json",
            "/hooks/sessionStart/0/command",
            json!({"conversation_id": "s", "workspace_roots": [cwd], "hook_event_name": "sessionStart"}),
        ),
        (
            "copilot",
            ".copilot/hooks/cerberus.json",
            "/hooks/sessionStart/0/bash",
            json!({"sessionId": "s", "cwd": cwd, "timestamp": 1_769_088_914_000_u64, "source": "new"}),
        ),
    ] {
        let settings: Value = serde_json::from_str(&fs::read_to_string(user(&env).join(file)).unwrap()).unwrap();
        let line = settings.pointer(pointer).and_then(Value::as_str).unwrap().to_string();
        assert!(line.contains("my '\\''own'\\'' \"programs\""), "{line}");
        // Not the test is the agent, which uninstalls in the end, but this process.
        let line = format!("{line}\nexit $?");
        let mut child =
            env.command_for(&client).args(["-c", &line]).stdin(std::process::Stdio::piped()).spawn().unwrap();
        std::io::Write::write_all(&mut child.stdin.take().unwrap(), payload.to_string().as_bytes()).unwrap();
        assert!(child.wait().unwrap().success());
        let detail = check(&env, agent)["detail"].to_string();
        assert!(detail.contains("last event today"), "{agent}: {detail}");
    }
    env.ok(&["uninstall"]);
    assert_eq!(snapshot(&user(&env)), []);
}

#[test]
fn a_file_that_must_not_be_changed_keeps_no_other_from_it() {
    let env = env();
    write(&user(&env).join(".claude/settings.json"), "{ \"hooks\": ");
    write(&user(&env).join(".codex/config.toml"), "model = \n");
    write(&user(&env).join(".cursor/hooks.json"), "{}");
    fs::set_permissions(user(&env).join(".cursor/hooks.json"), fs::Permissions::from_mode(0o444)).unwrap();
    write(&user(&env).join(".gemini/settings.json"), "{\"mcpServers\": {\"cerberus\": {\"command\": \"npx\"}}}");
    let broken = snapshot(&user(&env));
    let output = env.run(&["install"]);
    assert_eq!(output.status.code(), Some(1));
    let message = stderr(&output);
    for part in [
        ".claude/settings.json was left alone: line 1, column 12",
        ".codex/config.toml was left alone: line 1",
        ".cursor/hooks.json was left alone: it is read-only",
        ".gemini/settings.json was left alone: `mcpServers.cerberus` already exists",
        "4 files could not be changed",
    ] {
        assert!(message.contains(part), "{part} in {message}");
    }
    for (path, bytes) in broken.iter().filter(|(_, bytes)| bytes.is_some()) {
        assert_eq!(fs::read(path).ok(), *bytes, "{}", path.display());
    }
    assert!(fs::read_to_string(user(&env).join(".codex/hooks.json")).unwrap().contains("hook codex"));
    assert!(fs::read_to_string(user(&env).join(".cursor/mcp.json")).unwrap().contains("\"mcp\""));
    let report: Value = serde_json::from_slice(&env.run(&["install", "--json"]).stdout).unwrap();
    let failed = report["agents"].as_array().unwrap().iter().filter(|told| told.get("error").is_some()).count();
    assert_eq!(failed, 4, "{report}");
    let fix = check(&env, "claude-code")["fix"].to_string();
    assert!(fix.contains("fix the file, then: cerberus install --agent claude-code"), "{fix}");
}

#[test]
fn doctor_says_what_is_wrong_with_the_hooks_and_how_to_fix_it() {
    let env = env();
    claude(&env, NEWEST);
    fs::create_dir_all(user(&env).join(".claude")).unwrap();
    let unwired = check(&env, "claude-code");
    assert_eq!((&unwired["ok"], &unwired["fix"]), (&json!(false), &json!("cerberus install --agent claude-code")));
    assert_eq!(check(&env, "gemini"), json!({"name": "gemini", "ok": true, "detail": "not found on this machine"}));

    env.ok(&["install"]);
    assert!(check(&env, "claude-code")["detail"].as_str().unwrap().ends_with("no events yet"));
    env.start("s1", "startup");
    let detail = check(&env, "claude-code")["detail"].to_string();
    assert!(detail.contains("last event today") && detail.contains("installed (user)"), "{detail}");

    let path = user(&env).join(".claude/settings.json");
    let wired = fs::read_to_string(&path).unwrap();
    fs::write(&path, wired.replace("\"StopFailure\"", "\"Other\"")).unwrap();
    assert!(check(&env, "claude-code")["detail"].to_string().contains("hooks are missing for StopFailure"));
    fs::write(&path, wired.replace(env!("CARGO_BIN_EXE_cerberus"), "/gone/cerberus")).unwrap();
    assert!(check(&env, "claude-code")["detail"].to_string().contains("/gone/cerberus does not exist"));
    fs::write(&path, "{\"enabledPlugins\": {\"cerberus@cerberus\": true}}").unwrap();
    fs::remove_file(user(&env).join(".claude.json")).unwrap();
    assert!(check(&env, "claude-code")["detail"].to_string().contains("installed by its plugin"));

    let hook = check(&env, "hook");
    assert!(hook["detail"].as_str().unwrap().contains("ms (median of"), "{hook}");
    let is_scratch = |left: fs::DirEntry| left.file_name().to_string_lossy().starts_with("doctor-");
    assert!(!fs::read_dir(env.home()).unwrap().any(|left| is_scratch(left.unwrap())), "nothing is left of measuring");
    fs::set_permissions(env.home().join("journal"), fs::Permissions::from_mode(0o755)).unwrap();
    assert_eq!(check(&env, "home")["ok"], false);
}

#[test]
fn codex_is_trusted_when_it_says_so() {
    let env = env();
    env.ok(&["install", "--agent", "codex"]);
    let hooks = user(&env).join(".codex/hooks.json");
    let config = user(&env).join(".codex/config.toml");
    let mut text = fs::read_to_string(&config).unwrap();
    for event in [
        "session_start",
        "user_prompt_submit",
        "pre_tool_use",
        "post_tool_use",
        "stop",
        "subagent_stop",
        "pre_compact",
        "post_compact",
    ] {
        text += &format!("\n[hooks.state.\"{}:{event}:0:0\"]\ntrusted_hash = \"sha256:0\"\n", hooks.display());
    }
    fs::write(&config, &text).unwrap();
    assert!(check(&env, "codex")["detail"].to_string().contains("it has accepted the hooks of only 8 of 9 events"));
    text += &format!("\n[hooks.state.\"{}:session_end:0:0\"]\ntrusted_hash = \"sha256:0\"\n", hooks.display());
    fs::write(&config, &text).unwrap();
    assert_eq!(check(&env, "codex")["ok"], true);
    // The user's own hooks, in this file and in another, stay trusted.
    let mut wired = read_json(&hooks);
    wired["hooks"]["Stop"].as_array_mut().unwrap().push(json!({"hooks": [{"type": "command", "command": "beep"}]}));
    fs::write(&hooks, wired.to_string()).unwrap();
    let foreign = format!(
        "\n[hooks.state.\"{}:stop:1:0\"]\ntrusted_hash = \"sha256:0\"\n\n[hooks.state.\"/x:stop:0:0\"]\ntrusted_hash = \"sha256:0\"\n",
        hooks.display()
    );
    fs::write(&config, text + &foreign).unwrap();
    env.ok(&["uninstall"]);
    assert_eq!(read(&config), foreign);
}

#[test]
fn trust_in_the_hooks_of_a_project_goes_with_them() {
    let env = env();
    let (hooks, config) = (env.project().join(".codex/hooks.json"), user(&env).join(".codex/config.toml"));
    write(&config, "model = \"m\"\n");
    env.ok(&["install", "--agent", "codex", "--scope", "project"]);
    assert_eq!(read(&config), "model = \"m\"\n");
    let states = format!("\n[hooks.state]\n\n[hooks.state.\"{}:stop:0:0\"]\ntrusted_hash = \"a\"\n", hooks.display());
    fs::write(&config, format!("model = \"m\"\n{states}")).unwrap();
    let told = env.ok(&["uninstall", "--scope", "project"]);
    assert!(told.contains("changed (trust in hooks)"), "{told}");
    assert_eq!(read(&config), "model = \"m\"\n");
    assert!(!hooks.exists());
}

#[test]
fn the_plugin_brings_what_install_writes() {
    let plugin = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../plugin");
    let read = |path: &str| -> Value { read_json(&plugin.join(path)) };
    let env = env();
    claude(&env, NEWEST);
    assert!(
        env.command()
            .args(["install", "--agent", "claude-code"])
            .env_remove("CERBERUS_HOME")
            .output()
            .unwrap()
            .status
            .success()
    );
    let named = |text: String| text.replace(env!("CARGO_BIN_EXE_cerberus"), "cerberus");
    let installed = |path: &str| -> Value {
        serde_json::from_str(&named(fs::read_to_string(user(&env).join(path)).unwrap())).unwrap()
    };
    // Without the program, the hooks of the plugin are silent.
    let silent = |text: String| text.replace("command -v cerberus >/dev/null || exit 0; exec cerberus", "cerberus");
    let hooks_of = |file: &str| -> Value { serde_json::from_str(&silent(read(file)["hooks"].to_string())).unwrap() };
    // Every file holds only events that came with the same version or before: a client ignores a file with others.
    let mut hooks = serde_json::Map::new();
    let more = read(".claude-plugin/plugin.json")["hooks"].clone();
    let more = more.as_array().unwrap().iter().map(|file| file.as_str().unwrap().to_string());
    for file in ["hooks/hooks.json".to_string()].into_iter().chain(more) {
        hooks.extend(hooks_of(&file).as_object().unwrap().clone());
    }
    assert_eq!(Value::from(hooks), installed(".claude/settings.json")["hooks"]);
    env.ok(&["uninstall"]);
    for (version, file) in [("nothing", "hooks/hooks.json"), ("2.1.33", "hooks/since-2.1.33.json")] {
        claude(&env, version);
        env.ok(&["install", "--agent", "claude-code"]);
        let known = installed(".claude/settings.json");
        let events = read(file)["hooks"].as_object().unwrap().clone();
        assert!(events.keys().all(|event| known["hooks"].get(event).is_some()), "{file}");
    }
    assert!(env.command().args(["install"]).env_remove("CERBERUS_HOME").output().unwrap().status.success());
    let mut server = installed(".claude.json");
    server["mcpServers"]["cerberus"].as_object_mut().unwrap().remove("type");
    assert_eq!(read(".mcp.json"), server);
    assert_eq!(read(".claude-plugin/plugin.json")["version"], env!("CARGO_PKG_VERSION"));
    let command = &read("hooks/hooks.json")["hooks"]["Stop"][0]["hooks"][0]["command"];
    let ran = Command::new("/bin/sh").args(["-c", command.as_str().unwrap()]).env("PATH", "/nowhere").output().unwrap();
    assert!(ran.status.success() && ran.stdout.is_empty() && ran.stderr.is_empty(), "{ran:?}");
    let marketplace = read("../.claude-plugin/marketplace.json");
    assert_eq!(marketplace["plugins"][0]["name"], read(".claude-plugin/plugin.json")["name"]);
    assert_eq!(marketplace["plugins"][0]["source"], "./plugin");
}
