//! Decides whether a value is a secret, from the value alone, without its key.
//!
//! There are three thresholds. A password is nearly any literal that is not a placeholder or code; a token must look
//! random; a value under a vague key must look very random. Never judges more than [`JUDGED_BYTES`].

use super::announced::RequiredLook;
use super::key::{PASSWORD, announces, starts_word};
use super::table::{MASKS, PLACEHOLDER_PARTS, PLACEHOLDER_TERMS, PLACEHOLDER_WORDS, first_byte, index, indexed};
use super::text::{ALNUM, ALPHA, DIGIT, DOT, LOWER, UPPER, WORD, is};
use super::words::{is_letter, is_ordinary, names_secret};

pub(super) const JUDGED_BYTES: usize = 64;
/// The most words of a phrase.
const WORDS_MAX: usize = 8;
const ODD_WORDS_MAX: usize = 4;
/// The shortest token that is any literal; quoted and with a digit.
const TOKEN_BYTES: usize = 8;
pub(super) const SHORT_TOKEN_BYTES: usize = 6;

/// Words that a message to a person begins with: `Enter your name`, `must not be blank`.
const MESSAGE_BEGINNINGS: [&[u8]; 29] = [
    b"a", b"an", b"ask", b"at", b"can't", b"cannot", b"choose", b"click", b"copy", b"does", b"doesn't", b"enter",
    b"forgot", b"invalid", b"is", b"it", b"missing", b"must", b"no", b"not", b"please", b"see", b"should", b"show",
    b"this", b"too", b"use", b"wrong", b"your",
];
/// Short words of labels and messages. Longer ones are in the list `ordinary`.
const MESSAGES: [&[u8]; 22] = [
    b"add", b"are", b"ask", b"be", b"can", b"for", b"get", b"has", b"if", b"is", b"it", b"new", b"no", b"not", b"old",
    b"or", b"put", b"set", b"too", b"use", b"was", b"you",
];
/// The parts that begin with a given byte.
const PARTS: [u16; 257] = index!(PLACEHOLDER_PARTS, part: first_byte(part));

/// Values that represent another one: variables, templates, masks, repetitions, alphabets.
pub(super) fn is_placeholder(value: &[u8]) -> bool {
    is_reference(value) || is_monotonous(value) || is_named_placeholder(value)
}

/// For a value in the exact format of a key. An ordered alphabet or the word "example" is still redacted, because a
/// false alarm costs little there and a leak does not. Only what cannot be a key is kept.
pub(super) fn is_mask(value: &[u8]) -> bool {
    let repeats = value.windows(2).filter(|pair| pair[0] == pair[1]).count();
    let masks = |mask: &&str| value.windows(mask.len()).any(|part| part.eq_ignore_ascii_case(mask.as_bytes()));
    is_reference(value) || has_few_bytes(value) || repeats * 2 > value.len() || MASKS.iter().any(masks)
}

/// `$VAR`, `${VAR}`, `%VAR%`, `<your-key>`, `{{ x }}`, `#{x}`, `[PASSWORD]`.
fn is_reference(value: &[u8]) -> bool {
    let next = value.get(1).copied().unwrap_or(b' ');
    match value.first() {
        None | Some(b'<' | b'[' | b'{' | b'(' | b'*') => return true,
        Some(b'$') if !is(next, DIGIT) || value.len() == 2 => return true,
        Some(b'%') if next == b'(' || value.last() == Some(&b'%') || value.len() == 2 => {
            return true;
        }
        Some(b'&') if value.starts_with(b"&lt;") => return true,
        _ => {}
    }
    value.windows(2).any(|pair| matches!(pair, b"${" | b"{{" | b"#{" | b"$(" | b"<%" | b"%s"))
}

/// Few distinct bytes for its length, or mostly the alphabet or digits in order.
fn is_monotonous(value: &[u8]) -> bool {
    let in_order = value.windows(2).filter(|pair| pair[1] == pair[0] || pair[1] == pair[0].wrapping_add(1)).count();
    has_few_bytes(value) || (value.len() >= 16 && in_order * 2 > value.len())
}

fn has_few_bytes(value: &[u8]) -> bool {
    let mut seen = [0u128; 2];
    value.iter().for_each(|byte| seen[usize::from(byte >> 7)] |= 1 << (byte & 0x7f));
    let distinct = seen[0].count_ones() + seen[1].count_ones();
    let few = match value.len() {
        0..=3 => 1,
        4..=11 => 2,
        12..=19 => 4,
        _ => 6,
    };
    distinct <= few
}

