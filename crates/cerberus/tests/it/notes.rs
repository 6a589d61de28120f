//! What an agent writes into its own memory is told to the user's other agents and devices, marked as the agent's.

use std::fs;
use std::path::PathBuf;

use cerberus_testkit::env::TestEnv;
use serde_json::{Value, json};

use crate::doors::holding;
use crate::env;
#[cfg(feature = "sync")]
use crate::sync::{Hub, join, machine, pair};

const NODE: &str = "note:agent: The build needs node 22 (claude-code's memory)";

/// The folder that Claude Code and Qwen Code name after a project.
fn folder(env: &TestEnv) -> String {
    env.project().to_string_lossy().replace(|c: char| !c.is_ascii_alphanumeric(), "-")
}

/// Claude Code's memory of the project.
fn memory_file(env: &TestEnv) -> PathBuf {
    env.root().join("user/.claude/projects").join(folder(env)).join("memory/MEMORY.md")
}

fn write(path: PathBuf, text: &str) {
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(path, text).unwrap();
}

/// What an agent's hook replies to this event.
fn hook(env: &TestEnv, agent: &str, session: &str, event: &str, extra: Value) -> String {
    let mut payload =
        json!({"session_id": session, "cwd": env.project(), "transcript_path": null, "hook_event_name": event});
    if matches!(agent, "gemini" | "qwen-code") {
        payload["timestamp"] = json!(format!("{session}-{event}"));
    }
    payload.as_object_mut().unwrap().extend(extra.as_object().unwrap().clone());
    let output = env.hook_of(agent, payload.to_string().as_bytes());
    assert_eq!((output.status.code(), &*output.stderr), (Some(0), &b""[..]), "{agent} {event}");
    String::from_utf8_lossy(&output.stdout).into_owned()
}

/// What a session of this agent is told at its start.
fn told(env: &TestEnv, agent: &str, session: &str) -> String {
    let mut reply = hook(env, agent, session, "SessionStart", json!({"source": "startup"}));
    let prompted = match agent {
        "gemini" => Some("BeforeAgent"),
        "qwen-code" => Some("UserPromptSubmit"),
        _ => None,
    };
    // They pass on what is told with a prompt.
    if let Some(event) = prompted {
        reply = hook(env, agent, session, event, json!({"prompt": "Go on"}));
    }
    let reply: Value = serde_json::from_str(&reply).unwrap_or_default();
    reply["hookSpecificOutput"]["additionalContext"].as_str().unwrap_or_default().to_string()
}

/// A session of this agent.
fn session(env: &TestEnv, agent: &str, session: &str) {
    told(env, agent, session);
    hook(env, agent, session, "SessionEnd", json!({"reason": "other"}));
}

/// The lines of notes in a text.
fn notes(text: &str) -> Vec<&str> {
    text.lines().filter(|line| line.starts_with("note:")).collect()
}

fn forget(env: &TestEnv, args: &[&str]) {
    env.ok(&[&["forget"], args, &["--yes"]].concat());
}

#[test]
fn claude_codes_memory_is_told_to_others_and_not_to_itself() {
    let env = env();
    write(
        memory_file(&env),
        "# Memory\n\n- The build needs node 22\n- [Slow tests](slow.md) — the suite takes 9 minutes\n",
    );
    session(&env, "claude-code", "a");
    let expected = [NODE, "note:agent: Slow tests — the suite takes 9 minutes (claude-code's memory)"];
    for agent in ["codex", "gemini", "qwen-code"] {
        assert_eq!(notes(&told(&env, agent, agent)), expected, "{agent}");
    }
    assert_eq!(notes(&told(&env, "claude-code", "b")), [""; 0]);
    assert_eq!(notes(&env.brief()), expected, "nobody knows who asks");
    let explained = env.ok(&["brief", "--explain"]);
    assert!(explained.contains("in claude-code's own memory, read") && explained.contains("after 2026"), "{explained}");
    env.rebuild();
    assert_eq!(notes(&told(&env, "codex", "again")), expected);
    // A receipt holds none of the words.
    assert_eq!(journal(&env).matches("node 22").count(), 1);
}

fn journal(env: &TestEnv) -> String {
    let segments = fs::read_dir(env.home().join("journal")).unwrap().flatten();
    segments.map(|segment| fs::read_to_string(segment.path()).unwrap()).collect()
}

