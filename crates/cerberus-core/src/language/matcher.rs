//! Word lists and patterns, compiled once: what the tables of cues are written in, and how they are matched.
//!
//! A pattern is words between spaces: `a|b` one of these, `?a|b` perhaps one of these, `!a|b` none of these follows,
//! `@x` a word of a class, `+` any word, `?+` perhaps one more, `*` up to a few words, `#` a number or letter, `$` the end of a clause; by form
//! alone `%` a verb as an order has it, `=` a word in -ing, `&` a plural.

use super::classes::CLASSES;
use super::form;
use super::sentence::{FAULT, QUOTE, Word};

/// How many words `*` stands for at most.
const GAP_WORDS_MAX: usize = 7;

/// A list of words, `a|b|@class`, sorted, and of forms. Most words that are looked for begin with no letter of the list.
pub(crate) struct Set {
    words: Vec<&'static str>,
    forms: Vec<Form>,
    initials: u128,
}

type Form = fn(&str) -> bool;

impl Set {
    pub fn new(list: &'static str) -> Set {
        let mut words = Vec::new();
        let mut forms = Vec::new();
        collect(list, &mut words, &mut forms);
        words.sort_unstable();
        Set { initials: words.iter().fold(0, |initials, word| initials | initial(word)), words, forms }
    }

    pub fn has(&self, word: &str) -> bool {
        let is_listed = self.initials & initial(word) != 0 && self.words.binary_search(&word).is_ok();
        is_listed || self.forms.iter().any(|fits| fits(word))
    }

    /// How many words at the beginning of `words` are one of the list: "do not" is read wherever "don't" is.
    fn len_at(&self, words: &[Word]) -> Option<usize> {
        let low = |at: usize| words.get(at).map_or("", |word| word.low.as_str());
        if self.has(low(0)) {
            return Some(1);
        }
        (low(0) == "do" && low(1) == "not" && self.has("don't")).then_some(2)
    }

    pub fn has_any(&self, words: &[Word]) -> bool {
        words.iter().any(|word| self.has(&word.low))
    }
}

/// One bit for the first byte; all that are not ASCII share one.
fn initial(word: &str) -> u128 {
    1 << word.bytes().next().unwrap_or(0).min(127)
}

fn collect(list: &'static str, words: &mut Vec<&'static str>, forms: &mut Vec<Form>) {
    for one in list.split('|').map(str::trim_start) {
        match (one, one.strip_prefix('@')) {
            (_, Some(class)) => {
                let members = CLASSES.iter().filter(|(name, _)| *name == class);
                members.for_each(|(_, members)| collect(members, words, forms));
            }
            ("%", _) => forms.push(form::is_order),
            ("=", _) => forms.push(form::is_gerund),
            ("&", _) => forms.push(form::is_plural),
            _ => words.push(one),
        }
    }
}

enum Step {
    /// At most so many words.
    Gap(usize),
    Any,
    Mark,
    End,
    Not(Set),
    Maybe(Set),
    One(Set),
}

pub(crate) struct Pattern(Vec<Step>);

impl Pattern {
    pub fn new(pattern: &'static str) -> Pattern {
        let step = |word: &'static str| match word.as_bytes() {
            b"*" => Step::Gap(GAP_WORDS_MAX),
            b"?+" => Step::Gap(1),
            b"+" => Step::Any,
            b"#" => Step::Mark,
            b"$" => Step::End,
            [b'!', ..] => Step::Not(Set::new(&word[1..])),
            [b'?', _, ..] => Step::Maybe(Set::new(&word[1..])),
            _ => Step::One(Set::new(word)),
        };
        Pattern(pattern.split_whitespace().map(step).collect())
    }

    /// How many words the pattern takes from the beginning of `words`, when it fits.
    pub fn match_len(&self, words: &[Word]) -> Option<usize> {
        match_len(&self.0, words)
    }

    pub fn matches_at(&self, words: &[Word], at: usize) -> bool {
        words.get(at..).is_some_and(|rest| self.match_len(rest).is_some())
    }
}

/// Compiles a table.
pub(crate) fn patterns(table: &[&'static str]) -> Vec<Pattern> {
    table.iter().map(|pattern| Pattern::new(pattern)).collect()
}

fn match_len(steps: &[Step], words: &[Word]) -> Option<usize> {
    let Some((first, rest)) = steps.split_first() else { return Some(0) };
    let head = words.first().map_or("", |word| word.low.as_str());
    let take = |count: usize| Some(count + match_len(rest, words.get(count..)?)?);
    let is_word = || !head.is_empty() && (head.chars().any(char::is_alphanumeric) || head == QUOTE || head == FAULT);
    match first {
        Step::Gap(max) => (0..=(*max).min(words.len())).find_map(take),
        Step::Any => is_word().then(|| take(1)).flatten(),
        Step::Mark => is_mark(head).then(|| take(1)).flatten(),
        Step::End => (!is_word()).then(|| match_len(rest, words)).flatten(),
        Step::Not(set) => (!set.has(head)).then(|| take(0)).flatten(),
        Step::Maybe(set) => set.len_at(words).and_then(take).or_else(|| take(0)),
        Step::One(set) => set.len_at(words).and_then(take),
    }
}

/// `B`, `2`, `#3`: how one of several is named.
fn is_mark(word: &str) -> bool {
    let name = word.trim_start_matches('#');
    let is_number = !name.is_empty() && name.len() <= 2 && name.bytes().all(|byte| byte.is_ascii_digit());
    is_number || (name.len() == 1 && name.bytes().all(|byte| byte.is_ascii_lowercase()) && name != "i" && name != "a")
}
