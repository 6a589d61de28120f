//! Secrets announced by a name: `key = value` in all its spellings, headers, arguments.
//!
//! Every look back and every look ahead is bounded by a constant; only an accepted cut runs on to its end. The work is
//! therefore linear in the text.

use super::Cut;
use super::announced::{Announced, RequiredLook, ValuePlace};
use super::call;
use super::indirect::{default_at, fallback, is_default, next_line, wrapped};
use super::key::{KEY, KEY_BYTES, PASSWORD, announces, may_end_name};
use super::places::{CODE_WORDS, URL_PARAMS};
use super::text::{ALNUM, ALPHA, DASH, DIGIT, DOT, DOTTED, LOWER, SPACE, Text, UNDERSCORE, UPPER, WORD, is};
use super::value::{JUDGED_BYTES, SHORT_TOKEN_BYTES, ValueForm, is_random, is_short_phrase, names_itself};
use super::written::{SCHEME_BYTES, Value, authorization, is_quote, value_at};

/// The longest name of a value: `ParameterValue`.
const VALUE_BYTES: usize = 16;
/// How far the ends of a map on one line are looked for.
const MAP_BYTES: usize = 96;

/// The longest name of a file before a line that was found in it.
const PATH_BYTES: usize = 96;
/// How far above a default its block begins, and how many lines.
const BLOCK_BYTES: usize = 192;
const BLOCK_LINES_MAX: usize = 4;

/// Words before a bracket that code stands in.
const OPENERS: [&[u8]; 20] = [
    b"if",
    b"else",
    b"for",
    b"while",
    b"loop",
    b"match",
    b"switch",
    b"do",
    b"try",
    b"fn",
    b"func",
    b"function",
    b"return",
    b"type",
    b"interface",
    b"class",
    b"struct",
    b"export",
    b"import",
    b"case",
];

/// Does a name that may announce a secret end before the operator at `at`? A cheap filter for the many names in code
/// that do not. No false negatives.
#[inline]
pub(super) fn may_be_named(text: &Text, at: usize) -> bool {
    let end = if text.before(at) == b' ' { at.saturating_sub(1) } else { at };
    match text.bytes.get(end.saturating_sub(3)..end) {
        Some(&[third, second, last]) if is(last, ALPHA) => may_end_name(third, second, last),
        _ => true,
    }
}

/// `key = value` in all its spellings; `at` is the first byte of the operator, or a later one.
pub(super) fn assignment(text: &Text, at: usize) -> Option<Cut> {
    assignment_by(text, at, announces)
}

/// The same, with `announces` deciding what a name announces.
pub(super) fn assignment_by(text: &Text, at: usize, announces: impl Fn(&[u8]) -> Option<Announced>) -> Option<Cut> {
    let operator = operator_start(text, at);
    let key_end = text.skip_spaces_back(operator);
    let name_end = key_end_before(text, key_end);
    if !is(text.before(name_end), WORD) {
        return None;
    }
    let after = at
        + 1
        + usize::from(matches!(text.at(at + 1), b'=' | b'>' | b'~') || text.starts_with(at, b":-"))
        + usize::from(text.starts_with(at, b"==="));
    // The emphasis of Markdown may end after the colon: `**Password:** x`.
    let emphasis = if text.at(at) == b':' { text.scan(after, 2, |byte| byte == b'*') } else { after };
    let from = if text.at(emphasis) == b' ' { text.skip_spaces(emphasis) } else { text.skip_spaces(after) };
    let spaced = from > after;
    let from = default_at(text, next_line(text, from));
    // A placeholder for another value, such as an earlier cut, needs no further look.
    let elsewhere = match text.at(from) {
        b'<' | b'*' | b'\n' => true,
        b'[' | b'{' | b'(' => wrapped(text, from).is_none(),
        _ => false,
    };
    if elsewhere || (from < text.judged_end.get() && !is_quote(text.at(from))) {
        return None;
    }
    let announced = in_address(text, at, name_end)
        .or_else(|| announces(text.back(name_end, KEY_BYTES)))
        .or_else(|| named_elsewhere(text, name_end))
        .or_else(|| named_after(text, name_end, from))?;
    announced_value(text, at, from, spaced, announced)
        .or_else(|| announced_value(text, at, wrapped(text, from)?, spaced, announced))
        .or_else(|| fallback(text, at, from, announced))
}

