//! What the words of an instruction mean, looked up in the tables of `vocabulary.rs`. Nothing here reads a sentence;
//! `reading.rs` does.

use std::sync::LazyLock;

use super::lines::Lines;
use super::stem::{Shape, stem};
use super::vocabulary::{CONCEPTS, table};

pub(crate) use super::vocabulary::{Concept, Entry, Field, REMOVE};

/// All phrases of the tables as stems, each with the place of its table. Of those with the same first stem, the longest
/// comes first.
const PHRASES: Lines = Lines(include_str!(concat!(env!("OUT_DIR"), "/phrases.txt")));

/// The longer words of the concepts by their initial: the place of the table and the shape.
const SPELLINGS: Lines = Lines(include_str!(concat!(env!("OUT_DIR"), "/spellings.txt")));

/// Alternatives of which one is chosen, and the words that only name the choice.
pub(crate) struct Choice {
    pub members: Vec<String>,
    pub about: Vec<String>,
}

const CHOICES: [(&str, &str); 16] = [
    ("tab|space", "indent|code"),
    ("single quote|double quote", "string"),
    ("npm|yarn|pnpm|bun", "dependency|install|manager"),
    ("pip|poetry|uv|pipenv|conda", "dependency|install|manager"),
    ("merge|rebase", "branch|commit"),
    ("camelcase|snake_case|kebabcase|pascalcase", "name"),
    ("british|american", "spelling|english"),
    ("english|german|french|spanish", "talk"),
    ("jest|vitest|mocha", "test"),
    ("pytest|unittest", "test"),
    ("prettier|biome|dprint", "format"),
    ("black|yapf|autopep8", "format"),
    ("postgres|mysql|sqlite|mongodb", "database|storage"),
    ("inheritance|composition", ""),
    ("bullet|prose", "talk"),
    ("typescript|javascript", "code"),
];

pub(crate) fn choices() -> &'static [Choice] {
    static ALL: LazyLock<Vec<Choice>> = LazyLock::new(|| {
        let key = |word: &str| named(word).map_or_else(|| stem(word), |concept| concept.name.to_string());
        let keys = |list: &str| list.split('|').filter(|word| !word.is_empty()).map(key).collect();
        CHOICES.iter().map(|(members, about)| Choice { members: keys(members), about: keys(about) }).collect()
    });
    &ALL
}

/// The concept with this name, if there is one.
pub(crate) fn named(name: &str) -> Option<&'static Concept> {
    CONCEPTS.iter().find(|concept| concept.name == name)
}

/// The entry that the stems begin with, and how many of them it takes.
pub(crate) fn entry(stems: &[String]) -> Option<(Entry, usize)> {
    PHRASES.of(stems.first()?).find_map(|(phrase, place)| {
        let mut count = 0;
        for known in phrase.split(' ') {
            if stems.get(count).is_none_or(|stem| stem != known) {
                return None;
            }
            count += 1;
        }
        Some((entry_at(place)?, count))
    })
}

fn entry_at(place: &str) -> Option<Entry> {
    table(place.parse().ok()?).map(|(_, entry)| entry)
}

pub(crate) const TYPO_LIKENESS_MIN: f64 = 0.55;

/// The concept whose word was probably mistyped.
pub(crate) fn mistyped(word: &str) -> Option<Entry> {
    if !Shape::is_telling(word) {
        return None;
    }
    let shapes = [Shape::of(word), Shape::of(&stem(word))];
    let like = |known: &str| shapes[0].likeness_to_written(known).max(shapes[1].likeness_to_written(known));
    let mut initial = [0; 4];
    let near = SPELLINGS.of(shapes[0].initial().encode_utf8(&mut initial)).filter_map(|(_, known)| {
        let (place, shape) = known.split_once(' ')?;
        Some((like(shape), place))
    });
    let best = near.fold((0.0, None), |best, (like, place)| if like > best.0 { (like, Some(place)) } else { best });
    best.1.filter(|_| best.0 >= TYPO_LIKENESS_MIN).and_then(entry_at)
}

#[cfg(test)]
mod tests {
    use std::collections::HashMap;

    use super::*;

    #[test]
    fn a_word_is_in_one_table_only() {
        let mut seen: HashMap<Vec<String>, (&str, &str)> = HashMap::new();
        let mut twice = Vec::new();
        for (list, _) in (0..).map_while(table) {
            for words in list.split('|').filter(|words| !words.is_empty()) {
                let stems: Vec<String> = words.split_whitespace().map(stem).collect();
                // Two forms of one word in the same list are harmless.
                match seen.insert(stems, (words, list)) {
                    Some((before, there)) if there != list => twice.push((before, words)),
                    _ => {}
                }
            }
        }
        assert!(twice.is_empty(), "{twice:?}");
    }

    #[test]
    fn typos_find_their_word() {
        let name = |word: &str| match mistyped(word) {
            Some(Entry::Concept(concept) | Entry::Opposite(concept)) => concept.name,
            _ => "",
        };
        for (word, meant) in [
            ("consise", "concise"),
            ("verbse", "concise"),
            ("comented", "comment"),
            ("explaination", "explain"),
            ("summery", "summary"),
            ("refactor", ""),
            ("parser", ""),
            ("tset", ""),
        ] {
            assert_eq!(name(word), meant, "{word}");
        }
    }
}
