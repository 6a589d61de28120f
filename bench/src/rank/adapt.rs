//! What learning from ended sessions changes: the prompt counts double where that would have told more. Replayed.

use std::collections::{BTreeMap, BTreeSet};

use anyhow::Result;
use cerberus_recall::brief::rank::weights::{LEARNED_MIN, PROMPT_DOUBLED};
use cerberus_recall::brief::rank::{PAST, RankFeatures, Scoring, USUAL};
use cerberus_record::event::Lesson;

use super::gather::{Case, Start};
use super::recall;
use crate::measure::{say, table};

/// Fewer starts have no second half to speak of.
const LONG_MIN: usize = 18;

pub fn print(starts: &[Start], people: &BTreeSet<&str>, left_out: &BTreeMap<&str, RankFeatures>) -> Result<()> {
    say("\nlearned from ended sessions: change of R@10 with the prompt in points\n")?;
    let (mut rows, mut late_changes) = (Vec::new(), Vec::new());
    for person in people {
        let own: Vec<&Start> = starts.iter().filter(|start| start.person == *person).collect();
        let changes = changes(&own, &left_out[person]);
        let is_long = own.len() >= LONG_MIN;
        if !is_long && changes.iter().all(|change| *change == 0.0) {
            continue;
        }
        let late = mean(&changes[own.len() / 2..]);
        late_changes.extend(is_long.then_some(late));
        let late = if is_long { format!("{late:+.1}") } else { String::new() };
        rows.push(vec![person.to_string(), own.len().to_string(), format!("{:+.1}", mean(&changes)), late]);
    }
    let all = late_changes.iter().sum::<f64>() / late_changes.len().max(1) as f64;
    rows.push(vec!["mean of long histories".to_string(), String::new(), String::new(), format!("{all:+.1}")]);
    table(&["person", "starts", "all starts", "second half"], &rows)
}

/// In percent.
fn mean(changes: &[f64]) -> f64 {
    100.0 * changes.iter().sum::<f64>() / changes.len().max(1) as f64
}

/// What the lessons of the starts before change at each start.
fn changes(starts: &[&Start], weights: &RankFeatures) -> Vec<f64> {
    let usual = Scoring { weights: *weights, ..USUAL };
    let mut doubled = Scoring { weights: *weights, ..PROMPT_DOUBLED };
    doubled.weights[PAST..].iter_mut().for_each(|weight| *weight *= 2.0);
    let (mut gain, mut changes) = (0, Vec::new());
    for start in starts {
        let reach = |by: &Scoring| recall(&start.prompted, &start.prompted.best(by), start.edited);
        changes.push(if gain >= LEARNED_MIN { reach(&doubled) - reach(&usual) } else { 0.0 });
        let told = |by: &Scoring| told(&start.in_hindsight, by);
        let edited = u32::try_from(start.edited).unwrap_or(u32::MAX);
        gain += Lesson { edited, told: told(&usual), told_doubled: told(&doubled) }.gain();
    }
    changes
}

/// How many of the edited files would have been told.
fn told(case: &Case, by: &Scoring) -> u32 {
    case.best(by).iter().map(|place| u32::from(case.is_edited[*place])).sum()
}
