//! How the program behaves in a terminal and in scripts: colours, widths, the pager, questions, errors as JSON.

use std::process::Command;

use cerberus_testkit::env::TestEnv;
use cerberus_testkit::process::{LIMIT, wait_until};
use cerberus_testkit::terminal::Terminal;
use serde_json::{Value, json};

use crate::browse::{import, transcript};
use crate::env;

/// Sessions with long titles, wide characters and a crash-free past.
fn sessions(env: &TestEnv, count: u32) {
    for number in 1..=count {
        let asked = match number % 3 {
            0 => "修复登录页面的错误, 然后运行所有测试并提交结果".to_string(),
            1 => format!("make the uploader number {number} retry with jitter and never lose a single message again"),
            _ => format!("fix bug {number}"),
        };
        import(env, "s", &transcript(&format!("session-{number}"), number, &asked, "src/uploader/retry.rs", &[]));
    }
}

/// What a command prints in a terminal, as it is.
fn in_terminal(command: &mut Command) -> String {
    in_terminal_of("C.UTF-8", command)
}

fn in_terminal_of(locale: &str, command: &mut Command) -> String {
    let mut terminal = Terminal::spawn(command.env("TERM", "xterm").env("LC_ALL", locale)).unwrap();
    terminal.wait(LIMIT).unwrap();
    // The end of the output may arrive after the end of the process.
    terminal.close();
    terminal.printed()
}

/// The width of a line, wide characters counted twice.
fn columns(line: &str) -> usize {
    line.chars().map(|c| if c >= '\u{2e80}' { 2 } else { 1 }).sum()
}

#[test]
fn colours_are_for_terminals_that_want_them() {
    let env = env();
    sessions(&env, 2);
    // The first look at the state mentions something once.
    in_terminal(env.command().arg("status"));
    for args in [&["log"][..], &["show"], &["search", "uploader"], &["status"]] {
        assert!(!env.ok(args).contains('\u{1b}'), "{args:?} is piped");
        let coloured = in_terminal(env.command().args(args));
        assert!(coloured.contains("\u{1b}["), "{args:?}: {coloured:?}");
        let plain = in_terminal(env.command().args(args).env("NO_COLOR", "1"));
        assert!(!plain.contains('\u{1b}'), "{args:?}: {plain:?}");
        // Colour carries nothing that the words do not say.
        let mut stripped = String::new();
        let mut rest = coloured.as_str();
        while let Some((before, after)) = rest.split_once('\u{1b}') {
            stripped.push_str(before);
            rest = after.split_once('m').map_or("", |(_, after)| after);
        }
        stripped.push_str(rest);
        assert_eq!(stripped, plain, "{args:?}");
    }
}

#[test]
fn lines_fit_every_width() {
    let env = env();
    sessions(&env, 6);
    for width in [40, 60, 79, 80, 100, 200] {
        for args in [
            &["log"][..],
            &["show"],
            &["search", "uploader"],
            &["status"],
            &["memory", "session-history", "--days", "90"],
        ] {
            let output = env.command().args(args).env("COLUMNS", width.to_string()).output().unwrap();
            let text = String::from_utf8_lossy(&output.stdout).into_owned();
            assert!(text.lines().count() > 2, "{args:?}: {text}");
            for line in text.lines() {
                assert!(columns(line) <= width, "{args:?} at {width}: {line:?}");
            }
        }
    }
}

#[test]
fn signs_are_ascii_without_utf_8() {
    let env = env();
    sessions(&env, 2);
    let log = |locale: &str| {
        let output = env.command().args(["log"]).env("LC_ALL", locale).output().unwrap();
        String::from_utf8_lossy(&output.stdout).into_owned()
    };
    assert!(log("en_US.UTF-8").contains("✓ ended"));
    assert!(log("C").contains("+ ended") && !log("C").contains('✓'));
}

#[test]
fn a_terminal_without_utf_8_gets_ascii_alone() {
    let env = env();
    sessions(&env, 4);
    for args in [&["log"][..], &["show"], &["search", "uploader"]] {
        let shown = in_terminal_of("C", env.command().args(args));
        assert!(shown.contains("uploader") && shown.is_ascii(), "{args:?}: {shown}");
    }
    assert!(!in_terminal(env.command().arg("log")).is_ascii());
}

#[test]
fn times_are_local() {
    let env = env();
    sessions(&env, 21);
    let log = |zone: &str| {
        let output = env.command().args(["log", "-n", "1"]).env("TZ", zone).output().unwrap();
        String::from_utf8_lossy(&output.stdout).into_owned()
    };
    assert!(log("UTC").contains("yesterday 10:00"), "{}", log("UTC"));
    assert!(
        log("Asia/Tokyo").contains("yesterday 19:00") || log("JST-9").contains("yesterday 19:00"),
        "{}",
        log("JST-9")
    );
}

