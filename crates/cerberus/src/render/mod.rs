//! How results are printed: data to standard output, talk to standard error, and a reader that has gone is no error.
//!
//! The one door to the terminal: names, words and output of others may stand in any text, so every text is made
//! harmless here. One call prints one line, except for [`block`].

pub mod keys;
pub mod loops;
pub mod memory;

use std::borrow::Cow;
use std::io::{IsTerminal, Write};
use std::path::Path;

use cerberus_core::clean::text::{printable, printable_json};
use serde::Serialize;

use crate::failure::{Hint, Result};

/// One line of a result.
pub fn line(text: &str) {
    block(&text.replace('\n', " "));
}

/// A text whose own lines count: a brief, a difference.
pub fn block(text: &str) {
    // `cerberus … | head` closes the pipe early; nobody is left to be told.
    let _ = writeln!(std::io::stdout(), "{}", printable(text));
}

pub fn json<T: Serialize>(value: &T) {
    json_text(&serde_json::to_string_pretty(value).unwrap_or_default());
}

/// A path for JSON: what is no text in it is told as U+FFFD. Serialising a path itself fails there.
pub fn path(path: &Path) -> Cow<'_, str> {
    path.to_string_lossy()
}

/// What is JSON already: a line, or many.
pub fn json_text(text: &str) {
    let _ = writeln!(std::io::stdout(), "{}", printable_json(text));
}

/// The output of a command of the user's own, as it is: it may have colours.
pub fn own_output(bytes: &[u8]) {
    let _ = std::io::stdout().write_all(bytes);
}

/// One line of talk: what is no result.
pub fn talk(text: &str) {
    let _ = writeln!(std::io::stderr(), "{}", printable(&text.replace('\n', " ")));
}

/// Asks before something that cannot be undone. Where nobody can answer, `--yes` must have.
pub fn confirm(question: &str, is_given: bool) -> Result<()> {
    if is_given {
        return Ok(());
    }
    let stdin = std::io::stdin();
    if !stdin.is_terminal() {
        return Err(anyhow::anyhow!("{question} Nobody is here to answer")).hint("add --yes");
    }
    eprint!("{} [y/N] ", printable(&question.replace('\n', " ")));
    let mut answer = String::new();
    let _ = stdin.read_line(&mut answer);
    match answer.trim() {
        "y" | "Y" | "yes" => Ok(()),
        _ => Err(anyhow::anyhow!("nothing was done")).hint("answer y to go on"),
    }
}

/// `3 files`, `1 file`.
pub fn count(number: usize, thing: &str) -> String {
    counted(number, thing, &format!("{thing}s"))
}

/// The same for things whose plural is another word.
pub fn counted(number: usize, one: &str, many: &str) -> String {
    format!("{number} {}", if number == 1 { one } else { many })
}
