//! The meaning of a sentence, so that two can be compared: "keep it short" and "be concise" mean the same, "run the
//! tests" and "never run the tests" the opposite.
//!
//! A text is a list of clauses, each a set of weighted concepts. What is not wanted has a negative weight, and a
//! condition is a separate concept: committing means something else in "never commit" than in "ask before you commit".
//! `reading.rs` derives them from words; here they are compared. Comparison is symmetric, and nothing is stored.

use std::collections::{BTreeMap, BTreeSet};

use super::concepts::{self, Choice, Field, TYPO_LIKENESS_MIN};
use super::reading;
use super::stem::Shape;

/// From this similarity on, two texts mean the same.
pub const SAME_MIN: f64 = 0.72;
/// Reduces the similarity of two texts that differ in the action, in a number or in the thing chosen.
const APART_FACTOR: f64 = 0.6;
/// A condition matters less than the instruction itself.
pub(crate) const CONDITION_WEIGHT: f64 = 0.7;
/// Marks the concept of a condition; no word begins with it.
pub(crate) const CONDITION: char = '?';
/// Unknown words of at least this length are compared by their spelling.
const LOOKS_CHARS_MIN: usize = 6;
const LOOKS_CHARS_APART_MAX: usize = 2;

/// The meaning of a text.
#[derive(Clone, Debug, PartialEq)]
pub struct Meaning {
    whole: Clause,
    clauses: Vec<Clause>,
}

/// Concepts, each with a weight from -1 to 1.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Clause {
    pub concepts: BTreeMap<String, f64>,
    pub actions: BTreeSet<&'static str>,
    pub numbers: BTreeSet<String>,
    /// The condition is what the action comes before.
    pub is_before: bool,
}

impl Meaning {
    pub fn of(text: &str) -> Meaning {
        let clauses = reading::clauses(text);
        let mut whole = Clause::default();
        for clause in &clauses {
            for (concept, weight) in &clause.concepts {
                whole.concepts.entry(concept.clone()).or_insert(*weight);
            }
            whole.actions.extend(&clause.actions);
            whole.numbers.extend(clause.numbers.iter().cloned());
        }
        Meaning { whole, clauses }
    }

    /// From 0 (nothing in common, or the opposite) to 1 (the same).
    pub fn similarity(&self, other: &Meaning) -> f64 {
        self.whole.agreement(&other.whole).max(0.0)
    }

    /// How much of this `other` also mentions, from 0 to 1, whether for or against.
    pub fn share_in(&self, other: &Meaning) -> f64 {
        let bare = |concept: &str| concept.trim_start_matches(CONDITION).to_string();
        let there: BTreeSet<String> = other.whole.concepts.keys().map(|concept| bare(concept)).collect();
        let weight = |(_, weight): (&String, &f64)| weight.abs();
        let all: f64 = self.whole.concepts.iter().map(weight).sum();
        let shared = self.whole.concepts.iter().filter(|(concept, _)| there.contains(&bare(concept))).map(weight);
        if all > 0.0 { shared.sum::<f64>() / all } else { 0.0 }
    }

    /// The share of `fields` in the text, without conditions. A word that is in no table belongs to no field.
    pub(crate) fn share_of(&self, fields: &[Field]) -> f64 {
        let wanted = self.whole.concepts.iter().filter(|(concept, _)| !concept.starts_with(CONDITION));
        let (mut all, mut within) = (0.0, 0.0);
        for (concept, weight) in wanted {
            all += weight.abs();
            if concepts::named(concept).is_some_and(|known| fields.contains(&known.field)) {
                within += weight.abs();
            }
        }
        // Only a condition: "think before you code".
        if all > 0.0 { within / all } else { 1.0 }
    }

    pub(crate) fn speaks_of(&self, field: Field) -> bool {
        self.whole.concepts.keys().any(|concept| concepts::named(concept).is_some_and(|known| known.field == field))
    }

    /// The concepts, each with its share of the whole. The squares of the shares add up to 1.
    pub(crate) fn shares(&self) -> impl Iterator<Item = (&str, f64)> {
        let length = self.whole.length();
        self.whole.concepts.iter().map(move |(concept, weight)| (concept.as_str(), weight / length))
    }

