//! Passwords by their position in a command: the value of a flag, an argument, what is piped into a program.
//!
//! A program that takes a password is recognised by its name, wherever a word begins. Its words are then read once, up
//! to the end of the command, so the work is linear however many programs are named.

use super::Cut;
use super::assign::{Value, is_quote, value_at};
use super::key::{Announced, KEY_BYTES, PASSWORD, announces};
use super::text::{ALNUM, ALPHA, DIGIT, Text, is};
use super::value::{Bar, Written, is_placeholder, is_secret};

/// How much of a command is read after the name of its program.
const COMMAND_BYTES: usize = 1024;

/// Where a program takes a password.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Takes {
    /// `-p x` and `-px`.
    Flag(&'static [u8]),
    /// `-px` only; in `-p x`, the flag asks for a password and `x` is something else.
    Glued(u8),
    /// `-storepass x`.
    Named(&'static [&'static str]),
    /// `-U user%x`.
    AfterPercent(u8),
    /// `-b name=x; other=y` and `-u user:x`.
    Cookies,
    /// Only after the word `login`: `-p x`.
    Login,
    /// `NAME x`, where the name announces a secret, and `-b x` or `<<< x` after it.
    Pair,
    /// The last of so many arguments, if a flag with this letter is given.
    Argument(u8, usize),
    /// The text is the password if it is piped into a program that reads one.
    Piped,
}

const PROGRAMS: [(&str, Takes); 68] = [
    ("7z", Takes::Glued(b'p')),
    ("7za", Takes::Glued(b'p')),
    ("7zz", Takes::Glued(b'p')),
    ("ARG", Takes::Pair),
    ("ENV", Takes::Pair),
    ("aws", Takes::Pair),
    ("az", Takes::Login),
    ("bcp", Takes::Flag(b"P")),
    ("curl", Takes::Cookies),
    ("docker", Takes::Login),
    ("doppler", Takes::Pair),
    ("echo", Takes::Piped),
    ("flyctl", Takes::Pair),
    ("gh", Takes::Pair),
    ("git", Takes::Pair),
    ("glab", Takes::Pair),
    ("helm", Takes::Login),
    ("heroku", Takes::Pair),
    ("htpasswd", Takes::Argument(b'b', 3)),
    ("isql", Takes::Flag(b"P")),
    ("jarsigner", Takes::Named(&["storepass", "keypass"])),
    ("keytool", Takes::Named(&["storepass", "keypass", "srcstorepass", "deststorepass", "new"])),
    ("ldapadd", Takes::Flag(b"w")),
    ("ldapcompare", Takes::Flag(b"w")),
    ("ldapdelete", Takes::Flag(b"w")),
    ("ldapmodify", Takes::Flag(b"w")),
    ("ldappasswd", Takes::Flag(b"was")),
    ("ldapsearch", Takes::Flag(b"w")),
    ("ldapwhoami", Takes::Flag(b"w")),
    ("mariadb", Takes::Glued(b'p')),
    ("mariadb-dump", Takes::Glued(b'p')),
    ("mongo", Takes::Flag(b"p")),
    ("mongodump", Takes::Flag(b"p")),
    ("mongoexport", Takes::Flag(b"p")),
    ("mongoimport", Takes::Flag(b"p")),
    ("mongorestore", Takes::Flag(b"p")),
    ("mongosh", Takes::Flag(b"p")),
    ("mosquitto_pub", Takes::Flag(b"P")),
    ("mosquitto_sub", Takes::Flag(b"P")),
    ("mysql", Takes::Glued(b'p')),
    ("mysqladmin", Takes::Glued(b'p')),
    ("mysqldump", Takes::Glued(b'p')),
    ("mysqlimport", Takes::Glued(b'p')),
    ("mysqlshow", Takes::Glued(b'p')),
    ("net", Takes::AfterPercent(b'U')),
    ("npm", Takes::Pair),
    ("openssl", Takes::Flag(b"kK")),
    ("osql", Takes::Flag(b"P")),
    ("podman", Takes::Login),
    ("poetry", Takes::Pair),
    ("printf", Takes::Piped),
    ("rar", Takes::Glued(b'p')),
    ("redis-cli", Takes::Flag(b"a")),
    ("rpcclient", Takes::AfterPercent(b'U')),
    ("set", Takes::Pair),
    ("setx", Takes::Pair),
    ("skopeo", Takes::Login),
    ("smbclient", Takes::AfterPercent(b'U')),
    ("snmpget", Takes::Flag(b"cAX")),
    ("snmpset", Takes::Flag(b"cAX")),
    ("snmpwalk", Takes::Flag(b"cAX")),
    ("sqlcmd", Takes::Flag(b"P")),
    ("sshpass", Takes::Flag(b"p")),
    ("unrar", Takes::Glued(b'p')),
    ("unzip", Takes::Flag(b"P")),
    ("valkey-cli", Takes::Flag(b"a")),
    ("vercel", Takes::Pair),
    ("zip", Takes::Flag(b"P")),
];

