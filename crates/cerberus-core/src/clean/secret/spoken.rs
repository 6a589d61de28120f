//! Passwords that a sentence announces, in several languages.
//!
//! Looks at the beginning of every word once; what follows a cue is bounded.

use super::Cut;
use super::assign::{Value, is_quote, value_at};
use super::key::PASSWORD;
use super::position::{self, Command, command_at, next_password};
use super::text::{ALNUM, ALPHA, DIGIT, LOWER, Text, UPPER, is};
use super::value::{Bar, Written, is_placeholder};
use super::{numbers, value};

/// What a word announces.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Cue {
    /// A password follows, after a linking word or alone.
    Password,
    /// A key follows, after a linking word.
    Key,
    /// A name and a password follow: `login admin / x`.
    Login,
    /// A token follows.
    Bearer,
    /// Only with a colon, and not as a verb: `user: bob, pass: x`.
    Pass,
    Phrase,
    Number,
    /// `IDENTIFIED BY 'x'`.
    By,
}

/// The words that announce a secret, in lower case.
const CUES: [(&str, Cue); 56] = [
    ("access key", Cue::Key),
    ("access token", Cue::Key),
    ("adgangskode", Cue::Password),
    ("api key", Cue::Key),
    ("api token", Cue::Key),
    ("api-key", Cue::Key),
    ("apikey", Cue::Key),
    ("auth token", Cue::Key),
    ("bearer", Cue::Bearer),
    ("by", Cue::By),
    ("clave", Cue::Password),
    ("client secret", Cue::Key),
    ("contraseña", Cue::Password),
    ("credentials", Cue::Login),
    ("creds", Cue::Login),
    ("hasło", Cue::Password),
    ("heslo", Cue::Password),
    ("jelszó", Cue::Password),
    ("kennwort", Cue::Password),
    ("login", Cue::Login),
    ("lösenord", Cue::Password),
    ("mnemonic", Cue::Phrase),
    ("parola", Cue::Password),
    ("pass", Cue::Pass),
    ("passcode", Cue::Password),
    ("passe", Cue::Password),
    ("passphrase", Cue::Password),
    ("passwd", Cue::Password),
    ("password", Cue::Password),
    ("password?", Cue::Password),
    ("passwort", Cue::Password),
    ("phrase", Cue::Phrase),
    ("pin", Cue::Password),
    ("pwd", Cue::Password),
    ("salasana", Cue::Password),
    ("secret key", Cue::Key),
    ("seed words", Cue::Phrase),
    ("senha", Cue::Password),
    ("social security number", Cue::Number),
    ("ssn", Cue::Number),
    ("wachtwoord", Cue::Password),
    ("şifre", Cue::Password),
    ("şifrem", Cue::Password),
    ("şifresi", Cue::Password),
    ("пароль", Cue::Password),
    ("пароля", Cue::Password),
    ("Пароль", Cue::Password),
    ("パスワード", Cue::Password),
    ("暗証番号", Cue::Password),
    ("口令", Cue::Password),
    ("密码", Cue::Password),
    ("密碼", Cue::Password),
    ("암호", Cue::Password),
    ("비밀번호", Cue::Password),
    ("पासवर्ड", Cue::Password),
    ("รหัสผ่าน", Cue::Password),
];
/// Words between a cue and the password, in lower case.
const LINKS: [&str; 35] = [
    "is", "ist", "lautet", "es", "est", "é", "è", "to", "jest", "är", "er", "je", "это", "—", "–", "-", ":", "=", "|",
    "->", "it's", "its", "it", "now", "jetzt", "ahora", "below", "は", "是", "为", "：", "는", "은", "für", "को",
];
/// How many such words there may be.
const LINKS_MAX: usize = 2;
/// How far away a link may be: `the password for the database is x`.
const AWAY_BYTES: usize = 48;
/// How many programs inside a command are looked at: `sudo docker exec db mysql -px`.
const NESTED_MAX: usize = 5;
/// Words with digits that are not passwords.
const TERMS: [&str; 18] = [
    "argon2", "argon2id", "argon2i", "base32", "base64", "bcrypt2", "ed25519", "http2", "ipv4", "ipv6", "k8s", "md5",
    "oauth2", "pbkdf2", "sha1", "sha256", "sha512", "utf8",
];

