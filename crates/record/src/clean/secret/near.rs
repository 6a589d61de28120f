//! The word of a sentence that must be the password it speaks of: letters and digits mixed, or a quotation, after a
//! word that leads to it. Reads on from the cue to the end of the sentence, and back to a few words before the cue.

use super::Cut;
use super::key::{PASSWORD, announces};
use super::places::{LEADS, USERS};
use super::said::{OWNERS, TOLD};
use super::sentence::{AWAY_BYTES, Ends, PASSWORD_SAID, SENTENCE_BYTES, is_call, said_word, secret, trim};
use super::text::{ALNUM, ALPHA, DIGIT, LOWER, Text, UPPER, is};
use super::value::{ValueForm, is_placeholder};
use super::words::{is_letter, is_link, is_ordinary};
use super::written::{is_quote, value_at};

const WORDS_MAX: usize = 12;
const MIXED_BYTES: usize = 6;
/// The longest note in brackets that says what stands before it.
const NOTE_BYTES: usize = 24;
/// How many words may stand between `as` and the cue: `use x as the new root password`.
const BETWEEN_MAX: usize = 3;
/// `use x as the password`, `x is the password`.
const AS: [&[u8]; 7] = [b"as", b"for", b"als", b"como", b"comme", b"come", "как".as_bytes()];
const IS: [&[u8]; 6] = [b"is", b"ist", b"est", b"es", "é".as_bytes(), "è".as_bytes()];
const TYPE: [&[u8]; 11] = [
    b"type",
    b"typed",
    b"entered",
    b"tried",
    b"gave",
    b"used",
    b"tape",
    b"tippe",
    b"escribe",
    b"digite",
    "введи".as_bytes(),
];
/// `needs "x" when it asks for the password`.
const ASKS: [&[u8]; 8] = [b"asks", b"asked", b"asking", b"prompts", b"prompted", b"fragt", b"pide", b"demande"];
/// How verbs of changing begin.
const CHANGING: [&[u8]; 8] =
    [b"chang", b"reset", b"rotat", b"updat", b"\xc3\xa4nder", b"cambi", b"alter", "смен".as_bytes()];
/// The words before the old password and before the new one.
const CHANGES: [(&[u8], &[u8]); 7] = [
    (b"from", b"to"),
    (b"von", b"auf"),
    (b"von", b"zu"),
    (b"de", b"a"),
    (b"de", b"\xc3\xa0"),
    (b"da", b"a"),
    ("с".as_bytes(), "на".as_bytes()),
];
/// What may follow the cue then. In `as the password field` it is about a field.
const GOING_ON: [&[u8]; 16] = [
    b"btw",
    b"now",
    b"for",
    b"on",
    b"to",
    b"in",
    b"of",
    b"and",
    b"when",
    b"at",
    b"here",
    b"please",
    b"f\xc3\xbcr",
    b"para",
    b"pour",
    b"per",
];

