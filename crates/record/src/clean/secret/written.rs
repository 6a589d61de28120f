//! A value as it is written: quoted, joined from several texts, bare up to a byte that ends it, or behind a scheme.

use super::Cut;
use super::announced::Announced;
use super::rules::key_at;
use super::table::SCHEMES;
use super::text::{ALPHA, DASH, Text};
use super::value::{JUDGED_BYTES, ValueForm, is_placeholder, is_secret, names_itself};
use super::words::is_ordinary;

const QUOTED_BYTES: usize = 256;
/// The longest scheme before a value: `Bearer x`.
pub(super) const SCHEME_BYTES: usize = 16;
/// What judging a value costs, in bytes of text.
const JUDGING_BYTES: usize = 48;

/// A value: its range and how it was written.
pub(super) struct Value {
    pub(super) start: usize,
    pub(super) end: usize,
    pub(super) written: ValueForm,
}

impl Value {
    pub(super) fn cut(&self, text: &Text, announced: Announced) -> Option<Cut> {
        text.spend(JUDGING_BYTES);
        if self.written != ValueForm::Quoted
            && self.start < text.judged_end.replace(self.end.max(text.judged_end.get()))
        {
            return None;
        }
        if text.holds_cut(self.start, self.end)
            || !is_secret(text.slice(self.start, self.end), announced.bar, self.written)
        {
            return None;
        }
        let end = match self.written {
            ValueForm::Quoted => joined_end(text, self.end),
            _ => text.until_stop(self.end, usize::MAX),
        };
        // A known format is more specific than a key name.
        let name = key_at(text, self.start).map_or(announced.name, |cut| cut.name);
        Some(Cut { name, start: self.start, end })
    }
}

/// The value at `from`: quoted (also `\"`, `b"`), or bare up to a byte that ends it.
pub(super) fn value_at(text: &Text, from: usize, bare: ValueForm) -> Value {
    let is_prefix = matches!(text.at(from), b'b' | b'r' | b'f' | b'u' | b'L' | b'N' | b'@' | b'$');
    let prefix = usize::from(is_prefix && is_quote(text.at(from + 1)));
    // A string inside a string, perhaps inside another: `\\\"x\\\"`.
    let escape = text.scan(from, 3, |byte| byte == b'\\') - from;
    let open = from + prefix + escape;
    let quote = text.at(open);
    if !is_quote(quote) {
        return Value { start: from, end: text.until_stop(from, JUDGED_BYTES), written: bare };
    }
    // A string over several lines: `"""x"""`.
    let is_triple = text.at(open + 1) == quote && text.at(open + 2) == quote;
    let start = open + if is_triple { 3 } else { 1 };
    let start = start + usize::from(is_triple && text.at(start) == b'\n');
    let window = text.slice(start, start + QUOTED_BYTES);
    // After a backslash a quote is text, and so are two of them in YAML and SQL.
    let is_doubled = |at: usize| at > 0 && quote == b'\'' && window.get(at + 1).is_some_and(|&next| next == quote);
    let mut escaped = false;
    let close = window.iter().enumerate().position(|(at, &byte)| {
        let is_quote = byte == quote && !escaped && !is_doubled(at);
        let ends = byte == b'\n' || is_quote || (escape > 0 && byte == b'\\');
        escaped = !escaped && (byte == b'\\' || (byte == quote && is_doubled(at)));
        ends
    });
    let end = start + close.unwrap_or(window.len());
    Value { start, end, written: ValueForm::Quoted }
}

/// Where a string that is joined from several ends: `"x" + "y"`. `end` is where the first one ends.
fn joined_end(text: &Text, mut end: usize) -> usize {
    loop {
        let operator = text.skip_spaces(end + 1);
        let next = text.scan(operator, 2, |byte| matches!(byte, b'+' | b'.' | b'&'));
        let open = text.scan(next, 32, |byte| matches!(byte, b' ' | b'\n' | b'\t'));
        if next == operator || !is_quote(text.at(end)) || text.at(open) != text.at(end) {
            return end;
        }
        end = value_at(text, open, ValueForm::Bare).end;
    }
}

pub(super) fn is_quote(byte: u8) -> bool {
    matches!(byte, b'"' | b'\'' | b'`')
}

pub(super) fn ends_line(text: &Text, end: usize) -> bool {
    matches!(text.at(text.skip_spaces(text.scan(end, 2, |byte| matches!(byte, b'`' | b'*' | b'.')))), b'\n' | b'\r')
}

/// `Authorization: Bearer x`, `Basic x`, `token x`, or the value directly.
pub(super) fn authorization(text: &Text, value: &Value, announced: Announced) -> Option<Cut> {
    let scheme = text.run(value.start, ALPHA | DASH, SCHEME_BYTES);
    let from = text.skip_spaces(scheme);
    let word = text.slice(value.start, scheme);
    let ends = |end: usize| matches!(text.at(end), b'\n' | b'\r' | b'"' | b'\'' | b'`' | b'\\');
    let is_known = is_scheme(word);
    let end = text.until_stop(from, JUDGED_BYTES);
    // A scheme of their own: one word, then the value to the end of the line.
    if from == scheme || !(is_known || (announced.name == "authorization" && word.len() > 2 && ends(end))) {
        return value.cut(text, announced);
    }
    let bytes = text.slice(from, end);
    let code = bytes.iter().any(|&byte| matches!(byte, b'(' | b'{' | b'$' | b'>' | b'['));
    let is_word = bytes.len() < 6 || is_ordinary(bytes) || names_itself(bytes);
    let end = text.until_stop(end, usize::MAX);
    let name = key_at(text, from).map_or(announced.name, |cut| cut.name);
    (!is_word && !code && !is_placeholder(bytes) && !text.holds_cut(from, end)).then_some(Cut {
        name,
        start: from,
        end,
    })
}

/// A value without a known scheme before it.
pub(super) fn behind_scheme(text: &Text, value: &Value) -> Value {
    let scheme = text.run(value.start, ALPHA | DASH, SCHEME_BYTES);
    let is_known = is_scheme(text.slice(value.start, scheme));
    Value { start: if is_known { text.skip_spaces(scheme).min(value.end) } else { value.start }, ..*value }
}

fn is_scheme(word: &[u8]) -> bool {
    SCHEMES.iter().any(|known| word.eq_ignore_ascii_case(known.as_bytes()))
}