/// Where the operator whose `=` is at `at` begins: `+=`, `||=`.
fn operator_start(text: &Text, at: usize) -> usize {
    text.scan_back(at, 2, |byte| matches!(byte, b'!' | b'?' | b'+' | b'|'))
}

/// `?key=x`, `&sig=x`: short names that announce a secret only in an address.
fn in_address(text: &Text, at: usize, name_end: usize) -> Option<Announced> {
    let start = text.run_back(name_end, WORD, 12);
    let is_part = text.at(at) == b'=' && matches!(text.before(start), b'?' | b'&');
    let name = text.slice(start, name_end);
    (is_part && URL_PARAMS.iter().any(|known| name == known.as_bytes())).then_some(KEY)
}

/// The value at `from`, after the operator at `at` and a name that announces a secret.
pub(super) fn announced_value(text: &Text, at: usize, from: usize, spaced: bool, announced: Announced) -> Option<Cut> {
    let operator = operator_start(text, at);
    let key_end = text.skip_spaces_back(operator);
    let name_end = key_end_before(text, key_end);
    let key = key_before(text, key_end)?;
    let name = text.slice(key.start, key.end);
    let spaced = key_end < operator || spaced;
    let mut value = value_at(text, from, ValueForm::Bare);
    if value.written == ValueForm::Bare
        && (is_literal(text, &key, at, &value, spaced)
            || in_connection_string(text, value.end)
            || is_default(text, from))
    {
        value.written = ValueForm::Literal;
    }
    // `--- PASS: TestName` is a test result; in `these pass: x` it is a verb.
    let is_verb = || is(text.before(text.skip_spaces_back(name_end - 4)), ALPHA);
    let verdict = text.at(at) == b':'
        && (name == b"PASS" || (text.back(name_end, 5).eq_ignore_ascii_case(b" pass") && is_verb()));
    // The quote that closes a string containing the operator: `"Password: "`.
    let closing =
        value.written == ValueForm::Quoted && !key.quoted && text.before(key.start) == text.at(value.start - 1);
    // `"AWS::IAM::AccessKey":` is a type name.
    let path = key.start >= text.floor + 2 && text.starts_with(key.start - 2, b"::");
    if verdict || closing || path {
        return None;
    }
    // `API_TOKEN=monkey`: in an environment nothing but a literal is possible.
    let is_short = announced.bar == RequiredLook::Token
        && value.written == ValueForm::Literal
        && !spaced
        && !name.iter().rev().take_while(|&&byte| byte != b' ').any(|&byte| is(byte, LOWER))
        && value.end >= value.start + SHORT_TOKEN_BYTES
        && !names_itself(text.slice(value.start, value.end));
    let announced = if is_short { Announced { bar: RequiredLook::Password, ..announced } } else { announced };
    match announced.place {
        ValuePlace::AfterScheme => authorization(text, &value, announced),
        ValuePlace::Cookie if !is_cookie(text, &key) => None,
        ValuePlace::Cookie => Value { written: ValueForm::Literal, ..value }.cut(text, announced),
        _ if announced.name == "credential" && text.starts_with(from, b"new") => call::credential_pair(text, from),
        _ => value.cut(text, announced).or_else(|| line_of_words(text, &key, &value, announced)),
    }
}

/// `pass = fern leaf`: a few words to the end of a line that begins with the name.
fn line_of_words(text: &Text, key: &AssignedKey, value: &Value, announced: Announced) -> Option<Cut> {
    let end = text.scan(value.start, JUDGED_BYTES, |byte| !matches!(byte, b'\n' | b'\r'));
    let is_line = announced == PASSWORD && value.written != ValueForm::Quoted && text.at(value.end) == b' ';
    let fits = is_line && begins_line(text, key.start) && is_short_phrase(text.slice(value.start, end));
    (fits && ends_line(text, end)).then_some(Cut { name: announced.name, start: value.start, end })
}

