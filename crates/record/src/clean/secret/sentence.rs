//! What a sentence says is a secret: after `the password is`, before `is the password`, in a pair of a user and a
//! password. Everything that is looked at is bounded.

use super::Cut;
use super::announced::RequiredLook;
use super::grid;
use super::key::{PASSWORD, announces};
use super::opaque::is_random_word;
use super::places::{USERS, links};
use super::said::{
    ARTICLES, ENGLISH, FAR_LINKS, FILLERS, GIVEN, NETWORKS, OWNERS, PURPOSES, QUOTATION_MARKS, SENTENCE_GOES_ON, TOLD,
};
use super::text::{ALNUM, ALPHA, DIGIT, LOWER, Text, UPPER, WORD, is};
use super::value::{self, ValueForm};
use super::words::{is_letter, is_ordinary, is_said};
use super::written::{Value, ends_line, is_quote, value_at};

/// How many linking words there may be between a cue and the secret.
const LINKS_MAX: usize = 2;
/// How far away a link may be: `the password for the database is x`.
pub(super) const AWAY_BYTES: usize = 48;
/// The longest tag of HTML, how many are read, and the longest line of dots.
const TAG_BYTES: usize = 8;
const TAGS_MAX: usize = 4;
const LINE_OF_DOTS_BYTES: usize = 64;
/// The longest word that is judged.
const WORD_BYTES: usize = 128;

/// What counts as a secret after a cue: how long it is at least, and a plain word.
#[derive(Clone, Copy)]
pub(super) struct AnnouncedValue {
    name: &'static str,
    least_bytes: usize,
    word_bytes: usize,
    /// How long it is at least some words away.
    far_bytes: usize,
}

pub(super) const PASSWORD_SAID: AnnouncedValue =
    AnnouncedValue { name: PASSWORD.name, least_bytes: 4, word_bytes: 5, far_bytes: 6 };
pub(super) const PIN_SAID: AnnouncedValue = AnnouncedValue { far_bytes: 4, ..PASSWORD_SAID };
pub(super) const KEY_SAID: AnnouncedValue =
    AnnouncedValue { name: "key", least_bytes: 8, word_bytes: 10, far_bytes: 8 };
pub(super) const VAGUE_SAID: AnnouncedValue =
    AnnouncedValue { name: "key", least_bytes: 10, word_bytes: 16, far_bytes: 10 };
pub(super) const SEED_SAID: AnnouncedValue =
    AnnouncedValue { name: "totp-seed", least_bytes: 4, word_bytes: 4, far_bytes: 6 };

/// `das Passwort ist x`, `**API key**: `x``, `the password for the database is x`, and a line of its own below.
pub(super) fn after(text: &Text, at: usize, end: usize, said: AnnouncedValue) -> Option<Cut> {
    let is_closer = |byte: u8| matches!(byte, b'*' | b'_' | b'`' | b')' | b'"' | b'\'');
    let end = noted_end(text, tags_end(text, text.scan(end, 4, is_closer)));
    let mut from = text.skip_spaces(end);
    // `Password ....... x`.
    let dots = text.scan(from, LINE_OF_DOTS_BYTES, |byte| byte == b'.');
    if dots >= from + 3 {
        from = text.skip_spaces(text.scan(dots, 1, |byte| byte == b':'));
        return secret(text, from, said).filter(|cut| ends_line(text, cut.end));
    }
    if let Some(cut) = filled_in(text, end, said) {
        return Some(cut);
    }
    if text.at(from) == b'|' {
        let is_key = |cut: &Cut| cut.end - cut.start >= said.word_bytes;
        return grid::beside_bar(text, at, from).filter(is_key).map(|cut| Cut { name: said.name, ..cut });
    }
    let (mut links, mut is_past) = (0, false);
    while links < LINKS_MAX
        && let Some(link) = link_at(text, from)
    {
        // `the token was accepted` says what became of it.
        is_past = text.slice(from, from + link) == b"was";
        if said.name != PASSWORD.name && is_past {
            break;
        }
        // The emphasis may end after the colon: `**Password:** x`.
        from = tags_end(text, text.skip_spaces(text.scan(from + link, 2, |byte| byte == b'*')));
        links += 1;
    }
    match links {
        // A quotation beside the cue: `mi contraseña "gato negro"`.
        0 if from > end && is_quote(text.at(from)) => secret(text, from, said).or_else(|| away(text, at, end, said)),
        // `the root password? x9`.
        0 if text.before(end) == b'?' => {
            let is_odd = |byte: &u8| is(*byte, DIGIT) || *byte == b'-';
            secret(text, from, said).filter(|cut| text.slice(cut.start, cut.end).iter().any(is_odd))
        }
        0 => away(text, at, end, said),
        _ if matches!(text.at(from), b'\n' | b'\r') => below(text, from, said),
        _ => secret(text, from, said)
            .or_else(|| if is_past { None } else { phrase(text, at, from, said) })
            .or_else(|| away(text, at, end, said)),
    }
}