/// The bytes that names of programs begin with.
pub(super) const FIRST: [bool; 128] = {
    let (mut table, mut at) = ([false; 128], 0);
    while at < PROGRAMS.len() {
        table[PROGRAMS[at].0.as_bytes()[0] as usize] = true;
        at += 1;
    }
    table
};

/// A command that is being read.
#[derive(Clone, Copy, Debug)]
pub(super) struct Command {
    takes: Takes,
    /// The words up to here were read.
    at: usize,
    /// Nothing is read from here on.
    pub(super) end: usize,
    /// How many arguments that are not flags were read, and what they said.
    arguments: usize,
    is_login: bool,
    has_flag: bool,
    is_announced: bool,
}

/// The command of the program whose name begins at `at`.
pub(super) fn command_at(text: &Text, at: usize) -> Option<Command> {
    let first = text.at(at);
    let end = text.scan(at, 16, |byte| is(byte, ALNUM) || matches!(byte, b'-' | b'_'));
    // Most words are not followed by a blank and an argument.
    if !matches!(text.at(end), b' ' | b'\t') || matches!(text.before(at), b'-' | b'.' | b'_' | b'=') {
        return None;
    }
    let name = text.slice(at, end);
    let (_, takes) = PROGRAMS.iter().find(|(known, _)| known.as_bytes()[0] == first && known.as_bytes() == name)?;
    let stop = command_end(text, end);
    Some(Command {
        takes: *takes,
        at: end,
        end: stop,
        arguments: 0,
        is_login: false,
        has_flag: false,
        is_announced: false,
    })
}

/// Where the command around `from` ends: at a pipe, a separator or a line break that is not escaped.
fn command_end(text: &Text, from: usize) -> usize {
    let window = text.slice(from, from + COMMAND_BYTES);
    let mut quote = 0;
    for (at, &byte) in window.iter().enumerate() {
        let escaped = at > 0 && window[at - 1] == b'\\';
        match byte {
            _ if escaped => {}
            b'\'' | b'"' if quote == 0 => quote = byte,
            _ if byte == quote => quote = 0,
            b'\n' => return from + at,
            b'|' | b';' | b'&' if quote == 0 => return from + at,
            _ => {}
        }
    }
    from + window.len()
}

/// The next password of a command.
pub(super) fn next_password(text: &Text, command: &mut Command) -> Option<Cut> {
    while command.at < command.end {
        let start =
            text.scan(command.at, command.end - command.at, |byte| matches!(byte, b' ' | b'\t' | b'\\' | b'\n'));
        if start >= command.end {
            command.at = command.end;
            break;
        }
        let word = word_at(text, start, command.end);
        // The closing quote belongs to the word.
        command.at = (word.end + usize::from(word.written == Written::Quoted)).max(start + 1);
        if let Some(cut) = judge(text, command, start, word) {
            command.at = command.at.max(cut.end);
            return Some(cut);
        }
    }
    None
}

