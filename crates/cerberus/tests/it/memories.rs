//! Memories: learnt, told, searched, edited, taken back, forgotten, carried from home to home.

use std::io::Write;
use std::process::Stdio;

use cerberus_testkit::env::{START, TestEnv};
use cerberus_testkit::tokens::real_tokens;
use serde_json::{Value, json};

use crate::env;

fn learn(env: &TestEnv, args: &[&str]) -> String {
    env.json(&[&["memory", "learn"], args].concat())["id"].as_str().unwrap().to_string()
}

#[test]
fn what_is_learned_holds_in_this_project_unless_it_is_for_everywhere() {
    let env = env();
    let other = env.add_repository("other");
    assert!(env.ok(&["learn", "Use pnpm, not npm"]).contains(", for hydra; --everywhere"), "it says where");
    assert!(env.ok(&["learn", "Answer briefly", "--everywhere"]).contains(", for all projects"));
    let scopes: Vec<_> = list(&env).iter().map(|memory| memory["scope"].as_str().unwrap().to_string()).collect();
    assert!(scopes.contains(&"project:hydra".to_string()) && scopes.contains(&"universal".to_string()), "{scopes:?}");
    let here = env.brief();
    assert!(here.contains("rule:Use pnpm, not npm") && here.contains("rule:Answer briefly"), "{here}");
    let there = env.ok(&["--cwd", other.to_str().unwrap(), "brief"]);
    assert!(!there.contains("pnpm") && there.contains("rule:Answer briefly"), "{there}");
    let both = env.run(&["learn", "x y", "--everywhere", "--scope", "project"]);
    assert_eq!(both.status.code(), Some(2));
}

fn list(env: &TestEnv) -> Vec<Value> {
    env.json(&["memory", "list"]).as_array().unwrap().clone()
}

/// What the hook answers to a prompt.
fn on_prompt(env: &TestEnv, session: &str, prompt: &str) -> String {
    let reply = env.hook(session, "UserPromptSubmit", json!({"prompt": prompt}));
    let reply: Value = serde_json::from_str(&reply).unwrap_or_default();
    reply["hookSpecificOutput"]["additionalContext"].as_str().unwrap_or_default().to_string()
}

/// Every byte in the home, journal, view and logs.
fn holds(env: &TestEnv, words: &str) -> bool {
    let mut folders = vec![env.home()];
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                folders.push(path);
            } else if std::fs::read(&path).unwrap().windows(words.len()).any(|found| found == words.as_bytes()) {
                return true;
            }
        }
    }
    false
}

#[test]
fn what_is_learnt_is_told_to_the_next_session_before_its_state() {
    let env = env();
    learn(&env, &["Run the linter before every commit"]);
    learn(&env, &["Answer in short sentences", "--category", "preference"]);
    env.write_file("s1", "t1", "src/a.rs", "fn a() {}\n");
    let told = env.start("s2", "startup");
    let (memories, session) = told.split_once("\n\n").expect("two parts");
    assert_eq!(session, "proj:hydra\nimpl:src/a.rs a");
    let mut lines: Vec<&str> = memories.lines().collect();
    lines.sort_unstable();
    assert_eq!(lines, ["pref:Answer in short sentences", "rule:Run the linter before every commit"]);
    assert_eq!(list(&env)[0]["use_count"], 1, "being told is a use");
}

#[test]
fn memories_are_told_where_they_hold_and_nowhere_else() {
    let env = env();
    let other = env.add_repository("kraken");
    learn(&env, &["Deploy with make ship", "--scope", "project"]);
    learn(&env, &["Prefer iterators over index loops", "--scope", "language:rust"]);
    learn(&env, &["Use type hints", "--scope", "language:python"]);
    learn(&env, &["Never push to main", "--everywhere"]);
    assert_eq!(env.brief(), "rule:Deploy with make ship\nrule:Never push to main");
    env.write_file("s1", "t1", "src/a.rs", "fn a() {}\n");
    assert!(env.brief().contains("rule:Prefer iterators"), "{}", env.brief());
    assert!(!env.brief().contains("type hints"));
    let there = env.json(&["--cwd", other.to_str().unwrap(), "brief"]);
    assert_eq!(there["text"], "rule:Never push to main");
}

#[test]
fn a_namesake_of_the_project_is_not_told() {
    let env = env();
    learn(&env, &["Deploy with make ship", "--scope", "project"]);
    let namesake = env.add_repository("elsewhere/hydra");
    let told = env.json(&["--cwd", namesake.to_str().unwrap(), "brief"]);
    assert_eq!(told["text"], "");
}

