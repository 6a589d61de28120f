//! Where sentences of a prompt begin and end, in any language and by form alone.
//!
//! In doubt two sentences are one: a quotation that is widened to a whole sentence must not lose a condition or a
//! negation. So a line that goes on in lower case belongs to the line before it, a semicolon ends nothing, and an item of
//! a list belongs to the line that introduces the list.

use std::ops::Range;

use crate::outline;

/// How surely a sentence ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum SentenceEnd {
    /// Somebody who writes no capitals may have begun another sentence.
    Likely,
    Sure,
}

/// The widest and the narrowest range of whole sentences of `text` that contains `place`, without blanks and the mark of
/// a list item at its ends. They differ where no capital shows that a sentence begins.
pub fn around(text: &str, place: &Range<usize>) -> [Range<usize>; 2] {
    let ends = ends(text);
    let within = |least: SentenceEnd| {
        let ends = || ends.iter().filter(move |(_, end)| *end >= least).map(|(at, _)| *at);
        let start = ends().rfind(|at| *at <= place.start).unwrap_or(0);
        let end = ends().find(|at| *at >= place.end).unwrap_or(text.len());
        trimmed(text, introduced(text, start)..end)
    };
    [within(SentenceEnd::Sure), within(SentenceEnd::Likely)]
}

/// The sentence that ends where `place` begins.
pub fn before(text: &str, place: &Range<usize>) -> Option<Range<usize>> {
    let end = text[..place.start].trim_end().len();
    let last = text[..end].char_indices().next_back()?.0;
    let [found, _] = around(text, &(last..end));
    (found.start < place.start).then_some(found)
}

/// The sentence that begins where `place` ends.
pub fn after(text: &str, place: &Range<usize>) -> Option<Range<usize>> {
    let start = place.end + text[place.end..].find(|c: char| c.is_alphanumeric())?;
    let next = text[start..].chars().next()?;
    let [_, found] = around(text, &(start..start + next.len_utf8()));
    (found.end > place.end).then_some(found)
}

/// All sentences of `text`, also those that likely begin in lower case.
pub fn all(text: &str) -> Vec<Range<usize>> {
    let mut start = 0;
    let mut found: Vec<Range<usize>> = Vec::new();
    for end in ends(text).into_iter().map(|(at, _)| at).chain([text.len()]) {
        let place = trimmed(text, start..end);
        if text[place.clone()].contains(char::is_alphanumeric) {
            found.push(place);
        }
        start = end;
    }
    found
}

/// Abbreviations are not longer: "e.g. ", "etc. ", "vs. ".
const ABBREVIATION_CHARS_MAX: usize = 3;

/// Every place at which a sentence may end.
fn ends(text: &str) -> Vec<(usize, SentenceEnd)> {
    let mut ends = Vec::new();
    for (at, c) in text.char_indices() {
        let (before, after) = (&text[..at], &text[at + c.len_utf8()..]);
        match c {
            '。' | '！' | '？' => ends.push((at + c.len_utf8(), SentenceEnd::Sure)),
            '.' | '!' | '?' => {
                let closing = after.len() - after.trim_start_matches(['"', '\'', ')', ']', '”', '’', '»']).len();
                let rest = &after[closing..];
                if rest.starts_with([' ', '\t']) {
                    let is_lower = rest.trim_start().starts_with(char::is_lowercase);
                    let end = if is_lower && c == '.' { SentenceEnd::Likely } else { SentenceEnd::Sure };
                    if end == SentenceEnd::Sure && !is_abbreviation(before, c)
                        || end == SentenceEnd::Likely && !is_short(before)
                    {
                        ends.push((at + 1 + closing, end));
                    }
                }
            }
            '\n' if ends_line(before, after) => ends.push((at + 1, SentenceEnd::Sure)),
            _ => {}
        }
    }
    ends
}

/// "e.g. Rust": a single letter, or one after another full stop.
fn is_abbreviation(before: &str, mark: char) -> bool {
    let word = before.rsplit(char::is_whitespace).next().unwrap_or_default();
    mark == '.' && (word.contains('.') || word.chars().count() == 1 && word.contains(char::is_alphabetic))
}

