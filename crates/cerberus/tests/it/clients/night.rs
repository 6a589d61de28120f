//! A simulated night: a loop of thirty contexts with each of the real agents, in which everything goes wrong once (the
//! server, the agent, the runner, the disk), and the report that its user reads in the morning. A third loop begins with one agent in a worktree, goes on with the
//! other when the first has reached its usage limit, and ends when the money is spent.

use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use cerberus_testkit::clients::Client;
use cerberus_testkit::clients::claude_code::ClaudeCode;
use cerberus_testkit::clients::codex::Codex;
use cerberus_testkit::model_server::{ModelServer, Reply};
use cerberus_testkit::process::{LIMIT, Running, running_in, wait_until};
use serde_json::Value;

use super::Stage;
use super::loops::{HARD, in_background, request_with};

/// Thirty starts of an agent.
const NIGHT: Duration = LIMIT.saturating_mul(6);

/// A context may be silent for this long: longer than an agent takes to start.
const STALL: &str = "20s";

const CHECK: &str = "bad=0\nfor part in one two three four; do\n  test -f $part.txt && continue\n  \
    echo \"test part_$part ... FAILED\"; bad=1\ndone\n\
    test $bad = 0 || { echo 'test result: FAILED. 0 passed; 1 failed; 0 ignored'; exit 1; }\n";

/// What only contexts after the hard redline are told; an agent that is stopped may ask once more before it ends.
const AFTER: &str = "hard.txt (new)";

/// Exists while a context waits for the test: for a message, or for the end of its runner.
fn waiting(stage: &Stage, for_what: &str) -> PathBuf {
    stage.scratch.root().join(for_what)
}

/// The contexts in order, each with all that the model says in it.
fn script(client: &dyn Client, stage: &Stage, hard: impl IntoIterator<Item = Reply>) -> Vec<Reply> {
    let repo = stage.scratch.repo();
    let part = |name: &str| client.write(&repo.join(format!("{name}.txt")), &format!("part {name}\n")).reading(5_000);
    let run = |command: &str| client.run(command).reading(5_000);
    let say = |text: &str| Reply::text(text).reading(6_000);
    let wait = |for_what: &str| {
        let mark = waiting(stage, for_what);
        run(&format!("touch '{0}'; while [ ! -f '{0}.over' ]; do sleep 0.1; done", mark.display()))
    };
    let steps = |numbers: std::ops::RangeInclusive<u32>| {
        numbers.flat_map(|number| [run(&format!("echo {number} >> diary.txt")), say("One step further.")])
    };
    let commit = "git -c user.name=t -c user.email=t@localhost commit --quiet --allow-empty --message=nothing";
    let mut replies = vec![
        part("one"),
        say("I wrote one.txt. I decided to use plain files because anybody can read them.\n\n- [x] Wrote phantom.py"),
        say("Everything is there.\n\nALL DONE"),
        part("two"),
        say("Part two is written."),
        run("kill -9 $PPID"),
        Reply::fail(429),
        part("three"),
        say("Part three is written."),
        run(commit),
        say("I committed."),
        run("echo a > flip.txt"),
        say("It is a."),
        run("echo b > flip.txt"),
        say("It is b."),
        run("echo a > flip.txt"),
        say("It is a again."),
        run("echo true > check.sh"),
        say("It passes now.\n\nALL DONE"),
        run("git checkout --quiet -- check.sh"),
        say("The check is as it was."),
        run("echo 'Write the four parts, carefully.' > TASK.md"),
        say("I noted what the user wants."),
        wait("message"),
        say("I waited."),
        run("echo 14 >> diary.txt"),
        Reply::hang(),
    ];
    replies.extend(steps(15..=15));
    replies.push(Reply::fail(503));
    replies.extend(steps(16..=16));
    replies.push(Reply::usage_limit());
    replies.extend(steps(17..=17));
    replies.push(wait("death"));
    replies.extend(steps(19..=28));
    replies.push(part("hard"));
    replies.extend(hard);
    replies.push(part("four").to(AFTER));
    replies.push(say("All four parts are there.\n\nALL DONE").to(AFTER));
    replies
}