fn is_named_placeholder(value: &[u8]) -> bool {
    let mut folded = [0; JUDGED_BYTES];
    let length = value.len().min(JUDGED_BYTES);
    for (to, from) in folded.iter_mut().zip(value) {
        *to = if matches!(from, b'-' | b' ') { b'_' } else { from.to_ascii_lowercase() };
    }
    let folded = &folded[..length];
    let holds = |at: usize| {
        let parts = indexed(PLACEHOLDER_PARTS, &PARTS, folded[at]);
        parts.iter().any(|part| folded[at..].starts_with(part.as_bytes()))
    };
    PLACEHOLDER_WORDS.iter().any(|word| folded == word.as_bytes())
        || (0..length).any(holds)
        || (0..length).any(|at| starts_word(value, at) && begins_with_term(&value[at..length]))
}

/// `change-this`, `exampleKey`, `samplepassword`, but not `changeit4ever` or `Sampler9`: the whole word must be a term, or
/// the name of a secret behind one.
fn begins_with_term(value: &[u8]) -> bool {
    let is_term =
        |term: &&&str| value.get(..term.len()).is_some_and(|begin| begin.eq_ignore_ascii_case(term.as_bytes()));
    PLACEHOLDER_TERMS.iter().filter(is_term).any(|term| {
        let rest = &value[term.len()..];
        rest.is_empty()
            || !is(rest[0], ALNUM)
            || starts_word(value, term.len()) && !is(rest[0], DIGIT)
            || announces(rest).is_some()
    })
}

/// How the value was written.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum ValueForm {
    /// In quotes: a literal.
    Quoted,
    /// Bare, where only a literal is possible: a flag, an environment line, a connection string.
    Literal,
    /// Bare, where code is possible.
    Bare,
}

pub(super) fn is_secret(value: &[u8], bar: RequiredLook, written: ValueForm) -> bool {
    let value = &value[..value.len().min(JUDGED_BYTES)];
    let plausible = match bar {
        RequiredLook::Password => is_password(value, written),
        RequiredLook::Token if written == ValueForm::Bare => value.len() >= 10 && is_random(value, 3),
        RequiredLook::Token => {
            let has_digit = value.iter().any(|&byte| is(byte, DIGIT));
            let is_short = written == ValueForm::Quoted && has_digit;
            value.len() >= if is_short { SHORT_TOKEN_BYTES } else { TOKEN_BYTES }
                && (!value.contains(&b' ') || is_phrase(value))
                && (!names_itself(value) || is_joined(value))
                && is_password(value, written)
        }
        RequiredLook::Strong => value.len() >= 16 && is_random(value, 4),
        RequiredLook::Pin => (4..=12).contains(&value.len()) && value.iter().all(|&byte| is(byte, DIGIT)),
    };
    let opens = |&byte: &u8| matches!(byte, b'(' | b'[' | b'{');
    let code = bar != RequiredLook::Password && written != ValueForm::Quoted && value.iter().any(opens);
    plausible && !code && !is_placeholder(value)
}

fn is_password(value: &[u8], written: ValueForm) -> bool {
    let digit = value.iter().any(|&byte| is(byte, DIGIT));
    let mark =
        value.iter().any(|&byte| byte.is_ascii() && !is(byte, WORD) && !matches!(byte, b'.' | b'-' | b'/' | b' '));
    if value.len() < 4 || is_path(value) || (written != ValueForm::Literal && names_a_password(value)) {
        return false;
    }
    match written {
        // A label or a message has blanks or is the word for what it labels.
        ValueForm::Quoted => {
            let joined = matches!(value[0], b'+' | b',' | b';' | b')' | b']' | b'}' | b'.' | b'&' | b'|' | b'\\');
            let blank = (value.contains(&b' ') || !value.is_ascii()) && !is_phrase(value);
            !(joined
                || names_a(value, PASSWORD.name)
                || (blank && !(digit && mark))
                || (!digit && is(value[0], LOWER) && is_dotted_name(value)))
        }
        ValueForm::Literal => digit || mark || !is_dotted_name(value),
        ValueForm::Bare => value.len() >= 6 && (digit || mark) && !is_code(value),
    }
}

/// Several words that do not read as a message to a person: `the rain is falling`, `Blue;Heron 12`.
pub(super) fn is_phrase(value: &[u8]) -> bool {
    is_plain_phrase(value) || is_odd_phrase(value)
}

