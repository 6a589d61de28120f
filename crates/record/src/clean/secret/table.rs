//! `rules.txt`, parsed at compile time: a mistake in it is a compile error, and it costs nothing at run time. Rules
//! from the user's settings are parsed by the same functions.

use super::announced::{Announced, RequiredLook, ValuePlace};
use super::text::{
    ALNUM, BASE64, DASH, DIGIT, DOT, DOTTED, HEX, HEX_UPPER, LOWER, UNDERSCORE, UPPER, URL64, WIDE, WORD,
};

const FILE: &str = include_str!("rules.txt");

/// The maximum of a rule without an upper limit.
pub(super) const ANY: u16 = u16::MAX;

/// A key recognised by its format: a prefix, the bytes its body may contain, and their number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct KeyRule {
    pub(super) name: &'static str,
    pub(super) prefix: &'static str,
    pub(super) body: u16,
    pub(super) min: u16,
    pub(super) max: u16,
    /// An address whose path is the secret; the address itself is kept.
    pub(super) keep_prefix: bool,
}

/// Iterates over the words of a line, or the lines of a text.
pub(super) struct TableWords {
    rest: &'static [u8],
}

impl TableWords {
    pub(super) const fn of(line: &'static str) -> TableWords {
        TableWords { rest: line.as_bytes() }
    }

    pub(super) const fn next(&mut self) -> Option<&'static str> {
        let mut start = 0;
        while start < self.rest.len() && self.rest[start] == b' ' {
            start += 1;
        }
        let mut end = start;
        while end < self.rest.len() && self.rest[end] != b' ' {
            end += 1;
        }
        let word = self.rest.split_at(end).0.split_at(start).1;
        self.rest = self.rest.split_at(end).1;
        match (word.is_empty(), std::str::from_utf8(word)) {
            (false, Ok(word)) => Some(word),
            _ => None,
        }
    }

    /// What is left of the line.
    pub(super) const fn rest(&self) -> &'static str {
        match std::str::from_utf8(self.rest.trim_ascii()) {
            Ok(rest) => rest,
            Err(_) => "",
        }
    }

    /// The next line that is neither empty nor a comment.
    pub(super) const fn line(&mut self) -> Option<TableWords> {
        while !self.rest.is_empty() {
            let mut end = 0;
            while end < self.rest.len() && self.rest[end] != b'\n' {
                end += 1;
            }
            let line = self.rest.split_at(end).0;
            self.rest = self.rest.split_at(if end < self.rest.len() { end + 1 } else { end }).1;
            if !line.is_empty() && line[0] != b'#' {
                return Some(TableWords { rest: line });
            }
        }
        None
    }
}

pub(super) const fn same(a: &str, b: &str) -> bool {
    let (a, b) = (a.as_bytes(), b.as_bytes());
    let mut at = 0;
    while at < a.len() && at < b.len() && a[at] == b[at] {
        at += 1;
    }
    a.len() == b.len() && at == a.len()
}

/// Parses the words after `key`.
pub(super) const fn key_rule(words: &mut TableWords) -> Option<KeyRule> {
    let (Some(name), Some(prefix), Some(body), Some(length)) = (words.next(), words.next(), words.next(), words.next())
    else {
        return None;
    };
    let keep_prefix = match words.next() {
        None => false,
        Some(word) if same(word, "keep") => true,
        Some(_) => return None,
    };
    match (classes(body.as_bytes()), length_of(length.as_bytes())) {
        (Some(body), Some((min, max))) => Some(KeyRule { name, prefix, body, min, max, keep_prefix }),
        _ => None,
    }
}

/// Parses byte classes: `hex+dash`.
const fn classes(text: &[u8]) -> Option<u16> {
    let (mut all, mut start, mut at) = (0, 0, 0);
    while at <= text.len() {
        if at == text.len() || text[at] == b'+' {
            let class = match text.split_at(at).0.split_at(start).1 {
                b"digit" => DIGIT,
                b"lower" => LOWER,
                b"upper" => UPPER,
                b"alnum" => ALNUM,
                b"hex" => HEX,
                b"HEX" => DIGIT | HEX_UPPER,
                b"word" => WORD,
                b"url64" => URL64,
                b"base64" => BASE64,
                b"dotted" => DOTTED,
                b"wide" => WIDE,
                b"dash" => DASH,
                b"_" => UNDERSCORE,
                b"." => DOT,
                _ => return None,
            };
            (all, start) = (all | class, at + 1);
        }
        at += 1;
    }
    Some(all)
}