/// `header("Authorization", "Bearer x")`, `env('API_KEY', 'x')`: a quoted name, then its value. `at` is the start of a
/// long word in the value.
pub(super) fn argument(text: &Text, at: usize) -> Option<Cut> {
    let scheme = if text.before(at) == b' ' { text.run_back(at - 1, ALPHA | DASH, SCHEME_BYTES) } else { at };
    if !is_quote(text.before(scheme)) {
        return after_name(text, at);
    }
    // Nested quotes: `'API_KEY', '"x"'`.
    let outer = scheme - 1 - usize::from(scheme > text.floor + 1 && is_quote(text.before(scheme - 1)));
    let comma = text.skip_spaces_back(outer);
    let name = text.skip_spaces_back(comma.saturating_sub(1));
    if text.before(comma) != b',' || !is_quote(text.before(name)) {
        return None;
    }
    let announced = announces(text.back(key_end_before(text, name), KEY_BYTES))?;
    let value = value_at(text, scheme - 1, ValueForm::Bare);
    match announced.place {
        ValuePlace::AfterScheme => authorization(text, &value, announced),
        // Names listed one after the other are not a pair, and a password has no shape that would tell.
        ValuePlace::Anywhere if announced != PASSWORD => value.cut(text, announced),
        _ => None,
    }
}

/// `ENV API_KEY x`, `the token is x`: a name, a blank, a long word that looks very random.
fn after_name(text: &Text, at: usize) -> Option<Cut> {
    let end = text.skip_spaces_back(at);
    let end = if text.back(end, 3) == b" is" { end - 3 } else { end };
    if end == at || !is(text.before(end), ALPHA) {
        return None;
    }
    let announced = announces(text.back(end, KEY_BYTES)).filter(|found| found.place == ValuePlace::Anywhere)?;
    value_at(text, at, ValueForm::Bare).cut(text, Announced { bar: RequiredLook::Strong, ..announced })
}

/// `Cookie: name=`, or a later cookie of the same header.
fn is_cookie(text: &Text, key: &AssignedKey) -> bool {
    let end = text.skip_spaces_back(key.start);
    let header = text.slice(end.saturating_sub(7).max(text.floor), end);
    text.at(key.end) == b'=' && (header.ends_with(b";") || header.eq_ignore_ascii_case(b"cookie:"))
}

struct AssignedKey {
    start: usize,
    end: usize,
    quoted: bool,
}

/// The end of the name before `end`: `key`, `key()`, `"key"`, `\"key\"`, `x["key"]`, `x[:key]`, `x[key]=`, `key[]`, `**key**`.
fn key_end_before(text: &Text, end: usize) -> usize {
    if is(text.before(end), ALNUM) {
        return end;
    }
    // The length of a type: `VARCHAR(20)`.
    if text.before(end) == b')' {
        let digits = text.run_back(end - 1, DIGIT, 4);
        // `getpass() == "x"`.
        let is_compared = digits == end - 1 && text.at(text.skip_spaces(end) + 1) == b'=';
        return if (digits < end - 1 || is_compared) && text.before(digits) == b'(' { digits - 1 } else { end };
    }
    if text.before(end) == b']' && end > text.floor + 1 {
        let is_index = is(text.before(end - 1), ALNUM)
            && (text.at(end) == b'=' && text.at(end + 1) > b' '
                || text.before(text.run_back(end - 1, WORD, KEY_BYTES)) == b':');
        // `[password] => x`, as PHP prints it.
        let is_printed = text.starts_with(end, b" => ") && is(text.before(end - 1), ALNUM);
        let digits = text.run_back(end - 1, DIGIT, 4);
        if is_index || is_printed {
            return end - 1;
        }
        // `key[]`, `key[32]`.
        if text.before(digits) == b'[' {
            return digits - 1;
        }
    }
    let end = if text.before(end) == b'*' { text.scan_back(end, 2, |byte| byte == b'*') } else { end };
    let bracket = usize::from(text.before(end) == b']' && end > text.floor && is_quote(text.before(end - 1)));
    let end = end - bracket;
    let quoted = is_quote(text.before(end)) && end > text.floor;
    let end = end - usize::from(quoted);
    if quoted { text.scan_back(end, 3, |byte| byte == b'\\') } else { end }
}