/// `changed the password of root to x9`, `das PW vom Jenkins auf x9 gesetzt`, `it asks for a passphrase, type "x y"`.
/// `end` is where the cue ends.
pub(super) fn after(text: &Text, end: usize) -> Option<Cut> {
    let window = text.slice(end, end + SENTENCE_BYTES);
    let is_end = |pair: &[u8]| pair[0] == b'\n' || (matches!(pair[0], b'.' | b'?' | b'!' | b';') && pair[1] <= b' ');
    let sentence = &window[..window.windows(2).position(is_end).map_or(window.len(), |stop| stop + 1)];
    if sentence.first() != Some(&b' ') && sentence.first() != Some(&b',') {
        return None;
    }
    if let Some(cut) = changed(text, end, sentence) {
        return Some(cut);
    }
    // Only a word with digits or a quotation can be found, or what somebody is told to type.
    let may_tell = |&byte: &u8| is(byte, DIGIT) || is_quote(byte);
    if !sentence.iter().any(may_tell) && !sentence.split(|&byte| byte == b' ').any(is_type_word) {
        return None;
    }
    // The words after the cue say whose password it is. After `password check` they are about a check.
    let is_owned = OWNERS.iter().any(|word| *word != " to " && sentence.starts_with(word.as_bytes()));
    let (mut before, mut at, mut count) = (&b""[..], 0, 0);
    while at < sentence.len() && count < WORDS_MAX {
        let start = at + sentence[at..].iter().position(|&byte| byte > b' ')?;
        // A quotation may have blanks.
        let open = start + usize::from(sentence[start] == b'(');
        let is_told = TOLD.iter().any(|verb| before.eq_ignore_ascii_case(verb));
        if is_quotation(&sentence[open..])
            && (is_told || is_lead(before))
            && let Some(cut) = said_word(text, end + open, PASSWORD_SAID, Ends::Anywhere)
                .or_else(|| if is_told { typed(text, end + open) } else { None })
        {
            return Some(cut);
        }
        // `it asks for a password, type x`.
        if is_type(before)
            && let Some(cut) = said_word(text, end + start, PASSWORD_SAID, Ends::Sentence)
        {
            return Some(cut);
        }
        let stop = start + sentence[start..].iter().position(|&byte| byte <= b' ').unwrap_or(sentence.len() - start);
        let word = trimmed(&sentence[start..stop]);
        let from = end + start + word.0;
        let bytes = text.slice(from, from + word.1);
        let is_led = before.is_empty()
            || (is_lead(before)
                && (is_owned || count < 2 || matches!(before, b":" | b"=") || text.holds_cut(end, from)));
        if is_led && is_mixed(bytes) && !text.holds_cut(from, from + word.1) {
            return Some(Cut { name: PASSWORD.name, start: from, end: from + word.1 });
        }
        (before, at, count) = (bytes, stop, count + 1);
        if bytes.is_empty() {
            before = &sentence[start..stop];
        }
    }
    None
}

fn is_type_word(word: &[u8]) -> bool {
    let (at, length) = trimmed(word);
    is_type(&word[at..at + length])
}

fn is_type(word: &[u8]) -> bool {
    TYPE.iter().any(|verb| word.eq_ignore_ascii_case(verb))
}

/// `from x to y` right after the cue: one of the two passwords, plain words too.
fn changed(text: &Text, end: usize, sentence: &[u8]) -> Option<Cut> {
    let lead = sentence.iter().position(|&byte| byte == b' ')? + 1;
    let mut words = sentence[lead..].split(|&byte| byte == b' ');
    let (from, old, to, new) = (words.next()?, words.next()?, words.next()?, words.next()?);
    let is_change = CHANGES.iter().any(|(first, second)| from == *first && to == *second);
    let start = end + lead + from.len() + 1;
    // `move the password from Vault to GitHub` tells no password.
    let has_digit = |word: &[u8]| word.iter().any(|&byte| is(byte, DIGIT));
    let is_told = || {
        let before = text.back(end, SENTENCE_BYTES).rsplit(|&byte| byte == b'\n').next().unwrap_or_default();
        CHANGING.iter().any(|stem| before.windows(stem.len()).any(|part| part.eq_ignore_ascii_case(stem)))
    };
    let is_mark = text.holds_cut(start, start + old.len());
    let is_word = |word: &[u8]| {
        let (at, length) = trimmed(word);
        let bytes = &word[at..at + length];
        let is_path = bytes.iter().any(|&byte| matches!(byte, b'.' | b'/'));
        bytes.len() >= 5 && !is_path && !is_ordinary(bytes) && !is_placeholder(bytes) && announces(bytes).is_none()
    };
    if !is_change || !(has_digit(old) || has_digit(new) || is_told()) || !is_word(new) || (!is_mark && !is_word(old)) {
        return None;
    }
    let (start, word) = if is_mark { (start + old.len() + to.len() + 2, new) } else { (start, old) };
    let (at, length) = trimmed(word);
    let cut = Cut { name: PASSWORD.name, start: start + at, end: start + at + length };
    (!text.holds_cut(cut.start, cut.end)).then_some(cut)
}

