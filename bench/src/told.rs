//! How much of what matters a whole brief tells. Every figure leaves out the person it is about.
//!
//! You bring the same data as for `quotes`, and `gitlog.jsonl` beside each chain's transcripts. Every chain is replayed
//! with the real program, up to each moment of the gold standard. The weights of quotes are constants of the program: the
//! person's chain is replayed with a copy in which they are replaced by weights fitted on all other people.

use std::collections::BTreeMap;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;

use anyhow::{Result, ensure};
use cerberus_recall::brief::stopped::{SentenceFeatures, WEIGHTS};
use serde_json::Value;

use crate::continuity::replay::Replay;
use crate::continuity::session::Session;
use crate::continuity::{Commit, Row, lines};
use crate::measure::{say, table};
use crate::programs::Programs;
use crate::quotes::{self, ALL_LEFT_OUT, COLUMNS, Figures, Gold, Moment};
use crate::scratch::Scratch;

/// Lines with these prefixes only name files; that says nothing about what is open.
const NAMES: [&str; 3] = ["impl:", "see:", "proj:"];

/// What is counted beside the gold standard.
#[derive(Default)]
struct Lines {
    moments: usize,
    open: usize,
    tokens: usize,
}

/// What is asked for: the usual brief, and smaller and larger ones.
const BUDGETS: [Option<&str>; 4] = [None, Some("580"), Some("1000"), Some("1500")];

pub fn run(programs: &Programs) -> Result<()> {
    let Some(data) = quotes::data(programs)? else { return Ok(()) };
    let moments = quotes::moments(data)?;
    let mut people: BTreeMap<&str, Vec<&Gold>> = BTreeMap::new();
    moments.iter().for_each(|moment| people.entry(&moment.person).or_default().push(&moment.gold));
    let mut rows = Vec::new();
    let mut all: [(Figures, Lines); BUDGETS.len()] = Default::default();
    for (person, gold) in people {
        let scratch = Scratch::new()?;
        let program = left_out(programs, &scratch, &moments, person)?;
        let mut own = Figures::default();
        for (gold, texts) in briefs(data, person, &gold, &program, &scratch)? {
            for (text, (figures, count)) in texts.iter().zip(&mut all) {
                let told: Vec<&str> = text.lines().filter(|line| line.contains(':')).collect();
                count.add(&told);
                figures.count(gold, &pieces(&told));
            }
            let told: Vec<&str> = texts[0].lines().filter(|line| line.contains(':')).collect();
            own.count(gold, &pieces(&told));
        }
        rows.push(own.row(person));
    }
    for (budget, (figures, count)) in BUDGETS.iter().zip(&all) {
        let name = budget.map_or(ALL_LEFT_OUT.to_string(), |budget| format!("{ALL_LEFT_OUT}, --budget {budget}"));
        rows.push(figures.row(&format!("{name}: {:.0} tokens", count.mean(count.tokens))));
    }
    table(&COLUMNS, &rows)?;
    let usual = &all[0].1;
    say(&format!(
        "{} moments; a usual brief has {:.1} next and block lines; four characters are a token",
        usual.moments,
        usual.mean(usual.open)
    ))
}

/// What can tell an item.
fn pieces(told: &[&str]) -> Vec<String> {
    let told = told.iter().filter(|line| !NAMES.iter().any(|prefix| line.starts_with(prefix)));
    told.flat_map(|line| sentences(line)).flat_map(quotes::pieces).collect()
}

impl Lines {
    fn mean(&self, sum: usize) -> f64 {
        sum as f64 / self.moments.max(1) as f64
    }

    fn add(&mut self, told: &[&str]) {
        self.moments += 1;
        self.open += told.iter().filter(|line| line.starts_with("next:") || line.starts_with("block:")).count();
        self.tokens += told.join("\n").chars().count() / 4;
    }
}

