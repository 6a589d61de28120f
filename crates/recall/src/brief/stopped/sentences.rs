//! Splits a message into the sentences that can be quoted: no code, no markup. A heading is kept with its list, because
//! what stands below `Next steps` is not done.

use cerberus_record::clean::text::{excerpt, line};
use cerberus_record::id::fnv1a;
use cerberus_text::{outline, tokens};
use serde::{Deserialize, Serialize};

/// Longer sentences end at a clause, or at a word if no clause ends.
pub(super) const SENTENCE_CHARS_MAX: usize = 240;
/// Anything shorter says nothing on its own.
const SENTENCE_CHARS_MIN: usize = 4;
/// Fewer letters are not a word.
const WORD_CHARS_MIN: usize = 3;

/// A sentence with what is compared.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Sentence {
    pub text: String,
    /// What the list that it is in is called; empty if nothing stands directly above the list.
    pub heading: String,
    /// The first sentence of an item of a list.
    pub begins_item: bool,
    /// A row of a table.
    pub is_row: bool,
    /// How many names of files, functions and the like it has.
    pub names: usize,
    pub tokens: usize,
    /// Hashes of its words, each once.
    pub words: Vec<u64>,
}

pub(super) fn sentences(text: &str) -> Vec<Sentence> {
    let mut found = Vec::new();
    let mut heading = String::new();
    let lines = outline::prose(text);
    for (at, paragraph) in lines.iter().copied().enumerate() {
        let item = outline::item(paragraph);
        let body = item.as_ref().map_or(paragraph.trim(), |item| item.text);
        let is_row = body.starts_with('|');
        match () {
            () if is_label(paragraph) => heading = heading_of(paragraph),
            // What is indented explains the item before it.
            () if item.is_some() || is_row || body.is_empty() || paragraph.starts_with(' ') => {}
            () => heading.clear(),
        }
        // The head of a table names its columns.
        let is_head = is_row && lines.get(at + 1).is_some_and(|next| is_line(next.trim()));
        if body.is_empty() || is_label(paragraph) || is_line(body) || is_head || is_directive(body) {
            continue;
        }
        let body = outline::plain(body);
        let body = if is_row { body.trim_matches('|').replace('|', " – ") } else { body };
        for (number, sentence) in split(&body).into_iter().enumerate() {
            // A list in a list, or a row whose first cell is empty.
            let sentence = sentence.strip_prefix("- ").or_else(|| sentence.strip_prefix("– ")).unwrap_or(sentence);
            let names = names(sentence);
            let text = line(&sentence.replace('`', ""), SENTENCE_READ_MAX);
            let Some(text) = excerpt(&text, SENTENCE_CHARS_MAX) else { continue };
            if text.chars().count() >= SENTENCE_CHARS_MIN && text.contains(char::is_alphanumeric) {
                found.push(Sentence {
                    tokens: tokens::line(&text),
                    words: words(&text),
                    text: text.into_owned(),
                    heading: heading.clone(),
                    begins_item: item.is_some() && number == 0,
                    is_row,
                    names,
                });
            }
        }
    }
    found
}

/// More of a sentence is not read.
const SENTENCE_READ_MAX: usize = 1_000;

/// It has two words, or one of a language that does not separate them.
pub(super) fn says_something(text: &str) -> bool {
    let words = text.split(|c: char| !c.is_alphabetic()).filter(|word| word.chars().count() >= WORD_CHARS_MIN);
    words.count() >= 2 || text.contains(|c: char| c >= '\u{3000}')
}

/// Nothing but the marks of a line.
fn is_line(body: &str) -> bool {
    !body.is_empty() && body.chars().all(|c| matches!(c, '|' | '-' | ':' | ' ' | '=' | '*'))
}

/// What an agent tells its client, such as `::git-push{branch="main"}`.
fn is_directive(body: &str) -> bool {
    body.starts_with("::") && body.ends_with('}')
}

/// A heading or a label such as `**Changes:**` names what follows; it says nothing itself.
fn is_label(line: &str) -> bool {
    outline::heading(line).is_some() || matches!(outline::label(line), Some((_, "")))
}

/// The words of a line that names what follows; empty if it is a whole sentence, which would cost more than it tells.
fn heading_of(label: &str) -> String {
    let words = outline::heading(label).map_or(label, |(_, words)| words);
    let words = outline::plain(words).replace('`', "");
    let words = words.trim().trim_end_matches([':', '：']).trim_end();
    if words.chars().count() > HEADING_CHARS_MAX { String::new() } else { line(words, HEADING_CHARS_MAX) }
}

/// What is longer is no heading.
const HEADING_CHARS_MAX: usize = 32;

/// Cuts at a full stop, question mark, exclamation mark or semicolon that a space follows, and at those of Chinese and
/// Japanese, which nothing follows.
fn split(text: &str) -> Vec<&str> {
    let (mut parts, mut start) = (Vec::new(), 0);
    let mut chars = text.char_indices().peekable();
    while let Some((at, c)) = chars.next() {
        let is_end = match c {
            '.' | '!' | '?' | ';' => chars.peek().is_none_or(|(_, next)| next.is_whitespace()),
            '。' | '！' | '？' | '；' => true,
            _ => false,
        };
        if is_end {
            parts.push(text[start..at + c.len_utf8()].trim());
            start = at + c.len_utf8();
        }
    }
    parts.push(text[start..].trim());
    parts.retain(|part| !part.is_empty());
    parts
}

