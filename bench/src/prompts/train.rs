//! Fits the linear model for decisions and blockers, deterministically: a support vector machine by dual coordinate
//! descent, sentence by sentence.
//!
//! A sentence of a labelled prompt counts for the label if the reader's quotation is in it; without a quotation, the
//! sentence that the model itself finds best. Features that fewer than two people used are left out.

use std::collections::HashSet;
use std::fs;
use std::path::Path;

use anyhow::{Context, Result};
use cerberus_core::extract::words::cued;
use cerberus_core::extract::words::model::{self, BUCKETS, Features, KINDS, Model, Part};
use cerberus_core::extract::words::unit::Units;
use cerberus_core::language::lexicon::tokens;
use cerberus_core::model::fact::Kind;

use super::data::{Labelled, read};
use super::{leave_one_out, score};
use crate::measure::say;
use crate::programs::Programs;

const PEOPLE_MIN: u32 = 2;
/// The price of an error, and of one on a labelled sentence.
const COST: f32 = 0.3;
const LABELLED_COST: f32 = 0.75;
const ROUNDS_MAX: usize = 25;
const STEP_MIN: f32 = 1e-4;
/// A sentence holds the reader's quotation if it has this share of its words.
const QUOTED_SHARE_MIN: f64 = 0.6;
const QUOTED_BONUS: f32 = 0.5;
/// The score from which on a sentence is told, per kind: it separates people left out best at the required precision.
const THRESHOLDS: [f32; 2] = [-0.08, 0.02];
const MODEL_FILE: &str = "crates/cerberus-core/src/extract/words/model.bin";

/// A prompt with the features of its sentences.
pub struct Example {
    person: usize,
    units: Vec<Features>,
    /// Sentences that hold the reader's quotation.
    quoted: Vec<usize>,
}

pub struct Examples {
    pub people: Vec<String>,
    list: Vec<Example>,
    /// Who used a feature: one bit per person.
    users: Vec<u64>,
}

impl Examples {
    pub fn new(rows: &[Labelled]) -> Examples {
        let mut people: Vec<String> = rows.iter().map(|row| row.person.clone()).collect();
        people.sort();
        people.dedup();
        let mut users = vec![0_u64; BUCKETS];
        let mut list = Vec::with_capacity(rows.len());
        for row in rows {
            let person = people.binary_search(&row.person).unwrap_or_default();
            let units = Units::new(&row.prompt);
            let features = model::features(&units, &row.before(), &cued(&row.prompt));
            for (bucket, _) in features.iter().flatten() {
                users[*bucket as usize] |= 1 << (person % 64);
            }
            let quoted = (0..units.list.len()).filter(|at| holds(&units.list[*at].text, &row.span)).collect();
            list.push(Example { person, units: features, quoted });
        }
        Examples { people, list, users }
    }
}

fn holds(text: &str, span: &str) -> bool {
    let words: HashSet<String> = tokens(text).into_iter().collect();
    let parts = span.split('…').flat_map(|part| part.split("...")).map(tokens).filter(|part| !part.is_empty());
    let share = |part: Vec<String>| part.iter().filter(|word| words.contains(*word)).count() as f64 / part.len() as f64;
    parts.map(share).any(|share| share >= QUOTED_SHARE_MIN)
}

/// Trains on everybody but `left_out`.
pub fn fit(rows: &[Labelled], examples: &Examples, left_out: Option<usize>) -> Model {
    let mask = left_out.map_or(0, |person| 1_u64 << (person % 64));
    let is_kept = |bucket: u32| (examples.users[bucket as usize] & !mask).count_ones() >= PEOPLE_MIN;
    let kept =
        |features: &Features| -> Features { features.iter().copied().filter(|(bucket, _)| is_kept(*bucket)).collect() };
    let parts = KINDS.iter().zip(THRESHOLDS).map(|(kind, threshold)| {
        let mut problem = Problem::default();
        let mut unclear: Vec<(Vec<Features>, &Example)> = Vec::new();
        for (row, example) in rows.iter().zip(&examples.list) {
            if Some(example.person) == left_out || !row.counts_for(kind.word()) {
                continue;
            }
            let units: Vec<Features> = example.units.iter().map(kept).collect();
            let is_clear = row.labels.len() == 1 && !example.quoted.is_empty();
            match row.is(kind.word()) {
                false => units.into_iter().for_each(|unit| problem.add(unit, false)),
                true if is_clear => example.quoted.iter().for_each(|at| problem.add(units[*at].clone(), true)),
                true if units.len() == 1 => units.into_iter().for_each(|unit| problem.add(unit, true)),
                true => unclear.push((units, example)),
            }
        }
        let first = problem.solve();
        for (units, example) in unclear {
            let score =
                |at: usize| first.score(&units[at]) + if example.quoted.contains(&at) { QUOTED_BONUS } else { 0.0 };
            let best = (0..units.len()).max_by(|one, other| score(*one).total_cmp(&score(*other)));
            best.into_iter().for_each(|at| problem.add(units[at].clone(), true));
        }
        problem.solve().quantized(threshold)
    });
    Model { about: String::new(), parts: parts.collect() }
}

#[derive(Default)]
struct Problem {
    units: Vec<Features>,
    signs: Vec<f32>,
}