/// Parses `16`, `20-40` or `30+` as minimum and maximum.
const fn length_of(text: &[u8]) -> Option<(u16, u16)> {
    let (mut numbers, mut number, mut at) = ([0; 2], 0, 0);
    let mut is_range = false;
    while at < text.len() {
        match text[at] {
            digit @ b'0'..=b'9' if numbers[number] < 1000 => {
                numbers[number] = numbers[number] * 10 + (digit - b'0') as u16
            }
            b'-' if !is_range && at > 0 => (is_range, number) = (true, 1),
            b'+' if !is_range && at > 0 && at + 1 == text.len() => return Some((numbers[0], ANY)),
            _ => return None,
        }
        at += 1;
    }
    let (min, max) = (numbers[0], if is_range { numbers[1] } else { numbers[0] });
    if min > 0 && max >= min { Some((min, max)) } else { None }
}

/// Parses the words after `word`, up to the names themselves.
pub(super) const fn announced(words: &mut TableWords) -> Option<Announced> {
    let (Some(name), Some(weight)) = (words.next(), words.next()) else { return None };
    let (bar, place) = match weight.as_bytes() {
        b"any" => (RequiredLook::Password, ValuePlace::Anywhere),
        b"random" => (RequiredLook::Token, ValuePlace::Anywhere),
        b"strong" => (RequiredLook::Strong, ValuePlace::Anywhere),
        b"pin" => (RequiredLook::Pin, ValuePlace::Anywhere),
        b"scheme" => (RequiredLook::Token, ValuePlace::AfterScheme),
        b"cookie" => (RequiredLook::Token, ValuePlace::Cookie),
        _ => return None,
    };
    Some(Announced { name, bar, place })
}

/// Orders an array at compile time.
macro_rules! sort {
    ($items:ident, $a:ident before $b:ident: $before:expr) => {{
        let mut sorted = 1;
        while sorted < $items.len() {
            let mut at = sorted;
            while at > 0 && {
                let ($a, $b) = (&$items[at], &$items[at - 1]);
                $before
            } {
                ($items[at], $items[at - 1]) = ($items[at - 1], $items[at]);
                at -= 1;
            }
            sorted += 1;
        }
    }};
}
pub(super) use sort;

/// For an ordered array: the items with a given byte are `index[byte]..index[byte + 1]`.
macro_rules! index {
    ($items:expr, $item:ident: $byte:expr) => {{
        let (mut index, mut at, mut byte) = ([0u16; 257], 0, 0);
        while byte < 256 {
            index[byte] = at as u16;
            while at < $items.len() && {
                let $item = &$items[at];
                $byte as usize == byte
            } {
                at += 1;
            }
            byte += 1;
        }
        index[256] = at as u16;
        assert!(at == $items.len(), "the items are not ordered");
        index
    }};
}
pub(super) use index;

/// The items of an ordered array with this byte.
#[inline]
pub(super) fn indexed<'t, T>(items: &'t [T], index: &[u16; 257], byte: u8) -> &'t [T] {
    let byte = usize::from(byte);
    items.get(usize::from(index[byte])..usize::from(index[byte + 1])).unwrap_or_default()
}

/// The number of keys or names in a file (by the first word of their lines), or of words in a list.
pub(super) const fn count(file: &'static str, kind: &str, list: &str) -> usize {
    let (mut lines, mut found) = (TableWords::of(file), 0);
    while let Some(mut words) = lines.line() {
        if !matches!(words.next(), Some(first) if same(first, kind)) {
            continue;
        }
        if same(kind, "key") {
            found += 1;
            continue;
        }
        if same(kind, "list") && !matches!(words.next(), Some(name) if same(name, list)) {
            continue;
        }
        while words.next().is_some() {
            found += 1;
        }
        // Skip what stands before the words.
        found -= match kind.as_bytes() {
            b"word" => 2,
            b"said" => 1,
            _ => 0,
        };
    }
    found
}

