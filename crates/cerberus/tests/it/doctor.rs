//! `doctor`: every state that an installation can be in has a true sentence and a remedy that works.

use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::{Path, PathBuf};
use std::process::Stdio;

use cerberus_testkit::env::TestEnv;
use cerberus_testkit::process::write_program;
use serde_json::{Value, json};

use crate::env;
use crate::wiring::{settings, user, write};

/// A program that prints this.
fn program(path: &Path, prints: &str) {
    write_program(path, &format!("#!/bin/sh\necho '{prints}'\n"));
}

fn claude(env: &TestEnv, version: &str) {
    program(&user(env).join(".local/bin/claude"), &format!("{version} (Claude Code)"));
}

fn check(env: &TestEnv, name: &str) -> Value {
    let checks = env.doctor()["checks"].as_array().unwrap().clone();
    checks.into_iter().find(|check| check["name"] == name).unwrap()
}

/// A Claude Code of this version, with Cerberus installed into it.
fn installed(version: &str) -> TestEnv {
    let env = env();
    claude(&env, version);
    write(&settings(&env), "{}\n");
    env.ok(&["install"]);
    env
}

/// Replaces a text in the settings, which must be there.
fn edit(env: &TestEnv, old: &str, new: &str) {
    let text = fs::read_to_string(settings(env)).unwrap();
    assert!(text.contains(old), "{text}");
    fs::write(settings(env), text.replacen(old, new, 1)).unwrap();
}

/// A state of an installation.
struct State {
    name: &'static str,
    make: fn() -> TestEnv,
    /// The check that is about it.
    check: &'static str,
    /// What it says.
    says: &'static [&'static str],
    /// What it says to do; nothing if all is well.
    fix: Option<&'static str>,
}

