//! Turns text into search terms, in the same way for stored texts and queries.
//!
//! A word becomes its stem. An identifier (`fooBar`, `foo_bar`, `src/store/read.rs`, `--no-verify`, `c++`) becomes
//! its words plus one term for the whole. A term is never split again: characters at which SQLite's `ascii` tokenizer
//! would split are replaced by their full-width forms, so a term is also always a safe word in an FTS5 query.

use crate::irregular::base;
use crate::stem::stem;

/// Nobody types longer words.
const TERM_BYTES_MAX: usize = 64;

/// Words of at least this length may have two wrong letters, shorter ones only one.
const LONG_WORD_CHARS: usize = 8;

/// Characters that join the parts of one name. `’` is used for `'`.
const JOINTS: &[char] = &['\'', '’', '.', '_', '-', '/', '\\', ':', '@', '#', '+', '&', '$', '~'];

/// Prefixes that belong to a name.
const SIGILS: &[&str] = &[".", "-", "--", "@", "#", "$", "/", "./", "../", "~/"];

/// One term of a text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Term {
    pub text: String,
    pub shape: TermShape,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TermShape {
    /// One word, stemmed.
    Word,
    /// A name made of words and signs.
    Whole,
}

/// The text for the index: the terms, separated by spaces.
pub fn index_terms(text: &str) -> String {
    let mut joined = String::with_capacity(text.len() + text.len() / 4);
    for run in runs(text) {
        each_term(run, &mut |term| {
            if !joined.is_empty() {
                joined.push(' ');
            }
            joined.push_str(&term.text);
        });
    }
    joined
}

/// The terms of a text, in order; the words of a name come before the whole.
pub fn terms(text: &str) -> Vec<Term> {
    let mut found = Vec::new();
    runs(text).for_each(|run| each_term(run, &mut |term| found.push(term)));
    found
}

/// The stems of a text, in order.
pub fn words(text: &str) -> Vec<String> {
    terms(text).into_iter().filter(|term| term.shape == TermShape::Word).map(|term| term.text).collect()
}

/// The number of edits between two words, if it is small enough for a misspelling. Two swapped letters are one edit.
pub fn misspelling(known: &str, written: &str) -> Option<usize> {
    let written_chars = written.chars().count();
    let edits_max = if written_chars < LONG_WORD_CHARS { 1 } else { 2 };
    if known.chars().count().abs_diff(written_chars) > edits_max {
        return None;
    }
    Some(strsim::osa_distance(known, written)).filter(|edits| *edits <= edits_max)
}

/// Runs of letters, digits and the signs that join names.
fn runs(text: &str) -> impl Iterator<Item = &str> {
    text.split(|c: char| !c.is_alphanumeric() && !JOINTS.contains(&c)).filter(|run| !run.is_empty())
}

fn each_term(run: &str, found: &mut impl FnMut(Term)) {
    if is_one_word(run) {
        return push(stem(base(&run.to_ascii_lowercase())), TermShape::Word, found);
    }
    each_part(run, found);
}

/// Whether a run is a word like nearly all: nothing in it is to be taken apart.
fn is_one_word(run: &str) -> bool {
    let is_small = |byte: &u8| byte.is_ascii_lowercase() || byte.is_ascii_digit();
    run.as_bytes().split_first().is_some_and(|(first, rest)| first.is_ascii_alphanumeric() && rest.iter().all(is_small))
}

fn each_part(run: &str, found: &mut impl FnMut(Term)) {
    let core = run.trim_matches(|c: char| !c.is_alphanumeric());
    if core.is_empty() {
        return;
    }
    let at = run.find(core).unwrap_or(0);
    let (before, after) = (&run[..at], &run[at + core.len()..]);
    let segments = core.split(['/', '\\']).filter(|segment| !segment.is_empty());
    let count = segments.clone().map(|segment| segment_terms(segment, found)).count();
    if count > 1 {
        whole(core, found);
    }
    if SIGILS.contains(&before) {
        whole(&run[..at + core.len()], found);
    }
    let sign = if after.starts_with("++") { 2 } else { usize::from(after.starts_with('#')) };
    if sign > 0 {
        whole(&run[at..at + core.len() + sign], found);
    }
}

/// The part between two slashes, or a whole run without any.
fn segment_terms(segment: &str, found: &mut impl FnMut(Term)) {
    let segment = without_apostrophes(segment);
    let mut words = 0;
    for part in segment.split(|c: char| !c.is_alphanumeric()).filter(|part| !part.is_empty()) {
        for word in camel_words(part) {
            words += 1;
            each_word(&word.to_lowercase(), found);
        }
    }
    if words < 2 {
        return;
    }
    // `fooBar`, `foo_bar`, `foo-bar` and `foobar` are spellings of one name.
    let is_plain = segment.chars().all(|c| c.is_alphanumeric() || c == '_' || c == '-');
    if is_plain { whole(&segment.replace(['_', '-'], ""), found) } else { whole(&segment, found) }
}