/// A hook that takes too long once.
const SLOW_HOOK: &str =
    "[loop.hooks]\npost_iteration = \"grep -q '\\\"iteration\\\":6,' && sleep 600; true\"\ntime_limit = \"1s\"\n";

fn prepare(stage: &Stage, settings: &str) {
    let repo = stage.scratch.repo();
    let write = |name: &str, text: &str| std::fs::write(repo.join(name), text).unwrap();
    write("check.sh", CHECK);
    write("TASK.md", "Write the four parts.\n");
    write("cerberus.toml", settings);
    for args in [&["add", "--all"][..], &["commit", "--quiet", "--message=start"]] {
        let who = ["-c", "user.name=t", "-c", "user.email=t@localhost"];
        let mut git = Command::new("git");
        git.env_clear().env("PATH", &stage.path).env("HOME", stage.scratch.home()).current_dir(&repo);
        assert!(git.args(who).args(args).status().unwrap().success());
    }
}

/// One runner of the night: the first, or one that goes on.
fn runner(client: &Command, stage: &Stage, args: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_cerberus"));
    command.env_clear().current_dir(stage.scratch.repo()).process_group(0);
    command.envs(client.get_envs().filter_map(|(name, value)| Some((name, value?))));
    command.args(["loop", "run"]).args(args);
    command
}

/// Waits until a runner has come as far as that.
fn comes_to<T>(stage: &Stage, running: &mut Running, what: &str, look: impl Fn() -> Option<T>) -> T {
    wait_until(what, NIGHT, look).unwrap_or_else(|late| {
        panic!("{late}\n{:?}\n{}", running.wait(Duration::ZERO), stage.try_cerberus(&["loop", "history"]))
    })
}

/// Kills a runner, and nothing else.
fn killed(mut running: Running) -> String {
    let pid = rustix::process::Pid::from_raw(running.pid() as i32).unwrap();
    rustix::process::kill_process(pid, rustix::process::Signal::KILL).unwrap();
    running.wait(LIMIT).unwrap().stderr
}

/// Runs the whole night. The user sends one message in the middle of it, and goes on with the loop whenever it has ended.
fn sleep_well(stage: &Stage, client: &Command, agent: &str, options: &[&str], args: &[&str]) -> String {
    let mut command = runner(client, stage, &["--agent", agent, "--program"]);
    command.arg(client.get_program());
    command.args(["--prompt-file", "TASK.md", "--until", "sh check.sh", "--completion-phrase", "ALL DONE"]);
    command.args(["--min-interval", "0s", "--backoff", "0", "--backoff-max", "1s", "--max-iterations", "40"]);
    command.args(["--max-reboots-per-hour", "100", "--stall", STALL]);
    command.args(options).arg("--").args(args).args(client.get_args());
    let mut running = Running::spawn(&mut command).unwrap();
    let is_waiting = |for_what: &str| waiting(stage, for_what).exists().then_some(());
    comes_to(stage, &mut running, "the context that waits", || is_waiting("message"));
    stage.cerberus(&["loop", "tell", "Use short lines."]);
    std::fs::write(waiting(stage, "message").with_extension("over"), "").unwrap();

    // The limit of one agent lasts longer than its user wants to wait; the other one does not say how long.
    let status = || -> Value { serde_json::from_str(&stage.cerberus(&["loop", "status", "--json"])).unwrap() };
    let is_limited = || status()["waiting"]["reason"].as_str().is_some_and(|why| why.contains("usage limit"));
    let is_long = || (agent == "codex" && is_limited()).then_some(());
    comes_to(stage, &mut running, "the usage limit", || is_long().or_else(|| is_waiting("death")));
    let mut stderr = String::new();
    let resume = || runner(client, stage, &["--resume"]);
    if is_long().is_some() {
        stderr += &killed(running);
        running = Running::spawn(&mut resume()).unwrap();
        comes_to(stage, &mut running, "the context that is killed", || is_waiting("death"));
    }
    stderr += &killed(running);

    // The disk is full when the fourth end of a context is written down.
    let mut running = Running::spawn(resume().env("CERBERUS_FAULT", "loop-ended-write=enospc@4")).unwrap();
    let full = running.wait(NIGHT).unwrap();
    assert_eq!(full.status.code(), Some(1), "{}\n{}", full.stdout, full.stderr);
    assert!(full.stderr.contains("No space left") && full.stderr.contains("loop run --resume"), "{}", full.stderr);

    let mut running = Running::spawn(&mut resume()).unwrap();
    let group = running.pid();
    let finished = running.wait(NIGHT).unwrap();
    assert!(finished.status.success(), "{}\n{}", finished.stdout, finished.stderr);
    assert_eq!(running_in(group, stage.scratch.root()), [""; 0], "no process is left");
    stderr + &full.stderr + &finished.stderr
}

