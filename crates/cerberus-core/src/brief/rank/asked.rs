//! Matches a prompt with files: the paths and folders it names, and the words it shares with their names.

use std::collections::HashMap;

use super::Traces;
use super::terms::{each_term, path_like, terms};
use super::weights::PROMPT_BYTES_MAX;
use crate::brief::base;

/// Adds the prompt's evidence to every file that has a trace.
pub fn of_prompt(prompt: &str, traces: &mut Traces) {
    let prompt = crate::clean::text::clip(prompt, PROMPT_BYTES_MAX);
    shared_words(prompt, traces);
    named_paths(prompt, traces);
}

/// A word counts more if fewer paths contain it.
fn shared_words(prompt: &str, traces: &mut Traces) {
    let asked = terms(prompt);
    let mut vocabulary = Vocabulary::default();
    let paths: Vec<Vec<usize>> = traces.list.iter().map(|(path, _)| vocabulary.count(path)).collect();
    let mut is_asked = vec![false; vocabulary.holders.len()];
    asked.iter().filter_map(|word| vocabulary.places.get(word)).for_each(|place| is_asked[*place] = true);
    let count = traces.list.len() as f64;
    let rarity = |word: &usize| (1.0 + count / vocabulary.holders[*word] as f64).ln();
    for ((path, trace), words) in traces.list.iter_mut().zip(&paths) {
        let weight: f64 = words.iter().filter(|word| is_asked[**word]).map(rarity).sum();
        if weight == 0.0 {
            continue;
        }
        trace.shared_words = words.iter().filter(|word| is_asked[**word]).count();
        trace.path_words = weight / (1.0 + count).ln();
        let name = vocabulary.places(base(path));
        let weight: f64 = name.iter().filter(|word| is_asked[**word]).map(rarity).sum();
        trace.name_words = weight / name.iter().map(rarity).sum::<f64>().max(f64::MIN_POSITIVE);
    }
}

/// All words of the paths, and how many paths contain each.
#[derive(Default)]
struct Vocabulary {
    places: HashMap<String, usize>,
    holders: Vec<usize>,
}

impl Vocabulary {
    /// The indexes of a path's words; counts each word once for this path.
    fn count(&mut self, path: &str) -> Vec<usize> {
        let mut found = Vec::new();
        each_term(path, |word| {
            let place = match self.places.get(word) {
                Some(place) => *place,
                None => {
                    self.places.insert(word.to_string(), self.holders.len());
                    self.holders.push(0);
                    self.holders.len() - 1
                }
            };
            if !found.contains(&place) {
                self.holders[place] += 1;
                found.push(place);
            }
        });
        // Floating-point sums depend on the order.
        found.sort_unstable();
        found
    }

    fn places(&self, name: &str) -> Vec<usize> {
        let mut found = Vec::new();
        each_term(name, |word| found.extend(self.places.get(word)));
        found.sort_unstable();
        found.dedup();
        found
    }
}

fn named_paths(prompt: &str, traces: &mut Traces) {
    let tokens = path_like(prompt);
    if tokens.is_empty() {
        return;
    }
    let mut by_base: HashMap<&str, Vec<&str>> = HashMap::new();
    tokens.iter().for_each(|token| by_base.entry(base(token)).or_default().push(token));
    let mut named: HashMap<&str, Vec<usize>> = HashMap::new();
    for (place, (path, _)) in traces.list.iter().enumerate() {
        let Some(same_base) = by_base.get(base(path).to_lowercase().as_str()) else { continue };
        let path = path.to_lowercase();
        for token in same_base {
            if ends_in(&path, token) || ends_in(token, &path) {
                named.entry(token).or_default().push(place);
            }
        }
    }
    let mut folders: HashMap<&str, Vec<usize>> = HashMap::new();
    let unknown = tokens.iter().filter(|token| token.contains('/') && !named.contains_key(token.as_str()));
    let unknown: Vec<(&str, String)> = unknown.map(|token| (token.as_str(), format!("/{token}/"))).collect();
    for (place, (path, _)) in traces.list.iter().enumerate().filter(|_| !unknown.is_empty()) {
        let path = format!("/{}", path.to_lowercase());
        for (token, _) in unknown.iter().filter(|(_, folder)| path.contains(folder)) {
            folders.entry(token).or_default().push(place);
        }
    }
    // A name shared by several files says less about each.
    let share = |places: &Vec<usize>| 1.0 / (places.len() as f64).sqrt();
    for places in named.values() {
        places.iter().for_each(|place| {
            let trace = &mut traces.list[*place].1;
            trace.named = trace.named.max(share(places));
        });
    }
    for places in folders.values() {
        places.iter().for_each(|place| {
            let trace = &mut traces.list[*place].1;
            trace.folder = trace.folder.max(share(places));
        });
    }
}

/// Whether `end` is the end of `path`, in whole components.
pub fn ends_in(path: &str, end: &str) -> bool {
    path.strip_suffix(end).is_some_and(|before| before.is_empty() || before.ends_with('/'))
}
