//! How much a prompt counts is learned from ended sessions.

use std::io::Write as _;
use std::process::Stdio;

use cerberus_testkit::env::TestEnv;
use cerberus_testkit::process::write_program;
use serde_json::{Value, json};

use crate::env;

/// A file that shares half of its words with a prompt about its topic.
fn quiet(topic: &str) -> String {
    format!("src/{topic}_window.rs")
}

fn busy() -> Vec<String> {
    (0..12).map(|number| format!("work/busy{number}.rs")).collect()
}

/// A project with many files that sessions work on, and a few that nobody did.
fn project() -> TestEnv {
    let env = env();
    for path in busy().into_iter().chain(["limiter", "parser", "cursor"].map(quiet)) {
        let file = env.project().join(&path);
        std::fs::create_dir_all(file.parent().unwrap()).unwrap();
        std::fs::write(file, format!("{path}\n")).unwrap();
    }
    commit(&env, "2026-01-20T13:00:00Z");
    env
}

fn commit(env: &TestEnv, at: &str) {
    env.git(&env.project(), &["add", "--all"]);
    let mut git = env.command_for("git");
    git.env("GIT_COMMITTER_DATE", at).args(["-c", "user.name=Test", "-c", "user.email=test@localhost"]);
    assert!(git.args(["commit", "--quiet", "-m", "all"]).status().unwrap().success());
}

/// A session from its start to its end, in this hour.
fn work(env: &mut TestEnv, hour: u32, prompt: &str, edited: &[String]) {
    env.set_now(Some(&format!("2026-01-22T{hour:02}:00:00Z")));
    let session = format!("s{hour}");
    env.start(&session, "startup");
    env.hook(&session, "UserPromptSubmit", json!({"prompt": prompt}));
    for path in edited {
        env.write_file(&session, &format!("toolu_{session}_{path}"), path, "x\n");
    }
    env.hook(&session, "SessionEnd", json!({"reason": "exit"}));
}

const VAGUE: &str = "Go on.";
const ABOUT_THE_LIMITER: &str = "Make the limiter stricter.";

/// Four sessions; the third edits a quiet file.
fn worked(third_prompt: &str) -> TestEnv {
    let mut env = project();
    work(&mut env, 8, VAGUE, &busy());
    work(&mut env, 9, VAGUE, &busy());
    work(&mut env, 10, third_prompt, &[quiet("limiter")]);
    work(&mut env, 11, VAGUE, &busy());
    env
}

/// Whether a brief tells the quiet file that the prompt is about.
fn tells_what_was_asked(env: &TestEnv) -> bool {
    let brief = env.json(&["brief", "--prompt", "The parser drops a token."]);
    brief["items"].as_array().unwrap().iter().any(|item| item["path"] == quiet("parser"))
}

/// The lessons in the journal, oldest first: files edited, told, told if the prompt counted double.
fn lessons(env: &TestEnv) -> Vec<[u64; 3]> {
    let mut found = Vec::new();
    for segment in std::fs::read_dir(env.home().join("journal")).unwrap() {
        let text = std::fs::read(segment.unwrap().path()).unwrap();
        let text = String::from_utf8_lossy(&text);
        let records = text.lines().filter_map(|line| serde_json::from_str::<Value>(&line[line.find('{')?..]).ok());
        let lessons = records.map(|record| record["event"]["lesson"].clone()).filter(|lesson| !lesson.is_null());
        found.extend(
            lessons.map(|lesson| ["edited", "told", "told_doubled"].map(|name| lesson[name].as_u64().unwrap())),
        );
    }
    found
}

#[test]
fn a_prompt_counts_double_where_that_would_have_told_more() {
    let vague = worked(VAGUE);
    assert_eq!(lessons(&vague)[2], [1, 0, 0]);
    assert!(!tells_what_was_asked(&vague));
    let mut env = worked(ABOUT_THE_LIMITER);
    assert_eq!(lessons(&env), [[12, 7, 7], [12, 10, 10], [1, 0, 1], [12, 10, 10]], "one for each session");
    assert!(tells_what_was_asked(&env));
    let explained = |env: &TestEnv| env.ok(&["brief", "--explain", "--prompt", "The parser drops a token."]);
    let doubled = "The prompt counts double";
    assert!(explained(&env).contains(doubled) && !explained(&vague).contains(doubled), "{}", explained(&env));
    assert!(!env.ok(&["brief", "--explain"]).contains(doubled), "there is no prompt");
    env.rebuild();
    assert!(tells_what_was_asked(&env), "it is in the journal");
    env.set_now(Some("2026-01-22T09:30:00Z"));
    assert!(!tells_what_was_asked(&env), "it was not known then");
    env.set_now(Some("2026-01-22T12:00:00Z"));
    let sessions = env.sessions();
    let third = sessions.iter().find(|session| session["started_at"] == "2026-01-22T10:00:00Z").unwrap();
    env.ok(&["forget", "--session", third["id"].as_str().unwrap(), "--yes"]);
    assert!(!tells_what_was_asked(&env), "what a forgotten session taught is forgotten");
}

