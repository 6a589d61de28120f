//! Secrets in the arguments of calls, in elements of XML, in codes for scanners and in password files.

use super::Cut;
use super::announced::{Announced, RequiredLook};
use super::key::{KEY_BYTES, PASSWORD, announces};
use super::pair::may_be_name;
use super::places::{self, CODES, ScanCode};
use super::position;
use super::text::{ALPHA, DIGIT, DOT, DOTTED, LOWER, Text, WORD, is};
use super::value::{JUDGED_BYTES, ValueForm, is_phrase, is_placeholder, is_secret};
use super::written::{Value, ends_line, is_quote, value_at};

/// How many arguments of a call are read, and how long each may be.
const ARGUMENTS_MAX: usize = 4;
const ARGUMENT_BYTES: usize = 160;
/// How far before an answer of a script its question may be.
const ASKED_BYTES: usize = 128;

/// The end of the name of the function that begins at `at`.
pub(super) fn function_end(text: &Text, at: usize) -> Option<usize> {
    let end = text.run(at, WORD, 40);
    // `bcrypt.hash(…)` is known with its module.
    let end = if text.at(end) == b'.' { text.run(end, WORD | DOT, 40) } else { end };
    (text.at(end) == b'(').then_some(end)
}

/// `login("bob", "x")`, `setenv("API_KEY", "x")`; the name of the function is from `at` to `end`.
pub(super) fn arguments(text: &Text, at: usize, end: usize) -> Option<Cut> {
    places::calls(text.slice(at, end)).find_map(|place| follow(text, place.pattern, end + 1, at))
}

/// The argument that `#` stands for.
fn follow(text: &Text, pattern: &str, open: usize, at: usize) -> Option<Cut> {
    let mut from = open;
    for wanted in pattern.split(' ').take(ARGUMENTS_MAX) {
        from = text.scan(from, 32, |byte| matches!(byte, b' ' | b'\n' | b'\t'));
        let argument = argument_at(text, from);
        let next = text.at(text.scan(argument.end + usize::from(argument.written == ValueForm::Quoted), 3, is_gap));
        let is_quoted = argument.written == ValueForm::Quoted;
        match wanted {
            "#" | "#)" => {
                let is_only = wanted == "#" || next == b')';
                return if is_quoted && is_only { quoted(text, &argument, PASSWORD) } else { None };
            }
            "NAME" if is_quoted && next == b',' => announced(text, &argument)?,
            // `getByLabel("Password").fill("x")`: what is called upon has the name.
            "NAME" if is_quoted && next == b')' => {
                let dot = text.before(at) == b'.' && matches!(text.back(at, 3), [b'"' | b'\'' | b'`', b')', b'.']);
                let name = text.slice(
                    text.scan_back(at.saturating_sub(3), KEY_BYTES, |byte| !is_quote(byte)),
                    at.saturating_sub(3),
                );
                let name = name.strip_suffix(b"]").unwrap_or(name);
                return if dot && announces(name).is_some() { quoted(text, &argument, PASSWORD) } else { None };
            }
            "NAME" if next == b',' && mentions_password(text, &argument) => {}
            "*" if next == b',' => {}
            _ => return None,
        }
        let comma = text.scan(argument.end + usize::from(is_quoted), 3, is_gap);
        from = comma + 1;
    }
    None
}

/// `screen.getByLabelText(/password/i)`.
fn mentions_password(text: &Text, argument: &Value) -> bool {
    text.slice(argument.start, argument.end).windows(8).any(|part| part.eq_ignore_ascii_case(b"password"))
}

fn is_gap(byte: u8) -> bool {
    matches!(byte, b' ' | b'\n' | b'\\')
}

/// An argument: quoted, or up to a comma or a bracket.
fn argument_at(text: &Text, from: usize) -> Value {
    let from = if text.starts_with(from, b"Some(") { from + 5 } else { from };
    let value = value_at(text, from, ValueForm::Bare);
    if value.written == ValueForm::Quoted {
        return value;
    }
    // `req.user()` is one argument.
    let mut depth = 0;
    let window = text.slice(from, from + ARGUMENT_BYTES);
    let ends = |&byte: &u8| {
        let is_end = depth == 0 && matches!(byte, b',' | b')');
        depth += i32::from(byte == b'(') - i32::from(byte == b')');
        is_end || matches!(byte, b'\n' | b';' | b'"' | b'\'')
    };
    let length = window.iter().position(ends).unwrap_or(window.len());
    Value { start: from, end: from + length, written: ValueForm::Bare }
}

fn announced(text: &Text, name: &Value) -> Option<()> {
    let end = text.scan_back(name.end, 2, |byte| matches!(byte, b']' | b'"' | b'\''));
    let name = text.slice(end.saturating_sub(KEY_BYTES).max(name.start), end);
    announces(name).filter(|found| found.is_sure()).map(|_| ())
}

