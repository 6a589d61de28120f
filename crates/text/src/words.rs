//! The words of sentences, and how much two sentences have in common. No tables of meanings: it works in any language.

use std::collections::HashSet;

use super::irregular::base;
use super::stem::stem;

/// A list of words, `a|b|c`.
pub struct Set(HashSet<&'static str>);

impl Set {
    pub fn new(list: &'static str) -> Set {
        Set(list.split('|').map(str::trim).collect())
    }

    pub fn has(&self, word: &str) -> bool {
        self.0.contains(word)
    }
}

/// Whether the script writes words without blanks between them.
pub fn is_unspaced(c: char) -> bool {
    matches!(c, '\u{3040}'..='\u{30ff}' | '\u{3400}'..='\u{9fff}')
}

/// More words are not compared.
const WORDS_MAX: usize = 60;

/// The words of a sentence in their order: stems, and pairs of characters where a script writes no blanks.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Words(Vec<String>);

impl Words {
    pub fn of(text: &str) -> Words {
        let mut found = Vec::new();
        let low = text.to_lowercase().replace(['\'', '’'], "");
        for chunk in low.split(|c: char| !c.is_alphanumeric() && c != '_').filter(|chunk| !chunk.is_empty()) {
            let mut rest = chunk;
            while !rest.is_empty() {
                let is_here = rest.starts_with(is_unspaced);
                let end = rest.find(|c: char| is_unspaced(c) != is_here).unwrap_or(rest.len());
                let (part, after) = rest.split_at(end);
                match is_here {
                    true => found.extend(pairs(part)),
                    false => found.push(stem(base(part))),
                }
                rest = after;
            }
        }
        found.truncate(WORDS_MAX);
        Words(found)
    }

    pub fn len(&self) -> usize {
        self.0.len()
    }

    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    pub fn iter(&self) -> impl Iterator<Item = &str> {
        self.0.iter().map(String::as_str)
    }

    pub fn without(&self, is_left_out: impl Fn(&str) -> bool) -> Words {
        Words(self.0.iter().filter(|word| !is_left_out(word)).cloned().collect())
    }

    /// How alike two sentences are, from 0 to 1: the share of the words that both have in the same order. Longer words
    /// weigh more.
    pub fn likeness(&self, other: &Words) -> f64 {
        self.in_order(other) as f64 / self.weight().max(other.weight()).max(1) as f64
    }

    /// Which part of these words is in the other text, in the same order.
    pub fn in_order_in(&self, other: &Words) -> f64 {
        self.in_order(other) as f64 / self.weight().max(1) as f64
    }

    /// Which part of these words is in the other text, in whatever order.
    pub fn share_in(&self, other: &Words) -> f64 {
        let there: HashSet<&String> = other.0.iter().collect();
        let shared: usize = self.0.iter().filter(|word| there.contains(word)).map(|word| weight(word)).sum();
        shared as f64 / self.weight().max(1) as f64
    }

    fn weight(&self) -> usize {
        self.0.iter().map(|word| weight(word)).sum()
    }

    /// The weight of the longest sequence that both have.
    fn in_order(&self, other: &Words) -> usize {
        let mut row = vec![0; other.0.len() + 1];
        for mine in &self.0 {
            let mut diagonal = 0;
            for (at, yours) in other.0.iter().enumerate() {
                let above = row[at + 1];
                let met = if mine == yours { diagonal + weight(mine) } else { 0 };
                row[at + 1] = above.max(row[at]).max(met);
                diagonal = above;
            }
        }
        row.last().copied().unwrap_or_default()
    }
}

fn weight(word: &str) -> usize {
    word.chars().count()
}

fn pairs(text: &str) -> Vec<String> {
    let chars: Vec<char> = text.chars().collect();
    match chars.len() {
        1 => vec![text.to_string()],
        _ => chars.windows(2).map(|two| two.iter().collect()).collect(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn likeness(a: &str, b: &str) -> f64 {
        let (one, other) = (Words::of(a), Words::of(b));
        assert_eq!(one.likeness(&other), other.likeness(&one), "{a} / {b}");
        one.likeness(&other)
    }

    #[test]
    fn the_same_words_in_the_same_order_are_alike() {
        for (a, b) in [
            ("Always run the tests before committing.", "always run tests before you commit"),
            ("本番には直接pushしないでください", "本番に直接pushしないでください"),
            ("не пиши комментарии в коде", "Не пиши комментарии в коде!"),
        ] {
            assert!(likeness(a, b) > 0.7, "{a} / {b}: {}", likeness(a, b));
        }
        for (a, b) in [
            ("Use tabs, not spaces", "Use spaces, not tabs"),
            ("Use uv for packages", "Use npm for scripts"),
            ("今後は必ずテストを書いて", "本番に直接pushしない"),
            ("", "anything"),
        ] {
            assert!(likeness(a, b) < 0.7, "{a} / {b}: {}", likeness(a, b));
        }
        assert_eq!(likeness("Same words here", "same words here"), 1.0);
    }

    #[test]
    fn a_share_does_not_depend_on_the_order() {
        let memory = Words::of("Run the tests before you commit");
        assert_eq!(memory.share_in(&Words::of("before you commit, run all the tests")), 1.0);
        assert!(memory.share_in(&Words::of("add the button to the page")) < 0.2);
    }
}
