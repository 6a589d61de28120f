//! The speed of `cerberus import`, compared with a plain JSON parse of the same lines.
//!
//! Uses the transcripts in `--data DIR`, or else generates some.

use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};
use cerberus_agents::claude_code;
use cerberus_store::import::files;
use serde_json::{Value, json};

use crate::measure::{Target, ms, say, table};
use crate::payload::rust_code;
use crate::programs::Programs;
use crate::scratch::Scratch;

const ROUNDS: usize = 3;
const MADE_SESSIONS: usize = 40;
const MADE_TURNS: usize = 60;

pub fn run(programs: &Programs) -> Result<()> {
    let scratch = Scratch::new()?;
    let files = match programs.data.as_deref().filter(|data| data.is_dir()) {
        Some(dir) => unpacked(&scratch, dir)?,
        None => made(&scratch)?,
    };
    let bytes: u64 =
        files.iter().map(|file| std::fs::metadata(file).map(|known| known.len())).sum::<std::io::Result<u64>>()?;
    let (mut plain, mut imported) = (Duration::MAX, Duration::MAX);
    for round in 0..ROUNDS {
        plain = plain.min(parse_plainly(&files)?);
        imported = imported.min(import_all(programs, &scratch, &files, round)?);
    }
    let speed = |time: Duration| format!("{:.0}", bytes as f64 / 1e6 / time.as_secs_f64());
    let ratio = imported.as_secs_f64() / plain.as_secs_f64();
    say(&format!("{} transcripts, {:.1} MB, best of {ROUNDS}", files.len(), bytes as f64 / 1e6))?;
    table(
        &["what", "ms", "MB/s", "ratio"],
        &[
            vec!["every line parsed as JSON".into(), format!("{:.0}", ms(plain)), speed(plain), "1.00".into()],
            vec![
                "cerberus import, folded".into(),
                format!("{:.0}", ms(imported)),
                speed(imported),
                format!("{ratio:.2}, {}", Target::AtMost(2.0).beside(ratio)),
            ],
        ],
    )
}

fn parse_plainly(files: &[PathBuf]) -> Result<Duration> {
    let begun = Instant::now();
    let mut parsed = 0;
    for file in files {
        let bytes = std::fs::read(file)?;
        let lines = bytes.split(|byte| *byte == b'\n').filter(|line| !line.is_empty());
        parsed += lines.filter(|line| serde_json::from_slice::<Value>(line).is_ok()).count();
    }
    ensure!(parsed > 0, "there is nothing to import");
    Ok(begun.elapsed())
}

fn import_all(programs: &Programs, scratch: &Scratch, files: &[PathBuf], round: usize) -> Result<Duration> {
    let home = scratch.home(&format!("import-{round}"));
    let repo = scratch.repo();
    let mut command = scratch.cerberus(programs, &home, &["import", "claude-code", "--project"]);
    command.arg(&repo).args(files);
    let begun = Instant::now();
    let output = command.output()?;
    ensure!(output.status.success(), "import: {}", String::from_utf8_lossy(&output.stderr));
    Ok(begun.elapsed())
}

/// Decompressed copies, so that both sides read the same plain bytes.
fn unpacked(scratch: &Scratch, dir: &Path) -> Result<Vec<PathBuf>> {
    let found = files::transcripts(claude_code::AGENT, dir).with_context(|| dir.display().to_string())?;
    let copy = |(number, path): (usize, &PathBuf)| scratch.file(&format!("t{number}.jsonl"), &files::read(path)?);
    found.iter().enumerate().map(copy).collect()
}

fn made(scratch: &Scratch) -> Result<Vec<PathBuf>> {
    (0..MADE_SESSIONS)
        .map(|session| scratch.file(&format!("t{session}.jsonl"), made_transcript(session).as_bytes()))
        .collect()
}

fn made_transcript(session: usize) -> String {
    let mut text = String::new();
    for turn in 0..MADE_TURNS {
        let base = |kind: &str, step: usize| {
            json!({"type": kind, "uuid": format!("u{session}-{turn}-{step}"), "sessionId": format!("s{session}"),
                "cwd": "/home/dev/project", "gitBranch": "main", "isSidechain": false,
                "timestamp": format!("2026-01-{:02}T10:{:02}:{step:02}.000Z", 1 + session % 28, turn % 60)})
        };
        let mut push = |mut line: Value, key: &str, value: Value| {
            line[key] = value;
            text.push_str(&line.to_string());
            text.push('\n');
        };
        let (id, path) = (format!("toolu_{session}_{turn}"), format!("/home/dev/project/src/m{turn}.rs"));
        let code = rust_code(turn, 150);
        push(base("user", 0), "message", json!({"role": "user", "content": format!("Go on with module {turn}")}));
        let input = json!({"file_path": path, "content": code});
        let used = json!({"content": [{"type": "tool_use", "id": id, "name": "Write", "input": input}]});
        push(base("assistant", 1), "message", used);
        let mut result = base("user", 2);
        result["toolUseResult"] = json!({"type": "create", "filePath": path, "content": code, "structuredPatch": []});
        push(result, "message", json!({"content": [{"type": "tool_result", "tool_use_id": id, "content": "written"}]}));
        push(base("assistant", 3), "message", json!({"content": [{"type": "text", "text": "Written and tested."}]}));
    }
    text
}
