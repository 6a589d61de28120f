//! A loop that runs is asked, stopped and shown from other terminals; Ctrl-C once finishes the iteration, twice does not.

use std::process::{Child, Command, Stdio};

use cerberus_testkit::fake_agent::{Act, Tongue};
use cerberus_testkit::process::wait_until;
use rustix::process::{Pid, Signal, kill_process};
use serde_json::json;

use super::{LIMIT, Ran, Stage, begins, prints, with};

/// Waits for a file before it goes on, so that a test can look meanwhile.
fn waiting() -> Stage {
    Stage::new(Tongue::Plain, &[prints("echo x > at-work; while ! test -f go-on; do sleep 0.05; done; date +%N >> a")])
}

fn started(stage: &Stage, options: &[&str]) -> Child {
    begun(stage, &mut stage.command(options))
}

fn begun(stage: &Stage, command: &mut Command) -> Child {
    let child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let file = stage.env.project().join("at-work");
    wait_until("the agent to work", LIMIT, || file.exists().then_some(())).unwrap();
    child
}

/// The same command, started by another program that becomes it.
fn through(stage: &Stage, starter: &[&str], direct: &Command) -> Command {
    let mut command = Command::new(starter[0]);
    command.args(&starter[1..]).arg(direct.get_program()).args(direct.get_args());
    command.env_clear().current_dir(stage.env.project()).stdin(Stdio::null());
    command.envs(direct.get_envs().filter_map(|(name, value)| Some((name, value?))));
    command
}

fn interrupt(child: &Child, signal: Signal) {
    kill_process(Pid::from_child(child), signal).unwrap();
}

fn ended(stage: &Stage, child: Child) -> Ran {
    let ran = Ran(child.wait_with_output().unwrap());
    stage.nobody_is_left();
    ran
}

#[test]
fn ctrl_c_once_finishes_the_iteration() {
    let stage = waiting();
    let child = started(&stage, &[]);
    interrupt(&child, Signal::INT);
    stage.write("go-on", "");
    ended(&stage, child)
        .ended(6, "press Ctrl-C again to stop immediately")
        .ended(6, "asked to stop after the iteration");
    assert!(stage.env.project().join("a").exists());
    assert_eq!(stage.history().len(), 1);
}

#[test]
fn ctrl_c_twice_and_any_other_signal_stop_at_once() {
    for signals in [&[Signal::INT, Signal::INT][..], &[Signal::TERM], &[Signal::HUP]] {
        let stubborn = [Act::IgnoreTerm, Act::Fork, Act::ForkAway, Act::Shell("echo x > at-work"), Act::Hang];
        let stage = Stage::new(Tongue::ClaudeCode, &[with(&[&begins(), &stubborn])]);
        // Whoever runs the tests with `nohup` has all programs ignore a hang-up.
        let hears = if cfg!(target_os = "linux") { &["env", "--default-signal=HUP"][..] } else { &["env"] };
        let child = begun(&stage, &mut through(&stage, hears, &stage.command(&[])));
        for (n, signal) in signals.iter().enumerate() {
            if n > 0 {
                // Two of the same at once would be one.
                std::thread::sleep(std::time::Duration::from_millis(300));
            }
            interrupt(&child, *signal);
        }
        ended(&stage, child).ended(6, "asked to stop immediately");
        assert_eq!(stage.history()[0]["ended_by"], "interrupted");
    }
}

/// As `nohup` starts a program.
#[test]
#[cfg_attr(not(target_os = "linux"), ignore = "which signals are ignored is read from /proc")]
fn a_loop_that_was_started_to_outlive_its_terminal_does() {
    let stage = waiting();
    let ignores = ["/bin/sh", "-c", "trap '' HUP; exec \"$@\"", "sh"];
    let child = begun(&stage, &mut through(&stage, &ignores, &stage.command(&["--max-iterations", "1"])));
    interrupt(&child, Signal::HUP);
    stage.write("go-on", "");
    ended(&stage, child).ended(3, "iterations");
    assert!(stage.env.project().join("a").exists());
}

#[test]
fn it_is_shown_and_stopped_from_another_terminal() {
    let stage = waiting();
    assert_eq!(stage.env.json(&["loop", "status"]), json!({"running": false, "run": null}));
    let refused = stage.env.run(&["loop", "stop"]);
    assert_eq!(refused.status.code(), Some(1));
    let child = started(&stage, &[]);
    let status = stage.env.json(&["loop", "status"]);
    assert_eq!((status["running"].as_bool(), status["iteration"].as_u64()), (Some(true), Some(1)));
    assert_eq!(status["runner_pid"], child.id());
    assert!(stage.env.ok(&["loop", "stop"]).contains("after the current iteration"));
    stage.write("go-on", "");
    ended(&stage, child).ended(6, "asked to stop after the iteration");
    let status = stage.env.json(&["loop", "status"]);
    assert_eq!((status["running"].as_bool(), status["stop"]["class"].as_str()), (Some(false), Some("interrupted")));
    // What was asked of this runner is not asked of the next.
    stage.resume(&["--max-iterations", "2"]).ended(3, "iterations");
    std::fs::remove_file(stage.env.project().join("go-on")).unwrap();
    std::fs::remove_file(stage.env.project().join("at-work")).unwrap();
    let child = started(&stage, &[]);
    stage.env.ok(&["loop", "stop", "--at-once"]);
    ended(&stage, child).ended(6, "asked to stop immediately");
}

