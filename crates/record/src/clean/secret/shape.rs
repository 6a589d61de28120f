//! Secrets recognised by shape, without a name: addresses, bot tokens, hashes, key blocks.
//!
//! Each is anchored at one byte inside it and looks only a bounded distance around that byte.

use super::Cut;
use super::near;
use super::places::URL_USERS;
use super::text::{ALNUM, BASE64, DIGIT, DOT, DOTTED, Text, URL64, WORD, is};
use super::value::{JUDGED_BYTES, is_placeholder};

/// Schemes of addresses without a path in which people write what would have to be escaped.
const DATABASES: [&str; 24] = [
    "amqp",
    "amqps",
    "cassandra",
    "clickhouse",
    "cockroachdb",
    "couchdb",
    "ftp",
    "ftps",
    "imap",
    "imaps",
    "ldap",
    "ldaps",
    "mariadb",
    "mongodb",
    "mqtt",
    "mqtts",
    "mssql",
    "mysql",
    "nats",
    "oracle",
    "postgres",
    "postgresql",
    "redis",
    "rediss",
];
const AUTHORITY_BYTES: usize = 256;
const BLOCK_BYTES: usize = 16 * 1024;
/// The longest line of a key, and what may stand before it.
const LINE_BYTES: usize = 256;
const PREFIX_BYTES: usize = 96;
const HEADERS_MAX: usize = 4;

/// `scheme://user:PASS@host`: the last `@` of the authority ends the password.
pub(super) fn address(text: &Text, at: usize) -> Option<Cut> {
    if text.at(at + 2) != b'/' {
        return None;
    }
    let from = at + 3;
    let window = text.slice(from, from + AUTHORITY_BYTES);
    let ends = |&byte: &u8| matches!(byte, b'/' | b'?' | b'#' | b'"' | b'\'' | b'`' | b'<' | b'>' | b'\\' | 0..=b' ');
    let authority = &window[..window.iter().position(ends).unwrap_or(window.len())];
    // In the address of a database, a password may contain what would end it elsewhere.
    let authority = if is_database(text, at) { unescaped_authority(window, authority) } else { authority };
    let host = authority.iter().rposition(|&byte| byte == b'@')?;
    let Some(colon) = authority[..host].iter().position(|&byte| byte == b':') else {
        return user(text, at, host, &window[authority.len()..]);
    };
    let password = &authority[colon + 1..host];
    // `https://TOKEN:x-oauth-basic@github.com`: the user is the secret.
    if matches!(password, b"" | b"x-oauth-basic" | b"x") {
        return user(text, at, colon, &[]);
    }
    if text.holds_cut(from, from + host) || is_placeholder(&password[..password.len().min(JUDGED_BYTES)]) {
        return None;
    }
    Some(Cut { name: "url-password", start: from + colon + 1, end: from + host })
}

/// `user:PASS@tcp(host)/db`, `user:PASS@host:3306`, `user/PASS@host:1521/db`: an address as drivers of databases take it,
/// without a scheme. `at` is where the host begins.
pub(super) fn driver_address(text: &Text, at: usize) -> Option<Cut> {
    let host = text.scan(at, JUDGED_BYTES, |byte| is(byte, DOTTED));
    let port = text.run(host + 1, DIGIT, 6);
    let has_port = text.at(host) == b':' && (3..=6).contains(&(port - host)) && !is(text.at(port), WORD);
    // `root:x9@10.0.0.9`: nothing else has a colon before a number of this kind.
    let number = text.slice(at, host);
    let is_number = number.iter().all(|&byte| is(byte, DIGIT | DOT)) && number.split(|&byte| byte == b'.').count() == 4;
    let has_port = has_port || is_number;
    if !has_port && text.at(host) != b'(' {
        return after_mail(text, at, host);
    }
    let is_inner = |byte: u8| byte > b' ' && !matches!(byte, b'"' | b'\'' | b'`' | b'<' | b'>' | b'(');
    let end = at - 1;
    let word = text.slice(text.scan_back(end, AUTHORITY_BYTES / 2, is_inner), end);
    let colon = word.iter().position(|&byte| byte == b':');
    let mark = colon.or_else(|| word.iter().position(|&byte| byte == b'/').filter(|_| has_port))?;
    let (start, password) = (end - (word.len() - mark - 1), &word[mark + 1..]);
    let fits = mark > 0
        && is(word[mark - 1], WORD)
        && password.len() >= 4
        && !password.starts_with(b"//")
        && !is_placeholder(&password[..password.len().min(JUDGED_BYTES)]);
    (fits && !text.holds_cut(start, end)).then_some(Cut { name: "url-password", start, end })
}

