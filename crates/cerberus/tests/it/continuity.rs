//! The right things are carried over, and they are true: ranked files, renames, branches, interruptions, prompts.

use cerberus_testkit::env::{TestEnv, without_first_line};
use cerberus_testkit::process::write_program;
use cerberus_testkit::processes;
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
    assert_eq!(
        env.brief(),
        "proj:hydra\ngit:on main; not committed: src/mine.rs\nimpl:src/mine.rs\nsee:src/others.rs\nsee:src/quiet.rs"
    );
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
    env.git(&env.project(), &["mv", "new.rs", "newer.rs"]);
    commit(&env, "moved again");
    assert!(env.brief().contains("impl:newer.rs"), "{}", env.brief());
    std::fs::remove_file(env.project().join("stays.rs")).unwrap();
    assert!(!env.brief().contains("impl:stays.rs"));
}

#[test]
fn a_file_that_git_no_longer_tracks_or_left_out_of_the_checkout_is_still_there() {
    let env = env();
    for path in ["untracked.rs", "far/sparse.rs"] {
        write(&env, "s1", path);
    }
    commit(&env, "all");
    env.git(&env.project(), &["rm", "--quiet", "--cached", "untracked.rs"]);
    env.git(&env.project(), &["commit", "--quiet", "-m", "not tracked"]);
    env.git(&env.project(), &["sparse-checkout", "set", "near"]);
    assert!(!env.project().join("far/sparse.rs").exists());
    let told = env.brief();
    assert!(told.contains("impl:untracked.rs") && told.contains("impl:far/sparse.rs"), "{told}");
}

#[test]
fn files_of_a_session_that_has_none_here_are_not_gone() {
    let env = env();
    write(&env, "s1", "here.rs");
    write(&env, "s2", "elsewhere.rs");
    commit(&env, "all");
    env.git(&env.project(), &["rm", "--quiet", "elsewhere.rs"]);
    commit(&env, "not here");
    let told = env.brief();
    assert!(told.contains("impl:here.rs") && told.contains("impl:elsewhere.rs"), "it worked somewhere else: {told}");
    write(&env, "s2", "also_here.rs");
    assert!(!env.brief().contains("elsewhere.rs"), "{}", env.brief());
}

#[test]
fn only_files_that_sessions_edited_are_said_to_be_changed() {
    let mut env = env();
    env.set_now(Some("2026-01-22T12:30:00Z"));
    for path in ["edited.rs", "read.rs"] {
        std::fs::write(env.project().join(path), "x\n").unwrap();
    }
    write(&env, "s1", "edited.rs");
    let read = json!({"tool_name": "Read", "tool_use_id": "r", "tool_input": {"file_path": env.project().join("read.rs")},
        "tool_response": {}});
    env.hook("s1", "PostToolUse", read);
    commit(&env, "all");
    env.set_now(Some("2026-01-22T14:00:00Z"));
    for path in ["edited.rs", "read.rs"] {
        std::fs::write(env.project().join(path), "by hand, not committed\n").unwrap();
    }
    assert_eq!(lines(&env, "git:"), ["git:on main; not committed: edited.rs"]);
}

#[test]
fn a_file_that_became_private_is_not_said_to_be_changed_or_left() {
    let mut env = env();
    env.set_now(Some("2026-01-22T12:30:00Z"));
    for path in ["a.rs", "old.ledger"] {
        write(&env, "s1", path);
    }
    commit(&env, "all");
    env.set_now(Some("2026-01-22T14:00:00Z"));
    std::fs::write(env.project().join("old.ledger"), "by hand, not committed\n").unwrap();
    for path in ["b.rs", "new.ledger"] {
        write(&env, "s2", path);
    }
    let told = lines(&env, "git:");
    assert!(told[0].contains("old.ledger") && told[0].contains("new.ledger"), "{told:?}");
    std::fs::write(env.home().join("config.toml"), "[private]\npaths = ['*.ledger']\n").unwrap();
    assert_eq!(lines(&env, "git:"), ["git:on main; not committed: b.rs"]);
}

#[test]
fn without_git_or_with_a_broken_one_files_are_still_told() {
    let env = env();
    env.write_file("s1", "toolu_1", "src/a.rs", "x\n");
    for path in ["/nowhere", "/usr/bin:/bin"] {
        let brief = env.command().env("PATH", path).args(["brief"]).output().unwrap();
        assert_eq!(without_first_line(&String::from_utf8_lossy(&brief.stdout)), "proj:hydra\nimpl:src/a.rs\n");
    }
}

