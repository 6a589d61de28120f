//! Progress and completion for real: what only looks like them does not count.

use cerberus_testkit::fake_agent::{Act, Tongue};

use super::{Stage, prints};

#[test]
fn empty_commits_and_flipping_files_are_no_progress() {
    let commit = "git -c user.name=t -c user.email=t@localhost commit --quiet --allow-empty --message=step";
    let stage = Stage::new(Tongue::Plain, &[prints(commit)]);
    stage.run(&["--no-progress", "2"]).ended(4, "no new state of the files and no finished task in 2 iterations");
    assert_eq!(stage.history().len(), 2);
    let flip = "if grep -q a f 2>/dev/null; then echo b > f; else echo a > f; fi";
    let stage = Stage::new(Tongue::Plain, &[prints(flip)]);
    stage.run(&["--no-progress", "2"]).ended(4, "no new state");
    assert_eq!(stage.history().len(), 4, "both states were new once");
    // The same across two runners.
    let stage = Stage::new(Tongue::Plain, &[prints(flip)]);
    stage.run(&["--no-progress", "2", "--max-iterations", "2"]).ended(3, "iterations");
    stage.resume(&["--max-iterations", "20"]).ended(4, "no new state");
    assert_eq!(stage.history().len(), 4);
    let touch = "echo same > f; touch f";
    let stage = Stage::new(Tongue::Plain, &[prints(touch)]);
    stage.run(&["--no-progress", "2"]).ended(4, "no new state");
    assert_eq!(stage.history().len(), 3);
}

#[test]
fn a_check_that_cannot_work_is_refused_before_the_first_context() {
    let stage = Stage::new(Tongue::Plain, &[prints("true")]);
    stage.write("calls-nothing.sh", "no-such-program-here --version\n");
    stage.write("plain.txt", "not a program\n");
    for (check, why) in [
        ("no-such-program-here", "the check cannot work: command not found"),
        ("sh calls-nothing.sh", "the check cannot work: command not found"),
        ("./plain.txt", "the check cannot work: the file cannot be executed"),
        ("", "the check is empty"),
        ("  ", "the check is empty"),
    ] {
        let ran = stage.run(&["--until", check]);
        ran.ended(2, why);
    }
    assert_eq!((stage.agent.contexts(), stage.history().len()), (0, 0));
    let ran = stage.run(&["--until", "true"]);
    ran.ended(0, "the check passes already, before any work");
}

fn changes(command: &'static str) -> Stage {
    let restores = "printf 'test -f done.txt\\n' > check.sh; echo x > done.txt";
    let stage = Stage::new(Tongue::Plain, &[prints("echo true > check.sh"), prints(command), prints(restores)]);
    stage.write("check.sh", "test -f done.txt\n");
    stage
}

#[test]
fn a_changed_check_does_not_count() {
    let stage = changes("printf 'test -f done.txt\\n' > check.sh; echo x > done.txt");
    stage.run(&["--until", "sh check.sh"]).ended(0, "does not count, because it was changed: check.sh");
    let text = stage.agent.told(2);
    let words = "- check.sh is part of the check and was changed since the loop began. Restore it.";
    assert!(text.contains(words) && text.contains("it succeeded, but it is not the check"), "{text}");
    assert_eq!(stage.history().len(), 2, "restored, it counts");
    // A context that heard it and leaves the check as it is does not get away with it.
    let stage = changes("echo y > other");
    let ran = stage.run(&["--until", "sh check.sh"]);
    ran.ended(5, "it has been changed since the loop began: check.sh").ended(5, "--resume --allow-check-change");
    stage.resume(&["--allow-check-change"]).ended(0, "the check passed");
    let stage = changes("true");
    stage.run(&["--until", "sh check.sh", "--allow-check-change"]).ended(0, "the check passed");
    assert_eq!(stage.history().len(), 1);
}

#[test]
fn a_limit_is_told_from_what_a_test_prints() {
    let tests = "test client::retries ... FAILED\nHTTP 429 Too Many Requests\n\
                 test result: FAILED. 3 passed; 1 failed; 0 ignored; 0 measured; 0 filtered out";
    let stage = Stage::new(Tongue::Plain, &[vec![Act::Say("working", 0), Act::Complain(tests), Act::Exit(1)]]);
    stage.run(&["--same-failure", "2"]).ended(1, "the same failure occurred 2 times");
    let limit = "You have hit your usage limit. Try again in 1 second.";
    for limited in [
        vec![Act::Say("working", 0), Act::Complain(limit), Act::Exit(1)],
        vec![Act::Say("working", 0), Act::Say(limit, 0), Act::Exit(1)],
    ] {
        let stage = Stage::new(Tongue::Plain, &[limited, prints("echo x > a")]);
        stage.run(&["--until", "test -f a", "--max-failures", "1"]).ended(0, "ended: limited: You have hit");
        assert_eq!((stage.history().len(), &stage.history()[0]["attempts"]), (1, &2.into()));
    }
}

#[test]
fn a_hook_or_check_that_takes_too_long_says_so() {
    let stage = Stage::new(Tongue::Plain, &[prints("date +%N > a")]);
    stage.write(
        "cerberus.toml",
        "[loop.hooks]\nloop_start = \"sleep 600\"\npre_reboot = \"sleep 600\"\ntime_limit = \"1s\"\n",
    );
    let ran =
        stage.run(&["--until", "test -f a-file && exit; test -f a && sleep 600; false", "--until-time-limit", "1s"]);
    ran.ended(1, "the loop_start hook failed: it took longer than 1s and was stopped")
        .ended(1, "the pre_reboot hook refused a fresh context: it took longer than 1s and was stopped")
        .ended(1, "the check does not pass yet: it took longer than 1s and was stopped");
}
