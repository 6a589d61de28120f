//! Secrets are cut before anything is written, whichever way they come; what an older version left is found and cut.

use std::fs;
use std::path::PathBuf;

use cerberus_store::journal;
use cerberus_testkit::env::TestEnv;
use serde_json::json;

use crate::doors::{AGENTS, IMPORTED, Story, holding, holds, hooks, mcp, printed, transcript};
use crate::env;

/// Put together here, so that no scanner takes this file for a leak.
const TOKEN: &str = concat!("gh", "p_9aZ8bY7cX6dW5eV4fU3gT2hS1iR0jQ9kP8l");
const PASSWORD: &str = "Tr0ub4dor-and-three";

fn text() -> String {
    format!("Deploy with {TOKEN} and DB_PASSWORD={PASSWORD} before lunch")
}

fn nothing_is_left(env: &TestEnv, door: &str) {
    let printed = printed(env);
    for secret in [TOKEN, PASSWORD] {
        assert_eq!(holding(env, secret), Vec::<PathBuf>::new(), "{door}");
        assert!(!printed.contains(secret), "{door}: {printed}");
    }
}

#[test]
fn a_folder_with_a_secret_in_its_name_is_found_and_its_name_is_not_stored() {
    let story = Story {
        prompt: "write the parser",
        command: "cargo test",
        output: "ok",
        path: "parser.rs",
        content: "fn parse() {}\n",
        message: "Done.",
    };
    for agent in AGENTS {
        let env = env();
        let folder = env.add_repository(&format!("web {TOKEN}"));
        hooks(&env, agent, &folder, story);
        let brief = env.command().args(["brief", "--cwd"]).arg(&folder).output().unwrap();
        let brief = String::from_utf8_lossy(&brief.stdout);
        assert!(brief.contains("parser.rs"), "{agent}: {brief}");
        nothing_is_left(&env, agent);
    }
}

#[test]
fn no_secret_passes_any_door() {
    let text = text();
    let failing = format!("{text}\ntest result: FAILED. 1 passed; 1 failed");
    let content = format!("const KEY: &str = \"{TOKEN}\";\nfn deploy() {{}}\n");
    let command = format!("cargo test -- --token {TOKEN} DB_PASSWORD={PASSWORD}");
    let story = Story {
        prompt: &text,
        command: &command,
        output: &failing,
        path: "deploy.rs",
        content: &content,
        message: &text,
    };
    for agent in AGENTS {
        let env = env();
        let replies = hooks(&env, agent, &env.project(), story);
        assert!(!replies.contains(TOKEN), "{agent}");
        assert!(!holding(&env, "[redacted:github-token]").is_empty(), "{agent}: the rest is kept");
        nothing_is_left(&env, agent);
    }
    for agent in IMPORTED {
        let env = env();
        let file = transcript(&env, agent, &env.project(), story);
        let project = env.project();
        env.ok(&["import", agent, "--project", project.to_str().unwrap(), file.to_str().unwrap()]);
        assert!(!holding(&env, "[redacted:github-token]").is_empty(), "{agent}: the rest is kept");
        nothing_is_left(&env, &format!("import {agent}"));
    }
}

/// One place of each class, with a value that looks like nothing: `#` is where it stands.
const PLACES: [&str; 21] = [
    "export API_KEY=#",
    "Authorization: Bearer #",
    "git clone https://#@github.com/acme/app.git",
    "mysql -u root -p# app",
    "vault kv put secret/app anything=#",
    "echo # | docker login -u bob --password-stdin",
    "client.login(\"bob\", \"#\")",
    "INSERT INTO users (name, password) VALUES ('bob', '#')",
    "otpauth://totp/Acme:bob?secret=#&issuer=Acme",
    "WIFI:T:WPA;S:home;P:#;;",
    "the password is #",
    "Das Passwort lautet #",
    "| user | password |\n|---|---|\n| bob | # |",
    "services:\n  db:\n    password: #",
    "api_key = Some(\"#\")",
    "WIFI_PASS \"#\"",
    "sudo -S ls <<< \"#\"",
    "tool -U bob --verbose -P #",
    " id | password\n----+----------\n  1 | #",
    "if it asks for the passphrase, type \"# over the hills\" there",
    "use #9 as the new root password for it",
];

