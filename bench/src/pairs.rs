//! Writes the table of letter pairs by which random tokens are told from ordinary text.
//!
//! Counts the pairs in all Rust and Markdown files below a folder (`--data`, by default this repository). The output
//! depends on nothing else, and is what `clean/secret/pairs.rs` in core contains.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};

use crate::measure::say;
use crate::programs::Programs;

/// The letters, any digit, anything else.
const COLUMNS: usize = 28;
/// Added to every count, so that a pair that never occurs is rare rather than impossible.
const SMOOTHING: f64 = 20.0;
/// How often digits and other characters occur in random tokens; letters share the rest.
const DIGITS: f64 = 0.20;
const OTHERS: f64 = 0.02;

pub fn run(programs: &Programs) -> Result<()> {
    let root = programs.data.clone().unwrap_or_else(|| PathBuf::from("."));
    let mut files = Vec::new();
    collect(&root, &mut files)?;
    files.sort();
    let mut counts = [[SMOOTHING; COLUMNS]; COLUMNS];
    for file in &files {
        let text = fs::read(file).with_context(|| file.display().to_string())?;
        for pair in text.windows(2).filter(|pair| pair.iter().all(|&byte| is_joined(byte))) {
            counts[column(pair[0])][column(pair[1])] += 1.0;
        }
    }
    counts.iter().try_for_each(|row| say(&line(row)))
}

/// The Rust and Markdown files below a folder, without hidden folders and `target`.
fn collect(folder: &Path, files: &mut Vec<PathBuf>) -> Result<()> {
    for entry in fs::read_dir(folder).with_context(|| folder.display().to_string())? {
        let entry = entry?;
        let name = entry.file_name();
        let (path, name) = (entry.path(), name.to_string_lossy());
        if entry.file_type()?.is_dir() {
            if !name.starts_with('.') && name != "target" {
                collect(&path, files)?;
            }
        } else if name.ends_with(".rs") || name.ends_with(".md") {
            files.push(path);
        }
    }
    Ok(())
}

/// One row: how much likelier each second character is in a random token, in eighths of a bit.
fn line(row: &[f64; COLUMNS]) -> String {
    let sum: f64 = row.iter().sum();
    let random = |column: usize| match column {
        26 => DIGITS,
        27 => OTHERS,
        _ => (1.0 - DIGITS - OTHERS) / 26.0,
    };
    let value = |(column, count): (usize, &f64)| {
        let bits = (random(column) / (count / sum)).log2();
        (8.0 * bits).round().clamp(-40.0, 28.0).to_string()
    };
    format!("    [{}],", row.iter().enumerate().map(value).collect::<Vec<_>>().join(", "))
}

fn is_joined(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || b"_-+/=~%.".contains(&byte)
}

fn column(byte: u8) -> usize {
    match byte.to_ascii_lowercase() {
        letter @ b'a'..=b'z' => usize::from(letter - b'a'),
        b'0'..=b'9' => 26,
        _ => 27,
    }
}