const STATES: &[State] = &[
    State {
        name: "nothing is installed",
        make: env,
        check: "claude-code",
        says: &["not found on this machine"],
        fix: None,
    },
    State {
        name: "an agent is found",
        make: || {
            let env = env();
            claude(&env, "2.1.325");
            write(&settings(&env), "{}");
            env
        },
        check: "claude-code",
        says: &["2.1.325 (Claude Code)", "found, but Cerberus is not installed in it"],
        fix: Some("cerberus install --agent claude-code"),
    },
    State {
        name: "all is well",
        make: || installed("2.1.325"),
        check: "claude-code",
        says: &["2.1.325 (Claude Code)", "installed (user)", "no events yet"],
        fix: None,
    },
    State {
        name: "an old client, with hooks for what it knows",
        make: || installed("2.1.50"),
        check: "claude-code",
        says: &["2.1.50 (Claude Code)", "installed (user)"],
        fix: None,
    },
    State {
        name: "the client was upgraded",
        make: || {
            let env = installed("2.1.50");
            claude(&env, "2.1.101");
            env
        },
        check: "claude-code",
        says: &["hooks are missing for PostCompact, StopFailure, TaskCreated"],
        fix: Some("cerberus install --agent claude-code"),
    },
    State {
        name: "an older client came",
        make: || {
            let env = installed("2.1.325");
            program(&user(&env).join(".claude/local/claude"), "2.1.50 (Claude Code)");
            env
        },
        check: "claude-code",
        says: &["version 2.1.50 does not know PostCompact", "may ignore the whole settings file"],
        fix: Some("cerberus install --agent claude-code"),
    },
    State {
        name: "hooks as an earlier version wrote them",
        make: || {
            let env = installed("2.1.325");
            edit(&env, " hook claude-code\",", "\", \"args\": [\"hook\", \"claude-code\"],");
            env
        },
        check: "claude-code",
        says: &["in a form that older versions misread"],
        fix: Some("cerberus install --agent claude-code"),
    },
    State {
        name: "hooks that run an older program",
        make: || {
            let env = installed("2.1.325");
            let old = env.root().join("old/cerberus");
            program(&old, "cerberus 0.0.9");
            edit(&env, env!("CARGO_BIN_EXE_cerberus"), old.to_str().unwrap());
            env
        },
        check: "claude-code",
        says: &["old/cerberus is version 0.0.9, older than this program (VERSION)"],
        fix: Some("cerberus install --agent claude-code"),
    },
    State {
        name: "hooks that run a newer program",
        make: || {
            let env = installed("2.1.325");
            let new = env.root().join("new/cerberus");
            program(&new, "cerberus 99.0.0");
            edit(&env, env!("CARGO_BIN_EXE_cerberus"), new.to_str().unwrap());
            env
        },
        check: "claude-code",
        says: &["new/cerberus is version 99.0.0, newer than this program (VERSION)"],
        fix: Some("update this program, or put the newer one first on your PATH"),
    },
    State {
        name: "hooks that run another program of the same version",
        make: || {
            let env = installed("2.1.325");
            let same = env.root().join("same/cerberus");
            program(&same, concat!("cerberus ", env!("CARGO_PKG_VERSION")));
            edit(&env, env!("CARGO_BIN_EXE_cerberus"), same.to_str().unwrap());
            env
        },
        check: "claude-code",
        says: &["same/cerberus", "no events yet"],
        fix: None,
    },
    State {
        name: "a comment that the client refuses",
        make: || {
            let env = installed("2.1.325");
            edit(&env, "{\n  \"hooks\"", "{\n  // mine\n  \"hooks\"");
            env
        },
        check: "claude-code",
        says: &["settings.json: line 2, column 3: a comment; the agent ignores the whole file"],
        fix: Some("cerberus install --agent claude-code --repair-json"),
    },
    State {
        name: "a file that is no JSON",
        make: || {
            let env = installed("2.1.325");
            write(&settings(&env), "{\n\"hooks\": oops}");
            env
        },
        check: "claude-code",
        says: &["settings.json: line 2, column 10"],
        fix: Some("fix the file, then: cerberus install --agent claude-code"),
    },
    State {
        name: "a read-only file",
        make: || {
            let env = installed("2.1.325");
            write(&settings(&env), "{}");
            fs::remove_file(user(&env).join(".claude.json")).unwrap();
            fs::set_permissions(settings(&env), fs::Permissions::from_mode(0o444)).unwrap();
            env
        },
        check: "claude-code",
        says: &["found, but Cerberus is not installed in it"],
        fix: Some("chmod u+w 'SETTINGS' && cerberus install --agent claude-code"),
    },
    State {
        name: "uninstalled on purpose",
        make: || {
            let env = installed("2.1.325");
            env.ok(&["uninstall"]);
            env
        },
        check: "claude-code",
        says: &["uninstalled; `cerberus install --agent claude-code` installs it again"],
        fix: None,
    },
    State {
        name: "uninstalled on purpose, and the file is broken since",
        make: || {
            let env = installed("2.1.325");
            env.ok(&["uninstall"]);
            write(&settings(&env), "{ // \"hooks\"");
            env
        },
        check: "claude-code",
        says: &["uninstalled; "],
        fix: None,
    },
    State {
        name: "the hooks were removed by somebody else",
        make: || {
            let env = installed("2.1.325");
            write(&settings(&env), "{}");
            env
        },
        check: "claude-code",
        says: &["hooks are missing for SessionStart, UserPromptSubmit"],
        fix: Some("cerberus install --agent claude-code"),
    },
    State {
        name: "all hooks are disabled",
        make: || {
            let env = installed("2.1.325");
            edit(&env, "{", "{\"disableAllHooks\": true,");
            env
        },
        check: "claude-code",
        says: &["its hooks are disabled: `disableAllHooks` is true in SETTINGS"],
        fix: Some("remove `disableAllHooks` from SETTINGS"),
    },
    State {
        name: "a project enables the hooks that the user disabled",
        make: || {
            let env = installed("2.1.325");
            edit(&env, "{", "{\"disableAllHooks\": true,");
            write(&env.project().join(".claude/settings.local.json"), "{\"disableAllHooks\": false}");
            env
        },
        check: "claude-code",
        says: &["no events yet"],
        fix: None,
    },
    State {
        name: "the plugin alone, with all hooks disabled",
        make: || {
            let env = env();
            write(&settings(&env), "{\"enabledPlugins\": {\"cerberus@cerberus\": true}, \"disableAllHooks\": true}");
            env
        },
        check: "claude-code",
        says: &["its hooks are disabled", "installed by its plugin"],
        fix: Some("remove `disableAllHooks` from SETTINGS"),
    },
    State {
        name: "the plugin alone, without the program on PATH",
        make: || {
            let env = env();
            write(&settings(&env), "{\"enabledPlugins\": {\"cerberus@cerberus\": true}}");
            env
        },
        check: "claude-code",
        says: &["its plugin runs `cerberus`, which is not on PATH", "installed by its plugin"],
        fix: Some("add BINARY to PATH"),
    },
    State {
        name: "the server uses another data folder",
        make: || {
            let env = env();
            claude(&env, "2.1.325");
            write(&settings(&env), "{}\n");
            let mut command = env.command();
            assert!(command.arg("install").env_remove("CERBERUS_HOME").output().unwrap().status.success());
            fs::remove_dir_all(user(&env).join(".cerberus")).unwrap();
            env
        },
        check: "claude-code",
        says: &["its MCP server uses USER/.cerberus, but hooks use HOME"],
        fix: Some("cerberus install --agent claude-code"),
    },
    State {
        name: "an import is not a hook",
        make: || {
            let env = installed("2.1.325");
            let line = json!({"type": "user", "uuid": "u1", "sessionId": "s1", "cwd": env.project(),
                "timestamp": "2026-01-22T13:00:00.000Z", "message": {"role": "user", "content": "write the parser"}});
            write(&env.root().join("s1.jsonl"), &format!("{line}\n"));
            env.ok(&["import", "claude-code", env.root().join("s1.jsonl").to_str().unwrap()]);
            assert_eq!(env.sessions().len(), 1);
            env
        },
        check: "claude-code",
        says: &["no events yet"],
        fix: None,
    },
    State {
        name: "settings that are not understood",
        make: || {
            let env = env();
            write(&env.home().join("config.toml"), "[brief\n");
            fs::set_permissions(env.home(), fs::Permissions::from_mode(0o700)).unwrap();
            env
        },
        check: "config",
        says: &["config.toml is invalid: line 1", "sessions are captured but told nothing"],
        fix: Some("fix or remove the file"),
    },
    State {
        name: "settings of loops that are not understood",
        make: || {
            let env = env();
            write(&env.home().join("config.toml"), "[loop]\nmax_iteration = 7\n");
            fs::set_permissions(env.home(), fs::Permissions::from_mode(0o700)).unwrap();
            env
        },
        check: "config",
        says: &["config.toml is invalid: line 2", "no loop starts"],
        fix: Some("fix or remove the file"),
    },
    State {
        name: "settings about privacy that are not understood",
        make: || {
            let env = env();
            write(&env.home().join("config.toml"), "[private]\npaths = 5\n");
            fs::set_permissions(env.home(), fs::Permissions::from_mode(0o700)).unwrap();
            env
        },
        check: "config",
        says: &["config.toml is invalid: line 2", "hooks store nothing"],
        fix: Some("fix or remove the file"),
    },
    State {
        name: "a file in the place of the data folder",
        make: || {
            let env = env();
            write(&env.home(), "");
            env
        },
        check: "home",
        says: &["HOME is not a folder, so nothing is stored"],
        fix: Some("move HOME away, or set CERBERUS_HOME to a folder"),
    },
];