#[test]
fn a_file_that_the_session_created_could_not_have_been_told() {
    let mut env = project();
    work(&mut env, 8, VAGUE, &busy());
    env.set_now(Some("2026-01-22T09:00:00Z"));
    env.start("s9", "startup");
    env.hook("s9", "UserPromptSubmit", json!({"prompt": "Write a gauge."}));
    env.write_file("s9", "toolu_1", &quiet("gauge"), "x\n");
    std::fs::write(env.project().join(quiet("gauge")), "x\n").unwrap();
    commit(&env, "2026-01-22T09:00:30Z");
    env.set_now(Some("2026-01-22T09:01:00Z"));
    env.hook("s9", "SessionEnd", json!({"reason": "exit"}));
    assert_eq!(lessons(&env)[1], [1, 0, 0]);
}

#[test]
fn what_git_could_not_answer_is_learned_at_the_next_end() {
    let env = project();
    env.start("s1", "startup");
    env.hook("s1", "UserPromptSubmit", json!({"prompt": ABOUT_THE_LIMITER}));
    env.write_file("s1", "toolu_1", &quiet("limiter"), "x\n");
    let broken = env.root().join("broken");
    write_program(&broken.join("git"), "#!/bin/sh\nexit 1\n");
    let path = format!("{}:/usr/bin:/bin", broken.display());
    let payload = env.payload("s1", "SessionEnd", json!({"reason": "exit"}));
    let mut end = env.command();
    end.env("PATH", path).args(["hook", "claude-code"]).stdin(Stdio::piped());
    let mut end = end.spawn().unwrap();
    end.stdin.take().unwrap().write_all(&payload).unwrap();
    assert!(end.wait().unwrap().success());
    assert_eq!(lessons(&env).len(), 0);
    let mark = env.project().join(".nocerberus");
    std::fs::write(&mark, "").unwrap();
    env.ok(&["import", "claude-code", broken.to_str().unwrap()]);
    assert_eq!(lessons(&env).len(), 0, "the project is opted out");
    std::fs::remove_file(mark).unwrap();
    env.start("goes-on", "startup");
    env.hook("goes-on", "UserPromptSubmit", json!({"prompt": ABOUT_THE_LIMITER}));
    env.write_file("goes-on", "toolu_2", &quiet("limiter"), "x\n");
    env.start("s2", "startup");
    env.hook("s2", "SessionEnd", json!({"reason": "exit"}));
    assert_eq!(lessons(&env).len(), 1, "of the first session: one goes on, the other did nothing");
}

#[test]
fn a_session_whose_end_was_forgotten_teaches_once_more() {
    let mut env = project();
    for (minute, event, extra) in [
        (0, "SessionStart", json!({"source": "startup"})),
        (1, "UserPromptSubmit", json!({"prompt": ABOUT_THE_LIMITER})),
        (
            2,
            "PostToolUse",
            json!({"tool_name": "Write", "tool_use_id": "toolu_1", "tool_response": {},
            "tool_input": {"file_path": env.project().join(quiet("limiter")), "content": "x"}}),
        ),
        (3, "SessionEnd", json!({"reason": "exit"})),
    ] {
        env.set_now(Some(&format!("2026-01-22T08:{minute:02}:00Z")));
        env.hook("s8", event, extra);
    }
    assert_eq!(lessons(&env).len(), 1);
    env.ok(&["forget", "--since", "2026-01-22T08:02:30Z", "--until", "2026-01-22T08:30:00Z", "--yes"]);
    assert_eq!(lessons(&env).len(), 0);
    work(&mut env, 12, VAGUE, &busy());
    assert_eq!(lessons(&env).len(), 2, "what is left of the first session, and the new one");
    work(&mut env, 13, VAGUE, &busy());
    assert_eq!(lessons(&env).len(), 3);
}

#[test]
fn imported_sessions_teach_too() {
    let env = project();
    let cwd = env.project();
    let folder = env.root().join("transcripts");
    std::fs::create_dir(&folder).unwrap();
    for number in 0..10 {
        let line = |second: u32, kind: &str, content: Value| {
            let at = format!("2026-01-21T{:02}:00:{second:02}Z", 10 + number);
            json!({"type": kind, "sessionId": format!("old{number}"), "uuid": format!("u{number}-{second}"),
                "timestamp": at, "cwd": &cwd, "message": {"role": kind, "content": content}})
            .to_string()
        };
        let edit = json!({"type": "tool_use", "id": format!("toolu_{number}"), "name": "Write",
            "input": {"file_path": cwd.join(quiet("limiter")), "content": "x"}});
        let result = json!({"type": "tool_result", "tool_use_id": format!("toolu_{number}"), "content": "ok"});
        let transcript = [
            line(0, "user", json!(ABOUT_THE_LIMITER)),
            line(1, "assistant", json!([edit])),
            line(2, "user", json!([result])),
        ];
        std::fs::write(folder.join(format!("old{number}.jsonl")), transcript.join("\n")).unwrap();
    }
    for _ in 0..2 {
        env.ok(&["import", "claude-code", folder.to_str().unwrap()]);
        assert_eq!(lessons(&env), [[1, 1, 1]; 10], "each once");
    }
}
