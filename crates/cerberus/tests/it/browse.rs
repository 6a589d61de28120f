//! What people look at: `log`, `show`, `search` and `resume`, over sessions from hooks and from transcripts.

use std::fs;

use cerberus_testkit::env::TestEnv;
use cerberus_testkit::process::write_program;
use serde_json::{Value, json};

use crate::env;

/// A transcript of Claude Code: a prompt, an edit, a failing test and the agent's closing words.
pub fn transcript(session: &str, day: u32, asked: &str, file: &str, more: &[Value]) -> String {
    let at = |second: u32| format!("2026-01-{day:02}T10:00:{second:02}.000Z");
    let line = |kind: &str, second: u32, extra: Value| {
        let mut line = json!({
            "type": kind, "uuid": format!("{session}-{second}"), "sessionId": session, "cwd": "/home/dev/nimbus",
            "gitBranch": "main", "timestamp": at(second), "isSidechain": false,
        });
        line.as_object_mut().unwrap().extend(extra.as_object().unwrap().clone());
        line
    };
    let uses = |second: u32, id: &str, name: &str, input: Value| {
        let block = json!({"type": "tool_use", "id": id, "name": name, "input": input});
        line("assistant", second, json!({"message": {"content": [block]}}))
    };
    let result = |second: u32, id: &str, text: &str, is_error: bool| {
        let block = json!({"type": "tool_result", "tool_use_id": id, "content": text, "is_error": is_error});
        line("user", second, json!({"message": {"content": [block]}, "toolUseResult": text}))
    };
    let (edit, test) = (format!("{session}-edit"), format!("{session}-test"));
    let path = format!("/home/dev/nimbus/{file}");
    let mut lines = vec![
        line("user", 1, json!({"message": {"content": asked}})),
        uses(2, &edit, "Write", json!({"file_path": path, "content": "pub fn supervise() {}\n"})),
        result(3, &edit, "File created", false),
        uses(4, &test, "Bash", json!({"command": "cargo test --workspace"})),
        result(5, &test, "test stop_twice ... FAILED\n\ntest result: FAILED. 1 passed; 1 failed", true),
        line(
            "assistant",
            6,
            json!({"message": {"content": [{"type": "text", "text": "The supervisor still deadlocks."}]}}),
        ),
    ];
    lines.extend(more.iter().cloned());
    lines.iter().map(|line| format!("{line}\n")).collect()
}

/// Imports transcripts into the project of the environment.
pub fn import(env: &TestEnv, name: &str, text: &str) -> Value {
    let file = env.root().join(format!("{name}.jsonl"));
    fs::write(&file, text).unwrap();
    env.json(&["import", "claude-code", "--project", env.project().to_str().unwrap(), file.to_str().unwrap()])
}

#[test]
fn a_day_and_a_week_are_text_to_paste() {
    let env = env();
    two_sessions(&env);
    let printed = |args: &[&str]| {
        let output = env.command().args(args).env("TZ", "UTC").output().unwrap();
        assert!(output.status.success(), "{output:?}");
        String::from_utf8(output.stdout).unwrap()
    };
    let race = "\
hydra: 1 session, 1 file
Asked
- Fix the race in process.rs
Done
- “The supervisor still deadlocks”
Open
- stop_twice
";
    assert_eq!(printed(&["log", "--yesterday", "--now", "2026-01-21T08:00:00Z"]), format!("Tue 20 Jan 2026\n\n{race}"));
    let friday = printed(&["log", "--yesterday", "--now", "2026-01-23T08:00:00Z"]);
    assert_eq!(friday, format!("Tue 20 Jan 2026\n\n{race}"), "the last day with work");
    let monday = printed(&["log", "--yesterday", "--now", "2026-01-20T08:00:00Z"]);
    assert!(monday.starts_with("Mon 19 Jan 2026\n") && monday.contains("- E2E checkpoint tests\n"), "{monday}");
    assert!(!monday.contains("race"), "{monday}");

    env.write_file("s1", "t1", "src/login.rs", "fn login() {}\n");
    env.ok(&["record", "done", "Write the login"]);
    env.ok(&["record", "decision", "use WAL", "--why", "readers must not wait"]);
    env.ok(&["record", "next", "measure it"]);
    env.ok(&["record", "next", "paint it"]);
    env.ok(&["record", "done", "paint it"]);
    let week = printed(&["report", "--week"]);
    assert!(week.starts_with("Fri 16 Jan 2026 to Thu 22 Jan 2026\n\nhydra: 3 sessions, 3 files\nAsked\n"), "{week}");
    for line in ["- Write the login", "- paint it", "- use WAL: readers must not wait", "- measure it"] {
        assert_eq!(week.lines().filter(|one| *one == line).count(), 1, "{line}: {week}");
    }
    let open = week.split_once("Open\n").unwrap().1;
    assert!(open.contains("measure it") && !open.contains("paint it"), "{week}");
    let json: Value = serde_json::from_str(&printed(&["report", "--week", "--json"])).unwrap();
    assert_eq!((&json["projects"][0]["sessions"], &json["projects"][0]["project"]), (&json!(3), &json!("hydra")));
    assert_eq!((&json["from"], &json["until"]), (&json!("2026-01-16T00:00:00Z"), &json!("2026-01-22T23:59:59Z")));

    assert_eq!(env.run(&["log", "--yesterday", "--since", "7d"]).status.code(), Some(2));
    fs::write(env.project().join(".nocerberus"), "").unwrap();
    assert_eq!(printed(&["report", "--week"]), "", "a project that is opted out is left out");
}

