//! The right things are carried over, and they are true: ranked files, renames, branches, interruptions, prompts.

use cerberus_testkit::env::TestEnv;
use serde_json::{Value, json};

use crate::env;

/// The agent writes a file that is really there afterwards.
fn write(env: &TestEnv, session: &str, path: &str) {
    let on_disk = env.project().join(path);
    std::fs::create_dir_all(on_disk.parent().unwrap()).unwrap();
    std::fs::write(&on_disk, format!("{path}\n").repeat(9)).unwrap();
    env.write_file(session, &format!("toolu_{session}_{path}"), path, "x\n");
}

fn commit(env: &TestEnv, message: &str) {
    env.git(&env.project(), &["add", "--all"]);
    let dated = format!("--date={}", "2026-01-22T13:00:00Z");
    let committer = ["-c", "user.name=Test", "-c", "user.email=test@localhost"];
    let mut git = env.command_for("git");
    git.env("GIT_COMMITTER_DATE", "2026-01-22T13:00:00Z")
        .args(committer)
        .args(["commit", "--quiet", &dated, "-m", message]);
    assert!(git.status().unwrap().success());
}

/// What the session is told beside a prompt.
fn prompt(env: &TestEnv, session: &str, text: &str) -> String {
    let reply = env.hook(session, "UserPromptSubmit", json!({"prompt": text}));
    if reply.is_empty() {
        return reply;
    }
    let reply: Value = serde_json::from_str(&reply).unwrap();
    reply["hookSpecificOutput"]["additionalContext"].as_str().unwrap().to_string()
}

#[test]
fn git_completes_what_sessions_left() {
    let mut env = env();
    for path in ["src/others.rs", "src/quiet.rs"] {
        std::fs::create_dir_all(env.project().join("src")).unwrap();
        std::fs::write(env.project().join(path), path).unwrap();
    }
    commit(&env, "by somebody else");
    assert_eq!(env.brief(), "", "git alone carries nothing over");
    write(&env, "s1", "src/mine.rs");
    assert_eq!(env.brief(), "proj:hydra\nimpl:mine.rs\nsee:others.rs\nsee:quiet.rs");
    env.set_now(Some("2026-01-22T12:59:59Z"));
    assert_eq!(env.brief(), "", "neither session nor commit had happened");
}

#[test]
fn a_renamed_file_is_told_by_its_new_name_and_a_deleted_one_not_at_all() {
    let env = env();
    for path in ["old.rs", "gone.rs", "stays.rs"] {
        write(&env, "s1", path);
    }
    commit(&env, "all");
    env.git(&env.project(), &["mv", "old.rs", "new.rs"]);
    env.git(&env.project(), &["rm", "--quiet", "gone.rs"]);
    commit(&env, "moved");
    let told = env.brief();
    assert!(told.contains("impl:new.rs") && told.contains("impl:stays.rs"), "{told}");
    assert!(!told.contains("old.rs") && !told.contains("gone.rs"), "{told}");
    std::fs::remove_file(env.project().join("stays.rs")).unwrap();
    assert!(!env.brief().contains("stays.rs"));
}

#[test]
fn without_git_or_with_a_broken_one_files_are_still_told() {
    let env = env();
    env.write_file("s1", "toolu_1", "src/a.rs", "x\n");
    for path in ["/nowhere", "/usr/bin:/bin"] {
        let brief = env.command().env("PATH", path).args(["brief"]).output().unwrap();
        assert_eq!(String::from_utf8_lossy(&brief.stdout), "proj:hydra\nimpl:a.rs\n");
    }
}

#[test]
fn a_decision_of_an_unmerged_branch_is_marked_until_it_is_merged() {
    let env = env();
    write(&env, "s1", "a.rs");
    commit(&env, "first");
    env.git(&env.project(), &["checkout", "--quiet", "-b", "side/try"]);
    env.start("s2", "startup");
    env.ok(&["record", "decision", "use the new parser"]);
    write(&env, "s2", "b.rs");
    commit(&env, "second");
    assert!(env.brief().contains("\ndec:use-the-new-parser\n") || env.brief().ends_with("dec:use-the-new-parser"));
    env.git(&env.project(), &["checkout", "--quiet", "main"]);
    assert!(env.brief().contains("dec:use-the-new-parser@side/try"), "{}", env.brief());
    env.git(&env.project(), &["merge", "--quiet", "side/try"]);
    assert!(!env.brief().contains("@side/try"), "{}", env.brief());
}

#[test]
fn a_prompt_brings_up_what_was_not_told_once() {
    let env = env();
    for n in 0..25 {
        write(&env, "s1", &format!("src/busy_{n}.rs"));
    }
    std::fs::create_dir_all(env.project().join("docs")).unwrap();
    std::fs::write(env.project().join("docs/pagination.md"), "x").unwrap();
    commit(&env, "all");
    let told = env.start("s2", "startup");
    assert!(!told.contains("pagination"), "nobody worked on it: {told}");
    assert_eq!(prompt(&env, "s2", "Hello, are you there?"), "");
    assert_eq!(prompt(&env, "s2", "have a look at docs/pagination.md, please"), "see:pagination.md");
    assert_eq!(prompt(&env, "s2", "and docs/pagination.md once more"), "", "what was told is not told again");
    let first = told.lines().nth(1).unwrap().strip_prefix("impl:").unwrap();
    assert_eq!(prompt(&env, "s2", &format!("what does {first} do?")), "", "it was told at the start");
}

#[test]
fn every_line_says_why_it_is_told() {
    let env = env();
    write(&env, "s1", "src/a.rs");
    commit(&env, "a");
    write(&env, "s2", "src/a.rs");
    let explained = env.ok(&["brief", "--explain", "--prompt", "fix a.rs"]);
    let reason = "named by the prompt; edited in 2 sessions, last now, not committed since; committed 35 min ago";
    assert!(explained.contains(reason), "{explained}");
}