/// A quoted argument at a place that takes a secret.
fn quoted(text: &Text, value: &Value, announced: Announced) -> Option<Cut> {
    let bytes = text.slice(value.start, value.end);
    let is_name = announces(bytes).is_some() && !bytes.iter().any(|&byte| is(byte, DIGIT));
    // `create_user("bob", "bob@x.io", "x")`.
    let is_email = bytes.iter().position(|&byte| byte == b'@').is_some_and(|at| bytes[at..].contains(&b'.'));
    let fits = bytes.len() >= 4 && !is_name && !is_email && is_secret(bytes, RequiredLook::Password, ValueForm::Quoted);
    (fits && !text.holds_cut(value.start, value.end)).then_some(Cut {
        name: announced.name,
        start: value.start,
        end: value.end,
    })
}

/// `setPassword("x")`, `withApiKey('x')`: the name before the bracket at `at` announces the argument.
pub(super) fn named(text: &Text, at: usize) -> Option<Cut> {
    let from = text.skip_spaces(at + 1);
    // `auth=("bob", "x")` in Python.
    if matches!(text.before(at), b'=' | b' ')
        && is_quote(text.at(from))
        && text.back(at, 8).windows(4).any(|part| part == b"auth")
    {
        return follow(text, "* #", at + 1, at);
    }
    if !is_quote(text.at(from)) || !may_be_name(text, at) {
        return None;
    }
    let announced = announces(text.back(at, KEY_BYTES)).filter(|found| found.is_sure())?;
    let value = value_at(text, from, ValueForm::Literal);
    // `getToken("users")` asks for one; a sentence in brackets is no argument.
    let name = text.slice(text.run_back(at, WORD, KEY_BYTES), at);
    let asks =
        [&b"get"[..], b"read", b"load", b"fetch", b"find", b"is", b"has", b"use", b"require", b"delete", b"remove"];
    let asks = asks.iter().any(|verb| {
        let next = name.get(verb.len()).copied().unwrap_or(b'a');
        name.starts_with(verb) && !is(next, LOWER)
    });
    let bytes = text.slice(value.start, value.end);
    let is_bare = name.len() == announced.name.len() && announced != PASSWORD;
    // In a sentence, a blank stands before the bracket.
    let is_label = bytes.contains(&b' ') && (text.before(at) == b' ' || !is_phrase(bytes));
    if asks || is_bare || is_label || (announced != PASSWORD && bytes.len() < 8) {
        return None;
    }
    quoted(text, &value, announced)
}

/// `new NetworkCredential("user", "x")`: the second argument of the constructor is the password.
pub(super) fn credential_pair(text: &Text, from: usize) -> Option<Cut> {
    let open = text.scan(from, 2 * KEY_BYTES, |byte| !matches!(byte, b'(' | b'\n')) + 1;
    let user = value_at(text, text.skip_spaces(open), ValueForm::Bare);
    let comma = user.end + 1;
    let is_pair = user.written == ValueForm::Quoted && text.before(open) == b'(' && text.at(comma) == b',';
    let password = text.skip_spaces(comma + 1);
    if is_pair && is_quote(text.at(password)) {
        value_at(text, password, ValueForm::Bare).cut(text, PASSWORD)
    } else {
        None
    }
}

/// `expect "Password:"`, then `send "x\r"`: what is sent when a program has asked for it.
pub(super) fn answer(text: &Text, at: usize, end: usize) -> Option<Cut> {
    let from = text.scan(end, 6, |byte| matches!(byte, b' ' | b'-' | b'('));
    if from == end || !is_quote(text.at(from)) {
        return None;
    }
    let script = text.back(at, ASKED_BYTES);
    let last = |word: &[u8]| script.windows(word.len()).rposition(|part| part == word);
    let asked =
        [&b"assword"[..], b"assphrase", b"asscode", b"asswort", b"PIN"].iter().filter_map(|word| last(word)).max()?;
    if last(b"xpect").is_none_or(|expect| expect > asked) || last(b"send").is_some_and(|sent| sent > asked) {
        return None;
    }
    let value = value_at(text, from, ValueForm::Literal);
    let bytes = text.slice(value.start, value.end);
    let newline = if bytes.ends_with(b"\\r") || bytes.ends_with(b"\\n") { 2 } else { 0 };
    position::cut(text, &Value { end: value.end - newline, ..value })
}