/// `Blue;Heron 12`, `Rq7 vT0`: a few words, one of which no message has.
fn is_odd_phrase(value: &[u8]) -> bool {
    let words = || value.split(|&byte| byte == b' ');
    let is_odd = |word: &[u8]| {
        let has = |class| word.iter().any(|&byte| is(byte, class));
        let is_mark =
            |byte: &u8| matches!(byte, b';' | b',' | b'#' | b'\\' | b'@' | b'^' | b'$' | b'*' | b'+' | b'|' | b'~');
        let inner = word.get(1..word.len().saturating_sub(1)).unwrap_or_default();
        (has(DIGIT) && has(ALPHA)) || inner.iter().any(is_mark)
    };
    let is_message = |word: &[u8]| is_ordinary(word) || announces(word).is_some() || names_secret(word);
    (2..=ODD_WORDS_MAX).contains(&words().count())
        && words().any(is_odd)
        && !words().any(is_message)
        && value.iter().all(|byte| !matches!(byte, b'(' | b'{' | b'[' | b'<' | b':' | b'=') || value[1] == b':')
}

/// `the rain is falling`: words that do not read as a message to a person. A message has the word for a secret, begins
/// like one, or has mostly words of messages; a mark that ends a sentence is in no word.
fn is_plain_phrase(value: &[u8]) -> bool {
    let words = || value.split(|&byte| byte == b' ');
    let count = words().count();
    if !(2..=WORDS_MAX).contains(&count) || value.len() >= JUDGED_BYTES || !is_letter(value[0]) {
        return false;
    }
    let first = words().next().unwrap_or_default();
    let is_message = |word: &&[u8]| if word.len() > 3 { is_ordinary(word) } else { MESSAGES.contains(word) };
    words().all(is_phrase_word)
        && !MESSAGE_BEGINNINGS.iter().any(|begin| first.eq_ignore_ascii_case(begin))
        && words().filter(is_message).count() * 2 <= count
}

/// `Green Tea 2`: a phrase that no heading or note about passwords would be.
pub(super) fn is_short_phrase(line: &[u8]) -> bool {
    let words = || line.split(|&byte| byte == b' ');
    let is_edge = |word: Option<&[u8]>| word.is_some_and(is_ordinary);
    words().nth(4).is_none() && is_plain_phrase(line) && !is_edge(words().next()) && !is_edge(words().next_back())
}

/// One word of a phrase, in a script that separates words, and not the word for a secret in any language.
fn is_phrase_word(word: &[u8]) -> bool {
    let is_inner = |&byte: &u8| is(byte, ALNUM) || matches!(byte, b'-' | b'\'' | b'/' | b'&' | 0x80..0xe0);
    let word = word.strip_suffix(b",").unwrap_or(word);
    let begins = word.first().is_some_and(|&byte| is_letter(byte) || is(byte, DIGIT) || byte == b'&');
    begins && word.iter().all(is_inner) && announces(word).is_none() && !names_secret(word)
}

/// `Token`, `accessToken`, `API_KEY`: the name of a secret, in any spelling.
pub(super) fn names_itself(value: &[u8]) -> bool {
    names_a(value, "")
}

/// `northwind-portal-secret`: more words than the name of a secret has.
fn is_joined(value: &[u8]) -> bool {
    value.iter().filter(|&&byte| matches!(byte, b'-' | b'_')).count() >= 2
        && value.iter().all(|&byte| is(byte, LOWER) || matches!(byte, b'-' | b'_'))
}

/// The same for one kind of secret, or for any.
fn names_a(value: &[u8], kind: &str) -> bool {
    let is_name = value.iter().all(|&byte| is(byte, WORD) || matches!(byte, b'-' | b'.' | b' '));
    let is_plain = value.iter().all(|&byte| is(byte, LOWER)) && value.len() > 10;
    is_name
        && !is_plain
        && !value.iter().any(|&byte| is(byte, DIGIT))
        && announces(value).is_some_and(|found| kind.is_empty() || found.name == kind)
}

/// `a.b`, `self.password`: a name in code or a translation key.
fn is_dotted_name(value: &[u8]) -> bool {
    value.contains(&b'.') && value.iter().all(|&byte| is(byte, WORD | DOT))
}

/// Calls, members, arithmetic, types: bare expressions on the right of `=` in code.
fn is_code(value: &[u8]) -> bool {
    let name = value.iter().all(|&byte| is(byte, WORD | DOT));
    let member = value.windows(2).any(|pair| matches!(pair, b"->" | b"::" | b"()" | b"[\"" | b"['"));
    let opens = value.iter().any(|&byte| matches!(byte, b'(' | b'[' | b'{' | b'|' | b'>' | b'?'));
    let dotted = value.windows(3).any(|w| is(w[0], ALPHA) && w[1] == b'.' && is(w[2], ALPHA));
    member || opens || (name && (dotted || !is_random(value, 1)))
}

