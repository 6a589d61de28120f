//! Fits weights so that the files a session edits get a large share of `exp(score)`: a regularized conditional logit,
//! by Newton's method, without negative weights.

use std::collections::BTreeMap;

use cerberus_recall::brief::rank::{FEATURES, RankFeatures};

use super::gather::{Case, Start};

const COUNT: usize = FEATURES.len();
/// Keeps the weights of rare features small.
const REGULARIZATION: f64 = 0.0005;
const STEPS: usize = 25;
/// No weight changes by more in one step.
const STEP_MAX: f64 = 2.0;
const SETTLED: f64 = 0.01;

/// A case that can be learned from.
struct Sample<'a> {
    case: &'a Case,
    edited: f64,
    weight: f64,
}

fn score(row: &RankFeatures, weights: &RankFeatures) -> f64 {
    row.iter().zip(weights).map(|(feature, weight)| feature * weight).sum()
}

/// Fits from these weights on. Each person counts by the square root of the number of starts, so that the few with many
/// do not decide alone.
pub fn fit<'a>(starts: impl Iterator<Item = &'a Start>, from: &RankFeatures, without: Option<usize>) -> RankFeatures {
    let starts: Vec<&Start> = starts.collect();
    let mut counts: BTreeMap<&str, f64> = BTreeMap::new();
    starts.iter().for_each(|start| *counts.entry(&start.person).or_default() += 1.0);
    let cases = starts.iter().flat_map(|start| [&start.at_start, &start.prompted].map(|case| (start, case)));
    let mut samples: Vec<Sample> =
        cases.filter_map(|(start, case)| sample(case, 1.0 / counts[start.person.as_str()].sqrt())).collect();
    let all: f64 = samples.iter().map(|sample| sample.weight).sum();
    samples.iter_mut().for_each(|sample| sample.weight /= all);
    let mut weights = *from;
    if let Some(without) = without {
        weights[without] = 0.0;
    }
    for _ in 0..STEPS {
        let step = step(&samples, &weights, without);
        let longest = step.iter().fold(0.0_f64, |longest, one| longest.max(one.abs()));
        let scale = if longest > STEP_MAX { STEP_MAX / longest } else { 1.0 };
        weights.iter_mut().zip(step).for_each(|(weight, step)| *weight = (*weight + scale * step).max(0.0));
        if longest < SETTLED {
            break;
        }
    }
    weights
}

fn sample(case: &Case, weight: f64) -> Option<Sample<'_>> {
    let edited = case.is_edited.iter().filter(|is_edited| **is_edited).count();
    (edited > 0).then_some(Sample { case, edited: edited as f64, weight })
}

fn step(samples: &[Sample], weights: &RankFeatures, without: Option<usize>) -> RankFeatures {
    let (mut gradient, mut curvature) = ([0.0; COUNT], [[0.0; COUNT]; COUNT]);
    for sample in samples {
        let scores: Vec<f64> = sample.case.rows.iter().map(|row| score(row, weights)).collect();
        let highest = scores.iter().fold(f64::MIN, |highest, score| highest.max(*score));
        let shares: Vec<f64> = scores.iter().map(|score| (score - highest).exp()).collect();
        let sum: f64 = shares.iter().sum();
        let mut mean = [0.0; COUNT];
        for ((row, share), is_edited) in sample.case.rows.iter().zip(&shares).zip(&sample.case.is_edited) {
            let share = share / sum;
            let missing = if *is_edited { 1.0 / sample.edited } else { 0.0 } - share;
            for at in (0..COUNT).filter(|at| row[*at] != 0.0) {
                mean[at] += share * row[at];
                gradient[at] += sample.weight * missing * row[at];
                let scaled = sample.weight * share * row[at];
                curvature[at].iter_mut().zip(row.iter()).for_each(|(sum, other)| *sum += scaled * other);
            }
        }
        for at in 0..COUNT {
            let scaled = sample.weight * mean[at];
            curvature[at].iter_mut().zip(mean).for_each(|(sum, other)| *sum -= scaled * other);
        }
    }
    for at in 0..COUNT {
        gradient[at] -= REGULARIZATION * weights[at];
        curvature[at][at] += REGULARIZATION;
    }
    // A weight at zero stays there while more of it would only help with less than nothing.
    for at in 0..COUNT {
        if without == Some(at) || weights[at] <= 0.0 && gradient[at] <= 0.0 {
            gradient[at] = 0.0;
            curvature[at] = [0.0; COUNT];
            curvature.iter_mut().for_each(|row| row[at] = 0.0);
            curvature[at][at] = 1.0;
        }
    }
    crate::quotes::solve(curvature, gradient)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Somebody who always edits the one of three files with this feature.
    fn starts(feature: usize) -> Vec<Start> {
        let row = |value: f64| {
            let mut row = [0.0; COUNT];
            row[feature] = value;
            row
        };
        let case = || Case {
            rows: vec![row(0.0), row(1.0), row(0.1)],
            is_edited: vec![false, true, false],
            is_unnamed: vec![false, true, false],
        };
        let start = |person: &str| Start {
            person: person.to_string(),
            kind: "short",
            edited: 1,
            unnamed: 1,
            baseline: 0.0,
            at_start: case(),
            prompted: case(),
            in_hindsight: case(),
        };
        vec![start("a"), start("b")]
    }

    #[test]
    fn what_edited_files_have_gets_a_weight_and_nothing_else_does() {
        let weights = fit(starts(3).iter(), &[0.0; COUNT], None);
        assert!(weights[3] > 1.0, "{weights:?}");
        assert!(weights.iter().enumerate().all(|(at, weight)| at == 3 || *weight == 0.0), "{weights:?}");
        assert_eq!(fit(starts(3).iter(), &weights, Some(3))[3], 0.0);
    }
}
