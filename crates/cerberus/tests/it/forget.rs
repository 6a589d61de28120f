//! Forgetting: whatever is meant, its words are in no byte of any file of the home afterwards, and the rest stands.

use std::process::Stdio;

use cerberus_os::fault::FORGETTING_POINTS;
use cerberus_testkit::doors::archived;
use cerberus_testkit::env::TestEnv;
use serde_json::{Value, json};

use crate::env;

/// Every file in the home that holds the words.
pub fn holding(env: &TestEnv, words: &str) -> Vec<String> {
    let (mut folders, mut found) = (vec![env.home()], Vec::new());
    let unpacked = archived(env).into_iter().filter(|(_, text)| text.contains(words));
    found.extend(unpacked.map(|(path, text)| format!("{}: {text}", path.display())));
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                folders.push(path);
                continue;
            }
            // Each with what stands around it, to say which record it is of.
            let bytes = std::fs::read(&path).unwrap();
            if let Some(at) = bytes.windows(words.len()).position(|found| found == words.as_bytes()) {
                let around = &bytes[at.saturating_sub(400)..bytes.len().min(at + 100)];
                let name = path.file_name().unwrap().to_string_lossy();
                found.push(format!("{name}: {}", String::from_utf8_lossy(around)));
            }
        }
    }
    found
}

fn prompt(env: &TestEnv, session: &str, text: &str) {
    env.hook(session, "UserPromptSubmit", json!({"prompt": text, "prompt_id": text}));
}

fn stop(env: &TestEnv, session: &str, text: &str) {
    env.hook(session, "Stop", json!({"last_assistant_message": text}));
}

fn id_of(env: &TestEnv, session: &str) -> String {
    let found = env.sessions().into_iter().find(|one| one["agent_session_id"] == session).unwrap();
    found["id"].as_str().unwrap().to_string()
}

/// A session full of a word in every place where a word can stand, and one that is told of it.
fn fill(env: &mut TestEnv) {
    env.set_now(Some("2026-01-22T10:00:00Z"));
    env.start("odd", "startup");
    prompt(env, "odd", "Always ask the xylophonist before releases. Then go on");
    env.write_file("odd", "t1", "src/xylophonist.rs", "fn xylophonist_plays() {}\n");
    let run = json!({"tool_name": "Bash", "tool_use_id": "t2",
        "tool_input": {"command": "cargo test xylophonist"},
        "tool_response": {"stdout": "test xylophonist ... FAILED\n\ntest result: FAILED. 0 passed; 1 failed;"}});
    env.hook("odd", "PostToolUse", run);
    let todos = json!({"tool_name": "TodoWrite", "tool_use_id": "t3",
        "tool_input": {"todos": [{"content": "tune the xylophonist", "status": "pending", "activeForm": "x"}]}});
    env.hook("odd", "PostToolUse", todos);
    stop(env, "odd", "Decision: the xylophonist decides.\nNext: pay the xylophonist.");
    env.hook("odd", "SessionEnd", json!({"reason": "other"}));
    env.set_now(Some("2026-01-22T12:00:00Z"));
    env.start("even", "startup");
    env.write_file("even", "t1", "src/zitherist.rs", "fn zitherist() {}\n");
    stop(env, "even", "Next: pay the zitherist");
    let told = env.start("third", "startup");
    assert!(told.contains("xylophonist") && told.contains("zitherist"), "{told}");
    assert!(!holding(env, "xylophonist").is_empty());
}

/// The words of one are nowhere, those of the other where they were; and the view is the one of the journal.
fn gone_and_kept(env: &TestEnv, what: &str) {
    assert_eq!(holding(env, "xylophonist"), [""; 0], "{what}");
    let brief = env.brief();
    assert!(brief.contains("impl:src/zitherist.rs") && brief.contains("pay the zitherist"), "{what}: {brief}");
    let before = (env.json(&["brief"]), env.sessions());
    env.rebuild();
    assert_eq!((env.json(&["brief"]), env.sessions()), before, "{what}");
}

