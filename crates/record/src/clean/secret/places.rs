//! `places.txt`, parsed at compile time: where secrets stand, whatever they look like.

use super::table::{
    KindLines, TableLine, count, count_lines, first_byte, index, indexed, lines_of, list, sort, sort_words,
};

const FILE: &str = include_str!("places.txt");
const LINES: &[TableLine] = &lines_of::<{ count_lines(FILE) }>(FILE);

/// A program or a function, and the words or arguments that lead to a secret.
#[derive(Clone, Copy)]
pub(super) struct SecretPlace {
    pub(super) name: &'static str,
    pub(super) pattern: &'static str,
}

impl SecretPlace {
    /// The word of the pattern that begins at `from`, and the one after it.
    pub(super) fn words_from(&self, from: usize) -> (&'static [u8], Option<&'static [u8]>) {
        let rest = self.pattern.as_bytes().get(from..).unwrap_or_default();
        let mut words = rest.split(|&byte| byte == b' ');
        (words.next().unwrap_or_default(), words.next())
    }
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
pub(super) enum SecretCue {
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
    /// A user, perhaps with a password: `admin / x`.
    User,
    /// Only with a colon, and not as a verb: `user: bob, pass: x`.
    Pass,
    Phrase,
    Number,
    /// `IDENTIFIED BY 'x'`.
    By,
    /// `(name, password) VALUES ('bob', 'x')`.
    Values,
    /// `stringData:` of a manifest, and indented pairs below it.
    Data,
    /// `form-data; name="password"`, an empty line, the value.
    Form,
    /// `expect "Password:"`, `send "x"`.
    Send,
}

const fn cue(kind: &str) -> Option<SecretCue> {
    Some(match kind.as_bytes() {
        b"password" => SecretCue::Password,
        b"pin" => SecretCue::Pin,
        b"key" => SecretCue::Key,
        b"vague" => SecretCue::Vague,
        b"seed" => SecretCue::Seed,
        b"codes" => SecretCue::Codes,
        b"login" => SecretCue::Login,
        b"bearer" => SecretCue::Bearer,
        b"user" => SecretCue::User,
        b"pass" => SecretCue::Pass,
        b"phrase" => SecretCue::Phrase,
        b"number" => SecretCue::Number,
        b"by" => SecretCue::By,
        b"values" => SecretCue::Values,
        b"data" => SecretCue::Data,
        b"form" => SecretCue::Form,
        b"send" => SecretCue::Send,
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

const fn count_names(kind: &'static str) -> usize {
    let (mut lines, mut found) = (KindLines::kind(LINES, kind), 0);
    while let Some(mut words) = lines.next() {
        let mut names = words.next();
        while let Some(rest) = names {
            names = first_name(rest).1;
            found += 1;
        }
    }
    found
}

const fn holds(text: &str, part: &str) -> bool {
    let (text, part) = (text.as_bytes(), part.as_bytes());
    let mut at = 0;
    while at + part.len() <= text.len() {
        if matches!(text.split_at(at).1.split_at(part.len()).0, found if found[0] == part[0] && found[1] == part[1]) {
            return true;
        }
        at += 1;
    }
    false
}

/// The lines of one kind, a place for each name, ordered by their first byte.
const fn places<const N: usize>(kind: &'static str) -> [SecretPlace; N] {
    let (mut found, mut lines, mut at) = ([SecretPlace { name: "", pattern: "" }; N], KindLines::kind(LINES, kind), 0);
    while let Some(mut words) = lines.next() {
        let mut names = words.next();
        let pattern = words.rest();
        assert!(pattern.len() < 128, "a pattern of places.txt is too long");
        assert!(!holds(pattern, "*#"), "a pattern of places.txt has no sign between * and ##");
        while let Some(rest) = names {
            let (name, next) = first_name(rest);
            assert!(!name.is_empty() && !pattern.is_empty(), "a line of places.txt has no name or no words");
            found[at] = SecretPlace { name, pattern };
            (names, at) = (next, at + 1);
        }
    }
    sort!(found, place: first_byte(place.name));
    found
}

static PROGRAMS: [SecretPlace; count_names("program")] = places("program");
static CALLS: [SecretPlace; count_names("call")] = places("call");
const PROGRAM_INDEX: [u16; 257] = index!(PROGRAMS, place: first_byte(place.name));
const CALL_INDEX: [u16; 257] = index!(CALLS, place: first_byte(place.name));

/// The places of the program of this name.
pub(super) fn programs(name: &[u8]) -> impl Iterator<Item = &'static SecretPlace> {
    named(&PROGRAMS, &PROGRAM_INDEX, name)
}

/// The places of the function of this name.
pub(super) fn calls(name: &[u8]) -> impl Iterator<Item = &'static SecretPlace> {
    named(&CALLS, &CALL_INDEX, name)
}

fn named(
    places: &'static [SecretPlace],
    index: &[u16; 257],
    name: &[u8],
) -> impl Iterator<Item = &'static SecretPlace> {
    let first = name.first().copied().unwrap_or_default();
    indexed(places, index, first).iter().filter(move |place| place.name.as_bytes() == name)
}

pub(super) static CODES: [ScanCode; count_names("code")] = {
    let empty = ScanCode { name: "", prefix: "", start: "", end: "" };
    let (mut found, mut lines, mut at) = ([empty; count_names("code")], KindLines::kind(LINES, "code"), 0);
    while let Some(mut words) = lines.next() {
        let parts = (words.next(), words.next(), words.next());
        assert!(parts.2.is_some(), "a line of places.txt is no `code NAME PREFIX START [END]`");
        if let (Some(name), Some(prefix), Some(start)) = parts {
            found[at] = ScanCode { name, prefix, start, end: words.rest() };
            at += 1;
        }
    }
    found
};

/// The words that announce a secret, ordered by their first byte, longer ones first.
static SAID: [(&str, SecretCue); count(LINES, "said", 1)] = {
    let (mut found, mut lines, mut at) =
        ([("", SecretCue::By); count(LINES, "said", 1)], KindLines::kind(LINES, "said"), 0);
    while let Some(mut words) = lines.next() {
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
    sort_words!(found, said: said.0);
    found
};
const SAID_INDEX: [u16; 257] = index!(SAID, said: first_byte(said.0));

/// The words that announce a secret and begin with this byte, longer ones first.
pub(super) fn said(first: u8) -> &'static [(&'static str, SecretCue)] {
    indexed(&SAID, &SAID_INDEX, first)
}

