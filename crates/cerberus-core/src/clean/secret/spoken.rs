//! Passwords that a sentence announces, in several languages, and numbers that identify a person's account.
//!
//! Looks at the beginning of every word once; what follows a cue is bounded.

use super::Cut;
use super::assign::{is_quote, value_at};
use super::key::PASSWORD;
use super::text::{ALNUM, DIGIT, Text, is};
use super::value::Written;

/// Words for a password, in lower case.
const CUES: [&str; 23] = [
    "password",
    "passwort",
    "kennwort",
    "contraseña",
    "passe",
    "senha",
    "wachtwoord",
    "пароль",
    "пароля",
    "Пароль",
    "hasło",
    "şifre",
    "lösenord",
    "adgangskode",
    "パスワード",
    "密码",
    "密碼",
    "비밀번호",
    "passcode",
    "pin",
    "passphrase",
    "password?",
    "pwd",
];
/// Words between a cue and the password, in lower case.
const LINKS: [&str; 30] = [
    "is", "ist", "lautet", "es", "est", "é", "è", "to", "jest", "är", "er", "это", "—", "-", ":", "=", "it's", "its",
    "it", "now", "jetzt", "ahora", "below", "は", "是", "为", "：", "는", "은", "für",
];
/// How many such words there may be.
const LINKS_MAX: usize = 2;

/// The passwords and numbers of a text, from left to right.
pub(super) struct Passwords<'a> {
    text: Text<'a>,
    at: usize,
}

impl<'a> Passwords<'a> {
    pub(super) fn of(text: &'a str) -> Passwords<'a> {
        Passwords { text: Text::of(text), at: 0 }
    }
}

impl Iterator for Passwords<'_> {
    type Item = Cut;

    fn next(&mut self) -> Option<Cut> {
        loop {
            let at = self.text.scan(self.at, usize::MAX, |byte| !FIRST[usize::from(byte)]);
            let byte = *self.text.bytes.get(at)?;
            self.at = at + 1;
            if is_letter(self.text.before(at)) && byte < 0xe0 {
                continue;
            }
            let cut = match byte {
                b'3'..=b'6' => card(&self.text, at),
                b'b' | b'B' => identified(&self.text, at),
                _ => announced(&self.text, at),
            };
            if let Some(cut) = cut {
                self.at = cut.end.max(self.at);
                self.text.floor = self.at;
                return Some(cut);
            }
        }
    }
}

/// The bytes that cues, card numbers and `by` begin with.
const FIRST: [bool; 256] = {
    let (mut table, mut at) = ([false; 256], 0);
    while at < CUES.len() {
        let byte = CUES[at].as_bytes()[0];
        table[byte as usize] = true;
        table[byte.to_ascii_uppercase() as usize] = true;
        at += 1;
    }
    let mut digit = b'3';
    while digit <= b'6' {
        table[digit as usize] = true;
        digit += 1;
    }
    (table[b'b' as usize], table[b'B' as usize]) = (true, true);
    table
};

const fn is_letter(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || byte >= 0x80
}

/// `das Passwort ist x`, `パスワードはx`, `use x as the password`.
fn announced(text: &Text, at: usize) -> Option<Cut> {
    let first = text.at(at).to_ascii_lowercase();
    let begins = |cue: &str| cue.as_bytes()[0] == first;
    let known = |cue: &&&str| begins(cue) && text.slice(at, at + cue.len()).eq_ignore_ascii_case(cue.as_bytes());
    let cue = CUES.iter().filter(known).max_by_key(|cue| cue.len())?;
    let end = at + cue.len();
    let is_whole = cue.as_bytes()[0] >= 0xe0 || !is_letter(text.at(end));
    if !is_whole {
        return None;
    }
    after(text, end).or_else(|| before(text, at))
}

fn after(text: &Text, end: usize) -> Option<Cut> {
    let mut from = text.skip_spaces(end);
    let mut links = 0;
    while links < LINKS_MAX
        && let Some(link) = link_at(text, from)
    {
        from = text.skip_spaces(from + link);
        links += 1;
    }
    if links == 0 {
        return None;
    }
    password(text, from)
}

/// The length of the linking word at `from`.
fn link_at(text: &Text, from: usize) -> Option<usize> {
    let is_whole = |link: &str| {
        !is_letter(link.as_bytes()[0]) || link.as_bytes()[0] >= 0xe0 || !is_letter(text.at(from + link.len()))
    };
    let known =
        |link: &&&str| text.slice(from, from + link.len()).eq_ignore_ascii_case(link.as_bytes()) && is_whole(link);
    LINKS.iter().filter(known).map(|link| link.len()).max()
}