/// A `git` of our own, first on the path.
fn with_git(env: &TestEnv, script: &str) -> String {
    let folder = env.project().join("../fake");
    write_program(&folder.join("git"), &format!("#!/bin/sh\n{script}\n"));
    format!("{}:/usr/bin:/bin", folder.display())
}

#[test]
fn a_git_that_hangs_is_waited_for_no_longer_than_the_limit_and_ended() {
    let env = env();
    write(&env, "s1", "src/a.rs");
    let pid_file = env.project().join("../pid");
    let path = with_git(&env, &format!("echo $$ > '{}'; exec sleep 3600", pid_file.display()));
    let brief = env.command().env("PATH", path).args(["brief"]).output().unwrap();
    assert_eq!(without_first_line(&String::from_utf8_lossy(&brief.stdout)), "proj:hydra\nimpl:src/a.rs\n");
    let pid = std::fs::read_to_string(pid_file).unwrap();
    let pid: u32 = pid.trim().parse().unwrap();
    assert!(!processes::all().iter().any(|found| found.pid == pid), "it was left behind");
}

#[test]
fn git_is_asked_when_a_session_ends_so_that_the_next_start_need_not() {
    let env = env();
    std::fs::write(env.project().join("others.rs"), "x").unwrap();
    commit(&env, "by somebody else");
    write(&env, "s1", "mine.rs");
    env.hook("s1", "SessionEnd", json!({"reason": "exit"}));
    let path = with_git(&env, "exit 1");
    let brief = env.command().env("PATH", path).args(["brief"]).output().unwrap();
    assert_eq!(
        without_first_line(&String::from_utf8_lossy(&brief.stdout)),
        "proj:hydra\ngit:on main; not committed: mine.rs\nimpl:mine.rs\nsee:others.rs\n"
    );
}

#[test]
fn what_differs_from_git_is_told_before_what_was_committed() {
    let mut env = env();
    env.set_now(Some("2026-01-22T12:30:00Z"));
    for path in ["a.rs", "b.rs", "c.rs"] {
        write(&env, "s1", path);
    }
    commit(&env, "all");
    env.set_now(Some("2026-01-22T14:00:00Z"));
    assert_eq!(env.brief(), "proj:hydra\nimpl:a.rs\nimpl:b.rs\nimpl:c.rs");
    std::fs::write(env.project().join("c.rs"), "by hand, not committed\n").unwrap();
    assert_eq!(env.brief(), "proj:hydra\ngit:on main; not committed: c.rs\nimpl:c.rs\nimpl:a.rs\nimpl:b.rs");
    let explained = env.ok(&["brief", "--explain"]);
    assert!(explained.contains("edited in 1 session, last 1 h ago, changed on disk since;"), "{explained}");
}

#[test]
fn what_the_last_session_did_not_commit_is_told_unless_git_ignores_it() {
    let mut env = env();
    env.set_now(Some("2026-01-22T12:30:00Z"));
    write(&env, "s1", "a.rs");
    write(&env, "s1", ".gitignore");
    std::fs::write(env.project().join(".gitignore"), "*.log\n").unwrap();
    commit(&env, "all");
    env.set_now(Some("2026-01-22T14:00:00Z"));
    assert!(!env.brief().contains("git:"), "all is committed");
    for path in ["new.rs", "out.log"] {
        write(&env, "s2", path);
    }
    let line = |env: &TestEnv| env.brief().lines().find(|line| line.starts_with("git:")).map(str::to_string);
    assert_eq!(line(&env).unwrap(), "git:on main; not committed: new.rs");
    std::fs::remove_file(env.project().join("new.rs")).unwrap();
    assert_eq!(line(&env), None, "it is gone");
}