/// `use x as the root password`, `x is the password`. The cue is from `at` to `end`.
pub(super) fn before(text: &Text, at: usize, end: usize) -> Option<Cut> {
    if text.before(at) != b' ' {
        return enclosed(text, at, end);
    }
    if let Some(cut) = enclosed(text, at, end).or_else(|| asked(text, at)) {
        return Some(cut);
    }
    let line = text.back(at, SENTENCE_BYTES / 2);
    let begin = at - line.len();
    let mut words = line.split(|&byte| byte == b' ').rev().skip(1);
    let mut stop = at.checked_sub(1)?;
    for _ in 0..=BETWEEN_MAX {
        let word = words.next()?;
        let start = stop.checked_sub(word.len())?;
        let (is_as, is_told) = (AS.contains(&word), IS.contains(&word));
        if is_as || is_told {
            return reached(text, (begin, start.checked_sub(1)?), end, is_told);
        }
        if word.is_empty() || !word.iter().all(|&byte| is_letter(byte) || byte == b'-') {
            return None;
        }
        stop = start.checked_sub(1)?;
    }
    None
}

/// `the new one is x (sudo password)`: a word before a bracket that says what it is.
fn enclosed(text: &Text, at: usize, end: usize) -> Option<Cut> {
    let open = text.scan_back(at, NOTE_BYTES, |byte| is_letter(byte) || matches!(byte, b' ' | b'-'));
    if text.at(end) != b')' || text.before(open) != b'(' {
        return None;
    }
    let stop = text.skip_spaces_back(open - 1);
    let start = text.scan_back(stop, SENTENCE_BYTES, |byte| byte > b' ');
    let (from, length) = trimmed(text.slice(start, stop));
    let (start, stop) = (start + from, start + from + length);
    let bytes = text.slice(start, stop);
    let has = |class| bytes.iter().any(|&byte| is(byte, class));
    // A name, a path or a call has other signs.
    let is_word = bytes.len() >= MIXED_BYTES && has(DIGIT) && has(ALPHA) && !is_call(bytes);
    let is_name = bytes.iter().any(|&byte| matches!(byte, b'_' | b'=')) || is_ordinary(bytes) || is_placeholder(bytes);
    (open < at && is_word && !is_name && !text.holds_cut(start, stop)).then_some(Cut {
        name: PASSWORD.name,
        start,
        end: stop,
    })
}

/// `it needs "x" when it asks for the password`: the quotation before the question.
fn asked(text: &Text, at: usize) -> Option<Cut> {
    let line = text.back(at, SENTENCE_BYTES).rsplit(|&byte| byte == b'\n').next().unwrap_or_default();
    let asks = line.rsplit(|&byte| byte == b' ').take(WORDS_MAX / 2).any(|word| ASKS.contains(&word));
    let close = if asks { line.iter().rposition(|&byte| is_quote(byte))? } else { return None };
    let open = line[..close].iter().rposition(|&byte| byte == line[close])?;
    let (start, stop) = (at - line.len() + open + 1, at - line.len() + close);
    let is_word = stop - start >= MIXED_BYTES && !line[open..close].contains(&b' ');
    said_word(text, start, PASSWORD_SAID, Ends::Anywhere).filter(|cut| is_word && cut.end <= stop)
}

