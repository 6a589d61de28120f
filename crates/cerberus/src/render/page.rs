//! Prints results for people: lines with styles, through a pager if they do not fit on the screen.

use std::io::Write;
use std::process::{Command, Stdio};

use super::style::{Line, Screen, ascii};

/// Prints the lines. If they are more than the screen has, they go through the user's pager.
pub fn page(screen: &Screen, lines: &[Line]) {
    let text: String = lines.iter().map(|line| shown(screen, line) + "\n").collect();
    let is_long = screen.rows.is_some_and(|rows| lines.len() >= rows);
    if is_long && !is_run_by_agent() && through_pager(&text) {
        return;
    }
    let _ = std::io::stdout().write_all(text.as_bytes());
}

/// Prints one line of something that happens now.
pub fn print(screen: &Screen, line: &Line) {
    let mut out = std::io::stdout();
    let _ = writeln!(out, "{}", shown(screen, line));
    let _ = out.flush();
}

fn shown(screen: &Screen, line: &Line) -> String {
    let text = line.clone().cut(screen.room()).shown(screen.is_colored);
    let shows_it = screen.rows.is_none() || screen.is_utf8;
    if shows_it { text } else { text.chars().map(ascii).collect() }
}

/// Nobody presses a key there.
fn is_run_by_agent() -> bool {
    cerberus_agents::command_variables().any(|name| std::env::var_os(name).is_some())
}

/// `$PAGER`, or `less`. Returns false if it cannot be started.
fn through_pager(text: &str) -> bool {
    let set = |name: &str| std::env::var(name).ok();
    let pager = set("CERBERUS_PAGER").or_else(|| set("PAGER")).unwrap_or_else(|| "less".to_string());
    let mut words = pager.split_whitespace();
    let Some(program) = words.next().filter(|program| *program != "cat") else { return false };
    let mut command = Command::new(program);
    command.args(words).stdin(Stdio::piped());
    if set("LESS").is_none() {
        // Quits if everything fits after all, keeps colours, leaves the text on the screen.
        command.env("LESS", "FRX");
    }
    let Ok(mut child) = command.spawn() else { return false };
    if let Some(mut input) = child.stdin.take() {
        // The user may quit before reading everything.
        let _ = input.write_all(text.as_bytes());
    }
    let _ = child.wait();
    true
}