    pub(crate) fn clauses(&self) -> &[Clause] {
        &self.clauses
    }
}

impl Clause {
    /// From -1 (the opposite) to 1 (the same).
    pub(crate) fn agreement(&self, other: &Clause) -> f64 {
        let cosine = self.cosine(other, |a, b| a * b);
        if cosine == 0.0 { 0.0 } else { cosine * self.apartness(other) }
    }

    /// From 0 to 1: whether they are about the same thing, for or against.
    pub(crate) fn closeness(&self, other: &Clause) -> f64 {
        self.cosine(other, |a, b| (a * b).abs()) * self.apartness(other)
    }

    fn cosine(&self, other: &Clause, product: impl Fn(f64, f64) -> f64) -> f64 {
        // The choice among several similar words must not depend on the order of comparison.
        let is_first = self.concepts.keys().le(other.concepts.keys());
        let (one, two) = if is_first { (self, other) } else { (other, self) };
        let mut shared = 0.0;
        for (concept, weight) in &one.concepts {
            if let Some(there) = two.concepts.get(concept) {
                shared += product(*weight, *there);
            } else if let Some((like, there)) = two.lookalike(concept, one) {
                shared += like * product(*weight, there);
            }
        }
        (shared / (one.length() * two.length())).clamp(-1.0, 1.0)
    }

    fn length(&self) -> f64 {
        self.concepts.values().map(|weight| weight * weight).sum::<f64>().sqrt().max(f64::EPSILON)
    }

    /// A word of this clause that is the same word mistyped or inflected, unless `other` contains it too.
    fn lookalike(&self, concept: &str, other: &Clause) -> Option<(f64, f64)> {
        let length = concept.chars().count();
        let is_near = |word: &str| {
            word.chars().next() == concept.chars().next()
                && word.chars().count().abs_diff(length) <= LOOKS_CHARS_APART_MAX
        };
        let is_unknown = |word: &str| !word.contains(' ') && concepts::named(word).is_none();
        if length < LOOKS_CHARS_MIN || !is_unknown(concept) {
            return None;
        }
        let candidates = self.concepts.iter().filter(|(word, _)| is_near(word) && is_unknown(word));
        let shape = Shape::of(concept);
        let likes = candidates
            .filter(|(word, _)| !other.concepts.contains_key(*word))
            .map(|(word, weight)| (shape.likeness(&Shape::of(word)), *weight));
        likes.filter(|(like, _)| *like >= TYPO_LIKENESS_MIN).max_by(|a, b| a.0.total_cmp(&b.0))
    }

    fn apartness(&self, other: &Clause) -> f64 {
        fn differ<T: Ord>(a: &BTreeSet<T>, b: &BTreeSet<T>) -> bool {
            !a.is_empty() && !b.is_empty() && a.is_disjoint(b)
        }
        let is_apart = differ(&self.actions, &other.actions)
            || differ(&self.numbers, &other.numbers)
            || concepts::choices().iter().any(|choice| differ(&self.chosen(choice), &other.chosen(choice)));
        if is_apart { APART_FACTOR } else { 1.0 }
    }

