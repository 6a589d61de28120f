//! What the user says becomes a proposal or a memory: the whole way, through hooks, commands and the terminal.

use std::io::Write;
use std::process::{Output, Stdio};

use cerberus_testkit::env::TestEnv;
use cerberus_testkit::process::{LIMIT, wait_until};
use cerberus_testkit::terminal::Terminal;
use serde_json::{Value, json};

use crate::env;

/// The agent says something, and the user answers.
fn turn(env: &TestEnv, session: &str, agent: &str, user: &str) {
    if !agent.is_empty() {
        env.hook(session, "Stop", json!({"last_assistant_message": agent, "stop_hook_active": false}));
    }
    env.hook(session, "UserPromptSubmit", json!({"prompt": user}));
}

fn end(env: &TestEnv, session: &str) {
    env.hook(session, "SessionEnd", json!({"reason": "prompt_input_exit"}));
}

fn proposals(env: &TestEnv) -> Vec<Value> {
    env.json(&["memory", "propose"]).as_array().unwrap().clone()
}

fn corrections(env: &TestEnv, session: &str) -> Vec<Value> {
    let sessions = env.sessions();
    let found = sessions.iter().find(|one| one["agent_session_id"] == session).expect("the session is there");
    found["corrections"].as_array().unwrap().clone()
}

fn later(env: &mut TestEnv, minute: u32) {
    env.set_now(Some(&format!("2026-01-22T14:{minute:02}:00Z")));
}

#[test]
fn a_direct_rule_is_learnt_at_the_end_of_its_session_and_told_to_the_next() {
    let mut env = env();
    turn(&env, "s1", "I committed the change.", "Always run the tests before you commit.");
    assert_eq!(env.json(&["memory", "list"]), json!([]), "not before the session's end");
    end(&env, "s1");
    let memories = env.json(&["memory", "list"]);
    assert_eq!(memories.as_array().unwrap().len(), 1, "{memories}");
    assert_eq!(memories[0]["automatic"], true);
    assert_eq!(memories[0]["evidence"], json!(["Always run the tests before you commit."]));
    later(&mut env, 0);
    let told = env.start("s2", "startup");
    assert!(told.starts_with("rule:\"Always run the tests before you commit.\" (you, 22 Jan)"), "{told}");
    let proposed = proposals(&env);
    assert_eq!((proposed.len(), &proposed[0]["status"]), (1, &json!("approved")));
    env.ok(&["memory", "undo", memories[0]["id"].as_str().unwrap()]);
    assert_eq!(proposals(&env)[0]["status"], "proposed", "it waits for a word again");
    assert!(!env.start("s3", "startup").contains("rule:"));
}

#[test]
fn the_next_start_says_once_what_was_learned_and_how_to_undo_it() {
    let env = env();
    turn(&env, "s1", "", "Never push directly to main.");
    end(&env, "s1");
    let id = env.json(&["memory", "list"])[0]["id"].as_str().unwrap().to_string();
    let shown = |session: &str| {
        let reply = env.hook(session, "SessionStart", json!({"source": "startup"}));
        serde_json::from_str::<Value>(&reply).unwrap()["systemMessage"].as_str().unwrap().to_string()
    };
    let line = format!("cerberus: learned “Never push directly to main.” (undo: cerberus memory undo {id})");
    let first = shown("s2");
    assert!(first.lines().any(|shown| shown == line), "{first}");
    assert!(!shown("s3").contains("learned"), "once");
}

#[test]
fn an_automatic_approval_is_taken_back_and_never_comes_again() {
    let mut env = env();
    turn(&env, "s1", "", "Never push directly to main.");
    end(&env, "s1");
    let id = env.json(&["memory", "list"])[0]["id"].as_str().unwrap().to_string();
    env.ok(&["memory", "reject", &id]);
    assert!(!env.brief().contains("rule:"));
    later(&mut env, 1);
    turn(&env, "s2", "I pushed to main.", "Don't ever push directly to main!");
    end(&env, "s2");
    assert_eq!(proposals(&env), [json!(null); 0], "a rejected one does not come back in nearly the same words");
    assert_eq!(env.json(&["memory", "list"]), json!([]));
}