/// The words of a state in this environment.
fn in_place(env: &TestEnv, text: &str) -> String {
    let shown = |path: PathBuf| path.display().to_string();
    let binary = Path::new(env!("CARGO_BIN_EXE_cerberus")).parent().unwrap().to_path_buf();
    text.replace("SETTINGS", &shown(settings(env)))
        .replace("HOME", &shown(env.home()))
        .replace(&format!("CERBERUS_{}", shown(env.home())), "CERBERUS_HOME")
        .replace("USER", &shown(user(env)))
        .replace("BINARY", &shown(binary))
        .replace("VERSION", env!("CARGO_PKG_VERSION"))
}

#[test]
fn every_state_is_told_truly() {
    for state in STATES {
        let env = (state.make)();
        let found = check(&env, state.check);
        let detail = found["detail"].as_str().unwrap();
        for part in state.says {
            let part = in_place(&env, part);
            assert!(detail.contains(&part), "{}: {part:?} in {found}", state.name);
        }
        assert_eq!(found["ok"], state.fix.is_none(), "{}: {found}", state.name);
        let fix = state.fix.map(|fix| in_place(&env, fix));
        assert_eq!(found["fix"].as_str(), fix.as_deref(), "{}", state.name);
        // A remedy that is a command is run, and must work.
        if let Some(command) = fix.filter(|fix| fix.starts_with("cerberus ") || fix.starts_with("chmod ")) {
            let script = command.replace("cerberus install", &format!("{} install", env!("CARGO_BIN_EXE_cerberus")));
            let output = env.command_for("sh").args(["-c", &script]).stdin(Stdio::null()).output().unwrap();
            assert!(output.status.success(), "{}: {command}: {output:?}", state.name);
            let mended = check(&env, state.check);
            assert_eq!(mended["ok"], true, "{}: {command}: {mended}", state.name);
        }
    }
}