/// Where the tags of HTML end that begin at `from`: `<b>Password:</b> <code>x`.
fn tags_end(text: &Text, from: usize) -> usize {
    let mut end = from;
    for _ in 0..TAGS_MAX {
        if text.at(end) != b'<' {
            break;
        }
        let close = text.scan(end + 1, TAG_BYTES, |byte| is(byte, ALNUM) || byte == b'/');
        if close == end + 1 || text.at(close) != b'>' {
            break;
        }
        end = text.skip_spaces(close + 1);
    }
    end
}

/// `fill in "Password" with "x"`, `the db pw's x9`.
fn filled_in(text: &Text, end: usize, said: AnnouncedValue) -> Option<Cut> {
    let with = [&b" with "[..], b" field with ", b" field to "].into_iter().find(|link| text.starts_with(end, link));
    match with {
        Some(link) if is_quote(text.at(end + link.len())) => secret(text, end + link.len(), said),
        _ if text.starts_with(end, b"s ") && text.before(end) == b'\'' => {
            let has_digit = |cut: &Cut| text.slice(cut.start, cut.end).iter().any(|&byte| is(byte, DIGIT));
            secret(text, end + 2, said).filter(has_digit)
        }
        _ => None,
    }
}

/// The secret on a line of its own, below the words that announce it.
fn below(text: &Text, from: usize, said: AnnouncedValue) -> Option<Cut> {
    let is_gap = |byte: u8| matches!(byte, b'\n' | b'\r' | b' ' | b'\t' | b'>' | b'`');
    let cut = secret(text, text.scan(from, 12, is_gap), said)?;
    let bytes = text.slice(cut.start, cut.end);
    let is_key = matches!(bytes.last(), Some(b':' | b'{' | b'(')) || bytes.first() == Some(&b'-');
    (ends_line(text, cut.end) && !is_key).then_some(cut)
}

/// `correct horse battery staple`: plain words to the end of the line, none of which makes a sentence. Two or three are
/// enough where the cue begins the line: `password: green tea`.
fn phrase(text: &Text, at: usize, from: usize, said: AnnouncedValue) -> Option<Cut> {
    // Most words are not followed by another.
    let first_end = text.scan(from, WORD_BYTES, is_letter);
    if said.name != PASSWORD.name || !matches!(text.at(first_end), b' ' | b'-') {
        return None;
    }
    let line =
        text.slice(from, text.scan(from, WORD_BYTES, |byte| !matches!(byte, b'\n' | b'\r' | b'"' | b'`' | b'.')));
    let words = line.split(|&byte| matches!(byte, b' ' | b'-'));
    let name = text.run_back(at, WORD, 32);
    let is_noted = matches!(text.back(from, 3), b"]: " | b"): ");
    let begins_line =
        matches!(text.before(text.scan_back(name, 8, is_list_mark)), b'\n' | b'\r') || is_asked(text, at) || is_noted;
    let is_short = words.clone().nth(3).is_none();
    let is_sentence = |word: &[u8]| (is_short || word.len() <= 4) && word != b"and" && is_ordinary(word);
    let is_word = |word: &[u8]| word.len() >= 3 && word.iter().all(|&byte| is(byte, LOWER)) && !is_sentence(word);
    let is_passphrase = text.slice(at, at + 10).eq_ignore_ascii_case(b"passphrase");
    let least = if begins_line || is_passphrase { 2 } else { 4 };
    // `the passphrase is zeroized immediately` says what is done with it.
    let is_done = |word: &[u8]| !begins_line && is_participle(word);
    let is_plain = words.clone().all(is_word)
        && !words.clone().next().is_some_and(is_done)
        && (least..=12).contains(&words.count());
    // As a line of its own, with capitals and digits too.
    let fits = is_plain || (begins_line && ends_line(text, from + line.len()) && value::is_short_phrase(line));
    fits.then_some(Cut { name: said.name, start: from, end: from + line.len() })
}

