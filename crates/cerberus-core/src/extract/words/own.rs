//! The user's own words in a prompt, without blocks, code, logs, diffs, quotations, pasted reviews and documents, and
//! without our own codes.
//!
//! It judges by form alone and prefers to leave out too much. It remembers one thing it left out: the first line that
//! reports a failure, for a call for help that has no other words.

use std::sync::LazyLock;

use crate::clean::text::{clip, words};
use crate::extract::injected::without_ours;
use crate::language::matcher::Set;
use crate::language::outline::item;
use crate::language::speech::FAULTS;

/// A prompt with more lines was not typed; the user's words are at its beginning and end.
const HEAD_LINES_MAX: usize = 60;
const TAIL_LINES_MAX: usize = 20;
/// Sentences are joined across line breaks up to this length.
const JOINED_BYTES_MAX: usize = 600;
/// What is pasted is known after this much.
const PASTED_BYTES_MAX: usize = 1500;
/// Fewer words after a colon may still be the user's.
const HANDED_WORDS_MIN: usize = 6;

#[derive(Debug, Default)]
pub(crate) struct OwnWords<'a> {
    pub lines: Vec<String>,
    /// The beginning of what is pasted.
    pub pasted: String,
    /// The first pasted line that reports a failure.
    pub fault: Option<&'a str>,
}

/// A prompt that begins like this was written by the agent.
const FOREIGN_OPENINGS: &[&str] = &[
    "This session is being continued from",
    "Caveat: The messages below",
    "Operation stopped by hook",
    "Base directory for this skill",
];
/// The text after one of these was written by the agent.
const FOREIGN_REST: &[&str] = &["Implement the following plan:", "Implement this plan:", "Here is the plan:"];
/// A line that contains one of these and ends with a colon introduces someone else's words.
static HANDING_OVER: LazyLock<Set> = LazyLock::new(|| {
    Set::new(
        "feedback|comment|comments|review|says|said|output|message|suggestion|suggests|suggested|finding|\
    findings|log|logs|wrote|report|reported|response|answer|error|errors|warning|at|explain|suggestions|quote|prompt|\
    following|description|spec|transcript|this|like|snippet|code|diff|text|email|result|results|running|shows",
    )
});

/// `text` without its `<tag>…</tag>` blocks and our own lines; the input of [`own`].
pub(crate) fn without_blocks(prompt: &str) -> String {
    let text = without_ours(prompt);
    let mut out = String::with_capacity(text.len());
    let mut rest = &*text;
    while let Some(open) = rest.find('<') {
        let (before, tagged) = rest.split_at(open);
        out.push_str(before);
        rest = match block_len(tagged, before.is_empty() || before.ends_with('\n')) {
            Some(len) => &tagged[len..],
            None => {
                out.push('<');
                &tagged[1..]
            }
        };
    }
    out.push_str(rest);
    out
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

/// The lines of `text` (without blocks) that the user typed.
pub(crate) fn own(text: &str) -> OwnWords<'_> {
    let mut own = OwnWords::default();
    let trimmed = text.trim_start();
    if FOREIGN_OPENINGS.iter().any(|opening| trimmed.starts_with(opening)) {
        return own;
    }
    let end = FOREIGN_REST.iter().filter_map(|rest| text.find(rest)).min();
    let mut lines = text[..end.unwrap_or(text.len())].lines();
    let mut fenced = false;
    while let Some(line) = lines.next() {
        if is_fence(line) {
            fenced = !fenced;
        } else if fenced || is_pasted(line) {
            own.leave_out(line);
            own.fault = own.fault.or_else(|| reports_fault(line).then_some(line));
        } else if is_heading(line) {
            // Nobody types a document with headings into a prompt.
            break;
        } else if let Some((mine, theirs)) = handed_over(line) {
            own.add(mine);
            for line in [theirs].into_iter().chain(lines) {
                own.leave_out(line);
                own.fault = own.fault.or_else(|| reports_fault(line).then_some(line));
            }
            break;
        } else {
            own.add(line);
        }
    }
    if own.lines.len() > HEAD_LINES_MAX + TAIL_LINES_MAX {
        own.lines.drain(HEAD_LINES_MAX..own.lines.len() - TAIL_LINES_MAX);
    }
    own
}

impl OwnWords<'_> {
    fn leave_out(&mut self, line: &str) {
        if self.pasted.len() < PASTED_BYTES_MAX && !line.trim().is_empty() {
            self.pasted.push_str(clip(line, PASTED_BYTES_MAX));
            self.pasted.push('\n');
        }
    }

    /// A line that continues a sentence is joined to the previous one.
    fn add(&mut self, line: &str) {
        match self.lines.last_mut() {
            Some(last)
                if last.ends_with(|c: char| c.is_alphanumeric() || matches!(c, ',' | '`' | '"'))
                    && line.starts_with(|c: char| c.is_lowercase() || c == '`')
                    && last.len() + line.len() <= JOINED_BYTES_MAX =>
            {
                last.push(' ');
                last.push_str(line.trim_end());
            }
            _ => self.lines.push(line.trim_end().to_string()),
        }
    }
}

fn is_fence(line: &str) -> bool {
    let line = line.trim_start();
    line.starts_with("```") || line.starts_with("~~~")
}

fn is_heading(line: &str) -> bool {
    let marks = line.bytes().take_while(|byte| *byte == b'#').count();
    (1..=6).contains(&marks) && line[marks..].starts_with(' ')
}

fn reports_fault(line: &str) -> bool {
    is_failure(line) || words(line).any(|word| FAULTS.has(&word))
}

/// A line with which a tool reports that it failed.
pub(crate) fn is_failure(line: &str) -> bool {
    const STARTS: &[&str] =
        &["fatal:", "error:", "error[", "Error:", "ERROR:", "FAIL", "--- FAIL", "panic:", "Traceback", "npm ERR", "✗"];
    let line = line.trim();
    STARTS.iter().any(|start| line.starts_with(start))
}

/// "I got this feedback: …": the user's part of the line, and someone else's.
fn handed_over(line: &str) -> Option<(&str, &str)> {
    let text = line.trim_end();
    let colon = text
        .match_indices(':')
        .map(|(at, _)| at)
        .filter(|at| text.len() == at + 1 || text[at + 1..].starts_with(' '))
        .find(|at| words(&text[..*at]).any(|word| HANDING_OVER.has(&word)))?;
    let theirs = &text[colon + 1..];
    let is_much = theirs.is_empty() || theirs.split_whitespace().count() > HANDED_WORDS_MIN;
    is_much.then_some((&text[..colon], theirs))
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
    "http://",
    "https://",
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
    let is_comment = item(text).is_some_and(|item| item.text.starts_with("//") || item.text.starts_with("/*"));
    is_comment
        || PASTED_STARTS.iter().any(|start| text.starts_with(start))
        || text.ends_with(['{', '}', ';', '\\'])
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
        plain += usize::from(is_plain && !core.is_empty());
    }
    chunks >= 4 && plain * 2 < chunks
}
