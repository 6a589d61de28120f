//! Fits and checks the weights that rank files. Every figure leaves out the person it is about.
//!
//! You bring consecutive sessions, as for `continuity`. At every start of a session, `cerberus` collects what it knows
//! about each file, without and with the first prompt. The weights are fitted on all other people, for both cases at
//! once, and the order is scored on the one left out: the share of the files that the session edits that are among the
//! first ten. The last lines are the weights fitted on everybody, which is what ships.

mod adapt;
mod fit;
mod gather;

use std::collections::{BTreeMap, BTreeSet};

use anyhow::Result;
use cerberus_recall::brief::rank::order::{ScoredFile, order};
use cerberus_recall::brief::rank::weights::{FILES_MAX, PROMPT_NAME_SHARE_MIN};
use cerberus_recall::brief::rank::{FEATURES, Feature, PAST, RankFeatures, Scoring, USUAL, WEIGHTS};
use fit::fit;
use gather::{Case, Start};

use crate::measure::{say, table};
use crate::programs::Programs;

/// Kinds of first prompts.
const KINDS: [&str; 4] = ["plan", "command", "short", "ordinary"];

/// The scores of one way of ranking, one per start.
struct Scores {
    at_start: Vec<f64>,
    prompted: Vec<f64>,
    /// Of the files that the prompt does not name, if there are any.
    unnamed: Vec<Option<f64>>,
}

pub fn run(programs: &Programs) -> Result<()> {
    let Some(data) = programs.data.as_deref().filter(|data| data.join("sessions.jsonl").is_file()) else {
        return say("needs consecutive sessions: --data DIR with sessions.jsonl, transcripts and gitlog.jsonl");
    };
    let starts = gather::starts(programs, data)?;
    let people: BTreeSet<&str> = starts.iter().map(|start| start.person.as_str()).collect();
    let everybody = fit(starts.iter(), &[0.0; FEATURES.len()], None);
    let left_out = weights_without(&starts, &people, &everybody, None);
    let scores = Scores::new(&starts, |start| left_out[start.person.as_str()]);
    print_people(&starts, &people, &scores)?;
    print_kinds(&starts, &scores)?;
    print_ablations(&starts, &people, &everybody, &scores)?;
    adapt::print(&starts, &people, &left_out)?;
    let shipped = Scores::new(&starts, |_| WEIGHTS);
    say(&format!("\nweights as shipped, on the same people: {}", summary(&starts, &shipped)))?;
    say("\nfitted on everybody:\n")?;
    for (place, (name, weight)) in FEATURES.iter().zip(everybody).enumerate() {
        let about = if place < PAST { "past work" } else { "prompt" };
        say(&format!("{name:32} {weight:5.2}  {about}"))?;
    }
    Ok(())
}

/// For each person, the weights fitted on everybody else; without one of the features, if given.
fn weights_without<'a>(
    starts: &[Start],
    people: &BTreeSet<&'a str>,
    from: &RankFeatures,
    without: Option<usize>,
) -> BTreeMap<&'a str, RankFeatures> {
    let others = |person: &str| fit(starts.iter().filter(|start| start.person != person), from, without);
    people.iter().map(|person| (*person, others(person))).collect()
}

impl Scores {
    fn new(starts: &[Start], weights: impl Fn(&Start) -> RankFeatures) -> Scores {
        let mut scores = Scores { at_start: Vec::new(), prompted: Vec::new(), unnamed: Vec::new() };
        for start in starts {
            let by = Scoring { weights: weights(start), ..USUAL };
            scores.at_start.push(recall(&start.at_start, &start.at_start.best(&by), start.edited));
            let best = start.prompted.best(&by);
            scores.prompted.push(recall(&start.prompted, &best, start.edited));
            let unnamed = best.iter().filter(|place| start.prompted.is_unnamed[**place]).count();
            scores.unnamed.push((start.unnamed > 0).then(|| unnamed as f64 / start.unnamed as f64));
        }
        scores
    }
}

/// The share of the edited files that are among these.
fn recall(case: &Case, best: &[usize], edited: usize) -> f64 {
    best.iter().filter(|place| case.is_edited[**place]).count() as f64 / edited as f64
}

impl Case {
    /// The places of the files that would be told, the best first.
    fn best(&self, by: &Scoring) -> Vec<usize> {
        let scored = |row: &RankFeatures| {
            let sum = |from: usize, to: usize| -> f64 {
                row[from..to].iter().zip(&by.weights[from..to]).map(|(feature, weight)| feature * weight).sum()
            };
            let past = sum(0, PAST);
            let is_named = row[Feature::Named as usize] > 0.0;
            let is_mentioned = is_named || row[Feature::NameWords as usize] >= PROMPT_NAME_SHARE_MIN.ln_1p();
            // Candidates are in the order of their last touch where the score does not decide.
            ScoredFile { past, score: past + sum(PAST, row.len()), is_mentioned, last_at: None }
        };
        let scored: Vec<ScoredFile> = self.rows.iter().map(scored).collect();
        order(&scored, by.hinted_max).into_iter().take(FILES_MAX).collect()
    }
}

