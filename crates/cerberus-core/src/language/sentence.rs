//! Splits a line of prose into words, sentences and clauses, and classifies each clause as a statement, request or
//! question.
//!
//! Text in quotation marks or backticks is one opaque word: it is mentioned, not asserted. Nothing here knows what a
//! clause is about.

use super::matcher::Pattern;
use super::speech::{FAULTS, FILLERS, JOINTS, QUESTIONS, REQUESTS};

/// A quotation, and a quotation of an error. No typed word can look like these.
pub(crate) const QUOTE: &str = "\"";
pub(crate) const FAULT: &str = "\"fault";

/// Nobody types a sentence with more words.
const WORDS_MAX: usize = 120;
const FAULT_BYTES_MAX: usize = 200;

#[derive(Debug)]
pub(crate) struct Word {
    /// Lower case; punctuation that separates clauses is a word of its own.
    pub low: String,
    pub start: usize,
    pub end: usize,
}

impl Word {
    fn is_break(&self) -> bool {
        matches!(self.low.as_str(), "," | ":" | "-" | "(" | ")")
    }

    fn is_silent(&self) -> bool {
        self.is_break() || FILLERS.has(&self.low)
    }

    /// The number of a list item: `#5`, `2`.
    fn is_number(&self) -> bool {
        let digits = self.low.trim_start_matches('#');
        !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit())
    }

    fn is_end(&self) -> bool {
        matches!(self.low.as_str(), "." | "!" | "?" | ";")
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Mood {
    Statement,
    /// "Can you …": an imperative in polite form.
    Request,
    Question,
}

/// From `start` (an index into the sentence) to the next clause.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Clause {
    pub start: usize,
    pub end: usize,
    pub mood: Mood,
}

/// Calls `each` with the words of every sentence of `line`.
pub(crate) fn sentences(line: &str, mut each: impl FnMut(&[Word])) {
    let words = words(line);
    for sentence in words.split_inclusive(Word::is_end) {
        if sentence.len() <= WORDS_MAX && sentence.iter().any(|word| !word.is_end() && !word.is_break()) {
            each(sentence);
        }
    }
}

/// The clauses of one sentence, in order.
pub(crate) fn clauses(sentence: &[Word]) -> Vec<Clause> {
    let asks = sentence.last().is_some_and(|word| word.low == "?");
    let mut starts = vec![0];
    for (at, word) in sentence.iter().enumerate() {
        if word.is_break() && at + 1 < sentence.len() {
            starts.push(at + 1);
        } else if at > 0 && JOINTS.has(&word.low) {
            starts.push(at);
        }
    }
    starts.dedup();
    let mut clauses: Vec<Clause> = Vec::with_capacity(starts.len());
    let mut mood = Mood::Statement;
    for (index, start) in starts.iter().enumerate() {
        let end = starts.get(index + 1).copied().unwrap_or(sentence.len());
        mood = mood_of(&sentence[*start..end], asks, mood);
        clauses.push(Clause { start: *start, end, mood });
    }
    if asks && clauses.iter().all(|clause| clause.mood == Mood::Statement) {
        // "…, right?" and "X does Y?" turn the whole sentence into a question.
        clauses.iter_mut().for_each(|clause| clause.mood = Mood::Question);
    }
    clauses
}

fn mood_of(clause: &[Word], asks: bool, before: Mood) -> Mood {
    let silent = leading(clause, |word| word.is_silent());
    // "I did it" is a statement, "did it" a question.
    let is_told = silent > 0 && clause[silent - 1].low == "i";
    let plain = &clause[silent - usize::from(is_told)..];
    let opens = |patterns: &[Pattern]| patterns.iter().any(|pattern| pattern.match_len(plain).is_some());
    if opens(&REQUESTS) {
        Mood::Request
    } else if opens(&QUESTIONS) {
        Mood::Question
    } else if asks || before == Mood::Request {
        before
    } else {
        Mood::Statement
    }
}

/// The number of filler words at the beginning: "ok, so yeah …", "#2 …".
pub(crate) fn fillers(clause: &[Word]) -> usize {
    leading(clause, |word| word.is_silent() || word.is_number())
}

fn leading(clause: &[Word], is_skipped: impl Fn(&Word) -> bool) -> usize {
    clause.iter().position(|word| !is_skipped(word)).unwrap_or(clause.len())
}

