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

/// Iterates over the words of a line.
#[derive(Clone, Copy)]
pub(super) struct TableWords {
    rest: &'static str,
}

impl TableWords {
    pub(super) const fn of(line: &'static str) -> TableWords {
        TableWords { rest: line }
    }

    pub(super) const fn next(&mut self) -> Option<&'static str> {
        let bytes = self.rest.as_bytes();
        let mut start = 0;
        while start < bytes.len() && bytes[start] == b' ' {
            start += 1;
        }
        let mut end = start;
        while end < bytes.len() && bytes[end] != b' ' {
            end += 1;
        }
        let (word, rest) = self.rest.split_at(end);
        self.rest = rest;
        if start < end { Some(word.split_at(start).1) } else { None }
    }

    /// What is left of the line, without blanks around it.
    pub(super) const fn rest(&self) -> &'static str {
        self.rest.trim_ascii()
    }
}

/// A line of a file: its first word, and the words after it.
#[derive(Clone, Copy)]
pub(super) struct TableLine {
    kind: &'static str,
    /// The first byte of the kind.
    first: u8,
    words: TableWords,
}

/// The next line of `text` that is neither empty nor a comment, and what follows it.
const fn next_line(mut text: &'static str) -> Option<(TableLine, &'static str)> {
    while !text.is_empty() {
        let bytes = text.as_bytes();
        let mut end = 0;
        while end < bytes.len() && bytes[end] != b'\n' {
            end += 1;
        }
        let (line, rest) = text.split_at(end);
        text = if rest.is_empty() { rest } else { rest.split_at(1).1 };
        if end > 0 && bytes[0] != b'#' {
            let mut words = TableWords::of(line);
            if let Some(kind) = words.next() {
                return Some((TableLine { kind, first: first_byte(kind), words }, text));
            }
        }
    }
    None
}

pub(super) const fn count_lines(mut file: &'static str) -> usize {
    let mut found = 0;
    while let Some((_, rest)) = next_line(file) {
        (file, found) = (rest, found + 1);
    }
    found
}

/// The lines of a file. Every table is made from these: looking at the whole file for each would take the compiler a
/// minute.
pub(super) const fn lines_of<const N: usize>(mut file: &'static str) -> [TableLine; N] {
    let mut found = [TableLine { kind: "", first: 0, words: TableWords::of("") }; N];
    let mut at = 0;
    while let Some((line, rest)) = next_line(file) {
        (file, found[at], at) = (rest, line, at + 1);
    }
    found
}

/// Iterates over the lines of one kind.
pub(super) struct KindLines {
    lines: &'static [TableLine],
    at: usize,
    kind: &'static str,
}

impl KindLines {
    pub(super) const fn kind(lines: &'static [TableLine], kind: &'static str) -> KindLines {
        KindLines { lines, at: 0, kind }
    }

    /// The words after the first of the next line.
    pub(super) const fn next(&mut self) -> Option<TableWords> {
        let first = first_byte(self.kind);
        while self.at < self.lines.len() {
            let line = &self.lines[self.at];
            self.at += 1;
            // To call a function for each line would take the compiler seconds.
            if line.first == first && same(line.kind, self.kind) {
                return Some(line.words);
            }
        }
        None
    }
}

const LINES: &[TableLine] = &lines_of::<{ count_lines(FILE) }>(FILE);