fn two_sessions(env: &TestEnv) {
    let title = json!({"type": "ai-title", "aiTitle": "E2E checkpoint tests", "sessionId": "aaaa-1"});
    import(env, "a", &transcript("aaaa-1", 19, "hi, please write the checkpoint tests", "tests/e2e.rs", &[title]));
    import(env, "b", &transcript("bbbb-2", 20, "hello\nfix the race in process.rs, please", "src/process.rs", &[]));
}

#[test]
fn the_log_lists_sessions_newest_first_with_titles() {
    let env = env();
    two_sessions(&env);
    let log = env.json(&["log"]);
    let of = |name: &str| log.as_array().unwrap().iter().map(|one| one[name].clone()).collect::<Vec<_>>();
    assert_eq!(of("title"), ["Fix the race in process.rs", "E2E checkpoint tests"]);
    assert_eq!(of("started_at"), ["2026-01-20T10:00:01Z", "2026-01-19T10:00:01Z"]);
    let first = &log[0];
    assert_eq!(
        first.as_object().unwrap().keys().collect::<Vec<_>>(),
        [
            "active_minutes",
            "agent",
            "duration_minutes",
            "ended_at",
            "failing",
            "files",
            "id",
            "project",
            "started_at",
            "status",
            "title",
        ]
    );
    assert_eq!((&first["project"], &first["agent"]), (&json!("hydra"), &json!("claude-code")));
    assert_eq!((&first["files"], &first["failing"]), (&json!(1), &json!(1)));
    assert_eq!((&first["status"], &first["ended_at"]), (&json!("ended"), &json!("2026-01-20T10:00:06Z")));
    assert_eq!(first["duration_minutes"], json!(0.1));
}

#[test]
fn the_log_is_filtered() {
    let env = env();
    two_sessions(&env);
    let titles = |args: &[&str]| {
        let log = env.json(&[&["log"], args].concat());
        log.as_array().unwrap().iter().map(|one| one["id"].as_str().unwrap().to_string()).collect::<Vec<_>>()
    };
    let (first, second) = ("20260119-100001", "20260120-100001");
    assert_eq!(titles(&["--file", "e2e.rs"]), [first]);
    assert_eq!(titles(&["--file", "2e.rs"]), [""; 0]);
    assert_eq!(titles(&["--since", "2026-01-20"]), [second]);
    assert_eq!(titles(&["--since", "55h"]), [second]);
    assert_eq!(titles(&["--failing"]).len(), 2);
    assert_eq!(titles(&["checkpoint"]), [first]);
    assert_eq!(titles(&["--agent", "codex"]), [""; 0]);
    assert_eq!(titles(&["--project", "hydra"]).len(), 2);
    assert_eq!(titles(&["--project", "."]).len(), 2);
    assert_eq!(titles(&["-n", "1"]), [second]);
    let failed = env.run(&["log", "--project", "nowhere"]);
    assert_eq!(failed.status.code(), Some(1));
}

#[test]
fn a_page_tells_the_whole_story() {
    let env = env();
    two_sessions(&env);
    let page = env.json(&["show", "20260120"]);
    assert_eq!(page["title"], "Fix the race in process.rs");
    assert_eq!(page["asked"], json!(["hello\nfix the race in process.rs, please"]));
    assert_eq!(page["said"], json!(["The supervisor still deadlocks."]));
    assert_eq!(page["files"][0]["path"], "src/process.rs");
    assert_eq!((&page["files"][0]["edits"], &page["files"][0]["functions"]), (&json!(1), &json!(["supervise"])));
    assert_eq!(page["tests"]["failing"], json!(["stop_twice"]));
    assert!(page["left"].to_string().contains("stop_twice"), "{}", page["left"]);
    for name in ["done", "decided", "commits", "told"] {
        assert!(page[name].is_array(), "{name}");
    }
    let text = env.ok(&["show", "20260120"]);
    for part in ["Fix the race", "asked", "left", "stop_twice", "src/process.rs", "1 edit"] {
        assert!(text.contains(part), "{part}: {text}");
    }
}