const LINKS: &[&str] = list!(LINES, "links");
const LINK_INDEX: [u16; 257] = index!(LINKS, word: first_byte(word));
const ORDINARY: &[&str] = list!(LINES, "ordinary");
const ORDINARY_INDEX: [u16; 257] = index!(ORDINARY, word: first_byte(word));
/// Words before a new password, besides links.
pub(super) const LEADS: &[&str] = list!(LINES, "leads");
pub(super) const USERS: &[&str] = list!(LINES, "users");
const VERBS: &[&str] = list!(LINES, "verbs");
const VERB_INDEX: [u16; 257] = index!(VERBS, word: first_byte(word));
pub(super) const READERS: &[&str] = list!(LINES, "readers");
pub(super) const HASH_WORDS: &[&str] = list!(LINES, "hash-words");
pub(super) const KEPT_BEGINNINGS: &[&str] = list!(LINES, "kept-beginnings");
pub(super) const SECRET_PATHS: &[&str] = list!(LINES, "secret-paths");
pub(super) const URL_PARAMS: &[&str] = list!(LINES, "url-params");
pub(super) const URL_USERS: &[&str] = list!(LINES, "url-users");
pub(super) const CODE_WORDS: &[&str] = list!(LINES, "code-words");

/// The linking words that begin with this byte, longer ones first.
pub(super) fn links(first: u8) -> &'static [&'static str] {
    indexed(LINKS, &LINK_INDEX, first)
}