#[test]
fn what_a_prompt_speaks_of_is_told_once() {
    let mut env = env();
    env.start("s1", "startup");
    env.set_now(Some("2026-01-22T13:40:00Z"));
    learn(&env, &["Run database migrations through the pipeline, never by hand"]);
    assert_eq!(on_prompt(&env, "s1", "fix the colour of the button"), "");
    let told = on_prompt(&env, "s1", "now run the database migrations please");
    assert_eq!(told, "rule:Run database migrations through the pipeline, never by hand");
    assert_eq!(on_prompt(&env, "s1", "run the database migrations again"), "", "it was told already");
    assert_ne!(on_prompt(&env, "s2", "run the database migrations"), "", "another session was not");
}

#[test]
fn what_a_guide_says_is_not_repeated_and_guides_are_left_alone() {
    let env = env();
    let id = learn(&env, &["Always run cargo fmt before committing"]);
    learn(&env, &["Never push to main"]);
    let guide = env.project().join("CLAUDE.md");
    std::fs::write(&guide, "# House rules\n\n- Always run `cargo fmt` before committing.\n").unwrap();
    assert_eq!(env.brief(), "rule:Never push to main");
    let dropped = env.json(&["brief"])["dropped"].clone();
    assert_eq!(dropped[0]["code"], "rule:Always run cargo fmt before committing");
    assert_eq!(dropped[0]["reason"], "already in CLAUDE.md");
    std::fs::rename(&guide, env.project().join("AGENTS.md")).unwrap();
    assert_eq!(env.brief(), "rule:Never push to main");
    let agents = std::fs::read_to_string(env.project().join("AGENTS.md")).unwrap();
    assert_eq!(agents, "# House rules\n\n- Always run `cargo fmt` before committing.\n");
    let own = env.root().join("user/.claude/projects");
    let folder = env.project().to_string_lossy().replace(|c: char| !c.is_ascii_alphanumeric(), "-");
    std::fs::create_dir_all(own.join(&folder).join("memory")).unwrap();
    std::fs::write(own.join(&folder).join("memory/MEMORY.md"), "- Never push to main\n").unwrap();
    assert_eq!(env.brief(), "");
    assert_eq!(env.json(&["memory", "show", &id])["status"], "approved", "it is kept all the same");
}

#[test]
fn the_newer_supersedes_and_both_are_shown() {
    let mut env = env();
    let older = learn(&env, &["Add comments to every function"]);
    env.set_now(Some("2026-01-23T10:00:00Z"));
    let newer = env.json(&["memory", "learn", "Do not add comments to every function"]);
    assert_eq!(newer["supersedes"], json!([older]));
    assert_eq!(env.brief(), "rule:Do not add comments to every function");
    let both = list(&env);
    assert_eq!(both.len(), 2);
    assert_eq!(both[0]["superseded_by"], newer["id"]);
    env.ok(&["memory", "forget", newer["id"].as_str().unwrap()]);
    assert_eq!(env.brief(), "rule:Add comments to every function", "without the newer, the older holds again");
}

#[test]
fn what_holds_here_overrules_what_holds_everywhere() {
    let env = env();
    learn(&env, &["Add comments to every function", "--everywhere"]);
    learn(&env, &["Do not add comments to every function"]);
    assert_eq!(env.brief(), "rule:Do not add comments to every function");
    let other = env.add_repository("kraken");
    let there = env.json(&["--cwd", other.to_str().unwrap(), "brief"]);
    assert_eq!(there["text"], "rule:Add comments to every function");
}

#[test]
fn every_step_can_be_taken_back() {
    let mut env = env();
    let id = learn(&env, &["Use tabs"]);
    env.set_now(Some("2026-01-22T14:00:00Z"));
    env.ok(&["memory", "edit", &id, "Use two tabs", "--category", "preference"]);
    env.ok(&["memory", "reject", &id]);
    assert_eq!(env.brief(), "");
    env.ok(&["memory", "undo", &id]);
    assert_eq!(env.brief(), "pref:Use two tabs");
    env.ok(&["memory", "undo", &id]);
    assert_eq!(env.brief(), "rule:Use tabs");
    let nothing = env.run(&["memory", "undo", &id]);
    assert_eq!(nothing.status.code(), Some(1));
    let before = env.json(&["--now", START, "memory", "show", &id]);
    assert_eq!(before["content"], "Use tabs");
    assert_eq!(env.json(&["memory", "show", &id])["history"].as_array().unwrap().len(), 5);
    env.rebuild();
    assert_eq!(env.brief(), "rule:Use tabs", "the journal tells the same");
}

