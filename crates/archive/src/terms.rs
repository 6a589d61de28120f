//! What the index holds of a line: its hash, the files that it names, and the words of its passages. Pure, so that it can
//! be made on another thread than the one that writes the index.

use cerberus_agents::conversation::{PartKind, PartRef, each_part};
use cerberus_record::id::fnv1a;
use cerberus_record::time::Timestamp;
use cerberus_text::terms::index_terms;
use serde_json::Value;

/// How much text a passage has. Words that are further apart are not found together.
pub const PASSAGE_BYTES: usize = 1_500;

/// How much of the next passage belongs to one: words that stand together are found together.
const SHARED_BYTES: usize = 120;

/// The kinds of parts that are searched, by number. The number is stored.
pub const KINDS: [PartKind; 6] =
    [PartKind::Prompt, PartKind::Message, PartKind::Thought, PartKind::Call, PartKind::Output, PartKind::Error];

/// A line as it is stored, and what is indexed of it.
pub(crate) struct StoredLine {
    pub text: String,
    pub terms: LineTerms,
}

impl StoredLine {
    /// What it takes in memory.
    pub fn bytes(&self) -> usize {
        self.text.len() + self.terms.passages.iter().map(|passage| passage.words.len()).sum::<usize>()
    }
}

/// What is indexed of one line.
#[derive(Debug, Default)]
pub struct LineTerms {
    pub hash: u64,
    pub bytes: usize,
    pub at: Option<Timestamp>,
    pub files: Vec<String>,
    pub passages: Vec<PassageTerms>,
}

#[derive(Debug)]
pub struct PassageTerms {
    /// The number of its part in the line, and where in it the passage begins.
    pub part: usize,
    pub start: usize,
    /// The number of its kind.
    pub kind: usize,
    /// Every word once, separated by spaces.
    pub words: String,
}

impl LineTerms {
    pub fn of(line: &str) -> LineTerms {
        match serde_json::from_slice(line.as_bytes()) {
            Ok(value) => LineTerms::of_value(line, &value),
            Err(_) => LineTerms { hash: line_hash(line), bytes: line.len(), ..LineTerms::default() },
        }
    }

    /// The same for a line that was parsed.
    pub fn of_value(line: &str, value: &Value) -> LineTerms {
        let (hash, bytes) = (line_hash(line), line.len());
        let (mut found, mut number) = (LineTerms { hash, bytes, ..LineTerms::default() }, 0);
        each_part(value, &mut |part| {
            found.add(number, part);
            number += 1;
        });
        found
    }

    fn add(&mut self, number: usize, part: PartRef) {
        self.at = part.at.or(self.at);
        self.files.extend(part.file.filter(|file| !file.is_empty()));
        let Some(kind) = KINDS.iter().position(|kind| *kind == part.kind) else { return };
        for (start, text) in passages(&part.text) {
            let words = words_of(text);
            if !words.is_empty() {
                self.passages.push(PassageTerms { part: number, start, kind, words });
            }
        }
    }
}

/// A hash of a line, by which the same line of another session is found.
pub fn line_hash(line: &str) -> u64 {
    fnv1a(line.as_bytes())
}

fn words_of(text: &str) -> String {
    let terms = index_terms(text);
    let mut words: Vec<&str> = terms.split(' ').collect();
    words.sort_unstable();
    words.dedup();
    words.join(" ")
}

/// The passages of a text, each with its offset. They end with a line where they can, else with a word.
pub fn passages(text: &str) -> impl Iterator<Item = (usize, &str)> {
    let mut start = 0;
    std::iter::from_fn(move || {
        let rest = text.get(start..).filter(|rest| !rest.is_empty())?;
        let longest = rest.floor_char_boundary(PASSAGE_BYTES);
        if longest == rest.len() {
            start = text.len();
            return Some((text.len() - rest.len(), rest));
        }
        let end = rest[..longest].rfind('\n').or_else(|| rest[..longest].rfind(' ')).map_or(longest, |at| at + 1);
        let shared = &rest[end..rest.floor_char_boundary(end + SHARED_BYTES)];
        let shared = if end + shared.len() == rest.len() {
            shared.len()
        } else {
            shared.rfind([' ', '\n']).unwrap_or(shared.len())
        };
        let found = (start, &rest[..end + shared]);
        start += end;
        Some(found)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_passage_cuts_no_word_and_words_that_stand_together_are_in_one() {
        let words: Vec<String> = (0..2_000).map(|number| format!("word{number}")).collect();
        for between in [" ", "\n"] {
            let text = words.join(between);
            let all: Vec<(usize, &str)> = passages(&text).collect();
            assert!(all.iter().all(|(start, shown)| text[*start..].starts_with(shown)), "{all:?}");
            assert!(all.iter().all(|(_, shown)| shown.len() <= PASSAGE_BYTES + SHARED_BYTES));
            for three in words.windows(3) {
                let phrase = three.join(between);
                assert!(all.iter().any(|(_, shown)| shown.contains(&phrase)), "{phrase}");
            }
        }
        // No spaces, and characters of several bytes.
        let text = "東京".repeat(2_000);
        assert!(passages(&text).all(|(start, shown)| text[start..].starts_with(shown)));
        assert_eq!(passages("").count(), 0);
    }
}