fn is_list_mark(byte: u8) -> bool {
    matches!(byte, b' ' | b'\t' | b'-' | b'*' | b'+' | b'>' | b'#')
}

/// `Enter passphrase`, `[sudo] password`: does a program ask for it on a line of a terminal?
fn is_asked(text: &Text, at: usize) -> bool {
    let before = text.back(at, 24).rsplit(|&byte| byte == b'\n').next().unwrap_or_default();
    let before = before.trim_ascii_end();
    [&b"enter"[..], b"sudo]", b"'s"]
        .iter()
        .any(|end| before.len() >= end.len() && before[before.len() - end.len()..].eq_ignore_ascii_case(end))
}

/// A link some words later. The secret is then quoted, or ends its line or sentence.
fn away(text: &Text, at: usize, end: usize, said: AnnouncedValue) -> Option<Cut> {
    if text.at(end) != b' ' {
        return None;
    }
    let window = text.slice(end, end + AWAY_BYTES);
    let is_end = |pair: &[u8]| matches!(pair[0], b'\n' | b';') || pair == b". " || pair == b".\n";
    let line = &window[..window.windows(2).position(is_end).unwrap_or(window.len())];
    let link_after = |at: usize| {
        let rest = &line[at..];
        let link =
            if matches!(rest[0], b' ' | b':') { FAR_LINKS.iter().find(|link| rest.starts_with(link)) } else { None };
        link.map(|link| at + link.len())
    };
    (0..line.len()).filter_map(link_after).take(LINKS_MAX).find_map(|from| linked(text, at, line, end + from, said))
}

/// The secret at `from`, after a link in the line that follows the cue at `at`.
fn linked(text: &Text, at: usize, line: &[u8], from: usize, said: AnnouncedValue) -> Option<Cut> {
    let is_phrase = text.slice(at, at + 10).eq_ignore_ascii_case(b"passphrase");
    if (is_phrase || is_asked(text, at))
        && let Some(cut) = phrase(text, at, from, said)
    {
        return Some(cut);
    }
    // `the password on the server is still x`.
    let from = link_at(text, from).map_or(from, |link| text.skip_spaces(from + link));
    let cut = secret(text, from, said)?;
    let next = text.skip_spaces(cut.end + usize::from(is_quote(text.before(cut.start))));
    let ends = is_quote(text.before(cut.start)) || matches!(text.at(next), b'\n' | b'\r' | b'.' | b',' | b'!');
    let has_digit = text.slice(cut.start, cut.end).iter().any(|&byte| is(byte, DIGIT));
    // A plain word only where the words between say whose password it is.
    let is_owned = said.name == PASSWORD.name && OWNERS.iter().any(|word| line.starts_with(word.as_bytes()));
    let is_quoted = said.name == PASSWORD.name && is_quote(text.before(cut.start));
    // `пароль администратора: x`: a Latin word ends a line of another script.
    let is_other = matches!(line, [b' ', 0xd0..=0xff, ..]) && text.slice(cut.start, cut.end).is_ascii();
    let tells = has_digit || is_owned || is_quoted || (is_other && ends_line(text, cut.end));
    (ends && tells && cut.end - cut.start >= said.far_bytes).then_some(cut)
}

