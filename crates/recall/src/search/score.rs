//! Scores memories for a query. All weights are here.
//!
//! A term counts by its rarity, and only once per text, because memories are short. Memories written right before and
//! after a match, in the same conversation or account, are usually about the same thing. So a match passes part of
//! its score to its neighbours, and a question most of all to the answer after it. Rules stand alone. The weights
//! were chosen on conversations with questions about them and checked on others.

use std::time::Duration;

use cerberus_record::time::Timestamp;
use cerberus_text::terms;

use super::query::{Query, TERMS_MAX};

/// What a match passes to the next memory, the second and the third.
const LENT: [f64; 3] = [0.4, 0.25, 0.15];
/// The factor for what a question passes to the memory after it.
const TO_ANSWER: f64 = 1.6;
/// Memories written further apart are unrelated.
const TOGETHER: Duration = Duration::from_secs(3600);
/// Categories of memories that stand alone.
const ALONE: [&str; 3] = ["rule", "preference", "correction"];
/// How quickly further occurrences of a term stop counting.
const SATURATION: f64 = 0.9;
/// For a word that only starts with the term, or is spelled almost the same.
const ALIKE: f64 = 0.5;
/// `Anna: I moved.` names its subject before the colon.
const LABELLED: f64 = 1.5;
/// Contains an identifier exactly as typed.
const AS_TYPED: f64 = 1.1;
/// Written at a time that the query mentions.
const TIMELY: f64 = 3.0;
/// A question is less useful than its answer.
const QUESTION: f64 = 0.8;
/// A longer text covers many topics, each a little less.
const TERSE_BYTES: f64 = 500.0;
const LONG_WINDED: f64 = 0.15;
/// A query with fewer terms is specific: only memories with one of them are found.
const DESCRIBED_TERMS_MIN: usize = 3;
/// With this, a memory that has every term of the query and nothing else gets 0.8.
const HALF: f64 = 0.25;

/// Which terms of a query each row has: one bit per term.
#[derive(Debug)]
pub struct Hits {
    exact: Vec<u32>,
    alike: Vec<u32>,
}

const _: () = assert!(TERMS_MAX <= u32::BITS as usize);

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TermMatch {
    Exact,
    Alike,
}

/// A memory that may match.
#[derive(Clone, Copy, Debug)]
pub struct Candidate<'a> {
    pub row: usize,
    pub content: &'a str,
    pub category: &'a str,
    pub source: &'a str,
    pub created_at: Timestamp,
}

/// The weight of a term that `found` of `rows` memories have.
pub fn rarity(found: usize, rows: usize) -> f64 {
    let (found, rows) = (found as f64, rows.max(found) as f64);
    (1.0 + (rows - found + 0.5) / (found + 0.5)).ln()
}

impl Hits {
    /// For rows from 0 to `row_max`.
    pub fn new(row_max: usize) -> Hits {
        Hits { exact: vec![0; row_max + 1], alike: vec![0; row_max + 1] }
    }

    pub fn add(&mut self, row: usize, term: usize, hit: TermMatch) {
        let bits = match hit {
            TermMatch::Exact => &mut self.exact,
            TermMatch::Alike => &mut self.alike,
        };
        if let Some(bits) = bits.get_mut(row) {
            *bits |= 1 << term;
        }
    }

    fn of(&self, row: usize, term: usize) -> f64 {
        match (self.exact[row] >> term & 1, self.alike[row] >> term & 1) {
            (1, _) => 1.0,
            (0, 1) => ALIKE,
            _ => 0.0,
        }
    }

    fn any(&self, row: usize) -> u32 {
        self.exact[row] | self.alike[row]
    }

    /// The most promising rows by their own and passed-on scores, without looking at any text.
    pub fn shortlist(&self, rarities: &[f64], size: usize) -> Vec<usize> {
        let own = |row: usize| match self.any(row) {
            0 => 0.0,
            _ => rarities.iter().enumerate().map(|(term, rarity)| rarity * self.of(row, term)).sum::<f64>() as f32,
        };
        let own: Vec<f32> = (0..self.exact.len()).map(own).collect();
        let mut lent = own.clone();
        for (row, own) in own.iter().enumerate().filter(|(_, own)| **own > 0.0) {
            for (far, share) in (1..).zip(LENT) {
                for near in [row.checked_sub(far), Some(row + far)].into_iter().flatten() {
                    if let Some(lent) = lent.get_mut(near) {
                        *lent += own * share as f32;
                    }
                }
            }
        }
        let mut rows: Vec<u32> = (0..).zip(&lent).filter(|(_, lent)| **lent > 0.0).map(|(row, _)| row).collect();
        let best_first = |a: &u32, b: &u32| lent[*b as usize].total_cmp(&lent[*a as usize]).then(b.cmp(a));
        if rows.len() > size {
            rows.select_nth_unstable_by(size, best_first);
            rows.truncate(size);
        }
        rows.sort_unstable();
        rows.into_iter().map(|row| row as usize).collect()
    }
}

