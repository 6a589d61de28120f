//! Plain words in sentences: which of them may be a secret, and where a sentence lets one end.

use super::announced::RequiredLook;
use super::said::{CLAUSE_GOES_ON, SENTENCE_GOES_ON};
use super::text::{ALPHA, DIGIT, LOWER, Text, UPPER, is};
use super::value::{self, ValueForm};
use super::words::is_letter;
use super::written::ends_line;

/// The shortest plain word that is taken for a secret in the middle of a sentence.
const CLAUSE_WORD_BYTES: usize = 6;
/// The longest name of a setting behind another.
const SETTING_BYTES: usize = 16;
/// What does not say what became of something: `the token was created`.
const AUXILIARIES: [&[u8]; 5] = [b"is", b"was", b"has", b"been", b"successfully"];
const ADJECTIVES: [&[u8]; 13] =
    [b"al", b"ent", b"ant", b"ive", b"ous", b"ful", b"less", b"ic", b"ary", b"ory", b"ly", b"ate", b"ial"];

/// A word without digits that no sentence about a password would have here.
pub(super) fn is_plain_secret(bytes: &[u8], written: ValueForm) -> bool {
    let is_word = bytes.iter().all(|&byte| is(byte, ALPHA) || matches!(byte, b'-' | b'_' | b'!' | b'\'' | 0x80..));
    is_word
        && !is_participle(bytes)
        && !value::names_itself(bytes)
        && value::is_secret(bytes, RequiredLook::Password, written)
}

pub(super) fn is_participle(word: &[u8]) -> bool {
    let is_one = [&b"ed"[..], b"ing", b"able", b"ible"].iter().any(|end| word.ends_with(end));
    is_one && word.iter().all(|&byte| is(byte, LOWER))
}

/// `created: `, ` is generated for bob`: do words begin with what became of a secret?
pub(super) fn is_issued(words: &[u8]) -> bool {
    let mut words = words.split(|&byte| matches!(byte, b' ' | b':')).filter(|word| !word.is_empty());
    words.find(|word| !AUXILIARIES.contains(word)).is_some_and(|word| is_participle(word) || word == b"value")
}

pub(super) fn ends_sentence(text: &Text, end: usize) -> bool {
    let next = text.skip_spaces(end);
    match text.at(end) {
        b'.' | b',' | b'!' | b'?' | b';' => !is_letter(text.at(end + 1)),
        b')' | b'"' | b'\'' | b'`' | b'*' | b'|' | b'<' => true,
        _ => {
            matches!(text.at(next), b'\n' | b'\r' | b'|' | 0x80..)
                || SENTENCE_GOES_ON.iter().any(|word| text.starts_with(next, word))
                || text.starts_with(next, b"(")
                || text.starts_with(next, b"-- ")
                || text.starts_with(next, b"- ")
                || text.starts_with(next, b"*/")
                || text.starts_with(next, b"***")
                || begins_setting(text, next)
                || text.starts_with(next, b"-->")
                || is_parted(text, end)
        }
    }
}

/// Does another setting begin at `at`: `pass: x user: bob`?
fn begins_setting(text: &Text, at: usize) -> bool {
    let end = text.run(at, ALPHA, SETTING_BYTES);
    end > at + 1 && matches!(text.at(end), b':' | b'=') && text.at(end + 1) != b'/'
}

/// Does a clause follow that is not about the word that ends at `end`: `the password is x for now`, `x btw`? An adjective
/// may have the same words behind it: `the password is essential for the build`.
pub(super) fn ends_clause(text: &Text, end: usize, word: &[u8]) -> bool {
    let next = text.skip_spaces(end);
    let goes_on = next > end && CLAUSE_GOES_ON.iter().any(|part| text.starts_with(next, part));
    goes_on && word.len() >= CLAUSE_WORD_BYTES && !is_adjective(word)
}

/// `ABCDE-FGHIJ-KLMNO`: groups of capitals and digits, as keys of licenses have them.
pub(super) fn is_key(word: &[u8]) -> bool {
    let groups = || word.split(|&byte| byte == b'-');
    let length = groups().next().map_or(0, <[u8]>::len);
    let is_group = |group: &[u8]| group.len() == length && group.iter().all(|&byte| is(byte, UPPER | DIGIT));
    length >= 4 && groups().count() >= 3 && groups().all(is_group)
}

/// `essential`, `different`, `specific`, `automatically`.
fn is_adjective(word: &[u8]) -> bool {
    ADJECTIVES.iter().any(|end| word.ends_with(end)) && word.iter().all(|&byte| is(byte, LOWER))
}

/// Only the second part of a German verb follows: `melde dich mit dem Passwort x an`.
pub(super) fn is_parted(text: &Text, end: usize) -> bool {
    [&b" an"[..], b" ein", b" anmelden", b" einloggen"]
        .iter()
        .any(|part| text.starts_with(end, part) && ends_line(text, end + part.len()))
}