#[test]
fn no_program_that_a_project_names_is_asked_for_its_version() {
    let env = env();
    claude(&env, "2.1.325");
    write(&settings(&env), "{}\n");
    env.ok(&["install", "--agent", "claude-code", "--scope", "project"]);
    let (named, was_started) = (env.root().join("named/cerberus"), env.root().join("was-started"));
    write_program(&named, &format!("#!/bin/sh\ntouch '{}'\necho cerberus 0.0.9\n", was_started.display()));
    for file in [".claude/settings.json", ".mcp.json"] {
        let path = env.project().join(file);
        let text = fs::read_to_string(&path).unwrap();
        fs::write(&path, text.replace(env!("CARGO_BIN_EXE_cerberus"), named.to_str().unwrap())).unwrap();
    }
    let detail = check(&env, "claude-code")["detail"].to_string();
    assert!(detail.contains("installed (project)") && detail.contains("named/cerberus"), "{detail}");
    assert!(!was_started.exists());
}

#[test]
fn status_tells_of_settings_that_are_not_understood() {
    let env = env();
    write(&env.home().join("config.toml"), "[brief\n");
    let told = env.ok(&["status"]);
    let health = told.lines().find(|line| line.starts_with("health")).unwrap();
    assert!(health.contains("config.toml is invalid: line 1") && health.contains("told nothing"), "{told}");
    assert!(env.json(&["status"])["settings_problem"].as_str().unwrap().contains("line 1"));
    fs::remove_file(env.home().join("config.toml")).unwrap();
    fs::set_permissions(env.home(), fs::Permissions::from_mode(0o700)).unwrap();
    assert!(env.ok(&["status"]).contains("health    good") && env.json(&["status"])["settings_problem"].is_null());
}

#[test]
fn status_and_doctor_agree_on_health() {
    let env = env();
    let agrees = || {
        let printed = env.run(&["doctor", "--json"]).stdout;
        let doctor: Value = serde_json::from_slice(&printed).unwrap();
        let bad = doctor["checks"].as_array().unwrap().iter().filter(|check| check["ok"] == false);
        let bad: Vec<String> = bad.map(|check| check["name"].as_str().unwrap().to_string()).collect();
        let status = env.ok(&["status"]);
        let (_, health) = status.split_once("health    ").unwrap();
        assert!(bad.iter().all(|name| health.contains(name.as_str())), "{bad:?}: {status}");
        assert_eq!(health.starts_with("good"), bad.is_empty(), "{bad:?}: {status}");
        bad
    };
    assert_eq!(agrees(), [""; 0]);
    assert!(env.ok(&["status"]).contains("no agent is connected"), "what to do before the first session");
    write(&settings(&env), "{}");
    assert_eq!(agrees(), ["claude-code"], "it is there and not connected");
    env.ok(&["install", "--agent", "claude-code"]);
    assert_eq!(agrees(), [""; 0]);
    write(&env.home().join("config.toml"), "[brief\n");
    assert!(!agrees().is_empty());
}