#[test]
fn an_editor_may_be_used() {
    let env = env();
    let id = learn(&env, &["Use tabs"]);
    let output = env.command().args(["memory", "edit", &id]).env("EDITOR", "sed -i s/tabs/spaces/").output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    assert_eq!(env.brief(), "rule:Use spaces");
    let output = env.command().args(["memory", "edit", &id]).env("EDITOR", "false").output().unwrap();
    assert_eq!(output.status.code(), Some(1));
    assert_eq!(env.brief(), "rule:Use spaces");
}

/// What a memory read over time.
fn history(env: &TestEnv, id: &str) -> Vec<String> {
    let whole = env.json(&["memory", "show", id]);
    let words = |version: &Value| version["content"].as_str().unwrap().to_string();
    whole["history"].as_array().unwrap().iter().map(words).collect()
}

#[test]
fn a_memory_that_somebody_else_changed_meanwhile_is_not_changed() {
    let env = env();
    let id = learn(&env, &["Use tabs"]);
    let binary = env!("CARGO_BIN_EXE_cerberus");
    let editor = |other: &str| format!("sh -c '{binary} memory {other} >/dev/null && echo Use both > \"$0\"'");
    for other in [format!("edit {id} \"Use spaces\""), format!("reject {id}"), format!("undo {id}")] {
        let before = history(&env, &id).len();
        let output = env.command().args(["memory", "edit", &id]).env("EDITOR", editor(&other)).output().unwrap();
        let said = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(1), "{other}: {said}");
        assert!(
            said.contains(&format!("{id} was changed by someone else in the meantime; your change was not made")),
            "{said}"
        );
        assert!(said.contains(&format!("cerberus memory show {id}")), "{said}");
        assert_eq!(history(&env, &id).len(), before + 1, "{other}");
    }
    assert_eq!(history(&env, &id), ["Use tabs", "Use spaces", "Use spaces", "Use spaces"]);
}

#[test]
fn of_many_who_change_a_memory_at_once_each_is_told_what_came_of_it() {
    let env = env();
    let id = learn(&env, &["Use tabs"]);
    let outputs: Vec<(String, std::process::Output)> = std::thread::scope(|scope| {
        let edits: Vec<_> = (0..8)
            .map(|n| {
                let (env, id) = (&env, &id);
                scope.spawn(move || {
                    let words = format!("Use {n} spaces");
                    let output = env.run(&["memory", "edit", id, &words]);
                    (words, output)
                })
            })
            .collect();
        edits.into_iter().map(|edit| edit.join().unwrap()).collect()
    });
    let (made, refused): (Vec<_>, Vec<_>) = outputs.iter().partition(|(_, output)| output.status.success());
    assert!(!made.is_empty());
    for (words, output) in refused {
        let said = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.code() == Some(1) && said.contains("was changed by someone else"), "{words}: {said}");
    }
    let stood = history(&env, &id);
    let mut made: Vec<&String> = made.iter().map(|(words, _)| words).collect();
    let mut changes: Vec<&String> = stood[1..].iter().collect();
    made.sort();
    changes.sort();
    assert_eq!(changes, made, "what was reported as made stands in the history, and nothing else");
    env.rebuild();
    assert_eq!(history(&env, &id), stood);
}

#[test]
fn forgotten_words_are_nowhere_any_more() {
    let env = env();
    let id = learn(&env, &["Consult the xylophonist before releases"]);
    let kept = learn(&env, &["Consult the zitherist before releases"]);
    env.ok(&["memory", "edit", &id, "Consult the xylophonist twice"]);
    env.start("s1", "startup");
    env.json(&["memory", "search", "xylophonist"]);
    assert!(holds(&env, "xylophonist"));
    env.ok(&["memory", "forget", &id]);
    assert!(!holds(&env, "xylophonist"), "gone from journal, view and index");
    assert!(holds(&env, "zitherist"));
    env.rebuild();
    assert_eq!(list(&env).len(), 1);
    assert_eq!(list(&env)[0]["id"], kept.as_str());
    assert_eq!(env.json(&["memory", "search", "zitherist"]).as_array().unwrap().len(), 1);
    let gone = env.run(&["memory", "show", &id]);
    assert_eq!(gone.status.code(), Some(1));
}