/// The name before `end`, which may contain blanks: `api key`.
fn key_before(text: &Text, end: usize) -> Option<AssignedKey> {
    let name_end = key_end_before(text, end);
    let lowest = name_end.saturating_sub(KEY_BYTES).max(text.floor);
    let mut start = name_end;
    while start > lowest {
        let byte = text.at(start - 1);
        let inner_space = byte == b' ' && is(text.before(start - 1), ALNUM);
        if !is(byte, DOTTED) && !inner_space {
            break;
        }
        start -= 1;
    }
    (start < name_end).then_some(AssignedKey {
        start,
        end: name_end,
        quoted: matches!(text.at(name_end), b'"' | b'\'' | b'`' | b'\\'),
    })
}

/// The announcing name comes before the one at the operator: `key="password" value=`, `token: &str =`.
fn named_elsewhere(text: &Text, end: usize) -> Option<Announced> {
    let typed = match text.back(end, 3) {
        b"lue" | b"ult" | b"ith" => false,
        b"str" | b"ing" | b"HAR" | b"har" | b"nal" => true,
        _ => return None,
    };
    let start = text.run_back(end, WORD, VALUE_BYTES);
    if !typed {
        // `"name": "DB_PASSWORD", "value": "x"`, `name=DB_PASSWORD,value=x`.
        let comma = text.skip_spaces_back(start - usize::from(start > text.floor && is_quote(text.before(start))));
        if text.before(comma) == b',' && comma == start && is_value(text.slice(start, end)) {
            let name = text.run_back(comma - 1, DOTTED, KEY_BYTES);
            return if text.before(name) == b'=' { announces(text.slice(name, comma - 1)) } else { None };
        }
        let listed = comma < start && text.before(comma) == b',';
        let before = if listed { text.skip_spaces_back(comma - 1) } else { comma };
        let named = is_value(text.slice(start, end));
        // `variable "api_token" {` and the line `default = "x"`.
        let block = text.scan_back(before, 32, |byte| matches!(byte, b' ' | b'\t' | b'\n' | b'\r' | b'{'));
        let before = if text.slice(block, before).contains(&b'{') { block } else { before };
        // `"password": {"value": "x"}`.
        let before = if text.before(before) == b':' { text.skip_spaces_back(before - 1) } else { before };
        let quoted = is_quote(text.before(before)) && before > text.floor;
        return match (named, quoted) {
            (true, true) => announces(text.back(before - 1, KEY_BYTES)),
            // `{name: PASS, value: x}`.
            (true, false) if listed => {
                let name = text.run_back(before, DOTTED, KEY_BYTES);
                if text.back(name, 2) == b": " { announces(text.slice(name, before)) } else { None }
            }
            (true, false) => named_on_the_line_before(text, start).or_else(|| named_by_block(text, start)),
            _ => None,
        };
    }
    // A type between name and operator: back over `&'static str` to its colon.
    let lowest = start.saturating_sub(12).max(text.floor);
    let mut at = start;
    while at > lowest && matches!(text.at(at - 1), b'&' | b'\'' | b'<' | b' ' | b'a'..=b'z') {
        at -= 1;
    }
    let typed = at > text.floor && text.at(at - 1) == b':' && text.before(at - 1) != b':';
    if typed {
        return announces(text.back(key_end_before(text, at - 1), KEY_BYTES));
    }
    // `var token string =`, `Dim token As String =`, `DECLARE @token VARCHAR(20) =`.
    let name = text.skip_spaces_back(start);
    let name = if text.back(name, 3).eq_ignore_ascii_case(b" as") { name - 3 } else { name };
    if name < start { announces(text.back(name, KEY_BYTES)) } else { None }
}

fn is_value(name: &[u8]) -> bool {
    name.eq_ignore_ascii_case(b"default")
        || name == b"with"
        || (name.len() >= 5 && name[name.len() - 5..].eq_ignore_ascii_case(b"value"))
}

/// `- name: DB_PASSWORD`, and on the next line `value: x`, which begins at `start`.
fn named_on_the_line_before(text: &Text, start: usize) -> Option<Announced> {
    let is_gap = |byte: u8| matches!(byte, b' ' | b'\t' | b'\n' | b'\r' | b'-' | b'"' | b',' | b'\'');
    let end = text.scan_back(start, KEY_BYTES, is_gap);
    let line = text.back(end, KEY_BYTES);
    let line = &line[line.iter().rposition(|&byte| byte == b'\n').map_or(0, |found| found + 1)..];
    let colon = line.iter().position(|&byte| byte == b':')?;
    let is_named = names_a_name(last_word(&line[..colon]));
    if is_named && text.slice(end, start).contains(&b'\n') { announces(&line[colon..]) } else { None }
}

