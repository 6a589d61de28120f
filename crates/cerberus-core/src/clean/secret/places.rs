//! `places.txt`, parsed at compile time: where secrets stand, whatever they look like.

use super::table::{Words, count, list, same};

const FILE: &str = include_str!("places.txt");

/// A program or a function, and the words or arguments that lead to a secret.
#[derive(Clone, Copy)]
pub(super) struct Place {
    pub(super) name: &'static str,
    pub(super) pattern: &'static str,
}

/// A code for scanners: what it begins with, and what stands before and after its secret.
#[derive(Clone, Copy)]
pub(super) struct ScanCode {
    pub(super) name: &'static str,
    pub(super) prefix: &'static str,
    pub(super) start: &'static str,
    pub(super) end: &'static str,
}

/// What a word announces in a sentence.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Cue {
    /// A password follows, after a linking word or alone.
    Password,
    /// A number follows. `pin x to 1.2` is a verb.
    Pin,
    /// A key follows, after a linking word.
    Key,
    /// A key follows, if it looks like one.
    Vague,
    /// A seed follows, perhaps in groups.
    Seed,
    /// A list of codes follows.
    Codes,
    /// A name and a password follow: `login admin / x`.
    Login,
    /// A token follows.
    Bearer,
    /// Only with a colon, and not as a verb: `user: bob, pass: x`.
    Pass,
    Phrase,
    Number,
    /// `IDENTIFIED BY 'x'`.
    By,
    /// `(name, password) VALUES ('bob', 'x')`.
    Values,
    /// `form-data; name="password"`, an empty line, the value.
    Form,
}

const fn cue(kind: &str) -> Option<Cue> {
    Some(match kind.as_bytes() {
        b"password" => Cue::Password,
        b"pin" => Cue::Pin,
        b"key" => Cue::Key,
        b"vague" => Cue::Vague,
        b"seed" => Cue::Seed,
        b"codes" => Cue::Codes,
        b"login" => Cue::Login,
        b"bearer" => Cue::Bearer,
        b"pass" => Cue::Pass,
        b"phrase" => Cue::Phrase,
        b"number" => Cue::Number,
        b"by" => Cue::By,
        b"values" => Cue::Values,
        b"form" => Cue::Form,
        _ => return None,
    })
}

/// The next of several names joined by commas, and the rest of them.
const fn first_name(names: &'static str) -> (&'static str, Option<&'static str>) {
    let bytes = names.as_bytes();
    let mut at = 0;
    while at < bytes.len() && bytes[at] != b',' {
        at += 1;
    }
    let (name, rest) = names.split_at(at);
    (name, if rest.is_empty() { None } else { Some(rest.split_at(1).1) })
}

const fn count_names(kind: &str) -> usize {
    let (mut lines, mut found) = (Words::of(FILE), 0);
    while let Some(mut words) = lines.line() {
        if matches!(words.next(), Some(first) if same(first, kind)) {
            let mut names = words.next();
            while let Some(rest) = names {
                names = first_name(rest).1;
                found += 1;
            }
        }
    }
    found
}

/// The lines of one kind, a place for each name, ordered by their first byte.
const fn places<const N: usize>(kind: &str) -> [Place; N] {
    let (mut found, mut lines, mut at) = ([Place { name: "", pattern: "" }; N], Words::of(FILE), 0);
    while let Some(mut words) = lines.line() {
        if matches!(words.next(), Some(first) if same(first, kind)) {
            let mut names = words.next();
            let pattern = words.rest();
            while let Some(rest) = names {
                let (name, next) = first_name(rest);
                assert!(!name.is_empty() && !pattern.is_empty(), "a line of places.txt has no name or no words");
                found[at] = Place { name, pattern };
                (names, at) = (next, at + 1);
            }
        }
    }
    let mut sorted = 1;
    while sorted < N {
        let mut at = sorted;
        while at > 0 && found[at].name.as_bytes()[0] < found[at - 1].name.as_bytes()[0] {
            (found[at], found[at - 1]) = (found[at - 1], found[at]);
            at -= 1;
        }
        sorted += 1;
    }
    found
}

/// The places whose names begin with a given byte: `index[byte]..index[byte + 1]`.
const fn index_of(places: &[Place]) -> [u16; 129] {
    let (mut index, mut at, mut byte) = ([0; 129], 0, 0);
    while byte < 128 {
        index[byte] = at as u16;
        while at < places.len() && places[at].name.as_bytes()[0] as usize == byte {
            at += 1;
        }
        byte += 1;
    }
    index[128] = at as u16;
    index
}

