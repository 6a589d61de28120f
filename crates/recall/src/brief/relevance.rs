//! Items that share significant words with the prompt come first in their section.

use std::collections::{HashMap, HashSet};

use cerberus_record::clean::text::words;

use super::BriefLine;

/// Moves items related to `prompt` to the front of their section; the order is otherwise kept.
pub fn put_first(items: &mut [BriefLine], prompt: &str) {
    let asked: HashSet<String> = words(prompt).flat_map(|word| forms(&word)).collect();
    let mut holders: HashMap<String, usize> = HashMap::new();
    items.iter().flat_map(item_words).for_each(|word| *holders.entry(word).or_default() += 1);
    // A word in more than half of the items distinguishes nothing.
    let common = |word: &String| 2 * holders.get(word).copied().unwrap_or(0) > items.len().max(4);
    let significant: HashSet<String> = asked.into_iter().filter(|word| word.len() > 2 && !common(word)).collect();
    items.sort_by_cached_key(|item| {
        let shared = item_words(item).intersection(&significant).count();
        (item.section, std::cmp::Reverse(shared))
    });
}

fn item_words(item: &BriefLine) -> HashSet<String> {
    let name = item.path.as_deref().unwrap_or(&item.text);
    words(&format!("{name} {}", item.code)).flat_map(|word| forms(&word)).collect()
}

/// A word, and its singular if it looks like a plural.
fn forms(word: &str) -> Vec<String> {
    let singular = word.strip_suffix('s').filter(|stem| stem.len() > 2).map(str::to_string);
    std::iter::once(word.to_string()).chain(singular).collect()
}