#[test]
fn a_page_has_what_the_session_was_told() {
    let env = env();
    two_sessions(&env);
    env.start("s", "startup");
    env.write_file("s", "t1", "src/process.rs", "fn supervise() {}\n");
    env.hook("s", "SessionEnd", json!({"reason": "exit"}));
    let page = env.json(&["show"]);
    let told: Vec<&str> = page["told"].as_array().unwrap().iter().map(|line| line.as_str().unwrap()).collect();
    for start in ["impl:src/process.rs", "impl:tests/e2e.rs"] {
        assert!(told.iter().any(|line| line.starts_with(start)), "{page:#}");
    }
    assert!(!page.to_string().contains("used\":"), "whether it was of use, nobody has judged: {page:#}");
    let shown = env.ok(&["show"]);
    assert!(shown.contains("\ntold\n"), "{shown}");
}

#[test]
fn a_session_is_found_by_a_unique_prefix_or_its_title() {
    let env = env();
    two_sessions(&env);
    for text in ["20260119-100001", "20260119", "aaaa", "E2E checkpoint"] {
        assert_eq!(env.json(&["show", text])["id"], "20260119-100001", "{text}");
    }
    let fails = |args: &[&str], said: &str| {
        let output = env.run(args);
        assert_eq!(output.status.code(), Some(1), "{args:?}");
        let told = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(told.contains(said), "{told}");
    };
    fails(&["show", "202601"], "several sessions: 20260120-100001, 20260119-100001");
    fails(&["show", "aaa"], "no session");
    fails(&["show", "nothing of this"], "no session");
    for command in [&["memory", "session-status", "--id"][..], &["session", "complete"]] {
        env.ok(&[command, &["20260120"]].concat());
        fails(&[command, &["202601"]].concat(), "several sessions");
    }
    env.ok(&["forget", "--session", "20260120", "--yes"]);
    assert_eq!(env.json(&["log"]).as_array().unwrap().len(), 1);
}

#[test]
fn a_session_is_resumed_by_its_own_agent() {
    let env = env();
    two_sessions(&env);
    env.ok(&["archive", "--delete"]);
    let output = env.run(&["resume", "20260119", "--print"]);
    let line = String::from_utf8_lossy(&output.stdout).into_owned();
    assert_eq!(line, format!("cd {} && claude --resume aaaa-1\n", env.project().display()));
    assert!(String::from_utf8_lossy(&output.stderr).contains("not on this machine"));
    let output = with_program(&env, "claude", &["resume", "20260119"]);
    let started = format!("{}\n--resume\naaaa-1\n", env.project().canonicalize().unwrap().display());
    assert_eq!(String::from_utf8_lossy(&output.stdout), started);
    env.ok(&["record", "next", "measure it"]);
    assert_eq!(env.run(&["resume"]).status.code(), Some(1), "nothing resumes a manual session");
}

#[test]
fn a_transcript_that_was_deleted_is_put_back_from_the_archive() {
    let env = env();
    let thought = json!([{"type": "thinking", "thinking": "Hm.", "signature": "c2ln"}]);
    let line = |uuid: &str, before: &str, content: &Value| {
        json!({"type": "assistant", "uuid": uuid, "parentUuid": before, "sessionId": "aaaa-1",
            "timestamp": "2026-01-19T10:01:00.000Z", "message": {"role": "assistant", "content": content}})
    };
    let more =
        [line("x1", "aaaa-1-6", &thought), line("x2", "x1", &json!([{"type": "text", "text": "Both pass now."}]))];
    import(&env, "a", &transcript("aaaa-1", 19, "write the checkpoint tests", "tests/e2e.rs", &more));
    env.ok(&["archive"]);
    fs::remove_file(env.root().join("a.jsonl")).unwrap();
    let printed = env.run(&["resume", "20260119", "--print"]);
    assert!(String::from_utf8_lossy(&printed.stderr).contains("put back from the archive"), "{printed:?}");
    let place = env.root().join("user/.claude/projects").join(claude_folder(&env)).join("aaaa-1.jsonl");
    assert!(!place.exists());

    let output = with_program(&env, "claude", &["resume", "20260119"]);
    let told = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(
        told.contains("put its transcript back from the archive; what tools read and wrote is missing in"),
        "{told}"
    );
    let text = fs::read_to_string(&place).unwrap();
    for kept in
        ["write the checkpoint tests", "tests/e2e.rs", "stop_twice ... FAILED", "The supervisor still deadlocks."]
    {
        assert!(text.contains(kept), "no {kept:?} in {text}");
    }
    assert!(!text.contains("supervise()"), "contents of files are not kept: {text}");
    assert!(!text.contains("thinking"), "a thought without its signature would be refused: {text}");
    let last: Value = serde_json::from_str(text.lines().last().unwrap()).unwrap();
    assert_eq!(last["parentUuid"], "aaaa-1-6", "the line after it follows the one before it");
}

