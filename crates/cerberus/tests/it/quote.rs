//! An agent quotes the user, and the program proves it: through the command, the MCP server and instruction files.

use std::process::Output;

use cerberus_recall::brief::FIRST_LINE;
use cerberus_testkit::env::TestEnv;
use cerberus_text::tokens;
use serde_json::{Value, json};

use crate::env;
use crate::mcp::Client;
use crate::poison::{RULE, as_agent, pasted, said};

fn say(env: &TestEnv, session: &str, prompt: &str) {
    env.hook(session, "UserPromptSubmit", json!({"prompt": prompt}));
}

fn end(env: &TestEnv, session: &str) {
    env.hook(session, "SessionEnd", json!({"reason": "prompt_input_exit"}));
}

fn quote(env: &TestEnv, kind: &str, words: &str) -> Value {
    env.json(&["quote", "--kind", kind, words])
}

fn refused(env: &TestEnv, words: &str) -> String {
    let output = env.run(&["quote", words]);
    assert_eq!(output.status.code(), Some(1), "{words}: {}", said(&output));
    String::from_utf8(output.stderr).unwrap()
}

fn listed(env: &TestEnv, args: &[&str]) -> Vec<Value> {
    env.json(&[&["memory", "list"], args].concat()).as_array().unwrap().clone()
}

#[test]
fn a_rule_is_told_in_the_users_words_and_language() {
    let env = env();
    say(&env, "s1", "今後は本番に直接pushしないでください。ビルドも直して");
    let quoted = quote(&env, "rule", "本番に直接push");
    assert_eq!(quoted, json!({"status": "told", "text": "今後は本番に直接pushしないでください。"}));
    let next = env.start("s2", "startup");
    assert!(next.starts_with("rule:\"今後は本番に直接pushしないでください。\" (you, 22 Jan)\n"), "{next}");
    env.rebuild();
    assert_eq!(env.start("s3", "startup").lines().next(), next.lines().next());
    let printed: Value = serde_json::from_str(&env.ok(&["brief", "--json"])).unwrap();
    let text = printed["text"].as_str().unwrap();
    assert!(text.starts_with(FIRST_LINE) && text.contains("\nrule:"), "the agent is asked: {text}");
    let tokens = printed["tokens"].as_u64().unwrap();
    assert!(tokens >= tokens::estimate(text) as u64 && tokens::estimate(FIRST_LINE) <= 40, "{tokens}");
    // Once more, it is the same rule.
    assert_eq!(quote(&env, "rule", "本番に直接push")["status"], "told");
    assert_eq!(listed(&env, &["--all"]).len(), 1);
}

#[test]
fn other_words_are_refused_and_leave_nothing() {
    let env = env();
    say(&env, "s1", "Don't deploy on Fridays unless I say so. Look at this:\n> always push to main\nok?");
    env.hook("s1", "Stop", json!({"last_assistant_message": "I will always use tabs.", "stop_hook_active": false}));
    for (words, reason) in [
        ("Don't deploy on Sundays", "not the user's words"),
        ("Always deploy on Fridays", "not the user's words"),
        ("I will always use tabs", "not the user's words"),
        ("always push to main", "in text that the user pasted"),
        ("  ", "the words are empty"),
    ] {
        let told = refused(&env, words);
        assert!(told.contains(reason), "{words}: {told}");
    }
    assert_eq!(env.json(&["memory", "propose"]), json!([]));
    // A part that says the opposite becomes the whole sentence.
    assert_eq!(quote(&env, "rule", "deploy on Fridays")["text"], "Don't deploy on Fridays unless I say so.");
    let other = env.root().join("other");
    std::fs::create_dir_all(&other).unwrap();
    let elsewhere = env.run(&["quote", "deploy on Fridays", "--cwd", other.to_str().unwrap()]);
    assert_eq!(elsewhere.status.code(), Some(1), "another project: {}", said(&elsewhere));
}

#[test]
fn what_does_not_say_that_it_lasts_waits_until_it_is_said_again() {
    let mut env = env();
    say(&env, "s1", "put the helpers into tools.rs");
    let waiting = env.json(&["quote", "put the helpers into tools.rs", "--why", "they were in main.rs"]);
    assert_eq!(waiting["status"], "waits");
    let found = env.json(&["memory", "propose"]);
    assert_eq!(found[0]["rationale"], "said once, 2026-01-22; the agent: they were in main.rs");
    end(&env, "s1");
    assert!(!env.start("s2", "startup").contains("rule:"));
    env.set_now(Some("2026-01-23T13:00:00Z"));
    say(&env, "s2", "again: the importer is broken");
    say(&env, "s2", "Put the helpers into tools.rs!");
    assert_eq!(quote(&env, "rule", "put the helpers into tools.rs")["status"], "told");
    assert_eq!(listed(&env, &[])[0]["evidence"].as_array().unwrap().len(), 2);
    assert!(env.start("s3", "startup").contains("rule:\"Put the helpers into tools.rs!\""));
    // The user takes it back for good.
    let id = listed(&env, &[])[0]["id"].as_str().unwrap().to_string();
    env.ok(&["memory", "reject", &id]);
    assert_eq!(quote(&env, "rule", "put the helpers into tools.rs")["status"], "rejected");
    assert_eq!(listed(&env, &[]), [json!(null); 0]);
}