/// The head of the block that a default at `start` stands in: `variable "db_password" {` or `DbPassword:`, above lines
/// that are indented alike.
fn named_by_block(text: &Text, start: usize) -> Option<Announced> {
    let indent = start - text.skip_spaces_back(start);
    let above = text.back(start - indent, BLOCK_BYTES);
    let mut lines = above.rsplit(|&byte| byte == b'\n').skip(1);
    let head = lines.by_ref().take(BLOCK_LINES_MAX).find(|line| line.len() - line.trim_ascii_start().len() < indent)?;
    let head = head.trim_ascii_end();
    let name = head.strip_suffix(b"{").or(head.strip_suffix(b":"))?.trim_ascii_end();
    announces(name.strip_suffix(b"\"").or(name.strip_suffix(b"'")).unwrap_or(name))
}

/// The name comes after the value: `"value": "x", "name": "DB_PASSWORD"`, `value="x" key="password"`. `from` is where
/// the value begins.
fn named_after(text: &Text, name_end: usize, from: usize) -> Option<Announced> {
    if !is_value(text.slice(text.run_back(name_end, WORD, VALUE_BYTES), name_end)) {
        return None;
    }
    let end = value_at(text, from, ValueForm::Literal).end;
    let is_gap = |byte: u8| matches!(byte, b' ' | b'\t' | b'\n' | b'\r' | b'"' | b',' | b'\'');
    let word = text.scan(end, KEY_BYTES, is_gap);
    let word_end = text.run(word, ALPHA, 8);
    if !names_a_name(text.slice(word, word_end)) {
        return None;
    }
    let name = text.scan(word_end, 8, |byte| is_quote(byte) || matches!(byte, b':' | b'=' | b' '));
    announces(text.slice(name, text.run(name, DOTTED, KEY_BYTES)))
}

/// Is this what a name is called in a pair of a name and a value?
fn names_a_name(word: &[u8]) -> bool {
    [&b"name"[..], b"key", b"id", b"type", b"variable", b"var"].iter().any(|known| word.eq_ignore_ascii_case(known))
}

fn last_word(text: &[u8]) -> &[u8] {
    let end = text.iter().rposition(|&byte| is(byte, ALNUM)).map_or(0, |last| last + 1);
    let start = text[..end].iter().rposition(|&byte| !is(byte, ALNUM)).map_or(0, |last| last + 1);
    &text[start..end]
}

/// Must this be a literal? True for a flag, a line of an environment file, a header, a line of YAML, a part of an
/// address or of a connection string.
fn is_literal(text: &Text, key: &AssignedKey, at: usize, value: &Value, spaced: bool) -> bool {
    // In `export DB_PASSWORD` and `tool --password` only the last word counts.
    let name = text.slice(key.start, key.end);
    let name = name.rsplit(|&byte| byte == b' ').next().unwrap_or(name);
    let start = key.end - name.len();
    let shell = name.iter().all(|&byte| !is(byte, ALPHA) || is(byte, UPPER));
    let listed = matches!(text.before(text.skip_spaces_back(start)), b';' | b'?' | b'&');
    // `${DB_PASSWORD:-x}`.
    let is_default = text.back(start, 2) == b"${" && text.at(value.end) == b'}';
    // `/password:x`, `map[password:x user:y]`.
    let is_switch = text.before(start) == b'/' && text.back(start, 2).first() == Some(&b' ');
    let is_printed = text.at(at) == b':'
        && matches!(text.at(value.end), b' ' | b']' | b'}')
        && [&b"map["[..], b"&{"]
            .iter()
            .any(|open| text.back(start, MAP_BYTES).windows(open.len()).any(|part| part == *open));
    if !spaced && !key.quoted && (is_switch || is_printed) {
        return true;
    }
    if (!spaced && !key.quoted && (shell || name.first() == Some(&b'-'))) || listed || is_default {
        return true;
    }
    let bytes = text.slice(value.start, value.end);
    let is_code = is_code_word(bytes) || bytes.iter().any(|&byte| matches!(byte, b'(' | b'{' | b'[' | b'>' | b'|'));
    if is_code || key.quoted {
        return false;
    }
    let next = text.at(value.end);
    match text.at(at) {
        b'=' if !spaced => matches!(next, b' ' | b'\n' | b'\r' | b'"' | b'\'' | b'`' | b'&' | b'\\' | b'<' | b'}'),
        b'=' => (begins_line(text, start) && ends_line(text, value.end)) || in_flow_map(text, key.start, value.end),
        _ => {
            let quote = text.before(key.start);
            let is_header = is_quote(quote) && next == quote;
            let is_short = !spaced && name.contains(&b'-') && matches!(next, b' ' | b'\n' | b'\r' | b'"' | b'\'');
            let is_line = spaced && begins_line(text, key.start) && ends_line(text, value.end);
            is_header || is_short || is_line || (spaced && in_flow_map(text, key.start, value.end))
        }
    }
}