#[test]
fn a_transcript_is_taken_from_where_it_was_imported_while_it_is_there() {
    let env = env();
    let text = transcript("aaaa-1", 19, "write the checkpoint tests", "tests/e2e.rs", &[]);
    import(&env, "a", &text);
    let looked_for = env.root().join("user/.claude/projects").join(claude_folder(&env)).join("aaaa-1.jsonl");
    let output = with_program(&env, "claude", &["resume", "20260119"]);
    assert!(String::from_utf8_lossy(&output.stderr).contains("copied its transcript to"), "{output:?}");
    assert_eq!(fs::read_to_string(&looked_for).unwrap(), text, "with the contents of files");
    // Another session is there by now.
    fs::remove_file(&looked_for).unwrap();
    fs::write(env.root().join("a.jsonl"), text.replace("aaaa-1", "bbbb-2")).unwrap();
    let output = with_program(&env, "claude", &["resume", "20260119"]);
    assert!(String::from_utf8_lossy(&output.stderr).contains("put its transcript back from the archive"), "{output:?}");
}

/// Runs the command with a program of this name on PATH, which prints where and how it was started.
pub fn with_program(env: &TestEnv, name: &str, args: &[&str]) -> std::process::Output {
    let bin = env.root().join("bin");
    fs::create_dir_all(&bin).unwrap();
    write_program(&bin.join(name), "#!/bin/sh\nprintf '%s\\n' \"$PWD\" \"$@\"\n");
    let path = format!("{}:{}", bin.display(), std::env::var("PATH").unwrap());
    env.command().args(args).env("PATH", path).output().unwrap()
}

/// The folder in which Claude Code keeps the transcripts of the project.
fn claude_folder(env: &TestEnv) -> String {
    env.project().to_str().unwrap().chars().map(|c| if c.is_ascii_alphanumeric() { c } else { '-' }).collect()
}

#[test]
fn a_transcript_that_lies_elsewhere_is_put_where_its_agent_looks() {
    let env = env();
    let projects = env.root().join("user/.claude/projects");
    let lies = projects.join("-old-folder/aaaa-1.jsonl");
    fs::create_dir_all(lies.parent().unwrap()).unwrap();
    fs::write(&lies, transcript("aaaa-1", 19, "write the checkpoint tests", "tests/e2e.rs", &[])).unwrap();
    env.json(&["import", "claude-code", "--project", env.project().to_str().unwrap()]);
    let looked_for = projects.join(claude_folder(&env)).join("aaaa-1.jsonl");

    let printed = env.run(&["resume", "20260119", "--print"]);
    assert!(String::from_utf8_lossy(&printed.stderr).contains(lies.to_str().unwrap()), "{printed:?}");
    assert!(!looked_for.exists(), "a look changes nothing");

    let output = with_program(&env, "claude", &["resume", "20260119"]);
    assert!(String::from_utf8_lossy(&output.stdout).ends_with("--resume\naaaa-1\n"), "{output:?}");
    assert!(String::from_utf8_lossy(&output.stderr).contains("copied its transcript to"), "{output:?}");
    assert_eq!(fs::read(&looked_for).unwrap(), fs::read(&lies).unwrap());

    fs::write(&looked_for, "what the agent wrote since").unwrap();
    let output = with_program(&env, "claude", &["resume", "20260119"]);
    assert!(output.stderr.is_empty() || !String::from_utf8_lossy(&output.stderr).contains("copied"), "{output:?}");
    assert_eq!(fs::read_to_string(&looked_for).unwrap(), "what the agent wrote since");
}

#[cfg(feature = "loop")]
#[test]
fn a_session_goes_on_in_another_agent_with_a_handoff() {
    let env = env();
    two_sessions(&env);
    env.ok(&["record", "decision", "tests use real processes"]);
    for (agent, program, flags) in [
        ("codex", "codex", &[][..]),
        ("claude", "claude", &[]),
        ("gemini", "gemini", &["--prompt-interactive"]),
        ("opencode", "opencode", &["--prompt"]),
        ("copilot", "copilot", &["--interactive"]),
        ("qwen-code", "qwen", &["--prompt-interactive"]),
        ("cline", "cline", &[]),
        ("cursor", "cursor-agent", &[]),
    ] {
        let output = with_program(&env, program, &["resume", "20260120", "--in", agent]);
        let started = String::from_utf8(output.stdout).unwrap();
        let mut lines = started.lines();
        assert_eq!(lines.next(), env.project().canonicalize().unwrap().to_str(), "{agent}");
        assert!(flags.iter().all(|flag| lines.next() == Some(flag)), "{agent}: {started}");
        let text = lines.collect::<Vec<_>>().join("\n");
        assert!(text.starts_with("# Context Handoff"), "{agent}: {text}");
        for expected in [
            "fix the race in process.rs",
            "- stop_twice",
            "## The Last Turns, Newest First",
            "user: hello\nfix the race in process.rs, please\nagent: The supervisor still deadlocks.",
            "tests use real processes",
        ] {
            assert!(text.contains(expected), "{agent}: no {expected:?} in {text}");
        }
        assert!(!text.contains("checkpoint tests"), "another session's work is not passed on: {text}");
    }
}

