//! Does a brief help who reads it? A model is asked about each moment of a gold standard, and the facts in its answers are
//! counted. It is given nothing, our brief, or something else of the same length.
//!
//! You bring the data of `told`, and any server that speaks OpenAI's protocol (`--endpoint`, with `--model` and a key in
//! `CERBERUS_READER_KEY` if it needs them). Every answer is appended to `--answers FILE` at once, and nothing is asked
//! twice, so a run may be interrupted. Only moments that every arm has an answer for are counted.

mod arms;
mod ask;
mod facts;

use std::collections::{BTreeMap, HashMap};
use std::path::PathBuf;

use anyhow::{Context, Result};

use self::arms::{ARMS, Texts};
pub use self::ask::Answers;
use self::ask::Endpoint;
use self::facts::{GoldMoment, QUESTIONS, names};
use crate::continuity::lines;
use crate::measure::{say, table};
use crate::programs::Programs;

/// What only this benchmark takes.
#[derive(Debug, Default)]
pub struct ReaderOptions {
    pub gold: Option<PathBuf>,
    pub endpoint: Option<String>,
    pub model: Option<String>,
    pub answers: Option<PathBuf>,
    /// A folder with a text of another program for each moment.
    pub peer: Option<PathBuf>,
}

const RESAMPLES: usize = 2_000;
const SEED: u64 = 20_261_118;

/// The facts that an answer could have had, and those it had, by question.
type Counts = [(usize, usize); QUESTIONS.len()];

pub fn run(programs: &Programs, options: &ReaderOptions) -> Result<()> {
    let (Some(data), Some(endpoint)) = (&programs.data, &options.endpoint) else {
        return say("needs --data DIR, as `told` does, and --endpoint URL of a server that speaks OpenAI's protocol");
    };
    let path = options.gold.clone().unwrap_or_else(|| data.join("gold.jsonl"));
    let gold: Vec<GoldMoment> = lines(&path)?;
    let texts = arms::texts(programs, data, &gold, options.peer.as_deref())?;
    let mut answers = Answers::open(options.answers.as_deref())?;
    let endpoint = Endpoint::new(endpoint, options.model.as_deref());
    // Nothing is the same text at every moment.
    let mut given: HashMap<&str, String> = HashMap::new();
    for (gold, texts) in gold.iter().zip(&texts) {
        for arm in ARMS {
            if let Some(text) = texts.get(arm)
                && answers.get(&gold.boundary, arm).is_none()
            {
                let answer = match given.get(text.as_str()) {
                    Some(answer) => answer.clone(),
                    None => endpoint.ask(text).with_context(|| format!("{}, {arm}", gold.boundary))?,
                };
                given.insert(text, answer.clone());
                answers.add(&gold.boundary, arm, answer)?;
            }
        }
    }
    print(&gold, &texts, &answers)
}

fn print(gold: &[GoldMoment], texts: &[Texts], answers: &Answers) -> Result<()> {
    let has_peer = texts.iter().any(|texts| texts.contains_key(arms::PEER));
    let shown: Vec<&str> = ARMS.into_iter().filter(|arm| *arm != arms::PEER || has_peer).collect();
    let complete: Vec<&GoldMoment> =
        gold.iter().filter(|gold| shown.iter().all(|arm| answers.get(&gold.boundary, arm).is_some())).collect();
    let mut rows = Vec::new();
    let mut people = 0;
    for arm in &shown {
        let mut by_person: BTreeMap<&str, Counts> = BTreeMap::new();
        for gold in &complete {
            let answer = answers.get(&gold.boundary, arm).unwrap_or_default();
            let counts = by_person.entry(gold.person()).or_default();
            for (count, facts) in counts.iter_mut().zip(gold.facts()) {
                count.0 += facts.iter().filter(|fact| names(answer, fact)).count();
                count.1 += facts.len();
            }
        }
        people = by_person.len();
        let counts: Vec<Counts> = by_person.into_values().collect();
        let mut row = vec![arm.to_string()];
        row.extend((0..QUESTIONS.len()).map(|question| percent(counts.iter().map(|counts| counts[question]))));
        row.push(percent(counts.iter().map(total)));
        let (low, high) = interval(&counts);
        row.push(format!("{low:.0} to {high:.0}"));
        rows.push(row);
    }
    let columns = ["given", "doing", "files", "fails", "decided", "to do", "all facts", "95 % of resampled people"];
    table(&columns, &rows)?;
    say(&format!("{} moments of {people} people; facts named, of those in the gold standard", complete.len()))
}

fn total(counts: &Counts) -> (usize, usize) {
    counts.iter().fold((0, 0), |sum, count| (sum.0 + count.0, sum.1 + count.1))
}

fn percent(counts: impl Iterator<Item = (usize, usize)>) -> String {
    let (named, all) = counts.fold((0, 0), |sum, count| (sum.0 + count.0, sum.1 + count.1));
    if all == 0 { "–".to_string() } else { format!("{:.0} %", share((named, all))) }
}

fn share((named, all): (usize, usize)) -> f64 {
    100.0 * named as f64 / all.max(1) as f64
}

/// Where the share of named facts lies if other people had been drawn from these.
fn interval(people: &[Counts]) -> (f64, f64) {
    let mut state = SEED;
    let mut draw = || {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        total(&people[(state >> 33) as usize % people.len()])
    };
    if people.is_empty() {
        return (0.0, 0.0);
    }
    let mut shares: Vec<f64> = (0..RESAMPLES)
        .map(|_| share((0..people.len()).map(|_| draw()).fold((0, 0), |sum, one| (sum.0 + one.0, sum.1 + one.1))))
        .collect();
    shares.sort_by(f64::total_cmp);
    (shares[RESAMPLES / 40], shares[RESAMPLES - RESAMPLES / 40 - 1])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_interval_holds_the_share_of_all_and_is_a_point_if_people_agree() {
        let person = |named| [(named, 10), (0, 0), (0, 0), (0, 0), (0, 0)];
        assert_eq!(interval(&[person(5), person(5), person(5)]), (50.0, 50.0));
        let (low, high) = interval(&[person(0), person(5), person(10)]);
        assert!(low < 50.0 && high > 50.0);
        assert_eq!(interval(&[]), (0.0, 0.0));
    }
}
