//! Groups texts with the same meaning and picks the best wording of each group.
//!
//! Greedy and in order: a text joins the group whose first text is most similar, or starts a new one. The first text
//! of a group never changes, so a group keeps its identity while it grows. Candidates are found by shared concepts,
//! not by comparing all pairs.

use std::collections::HashMap;

use super::wording;
use crate::language::meaning::{Meaning, SAME_MIN};

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Cluster {
    /// Indexes into the input, ascending.
    pub members: Vec<usize>,
    /// The member with the best wording.
    pub canonical: usize,
}

/// Groups `texts`; every text is in exactly one group.
pub fn cluster<T: AsRef<str>>(texts: &[T]) -> Vec<Cluster> {
    let mut groups: Vec<Vec<usize>> = Vec::new();
    let mut leaders = Nearby::default();
    for (at, text) in texts.iter().enumerate() {
        let meaning = Meaning::of(text.as_ref());
        match leaders.nearest(&meaning) {
            Some(group) => groups[group].push(at),
            None => {
                leaders.add(meaning);
                groups.push(vec![at]);
            }
        }
    }
    let best = |members: Vec<usize>| {
        let canonical = canonical(members.iter().map(|at| (*at, texts[*at].as_ref())));
        Cluster { canonical: canonical.unwrap_or_default(), members }
    };
    groups.into_iter().map(best).collect()
}

/// Known meanings, indexed by concept.
#[derive(Default)]
pub(crate) struct Nearby {
    meanings: Vec<Meaning>,
    /// For each concept, the meanings that have it and its weight there.
    by_concept: HashMap<String, Vec<(usize, f64)>>,
}

/// Meanings that share less are not compared in full. Below `SAME_MIN`, because similar words only count in the full
/// comparison.
const LOOK_CLOSER_MIN: f64 = 0.45;

impl Nearby {
    pub fn add(&mut self, meaning: Meaning) {
        for (concept, share) in meaning.shares() {
            self.by_concept.entry(concept.to_string()).or_default().push((self.meanings.len(), share));
        }
        self.meanings.push(meaning);
    }

    /// The known meaning that is the same as `meaning`: the most similar, then the first.
    pub fn nearest(&self, meaning: &Meaning) -> Option<usize> {
        let mut shared: HashMap<usize, f64> = HashMap::new();
        for (concept, share) in meaning.shares() {
            for (at, there) in self.by_concept.get(concept).into_iter().flatten() {
                *shared.entry(*at).or_default() += share * there;
            }
        }
        let mut near: Vec<usize> =
            shared.into_iter().filter(|(_, sum)| *sum >= LOOK_CLOSER_MIN).map(|(at, _)| at).collect();
        near.sort_unstable();
        let alike = near.into_iter().map(|at| (self.meanings[at].similarity(meaning), at));
        let best = alike.fold((0.0, 0), |best, one| if one.0 > best.0 { one } else { best });
        (best.0 >= SAME_MIN).then_some(best.1)
    }
}

/// Words that make an instruction definite.
const DEFINITE: &str = "before|after|instead|when|always|never|must|should|limit|max|min";

/// The best wording of a cluster: an imperative, neither terse nor long, definite; then the shortest, then the first.
pub(crate) fn canonical<'a>(texts: impl Iterator<Item = (usize, &'a str)>) -> Option<usize> {
    let rated = texts.map(|(at, text)| (std::cmp::Reverse(score(text)), text.chars().count(), at));
    rated.min().map(|(_, _, at)| at)
}