#[cfg(feature = "loop")]
#[test]
fn a_handoff_keeps_to_its_length_and_the_newest_turn_stays() {
    let env = env();
    let turns: Vec<Value> = (10..50)
        .flat_map(|second| {
            let at = format!("2026-01-20T10:00:{second}.000Z");
            let line = |kind: &str, uuid: String, content: Value| {
                json!({"type": kind, "uuid": uuid, "sessionId": "cccc-3", "timestamp": at, "message": {"content": content}})
            };
            let said = format!("Step {second} is done. {}", "It took a while and changed a lot. ".repeat(20));
            [
                line("user", format!("p{second}"), json!(format!("please do step {second}"))),
                line("assistant", format!("a{second}"), json!([{"type": "text", "text": said}])),
            ]
        })
        .collect();
    import(&env, "c", &transcript("cccc-3", 20, "begin", "src/a.rs", &turns));
    let text = |tokens: &str| -> String {
        let printed = env.json(&["resume", "20260120", "--in", "codex", "--tokens", tokens]);
        printed["command"][1].as_str().unwrap().to_string()
    };
    let (short, long) = (text("600"), text("6000"));
    assert!(cerberus_text::tokens::estimate(&short) <= 600, "{short}");
    assert!(cerberus_text::tokens::estimate(&long) <= 6_000);
    assert!(long.len() > 4 * short.len() && short.contains("user: please do step 49"), "{short}");
    assert!(long.contains("user: please do step 48") && !long.contains("user: please do step 10\n"));
}

/// A session that was told what another one left.
fn told_session(env: &mut TestEnv) -> String {
    env.start("first", "startup");
    env.hook("first", "UserPromptSubmit", json!({"prompt": "Find out why the supervisor test is flaky."}));
    env.write_file("first", "t1", "src/process.rs", "");
    let said =
        "The lock is taken per process now. Wait still holds the lock of the supervisor, which must be taken out.";
    env.hook("first", "Stop", json!({"last_assistant_message": said, "stop_hook_active": false}));
    env.hook("first", "SessionEnd", json!({"reason": "other"}));
    env.set_now(Some("2026-01-22T18:00:00Z"));
    let brief = env.start("second", "startup");
    env.hook("second", "UserPromptSubmit", json!({"prompt": "continue"}));
    env.write_file("second", "t2", "src/process.rs", "");
    brief
}

#[test]
fn told_is_the_text_that_the_model_got() {
    let mut env = env();
    let brief = told_session(&mut env);
    let told = env.json(&["show"])["told_lines"].as_array().unwrap().clone();
    let texts: Vec<&str> = told.iter().filter_map(|line| line["text"].as_str()).collect();
    assert!(texts.contains(&"Find out why the supervisor test is flaky."), "{told:?}");
    assert!(texts.iter().any(|text| text.contains("holds the lock of the supervisor")), "{told:?}");
    assert!(texts.iter().all(|text| brief.contains(text)), "{texts:?} in {brief}");
    let shown = env.ok(&["show"]);
    for words in ["last asked   Find out why", "edited       src/process.rs"] {
        assert!(shown.contains(words), "{words}: {shown}");
    }
    assert!(!shown.contains("last:20"), "a reference says nothing: {shown}");
    let first = env.json(&["log"])[1]["id"].as_str().unwrap().to_string();
    env.ok(&["forget", "--session", &first, "--yes"]);
    let shown = env.ok(&["show"]);
    assert!(shown.contains("last asked   forgotten since") && !shown.contains("flaky"), "{shown}");
    let lines = env.json(&["show"])["told_lines"].clone();
    assert!(
        lines.as_array().unwrap().iter().any(|line| line["forgotten"] == true && line["text"].is_null()),
        "{lines}"
    );
}

#[test]
fn a_day_may_be_named_as_lists_name_it() {
    let mut env = env();
    two_sessions(&env);
    env.set_now(Some("2026-01-21T12:00:00Z"));
    let since = |day: &str| env.json(&["log", "--since", day]).as_array().unwrap().len();
    assert_eq!((since("today"), since("yesterday"), since("Tue"), since("19 Jan")), (0, 1, 1, 2));
    let wrong = env.run(&["log", "--since", "someday"]);
    assert_eq!(wrong.status.code(), Some(2));
    assert!(String::from_utf8_lossy(&wrong.stderr).starts_with("cerberus: "), "one prefix for every failure");
    let unknown = String::from_utf8_lossy(&env.run(&["log", "--project", "nope"]).stderr).into_owned();
    assert!(unknown.contains("known projects: hydra"), "{unknown}");
}

#[cfg(feature = "loop")]
#[test]
fn what_cannot_go_on_in_another_agent_is_said() {
    let env = env();
    two_sessions(&env);
    let fails = |args: &[&str], words: &str| {
        let output = env.run(args);
        let told = String::from_utf8_lossy(&output.stderr);
        assert!(!output.status.success() && told.contains(words), "{args:?}: {told}");
    };
    fails(&["resume", "20260120", "--in", "nobody"], "unknown agent");
    fails(&["resume", "20260120", "--tokens", "500"], "--in");
    fails(&["resume", "20260120", "--in", "codex", "--tokens", "5"], "200..=20000");
    fails(&["resume", "nothing of this", "--in", "codex"], "no session");
}