#[test]
fn a_later_prompt_is_answered_only_when_the_topic_clearly_changes() {
    let env = env();
    for n in 0..25 {
        write(&env, "s1", &format!("src/busy_{n}.rs"));
    }
    for path in ["web/checkout_form.ts", "web/login.ts"] {
        std::fs::create_dir_all(env.project().join("web")).unwrap();
        std::fs::write(env.project().join(path), "x").unwrap();
    }
    commit(&env, "all");
    env.start("s2", "startup");
    prompt(&env, "s2", "Tidy up src/busy_1.rs, its names mislead");
    assert_eq!(prompt(&env, "s2", "the names in src/busy_1.rs still mislead, like a form"), "");
    assert_eq!(prompt(&env, "s2", "and now?"), "");
    let changed = "Something else: customers complain that the checkout form loses their address";
    assert_eq!(prompt(&env, "s2", changed), "see:web/checkout_form.ts");
    assert_eq!(prompt(&env, "s2", "the checkout form also forgets the postal code"), "", "it was told");
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
    assert!(env.brief().contains("\ndec:use the new parser\n") || env.brief().ends_with("dec:use the new parser"));
    env.git(&env.project(), &["checkout", "--quiet", "main"]);
    assert!(env.brief().contains("dec:use the new parser@side/try"), "{}", env.brief());
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
    assert_eq!(prompt(&env, "s2", "have a look at docs/pagination.md, please"), "see:docs/pagination.md");
    assert_eq!(prompt(&env, "s2", "and docs/pagination.md once more"), "", "what was told is not told again");
    let first = told.lines().find_map(|line| line.strip_prefix("impl:")).unwrap();
    assert_eq!(prompt(&env, "s2", &format!("what does {first} do?")), "", "it was told at the start");
}