fn is_short(before: &str) -> bool {
    let word = before.rsplit(char::is_whitespace).next().unwrap_or_default();
    word.contains('.') || word.chars().filter(|c| c.is_alphanumeric()).count() <= ABBREVIATION_CHARS_MAX
}

/// Whether a line break ends a sentence: not if the next line goes on in lower case.
fn ends_line(before: &str, after: &str) -> bool {
    let next = after.trim_start_matches([' ', '\t', '\r']);
    let is_ended = before.trim_end().ends_with(['.', '!', '?', ':', '。', '！', '？', '：']);
    is_ended
        || next.is_empty()
        || next.starts_with('\n')
        || before.trim_end_matches([' ', '\t', '\r']).ends_with('\n')
        || outline::item(next.lines().next().unwrap_or_default()).is_some()
        || !next.starts_with(char::is_lowercase)
}

/// An item of a list begins where the line that introduces the list begins: "Never do this:".
fn introduced(text: &str, start: usize) -> usize {
    let line_start = text[..start].rfind('\n').map_or(0, |at| at + 1);
    let is_item = |line: &str| outline::item(line).is_some();
    if !is_item(text[line_start..].lines().next().unwrap_or_default()) {
        return start;
    }
    let mut at = line_start;
    for line in text[..line_start].split_inclusive('\n').rev() {
        at -= line.len();
        let is_indented = line.starts_with([' ', '\t']);
        if line.trim().is_empty() || is_item(line) || is_indented {
            continue;
        }
        return if line.trim_end().ends_with([':', '：']) { at } else { start };
    }
    start
}

/// Without blanks at both ends, and without the mark of an item.
fn trimmed(text: &str, place: Range<usize>) -> Range<usize> {
    let inside = &text[place.clone()];
    let line = inside.trim_start().lines().next().unwrap_or_default().trim_end();
    let mark = outline::item(line).map_or(0, |item| line.len() - item.text.len());
    let start = place.start + (inside.len() - inside.trim_start().len()) + mark;
    let end = place.start + inside.trim_end().len();
    start..end.max(start)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn widened<'a>(text: &'a str, part: &str) -> &'a str {
        let at = text.find(part).unwrap();
        &text[around(text, &(at..at + part.len()))[0].clone()]
    }

    #[test]
    fn a_quotation_is_widened_to_the_whole_sentence() {
        for (text, part, whole) in [
            ("Ok. Do not push to main! Thanks", "push to main", "Do not push to main!"),
            ("never push; unless I say so", "never push", "never push; unless I say so"),
            ("never push to main\nunless I say so", "push to main", "never push to main\nunless I say so"),
            ("never push. unless I say so. ok", "never push", "never push. unless I say so. ok"),
            ("Use e.g. Rust. Then stop.", "Rust", "Use e.g. Rust."),
            (
                "Never do this:\n- push to main\n- use mocks\nThanks",
                "use mocks",
                "Never do this:\n- push to main\n- use mocks",
            ),
            ("Two things.\n1. use tabs\n2. no mocks", "no mocks", "no mocks"),
            ("テストを書いて。本番に直接pushしないで。", "push", "本番に直接pushしないで。"),
            ("see (it fails.) Then go", "it fails", "see (it fails.)"),
        ] {
            assert_eq!(widened(text, part), whole, "{text}");
        }
    }

    #[test]
    fn without_capitals_there_is_a_narrower_range() {
        let text = "the build fails again. i have a lot of trouble with it";
        let [wide, narrow] = around(text, &(4..9));
        assert_eq!((&text[wide], &text[narrow]), (text, "the build fails again."));
    }

    #[test]
    fn the_sentence_before_is_found() {
        let text = "The release is on Friday. Not before.";
        let at = text.find("Not").unwrap();
        assert_eq!(before(text, &(at..text.len())).map(|place| &text[place]), Some("The release is on Friday."));
        assert_eq!(before(text, &(0..3)), None);
    }

    #[test]
    fn all_sentences_are_found() {
        let text = "Fix it. Always run v1.2 tests!\n- no mocks\n\n...";
        let found: Vec<&str> = all(text).into_iter().map(|place| &text[place]).collect();
        assert_eq!(found, ["Fix it.", "Always run v1.2 tests!", "no mocks"]);
    }
}
