//! Secrets in the arguments of calls, in elements of XML, in codes for scanners and in password files.

use super::Cut;
use super::announced::{Announced, RequiredLook, ValuePlace};
use super::key::{KEY_BYTES, PASSWORD, announces};
use super::pair::may_be_name;
use super::places::{self, CODES, ScanCode, verbs};
use super::position;
use super::text::{ALPHA, DIGIT, DOT, DOTTED, LOWER, Text, WORD, is};
use super::value::{JUDGED_BYTES, ValueForm, is_phrase, is_placeholder, is_secret};
use super::words::is_ordinary;
use super::written::{Value, authorization, behind_scheme, ends_line, is_quote, value_at};

/// How many arguments of a call are read, and how long each may be.
const ARGUMENTS_MAX: usize = 4;
const ARGUMENT_BYTES: usize = 160;
/// How far the first literal of a call may be.
const CALL_BYTES: usize = 128;
/// The longest name of a function that only converts a literal.
const CONVERSION_BYTES: usize = 32;
/// What a function does that asks for a secret and is given none: `getToken("users")`.
const ASKING: [&[u8]; 11] =
    [b"get", b"read", b"load", b"fetch", b"find", b"is", b"has", b"use", b"require", b"delete", b"remove"];
/// How far before an answer of a script its question may be.
const ASKED_BYTES: usize = 128;

/// The end of the name of the function that begins at `at`.
pub(super) fn function_end(text: &Text, at: usize) -> Option<usize> {
    let end = text.run(at, WORD, 40);
    // `bcrypt.hash(…)` is known with its module, and a type by what makes one: `Credentials::new(…)`.
    let end = match text.at(end) {
        b'.' => text.run(end, WORD | DOT, 40),
        b':' if text.starts_with(end, b"::new") => end + 5,
        _ => end,
    };
    (text.at(end) == b'(').then_some(end)
}

/// `login("bob", "x")`, `setenv("API_KEY", "x")`; the name of the function is from `at` to `end`.
pub(super) fn arguments(text: &Text, at: usize, end: usize) -> Option<Cut> {
    let name = text.slice(at, end);
    let made = name.strip_suffix(b"::new").or(name.strip_suffix(b".new")).unwrap_or_default();
    places::calls(name).chain(places::calls(made)).find_map(|place| follow(text, place.pattern, end + 1))
}

/// The argument that `#` stands for.
fn follow(text: &Text, pattern: &str, open: usize) -> Option<Cut> {
    let mut from = open;
    for wanted in pattern.split(' ').take(ARGUMENTS_MAX) {
        let argument = argument_at(text, from);
        let next = text.at(argument.next);
        match wanted {
            // `btoa("bob:x")`.
            "*:#" => {
                let bytes = text.slice(argument.value.start, argument.value.end);
                let colon = bytes.iter().position(|&byte| byte == b':').filter(|_| !bytes.contains(&b'/'))?;
                let value = Value { start: argument.value.start + colon + 1, ..argument.value };
                return if argument.is_quoted() { quoted(text, &value, PASSWORD) } else { None };
            }
            "#" | "#)" | "#chars" => {
                let is_only = match wanted {
                    "#)" => next == b')',
                    "#chars" => text.starts_with(argument.value.end + 1, b".toCharArray"),
                    _ => true,
                };
                return if argument.is_quoted() && is_only { quoted(text, &argument.value, PASSWORD) } else { None };
            }
            "NAME" if next == b',' => drop(announced(text, &argument.value)?),
            "*" if next == b',' => {}
            _ => return None,
        }
        from = argument.next + 1;
    }
    None
}

fn is_gap(byte: u8) -> bool {
    matches!(byte, b' ' | b'\n' | b'\t' | b'\r' | b'\\')
}

/// An argument, and where the comma or the bracket after it is.
struct CallArgument {
    value: Value,
    next: usize,
}

impl CallArgument {
    fn is_quoted(&self) -> bool {
        self.value.written == ValueForm::Quoted
    }
}

