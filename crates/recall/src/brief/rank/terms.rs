//! The words that paths and prompts share, and the paths that a text names.

use std::borrow::Cow;
use std::collections::HashSet;

use cerberus_record::map::FastSet;

use crate::said::typed::without_blocks;

/// Words that do not identify a file, sorted.
const STOP_WORDS: &[&str] = &[
    "add", "all", "also", "an", "and", "any", "are", "as", "at", "be", "but", "by", "can", "change", "code", "com",
    "could", "did", "do", "does", "dont", "error", "file", "files", "fix", "for", "from", "get", "had", "has", "have",
    "how", "http", "https", "if", "in", "into", "is", "issue", "it", "its", "just", "let", "lets", "like", "make",
    "me", "my", "need", "new", "not", "now", "of", "on", "one", "or", "our", "please", "should", "so", "some", "that",
    "the", "their", "them", "then", "there", "these", "they", "this", "to", "update", "us", "use", "want", "was", "we",
    "were", "what", "when", "where", "which", "who", "why", "will", "with", "would", "www", "you", "your",
];

/// The longest stop word.
const STOP_WORD_BYTES_MAX: usize = 6;

const ENDINGS: [&str; 5] = ["ing", "ies", "ed", "es", "s"];
const STEM_CHARS_MIN: usize = 3;

/// What a prompt is about: without the blocks that clients add and without addresses of web pages. Of a slash command,
/// only its arguments.
pub fn topic(prompt: &str) -> String {
    let text = match prompt.split_once("<command-args>").and_then(|(_, rest)| rest.split_once("</command-args>")) {
        Some((arguments, _)) => arguments.to_string(),
        None => without_blocks(prompt),
    };
    let mut words: Vec<&str> = text.split_whitespace().collect();
    let is_command = |word: &&str| word.strip_prefix('/').is_some_and(|name| !name.contains('/'));
    if words.first().is_some_and(is_command) {
        words.remove(0);
    }
    words.into_iter().map(without_address).collect::<Vec<_>>().join(" ")
}

/// `[a.rs](https://example.com/a)` gives `[a.rs](`.
fn without_address(word: &str) -> &str {
    let before = word.find("://").map(|at| &word[..at]);
    before.map_or(word, |before| before.trim_end_matches(|c: char| c.is_ascii_alphabetic()))
}

/// `parseHTTPHeaders_test.go` gives `parse`, `httpheader`, `test`, `go`: split at case changes and punctuation, in
/// lower case, without endings.
pub fn terms(text: &str) -> FastSet<String> {
    let mut found = FastSet::default();
    each_term(text, |term| {
        if !found.contains(&*term) {
            found.insert(term.into_owned());
        }
    });
    found
}

/// The same one by one, including repetitions. This is fast, because a prompt is compared with every path of a
/// project: a word that is written in lower case is not copied.
pub fn each_term<'t>(text: &'t str, mut take: impl FnMut(Cow<'t, str>)) {
    if text.is_ascii() {
        return each_ascii_term(text, take);
    }
    let mut word = String::new();
    let mut before = ' ';
    for c in text.chars().chain(std::iter::once(' ')) {
        let is_hump = c.is_uppercase() && (before.is_lowercase() || before.is_ascii_digit());
        if is_hump || !c.is_alphanumeric() {
            if word.len() > 1 && word.chars().nth(1).is_some() && !is_stop_word(&word) {
                take(stem(Cow::Owned(word.clone())));
            }
            word.clear();
        }
        match c {
            _ if !c.is_alphanumeric() => {}
            _ if c.is_ascii() => word.push(c.to_ascii_lowercase()),
            _ => word.extend(c.to_lowercase()),
        }
        before = c;
    }
}

/// The same for nearly every path, without looking anything up in the tables of Unicode.
fn each_ascii_term<'t>(text: &'t str, mut take: impl FnMut(Cow<'t, str>)) {
    let bytes = text.as_bytes();
    let (mut start, mut is_lower) = (0, true);
    for end in 0..=bytes.len() {
        let class = bytes.get(end).map_or(Class::Other, |byte| Class::of(*byte));
        let before = end.checked_sub(1).map_or(Class::Other, |before| Class::of(bytes[before]));
        let is_hump = class == Class::Upper && matches!(before, Class::Lower | Class::Digit);
        if is_hump || class == Class::Other {
            let word = &text[start..end];
            let word = if is_lower { Cow::Borrowed(word) } else { Cow::Owned(word.to_ascii_lowercase()) };
            if word.len() > 1 && !is_stop_word(&word) {
                take(stem(word));
            }
            start = if is_hump { end } else { end + 1 };
            is_lower = true;
        }
        is_lower &= class != Class::Upper;
    }
}

/// What words are made of.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Class {
    Upper,
    Lower,
    Digit,
    Other,
}