/// The indexes of the matching `candidates`, which are ordered by row, with scores between 0 and 1; best first, the
/// newest first among equals.
pub fn rank(query: &Query, rarities: &[f64], hits: &Hits, candidates: &[Candidate]) -> Vec<(usize, f64)> {
    let whole: f64 = rarities.iter().sum();
    let is_described = query.terms.len() >= DESCRIBED_TERMS_MIN;
    let mut ranked = Vec::new();
    for (at, candidate) in candidates.iter().enumerate() {
        let is_hit = hits.any(candidate.row) != 0;
        if !(is_hit || is_described) || !query.has_phrases(candidate.content) {
            continue;
        }
        let fit = fit(query, rarities, hits, candidates, at) / whole.max(f64::MIN_POSITIVE);
        if fit > 0.0 {
            ranked.push((at, fit / (fit + HALF)));
        }
    }
    ranked.sort_by(|a, b| b.1.total_cmp(&a.1).then(b.0.cmp(&a.0)));
    ranked
}

fn fit(query: &Query, rarities: &[f64], hits: &Hits, candidates: &[Candidate], at: usize) -> f64 {
    let this = &candidates[at];
    let neighbours: Vec<(usize, f64)> = neighbours(candidates, at).collect();
    let mut fit = 0.0;
    for (term, rarity) in rarities.iter().enumerate() {
        let lent: f64 = neighbours.iter().map(|(row, share)| share * hits.of(*row, term)).sum();
        let has = hits.of(this.row, term) + lent;
        fit += rarity * has * (1.0 + SATURATION) / (has + SATURATION);
    }
    if fit == 0.0 {
        return 0.0;
    }
    if label(this.content).is_some_and(|label| query.terms.iter().any(|term| term.text == label)) {
        fit += LABELLED;
    }
    if query.names.iter().any(|name| this.content.contains(name.as_str())) {
        fit *= AS_TYPED;
    }
    if this.content.trim_end().ends_with('?') {
        fit *= QUESTION;
    }
    if query.when.iter().any(|when| when.covers(this.created_at)) {
        fit += TIMELY;
    }
    fit / (1.0 + LONG_WINDED * (this.content.len() as f64 / TERSE_BYTES).ln().max(0.0))
}

/// The rows that pass part of their score to this one, and how much.
fn neighbours<'a>(candidates: &'a [Candidate], at: usize) -> impl Iterator<Item = (usize, f64)> + 'a {
    let this = &candidates[at];
    let around = at.saturating_sub(LENT.len())..(at + LENT.len() + 1).min(candidates.len());
    candidates[around].iter().filter_map(move |other| {
        let share = *LENT.get(other.row.abs_diff(this.row).checked_sub(1)?)?;
        let apart = this.created_at.since(other.created_at).max(other.created_at.since(this.created_at));
        let is_alone = ALONE.contains(&this.category) || ALONE.contains(&other.category);
        if is_alone || other.source != this.source || apart > TOGETHER {
            return None;
        }
        let is_asking = other.row + 1 == this.row && other.content.contains('?');
        Some((other.row, if is_asking { share * TO_ANSWER } else { share }))
    })
}

