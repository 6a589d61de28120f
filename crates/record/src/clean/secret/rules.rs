//! Keys recognised by their own format: the table of `rules.txt`, and a few shapes that need code.
//!
//! A placeholder is not a key. This module never looks at the text around a key, except for the byte before it: a rule
//! applies only at the start of a word.

use super::Cut;
use super::table::{ANY, KeyRule, RULES, first_byte, index, indexed};
use super::text::{ALNUM, DASH, DIGIT, DOTTED, HEX, LOWER, Text, UNDERSCORE, UPPER, URL64, WORD, is};
use super::value::is_mask;
use crate::clean::code::code_end;

/// At most this much of a body is judged; the rest of the run is cut with it.
const JUDGED_BYTES: usize = 64;
/// The rules that begin with a given byte.
const INDEX: [u16; 257] = index!(RULES, rule: first_byte(rule.prefix));

/// The second bytes that follow a given first byte in [`RULES`], one bit for each `byte % 32`.
static SECOND: [u32; 256] = {
    let mut second = [0; 256];
    let mut at = 0;
    while at < RULES.len() {
        let prefix = RULES[at].prefix.as_bytes();
        second[prefix[0] as usize] |= 1 << (prefix[1] % 32);
        at += 1;
    }
    second[b'e' as usize] |= 1 << (b'y' % 32);
    second[b'M' as usize] = u32::MAX;
    second[b'N' as usize] = u32::MAX;
    second[b'O' as usize] = u32::MAX;
    second
};

/// The key of a known format that starts exactly at `at`, if a word starts there.
pub(super) fn key_at(text: &Text, at: usize) -> Option<Cut> {
    let first = text.at(at);
    if is(text.before(at), WORD) || at < text.placeholder_end.get() {
        return None;
    }
    if SECOND[usize::from(first)] >> (text.at(at + 1) % 32) & 1 == 0 {
        return without_prefix(text, at);
    }
    let head = [text.at(at + 1), text.at(at + 2), text.at(at + 3)];
    let found =
        indexed(&RULES, &INDEX, first).iter().filter(|rule| rule.goes_on(head)).find_map(|rule| rule.find(text, at));
    found
        .or_else(|| if first == b'e' { web_token(text, at) } else { discord_token(text, at, first) })
        .or_else(|| without_prefix(text, at))
}

impl KeyRule {
    /// The next bytes distinguish most rules, at less cost than comparing the whole prefix.
    #[inline]
    fn goes_on(&self, head: [u8; 3]) -> bool {
        match self.prefix.as_bytes() {
            [_, second, third, fourth, ..] => [*second, *third, *fourth] == head,
            [_, second, third] => [*second, *third] == head[..2],
            [_, second] => *second == head[0],
            _ => true,
        }
    }

    pub(super) fn find(&self, text: &Text, at: usize) -> Option<Cut> {
        let prefix = self.prefix.as_bytes();
        if !text.starts_with(at, prefix) {
            return None;
        }
        let body = at + prefix.len();
        let longest = if self.max == ANY { JUDGED_BYTES.max(self.min.into()) } else { usize::from(self.max) + 1 };
        let end = text.run(body, self.body, longest);
        let count = end - body;
        let fits = count >= usize::from(self.min) && count <= usize::from(self.max);
        if !fits || (self.max != ANY && is(text.at(end), WORD)) {
            return None;
        }
        let judged_end = text.slice(body, end.min(body + JUDGED_BYTES));
        // A name in code (`hf_generated…`) is all lower case; a key is not.
        let hidden = matches!(text.at(end), b'#' | b'*') && text.at(end + 1) == text.at(end);
        if hidden || judged_end.iter().all(|&byte| is(byte, LOWER | UNDERSCORE | DASH)) || is_mask(judged_end) {
            text.placeholder_end.set(end);
            return None;
        }
        let end = text.run(end, self.body, usize::MAX);
        Some(Cut { name: self.name, start: if self.keep_prefix { body } else { at }, end })
    }
}