impl Class {
    fn of(byte: u8) -> Class {
        const CLASSES: [Class; 256] = {
            let mut classes = [Class::Other; 256];
            let mut byte = 0;
            while byte < 128 {
                classes[byte as usize] = match byte {
                    b'A'..=b'Z' => Class::Upper,
                    b'a'..=b'z' => Class::Lower,
                    b'0'..=b'9' => Class::Digit,
                    _ => Class::Other,
                };
                byte += 1;
            }
            classes
        };
        CLASSES[usize::from(byte)]
    }
}

fn is_stop_word(word: &str) -> bool {
    let Some(initial @ b'a'..=b'z') = word.bytes().next().filter(|_| word.len() <= STOP_WORD_BYTES_MAX) else {
        return false;
    };
    let (first, after) =
        (STOP_WORDS_FROM[usize::from(initial - b'a')], STOP_WORDS_FROM[usize::from(initial - b'a') + 1]);
    STOP_WORDS[first..after].contains(&word)
}

/// Where the stop words with each initial begin, and where the last ones end.
const STOP_WORDS_FROM: [usize; 27] = {
    let mut from = [0; 27];
    let mut letter = 0;
    while letter < 27 {
        let mut place = 0;
        while place < STOP_WORDS.len() && STOP_WORDS[place].as_bytes()[0] < b'a' + letter as u8 {
            place += 1;
        }
        from[letter] = place;
        letter += 1;
    }
    from
};

fn stem(word: Cow<str>) -> Cow<str> {
    let bare = |ending: &&str| word.strip_suffix(*ending).map(str::len).filter(|length| *length >= STEM_CHARS_MIN);
    let Some(length) = ENDINGS.iter().find_map(bare) else { return word };
    match word {
        Cow::Borrowed(word) => Cow::Borrowed(&word[..length]),
        Cow::Owned(mut word) => {
            word.truncate(length);
            Cow::Owned(word)
        }
    }
}

/// Path-like or file-name-like words in a text, in lower case: `@src/a.rs`, `/home/me/p/src/a.rs:12`, `a.rs`.
pub fn path_like(text: &str) -> HashSet<String> {
    let is_part = |c: char| c.is_alphanumeric() || "._@+~-/".contains(c);
    let tokens = text.split(|c: char| !is_part(c));
    let bare = tokens.map(|token| token.trim_matches(['.', '@', '/', '~', '+', '-'].as_slice()));
    let is_path = |token: &&str| token.len() > 3 && token.contains(['.', '/']);
    bare.filter(is_path).map(str::to_lowercase).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_split_at_case_changes_and_punctuation() {
        for (text, expected) in [
            ("src/parseHeaders_test.go", vec!["go", "header", "parse", "src", "test"]),
            ("Please repair the parsers!", vec!["parser", "repair"]),
            ("utf8Reader", vec!["reader", "utf8"]),
            ("a I x", vec![]),
        ] {
            let mut found: Vec<String> = terms(text).into_iter().collect();
            found.sort();
            assert_eq!(found, expected, "{text}");
        }
    }

    #[test]
    fn words_of_ascii_are_those_of_any_text() {
        for text in ["src/parseHTTPHeaders_test.go", "Fix you and E2E2x, aB1C dóes", "a.b__C-d9F", "", "THE Parser"] {
            let read = |text: &str| {
                let mut found = Vec::new();
                each_term(text, |term| found.push(term.into_owned()));
                found
            };
            let other = read(&format!("{text} é"));
            assert_eq!(read(text), other, "{text}");
        }
    }

    #[test]
    fn stop_words_are_ignored() {
        assert!(STOP_WORDS.is_sorted());
        assert_eq!(STOP_WORDS.iter().map(|word| word.len()).max(), Some(STOP_WORD_BYTES_MAX));
        assert!(STOP_WORDS.iter().all(|word| is_stop_word(word)) && !is_stop_word("parser") && !is_stop_word("über"));
        assert_eq!(terms("you and your parsers"), terms("parsers"));
    }

    #[test]
    fn the_topic_of_a_prompt_is_what_was_asked() {
        for (prompt, expected) in [
            ("fix\n  a.rs", "fix a.rs"),
            ("see https://example.com/src/b.rs and @https://a.b", "see  and @"),
            ("[a.rs](https://example.com/x) fails", "[a.rs]( fails"),
            ("/review src/a.rs", "src/a.rs"),
            ("/context", ""),
            ("/home/me/src/a.rs fails", "/home/me/src/a.rs fails"),
            ("<command-name>/review</command-name><command-args>the store</command-args>", "the store"),
            ("<command-name>/clear</command-name>", ""),
            ("<system-reminder>read b.rs</system-reminder>fix a.rs", "fix a.rs"),
        ] {
            assert_eq!(topic(prompt), expected, "{prompt}");
        }
    }

    #[test]
    fn paths_are_recognised_by_their_form() {
        for (text, expected) in [
            ("look at @src/A.rs:12, then `b.rs`.", vec!["b.rs", "src/a.rs"]),
            ("in (/home/me/p/lib/) e.g. now", vec!["home/me/p/lib"]),
            ("nothing here... really", vec![]),
        ] {
            let mut found: Vec<String> = path_like(text).into_iter().collect();
            found.sort();
            assert_eq!(found, expected, "{text}");
        }
    }
}
