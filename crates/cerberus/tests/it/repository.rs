//! The `git:` line is what git says when a session starts, whatever happened to the files since they were edited.

use cerberus_testkit::env::TestEnv;
use serde_json::json;

use crate::env;

/// The agent writes a file, which is really there afterwards.
fn write(env: &TestEnv, session: &str, path: &str, text: &str) {
    let on_disk = env.project().join(path);
    std::fs::create_dir_all(on_disk.parent().unwrap()).unwrap();
    std::fs::write(&on_disk, text).unwrap();
    env.write_file(session, &format!("toolu_{session}_{path}"), path, "x\n");
}

/// One session committed a file. The next one changed it and made another.
fn at_work() -> TestEnv {
    let mut env = env();
    env.set_now(Some("2026-01-22T13:30:00Z"));
    write(&env, "s1", "src/a.rs", "one\n");
    std::fs::write(env.project().join(".gitignore"), "*.log\n").unwrap();
    git(&env, &["add", "--all"]);
    git(&env, &["commit", "--quiet", "-m", "first"]);
    env.set_now(Some("2026-01-22T13:40:00Z"));
    write(&env, "s2", "src/a.rs", "two\n");
    env.set_now(Some("2026-01-22T13:41:00Z"));
    write(&env, "s2", "new.rs", "x\n");
    env.set_now(Some("2026-01-22T13:50:00Z"));
    env
}

fn git(env: &TestEnv, args: &[&str]) -> String {
    env.git(&env.project(), args)
}

/// The line that a session is told at its start.
fn told(env: &TestEnv, session: &str) -> Option<String> {
    env.start(session, "startup").lines().find_map(|line| line.strip_prefix("git:")).map(str::to_string)
}

#[test]
fn what_is_not_committed_is_what_git_says_whatever_was_done_since() {
    const BOTH: Option<&str> = Some("on main; not committed: new.rs, src/a.rs");
    type Done = fn(&TestEnv);
    let cases: [(&str, Done, Option<&str>); 14] = [
        ("nothing", |_| {}, BOTH),
        ("staged", |env| _ = git(env, &["add", "--all"]), BOTH),
        ("stashed", |env| _ = git(env, &["stash", "--quiet", "--include-untracked"]), None),
        (
            "stashed and back",
            |env| {
                git(env, &["stash", "--quiet", "--include-untracked"]);
                git(env, &["stash", "pop", "--quiet"]);
            },
            BOTH,
        ),
        ("one put back by git", |env| _ = git(env, &["checkout", "src/a.rs"]), Some("on main; not committed: new.rs")),
        (
            "one put back by hand",
            |env| std::fs::write(env.project().join("src/a.rs"), "one\n").unwrap(),
            Some("on main; not committed: new.rs"),
        ),
        ("committed by hand", |env| commit(env), None),
        (
            "committed and reset",
            |env| {
                commit(env);
                git(env, &["reset", "--quiet", "--soft", "HEAD~1"]);
            },
            BOTH,
        ),
        (
            "committed and reset with the files",
            |env| {
                commit(env);
                git(env, &["reset", "--quiet", "--hard", "HEAD~1"]);
            },
            None,
        ),
        (
            "committed on another branch",
            |env| {
                git(env, &["checkout", "--quiet", "-b", "side"]);
                commit(env);
                git(env, &["checkout", "--quiet", "main"]);
            },
            None,
        ),
        (
            "taken to another branch",
            |env| _ = git(env, &["checkout", "--quiet", "-b", "side"]),
            Some("on side; not committed: new.rs, src/a.rs"),
        ),
        (
            "reverted by a commit",
            |env| {
                commit(env);
                git(env, &["revert", "--no-edit", "HEAD"]);
            },
            None,
        ),
        (
            "one removed",
            |env| std::fs::remove_file(env.project().join("src/a.rs")).unwrap(),
            Some("on main; not committed: new.rs, src/a.rs (removed)"),
        ),
        (
            "ignored",
            |env| std::fs::write(env.project().join(".gitignore"), "new.rs\n").unwrap(),
            Some("on main; not committed: src/a.rs"),
        ),
    ];
    for (name, done, expected) in cases {
        let env = at_work();
        assert_eq!(told(&env, "before").as_deref(), BOTH, "{name}");
        done(&env);
        assert_eq!(told(&env, "after").as_deref(), expected, "{name}");
    }
}

