//! What the user wants kept private is never stored: passages, files, projects, while paused.

use std::fs;
use std::path::PathBuf;

use cerberus_testkit::env::TestEnv;
use serde_json::{Value, json};

use crate::doors::{AGENTS, IMPORTED, Story, holding, hooks, mcp, printed, transcript};
use crate::env;

const PLAIN: Story = Story {
    prompt: "Write the store",
    command: "ls",
    output: "",
    path: "store.rs",
    content: "fn open_store() {}\n",
    message: "All done.",
};

fn configure(env: &TestEnv, text: &str) {
    fs::create_dir_all(env.home()).unwrap();
    fs::write(env.home().join("config.toml"), text).unwrap();
}

fn is_not_stored(env: &TestEnv, words: &[&str], door: &str) {
    for words in words {
        assert_eq!(holding(env, words), Vec::<PathBuf>::new(), "{door}: {words}");
    }
}

fn is_nowhere(env: &TestEnv, words: &[&str], door: &str) {
    let printed = printed(env);
    is_not_stored(env, words, door);
    for words in words {
        assert!(!printed.contains(words), "{door}: {words} in {printed}");
    }
}

/// Nothing at all was stored of this project.
fn stores_nothing(env: &TestEnv, door: &str) {
    let journal = env.home().join("journal");
    assert!(!journal.exists() || fs::read_dir(journal).unwrap().next().is_none(), "{door}");
    is_nowhere(env, &["store.rs", "open_store", "Write the store", "All done"], door);
}

#[test]
fn a_private_passage_is_never_stored_and_the_rest_is() {
    for (prompt, rest) in [
        ("Rename it <private>harbour pier</private> to lantern", "to lantern"),
        ("Rename it <PRIVATE>\nharbour\npier\n</Private>\nto lantern", "to lantern"),
        ("Rename it to lantern <private>and harbour never ends pier", "Rename it to lantern"),
        ("<private>harbour <private>pier</private> harbour</private> to lantern", "to lantern"),
    ] {
        let story = Story { prompt, ..PLAIN };
        for agent in AGENTS {
            let env = env();
            hooks(&env, agent, &env.project(), story);
            is_not_stored(&env, &["harbour", "pier"], agent);
            assert!(!holding(&env, rest).is_empty(), "{agent}: {rest}");
        }
        for agent in IMPORTED {
            let env = env();
            let file = transcript(&env, agent, &env.project(), story);
            env.ok(&["import", agent, file.to_str().unwrap()]);
            is_not_stored(&env, &["harbour", "pier"], agent);
            assert!(!holding(&env, rest).is_empty(), "{agent}: {rest}");
        }
    }
}

#[test]
fn of_a_private_file_nothing_is_stored() {
    for (path, name) in
        [(".env.production", ".env.production"), ("tls/harbour.pem", "harbour.pem"), ("secrets/pier/a.yaml", "pier")]
    {
        let command = format!("cat {path} && cargo test");
        let output = "LANTERN_MODE is on\ntest result: FAILED. 1 passed; 1 failed";
        let message = format!("I changed {path} as you wished.");
        let story = Story { command: &command, output, path, content: "fn lantern() {}\n", message: &message, ..PLAIN };
        for agent in AGENTS {
            let env = env();
            hooks(&env, agent, &env.project(), story);
            is_nowhere(&env, &[name, "lantern", "LANTERN_MODE"], agent);
            assert!(!holding(&env, "Write the store").is_empty(), "{agent}: the rest is kept");
        }
        for agent in IMPORTED {
            let env = env();
            let file = transcript(&env, agent, &env.project(), story);
            env.ok(&["import", agent, file.to_str().unwrap()]);
            is_nowhere(&env, &[name, "lantern", "LANTERN_MODE"], agent);
            let again = env.json(&["import", agent, file.to_str().unwrap()]);
            assert_eq!(again["events"], 0, "{agent}: what was left out is known");
        }
    }
}

#[test]
fn reads_and_patches_of_private_files_leave_what_is_beside_them() {
    let env = env();
    env.start("s1", "startup");
    let read =
        json!({"tool_name": "Read", "tool_use_id": "r", "tool_input": {"file_path": env.project().join("id_rsa")}});
    env.hook("s1", "PostToolUse", read);
    let failed = json!({"tool_name": "Read", "tool_use_id": "f", "tool_input": {"file_path": "tls/pier.key"},
        "error": "File does not exist: tls/pier.key"});
    env.hook("s1", "PostToolUseFailure", failed);
    let patch = "*** Begin Patch\n*** Add File: src/open.rs\n+fn opened() {}\n*** Add File: .env\n+fn harbour() {}\n*** End Patch";
    let patched = json!({"session_id": "s2", "cwd": env.project(), "hook_event_name": "PostToolUse", "tool_name": "apply_patch",
        "tool_use_id": "p", "tool_input": {"command": patch}, "tool_response": "Exit code: 0\nOutput:\nSuccess."});
    env.hook_of("codex", patched.to_string().as_bytes());
    is_nowhere(&env, &["id_rsa", "pier.key", "harbour", ".env"], "tools");
    assert_eq!(env.brief(), "proj:hydra\nimpl:open.rs");
}