#[test]
fn a_title_says_what_the_session_did() {
    let env = env();
    let plan = |heading: &str| format!("Implement the following plan:\n\n# {heading}\n\n## Context\n\nMore.");
    import(&env, "a", &transcript("aaaa-1", 14, &plan("Plan: Add a limiter to the API"), "src/limiter.rs", &[]));
    import(&env, "b", &transcript("bbbb-2", 15, &plan("Fix: the limiter floods the log"), "src/log.rs", &[]));
    import(&env, "c", &transcript("cccc-3", 16, "pick up where we left off", "src/log.rs", &[]));
    import(&env, "d", &transcript("dddd-4", 17, "good morning", "src/log.rs", &[]));
    import(&env, "e", &transcript("eeee-5", 18, "measure the limiter under load", "src/bench.rs", &[]));
    import(&env, "f", &transcript("ffff-6", 19, "measure the limiter under load", "src/bench.rs", &[]));
    let committed = json!([
        {"type": "assistant", "uuid": "g1", "sessionId": "9999-7", "timestamp": "2026-01-20T10:00:07.000Z", "message":
            {"content": [{"type": "tool_use", "id": "g", "name": "Bash", "input": {"command": "git commit -am x"}}]}},
        {"type": "user", "uuid": "g2", "sessionId": "9999-7", "timestamp": "2026-01-20T10:00:08.000Z", "message":
            {"content": [{"type": "tool_result", "tool_use_id": "g", "is_error": false,
            "content": "[main 3f2a1bc] ci: pin bun to 1.3.11\n 1 file changed, 1 insertion(+)"}]}},
    ]);
    import(&env, "g", &transcript("9999-7", 20, "fix ci", "ci.yml", committed.as_array().unwrap()));
    let titles = || -> Vec<String> {
        let log = env.json(&["log"]);
        log.as_array().unwrap().iter().map(|one| one["title"].as_str().unwrap().to_string()).collect()
    };
    let expected = [
        "ci: pin bun to 1.3.11",
        "The supervisor still deadlocks",
        "Measure the limiter under load",
        "Fix: the limiter floods the log (continued)",
        "Fix: the limiter floods the log (continued)",
        "Fix: the limiter floods the log",
        "Add a limiter to the API",
    ];
    assert_eq!(titles(), expected);
    env.rebuild();
    assert_eq!(titles(), expected, "a rebuilt view says the same");
    env.ok(&["forget", "--session", "20260115", "--yes"]);
    assert_eq!(
        titles()[3..],
        ["Add a limiter to the API (continued)", "Add a limiter to the API (continued)", expected[6]]
    );
}

#[test]
fn the_title_is_readable_at_every_width() {
    let env = env();
    let asked = "make the uploader retry with jitter and resume after the network was gone, then measure it";
    let title = "Make the uploader retry with jitter and resume after the network was gone, then measure it";
    import(&env, "a", &transcript("aaaa-1", 20, asked, "src/upload.rs", &[]));
    import(&env, "b", &transcript("bbbb-2", 21, "修复登录页面的错误。谢谢", "src/login.rs", &[]));
    let log = |args: &[&str], columns: usize| {
        let output = env.command().args(args).env("COLUMNS", columns.to_string()).output().unwrap();
        String::from_utf8_lossy(&output.stdout).into_owned()
    };
    for columns in 40..=200 {
        for args in [&["log"][..], &["search", "uploader jitter"]] {
            let text = log(args, columns);
            let readable = if columns < 66 { (columns - 12).min(36) } else { 49 };
            assert!(text.contains(title[..readable].trim_end()), "{columns}: {text}");
        }
    }
    let narrow = log(&["log"], 80);
    let id =
        narrow.lines().find(|line| line.contains("Make the")).unwrap().split_whitespace().next().unwrap().to_string();
    assert_eq!(id, "20260120", "the shortest beginning that no other session has");
    assert_eq!(env.json(&["show", &id])["id"], "20260120-100001");
    assert!(narrow.contains("\n20 Jan\n") || narrow.contains("Tue 20 Jan\n"), "a heading for each day: {narrow}");
    assert!(!narrow.contains("ended"), "{narrow}");
    let wide = log(&["log"], 200);
    for part in [title, "20260120-100001", "✓ ended", "hydra", "1 file", "1 failing", "10:00"] {
        assert!(wide.contains(part), "{part}: {wide}");
    }
    let piped = env.ok(&["log"]);
    assert!([title, "20260120-100001", "claude-code"].iter().all(|part| piped.contains(part)), "{piped}");
    assert!(piped.lines().all(|line| line.starts_with("2026")), "one line for each session: {piped}");
}

