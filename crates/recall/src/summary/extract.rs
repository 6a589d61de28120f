//! Extracts sentences from a model's answer: no reasoning, preamble, Markdown or offers of further help.
//!
//! Whether a sentence is true is decided elsewhere.

use std::borrow::Cow;

/// Two sentences take a few hundred bytes; a longer answer did not follow the request.
const ANSWER_BYTES_MAX: usize = 64 * 1024;
const SENTENCES_READ_MAX: usize = 40;

/// Phrases around an answer that are not part of it, in lower case.
const CHATTER: &str = "sure|certainly|of course|okay|ok,|got it|here is|here it is|here's|here are|below is|the following|\
    as an ai|i'm sorry|i am sorry|i cannot|i can't|let me know|i hope|feel free|would you like|\
    if you need|if you'd like|note:";

/// Titles that only announce the summary.
const TITLES: [&str; 7] = ["summary", "session summary", "tl;dr", "output", "answer", "response", "final answer"];

/// A full stop after one of these does not end a sentence.
const ABBREVIATIONS: [&str; 8] = ["e.g", "i.e", "etc", "vs", "cf", "approx", "no", "resp"];

/// The sentences of an answer, in order, each on one line with a sentence ending.
pub fn sentences(answer: &str) -> Vec<String> {
    let answer = without_thoughts(cerberus_record::clean::text::clip(answer, ANSWER_BYTES_MAX));
    let mut found = Vec::new();
    for paragraph in paragraphs(&answer) {
        split(&paragraph, &mut found);
        if found.len() >= SENTENCES_READ_MAX {
            break;
        }
    }
    found.iter().filter_map(|sentence| without_chatter(sentence)).map(str::to_string).collect()
}

/// Removes reasoning between marks. Unfinished reasoning is not an answer.
fn without_thoughts(answer: &str) -> Cow<'_, str> {
    let mut answer = Cow::Borrowed(answer);
    for (open, close) in [("<think>", "</think>"), ("<thinking>", "</thinking>")] {
        while let Some(start) = answer.find(open) {
            let rest = answer[start..].find(close).map_or("", |end| &answer[start + end + close.len()..]);
            answer = Cow::Owned(format!("{}{rest}", &answer[..start]));
        }
        // The opening mark is often part of the model's own prompt.
        if let Some(end) = answer.find(close) {
            answer = Cow::Owned(answer[end + close.len()..].to_string());
        }
    }
    answer
}

/// Joins lines that belong together, without Markdown.
fn paragraphs(answer: &str) -> Vec<String> {
    // A fence around the whole answer is ignored; a fence within it is code.
    let is_fenced_whole = answer.trim_start().starts_with("```");
    let (mut found, mut current, mut in_fence) = (Vec::new(), String::new(), false);
    for line in answer.lines().map(str::trim) {
        let is_fence = line.starts_with("```");
        in_fence ^= is_fence;
        let is_skipped = is_fence || (in_fence && !is_fenced_whole) || is_furniture(line);
        let (text, is_listed) = without_list_mark(line);
        if is_skipped || line.is_empty() || is_listed {
            found.push(std::mem::take(&mut current));
        }
        if is_skipped {
            continue;
        }
        let text = without_title(&plain(text)).to_string();
        // A line that ends with a colon announces what follows.
        if !text.is_empty() && !text.ends_with(':') {
            current.push_str(if current.is_empty() { "" } else { " " });
            current.push_str(&text);
        }
    }
    found.push(current);
    found.retain(|paragraph| !paragraph.is_empty());
    found
}

/// Headings, rulers, tables.
fn is_furniture(line: &str) -> bool {
    let is_ruler = line.len() >= 3 && line.chars().all(|c| matches!(c, '-' | '*' | '_' | '=' | ' '));
    line.starts_with('#') || line.starts_with('|') || is_ruler
}

fn without_list_mark(line: &str) -> (&str, bool) {
    let marked = ["- ", "* ", "• ", "> ", "+ "].iter().find_map(|mark| line.strip_prefix(mark));
    let numbered = || {
        let rest = line.trim_start_matches(|c: char| c.is_ascii_digit());
        let digits = line.len() - rest.len();
        rest.strip_prefix(". ").or_else(|| rest.strip_prefix(") ")).filter(|_| (1..=2).contains(&digits))
    };
    match marked.or_else(numbered) {
        Some(rest) => (rest.trim(), true),
        None => (line, false),
    }
}

/// Without asterisks and repeated spaces; a link becomes its text. Backticks stay, because they mark names.
fn plain(line: &str) -> String {
    let mut out = String::with_capacity(line.len());
    let mut rest = line;
    while let Some(at) = rest.find(['*', '[']) {
        out.push_str(&rest[..at]);
        let link = rest[at..].strip_prefix('[').and_then(|after| {
            let (text, target) = after.split_once("](")?;
            Some((text, target.split_once(')')?.1)).filter(|(text, _)| !text.contains(['[', ']']))
        });
        rest = match link {
            Some((text, after)) => {
                out.push_str(text);
                after
            }
            None => {
                out.push_str(rest[at..].strip_prefix('[').map_or("", |_| "["));
                &rest[at + 1..]
            }
        };
    }
    out.push_str(rest);
    out.split_whitespace().collect::<Vec<_>>().join(" ")
}

fn without_title(line: &str) -> &str {
    match line.split_once(':') {
        Some((title, rest)) if TITLES.contains(&title.trim().to_lowercase().as_str()) => rest.trim(),
        _ => line,
    }
}

/// Splits a paragraph into sentences.
fn split(paragraph: &str, found: &mut Vec<String>) {
    let mut start = 0;
    for (at, c) in paragraph.char_indices().filter(|(_, c)| matches!(c, '.' | '!' | '?' | '。' | '！' | '？')) {
        let after = paragraph[at + c.len_utf8()..].trim_start_matches(['"', '\'', ')', '”', '’']);
        let is_end = after.is_empty() || !c.is_ascii() || after.starts_with(char::is_whitespace);
        if !is_end || at < start || (c == '.' && is_abbreviation(&paragraph[start..at])) {
            continue;
        }
        let end = paragraph.len() - after.len();
        found.push(paragraph[start..end].trim().to_string());
        start = end;
    }
    let rest = paragraph[start..].trim();
    if !rest.is_empty() {
        found.push(format!("{rest}."));
    }
}

/// Whether the word before a full stop is an abbreviation.
fn is_abbreviation(before: &str) -> bool {
    let word = before.rsplit([' ', '(', '"']).next().unwrap_or_default().to_lowercase();
    ABBREVIATIONS.contains(&word.as_str()) || (word.len() == 1 && word.starts_with(|c: char| c.is_ascii_alphabetic()))
}

/// The part after a preamble belongs to the answer: `Here is the summary: split the file.`
fn without_chatter(sentence: &str) -> Option<&str> {
    let text = match is_chatter(sentence) {
        true => sentence.split_once(": ")?.1.trim_start(),
        false => sentence,
    };
    (!is_chatter(text)).then_some(text)
}

fn is_chatter(sentence: &str) -> bool {
    let low = sentence.to_lowercase().replace('’', "'");
    let is_word_end = |rest: &str| !rest.starts_with(|c: char| c.is_alphanumeric());
    CHATTER.split('|').filter_map(|chatter| low.strip_prefix(chatter)).any(is_word_end)
}
