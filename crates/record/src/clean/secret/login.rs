//! A user and a password in one breath: `login admin / x`, `user/pass: bob/x`, `user: bob, pass: x`.

use super::Cut;
use super::position;
use super::said::{ARTICLES, GIVEN};
use super::sentence::{
    AWAY_BYTES, Ends, PASSWORD_SAID, SENTENCE_BYTES, WORD_BYTES, is_call, is_given, said_word, secret,
};
use super::text::{ALNUM, ALPHA, DIGIT, Text, is};
use super::value::ValueForm;
use super::written::{Value, ends_line, is_quote};

/// The shortest password behind a user.
const MIXED_BYTES: usize = 6;

/// `login admin / x`, `creds are admin:x`, `log in with bob / x`.
pub(super) fn login(text: &Text, end: usize) -> Option<Cut> {
    let mut from = text.scan(end, 3, |byte| matches!(byte, b' ' | b':' | b'='));
    for link in [&b"are "[..], b"is ", b"ist ", b"as ", b"use ", b"with ", b"with: ", b"using ", b"mit ", b"con "] {
        if text.starts_with(from, link) {
            from += link.len();
        }
    }
    // `creds for the printer: bob / x`.
    let colon = text.scan(end, AWAY_BYTES, |byte| !matches!(byte, b':' | b'\n' | b'.' | b'/'));
    let is_far = text.at(end) == b' ' && text.starts_with(colon, b": ");
    from = if is_far { colon + 2 } else { from };
    // `the sftp credentials you requested are bob / x`.
    let window = text.slice(end, end + AWAY_BYTES);
    let line =
        &window[..window.iter().position(|&byte| matches!(byte, b'\n' | b'.' | b':' | b'/')).unwrap_or(window.len())];
    let told = [&b" are "[..], b" lauten "]
        .iter()
        .find_map(|link| line.windows(link.len()).position(|part| part == *link).map(|at| end + at + link.len()));
    from = told.unwrap_or(from);
    // `Login flow: redirect / callback`.
    let is_flow = is_far && text.back(end, 5).eq_ignore_ascii_case(b"login");
    let quote = usize::from(is_quote(text.at(from)));
    let name = from + quote;
    let user = text.scan(name, 32, |byte| is(byte, ALNUM) || matches!(byte, b'.' | b'_' | b'@' | b'-'));
    let user = user + usize::from(quote == 1 && is_quote(text.at(user)));
    let gap = text.skip_spaces(user);
    let and = [&b"and "[..], b"und ", b"y ", b"et "].into_iter().find(|and| gap > user && text.starts_with(gap, and));
    let is_pair = matches!(text.at(gap), b'/' | b':') && text.at(gap + 1) != b'/';
    if user == name || !(is_pair || and.is_some()) {
        return None;
    }
    let cut = secret(text, text.skip_spaces(gap + and.map_or(1, <[u8]>::len)), PASSWORD_SAID)?;
    let bytes = text.slice(cut.start, cut.end);
    let has_digit = bytes.iter().any(|&byte| is(byte, DIGIT));
    // A path or an address has separators, a port and a size only digits.
    let is_word = bytes.len() >= 6 && bytes.iter().any(|&byte| is(byte, ALPHA)) && !is_call(bytes);
    (is_word && (has_digit || quote == 1 || (and.is_none() && !is_flow))).then_some(cut)
}

