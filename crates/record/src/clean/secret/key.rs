//! Does this name announce a secret? `api_key`, `apiKey`, `API-KEY` and `api key` are one name.
//!
//! Names are compared from their end (`stripe_api_key` and `key_id` differ there), so an ordinary name costs only a
//! few comparisons.

use super::announced::{Announced, RequiredLook, ValuePlace};
use super::places::URL_PARAMS;
use super::table::{
    HARMLESS_KEYS, HARMLESS_TAILS, HARMLESS_TOKENS, NAMES, PASSING, SECRET_KEYS, TAILS, index, indexed, last_byte,
};
use super::text::{ALNUM, ALPHA, DASH, DIGIT, DOT, LOWER, UNDERSCORE, UPPER, is};

const fn announced(name: &'static str, bar: RequiredLook) -> Announced {
    Announced { name, bar, place: ValuePlace::Anywhere }
}

pub(super) const PASSWORD: Announced = announced("password", RequiredLook::Password);
const TOKEN: Announced = announced("token", RequiredLook::Token);
pub(super) const KEY: Announced = announced("key", RequiredLook::Token);
const VAGUE_KEY: Announced = announced("key", RequiredLook::Strong);

/// The names that end in a given letter.
const BY_LAST: [u16; 257] = index!(NAMES, name: last_byte(name.0));

fn by_last_letter(letter: u8) -> &'static [(&'static str, Announced)] {
    indexed(&NAMES, &BY_LAST, letter.to_ascii_lowercase())
}

/// How many words may stand behind the one for a secret, and how long each may be.
const TAILS_MAX: usize = 2;
const TAIL_BYTES: usize = 13;
/// The maximum look back for a name.
pub(super) const KEY_BYTES: usize = 48;

/// For each last letter (`byte % 32`) of a name that may announce something: the letters that may come second and
/// third from its end, as bits. Most names in a program fail this test.
static ENDINGS: [(u32, u32); 32] = {
    let mut table = [(0, 0); 32];
    let mut at = 0;
    while at < NAMES.len() {
        add_ending(&mut table, NAMES[at].0);
        at += 1;
    }
    at = 0;
    while at < TAILS.len() {
        add_ending(&mut table, TAILS[at]);
        at += 1;
    }
    // Between the name and the operator: an attribute or a type.
    add_ending(&mut table, "default");
    add_ending(&mut table, "value");
    add_ending(&mut table, "str");
    add_ending(&mut table, "string");
    add_ending(&mut table, "char");
    add_ending(&mut table, "final");
    at = 0;
    while at < URL_PARAMS.len() {
        add_ending(&mut table, URL_PARAMS[at]);
        at += 1;
    }
    table
};

const fn add_ending(table: &mut [(u32, u32); 32], word: &str) {
    let word = word.as_bytes();
    let last = &mut table[(word[word.len() - 1] % 32) as usize];
    last.0 |= 1 << (word[word.len() - 2] % 32);
    // A word of two letters may follow any letter.
    last.1 |= if word.len() > 2 { 1 << (word[word.len() - 3] % 32) } else { u32::MAX };
}

/// May a name that announces something end in these three bytes? No false negatives.
#[inline]
pub(super) fn may_end_name(third: u8, second: u8, last: u8) -> bool {
    let (seconds, thirds) = ENDINGS[usize::from(last % 32)];
    // A separator may be part of a name: `session_id`.
    let thirds = if is(third, ALPHA) { thirds >> (third % 32) } else { 1 };
    !is(last, ALPHA) || (is(last, UPPER) && is(second, UPPER)) || (seconds >> (second % 32)) & thirds & 1 == 1
}

/// What the name at the end of `text` announces. Text before the name does not matter. The word for a secret may have
/// others behind it that say whose or where it is: `TOKEN_PROD`, `passwordForAdmin`; in a name in capitals any that do
/// not make it the name of something else: `TOKEN_ACME`, but `TOKEN_URL`.
pub(super) fn announces(text: &[u8]) -> Option<Announced> {
    let mut name = without_number(text);
    for _ in 0..TAILS_MAX {
        if let Some(found) = by_name(name) {
            return Some(found);
        }
        let start = last_part(name)?;
        let tail = &name[start..];
        let is_one = |words: &[&str]| words.iter().any(|word| tail.eq_ignore_ascii_case(word.as_bytes()));
        let is_caps = || tail.iter().all(|&byte| is(byte, UPPER)) && is_separator(name[start - 1]);
        if !is_one(TAILS) && (!is_caps() || is_one(HARMLESS_TAILS)) {
            return None;
        }
        name = &name[..start - usize::from(is_separator(name[start - 1]))];
    }
    by_name(name)
}