/// A copy of the program with the weights that were fitted without this person.
pub fn left_out(programs: &Programs, scratch: &Scratch, moments: &[Moment], person: &str) -> Result<Programs> {
    let program = std::fs::read(&programs.cerberus)?;
    let bytes =
        |weights: &SentenceFeatures| weights.iter().flat_map(|weight| weight.to_le_bytes()).collect::<Vec<u8>>();
    let (shipped, fitted) = (bytes(&WEIGHTS), bytes(&quotes::fit_without(moments, person)));
    let found = program.windows(shipped.len()).enumerate().filter(|(_, bytes)| *bytes == shipped);
    let places: Vec<usize> = found.map(|(at, _)| at).collect();
    ensure!(
        places.len() == 1,
        "{} is not built from these sources: it lacks their weights",
        programs.cerberus.display()
    );
    let mut copy = program;
    copy[places[0]..][..fitted.len()].copy_from_slice(&fitted);
    let cerberus = scratch.file("cerberus", &copy)?;
    std::fs::set_permissions(&cerberus, std::fs::Permissions::from_mode(0o755))?;
    Ok(Programs { cerberus, floor: programs.floor.clone(), data: programs.data.clone(), sizes: programs.sizes })
}

/// What the program tells at the moments of one chain.
fn briefs<'a>(
    data: &Path,
    chain: &str,
    gold: &[&'a Gold],
    program: &Programs,
    scratch: &Scratch,
) -> Result<Vec<(&'a Gold, Vec<String>)>> {
    let mut told = Vec::new();
    let boundaries: Vec<&str> = gold.iter().map(|gold| gold.boundary.as_str()).collect();
    at_boundaries(data, chain, &boundaries, program, scratch, |number, replay, rows| {
        let mut texts = Vec::new();
        for budget in BUDGETS {
            let limit = budget.map_or(Vec::new(), |budget| vec!["--budget", budget]);
            let args = [vec!["brief", "--now", &rows.next.start], limit].concat();
            let brief: Value = scratch.json(program, &replay.home, &args)?;
            texts.push(brief["text"].as_str().unwrap_or_default().to_string());
        }
        told.push((gold[number], texts));
        Ok(())
    })?;
    Ok(told)
}

/// The sessions around a moment.
pub struct Around<'a> {
    pub past: &'a [Row],
    pub next: &'a Row,
}

/// Replays one chain up to each of these boundaries, and visits them with their number in the list.
pub fn at_boundaries(
    data: &Path,
    chain: &str,
    boundaries: &[&str],
    program: &Programs,
    scratch: &Scratch,
    mut visit: impl FnMut(usize, &Replay, Around) -> Result<()>,
) -> Result<()> {
    let mut rows: Vec<Row> = lines(&data.join("sessions.jsonl"))?;
    rows.retain(|row| row.chain == chain);
    rows.sort_by(|a, b| a.start.cmp(&b.start));
    let commits: Vec<Commit> = lines(&data.join(chain).join("gitlog.jsonl"))?;
    let mut replay = Replay::new(program, scratch, commits)?;
    let mut visited = 0;
    for (number, row) in rows.iter().enumerate() {
        let name = format!("{chain}-{number:03}");
        replay.check_out(&row.start)?;
        if let Some(wanted) = boundaries.iter().position(|boundary| *boundary == name) {
            visit(wanted, &replay, Around { past: &rows[..number], next: row })?;
            visited += 1;
        }
        if visited == boundaries.len() {
            break;
        }
        let path = data.join(&row.file);
        replay.learn(&path, &Session::read(&path)?)?;
    }
    Ok(())
}

/// An item must be spoken of in one sentence. A sign inside a word does not end one.
fn sentences(line: &str) -> Vec<&str> {
    let ends = line.match_indices(['.', '!', '?', ';']).map(|(at, sign)| at + sign.len());
    let mut ends: Vec<usize> = ends.filter(|end| line[*end..].starts_with(char::is_whitespace)).collect();
    ends.push(line.len());
    let starts = std::iter::once(0).chain(ends.iter().copied());
    starts.zip(&ends).map(|(start, end)| line[start..*end].trim()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sentences_end_before_a_blank() {
        assert_eq!(sentences("said:a.rs is done. Next: b"), ["said:a.rs is done.", "Next: b"]);
        assert_eq!(sentences("git:on main; c; d."), ["git:on main;", "c;", "d."]);
    }
}