/// What holds in the morning, whichever agent was at work.
fn check(stage: &Stage, server: &ModelServer, stderr: &str) {
    let hears = [
        "phantom.py (reported as done, but phantom.py does not exist)",
        "The session of iteration 2 reported that everything is done. It is not: the check `sh check.sh` does not pass.",
        "- Failing: part_two",
        "- check.sh is part of the check and was changed since the loop began. Restore it.",
        "## Task Changed",
        "## Message from the User\n- Use short lines.",
        "printed nothing for too long",
        "## Earlier Messages from the User\n- Use short lines.",
        "the loop itself was killed",
    ];
    let mut after = 0;
    for words in hears {
        let (at, text) = request_with(server, words, after);
        assert!(text.contains("# Context Handoff\n"), "{text}");
        after = at;
    }
    let (_, text) = request_with(server, "## Task Changed", 0);
    assert!(text.contains("Write the four parts, carefully.") && text.contains("(anybody can read them)"), "{text}");
    for told in [
        "the post_iteration hook failed: it took longer than 1s and was stopped",
        "does not count, because it was changed: check.sh",
        "the task has changed; this context gets the new one",
    ] {
        assert!(stderr.contains(told), "{told} in {stderr}");
    }

    let history: Value = serde_json::from_str(&stage.cerberus(&["loop", "history", "--json"])).unwrap();
    let rows = history.as_array().unwrap();
    let ends: Vec<&str> = rows.iter().map(|row| row["ended_by"].as_str().unwrap()).collect();
    let mut expected = ["iteration-end"; 30];
    (expected[3], expected[13], expected[28]) = ("failure", "stall", "hard-redline");
    (expected[17], expected[20]) = ("runner-died", "runner-died");
    assert_eq!(ends, expected, "{history:#}");
    assert_eq!((&rows[1]["check"]["claimed"], &rows[1]["check"]["passed"]), (&true.into(), &false.into()));
    for row in [4, 15, 16] {
        assert_eq!(rows[row]["attempts"], 2, "it waited for the server: {history:#}");
    }
    assert_eq!(rows[9]["check"]["changed"][0], "check.sh");
    assert!(rows[29]["stop_reason"].as_str().unwrap().contains("the check passed"), "{history:#}");

    // Nothing is lost, and every cent is counted, whoever ended the context. Codex says what a request took when its
    // tools have returned, so of one that was killed before, nobody knows.
    let diary = std::fs::read_to_string(stage.scratch.repo().join("diary.txt")).unwrap();
    let steps: Vec<u32> = diary.lines().map(|line| line.parse().unwrap()).collect();
    assert_eq!(steps, (14..=17).chain(19..=28).collect::<Vec<_>>());
    let cost = |row: &Value| row["cost_usd"].as_f64().unwrap_or_default();
    let is_silent = |at: usize| rows[at]["agent"] == "codex" && [3, 17].contains(&at);
    assert!((0..rows.len()).all(|at| is_silent(at) || cost(&rows[at]) > 0.0), "{history:#}");
    let is_step = |at: &usize| (14..=16).contains(at) || (18..=27).contains(at);
    assert!((0..30).filter(is_step).all(|at| rows[at]["tokens"].as_u64() >= Some(11_000)), "{history:#}");
    let status: Value = serde_json::from_str(&stage.cerberus(&["loop", "status", "--json"])).unwrap();
    let spent: f64 = rows.iter().map(cost).sum();
    assert!((cost(&status) - spent).abs() < 0.01, "{spent}: {status:#}");

    let report = stage.cerberus(&["loop", "history"]);
    for told in [
        "check failed, though the agent reported completion: exit 1",
        "failing: part_two, part_three, part_four",
        "30 iterations in ",
        "2 refused completions, 1 changed check, ",
        "1 hard redline",
        "complete: the check passed",
        "changed since it began: ",
    ] {
        assert!(report.contains(told), "{told} in {report}");
    }
}