/// An argument: quoted, quoted inside a call that only converts it, or up to a comma or a bracket.
fn argument_at(text: &Text, from: usize) -> CallArgument {
    let from = text.scan(from, 32, is_gap);
    let literal = |open: usize, closing: usize| {
        let value = value_at(text, open, ValueForm::Bare);
        let mut end = value.end + 1 + closing;
        // `"x".encode()`, `"x".toCharArray()`.
        if text.at(end) == b'.' {
            let name = text.run(end + 1, WORD, CONVERSION_BYTES);
            end = if text.starts_with(name, b"()") { name + 2 } else { end };
        }
        CallArgument { value, next: text.scan(end, 16, is_gap) }
    };
    if value_at(text, from, ValueForm::Bare).written == ValueForm::Quoted {
        return literal(from, 0);
    }
    // `[]byte("x")`, `Some("x")`, `Buffer.from("x")`.
    let open = text.scan(from, CONVERSION_BYTES, |byte| is(byte, DOTTED) || matches!(byte, b':' | b'[' | b']'));
    if text.at(open) == b'(' && open > from && is_quote(text.at(open + 1)) {
        let inner = literal(open + 1, 1);
        if text.at(inner.value.end + 1) == b')' {
            return inner;
        }
    }
    // `req.user("bob", 1)` is one argument.
    let (mut depth, mut quote) = (0, 0);
    let window = text.slice(from, from + ARGUMENT_BYTES);
    let ends = |&byte: &u8| {
        if quote != 0 || matches!(byte, b'"' | b'\'') {
            let is_quote = quote == 0 || byte == quote;
            quote = if !is_quote {
                quote
            } else if quote == 0 {
                byte
            } else {
                0
            };
            return depth == 0 && is_quote;
        }
        let is_end = depth == 0 && matches!(byte, b',' | b')');
        depth += i32::from(matches!(byte, b'(' | b'[' | b'{')) - i32::from(matches!(byte, b')' | b']' | b'}'));
        is_end || matches!(byte, b'\n' | b';')
    };
    let end = from + window.iter().position(ends).unwrap_or(window.len());
    CallArgument { value: Value { start: from, end, written: ValueForm::Bare }, next: end }
}

/// Does this argument announce what follows it? A quoted name, a constant, or a pattern such as `/password/i`.
fn announced(text: &Text, name: &Value) -> Option<Announced> {
    let name = text.slice(name.end.saturating_sub(KEY_BYTES).max(name.start), name.end);
    announces(without_closing(name)).filter(|found| found.is_sure())
}

/// A name without what may stand behind it: `password` in `[name="password"]`, `"password")` and `/password/i)`.
fn without_closing(name: &[u8]) -> &[u8] {
    let is_closing = |byte: &u8| matches!(byte, b'(' | b')' | b']' | b'"' | b'\'' | b'`');
    let end = name.iter().rposition(|byte| !is_closing(byte)).map_or(0, |last| last + 1);
    name[..end].strip_suffix(b"/i").or(name[..end].strip_suffix(b"/")).unwrap_or(&name[..end])
}

/// A quoted argument at a place that takes a secret.
fn quoted(text: &Text, value: &Value, announced: Announced) -> Option<Cut> {
    let bytes = text.slice(value.start, value.end);
    let is_name = announces(bytes).is_some() && !bytes.iter().any(|&byte| is(byte, DIGIT));
    // `create_user("bob", "bob@x.io", "x")`.
    let is_email = bytes.iter().position(|&byte| byte == b'@').is_some_and(|at| bytes[at..].contains(&b'.'));
    let fits = bytes.len() >= 4
        && !is_name
        && !is_email
        && !is_ordinary(bytes)
        && is_secret(bytes, RequiredLook::Password, ValueForm::Quoted);
    (fits && !text.holds_cut(value.start, value.end)).then_some(Cut {
        name: announced.name,
        start: value.start,
        end: value.end,
    })
}