/// `bob@acme.io:PASS` as a line, or after the server on it: how lists of accounts and mail programs write it. `at` is
/// where the host begins, `host` where it ends.
fn after_mail(text: &Text, at: usize, host: usize) -> Option<Cut> {
    if text.at(host) == b' ' {
        return if text.slice(at, host).contains(&b'.') { near::beside_user(text, host) } else { None };
    }
    let start = host + 1;
    let end = text.scan(start, JUDGED_BYTES, |byte| byte > b' ');
    let password = text.slice(start, end);
    let user = text.run_back(at - 1, DOTTED, 48);
    let server =
        text.scan_back(text.skip_spaces_back(user), 48, |byte| is(byte, DOTTED) || matches!(byte, b'[' | b']' | b':'));
    let is_line = text.before(server) == b'\n' && matches!(text.at(end), b'\n' | b'\r');
    let is_path = password.iter().any(|&byte| matches!(byte, b'/' | b'~' | b':')) || password.ends_with(b".git");
    let fits = text.at(host) == b':'
        && text.slice(at, host).contains(&b'.')
        && password.len() >= 6
        && !is_path
        && !is_placeholder(password);
    (fits && is_line && !text.holds_cut(start, end)).then_some(Cut { name: "password", start, end })
}

/// A token in the place of the user: `https://x@host/repository`. A name is no secret, but worth nothing either.
fn user(text: &Text, at: usize, length: usize, path: &[u8]) -> Option<Cut> {
    let from = at + 3;
    let user = text.slice(from, from + length);
    let is_web = text.back(at, 5).ends_with(b"http") || text.back(at, 5) == b"https";
    let owner = path.get(1..).unwrap_or_default().split(|&byte| byte == b'/').next().unwrap_or_default();
    let is_name =
        user.eq_ignore_ascii_case(owner) || URL_USERS.iter().any(|known| user.eq_ignore_ascii_case(known.as_bytes()));
    let fits = is_web && user.len() >= 8 && !is_name && !is_placeholder(&user[..user.len().min(JUDGED_BYTES)]);
    (fits && !text.holds_cut(from, from + length)).then_some(Cut {
        name: "url-password",
        start: from,
        end: from + length,
    })
}

/// Is the scheme before `at` that of a database, a queue or another service?
fn is_database(text: &Text, at: usize) -> bool {
    let scheme = text.slice(text.scan_back(at, 24, |byte| is(byte, ALNUM) || byte == b'+'), at);
    // `mysql+pymysql://` names its driver.
    let scheme = scheme.split(|&byte| byte == b'+').next().unwrap_or_default();
    DATABASES.iter().any(|name| scheme == name.as_bytes())
}

/// The address up to the last `@` of its word.
fn unescaped_authority<'t>(window: &'t [u8], authority: &'t [u8]) -> &'t [u8] {
    let ends = |&byte: &u8| matches!(byte, b'"' | b'\'' | b'`' | b'<' | b'>' | 0..=b' ');
    let word = &window[..window.iter().position(ends).unwrap_or(window.len())];
    match word.iter().rposition(|&byte| byte == b'@') {
        Some(last) if authority.contains(&b':') && last >= authority.len() => &word[..=last],
        _ => authority,
    }
}

/// A Telegram bot token: its id, a colon, 35 characters that begin with `AA`.
pub(super) fn telegram(text: &Text, at: usize) -> Option<Cut> {
    if !is(text.before(at), DIGIT) || !text.starts_with(at, b":AA") {
        return None;
    }
    let start = text.run_back(at, DIGIT, 11);
    let end = text.run(at + 1, URL64, 40);
    let shape = (8..=10).contains(&(at - start)) && (34..=36).contains(&(end - at - 1));
    let in_address = text.back(start, 4) == b"/bot";
    (shape && (in_address || !is(text.before(start), WORD))).then_some(Cut { name: "telegram-token", start, end })
}

/// An Azure client secret: three characters, a digit, `Q~`, 31 to 34 more.
pub(super) fn azure_secret(text: &Text, at: usize) -> Option<Cut> {
    let allowed = |byte: u8| is(byte, DOTTED) || byte == b'~';
    let start = at.checked_sub(5)?;
    if start < text.floor || text.at(at - 1) != b'Q' || !is(text.at(at - 2), DIGIT) || allowed(text.before(start)) {
        return None;
    }
    let window = text.slice(at + 1, at + 36);
    let length = window.iter().position(|&byte| !allowed(byte)).unwrap_or(window.len());
    let fits = (31..=34).contains(&length)
        && text.slice(start, at).iter().all(|&byte| allowed(byte))
        && !is_placeholder(&window[..length]);
    fits.then_some(Cut { name: "azure-secret", start, end: at + 1 + length })
}