fn is_path(value: &[u8]) -> bool {
    matches!(value, [b'/', ..] | [b'.', b'/', ..] | [b'.', b'.', b'/', ..] | [b'~', b'/', ..])
        || value.windows(3).any(|part| part == b"://")
        || value.starts_with(b"arn:")
}

/// `reset_password`, `#add-password`, `passwordField`, `Password:`: a name, not a password. Words run together
/// (`thisismypassword`) are a password.
fn names_a_password(value: &[u8]) -> bool {
    let named = |word: &[u8]| value.windows(word.len()).any(|part| part.eq_ignore_ascii_case(word));
    let plain = value.iter().all(|&byte| is(byte, ALNUM)) && !value[1..].iter().any(|&byte| is(byte, UPPER));
    !plain && (named(b"password") || named(b"passwd")) && !value.iter().any(|&byte| is(byte, DIGIT))
}

/// Random strings alternate between digits, upper and lower case far more often than words, names, versions and paths
/// do. Their bytes also repeat little (Shannon entropy).
pub(super) fn is_random(value: &[u8], least_turns: usize) -> bool {
    let is_word = |part: &[u8]| part.len() >= 4 && part.iter().all(|&byte| is(byte, ALPHA));
    let has_words = value.contains(&b'/') && value.split(|&byte| byte == b'/').filter(|part| is_word(part)).count() > 1;
    if value.contains(&b' ') || is_path(value) || has_words || !value.is_ascii() {
        return false;
    }
    let turns = turns(value);
    turns >= least_turns && turns * 12 >= value.len() && entropy_ok(value)
}

/// Digits, lower case, upper case and the punctuation of passwords; 0 separates words.
static KIND: [u8; 256] = {
    let (mut table, mut byte) = ([0; 256], 0);
    while byte < 256 {
        table[byte] = match byte as u8 {
            b'0'..=b'9' => 1,
            b'a'..=b'z' => 2,
            b'A'..=b'Z' => 3,
            b'!' | b'@' | b'#' | b'$' | b'%' | b'^' | b'&' | b'*' | b'~' | b'+' => 4,
            _ => 0,
        };
        byte += 1;
    }
    table
};

/// Changes of class inside words. The capital of a word (`getName`) does not count.
fn turns(value: &[u8]) -> usize {
    let kind = |at: usize| value.get(at).map_or(0, |&byte| KIND[usize::from(byte)]);
    let (mut turns, mut before) = (0, kind(0));
    for at in 1..value.len() {
        let here = kind(at);
        if before != here && before != 0 && here != 0 && (before, here) != (3, 2) {
            let hump = (before, here) == (2, 3) && kind(at + 1) == 2 && kind(at + 2) == 2;
            turns += usize::from(!hump);
        }
        before = here;
    }
    turns
}

/// `n · log2(n)` in 1/256 bits for n up to [`JUDGED_BYTES`], so that no logarithm is computed at run time.
static N_LOG2: [u32; JUDGED_BYTES + 1] = {
    let mut table = [0; JUDGED_BYTES + 1];
    let mut n = 2;
    while n <= JUDGED_BYTES {
        table[n] = n as u32 * log2_256(n as u32);
        n += 1;
    }
    table
};

/// log2 in 1/256 by repeated squaring, for the table above.
const fn log2_256(n: u32) -> u32 {
    let whole = n.ilog2();
    let mut fraction = 0;
    let mut x = ((n as u64) << 16) >> whole;
    let mut bit = 0;
    while bit < 8 {
        x = (x * x) >> 16;
        fraction <<= 1;
        if x >= 2 << 16 {
            x >>= 1;
            fraction |= 1;
        }
        bit += 1;
    }
    (whole << 8) | fraction
}

/// Shannon entropy of at least 2.5 bits per byte (3 from 20 bytes on; hexadecimal has at most 4).
fn entropy_ok(value: &[u8]) -> bool {
    let mut counts = [0u8; 128];
    let mut spread = 0;
    for &byte in value {
        let count = &mut counts[usize::from(byte & 0x7f)];
        let before = N_LOG2[usize::from(*count)];
        *count += 1;
        spread += N_LOG2[usize::from(*count)] - before;
    }
    let length = value.len();
    let bits_256 = N_LOG2[length] - spread;
    let least = if length >= 20 { 3 * 256 } else { 5 * 128 };
    bits_256 as usize >= least * length
}
