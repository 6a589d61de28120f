//! Numbers that a sentence says are a code: `my PIN is 4821`, `4821 is your login code`.

use super::Cut;
use super::key::PASSWORD;
use super::said::FAR_LINKS;
use super::sentence::{AWAY_BYTES, PIN_SAID, after};
use super::text::{DIGIT, Text, WORD, is};

/// `my PIN is 4821`, `the 2FA code 482 913`: digits, in one group or two.
pub(super) fn number(text: &Text, at: usize, end: usize) -> Option<Cut> {
    let digits = |from: usize| {
        let first = text.run(from, DIGIT, 9);
        let next = first + usize::from(matches!(text.at(first), b' ' | b'-'));
        let second = text.run(next, DIGIT, 5);
        let is_pair = (3..=4).contains(&(first - from)) && second - next == first - from;
        let stop = if is_pair { second } else { first };
        let fits = (4..=8).contains(&(stop - from)) && !is(text.at(stop), WORD) && !is(text.before(from), WORD);
        // A version, an amount or an address goes on.
        let goes_on = matches!(text.at(stop), b'.' | b':' | b'/' | b'-' | b'%') && is(text.at(stop + 1), DIGIT);
        (fits && !goes_on).then_some(Cut { name: PASSWORD.name, start: from, end: stop })
    };
    let is_digits = |cut: &Cut| text.slice(cut.start, cut.end).iter().all(|&byte| is(byte, DIGIT) || byte == b' ');
    let linked = after(text, at, end, PIN_SAID).filter(is_digits);
    let from = linked.map(|cut| cut.start).or_else(|| far_number(text, end)).unwrap_or(text.skip_spaces(end));
    digits(from).filter(|_| linked.is_some() || from > end).or_else(|| digits(number_before(text, at)?))
}

/// Where the number begins that a sentence says is the code at `at`: `4821 is your login code`.
fn number_before(text: &Text, at: usize) -> Option<usize> {
    let line = text.back(at, AWAY_BYTES / 2);
    let is_told = |link: &&[u8]| line.windows(link.len()).any(|part| *part == **link);
    let link = [&b" is your "[..], b" is the ", b" ist Ihr", b" ist dein", b" es tu ", b" est votre "]
        .into_iter()
        .find(is_told)?;
    let end = at - line.len() + line.windows(link.len()).position(|part| part == link)?;
    let start = text.run_back(end, DIGIT, 9);
    (start < end).then_some(start)
}

/// The first digits after a link in the rest of the sentence: `El código que me llegó es 661 402`.
fn far_number(text: &Text, end: usize) -> Option<usize> {
    let window = text.slice(end, end + AWAY_BYTES);
    let line = &window[..window.iter().position(|&byte| matches!(byte, b'\n' | b';' | b'.')).unwrap_or(window.len())];
    let digit = line.iter().position(|&byte| is(byte, DIGIT))?;
    FAR_LINKS.iter().any(|link| line[..digit].ends_with(link)).then_some(end + digit)
}
