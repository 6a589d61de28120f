//! Terminals that do not know their size, and terminals that close.

use std::process::Stdio;

use cerberus_testkit::fake_agent::Tongue;
use cerberus_testkit::process::wait_until;
use cerberus_testkit::terminal::Terminal;

use super::{LIMIT, Ran, Stage, works};

#[test]
fn a_terminal_of_0_columns_shows_the_whole_status() {
    let stage = Stage::new(Tongue::ClaudeCode, &[works("echo x > a; while [ ! -f go ]; do sleep 0.05; done")]);
    let mut command = stage.command(&["--max-iterations", "1", "--context-window", "100000"]);
    command.env("TERM", "xterm-256color");
    let mut terminal = Terminal::spawn_sized(&command, (0, 0)).unwrap();
    let is_shown = || terminal.printed().contains("context 5 % (derived) · 5,010 tokens").then_some(());
    wait_until("the status line", LIMIT, is_shown).unwrap_or_else(|error| panic!("{error}: {}", terminal.printed()));
    stage.write("go", "");
    assert_eq!(terminal.wait(LIMIT).unwrap().code(), Some(3));
    stage.nobody_is_left();
}

#[test]
fn a_detached_loop_outlives_its_terminal_and_is_attached_again() {
    let acts = works("echo x > a; while [ ! -f go ]; do sleep 0.05; done");
    let stage = Stage::new(Tongue::ClaudeCode, &[acts]);
    let mut command = stage.command(&["--detach", "--max-iterations", "1", "--context-window", "100000"]);
    let mut terminal = Terminal::spawn(command.env("TERM", "xterm-256color")).unwrap();
    assert_eq!(terminal.wait(LIMIT).unwrap().code(), Some(0), "{}", terminal.printed());
    for told in ["limits: 1 iteration, 4h at work, 6h of waiting; none on tokens or cost", "cerberus loop attach"] {
        assert!(terminal.printed().contains(told), "{}", terminal.printed());
    }
    terminal.close();
    let is_at_work = || stage.env.project().join("a").exists().then_some(());
    wait_until("the agent to work", LIMIT, is_at_work).unwrap();
    let status = stage.env.ok(&["loop", "status"]);
    assert!(status.contains("is running") && status.contains("limits     1 iteration, 4h at work"), "{status}");

    let mut command = stage.env.command();
    command.args(["loop", "attach"]).env("TERM", "xterm-256color");
    let mut attached = Terminal::spawn(&command).unwrap();
    let is_shown = || {
        let printed = attached.printed();
        (printed.contains("I look around.") && printed.contains("iteration 1/1 working · context 5 %")).then_some(())
    };
    wait_until("the loop in the view", LIMIT, is_shown)
        .unwrap_or_else(|error| panic!("{error}: {}", attached.printed()));
    attached.close();
    // Its view is gone as well, and the loop is not.
    let mut follower = stage.env.command();
    let follower = follower.args(["loop", "attach"]).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    assert_eq!(stage.env.json(&["loop", "status"])["running"], true);
    stage.write("go", "");
    let ran = Ran(follower.wait_with_output().unwrap());
    ran.ended(3, "limit: the limit of iterations is reached").ended(3, "── iteration 1 ended: iteration-end");
    stage.nobody_is_left();
    let nothing = Ran(stage.env.run(&["loop", "attach"]));
    nothing.ended(1, "no loop is running in this project");
}

#[test]
fn a_detached_loop_that_cannot_begin_says_why() {
    let stage = Stage::new(Tongue::ClaudeCode, &[works("true")]);
    stage.run(&["--detach", "--until", "no-such-command-anywhere"]).ended(2, "no-such-command-anywhere");
    stage.run(&["--detach", "--max-iterations", "0"]).ended(2, "max_iterations must be more than zero");
    assert_eq!(stage.agent.contexts(), 0);
}