#[test]
fn ten_are_shown_unless_more_are_asked_for() {
    let env = env();
    sessions(&env, 12);
    let shown = |args: &[&str]| env.ok(args).lines().filter(|line| line.starts_with("2026")).count();
    assert_eq!(shown(&["log"]), 10);
    assert!(env.ok(&["log"]).contains("10 of 12; -n 12 shows all"));
    assert_eq!(shown(&["log", "-n", "11"]), 11);
    assert_eq!(env.json(&["log"]).as_array().unwrap().len(), 12);
    assert_eq!(env.json(&["log", "-n", "3"]).as_array().unwrap().len(), 3);
    for number in 0..12 {
        env.ok(&["learn", &format!("Rule number {number} holds")]);
    }
    assert_eq!(env.ok(&["memory", "list"]).lines().count(), 10);
    assert_eq!(env.json(&["memory", "list"]).as_array().unwrap().len(), 12);
}

#[test]
fn long_output_goes_through_the_pager() {
    let env = env();
    sessions(&env, 28);
    let command = || {
        let mut command = env.command();
        command.args(["log", "-n", "100"]).env("PAGER", "sed s/^/paged:/").env("COLUMNS", "40");
        command
    };
    // The terminal has 40 rows; 28 sessions in one line each fit, those of two months do not.
    assert!(!in_terminal(&mut command()).contains("paged:"));
    for number in 0..20 {
        env.ok(&[
            "record",
            "next",
            &format!("step {number}"),
            "--now",
            &format!("2026-02-{:02}T10:00:00Z", number + 1),
        ]);
    }
    let mut later = command();
    later.args(["--now", "2026-03-20T10:00:00Z"]);
    assert!(in_terminal(&mut later).contains("paged:"), "{}", in_terminal(&mut later));
    let mut by_agent = command();
    by_agent.args(["--now", "2026-03-20T10:00:00Z"]).env("CLAUDECODE", "1");
    assert!(!in_terminal(&mut by_agent).contains("paged:"), "no key is pressed there");
}

#[test]
fn errors_are_json_where_json_was_asked_for() {
    let env = env();
    for (args, code, said) in [
        (&["show", "nothing", "--json"][..], 1, "there is no session"),
        (&["--json", "serch"], 2, "unrecognized subcommand 'serch'"),
        (&["pause", "--for", "2", "--json"], 2, "2 of what?"),
    ] {
        let output = env.run(args);
        assert_eq!(output.status.code(), Some(code), "{args:?}");
        assert!(output.stdout.is_empty());
        let error: Value = serde_json::from_slice(&output.stderr).unwrap_or_else(|_| panic!("{output:?}"));
        assert!(error["error"].as_str().unwrap().contains(said), "{error}");
        assert!(!error["hint"].as_str().unwrap().is_empty(), "{error}");
    }
    let plain = String::from_utf8_lossy(&env.run(&["show", "nothing"]).stderr).into_owned();
    assert!(plain.starts_with("cerberus: there is no session"), "{plain}");
}

#[test]
fn a_pause_without_a_unit_is_refused() {
    let env = env();
    let output = env.run(&["pause", "--for", "2"]);
    assert_eq!(output.status.code(), Some(2));
    assert!(String::from_utf8_lossy(&output.stderr).contains("2 of what? write 2m, 2h or 2d"));
    assert!(env.ok(&["pause", "--for", "2h"]).contains("paused until today 15:35 (2 h)"));
    for command in ["status", "doctor"] {
        assert!(String::from_utf8_lossy(&env.run(&[command]).stdout).contains("paused until today 15:35"), "{command}");
    }
}

#[test]
fn completing_asks_and_can_be_undone() {
    let env = env();
    env.start("s", "startup");
    env.write_file("s", "t1", "src/a.rs", "fn a() {}\n");
    env.ok(&["record", "next", "measure it"]);
    let brief = env.brief();
    assert!(brief.contains("next:measure it"), "{brief}");
    for (answer, completed) in [("n\r", false), ("y\r", true)] {
        let mut command = env.command();
        command.args(["session", "complete"]).env("TERM", "xterm");
        let mut terminal = Terminal::spawn(&command).unwrap();
        wait_until("the question", LIMIT, || terminal.printed().contains("[y/N]").then_some(())).unwrap();
        assert!(terminal.printed().contains("Changed a.rs"), "it says which: {}", terminal.printed());
        terminal.type_keys(answer).unwrap();
        terminal.wait(LIMIT).unwrap();
        assert_eq!(env.brief().is_empty(), completed, "{answer:?}");
    }
    assert_eq!(env.json(&["log"])[0]["status"], "completed");
    let reopened = env.json(&["session", "complete", "--undo"]);
    assert_eq!(reopened["reopened"].as_array().unwrap().len(), 1);
    assert_eq!(env.brief(), brief);
    assert_eq!(env.json(&["log"])[0]["status"], "active");
    assert_eq!(env.run(&["session", "complete", "--undo"]).status.code(), Some(1), "there is nothing more to undo");
    env.hook("s", "SessionEnd", json!({"reason": "exit"}));
    let id = env.json(&["log"])[0]["id"].as_str().unwrap().to_string();
    env.ok(&["session", "complete", &id]);
    env.ok(&["session", "complete", &id, "--undo"]);
    assert_eq!(env.json(&["log"])[0]["status"], "ended");
    env.rebuild();
    assert_eq!(env.json(&["log"])[0]["status"], "ended");
}
