//! How well secrets are found, and how long the search takes.
//!
//! You bring the labelled texts: a folder of JSON Lines with `text` and `label` (1: contains a secret, 0: contains
//! none), plain or compressed, one file per corpus. A text counts as found if any part of it is redacted. Lines with
//! `text` and `secrets` are attacks: one has passed if any of its secrets is still in the text. With a folder of
//! transcripts (`--sessions`), everything that is cut from prompts and commands is counted and printed. The timing
//! generates its own text: a megabyte each of ordinary code and of adversarial input, compared with checking the same
//! bytes for valid UTF-8 and counting their lines.

use std::collections::{BTreeSet, HashSet};
use std::hint::black_box;
use std::path::{Path, PathBuf};
use std::time::Instant;

use anyhow::{Context, Result};
use cerberus_core::clean::BUILT_IN;
use cerberus_core::clean::text::clip;
use serde::Deserialize;
use serde_json::Value;

use crate::measure::{self, Contender, Target, Times, say, table};
use crate::payload;

const TARGET_RECALL: Target = Target::AtLeast(0.85);
const TARGET_FALSE: Target = Target::AtMost(0.1);
const TARGET_PASSED: Target = Target::AtMost(0.15);
/// Cut tokens per 1,000.
const TARGET_PROMPTS: Target = Target::AtMost(10.0);
const TARGET_COMMANDS: Target = Target::AtMost(30.0);
const TARGET_ADVERSARIAL_MS: Target = Target::AtMost(20.0);

const RUNS: usize = 30;
const TEXT_BYTES: usize = 1024 * 1024;

/// Words that trigger a closer look, repeated.
const ADVERSARIAL: [&str; 32] = [
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
    "mysql -p",
    "echo a | ",
    "password of it ",
    "DE89 3704 ",
    "seed phrase: one two ",
    "aB3dE5fG7hJ9kL1m",
    "login a / ",
    "pass\u{200b}",
];

#[derive(Deserialize)]
struct Row {
    #[serde(default)]
    name: String,
    text: String,
    label: Option<u8>,
    #[serde(default)]
    secrets: Vec<String>,
}

pub fn run(data: Option<&Path>, sessions: Option<&Path>) -> Result<()> {
    match data.filter(|data| data.is_dir()) {
        Some(folder) => scores(folder)?,
        None => say("scores need labelled texts: --data DIR (JSON Lines with text and label; may be gzipped)")?,
    }
    if let Some(folder) = sessions {
        say("")?;
        cut_from_sessions(folder)?;
    }
    say("")?;
    times()
}

fn scores(folder: &Path) -> Result<()> {
    let mut files: Vec<PathBuf> = std::fs::read_dir(folder)?.flatten().map(|entry| entry.path()).collect();
    files.retain(|path| path.to_string_lossy().contains(".jsonl"));
    files.sort();
    let read: Vec<(String, Vec<Row>)> = files.iter().map(|path| labelled(path)).collect::<Result<_>>()?;
    let (attacks, corpora): (Vec<_>, Vec<_>) =
        read.into_iter().partition(|(_, rows)| rows.iter().all(|row| row.label.is_none()));
    corpora_table(&corpora)?;
    for (name, rows) in &attacks {
        say("")?;
        passed(name, rows)?;
    }
    Ok(())
}

/// Recall and false alarms: as stored in words, where random tokens are cut, and of the rules alone.
fn corpora_table(corpora: &[(String, Vec<Row>)]) -> Result<()> {
    let secret: HashSet<&str> = corpora
        .iter()
        .flat_map(|(_, rows)| rows)
        .filter(|row| row.label == Some(1))
        .map(|row| row.text.as_str())
        .collect();
    let mut rows = Vec::new();
    for (name, texts) in corpora {
        let in_words = |row: &Row| BUILT_IN.redact_words(&row.text) != row.text;
        let by_rules = |row: &Row| BUILT_IN.redact(&row.text) != row.text;
        let share = |label: u8, is_cut: &dyn Fn(&Row) -> bool| {
            // The same text may be labelled both ways.
            let is_clear = |row: &&Row| label == 1 || !secret.contains(row.text.as_str());
            let all: Vec<_> = texts.iter().filter(|row| row.label == Some(label)).filter(is_clear).collect();
            let cut = all.iter().filter(|row| is_cut(row)).count();
            (cut as f64 / all.len().max(1) as f64, all.len())
        };
        let (recall, secrets) = share(1, &in_words);
        let (alarms, plain) = share(0, &in_words);
        let (rule_alarms, _) = share(0, &by_rules);
        rows.push(vec![
            name.clone(),
            secrets.to_string(),
            format!("{recall:.3}"),
            TARGET_RECALL.beside(recall),
            format!("{:.3}", share(1, &by_rules).0),
            plain.to_string(),
            format!("{alarms:.3}"),
            format!("{rule_alarms:.3}"),
            TARGET_FALSE.beside(rule_alarms),
        ]);
    }
    let columns = ["corpus", "secrets", "recall", "target", "by rules", "others", "false alarms", "by rules", "target"];
    table(&columns, &rows)
}