#[test]
fn a_session_is_nowhere_any_more() {
    let mut env = env();
    fill(&mut env);
    let id = id_of(&env, "odd");
    let report = env.json(&["forget", "--session", &id, "--yes"]);
    assert_eq!(report["sessions"], 1, "{report}");
    assert!(report["rewritten"].as_u64() >= Some(1), "the third session was told of it: {report}");
    assert_eq!(report["memories"].as_array().unwrap().len(), 1, "nobody approved what it learnt: {report}");
    gone_and_kept(&env, "session");
    assert_eq!(env.run(&["forget", "--session", &id, "--yes"]).status.code(), Some(1));
}

#[test]
fn a_project_is_nowhere_any_more_and_others_stay() {
    let mut env = env();
    env.set_now(Some("2026-01-22T11:00:00Z"));
    let other = env.add_repository("xylophonist");
    env.ok(&["--cwd", other.to_str().unwrap(), "record", "decision", "the xylophonist decides"]);
    env.ok(&["--cwd", other.to_str().unwrap(), "memory", "learn", "Pay xylophonists", "--scope", "project"]);
    env.ok(&["--cwd", other.to_str().unwrap(), "memory", "learn", "Never push to main", "--everywhere"]);
    env.set_now(Some("2026-01-22T12:00:00Z"));
    env.write_file("even", "t1", "src/zitherist.rs", "fn zitherist() {}\n");
    stop(&env, "even", "Next: pay the zitherist");
    let report = env.json(&["--cwd", other.to_str().unwrap(), "forget", "--project", "--yes"]);
    assert_eq!((&report["sessions"], report["memories"].as_array().unwrap().len()), (&json!(1), 1), "{report}");
    gone_and_kept(&env, "project");
    let brief = env.brief();
    assert!(brief.starts_with("rule:Never push to main"), "what holds everywhere stays: {brief}");
}

#[test]
fn a_path_is_nowhere_any_more_nor_what_was_said_of_it() {
    let mut env = env();
    env.set_now(Some("2026-01-22T12:00:00Z"));
    env.start("one", "startup");
    env.write_file("one", "t1", "private/xylophonist.md", "# xylophonist\n");
    env.write_file("one", "t2", "src/zitherist.rs", "fn zitherist() {}\n");
    env.write_file("one", "t3", "private/plan.py", "def xylophonist():\n    pass\n");
    prompt(&env, "one", "Please go on. Compare private/xylophonist.md with it. Thanks");
    let read = json!({"tool_name": "Bash", "tool_use_id": "t4", "tool_input": {"command": "cat private/xylophonist.md"},
        "tool_response": {"stdout": "x"}});
    env.hook("one", "PostToolUse", read);
    stop(&env, "one", "Next: pay the zitherist\nDecision: keep xylophonist.md short.\nNext: read xylophonist.md again");
    env.ok(&["record", "next", "finish private/xylophonist.md"]);
    env.ok(&["memory", "learn", "Read private/xylophonist.md first"]);
    env.start("two", "startup");
    assert!(!holding(&env, "xylophonist").is_empty());
    let report = env.json(&["forget", "--path", "private/", "--yes"]);
    assert_eq!(report["memories"].as_array().unwrap().len(), 1, "{report}");
    gone_and_kept(&env, "path");
    assert!(!holding(&env, "Thanks").is_empty(), "what stood beside it stays");
}

#[test]
fn a_time_is_nowhere_any_more() {
    let mut env = env();
    fill(&mut env);
    env.set_now(Some("2026-01-22T11:00:00Z"));
    env.ok(&["memory", "learn", "Invite the xylophonist"]);
    env.set_now(Some("2026-01-22T12:30:00Z"));
    env.ok(&["forget", "--since", "2026-01-22T09:00:00Z", "--until", "2026-01-22T11:30:00Z", "--yes"]);
    gone_and_kept(&env, "time");
}

#[test]
fn a_memory_is_nowhere_any_more() {
    let mut env = env();
    env.set_now(Some("2026-01-22T12:00:00Z"));
    env.write_file("even", "t1", "src/zitherist.rs", "fn zitherist() {}\n");
    stop(&env, "even", "Next: pay the zitherist");
    let id = env.json(&["memory", "learn", "Invite the xylophonist"])["id"].as_str().unwrap().to_string();
    env.start("two", "startup");
    env.ok(&["forget", "--memory", &id, "--yes"]);
    gone_and_kept(&env, "memory");
}

