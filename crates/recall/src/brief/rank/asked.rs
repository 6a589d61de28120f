//! Matches a prompt with files: the paths and folders it names, and the words it shares with their names.

use std::borrow::Cow;

use cerberus_record::clean::text::clip;
use cerberus_record::map::{FastMap, FastSet};

use super::Traces;
use super::terms::{each_term, path_like, terms};
use super::trace::folder;
use super::weights::{Feature, PROMPT_BYTES_MAX, SIMILAR_WORD_CHARS};
use crate::brief::base;

/// A name that more files share than this says little about any of them.
const CERTAIN_MIN: f64 = 0.5;

/// Adds the prompt's evidence to every file that has a trace.
pub fn of_prompt(topic: &str, traces: &mut Traces) {
    let topic = clip(topic, PROMPT_BYTES_MAX);
    shared_words(topic, traces);
    named_paths(topic, traces);
    relatives_of_named(traces);
}

/// A word counts more if fewer paths contain it. The ending of a file is not a word.
fn shared_words(topic: &str, traces: &mut Traces) {
    let asked = terms(topic);
    let beginnings: FastSet<&str> = asked.iter().filter_map(|word| beginning(word)).collect();
    let mut vocabulary = Vocabulary::default();
    let mut folders: FastMap<&str, Vec<usize>> = FastMap::default();
    // The words of all paths, and where those of each end.
    let (mut words, mut ends) = (Vec::new(), Vec::with_capacity(traces.list.len()));
    for (path, _) in &traces.list {
        let start = words.len();
        words.extend(&*folders.entry(folder(path)).or_insert_with_key(|folder| vocabulary.find(folder)));
        vocabulary.add(without_ending(path).get(folder(path).len()..).unwrap_or_default(), &mut words, start);
        vocabulary.count(&mut words[start..]);
        ends.push(words.len());
    }
    let mut is_asked = vec![false; vocabulary.holders.len()];
    asked.iter().filter_map(|word| vocabulary.places.get(word.as_str())).for_each(|place| is_asked[*place] = true);
    let mut is_similar = vec![false; vocabulary.holders.len()];
    for (word, place) in vocabulary.places.iter().filter(|(_, place)| !is_asked[**place]) {
        is_similar[*place] = beginning(word).is_some_and(|beginning| beginnings.contains(beginning));
    }
    let count = traces.list.len() as f64;
    let rarity = |word: &usize| (1.0 + count / vocabulary.holders[*word] as f64).ln();
    let mut start = 0;
    for ((path, trace), end) in traces.list.iter_mut().zip(ends) {
        let words = &words[start..end];
        start = end;
        let similar: f64 = words.iter().filter(|word| is_similar[**word]).map(rarity).sum();
        trace.add(Feature::SimilarWords, similar / (1.0 + count).ln());
        let weight: f64 = words.iter().filter(|word| is_asked[**word]).map(rarity).sum();
        if weight == 0.0 {
            continue;
        }
        trace.shared_words = words.iter().filter(|word| is_asked[**word]).count();
        trace.add(Feature::PathWords, weight / (1.0 + count).ln());
        let name = vocabulary.places(without_ending(base(path)));
        let weight: f64 = name.iter().filter(|word| is_asked[**word]).map(rarity).sum();
        let share = weight / name.iter().map(rarity).sum::<f64>().max(f64::MIN_POSITIVE);
        trace.add(Feature::NameWords, share);
    }
}

/// `src/a.test.ts` gives `src/a.test`; `.gitignore` stays.
fn without_ending(path: &str) -> &str {
    let name = base(path).len();
    match path.rsplit_once('.') {
        Some((before, ending)) if ending.len() + 1 < name && !ending.contains('/') => before,
        _ => path,
    }
}

/// The first letters of a word that is long enough.
fn beginning(word: &str) -> Option<&str> {
    let (last, letter) = word.char_indices().nth(SIMILAR_WORD_CHARS - 1)?;
    Some(&word[..last + letter.len_utf8()])
}

/// Files with the name of a file that the prompt names, and files in its folder.
fn relatives_of_named(traces: &mut Traces) {
    let named: Vec<&str> = traces
        .list
        .iter()
        .filter(|(_, trace)| trace.value(Feature::Named) > CERTAIN_MIN)
        .map(|(path, _)| *path)
        .collect();
    if named.is_empty() {
        return;
    }
    let names: FastSet<String> = named.iter().map(|path| bare_name(path)).filter(|name| name.len() > 2).collect();
    let mut folders: FastMap<String, f64> = FastMap::default();
    for path in &named {
        *folders.entry(folder(path).to_string()).or_default() += 1.0 / named.len() as f64;
    }
    for (path, trace) in traces.list.iter_mut().filter(|(_, trace)| trace.value(Feature::Named) <= CERTAIN_MIN) {
        trace.add(Feature::BesideNamed, folders.get(folder(path)).copied().unwrap_or_default());
        if trace.has_past() && names.contains(&bare_name(path)) {
            trace.add(Feature::SameName, 1.0);
        }
    }
}

