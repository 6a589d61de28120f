//! What forgetting, scanning and resuming reach in the archive, and how it is read.

use std::fs;

use cerberus_testkit::env::TestEnv;
use cerberus_testkit::process::LIMIT;
use cerberus_testkit::terminal::Terminal;
use serde_json::json;

use super::{Written, archived, found, kept_session};
use crate::browse::with_program;
use crate::env;
use crate::forget::holding;
use crate::mcp::Client;

#[test]
fn what_only_the_archive_has_is_forgotten() {
    let request: [&[&str]; 2] =
        [&["--path", "notes/x.md"], &["--since", "2026-01-21T10:00:42Z", "--until", "2026-01-21T10:00:44Z"]];
    for request in request {
        let env = env();
        let mut written = kept_session(&env);
        written.ran("10:00:41", "rg tuning", "notes/x.md: a flugelhorn").said("10:00:43", "I saw a bombardon.");
        written.said("10:00:50", "Done.").import();
        let (gone, kept) = match request[0] {
            "--path" => ("flugelhorn", "bombardon"),
            _ => ("bombardon", "flugelhorn"),
        };
        let asked = env.ok(&[&["forget", "--dry-run"], request].concat());
        assert!(asked.contains("parts of 1 conversation"), "{asked}");
        env.ok(&[&["forget", "--yes"], request].concat());
        let text = archived(&env, "session-one");
        assert!(!text.contains(gone) && text.contains(kept), "{request:?}: {text}");
        assert_eq!(holding(&env, gone), [] as [String; 0], "{request:?}");
        assert_eq!(env.ok(&[&["forget", "--yes"], request].concat()), "nothing to forget\n", "{request:?}");
    }
}

/// A fork of a session: its lines up to a number, and a turn of its own.
fn fork(env: &TestEnv, first: &Written, lines: usize) {
    let mut fork = Written::new(env, "session-two");
    fork.lines.extend_from_slice(&first.lines[..lines]);
    fork.lines.iter_mut().for_each(|line| line["sessionId"] = json!("session-two"));
    fork.prompt("11:00:00", "Go on elsewhere").said("11:00:10", "Elsewhere it is.").import();
}

#[test]
fn forgetting_a_file_takes_nothing_else_from_a_fork() {
    let env = env();
    let mut first = kept_session(&env);
    let call =
        json!([{"type": "tool_use", "id": "rg", "name": "Bash", "input": {"command": "rg tuning of the horns"}}]);
    first.push("10:00:41", "assistant", call);
    let forked = first.lines.len();
    let answer = json!([{"type": "tool_result", "tool_use_id": "rg", "content": "notes/x.md: a flugelhorn"}]);
    first.push("10:00:42", "user", answer).said("10:00:50", "Done.").import();
    fork(&env, &first, forked);
    assert!(archived(&env, "session-two").contains("tuning of the horns"));
    env.ok(&["forget", "--yes", "--path", "notes/x.md"]);
    assert!(!archived(&env, "session-one").contains("tuning of the horns"), "the call goes with its answer");
    assert!(archived(&env, "session-two").contains("tuning of the horns"), "the fork has no answer");
    assert_eq!(holding(&env, "flugelhorn"), [] as [String; 0]);
}

#[test]
fn a_time_that_is_forgotten_leaves_forks_too() {
    let env = env();
    let first = kept_session(&env);
    first.import();
    fork(&env, &first, first.lines.len());
    env.ok(&["forget", "--yes", "--since", "2026-01-21T10:00:08Z", "--until", "2026-01-21T10:30:00Z"]);
    assert_eq!(holding(&env, "celesta"), [] as [String; 0]);
    assert!(archived(&env, "session-two").contains("Elsewhere it is."));
}

#[test]
fn words_that_a_memory_was_learned_from_leave_the_archive_with_it() {
    let mut env = env();
    env.set_now(Some("2026-01-21T10:00:00Z"));
    let asked = "Always run the xylophonist tests before you commit. Then tune the harpsichord.";
    env.start("session-one", "startup");
    env.hook("session-one", "UserPromptSubmit", json!({"prompt": asked, "prompt_id": "p"}));
    env.hook("session-one", "Stop", json!({"last_assistant_message": "It is tuned."}));
    env.hook("session-one", "SessionEnd", json!({"reason": "other"}));
    let mut written = Written::new(&env, "session-one");
    written.prompt("10:00:00", asked).said("10:00:00", "It is tuned.").save();
    env.ok(&["archive"]);
    assert!(archived(&env, "session-one").contains("xylophonist"));
    let learned = env.json(&["memory", "propose"]);
    let id = learned[0]["id"].as_str().expect("the rule was learned").to_string();
    env.ok(&["forget", "--memory", &id, "--yes"]);
    let text = archived(&env, "session-one");
    assert!(!text.contains("xylophonist") && text.contains("tune the harpsichord"), "{text}");
    assert_eq!(holding(&env, "xylophonist"), [] as [String; 0]);
}

