//! What the user wants kept private is never stored: passages, files, projects, while paused.

use std::fs;
use std::path::PathBuf;

use cerberus_testkit::env::TestEnv;
use cerberus_testkit::fake_agent::{Act, Tongue};
use serde_json::{Value, json};

use crate::doors::{AGENTS, IMPORTED, Story, holding, hooks, mcp, printed, transcript};
use crate::env;
use crate::lifecycle::Agent;
#[cfg(feature = "loop")]
use crate::loops::Stage;

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
fn a_private_name_is_not_stored_however_a_command_spells_it() {
    let commands = [
        "cd secrets && cat harbour",
        "(cd secrets; c\"a\"t harbour)",
        "cat sec''rets/{harbour,pier}.yaml",
        "bash -c \"cd \\\"secrets\\\" && cat harbour\"",
        "bash -c 'cat > a.txt <<EOF\nharbour pier\nEOF'",
        "echo harbour pier | tee -a notes.txt",
        "D=secrets; cat ${D}/harbour && make test",
        "find secrets -name harbour -exec cat {} +",
    ];
    for command in commands {
        // What an ordinary command prints is kept.
        let output = match command.contains("secrets") || command.contains("sec''rets") {
            true => "harbour: pier\nmake: *** [test] Error 1",
            false => "make: *** [test] Error 1",
        };
        let story = Story { command, output, ..PLAIN };
        for agent in AGENTS {
            let env = env();
            hooks(&env, agent, &env.project(), story);
            is_nowhere(&env, &["harbour", "pier"], &format!("{agent}: {command}"));
        }
        for agent in IMPORTED {
            let env = env();
            let file = transcript(&env, agent, &env.project(), story);
            env.ok(&["import", agent, file.to_str().unwrap()]);
            is_nowhere(&env, &["harbour", "pier"], &format!("{agent}: {command}"));
        }
    }
}