/// `пароль x`, `password x`, and a heading with the password below it: the word itself must tell.
pub(super) fn alone(text: &Text, at: usize, end: usize) -> Option<Cut> {
    alone_as(text, at, end, PASSWORD_SAID)
}

/// The same for another kind of secret.
pub(super) fn alone_as(text: &Text, at: usize, end: usize, said: AnnouncedValue) -> Option<Cut> {
    let is_heading = matches!(text.at(end), b'\n' | b'\r') && {
        let line = text.scan_back(end, AWAY_BYTES, |byte| byte != b'\n');
        text.at(line) == b'#' || !text.slice(line, end).contains(&b' ')
    };
    let gap = |byte: u8| matches!(byte, b' ' | b'\t') || (is_heading && matches!(byte, b'\n' | b'\r'));
    let from = match text.before(end) {
        // Words of another script may say whose password it is.
        0x80.. => text.scan(end, AWAY_BYTES, |byte| byte >= 0x80 || gap(byte)),
        _ => text.scan(end, 3, gap),
    };
    // Scripts without blanks: `密码x9`.
    let is_joined = text.before(end) >= 0x80 && is(text.at(end), ALNUM);
    if from == end && !is_joined {
        return None;
    }
    // A password of the same script: `логин bob пароль ромашка`.
    let near = text.skip_spaces(end);
    let same = if near < from && is_given(text, at) { secret(text, near, said) } else { None };
    // English joins words by blanks: `the password field`. Other languages do not.
    let is_english = ENGLISH.iter().any(|word| text.slice(at, end).eq_ignore_ascii_case(word));
    let same = same.or_else(|| {
        let goes_on =
            |cut: &Cut| is_parted(text, cut.end) || PURPOSES.iter().any(|word| text.starts_with(cut.end, word));
        if is_english || !is_given(text, at) {
            None
        } else {
            said_word(text, near, said, Ends::Anywhere).filter(goes_on)
        }
    });
    let cut = same.or_else(|| secret(text, fillers_end(text, at, from), said))?;
    let bytes = text.slice(cut.start, cut.end);
    let has = |class| bytes.iter().any(|&byte| is(byte, class));
    let is_part = |part: &[u8]| {
        part.len() >= 3 && part.iter().any(|&byte| is(byte, DIGIT)) && part.iter().any(|&byte| is(byte, ALPHA))
    };
    let is_name = bytes.iter().any(|&byte| matches!(byte, b'_' | b'.' | b'/' | b'(' | b'=' | b':'))
        || (bytes.contains(&b'-') && !bytes.split(|&byte| byte == b'-').any(is_part));
    let tells = bytes.len() >= 8 && has(DIGIT) && has(LOWER) && has(UPPER) && !is_name;
    // No sentence in another script goes on with a Latin word.
    let is_other = text.before(end) >= 0x80 && bytes.is_ascii() && ends_line(text, cut.end);
    let after = cut.end + usize::from(is_quote(text.before(cut.start)));
    let has_purpose = || PURPOSES.iter().any(|word| text.starts_with(after, word));
    let is_listed = has(DIGIT) && text.before(text.skip_spaces_back(at)) == b',';
    let is_enclosed = text.before(at) == b'(' && text.at(cut.end) == b')';
    // `Implement WPA2 key exchange.` is about keys.
    let is_networks = || {
        let is_apart = matches!(text.before(text.skip_spaces_back(at)), b',' | b':' | b';' | b'"');
        (is_apart || has(DIGIT)) && is_of_network(text, at)
    };
    let is_given = is_enclosed
        || (is_listed || is_given(text, at) || is_networks())
            && (ends_sentence(text, cut.end) || ends_line(text, cut.end) || has_purpose());
    // `remote_password x` is a line of settings.
    let name = text.run_back(at, WORD, 32);
    let is_setting = || {
        let is_joined = name < at && text.before(at) == b'_';
        let begins = matches!(text.before(text.skip_spaces_back(name)), b'\n' | b'\r');
        begins && (is_joined || has(DIGIT) || text.at(end) == b'\t') && ends_line(text, cut.end)
    };
    // A plain word beside `token` or `API key` is what the sentence is about.
    let is_judged = said.name == PASSWORD.name || has(DIGIT) || is_random_word(bytes);
    let fits = tells || is_other || is_given || (is_heading && ends_line(text, cut.end)) || is_setting();
    (is_judged && fits && (from > end || has(DIGIT))).then_some(cut)
}