/// `admin/x9!`, `bob@acme.io / x9`: the word behind the slash after a user. A path goes on or has no such signs.
/// The user is from `at` to `end`.
pub(super) fn beside_user(text: &Text, at: usize, end: usize) -> Option<Cut> {
    let slash = text.skip_spaces(end);
    let start = text.skip_spaces(slash + 1);
    let is_apart = slash > end;
    if !matches!(text.at(slash), b'/' | b':') || is_apart != (start > slash + 1) {
        return None;
    }
    // A plain word only where somebody is told to log in with it, or that the user was made.
    let line = text.back(at, SENTENCE_BYTES).rsplit(|&byte| byte == b'\n').next().unwrap_or_default();
    let before = line.trim_ascii_end().rsplit(|&byte| byte <= b' ').next().unwrap_or_default();
    let is_about = ["creds", "credentials", "logins", "zugangsdaten"]
        .iter()
        .any(|word| line.windows(word.len()).any(|part| part.eq_ignore_ascii_case(word.as_bytes())));
    let is_told = is_about
        || (is_apart
            && (GIVEN.contains(&before) || matches!(before, b"as" | b"->" | b"=>") || before.ends_with(b"ed:")));
    if is_told && let Some(cut) = secret(text, start, PASSWORD_SAID) {
        return (cut.end - cut.start >= MIXED_BYTES && !is_call(text.slice(cut.start, cut.end))).then_some(cut);
    }
    let cut = said_word(text, start, PASSWORD_SAID, Ends::Anywhere)?;
    let bytes = text.slice(cut.start, text.scan(cut.start, SENTENCE_BYTES, |byte| byte > b' '));
    let has = |class| bytes.iter().any(|&byte| is(byte, class));
    let has_mark = bytes.iter().any(|byte| matches!(byte, b'!' | b'?' | b'#' | b'*' | b'$' | b'%' | b'&' | b'^'));
    let is_pair = is_apart || (has_mark && text.at(slash) == b'/');
    let is_word = bytes.len() >= MIXED_BYTES && has(ALPHA) && has(DIGIT) && is_pair;
    (is_word && !is_call(bytes)).then_some(cut)
}

/// `user: bob, pass: x`; in `these pass: x` it is a verb.
pub(super) fn pass(text: &Text, at: usize, end: usize) -> Option<Cut> {
    let before = text.before(text.skip_spaces_back(at));
    let has_user = || text.back(at, 40).windows(4).any(|part| part.eq_ignore_ascii_case(b"user"));
    let is_noun = matches!(before, b',' | b';' | b'|' | b'/' | b'\n' | b'(') || has_user();
    let is_apart = text.at(end) == b' ';
    if before == b'/'
        && let Some(cut) = login(text, end)
    {
        return Some(cut);
    }
    // What a client sends by FTP or POP3: `USER bob`, then `PASS x`.
    if is_apart && text.slice(at, end) == b"PASS" && text.back(at, 160).windows(5).any(|part| part == b"USER ") {
        let stop = text.scan(end + 1, WORD_BYTES, |byte| byte > b' ');
        let value = Value { start: end + 1, end: stop, written: ValueForm::Literal };
        return position::cut(text, &value).filter(|_| ends_line(text, stop));
    }
    // `the pass is x9`.
    let line = text.back(at, 16).trim_ascii_end();
    let last = line.rsplit(|&byte| byte <= b' ').next().unwrap_or_default();
    if text.starts_with(end, b" is ") {
        let is_article = last.is_empty() || ARTICLES.contains(&last);
        let tells = |cut: &Cut| {
            let has_digit = text.slice(cut.start, cut.end).iter().any(|&byte| is(byte, DIGIT));
            has_digit || before == b',' || (!is_article && ends_line(text, cut.end))
        };
        return secret(text, end + 4, PASSWORD_SAID).filter(tells);
    }
    let is_pair = is_apart && is_given(text, at) && has_user();
    if !is_noun || !(matches!(text.at(end), b':' | b'=') || is_pair || (is_apart && before == b'\n')) {
        return None;
    }
    let cut = secret(text, text.skip_spaces(end + 1), PASSWORD_SAID)?;
    // As a line of settings: `Pass x9`.
    let has_digit = || text.slice(cut.start, cut.end).iter().any(|&byte| is(byte, DIGIT));
    if is_apart && !is_pair && !(has_digit() && ends_line(text, cut.end)) {
        return None;
    }
    let has_letter = text.slice(cut.start, cut.end).iter().any(|&byte| is(byte, ALPHA));
    (has_letter && cut.end - cut.start >= 6).then_some(cut)
}