#[test]
fn a_prompt_tells_a_file_of_a_recent_session_as_edited_unless_it_is_gone() {
    let env = env();
    for n in 0..25 {
        write(&env, "s1", &format!("src/busy_{n}.rs"));
    }
    for path in ["src/pagination.rs", "src/outdated.rs"] {
        write(&env, "s1", path);
    }
    commit(&env, "all");
    env.git(&env.project(), &["rm", "--quiet", "src/outdated.rs"]);
    commit(&env, "one less");
    let told = env.start("s2", "startup");
    assert!(!told.contains("pagination"), "others come first: {told}");
    assert_eq!(prompt(&env, "s2", "have a look at src/pagination.rs, please"), "impl:src/pagination.rs");
    env.start("s3", "startup");
    assert_eq!(prompt(&env, "s3", "have a look at src/outdated.rs, please"), "");
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

/// The lines of a brief with this prefix.
fn lines(env: &TestEnv, prefix: &str) -> Vec<String> {
    env.brief().lines().filter(|line| line.starts_with(prefix)).map(str::to_string).collect()
}

fn turn(env: &TestEnv, session: &str, request: &str, reply: &str) {
    env.hook(session, "UserPromptSubmit", json!({"prompt": request, "prompt_id": request}));
    env.hook(session, "Stop", json!({"last_assistant_message": reply, "prompt_id": request}));
}

#[test]
fn what_was_asked_and_what_came_of_it_comes_first() {
    let env = env();
    env.start("s1", "startup");
    write(&env, "s1", "limiter.rs");
    turn(&env, "s1", "Add a limiter", "The limiter is in limiter.rs. The burst test is still red on CI.");
    env.hook("s1", "SessionEnd", json!({"reason": "other"}));
    let expected = "proj:hydra\nlast:Add a limiter\nsaid:The limiter is in limiter.rs. The burst test is still red on CI.\n\
        git:on main; not committed: limiter.rs\nimpl:limiter.rs";
    assert_eq!(env.start("s2", "startup"), expected);
    assert_eq!(env.brief(), expected);
    // The session that continues knows its own words, but not what git says now.
    assert_eq!(env.start("s1", "resume"), "proj:hydra\ngit:on main; not committed: limiter.rs");
}

#[test]
fn after_a_pause_a_few_lines_say_where_it_stopped() {
    let mut env = env();
    write(&env, "s1", "limiter.rs");
    turn(&env, "s1", "Add a limiter", "The limiter is in limiter.rs.");
    env.ok(&["record", "next", "write the docs"]);
    env.set_now(Some("2026-01-29T13:35:14Z"));
    assert_eq!(lines(&env, "next:"), ["next:write the docs"], "within seven days everything carries over");
    env.set_now(Some("2026-02-10T13:35:14Z"));
    let reminder = "proj:hydra\nlast:Add a limiter (19d ago)\nsaid:The limiter is in limiter.rs.\n\
        git:on main; not committed: limiter.rs\nsee:limiter.rs";
    assert_eq!(env.brief(), reminder);
    assert_eq!(env.start("s2", "startup"), reminder);
    std::fs::write(env.home().join("config.toml"), "[brief]\nreminder = false\n").unwrap();
    assert_eq!(env.brief(), "");
}

#[test]
fn a_completed_session_leaves_no_reminder() {
    let mut env = env();
    turn(&env, "old", "An old request", "An old answer that was given.");
    env.set_now(Some("2026-02-10T13:35:14Z"));
    write(&env, "s1", "limiter.rs");
    turn(&env, "s1", "Add a limiter", "The limiter is in limiter.rs.");
    env.hook("s1", "SessionEnd", json!({"reason": "other"}));
    let id = env.sessions()[0]["id"].as_str().unwrap().to_string();
    env.ok(&["session", "complete", &id]);
    assert_eq!(env.brief(), "", "this week's work is complete, and what was before it is not where it stopped");
}

#[test]
fn git_says_what_is_not_pushed() {
    let mut env = env();
    env.set_now(Some("2026-01-22T12:30:00Z"));
    let remote = env.root().join("remote.git");
    env.git(&env.root(), &["init", "--quiet", "--bare", remote.to_str().unwrap()]);
    env.git(&env.project(), &["remote", "add", "origin", remote.to_str().unwrap()]);
    write(&env, "s1", "a.rs");
    commit(&env, "first");
    assert_eq!(lines(&env, "git:"), [""; 0], "nothing was ever pushed anywhere");
    env.git(&env.project(), &["push", "--quiet", "origin", "main"]);
    assert_eq!(lines(&env, "git:"), [""; 0], "all is pushed");
    write(&env, "s1", "b.rs");
    commit(&env, "second");
    env.set_now(Some("2026-01-22T14:00:00Z"));
    assert_eq!(lines(&env, "git:"), ["git:on main; 1 commit not pushed"]);
    env.git(&env.project(), &["checkout", "--quiet", "-b", "side"]);
    assert_eq!(lines(&env, "git:"), ["git:on side; branch not pushed"]);
}

#[test]
fn git_is_asked_again_when_there_is_something_else_to_ask() {
    let mut env = env();
    env.set_now(Some("2026-01-22T12:30:00Z"));
    let remote = env.root().join("remote.git");
    env.git(&env.root(), &["init", "--quiet", "--bare", remote.to_str().unwrap()]);
    env.git(&env.project(), &["remote", "add", "origin", remote.to_str().unwrap()]);
    std::fs::write(env.project().join(".gitignore"), "*.log\n").unwrap();
    commit(&env, "first");
    env.git(&env.project(), &["push", "--quiet", "origin", "main"]);
    for (number, expected) in [(1, "git:on main; 1 commit not pushed"), (2, "git:on main; 2 commits not pushed")] {
        env.set_now(Some("2026-01-22T12:30:00Z"));
        write(&env, "s1", &format!("{number}.rs"));
        commit(&env, "another");
        env.set_now(Some("2026-01-22T14:00:00Z"));
        write(&env, "s1", &format!("{number}.log"));
        let told = env.start(&format!("new{number}"), "startup");
        assert!(told.lines().any(|line| line == expected), "{told}");
    }
}

#[test]
fn what_later_sessions_passed_over_is_not_told_on_a_prompt_either() {
    let mut env = env();
    env.hook("s1", "UserPromptSubmit", json!({"prompt": "later document the burst limiter", "prompt_id": "1"}));
    env.ok(&["quote", "--kind", "next", "later document the burst limiter"]);
    write(&env, "s1", "a.rs");
    let told = |env: &TestEnv, session: &str| prompt(env, session, "please document the burst limiter now");
    assert!(told(&env, "new").contains("next:"), "it is open");
    env.set_now(Some("2026-01-22T15:00:00Z"));
    write(&env, "s2", "b.rs");
    env.set_now(Some("2026-01-22T16:00:00Z"));
    assert_eq!(told(&env, "other").lines().filter(|line| line.starts_with("next:")).count(), 0);
}

#[test]
fn stats_compare_what_was_told_with_what_was_touched() {
    let env = env();
    assert!(env.ok(&["stats"]).contains("no session was told anything yet"));
    for path in ["a.rs", "b.rs"] {
        write(&env, "s1", path);
    }
    env.start("s2", "startup");
    write(&env, "s2", "b.rs");
    write(&env, "s2", "c.rs");
    let told = env.json(&["stats"])["told"].clone();
    let files = json!({"sessions": 1, "told": 2, "touched": 2, "told_and_touched": 1, "touched_and_told": 1});
    assert_eq!((&told["sessions"], &told["files"]), (&json!(1), &files), "{told}");
    let line = "2 files told to 1 session, 1 of them touched (50 %); of 2 files touched, 1 had been told (50 %)";
    assert_eq!(env.ok(&["stats"]).matches(line).count(), 2, "here and in all projects");
    let explained = env.ok(&["brief", "--explain"]);
    assert!(explained.contains(line) && explained.contains("told to 1 session, 0 of them touched it"), "{explained}");
    env.rebuild();
    assert_eq!(env.json(&["stats"])["told"], told);
}
