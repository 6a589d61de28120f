//! Numbers that identify a person's account, by their check digits: payment cards, IBANs, social security numbers.

use super::Cut;
use super::text::{ALNUM, ALPHA, DIGIT, Text, UPPER, is};

/// A card number: 13 to 19 digits, in groups or not, whose check digit is right.
pub(super) fn card(text: &Text, at: usize) -> Option<Cut> {
    if matches!(text.before(at), b'.' | b'-' | b'_' | b'/' | b'$') || !is(text.at(at + 3), DIGIT) {
        return None;
    }
    let mut digits = [0; 19];
    let (mut count, mut end) = (0, at);
    while count < digits.len() && is(text.at(end), DIGIT) {
        digits[count] = text.at(end) - b'0';
        count += 1;
        // Groups of four; American Express has groups of four, six and five.
        let is_group = count % 4 == 0 || (digits[0] == 3 && count == 10);
        let gap = matches!(text.at(end + 1), b' ' | b'-') && is_group && is(text.at(end + 2), DIGIT);
        end += if gap { 2 } else { 1 };
    }
    let sum: u32 = digits[..count].iter().rev().enumerate().map(|(at, &digit)| doubled(at, digit)).sum();
    let fits = (13..=19).contains(&count) && sum.is_multiple_of(10) && !is(text.at(end), ALNUM) && text.at(end) != b'.';
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

/// The longest account number.
const IBAN_BYTES: usize = 34;

/// An IBAN: a country, two check digits, 11 to 30 more characters, in groups of four or not. `at` is its first letter.
pub(super) fn iban(text: &Text, at: usize) -> Option<Cut> {
    let begins = is(text.at(at + 1), UPPER) && is(text.at(at + 2), DIGIT) && is(text.at(at + 3), DIGIT);
    if !begins {
        return None;
    }
    text.spend(IBAN_BYTES);
    let (mut count, mut end, mut rest) = (0, at, 0);
    let mut head = [0; 4];
    while count < IBAN_BYTES && (is(text.at(end), DIGIT) || is(text.at(end), UPPER)) {
        match count {
            0..=3 => head[count] = text.at(end),
            _ => rest = remainder(rest, text.at(end)),
        }
        count += 1;
        end += 1 + usize::from(count % 4 == 0 && text.at(end + 1) == b' ' && is(text.at(end + 2), DIGIT | UPPER));
    }
    let check = head.iter().fold(rest, |rest, &byte| remainder(rest, byte));
    let fits = (15..=34).contains(&count) && check == 1 && !is(text.at(end), ALNUM);
    fits.then_some(Cut { name: "iban", start: at, end })
}

/// The number so far, followed by a character, modulo 97. Letters count from 10.
fn remainder(rest: u32, byte: u8) -> u32 {
    match byte {
        b'0'..=b'9' => (rest * 10 + u32::from(byte - b'0')) % 97,
        _ => (rest * 100 + u32::from(byte.to_ascii_uppercase().saturating_sub(b'A')) + 10) % 97,
    }
}

/// `SSN 078-05-1120`; `end` is where the words that announce it end.
pub(super) fn social_security(text: &Text, end: usize) -> Option<Cut> {
    let start = text.scan(end, 8, |byte| !is(byte, DIGIT) && byte != b'\n');
    let number = text.slice(start, start + 11);
    let fits = number.len() == 11
        && number.iter().enumerate().all(|(at, &byte)| match at {
            3 | 6 => byte == b'-',
            _ => is(byte, DIGIT),
        });
    (fits && !is(text.at(start + 11), ALNUM)).then_some(Cut { name: "social-security-number", start, end: start + 11 })
}

/// A wallet's recovery phrase: twelve or more short plain words. `end` is where the words that announce it end.
pub(super) fn seed_phrase(text: &Text, end: usize) -> Option<Cut> {
    let is_gap = |byte: u8| matches!(byte, b' ' | b':' | b'=' | b'"' | b'\'' | b'`' | b'*' | b'\n');
    let mut start = text.scan(end, 12, is_gap);
    for link in [&b"is"[..], b"are"] {
        if text.starts_with(start, link) && is_gap(text.at(start + link.len())) {
            start += link.len();
        }
    }
    start = text.scan(start, 4, is_gap);
    let (mut words, mut at, mut stop) = (0, start, start);
    while words < 24 {
        let word = text.scan(at, 9, |byte| byte.is_ascii_lowercase());
        if !(3..=8).contains(&(word - at)) || is(text.at(word), ALPHA) {
            break;
        }
        (words, stop) = (words + 1, word);
        at = text.scan(word, 3, |byte| matches!(byte, b' ' | b',' | b'\n'));
        if at == word {
            break;
        }
    }
    (words >= 12).then_some(Cut { name: "seed-phrase", start, end: stop })
}
