//! Programs that read past transcripts, beside ours: what reading them takes, and which sessions they find.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};
use cerberus_agents::claude_code;
use cerberus_store::import::files;
use serde_json::Value;

use super::host::{Host, processor_time};
use crate::measure::{Times, say, table};
use crate::passages::{self, FIRST, KINDS, Question};
use crate::scratch::Scratch;

/// How a program reads transcripts and searches them.
#[derive(Clone, Copy, Debug)]
pub struct Past {
    pub import: &'static [&'static str],
    pub search: &'static [&'static str],
    /// The first sessions in an answer, as their agent names them.
    pub sessions: fn(&Host, &Value) -> Result<Vec<String>>,
}

/// One program's figures.
#[derive(Default)]
struct Searched {
    found: BTreeMap<&'static str, usize>,
    times: Vec<Duration>,
}

/// Compares all that can read the transcripts in this folder.
pub fn run(scratch: &Scratch, hosts: &[Host], data: &Path) -> Result<()> {
    let questions = passages::questions(data)?;
    let bytes = lay_out(scratch, data)?;
    let able: Vec<(&Host, Past)> = hosts.iter().filter_map(|host| Some((host, host.past()?))).collect();
    let mut rows = Vec::new();
    for (host, past) in &able {
        let folder = host.home().join(".claude/projects/-past");
        fs::create_dir_all(&folder)?;
        for file in fs::read_dir(scratch.path("transcripts"))? {
            let file = file?;
            fs::hard_link(file.path(), folder.join(file.file_name()))?;
        }
        let begun = Instant::now();
        let processor = host.run(past.import)?.0;
        rows.push(vec![
            host.name.to_string(),
            format!("{:.1}", processor.as_secs_f64()),
            format!("{:.1}", begun.elapsed().as_secs_f64()),
        ]);
    }
    say(&format!("\nreading {:.0} MB of transcripts", bytes as f64 / 1e6))?;
    table(&["", "processor s", "s"], &rows)?;
    let searched = search(&able, &questions)?;
    let names: Vec<&str> = std::iter::once("three words of a").chain(able.iter().map(|(host, _)| host.name)).collect();
    let asked = |kind: &str| questions.iter().filter(|question| question.kind == kind).count();
    let row = |kind: &&'static str| {
        let found = searched.iter().map(|one| one.found.get(kind).copied().unwrap_or_default());
        let cells = found.map(|found| format!("{found} of {}", asked(kind)));
        std::iter::once(kind.to_string()).chain(cells).collect()
    };
    let mut rows: Vec<Vec<String>> = KINDS.iter().map(row).collect();
    let medians = searched.into_iter().map(|one| format!("{:.0} ms", Times::new("", one.times).median_ms()));
    rows.push(std::iter::once("median of a search, processor time".to_string()).chain(medians).collect());
    say(&format!("\nsearch: the session is among the first {FIRST}"))?;
    table(&names, &rows)
}

/// Every question is asked of all programs in turns.
fn search(able: &[(&Host, Past)], questions: &[Question]) -> Result<Vec<Searched>> {
    let mut searched: Vec<Searched> = able.iter().map(|_| Searched::default()).collect();
    for question in questions {
        for ((host, past), one) in able.iter().zip(&mut searched) {
            let args: Vec<&str> =
                past.search.iter().map(|arg| if *arg == "@WORDS@" { &*question.words } else { arg }).collect();
            let (processor, printed) = host.run(&args)?;
            one.times.push(processor);
            let answer: Value = serde_json::from_slice(&printed).with_context(|| host.name)?;
            let shown = (past.sessions)(host, &answer)?;
            *one.found.entry(question.kind).or_default() += usize::from(shown.contains(&question.session));
        }
    }
    Ok(searched)
}

/// The first few different texts.
pub fn first<'a>(texts: impl Iterator<Item = &'a str>) -> Vec<&'a str> {
    let mut found: Vec<&str> = Vec::new();
    for text in texts {
        if found.len() < FIRST && !found.contains(&text) {
            found.push(text);
        }
    }
    found
}

/// Unpacks the transcripts into a folder as Claude Code has them, each named by its session. Returns their bytes.
fn lay_out(scratch: &Scratch, data: &Path) -> Result<usize> {
    let folder = scratch.path("transcripts");
    fs::create_dir_all(&folder)?;
    let mut sum = 0;
    for file in files::transcripts(claude_code::AGENT, data)? {
        let bytes = files::read(&file)?;
        let mut lines =
            bytes.split(|byte| *byte == b'\n').filter_map(|line| serde_json::from_slice::<Value>(line).ok());
        let session = lines.find_map(|line| line["sessionId"].as_str().map(str::to_string));
        let Some(session) = session.filter(|id| id.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'-'))
        else {
            continue;
        };
        let path: PathBuf = folder.join(format!("{session}.jsonl"));
        // A session that was resumed has several files.
        let mut text = fs::read(&path).unwrap_or_default();
        text.extend(&bytes);
        sum += bytes.len();
        fs::write(path, text)?;
    }
    ensure!(sum > 0, "there are no transcripts");
    Ok(sum)
}

impl Host<'_> {
    /// Runs the program itself; its processor time, and what it printed.
    pub fn run(&self, args: &[&str]) -> Result<(Duration, Vec<u8>)> {
        let (program, args) = args.split_first().context("a program")?;
        let nothing = self.scratch.file("nothing", b"")?;
        let counted = self.scratch.path("counted");
        let mut command = self.command("perf", &nothing)?;
        command.args(["stat", "-x", ",", "-e", "task-clock", "-o"]).arg(&counted).args(["--", program]).args(args);
        let output = command.output()?;
        ensure!(output.status.success(), "{} {args:?}: {}", self.name, String::from_utf8_lossy(&output.stderr));
        Ok((processor_time(&fs::read_to_string(&counted)?)?, output.stdout))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_answer_names_few_sessions_each_once() {
        assert_eq!(first(["a", "b", "a"].into_iter()), ["a", "b"]);
        assert_eq!(first(["a", "b", "c", "d", "e", "f"].into_iter()).len(), FIRST);
    }

    #[test]
    fn transcripts_are_named_by_their_session_and_a_resumed_one_is_whole() {
        let scratch = Scratch::new().unwrap();
        let data = scratch.path("data");
        fs::create_dir_all(&data).unwrap();
        for (name, session) in [("x.jsonl", "s-1"), ("y.jsonl", "s-1"), ("z.jsonl", "../s")] {
            let line = serde_json::json!({"type": "user", "sessionId": session, "message": {"content": name}});
            fs::write(data.join(name), format!("{line}\n")).unwrap();
        }
        lay_out(&scratch, &data).unwrap();
        let named: Vec<_> =
            fs::read_dir(scratch.path("transcripts")).unwrap().map(|one| one.unwrap().file_name()).collect();
        assert_eq!(named, ["s-1.jsonl"]);
        let text = fs::read_to_string(scratch.path("transcripts").join("s-1.jsonl")).unwrap();
        assert!(text.contains("x.jsonl") && text.contains("y.jsonl"), "{text}");
    }
}
