//! How results are printed: data to standard output, and a reader that has gone is no error.

pub mod keys;
pub mod memory;

use std::io::{IsTerminal, Write};

use serde::Serialize;

use crate::failure::{Hint, Result};

pub fn line(text: &str) {
    // `cerberus … | head` closes the pipe early; nobody is left to be told.
    let _ = writeln!(std::io::stdout(), "{text}");
}

pub fn json<T: Serialize>(value: &T) {
    line(&serde_json::to_string_pretty(value).unwrap_or_default());
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
    eprint!("{question} [y/N] ");
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