const PROGRAMS: [Place; count_names("program")] = places("program");
const CALLS: [Place; count_names("call")] = places("call");
const PROGRAM_INDEX: [u16; 129] = index_of(&PROGRAMS);
const CALL_INDEX: [u16; 129] = index_of(&CALLS);

/// The places of the program of this name.
pub(super) fn programs(name: &[u8]) -> impl Iterator<Item = &'static Place> {
    named(&PROGRAMS, &PROGRAM_INDEX, name)
}

/// The places of the function of this name.
pub(super) fn calls(name: &[u8]) -> impl Iterator<Item = &'static Place> {
    named(&CALLS, &CALL_INDEX, name)
}

fn named(places: &'static [Place], index: &'static [u16; 129], name: &[u8]) -> impl Iterator<Item = &'static Place> {
    let first = name.first().map_or(127, |&byte| usize::from(byte.min(127)));
    let span = usize::from(index[first])..usize::from(index[first + 1]);
    places.get(span).unwrap_or_default().iter().filter(move |place| place.name.as_bytes() == name)
}

pub(super) const CODES: [ScanCode; count_names("code")] = {
    let empty = ScanCode { name: "", prefix: "", start: "", end: "" };
    let (mut found, mut lines, mut at) = ([empty; count_names("code")], Words::of(FILE), 0);
    while let Some(mut words) = lines.line() {
        if matches!(words.next(), Some(first) if same(first, "code")) {
            let parts = (words.next(), words.next(), words.next());
            assert!(parts.2.is_some(), "a line of places.txt is no `code NAME PREFIX START [END]`");
            if let (Some(name), Some(prefix), Some(start)) = parts {
                found[at] = ScanCode { name, prefix, start, end: words.rest() };
                at += 1;
            }
        }
    }
    found
};

/// The words that announce a secret, ordered by their first byte.
pub(super) const SAID: [(&str, Cue); count(FILE, "said", "")] = {
    let (mut found, mut lines, mut at) = ([("", Cue::By); count(FILE, "said", "")], Words::of(FILE), 0);
    while let Some(mut words) = lines.line() {
        if matches!(words.next(), Some(first) if same(first, "said")) {
            let kind = match words.next() {
                Some(kind) => cue(kind),
                None => None,
            };
            assert!(kind.is_some(), "a line of places.txt is no `said KIND WORD...`");
            if let Some(kind) = kind {
                while let Some(word) = words.next() {
                    found[at] = (word, kind);
                    at += 1;
                }
            }
        }
    }
    found
};

pub(super) const LINKS: &[&str] = list!(FILE, "links");
pub(super) const ORDINARY: &[&str] = list!(FILE, "ordinary");
pub(super) const READERS: &[&str] = list!(FILE, "readers");
pub(super) const SECRET_PATHS: &[&str] = list!(FILE, "secret-paths");
pub(super) const URL_PARAMS: &[&str] = list!(FILE, "url-params");
pub(super) const URL_USERS: &[&str] = list!(FILE, "url-users");
pub(super) const CODE_WORDS: &[&str] = list!(FILE, "code-words");

/// For each first byte of a program, a function, a code or a word of a sentence: the bytes that may come second, one bit
/// for each `byte % 32`. Most words of a text fail this test.
pub(super) const SECOND: [u32; 256] = {
    let mut table = [0; 256];
    let mut at = 0;
    while at < PROGRAMS.len() {
        add_begin(&mut table, PROGRAMS[at].name);
        at += 1;
    }
    at = 0;
    while at < CALLS.len() {
        add_begin(&mut table, CALLS[at].name);
        at += 1;
    }
    at = 0;
    while at < SAID.len() {
        add_begin(&mut table, SAID[at].0);
        at += 1;
    }
    at = 0;
    while at < CODES.len() {
        add_begin(&mut table, CODES[at].prefix);
        at += 1;
    }
    table
};

const fn add_begin(table: &mut [u32; 256], word: &str) {
    let (first, second) = (word.as_bytes()[0], word.as_bytes()[1]);
    table[first.to_ascii_lowercase() as usize] |= 1 << (second % 32);
    table[first.to_ascii_uppercase() as usize] |= 1 << (second % 32);
}

#[cfg(test)]
mod tests;