#[test]
fn a_title_follows_hooks_privacy_and_forgetting() {
    let env = env();
    env.start("s", "startup");
    env.hook("s", "UserPromptSubmit", json!({"prompt": "hi"}));
    assert_eq!(env.json(&["log"])[0]["title"], "Hi", "nothing better is known");
    env.hook("s", "UserPromptSubmit", json!({"prompt": "upload secrets/prod.yaml with key AKIAIOSFODNN7EXAMPLE"}));
    let title = env.json(&["log"])[0]["title"].as_str().unwrap().to_string();
    assert!(title.starts_with("Upload [private]") && !title.contains("AKIA"), "{title}");
    assert!(env.json(&["search", "AKIAIOSFODNN7EXAMPLE"]).as_array().unwrap().is_empty());
    assert!(env.json(&["search", "prod.yaml"]).as_array().unwrap().is_empty());
    assert_eq!(env.json(&["search", "upload"])[0]["kind"], "title");
    env.write_file("s", "t1", "uploads.rs", "fn put() {}\n");
    env.ok(&["forget", "--path", "uploads.rs", "--yes"]);
    assert!(env.json(&["search", "uploads.rs"]).to_string().find("\"uploads.rs\"").is_none());
    let id = env.json(&["log"])[0]["id"].as_str().unwrap().to_string();
    env.ok(&["forget", "--session", &id, "--yes"]);
    assert_eq!(env.json(&["log"]), json!([]));
    assert_eq!(env.json(&["search", "upload"]), json!([]));
    for file in fs::read_dir(env.home()).unwrap().flatten().filter(|file| file.path().is_file()) {
        let bytes = fs::read(file.path()).unwrap();
        let holds = |word: &[u8]| bytes.windows(word.len()).any(|window| window.eq_ignore_ascii_case(word));
        assert!(!holds(b"upload"), "{}", file.path().display());
    }
}

#[test]
fn everything_kept_is_found() {
    let env = env();
    two_sessions(&env);
    env.ok(&["record", "decision", "use a mutex per process", "--why", "Stop is re-entrant"]);
    env.ok(&["record", "blocker", "no access to the staging cluster"]);
    env.ok(&["memory", "learn", "Always format the changelog", "--everywhere"]);
    let found = |query: &[&str]| -> Vec<(String, String)> {
        let hits = env.json(&[&["search"], query].concat());
        let text = |hit: &Value, name: &str| hit[name].as_str().unwrap().to_string();
        hits.as_array().unwrap().iter().map(|hit| (text(hit, "kind"), text(hit, "text"))).collect()
    };
    for (query, kind, text) in [
        ("checkpoint", "title", "E2E checkpoint tests"),
        ("checkpiont", "title", "E2E checkpoint tests"),
        ("write the checkpoint tests", "prompt", "hi, please write the checkpoint tests"),
        ("deadlocks", "said", "The supervisor still deadlocks."),
        ("mutex", "decision", "use a mutex per process: Stop is re-entrant"),
        ("staging", "blocker", "no access to the staging cluster"),
        ("src/process.rs", "file", "src/process.rs"),
        ("supervise", "function", "supervise"),
        ("cargo workspace", "command", "cargo test --workspace"),
        ("changelog", "memory", "Always format the changelog"),
    ] {
        let hits = found(&[query]);
        assert!(hits.iter().any(|hit| *hit == (kind.to_string(), text.to_string())), "{query}: {hits:?}");
    }
    assert_eq!(found(&["checkpoint"])[0].0, "title", "the best comes first");
    assert_eq!(found(&["zzzzzz"]), []);
    assert!(found(&["process", "--kind", "file"]).iter().all(|(kind, _)| kind == "file"));
    assert_eq!(found(&["checkpoint", "--since", "2026-01-20"]), []);
    assert_eq!(found(&["tests", "-n", "1"]).len(), 1);
    let hit = env.json(&["search", "checkpoint"])[0].clone();
    assert_eq!(hit["session"], "20260119-100001");
    assert_eq!((&hit["title"], &hit["project"]), (&json!("E2E checkpoint tests"), &json!("hydra")));
    assert!(hit["score"].as_f64().unwrap() > 0.5 && hit["at"] == "2026-01-19T10:00:06Z");
    let memory = env.json(&["search", "changelog"])[0].clone();
    assert!(memory.get("session").is_none() && memory["project"] == "", "{memory}");
    let text = env.ok(&["search", "checkpoint"]);
    assert!(text.contains("20260119-100001") && text.contains("E2E checkpoint tests"), "{text}");
    assert_eq!(env.run(&["search", "zzzzzz"]).status.code(), Some(0));
}

