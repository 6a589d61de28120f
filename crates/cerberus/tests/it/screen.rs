//! The screen in a real terminal: keys, sizes, signals, and that the terminal is restored whatever happens.

use std::os::unix::process::ExitStatusExt;
use std::process::{Command, Stdio};

use cerberus_testkit::env::TestEnv;
use cerberus_testkit::fake_agent::Tongue;
use cerberus_testkit::process::{LIMIT, wait_until, write_program};
use cerberus_testkit::terminal::Terminal;
use serde_json::json;
use vt100::Color;

use crate::browse::{import, transcript};
use crate::env;
#[cfg(feature = "loop")]
use crate::loops::{Stage, works};

fn with_sessions() -> TestEnv {
    let env = env();
    import(&env, "a", &transcript("aaaa-1", 19, "write the checkpoint tests", "tests/e2e.rs", &[]));
    import(&env, "b", &transcript("bbbb-2", 20, "fix the race in process.rs", "src/process.rs", &[]));
    env
}

fn command(env: &TestEnv) -> Command {
    let mut command = env.command();
    command.env("TERM", "xterm-256color").env("LANG", "C.UTF-8").env("TZ", "UTC");
    command
}

/// The screen, once it shows the sessions.
fn open(command: &Command) -> Terminal {
    let terminal = Terminal::spawn_sized(command, (24, 80)).unwrap();
    terminal.wait_for_text("q quit", LIMIT).unwrap();
    terminal
}

/// The terminal is as it was before.
fn is_restored(terminal: &Terminal) {
    let left = || {
        let screen = terminal.screen();
        let is_left = !screen.alternate_screen() && !screen.hide_cursor() && !terminal.is_raw().unwrap();
        is_left.then_some(())
    };
    wait_until("the terminal to be restored", LIMIT, left).unwrap();
}

fn signal(terminal: &Terminal, name: &str) {
    let pid = terminal.pid().to_string();
    assert!(Command::new("kill").args(["-s", name, &pid]).status().unwrap().success());
}

#[test]
fn a_user_looks_around_and_leaves() {
    let env = with_sessions();
    env.start("cccc", "startup");
    env.hook("cccc", "UserPromptSubmit", json!({"prompt": "add jitter to the retries"}));
    let mut terminal = open(&command(&env));
    for text in ["1 Log", "3 sessions", ">● active  Add jitter", "Tue 20 Jan", "Fix the race in process.rs"] {
        terminal.wait_for_text(text, LIMIT).unwrap();
    }
    assert!(terminal.screen().alternate_screen() && terminal.is_raw().unwrap());
    assert!(terminal.screen().cell(4, 40).unwrap().inverse(), "the selected row is reversed");
    terminal.type_keys("jj").unwrap();
    terminal.wait_for_text(">✓ ended   Write the checkpoint tests", LIMIT).unwrap();
    terminal.type_keys("/supervsor").unwrap();
    terminal.wait_for_text("2 of 3 sessions   / supervsor", LIMIT).unwrap();
    terminal.type_keys("\r\r").unwrap();
    terminal.wait_for_text("Log > session 1 of 2", LIMIT).unwrap();
    terminal.wait_for_text("fix the race in process.rs", LIMIT).unwrap();
    terminal.type_keys("\x1b").unwrap();
    terminal.wait_for_text("/ supervsor", LIMIT).unwrap();
    terminal.type_keys("2").unwrap();
    terminal.wait_for_text("session 1 of 1", LIMIT).unwrap();
    terminal.wait_for_text("edited      src/process.rs", LIMIT).unwrap();
    terminal.type_keys("?").unwrap();
    terminal.wait_for_text("Keys", LIMIT).unwrap();
    terminal.type_keys("xq").unwrap();
    assert_eq!(terminal.wait(LIMIT).unwrap().code(), Some(0));
    is_restored(&terminal);
}

#[test]
fn what_happens_meanwhile_appears() {
    let env = with_sessions();
    let terminal = open(&command(&env));
    terminal.wait_for_text("2 sessions", LIMIT).unwrap();
    env.hook("dddd", "UserPromptSubmit", json!({"prompt": "measure the cold start"}));
    terminal.wait_for_text("3 sessions", LIMIT).unwrap();
    terminal.wait_for_text("Measure the cold start", LIMIT).unwrap();
    terminal.wait_for_text(">✓ ended   Fix the race", LIMIT).unwrap();
}

