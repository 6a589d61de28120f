//! What a terminal printed: a line of one word below a command or an expression that announces a secret.
//!
//! ```text
//! $ printenv SMTP_PASS          >>> settings["DB_PASSWORD"]
//! x                             'x'
//! ```

use super::Cut;
use super::announced::ValuePlace;
use super::key::{KEY_BYTES, announces};
use super::position;
use super::sentence::is_participle;
use super::text::{ALPHA, DIGIT, Text, UPPER, is};
use super::value::ValueForm;
use super::words::is_ordinary;
use super::written::{Value, ends_line, is_quote};

/// How much of a command is read, and of the word below it.
const COMMAND_BYTES: usize = 160;
const WORD_BYTES: usize = 128;
/// How long a prompt may be, and how short a secret.
const PROMPT_BYTES: usize = 32;
const LEAST_BYTES: usize = 6;

/// Programs that print where a word stands, not what it means.
const SEARCHING: [&[u8]; 14] = [
    b"grep", b"rg", b"ag", b"ls", b"find", b"fd", b"git", b"wc", b"which", b"cd", b"mkdir", b"touch", b"test", b"diff",
];

/// May the word at `at` be alone on its line? Most words are not the first of theirs.
#[inline]
pub(super) fn may_be(text: &Text, at: usize) -> bool {
    let before = text.before(at);
    at > text.floor && (before == b'\n' || (is_quote(before) && matches!(text.before(at - 1), b'\n' | b' ')))
}

/// The word at `at`, if the line above asked for it.
pub(super) fn word(text: &Text, at: usize) -> Option<Cut> {
    let quote = usize::from(is_quote(text.before(at)));
    let open = at - quote;
    let line = if text.back(open, 3) == b"=> " { open - 3 } else { open };
    if line <= text.floor || text.before(line) != b'\n' {
        return None;
    }
    let end = text.scan(at, WORD_BYTES, |byte| byte > b' ' && !is_quote(byte));
    if end < at + LEAST_BYTES || !ends_line(text, end + quote) {
        return None;
    }
    text.spend(COMMAND_BYTES);
    let above = text.back(line - 1, COMMAND_BYTES).rsplit(|&byte| byte == b'\n').next().unwrap_or_default();
    let bytes = text.slice(at, end);
    let has = |class| bytes.iter().any(|&byte| is(byte, class));
    // A plain word is the whole answer: the end, or another command, is below it.
    let next = text.slice(end + 1, text.scan(end + 1, PROMPT_BYTES, |byte| byte != b'\n'));
    let is_shell = |line: &[u8]| typed(line).is_some() && !line.starts_with(b">");
    let is_whole = || is_shell(above) && !is_participle(bytes) && (next.is_empty() || is_shell(next));
    let is_odd = has(DIGIT) || bytes.iter().skip(1).any(|&byte| is(byte, UPPER)) || quote > 0 || is_whole();
    let is_name =
        bytes.iter().any(|&byte| matches!(byte, b'/' | b'(' | b'=' | b':' | b'<' | b'.')) || is_ordinary(bytes);
    if !has(ALPHA) || !is_odd || is_name || !asks(typed(above)?) {
        return None;
    }
    position::cut(text, &Value { start: at, end, written: ValueForm::Literal })
}

/// What was typed after a prompt: `$ `, `>>> `, `irb> `, `bob@host:~% `.
fn typed(line: &[u8]) -> Option<&[u8]> {
    let head = &line[..line.len().min(PROMPT_BYTES)];
    let prompt = head.windows(2).position(|pair| matches!(pair, b"$ " | b"> " | b"% "))?;
    Some(&line[prompt + 2..])
}

/// Does a word of this command announce a secret that it prints?
fn asks(command: &[u8]) -> bool {
    let mut words = command.split(|&byte| byte <= b' ').filter(|word| !word.is_empty());
    let is_closing = |byte: &u8| matches!(byte, b')' | b']' | b'}' | b'"' | b'\'' | b'`' | b';');
    let announced = |word: &[u8]| {
        let end = word.iter().rposition(|byte| !is_closing(byte)).map_or(0, |last| last + 1);
        let name = &word[end.saturating_sub(KEY_BYTES)..end];
        announces(name).is_some_and(|found| found.is_sure() && found.place == ValuePlace::Anywhere)
    };
    let searches = words.clone().any(|word| SEARCHING.contains(&word));
    // In a sentence behind a mark of quoting, more words stand before the name.
    !searches && words.clone().count() <= 8 && words.any(announced)
}