fn commit(env: &TestEnv) {
    git(env, &["add", "--all"]);
    git(env, &["commit", "--quiet", "-m", "second"]);
}

#[test]
fn a_commit_of_a_session_is_told_only_while_it_is_in_what_is_checked_out() {
    let env = at_work();
    commit(&env);
    let name = git(&env, &["rev-parse", "--short", "HEAD"]);
    let report = format!("[main {}] second\n 2 files changed\n", name.trim());
    let extra = json!({"tool_name": "Bash", "tool_use_id": "c", "tool_input": {"command": "git commit -am second"},
        "tool_response": {"stdout": report, "stderr": "", "interrupted": false}});
    env.hook("s2", "PostToolUse", extra);
    let expected = format!("on main; committed: {} second", name.trim());
    assert_eq!(told(&env, "s3"), Some(expected));
    git(&env, &["reset", "--quiet", "--hard", "HEAD~1"]);
    assert_eq!(told(&env, "s4"), None);
}

#[test]
fn a_file_of_another_worktree_is_not_said_to_be_here() {
    let env = at_work();
    commit(&env);
    let other = env.root().join("other");
    git(&env, &["worktree", "add", "--quiet", "-b", "side", other.to_str().unwrap()]);
    std::fs::write(other.join("side.rs"), "x\n").unwrap();
    std::fs::write(other.join("new.rs"), "changed there\n").unwrap();
    for path in ["side.rs", "new.rs"] {
        let input = json!({"file_path": other.join(path), "content": "x\n"});
        let extra = json!({"tool_name": "Write", "tool_use_id": path, "tool_input": input, "cwd": other,
            "tool_response": {"type": "create", "structuredPatch": []}});
        env.hook("s3", "PostToolUse", extra);
    }
    let expected = format!("side (the last session, in {})", other.display());
    assert_eq!(told(&env, "s4"), Some(expected), "nothing that differs here");
    assert!(!env.brief().contains("impl:side.rs"), "that path leads nowhere here: {}", env.brief());
    let there = env.command().current_dir(&other).arg("brief").output().unwrap();
    let there = String::from_utf8_lossy(&there.stdout).into_owned();
    assert!(there.contains("git:on side; not committed: new.rs, side.rs"), "{there}");
}

#[test]
fn without_a_branch_and_in_the_middle_of_a_merge_the_line_says_so() {
    let env = at_work();
    commit(&env);
    git(&env, &["checkout", "--quiet", "-b", "side", "HEAD~1"]);
    std::fs::write(env.project().join("src/a.rs"), "three\n").unwrap();
    git(&env, &["commit", "--quiet", "--all", "-m", "side"]);
    let author = ["-c", "user.name=Test", "-c", "user.email=test@localhost"];
    let merged = env.command_for("git").args(author).args(["merge", "--quiet", "main"]).output().unwrap();
    assert!(!merged.status.success(), "it conflicts");
    assert_eq!(told(&env, "s3").as_deref(), Some("on side; in the middle of a merge; not committed: new.rs, src/a.rs"));
    git(&env, &["merge", "--abort"]);
    git(&env, &["checkout", "--quiet", "--detach", "main"]);
    let commit = git(&env, &["rev-parse", "--short=7", "HEAD"]);
    assert_eq!(told(&env, "s4"), Some(format!("on no branch, at {}", commit.trim())));
    std::fs::write(env.project().join("src/a.rs"), "four\n").unwrap();
    assert_eq!(told(&env, "s5"), Some(format!("on no branch, at {}; not committed: src/a.rs", commit.trim())));
}

