//! Text → the terms by which it is found, the same for what is stored and what is asked.
//!
//! A word becomes its stem; a name of code (`fooBar`, `foo_bar`, `src/store/read.rs`, `--no-verify`, `c++`) becomes its
//! words and, beside them, one term for the whole. A term is never split again: signs at which SQLite's `ascii`
//! tokenizer would, are written in their full-width form, so a term is also always a safe word of an FTS5 query.

use crate::language::forms::base;
use crate::language::stem::stem;

/// A longer word is no word that anybody types.
const TERM_BYTES_MAX: usize = 64;

/// In a longer word two letters may be wrong, in a shorter one.
const LONG_WORD_CHARS: usize = 8;

/// Signs that hold the parts of one name together. `’` is written for `'`.
const JOINTS: &[char] = &['\'', '’', '.', '_', '-', '/', '\\', ':', '@', '#', '+', '&', '$', '~'];

/// Signs before a name that belong to it.
const SIGILS: &[&str] = &[".", "-", "--", "@", "#", "$", "/", "./", "../", "~/"];

/// One term of a text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Term {
    pub text: String,
    pub shape: Shape,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Shape {
    /// One word, stemmed.
    Word,
    /// A name made of words and signs.
    Whole,
}

/// What the index holds of a text: its terms, a space between them.
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

/// The terms of a text, in order; the words of a name before the whole.
pub fn terms(text: &str) -> Vec<Term> {
    let mut found = Vec::new();
    runs(text).for_each(|run| each_term(run, &mut |term| found.push(term)));
    found
}

/// The stems of a text, in order.
pub fn words(text: &str) -> Vec<String> {
    terms(text).into_iter().filter(|term| term.shape == Shape::Word).map(|term| term.text).collect()
}

/// How many letters make one word into the other, when so few that it may be the same word misspelled. Two letters
/// changed round are one mistake.
pub fn misspelling(known: &str, written: &str) -> Option<usize> {
    let (known, written): (Vec<char>, Vec<char>) = (known.chars().collect(), written.chars().collect());
    let edits_max = if written.len() < LONG_WORD_CHARS { 1 } else { 2 };
    if known.len().abs_diff(written.len()) > edits_max {
        return None;
    }
    let mut rows = vec![vec![0; written.len() + 1]; known.len() + 1];
    for a in 0..=known.len() {
        for b in 0..=written.len() {
            rows[a][b] = match (a, b) {
                (0, _) => b,
                (_, 0) => a,
                _ => {
                    let other = usize::from(known[a - 1] != written[b - 1]);
                    let least = (rows[a - 1][b] + 1).min(rows[a][b - 1] + 1).min(rows[a - 1][b - 1] + other);
                    let is_turned = a > 1 && b > 1 && known[a - 1] == written[b - 2] && known[a - 2] == written[b - 1];
                    if is_turned { least.min(rows[a - 2][b - 2] + 1) } else { least }
                }
            };
        }
    }
    Some(rows[known.len()][written.len()]).filter(|edits| *edits <= edits_max)
}

/// Stretches of letters, digits and the signs that hold names together.
fn runs(text: &str) -> impl Iterator<Item = &str> {
    text.split(|c: char| !c.is_alphanumeric() && !JOINTS.contains(&c)).filter(|run| !run.is_empty())
}

fn each_term(run: &str, found: &mut impl FnMut(Term)) {
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

/// What stands between two slashes, or a whole run that has none.
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
    // `fooBar`, `foo_bar`, `foo-bar` and `foobar` are one name written by different people.
    let is_plain = segment.chars().all(|c| c.is_alphanumeric() || c == '_' || c == '-');
    if is_plain { whole(&segment.replace(['_', '-'], ""), found) } else { whole(&segment, found) }
}

/// `Anna's` is about Anna, and `don't` is written `dont` too.
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

/// Scripts without spaces are found by pairs of letters.
fn each_word(word: &str, found: &mut impl FnMut(Term)) {
    let is_spaceless =
        |c: char| matches!(c, '\u{3040}'..='\u{30ff}' | '\u{3400}'..='\u{9fff}' | '\u{ac00}'..='\u{d7af}');
    if !word.contains(is_spaceless) {
        return push(stem(base(word)), Shape::Word, found);
    }
    let letters: Vec<char> = word.chars().collect();
    letters.windows(letters.len().min(2)).for_each(|pair| push(pair.iter().collect(), Shape::Word, found));
}

fn whole(name: &str, found: &mut impl FnMut(Term)) {
    let widen = |c: char| match c {
        // The full-width forms lie a fixed distance above ASCII.
        '!'..='~' if !c.is_ascii_alphanumeric() => char::from_u32(c as u32 + 0xfee0).unwrap_or(c),
        c => c,
    };
    push(name.to_lowercase().chars().map(widen).collect(), Shape::Whole, found);
}

fn push(text: String, shape: Shape, found: &mut impl FnMut(Term)) {
    if !text.is_empty() && text.len() <= TERM_BYTES_MAX {
        found(Term { text, shape });
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn names_of_code_keep_their_whole_beside_their_words() {
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
    fn what_is_too_long_to_be_typed_is_left_out() {
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
        fn a_term_holds_nothing_that_the_tokenizer_or_a_query_could_take_apart(text in "\\PC{0,60}|[a-zA-Z'\"*.:/+#_ -]{0,60}") {
            for term in terms(&text) {
                let is_safe = |c: char| !c.is_ascii() || c.is_ascii_lowercase() || c.is_ascii_digit();
                prop_assert!(term.text.chars().all(is_safe), "{term:?}");
                prop_assert!(!term.text.is_empty());
            }
        }

        #[test]
        fn what_is_stored_is_found_by_its_own_words(text in "[a-zA-Z0-9_./' +#-]{0,40}") {
            let joined: Vec<String> = terms(&text).into_iter().map(|term| term.text).collect();
            prop_assert_eq!(index_terms(&text), joined.join(" "));
        }
    }
}