/// Where the words end that only fill the sentence: `nimm als Passwort einfach x`.
fn fillers_end(text: &Text, at: usize, from: usize) -> usize {
    let filler = FILLERS.iter().find(|word| text.starts_with(from, word));
    match filler {
        Some(word) if is_given(text, at) => from + word.len(),
        _ => from,
    }
}

/// Is a network named before the key at `at`: `SSID Home, key x`?
pub(super) fn is_of_network(text: &Text, at: usize) -> bool {
    let line = text.back(at, AWAY_BYTES).rsplit(|&byte| byte == b'\n').next().unwrap_or_default();
    line.split(|&byte| !is_letter(byte)).any(|word| NETWORKS.iter().any(|name| word.eq_ignore_ascii_case(name)))
}

/// `with the password x`, `user bob, password x`: do the words before the cue at `at` say that it follows?
fn is_given(text: &Text, at: usize) -> bool {
    let line = text.back(at, AWAY_BYTES).rsplit(|&byte| byte == b'\n').next().unwrap_or_default();
    let mut words = line.split(|&byte| matches!(byte, b' ' | b',' | b':')).rev().filter(|word| !word.is_empty());
    let names_user = |word: &[u8]| USERS.iter().any(|user| word.eq_ignore_ascii_case(user.as_bytes()));
    let is_login = words.clone().skip(1).any(names_user);
    let link = words.find(|word| !ARTICLES.contains(word)).unwrap_or_default();
    is_login || GIVEN.contains(&link) || TOLD.iter().any(|verb| link.eq_ignore_ascii_case(verb))
}

/// The length of the linking word at `from`.
fn link_at(text: &Text, from: usize) -> Option<usize> {
    // A dash between blanks; in a name it joins.
    if text.at(from) == b'-' && text.at(from + 1) != b'>' && (text.before(from) != b' ' || text.at(from + 1) != b' ') {
        return None;
    }
    let is_whole = |link: &str| {
        !is_letter(link.as_bytes()[0])
            || matches!(link.as_bytes()[0], 0xc2 | 0xe0..)
            || !is_letter(text.at(from + link.len()))
    };
    let known = |link: &&&str| {
        let said = text.slice(from, from + link.len());
        (is_said(said, link) || said.eq_ignore_ascii_case(link.as_bytes())) && is_whole(link)
    };
    links(text.at(from).to_ascii_lowercase()).iter().find(known).map(|link| link.len())
}

/// Whether a plain word must end its sentence to be a secret.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Ends {
    Anywhere,
    Sentence,
}

/// The secret at `from`: one word, or quoted. A plain word must end its sentence or look random, and be none of its words.
pub(super) fn secret(text: &Text, from: usize, said: AnnouncedValue) -> Option<Cut> {
    said_word(text, from, said, if said.name == SEED_SAID.name { Ends::Anywhere } else { Ends::Sentence })
}

/// What kinds of bytes a word has: digits, marks of passwords, what only code and paths have.
const SEEN_DIGIT: u8 = 1;
const SEEN_MARK: u8 = 1 << 1;
const SEEN_CALL: u8 = 1 << 2;
const SEEN_OTHER: u8 = 1 << 3;

static SEEN: [u8; 256] = {
    let (mut table, mut byte) = ([0; 256], 0);
    while byte < 256 {
        table[byte] = match byte as u8 {
            b'0'..=b'9' => SEEN_DIGIT,
            b'!' | b'@' | b'#' | b'$' | b'%' | b'^' | b'&' | b'*' | b'?' => SEEN_MARK,
            b'(' | b'/' | b'{' | b'[' | b'<' | b'.' | b':' => SEEN_CALL,
            _ => SEEN_OTHER,
        };
        byte += 1;
    }
    table
};