#[test]
fn of_an_output_only_what_the_run_printed_is_stored() {
    let output =
        "test store::opens ... FAILED\ntest result: FAILED. 0 passed; 1 failed\nHARBOUR=pier\nwords of the harbour\n";
    for command in ["cargo test; env", "cargo test && cat notes.txt", "bash -c 'cargo test; c\"a\"t notes.txt'"] {
        let story = Story { command, output, ..PLAIN };
        for agent in AGENTS {
            let env = env();
            hooks(&env, agent, &env.project(), story);
            is_nowhere(&env, &["HARBOUR", "pier", "words of the harbour"], &format!("{agent}: {command}"));
            assert!(!holding(&env, "store::opens").is_empty(), "{agent}: {command}: the run is kept");
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
    assert_eq!(env.brief(), "proj:hydra\nimpl:src/open.rs");
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
    assert!(told.contains("see:src/open.rs") && !told.contains("harbour.") && !told.contains(".env"), "{told}");
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

/// What sessions in other folders do with files of the project `shut`.
fn elsewhere(env: &TestEnv, shut: &std::path::Path, words: &[&str], what: &str) {
    let is_first = !env.root().join("open").exists();
    let open = env.add_repository("open");
    fs::create_dir_all(shut.join("src")).unwrap();
    fs::write(shut.join("src/pier.rs"), "fn harbour() {}\n").unwrap();
    let (inside, shown) = (shut.join("src/pier.rs"), shut.display());
    let relative = format!("../{}", shut.file_name().unwrap().to_str().unwrap());
    let commands = [
        format!("cd {shown} && cargo test harbour"),
        format!("cd {relative}; cargo test harbour"),
        format!("cd .. && cargo test --manifest-path {}/Cargo.toml harbour", &relative[3..]),
        format!("bash -c 'cd \"{relative}\" && cargo test harbour'"),
        "cargo test".to_string(),
    ];
    let outputs = format!(
        "error: harbour is broken in {shown}/src/pier.rs:3\n  --> {relative}/src/pier.rs:1:1\ntest lantern ... FAILED"
    );
    let prompt = format!("Write the store, look at {relative}/src/pier.rs and {}", inside.display());
    let message = format!("All done. I changed `{}`.", inside.display());
    for (n, command) in commands.iter().enumerate() {
        let story = Story {
            prompt: &prompt,
            command,
            output: &outputs,
            path: inside.to_str().unwrap(),
            content: "fn harbour() {}\n",
            message: &message,
        };
        let agents: &[&str] = if n == 0 && is_first { &AGENTS } else { &["claude-code"] };
        for agent in agents {
            fs::remove_dir_all(env.home()).unwrap_or_default();
            hooks(env, agent, &open, story);
            is_nowhere(env, words, &format!("{what}, {agent}: {command}"));
            assert!(!holding(env, "Write the store").is_empty(), "{what}, {agent}: the rest is kept");
            assert_eq!(holding(env, "lantern").is_empty(), n < 4, "{what}, {agent}: {command}");
        }
        let agents: &[&str] = if n == 0 && is_first { &IMPORTED } else { &["claude-code"] };
        for agent in agents {
            fs::remove_dir_all(env.home()).unwrap_or_default();
            let file = transcript(env, agent, &open, story);
            env.ok(&["import", agent, file.to_str().unwrap()]);
            is_nowhere(env, words, &format!("{what}, import {agent}: {command}"));
            assert!(!holding(env, "Write the store").is_empty(), "{what}, import {agent}: the rest is kept");
        }
    }
}

#[test]
fn a_session_elsewhere_stores_nothing_of_an_opted_out_project() {
    let env = env();
    let shut = env.add_repository("quay");
    fs::write(shut.join(".nocerberus"), "").unwrap();
    elsewhere(&env, &shut, &["quay", "pier", "harbour"], ".nocerberus");
    // Without git; with a worktree; inside of the other project; through links.
    let plain = env.root().join("quay-plain");
    fs::create_dir_all(&plain).unwrap();
    fs::write(plain.join(".nocerberus"), "").unwrap();
    elsewhere(&env, &plain, &["quay", "pier", "harbour"], "without git");
    env.git(&shut, &["commit", "--quiet", "--allow-empty", "-m", "x"]);
    let worktree = env.root().join("quay-side");
    env.git(&shut, &["worktree", "add", "--quiet", "-b", "side", worktree.to_str().unwrap()]);
    elsewhere(&env, &worktree, &["quay", "pier", "harbour"], "a worktree of it");
    let inner = env.root().join("open/vendor/quay");
    fs::create_dir_all(inner.join("src")).unwrap();
    fs::write(inner.join(".nocerberus"), "").unwrap();
    std::os::unix::fs::symlink(shut.join("src"), env.root().join("open/link")).unwrap();
    fs::remove_dir_all(env.home()).unwrap();
    let open = env.root().join("open");
    for (n, path) in ["vendor/quay/src/pier.rs", "link/pier.rs"].iter().enumerate() {
        let write = json!({"session_id": "s1", "cwd": open, "hook_event_name": "PostToolUse", "tool_name": "Write",
            "tool_use_id": n, "tool_input": {"file_path": open.join(path), "content": "fn harbour() {}"}});
        env.hook_of("claude-code", write.to_string().as_bytes());
        let said = json!({"session_id": "s1", "cwd": open, "hook_event_name": "UserPromptSubmit", "prompt_id": n,
            "prompt": format!("Write the store after {path}")});
        env.hook_of("claude-code", said.to_string().as_bytes());
        is_nowhere(&env, &["pier.rs", "harbour"], path);
    }
    let refused = env.run(&["--cwd", open.to_str().unwrap(), "record", "file", shut.join("a.rs").to_str().unwrap()]);
    assert!(String::from_utf8_lossy(&refused.stderr).contains("nothing is stored about the project of this file"));
}

#[test]
fn a_session_elsewhere_stores_nothing_of_a_private_project() {
    let env = env();
    let shut = env.add_repository("quay");
    let open = env.add_repository("open");
    configure(&env, &format!("[private]\nprojects = [{:?}]\n", env.root().join("qu*")));
    for (n, extra) in [
        json!({"tool_name": "Bash", "tool_input": {"command": "cd ../quay && cargo test harbour"},
            "tool_response": {"stdout": "test harbour ... FAILED\n\ntest result: FAILED. 0 passed; 1 failed"}}),
        json!({"tool_name": "Write", "tool_input": {"file_path": "../quay/harbour.rs", "content": "fn harbour() {}"}}),
        json!({"tool_name": "Bash", "tool_input": {"command": "cargo test"},
            "tool_response": {"stdout": "error: ../quay/src/harbour.rs:3\ntest result: FAILED. 0 passed; 1 failed"}}),
    ]
    .into_iter()
    .enumerate()
    {
        let mut payload = json!({"session_id": "s1", "cwd": open, "hook_event_name": "PostToolUse", "tool_use_id": n});
        payload.as_object_mut().unwrap().extend(extra.as_object().unwrap().clone());
        env.hook_of("claude-code", payload.to_string().as_bytes());
        is_nowhere(&env, &["harbour"], &extra.to_string());
    }
    assert!(shut.exists() && !holding(&env, "cargo test").is_empty(), "what belongs to the other project is kept");
}

/// Some agents name the folder of a command beside it.
#[test]
fn a_command_that_runs_in_an_opted_out_project_is_not_stored() {
    let env = env();
    let (open, shut) = (env.add_repository("open"), env.add_repository("quay"));
    fs::write(shut.join(".nocerberus"), "").unwrap();
    let output = "test harbour ... FAILED\n\ntest result: FAILED. 0 passed; 1 failed";
    let input = |field: &str| {
        let mut input = json!({"command": "cargo test harbour"});
        input[field] = json!(shut);
        input
    };
    let after = |event: &str, tool: &str, field: &str, response: Value| {
        json!({"session_id": "s1", "cwd": open, "hook_event_name": event, "timestamp": "t", "tool_name": tool,
            "tool_use_id": "c", "tool_input": input(field), "tool_response": response})
    };
    let for_model = json!({"llmContent": format!("Output: {output}\nExit Code: 1")});
    for (agent, payload) in [
        ("codex", after("PostToolUse", "Bash", "workdir", json!(output))),
        ("gemini", after("AfterTool", "run_shell_command", "dir_path", for_model.clone())),
        ("gemini", after("AfterTool", "run_shell_command", "directory", for_model.clone())),
        ("qwen-code", after("PostToolUse", "run_shell_command", "directory", for_model)),
        (
            "opencode",
            json!({"sessionID": "s1", "cwd": open, "event": "tool", "at": 3, "id": "c", "tool": "bash",
            "args": input("workdir"), "output": output}),
        ),
        (
            "cursor",
            json!({"conversation_id": "s1", "workspace_roots": [open], "generation_id": "g",
            "hook_event_name": "postToolUse", "tool_name": "Shell", "tool_use_id": "c",
            "tool_input": input("working_directory"), "tool_output": json!({"output": output}).to_string()}),
        ),
    ] {
        env.hook_of(agent, payload.to_string().as_bytes());
        is_nowhere(&env, &["harbour"], agent);
        assert!(!holding(&env, "pulse").is_empty(), "{agent}: the session lives");
        fs::remove_dir_all(env.home()).unwrap();
    }
    let line =
        |kind: &str, payload: Value| json!({"timestamp": "2026-01-21T10:00:01.500Z", "type": kind, "payload": payload});
    let arguments = json!({"command": ["bash", "-lc", "cargo test harbour"], "workdir": shut}).to_string();
    let lines = [
        line("session_meta", json!({"id": "old", "cwd": open, "source": "cli"})),
        line("event_msg", json!({"type": "user_message", "message": "Write the store"})),
        line(
            "response_item",
            json!({"type": "function_call", "name": "shell", "call_id": "c", "arguments": arguments}),
        ),
        line("response_item", json!({"type": "function_call_output", "call_id": "c", "output": output})),
    ];
    let file = env.root().join("rollout.jsonl");
    fs::write(&file, lines.map(|line| format!("{line}\n")).concat()).unwrap();
    env.ok(&["import", "codex", file.to_str().unwrap()]);
    is_nowhere(&env, &["harbour"], "import");
    assert!(!holding(&env, "Write the store").is_empty());
}

#[cfg(feature = "loop")]
#[test]
fn the_output_of_a_loop_stores_no_line_that_names_an_opted_out_project() {
    let said = vec![Act::Say("I look at ../quay/pier.rs", 0), Act::Complain("lantern"), Act::Done("done")];
    let stage = Stage::new(Tongue::Plain, &[said]);
    fs::write(stage.env.add_repository("quay").join(".nocerberus"), "").unwrap();
    stage.run(&["--max-iterations", "1"]);
    assert!(!holding(&stage.env, "lantern").is_empty(), "the rest is kept");
    assert_eq!(holding(&stage.env, "pier.rs"), Vec::<PathBuf>::new());
}

#[test]
fn a_recovery_stores_nothing_of_an_opted_out_project() {
    let mut env = env();
    let shut = env.add_repository("quay");
    fs::write(shut.join(".nocerberus"), "").unwrap();
    let mut agent = Agent::start(&env);
    agent.hook(&env, "s1", "SessionStart", json!({"source": "startup"}));
    agent.kill();
    let folder = env.root().join("user/.claude/projects/-hydra");
    fs::create_dir_all(&folder).unwrap();
    let line = |n: u32, kind: &str, content: Value| {
        json!({"type": kind, "uuid": format!("u{n}"), "sessionId": "s1", "cwd": env.project(),
            "timestamp": format!("2026-01-22T13:35:{:02}.500Z", 15 + n), "message": {"content": content}})
    };
    let edit = json!({"file_path": shut.join("pier.rs"), "old_string": "a", "new_string": "fn harbour() {}"});
    let lines = [
        line(1, "user", json!("Write the store")),
        line(
            2,
            "assistant",
            json!([{"type": "tool_use", "id": "w1", "name": "Write", "input": {"file_path": shut.join("harbour.rs"), "content": "fn harbour() {}"}}]),
        ),
        line(3, "user", json!([{"type": "tool_result", "tool_use_id": "w1", "content": "ok"}])),
        line(4, "assistant", json!([{"type": "tool_use", "id": "w2", "name": "Edit", "input": edit}])),
        line(
            5,
            "assistant",
            json!([{"type": "tool_use", "id": "w3", "name": "Bash", "input": {"command": "cd ../quay && cargo test harbour"}}]),
        ),
    ];
    let text: String = lines.iter().map(|line| format!("{line}\n")).collect();
    fs::write(folder.join("s1.jsonl"), text).unwrap();
    env.set_now(Some("2026-01-22T14:35:14Z"));
    env.start("s2", "startup");
    assert!(!holding(&env, "Write the store").is_empty(), "it was recovered from the transcript");
    is_nowhere(&env, &["quay", "pier.rs", "harbour"], "recovery");
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
    assert!(env.ok(&["doctor"]).contains("paused until today 15:35 (2 h); `cerberus unpause` lifts it"));
    env.set_now(Some("2026-01-22T15:35:13Z"));
    assert_eq!(env.start("s2", "startup"), "", "not over yet");
    env.set_now(Some("2026-01-22T15:35:14Z"));
    assert_eq!(shut(&env), Value::Null, "over by itself");
    assert!(env.start("s2", "startup").contains("next:sail"));
}

#[test]
fn a_pause_is_lifted_and_can_be_of_one_project() {
    let mut env = env();
    let other = env.add_repository("open");
    let write = |env: &TestEnv, cwd: &PathBuf, path: &str| {
        let payload = json!({"session_id": "s9", "cwd": cwd, "hook_event_name": "PostToolUse", "tool_name": "Write",
            "tool_use_id": path, "tool_input": {"file_path": cwd.join(path), "content": ""}});
        env.hook_of("claude-code", payload.to_string().as_bytes());
        !holding(env, path).is_empty()
    };
    assert_eq!(env.ok(&["pause", "--project"]), "paused for this project\n");
    assert!(!write(&env, &env.project(), "a1.rs") && write(&env, &other, "a2.rs"));
    assert_eq!(env.ok(&["unpause", "--project"]), "storing again\n");
    assert!(write(&env, &env.project(), "a3.rs"));
    assert_eq!(env.json(&["pause"])["stores_nothing"], "paused");
    assert!(!write(&env, &other, "a4.rs"));
    assert_eq!(env.ok(&["unpause", "--project"]), "paused\n", "everything still is");
    assert_eq!(env.ok(&["unpause"]), "storing again\n");
    assert!(write(&env, &other, "a5.rs"));
    assert!(!env.home().join("paused.json").exists());
    // No time that is given ends a pause before its real time has come.
    env.set_now(Some("2999-01-01T10:00:00Z"));
    env.ok(&["pause", "--for", "1h"]);
    env.set_now(Some("2999-01-01T12:00:00Z"));
    assert!(!write(&env, &other, "a6.rs"));
    // The user asked for silence; for how long is lost.
    fs::write(env.home().join("paused.json"), "{").unwrap();
    assert!(!write(&env, &other, "a7.rs"));
    assert_eq!(env.run(&["pause", "--for", "soon"]).status.code(), Some(2));
}