#[test]
fn a_secret_is_known_by_its_place_through_the_hooks() {
    let secret = "moonlightpath";
    let text = PLACES.map(|place| place.replace('#', secret)).join("\n\n");
    let env = env();
    let output = format!("{text}\ntest result: FAILED. 1 passed; 1 failed");
    for place in PLACES {
        let prompt = place.replace('#', secret);
        let command = format!("cargo test && {prompt}");
        let story = Story {
            prompt: &prompt,
            command: &command,
            output: &output,
            path: "deploy.rs",
            content: &text,
            message: &text,
        };
        let replies = hooks(&env, "claude-code", &env.project(), story);
        assert!(!replies.contains(secret), "{place}");
    }
    assert_eq!(holding(&env, secret), Vec::<PathBuf>::new());
    assert!(!holding(&env, "[redacted:").is_empty(), "the rest is kept");
}

#[cfg(feature = "sync")]
#[test]
fn a_code_for_pairing_or_recovery_is_not_stored() {
    use cerberus_sync::code::{Code, SECRET_BYTES};
    let code = Code { space: "00112233445566ff".to_string(), secret: [0x5a; SECRET_BYTES] }.written().unwrap();
    let env = env();
    for typed in [code.clone(), code.to_uppercase(), code.replace('-', " ")] {
        let prompt = format!("join the other machine with {typed}");
        env.hook("s1", "UserPromptSubmit", json!({"prompt": prompt, "prompt_id": "p"}));
        env.ok(&["record", "note", &prompt]);
        assert_eq!(holding(&env, &typed[..20]), Vec::<PathBuf>::new(), "{typed}");
    }
    assert!(!holding(&env, "[redacted:cerberus-code]").is_empty());
}

#[test]
fn no_secret_passes_a_command_the_server_or_an_old_file() {
    let (env, text) = (env(), text());
    env.start("s1", "startup");
    env.ok(&["record", "decision", &text, "--why", &text, "--key", &text]);
    env.ok(&["record", "blocker", &text, "--type", &text]);
    env.ok(&["memory", "session-start", "--phase", &text]);
    env.ok(&["memory", "learn", &text, "--category", &text]);
    let memories = env.root().join("memories.jsonl");
    fs::write(&memories, json!({"content": text, "metadata": {"note": text}}).to_string()).unwrap();
    env.ok(&["memory", "import", memories.to_str().unwrap()]);
    let said = mcp(
        &env,
        &[
            ("session_record", json!({"kind": "next", "text": text, "why": text})),
            ("memory_learn", json!({"text": format!("Always {text}")})),
            ("session_context", json!({})),
        ],
    );
    assert!(said.contains("[redacted:github-token]") && !said.contains(TOKEN), "{said}");
    let seed = json!({"session_id": "20260121-100000", "project": "hydra", "timestamp": "2026-01-21T10:00:00Z",
        "files": ["impl:a.rs"], "decisions": [format!("dec:{text}")], "blockers": [text], "next_actions": [text]});
    let file = env.root().join("active-hydra.json");
    fs::write(&file, seed.to_string()).unwrap();
    env.ok(&["session", "import", file.to_str().unwrap()]);
    // The file itself is the user's; what is made of it is ours.
    let kept = env.home().join("memory/sessions");
    fs::create_dir_all(&kept).unwrap();
    fs::write(kept.join("active-other.json"), seed.to_string().replace("hydra", "other")).unwrap();
    env.ok(&["status"]);
    fs::remove_dir_all(kept).unwrap();
    // What could not be understood is noted, without what it held.
    env.hook_bytes(format!("{{\"session_id\": {TOKEN}").as_bytes());
    env.hook_of(TOKEN, b"{}");
    assert!(env.home().join("failures.jsonl").exists());
    assert!(!holding(&env, "[redacted:password]").is_empty(), "the rest is kept");
    nothing_is_left(&env, "commands");
}

