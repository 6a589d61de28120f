//! Would weights that adapt to each person rank better? A bounded gradient step after every session, replayed.
//!
//! It sees everything: all candidates of every earlier start and which of them were edited. What a program could learn
//! from its receipts is less.

use std::collections::{BTreeMap, BTreeSet};

use anyhow::Result;
use cerberus_core::brief::rank::{FEATURES, Features};

use super::fit::score;
use super::gather::{Case, Start};
use super::recall;
use crate::measure::{say, table};

/// Fewer starts have no second half to speak of.
const LONG_MIN: usize = 18;
/// How far a step goes, and how far a weight may move from where it was: this share of it, and a little.
const STEP: f64 = 0.1;
const SHARE_MAX: f64 = 0.5;
const MOVE_MAX: f64 = 0.1;

pub fn print(starts: &[Start], people: &BTreeSet<&str>, left_out: &BTreeMap<&str, Features>) -> Result<()> {
    say("\nweights that adapt to the person, second half of long chains: change of R@10 in points\n")?;
    let (mut rows, mut sums) = (Vec::new(), (0.0, 0.0));
    for person in people {
        let own: Vec<&Start> = starts.iter().filter(|start| start.person == *person).collect();
        if own.len() < LONG_MIN {
            continue;
        }
        let changes = changes(&own, &left_out[person]);
        let late = &changes[own.len() / 2..];
        let mean = |of: fn(&(f64, f64)) -> f64| 100.0 * late.iter().map(of).sum::<f64>() / late.len() as f64;
        let (at_start, prompted) = (mean(|change| change.0), mean(|change| change.1));
        sums = (sums.0 + at_start, sums.1 + prompted);
        rows.push(vec![person.to_string(), format!("{at_start:+.1}"), format!("{prompted:+.1}")]);
    }
    let count = rows.len().max(1) as f64;
    rows.push(vec!["mean".to_string(), format!("{:+.1}", sums.0 / count), format!("{:+.1}", sums.1 / count)]);
    table(&["person", "at start", "with the prompt"], &rows)
}

/// What adapting changes at each start, without and with the prompt.
fn changes(starts: &[&Start], fixed: &Features) -> Vec<(f64, f64)> {
    let mut weights = *fixed;
    let mut changes = Vec::new();
    for start in starts {
        let gain = |case: &Case| {
            let of = |weights: &Features| recall(case, &case.best(weights), start.edited);
            of(&weights) - of(fixed)
        };
        changes.push((gain(&start.at_start), gain(&start.prompted)));
        let slopes = [&start.at_start, &start.prompted].map(|case| slope(case, &weights));
        for (at, weight) in weights.iter_mut().enumerate() {
            let reach = SHARE_MAX * fixed[at] + MOVE_MAX;
            let moved = *weight + STEP * (slopes[0][at] + slopes[1][at]);
            *weight = moved.clamp((fixed[at] - reach).max(0.0), fixed[at] + reach);
        }
    }
    changes
}

/// How the likelihood of what was edited changes with each weight.
fn slope(case: &Case, weights: &Features) -> Features {
    let mut slope = [0.0; FEATURES.len()];
    let edited = case.is_edited.iter().filter(|is_edited| **is_edited).count() as f64;
    if edited == 0.0 {
        return slope;
    }
    let scores: Vec<f64> = case.rows.iter().map(|row| score(row, weights)).collect();
    let highest = scores.iter().fold(f64::MIN, |highest, score| highest.max(*score));
    let sum: f64 = scores.iter().map(|score| (score - highest).exp()).sum();
    for ((row, score), is_edited) in case.rows.iter().zip(&scores).zip(&case.is_edited) {
        let missing = if *is_edited { 1.0 / edited } else { 0.0 } - (score - highest).exp() / sum;
        slope.iter_mut().zip(row).for_each(|(slope, feature)| *slope += missing * feature);
    }
    slope
}