/// The passwords and numbers of a text, from left to right.
pub(super) struct Passwords<'a> {
    text: Text<'a>,
    at: usize,
    command: Option<Command>,
    /// No command that was read goes on beyond this, and how many began inside another.
    command_end: usize,
    nested: usize,
}

impl<'a> Passwords<'a> {
    pub(super) fn of(text: &'a str) -> Passwords<'a> {
        Passwords { text: Text::of(text), at: 0, command: None, command_end: 0, nested: 0 }
    }

    fn take(&mut self, cut: Cut) -> Option<Cut> {
        self.at = cut.end.max(self.at);
        self.text.floor = self.at;
        Some(cut)
    }

    /// The next password of the command that is being read; later words of it are then searched too.
    fn in_command(&mut self) -> Option<Cut> {
        let mut command = self.command?;
        let cut = next_password(&self.text, &mut command);
        self.command = cut.map(|_| command);
        cut
    }
}

impl Iterator for Passwords<'_> {
    type Item = Cut;

    fn next(&mut self) -> Option<Cut> {
        if let Some(cut) = self.in_command() {
            return self.take(cut);
        }
        loop {
            let at = self.text.scan(self.at, usize::MAX, |byte| !FIRST[usize::from(byte)]);
            let byte = *self.text.bytes.get(at)?;
            self.at = at + 1;
            if is_letter(self.text.before(at)) && byte < 0xe0 {
                continue;
            }
            let found = self.command_from(at, byte).or_else(|| self.announced(at, byte));
            if let Some(cut) = found {
                return self.take(cut);
            }
        }
    }
}

impl Passwords<'_> {
    /// The first password of the command whose program is named at `at`.
    fn command_from(&mut self, at: usize, byte: u8) -> Option<Cut> {
        if byte >= 0x80 || !position::FIRST[usize::from(byte)] {
            return None;
        }
        if at >= self.command_end {
            self.nested = 0;
        } else if self.nested == NESTED_MAX {
            return None;
        }
        let command = command_at(&self.text, at)?;
        self.nested += 1;
        self.command_end = self.command_end.max(command.end);
        self.command = Some(command);
        self.in_command()
    }

    /// The password or number that the word at `at` announces.
    fn announced(&self, at: usize, byte: u8) -> Option<Cut> {
        let text = &self.text;
        match byte {
            b'3'..=b'6' => return numbers::card(text, at),
            b'A'..=b'Z' if is(text.at(at + 2), DIGIT) => return numbers::iban(text, at),
            _ => {}
        }
        let (end, cue) = cue_at(text, at)?;
        match cue {
            Cue::Password => after(text, end, PASSWORD_SAID).or_else(|| alone(text, end)).or_else(|| before(text, at)),
            Cue::Key => after(text, end, KEY_SAID),
            Cue::Login => login(text, end),
            Cue::Bearer => bearer(text, end),
            Cue::Pass => pass(text, at, end),
            Cue::Phrase => numbers::seed_phrase(text, end),
            Cue::Number => numbers::social_security(text, end),
            Cue::By => identified(text, at, end),
        }
    }
}

/// The bytes that cues, programs, card numbers and IBANs begin with.
const FIRST: [bool; 256] = {
    let (mut table, mut at) = ([false; 256], 0);
    while at < CUES.len() {
        let byte = CUES[at].0.as_bytes()[0];
        table[byte as usize] = true;
        table[byte.to_ascii_uppercase() as usize] = true;
        at += 1;
    }
    let mut byte = 0;
    while byte < 128 {
        table[byte] |= position::FIRST[byte] || matches!(byte as u8, b'3'..=b'6' | b'A'..=b'Z');
        byte += 1;
    }
    table
};

const fn is_letter(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || byte >= 0x80
}