pub(super) fn said_word(text: &Text, from: usize, said: AnnouncedValue, ends: Ends) -> Option<Cut> {
    let mut value = quotation_at(text, from).unwrap_or_else(|| value_at(text, from, ValueForm::Literal));
    let is_quoted = value.written == ValueForm::Quoted;
    if !is_quoted {
        value.end = text.scan(from, WORD_BYTES, |byte| byte > b' ' && !matches!(byte, b'"' | b'`' | b'<'));
        trim(text, &mut value);
    }
    let bytes = text.slice(value.start, value.end);
    let seen = bytes.iter().fold(0, |seen, &byte| seen | SEEN[usize::from(byte)]);
    let has_digit = seen & SEEN_DIGIT != 0;
    // `CharField(max_length=128)` is a call.
    let is_invoked = || bytes.windows(2).any(|pair| is(pair[0], WORD) && pair[1] == b'(');
    let is_code = seen & SEEN_CALL != 0 && (!has_digit || said.name != PASSWORD.name || is_invoked());
    let fits = match (has_digit || (seen & SEEN_MARK != 0 && is_quoted), said.name == PASSWORD.name) {
        _ if bytes.len() < said.least_bytes || is_code || is_ordinary(bytes) => false,
        (true, true) => seen == SEEN_DIGIT || value::is_secret(bytes, RequiredLook::Password, value.written),
        (true, false) => {
            bytes.iter().any(|&byte| is(byte, ALPHA)) && value::is_secret(bytes, RequiredLook::Password, value.written)
        }
        (false, _) => {
            // No word of a sentence is joined from so many, or has such letters.
            let joints = bytes.iter().filter(|&&byte| matches!(byte, b'-' | b'_')).count();
            let is_odd = (bytes.len() >= 16 && joints > 1) || is_random_word(bytes);
            let is_end = is_quoted || is_odd || ends == Ends::Anywhere || ends_sentence(text, value.end);
            let is_words = is_quoted && value::is_phrase(bytes);
            bytes.len() >= said.word_bytes && is_end && (is_words || is_plain_secret(bytes, value.written))
        }
    };
    (fits && !text.holds_cut(value.start, value.end)).then_some(Cut {
        name: said.name,
        start: value.start,
        end: value.end,
    })
}

/// A quotation in the marks of books before `from`: `„drei müde Igel“`, `« le chat »`, `「x y」`.
fn quotation_at(text: &Text, from: usize) -> Option<Value> {
    let open = text.back(text.skip_spaces_back(from), 3);
    QUOTATION_MARKS.iter().any(|mark| open.ends_with(mark.as_bytes())).then_some(())?;
    let end = text.scan(from, SENTENCE_BYTES, |byte| !matches!(byte, b'\n' | b'"' | 0xe2 | 0xe3 | 0xc2));
    let end = text.scan_back(end, 2, |byte| byte == b' ');
    (end > from && text.at(end) != b'\n').then_some(Value { start: from, end, written: ValueForm::Quoted })
}

/// A word without digits that no sentence about a password would have here.
fn is_plain_secret(bytes: &[u8], written: ValueForm) -> bool {
    let is_word = bytes.iter().all(|&byte| is(byte, ALPHA) || matches!(byte, b'-' | b'_' | b'!' | b'\'' | 0x80..));
    let is_name = announces(bytes).is_some();
    is_word && !is_participle(bytes) && !is_name && value::is_secret(bytes, RequiredLook::Password, written)
}

pub(super) fn is_participle(word: &[u8]) -> bool {
    let is_one = [&b"ed"[..], b"ing", b"able", b"ible"].iter().any(|end| word.ends_with(end));
    is_one && word.iter().all(|&byte| is(byte, LOWER))
}

fn ends_sentence(text: &Text, end: usize) -> bool {
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
                || text.starts_with(next, b"-->")
                || is_parted(text, end)
        }
    }
}