/// A secret among the arguments of the call whose bracket is at `at`: `setPassword("x")`, `put("db.password", "x")`,
/// `passwordField.fill("x")`.
pub(super) fn named(text: &Text, at: usize) -> Option<Cut> {
    // `auth=("bob", "x")` in Python.
    if matches!(text.before(at), b'=' | b' ') && text.back(at, 8).windows(4).any(|part| part == b"auth") {
        return follow(text, "* #", at + 1);
    }
    let name = text.slice(text.run_back(at, WORD, KEY_BYTES), at);
    let is_named = may_be_name(text, at);
    if !is_named && !is_verb(first_word(name)) {
        return None;
    }
    // Most calls have no literal.
    if !text.slice(at, at + CALL_BYTES).iter().fold(false, |seen, &byte| seen | is_quote(byte)) {
        return None;
    }
    text.spend(ARGUMENT_BYTES);
    let first = argument_at(text, at + 1);
    if is_named && let Some(cut) = of_named_function(text, at, name, &first) {
        return Some(cut);
    }
    if name.is_empty() || !is_verb(first_word(name)) {
        return None;
    }
    match text.at(first.next) {
        b',' => {
            let second = argument_at(text, first.next + 1);
            if !second.is_quoted() && !first.is_quoted() {
                return None;
            }
            // `set("x", forKey: "password")`.
            let label = text.slice(second.value.start, second.value.end);
            if first.is_quoted() && label.ends_with(b"ey: ") {
                announced(text, &argument_at(text, second.value.end).value)?;
                return quoted(text, &first.value, PASSWORD);
            }
            if !second.is_quoted() {
                return None;
            }
            // `config.set("db", "password", "x")`: the name of a section stands before that of the value.
            let third = if text.at(second.next) == b',' { Some(argument_at(text, second.next + 1)) } else { None };
            if let Some(third) = third.filter(CallArgument::is_quoted)
                && announced(text, &second.value).is_some()
            {
                return quoted(text, &third.value, PASSWORD);
            }
            match announced(text, &first.value)? {
                header if header.place == ValuePlace::AfterScheme => {
                    let literal = || quoted(text, &behind_scheme(text, &second.value), PASSWORD);
                    authorization(text, &second.value, header).or_else(literal)
                }
                _ => quoted(text, &second.value, PASSWORD),
            }
        }
        b')' if first.is_quoted() => {
            let announced = announces(receiver(text, at - name.len()))?;
            let is_meant = announced.is_sure() && announced.place == ValuePlace::Anywhere && !asks(name);
            if is_meant { quoted(text, &first.value, PASSWORD) } else { None }
        }
        _ => None,
    }
}

/// The last of the quoted arguments of a function whose own name announces a secret.
fn of_named_function(text: &Text, at: usize, name: &[u8], first: &CallArgument) -> Option<Cut> {
    let announced = announces(text.back(at, KEY_BYTES)).filter(|found| found.is_sure())?;
    // `pass(home, "x")`, `token("x")`: what is given to them is seldom one.
    let is_bare = name.len() <= 4 || (name.len() == announced.name.len() && announced != PASSWORD);
    if asks(name) || is_bare {
        return None;
    }
    let fits = |value: &Value| {
        let bytes = text.slice(value.start, value.end);
        // A sentence in brackets is no argument: a blank stands before it.
        let is_label = bytes.contains(&b' ') && (text.before(at) == b' ' || !is_phrase(bytes));
        !is_label && (announced == PASSWORD || bytes.len() >= 8)
    };
    let (mut found, mut next) = (None, first.next);
    if first.is_quoted() && fits(&first.value) {
        found = quoted(text, &first.value, announced);
    }
    for _ in 1..ARGUMENTS_MAX {
        if text.at(next) != b',' {
            break;
        }
        let argument = argument_at(text, next + 1);
        if argument.is_quoted() && fits(&argument.value) {
            found = quoted(text, &argument.value, announced).or(found);
        }
        next = argument.next;
    }
    found
}

/// Does a function of this name ask for something, and is given no secret: `getToken("x")`?
fn asks(name: &[u8]) -> bool {
    ASKING.iter().any(|verb| name.starts_with(verb) && !name.get(verb.len()).is_some_and(|&next| is(next, LOWER)))
}