/// The name without endings and without what marks a test: `store_test.go`, `test_store.py` and `store.spec.ts` are
/// all `store`.
fn bare_name(path: &str) -> String {
    let name = base(path).to_lowercase();
    let bare = match name.find('.') {
        Some(at) if at > 0 => &name[..at],
        _ => name.as_str(),
    };
    let bare = bare.strip_prefix("test_").unwrap_or(bare);
    ["_test", "_spec", "-test", "tests", "test"]
        .iter()
        .find_map(|end| bare.strip_suffix(end))
        .unwrap_or(bare)
        .to_string()
}

/// All words of the paths, and how many paths contain each.
#[derive(Default)]
struct Vocabulary<'a> {
    places: FastMap<Cow<'a, str>, usize>,
    holders: Vec<usize>,
}

impl<'a> Vocabulary<'a> {
    fn find(&mut self, text: &'a str) -> Vec<usize> {
        let mut found = Vec::new();
        self.add(text, &mut found, 0);
        found
    }

    /// Adds the indexes of a text's words, each once after `start`.
    fn add(&mut self, text: &'a str, found: &mut Vec<usize>, start: usize) {
        each_term(text, |word| {
            let place = *self.places.entry(word).or_insert(self.holders.len());
            if place == self.holders.len() {
                self.holders.push(0);
            }
            if !found[start..].contains(&place) {
                found.push(place);
            }
        });
    }

    /// Counts the words of a path.
    fn count(&mut self, found: &mut [usize]) {
        found.iter().for_each(|place| self.holders[*place] += 1);
        // Floating-point sums depend on the order.
        found.sort_unstable();
    }

    fn places(&self, name: &str) -> Vec<usize> {
        let mut found = Vec::new();
        each_term(name, |word| found.extend(self.places.get(&word)));
        found.sort_unstable();
        found.dedup();
        found
    }
}

fn named_paths(topic: &str, traces: &mut Traces) {
    let tokens = path_like(topic);
    if tokens.is_empty() {
        return;
    }
    let mut by_base: FastMap<&str, Vec<&str>> = FastMap::default();
    tokens.iter().for_each(|token| by_base.entry(base(token)).or_default().push(token));
    let mut named: FastMap<&str, Vec<usize>> = FastMap::default();
    let mut names = LowerNames::of(by_base.keys().copied());
    for (place, (path, _)) in traces.list.iter().enumerate() {
        let Some(same_base) = names.find(base(path)).and_then(|name| by_base.get(name)) else { continue };
        let path = path.to_lowercase();
        for token in same_base {
            if ends_in(&path, token) || ends_in(token, &path) {
                named.entry(token).or_default().push(place);
            }
        }
    }
    let mut folders: FastMap<&str, Vec<usize>> = FastMap::default();
    let unknown = tokens.iter().filter(|token| token.contains('/') && !named.contains_key(token.as_str()));
    let unknown: Vec<(&str, String)> = unknown.map(|token| (token.as_str(), format!("/{token}/"))).collect();
    // Files of a folder have the same folders above them.
    let mut above: FastMap<&str, Vec<&str>> = FastMap::default();
    for (place, (path, _)) in traces.list.iter().enumerate().filter(|_| !unknown.is_empty()) {
        let meant = above.entry(folder(path)).or_insert_with_key(|folder| {
            let path = format!("/{}/", folder.to_lowercase());
            unknown.iter().filter(|(_, folder)| path.contains(folder)).map(|(token, _)| *token).collect()
        });
        meant.iter().for_each(|token| folders.entry(token).or_default().push(place));
    }
    // A name shared by several files says less about each.
    let share = |places: &Vec<usize>| 1.0 / (places.len() as f64).sqrt();
    for places in named.values() {
        places.iter().for_each(|place| {
            traces.list[*place].1.at_least(Feature::Named, share(places));
        });
    }
    for places in folders.values() {
        places.iter().for_each(|place| {
            traces.list[*place].1.at_least(Feature::NamedFolder, share(places));
        });
    }
}

/// Whether `end` is the end of `path`, in whole components.
pub fn ends_in(path: &str, end: &str) -> bool {
    path.strip_suffix(end).is_some_and(|before| before.is_empty() || before.ends_with('/'))
}

/// Names in lower case, by which files are looked up. Few files have any of them, so most are told apart by the length
/// of their name.
pub struct LowerNames {
    lengths: u128,
    low: String,
}

impl LowerNames {
    pub fn of<'a>(names: impl Iterator<Item = &'a str>) -> LowerNames {
        LowerNames { lengths: names.fold(0, |lengths, name| lengths | length(name)), low: String::new() }
    }

    /// The name in lower case, if it may be one of them.
    pub fn find(&mut self, name: &str) -> Option<&str> {
        self.low.clear();
        match name.is_ascii() {
            true if self.lengths & length(name) == 0 => return None,
            true => {
                self.low.push_str(name);
                self.low.make_ascii_lowercase();
            }
            false => self.low.push_str(&name.to_lowercase()),
        }
        Some(&self.low)
    }
}

/// One bit for the number of bytes; all long names share one.
fn length(name: &str) -> u128 {
    1 << name.len().min(127)
}
