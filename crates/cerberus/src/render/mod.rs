//! How results are printed: data to standard output, and a reader that has gone is no error.

use std::io::Write;

use serde::Serialize;

pub fn line(text: &str) {
    // `cerberus … | head` closes the pipe early; nobody is left to be told.
    let _ = writeln!(std::io::stdout(), "{text}");
}

pub fn json<T: Serialize>(value: &T) {
    line(&serde_json::to_string_pretty(value).unwrap_or_default());
}

/// `3 files`, `1 file`.
pub fn count(number: usize, thing: &str) -> String {
    format!("{number} {thing}{}", if number == 1 { "" } else { "s" })
}
