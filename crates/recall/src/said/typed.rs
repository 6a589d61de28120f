//! What of a prompt the user typed: no blocks, code, logs, diffs, quotations, pasted reviews and documents, and none of our
//! own lines.
//!
//! It judges by form alone and leaves out too much rather than too little. What is left out becomes blanks, so that a
//! place in the result is the same place in the prompt.

use std::ops::Range;
use std::sync::LazyLock;

use cerberus_record::clean::text::words;
use cerberus_record::ours::ours;
use cerberus_text::outline::{self, item};
use cerberus_text::words::{Set, is_unspaced};

use super::pasted;

/// Fewer words after a colon may still be the user's.
const HANDED_WORDS_MIN: usize = 6;

/// A prompt that begins like this was written by the agent.
const FOREIGN_OPENINGS: &[&str] = &[
    "This session is being continued from",
    "Caveat: The messages below",
    "Operation stopped by hook",
    "Base directory for this skill",
];
/// The text after one of these was written by the agent.
pub(crate) const FOREIGN_REST: &[&str] =
    &["Implement the following plan:", "Implement this plan:", "Here is the plan:"];
/// A line that contains one of these and ends with a colon introduces someone else's words.
static HANDING_OVER: LazyLock<Set> = LazyLock::new(|| {
    Set::new(
        "feedback|comment|comments|review|says|said|output|message|suggestion|suggests|suggested|finding|\
    findings|log|logs|wrote|report|reported|response|error|errors|warning|explain|suggestions|quote|prompt|\
    description|spec|transcript|snippet|diff|text|email|result|results|running|shows",
    )
});
/// One of these may also introduce the user's own words, on the same line or as a list.
static POINTING: LazyLock<Set> = LazyLock::new(|| Set::new("answer|at|code|following|this|like"));

/// `prompt` with blanks in place of everything that the user did not type.
pub fn typed(prompt: &str) -> String {
    let text = without_blocks(prompt);
    if FOREIGN_OPENINGS.iter().any(|opening| text.trim_start().starts_with(opening)) {
        return blanked(&text, std::iter::once(0..text.len()));
    }
    let end = FOREIGN_REST.iter().filter_map(|rest| text.find(rest)).min().unwrap_or(text.len());
    let mut left_out: Vec<Range<usize>> = std::iter::once(end..text.len()).collect();
    let mut at = 0;
    for (line, is_code) in text[..end].split_inclusive('\n').zip(outline::in_code(&text[..end])) {
        let place = at..at + line.len();
        at = place.end;
        if is_code || is_pasted(line) {
            left_out.push(place);
        } else if is_heading(line) {
            // Nobody types a document with headings into a prompt.
            left_out.push(place.start..end);
            break;
        } else if let Some(mine) = handed_over(line, &text[at..end]) {
            left_out.push(place.start + mine..end);
            break;
        }
    }
    blanked(&text, left_out)
}

/// `prompt` with blanks in place of blocks and of our own lines.
pub(crate) fn without_blocks(prompt: &str) -> String {
    blanked(prompt, blocks(prompt).into_iter().chain(ours(prompt)))
}

/// `text` with blanks in these places. Line breaks stay.
fn blanked(text: &str, places: impl IntoIterator<Item = Range<usize>>) -> String {
    let mut bytes = text.as_bytes().to_vec();
    for place in places {
        bytes[place].iter_mut().filter(|byte| **byte != b'\n').for_each(|byte| *byte = b' ');
    }
    // Every place begins and ends with a character.
    String::from_utf8(bytes).unwrap_or_default()
}

/// The `<tag>…</tag>` blocks of a text.
fn blocks(text: &str) -> Vec<Range<usize>> {
    let (mut found, mut from) = (Vec::new(), 0);
    while let Some(open) = text[from..].find('<').map(|at| from + at) {
        let begins_line = open == 0 || text[..open].ends_with('\n');
        let length = block_len(&text[open..], begins_line);
        found.extend(length.map(|length| open..open + length));
        from = open + length.unwrap_or(1);
    }
    found
}

/// The length of the block that `text` begins with. A block that begins a line and is never closed extends to the end.
fn block_len(text: &str, begins_line: bool) -> Option<usize> {
    let name_len = text[1..].find(|c: char| !(c.is_ascii_alphanumeric() || matches!(c, '-' | '_')))?;
    let name = &text[1..1 + name_len];
    if !name.starts_with(|c: char| c.is_ascii_alphabetic()) || !text[1 + name_len..].starts_with(['>', ' ', '\n', '/'])
    {
        return None;
    }
    let close = format!("</{name}>");
    match text.find(&close) {
        Some(at) => Some(at + close.len()),
        None => (begins_line && name.contains('-') && text[1 + name_len..].starts_with('>')).then_some(text.len()),
    }
}