#[test]
fn the_plugin_alone_is_enough_when_it_finds_the_program() {
    let env = env();
    write(&settings(&env), "{\"enabledPlugins\": {\"cerberus@cerberus\": true}}");
    let programs = env.root().join("programs");
    fs::create_dir_all(&programs).unwrap();
    symlink(env!("CARGO_BIN_EXE_cerberus"), programs.join("cerberus")).unwrap();
    let path = format!("{}:/usr/bin:/bin", programs.display());
    let output = env.command().args(["doctor", "--json"]).env("PATH", path).output().unwrap();
    let report: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!((output.status.code(), &report["ok"]), (Some(0), &json!(true)), "{report}");
    assert!(report.to_string().contains("installed by its plugin"));
}

#[test]
fn a_data_folder_that_cannot_be_written_is_found() {
    let env = installed("2.1.325");
    env.start("s1", "startup");
    for dir in [env.root().to_path_buf(), env.home(), env.home().join("journal"), user(&env)] {
        fs::set_permissions(dir, fs::Permissions::from_mode(0o555)).unwrap();
    }
    // Root may write anywhere, so it becomes somebody else.
    let is_root = rustix::process::geteuid().is_root();
    let mut command = if is_root { env.command_for("setpriv") } else { env.command() };
    if is_root {
        std::os::unix::fs::chown(env.home(), Some(65_534), None).unwrap();
        command.args(["--reuid=65534", "--regid=65534", "--clear-groups"]).arg(env!("CARGO_BIN_EXE_cerberus"));
    }
    let output = command.args(["doctor", "--json"]).stdin(Stdio::null()).output().unwrap();
    for dir in [env.root().to_path_buf(), env.home(), env.home().join("journal"), user(&env)] {
        fs::set_permissions(dir, fs::Permissions::from_mode(0o755)).unwrap();
    }
    let report: Value = serde_json::from_slice(&output.stdout).unwrap_or_else(|_| panic!("{output:?}"));
    let checks = report["checks"].as_array().unwrap();
    let told = |name: &str| checks.iter().find(|check| check["name"] == name).unwrap().clone();
    let remedy = "make it readable and writable for you, or set CERBERUS_HOME to a folder that is";
    for name in ["home", "journal", "view"] {
        assert_eq!((&told(name)["ok"], &told(name)["fix"]), (&json!(false), &json!(remedy)), "{report}");
    }
    assert!(told("home")["detail"].as_str().unwrap().ends_with("is read-only, so nothing is stored"), "{report}");
}

#[test]
fn an_agent_that_deletes_its_transcripts_is_named() {
    let env = env();
    let settings = |agent: &str, text: &str| {
        let folder = env.root().join("user").join(agent);
        fs::create_dir_all(&folder).unwrap();
        fs::write(folder.join("settings.json"), text).unwrap();
    };
    let said = |agent: &str| {
        env.ok(&["install", "--agent", agent]);
        check(&env, agent)["detail"].as_str().unwrap().to_string()
    };
    settings(".claude", "{}");
    assert!(said("claude-code").contains("deletes transcripts after 30 days"), "{}", said("claude-code"));
    settings(".claude", r#"{"cleanupPeriodDays": 365}"#);
    assert!(said("claude-code").contains("deletes transcripts after 365 days"));
    settings(".gemini", r#"{"general": {"sessionRetention": {"maxAge": "2w"}}}"#);
    assert!(said("gemini").contains("deletes transcripts after 14 days"));
    settings(".gemini", r#"{"general": {"sessionRetention": {"enabled": false}}}"#);
    assert!(!said("gemini").contains("deletes"));
    settings(".gemini", "not JSON");
    settings(".claude", "[]");
    let transcript = env.root().join("user/.claude/projects/x");
    fs::create_dir_all(&transcript).unwrap();
    fs::write(transcript.join("a.jsonl"), crate::browse::transcript("aaaa-1", 19, "write it", "a.rs", &[])).unwrap();
    let output = env.run(&["import", "claude-code"]);
    let told = String::from_utf8_lossy(&output.stderr);
    assert!(told.contains("claude-code deletes transcripts after 30 days; what is imported stays"), "{told}");
}