    /// Which of the alternatives are wanted here.
    pub(crate) fn chosen<'a>(&self, choice: &'a Choice) -> BTreeSet<&'a str> {
        let is_wanted = |member: &&String| self.concepts.get(*member).is_some_and(|weight| *weight > 0.0);
        choice.members.iter().filter(is_wanted).map(String::as_str).collect()
    }

    /// The clause with the order of its two actions swapped; `None` if it specifies no order.
    pub(crate) fn reversed(&self) -> Option<Clause> {
        let turn = |(concept, weight): (&String, &f64)| match concept.strip_prefix(CONDITION) {
            Some(bare) => (bare.to_string(), weight / CONDITION_WEIGHT),
            None => (format!("{CONDITION}{concept}"), weight * CONDITION_WEIGHT),
        };
        let concepts: BTreeMap<String, f64> = self.concepts.iter().map(turn).collect();
        let has_both = concepts.keys().any(|concept| concept.starts_with(CONDITION))
            && !concepts.keys().all(|concept| concept.starts_with(CONDITION));
        (self.is_before && has_both).then(|| Clause { concepts, is_before: true, ..Clause::default() })
    }

    /// The same without some concepts and without its numbers.
    pub(crate) fn without(&self, left_out: impl Fn(&str) -> bool) -> Clause {
        let mut rest = self.clone();
        rest.concepts.retain(|concept, _| !left_out(concept) && !self.numbers.contains(concept));
        rest.numbers.clear();
        rest
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn similarity(a: &str, b: &str) -> f64 {
        Meaning::of(a).similarity(&Meaning::of(b))
    }

    #[test]
    fn the_same_in_other_words() {
        for (a, b) in [
            ("keep it short", "be concise"),
            ("keep it short", "terse output please"),
            ("be concise", "don't be so verbose"),
            ("keep your answers brief", "your replies are too long"),
            ("be consise", "be concise"),
            ("no emojis", "please stop using emojis"),
            ("remove the emojis", "don't use emojis"),
            ("never use globals", "avoid global variables"),
            ("ask before committing", "never commit without asking me"),
            ("ask me before you commit", "don't commit unless I approve"),
            ("before you commit, run the tests", "run tests before committing"),
            ("write a test for every bug", "you forgot to add a test for the bug"),
            ("keep files under 200 lines", "files must not exceed 200 lines"),
            ("don't over-engineer this", "keep it simple"),
            ("you keep adding comments", "don't add comments"),
            ("use type hints", "always add type annotations"),
            ("use tabs, not spaces", "use tabs instead of spaces"),
            ("comments not needed", "no comments"),
            ("use yarn", "we use yarn, not npm"),
            ("don't create new files unless necessary", "avoid creating new files"),
            ("use four spaces", "use 4 spaces"),
            ("use the frobnicator for parsing", "use the frobnicater for parsing"),
        ] {
            assert!(similarity(a, b) >= SAME_MIN, "{a} / {b}: {:?} {:?}", Meaning::of(a).whole, Meaning::of(b).whole);
            assert_eq!(similarity(a, b), similarity(b, a));
        }
    }

    #[test]
    fn different_meanings_in_similar_words() {
        for (a, b) in [
            ("use tabs", "use spaces"),
            ("always run tests", "never run tests"),
            ("write unit tests", "run unit tests"),
            ("run unit tests", "run integration tests"),
            ("be concise", "be verbose"),
            ("keep functions short", "keep it short"),
            ("max 200 lines per file", "max 400 lines per file"),
            ("use npm to install packages", "use pnpm to install packages"),
            ("never commit", "never commit without asking"),
            ("don't delete the tests", "don't write tests"),
            ("use tabs, not spaces", "use spaces, not tabs"),
            ("validate inputs", "handle errors"),
            ("run cargo fmt before commit", "run cargo clippy before commit"),
            ("", "be concise"),
        ] {
            assert!(similarity(a, b) < SAME_MIN, "{a} / {b}: {}", similarity(a, b));
        }
    }

    #[test]
    fn texts_of_small_words_only_match_when_equal() {
        assert_eq!(similarity("do that", "do that"), 1.0);
        assert_eq!(similarity("do that", "do this"), 0.0);
        assert_eq!(similarity("", ""), 0.0);
    }

    #[test]
    fn a_prompt_shows_what_is_relevant() {
        let share = |a: &str, b: &str| Meaning::of(a).share_in(&Meaning::of(b));
        assert_eq!(share("never push migrations", "write a migration and push it to staging"), 1.0);
        assert_eq!(share("ask before you commit", "commit this"), share("ask before you commit", "don't commit this"));
        assert_eq!(share("no emojis", "fix the parser"), 0.0);
    }

    proptest! {
        #[test]
        fn similarity_is_symmetric_and_between_0_and_1(a in "[a-z ,.']{0,60}", b in ".{0,60}") {
            let (one, other) = (Meaning::of(&a), Meaning::of(&b));
            let likeness = one.similarity(&other);
            prop_assert!((0.0..=1.0).contains(&likeness));
            prop_assert!((likeness - other.similarity(&one)).abs() < 1e-9);
            prop_assert!((0.0..=1.0).contains(&one.share_in(&other)));
            if one.shares().next().is_some() {
                prop_assert!(one.similarity(&one) > 0.999);
            }
        }
    }
}