fn score(text: &str) -> u32 {
    let plain = wording::plain(text).to_lowercase();
    let is_in = |word: &str, list: &str| list.split('|').any(|one| one == word);
    let words: Vec<&str> = plain.split_whitespace().map(|word| word.trim_matches([',', '.', ':', ';', '!'])).collect();
    let imperative = words.first().is_some_and(|word| is_in(word, wording::IMPERATIVES));
    let is_handy = (5..=12).contains(&words.len());
    let is_definite = words.iter().any(|word| is_in(word, DEFINITE));
    3 * u32::from(imperative) + 2 * u32::from(is_handy) + u32::from(is_definite)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn canonical_of<'a>(texts: &[&'a str]) -> &'a str {
        texts[canonical(texts.iter().copied().enumerate()).unwrap()]
    }

    #[test]
    fn nineteen_phrases_are_six_instructions() {
        let phrases = [
            "keep replies short",
            "keep it brief",
            "make the output shorter",
            "terse answers only",
            "never go over 300 lines",
            "keep files below 300 lines",
            "files should not exceed 300 lines",
            "always validate the input",
            "validate what users input",
            "inputs must be validated",
            "add error handling",
            "handle the errors properly",
            "errors have to be handled",
            "write unit tests",
            "add some unit tests",
            "please create unit tests",
            "never use global variables",
            "avoid globals",
            "don't use globals",
        ];
        let clusters = cluster(&phrases);
        let shown: Vec<Vec<&str>> =
            clusters.iter().map(|cluster| cluster.members.iter().map(|at| phrases[*at]).collect()).collect();
        assert!(clusters.len() <= 11 && clusters.len() as f64 / phrases.len() as f64 <= 0.6, "{shown:?}");
        assert_eq!(clusters.len(), 6, "{shown:?}");
    }

    #[test]
    fn repetition_is_recognised_by_meaning() {
        assert_eq!(cluster(&["keep it short", "be concise", "terse output please"]).len(), 1);
        assert_eq!(cluster(&["use tabs", "use spaces"]).len(), 2);
        assert_eq!(cluster(&["always run tests", "never run tests"]).len(), 2);
        let apart = ["keep it short", "validate inputs", "handle errors", "write tests", "avoid globals"];
        assert_eq!(cluster(&apart).len(), apart.len());
        assert_eq!(cluster::<&str>(&[]), []);
    }

    #[test]
    fn the_best_wording_is_chosen() {
        for (texts, best) in [
            (&["summaries should be concise", "keep summaries concise", "we want concise summaries"][..], 1),
            (
                &[
                    "short",
                    "keep your replies concise and brief",
                    "it would be nicer to have the replies a bit shorter than now",
                ],
                1,
            ),
            (&["keep summaries short", "always keep summaries short"], 1),
            (&["use tabs", "use  tabs"], 0),
            (&["please use tabs for indentation here", "we have always used tabs"], 0),
        ] {
            assert_eq!(canonical_of(texts), texts[best]);
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(64))]

        #[test]
        fn a_partition_in_order(texts in proptest::collection::vec(
            prop_oneof!["(use|avoid|never) (tabs|mocks|globals|emojis)", "[a-z ]{0,20}", ".{0,12}"], 0..40)) {
            let clusters = cluster(&texts);
            let mut all: Vec<usize> = clusters.iter().flat_map(|cluster| cluster.members.clone()).collect();
            all.sort_unstable();
            prop_assert_eq!(all, (0..texts.len()).collect::<Vec<_>>());
            prop_assert!(clusters.iter().all(|cluster| cluster.members.contains(&cluster.canonical)));
            prop_assert!(clusters.iter().all(|cluster| cluster.members.is_sorted()));
            prop_assert!(clusters.iter().map(|cluster| cluster.members[0]).is_sorted());
            // Later texts never change earlier groups.
            let half = texts.len() / 2;
            let before: Vec<Vec<usize>> = cluster(&texts[..half]).into_iter().map(|cluster| cluster.members).collect();
            let cut = clusters.into_iter().map(|c| c.members.into_iter().filter(|at| *at < half).collect::<Vec<_>>());
            prop_assert_eq!(before, cut.filter(|members| !members.is_empty()).collect::<Vec<_>>());
        }
    }
}
