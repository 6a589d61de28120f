//! What is understood of what happened: functions, tests, plans, answers, commits, the user's words.

use cerberus_testkit::env::{TestEnv, codes};
use serde_json::{Value, json};

use crate::env;

fn tool(env: &TestEnv, id: &str, name: &str, input: Value, response: Value) {
    let extra = json!({"tool_name": name, "tool_use_id": id, "tool_input": input, "tool_response": response});
    env.hook("s1", "PostToolUse", extra);
}

fn bash(env: &TestEnv, id: &str, command: &str, stdout: &str) {
    tool(env, id, "Bash", json!({"command": command}), json!({"stdout": stdout, "stderr": "", "interrupted": false}));
}

fn bash_fails(env: &TestEnv, id: &str, command: &str, output: &str) {
    let extra = json!({"tool_name": "Bash", "tool_use_id": id, "tool_input": {"command": command},
        "error": format!("Exit code 101\n{output}"), "is_interrupt": false});
    env.hook("s1", "PostToolUseFailure", extra);
}

const STORE: &str = "use std::fs;\n\npub struct Store {\n    path: String,\n}\n\nimpl Store {\n    pub fn open() -> Store {\n        \
    todo()\n    }\n\n    fn close(self) {\n    }\n}\n\nfn free() {\n}\n";

#[test]
fn a_brief_names_the_function_around_the_last_edit() {
    let env = env();
    let path = env.project().join("store.rs");
    std::fs::write(&path, STORE).unwrap();
    let patch = json!([{"oldStart": 7, "oldLines": 4, "newStart": 7, "newLines": 4,
        "lines": [" impl Store {", "     pub fn open() -> Store {", "-        old()", "+        todo()", "     }"]}]);
    let input = json!({"file_path": path, "old_string": "old()", "new_string": "todo()"});
    tool(&env, "t1", "Edit", input, json!({"filePath": path, "structuredPatch": patch}));
    assert_eq!(env.sessions()[0]["language"], "rust");
    let told = "proj:hydra\ngit:on main; not committed: store.rs\nimpl:store.rs:8 open";
    assert_eq!(env.brief(), told);
    env.rebuild();
    assert_eq!(env.brief(), told);
    std::fs::remove_file(&path).unwrap();
    assert_eq!(env.brief(), "proj:hydra\nimpl:store.rs");
}

#[test]
fn an_edit_names_what_its_text_defines() {
    let env = env();
    env.write_file("s1", "t1", "gone.py", "class Capture:\n    def record(self):\n        pass\n");
    let notes = "The server is a\nfunction as a service.\nclass as such, too\n";
    env.write_file("s1", "t2", "notes.md", notes);
    assert_eq!(codes(&env.sessions()[0], "function"), ["impl:Capture", "impl:record"]);
}

const RED: &str = "running 2 tests\ntest store::tests::opens ... FAILED\ntest store::tests::closes ... ok\n\nfailures:\n\n\
    failures:\n    store::tests::opens\n\ntest result: FAILED. 1 passed; 1 failed; 0 ignored; 0 measured; 0 filtered out; \
    finished in 0.00s\n\nerror: test failed, to rerun pass `--lib`\n";
const GREEN: &str = "running 2 tests\ntest store::tests::opens ... ok\ntest store::tests::closes ... ok\n\n\
    test result: ok. 2 passed; 0 failed; 0 ignored; 0 measured; 0 filtered out; finished in 0.00s\n";

#[test]
fn a_failing_test_is_a_blocker_until_it_passes() {
    let env = env();
    bash_fails(&env, "t1", "cargo test", RED);
    assert_eq!(env.brief(), "proj:hydra\nblock:test:store::tests::opens");
    let tests = env.sessions()[0]["tests"].clone();
    assert_eq!(tests["failing"], json!(["store::tests::opens"]));
    assert_eq!(tests["passing"], json!(["store::tests::closes"]));
    bash(&env, "t2", "cd . && cargo test 2>&1 | tail -20", GREEN);
    assert_eq!(env.brief(), "");
    let tests = env.sessions()[0]["tests"].clone();
    assert_eq!((&tests["failing"], &tests["fixed"]), (&json!([]), &json!(["store::tests::opens"])));
    bash_fails(&env, "t3", "cargo test", RED);
    assert_eq!(env.sessions()[0]["tests"]["regressed"], json!(["store::tests::opens"]));
    // The next session inherits it, and settles it.
    let extra = json!({"tool_name": "Bash", "tool_use_id": "t9", "tool_input": {"command": "cargo test"},
        "tool_response": {"stdout": GREEN, "stderr": ""}});
    assert_eq!(env.start("s2", "startup"), "proj:hydra\nblock:test:store::tests::opens");
    env.hook("s2", "PostToolUse", extra);
    assert_eq!(env.brief(), "");
}

