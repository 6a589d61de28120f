//! Writes the table of letter pairs by which random tokens are told from ordinary text.
//!
//! `counts.txt` holds how often each pair occurred in the Rust and Markdown files of this repository when the table was
//! made. The table follows from these counts alone, so it can be reproduced at any time. `--data DIR` counts the files
//! of a folder instead.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, ensure};

use crate::measure::say;

/// The letters, any digit, anything else.
const COLUMNS: usize = 28;
type Counts = [[u64; COLUMNS]; COLUMNS];

const COUNTS: &str = include_str!("counts.txt");
/// Added to every count, so that a pair that never occurs is rare rather than impossible.
const SMOOTHING: f64 = 20.0;
/// How often digits and other characters occur in random tokens; letters share the rest.
const DIGITS: f64 = 0.20;
const OTHERS: f64 = 0.02;

pub fn run(folder: Option<&Path>) -> Result<()> {
    let counts = match folder {
        Some(folder) => counted(folder)?,
        None => read(COUNTS)?,
    };
    if folder.is_some() {
        say("# counts.txt\n")?;
        counts.iter().try_for_each(|row| say(&row.map(|count| count.to_string()).join(" ")))?;
        say("\n# pairs.rs\n")?;
    }
    say(&table(&counts))
}

fn read(text: &str) -> Result<Counts> {
    let mut counts = [[0; COLUMNS]; COLUMNS];
    let rows: Vec<&str> = text.lines().collect();
    ensure!(rows.len() == COLUMNS, "{} rows instead of {COLUMNS}", rows.len());
    for (row, line) in counts.iter_mut().zip(rows) {
        let read: Vec<u64> = line.split(' ').map(str::parse).collect::<std::result::Result<_, _>>()?;
        *row = read.try_into().ok().context("a row has another number of counts")?;
    }
    Ok(counts)
}

fn counted(root: &Path) -> Result<Counts> {
    let mut files = Vec::new();
    collect(root, &mut files)?;
    let mut counts = [[0; COLUMNS]; COLUMNS];
    for file in &files {
        let text = fs::read(file).with_context(|| file.display().to_string())?;
        for pair in text.windows(2).filter(|pair| pair.iter().all(|&byte| is_joined(byte))) {
            counts[column(pair[0])][column(pair[1])] += 1;
        }
    }
    Ok(counts)
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

/// The table as it stands in `record`.
fn table(counts: &Counts) -> String {
    counts.iter().map(line).collect::<Vec<_>>().join("\n")
}

/// One row: how much likelier each second character is in a random token, in eighths of a bit.
fn line(row: &[u64; COLUMNS]) -> String {
    let smoothed = |count: &u64| *count as f64 + SMOOTHING;
    let sum: f64 = row.iter().map(smoothed).sum();
    let random = |column: usize| match column {
        26 => DIGITS,
        27 => OTHERS,
        _ => (1.0 - DIGITS - OTHERS) / 26.0,
    };
    let value = |(column, count): (usize, &u64)| {
        let bits = (random(column) / (smoothed(count) / sum)).log2();
        ((8.0 * bits).round().clamp(-40.0, 28.0) as i32).to_string()
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_table_in_record_follows_from_the_counts() {
        let code = include_str!("../../../crates/record/src/clean/secret/pairs.rs");
        let rows: Vec<&str> = code.lines().filter(|line| line.starts_with("    [")).collect();
        assert_eq!(table(&read(COUNTS).unwrap()), rows.join("\n"));
    }
}
