//! Loops in several worktrees of one repository run side by side, and each keeps its own history and checkpoints.

use std::path::PathBuf;
use std::process::Stdio;

use cerberus_testkit::fake_agent::Tongue;
use cerberus_testkit::process::wait_until;
use serde_json::Value;

use super::{LIMIT, Ran, Stage, prints};

fn beside(stage: &Stage, name: &str) -> PathBuf {
    let project = stage.env.project().canonicalize().unwrap();
    let folder = format!("{}-{name}", project.file_name().unwrap().to_str().unwrap());
    project.with_file_name(folder)
}

#[test]
fn a_loop_works_in_a_worktree_of_its_own_and_says_how_to_merge() {
    let shell = "pwd > where; git rev-parse --abbrev-ref HEAD > branch; git add where; \
                 git -c user.name=t -c user.email=t@localhost commit --quiet --message=step";
    let stage = Stage::new(Tongue::Plain, &[prints(shell)]);
    stage.write("TASK.md", "Build it in its own folder");
    let args = ["loop", "run", "--agent", "command", "--program", stage.agent.program(), "--prompt-file", "TASK.md"];
    let mut command = stage.env.command();
    command.args(args).args(["--worktree", "side", "--max-iterations", "1"]).stdin(Stdio::null());
    // A variable of a git hook would lead the agent back.
    command.env("GIT_DIR", stage.env.project().join(".git"));
    let ran = Ran(command.output().unwrap());
    ran.ended(3, "iterations").ended(3, "1 commit and 1 file not committed").ended(3, "merge side");
    let side = beside(&stage, "side");
    let read = |name: &str| std::fs::read_to_string(side.join(name)).unwrap().trim().to_string();
    assert_eq!((read("where"), read("branch")), (side.to_str().unwrap().to_string(), "side".to_string()));
    assert!(stage.agent.told(1).contains("Build it in its own folder"), "the task's file is of the folder above");
    assert!(!stage.env.project().join("where").exists());
    // The commands that it printed work as they are.
    let stderr = ran.stderr();
    let commands: Vec<&str> = stderr.lines().map(str::trim).filter(|line| line.starts_with("git -C")).collect();
    assert_eq!(commands.len(), 3, "{stderr}");
    let script =
        commands.join(" && ").replace(" commit &&", " -c user.name=t -c user.email=t@localhost commit -qm rest &&");
    let merged = std::process::Command::new("/bin/sh").args(["-c", &script]).output().unwrap();
    assert!(merged.status.success(), "{script}: {}", String::from_utf8_lossy(&merged.stderr));
    assert!(stage.env.project().join("where").exists() && stage.env.project().join("branch").exists());
    assert!(!side.exists());
}

#[test]
fn loops_in_two_worktrees_run_side_by_side() {
    let waits = "echo x > at-work; while ! test -f go-on; do sleep 0.05; done; pwd >> a";
    let stage = Stage::new(Tongue::Plain, &[prints(waits)]);
    let start = |options: &[&str]| {
        let mut command = stage.command(options);
        command.args(["--max-iterations", "1"]).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap()
    };
    let main = start(&[]);
    let side = start(&["--worktree", "side"]);
    let roots = [stage.env.project(), beside(&stage, "side")];
    for root in &roots {
        let file = root.join("at-work");
        wait_until("both to work", LIMIT, || file.exists().then_some(())).unwrap();
    }
    let again = stage.command(&["--worktree", "side"]).output().unwrap();
    assert_eq!(again.status.code(), Some(7), "one runner in each: {}", String::from_utf8_lossy(&again.stderr));
    let listed = stage.env.json(&["loop", "list"]);
    let running: Vec<&Value> = listed.as_array().unwrap().iter().filter(|run| run["running"] == true).collect();
    assert_eq!(running.len(), 2, "{listed:#}");
    let linked: Vec<&Value> = running.iter().filter(|run| run["is_worktree"] == true).copied().collect();
    assert_eq!(linked.len(), 1, "{listed:#}");
    assert_eq!((linked[0]["branch"].as_str(), linked[0]["root"].as_str()), (Some("side"), roots[1].to_str()));
    for root in &roots {
        std::fs::write(root.join("go-on"), "").unwrap();
    }
    for child in [main, side] {
        Ran(child.wait_with_output().unwrap()).ended(3, "iterations");
    }
    stage.nobody_is_left();
    // Each is restored from its own checkpoints, and has its own history.
    for root in &roots {
        let root = root.to_str().unwrap();
        assert_eq!(stage.env.json(&["--cwd", root, "loop", "history"]).as_array().unwrap().len(), 1, "{root}");
        std::fs::remove_file(PathBuf::from(root).join("a")).unwrap();
        stage.env.ok(&["--cwd", root, "loop", "restore", "1"]);
        let text = std::fs::read_to_string(PathBuf::from(root).join("a")).unwrap();
        assert_eq!(text.trim(), PathBuf::from(root).canonicalize().unwrap().to_str().unwrap());
    }
    let names = stage.env.git(&stage.env.project(), &["for-each-ref", "--format=%(refname)", "refs/cerberus"]);
    assert!(names.lines().any(|name| name.starts_with("refs/cerberus/loop-")), "{names}");
    // Forgetting the project takes those of all worktrees.
    stage.env.ok(&["forget", "--project", "--yes"]);
    assert_eq!(stage.env.git(&stage.env.project(), &["for-each-ref", "refs/cerberus"]), "");
    assert_eq!(stage.env.json(&["loop", "list"]), serde_json::json!([]));
}