#[test]
fn a_secret_that_rules_know_now_is_found_and_removed() {
    let env = env();
    let mut written = kept_session(&env);
    written.ran("10:00:42", "fetch", "zither_pin: 4711horns of the day").said("10:00:50", "Done.").import();
    // Some of it is set aside.
    let segment = env.home().join("archive/00000001.segment");
    fs::copy(&segment, segment.with_extension("segment.damaged")).unwrap();
    assert_eq!(env.run(&["scan"]).status.code(), Some(0));
    let rule = "[secrets]\nrules = [\"word zither-pin any zither_pin\"]\n";
    fs::write(env.home().join("config.toml"), rule).unwrap();
    let told = String::from_utf8_lossy(&env.run(&["scan"]).stdout).into_owned();
    assert!(told.contains("archive/00000001.segment") && told.contains("00000001.segment.damaged"), "{told}");
    env.ok(&["scan", "--redact"]);
    assert_eq!(holding(&env, "4711horns"), [] as [String; 0]);
    assert!(archived(&env, "session-one").contains("of the day"));
    assert!(!segment.with_extension("segment.damaged").exists());
}

#[test]
fn a_session_that_went_on_in_a_copy_is_read_and_put_back_whole() {
    let env = env();
    let mut written = kept_session(&env);
    let backup = env.root().join("backup/session-one.jsonl");
    fs::create_dir_all(backup.parent().unwrap()).unwrap();
    fs::rename(written.save(), &backup).unwrap();
    env.ok(&["import", "claude-code", backup.to_str().unwrap()]);
    written.prompt("10:05:00", "And the celesta?").said("10:05:10", "The celesta is new.");
    let copy = written.import();
    let text = archived(&env, "session-one");
    assert_eq!(text.lines().count(), written.lines.len(), "nothing is there twice: {text}");
    fs::remove_file(&copy).unwrap();
    let shown = env.ok(&["show", "--full"]);
    assert!(shown.contains("Find out why the marimba is late") && shown.contains("The celesta is new."), "{shown}");
    let output = with_program(&env, "claude", &["resume"]);
    let told = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(told.contains("from the archive"), "{told}");
    assert!(fs::read_to_string(&copy).unwrap().contains("The celesta is new."), "{told}");
}

#[test]
fn what_looks_like_a_shell_is_kept_in_a_prompt_for_a_subagent() {
    let env = env();
    let mut written = kept_session(&env);
    let prompt = "Use cout << x\nand then tune the bombardon\nand echo 'a flugelhorn' > it";
    written.used("10:00:42", "Task", json!({"description": "Tune", "prompt": prompt}), "It is tuned.", false);
    let line = "cat > a.rs <<'EOF'\nfn ophicleide() {}\nEOF\nls";
    written.ran("10:00:43", line, "a.rs").said("10:00:50", "Done.").import();
    let text = archived(&env, "session-one");
    assert!(text.contains("tune the bombardon") && text.contains("a flugelhorn"), "{text}");
    assert!(!text.contains("ophicleide"), "{text}");
}

#[test]
fn a_conversation_is_folded_wrapped_and_exported_whole() {
    let env = env();
    let mut written = kept_session(&env);
    let printed: String = (0..100).map(|number| format!("note {number}\n")).collect();
    let long = "the bombardon and the ophicleide ".repeat(10);
    written.ran("10:00:42", "play", &printed).said("10:00:50", &format!("{long}```")).import();
    let mut command = env.command();
    command.args(["show", "--full"]).env("COLUMNS", "60").env("LANG", "C.UTF-8");
    let shown = String::from_utf8(command.output().unwrap().stdout).unwrap();
    assert!(shown.contains("| note 0\n") && shown.contains("| note 99\n") && !shown.contains("| note 50\n"), "{shown}");
    assert!(shown.contains("more lines"), "{shown}");
    let of_message = shown.lines().filter(|line| line.contains("ophicleide"));
    assert!(of_message.clone().count() > 1 && of_message.clone().all(|line| line.chars().count() <= 100), "{shown}");
    let markdown = env.ok(&["show", "--markdown"]);
    for words in ["## Turn 1", "> Find out why the marimba is late", "note 50", "\n```\nplay\n```\n"] {
        assert!(markdown.contains(words), "{words}: {markdown}");
    }
    let mut pager = env.command();
    pager.args(["show", "--full"]).env("TERM", "xterm-256color").env("LANG", "C.UTF-8").env("PAGER", "less");
    let mut terminal = Terminal::spawn_sized(&pager, (20, 80)).unwrap();
    terminal.wait_for_text("marimba", LIMIT).unwrap();
    assert!(!terminal.screen().contents().contains("ophicleide"), "the end is on another page");
    terminal.type_keys("G").unwrap();
    terminal.wait_for_text("ophicleide", LIMIT).unwrap();
    terminal.type_keys("q").unwrap();
    terminal.wait(LIMIT).unwrap();
}

#[test]
fn agents_and_the_screen_find_passages_too() {
    let env = env();
    fs::remove_file(kept_session(&env).import()).unwrap();
    let mut client = Client::ready(&env);
    let hits = client.ok("search", json!({"query": "waits glockenspiel nothing"}));
    assert!(hits.to_string().contains("the marimba waits for a glockenspiel"), "{hits}");
    let hits = client.ok("search", json!({"query": "celesta", "kind": "error"}));
    assert!(hits.to_string().contains("no rule for celesta"), "{hits}");
    let mut command = env.command();
    command.env("TERM", "xterm-256color").env("LANG", "C.UTF-8").env("TZ", "UTC");
    let mut terminal = Terminal::spawn_sized(&command, (24, 80)).unwrap();
    terminal.wait_for_text("q quit", LIMIT).unwrap();
    terminal.type_keys("/").unwrap();
    terminal.type_keys("celesta\r").unwrap();
    terminal.wait_for_text("no rule for", LIMIT).unwrap();
    assert_eq!(found(&env, &["celesta"])[0].0, "error");
}