/// The last word of a range, if a sentence says that it is the password.
fn reached(text: &Text, (begin, stop): (usize, usize), end: usize, is_told: bool) -> Option<Cut> {
    let quote = text.before(stop);
    let start = if is_quote(quote) {
        // A quotation may have blanks.
        text.scan_back(stop - 1, stop.saturating_sub(begin + 1), |byte| byte != quote).saturating_sub(1).max(begin)
    } else {
        text.scan_back(stop, stop.saturating_sub(begin), |byte| byte > b' ')
    };
    let stop = stop - usize::from(is_quote(text.before(stop)));
    let verb = text.slice(begin, start).trim_ascii_end().rsplit(|&byte| byte <= b' ').next().unwrap_or_default();
    let is_use = TOLD.iter().any(|known| verb.eq_ignore_ascii_case(known));
    let begins = matches!(text.before(start), b'\n' | b'\r') || verb.ends_with(b".");
    let is_plain = text.slice(start, stop).iter().all(u8::is_ascii_alphabetic);
    let next = text.slice(end + 1, text.scan(end + 1, 8, is_letter));
    let goes_on = text.at(end) == b' ' && is(text.at(end + 1), LOWER) && !GOING_ON.contains(&next);
    if goes_on || (is_plain && !if is_told { begins } else { is_use }) {
        return None;
    }
    said_word(text, start, PASSWORD_SAID, Ends::Anywhere).filter(|cut| cut.end <= stop)
}

/// Several words that are quoted at `open`, none of which is about passwords: `type "over the hills"`.
fn typed(text: &Text, open: usize) -> Option<Cut> {
    let value = value_at(text, open, ValueForm::Literal);
    let bytes = text.slice(value.start, value.end);
    let is_word =
        |word: &[u8]| !word.is_empty() && word.iter().all(|&byte| is_letter(byte)) && announces(word).is_none();
    let mut words = bytes.split(|&byte| byte == b' ');
    let fits = words.clone().nth(1).is_some() && words.all(is_word) && !text.holds_cut(value.start, value.end);
    fits.then_some(Cut { name: PASSWORD.name, start: value.start, end: value.end })
}

/// `login admin / x`, `creds are admin:x`, `log in with bob / x`.
pub(super) fn login(text: &Text, end: usize) -> Option<Cut> {
    let mut from = text.scan(end, 3, |byte| matches!(byte, b' ' | b':'));
    for link in [&b"are "[..], b"is ", b"ist ", b"as ", b"use ", b"with ", b"with: ", b"using ", b"mit ", b"con "] {
        if text.starts_with(from, link) {
            from += link.len();
        }
    }
    // `creds for the printer: bob / x`.
    let colon = text.scan(end, AWAY_BYTES, |byte| !matches!(byte, b':' | b'\n' | b'.' | b'/'));
    let is_far = text.at(end) == b' ' && text.starts_with(colon, b": ");
    from = if is_far { colon + 2 } else { from };
    // `Login flow: redirect / callback`.
    let is_flow = is_far && text.back(end, 5).eq_ignore_ascii_case(b"login");
    let quote = usize::from(is_quote(text.at(from)));
    let name = from + quote;
    let user = text.scan(name, 32, |byte| is(byte, ALNUM) || matches!(byte, b'.' | b'_' | b'@' | b'-'));
    let user = user + usize::from(quote == 1 && is_quote(text.at(user)));
    let gap = text.skip_spaces(user);
    let and = [&b"and "[..], b"und ", b"y ", b"et "].into_iter().find(|and| gap > user && text.starts_with(gap, and));
    let is_pair = matches!(text.at(gap), b'/' | b':') && text.at(gap + 1) != b'/';
    if user == name || !(is_pair || and.is_some()) {
        return None;
    }
    let cut = secret(text, text.skip_spaces(gap + and.map_or(1, <[u8]>::len)), PASSWORD_SAID)?;
    let bytes = text.slice(cut.start, cut.end);
    let has_digit = bytes.iter().any(|&byte| is(byte, DIGIT));
    // A path or an address has separators, a port and a size only digits.
    let is_word = bytes.len() >= 6 && bytes.iter().any(|&byte| is(byte, ALPHA)) && !is_call(bytes);
    (is_word && (has_digit || quote == 1 || (and.is_none() && !is_flow))).then_some(cut)
}