#[test]
fn two_runners_in_one_project_refuse_each_other() {
    let stage = waiting();
    let child = started(&stage, &["--max-iterations", "1"]);
    let output = stage.command(&[]).output().unwrap();
    Ran(output).ended(7, "another runner is active").ended(7, "cerberus loop status");
    let resumed = stage.env.run(&["loop", "run", "--resume"]);
    assert_eq!(resumed.status.code(), Some(7));
    assert_eq!(stage.agent.contexts(), 1);
    stage.write("go-on", "");
    ended(&stage, child).ended(3, "iterations");
}

#[test]
fn what_stopped_goes_on_where_it_was_with_what_it_was_told() {
    let stage = Stage::new(Tongue::Plain, &[prints("date +%N >> a")]);
    stage.run(&["--max-iterations", "2"]).ended(3, "iterations");
    stage.resume(&["--max-iterations", "4"]).ended(3, "iterations");
    let history = stage.history();
    let numbers: Vec<u64> = history.iter().filter_map(|row| row["iteration"].as_u64()).collect();
    assert_eq!((numbers, stage.agent.contexts()), (vec![1, 2, 3, 4], 4));
    assert!(stage.agent.told(3).contains("Build the parser") && stage.agent.told(3).contains("# Context Handoff"));
    assert!(history.iter().all(|row| row["run"] == 1));
    stage.run(&["--max-iterations", "1"]).ended(3, "iterations");
    assert_eq!(stage.history().len(), 1, "another run is another history");
    assert_eq!(stage.env.json(&["loop", "history", "--all"]).as_array().unwrap().len(), 5);
    let stage = Stage::new(Tongue::Plain, &[prints("true")]);
    let nothing = stage.env.run(&["loop", "run", "--resume"]);
    assert!(nothing.status.code() == Some(1) && String::from_utf8_lossy(&nothing.stderr).contains("no loop has run"));
}

#[test]
fn an_iteration_can_be_gone_back_to() {
    let stage = Stage::new(Tongue::Plain, &[prints("echo $n > a.txt; echo $n > new-$n.txt")]);
    stage.run(&["--max-iterations", "3"]).ended(3, "iterations");
    let read = |file: &str| std::fs::read_to_string(stage.env.project().join(file)).unwrap_or_default();
    let head = stage.env.git(&stage.env.project(), &["rev-parse", "HEAD"]);
    stage.env.ok(&["loop", "restore", "2"]);
    assert_eq!((read("a.txt").as_str(), read("new-2.txt").as_str(), read("new-3.txt").as_str()), ("2\n", "2\n", ""));
    assert_eq!(stage.env.git(&stage.env.project(), &["rev-parse", "HEAD"]), head);
    assert_eq!(stage.env.git(&stage.env.project(), &["diff", "--cached", "--name-only"]), "");
    let missing = stage.env.run(&["loop", "restore", "9"]);
    assert!(missing.status.code() == Some(1) && String::from_utf8_lossy(&missing.stderr).contains("no checkpoint 9"));
}

#[test]
fn reports_are_lines_of_json_when_asked_for() {
    let stage = Stage::new(Tongue::Plain, &[prints("echo x > a")]);
    let ran = stage.run(&["--max-iterations", "1", "--json"]);
    let events: Vec<String> = ran
        .stdout()
        .lines()
        .map(|line| serde_json::from_str::<serde_json::Value>(line).unwrap()["event"].as_str().unwrap().to_string())
        .collect();
    assert_eq!(events.first().map(String::as_str), Some("begun"));
    assert_eq!(events.last().map(String::as_str), Some("stopped"));
    assert!(events.contains(&"text".to_string()) && events.contains(&"ended".to_string()), "{events:?}");
}

#[test]
fn what_is_forgotten_is_gone_from_the_loops_book_too() {
    for wish in ["--session", "--since", "--project"] {
        let say =
            vec![Act::Say("the plan is zanzibar", 0), Act::Shell("date +%N >> a"), Act::Done("next: build zanzibar")];
        let stage = Stage::new(Tongue::Plain, &[say]);
        stage.run(&["--max-iterations", "3"]).ended(3, "iterations");
        let holds = |text: &str| {
            let found = std::process::Command::new("grep").args(["-rl", text]).arg(stage.env.home()).output().unwrap();
            String::from_utf8_lossy(&found.stdout).into_owned()
        };
        assert!(holds("zanzibar").contains("output-1-1-1.log"), "{}", holds("zanzibar"));
        let sessions: Vec<String> =
            stage.env.sessions().iter().map(|session| session["id"].as_str().unwrap().to_string()).collect();
        let mut args = vec!["forget", "--yes"];
        match wish {
            "--session" => args.extend(sessions.iter().flat_map(|id| ["--session", id.as_str()])),
            "--since" => args.extend(["--since", "2020-01-01T00:00:00Z"]),
            wish => args.push(wish),
        }
        stage.env.ok(&args);
        assert_eq!(holds("zanzibar"), "", "{wish}");
        assert_eq!(stage.history().len(), if wish == "--project" { 0 } else { 3 }, "{wish}");
    }
}
