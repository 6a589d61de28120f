//! When a loop stops: each reason is said, and has the exit code of its class.

use cerberus_testkit::fake_agent::{Act, Tongue};

use super::{Stage, begins, prints, with, works};

#[test]
fn the_check_decides_and_one_that_tests_nothing_does_not_count() {
    let stage = Stage::new(Tongue::Plain, &[prints("echo x > one"), prints("echo x > two"), prints("true")]);
    stage.run(&["--until", "test -f two"]).ended(0, "complete: the check passed");
    assert_eq!(stage.history().len(), 2);
    let empty = "echo 'running 0 tests'; echo 'test result: ok. 0 passed; 0 failed; 0 ignored; 0 measured'";
    let stage = Stage::new(Tongue::Plain, &[prints("date +%N >> n")]);
    let ran = stage.run(&["--until", empty, "--max-iterations", "2"]);
    ran.ended(3, "the check succeeded but ran no tests");
    // What passes on the last iteration is complete, not a limit.
    let stage = Stage::new(Tongue::Plain, &[prints("echo x > one")]);
    stage.run(&["--until", "test -f one", "--max-iterations", "1"]).ended(0, "the check passed");
}

#[test]
fn a_phrase_is_a_claim_that_the_check_confirms() {
    let claims = |shell| vec![Act::Say("working", 0), Act::Shell(shell), Act::Say("ALL DONE", 0)];
    let stage = Stage::new(Tongue::Plain, &[prints("echo x > ok"), claims("rm ok"), claims("echo x > ok")]);
    stage.run(&["--completion-phrase", "ALL DONE", "--until", "test -f ok"]).ended(0, "the check passed");
    assert_eq!(stage.history().len(), 3, "nobody claimed it in the first, nothing confirmed the second");
    assert!(stage.agent.told(1).contains("a line that contains only this: ALL DONE"));
    // Without a check, a second context must find nothing left to change.
    let stage = Stage::new(Tongue::Plain, &[claims("echo x > a"), claims("echo y > b"), claims("true")]);
    stage.run(&["--completion-phrase", "ALL DONE"]).ended(0, "two contexts in a row");
    assert_eq!(stage.history().len(), 3);
    let stage = Stage::new(Tongue::Plain, &[claims("echo x > a")]);
    let ran = stage.run(&["--completion-phrase", "ALL DONE", "--max-iterations", "1"]);
    ran.ended(3, "but nothing confirmed it");
}

#[test]
fn no_progress_is_told_from_commits_files_and_finished_tasks() {
    let stage = Stage::new(Tongue::Plain, &[prints("true")]);
    stage.run(&["--no-progress", "2"]).ended(4, "no new state of the files and no finished task in 2 iterations");
    let record = concat!(env!("CARGO_BIN_EXE_cerberus"), " record done step-$n");
    let commit = "date +%N > n; git add n; git -c user.name=t -c user.email=t@localhost commit --quiet --message=step";
    for made in [record, commit, "date +%N >> file"] {
        let stage = Stage::new(Tongue::Plain, &[prints(made)]);
        stage.run(&["--no-progress", "2", "--max-iterations", "3"]).ended(3, "iterations");
    }
}

#[test]
fn budgets_hold_in_the_middle_of_a_context() {
    let hungry = with(&[&begins(), &[Act::Say("more", 40_000), Act::Say("and more", 60_000), Act::Hang]]);
    let stage = Stage::new(Tongue::ClaudeCode, &[hungry]);
    stage.run(&["--max-tokens", "90000"]).ended(3, "the limit of tokens is reached");
    let stage = Stage::new(Tongue::ClaudeCode, &[works("date +%N >> a")]);
    stage.run(&["--max-cost-usd", "0.5"]).ended(3, "the limit of cost is reached");
    assert_eq!(stage.history().len(), 2);
    let stage = Stage::new(Tongue::ClaudeCode, &[with(&[&begins(), &[Act::Hang]])]);
    stage.run(&["--max-duration", "1s"]).ended(3, "the limit of duration is reached");
}

#[test]
fn failures_in_a_row_stop_it_sooner_when_they_are_the_same() {
    let crash = |words| vec![Act::Say("working", 0), Act::Complain(words), Act::Exit(3)];
    let stage = Stage::new(Tongue::Plain, &[crash("boom")]);
    stage.run(&["--same-failure", "2"]).ended(1, "occurred 2 times: exit 3: boom");
    let stage = Stage::new(Tongue::Plain, &[crash("a"), crash("b"), crash("c")]);
    stage.run(&["--max-failures", "3"]).ended(1, "3 failures in a row, the last one: exit 3: c");
}