/// The longest cue that begins at `at`, and its end.
fn cue_at(text: &Text, at: usize) -> Option<(usize, Cue)> {
    let first = text.at(at).to_ascii_lowercase();
    let second = text.at(at + 1).to_ascii_lowercase();
    let begins = |cue: &str| cue.as_bytes()[0] == first && cue.as_bytes()[1] == second;
    let known =
        |(cue, _): &&(&str, Cue)| begins(cue) && text.slice(at, at + cue.len()).eq_ignore_ascii_case(cue.as_bytes());
    let (cue, sort) = CUES.iter().filter(known).max_by_key(|(cue, _)| cue.len())?;
    let end = at + cue.len();
    let is_whole = cue.as_bytes()[0] >= 0xe0 || !is_letter(text.at(end));
    is_whole.then_some((end, *sort))
}

/// What counts as a secret after a cue: how long it is at least.
#[derive(Clone, Copy)]
struct Said {
    name: &'static str,
    least_bytes: usize,
}

const PASSWORD_SAID: Said = Said { name: PASSWORD.name, least_bytes: 4 };
const KEY_SAID: Said = Said { name: "key", least_bytes: 8 };

/// `das Passwort ist x`, `**API key**: `x``, `the password for the database is x`.
fn after(text: &Text, end: usize, said: Said) -> Option<Cut> {
    let is_closer = |byte: u8| matches!(byte, b'*' | b'_' | b'`' | b')' | b'"' | b'\'');
    let end = text.scan(end, 4, is_closer);
    let mut from = text.skip_spaces(end);
    let mut links = 0;
    while links < LINKS_MAX
        && let Some(link) = link_at(text, from)
    {
        // The emphasis may end after the colon: `**Password:** x`.
        from = text.skip_spaces(text.scan(from + link, 2, |byte| byte == b'*'));
        links += 1;
    }
    if links > 0 { secret(text, from, said) } else { away(text, end, said) }
}

/// A link some words later. The password is then quoted, or ends its line or sentence.
fn away(text: &Text, end: usize, said: Said) -> Option<Cut> {
    if text.at(end) != b' ' {
        return None;
    }
    let window = text.slice(end, end + AWAY_BYTES);
    let line = &window[..window.iter().position(|byte| matches!(byte, b'\n' | b'.' | b';')).unwrap_or(window.len())];
    let far = [&b" is "[..], b" ist ", b" est ", b" es ", b" = ", b": ", " — ".as_bytes(), " é ".as_bytes()];
    let find = |link: &&[u8]| line.windows(link.len()).position(|part| part == *link).map(|at| at + link.len());
    let from = end + far.iter().filter_map(find).min()?;
    let cut = secret(text, from, said)?;
    let next = text.skip_spaces(cut.end + usize::from(is_quote(text.before(cut.start))));
    let ends = is_quote(text.before(cut.start)) || matches!(text.at(next), b'\n' | b'\r' | b'.' | b',' | b'!');
    (ends && cut.end - cut.start >= 6).then_some(cut)
}

/// `пароль x`, `password x`, and a heading with the password below it: the word itself must tell.
fn alone(text: &Text, end: usize) -> Option<Cut> {
    let is_heading = text.at(end) == b'\n' && {
        let line = text.scan_back(end, AWAY_BYTES, |byte| byte != b'\n');
        text.at(line) == b'#'
    };
    let gap = |byte: u8| byte == b' ' || (is_heading && byte == b'\n');
    let from = text.scan(end, 3, gap);
    if from == end {
        return None;
    }
    let cut = secret(text, from, PASSWORD_SAID)?;
    let bytes = text.slice(cut.start, cut.end);
    let has = |class| bytes.iter().any(|&byte| is(byte, class));
    let is_name = bytes.iter().any(|&byte| matches!(byte, b'_' | b'.' | b'/' | b'(' | b'-' | b'=' | b':'));
    let tells = bytes.len() >= 8 && has(DIGIT) && has(LOWER) && has(UPPER) && !is_name;
    tells.then_some(cut)
}