#[test]
fn a_wish_waits_once_it_was_typed_again_in_another_session() {
    let mut env = env();
    for (number, words) in [
        "put the new migrations into the db folder",
        "no, call it load_rows instead",
        "please put new migrations into the db folder!",
    ]
    .iter()
    .enumerate()
    {
        later(&mut env, number as u32);
        assert_eq!(proposals(&env), [json!(null); 0]);
        turn(&env, &format!("s{number}"), "I did something.", words);
        end(&env, &format!("s{number}"));
    }
    let found = proposals(&env);
    assert_eq!(found.len(), 1, "{found:?}");
    assert_eq!((&found[0]["status"], &found[0]["category"]), (&json!("proposed"), &json!("correction")));
    assert_eq!(found[0]["scope"], "project:hydra");
    let evidence =
        json!(["put the new migrations into the db folder", "please put new migrations into the db folder!"]);
    assert_eq!(found[0]["evidence"], evidence, "with all its occurrences");
    assert_eq!(found[0]["content"], evidence[1], "in the user's words");
}

#[test]
fn a_preference_that_is_said_again_in_another_session_is_kept() {
    let mut env = env();
    for (number, words) in ["I prefer small commits.", "I prefer small commits, please!"].iter().enumerate() {
        env.set_now(Some(&format!("2026-01-{:02}T14:00:00Z", 22 + number)));
        turn(&env, &format!("s{number}"), "I committed everything at once.", words);
        end(&env, &format!("s{number}"));
        let found = proposals(&env);
        assert_eq!((found.len(), &found[0]["status"]), (1, &json!(["proposed", "approved"][number])), "{found:?}");
    }
}

#[test]
fn what_is_no_correction_gives_none() {
    let env = env();
    for (number, words) in [
        "I don't know what to do",
        "I already pushed the branch",
        "why does the test always fail?",
        "add a login form to the settings page",
        "```\nerror: you must never do this\n```",
    ]
    .iter()
    .enumerate()
    {
        turn(&env, &format!("s{number}"), "I changed the parser.", words);
        end(&env, &format!("s{number}"));
        let found = corrections(&env, &format!("s{number}"));
        assert!(found.iter().all(|one| one["kind"] == "fix"), "{words}: {found:?}");
    }
    assert_eq!(proposals(&env), [json!(null); 0]);
}

#[test]
fn sessions_show_their_corrections() {
    let env = env();
    turn(&env, "s1", "I used unwrap here.", "Never use unwrap in library code.");
    let found = corrections(&env, "s1");
    assert_eq!(found[0]["text"], "Never use unwrap in library code.");
    assert_eq!(found[0]["kind"], "rule");
    assert!(found[0]["confidence"].as_f64().unwrap() >= 0.9);
    assert_eq!(env.json(&["memory", "session-history", "--days", "1"])[0]["correction_count"], 1);
}

#[test]
fn a_rejected_tool_use_with_words_is_a_correction() {
    let env = env();
    let rejected = "The user doesn't want to proceed with this tool use. To tell you how to proceed, the user said:\n\
        always use the migration script, never edit the schema by hand";
    let extra = json!({"tool_name": "Edit", "tool_use_id": "t1", "tool_input": {"file_path": "/x/schema.sql"},
        "error": rejected, "is_interrupt": true});
    env.hook("s1", "PostToolUseFailure", extra);
    let found = corrections(&env, "s1");
    assert!(found[0]["text"].as_str().unwrap().contains("migration script"), "{found:?}");
}