#[test]
fn private_files_that_were_committed_are_not_stored_or_told() {
    let env = env();
    for path in ["src/open.rs", "secrets/pier/harbour.yaml", ".env.harbour"] {
        fs::create_dir_all(env.project().join(path).parent().unwrap()).unwrap();
        fs::write(env.project().join(path), "x\n").unwrap();
    }
    env.git(&env.project(), &["add", "--force", "."]);
    env.git(&env.project(), &["commit", "--quiet", "-m", "x"]);
    env.start("s1", "startup");
    env.write_file("s1", "t1", "a.rs", "");
    let told =
        env.start("s2", "startup") + &env.json(&["brief", "--prompt", "the harbour yaml of the pier"]).to_string();
    assert!(told.contains("see:open.rs") && !told.contains("see:harbour") && !told.contains(".env"), "{told}");
    is_not_stored(&env, &["harbour", "pier"], "git");
}

#[test]
fn a_rule_about_a_sort_of_private_files_can_be_kept() {
    let env = env();
    env.start("s1", "startup");
    env.hook("s1", "UserPromptSubmit", json!({"prompt": "From now on never commit .env files", "prompt_id": "p"}));
    assert!(!holding(&env, "never commit .env files").is_empty());
}

#[test]
fn patterns_in_the_settings_are_added_and_excepted() {
    let env = env();
    configure(&env, "[private]\npaths = [\"*.ledger\", \"!.env.example\"]\n");
    env.start("s1", "startup");
    env.write_file("s1", "t1", "books/harbour.ledger", "");
    env.write_file("s1", "t2", ".env.example", "");
    env.write_file("s1", "t3", ".env", "");
    assert_eq!(holding(&env, "harbour"), Vec::<PathBuf>::new());
    assert_eq!(env.brief(), "proj:hydra\nimpl:.env.example");
    let refused = env.run(&["record", "file", "books/harbour.ledger"]);
    assert_eq!(refused.status.code(), Some(1));
    assert!(String::from_utf8_lossy(&refused.stderr).contains("this file is private"));
    env.ok(&["record", "file", ".env.example"]);
}

/// Nothing that stores does so, and those that are asked say why.
fn refuses_everywhere(env: &TestEnv, why: &str) {
    for agent in AGENTS {
        assert_eq!(hooks(env, agent, &env.project(), PLAIN), "", "{agent} is told nothing");
    }
    for agent in IMPORTED {
        let file = transcript(env, agent, &env.project(), PLAIN);
        let report = env.json(&["import", agent, file.to_str().unwrap()]);
        assert_eq!((&report["events"], &report["private_sessions"]), (&json!(0), &json!(1)), "{agent}");
    }
    let seed = env.root().join("active-hydra.json");
    let seeded = json!({"session_id": "20260121-100000", "project": "hydra", "timestamp": "2026-01-21T10:00:00Z", "files": ["impl:store.rs"]});
    fs::write(&seed, seeded.to_string()).unwrap();
    for args in [
        &["record", "next", "Write the store"][..],
        &["memory", "learn", "Write the store"],
        &["memory", "session-start"],
        &["session", "import", seed.to_str().unwrap()],
        &["run", "--", "true"],
    ] {
        let refused = env.run(args);
        assert_eq!(refused.status.code(), Some(1), "{args:?}");
        let told = String::from_utf8_lossy(&refused.stderr).into_owned();
        assert!(told.contains(why), "{args:?}: {told}");
    }
    let said = mcp(env, &[("session_record", json!({"kind": "next", "text": "Write the store"}))]);
    assert!(said.contains(why), "{said}");
    stores_nothing(env, why);
    assert!(env.json(&["status"])["stores_nothing"].as_str().unwrap().contains(why));
    assert!(env.ok(&["status"]).contains(why) && env.doctor().to_string().contains(why));
}