#[test]
fn a_branch_is_compared_with_the_one_it_belongs_to() {
    let env = at_work();
    commit(&env);
    for remote in ["origin", "fork"] {
        let path = env.root().join(format!("{remote}.git"));
        env.git(&env.root(), &["init", "--quiet", "--bare", path.to_str().unwrap()]);
        git(&env, &["remote", "add", remote, path.to_str().unwrap()]);
    }
    git(&env, &["push", "--quiet", "origin", "main"]);
    git(&env, &["checkout", "--quiet", "-b", "side"]);
    assert_eq!(told(&env, "s3").as_deref(), Some("on side; branch not pushed"));
    git(&env, &["push", "--quiet", "fork", "side"]);
    assert_eq!(told(&env, "s4"), None, "it is in the fork");
    git(&env, &["push", "--quiet", "--set-upstream", "fork", "side:other-name"]);
    git(&env, &["commit", "--quiet", "--allow-empty", "-m", "third"]);
    assert_eq!(told(&env, "s5").as_deref(), Some("on side; 1 commit not pushed"));
    git(&env, &["push", "--quiet", "fork", "side:other-name"]);
    assert_eq!(told(&env, "s6"), None, "pushing changes no file");
    git(&env, &["update-ref", "-d", "refs/remotes/fork/other-name"]);
    assert_eq!(told(&env, "s7"), None, "it was merged there and removed");
}

#[test]
fn without_an_answer_of_git_nothing_is_said() {
    let env = at_work();
    let line = |program: &str| {
        let folder = env.root().join("fake");
        cerberus_testkit::process::write_program(&folder.join("git"), &format!("#!/bin/sh\n{program}\n"));
        let path = format!("{}:/usr/bin:/bin", folder.display());
        let brief = env.command().env("PATH", path).arg("brief").output().unwrap();
        String::from_utf8_lossy(&brief.stdout).lines().find(|line| line.starts_with("git:")).map(str::to_string)
    };
    for program in ["exit 1", "exec sleep 3600"] {
        assert_eq!(line(program), None, "{program}");
    }
    assert_eq!(told(&env, "s3").as_deref(), Some("on main; not committed: new.rs, src/a.rs"));
    assert_eq!(
        line("exit 1").as_deref(),
        Some("git:on main; not committed: new.rs, src/a.rs"),
        "nothing changed since"
    );
    std::fs::write(env.project().join("new.rs"), "longer\n").unwrap();
    assert_eq!(line("exit 1"), None, "something did");
}

/// The agent runs a command that prints this.
fn run(env: &TestEnv, session: &str, command: &str, printed: &str) {
    let extra = json!({"tool_name": "Bash", "tool_use_id": format!("toolu_{session}_{command}"),
        "tool_input": {"command": command}, "tool_response": {"stdout": printed, "stderr": ""}});
    env.hook(session, "PostToolUse", extra);
}

#[test]
fn what_tools_said_of_a_branch_outlives_sessions_and_weeks_until_it_is_over() {
    let mut env = env();
    env.set_now(Some("2026-01-10T10:00:00Z"));
    git(&env, &["commit", "--quiet", "--allow-empty", "-m", "nothing"]);
    git(&env, &["checkout", "--quiet", "-b", "fix/x"]);
    write(&env, "s0", "a.rs", "one\n");
    git(&env, &["add", "--all"]);
    git(&env, &["commit", "--quiet", "-m", "one"]);
    run(&env, "s0", "git push -u origin fix/x", " * [new branch]      fix/x -> fix/x\n");
    run(&env, "s0", "gh pr create --fill", "https://github.com/o/r/pull/12\n");
    run(&env, "s0", "fly deploy", "deployed\n");
    env.hook("s0", "SessionEnd", json!({"reason": "other"}));
    git(&env, &["checkout", "--quiet", "main"]);
    for day in 18..=22 {
        env.set_now(Some(&format!("2026-01-{day}T10:00:00Z")));
        write(&env, &format!("s{day}"), "b.rs", "two\n");
        env.hook(&format!("s{day}"), "SessionEnd", json!({"reason": "other"}));
    }
    let lines = |env: &TestEnv, session: &str| {
        let told = env.start(session, "startup");
        told.lines().filter(|line| line.starts_with("git:")).map(str::to_string).collect::<Vec<_>>()
    };
    assert_eq!(
        lines(&env, "s30"),
        [
            "git:on main; not committed: b.rs",
            "git:fix/x (12d ago): PR #12 open (12d ago), pushed; ran fly deploy (12d ago)"
        ]
    );
    run(&env, "s30", "gh pr merge 12 --squash", "✓ Squashed and merged pull request #12 (one)\n");
    // The commit is on no other branch, so git still has the branch as unmerged.
    git(&env, &["branch", "--quiet", "-D", "fix/x"]);
    assert_eq!(lines(&env, "s31"), ["git:on main; not committed: b.rs", "git:ran fly deploy (12d ago)"]);
}
