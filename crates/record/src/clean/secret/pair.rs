//! A name and a quoted literal beside it, without the sign of an assignment: `#define WIFI_PASS "x"`, `:api-key "x"`,
//! `password <- "x"`, `{password, "x"}`, and what a shell reads from a string: `sudo -S <<< x`.

use super::Cut;
use super::announced::ValuePlace;
use super::key::{KEY_BYTES, announces, may_end_name};
use super::position;
use super::text::{DIGIT, DOTTED, Text, UPPER, WORD, is};
use super::value::ValueForm;
use super::words::is_ordinary;
use super::written::{ends_line, is_quote, value_at};

/// May the word at `at` be such a literal? Most words are no first word of a string. No false negatives.
#[inline]
pub(super) fn may_begin(text: &Text, at: usize) -> bool {
    let before = text.before(at);
    (is_quote(before) || before == b' ')
        && at > text.floor + 1
        && match text.before(at - 1) {
            b' ' | b'\t' | b'$' => is_quote(before),
            b'<' => true,
            _ => false,
        }
}

/// The literal whose first byte is at `at`.
pub(super) fn beside(text: &Text, at: usize) -> Option<Cut> {
    let quoted = usize::from(is_quote(text.before(at)));
    let open = at - quoted;
    let operator = text.skip_spaces_back(open - usize::from(text.before(open) == b'$'));
    if text.back(operator, 3) == b"<<<" {
        let value = value_at(text, open, ValueForm::Literal);
        text.spend(position::READER_BYTES);
        return if position::reads_secret(line_before(text, operator - 3)) {
            position::cut(text, &value)
        } else {
            None
        };
    }
    if quoted == 0 {
        return None;
    }
    if let Some(end) = fallback_end(text, operator) {
        let name = text.back(end, KEY_BYTES);
        let name = &name[..name.iter().rposition(|byte| !matches!(byte, b')' | b']') && !is_quote(*byte))? + 1];
        let announced = announces(name).filter(|found| found.is_sure() && found.place == ValuePlace::Anywhere)?;
        let value = value_at(text, open, ValueForm::Literal);
        // `if not api_key or "router" in url` asks about something else.
        let is_compared =
            [&b" in "[..], b" not in ", b" ==", b" !="].iter().any(|sign| text.starts_with(value.end + 1, sign));
        let is_one = !is_compared && !is_ordinary(text.slice(value.start, value.end));
        return if is_one { value.cut(text, announced) } else { None };
    }
    let gap = text.scan_back(operator, 2, |byte| matches!(byte, b'<' | b'-' | b',' | b'*'));
    let name_end = text.skip_spaces_back(gap);
    match text.slice(gap, operator) {
        // `LOGIN bob "x"`, as a client sends it by IMAP.
        b"" if follows_login(text, gap) => position::cut(text, &value_at(text, open, ValueForm::Literal)),
        b"" | b"<-" | b"," => named(text, open, gap, operator),
        // `"client" * "x" *`: secrets of PPP.
        b"*" => {
            let value = value_at(text, open, ValueForm::Literal);
            let client = text.scan_back(name_end, 64, |byte| byte > b' ');
            let is_client = client < name_end && name_end < gap && text.before(client) == b'\n';
            let next = text.skip_spaces(value.end + 1);
            let is_last = ends_line(text, value.end + 1) || text.at(next) == b'*' || is(text.at(next), DIGIT);
            if is_client && is_last { position::cut(text, &value) } else { None }
        }
        _ => None,
    }
}

/// Where the name ends that the literal replaces if it has no value: `process.env.API_KEY ?? "x"`.
fn fallback_end(text: &Text, operator: usize) -> Option<usize> {
    let signs = [&b" ??"[..], b" ||", b" ?:", b" or"];
    signs.iter().find(|sign| text.back(operator, sign.len()) == **sign).map(|sign| operator - sign.len())
}

/// Is the word before `gap` the user of a `LOGIN`?
fn follows_login(text: &Text, gap: usize) -> bool {
    let user = text.scan_back(text.skip_spaces_back(gap), 64, |byte| byte > b' ');
    text.back(user, 7) == b" LOGIN "
}

/// The literal that is quoted at `open`; a name ends before the sign from `gap` to `operator`.
fn named(text: &Text, open: usize, gap: usize, operator: usize) -> Option<Cut> {
    let end = text.skip_spaces_back(gap);
    let quote = usize::from(is_quote(text.before(end)));
    let end = end.checked_sub(quote)?;
    if !may_be_name(text, end) {
        return None;
    }
    let start = text.run_back(end, DOTTED, KEY_BYTES);
    let name = text.slice(start, end);
    let before = text.before(start.saturating_sub(quote).max(text.floor));
    let value = value_at(text, open, ValueForm::Literal);
    let bytes = text.slice(value.start, value.end);
    let is_pair = match text.slice(gap, operator) {
        // In a sentence, a plain word is about tokens.
        b"" => {
            let is_identifier =
                name.iter().any(|byte| matches!(byte, b'_' | b'-')) || name.iter().skip(1).any(|&byte| is(byte, UPPER));
            quote == 0 && before != b'-' && (is_identifier || matches!(before, b':' | b'@'))
        }
        b"<-" => quote == 0,
        // `{password, "x"}`; names listed one after the other are no pair.
        _ if quote == 0 => before == b'{' && text.at(value.end + 1) == b'}',
        _ => {
            let close = text.at(value.end + 1);
            let is_closed = matches!((before, close), (b'[', b']') | (b'(', b')') | (b'{', b'}'));
            let is_name = bytes.iter().all(|&byte| is(byte, WORD)) && !bytes.iter().any(|&byte| is(byte, DIGIT));
            is_closed && !is_name
        }
    };
    if !is_pair || is_ordinary(bytes) {
        return None;
    }
    let announced = announces(name).filter(|found| found.is_sure() && found.place == ValuePlace::Anywhere)?;
    value.cut(text, announced)
}

/// The words of the line before `end`.
fn line_before<'t>(text: &Text<'t>, end: usize) -> &'t [u8] {
    text.back(end, 2 * KEY_BYTES).rsplit(|&byte| byte == b'\n').next().unwrap_or_default()
}

/// Does a name that may announce something end before `end`? A cheap filter.
pub(super) fn may_be_name(text: &Text, end: usize) -> bool {
    match text.back(end, 3) {
        &[third, second, last] => may_end_name(third, second, last),
        _ => false,
    }
}