#[test]
fn files_of_the_original_tool_and_set_aside_views_go_too() {
    let mut env = env();
    env.set_now(Some("2026-01-22T12:00:00Z"));
    let folder = env.home().join("memory/sessions");
    std::fs::create_dir_all(&folder).unwrap();
    let seed = |project: &str, word: &str| {
        json!({"session_id": "20260122-100000", "project": project, "timestamp": "2026-01-22T10:00:00Z",
            "decisions": [format!("dec:{word}")], "metadata": {"expires_at": "2026-01-29T10:00:00Z"}})
    };
    std::fs::write(folder.join("active-hydra.json"), seed("hydra", "xylophonist").to_string()).unwrap();
    std::fs::write(folder.join("active-kraken.json"), seed("kraken", "lyrist").to_string()).unwrap();
    env.ok(&["status"]);
    std::fs::write(env.home().join("view-1.db"), "xylophonist").unwrap();
    std::fs::write(env.home().join("view-1.damaged-wal"), "xylophonist").unwrap();
    env.ok(&["forget", "--project", "--yes"]);
    assert_eq!(holding(&env, "xylophonist"), [""; 0]);
    env.ok(&["status"]);
    assert_eq!(holding(&env, "xylophonist"), [""; 0], "it is not picked up again");
    assert!(holding(&env, "lyrist").iter().any(|found| found.starts_with("active-kraken.json")));
}

#[test]
fn nothing_is_forgotten_without_a_yes() {
    let mut env = env();
    fill(&mut env);
    let id = id_of(&env, "odd");
    let before = (env.json(&["brief"]), env.sessions());
    let planned = env.json(&["forget", "--session", &id, "--dry-run"]);
    assert!(planned["records"].as_u64() > Some(5), "{planned}");
    let unasked = env.run(&["forget", "--session", &id]);
    let message = String::from_utf8_lossy(&unasked.stderr).into_owned();
    assert!(unasked.status.code() == Some(1) && message.contains("--yes"), "{message}");
    for wrong in
        [&["forget"][..], &["forget", "--path", "**"], &["forget", "--project", "--since", "2026-01-22T10:00:00Z"]]
    {
        assert_eq!(env.run(wrong).status.code(), Some(2), "{wrong:?}");
    }
    assert_eq!(env.run(&["forget", "--session", "20200101-000000", "--yes"]).status.code(), Some(1));
    assert_eq!(env.ok(&["forget", "--path", "no/such/**", "--yes"]), "nothing to forget\n");
    assert_eq!((env.json(&["brief"]), env.sessions()), before);
}

#[test]
fn killed_in_the_middle_and_run_again_it_is_done() {
    for label in FORGETTING_POINTS {
        let mut env = env();
        fill(&mut env);
        let args = ["forget", "--since", "2026-01-22T09:00:00Z", "--until", "2026-01-22T11:30:00Z", "--yes"];
        let mut command = env.command();
        command.args(args).env("CERBERUS_FAULT", format!("{label}=kill")).stdin(Stdio::null()).stderr(Stdio::null());
        assert!(!command.output().unwrap().status.success(), "{label} was passed");
        let brief = env.brief();
        assert!(brief.contains("pay the zitherist"), "{label}: nothing else is lost: {brief}");
        env.ok(&args);
        gone_and_kept(&env, label);
        assert!(!env.home().join("rewriting").exists(), "{label}");
    }
}

#[test]
fn hooks_that_write_meanwhile_lose_nothing() {
    let mut env = env();
    fill(&mut env);
    let id = id_of(&env, "odd");
    let payload = |number: usize| {
        let input = json!({"file_path": env.project().join(format!("src/later_{number}.rs"))});
        env.payload(
            "later",
            "PostToolUse",
            json!({"tool_name": "Write", "tool_use_id": number.to_string(), "tool_input": input}),
        )
    };
    std::thread::scope(|scope| {
        let writer = scope.spawn(|| {
            for number in 0..30 {
                assert!(env.hook_bytes(&payload(number)).status.success());
            }
        });
        env.ok(&["forget", "--session", &id, "--yes"]);
        writer.join().unwrap();
    });
    assert_eq!(holding(&env, "xylophonist"), [""; 0]);
    let later = env.sessions().into_iter().find(|one: &Value| one["agent_session_id"] == "later").unwrap();
    let files = later["facts"].as_array().unwrap().iter().filter(|fact| fact["kind"] == "file").count();
    assert_eq!(files, 30);
}