/// The word at `start`: quoted, or up to a blank.
fn word_at(text: &Text, start: usize, stop: usize) -> Value {
    if is_quote(text.at(start)) {
        let value = value_at(text, start, Written::Literal);
        return Value { end: value.end.min(stop), ..value };
    }
    let end = text.scan(start, stop - start, |byte| byte > b' ');
    Value { start, end, written: Written::Literal }
}

fn judge(text: &Text, command: &mut Command, start: usize, word: Value) -> Option<Cut> {
    let bytes = text.slice(word.start, word.end);
    let is_flag = bytes.first() == Some(&b'-') && word.written != Written::Quoted;
    if !is_flag {
        command.arguments += 1;
        command.is_login |= bytes == b"login";
    }
    let next = |command: &Command| {
        let from = text.scan(command.at, 32, |byte| matches!(byte, b' ' | b'\t'));
        (from > command.at && from < command.end).then(|| word_at(text, from, command.end))
    };
    match command.takes {
        Takes::Flag(letters) if is_flag && bytes.len() >= 2 && letters.contains(&bytes[1]) => {
            let glued = Value { start: start + 2, end: word.end, written: Written::Literal };
            if bytes.len() > 2 {
                // `-passin pass:x` is a flag of several letters.
                return if bytes[1..].starts_with(b"pass") { None } else { password(text, &unquoted(text, glued)) };
            }
            password(text, &next(command)?)
        }
        Takes::Flag(_) if bytes.starts_with(b"pass:") => {
            password(text, &Value { start: word.start + 5, end: word.end, written: word.written })
        }
        Takes::Glued(letter) if is_flag && bytes.len() > 4 && bytes[1] == letter => {
            let glued = Value { start: start + 2, end: word.end, written: Written::Literal };
            password(text, &unquoted(text, glued)).filter(|_| !is_port(&bytes[2..]))
        }
        // `mysqladmin password x`.
        Takes::Glued(_) if bytes == b"password" => password(text, &next(command)?),
        Takes::Named(names) if is_flag && names.iter().any(|name| name.as_bytes() == &bytes[1..]) => {
            password(text, &next(command)?)
        }
        Takes::AfterPercent(letter) => after_percent(text, command, &word, is_flag, letter, next(command)),
        Takes::Cookies if is_flag => cookies(text, start, bytes, next(command)),
        Takes::Login if command.is_login && is_flag && bytes[1..].starts_with(b"p") => match bytes.len() {
            2 => password(text, &next(command)?),
            _ => password(text, &Value { start: start + 2, end: word.end, written: Written::Literal }),
        },
        Takes::Pair => pair(text, command, &word, is_flag, next(command)),
        Takes::Argument(letter, count) => {
            command.has_flag |= is_flag && !bytes.starts_with(b"--") && bytes.contains(&letter);
            if command.has_flag && !is_flag && command.arguments == count { password(text, &word) } else { None }
        }
        Takes::Piped if command.arguments == 1 && !is_flag => piped(text, command, &word),
        _ => None,
    }
}

/// A value behind its flag may be quoted: `-p'x'`.
fn unquoted(text: &Text, value: Value) -> Value {
    if is_quote(text.at(value.start)) { value_at(text, value.start, Written::Literal) } else { value }
}

fn is_port(value: &[u8]) -> bool {
    value.iter().all(|&byte| is(byte, DIGIT) || matches!(byte, b':' | b'.' | b'/'))
}

fn password(text: &Text, value: &Value) -> Option<Cut> {
    cut(text, value, PASSWORD)
}

fn cut(text: &Text, value: &Value, announced: Announced) -> Option<Cut> {
    let bytes = text.slice(value.start, value.end);
    let is_found = !text.holds_cut(value.start, value.end) && is_secret(bytes, announced.bar, value.written);
    (is_found && !is_port(bytes)).then_some(Cut { name: announced.name, start: value.start, end: value.end })
}