#[test]
fn a_stop_file_ends_it_after_the_iteration() {
    let stage = Stage::new(Tongue::Plain, &[prints("echo x > STOP; sleep 0.5; echo y > after")]);
    stage.run(&["--stop-file", "STOP"]).ended(6, "the stop file exists");
    assert!(stage.env.project().join("after").exists(), "the iteration was finished");
    assert_eq!(stage.history().len(), 1);
}

#[test]
fn a_pre_reboot_hook_that_fails_aborts_the_reboot() {
    let full = [Act::Say("crowded", 75_000), Act::Shell("echo y > later"), Act::Done("all the same"), Act::Leave];
    let stage = Stage::new(Tongue::ClaudeCode, &[with(&[&begins(), &[Act::Shell("echo x > a")], &full])]);
    stage.write("cerberus.toml", "[loop.hooks]\npre_reboot = \"echo not now; exit 1\"\n");
    let ran = stage.run(&["--context-window", "100000"]);
    ran.ended(1, "this one continues: exit 1: not now").ended(1, "the pre_reboot hook refused a fresh context");
    assert_eq!((stage.agent.contexts(), stage.agent.asked(1).as_str()), (1, ""));
    assert!(stage.env.project().join("later").exists());
    // One that takes too long has failed as well, and does not survive.
    let stage = Stage::new(Tongue::Plain, &[prints("echo x > a")]);
    stage.write("cerberus.toml", "[loop.hooks]\npre_reboot = \"sleep 600\"\ntime_limit = \"1s\"\n");
    stage.run(&[]).ended(1, "the pre_reboot hook refused");
}

#[test]
fn usage_errors_say_what_is_missing() {
    let stage = Stage::new(Tongue::Plain, &[prints("true")]);
    for (args, why) in [
        (&["loop", "run", "--prompt", "x"][..], "no agent given"),
        (&["loop", "run", "--agent", "codex"], "no task given"),
        (&["loop", "run", "--agent", "codex", "--prompt", " "], "the task is empty"),
        (&["loop", "run", "--agent", "command", "--prompt", "x"], "no command given"),
        (&["loop", "run", "--agent", "codex", "--prompt", "x", "--soft-redline", "90%"], "must be below"),
        (&["loop", "run", "--agent", "vim", "--prompt", "x"], "one of claude-code, codex, gemini, opencode, command"),
        (&["loop", "run", "--agent", "codex", "--prompt", "x", "--now", "2026-01-22T13:35:14Z"], "remove --now"),
    ] {
        let output = stage.env.run(args);
        let stderr = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!(output.status.code(), Some(2), "{args:?}: {stderr}");
        assert!(stderr.contains(why), "{why} in {stderr}");
    }
    stage.write("cerberus.toml", "[loop]\nmax_iteratons = 3\n");
    let ran = stage.run(&[]);
    ran.ended(1, "line 2: unknown field `max_iteratons`").ended(1, "fix the file");
}

#[test]
fn a_full_disk_stops_it_with_nothing_left_running_and_it_goes_on_when_there_is_room() {
    for label in ["loop-begun-write", "loop-launched-write", "loop-session-write", "loop-ended-write"] {
        let stage = Stage::new(Tongue::ClaudeCode, &[works("date +%N >> a")]);
        let mut command = stage.command(&["--max-iterations", "2", "--same-failure", "1"]);
        let output = command.env("CERBERUS_FAULT", format!("{label}=enospc")).output().unwrap();
        stage.nobody_is_left();
        let stderr = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!(output.status.code(), Some(1), "{label}: {stderr}");
        assert!(stderr.contains("No space left") && stderr.contains("loop run --resume"), "{label}: {stderr}");
        stage.resume(&["--same-failure", "3"]).ended(3, "iterations");
        let numbers: Vec<u64> = stage.history().iter().filter_map(|row| row["iteration"].as_u64()).collect();
        assert_eq!(numbers, [1, 2], "{label}");
    }
}

#[test]
fn a_project_of_which_nothing_is_stored_has_no_loop() {
    let stage = Stage::new(Tongue::Plain, &[prints("true")]);
    stage.write(".nocerberus", "");
    stage.run(&[]).ended(1, "nothing is stored for this project");
    assert_eq!(stage.agent.contexts(), 0);
}