/// `Anna's` is about Anna, and `don't` is also written `dont`.
fn without_apostrophes(segment: &str) -> String {
    let plain = segment.replace('’', "'");
    let owner = plain.strip_suffix("'s").or_else(|| plain.strip_suffix("'S")).unwrap_or(&plain);
    owner.replace('\'', "")
}

/// `parseHTTPHeader` → `parse`, `HTTP`, `Header`.
fn camel_words(part: &str) -> Vec<&str> {
    let chars: Vec<(usize, char)> = part.char_indices().collect();
    let begins = |at: usize| {
        let (last, this, next) = (chars[at - 1].1, chars[at].1, chars.get(at + 1).map(|(_, c)| *c));
        this.is_uppercase() && (last.is_lowercase() || (last.is_uppercase() && next.is_some_and(char::is_lowercase)))
    };
    let mut words = Vec::new();
    let mut start = 0;
    for at in (1..chars.len()).filter(|at| begins(*at)) {
        words.push(&part[start..chars[at].0]);
        start = chars[at].0;
    }
    words.push(&part[start..]);
    words
}

/// Scripts without spaces are indexed by pairs of letters.
fn each_word(word: &str, found: &mut impl FnMut(Term)) {
    let is_spaceless =
        |c: char| matches!(c, '\u{3040}'..='\u{30ff}' | '\u{3400}'..='\u{9fff}' | '\u{ac00}'..='\u{d7af}');
    if !word.contains(is_spaceless) {
        return push(stem(base(word)), TermShape::Word, found);
    }
    let letters: Vec<char> = word.chars().collect();
    letters.windows(letters.len().min(2)).for_each(|pair| push(pair.iter().collect(), TermShape::Word, found));
}

fn whole(name: &str, found: &mut impl FnMut(Term)) {
    let widen = |c: char| match c {
        // The full-width forms have a fixed distance from ASCII.
        '!'..='~' if !c.is_ascii_alphanumeric() => char::from_u32(c as u32 + 0xfee0).unwrap_or(c),
        c => c,
    };
    push(name.to_lowercase().chars().map(widen).collect(), TermShape::Whole, found);
}

fn push(text: String, shape: TermShape, found: &mut impl FnMut(Term)) {
    if !text.is_empty() && text.len() <= TERM_BYTES_MAX {
        found(Term { text, shape });
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn identifiers_give_their_words_and_the_whole() {
        for (text, expected) in [
            ("fooBar", "foo bar foobar"),
            ("foo_bar", "foo bar foobar"),
            ("foo-bar", "foo bar foobar"),
            ("parseHTTPHeader", "pars http header parsehttpheader"),
            ("c++ and C#, not c", "c c＋＋ and c c＃ not c"),
            ("don't", "dont"),
            ("Anna’s", "anna"),
            ("error-handling", "error handl errorhandling"),
            ("src/store/read.rs", "src stor read rs read．rs src／store／read．rs"),
            ("--no-verify", "no verifi noverify －－no－verify"),
            (".env", "env ．env"),
            ("std::fmt", "std fmt std：：fmt"),
            ("(\"quoted\"), [x]; y!", "quot x y"),
            ("utf8 5K", "utf8 5k"),
            ("東京都 a", "東京 京都 a"),
            ("größe", "größe"),
            ("-- ... :: ''", ""),
        ] {
            assert_eq!(index_terms(text), expected, "{text}");
        }
    }

    #[test]
    fn very_long_words_are_left_out() {
        assert_eq!(index_terms(&"xy".repeat(TERM_BYTES_MAX)), "");
    }

    #[test]
    fn misspellings_are_few_letters_away() {
        for (known, written, edits) in [
            ("cache", "cahce", Some(1)),
            ("cache", "cachee", Some(1)),
            ("cache", "caxxe", None),
            ("deployment", "deplyomnet", Some(2)),
            ("deployment", "deployment", Some(0)),
            ("größer", "grösser", None),
            ("größer", "großer", Some(1)),
        ] {
            assert_eq!(misspelling(known, written), edits, "{known} {written}");
        }
    }

    proptest! {
        #[test]
        fn a_word_that_is_not_taken_apart_gives_what_its_parts_give(word in "[A-Za-z0-9é]{1,14}") {
            let (mut whole, mut parts) = (Vec::new(), Vec::new());
            each_term(&word, &mut |term| whole.push(term));
            each_part(&word, &mut |term| parts.push(term));
            prop_assert_eq!(whole, parts);
        }

        #[test]
        fn a_term_is_never_split_by_the_tokenizer_or_a_query(text in "\\PC{0,60}|[a-zA-Z'\"*.:/+#_ -]{0,60}") {
            for term in terms(&text) {
                let is_safe = |c: char| !c.is_ascii() || c.is_ascii_lowercase() || c.is_ascii_digit();
                prop_assert!(term.text.chars().all(is_safe), "{term:?}");
                prop_assert!(!term.text.is_empty());
            }
        }

        #[test]
        fn a_stored_text_is_found_by_its_own_words(text in "[a-zA-Z0-9_./' +#-]{0,40}") {
            let joined: Vec<String> = terms(&text).into_iter().map(|term| term.text).collect();
            prop_assert_eq!(index_terms(&text), joined.join(" "));
        }
    }
}