#[test]
fn the_memories_of_other_agents_are_read_where_they_keep_them() {
    let env = env();
    let (user, root) = (env.root().join("user"), env.project().to_string_lossy().into_owned());
    write(user.join(".qwen/projects").join(folder(&env)).join("memory/MEMORY.md"), "- Qwen knows the port is 8080\n");
    write(user.join(".gemini/projects.json"), &json!({"projects": {&root: "hydra", "/x": "../../etc"}}).to_string());
    write(user.join(".gemini/tmp/hydra/memory/MEMORY.md"), "- Gemini knows the schema is in db/\n");
    let group = |folder: &str, note: &str| {
        format!(
            "# Task Group: x\napplies_to: cwd={folder}; reuse_rule=safe\n\n## Reusable knowledge\n\n- {note} [Task 1]\n\n"
        )
    };
    let memories = group(&root, "Codex knows the linter is slow") + &group("/elsewhere", "Codex knows of other work");
    write(user.join(".codex/memories/MEMORY.md"), &memories);
    for agent in ["qwen-code", "gemini", "codex"] {
        session(&env, agent, agent);
    }
    let told = told(&env, "claude-code", "c");
    let mut lines = notes(&told);
    lines.sort();
    assert_eq!(
        lines,
        [
            "note:agent: Codex knows the linter is slow (codex's memory)",
            "note:agent: Gemini knows the schema is in db/ (gemini's memory)",
            "note:agent: Qwen knows the port is 8080 (qwen-code's memory)",
        ]
    );
    assert_eq!(holding(&env, "other work"), Vec::<PathBuf>::new(), "it is about another folder");
}

#[test]
fn only_changes_are_recorded_and_the_last_one_counts() {
    let mut env = env();
    write(memory_file(&env), "- The build needs node 22\n");
    session(&env, "claude-code", "a");
    session(&env, "claude-code", "b");
    assert_eq!(journal(&env).matches("agent_notes").count(), 1);
    env.set_now(Some("2026-01-22T14:00:00Z"));
    write(memory_file(&env), "- The build needs node 24\n");
    session(&env, "claude-code", "b");
    let now = |env: &TestEnv, session: &str| notes(&told(env, "codex", session)).join("\n");
    assert_eq!(now(&env, "c"), "note:agent: The build needs node 24 (claude-code's memory)");
    // As it was before, in the same session.
    env.set_now(Some("2026-01-22T15:00:00Z"));
    write(memory_file(&env), "- The build needs node 22\n");
    session(&env, "claude-code", "b");
    assert_eq!(now(&env, "d"), NODE);
    env.set_now(Some("2026-01-22T16:00:00Z"));
    fs::remove_file(memory_file(&env)).unwrap();
    session(&env, "claude-code", "b");
    assert_eq!(now(&env, "e"), "");
    env.rebuild();
    assert_eq!(now(&env, "f"), "");
    assert_eq!(journal(&env).matches("agent_notes").count(), 4);
}

#[test]
fn what_the_agent_knows_already_is_not_told_again() {
    let env = env();
    write(memory_file(&env), "- The build needs node 22\n- Never push to main\n- Deploys go through staging\n");
    write(env.project().join("AGENTS.md"), "- Deploys go through staging.\n");
    env.ok(&["learn", "Never push to main"]);
    session(&env, "claude-code", "a");
    let told = told(&env, "codex", "b");
    assert_eq!(notes(&told), [NODE]);
    assert!(told.contains("rule:Never push to main"), "Codex does not read Claude Code's memory: {told}");
    // A resumed session has it in its context.
    let reply = hook(&env, "codex", "b", "SessionStart", json!({"source": "resume"}));
    assert!(!reply.contains("node 22"), "{reply}");
}

#[test]
fn a_session_that_reports_no_end_is_not_lost() {
    let mut env = env();
    write(memory_file(&env), "- The build needs node 22\n");
    // Nobody knows its process, so it is taken for crashed, and recovered.
    env.hook("a", "UserPromptSubmit", json!({"prompt": "Go on"}));
    env.set_now(Some("2026-01-22T19:00:00Z"));
    assert_eq!(notes(&told(&env, "codex", "b")), [NODE]);
}

#[test]
fn what_is_forgotten_is_gone() {
    for args in [
        &["--session", "a"][..],
        &["--project"],
        &["--since", "2026-01-01", "--until", "2026-12-31"],
        &["--path", "harbour.rs"],
    ] {
        let env = env();
        write(memory_file(&env), "- The pier is in harbour.rs and nowhere else\n");
        session(&env, "claude-code", "a");
        assert!(!holding(&env, "pier").is_empty());
        forget(&env, args);
        assert_eq!(holding(&env, "pier"), Vec::<PathBuf>::new(), "{args:?}");
        assert_eq!(notes(&env.brief()), [""; 0], "{args:?}");
    }
    // The file did not change, so the sentence does not come back.
    let env = env();
    write(memory_file(&env), "- The pier is in harbour.rs and nowhere else\n- The build needs node 22\n");
    session(&env, "claude-code", "a");
    forget(&env, &["--path", "harbour.rs"]);
    session(&env, "claude-code", "b");
    assert_eq!((holding(&env, "pier"), notes(&env.brief())), (Vec::new(), vec![NODE]));
}