/// The mean over people of the mean over their starts, in percent.
pub fn macro_mean<'a>(values: impl Iterator<Item = (&'a str, f64)>) -> f64 {
    let mut people: BTreeMap<&str, (f64, f64)> = BTreeMap::new();
    for (person, value) in values {
        let (sum, count) = people.entry(person).or_default();
        (*sum, *count) = (*sum + value, *count + 1.0);
    }
    100.0 * people.values().map(|(sum, count)| sum / count).sum::<f64>() / people.len().max(1) as f64
}

fn mean_of(starts: &[Start], values: &[f64]) -> f64 {
    macro_mean(starts.iter().zip(values).map(|(start, value)| (start.person.as_str(), *value)))
}

fn mean_unnamed(starts: &[Start], scores: &Scores) -> f64 {
    let known =
        starts.iter().zip(&scores.unnamed).filter_map(|(start, value)| Some((start.person.as_str(), (*value)?)));
    macro_mean(known)
}

fn summary(starts: &[Start], scores: &Scores) -> String {
    let (at_start, prompted) = (mean_of(starts, &scores.at_start), mean_of(starts, &scores.prompted));
    let unnamed = mean_unnamed(starts, scores);
    format!("at start {at_start:.1}, with the prompt {prompted:.1}, files it does not name {unnamed:.1}")
}

fn print_people(starts: &[Start], people: &BTreeSet<&str>, scores: &Scores) -> Result<()> {
    say(&format!("{} starts of {} people; R@10, each person left out\n", starts.len(), people.len()))?;
    let baseline: Vec<f64> = starts.iter().map(|start| start.baseline).collect();
    let of = |person: &str, values: &[f64]| {
        let own = starts.iter().zip(values).filter(|(start, _)| start.person == person);
        format!("{:.1}", macro_mean(own.map(|(start, value)| (start.person.as_str(), *value))))
    };
    let mut rows: Vec<Vec<String>> = people
        .iter()
        .map(|person| {
            let count = starts.iter().filter(|start| start.person == *person).count();
            let [base, at_start, prompted] =
                [&baseline, &scores.at_start, &scores.prompted].map(|values| of(person, values));
            vec![person.to_string(), count.to_string(), base, at_start, prompted, String::new()]
        })
        .collect();
    let all = [&baseline, &scores.at_start, &scores.prompted].map(|values| format!("{:.1}", mean_of(starts, values)));
    let mut last = vec!["mean of people".to_string(), starts.len().to_string()];
    last.extend(all);
    last.push(format!("{:.1}", mean_unnamed(starts, scores)));
    rows.push(last);
    let columns = ["person", "starts", "frecency + git", "at start", "with the prompt", "files it does not name"];
    table(&columns, &rows)
}

fn print_kinds(starts: &[Start], scores: &Scores) -> Result<()> {
    say("\nby kind of first prompt, mean of starts\n")?;
    let row = |kind: &&str| {
        let of = |values: &[f64]| {
            let own: Vec<f64> =
                starts.iter().zip(values).filter(|(start, _)| start.kind == *kind).map(|(_, value)| *value).collect();
            (own.len(), format!("{:.1}", 100.0 * own.iter().sum::<f64>() / own.len().max(1) as f64))
        };
        let ((count, at_start), (_, prompted)) = (of(&scores.at_start), of(&scores.prompted));
        vec![kind.to_string(), count.to_string(), at_start, prompted]
    };
    table(&["first prompt", "starts", "at start", "with it"], &KINDS.iter().map(row).collect::<Vec<_>>())
}

fn print_ablations(starts: &[Start], people: &BTreeSet<&str>, from: &RankFeatures, all: &Scores) -> Result<()> {
    say("\nwithout one of the features, fitted again, each person left out\n")?;
    let row = |name: &str, scores: &Scores| {
        let figures =
            [mean_of(starts, &scores.at_start), mean_of(starts, &scores.prompted), mean_unnamed(starts, scores)];
        std::iter::once(name.to_string()).chain(figures.map(|figure| format!("{figure:.1}"))).collect::<Vec<_>>()
    };
    let mut rows = vec![row("nothing left out", all)];
    for (place, name) in FEATURES.iter().enumerate().filter(|(place, _)| from[*place] > 0.0) {
        let weights = weights_without(starts, people, from, Some(place));
        rows.push(row(name, &Scores::new(starts, |start| weights[start.person.as_str()])));
    }
    table(&["without", "at start", "with the prompt", "files it does not name"], &rows)
}