#[test]
fn a_worktree_that_cannot_be_made_is_refused_with_the_reason() {
    let stage = Stage::new(Tongue::Plain, &[prints("true")]);
    std::fs::create_dir(beside(&stage, "taken")).unwrap();
    for (name, why) in [("taken", "is not a worktree"), ("-x", "branch"), ("a..b", "branch"), ("a b", "branch")] {
        let ran = Ran(stage.command(&[&format!("--worktree={name}")]).output().unwrap());
        ran.ended(1, why);
    }
    let master = stage.env.git(&stage.env.project(), &["branch", "--show-current"]);
    Ran(stage.command(&["--worktree", master.trim()]).output().unwrap()).ended(1, "git worktree add failed");
    assert_eq!(stage.agent.contexts(), 0);
}

#[test]
fn old_runs_can_be_removed() {
    let stage = Stage::new(Tongue::Plain, &[prints("date +%N >> a")]);
    for _ in 0..3 {
        stage.run(&["--max-iterations", "1"]).ended(3, "iterations");
    }
    let references = || stage.env.git(&stage.env.project(), &["for-each-ref", "refs/cerberus"]).lines().count();
    assert_eq!(references(), 6, "before the loop and after its iteration, three times");
    let planned = stage.env.json(&["loop", "prune", "--dry-run"]);
    assert_eq!((planned["checkpoints"].as_u64(), planned["outputs"].as_u64(), references()), (Some(4), Some(2), 6));
    let text = stage.env.ok(&["loop", "prune"]);
    assert!(text.contains("4 checkpoints and 2 output files removed"), "{text}");
    assert_eq!(references(), 2);
    stage.env.ok(&["loop", "restore", "1"]);
    stage.env.ok(&["loop", "prune", "--keep", "0"]);
    assert_eq!(references(), 0);
}

#[test]
fn what_is_not_saved_is_told() {
    let stage = Stage::new(Tongue::Plain, &[prints("truncate -s 60M data.bin")]);
    let modules = "[submodule \"x\"]\n\tpath = lib/x\n\turl = ../x\n";
    stage.write(".gitmodules", modules);
    let ran = stage.run(&["--max-iterations", "2"]);
    ran.ended(3, "files in submodules are not part of the checkpoints: lib/x");
    ran.ended(3, "not in the checkpoint, because too large or being written: data.bin");
    assert_eq!(ran.stderr().matches("too large").count(), 1, "told once");
    let mut stage = Stage::new(Tongue::Plain, &[prints("true")]);
    let plain = stage.env.root().join("plain");
    std::fs::create_dir(&plain).unwrap();
    stage.env.set_now(None);
    let cwd = plain.to_str().unwrap();
    let output = stage.command(&["--max-iterations", "1", "--cwd", cwd]).output().unwrap();
    Ran(output).ended(3, "not in a git repository: no checkpoints are saved");
}