struct Solution {
    weights: Vec<f32>,
    bias: f32,
}

impl Problem {
    fn add(&mut self, unit: Features, is_labelled: bool) {
        self.units.push(unit);
        self.signs.push(if is_labelled { 1.0 } else { -1.0 });
    }

    fn solve(&self) -> Solution {
        let mut solution = Solution { weights: vec![0.0; BUCKETS], bias: 0.0 };
        let norms: Vec<f32> =
            self.units.iter().map(|unit| unit.iter().map(|(_, value)| value * value).sum::<f32>() + 1.0).collect();
        let mut duals = vec![0.0_f32; self.units.len()];
        let mut order: Vec<usize> = (0..self.units.len()).collect();
        let mut random = 12_345_u64;
        for _ in 0..ROUNDS_MAX {
            for at in (1..order.len()).rev() {
                random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
                order.swap(at, (random >> 33) as usize % (at + 1));
            }
            let mut largest = 0.0_f32;
            for at in order.iter().copied() {
                let sign = self.signs[at];
                let most = if sign > 0.0 { LABELLED_COST } else { COST };
                let error = sign * solution.score(&self.units[at]) - 1.0;
                let dual = (duals[at] - error / norms[at]).clamp(0.0, most);
                let step = (dual - duals[at]) * sign;
                duals[at] = dual;
                largest = largest.max(step.abs());
                solution.add(&self.units[at], step);
            }
            if largest < STEP_MIN {
                break;
            }
        }
        solution
    }
}

impl Solution {
    fn score(&self, unit: &Features) -> f32 {
        self.bias + unit.iter().map(|(bucket, value)| self.weights[*bucket as usize] * value).sum::<f32>()
    }

    fn add(&mut self, unit: &Features, step: f32) {
        if step != 0.0 {
            unit.iter().for_each(|(bucket, value)| self.weights[*bucket as usize] += step * value);
            self.bias += step;
        }
    }

    /// In 127 steps on either side of zero.
    fn quantized(&self, threshold: f32) -> Part {
        let largest = self.weights.iter().fold(f32::MIN_POSITIVE, |largest, weight| largest.max(weight.abs()));
        let scale = largest / 127.0;
        let weights = self.weights.iter().map(|weight| (weight / scale).round() as i8);
        Part::new(self.bias, scale, threshold, weights)
    }
}

/// Writes the model that the program contains.
pub fn run(programs: &Programs) -> Result<()> {
    let data = programs.data.as_deref().context("labelled prompts are needed: --data PATH")?;
    let rows = read(data)?;
    let examples = Examples::new(&rows);
    let found = leave_one_out(&rows, &examples);
    let figure = |kind: &Kind| {
        let [_, precision, recall, _] = score("", kind.word(), &rows, &found, |_| true);
        format!("{} {precision} {recall}", kind.word())
    };
    let figures: Vec<String> = KINDS.iter().map(figure).collect();
    let about = format!(
        "trained on {} prompts of {} people; precision and recall on people left out: {}",
        rows.len(),
        examples.people.len(),
        figures.join(", ")
    );
    let model = Model { about: about.clone(), ..fit(&rows, &examples, None) };
    fs::write(Path::new(MODEL_FILE), model.bytes()).context("run it in the root of the repository")?;
    say(&about)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rows() -> Vec<Labelled> {
        let row = |person: &str, prompt: &str, labels: &[&str]| Labelled {
            prompt: prompt.to_string(),
            labels: labels.iter().map(|label| label.to_string()).collect(),
            disputed: HashSet::new(),
            prev_assistant: String::new(),
            after_interrupt: false,
            span: String::new(),
            person: person.to_string(),
        };
        let mut rows = Vec::new();
        for person in ["ada", "bob", "cyd"] {
            rows.push(row(person, "the login does not work", &["blocker"]));
            rows.push(row(person, "let's use tabs here", &["decision"]));
            rows.push(row(person, "explain the parser to me", &[]));
            rows.push(row(person, "show me the list of files", &[]));
        }
        rows
    }

    #[test]
    fn training_is_deterministic_and_separates_what_it_has_seen() {
        let rows = rows();
        let examples = Examples::new(&rows);
        let model = fit(&rows, &examples, None);
        assert_eq!(model, fit(&rows, &examples, None));
        let best = |kind: usize, at: usize| model.parts[kind].score(&examples.list[at].units[0]);
        assert!(best(0, 1) > best(0, 0) && best(0, 1) > best(0, 2));
        assert!(best(1, 0) > best(1, 1) && best(1, 0) > best(1, 3));
    }

    #[test]
    fn words_of_one_person_have_no_weight() {
        let mut rows = rows();
        rows[0].prompt = "the xyzzy does not work".to_string();
        let examples = Examples::new(&rows);
        let only: Vec<u32> = examples.list[0].units[0]
            .iter()
            .map(|(bucket, _)| *bucket)
            .filter(|bucket| examples.users[*bucket as usize].count_ones() == 1)
            .collect();
        assert!(!only.is_empty());
        let model = fit(&rows, &examples, None);
        assert!(only.iter().all(|bucket| model.parts.iter().all(|part| part.weight(*bucket) == 0)));
    }
}