#[test]
fn out_and_into_another_home_nothing_is_lost() {
    let (env, other) = (env(), env_at("2026-02-01T00:00:00Z"));
    let first = learn(&env, &["Use tabs", "--category", "preference", "--scope", "language:go"]);
    learn(&env, &["Deploy with make ship", "--scope", "project"]);
    env.ok(&["memory", "edit", &first, "Use tabs, always"]);
    let file = env.root().join("memories.jsonl");
    env.ok(&["memory", "export", file.to_str().unwrap()]);
    let again = other.root().join("again.jsonl");
    assert_eq!(other.json(&["memory", "import", file.to_str().unwrap()]), json!({"imported": 2, "known": 0}));
    other.ok(&["memory", "export", again.to_str().unwrap()]);
    let lines = |path: &std::path::Path| {
        let text = std::fs::read_to_string(path).unwrap();
        let mut lines: Vec<String> = text.lines().map(str::to_string).collect();
        lines.sort();
        lines
    };
    assert_eq!(lines(&again), lines(&file));
    assert_eq!(other.json(&["memory", "import", file.to_str().unwrap()]), json!({"imported": 0, "known": 2}));
}

fn env_at(now: &str) -> TestEnv {
    let mut env = env();
    env.set_now(Some(now));
    env
}

#[test]
fn import_takes_lines_as_they_are_and_all_or_none() {
    let env = env();
    let import = |text: &str| {
        let mut command = env.command();
        command.args(["memory", "import", "-", "--json"]);
        let piped = command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = piped.spawn().unwrap();
        child.stdin.take().unwrap().write_all(text.as_bytes()).unwrap();
        child.wait_with_output().unwrap()
    };
    let twice = "{\"content\":\"use tabs\"}\n{\"content\":\"use spaces\"}\n{\"content\":\"use tabs\"}\n";
    assert!(import(twice).status.success());
    assert_eq!(list(&env).len(), 3, "never merged, never superseded");
    assert!(list(&env).iter().all(|memory| memory["superseded_by"].is_null()));
    assert!(import(twice).status.success());
    assert_eq!(list(&env).len(), 3, "the same file twice is once");
    let wrong = import("{\"content\":\"good\"}\n{\"content\":7}\n");
    assert_eq!(wrong.status.code(), Some(1));
    let said = String::from_utf8_lossy(&wrong.stderr).into_owned();
    assert!(said.contains("line 2") && said.contains("nothing was imported"), "{said}");
    assert_eq!(list(&env).len(), 3);
    let whole = json!({"id": "d1:3", "content": "Turn three", "category": "turn", "metadata": {"turn": "D1:3"},
        "created_at": "2025-05-07T00:00:00Z"});
    assert!(import(&whole.to_string()).status.success());
    let found = env.json(&["memory", "search", "turn three"]);
    assert_eq!(found[0]["metadata"], json!({"turn": "D1:3"}));
    assert_eq!(found[0]["created_at"], "2025-05-07T00:00:00Z");
}

#[test]
fn the_third_search_gives_use_count_three() {
    let mut env = env();
    env.set_now(None);
    learn(&env, &["Handle errors with thiserror"]);
    for count in 1..=3 {
        let found = env.json(&["memory", "search", "errors"]);
        assert_eq!(found[0]["use_count"], count);
    }
    assert_eq!(list(&env)[0]["use_count"], 3);
    env.json(&["--now", "2030-01-01T00:00:00Z", "memory", "search", "errors"]);
    assert_eq!(list(&env)[0]["use_count"], 3, "a moment that was asked for changes nothing");
}

#[test]
fn code_words_are_found() {
    let env = env();
    for text in [
        "Compile with c++20 and no exceptions",
        "Don't use unwrap in library code",
        "Follow the error-handling guide",
        "Call fooBar before fooBaz",
        "Rename foo_bar when touched",
        "See src/store/read.rs for the pattern",
        "Authentication lives in the gateway",
    ] {
        learn(&env, &[text]);
    }
    for (query, found) in [
        ("c++", "Compile with c++20"),
        ("don't", "Don't use unwrap"),
        ("error-handling", "Follow the error-handling"),
        ("error handling", "Follow the error-handling"),
        ("fooBar", "Call fooBar"),
        ("foo_bar", "Rename foo_bar"),
        ("src/store/read.rs", "See src/store"),
        ("read.rs", "See src/store"),
        ("auth*", "Authentication lives"),
        ("authentcation", "Authentication lives"),
    ] {
        let results = env.json(&["memory", "search", query, "--limit", "3"]);
        let first = results[0]["content"].as_str().unwrap_or_default();
        assert!(first.starts_with(found), "{query}: {results}");
    }
    for query in ["\"", "((", "AND OR NOT", "*", "NEAR(", "a:b", "", "-"] {
        env.json(&["memory", "search", query]);
    }
}