/// How many words look like the name of something in the code.
fn names(sentence: &str) -> usize {
    sentence.split_whitespace().filter(|word| is_name(word)).count()
}

pub(super) fn is_name(word: &str) -> bool {
    if word.contains('`') {
        return true;
    }
    let word = word.trim_matches(|c: char| !(c.is_alphanumeric() || c == '#' || c == '_'));
    let bytes = word.as_bytes();
    let has_hump = bytes.windows(2).any(|pair| pair[0].is_ascii_lowercase() && pair[1].is_ascii_uppercase());
    let joins = |joint: &[u8]| {
        bytes.windows(3).any(|three| {
            joint.contains(&three[1]) && three[0].is_ascii_alphanumeric() && three[2].is_ascii_alphabetic()
        })
    };
    let is_number = word.strip_prefix('#').is_some_and(|rest| rest.starts_with(|c: char| c.is_ascii_digit()));
    has_hump || joins(b"_./") || is_number
}

/// Hashes of the words of a sentence, each once.
pub(super) fn words(sentence: &str) -> Vec<u64> {
    let words = sentence.split(|c: char| !c.is_alphanumeric()).filter(|word| word.chars().count() >= WORD_CHARS_MIN);
    let mut lower = String::new();
    let hash = |word: &str| {
        if !word.is_ascii() {
            return fnv1a(word.to_lowercase().as_bytes());
        }
        lower.clear();
        lower.push_str(word);
        lower.make_ascii_lowercase();
        fnv1a(lower.as_bytes())
    };
    let mut hashes: Vec<u64> = words.map(hash).collect();
    hashes.sort_unstable();
    hashes.dedup();
    hashes
}

#[cfg(test)]
mod tests {
    use super::*;

    fn texts(message: &str) -> Vec<String> {
        sentences(message).into_iter().map(|sentence| sentence.text).collect()
    }

    #[test]
    fn code_headings_and_markup_are_left_out() {
        let message = "## Summary\n\nThe limiter works. It uses `takeToken`; the burst test fails!\n\n```rust\nlet x = 1;\n```\n\
            **Remaining:**\n- **Document** the limiter\n1. Ship it\n\n| file | state |\n|---|---|\n| a.rs | done |\n::git-push{cwd=\"/x y\" branch=\"main\"}\nok";
        assert_eq!(
            texts(message),
            [
                "The limiter works.",
                "It uses takeToken;",
                "the burst test fails!",
                "Document the limiter",
                "Ship it",
                "a.rs – done"
            ]
        );
        assert_eq!(texts("終わりました。次はテストです。"), ["終わりました。", "次はテストです。"]);
        assert_eq!(texts("version 1.2.3 is out"), ["version 1.2.3 is out"]);
        assert_eq!(texts(&"longer".repeat(100)), [""; 0]);
        let dictated = "so please take the parser and make it read the whole file at once ".repeat(5);
        let [told] = &texts(&dictated)[..] else { panic!("{:?}", texts(&dictated)) };
        assert!(told.starts_with("so please take") && told.ends_with(" make it…"), "{told}");
    }

    #[test]
    fn a_heading_belongs_to_the_list_directly_below_it() {
        let message = "## Done\n\nThe limiter works.\n\n**Next steps:**\n\n1. Document it\n   in the README\n2. Ship it\n\n\
            All tests pass.\n- no heading\n\nHere is a summary of everything that was done:\n- this\n\nWhat is left before the release:\n- `tag` it\n";
        let found: Vec<(String, String)> =
            sentences(message).into_iter().map(|sentence| (sentence.heading, sentence.text)).collect();
        let expected = [
            ("", "The limiter works."),
            ("Next steps", "Document it"),
            ("Next steps", "in the README"),
            ("Next steps", "Ship it"),
            ("", "All tests pass."),
            ("", "no heading"),
            ("", "this"),
            ("What is left before the release", "tag it"),
        ];
        assert_eq!(found, expected.map(|(heading, text)| (heading.to_string(), text.to_string())));
    }

    #[test]
    fn one_word_alone_says_nothing() {
        for (text, expected) in [("Done.", false), ("✅ ok", false), ("It works now.", true), ("終わり", true)] {
            assert_eq!(says_something(text), expected, "{text}");
        }
    }

    #[test]
    fn names_of_the_code_are_counted() {
        for (sentence, count) in [
            ("The limiter works.", 0),
            ("takeToken in limiter.mjs is `new`, see #12", 4),
            ("It is e.g. a test. Done", 1),
            ("src/a and snake_case", 2),
            ("either/or", 1),
            ("1.5 seconds, 3/4", 0),
        ] {
            assert_eq!(names(sentence), count, "{sentence}");
        }
    }

    #[test]
    fn words_are_compared_without_case_and_once() {
        assert_eq!(words("The test, the TEST of it"), words("test the"));
        assert_eq!(words("a of"), [0; 0]);
    }
}