/// What a function does that takes a name and a value, as the first word of its name; those that begin with this byte.
pub(super) fn verbs(first: u8) -> &'static [&'static str] {
    indexed(VERBS, &VERB_INDEX, first)
}

/// The words that reveal nothing and begin with this byte.
pub(super) fn ordinary(first: u8) -> &'static [&'static str] {
    indexed(ORDINARY, &ORDINARY_INDEX, first)
}

/// What may begin with a word.
pub(super) const PROGRAM: u8 = 1;
pub(super) const CALL: u8 = 1 << 1;
pub(super) const CODE: u8 = 1 << 2;
pub(super) const CUE: u8 = 1 << 3;

/// How many bytes of a word are asked what may begin with it.
pub(super) const HEAD_BYTES: usize = 5;
const SLOTS: usize = 8192;

/// What may begin with the word that begins with these bytes. Most words begin nothing.
#[inline]
pub(super) fn begins(head: &[u8; HEAD_BYTES]) -> u8 {
    let (first, second) = slots(head);
    BEGINS[first % SLOTS] & BEGINS[second % SLOTS]
}

/// Every word has two slots, so that few others share both.
static BEGINS: [u8; SLOTS] = {
    let (mut table, mut at) = ([0; SLOTS], 0);
    while at < PROGRAMS.len() {
        enter(&mut table, PROGRAMS[at].name, PROGRAM);
        at += 1;
    }
    at = 0;
    while at < CALLS.len() {
        enter(&mut table, CALLS[at].name, CALL);
        at += 1;
    }
    at = 0;
    while at < CODES.len() {
        enter(&mut table, CODES[at].prefix, CODE);
        at += 1;
    }
    at = 0;
    while at < SAID.len() {
        enter(&mut table, SAID[at].0, CUE);
        at += 1;
    }
    table
};

const fn enter(table: &mut [u8; SLOTS], word: &str, kind: u8) {
    let (word, mut head, mut at) = (word.as_bytes(), [0; HEAD_BYTES], 0);
    while at < word.len() && at < HEAD_BYTES {
        head[at] = word[at];
        at += 1;
    }
    // Behind a word that is shorter, no letter may follow.
    let is_open =
        word.len() < HEAD_BYTES && (kind == CODE || word[0] >= 0xe0) && FOLDED[word[word.len() - 1] as usize] != 0;
    assert!(FOLDED[word[0] as usize] != 0 && !is_open, "a word of places.txt is too short");
    let (first, second) = slots(&head);
    table[first] |= kind;
    table[second] |= kind;
}

/// The case does not matter, nor what follows the first byte that is no letter or digit.
#[inline]
const fn slots(head: &[u8; HEAD_BYTES]) -> (usize, usize) {
    // A word of another script ends at one of a script without blanks: `PINは`.
    let folded = if head[0] < 0x80 { &FOLDED_LATIN } else { &FOLDED };
    let (mut word, mut is_inside, mut at) = (0, u64::MAX, 0);
    while at < HEAD_BYTES {
        let byte = folded[head[at] as usize] as u64;
        is_inside &= (byte != 0) as u64 * u64::MAX;
        word |= (byte & is_inside) << (8 * at);
        at += 1;
    }
    let mixed = word.wrapping_mul(0x9e37_79b9_7f4a_7c15);
    ((mixed >> 51) as usize % SLOTS, (mixed >> 38) as usize % SLOTS)
}

static FOLDED: [u8; 256] = folded(0xff);
static FOLDED_LATIN: [u8; 256] = folded(0xdf);

/// Letters and digits up to this byte, small; 0 for every other byte.
const fn folded(last: u8) -> [u8; 256] {
    let (mut table, mut byte) = ([0; 256], 0);
    while byte <= last as usize {
        let folded = (byte as u8).to_ascii_lowercase();
        table[byte] = if folded.is_ascii_alphanumeric() || folded >= 0x80 { folded } else { 0 };
        byte += 1;
    }
    table
}

#[cfg(test)]
mod tests;