#[test]
fn claude_code_sleeps_well() {
    let stage = Stage::new(&ClaudeCode);
    prepare(&stage, SLOW_HOOK);
    let hard = [ClaudeCode.run("sleep 600 & sleep 601").reading(HARD)];
    let server = ModelServer::start(script(&ClaudeCode, &stage, hard));
    let mut client = ClaudeCode.command(&stage.place(&server));
    client.env("CLAUDE_CODE_MAX_RETRIES", "0");
    let args = ["--dangerously-skip-permissions"];
    let stderr = sleep_well(&stage, &client, "claude-code", &["--context-window", "100000"], &args);
    check(&stage, &server, &stderr);
}

#[test]
fn codex_sleeps_well() {
    let stage = Stage::new(&Codex);
    prepare(&stage, SLOW_HOOK);
    let hard = in_background("sleep 602 & sleep 603", HARD);
    let server = ModelServer::start(script(&Codex, &stage, hard));
    let mut client = Codex.command(&stage.place(&server), &[]);
    client.args([
        "-c",
        "model_providers.stub.request_max_retries=0",
        "-c",
        "model_providers.stub.stream_max_retries=0",
    ]);
    let args = ["--dangerously-bypass-hook-trust", "--dangerously-bypass-approvals-and-sandbox"];
    let options = ["--soft-redline", "70k", "--hard-redline", "85k"];
    let stderr = sleep_well(&stage, &client, "codex", &options, &args);
    check(&stage, &server, &stderr);
}

/// Both agents' surroundings and the folder of the worktree.
fn shared(stage: &Stage, server: &ModelServer) -> (Command, Command, PathBuf) {
    let claude = ClaudeCode.command(&stage.place(server));
    let mut codex = Codex.command(&stage.place(server), &[]);
    codex.args(["-c", "model_providers.stub.request_max_retries=0"]);
    let repo = stage.scratch.repo().canonicalize().unwrap();
    let folder = repo.with_file_name(format!("{}-night", repo.file_name().unwrap().display()));
    (claude, codex, folder)
}

/// Codex begins, reaches its usage limit and is followed by Claude Code, which is asked for its handoff, hangs once,
/// and then spends the rest of the money.
fn expensive(stage: &Stage, folder: &Path) -> Vec<Reply> {
    let part = |client: &dyn Client, name: &str| {
        client.write(&folder.join(format!("{name}.txt")), &format!("part {name}\n")).reading(5_000)
    };
    let called = stage.scratch.root().join("called");
    let wait = format!("while [ ! -s '{}' ]; do sleep 0.1; done; sleep 2", called.display());
    let mut replies = vec![
        part(&Codex, "one"),
        Reply::text("Part one is written.").reading(6_000),
        Reply::usage_limit(),
        part(&ClaudeCode, "two").to("one.txt (new)"),
        Reply::text("Part two is written.").reading(6_000),
        part(&ClaudeCode, "three").to("two.txt (new)"),
        ClaudeCode.run(&wait).reading(75_000),
        Reply::text("<handoff>\n## Pending\n- [ ] write part four\n</handoff>").to("# Context Handoff Request"),
        Reply::hang().to("- [ ] write part four"),
    ];
    replies.extend((0..60).map(|_| ClaudeCode.run("true").reading(60_000)));
    replies
}

