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
pub mod session_page;
pub mod sessions;
pub mod style;
pub mod time;
pub mod words;

use std::borrow::Cow;
use std::io::{IsTerminal, Write};
use std::path::Path;

use cerberus_record::clean::text::{printable, printable_json};
use serde::Serialize;

use crate::failure::{Hint, Result};

/// One line of a result.
pub fn line(text: &str) {
    block(&text.replace('\n', " "));
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

/// One line of a message that is not a result.
pub fn talk(text: &str) {
    let _ = writeln!(std::io::stderr(), "{}", printable(&text.replace('\n', " ")));
}

/// Why a command failed and what to do next. With `--json`, one line of JSON; results are on standard output alone.
pub fn failure(json: bool, error: &str, hint: &str) {
    if json {
        let line = serde_json::json!({"error": error, "hint": hint}).to_string();
        let _ = writeln!(std::io::stderr(), "{}", printable_json(&line));
        return;
    }
    talk(&format!("cerberus: {error}"));
    talk(&format!("          {hint}"));
}

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
    let stdin = std::io::stdin();
    if !stdin.is_terminal() {
        return Err(anyhow::anyhow!("confirmation needed, but the input is not a terminal: {question}"))
            .hint("add --yes to confirm");
    }
    ask(&format!("{question} [y/N] "));
    let mut answer = String::new();
    let _ = stdin.read_line(&mut answer);
    match answer.trim() {
        "y" | "Y" | "yes" => Ok(()),
        _ => Err(anyhow::anyhow!("cancelled; nothing was changed")).hint("answer y to continue"),
    }
}

/// `3 files`, `1 file`.
pub fn bytes(bytes: u64) -> String {
    format!("{:.1} MiB", bytes as f64 / f64::from(1 << 20))
}

pub fn count(number: usize, thing: &str) -> String {
    counted(number, thing, &format!("{thing}s"))
}

/// Like `count`, with an irregular plural.
pub fn counted(number: usize, one: &str, many: &str) -> String {
    format!("{number} {}", if number == 1 { one } else { many })
}