#[test]
fn it_follows_the_size_of_the_terminal() {
    let env = with_sessions();
    let terminal = open(&command(&env));
    terminal.resize((8, 30)).unwrap();
    terminal.wait_for_text("40x10 is needed, this is 30x8", LIMIT).unwrap();
    terminal.resize((40, 120)).unwrap();
    terminal.wait_for_text("claude-code · main", LIMIT).unwrap();
    let is_last = || terminal.screen().contents().lines().last().is_some_and(|line| line.trim_end() == KEYS);
    wait_until("the keys in the last line", LIMIT, || is_last().then_some(())).unwrap();
}

const KEYS: &str = " ↑↓ move  Enter open  / search  r resume  b brief  a project  ? help  q quit";

#[test]
fn a_terminal_that_does_not_know_its_size_shows_the_help() {
    let env = with_sessions();
    let terminal = Terminal::spawn_sized(&command(&env), (0, 0)).unwrap();
    let is_shown = || terminal.printed().contains("Usage: cerberus").then_some(());
    wait_until("the help", LIMIT, is_shown).unwrap_or_else(|error| panic!("{error}: {}", terminal.printed()));
    assert!(!terminal.printed().contains("\u{1b}[?1049h"), "the alternate screen is not opened");
}

#[test]
fn proposals_are_decided_and_undone() {
    let env = env();
    for (session, end) in [("s1", "."), ("s2", "!")] {
        let prompt = format!("use pnpm instead of npm in every package{end}");
        env.hook(session, "UserPromptSubmit", json!({"prompt": prompt}));
        env.hook(session, "SessionEnd", json!({"reason": "exit"}));
    }
    let statuses = || {
        let all = env.json(&["memory", "list", "--all"]);
        all.as_array().unwrap().iter().map(|one| one["status"].as_str().unwrap().to_string()).collect::<Vec<_>>()
    };
    assert_eq!(statuses(), ["proposed"]);
    let mut terminal = open(&command(&env));
    terminal.wait_for_text("3 Review 1", LIMIT).unwrap();
    terminal.type_keys("3").unwrap();
    for text in ["proposal 1 of 1", "You said it 2 times", "said 2 times in 2 sessions"] {
        terminal.wait_for_text(text, LIMIT).unwrap();
    }
    terminal.type_keys("r").unwrap();
    terminal.wait_for_text("rejected: it is never told again", LIMIT).unwrap();
    assert_eq!(statuses(), ["rejected"]);
    terminal.type_keys("u").unwrap();
    terminal.wait_for_text("proposal 1 of 1", LIMIT).unwrap();
    terminal.type_keys("e\x15Always use pnpm\r").unwrap();
    terminal.wait_for_text("agent quotes you", LIMIT).unwrap();
    let kept = env.json(&["memory", "list"]);
    assert_eq!((kept[0]["content"].as_str(), kept[0]["status"].as_str()), (Some("Always use pnpm"), Some("approved")));
    // It is told to the next session, and never again after x.
    env.start("s3", "startup");
    terminal.type_keys("2").unwrap();
    terminal.wait_for_text("session 1 of 1", LIMIT).unwrap();
    terminal.wait_for_text("Always use pnpm", LIMIT).unwrap();
    terminal.type_keys("gx").unwrap();
    terminal.wait_for_text("again?", LIMIT).unwrap();
    assert_eq!(statuses(), ["approved"]);
    terminal.type_keys("y").unwrap();
    terminal.wait_for_text("rejected: it is never told again", LIMIT).unwrap();
    assert_eq!(statuses(), ["rejected"]);
}

#[cfg(feature = "loop")]
#[test]
fn a_loop_shows_its_context_and_its_output() {
    let stage = Stage::new(Tongue::ClaudeCode, &[works("touch a")]);
    stage.run(&["--max-iterations", "1"]);
    let mut terminal = open(&command(&stage.env));
    terminal.type_keys("4").unwrap();
    for text in ["hydra", "claude-code", "Build the parser", "5% full", "contexts", "I look around."] {
        terminal.wait_for_text(text, LIMIT).unwrap();
    }
}

#[test]
fn an_agent_decides_nothing() {
    let env = env();
    env.hook("s1", "UserPromptSubmit", json!({"prompt": "I prefer pnpm here"}));
    env.hook("s1", "SessionEnd", json!({"reason": "exit"}));
    let mut terminal = open(command(&env).env("CLAUDECODE", "1"));
    terminal.wait_for_text("3 Review 1", LIMIT).unwrap();
    terminal.type_keys("3y").unwrap();
    terminal.wait_for_text("only the user can", LIMIT).unwrap();
    assert_eq!(env.json(&["memory", "list", "--all"])[0]["status"], "proposed");
}