#[test]
fn secrets_and_private_things_are_not_stored() {
    let secret = format!("ghp_{}", "a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8");
    let text = format!(
        "- The token is {secret} for now\n- Read tls/harbour.pem <private>pier</private> first\n- The build needs node 22\n"
    );
    let open = env();
    write(memory_file(&open), &text);
    session(&open, "claude-code", "a");
    for words in [secret.as_str(), "harbour.pem", "pier"] {
        assert_eq!(holding(&open, words), Vec::<PathBuf>::new(), "{words}");
    }
    assert!(notes(&told(&open, "codex", "b")).contains(&NODE));
    // Nothing of a project that was opted out, not even of a session before.
    let shut = env();
    write(memory_file(&shut), &text);
    told(&shut, "claude-code", "a");
    fs::write(shut.project().join(".nocerberus"), "").unwrap();
    hook(&shut, "claude-code", "a", "SessionEnd", json!({"reason": "other"}));
    shut.run(&["recover", "a"]);
    assert_eq!(holding(&shut, "node 22"), Vec::<PathBuf>::new());
}

#[test]
fn a_link_is_not_followed_and_a_huge_file_is_cut() {
    let env = env();
    let file = memory_file(&env);
    let other = env.root().join("diary.md");
    fs::write(&other, "- The diary says that it rained\n").unwrap();
    fs::create_dir_all(file.parent().unwrap()).unwrap();
    std::os::unix::fs::symlink(&other, &file).unwrap();
    session(&env, "claude-code", "a");
    assert_eq!(holding(&env, "rained"), Vec::<PathBuf>::new());
    fs::remove_file(&file).unwrap();
    let line = "- The build needs node 22\n";
    write(file.clone(), &format!("{line}{}- The last line of all\n", "- A line that repeats itself\n".repeat(50_000)));
    session(&env, "claude-code", "b");
    assert_eq!(holding(&env, "last line of all"), Vec::<PathBuf>::new());
    assert!(journal(&env).len() < 20_000, "{}", journal(&env).len());
    assert_eq!(notes(&told(&env, "codex", "c"))[0], NODE);
    // No file at all, and no text.
    for bytes in [&b"\xff\xfe\x00- x"[..], b""] {
        fs::write(&file, bytes).unwrap();
        session(&env, "claude-code", "d");
    }
}

#[cfg(feature = "sync")]
#[test]
fn another_device_is_told_and_so_is_the_same_agent_there() {
    let (_hub, a, b) = pair();
    write(memory_file(&a), "- The build needs node 22\n- Both know that CI is slow\n");
    write(memory_file(&b), "- Both know that CI is slow\n");
    session(&a, "claude-code", "a");
    a.ok(&["sync"]);
    b.ok(&["sync"]);
    assert_eq!(notes(&told(&b, "claude-code", "b")), [NODE]);
    let explained = b.ok(&["brief", "--explain"]);
    assert!(explained.contains("in claude-code's own memory on another device"), "{explained}");
    b.rebuild();
    assert_eq!(notes(&told(&b, "claude-code", "c")), [NODE]);
    // What is forgotten there is forgotten here.
    forget(&a, &["--session", "a"]);
    a.ok(&["sync"]);
    b.ok(&["sync"]);
    assert_eq!(holding(&b, "node 22"), Vec::<PathBuf>::new());
}

#[cfg(feature = "sync")]
#[test]
fn a_team_never_gets_them() {
    let (hub, ann, bob) = (Hub::new(), machine(), machine());
    ann.json(&["sync", "init", &hub.url(), "--team", "acme", "--name", "ann"]);
    ann.ok(&["share", "--team", "acme"]);
    join(&ann, &bob, &hub, "bob", &["--team", "acme"]);
    write(memory_file(&ann), "- The build needs node 22\n");
    session(&ann, "claude-code", "a");
    assert!(!holding(&ann, "node 22").is_empty());
    ann.ok(&["record", "decision", "use sqlite for the queue", "--team"]);
    ann.ok(&["sync"]);
    bob.ok(&["sync"]);
    assert!(bob.brief().contains("use sqlite"), "{}", bob.brief());
    assert_eq!(holding(&bob, "node 22"), Vec::<PathBuf>::new());
}