/// `admin/x9!`, `bob@acme.io / x9`: the word behind the slash after a user. A path goes on or has no such signs.
pub(super) fn beside_user(text: &Text, end: usize) -> Option<Cut> {
    let slash = text.skip_spaces(end);
    let start = text.skip_spaces(slash + 1);
    if text.at(slash) != b'/' || (slash > end) != (start > slash + 1) {
        return None;
    }
    let cut = said_word(text, start, PASSWORD_SAID, Ends::Anywhere)?;
    let bytes = text.slice(cut.start, text.scan(cut.start, SENTENCE_BYTES, |byte| byte > b' '));
    let has = |class| bytes.iter().any(|&byte| is(byte, class));
    let has_mark = bytes.iter().any(|byte| matches!(byte, b'!' | b'?' | b'#' | b'*' | b'$' | b'%' | b'&' | b'^'));
    let is_word = bytes.len() >= MIXED_BYTES && has(ALPHA) && has(DIGIT) && (slash > end || has_mark);
    (is_word && !is_call(bytes)).then_some(cut)
}

/// `Bearer x` in a sentence or a header of any spelling.
pub(super) fn bearer(text: &Text, end: usize) -> Option<Cut> {
    let from = text.skip_spaces(end);
    let mut value = value_at(text, from, ValueForm::Literal);
    trim(text, &mut value);
    let bytes = text.slice(value.start, value.end);
    let has = |class| bytes.iter().any(|&byte| is(byte, class));
    let is_token = bytes.len() >= 8 && has(ALPHA) && !is_placeholder(bytes);
    // In a sentence, a plain word is about tokens.
    let tells = has(DIGIT) || (has(UPPER) && has(LOWER) && !is_ordinary(bytes)) || bytes.len() >= 16;
    let is_code = bytes.iter().any(|&byte| matches!(byte, b'(' | b'{' | b'$' | b'>' | b'[' | b'<' | b'='));
    (from > end && is_token && tells && !is_code && !text.holds_cut(value.start, value.end)).then_some(Cut {
        name: "token",
        start: value.start,
        end: value.end,
    })
}

/// Does a quotation begin here?
fn is_quotation(words: &[u8]) -> bool {
    words.first().is_some_and(|quote| is_quote(*quote) && words[1..].contains(quote))
}

/// Does this word lead to a password: `to`, `is`, `auf`, `:`?
fn is_lead(word: &[u8]) -> bool {
    is_link(word) || LEADS.iter().any(|lead| word.eq_ignore_ascii_case(lead.as_bytes()))
}

/// The range of a word without the signs around it.
fn trimmed(word: &[u8]) -> (usize, usize) {
    let is_sign = |byte: u8| matches!(byte, b'(' | b')' | b',' | b'.' | b':' | b'"' | b'\'' | b'`' | b'*' | b'?');
    let start = word.iter().position(|&byte| !is_sign(byte)).unwrap_or(word.len());
    let end = word.iter().rposition(|&byte| !is_sign(byte)).map_or(start, |last| last + 1);
    (start, end - start)
}

/// Letters, then digits: what people choose, and neither code nor the name of anything that is not a user.
fn is_mixed(word: &[u8]) -> bool {
    let body = word.strip_suffix(b"!").unwrap_or(word);
    let digits = body.iter().filter(|&&byte| is(byte, DIGIT)).count();
    let is_plain = body.iter().all(|&byte| is_letter(byte));
    let begin = &body[..body.iter().position(|&byte| is(byte, DIGIT)).unwrap_or(body.len())];
    let is_user = USERS.iter().any(|user| begin.eq_ignore_ascii_case(user.as_bytes()));
    let is_hash = body.iter().all(u8::is_ascii_hexdigit);
    is_plain
        && digits > 0
        && begin.len() >= 3
        && body.len() >= MIXED_BYTES
        && !is_user
        && !is_hash
        && !is_ordinary(word)
        && !is_placeholder(word)
}