#[test]
fn a_session_is_resumed_in_its_agent() {
    let env = with_sessions();
    let bin = env.root().join("bin");
    write_program(&bin.join("claude"), "#!/bin/sh\necho \"in $PWD: $*\"\n");
    let path = format!("{}:{}", bin.display(), cerberus_testkit::scratch::SYSTEM_PATH);
    let mut terminal = open(command(&env).env("PATH", path));
    terminal.type_keys("jr").unwrap();
    assert_eq!(terminal.wait(LIMIT).unwrap().code(), Some(0));
    is_restored(&terminal);
    let shown = terminal.printed();
    let left = shown.rsplit("\x1b[?1049l").next().unwrap();
    assert!(left.contains("claude --resume aaaa-1"), "the command is shown: {left}");
    assert!(left.contains(&format!("in {}: --resume aaaa-1", env.project().display())), "{left}");
}

#[test]
fn signals_and_panics_leave_a_usable_terminal() {
    let env = with_sessions();
    for (name, number) in [("TERM", 15), ("HUP", 1)] {
        let mut terminal = open(&command(&env));
        signal(&terminal, name);
        assert_eq!(terminal.wait(LIMIT).unwrap().signal(), Some(number), "{name}");
        is_restored(&terminal);
    }
    let mut terminal =
        Terminal::spawn_sized(command(&env).env("CERBERUS_FAULT", "screen-draw=panic@2"), (24, 80)).unwrap();
    assert!(!terminal.wait(LIMIT).unwrap().success());
    is_restored(&terminal);
    // Printed after the terminal was restored, so that it can be read.
    terminal.wait_for_text("panicked", LIMIT).unwrap();
}

#[test]
fn it_can_be_suspended_and_continued() {
    let env = with_sessions();
    let mut shell = env.command_for("/bin/sh");
    shell.env("TERM", "xterm-256color").env("LANG", "C.UTF-8");
    shell.args(["-m", "-c", "\"$0\"; echo stopped with $?; read go; fg; echo ended with $?"]);
    shell.arg(command(&env).get_program());
    let mut terminal = open(&shell);
    terminal.type_keys("j\x1a").unwrap();
    terminal.wait_for_text("stopped with", LIMIT).unwrap();
    is_restored(&terminal);
    terminal.type_keys("\n").unwrap();
    terminal.wait_for_text(">✓ ended  Write the checkpoint tests", LIMIT).unwrap();
    assert!(terminal.is_raw().unwrap());
    terminal.type_keys("q").unwrap();
    terminal.wait_for_text("ended with 0", LIMIT).unwrap();
    is_restored(&terminal);
}

#[test]
fn it_works_without_colour_and_without_utf_8() {
    let env = with_sessions();
    let mut terminal = open(command(&env).env("NO_COLOR", "1").env("LANG", "C"));
    terminal.wait_for_text(">+ ended  Fix the race", LIMIT).unwrap();
    let screen = terminal.screen();
    assert!(screen.contents().is_ascii(), "{}", screen.contents());
    let cells = (0..24).flat_map(|y| (0..80).map(move |x| (y, x))).filter_map(|(y, x)| screen.cell(y, x));
    assert!(cells.clone().all(|cell| cell.fgcolor() == Color::Default && cell.bgcolor() == Color::Default));
    let row = screen.contents().lines().position(|line| line.starts_with('>')).unwrap() as u16;
    assert!(screen.cell(row, 60).unwrap().inverse() && !screen.cell(row + 1, 60).unwrap().inverse());
    terminal.type_keys("q").unwrap();
    terminal.wait(LIMIT).unwrap();
}

#[test]
fn without_a_terminal_nothing_changes() {
    let env = with_sessions();
    let output = command(&env).stdin(Stdio::null()).output().unwrap();
    assert_eq!((output.status.code(), output.stdout.len()), (Some(0), 0));
    // Help is printed where a screen cannot be shown.
    let mut terminal = Terminal::spawn(command(&env).env("TERM", "dumb")).unwrap();
    terminal.wait_for_text("Options:", LIMIT).unwrap();
    assert_eq!(terminal.wait(LIMIT).unwrap().code(), Some(2));
    assert!(!terminal.printed().contains("\x1b[?1049h"));
}

#[test]
fn an_empty_home_says_what_to_do() {
    let mut terminal = open(&command(&env()));
    terminal.wait_for_text("No session is known yet", LIMIT).unwrap();
    terminal.type_keys("jr4").unwrap();
    terminal.wait_for_text("No loop has run", LIMIT).unwrap();
    terminal.type_keys("\x03").unwrap();
    assert_eq!(terminal.wait(LIMIT).unwrap().code(), Some(0));
}