/// The length of the linking word at `from`.
fn link_at(text: &Text, from: usize) -> Option<usize> {
    // In a table, the bar stands between blanks; in a pattern (`a|b`) it does not.
    if text.at(from) == b'|' && (text.before(from) != b' ' || text.at(from + 1) != b' ') {
        return None;
    }
    let is_whole = |link: &str| {
        !is_letter(link.as_bytes()[0]) || link.as_bytes()[0] >= 0xe0 || !is_letter(text.at(from + link.len()))
    };
    let first = text.at(from).to_ascii_lowercase();
    let known = |link: &&&str| {
        link.as_bytes()[0] == first
            && text.slice(from, from + link.len()).eq_ignore_ascii_case(link.as_bytes())
            && is_whole(link)
    };
    LINKS.iter().filter(known).map(|link| link.len()).max()
}

/// `use x as the password`.
fn before(text: &Text, at: usize) -> Option<Cut> {
    let words = text.back(at, 8);
    let length = if words.ends_with(b" as the ") { 8 } else { 4 };
    if !words.ends_with(b" as the ") && !words.ends_with(b" as ") {
        return None;
    }
    let end = at - length;
    let start = text.scan_back(end, 64, |byte| byte > b' ');
    let end = if is_quote(text.before(end)) { end - 1 } else { end };
    secret(text, start, PASSWORD_SAID).filter(|cut| cut.end <= end)
}

/// The secret at `from`: one word with a digit, or quoted.
fn secret(text: &Text, from: usize, said: Said) -> Option<Cut> {
    let mut value = value_at(text, from, Written::Literal);
    if value.written == Written::Literal {
        trim(text, &mut value);
        let has_digit = text.slice(value.start, value.end).iter().any(|&byte| is(byte, DIGIT));
        if !has_digit {
            return None;
        }
    }
    let bytes = text.slice(value.start, value.end);
    let is_number = bytes.iter().all(|&byte| is(byte, DIGIT));
    let is_term = TERMS.iter().any(|term| bytes.eq_ignore_ascii_case(term.as_bytes()));
    let is_plain = said.name != PASSWORD.name
        && (!bytes.iter().any(|&byte| is(byte, DIGIT)) || !bytes.iter().any(|&byte| is(byte, ALPHA)) || is_call(bytes));
    let is_secret = is_number || value::is_secret(bytes, Bar::Password, value.written);
    let fits = bytes.len() >= said.least_bytes && is_secret && !is_term && !is_plain;
    (fits && !text.holds_cut(value.start, value.end)).then_some(Cut {
        name: said.name,
        start: value.start,
        end: value.end,
    })
}

/// Code, a path or an address rather than a key.
fn is_call(bytes: &[u8]) -> bool {
    bytes.iter().any(|&byte| matches!(byte, b'(' | b'/' | b'{' | b'[' | b'<' | b'.' | b':'))
}

/// The full stop of the sentence is not part of a word; nor are words of other scripts and marks of emphasis.
fn trim(text: &Text, value: &mut Value) {
    value.end = text.scan(value.start, value.end - value.start, |byte| byte < 0x80);
    while value.end > value.start && matches!(text.at(value.end - 1), b'.' | b',' | b'!' | b'?' | b':' | b'*' | b'|') {
        value.end -= 1;
    }
}

/// `login admin / x`, `creds are admin:x`.
fn login(text: &Text, end: usize) -> Option<Cut> {
    let mut from = text.scan(end, 3, |byte| matches!(byte, b' ' | b':'));
    for link in [&b"are "[..], b"is ", b"as ", b"with ", b"with: "] {
        if text.starts_with(from, link) {
            from += link.len();
        }
    }
    let user = text.scan(from, 32, |byte| is(byte, ALNUM) || matches!(byte, b'.' | b'_' | b'@' | b'-'));
    let gap = text.skip_spaces(user);
    if user == from || !matches!(text.at(gap), b'/' | b':') || text.at(gap + 1) == b'/' {
        return None;
    }
    let cut = secret(text, text.skip_spaces(gap + 1), PASSWORD_SAID)?;
    let bytes = text.slice(cut.start, cut.end);
    // A path or an address has separators, a port and a size only digits.
    let is_word = bytes.len() >= 6 && bytes.iter().any(|&byte| is(byte, ALPHA)) && !is_call(bytes);
    is_word.then_some(cut)
}