/// The term before a text's colon, if it is one word.
fn label(content: &str) -> Option<String> {
    let (label, _) = content.split_once(':')?;
    let mut words = if label.len() > 40 { Vec::new() } else { terms::words(label) };
    if words.len() == 1 { words.pop() } else { None }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// The contents that are found, best first. Every text is a row, and all rows are searched.
    fn found<'a>(query: &str, texts: &[(&'a str, &'a str)]) -> Vec<&'a str> {
        found_in("note", query, texts)
    }

    fn found_in<'a>(category: &'a str, query: &str, texts: &[(&'a str, &'a str)]) -> Vec<&'a str> {
        let query = Query::parse(query);
        let mut hits = Hits::new(texts.len() - 1);
        let mut rarities = Vec::new();
        for (at, term) in query.terms.iter().enumerate() {
            let has = |text: &str| terms::terms(text).iter().any(|found| found.text == term.text);
            let rows: Vec<usize> = (0..texts.len()).filter(|row| has(texts[*row].0)).collect();
            rows.iter().for_each(|row| hits.add(*row, at, TermMatch::Exact));
            rarities.push(rarity(rows.len(), texts.len()));
        }
        let candidates: Vec<Candidate> = hits
            .shortlist(&rarities, 100)
            .into_iter()
            .map(|row| Candidate {
                row,
                content: texts[row].0,
                category,
                source: "import",
                created_at: Timestamp::parse(texts[row].1).unwrap(),
            })
            .collect();
        rank(&query, &rarities, &hits, &candidates).into_iter().map(|(at, _)| candidates[at].content).collect()
    }

    const MONDAY: &str = "2026-03-02T09:00:00Z";
    const LATER: &str = "2026-04-20T09:00:00Z";

    #[test]
    fn more_and_rarer_terms_come_first() {
        let texts = [("tabs in makefiles", MONDAY), ("tabs", LATER), ("spaces", MONDAY)];
        assert_eq!(found("tabs makefile", &texts), ["tabs in makefiles", "tabs"]);
    }

    #[test]
    fn an_answer_is_found_by_its_question() {
        let talk = [
            ("The tests are green.", MONDAY),
            ("Which queue do we use for billing jobs?", MONDAY),
            ("The one on Redis, with two retries.", MONDAY),
            ("Billing is done at midnight.", LATER),
        ];
        let found = found("which queue has the billing jobs", &talk);
        assert!(found[..2].contains(&talk[2].0), "{found:?}");
        assert!(found.iter().position(|text| *text == talk[0].0) > Some(1), "{found:?}");
    }

    #[test]
    fn a_short_query_finds_only_texts_with_its_words() {
        let texts = [("Use tabs.", MONDAY), ("Sign every commit.", MONDAY)];
        assert_eq!(found("tabs", &texts), ["Use tabs."]);
        assert_eq!(found("nowhere", &texts), [""; 0]);
    }

    #[test]
    fn nothing_is_passed_on_across_time() {
        let texts = [("Deploy with the blue script today.", MONDAY), ("It rained.", LATER)];
        assert_eq!(found("deploy blue script", &texts), ["Deploy with the blue script today."]);
    }

    #[test]
    fn rules_stand_alone() {
        let rules = [("Deploy with the blue script.", MONDAY), ("Sign every commit.", MONDAY)];
        assert_eq!(found("deploy blue script", &rules).len(), 2);
        assert_eq!(found_in("rule", "deploy blue script", &rules), ["Deploy with the blue script."]);
    }

    #[test]
    fn the_date_and_the_subject_count() {
        let texts = [("the cache was cleared", MONDAY), ("the cache was cleared again", LATER)];
        assert_eq!(found("cache in March 2026", &texts)[0], texts[0].0);
        assert_eq!(found("cache in April 2026", &texts)[0], texts[1].0);
        let texts = [("Ben: Anna likes jazz", MONDAY), ("Anna: Ben likes jazz", LATER)];
        assert_eq!(found("What jazz does Anna like?", &texts)[0], texts[1].0);
        assert_eq!(found("What jazz does Ben like?", &texts)[0], texts[0].0);
    }

    #[test]
    fn a_rule_comes_before_a_document_with_the_same_words() {
        let long = format!("{} error handling", "much else and ".repeat(200));
        assert_eq!(found("error handling", &[("Error handling uses thiserror.", MONDAY), (&long, LATER)]).len(), 2);
        assert_eq!(
            found("error handling", &[("Error handling uses thiserror.", MONDAY), (&long, LATER)])[0],
            "Error handling uses thiserror."
        );
    }

    proptest! {
        #[test]
        fn scores_lie_between_0_and_1_best_first(
            marks in prop::collection::vec((0usize..40, 0usize..4, any::<bool>()), 0..80),
            size in 1usize..50,
        ) {
            let query = Query::parse("alpha beta gamma delta");
            let mut hits = Hits::new(40);
            for (row, term, exact) in marks {
                hits.add(row, term, if exact { TermMatch::Exact } else { TermMatch::Alike });
            }
            let rarities = [1.0, 2.0, 0.1, 7.0];
            let rows = hits.shortlist(&rarities, size);
            prop_assert!(rows.len() <= size && rows.is_sorted());
            let text = |row| Candidate { row, content: "?", category: "", source: "", created_at: Timestamp::EPOCH };
            let candidates: Vec<Candidate> = rows.into_iter().map(text).collect();
            let ranked = rank(&query, &rarities, &hits, &candidates);
            prop_assert!(ranked.iter().all(|(_, score)| (0.0..=1.0).contains(score)));
            prop_assert!(ranked.is_sorted_by(|a, b| a.1 >= b.1));
        }
    }
}
