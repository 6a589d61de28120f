//! Prints results to standard output and messages to standard error. A closed pipe is not an error.
//!
//! All output goes through this module. Any text may contain names and output from outside, so control characters are
//! made visible here. One call prints one line, except for [`block`].

pub mod columns;
pub mod conversation;
#[cfg(feature = "loop")]
pub mod loops;
pub mod memory;
pub mod overview;
pub mod page;
pub mod progress;
pub mod room;
pub mod session_page;
pub mod sessions;
pub mod standup;
pub mod style;
pub mod time;
pub mod usage;
pub mod words;

use std::borrow::Cow;
use std::io::{IsTerminal, Write};
use std::path::Path;

use cerberus_record::clean::text::{printable, printable_json};
use serde::Serialize;

use crate::failure::{Hint, Result};
use style::{Screen, wrapped};

/// One line of a result.
pub fn line(text: &str) {
    block(&text.replace('\n', " "));
}

/// A result in words, wrapped at the width of a terminal.
pub fn sentence(text: &str) {
    wrapped(&text.replace('\n', " "), Screen::of_stdout().room()).iter().for_each(|part| line(part));
}

/// One line of a result, as it looks on this screen.
pub fn styled(screen: &Screen, line: style::Line) {
    let text = line.shown(screen.is_colored);
    let _ = writeln!(
        std::io::stdout(),
        "{}",
        if screen.is_utf8 || screen.rows.is_none() { text } else { text.chars().map(style::ascii).collect() }
    );
}

/// A text of several lines: a brief, a diff.
pub fn block(text: &str) {
    // `cerberus … | head` closes the pipe early; that is not an error.
    let _ = writeln!(std::io::stdout(), "{}", printable(text));
}

pub fn json<T: Serialize>(value: &T) {
    json_text(&serde_json::to_string_pretty(value).unwrap_or_default());
}

/// A path for JSON. Bytes that are not UTF-8 become U+FFFD; serializing the path itself would fail.
pub fn path(path: &Path) -> Cow<'_, str> {
    path.to_string_lossy()
}

/// Text that is already JSON: one line or several.
pub fn json_text(text: &str) {
    let _ = writeln!(std::io::stdout(), "{}", printable_json(text));
}

/// The output of the user's own command, unchanged: it may have colours.
pub fn own_output(bytes: &[u8]) {
    let _ = std::io::stdout().write_all(bytes);
}

/// One line of a message that is not a result, wrapped at the width of a terminal.
pub fn talk(text: &str) {
    talk_after("", text);
}

/// A message with what stands in front of its first line. The others are as far from the edge.
fn talk_after(start: &str, text: &str) {
    let text = text.replace('\n', " ");
    let indent = text.len() - text.trim_start().len() + start.len();
    let lines = match Screen::stderr_columns() {
        Some(columns) => wrapped(&text, columns.saturating_sub(indent)),
        None => vec![text.trim_start().to_string()],
    };
    let mut stderr = std::io::stderr();
    for (at, line) in lines.iter().enumerate() {
        let start = if at == 0 { start } else { "" };
        let _ = writeln!(stderr, "{start:indent$}{}", printable(line));
    }
}

/// Why a command failed and what to do next. With `--json`, one line of JSON; results are on standard output alone.
pub fn failure(json: bool, error: &str, hint: &str) {
    if json {
        let line = serde_json::json!({"error": error, "hint": hint}).to_string();
        let _ = writeln!(std::io::stderr(), "{}", printable_json(&line));
        return;
    }
    talk_after(PREFIX, error);
    talk_after(&" ".repeat(PREFIX.len()), hint);
}

/// What every message about a failure begins with.
pub const PREFIX: &str = "cerberus: ";

/// A question whose answer is typed behind it.
pub fn ask(question: &str) {
    let mut stderr = std::io::stderr();
    let _ = write!(stderr, "{}", printable(&question.replace('\n', " ")));
    let _ = stderr.flush();
}

/// Asks for confirmation of something that cannot be undone. Without a terminal, `--yes` is required.
pub fn confirm(question: &str, is_given: bool) -> Result<()> {
    if is_given {
        return Ok(());
    }
    if !std::io::stdin().is_terminal() {
        return Err(anyhow::anyhow!("confirmation needed, but the input is not a terminal: {question}"))
            .hint("add --yes to confirm");
    }
    match is_agreed(question) {
        true => Ok(()),
        false => Err(anyhow::anyhow!("cancelled; nothing was changed")).hint("answer y to continue"),
    }
}

/// Asks somebody at a terminal.
pub fn is_agreed(question: &str) -> bool {
    ask(&format!("{question} [y/N] "));
    let mut answer = String::new();
    let _ = std::io::stdin().read_line(&mut answer);
    matches!(answer.trim(), "y" | "Y" | "yes")
}

/// `640 bytes`, `12 KiB`, `3.4 MiB`, `1.2 GiB`.
pub fn bytes(bytes: u64) -> String {
    const UNITS: [(u64, &str); 2] = [(1 << 30, "GiB"), (1 << 20, "MiB")];
    match UNITS.into_iter().find(|(size, _)| bytes >= *size) {
        Some((size, unit)) => format!("{:.1} {unit}", bytes as f64 / size as f64),
        None if bytes >= 1 << 10 => format!("{} KiB", bytes >> 10),
        None => count(bytes as usize, "byte"),
    }
}

/// `3 files`, `1 file`.
pub fn count(number: usize, thing: &str) -> String {
    counted(number, thing, &format!("{thing}s"))
}

/// Like `count`, with an irregular plural.
pub fn counted(number: usize, one: &str, many: &str) -> String {
    format!("{number} {}", if number == 1 { one } else { many })
}