pub(super) const fn same(a: &str, b: &str) -> bool {
    let (a, b) = (a.as_bytes(), b.as_bytes());
    let mut at = 0;
    while at < a.len() && a.len() == b.len() && a[at] == b[at] {
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

/// Orders an array by a byte of each item at compile time; items with the same byte keep their order. It looks at each
/// item twice: comparing them with each other would take the compiler much longer.
macro_rules! sort {
    ($items:ident, $item:ident: $byte:expr) => {{
        let (mut places, mut at) = ([0; 256], 0);
        while at < $items.len() {
            let $item = &$items[at];
            places[$byte as usize] += 1;
            at += 1;
        }
        let (mut before, mut byte) = (0, 0);
        while byte < 256 {
            (places[byte], before) = (before, before + places[byte]);
            byte += 1;
        }
        let mut sorted = $items;
        at = 0;
        while at < $items.len() {
            let $item = &$items[at];
            let place = &mut places[$byte as usize];
            sorted[*place] = *$item;
            *place += 1;
            at += 1;
        }
        $items = sorted;
    }};
}
pub(super) use sort;

/// Orders an array by the first byte of a word of each item; longer words come first.
macro_rules! sort_words {
    ($items:ident, $item:ident: $word:expr) => {{
        $crate::clean::secret::table::sort!($items, $item: 255 - $word.len());
        $crate::clean::secret::table::sort!($items, $item: $crate::clean::secret::table::first_byte($word));
    }};
}
pub(super) use sort_words;

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

/// The number of words in the lines of a kind, without the first `skipped` of each.
pub(super) const fn count(lines: &'static [TableLine], kind: &'static str, skipped: usize) -> usize {
    let (mut lines, mut found) = (KindLines::kind(lines, kind), 0);
    while let Some(mut words) = lines.next() {
        while words.next().is_some() {
            found += 1;
        }
        found -= skipped;
    }
    found
}

const fn count_kind(lines: &'static [TableLine], kind: &'static str) -> usize {
    let (mut lines, mut found) = (KindLines::kind(lines, kind), 0);
    while lines.next().is_some() {
        found += 1;
    }
    found
}

pub(super) static RULES: [KeyRule; count_kind(LINES, "key")] = {
    let empty = KeyRule { name: "", prefix: "", body: 0, min: 0, max: 0, keep_prefix: false };
    let (mut rules, mut lines, mut at) = ([empty; count_kind(LINES, "key")], KindLines::kind(LINES, "key"), 0);
    while let Some(mut words) = lines.next() {
        let rule = key_rule(&mut words);
        assert!(rule.is_some(), "a line of rules.txt is no `key NAME PREFIX BODY LENGTH [keep]`");
        if let Some(rule) = rule {
            // The search only starts at words and in runs of 20 bytes.
            assert!(rule.prefix.len() >= 2 && rule.prefix.len() + rule.min as usize >= 20, "a key is too short");
            rules[at] = rule;
            at += 1;
        }
    }
    sort_words!(rules, rule: rule.prefix);
    rules
};

pub(super) const fn first_byte(word: &str) -> u8 {
    word.as_bytes()[0]
}

/// The names that announce a secret, ordered by their last letter.
pub(super) static NAMES: [(&str, Announced); count(LINES, "word", 2)] = {
    let empty = Announced { name: "", bar: RequiredLook::Strong, place: ValuePlace::Anywhere };
    let (mut names, mut lines, mut at) = ([("", empty); count(LINES, "word", 2)], KindLines::kind(LINES, "word"), 0);
    while let Some(mut words) = lines.next() {
        let announced = announced(&mut words);
        assert!(announced.is_some(), "a line of rules.txt is no `word NAME WEIGHT WORD...`");
        if let Some(announced) = announced {
            while let Some(word) = words.next() {
                names[at] = (word, announced);
                at += 1;
            }
        }
    }
    sort!(names, name: last_byte(name.0));
    names
};

pub(super) const fn last_byte(word: &str) -> u8 {
    word.as_bytes()[word.len() - 1]
}

/// The number of words in a list.
pub(super) const fn count_list(lines: &'static [TableLine], list: &str) -> usize {
    let (mut lines, mut found) = (KindLines::kind(lines, "list"), 0);
    while let Some(mut words) = lines.next() {
        if matches!(words.next(), Some(name) if same(name, list)) {
            while words.next().is_some() {
                found += 1;
            }
        }
    }
    found
}

/// The words of a list, ordered by their first byte, longer ones first.
pub(super) const fn words_of<const N: usize>(lines: &'static [TableLine], list: &str) -> [&'static str; N] {
    let (mut found, mut lines, mut at) = ([""; N], KindLines::kind(lines, "list"), 0);
    while let Some(mut words) = lines.next() {
        if matches!(words.next(), Some(name) if same(name, list)) {
            while let Some(word) = words.next() {
                found[at] = word;
                at += 1;
            }
        }
    }
    assert!(N > 0, "there is no list of that name");
    sort_words!(found, word: word);
    found
}

/// The words of a list in a file, as a constant.
macro_rules! list {
    ($lines:ident, $name:literal) => {{
        const WORDS: [&str; $crate::clean::secret::table::count_list($lines, $name)] =
            $crate::clean::secret::table::words_of($lines, $name);
        &WORDS
    }};
}
pub(super) use list;

pub(super) const PASSING: &[&str] = list!(LINES, "passing");
pub(super) const TAILS: &[&str] = list!(LINES, "tails");
pub(super) const HARMLESS_TAILS: &[&str] = list!(LINES, "harmless-tails");
pub(super) const SECRET_KEYS: &[&str] = list!(LINES, "secret-keys");
pub(super) const HARMLESS_KEYS: &[&str] = list!(LINES, "harmless-keys");
pub(super) const HARMLESS_TOKENS: &[&str] = list!(LINES, "harmless-tokens");
pub(super) const SCHEMES: &[&str] = list!(LINES, "schemes");
pub(super) const PLACEHOLDER_PARTS: &[&str] = list!(LINES, "placeholder-parts");
pub(super) const PLACEHOLDER_TERMS: &[&str] = list!(LINES, "placeholder-terms");
pub(super) const PLACEHOLDER_WORDS: &[&str] = list!(LINES, "placeholder-words");
pub(super) const MASKS: &[&str] = list!(LINES, "masks");
