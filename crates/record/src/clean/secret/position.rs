//! Secrets by their position in a command: the value of a flag, an argument, what is piped into a program.
//!
//! A program of `places.txt` is recognised by its name, wherever a word begins. Its words are then read once, up to the
//! end of the command, so the work is linear however many programs are named.

use super::Cut;
use super::announced::{RequiredLook, ValuePlace};
use super::key::{KEY_BYTES, PASSWORD, announces};
use super::places::{self, READERS, SecretPlace};
use super::text::{ALNUM, ALPHA, DIGIT, LOWER, Text, UPPER, is};
use super::value::{ValueForm, is_secret};
use super::words::is_ordinary;
use super::written::{Value, ends_line, is_quote, value_at};

/// How much of a command is read after the name of its program.
const COMMAND_BYTES: usize = 1024;
/// The longest tag before a command of a client of mail.
const TAG_BYTES: usize = 6;
/// How many places a program may have.
const PLACES_MAX: usize = 16;
/// What comparing a program with those that read a secret costs, in bytes of text.
pub(super) const READER_BYTES: usize = 512;
/// The place has given its secret.
const DONE: u8 = u8::MAX;

/// A command that is being read.
#[derive(Clone, Copy)]
pub(super) struct CommandReading {
    places: [Option<&'static SecretPlace>; PLACES_MAX],
    /// For each place, where in its pattern the next word begins.
    found: [u8; PLACES_MAX],
    /// Is it a list of strings? Then flags are quoted too: `["mysql", "-px"]`.
    listed: bool,
    /// The words up to here were read.
    at: usize,
    /// Nothing is read from here on.
    pub(super) end: usize,
}

/// The command of the program whose name begins at `at`.
pub(super) fn command_at(text: &Text, at: usize) -> Option<CommandReading> {
    let end = text.scan(at, 32, |byte| is(byte, ALNUM) || matches!(byte, b'-' | b'_' | b'.'));
    // `["mysql", "-px"]`, or as Redis reports it: `"AUTH" "bob" "x"`.
    let quote = text.at(end);
    let listed = is_quote(quote)
        && (text.at(end + 1) == b',' || (text.at(end + 1) == b' ' && text.at(end + 2) == quote))
        && text.before(at) == quote;
    // Most words are not followed by a blank and an argument.
    if !(listed || matches!(text.at(end), b' ' | b'\t')) || matches!(text.before(at), b'-' | b'.' | b'_' | b'=') {
        return None;
    }
    let mut places = [None; PLACES_MAX];
    let is_line = |place: &&SecretPlace| !place.pattern.ends_with('$') || begins_line(text, at);
    let known = places::programs(text.slice(at, end)).filter(is_line);
    places.iter_mut().zip(known).for_each(|(slot, place)| *slot = Some(place));
    places[0]?;
    let end = end + usize::from(listed);
    Some(CommandReading { places, found: [0; PLACES_MAX], listed, at: end, end: command_end(text, end) })
}

/// Does a command begin its line at `at`, perhaps after what a terminal or a device asks with, or after the tag of a
/// client of mail (`A1 LOGIN bob x`)?
fn begins_line(text: &Text, at: usize) -> bool {
    let end = text.skip_spaces_back(at);
    let tag = text.run_back(end, ALNUM, TAG_BYTES);
    let begins = |end: usize| matches!(text.before(end), b'\n' | b'\r' | b'#' | b'>' | b'$' | b'%' | b'"' | b'`');
    begins(end) || (is(text.before(end), DIGIT) && begins(text.skip_spaces_back(tag)))
}

/// Where the command around `from` ends: at a pipe, a separator or a line break that is not escaped.
fn command_end(text: &Text, from: usize) -> usize {
    let window = text.slice(from, from + COMMAND_BYTES);
    let mut quote = 0;
    for (at, &byte) in window.iter().enumerate() {
        let escaped = at > 0 && window[at - 1] == b'\\';
        match byte {
            _ if escaped => {}
            b'\'' | b'"' if quote == 0 => quote = byte,
            _ if byte == quote => quote = 0,
            b'\n' => return from + at,
            b'|' | b';' | b'&' | b'`' if quote == 0 => return from + at,
            _ => {}
        }
    }
    from + window.len()
}

/// The next secret of a command.
pub(super) fn next_password(text: &Text, command: &mut CommandReading) -> Option<Cut> {
    while command.at < command.end {
        let is_gap = |byte: u8| matches!(byte, b' ' | b'\t' | b'\n' | b',');
        let mut start = text.scan(command.at, command.end - command.at, is_gap);
        // A line that goes on.
        while text.at(start) == b'\\' && matches!(text.at(start + 1), b'\n' | b'\r') {
            start = text.scan(start + 2, command.end.saturating_sub(start + 2), is_gap);
        }
        if start >= command.end {
            command.at = command.end;
            break;
        }
        let mut word = word_at(text, start, command.end);
        // The closing quote belongs to the word.
        command.at = (word.end + usize::from(word.written == ValueForm::Quoted)).max(start + 1);
        if command.listed {
            word.written = ValueForm::Literal;
        }
        let mut cut = None;
        for (place, found) in command.places.iter().zip(&mut command.found) {
            let Some(place) = place else { break };
            cut = cut.or_else(|| step(text, place, found, &word, command.end));
        }
        if let Some(cut) = cut {
            command.at = command.at.max(cut.end);
            return Some(cut);
        }
    }
    None
}

/// The word at `start`: quoted as a whole, or up to a blank outside quotes.
fn word_at(text: &Text, start: usize, stop: usize) -> Value {
    if is_quote(text.at(start)) {
        let value = value_at(text, start, ValueForm::Literal);
        return Value { end: value.end.min(stop), ..value };
    }
    let (mut end, mut quote) = (start, 0);
    while end < stop && (text.at(end) > b' ' || quote != 0) {
        match text.at(end) {
            byte @ (b'\'' | b'"') if quote == 0 => quote = byte,
            byte if byte == quote => quote = 0,
            _ => {}
        }
        end += 1;
    }
    // A quote that nothing closes is an apostrophe.
    let end = if quote == 0 { end } else { text.scan(start, stop - start, |byte| byte > b' ') };
    Value { start, end, written: ValueForm::Literal }
}

/// Compares a word of the command with the next word of a place's pattern; the secret, if it is one.
fn step(text: &Text, place: &SecretPlace, found: &mut u8, word: &Value, end: usize) -> Option<Cut> {
    if *found == DONE {
        return None;
    }
    let bytes = text.slice(word.start, word.end);
    if *found == 0 && !may_begin(place.pattern.as_bytes(), bytes) {
        return None;
    }
    let (wanted, next) = place.words_from(usize::from(*found));
    let is_flag = bytes.len() > 1 && bytes[0] == b'-' && word.written != ValueForm::Quoted;
    let is_value = next.is_some_and(|next| next.contains(&b'#'));
    let after = *found + wanted.len() as u8 + 1;
    match wanted {
        b"#" | b"#$" | b"*" | b"NAME" if is_flag => {
            // A flag was not followed by its value.
            *found = before_flag(place, *found).unwrap_or(*found);
            None
        }
        b"#" if next == Some(b"|") => piped(text, end, word),
        // `set imap_pass = x`.
        b"#" if bytes == b"=" => None,
        b"#" => {
            let cut = cut(text, word);
            // Another may follow what is too short for a secret, or is no literal.
            *found = if cut.is_some() || bytes.len() >= 4 && !bytes.starts_with(b"/") { DONE } else { *found };
            cut
        }
        b"#$" => {
            *found = DONE;
            let quote = usize::from(word.written == ValueForm::Quoted);
            let is_verb = [&b"ing"[..], b"ed", b"ion"].iter().any(|end| bytes.ends_with(end));
            let is_word =
                is_verb || is_ordinary(bytes) || (bytes.len() < 12 && bytes.iter().all(|&byte| is(byte, UPPER)));
            cut(text, word).filter(|_| ends_line(text, word.end + quote) && !is_word)
        }
        b"NAME" => {
            *found = if names_a_secret(bytes) { after } else { *found };
            None
        }
        b"*" => {
            *found = after;
            None
        }
        _ if wanted.contains(&b'#') => {
            let glued = within(text, word, wanted, end, is_flag);
            if glued.is_none() && !is_flag {
                *found = before_flag(place, *found).unwrap_or(*found);
            }
            glued
        }
        [b'-', ..] => {
            let is_short = wanted.len() == 2 && !is_value && is_flag && bytes[1] != b'-';
            if bytes == wanted || (is_short && bytes.contains(&wanted[1])) {
                *found = after;
            }
            let value = bytes.strip_prefix(wanted)?.strip_prefix(b"=")?;
            let value = Value { start: word.end - value.len(), end: word.end, written: word.written };
            captured(text, &value, next.filter(|_| is_value)?)
        }
        _ => {
            *found = if matches(wanted, bytes) { after } else { *found };
            None
        }
    }
}

/// The secret in a word or behind it, as a pattern such as `-p~#` or `*:#` says.
fn within(text: &Text, word: &Value, wanted: &[u8], end: usize, is_flag: bool) -> Option<Cut> {
    let bytes = text.slice(word.start, word.end);
    let (before, rest) = wanted.split_at(wanted.iter().position(|&byte| byte == b'~').unwrap_or(0));
    // Flags of one letter may be joined: `-rP x`.
    let is_cluster = is_flag
        && before.len() == 2
        && bytes.len() <= 5
        && bytes[1..].iter().all(|&byte| is(byte, ALPHA))
        && bytes.last() == before.last();
    if !before.is_empty() && (bytes == before || is_cluster) {
        // `-p x`, where the pattern is `-p~#`: the next word is the value, whatever it begins with.
        let quote = usize::from(is_quote(text.at(word.end)) && text.before(word.start) == text.at(word.end));
        let is_gap = |byte: u8| matches!(byte, b' ' | b'\t') || (quote > 0 && byte == b',');
        let next = text.scan(word.end + quote, 8, is_gap);
        return if next < end { captured(text, &word_at(text, next, end), &rest[1..]) } else { None };
    }
    if before.is_empty() { captured(text, word, wanted) } else { joined(text, word, before, rest) }
}

/// May this word be the first one of a pattern? Most words do not even begin like it. No false negatives.
fn may_begin(pattern: &[u8], word: &[u8]) -> bool {
    let (Some(&wanted), Some(first)) = (pattern.first(), word.first()) else { return false };
    match wanted {
        b'*' | b'#' | b'N' => true,
        // Flags of one letter may be joined to others.
        b'-' => *first == b'-' && pattern.get(1).is_some_and(|letter| word.contains(letter)),
        _ => first.eq_ignore_ascii_case(&wanted),
    }
}

/// `config`, or `http-basic.*`.
fn matches(wanted: &[u8], word: &[u8]) -> bool {
    match wanted.strip_suffix(b"*") {
        Some(begin) => word.starts_with(begin),
        None => word.eq_ignore_ascii_case(wanted),
    }
}

/// Where the flag before the word at `found` of a pattern begins.
fn before_flag(place: &SecretPlace, found: u8) -> Option<u8> {
    let before = place.pattern.as_bytes().get(..usize::from(found).checked_sub(1)?)?;
    let start = before.iter().rposition(|&byte| byte == b' ').map_or(0, |blank| blank + 1);
    (before.get(start) == Some(&b'-')).then_some(start as u8)
}

/// Does an argument such as `DB_PASSWORD` or `_authToken` announce a secret?
fn names_a_secret(word: &[u8]) -> bool {
    let is_name = word.iter().all(|&byte| is(byte, ALNUM) || matches!(byte, b'_' | b'-' | b'.' | b':' | b'/' | b'@'));
    // In a sentence there are plain words: `set the session timeout`.
    let is_plain = word.iter().all(|&byte| is(byte, LOWER) || byte == b'-');
    is_name
        && !is_plain
        && announces(&word[word.len().saturating_sub(KEY_BYTES)..])
            .is_some_and(|found| found.is_sure() && found.place == ValuePlace::Anywhere)
}

/// The secret that is joined to a flag: `-px`.
fn joined(text: &Text, word: &Value, flag: &[u8], rest: &[u8]) -> Option<Cut> {
    let bytes = text.slice(word.start, word.end);
    if !bytes.starts_with(flag) || bytes.get(flag.len()) == Some(&b'-') {
        return None;
    }
    let start = word.start + flag.len() + usize::from(bytes.get(flag.len()) == Some(&b'='));
    captured(text, &Value { start, end: word.end, written: ValueForm::Literal }, &rest[1..])
}

/// The part of a word that `#` stands for in a pattern such as `*:#` or `pass:#` or `*/#@`.
fn captured(text: &Text, word: &Value, pattern: &[u8]) -> Option<Cut> {
    let hash = pattern.iter().position(|&byte| byte == b'#')?;
    let (before, after) = (&pattern[..hash], &pattern[hash + 1..]);
    let bytes = text.slice(word.start, word.end);
    // `<user:password>` stands for one.
    if bytes.first() == Some(&b'<') {
        return None;
    }
    if let Some(mark) = before.strip_prefix(b"NAME") {
        let name_end = bytes.iter().position(|&byte| mark.first() == Some(&byte)).filter(|_| !mark.is_empty())?;
        let start = word.start + name_end + mark.len();
        let value = unquoted(text, Value { start, end: word.end, written: word.written });
        return if names_a_secret(&bytes[..name_end]) { cut(text, &value) } else { None };
    }
    let start = match before.iter().position(|&byte| byte == b'*') {
        Some(star) => {
            let rest = bytes.strip_prefix(&before[..star])?;
            let mark = &before[star + 1..];
            star + rest.windows(mark.len()).position(|part| part == mark)? + mark.len()
        }
        None => bytes.strip_prefix(before).map(|_| before.len())?,
    };
    let end = match after {
        [] => bytes.len(),
        [mark, ..] => bytes.iter().rposition(|byte| byte == mark).filter(|&end| end >= start)?,
    };
    cut(text, &unquoted(text, Value { start: word.start + start, end: word.start + end, written: word.written }))
}

/// A value behind its flag may be quoted: `-p'x'`.
fn unquoted(text: &Text, value: Value) -> Value {
    if value.start < value.end && is_quote(text.at(value.start)) {
        let inner = value_at(text, value.start, ValueForm::Literal);
        return Value { end: inner.end.min(value.end), ..inner };
    }
    let end = value.end - usize::from(value.end > value.start && is_quote(text.before(value.end)));
    Value { end, ..value }
}

/// Ports, sizes and ranges: `8080:80`, `10.0`.
fn is_port(value: &[u8]) -> bool {
    let is_mark = |byte: &u8| matches!(byte, b':' | b'.' | b'/');
    value.iter().any(is_mark) && value.iter().all(|byte| is(*byte, DIGIT) || is_mark(byte))
}

/// A literal at a place that takes a secret is cut, whatever it looks like.
pub(super) fn cut(text: &Text, value: &Value) -> Option<Cut> {
    let bytes = text.slice(value.start, value.end);
    let is_found =
        !text.holds_cut(value.start, value.end) && is_secret(bytes, RequiredLook::Password, ValueForm::Literal);
    (is_found && !is_port(bytes)).then_some(Cut { name: PASSWORD.name, start: value.start, end: value.end })
}

/// What is piped into a program that reads a secret: `echo x | sudo -S ls`, `echo user:x | chpasswd`.
fn piped(text: &Text, end: usize, word: &Value) -> Option<Cut> {
    if text.at(end) != b'|' {
        let given = word_of_substitution(text, word);
        return match given {
            Some(word) => cut(text, &word),
            None if is_kept_in_file(text, word) => cut(text, word),
            None => None,
        };
    }
    let bytes = text.slice(word.start, word.end);
    // The format of `printf '%s' x`.
    if bytes.first() == Some(&b'%') {
        return None;
    }
    text.spend(READER_BYTES);
    let reader = text.slice(end + 1, (end + 97).min(command_end(text, end + 1)));
    // `echo user:x | base64` makes the value of a header.
    let is_pair = says(reader, "chpasswd") || says(reader, "base64");
    let colon = bytes.iter().position(|&byte| byte == b':').filter(|_| is_pair).map_or(0, |colon| colon + 1);
    if !(reads_secret(reader) || (colon > 1 && is_pair)) {
        return None;
    }
    let newline = if bytes.ends_with(b"\\n") { 2 } else { 0 };
    cut(text, &Value { start: word.start + colon, end: (word.end - newline).max(word.start + colon), ..*word })
}

/// `--password-file <(echo x)`, `--password-command "echo x"`: what is echoed in the place of a file or a program that
/// a flag announces.
fn word_of_substitution(text: &Text, word: &Value) -> Option<Value> {
    let line = text.back(word.start, COMMAND_BYTES / 16).rsplit(|&byte| byte == b'\n').next().unwrap_or_default();
    let echo = line
        .windows(4)
        .rposition(|part| part == b"echo")
        .or_else(|| line.windows(4).rposition(|part| part == b"intf"))?;
    let before = &line[..echo];
    let is_told = [&b"<("[..], b"mmand '", b"mmand \"", b"mmand=\"", b"meval '", b"deval '", b"deval \"", b"<(pr"]
        .iter()
        .any(|open| before.ends_with(open));
    let holds = |part: &[u8]| before.windows(part.len()).any(|found| found.eq_ignore_ascii_case(part));
    if !is_told || ![&b"pass"[..], b"secret", b"key", b"token", b"data"].iter().any(|name| holds(name)) {
        return None;
    }
    let close = |byte: u8| matches!(byte, b')' | b'"' | b'\'');
    let end = text.scan_back(word.end, 2, close).max(word.start);
    Some(Value { start: text.scan(word.start, 1, close).min(end), end, written: ValueForm::Literal })
}

/// Does this command read a secret from its input?
pub(super) fn reads_secret(command: &[u8]) -> bool {
    READERS.iter().any(|part| says(command, part))
}

/// Does a command have these words, in which `_` is a blank?
fn says(command: &[u8], words: &str) -> bool {
    let same = |(byte, wanted): (&u8, u8)| *byte == if wanted == b'_' { b' ' } else { wanted };
    command.windows(words.len()).any(|window| window.iter().zip(words.bytes()).all(same))
}

/// `echo x > /run/secrets/db_password`: does the name of the file announce what is written to it?
fn is_kept_in_file(text: &Text, word: &Value) -> bool {
    let arrow = text.skip_spaces(word.end + usize::from(word.written == ValueForm::Quoted));
    let from = text.skip_spaces(text.scan(arrow, 2, |byte| byte == b'>'));
    let path = text.slice(from, text.scan(from, 96, |byte| byte > b' ' && !is_quote(byte)));
    let name = path.rsplit(|&byte| byte == b'/').next().unwrap_or_default();
    let dot = usize::from(name.starts_with(b"."));
    let stem = name[dot..].split(|&byte| byte == b'.').next().unwrap_or_default();
    let is_text = [&b""[..], b".txt", b".key", b".pass"].contains(&&name[name.len().min(stem.len() + dot)..]);
    let bytes = text.slice(word.start, word.end);
    let is_other = is_ordinary(bytes) || bytes.iter().any(|&byte| matches!(byte, b'=' | b'$' | b' '));
    text.at(arrow) == b'>' && is_text && !is_other && announces(stem).is_some_and(|found| found.is_sure())
}