#[test]
fn the_index_follows_what_is_new_and_what_is_past() {
    let env = env();
    two_sessions(&env);
    let count = |args: &[&str]| env.json(&[&["search", "jitter"], args].concat()).as_array().unwrap().len();
    assert_eq!(count(&[]), 0);
    env.start("s", "startup");
    env.hook("s", "UserPromptSubmit", json!({"prompt": "add jitter to the retries"}));
    assert_eq!(count(&[]), 2, "the title and the prompt");
    assert_eq!(count(&[]), 2, "nothing is indexed twice");
    env.hook("s", "UserPromptSubmit", json!({"prompt": "more jitter"}));
    assert_eq!(count(&[]), 3);
    assert_eq!(count(&["--now", "2026-01-22T13:00:00Z"]), 0, "it had not happened yet");
    env.rebuild();
    assert_eq!(count(&[]), 3);
}

#[test]
fn an_import_ends_with_what_it_found_and_what_to_type() {
    let env = env();
    two_sessions(&env);
    let file = env.root().join("c.jsonl");
    let said = "No, never hold the lock while calling wait. Always release it first.";
    fs::write(&file, transcript("cccc-3", 21, said, "src/lock.rs", &[])).unwrap();
    let project = env.project();
    let args = ["import", "claude-code", "--project", project.to_str().unwrap(), file.to_str().unwrap()];
    let text = env.ok(&args);
    for part in
        ["3 sessions in 1 project", "last work", "hydra", "left open", "stop_twice", "cerberus log", "cerberus search"]
    {
        assert!(text.contains(part), "{part}: {text}");
    }
    let known = env.json(&args)["known"].clone();
    assert_eq!((&known["sessions"], &known["since"]), (&json!(3), &json!("2026-01-19T10:00:01Z")));
    assert_eq!(known["projects"][0]["name"], "hydra");
    assert_eq!(known["projects"][0]["last"]["id"], "20260121-100001");
    let waiting =
        env.json(&["memory", "propose"]).as_array().unwrap().iter().filter(|one| one["status"] == "proposed").count();
    assert_eq!(known["to_review"], json!(waiting));
    assert_eq!(text.contains("cerberus review"), waiting > 0);
}

#[test]
fn status_is_never_empty_when_something_is_known() {
    let mut env = env();
    let text = env.ok(&["status"]);
    assert!(text.contains("none yet") && !text.contains("elsewhere"), "{text}");
    two_sessions(&env);
    env.set_now(Some("2026-03-01T12:00:00Z"));
    let text = env.ok(&["status"]);
    for part in ["2 ended", "Fix the race in process.rs", "stop_twice", "none of the last seven days", "weeks ago"] {
        assert!(text.contains(part), "{part}: {text}");
    }
    let status = env.json(&["status"]);
    assert_eq!(status["last"]["title"], "Fix the race in process.rs");
    assert!(status["left"].to_string().contains("stop_twice"));
    let other = env.add_repository("lerna");
    let text = env.ok(&["status", "--cwd", other.to_str().unwrap()]);
    for part in ["2 sessions in 1 other project", "hydra: Fix the race in process.rs", "cerberus log"] {
        assert!(text.contains(part), "{part}: {text}");
    }
    assert_eq!(
        env.json(&["status", "--cwd", other.to_str().unwrap()])["elsewhere"],
        json!({"projects": 1, "sessions": 2})
    );
}

#[test]
fn install_says_what_happens_next() {
    let env = env();
    let output = env.run(&["install", "--agent", "claude-code"]);
    let told = String::from_utf8_lossy(&output.stderr).into_owned();
    for part in ["From now on", "cerberus import", "cerberus status"] {
        assert!(told.contains(part), "{part}: {told}");
    }
}

#[test]
fn the_agents_own_title_is_read_from_the_transcript_of_a_live_session() {
    let mut env = env();
    env.set_now(None);
    let file = env.root().join("live.jsonl");
    let said = |extra: Value| {
        let mut line = json!({"sessionId": "s", "cwd": env.project(), "timestamp": "2026-01-22T10:00:00.000Z"});
        line.as_object_mut().unwrap().extend(extra.as_object().unwrap().clone());
        format!("{line}\n")
    };
    let asked = said(json!({"type": "user", "uuid": "u1", "message": {"content": "fix the race"}}));
    fs::write(&file, &asked).unwrap();
    env.hook("s", "SessionStart", json!({"source": "startup", "transcript_path": file}));
    env.hook("s", "UserPromptSubmit", json!({"prompt": "fix the race", "transcript_path": file}));
    assert_eq!(env.json(&["log"])[0]["title"], "Fix the race");
    let title = said(json!({"type": "ai-title", "aiTitle": "Supervisor deadlock"}));
    fs::write(&file, format!("{asked}{title}")).unwrap();
    assert_eq!(env.json(&["log"])[0]["title"], "Fix the race", "it is looked at once after each activity");
    env.hook("s", "Stop", json!({"last_assistant_message": "Done.", "transcript_path": file}));
    assert_eq!(env.json(&["log"])[0]["title"], "Supervisor deadlock");
    fs::remove_file(&file).unwrap();
    env.rebuild();
    assert_eq!(env.json(&["log"])[0]["title"], "Supervisor deadlock", "it is on record");
}