fn is_heading(line: &str) -> bool {
    let marks = line.bytes().take_while(|byte| *byte == b'#').count();
    (1..=6).contains(&marks) && line[marks..].starts_with(' ')
}

/// "I got this feedback: …": how much of the line is the user's, if the rest is someone else's.
fn handed_over(line: &str, below: &str) -> Option<usize> {
    let text = line.trim_end();
    let is_colon = |at: &usize| text.len() == at + 1 || text[at + 1..].starts_with(' ');
    let is_own_list = || below.lines().find(|line| !line.trim().is_empty()).is_some_and(|line| item(line).is_some());
    let hands_over = |at: &usize| {
        let sentence = text[..*at].rsplit(". ").next().unwrap_or_default();
        let sentence = sentence.rsplit(['!', '?']).next().unwrap_or_default();
        // "As I said: …" is the user's.
        let low = sentence.to_lowercase().replace("i said", "");
        words(&low).any(|word| HANDING_OVER.has(&word))
            || pasted::begins_with_verb(low.trim_start())
            || text.len() == at + 1 && words(&low).any(|word| POINTING.has(&word)) && !is_own_list()
    };
    let colon = text.match_indices(':').map(|(at, _)| at).filter(is_colon).find(hands_over)?;
    let theirs = &text[colon + 1..];
    let is_much = theirs.is_empty() || theirs.split_whitespace().count() > HANDED_WORDS_MIN;
    is_much.then_some(colon)
}

const PASTED_STARTS: &[&str] = &[
    ">",
    "❯",
    "$ ",
    "% ",
    "[Request interrupted",
    "[Image",
    "at ",
    "File \"",
    "Traceback",
    "---",
    "+++",
    "@@",
    "diff --git",
    "fatal:",
    "error:",
    "error[",
    "Error:",
    "ERROR",
    "FAIL",
    "PASS",
    "ok  \t",
    "warning:",
    "WARN",
    "INFO",
    "DEBUG",
    "//",
    "/*",
    "*/",
    "===",
    "import ",
    "func ",
    "def ",
    "fn ",
    "return ",
    "const ",
    "let mut ",
    "var ",
    "public ",
    "private ",
    "#!",
    "|",
    "│",
    "╭",
    "╰",
    "├",
    "└",
    "✓",
    "✗",
    "⏺",
    "⎿",
    "●",
    "+ ",
    "+\t",
    "panic:",
    "goroutine ",
    "npm ERR",
];

/// Code, logs, diffs, shell prompts, quotations.
fn is_pasted(line: &str) -> bool {
    let text = line.trim();
    if text.is_empty() {
        return false;
    }
    let indent = line.len() - line.trim_start().len();
    // In a terminal, a backslash before the end of a line is how people type several lines.
    let text = text.trim_end_matches('\\').trim_end();
    let is_address = text.starts_with("http") && text.contains("://") && !text.contains(char::is_whitespace);
    let is_comment = item(text).is_some_and(|item| item.text.starts_with("//") || item.text.starts_with("/*"));
    is_comment
        || is_address
        || PASTED_STARTS.iter().any(|start| text.starts_with(start))
        || text.ends_with(['{', '}', ';'])
        || (indent >= 4 && item(text).is_none())
        || is_stamped(text)
        || is_dense(text)
}

/// `12:04:59 …`, `2026-01-05T…`: a log.
fn is_stamped(text: &str) -> bool {
    let first = text.trim_start_matches('[').split_whitespace().next().unwrap_or_default();
    let marks = first.bytes().filter(|byte| matches!(byte, b':' | b'-')).count();
    let digits = first.bytes().filter(u8::is_ascii_digit).count();
    marks >= 2 && digits >= 4 && digits * 2 >= first.len()
}

/// More than half of it is not plain words.
fn is_dense(text: &str) -> bool {
    let mut chunks = 0;
    let mut plain = 0;
    for chunk in text.split_whitespace() {
        chunks += 1;
        let core = chunk.trim_matches(|c: char| c.is_ascii_punctuation() || matches!(c, '“' | '”' | '‘' | '’' | '…'));
        let is_plain = core.chars().all(|c| c.is_alphabetic() || matches!(c, '\'' | '’' | '-' | '/'));
        // A script without blanks has few chunks.
        plain += usize::from(is_plain && !core.is_empty() || core.contains(is_unspaced));
    }
    chunks >= 4 && plain * 2 < chunks
}