/// Does a function that begins with this word take a name and a value?
fn is_verb(word: &[u8]) -> bool {
    let first = word.first().map_or(0, u8::to_ascii_lowercase);
    verbs(first).iter().any(|verb| word.eq_ignore_ascii_case(verb.as_bytes()))
}

/// `set` of `setItem` and `set_item`, `Set` of `SetItem`.
fn first_word(name: &[u8]) -> &[u8] {
    let is_end = |&byte: &u8| !is(byte, LOWER);
    let start = usize::from(name.first().is_some_and(|byte| !is(*byte, LOWER)));
    &name[..name[start..].iter().position(is_end).map_or(name.len(), |end| start + end)]
}

/// The name of what a method is called upon, whose own name begins at `at`: `password` in `password.equals(`,
/// `byLabel("Password").fill(` and `passwordField.fill(`.
fn receiver<'t>(text: &Text<'t>, at: usize) -> &'t [u8] {
    let end = at.saturating_sub(1);
    if text.before(at) != b'.' {
        return b"";
    }
    let name = without_closing(text.back(end, KEY_BYTES));
    let is_element =
        |part: &&[u8]| name.len() >= part.len() && name[name.len() - part.len()..].eq_ignore_ascii_case(part);
    let element = [&b"field"[..], b"input", b"box", b"element", b"locator", b"el"].into_iter().find(is_element);
    &name[..name.len() - element.map_or(0, <[u8]>::len)]
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
    text.spend(close - at);
    const DATA: &[u8] = b"<![CDATA[";
    let is_data = text.starts_with(close + 1, DATA);
    let start = close + 1 + if is_data { DATA.len() } else { 0 };
    let end = text.scan(start, ARGUMENT_BYTES, |byte| !matches!(byte, b'<' | b'\n'));
    let is_closed = text.starts_with(end, b"</");
    let end = if is_data { text.scan_back(end, 3, |byte| matches!(byte, b']' | b'>')) } else { end };
    let value = Value { start, end, written: ValueForm::Literal };
    if !is_closed || text.at(value.start) == b' ' {
        return None;
    }
    let name = text.slice(at + 1, name_end);
    let attribute_end = close - usize::from(is_quote(text.before(close)));
    let attribute = text.slice(text.run_back(attribute_end, DOTTED, KEY_BYTES).max(name_end), attribute_end);
    let is_attribute = text.before(close) == b'"' || text.before(close) == b'\'';
    let is_cell = CELLS.iter().any(|cell| name.eq_ignore_ascii_case(cell));
    let found = if is_cell { named_before(text, at) } else { announces(name) };
    let found = found.or_else(|| announces(attribute).filter(|_| is_attribute));
    let found = found.filter(|found| found.is_sure())?;
    let bytes = text.slice(value.start, value.end);
    let is_label = (bytes.contains(&b' ') && !is_phrase(bytes)) || (found != PASSWORD && bytes.len() < 8);
    position::cut(text, &value).filter(|_| !is_label).map(|cut| Cut { name: found.name, ..cut })
}

/// Elements that only hold a value, which is named by the element before them or around them.
const CELLS: [&[u8]; 5] = [b"string", b"value", b"td", b"dd", b"data"];

/// The name before such an element: `<key>x</key>`, `<td>x</td>`, `<property name="x">`, `<Password>`.
fn named_before(text: &Text, at: usize) -> Option<Announced> {
    let end = text.scan_back(at, 32, |byte| matches!(byte, b' ' | b'\n' | b'\t' | b'\r'));
    let before = text.back(end, KEY_BYTES).strip_suffix(b">")?;
    let (outside, tag) = before.split_at(before.iter().rposition(|&byte| byte == b'<')?);
    if tag.starts_with(b"</") {
        let open = outside.iter().rposition(|&byte| byte == b'>')?;
        return announces(outside[open + 1..].strip_suffix(b":").unwrap_or(&outside[open + 1..]));
    }
    tag.split(|&byte| !is(byte, DOTTED)).filter(|word| !word.is_empty()).find_map(announces)
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
    text.spend(at - start);
    if !matches!(text.before(start), b'\n' | b'\r' | b' ' | b'"' | b'\'') {
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