/// Only the second part of a German verb follows: `melde dich mit dem Passwort x an`.
fn is_parted(text: &Text, end: usize) -> bool {
    [&b" an"[..], b" ein", b" anmelden", b" einloggen"]
        .iter()
        .any(|part| text.starts_with(end, part) && ends_line(text, end + part.len()))
}

/// Code, a path or an address rather than a key.
pub(super) fn is_call(bytes: &[u8]) -> bool {
    bytes.iter().any(|&byte| SEEN[usize::from(byte)] == SEEN_CALL)
}

/// The full stop of the sentence is not part of a word; nor are marks of emphasis, and scripts without blanks.
pub(super) fn trim(text: &Text, value: &mut Value) {
    value.end = text.scan(value.start, value.end - value.start, |byte| byte < 0xe0 && byte != 0xc2);
    let is_tail =
        |byte: u8| matches!(byte, b'.' | b',' | b'!' | b'?' | b':' | b';' | b'*' | b'|' | b')' | b'\'' | b']' | b'}');
    value.end = text.scan_back(value.end, value.end - value.start, is_tail).max(value.start);
}

/// `user: bob, pass: x`; in `these pass: x` it is a verb.
pub(super) fn pass(text: &Text, at: usize, end: usize) -> Option<Cut> {
    let before = text.before(text.skip_spaces_back(at));
    let has_user = || text.back(at, 40).windows(4).any(|part| part.eq_ignore_ascii_case(b"user"));
    let is_noun = matches!(before, b',' | b';' | b'|' | b'/' | b'\n' | b'(') || has_user();
    let is_apart = text.at(end) == b' ';
    // What a client sends by FTP or POP3: `USER bob`, then `PASS x`.
    if is_apart && text.slice(at, end) == b"PASS" && text.back(at, 160).windows(5).any(|part| part == b"USER ") {
        let stop = text.scan(end + 1, WORD_BYTES, |byte| byte > b' ');
        let value = Value { start: end + 1, end: stop, written: ValueForm::Literal };
        return super::position::cut(text, &value).filter(|_| ends_line(text, stop));
    }
    // `the pass is x9`.
    let line = text.back(at, 16).trim_ascii_end();
    let last = line.rsplit(|&byte| byte <= b' ').next().unwrap_or_default();
    if is_apart && (last.is_empty() || ARTICLES.contains(&last)) && text.starts_with(end, b" is ") {
        let has_digit = |cut: &Cut| text.slice(cut.start, cut.end).iter().any(|&byte| is(byte, DIGIT));
        return secret(text, end + 4, PASSWORD_SAID).filter(has_digit);
    }
    let is_pair = is_apart && is_given(text, at) && has_user();
    if !is_noun || !(matches!(text.at(end), b':' | b'=') || is_pair || (is_apart && before == b'\n')) {
        return None;
    }
    let cut = secret(text, text.skip_spaces(end + 1), PASSWORD_SAID)?;
    // As a line of settings: `Pass x9`.
    let has_digit = || text.slice(cut.start, cut.end).iter().any(|&byte| is(byte, DIGIT));
    if is_apart && !is_pair && !(has_digit() && ends_line(text, cut.end)) {
        return None;
    }
    let has_letter = text.slice(cut.start, cut.end).iter().any(|&byte| is(byte, ALPHA));
    (has_letter && cut.end - cut.start >= 6).then_some(cut)
}

/// How far a sentence is read, in bytes and words, and the shortest word that is taken for a password.
pub(super) const SENTENCE_BYTES: usize = 96;

/// Where a note of a program that asks ends: `Password [shown]: x`. Otherwise `end`.
pub(super) fn noted_end(text: &Text, end: usize) -> usize {
    let open = text.skip_spaces(end);
    let close = text.scan(open, SENTENCE_BYTES, |byte| !matches!(byte, b']' | b')' | b'\n' | b':'));
    let is_note = matches!((text.at(open), text.at(close)), (b'[', b']') | (b'(', b')'));
    if open > end && is_note && text.at(close + 1) == b':' { close + 1 } else { end }
}