/// Which attacks passed.
fn passed(name: &str, attacks: &[Row]) -> Result<()> {
    let has_passed = |row: &&Row| {
        let kept = BUILT_IN.redact_words(&row.text);
        row.secrets.iter().any(|secret| kept.contains(secret.as_str()))
    };
    let passed: Vec<&Row> = attacks.iter().filter(has_passed).collect();
    let share = passed.len() as f64 / attacks.len().max(1) as f64;
    say(&format!("{name}: {} of {} passed ({})", passed.len(), attacks.len(), TARGET_PASSED.beside(share)))?;
    passed.iter().try_for_each(|row| say(&format!("  {}", row.name)))
}

fn labelled(path: &Path) -> Result<(String, Vec<Row>)> {
    let bytes = cerberus_engine::import::files::read(path).with_context(|| path.display().to_string())?;
    let lines = bytes.split(|byte| *byte == b'\n').filter(|line| !line.is_empty());
    let rows = lines.map(serde_json::from_slice).collect::<std::result::Result<_, _>>();
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    let name = name.split('.').next().unwrap_or_default().to_string();
    Ok((name, rows.with_context(|| path.display().to_string())?))
}

/// What is cut from the prompts and commands of all transcripts below a folder.
fn cut_from_sessions(folder: &Path) -> Result<()> {
    let (mut prompts, mut commands) = (Vec::new(), Vec::new());
    for path in transcripts(folder)? {
        let bytes = cerberus_engine::import::files::read(&path).with_context(|| path.display().to_string())?;
        for line in bytes.split(|byte| *byte == b'\n') {
            let Ok(line) = serde_json::from_slice::<Value>(line) else { continue };
            words_of(&line, &mut prompts, &mut commands);
        }
    }
    for (name, texts, target) in [("prompts", &prompts, TARGET_PROMPTS), ("commands", &commands, TARGET_COMMANDS)] {
        let cuts: Vec<String> = texts.iter().flat_map(|text| cut_tokens(text)).collect();
        let rate = 1000.0 * cuts.len() as f64 / texts.len().max(1) as f64;
        say(&format!(
            "{name}: {} cut from {}, {rate:.1} per 1,000 ({})",
            cuts.len(),
            texts.len(),
            target.beside(rate)
        ))?;
        let distinct: BTreeSet<&String> = cuts.iter().collect();
        distinct.iter().try_for_each(|cut| say(&format!("  {cut}")))?;
    }
    Ok(())
}

fn transcripts(folder: &Path) -> Result<Vec<PathBuf>> {
    let mut found = Vec::new();
    let mut folders = vec![folder.to_path_buf()];
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(&folder).with_context(|| folder.display().to_string())?.flatten() {
            let path = entry.path();
            let name = entry.file_name();
            if path.is_dir() {
                folders.push(path);
            } else if name.to_string_lossy().contains(".jsonl") {
                found.push(path);
            }
        }
    }
    found.sort();
    Ok(found)
}

/// The prompt or the commands in a line of a transcript.
fn words_of(line: &Value, prompts: &mut Vec<String>, commands: &mut Vec<String>) {
    let content = &line["message"]["content"];
    let parts = content.as_array().map(Vec::as_slice).unwrap_or_default();
    if line["type"] == "user" && line["isMeta"] != true && line["isSidechain"] != true {
        let texts = parts.iter().filter(|part| part["type"] == "text").filter_map(|part| part["text"].as_str());
        let text = content.as_str().map_or_else(|| texts.collect::<Vec<_>>().join("\n"), str::to_string);
        let typed = !["<", "Caveat", "This session is being continued"].iter().any(|begin| text.starts_with(begin));
        if typed && !text.is_empty() {
            prompts.push(clip(&text, 6000).to_string());
        }
    }
    let uses = parts.iter().filter(|part| part["type"] == "tool_use");
    commands.extend(uses.filter_map(|used| used["input"]["command"].as_str()).map(|text| clip(text, 2000).to_string()));
}

/// What was cut from a text, each with a few words around it.
fn cut_tokens(text: &str) -> Vec<String> {
    let kept = BUILT_IN.redact_words(text);
    let mut found = Vec::new();
    let mut at = 0;
    for (mark, _) in kept.match_indices("[redacted:") {
        let before = &kept[kept.floor_char_boundary(mark.saturating_sub(24))..mark];
        // Texts that were redacted before have marks of their own.
        if text.contains(&kept[kept.floor_char_boundary(mark.saturating_sub(8))..(mark + 12).min(kept.len())]) {
            continue;
        }
        let start = text[at..].find(before).map_or(at, |found| at + found + before.len());
        found.push(format!("{before:?} {:?}", clip(&text[start..], 40)));
        at = text.ceil_char_boundary(start);
    }
    found
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
    black_box(BUILT_IN.redact_words(text));
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
