//! Does the brief of a session contain the files that it then edits? Replays consecutive sessions of real people.
//!
//! You bring the sessions: a folder with `sessions.jsonl` (`chain`, `file`, `start`) and one folder per chain with
//! transcripts and `gitlog.jsonl` (`t`, `files`). Each chain's repository is rebuilt from its log and checked out in
//! its state at the start of each session; the real program is asked, knowing only what happened before. Files are
//! ranked by their first mention; a name that several files share counts for each of them in part.

pub mod baselines;
pub mod latency;
mod made;
mod open_items;
pub mod replay;
pub mod session;

use std::collections::BTreeMap;
use std::path::Path;

use anyhow::{Context, Result};
use open_items::Carried;
use replay::Replay;
use serde::Deserialize;
use session::Session;

use crate::measure::{say, table};
use crate::programs::Programs;
use crate::scratch::Scratch;

const KS: [usize; 3] = [5, 10, 20];

#[derive(Clone, Deserialize)]
pub struct Row {
    pub chain: String,
    pub file: String,
    pub start: String,
}

#[derive(Clone, Deserialize)]
pub struct Commit {
    pub t: i64,
    pub files: Vec<String>,
}

/// The share of edited files that were in the brief, one value per session.
#[derive(Default)]
struct Scores {
    recalls: Vec<[f64; 3]>,
    tokens: Vec<usize>,
}

/// The figures of one chain, by kind of brief.
type Figures = BTreeMap<&'static str, Scores>;

pub const AT_START: &str = "cerberus, at start";
pub const WITH_PROMPT: &str = "cerberus, with first prompt";

pub fn run(programs: &Programs) -> Result<()> {
    let Some(data) = programs.data.as_deref().filter(|data| data.join("sessions.jsonl").is_file()) else {
        return say("needs consecutive sessions: --data DIR with sessions.jsonl, transcripts and gitlog.jsonl");
    };
    let rows: Vec<Row> = lines(&data.join("sessions.jsonl"))?;
    let mut chains: BTreeMap<String, Vec<Row>> = BTreeMap::new();
    rows.into_iter().for_each(|row| chains.entry(row.chain.clone()).or_default().push(row));
    let (mut figures, mut carried) = (Vec::new(), Carried::default());
    for (name, mut rows) in chains {
        rows.sort_by(|a, b| a.start.cmp(&b.start));
        let scratch = Scratch::new()?;
        let commits: Vec<Commit> = lines(&data.join(&name).join("gitlog.jsonl"))?;
        let mut replay = Replay::new(programs, &scratch, commits)?;
        figures.push((name.clone(), chain(data, &rows, &mut replay, &mut carried)?));
    }
    print(&figures)?;
    carried.print("real sessions")?;
    let mut of_made = Carried::default();
    made::score(programs, &mut of_made)?;
    of_made.print("synthetic sessions")?;
    latency::of_largest_chain(programs, data)
}

pub fn lines<T: for<'a> Deserialize<'a>>(path: &Path) -> Result<Vec<T>> {
    let text = std::fs::read_to_string(path).with_context(|| path.display().to_string())?;
    text.lines().map(|line| serde_json::from_str(line).with_context(|| path.display().to_string())).collect()
}

fn chain(data: &Path, rows: &[Row], replay: &mut Replay, carried: &mut Carried) -> Result<Figures> {
    let mut figures = Figures::new();
    let mut past: Vec<Session> = Vec::new();
    for row in rows {
        let path = data.join(&row.file);
        let session = Session::read(&path)?;
        let known_before = past.iter().any(|session| session.before(&row.start).next().is_some());
        let edited = session.edited();
        if known_before && !edited.is_empty() && !session.is_copy(&past) {
            replay.check_out(&row.start)?;
            let known = replay.known_files(&past, &session, &row.start);
            let mut told = baselines::all(&past, &replay.commits, &row.start);
            let (start, prompted) = replay.briefs(&row.start, &session.first_prompt())?;
            carried.score(&past, &row.start, &start.text);
            for (name, brief) in [(AT_START, &start), (WITH_PROMPT, &prompted)] {
                figures.entry(name).or_default().tokens.push(brief.tokens);
                told.push((name, replay::named_files(&brief.text, &known)));
            }
            for (name, files) in told {
                let share = |k: usize| {
                    let hits = files.iter().take(k).filter(|(file, _)| edited.contains(file.as_str()));
                    hits.map(|(_, credit)| credit).sum::<f64>() / edited.len() as f64
                };
                figures.entry(name).or_default().recalls.push(KS.map(share));
            }
        }
        replay.learn(&path, &session)?;
        past.push(session);
    }
    Ok(figures)
}

fn print(figures: &[(String, Figures)]) -> Result<()> {
    let names: Vec<&str> = baselines::NAMES.into_iter().chain([AT_START, WITH_PROMPT]).collect();
    let percent = |recalls: &[[f64; 3]], k: usize| {
        format!("{:.1}", 100.0 * recalls.iter().map(|one| one[k]).sum::<f64>() / recalls.len().max(1) as f64)
    };
    let mut rows = Vec::new();
    for name in names {
        let of_all: Vec<&Scores> = figures.iter().filter_map(|(_, figures)| figures.get(name)).collect();
        let recalls: Vec<[f64; 3]> = of_all.iter().flat_map(|scores| scores.recalls.iter().copied()).collect();
        let tokens: Vec<usize> = of_all.iter().flat_map(|scores| scores.tokens.iter().copied()).collect();
        let mut row = vec![name.to_string()];
        row.extend((0..KS.len()).map(|k| percent(&recalls, k)));
        row.push(match tokens.len() {
            0 => String::new(),
            count => (tokens.iter().sum::<usize>() / count).to_string(),
        });
        row.extend(of_all.iter().map(|scores| percent(&scores.recalls, 1)));
        rows.push(row);
    }
    let pairs: usize =
        figures.iter().filter_map(|(_, figures)| figures.get(AT_START)).map(|scores| scores.recalls.len()).sum();
    say(&format!(
        "{pairs} sessions that edit files; the share of those files among the first 5, 10, 20 in the brief\n"
    ))?;
    let by_chain: Vec<String> = figures.iter().map(|(name, _)| format!("R@10 {name}")).collect();
    let columns = ["what is carried over", "R@5", "R@10", "R@20", "tokens"];
    table(&columns.into_iter().chain(by_chain.iter().map(String::as_str)).collect::<Vec<_>>(), &rows)
}
