//! The first minutes with Cerberus, command by command as somebody new types them into a terminal.

use std::fs;

use cerberus_testkit::env::TestEnv;
use cerberus_testkit::process::LIMIT;
use cerberus_testkit::terminal::Terminal;
use serde_json::{Value, json};

use crate::browse::transcript;
use crate::env;

/// What Claude Code left behind before Cerberus came.
fn worked_before(env: &TestEnv) {
    let folder = env.root().join("user/.claude/projects/-home-dev-nimbus");
    fs::create_dir_all(&folder).unwrap();
    fs::write(env.root().join("user/.claude/settings.json"), "{}\n").unwrap();
    let said = |second: u32, kind: &str, text: &str| {
        let content = if kind == "user" { json!(text) } else { json!([{"type": "text", "text": text}]) };
        json!({
            "type": kind, "uuid": format!("bbbb-2-{second}"), "sessionId": "bbbb-2", "cwd": env.project(),
            "gitBranch": "main", "timestamp": format!("2026-01-20T10:00:{second}.000Z"), "isSidechain": false,
            "message": {"content": content},
        })
    };
    let correction =
        [said(11, "assistant", "I installed it with npm."), said(12, "user", "I prefer pnpm over npm here")];
    let write = |session: &str, day: u32, asked: &str, file: &str, more: &[Value]| {
        let text = transcript(session, day, asked, file, more);
        let text = text.replace("/home/dev/nimbus", env.project().to_str().unwrap());
        fs::write(folder.join(format!("{session}.jsonl")), text).unwrap();
    };
    write("aaaa-1", 19, "write the checkpoint tests", "tests/e2e.rs", &[]);
    write("bbbb-2", 20, "fix the race in process.rs", "src/process.rs", &correction);
}

/// A command in a terminal: waits for each text, then types the keys after it.
fn typed(env: &TestEnv, args: &[&str], steps: &[(&str, &str)]) {
    let mut command = env.command();
    command.args(args).env("TERM", "xterm-256color").env("LANG", "C.UTF-8").env("TZ", "UTC").env("PAGER", "cat");
    let mut terminal = Terminal::spawn_sized(&command, (40, 140)).unwrap();
    for (text, keys) in steps {
        terminal.wait_for_text(text, LIMIT).unwrap_or_else(|problem| panic!("{args:?}: {problem}"));
        terminal.type_keys(keys).unwrap();
    }
    let status = terminal.wait(LIMIT).unwrap();
    assert!(status.success(), "{args:?}: {status}\n{}", terminal.printed());
}

fn shows(env: &TestEnv, args: &[&str], expected: &[&str]) {
    let steps: Vec<(&str, &str)> = expected.iter().map(|text| (*text, "")).collect();
    typed(env, args, &steps);
}

#[test]
fn the_first_minutes() {
    let env = env();
    worked_before(&env);
    shows(&env, &["install"], &["claude-code", "cerberus import"]);
    shows(&env, &["import"], &["2 sessions", "Fix the race in process.rs", "cerberus review", "cerberus log"]);
    shows(&env, &["status"], &["hydra", "Fix the race in process.rs", "1 proposed"]);
    shows(&env, &["log"], &["Fix the race in process.rs", "Write the checkpoint tests", "1 failing", "claude-code"]);
    shows(&env, &["search", "supervsor"], &["supervisor", "Write the checkpoint tests"]);
    shows(&env, &["show", "bbbb"], &["fix the race in process.rs", "src/process.rs", "stop_twice"]);
    shows(&env, &["resume", "bbbb", "--print"], &["claude --resume bbbb-2"]);
    typed(&env, &["review"], &[("pnpm", "a")]);
    let approved = env.json(&["memory", "list"]);
    assert_eq!(approved.as_array().unwrap().len(), 1, "{approved}");
    typed(&env, &[], &[("Fix the race in process.rs", "\r"), ("src/process.rs", "\x1b"), ("q quit", "q")]);
    shows(&env, &["report"], &["report.html"]);
    let page = fs::read_to_string(env.home().join("report.html")).unwrap();
    assert!(page.contains("Fix the race in process.rs"));
    let told = env.start("cccc-3", "startup");
    assert!(
        told.contains("pref:\"I prefer pnpm over npm here\" (you, ")
            && told.contains("asked:fix the race in process.rs"),
        "{told}"
    );
}

#[cfg(all(feature = "loop", feature = "sync"))]
#[test]
fn where_nothing_is_known_yet_the_next_step_is_said() {
    let env = env();
    let heard = |args: &[&str]| {
        let output = env.run(args);
        String::from_utf8([output.stdout, output.stderr].concat()).unwrap()
    };
    for args in [&["log"][..], &["log", "--yesterday"], &["report", "--week"]] {
        let heard = heard(args);
        assert!(heard.contains("`cerberus import`") && !heard.contains("`cerberus log`"), "{args:?}: {heard}");
    }
    assert!(heard(&["check", "list"]).contains("`cerberus check add`"));
    assert!(heard(&["loop", "status"]).contains("`cerberus loop run`"));
    assert!(heard(&["share", "--dry-run"]).contains("`cerberus sync init URL` makes one"));
    let stats = heard(&["stats"]);
    assert_eq!(stats.matches("no session was told anything yet").count(), 1, "{stats}");
}

#[test]
fn a_result_in_words_is_wrapped_at_the_width_of_the_terminal() {
    let env = env();
    let mut command = env.command();
    command.args(["review"]).env("TERM", "xterm-256color").env("LANG", "C.UTF-8");
    let mut terminal = Terminal::spawn_sized(&command, (24, 40)).unwrap();
    assert_eq!(terminal.wait(LIMIT).unwrap().code(), Some(0));
    let shown = terminal.screen().contents();
    assert!(shown.lines().any(|line| line == "nothing to review; a rule is proposed"), "{shown}");
}
