//! Secrets on command lines and in sentences, where a blank separates the name from the value.

use super::Cut;
use super::announced::{Announced, RequiredLook, ValuePlace};
use super::key::{KEY_BYTES, PASSWORD, announces};
use super::text::{ALNUM, DASH, DIGIT, Text, URL64, is};
use super::value::{JUDGED_BYTES, ValueForm, is_placeholder};
use super::words::is_ordinary;
use super::written::{is_quote, value_at};

/// How many words before `-p` are looked at.
const FLAGS_MAX: usize = 8;

/// `--token x`, `-Password x`, `-u user:pass`, `sshpass -p x`.
pub(super) fn flag(text: &Text, at: usize) -> Option<Cut> {
    let end = text.run(at + 1, URL64, KEY_BYTES);
    let name = text.slice(at + 1, end);
    // In an argument list, the flag and its value are quoted separately: `"--token", "x"`.
    let listed = is_quote(text.at(end)) && text.at(end + 1) == b',';
    let from = text.skip_spaces(if listed { end + 2 } else { end });
    let user = matches!(name, b"u" | b"user" | b"proxy-user");
    if user && from > end {
        return user_and_password(text, from);
    }
    if user && text.at(end) == b'=' {
        return user_and_password(text, end + 1);
    }
    let is_apart = matches!(name, b"P" | b"w") && from > end;
    let announced = announces(name).filter(|found| found.place != ValuePlace::Cookie);
    // `-pHunterPass1` is no name: it has a digit, and begins like none.
    let is_glued = name.iter().any(|&byte| is(byte, DIGIT))
        && ![&b"pa"[..], b"pi", b"pr", b"ps", b"pw"].iter().any(|begin| name.starts_with(begin));
    if (announced.is_none() || is_glued)
        && let Some(glued) = name.strip_prefix(b"p").or(if is_apart { Some(&b""[..]) } else { None })
        && signs_in(text, at)
    {
        // With `mysql -u root -p shop`, the program asks for the password of `shop`.
        let is_asked = text.back(at, KEY_BYTES).windows(5).any(|part| matches!(part, b"mysql" | b"maria"));
        if glued.is_empty() && is_asked {
            return None;
        }
        let from = if glued.is_empty() { from } else { at + 2 };
        let value = value_at(text, from, ValueForm::Literal);
        let ports = text
            .slice(value.start, value.end)
            .iter()
            .all(|&byte| is(byte, DIGIT) || matches!(byte, b':' | b'.' | b'/'));
        return if ports { None } else { value.cut(text, PASSWORD) };
    }
    let dashed = is(text.before(text.run_back(at, DASH, 2)), ALNUM);
    let variable = listed && !is_quote(text.at(from));
    if dashed || variable || from == end || text.at(from) == b'-' {
        return None;
    }
    let announced = announced?;
    let mut value = value_at(text, from, ValueForm::Literal);
    // `--key-pass pass:"x"`.
    if is_quote(text.at(value.end)) && text.before(value.end) == b':' {
        value = value_at(text, value.end, ValueForm::Literal);
    }
    let bytes = text.slice(value.start, value.end);
    if is_ordinary(bytes) {
        return None;
    }
    value.cut(text, announced)
}

/// Before `-p`: `sshpass`, or `-u name` among other flags of the same program.
fn signs_in(text: &Text, at: usize) -> bool {
    if text.back(text.skip_spaces_back(at), 7) == b"sshpass" {
        return true;
    }
    let words = text.back(at, KEY_BYTES).rsplit(|&byte| byte == b' ').filter(|word| !word.is_empty());
    let mut value: &[u8] = b"";
    for word in words.take(FLAGS_MAX) {
        let is_flag = word.len() > 1 && word[0] == b'-';
        // A second word that is no flag is a program: `sudo -u bob mkdir -p x`.
        if word.iter().any(|&byte| matches!(byte, b'|' | b';' | b'\n')) || (!is_flag && !value.is_empty()) {
            return false;
        }
        let is_user = matches!(word, b"-u" | b"-U" | b"--user" | b"--username");
        if (is_user && !value.is_empty()) || (word.starts_with(b"-u") && word.len() > 2) || word.starts_with(b"--user=")
        {
            return true;
        }
        value = if is_flag { b"" } else { word };
    }
    false
}

/// `user:pass`, quoted or not; also a password alone before or after the colon.
fn user_and_password(text: &Text, from: usize) -> Option<Cut> {
    let value = value_at(text, from, ValueForm::Literal);
    let pair = text.slice(value.start, value.end);
    if text.holds_cut(value.start, value.end) {
        return None;
    }
    let colon = pair.iter().position(|&byte| byte == b':');
    let Some(colon) = colon else {
        let outside = value.end + 1;
        return (value.written == ValueForm::Quoted && text.at(outside) == b':')
            .then(|| value_at(text, outside + 1, ValueForm::Literal))
            .and_then(|value| login(text, value.start, value.end));
    };
    let password = value.start + colon + 1;
    if password < value.end {
        return login(text, password, value.end);
    }
    let quoted = is_quote(text.at(password)) && value.written != ValueForm::Quoted;
    if quoted {
        let value = value_at(text, password, ValueForm::Literal);
        return login(text, value.start, value.end);
    }
    login(text, value.start, value.start + colon)
}