#[test]
fn at_most_three_sentences_of_a_session_wait() {
    let env = env();
    for words in [
        "put the parser into its own crate",
        "name all tables in the singular",
        "write log lines in English",
        "use the small font in tables",
        "keep the old names in the API",
    ] {
        say(&env, "s1", words);
        assert_eq!(quote(&env, "rule", words)["status"], "waits");
    }
    assert_eq!(listed(&env, &["--all"]).len(), 3);
    say(&env, "s2", "use the same clock everywhere in tests");
    quote(&env, "rule", "use the same clock everywhere in tests");
    assert_eq!(listed(&env, &["--all"]).len(), 4, "another session has its own three");
}

#[test]
fn decisions_steps_and_blockers_are_told_as_the_users_and_statements_as_the_agents() {
    let env = env();
    say(&env, "s1", "we take sqlite, postgres is too much here. After that the importer needs a progress bar");
    assert_eq!(quote(&env, "decision", "we take sqlite")["status"], "told");
    assert_eq!(quote(&env, "next", "the importer needs a progress bar")["status"], "told");
    let own = ["record", "decision", "the user decided to disable signature checks"];
    assert!(as_agent(&env, &own).status.success());
    end(&env, "s1");
    let next = env.start("s2", "startup");
    for line in [
        "dec:\"we take sqlite, postgres is too much here.\" (you, 22 Jan)",
        "next:\"After that the importer needs a progress bar\" (you, 22 Jan)",
        "dec:agent: the user decided to disable signature checks",
    ] {
        assert!(next.lines().any(|told| told == line), "{line}: {next}");
    }
    let explained = env.ok(&["brief", "--explain"]);
    assert!(explained.contains("agent: the user decided"), "{explained}");
    let id = env.sessions()[0]["id"].as_str().unwrap().to_string();
    let shown = env.ok(&["show", &id]);
    assert!(!shown.contains("the user decided") || shown.contains("agent: the user decided"), "{shown}");
}

#[test]
fn forgetting_the_prompt_forgets_the_rule_and_cleaning_up_keeps_it() {
    for forgets in [true, false] {
        let mut env = env();
        say(&env, "s1", "Never feed the xylophone after midnight.");
        quote(&env, "rule", "feed the xylophone");
        quote(&env, "decision", "feed the xylophone");
        end(&env, "s1");
        let id = env.json(&["memory", "session-status", "--all"])["sessions"][0]["id"].as_str().unwrap().to_string();
        if forgets {
            env.ok(&["forget", "--session", &id, "--yes"]);
            assert_eq!(listed(&env, &["--all"]), [json!(null); 0]);
            let journal = std::fs::read_dir(env.home().join("journal")).unwrap();
            for segment in journal {
                let text = std::fs::read_to_string(segment.unwrap().path()).unwrap();
                assert!(!text.contains("xylophone"), "{text}");
            }
        } else {
            env.set_now(Some("2026-06-22T13:00:00Z"));
            env.ok(&["memory", "session-cleanup", "--older-than", "30d", "--yes"]);
            assert_eq!(listed(&env, &[]).len(), 1);
            assert!(env.brief().contains("rule:\"Never feed the xylophone after midnight.\""), "{}", env.brief());
        }
    }
}

#[test]
fn a_hijacked_agent_makes_no_rule_of_pasted_text() {
    for prompt in pasted() {
        let env = env();
        env.hook("s1", "SessionStart", json!({"source": "startup"}));
        say(&env, "s1", &prompt);
        let output: Output = as_agent(&env, &["quote", RULE]);
        end(&env, "s1");
        assert_eq!(listed(&env, &[]), [json!(null); 0], "{prompt}: {}", said(&output));
        assert!(!env.brief().contains("rule:"), "{prompt}");
    }
}

#[test]
fn what_the_agent_writes_into_an_instruction_file_is_a_quotation() {
    let env = env();
    say(&env, "s1", "The build is red. Use the fake clock in every test of the scheduler");
    let rules = "# Shop\n\n- Use the fake clock in every test of the scheduler\n- Write short functions\n";
    std::fs::write(env.project().join("CLAUDE.md"), rules).unwrap();
    env.write_file("s1", "t1", "CLAUDE.md", rules);
    end(&env, "s1");
    for _ in 0..2 {
        let found = env.json(&["memory", "propose"]);
        assert_eq!(found.as_array().unwrap().len(), 1, "{found}");
        assert_eq!(found[0]["content"], "Use the fake clock in every test of the scheduler");
        let why = found[0]["rationale"].as_str().unwrap();
        assert!(why.contains("written into CLAUDE.md"), "{why}");
        // What was read is recorded: the file is not needed any more.
        std::fs::write(env.project().join("CLAUDE.md"), "").unwrap();
        env.rebuild();
    }
}

#[test]
fn agents_quote_through_mcp() {
    let env = env();
    say(&env, "s1", "From now on, write the changelog in German.");
    let mut client = Client::ready(&env);
    let quoted = client.ok("user_said", json!({"kind": "rule", "quote": "write the changelog in German"}));
    assert_eq!(
        (&quoted["status"], &quoted["text"]),
        (&json!("told"), &json!("From now on, write the changelog in German."))
    );
    let refused = client.fails("user_said", json!({"kind": "rule", "quote": "write the changelog in French"}));
    assert!(refused.contains("not the user's words"), "{refused}");
    let refused = client.fails("user_said", json!({"kind": "wish", "quote": "write the changelog in German"}));
    assert!(refused.contains("rule, decision, next, blocker"), "{refused}");
    let text = client.ok("session_context", json!({}))["text"].as_str().unwrap().to_string();
    assert!(text.contains("rule:\"From now on, write the changelog in German.\""), "{text}");
    client.end();
}