#[test]
fn rules_of_the_users_own_hold_in_hooks_and_commands() {
    let env = env();
    fs::create_dir_all(env.home()).unwrap();
    let config = "[secrets]\nrules = [\"key acme-key acme_ alnum 8-40\", \"word acme-pin any acme_pin\"]\nallow = [\"acme_public*\"]\n";
    fs::write(env.home().join("config.toml"), config).unwrap();
    env.hook(
        "s1",
        "UserPromptSubmit",
        json!({"prompt": "use acme_a1b2c3d4e5f6 with acmePin: four-2-one, not acme_public1", "prompt_id": "p"}),
    );
    env.ok(&["record", "decision", "acme_z9y8x7w6v5u4 stays"]);
    for secret in ["acme_a1b2c3d4e5f6", "four-2-one", "acme_z9y8x7w6v5u4"] {
        assert_eq!(holding(&env, secret), Vec::<PathBuf>::new(), "{secret}");
    }
    assert!(!holding(&env, "[redacted:acme-key] with acmePin: [redacted:acme-pin], not acme_public1").is_empty());
    let brief = env.json(&["brief"]);
    assert_eq!(brief["items"][1]["code"], "dec:[redacted:acme-key] stays", "{brief}");
}

#[test]
fn wrong_rules_are_said_and_nothing_is_stored_until_they_are_right() {
    let env = env();
    fs::create_dir_all(env.home()).unwrap();
    fs::write(env.home().join("config.toml"), "[secrets]\nrules = [\"key acme\"]\n").unwrap();
    assert_eq!(env.start("s1", "startup"), "");
    env.hook("s1", "UserPromptSubmit", json!({"prompt": "remember the harbour", "prompt_id": "p"}));
    assert_eq!(holding(&env, "harbour"), Vec::<PathBuf>::new());
    for args in [&["record", "next", "the harbour"][..], &["scan"], &["import", "claude-code"]] {
        let refused = env.run(args);
        assert_eq!(refused.status.code(), Some(1), "{args:?}");
        assert!(String::from_utf8_lossy(&refused.stderr).contains("is not a rule: write `key NAME"), "{args:?}");
    }
    let checks = env.doctor()["checks"].to_string();
    assert!(checks.contains("is not a rule") && checks.contains("nothing is stored until this is fixed"), "{checks}");
    // Wrong settings that have nothing to do with it keep nothing from being stored.
    fs::write(env.home().join("config.toml"), "[brief\n").unwrap();
    env.write_file("s1", "t1", "a.rs", "");
    assert!(!holding(&env, "a.rs").is_empty());
}

/// A home as an older version left it: a prompt, a short password, a memory and a torn record, all with secrets.
fn older(env: &TestEnv) -> PathBuf {
    env.start("s1", "startup");
    env.hook(
        "s1",
        "UserPromptSubmit",
        json!({"prompt": "Deploy with QQQQQQQQQQQQQQQQQQQQQQQQQQQQQQQQQQQQQQQQ", "prompt_id": "p"}),
    );
    env.ok(&["record", "decision", "the password is ZZZZZZZ for now"]);
    env.ok(&["memory", "learn", "Always use QQQQQQQQQQQQQQQQQQQQQQQQQQQQQQQQQQQQQQQQ to deploy"]);
    let segment = fs::read_dir(env.home().join("journal")).unwrap().next().unwrap().unwrap().path();
    let filler = "Q".repeat(TOKEN.len());
    let mut lines = Vec::new();
    for line in fs::read_to_string(&segment).unwrap().lines() {
        let line = line.replace(&"Q".repeat(40), &filler).replace(&filler, TOKEN).replace("ZZZZZZZ", "hunter2");
        match line.len().checked_sub(journal::SEAL_BYTES) {
            Some(end) => lines.push(format!("{}{}", &line[..end], journal::seal(&line.as_bytes()[..end]))),
            None => lines.push(line),
        }
    }
    lines.push(format!("{{\"at\":\"2026-01-22T13:35:14Z\",\"key\":\"torn\",\"event\":\"{TOKEN}"));
    fs::write(&segment, lines.join("\n") + "\n").unwrap();
    fs::write(
        env.home().join("failures.jsonl"),
        format!("{}\n", json!({"at": "2026-01-22T13:35:14Z", "what": "hook", "detail": TOKEN})),
    )
    .unwrap();
    fs::copy(&segment, env.home().join("journal-copy.jsonl")).unwrap();
    // The view of the older version, folded from it.
    for entry in fs::read_dir(env.home())
        .unwrap()
        .flatten()
        .filter(|entry| entry.file_name().to_string_lossy().starts_with("view-"))
    {
        fs::remove_file(entry.path()).unwrap();
    }
    env.ok(&["status"]);
    let is_view = |path: &PathBuf| path.extension().is_some_and(|end| end == "db");
    let view = fs::read_dir(env.home()).unwrap().flatten().map(|entry| entry.path()).find(is_view).unwrap();
    let copy = env.home().join("view-1.damaged");
    rusqlite::Connection::open(view).unwrap().execute("VACUUM INTO ?1", [copy.to_str().unwrap()]).unwrap();
    segment
}