/// A JSON web token: `eyJ….eyJ….…`, with or without a signature, signed or encrypted.
fn web_token(text: &Text, at: usize) -> Option<Cut> {
    // A preceding dash would let one text be scanned from many starts.
    if !text.starts_with(at, b"eyJ") || text.before(at) == b'-' {
        return None;
    }
    let header = text.run(at, URL64, 512);
    if header - at < 16 || text.at(header) != b'.' {
        return None;
    }
    let payload = text.run(header + 1, URL64, 16);
    if payload - header < 16 {
        return None;
    }
    let mut end = text.run(header + 1, URL64, usize::MAX);
    while text.at(end) == b'.' && is(text.at(end + 1), URL64) {
        end = text.run(end + 1, URL64, usize::MAX);
    }
    Some(Cut { name: "jwt", start: at, end })
}

/// A Discord bot token: an id in base64 (so it starts with M, N or O), a time, a signature.
fn discord_token(text: &Text, at: usize, first: u8) -> Option<Cut> {
    if !matches!(first, b'M' | b'N' | b'O') {
        return None;
    }
    let id = text.run(at, URL64, 29);
    if !(24..=28).contains(&(id - at)) || text.at(id) != b'.' {
        return None;
    }
    let time = text.run(id + 1, URL64, 8);
    let end = text.run(time + 1, URL64, 48);
    let shape = time - id == 7 && text.at(time) == b'.' && (28..=44).contains(&(end - time));
    shape.then_some(Cut { name: "discord-token", start: at, end })
}

/// The shortest key without a prefix. Nearly every name in code is shorter.
const PLAIN_BYTES_MIN: usize = 27;

/// Keys without a prefix; `at` is the start of their long word.
fn without_prefix(text: &Text, at: usize) -> Option<Cut> {
    if text.bytes.len() < at + PLAIN_BYTES_MIN {
        return None;
    }
    let cut = |name, start, end| Some(Cut { name, start, end });
    match text.before(at) {
        // Facebook: an app id, a bar, 27 characters.
        b'|' => {
            let (start, end) = (text.run_back(at - 1, DIGIT, 18), text.run(at, URL64, 28));
            return if (13..=18).contains(&(at - start)) && end == at + 27 {
                cut("facebook-token", start, end)
            } else {
                None
            };
        }
        // Salesforce: an organisation id, `!`, about a hundred characters.
        b'!' => {
            let (start, end) = (text.run_back(at - 1, ALNUM, 18), text.run(at, DOTTED, 128));
            return if text.starts_with(start, b"00D") && end >= at + 80 {
                cut("salesforce-token", start, end)
            } else {
                None
            };
        }
        _ => {}
    }
    // Codes of our own, which pair a device or recover a space.
    if let Some(end) = code_end(text.bytes, at) {
        return cut("cerberus-code", at, end);
    }
    // Azure DevOps has its marker near the end: 76 characters, `AZDO`, four more.
    if text.at(at + 76) == b'A' && text.starts_with(at + 76, b"AZDO") && text.run(at, ALNUM, 85) == at + 84 {
        return cut("azure-devops-token", at, at + 84);
    }
    // Mailchimp and Mailgun: 32 hexadecimal digits, then a data centre, or twice eight more.
    if text.at(at + 32) == b'-' && text.run(at, HEX, 33) == at + 32 {
        let end = text.run(at + 33, ALNUM, 9);
        let place = text.starts_with(at + 33, b"us") && (35..=37).contains(&(end - at)) && is(text.at(at + 35), DIGIT);
        let halves =
            text.at(at + 41) == b'-' && text.run(at + 33, HEX, 9) == at + 41 && text.run(at + 42, HEX, 9) == at + 50;
        let name = if place { "mailchimp-key" } else { "mailgun-key" };
        let end = if place { end } else { at + 50 };
        return if (place || halves) && !is(text.at(end), WORD) { cut(name, at, end) } else { None };
    }
    let number = text.run(at, DIGIT, 24);
    if number == at || text.at(number) != b'-' {
        return None;
    }
    // Google's ids of clients: a number, a dash, 32 characters, their host.
    if text.starts_with(number + 33, b".apps.googleusercontent.com") {
        return cut("google-client", at, number + 33);
    }
    // TrueNAS: a number, a dash, 64 characters of both cases.
    let shape = number - at < 5 && text.run(number + 1, ALNUM, 65) == number + 65;
    let mixed = shape && text.slice(number, number + 65).iter().any(|&byte| is(byte, UPPER));
    if mixed { cut("truenas-key", at, number + 65) } else { None }
}