/// `db: {user: bob, password: x}`, `client lan { secret = x }`: a map on one line that no code stands around.
fn in_flow_map(text: &Text, start: usize, end: usize) -> bool {
    if !matches!(text.before(text.skip_spaces_back(start)), b'{' | b',')
        || !matches!(text.at(text.skip_spaces(end)), b'}' | b',')
    {
        return false;
    }
    let is_inner = |byte: u8| !matches!(byte, b'{' | b'}' | b'(' | b'\n');
    let open = text.scan_back(start, MAP_BYTES, is_inner);
    let close = text.scan(end, MAP_BYTES, is_inner);
    let is_map = text.before(open) == b'{' && text.at(close) == b'}' && ends_line(text, close + 1);
    is_map && {
        let is_word = |byte: u8| is(byte, DOTTED) || matches!(byte, b' ' | b'"' | b':');
        let name = text.scan_back(open - 1, KEY_BYTES, is_word);
        let first = text.slice(name, open).split(|&byte| byte == b' ').find(|word| !word.is_empty());
        matches!(text.before(name), b'\n' | b'#' | b'>') && first.is_none_or(|word| !OPENERS.contains(&word))
    }
}

/// A type, a variable of the same name or another word of code: `password: string`, `token: accessToken`.
fn is_code_word(value: &[u8]) -> bool {
    let known = CODE_WORDS.iter().any(|word| value.eq_ignore_ascii_case(word.as_bytes()));
    let humps = value.windows(2).filter(|pair| is(pair[0], LOWER) && is(pair[1], UPPER)).count();
    let is_word = value.iter().all(|&byte| is(byte, ALPHA | UNDERSCORE | DOT));
    known || (is_word && !is_random(value, 3) && (humps > 0 || value.contains(&b'.') || names_itself(value)))
}

/// Only a list mark, a quotation mark or a comment sign stands before it on its line, or where the line was found
/// (`src/a.yaml:7:`).
fn begins_line(text: &Text, start: usize) -> bool {
    let is_mark = |byte: u8| matches!(byte, b' ' | b'\t' | b'-' | b'#' | b'>' | b'+' | b'*' | b'/' | b':' | b'[');
    let first = text.scan_back(start, 24, is_mark);
    let number = text.run_back(first, DIGIT, 6);
    let is_numbered = number < first && matches!(text.at(first), b':' | b'-' | b'\t');
    let line =
        if is_numbered { text.scan_back(number, PATH_BYTES, |byte| is(byte, DOTTED) || is_mark(byte)) } else { first };
    text.before(line) == b'\n'
}

/// Nothing but a comment follows on its line.
fn ends_line(text: &Text, end: usize) -> bool {
    let next = text.skip_spaces(end);
    matches!(text.at(next), b'\n' | b'\r') || (next > end && matches!(text.at(next), b'#' | b';'))
}

/// `Password =x;Initial Catalog=`: the value is followed by the next part of a connection string.
fn in_connection_string(text: &Text, end: usize) -> bool {
    if text.at(end) != b';' || !is(text.at(end + 1), UPPER) {
        return false;
    }
    let next = text.run(end + 1, ALPHA | SPACE, 24);
    text.at(next) == b'=' && is(text.before(next), ALPHA)
}
