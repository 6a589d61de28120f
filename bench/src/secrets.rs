//! How well secrets are found, and how long the search takes.
//!
//! You bring the labelled texts: a folder of JSON Lines with `text` and `label` (1: contains a secret, 0: contains
//! none), plain or compressed, one file per corpus. A text counts as found if any part of it is redacted. The timing
//! generates its own text: a megabyte each of ordinary code and of adversarial input, compared with checking the same
//! bytes for valid UTF-8 and counting their lines.

use cerberus_core::clean::BUILT_IN;
use std::collections::HashSet;
use std::hint::black_box;
use std::path::{Path, PathBuf};
use std::time::Instant;

use anyhow::{Context, Result};
use serde::Deserialize;

use crate::measure::{self, Contender, Target, Times, say, table};
use crate::payload;
use crate::programs::Programs;

const TARGET_RECALL: Target = Target::AtLeast(0.85);
const TARGET_FALSE: Target = Target::AtMost(0.1);
const TARGET_ADVERSARIAL_MS: Target = Target::AtMost(20.0);

const RUNS: usize = 30;
const TEXT_BYTES: usize = 1024 * 1024;

/// Words that trigger a closer look, repeated.
const ADVERSARIAL: [&str; 24] = [
    "a",
    "=",
    "-",
    "token=",
    "pwd:",
    "pwd=\"",
    "pwd=`",
    "password=hunter2 ",
    "password='",
    "apikey=",
    "str=",
    "value=",
    "default=",
    "Authorization: ",
    "://a:",
    "http://a:b1c2@h ",
    "-u a:",
    "sshpass -p ",
    "-----BEGIN PRIVATE KEY-----",
    "ghp_a-",
    "eyJ.",
    "1Q~",
    ":AA",
    "<private>",
];

#[derive(Deserialize)]
struct Labelled {
    text: String,
    label: u8,
}

pub fn run(programs: &Programs) -> Result<()> {
    match programs.data.as_deref().filter(|data| data.is_dir()) {
        Some(folder) => scores(folder)?,
        None => say("scores need labelled texts: --data DIR (JSON Lines with text and label; may be gzipped)")?,
    }
    say("")?;
    times()
}

fn scores(folder: &Path) -> Result<()> {
    let mut corpora: Vec<PathBuf> = std::fs::read_dir(folder)?.flatten().map(|entry| entry.path()).collect();
    corpora.retain(|path| path.to_string_lossy().contains(".jsonl"));
    corpora.sort();
    let read: Vec<(String, Vec<Labelled>)> = corpora.iter().map(|path| labelled(path)).collect::<Result<_>>()?;
    let secret: HashSet<&str> =
        read.iter().flat_map(|(_, rows)| rows).filter(|row| row.label == 1).map(|row| row.text.as_str()).collect();
    let mut rows = Vec::new();
    for (name, texts) in &read {
        let is_cut = |row: &Labelled| BUILT_IN.redact(&row.text) != row.text;
        let share = |label: u8, also: &dyn Fn(&Labelled) -> bool| {
            let all: Vec<_> = texts.iter().filter(|row| row.label == label && also(row)).collect();
            let cut = all.iter().filter(|row| is_cut(row)).count();
            (cut as f64 / all.len().max(1) as f64, all.len())
        };
        let (recall, secrets) = share(1, &|_| true);
        let (alarms, plain) = share(0, &|_| true);
        let (clear, _) = share(0, &|row| !secret.contains(row.text.as_str()));
        rows.push(vec![
            name.clone(),
            secrets.to_string(),
            format!("{recall:.3}"),
            TARGET_RECALL.beside(recall),
            plain.to_string(),
            format!("{alarms:.3}"),
            TARGET_FALSE.beside(alarms),
            format!("{clear:.3}"),
        ]);
    }
    let columns =
        ["corpus", "secrets", "recall", "target", "others", "false alarms", "target", "of those not labelled 1 too"];
    table(&columns, &rows)
}

fn labelled(path: &Path) -> Result<(String, Vec<Labelled>)> {
    let bytes = cerberus_engine::import::files::read(path).with_context(|| path.display().to_string())?;
    let lines = bytes.split(|byte| *byte == b'\n').filter(|line| !line.is_empty());
    let rows = lines.map(serde_json::from_slice).collect::<std::result::Result<_, _>>();
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    let name = name.split('.').next().unwrap_or_default().to_string();
    Ok((name, rows.with_context(|| path.display().to_string())?))
}

fn times() -> Result<()> {
    let code = payload::rust_code(0, 200);
    let code = code.repeat(TEXT_BYTES / code.len() + 1);
    let worst = slowest();
    let hostile = worst.repeat(TEXT_BYTES / worst.len() + 1);
    let measured = measure::interleave(vec![
        timed("UTF-8 and lines, code", &code, plainly),
        timed("UTF-8 and lines, hostile", &hostile, plainly),
        timed("redact, code", &code, redacted),
        timed("redact, hostile", &hostile, redacted),
    ])?;
    let [base, hostile_base, ordinary, attacked] = measured.as_slice() else { return Ok(()) };
    let row = |times: &Times, base: &Times, target: String| -> Vec<String> {
        let ratio = times.median_ms() / base.median_ms();
        let fastest = times.percentile_ms(0);
        vec![
            times.name.into(),
            format!("{fastest:.2}"),
            format!("{:.2}", times.median_ms()),
            format!("{ratio:.1}"),
            target,
        ]
    };
    say(&format!("1 MB of each; the worst of {} hostile words is {worst:?}", ADVERSARIAL.len()))?;
    let target = TARGET_ADVERSARIAL_MS.beside(attacked.percentile_ms(0));
    table(
        &["", "fastest ms", "median ms", "x plain", "target"],
        &[row(ordinary, base, String::new()), row(attacked, hostile_base, format!("ms {target}"))],
    )
}

fn timed<'a>(name: &'static str, text: &'a str, work: fn(&str)) -> Contender<'a> {
    Contender::new(name, RUNS, move || {
        let begun = Instant::now();
        work(black_box(text));
        Ok(begun.elapsed())
    })
}

fn redacted(text: &str) {
    black_box(BUILT_IN.redact(text));
}

/// The minimum work of any pass over a text.
fn plainly(text: &str) {
    black_box(std::str::from_utf8(text.as_bytes()).is_ok());
    black_box(text.bytes().filter(|byte| *byte == b'\n').count());
}

fn slowest() -> &'static str {
    let cost = |word: &&&str| {
        let text = word.repeat(TEXT_BYTES / 4 / word.len());
        let once = || {
            let begun = Instant::now();
            redacted(&text);
            begun.elapsed()
        };
        (0..3).map(|_| once()).min()
    };
    ADVERSARIAL.iter().max_by_key(cost).copied().unwrap_or_default()
}