#[test]
fn a_session_that_died_leaves_its_corrections() {
    let mut env = env();
    turn(&env, "s1", "Done.", "Always use British spelling in the docs.");
    later(&mut env, 30);
    let crashed = env.json(&["memory", "recover", "--list"]);
    assert_eq!(crashed[0]["corrections"], 1, "{crashed}");
    let id = crashed[0]["session_id"].as_str().unwrap().to_string();
    let recovered = env.json(&["memory", "recover", &id]);
    let actions = recovered["recovery_actions"].to_string();
    assert!(actions.contains("1 correction"), "{actions}");
    assert_eq!(env.json(&["memory", "list"]).as_array().unwrap().len(), 1);
}

#[test]
fn forgetting_a_memory_forgets_the_words_it_came_from() {
    let env = env();
    turn(&env, "s1", "", "Fix the parser. Always consult the xylophonist before releases. Thanks");
    end(&env, "s1");
    let memories = env.json(&["memory", "list"]);
    let id = memories[0]["id"].as_str().unwrap();
    env.ok(&["memory", "forget", id]);
    for rebuilt in [false, true] {
        if rebuilt {
            env.rebuild();
        }
        assert_eq!(env.json(&["memory", "list"]), json!([]));
        assert_eq!(proposals(&env), [json!(null); 0], "it is not learnt again from what was said");
        let journal = std::fs::read_dir(env.home().join("journal")).unwrap();
        for segment in journal {
            let text = std::fs::read_to_string(segment.unwrap().path()).unwrap();
            assert!(!text.contains("xylophonist"), "{text}");
            assert!(text.contains("Fix the parser."), "the rest of what was said stays");
        }
    }
}

/// Goes through the proposals with these answers, a line each.
fn review(env: &TestEnv, answers: &str) -> Output {
    let mut command = env.command();
    command.args(["memory", "review"]).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().unwrap();
    child.stdin.take().unwrap().write_all(answers.as_bytes()).unwrap();
    child.wait_with_output().unwrap()
}

fn three_waiting(env: &TestEnv) {
    for (number, words) in
        ["I prefer small commits.", "I prefer early returns over nested ifs.", "I prefer answers without emojis."]
            .iter()
            .enumerate()
    {
        turn(env, &format!("s{number}"), "I did it.", words);
        end(env, &format!("s{number}"));
    }
    let waiting = proposals(env);
    assert_eq!(waiting.iter().filter(|one| one["status"] == "proposed").count(), 3, "{waiting:?}");
}

#[test]
fn review_approves_rewords_rejects_and_leaves_for_later() {
    let env = env();
    three_waiting(&env);
    let output = review(&env, "a\nu\ne Commit in small steps.\nr\nl\n");
    let said = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(output.status.success() && said.contains("1 approved, 1 rejected, 1 left for later"), "{said}");
    assert!(said.contains("why: said once, 2026-01-22"), "{said}");
    for answer in ["approved;", "undone", "approved as: Commit in small steps.", "rejected;", "left for later"] {
        assert!(said.contains(&format!("-> {answer}")), "{answer}: {said}");
    }
    // The last one is shown once, and no line says what another said.
    assert_eq!(said.matches("I prefer small commits.").count(), 1, "{said}");
    assert_eq!(env.json(&["memory", "list"])[0]["content"], "Commit in small steps.");
    assert_eq!(proposals(&env).len(), 1);
    let output = review(&env, "");
    assert!(
        String::from_utf8_lossy(&output.stdout).contains("0 approved, 0 rejected, 1 left"),
        "the end decides nothing"
    );
}

#[test]
fn proposals_are_decided_without_a_terminal() {
    let env = env();
    three_waiting(&env);
    let ids: Vec<String> = proposals(&env).iter().map(|one| one["id"].as_str().unwrap().to_string()).collect();
    env.ok(&["memory", "approve", &ids[0], &ids[1]]);
    env.ok(&["memory", "reject", &ids[2]]);
    assert_eq!(env.json(&["memory", "list"]).as_array().unwrap().len(), 2);
    assert_eq!(proposals(&env), [json!(null); 0]);
    env.ok(&["memory", "undo", &ids[2]]);
    assert_eq!(proposals(&env).len(), 1, "a rejection can be taken back");
    let unknown = env.run(&["memory", "approve", "m-nothing"]);
    assert_eq!(unknown.status.code(), Some(1));
}