/// The password of a pair. Short plain words and numbers are placeholders, or a user and group.
fn login(text: &Text, start: usize, end: usize) -> Option<Cut> {
    let bytes = text.slice(start, end.min(start + JUDGED_BYTES));
    let end = if is_quote(text.at(end)) { end } else { text.until_stop(end, usize::MAX) };
    let plain = bytes.iter().all(|&byte| byte.is_ascii_lowercase() || byte == b'_')
        || bytes.iter().all(|&byte| is(byte, DIGIT));
    let kept = plain || bytes.len() < 4 || is_placeholder(bytes.strip_prefix(b"{").unwrap_or(bytes));
    (!kept).then_some(Cut { name: "password", start, end })
}

/// `password 'x'`, `login a password x`, `<password>x</`, `the password … is "x"`. `at` is the `w`.
pub(super) fn password_word(text: &Text, at: usize) -> Option<Cut> {
    if !matches!(text.at(at + 1) | 0x20, b'o' | b'd') {
        return None;
    }
    let fold = |start: usize, word: &[u8]| text.slice(start, start + word.len()).eq_ignore_ascii_case(word);
    let end = if fold(at, b"word") {
        at + 4
    } else if fold(at, b"wd") {
        at + 2
    } else {
        return None;
    };
    let start = at.checked_sub(4).filter(|&start| start >= text.floor && fold(start, b"pass"))?;
    if let Some(value) = second_argument(text, start, end) {
        return value_at(text, value, ValueForm::Literal).cut(text, PASSWORD);
    }
    // Most names with this ending come before an operator, which is checked separately.
    if matches!(text.at(end), b'=' | b':' | b']' | b'_' | b'(' | b')') {
        return None;
    }
    let from = text.skip_spaces(end);
    let next = text.at(from);
    if text.at(end) == b'>' {
        return value_at(text, end + 1, ValueForm::Literal).cut(text, PASSWORD);
    }
    if from > end && is_quote(next) {
        return value_at(text, from, ValueForm::Literal).cut(text, PASSWORD);
    }
    if from > end && after_login(text, start) {
        return value_at(text, from, ValueForm::Literal).cut(text, PASSWORD);
    }
    if next == b'=' || from == end {
        return None;
    }
    let window = text.slice(end, end + KEY_BYTES);
    let line = &window[..window.iter().position(|&byte| byte == b'\n').unwrap_or(window.len())];
    if line.ends_with(b":") {
        let is_told = text.back(start, 24).windows(9).any(|part| part == b"following");
        return on_its_own_line(text, end + line.len(), is_told);
    }
    let is = line.windows(4).position(|part| part == b" is ")?;
    // Without quotes, it is one word that ends the sentence or line.
    let from = end + is + 4;
    if is_quote(text.at(from)) || is == 0 { value_at(text, from, ValueForm::Bare).cut(text, PASSWORD) } else { None }
}

/// `define('DB_PASSWORD', 'x')`, `setenv("DB_PASSWORD", "x")`: where the value begins.
fn second_argument(text: &Text, start: usize, end: usize) -> Option<usize> {
    let open = text.run_back(start, URL64, KEY_BYTES).checked_sub(2)?;
    let call = text.slice(text.run_back(open, ALNUM, KEY_BYTES), open);
    let is_call = is_quote(text.at(open + 1)) && text.at(open) == b'(';
    let sets = [&b"define"[..], b"setenv", b"putenv", b"set"].iter().any(|name| call.eq_ignore_ascii_case(name));
    let comma = is_quote(text.at(end)) && text.at(end + 1) == b',';
    let value = text.skip_spaces(end + 2);
    (is_call && sets && comma && is_quote(text.at(value))).then_some(value)
}

/// `use the following password to go on:`, an empty line, then the password on its own line.
fn on_its_own_line(text: &Text, line_end: usize, is_told: bool) -> Option<Cut> {
    let from = text.scan(line_end, 8, |byte| matches!(byte, b'\n' | b'\r' | b' '));
    let value = value_at(text, from, if is_told { ValueForm::Literal } else { ValueForm::Bare });
    if !matches!(text.at(value.end), b'\n' | b'\r') || is_ordinary(text.slice(value.start, value.end)) {
        return None;
    }
    let bar = if is_told { RequiredLook::Token } else { RequiredLook::Strong };
    value.cut(text, Announced { bar, ..PASSWORD })
}

/// The words before a netrc password: `login name`.
fn after_login(text: &Text, at: usize) -> bool {
    let blank = |byte: u8| matches!(byte, b' ' | b'\t' | b'\n' | b'\r');
    let lowest = at.saturating_sub(KEY_BYTES).max(text.floor);
    let before = text.slice(lowest, at);
    let mut words = before.split(|&byte| blank(byte)).rev().filter(|word| !word.is_empty());
    at > lowest
        && blank(text.at(at - 1))
        && words.nth(1).is_some_and(|word| [&b"login"[..], b"user", b"username", b"account"].contains(&word))
}
