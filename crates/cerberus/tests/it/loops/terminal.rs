//! Terminals that do not know their size.

use cerberus_testkit::fake_agent::Tongue;
use cerberus_testkit::process::wait_until;
use cerberus_testkit::terminal::Terminal;

use super::{LIMIT, Stage, works};

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