/// `<apiKey>x</apiKey>`, `<key>ApiKey</key><string>x</string>`, `<entry key="db.password">x</entry>`.
pub(super) fn element(text: &Text, at: usize) -> Option<Cut> {
    // The name may have that of a space before it: `<wsse:Password>`.
    let name_end = text.scan(at + 1, KEY_BYTES, |byte| is(byte, DOTTED) || byte == b':');
    if name_end == at + 1 {
        return None;
    }
    let close = match text.at(name_end) {
        b'>' => name_end,
        b' ' => text.scan(name_end, 96, |byte| !matches!(byte, b'>' | b'<' | b'\n' | b'/')),
        _ => return None,
    };
    if text.at(close) != b'>' {
        return None;
    }
    let value = Value {
        start: close + 1,
        end: text.scan(close + 1, ARGUMENT_BYTES, |byte| !matches!(byte, b'<' | b'\n')),
        written: ValueForm::Literal,
    };
    if !text.starts_with(value.end, b"</") || text.at(value.start) == b' ' {
        return None;
    }
    let name = text.slice(at + 1, name_end);
    let attribute_end = close - usize::from(is_quote(text.before(close)));
    let attribute = text.slice(text.run_back(attribute_end, DOTTED, KEY_BYTES).max(name_end), attribute_end);
    let is_attribute = text.before(close) == b'"' || text.before(close) == b'\'';
    let found = if matches!(name, b"string" | b"value") {
        named_before(text, at)
    } else {
        announces(name).or_else(|| announces(attribute).filter(|_| is_attribute))
    };
    let found = found.filter(|found| found.is_sure())?;
    let bytes = text.slice(value.start, value.end);
    let is_label = (bytes.contains(&b' ') && !is_phrase(bytes)) || (found != PASSWORD && bytes.len() < 8);
    position::cut(text, &value).filter(|_| !is_label).map(|cut| Cut { name: found.name, ..cut })
}

/// The name before a `<string>` of a property list or a `<value>`: `<key>x</key>`, `<property name="x">`.
fn named_before(text: &Text, at: usize) -> Option<Announced> {
    let end = text.scan_back(at, 32, |byte| matches!(byte, b' ' | b'\n' | b'\t' | b'\r'));
    let tag = text.back(end, KEY_BYTES);
    announces(tag.strip_suffix(b"</key>").or(tag.strip_suffix(b"\">"))?)
}

/// The code for scanners that begins at `at`.
pub(super) fn code_at(text: &Text, at: usize) -> Option<&'static ScanCode> {
    let begins = |prefix: &str| text.slice(at, at + prefix.len()).eq_ignore_ascii_case(prefix.as_bytes());
    CODES.iter().find(|code| begins(code.prefix))
}

/// The secret of the code that begins at `at`: `WIFI:S:net;P:x;;`, `otpauth-migration://offline?data=x`.
pub(super) fn scanned(text: &Text, at: usize, code: &ScanCode) -> Option<Cut> {
    // The colon of the prefix may stand for the semicolon of START: `WIFI:P:x;`.
    let from = at + code.prefix.len();
    let line = text.slice(from - 1, text.scan(from, 256, |byte| !matches!(byte, b'\n' | b'"' | b'`')));
    let start = match code.start {
        "-" => 1,
        start if start.starts_with('*') => line.iter().rposition(|&byte| byte == start.as_bytes()[1])? + 1,
        start => {
            let is_first = line.get(1..start.len()) == start.as_bytes().get(1..) && start.starts_with(';');
            let found = || line.windows(start.len()).position(|part| part == start.as_bytes());
            start.len() + if is_first { 0 } else { found()? }
        }
    };
    let is_blank_end = code.start == "-" || code.end != ";";
    let mut escaped = false;
    let ends = |&byte: &u8| {
        let is_end = !escaped && code.end.as_bytes().first() == Some(&byte);
        escaped = byte == b'\\';
        is_end || (is_blank_end && byte <= b' ')
    };
    let end = line[start..].iter().position(ends).map_or(line.len(), |length| start + length);
    let (start, end) = (from - 1 + start, from - 1 + end);
    let bytes = text.slice(start, end);
    let is_closed = code.end != "@" || text.at(end) == b'@';
    let fits = bytes.len() >= 4
        && is_closed
        && !is_placeholder(&bytes[..bytes.len().min(JUDGED_BYTES)])
        && !text.holds_cut(start, end);
    fits.then_some(Cut { name: code.name, start, end })
}

/// `.pgpass`: `host:5432:db:user:x`, `*:*:*:user:x`; `at` is somewhere before the password.
pub(super) fn password_file(text: &Text, at: usize) -> Option<Cut> {
    let is_part = |byte: u8| is(byte, DOTTED) || byte == b'*';
    let start = text.scan_back(at, 96, |byte| is_part(byte) || byte == b':');
    if !matches!(text.before(start), b'\n' | b'\r' | b'"' | b'\'') {
        return None;
    }
    let mut ends = [0; 4];
    let mut from = start;
    for end in &mut ends {
        *end = text.scan(from, 64, is_part);
        if *end == from || text.at(*end) != b':' {
            return None;
        }
        from = *end + 1;
    }
    let [host, port, database, _] = ends;
    let port_bytes = text.slice(host + 1, port);
    let is_port = port_bytes == b"*" || (port_bytes.len() >= 3 && port_bytes.iter().all(|&byte| is(byte, DIGIT)));
    let is_name = |at: usize| is(text.at(at), ALPHA) || text.at(at) == b'*';
    let value = Value {
        start: from,
        end: text.scan(from, 128, |byte| byte > b' ' && !is_quote(byte)),
        written: ValueForm::Literal,
    };
    let is_last = ends_line(text, value.end) || is_quote(text.at(value.end));
    let fits = is_port && is_name(port + 1) && is_name(database + 1) && is_last;
    position::cut(text, &value).filter(|_| fits)
}