/// Where the last word of a name begins, if it has several.
fn last_part(name: &[u8]) -> Option<usize> {
    let starts = |&at: &usize| is_separator(name[at - 1]) || (is(name[at], UPPER) && is(name[at - 1], LOWER));
    (name.len().saturating_sub(TAIL_BYTES).max(1)..name.len()).rev().find(starts)
}

/// `TOKEN_2` and `key 2` without their number, but not `B64`.
fn without_number(key: &[u8]) -> &[u8] {
    let mut end = key.len();
    while end > 0 && (is(key[end - 1], DIGIT) || is_separator(key[end - 1])) {
        end -= 1;
    }
    if key.ends_with(b"64") { key } else { &key[..end] }
}

fn is_separator(byte: u8) -> bool {
    matches!(byte, b'_' | b'-' | b'.' | b':' | b' ')
}

fn by_name(key: &[u8]) -> Option<Announced> {
    let words = by_last_letter(*key.last()?);
    let before = *key.get(key.len().checked_sub(2)?)?;
    let third = key.len().checked_sub(3).map_or(0, |at| key[at]);
    let (rest, found) = words.iter().find_map(|&(word, found)| {
        // Almost all words already differ here.
        if word.as_bytes()[word.len() - 2] | 0x20 != before | 0x20 && is(before, ALNUM) {
            return None;
        }
        // A name that is joined from other words has this one's letters before its last three.
        if word.len() > 3
            && is(third, ALNUM)
            && word.as_bytes()[word.len() - 3] | 0x20 != third | 0x20
            && is(before, ALNUM)
        {
            return None;
        }
        let rest = strip_end(key, word)?;
        let is_joined = || word == "pass" && !PASSING.iter().any(|begin| ends_with(&key[..rest], begin));
        (word.len() > 4 || word == "key" || starts_word(key, rest) || is_joined()).then_some((&key[..rest], found))
    })?;
    let ends_in = |words: &[&str]| words.iter().any(|word| ends_with(rest, word));
    if found == TOKEN && ends_in(HARMLESS_TOKENS) {
        return None;
    }
    if found != KEY || ends_in(SECRET_KEYS) {
        return Some(found);
    }
    let qualified =
        rest.last().is_some_and(|&byte| is(byte, ALNUM | UNDERSCORE | DASH | DOT)) && starts_word(key, rest.len());
    (qualified && !ends_in(HARMLESS_KEYS)).then_some(VAGUE_KEY)
}

/// Where `word` begins, if the key ends with it. Separators between its letters are ignored.
pub(super) fn strip_end(key: &[u8], word: &str) -> Option<usize> {
    let mut at = key.len();
    for &letter in word.as_bytes().iter().rev() {
        while at > 0 && is_separator(key[at - 1]) {
            at -= 1;
        }
        if at == 0 || !key[at - 1].eq_ignore_ascii_case(&letter) {
            return None;
        }
        at -= 1;
    }
    Some(at)
}

/// [`strip_end`] for a list of words, most of which differ in their last letter.
fn ends_with(key: &[u8], word: &str) -> bool {
    let separated = key.last().is_some_and(|&byte| is_separator(byte));
    let last = key.len().checked_sub(1 + usize::from(separated)).and_then(|at| key.get(at));
    let same = last.is_some_and(|last| word.as_bytes().last().is_some_and(|letter| letter.eq_ignore_ascii_case(last)));
    same && strip_end(key, word).is_some()
}

/// Does a word begin at `at`: after a separator, or with a capital after a small letter?
pub(super) fn starts_word(key: &[u8], at: usize) -> bool {
    at == 0 || !is(key[at - 1], ALPHA) || (is(key[at - 1], LOWER) && is(key[at], UPPER))
}