#[test]
fn what_an_older_version_stored_is_found_and_cut() {
    let env = env();
    older(&env);
    assert!(holding(&env, TOKEN).len() >= 4 && holding(&env, "hunter2").len() >= 2, "planted");
    let sessions = env.sessions().len();

    let found = env.run(&["scan"]);
    let told = String::from_utf8_lossy(&found.stdout).into_owned();
    assert_eq!(found.status.code(), Some(1), "found and left");
    for place in ["journal/2", "failures.jsonl, line 1: github-token", "view-1.damaged, table", "password", "found "] {
        assert!(told.contains(place), "{place} in {told}");
    }
    assert!(!told.contains(TOKEN) && !told.contains("hunter2"), "{told}");
    assert!(String::from_utf8_lossy(&found.stderr).contains("scan --redact"));

    let cut = env.json(&["scan", "--redact"]);
    assert!(cut["redacted"] == true && cut["secrets"].as_u64().unwrap() >= 6, "{cut}");
    assert_eq!(holding(&env, TOKEN), Vec::<PathBuf>::new(), "journal, view, free pages, logs, copies");
    assert_eq!(holding(&env, "hunter2"), Vec::<PathBuf>::new());
    assert_eq!(env.json(&["scan"])["secrets"], 0);
    assert_eq!(env.run(&["scan"]).status.code(), Some(0));
    assert_eq!(env.sessions().len(), sessions);
    assert!(env.brief().contains("dec:the password is "), "{}", env.brief());
    assert!(
        env.json(&["memory", "list"])[0]["content"].as_str().unwrap().starts_with("Always use [redacted:github-token]")
    );
    let detail = env.doctor()["checks"].to_string();
    assert!(!detail.contains("torn record"), "the torn one is blank, no other was torn: {detail}");
    let before = (env.json(&["brief"]), env.sessions());
    env.rebuild();
    assert_eq!((env.json(&["brief"]), env.sessions()), before);
}

#[test]
fn a_scan_that_is_killed_is_finished_by_the_next_command() {
    for label in ["rewrite-listed", "rewrite-line", "rewrite-removed", "rewrite-folded"] {
        let env = env();
        older(&env);
        let killed =
            env.command().args(["scan", "--redact"]).env("CERBERUS_FAULT", format!("{label}=kill")).output().unwrap();
        assert_eq!(killed.status.code(), None, "{label}");
        assert!(env.home().join("rewriting").exists(), "{label}");
        // A hook writes meanwhile.
        env.write_file("s2", "t9", "later.rs", "");
        env.ok(&["status"]);
        assert!(!env.home().join("rewriting").exists(), "{label}");
        let journal = env.home().join("journal");
        let left = holding(&env, TOKEN).into_iter().filter(|path| path.starts_with(&journal)).count();
        assert_eq!(left, 0, "{label}");
        env.ok(&["scan", "--redact"]);
        assert_eq!(holding(&env, TOKEN), Vec::<PathBuf>::new(), "{label}");
        assert!(env.brief().contains("impl:later.rs"), "{label}");
    }
}

#[test]
fn the_settings_are_the_users_own_and_copies_of_others_are_redacted() {
    let env = env();
    fs::create_dir_all(env.home().join("backups")).unwrap();
    let (backup, settings) = (env.home().join("backups/settings.json"), env.home().join("config.toml"));
    fs::write(&backup, json!({"env": {"TOKEN": TOKEN}}).to_string()).unwrap();
    fs::write(&settings, format!("# {TOKEN}\n")).unwrap();
    env.ok(&["scan", "--redact"]);
    assert!(holds(&fs::read(settings).unwrap(), TOKEN) && !holds(&fs::read(backup).unwrap(), TOKEN));
}