/// `-U user%x`; `net use Z: \\server\share x /user:bob`, `net user bob x /add`.
fn after_percent(
    text: &Text,
    command: &mut Command,
    word: &Value,
    is_flag: bool,
    letter: u8,
    next: Option<Value>,
) -> Option<Cut> {
    let bytes = text.slice(word.start, word.end);
    if is_flag && bytes.get(1) == Some(&letter) {
        let user = if bytes.len() > 2 { Value { ..*word } } else { next? };
        let percent = text.slice(user.start, user.end).iter().position(|&byte| byte == b'%')?;
        return password(text, &Value { start: user.start + percent + 1, ..user });
    }
    if command.arguments == 1 && !is_flag {
        (command.is_login, command.has_flag) = (bytes == b"use", bytes == b"user");
    }
    let place = (command.is_login && command.arguments == 4) || (command.has_flag && command.arguments == 3);
    if place && !is_flag && bytes.first() != Some(&b'/') { password(text, word) } else { None }
}

/// The value of a cookie in `-b`, and the password in `-uname:x`.
fn cookies(text: &Text, start: usize, flag: &[u8], next: Option<Value>) -> Option<Cut> {
    if flag.len() > 3 && flag.starts_with(b"-u") && flag[2] != b'=' {
        let colon = flag.iter().position(|&byte| byte == b':')?;
        return password(text, &Value { start: start + colon + 1, end: start + flag.len(), written: Written::Literal });
    }
    let value = match flag {
        b"-b" | b"--cookie" => next?,
        _ if flag.starts_with(b"--cookie=") => {
            unquoted(text, Value { start: start + 9, end: start + flag.len(), written: Written::Literal })
        }
        _ => return None,
    };
    // The first `=` separates a cookie's name from its value; without one, it is the name of a file.
    let equals = text.slice(value.start, value.end).iter().position(|&byte| byte == b'=')?;
    let from = value.start + equals + 1;
    let bytes = text.slice(from, value.end);
    let is_found = bytes.len() >= 6 && !is_placeholder(bytes) && !text.holds_cut(from, value.end);
    is_found.then_some(Cut { name: "cookie", start: from, end: value.end })
}

/// `ENV DB_PASSWORD x`, `gh secret set DB_PASSWORD -b x`.
fn pair(text: &Text, command: &mut Command, word: &Value, is_flag: bool, next: Option<Value>) -> Option<Cut> {
    let bytes = text.slice(word.start, word.end);
    let next = next?;
    if matches!(bytes, b"-b" | b"--body" | b"-v" | b"--value" | b"<<<") && command.is_announced {
        return password(text, &next);
    }
    if is_flag || !is(*bytes.last()?, ALNUM) || !bytes.iter().any(|&byte| matches!(byte, b'_' | b'.')) {
        return None;
    }
    let announced = announces(&bytes[bytes.len().saturating_sub(KEY_BYTES)..])?;
    command.is_announced = true;
    let value = text.slice(next.start, next.end);
    if matches!(value.first(), None | Some(b'-' | b'<' | b'=')) || value.iter().all(|&byte| is(byte, ALPHA)) {
        return None;
    }
    let bar = if announced.bar == Bar::Strong { Bar::Token } else { announced.bar };
    cut(text, &next, Announced { bar, ..announced })
}

/// What is piped into a program that reads a password: `echo x | sudo -S ls`, `echo user:x | chpasswd`.
fn piped(text: &Text, command: &Command, word: &Value) -> Option<Cut> {
    if text.at(command.end) != b'|' {
        return None;
    }
    let reader = text.slice(command.end + 1, (command.end + 97).min(command_end(text, command.end + 1)));
    let says = |part: &[u8]| reader.windows(part.len()).any(|window| window == part);
    let is_list = says(b"chpasswd");
    let reads = [&b"-stdin"[..], b"passwd", b"--with-token", b"sudo -S", b"sudo -kS", b"cryptsetup"];
    if !is_list && !reads.iter().any(|part| says(part)) {
        return None;
    }
    let bytes = text.slice(word.start, word.end);
    let colon = bytes.iter().position(|&byte| byte == b':').filter(|_| is_list).map_or(0, |colon| colon + 1);
    password(text, &Value { start: word.start + colon, end: word.end, written: word.written })
}