/// `Bearer x` in a sentence or a header of any spelling.
fn bearer(text: &Text, end: usize) -> Option<Cut> {
    let from = text.skip_spaces(end);
    let mut value = value_at(text, from, Written::Literal);
    trim(text, &mut value);
    let bytes = text.slice(value.start, value.end);
    let has = |class| bytes.iter().any(|&byte| is(byte, class));
    let is_token = bytes.len() >= 10 && has(DIGIT) && has(ALPHA) && !is_placeholder(bytes);
    let is_code = bytes.iter().any(|&byte| matches!(byte, b'(' | b'{' | b'$' | b'>' | b'[' | b'<'));
    (from > end && is_token && !is_code && !text.holds_cut(value.start, value.end)).then_some(Cut {
        name: "token",
        start: value.start,
        end: value.end,
    })
}

/// `user: bob, pass: x`; in `these pass: x` it is a verb.
fn pass(text: &Text, at: usize, end: usize) -> Option<Cut> {
    let before = text.before(text.skip_spaces_back(at));
    let is_noun = matches!(before, b',' | b';' | b'|' | b'/' | b'\n' | b'(');
    if !is_noun || !matches!(text.at(end), b':' | b'=') {
        return None;
    }
    let cut = secret(text, text.skip_spaces(end + 1), PASSWORD_SAID)?;
    let has_letter = text.slice(cut.start, cut.end).iter().any(|&byte| is(byte, ALPHA));
    (has_letter && cut.end - cut.start >= 6).then_some(cut)
}

/// `IDENTIFIED BY 'x'`, `IDENTIFIED WITH plugin BY 'x'`; `at` is the `b`.
fn identified(text: &Text, at: usize, end: usize) -> Option<Cut> {
    let words = text.back(at, 48);
    let says = |word: &[u8]| words.windows(word.len()).any(|part| part.eq_ignore_ascii_case(word));
    if !says(b"identified ") {
        return None;
    }
    let from = text.skip_spaces(end);
    if is_quote(text.at(from)) {
        return value_at(text, from, Written::Literal).cut(text, PASSWORD);
    }
    secret(text, from, PASSWORD_SAID)
}

/// The text without terminal codes and characters of no width; `None` if it has none.
pub(super) fn without_invisible(text: &str) -> Option<String> {
    let may_be = |byte: u8| byte < 0x20 && !matches!(byte, b'\n' | b'\r' | b'\t') || byte >= 0x7f;
    if !text.bytes().any(may_be) || !text.contains(is_invisible) {
        return None;
    }
    let mut out = String::with_capacity(text.len());
    let mut rest = text.chars().peekable();
    while let Some(c) = rest.next() {
        let is_escape = c == '\u{1b}';
        if c == '\u{9b}' || is_escape && rest.next_if_eq(&'[').is_some() {
            while rest.next_if(|c| c.is_ascii_digit() || matches!(c, ';' | '?')).is_some() {}
            rest.next();
        } else if is_escape && rest.next_if_eq(&']').is_some() {
            // A title or a link, up to a bell or the next escape.
            while rest.next_if(|&c| c != '\u{7}' && c != '\u{1b}' && c != '\n').is_some() {}
        } else if !is_invisible(c) {
            out.push(c);
        }
    }
    Some(out)
}

fn is_invisible(c: char) -> bool {
    let is_control = c.is_control() && !matches!(c, '\n' | '\r' | '\t');
    is_control
        || matches!(c, '\u{ad}' | '\u{34f}' | '\u{61c}' | '\u{180e}' | '\u{200b}'..='\u{200f}' | '\u{202a}'..='\u{202e}'
            | '\u{2060}'..='\u{206f}' | '\u{fe00}'..='\u{fe0f}' | '\u{feff}' | '\u{e0000}'..='\u{e0fff}')
}

#[cfg(test)]
mod tests;