#[test]
fn of_a_private_project_nothing_is_stored() {
    let env = env();
    configure(&env, &format!("[private]\nprojects = [{:?}]\n", env.root().join("hyd*")));
    refuses_everywhere(&env, "private.projects");
    // A file in it, seen from another project.
    let other = env.add_repository("open");
    let path = env.project().join("store.rs");
    let payload = json!({"session_id": "s9", "cwd": other, "hook_event_name": "PostToolUse", "tool_name": "Write",
        "tool_use_id": "t", "tool_input": {"file_path": path, "content": "fn open_store() {}"}});
    env.hook_of("claude-code", payload.to_string().as_bytes());
    is_nowhere(&env, &["store.rs", "open_store"], "from another project");
    assert!(!holding(&env, "s9").is_empty(), "the other project's session is");
}

#[test]
fn a_file_at_the_top_opts_a_project_out() {
    let env = env();
    fs::write(env.project().join(".nocerberus"), "").unwrap();
    refuses_everywhere(&env, ".nocerberus");
}

#[test]
fn an_opt_out_holds_in_subfolders_and_worktrees() {
    let env = env();
    env.git(&env.project(), &["commit", "--quiet", "--allow-empty", "-m", "x"]);
    let worktree = env.root().join("side");
    env.git(&env.project(), &["worktree", "add", "--quiet", "-b", "side", worktree.to_str().unwrap()]);
    fs::create_dir_all(env.project().join("src/deep")).unwrap();
    fs::write(env.project().join(".nocerberus"), "").unwrap();
    for folder in [worktree.clone(), env.project().join("src/deep")] {
        hooks(&env, "claude-code", &folder, PLAIN);
        stores_nothing(&env, &folder.display().to_string());
    }
    fs::remove_file(env.project().join(".nocerberus")).unwrap();
    hooks(&env, "claude-code", &worktree, PLAIN);
    assert!(!holding(&env, "store.rs").is_empty(), "back again");
}

fn shut(env: &TestEnv) -> Value {
    env.json(&["status"])["stores_nothing"].clone()
}

#[test]
fn while_paused_hooks_store_and_tell_nothing() {
    let mut env = env();
    env.ok(&["record", "next", "sail"]);
    let before = env.brief();
    assert_eq!(env.ok(&["pause", "--for", "2h"]), "paused until today 15:35 (2 h)\n");
    for agent in AGENTS {
        assert_eq!(hooks(&env, agent, &env.project(), PLAIN), "", "{agent} is told nothing");
    }
    is_nowhere(&env, &["store.rs", "open_store", "Write the store"], "paused");
    assert!(mcp(&env, &[("memory_learn", json!({"text": "Write the store"}))]).contains("cerberus unpause"));
    assert_eq!(env.brief(), before, "the user may still ask");
    env.ok(&["record", "next", "moor"]);
    assert_eq!(shut(&env), "paused until 2026-01-22T15:35:14Z");
    assert!(env.ok(&["doctor"]).contains("paused until 2026-01-22T15:35:14Z; `cerberus unpause` lifts it"));
    env.set_now(Some("2026-01-22T15:35:13Z"));
    assert_eq!(env.start("s2", "startup"), "", "not over yet");
    env.set_now(Some("2026-01-22T15:35:14Z"));
    assert_eq!(shut(&env), Value::Null, "over by itself");
    assert!(env.start("s2", "startup").contains("next:sail"));
}

#[test]
fn a_pause_is_lifted_and_can_be_of_one_project() {
    let env = env();
    let other = env.add_repository("open");
    let write = |cwd: &PathBuf, path: &str| {
        let payload = json!({"session_id": "s9", "cwd": cwd, "hook_event_name": "PostToolUse", "tool_name": "Write",
            "tool_use_id": path, "tool_input": {"file_path": cwd.join(path), "content": ""}});
        env.hook_of("claude-code", payload.to_string().as_bytes());
        !holding(&env, path).is_empty()
    };
    assert_eq!(env.ok(&["pause", "--project"]), "paused for this project\n");
    assert!(!write(&env.project(), "a1.rs") && write(&other, "a2.rs"));
    assert_eq!(env.ok(&["unpause", "--project"]), "storing again\n");
    assert!(write(&env.project(), "a3.rs"));
    assert_eq!(env.json(&["pause"])["stores_nothing"], "paused");
    assert!(!write(&other, "a4.rs"));
    assert_eq!(env.ok(&["unpause", "--project"]), "paused\n", "everything still is");
    assert_eq!(env.ok(&["unpause"]), "storing again\n");
    assert!(write(&other, "a5.rs"));
    assert!(!env.home().join("paused.json").exists());
    // The user asked for silence; for how long is lost.
    fs::write(env.home().join("paused.json"), "{").unwrap();
    assert!(!write(&other, "a6.rs"));
    assert_eq!(env.run(&["pause", "--for", "soon"]).status.code(), Some(2));
}