pub(super) const RULES: [KeyRule; count(FILE, "key", "")] = {
    let empty = KeyRule { name: "", prefix: "", body: 0, min: 0, max: 0, keep_prefix: false };
    let (mut rules, mut lines, mut at) = ([empty; count(FILE, "key", "")], TableWords::of(FILE), 0);
    while let Some(mut words) = lines.line() {
        if matches!(words.next(), Some(kind) if same(kind, "key")) {
            let rule = key_rule(&mut words);
            assert!(rule.is_some(), "a line of rules.txt is no `key NAME PREFIX BODY LENGTH [keep]`");
            if let Some(rule) = rule {
                // The search only starts at words and in runs of 20 bytes.
                assert!(rule.prefix.len() >= 2 && rule.prefix.len() + rule.min as usize >= 20, "a key is too short");
                rules[at] = rule;
                at += 1;
            }
        }
    }
    sort!(rules, a before b: sorts_before(a.prefix, b.prefix));
    rules
};

pub(super) const fn first_byte(word: &str) -> u8 {
    word.as_bytes()[0]
}

/// Ordered by first byte; longer words first.
pub(super) const fn sorts_before(a: &str, b: &str) -> bool {
    let (first, other) = (first_byte(a), first_byte(b));
    first < other || (first == other && a.len() > b.len())
}

/// The names that announce a secret, ordered by their last letter.
pub(super) const NAMES: [(&str, Announced); count(FILE, "word", "")] = {
    let empty = Announced { name: "", bar: RequiredLook::Strong, place: ValuePlace::Anywhere };
    let (mut names, mut lines, mut at) = ([("", empty); count(FILE, "word", "")], TableWords::of(FILE), 0);
    while let Some(mut words) = lines.line() {
        if matches!(words.next(), Some(kind) if same(kind, "word")) {
            let announced = announced(&mut words);
            assert!(announced.is_some(), "a line of rules.txt is no `word NAME WEIGHT WORD...`");
            if let Some(announced) = announced {
                while let Some(word) = words.next() {
                    names[at] = (word, announced);
                    at += 1;
                }
            }
        }
    }
    sort!(names, a before b: last_byte(a.0) < last_byte(b.0));
    names
};

pub(super) const fn last_byte(word: &str) -> u8 {
    word.as_bytes()[word.len() - 1]
}

/// The words of a list, ordered by their first byte, longer ones first.
pub(super) const fn words_of<const N: usize>(file: &'static str, list: &str) -> [&'static str; N] {
    let (mut found, mut lines, mut at) = ([""; N], TableWords::of(file), 0);
    while let Some(mut words) = lines.line() {
        let is_list = matches!(words.next(), Some(kind) if same(kind, "list"));
        if is_list && matches!(words.next(), Some(name) if same(name, list)) {
            while let Some(word) = words.next() {
                found[at] = word;
                at += 1;
            }
        }
    }
    assert!(N > 0, "there is no list of that name");
    sort!(found, a before b: sorts_before(a, b));
    found
}

/// The words of a list in a file, as a constant.
macro_rules! list {
    ($file:ident, $name:literal) => {{
        const WORDS: [&str; $crate::clean::secret::table::count($file, "list", $name)] =
            $crate::clean::secret::table::words_of($file, $name);
        &WORDS
    }};
}
pub(super) use list;

pub(super) const PASSING: &[&str] = list!(FILE, "passing");
pub(super) const TAILS: &[&str] = list!(FILE, "tails");
pub(super) const HARMLESS_TAILS: &[&str] = list!(FILE, "harmless-tails");
pub(super) const SECRET_KEYS: &[&str] = list!(FILE, "secret-keys");
pub(super) const HARMLESS_KEYS: &[&str] = list!(FILE, "harmless-keys");
pub(super) const HARMLESS_TOKENS: &[&str] = list!(FILE, "harmless-tokens");
pub(super) const SCHEMES: &[&str] = list!(FILE, "schemes");
pub(super) const PLACEHOLDER_PARTS: &[&str] = list!(FILE, "placeholder-parts");
pub(super) const PLACEHOLDER_TERMS: &[&str] = list!(FILE, "placeholder-terms");
pub(super) const PLACEHOLDER_WORDS: &[&str] = list!(FILE, "placeholder-words");
pub(super) const MASKS: &[&str] = list!(FILE, "masks");
