//! Word lists and patterns, compiled once: the notation of the cue tables, and how they are matched.
//!
//! A pattern is a list of words separated by spaces: `a|b` one of these, `?a|b` optionally one of these, `!a|b` none
//! of these follows, `@x` a word of a class, `+` any word, `?+` optionally one more, `*` up to a few words, `#` a
//! number or letter, `$` the end of a clause. By form alone: `%` a verb in the imperative, `=` a word in -ing, `&` a
//! plural.

use std::sync::OnceLock;

use super::classes::CLASSES;
use super::form;
use super::sentence::{FAULT, QUOTE, Word};

/// The maximum number of words that `*` matches.
const GAP_WORDS_MAX: usize = 7;

/// A sorted list of words, `a|b|@class`, and of forms. Most words looked up begin with no letter of the list.
/// Collected when it is first asked: of most patterns, only the first word ever is, so the others must be small.
pub(crate) struct Set {
    list: &'static str,
    collected: OnceLock<Box<Collected>>,
}

struct Collected {
    words: Vec<&'static str>,
    forms: Vec<Form>,
    initials: u128,
}

type Form = fn(&str) -> bool;

impl Set {
    pub const fn new(list: &'static str) -> Set {
        Set { list, collected: OnceLock::new() }
    }

    fn collected(&self) -> &Collected {
        self.collected.get_or_init(|| {
            let mut words = Vec::new();
            let mut forms = Vec::new();
            collect(self.list, &mut words, &mut forms);
            words.sort_unstable();
            let initials = words.iter().fold(0, |initials, word| initials | initial(word));
            Box::new(Collected { initials, words, forms })
        })
    }

    pub fn has(&self, word: &str) -> bool {
        let Collected { words, forms, initials } = self.collected();
        let is_listed = initials & initial(word) != 0 && words.binary_search(&word).is_ok();
        is_listed || forms.iter().any(|fits| fits(word))
    }

    /// How many words at the beginning of `words` match one of the list: "do not" matches wherever "don't" does.
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

/// One bit for the first byte; all bytes outside ASCII share one.
fn initial(word: &str) -> u128 {
    1 << word.bytes().next().unwrap_or(0).min(127)
}

fn collect(list: &'static str, words: &mut Vec<&'static str>, forms: &mut Vec<Form>) {
    let mut start = 0;
    for end in memchr::memchr_iter(b'|', list.as_bytes()).chain([list.len()]) {
        let one = list[start..end].trim_start();
        start = end + 1;
        match (one, one.strip_prefix('@')) {
            (_, Some(class)) => {
                let members = CLASSES.iter().filter(|(name, _)| *name == class);
                members.for_each(|(_, members)| collect(members, words, forms));
            }
            ("%", _) => forms.push(form::is_imperative),
            ("=", _) => forms.push(form::is_gerund),
            ("&", _) => forms.push(form::is_plural),
            _ => words.push(one),
        }
    }
}

enum Step {
    /// At most this many words.
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
        debug_assert!(pattern.split_whitespace().eq(pattern.split(' ')), "{pattern}");
        let mut steps = Vec::with_capacity(memchr::memchr_iter(b' ', pattern.as_bytes()).count() + 1);
        steps.extend(pattern.split(' ').map(step));
        Pattern(steps)
    }

    /// How many words the pattern matches at the beginning of `words`, or `None`.
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

/// `B`, `2`, `#3`: names for one of several options.
fn is_mark(word: &str) -> bool {
    let name = word.trim_start_matches('#');
    let is_number = !name.is_empty() && name.len() <= 2 && name.bytes().all(|byte| byte.is_ascii_digit());
    is_number || (name.len() == 1 && name.bytes().all(|byte| byte.is_ascii_lowercase()) && name != "i" && name != "a")
}
