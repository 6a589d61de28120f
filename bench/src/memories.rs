//! How search time grows: 1,000 to 100,000 memories, a million with `--large`, each search in its own process.
//!
//! The memories are generated, the same in every run: short notes about code, with common words, rare words and names
//! that few of them share.

use std::path::Path;
use std::time::Instant;

use anyhow::{Result, ensure};
use cerberus_record::id::fnv1a;
use serde_json::json;

use crate::measure::{Contender, Target, Times, interleave, ms, say, table};
use crate::programs::{Programs, Sizes};
use crate::scratch::Scratch;

const USUAL: [(&str, usize); 3] = [("1,000", 1_000), ("10,000", 10_000), ("100,000", 100_000)];
const LARGE: (&str, usize) = ("1,000,000", 1_000_000);
/// The size for which the target holds.
const TARGET_SIZE: &str = "100,000";
const RUNS: usize = 60;

const VERBS: [&str; 16] = [
    "use", "avoid", "prefer", "check", "write", "keep", "test", "deploy", "cache", "rename", "split", "log", "review",
    "measure", "lock", "retry",
];
const THINGS: [&str; 24] = [
    "query",
    "handler",
    "migration",
    "endpoint",
    "token",
    "session",
    "worker",
    "queue",
    "index",
    "schema",
    "fixture",
    "timeout",
    "parser",
    "socket",
    "payload",
    "config",
    "buffer",
    "branch",
    "release",
    "import",
    "journal",
    "thread",
    "report",
    "header",
];
const PLACES: [&str; 12] =
    ["billing", "search", "login", "export", "mail", "admin", "gateway", "store", "upload", "metrics", "sync", "audit"];

pub fn run(programs: &Programs) -> Result<()> {
    let scratch = Scratch::new()?;
    let mut sizes = USUAL.to_vec();
    sizes.extend(Some(LARGE).filter(|_| programs.sizes == Sizes::Large));
    let nothing = scratch.file("nothing", b"")?;
    let floor_file = scratch.path("floor");
    let mut filled = Vec::new();
    let mut contenders = vec![Contender::program("floor", RUNS, scratch.floor(programs, &floor_file), &nothing)];
    for (name, count) in &sizes {
        let home = scratch.home(&format!("memories-{count}"));
        filled.push(fill(programs, &scratch, &home, *count)?);
        let (scratch, home, nothing) = (&scratch, home.clone(), &nothing);
        let mut turn = 0;
        contenders.push(Contender::new(name, RUNS, move || {
            turn += 1;
            let query = query(turn, *count);
            let mut search = scratch.cerberus(programs, &home, &["memory", "search", &query, "--json"]);
            crate::measure::spawn_to_exit(&mut search, nothing)
        }));
    }
    let times = interleave(contenders)?;
    let Some((floor, searches)) = times.split_first() else { return Ok(()) };
    let rows: Vec<Vec<String>> =
        searches.iter().zip(&filled).map(|(times, filled)| cells(times, filled, floor)).collect();
    say(&format!("searches of 2 to 5 words, one process each; floor {:.2} ms", floor.median_ms()))?;
    table(&["memories", "import s", "view MB", "search ms", "p95 ms", "x floor", "target"], &rows)
}

struct Filled {
    import_ms: f64,
    view_bytes: u64,
}

fn cells(times: &Times, filled: &Filled, floor: &Times) -> Vec<String> {
    let target = if times.name == TARGET_SIZE { Target::AtMost(10.0).beside(times.median_ms()) } else { String::new() };
    vec![
        times.name.to_string(),
        format!("{:.1}", filled.import_ms / 1e3),
        format!("{:.1}", filled.view_bytes as f64 / 1e6),
        format!("{:.2}", times.median_ms()),
        format!("{:.2}", times.percentile_ms(95)),
        format!("{:.2}", times.median_ms() / floor.median_ms()),
        target,
    ]
}

fn fill(programs: &Programs, scratch: &Scratch, home: &Path, count: usize) -> Result<Filled> {
    let mut lines = String::new();
    for at in 0..count {
        lines.push_str(&json!({"content": sentence(at), "category": "note"}).to_string());
        lines.push('\n');
    }
    let file = scratch.file("memories.jsonl", lines.as_bytes())?;
    let begun = Instant::now();
    let imported = scratch.json(programs, home, &["memory", "import", &file.display().to_string()])?;
    let import_ms = ms(begun.elapsed());
    ensure!(imported["imported"] == count, "not every memory was imported: {imported}");
    let mut view_bytes = 0;
    for entry in std::fs::read_dir(home)? {
        let entry = entry?;
        if entry.file_name().to_string_lossy().starts_with("view-") {
            view_bytes += entry.metadata()?.len();
        }
    }
    Ok(Filled { import_ms, view_bytes })
}

/// Picks one item; the same numbers always give the same item.
fn pick<'a>(words: &[&'a str], at: usize, salt: usize) -> &'a str {
    words[fnv1a(&[at.to_le_bytes(), salt.to_le_bytes()].concat()) as usize % words.len()]
}

/// A name that about one in a hundred memories share, at any size.
fn name(at: usize, salt: usize) -> String {
    let number = fnv1a(&[at.to_le_bytes(), salt.to_le_bytes()].concat()) % 997;
    format!("{}_{}{number}", pick(&PLACES, at, salt), pick(&THINGS, at, salt + 1))
}

fn sentence(at: usize) -> String {
    let (verb, thing, place) = (pick(&VERBS, at, 1), pick(&THINGS, at, 2), pick(&PLACES, at, 3));
    let (other, file) = (pick(&THINGS, at, 4), name(at, 5));
    format!("{verb} the {thing} of {place} when the {other} in src/{place}/{file}.rs changes, note {at}")
}

/// A query of two to five words from a set of this size, rare and common ones.
fn query(turn: usize, count: usize) -> String {
    let at = fnv1a(&turn.to_le_bytes()) as usize % count;
    let (thing, place, verb, other) =
        (pick(&THINGS, at, 2), pick(&PLACES, at, 3), pick(&VERBS, at, 1), pick(&THINGS, at, 4));
    match turn % 4 {
        0 => format!("{thing} {place}"),
        1 => format!("{verb} {thing} {}", name(at, 5)),
        2 => format!("how to {verb} the {thing} of {place} when the {other} changes"),
        _ => format!("{thing} {place} {at}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_same_memories_and_queries_are_made_every_time() {
        assert_eq!(sentence(7), sentence(7));
        assert_ne!(sentence(7), sentence(8));
        assert_eq!(query(3, 1_000), query(3, 1_000));
    }
}