/// `use x as the password`.
fn before(text: &Text, at: usize) -> Option<Cut> {
    let words = text.back(at, 8);
    let length = if words.ends_with(b" as the ") { 8 } else { 4 };
    if !words.ends_with(b" as the ") && !words.ends_with(b" as ") {
        return None;
    }
    let end = at - length;
    let start = text.scan_back(end, 64, |byte| byte > b' ');
    let end = if is_quote(text.before(end)) { end - 1 } else { end };
    password(text, start).filter(|cut| cut.end <= end)
}

/// The password at `from`: one word with a digit or a sign, or quoted.
fn password(text: &Text, from: usize) -> Option<Cut> {
    let mut value = value_at(text, from, Written::Bare);
    if value.written == Written::Bare {
        // The full stop of the sentence is not part of it; nor are words of other scripts.
        value.end = text.scan(value.start, value.end - value.start, |byte| byte < 0x80);
        while value.end > value.start && matches!(text.at(value.end - 1), b'.' | b',' | b'!' | b'?' | b':') {
            value.end -= 1;
        }
        let has_digit = text.slice(value.start, value.end).iter().any(|&byte| is(byte, DIGIT));
        if !has_digit {
            return None;
        }
    }
    let bytes = text.slice(value.start, value.end);
    let number = bytes.len() >= 4 && bytes.iter().all(|&byte| is(byte, DIGIT));
    let is_secret = number || super::value::is_secret(bytes, PASSWORD.bar, value.written);
    (is_secret && !text.holds_cut(value.start, value.end)).then_some(Cut {
        name: PASSWORD.name,
        start: value.start,
        end: value.end,
    })
}

/// `IDENTIFIED BY 'x'`; `at` is the `b`.
fn identified(text: &Text, at: usize) -> Option<Cut> {
    let is_by = text.slice(at, at + 3).eq_ignore_ascii_case(b"by ");
    if !is_by || !text.back(at, 11).eq_ignore_ascii_case(b"identified ") {
        return None;
    }
    let from = text.skip_spaces(at + 3);
    if is_quote(text.at(from)) { value_at(text, from, Written::Literal).cut(text, PASSWORD) } else { None }
}

/// A card number: 13 to 19 digits, in groups or not, whose check digit is right.
fn card(text: &Text, at: usize) -> Option<Cut> {
    if matches!(text.before(at), b'.' | b'-' | b'_' | b'/' | b'$') || !is(text.at(at + 3), DIGIT) {
        return None;
    }
    let mut digits = [0; 19];
    let (mut count, mut end) = (0, at);
    while count < digits.len() && is(text.at(end), DIGIT) {
        digits[count] = text.at(end) - b'0';
        count += 1;
        let gap = matches!(text.at(end + 1), b' ' | b'-') && count % 4 == 0 && is(text.at(end + 2), DIGIT);
        end += if gap { 2 } else { 1 };
    }
    let sum: u32 = digits[..count].iter().rev().enumerate().map(|(at, &digit)| doubled(at, digit)).sum();
    let fits = (13..=19).contains(&count) && sum % 10 == 0 && !is(text.at(end), ALNUM) && text.at(end) != b'.';
    // Times in milliseconds have 13 digits and begin with 1; amounts repeat zeros.
    let varied = digits[..count].iter().filter(|&&digit| digit == 0).count() * 2 < count;
    (fits && varied).then_some(Cut { name: "card-number", start: at, end })
}

fn doubled(at: usize, digit: u8) -> u32 {
    let digit = u32::from(digit);
    match at % 2 {
        0 => digit,
        _ if digit > 4 => digit * 2 - 9,
        _ => digit * 2,
    }
}

/// The text without terminal codes and characters of no width; `None` if it has none.
pub(super) fn without_invisible(text: &str) -> Option<String> {
    if !text.bytes().any(|byte| matches!(byte, 0x1b | 0xc2 | 0xe2 | 0xef)) {
        return None;
    }
    let is_invisible = |c: char| matches!(c, '\u{1b}' | '\u{ad}' | '\u{200b}'..='\u{200f}' | '\u{2060}' | '\u{feff}');
    if !text.contains(is_invisible) {
        return None;
    }
    let mut out = String::with_capacity(text.len());
    let mut rest = text.chars().peekable();
    while let Some(c) = rest.next() {
        if c == '\u{1b}' && rest.next_if_eq(&'[').is_some() {
            while rest.next_if(|c| c.is_ascii_digit() || matches!(c, ';' | '?')).is_some() {}
            rest.next();
        } else if !is_invisible(c) {
            out.push(c);
        }
    }
    Some(out)
}

#[cfg(test)]
mod tests;