#[test]
fn another_agent_works_until_the_money_is_spent() {
    let stage = Stage::new(&ClaudeCode);
    Codex.prepare(&stage.scratch);
    let called = stage.scratch.root().join("called");
    prepare(&stage, &format!("[loop.hooks]\npre_reboot = \"cat > '{}'\"\n", called.display()));
    let (_, _, folder) = shared(&stage, &ModelServer::start([]));
    let server = ModelServer::start(expensive(&stage, &folder));
    let (claude, codex, _) = shared(&stage, &server);

    let mut command = Command::new(env!("CARGO_BIN_EXE_cerberus"));
    command.env_clear().current_dir(stage.scratch.repo()).process_group(0);
    for client in [&claude, &codex] {
        command.envs(client.get_envs().filter_map(|(name, value)| Some((name, value?))));
    }
    command.args(["loop", "run", "--worktree", "night", "--agent", "codex", "--program"]).arg(codex.get_program());
    command.args(["--fallback", "claude-code", "--fallback-program"]).arg(claude.get_program());
    command.args(["--fallback-arg", "--dangerously-skip-permissions", "--context-window", "100000"]);
    command.args(["--prompt", "Write the four parts.", "--until", "sh check.sh", "--max-cost-usd", "2"]);
    command.args(["--min-interval", "0s", "--backoff", "0", "--backoff-max", "1s", "--stall", "30s", "--"]);
    command.args(["--dangerously-bypass-hook-trust", "--dangerously-bypass-approvals-and-sandbox"]);
    command.args(codex.get_args());
    let mut running = Running::spawn(&mut command).unwrap();
    let group = running.pid();
    let finished = running.wait(NIGHT).unwrap();
    let stderr = finished.stderr;
    assert_eq!(finished.status.code(), Some(3), "{}\n{stderr}", finished.stdout);
    assert_eq!(running_in(group, stage.scratch.root()), [""; 0], "no process is left");
    for told in ["codex reached its usage limit; claude-code continues", "the limit of cost is reached", "merge night"]
    {
        assert!(stderr.contains(told), "{told} in {stderr}");
    }
    assert!(!stage.scratch.repo().join("one.txt").exists(), "the worktree is a folder of its own");

    let cwd = ["--cwd", folder.to_str().unwrap()];
    let history = stage.cerberus(&[&["loop", "history", "--json"][..], &cwd].concat());
    let history: Value = serde_json::from_str(&history).unwrap();
    let rows = history.as_array().unwrap();
    let of = |field: &str| rows.iter().map(|row| row[field].as_str().unwrap_or_default()).collect::<Vec<_>>();
    assert_eq!(of("agent"), ["codex", "claude-code", "claude-code", "claude-code"], "{history:#}");
    assert_eq!(of("ended_by")[2..], ["soft-redline", "limit"], "{history:#}");
    assert_eq!((&rows[3]["attempts"], &rows[3]["reboot"]["reason"]), (&2.into(), &"stall".into()), "{history:#}");
    let spent: f64 = rows.iter().map(|row| row["cost_usd"].as_f64().unwrap()).sum();
    assert!((1.9..2.6).contains(&spent), "{spent}: {history:#}");
    let report = stage.cerberus(&[&["loop", "history"][..], &cwd].concat());
    for told in ["4 iterations in ", "1 soft redline", "the limit of cost is reached", "changed since it began: "] {
        assert!(report.contains(told), "{told} in {report}");
    }
}