/// The words of a line; quotations are one word each.
fn words(line: &str) -> Vec<Word> {
    let mut words = Vec::new();
    let mut at = 0;
    while let Some(c) = line[at..].chars().next() {
        let next = at + c.len_utf8();
        if c.is_whitespace() {
            at = next;
        } else if let Some(end) = quotation_end(line, at, c) {
            let low = if has_fault(&line[next..end]) { FAULT } else { QUOTE };
            push(&mut words, low, at, end);
            at = end;
        } else {
            let end = line[at..]
                .char_indices()
                .find(|(offset, c)| *offset > 0 && (c.is_whitespace() || is_quotation_mark(*c)))
                .map_or(line.len(), |(offset, _)| at + offset);
            chunk(&line[at..end], at, end < line.len(), &mut words);
            at = end;
        }
    }
    words
}

fn push(words: &mut Vec<Word>, low: &str, start: usize, end: usize) {
    words.push(Word { low: low.to_string(), start, end });
}

fn is_quotation_mark(c: char) -> bool {
    matches!(c, '"' | '`' | '“' | '„' | '«')
}

/// The end of the quotation that opens at `at`. An unclosed one extends to the end of the line.
fn quotation_end(line: &str, at: usize, open: char) -> Option<usize> {
    let close: &[char] = match open {
        '"' => &['"', '”'],
        '`' => &['`'],
        '“' | '„' => &['”', '“', '"'],
        '«' => &['»'],
        // An apostrophe opens a quotation only before a word, and if it closes after one.
        '\'' | '‘' => &['\'', '’'],
        _ => return None,
    };
    let inside = at + open.len_utf8();
    let mut ends = line[inside..]
        .char_indices()
        .filter(|(_, c)| close.contains(c))
        .map(|(offset, c)| inside + offset + c.len_utf8());
    if matches!(open, '\'' | '‘') {
        return ends.find(|end| !line[*end..].starts_with(char::is_alphanumeric));
    }
    Some(ends.next().unwrap_or(line.len()))
}

/// A long quotation is someone's text, not an error message.
fn has_fault(quoted: &str) -> bool {
    quoted.len() <= FAULT_BYTES_MAX && crate::clean::text::words(quoted).any(|word| FAULTS.has(&word))
}

/// A run of characters without spaces: the word in it, and the relevant punctuation around it.
fn chunk(text: &str, start: usize, has_more: bool, words: &mut Vec<Word>) {
    if matches!(text, "-" | "–" | "—" | "--" | "->" | "→" | "=>" | "<-" | "…" | "...") {
        return push(words, "-", start, start + text.len());
    }
    let body = text.trim_start_matches(['(', '[', '*', '_', '~']);
    if text.starts_with('(') {
        push(words, "(", start, start + 1);
    }
    let core = body.trim_end_matches([',', '.', ';', ':', '!', '?', ')', ']', '*', '_', '~', '…', '—', '’', '\'']);
    let (core_at, tail_at) = (start + text.len() - body.len(), start + text.len() - body.len() + core.len());
    let tail = &body[core.len()..];
    if !core.is_empty() {
        let low = core.to_lowercase().replace('’', "'");
        push(words, &low, core_at, tail_at);
    }
    let is_choice = start == 0 && core.len() == 1 && core.starts_with(|c: char| c.is_ascii_alphabetic());
    if (is_choice || is_abbreviation(core)) && tail == "." && has_more {
        return;
    }
    // "wait...": an ellipsis separates clauses but does not end the sentence.
    let trails_off = tail.starts_with("..") || tail.contains('…');
    for (offset, c) in tail.char_indices() {
        let low = match c {
            '.' if trails_off => "-",
            ',' | ':' | ')' | '.' | ';' | '!' | '?' => &tail[offset..offset + 1],
            '—' | '…' => "-",
            _ => continue,
        };
        push(words, low, tail_at + offset, tail_at + offset + c.len_utf8());
    }
}

/// "e.g.", "vs." and the number of a list item do not end a sentence.
fn is_abbreviation(core: &str) -> bool {
    let is_number = !core.is_empty() && core.bytes().all(|byte| byte.is_ascii_digit());
    is_number || matches!(core, "e.g" | "i.e" | "eg" | "ie" | "etc" | "vs" | "cf" | "approx" | "resp" | "Nr" | "No")
}