#[test]
fn killed_between_approving_and_storing_nothing_is_lost() {
    for point in
        ["journal-open", "journal-write", "journal-sync", "journal-done", "fold-apply", "fold-commit", "fold-done"]
    {
        let env = env();
        turn(&env, "s1", "", "I prefer small commits.");
        end(&env, "s1");
        let id = proposals(&env)[0]["id"].as_str().unwrap().to_string();
        let mut command = env.command();
        let killed = command.args(["memory", "approve", &id]).env("CERBERUS_FAULT", format!("{point}=kill")).output();
        assert!(!killed.unwrap().status.success(), "{point}");
        let status = env.json(&["memory", "show", &id])["status"].clone();
        assert!(status == "proposed" || status == "approved", "{point}: {status}");
        env.ok(&["memory", "approve", &id]);
        assert_eq!(env.json(&["memory", "list"]).as_array().unwrap().len(), 1, "{point}");
        assert!(env.brief().starts_with("pref:\"I prefer small commits.\" (you, 22 Jan)\n\n"), "{point}");
    }
}

#[test]
fn sessions_that_end_together_learn_once() {
    let env = env();
    for number in 0..8 {
        turn(&env, &format!("s{number}"), "I ran nothing.", "Always run the tests before you commit.");
    }
    std::thread::scope(|scope| {
        for number in 0..8 {
            let env = &env;
            scope.spawn(move || end(env, &format!("s{number}")));
        }
    });
    let memories = env.json(&["memory", "list"]);
    assert_eq!(memories.as_array().unwrap().len(), 1, "{memories}");
    assert_eq!(env.json(&["status"])["failures"], json!([]));
}

#[test]
fn review_takes_single_keys_in_a_terminal_and_gives_it_back() {
    let env = env();
    three_waiting(&env);
    let mut command = env.command();
    command.args(["memory", "review"]).env("TERM", "xterm");
    let mut terminal = Terminal::spawn(&command).unwrap();
    let shows = |terminal: &Terminal, words: &str| {
        let printed = || terminal.printed().contains(words).then_some(());
        wait_until(words, LIMIT, printed).unwrap();
    };
    shows(&terminal, "1 of 3");
    terminal.type_keys("a").unwrap();
    shows(&terminal, "2 of 3");
    // An arrow key means nothing here, and does not stop the review.
    terminal.type_keys("\u{1b}[1;5Ar").unwrap();
    shows(&terminal, "3 of 3");
    terminal.type_keys("q").unwrap();
    assert!(terminal.wait(LIMIT).unwrap().success());
    shows(&terminal, "1 approved, 1 rejected, 1 left for later");
    assert_eq!(env.json(&["memory", "list"]).as_array().unwrap().len(), 1);
}

#[test]
fn without_an_editor_the_new_text_is_asked_for_in_place() {
    let env = env();
    turn(&env, "s1", "I did it.", "I prefer small commits.");
    end(&env, "s1");
    let mut command = env.command();
    command.args(["review"]).env("TERM", "xterm").env_remove("EDITOR").env_remove("VISUAL");
    let mut terminal = Terminal::spawn(&command).unwrap();
    let shows = |terminal: &Terminal, words: &str| {
        wait_until(words, LIMIT, || terminal.printed().contains(words).then_some(())).unwrap();
    };
    shows(&terminal, "1 of 1");
    terminal.type_keys("e").unwrap();
    shows(&terminal, "new text");
    terminal.type_keys("\r").unwrap();
    shows(&terminal, "not changed");
    terminal.type_keys("e").unwrap();
    wait_until("the second question", LIMIT, || (terminal.printed().matches("new text").count() == 2).then_some(()))
        .unwrap();
    terminal.type_keys("Commit every step\r").unwrap();
    assert!(terminal.wait(LIMIT).unwrap().success());
    assert_eq!(env.json(&["memory", "list"])[0]["content"], "Commit every step");
}