#[test]
fn search_is_filtered_by_scope_and_category() {
    let env = env();
    learn(&env, &["Format with black", "--scope", "language:python"]);
    learn(&env, &["Format with rustfmt", "--scope", "language:rust", "--category", "preference"]);
    let by = |args: &[&str]| {
        let found = env.json(&[&["memory", "search", "format"], args].concat());
        found.as_array().unwrap().iter().map(|one| one["content"].as_str().unwrap().to_string()).collect::<Vec<_>>()
    };
    assert_eq!(by(&[]).len(), 2);
    assert_eq!(by(&["--scope", "language:rust"]), ["Format with rustfmt"]);
    assert_eq!(by(&["--category", "rule"]), ["Format with black"]);
    assert_eq!(by(&["--category", "rule", "--scope", "language:rust"]), [""; 0]);
}

#[test]
fn stale_ones_are_flagged_and_stay() {
    let mut env = env();
    learn(&env, &["Check the staging server on Mondays"]);
    learn(&env, &["Answer in short sentences", "--category", "preference"]);
    env.set_now(Some("2026-04-22T00:00:00Z"));
    let memories = list(&env);
    assert_eq!((&memories[0]["stale"], &memories[1]["stale"]), (&json!(true), &json!(false)));
    assert_eq!(env.json(&["memory", "stats"])["stale"], 1);
    assert_eq!(env.brief().lines().count(), 2, "never silently dropped");
}

#[test]
fn both_parts_keep_their_budgets_in_real_tokens() {
    let env = env();
    for number in 0..120 {
        learn(&env, &[&format!("Rule {number}: keep the module for feature {number} free of global state and clocks")]);
    }
    for number in 0..60 {
        env.write_file("s1", &format!("t{number}"), &format!("src/feature_{number}/module_{number}.rs"), "fn a() {}\n");
        let decision = format!("feature {number} is stored in table number {number} of the second database");
        env.ok(&["record", "decision", &decision]);
    }
    let told = env.start("s2", "startup");
    let (memories, session) = told.split_once("\n\n").expect("two parts");
    let (memory_tokens, session_tokens) = (real_tokens(memories), real_tokens(session));
    assert!((1_000..=1_500).contains(&memory_tokens), "{memory_tokens}");
    assert!((600..=1_000).contains(&session_tokens), "{session_tokens}");
    assert!(real_tokens(&told) <= 2_500 && told.chars().count() <= 9_500);
    for budget in [60, 200, 700, 2_000] {
        let brief = env.json(&["brief", "--budget", &budget.to_string()]);
        let text = brief["text"].as_str().unwrap();
        assert!(real_tokens(text) <= budget, "{budget}: {}", real_tokens(text));
        assert!(text.contains("rule:") && text.contains("proj:hydra"), "{budget}: {text}");
    }
}

#[test]
fn numbers_in_metadata_come_back_as_they_were_written() {
    let env = env();
    let metadata =
        r#"{"z":0.30000000000000004,"big":123456789012345678901234567890,"huge":1e400,"zero":-0.0,"a":[1.50]}"#;
    let file = env.project().join("in.jsonl");
    std::fs::write(&file, format!("{{\"id\":\"m-1\",\"content\":\"Use tabs.\",\"metadata\":{metadata}}}\n")).unwrap();
    env.ok(&["memory", "import", file.to_str().unwrap()]);
    for _ in 0..2 {
        let exported = env.ok(&["memory", "export", "-"]);
        assert!(exported.contains(&format!("\"metadata\":{metadata}")), "{exported}");
        let shown = &env.json(&["memory", "search", "tabs"])[0]["metadata"];
        assert_eq!((&shown["huge"], &shown["a"]), (&serde_json::json!("1e400"), &serde_json::json!([1.5])));
        env.rebuild();
    }
}