#[test]
fn words_about_tests_are_no_tests_and_an_empty_run_is_no_pass() {
    let env = env();
    bash(&env, "t1", "echo test", "test");
    bash(&env, "t2", "cat test.log", RED);
    bash(
        &env,
        "t3",
        "cargo test nothing",
        "running 0 tests\n\ntest result: ok. 0 passed; 0 failed; 0 ignored; 0 measured; 2 filtered out; finished in 0.00s\n",
    );
    let session = env.sessions()[0].clone();
    assert_eq!(session["tests"], json!({"passing": [], "failing": [], "fixed": [], "regressed": []}));
    assert_eq!(codes(&session, "test"), [""; 0]);
    assert_eq!(env.brief(), "");
}

#[test]
fn a_broken_build_blocks_until_it_builds() {
    let env = env();
    let output = "   Compiling hydra v0.1.0\nerror[E0308]: mismatched types\n --> src/main.rs:12:5\n  |\n\nerror: could not compile `hydra` (bin \"hydra\") due to 1 previous error\n";
    bash_fails(&env, "t1", "cargo build", output);
    let brief = env.brief();
    assert!(brief.starts_with("proj:hydra\nblock:build:") && brief.contains("mismatched types"), "{brief}");
    bash(&env, "t2", "cargo build", "    Finished `dev` profile [unoptimized + debuginfo] target(s) in 0.50s\n");
    assert_eq!(env.brief(), "");
}

#[test]
fn answers_plans_and_commits_are_kept() {
    let env = env();
    let questions =
        json!({"questions": [{"question": "Which database?", "header": "Store", "options": [{"label": "SQLite"}]}]});
    tool(
        &env,
        "t1",
        "AskUserQuestion",
        questions.clone(),
        json!({"questions": [], "answers": {"Which database?": "SQLite"}}),
    );
    let plan = "# Plan\n\n1. Write the schema\n2. Fold the journal\n";
    tool(&env, "t2", "ExitPlanMode", json!({"plan": plan}), json!({"plan": plan}));
    bash(
        &env,
        "t3",
        "git add -A && git commit -m 'store: open it once'",
        "[main 1a2b3c4] store: open it once\n 1 file changed, 2 insertions(+)\n",
    );
    let expected = "proj:hydra\ngit:on main; committed: 1a2b3c4 store: open it once\nnext:Write the schema\n\
        next:Fold the journal\ndec:Which database? → SQLite";
    assert_eq!(env.brief(), expected);
    assert_eq!(codes(&env.sessions()[0], "commit"), ["commit:1a2b3c4 store: open it once"]);
}

#[test]
fn the_session_follows_its_branch() {
    let env = env();
    env.start("s1", "startup");
    assert_eq!(env.sessions()[0]["branch"], "main");
    env.git(&env.project(), &["checkout", "--quiet", "-b", "side"]);
    bash(&env, "t1", "git checkout -b side", "");
    assert_eq!(env.sessions()[0]["branch"], "side");
}

#[test]
fn the_users_words_count_where_they_really_say_so() {
    let env = env();
    let say = |n: u32, prompt: &str| env.hook("s1", "UserPromptSubmit", json!({"prompt": prompt, "prompt_id": n}));
    say(1, "I need you to look at the issue with the tests, it is unclear to me. Can you explain?");
    say(2, "why did we decide to use tabs?");
    assert!(!env.brief().contains("dec:") && !env.brief().contains("next:") && !env.brief().contains("block:"));
    say(3, "Let's use SQLite instead of Postgres.");
    let brief = env.brief();
    assert!(brief.contains("dec:") && brief.contains("SQLite"), "{brief}");
    let fact = env.sessions()[0]["facts"][0].clone();
    assert_eq!(fact["text"], "Let's use SQLite instead of Postgres.", "as it was typed");
}
