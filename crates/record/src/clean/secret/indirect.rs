//! Where the literal of an assignment is, if it does not follow the operator at once: on the next line, as the default
//! of a variable, inside a constructor or a list, or as what replaces a missing value.

use super::Cut;
use super::announced::Announced;
use super::key::KEY_BYTES;
use super::text::{ALPHA, DOTTED, LOWER, Text, UPPER, WORD, is};
use super::value::ValueForm;
use super::words::is_ordinary;
use super::written::{is_quote, value_at};

/// How far the literal is looked for that replaces a missing value.
const FALLBACK_BYTES: usize = 96;
/// The longest name of a constructor, and of a label inside it.
const WRAPPER_BYTES: usize = 40;
const LABEL_BYTES: usize = 12;
/// Functions that only wrap a literal, besides all that begin with a capital.
const WRAPPERS: [&[u8]; 9] = [b"from", b"of", b"str", b"bytes", b"some", b"secret", b"sensitive", b"string", b"b"];
/// What a literal is called inside a wrapper or a map: `Field(default="x")`, `{"S": "x"}`.
const LABELS: [&[u8]; 9] =
    [b"s", b"value", b"default", b"plaintext", b"text", b"string", b"stringvalue", b"secret", b"example"];

/// Where the value is if it stands on the next line: after a backslash, in a here-document (`key = <<EOT`), or as a
/// block of YAML (`password: |`).
pub(super) fn next_line(text: &Text, from: usize) -> usize {
    let end = match text.at(from) {
        b'\\' => from + 1,
        // `["password"]=>`, as PHP prints it.
        b'\n' if text.back(from, 2) == b"=>" => from,
        b'|' | b'>' => text.scan(from + 1, 2, |byte| matches!(byte, b'-' | b'+' | b'0'..=b'9')),
        b'<' if text.at(from + 1) == b'<' => {
            text.scan(from + 2, LABEL_BYTES, |byte| is(byte, WORD) || matches!(byte, b'-' | b'~' | b'"' | b'\''))
        }
        _ => return from,
    };
    if text.at(end) == b'\n' { text.skip_spaces(end + 1) } else { from }
}

/// The value behind a type, or the default of a variable: `${PASS:-x}`, `${PASS-x}`, `${PASS:x}`. Otherwise `from`.
pub(super) fn default_at(text: &Text, from: usize) -> usize {
    // A tag or an anchor of YAML (`!vault x`, `&pw x`), a type as PHP prints it (`string(9) "x"`).
    let typed = match text.at(from) {
        b'!' | b'&' => text.scan(from, LABEL_BYTES, |byte| is(byte, WORD) || matches!(byte, b'!' | b'&')),
        b's' if text.starts_with(from, b"string(") => {
            text.scan(from, LABEL_BYTES, |byte| is(byte, WORD) || matches!(byte, b'(' | b')'))
        }
        _ => from,
    };
    if typed > from && text.at(typed) == b' ' {
        return typed + 1;
    }
    if !text.starts_with(from, b"${") {
        return from;
    }
    let name = text.run(from + 2, WORD, KEY_BYTES);
    let colon = name + usize::from(text.at(name) == b':');
    match text.at(colon) {
        b'-' | b'=' => colon + 1,
        // `${TOKEN:0:8}` is a part of it.
        first if colon > name && is(first, ALPHA) => colon,
        _ => from,
    }
}

/// Is the default of a variable at `from`? It is no code.
pub(super) fn is_default(text: &Text, from: usize) -> bool {
    let sign = text.scan_back(from, 2, |byte| matches!(byte, b':' | b'-' | b'='));
    sign < from && text.back(text.run_back(sign, WORD, KEY_BYTES), 2) == b"${"
}

/// Where the quoted literal is in `Some("x")`, `String::from("x")`, `new Secret("x")`, `Field(default="x")`, `("x")`,
/// `["x"]`, `{"S": "x"}`.
pub(super) fn wrapped(text: &Text, from: usize) -> Option<usize> {
    let name = if text.starts_with(from, b"new ") { from + 4 } else { from };
    let open = text.scan(name, WRAPPER_BYTES, |byte| is(byte, DOTTED) || byte == b':');
    let opening = text.at(open);
    let is_wrapper = match opening {
        b'(' => open == name || wraps(text.slice(name, open)),
        b'[' | b'{' => open == name,
        _ => false,
    };
    if !is_wrapper {
        return None;
    }
    let first = text.skip_spaces(open + 1);
    let quote = usize::from(is_quote(text.at(first)));
    let label = text.run(first + quote, WORD, LABEL_BYTES);
    let mark = text.at(label + quote);
    let is_label = LABELS.iter().any(|known| text.slice(first + quote, label).eq_ignore_ascii_case(known))
        && ((mark == b'=' && opening == b'(') || (mark == b':' && opening == b'{'));
    let value = if is_label { text.skip_spaces(label + quote + 1) } else { first };
    (is_quote(text.at(value)) && (is_label || opening != b'{')).then_some(value)
}

/// Does the last part of this name make a value of its argument?
fn wraps(name: &[u8]) -> bool {
    let last = name.rsplit(|&byte| matches!(byte, b'.' | b':')).next().unwrap_or_default();
    let is_type = last.first().is_some_and(|&byte| is(byte, UPPER)) && last.iter().any(|&byte| is(byte, LOWER));
    // A parser makes tokens of words.
    (is_type && !matches!(last, b"Token" | b"Key" | b"Path")) || WRAPPERS.contains(&last)
}

/// The literal that is taken if there is no other value: `pw = env.PW || "x"`, `pw = a ? b : "x"`, `pw = b or "x"`,
/// `pw = ENV.fetch("PW") { "x" }`.
pub(super) fn fallback(text: &Text, at: usize, from: usize, announced: Announced) -> Option<Cut> {
    let is_assigned = text.at(at) == b'=' && text.at(at + 1) == b' ';
    if !announced.is_sure() || !is_assigned || is_quote(text.at(from)) {
        return None;
    }
    let window = text.slice(from, from + FALLBACK_BYTES);
    let is_end = |byte: &u8| matches!(byte, b'\n' | b';' | b'#');
    let line = &window[..window.iter().position(is_end).unwrap_or(window.len())];
    let quotes = (1..line.len()).filter(|&quote| is_quote(line[quote]) && line[quote - 1] == b' ');
    let is_taken = |quote: &usize| {
        [&b" :"[..], b"||", b"??", b"?:", b" or", b" else", b") {"].iter().any(|word| line[..quote - 1].ends_with(word))
    };
    let value = value_at(text, from + quotes.rev().find(is_taken)?, ValueForm::Bare);
    if is_ordinary(text.slice(value.start, value.end)) { None } else { value.cut(text, announced) }
}