/// A crypt(3) hash: `$2b$12$…`, `$6$salt$…`, `$argon2id$…`.
pub(super) fn password_hash(text: &Text, at: usize) -> Option<Cut> {
    let id = text.run(at + 1, ALNUM, 10);
    let known = matches!(
        text.slice(at + 1, id),
        b"1" | b"2a" | b"2b" | b"2x" | b"2y" | b"5" | b"6" | b"8" | b"9" | b"y" | b"krb5asrep"
    ) || text.starts_with(at, b"$argon2");
    if !known || text.at(id) != b'$' {
        return None;
    }
    let hash = |byte: u8| is(byte, WORD | DOT) || matches!(byte, b'$' | b'/' | b'+' | b'=' | b',' | b'@' | b':');
    let window = text.slice(id + 1, id + 33);
    if window.len() < 24 || !window[..24].iter().all(|&byte| hash(byte)) {
        return None;
    }
    let end = text.scan(id, usize::MAX, hash);
    let end = end - usize::from(matches!(text.at(end - 1), b',' | b':'));
    Some(Cut { name: "password-hash", start: at, end })
}

/// A whole PEM private key, or as much of a truncated one as there is.
pub(super) fn key_block(text: &Text, at: usize) -> Option<Cut> {
    const BEGIN: &[u8] = b"-----BEGIN ";
    if !text.starts_with(at, BEGIN) {
        return None;
    }
    let label = text.slice(at + BEGIN.len(), at + BEGIN.len() + 40);
    let close = label.windows(5).position(|part| part == b"-----")?;
    if !label[..close].windows(11).any(|part| part == b"PRIVATE KEY") {
        return None;
    }
    let body = at + BEGIN.len() + close + 5;
    let marker = next_marker(text, body);
    match marker {
        Some(end) if text.starts_with(end, b"-----END") => {
            if end - body < 20 {
                return None;
            }
            let line = text.run(end + 5, ALNUM, 3) + 1;
            let closed = text.slice(line, line + 40).windows(5).position(|part| part == b"-----");
            Some(Cut { name: "private-key", start: at, end: closed.map_or(end + 8, |found| line + found + 5) })
        }
        _ => {
            let end = truncated_block(text, body);
            (end > body).then_some(Cut { name: "private-key", start: at, end })
        }
    }
}

/// The next line of five dashes and a capital, at most [`BLOCK_BYTES`] away.
fn next_marker(text: &Text, from: usize) -> Option<usize> {
    let mut at = from;
    while at < from + BLOCK_BYTES && at < text.bytes.len() {
        at = text.scan(at, BLOCK_BYTES, |byte| byte != b'-');
        let dashes = text.scan(at, BLOCK_BYTES, |byte| byte == b'-');
        if dashes - at >= 5 && matches!(text.at(dashes), b'B' | b'E') {
            return Some(dashes - 5);
        }
        at = dashes;
    }
    None
}

/// The end of the lines of base64 that follow `from`: long words between line breaks and quotes, or at the end of lines
/// that begin alike (`> `, `# `, a line number, `key.pem:7:`).
fn truncated_block(text: &Text, from: usize) -> usize {
    let mut end = from;
    loop {
        let gap = text.slice(end, end + 24);
        let mut start = 0;
        while let Some(&byte) = gap.get(start) {
            let escape = byte == b'\\' && matches!(gap.get(start + 1), Some(b'n' | b'r' | b't' | b'"'));
            if !escape && !matches!(byte, b'\n' | b'\r' | b' ' | b'\t' | b'"' | b'\'' | b'+') {
                break;
            }
            start += if escape { 2 } else { 1 };
        }
        let word = end + start.min(gap.len());
        let stop = text.run(word, BASE64, usize::MAX);
        if stop - word >= 16 {
            end = stop;
            continue;
        }
        match prefixed_line(text, end) {
            Some(line) => end = line,
            None => return end,
        }
    }
}

/// The end of the base64 at the end of the next line, whatever that line begins with. The last line of a key may be
/// short; the headers of an encrypted one and lines with only a prefix are passed over.
fn prefixed_line(text: &Text, from: usize) -> Option<usize> {
    let is_break = |byte: u8| matches!(byte, b'\n' | b'\r');
    let is_tail = |byte: u8| matches!(byte, b'"' | b'\'' | b',' | b' ' | b'\\' | b'+' | b'|');
    let mut line = text.scan(from, 8, is_tail);
    for _ in 0..HEADERS_MAX {
        let start = text.scan(line, 2, is_break);
        if start == line {
            return None;
        }
        let stop = text.scan(start, LINE_BYTES, |byte| !is_break(byte));
        let end = text.scan_back(stop, 4, is_tail);
        let word = text.run_back(end, BASE64, LINE_BYTES);
        let is_padded = end - word >= 4 && text.before(end) == b'=';
        if word - start <= PREFIX_BYTES && (end - word >= 16 || is_padded) {
            return Some(end);
        }
        let words = text.slice(start, stop);
        let is_header = [&b"Proc-Type"[..], b"DEK-Info", b"Comment"]
            .iter()
            .any(|header| words.windows(header.len()).any(|part| part == *header));
        let is_empty =
            words.len() <= PREFIX_BYTES && !words.windows(2).any(|pair| pair.iter().all(|&byte| is(byte, ALNUM)));
        if !is_header && !is_empty {
            return None;
        }
        line = stop;
    }
    None
}
