//! Proves that the user said something: finds a quotation in a prompt that the user typed, and widens it to whole
//! sentences.
//!
//! Who quotes may leave out quotation marks and emphasis, fold blanks, and leave gaps with an ellipsis. Nothing else may
//! differ. The words between the parts of a quotation belong to it, so that nothing can be spliced together, and a
//! condition or a negation in the same sentence is never lost.

pub mod cues;
mod folded;
pub mod pasted;
pub mod typed;

use std::ops::Range;

use cerberus_record::clean::instruction::is_instruction;
use cerberus_record::clean::text::clip;
use cerberus_text::sentences;

use self::folded::FoldedText;
pub use word_count::word_count;

/// A longer sentence is a paragraph.
pub const QUOTE_CHARS_MAX: usize = 300;
/// Fewer words say nothing on their own.
pub const QUOTE_WORDS_MIN: usize = 3;
/// What stands alone needs fewer.
const ALONE_WORDS_MIN: usize = 2;
/// Only so much of a prompt is searched.
const READ_BYTES_MAX: usize = 64 * 1024;
/// A quotation with more gaps is a collection of words.
const PARTS_MAX: usize = 4;

/// Why a quotation is not accepted. The later, the closer it came.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum QuoteRefusal {
    /// The words are not in a prompt of the user.
    NotSaid,
    /// They are, but in text that the user pasted.
    Pasted,
    /// They are, but a schedule or a program sent the prompt.
    NotTyped,
    /// They are, but the transcript does not have the prompt yet, so nobody knows who sent it.
    NotSeen,
    /// The whole sentence is longer than [`QUOTE_CHARS_MAX`].
    TooLong,
    /// It has fewer than [`QUOTE_WORDS_MIN`] words, also with the sentence before or after it.
    TooShort,
}

impl QuoteRefusal {
    /// What the agent is told.
    pub fn message(self) -> &'static str {
        match self {
            QuoteRefusal::NotSaid => "not the user's words",
            QuoteRefusal::Pasted => "not the user's words: they are in text that the user pasted",
            QuoteRefusal::NotTyped => "not the user's words: a program sent that prompt",
            QuoteRefusal::NotSeen => "it is not known yet who sent that prompt",
            QuoteRefusal::TooLong => "the sentence is too long to be quoted",
            QuoteRefusal::TooShort => "too short to be understood on its own",
        }
    }

    /// What the agent can do.
    pub fn advice(self) -> &'static str {
        match self {
            QuoteRefusal::NotSaid => "quote a sentence of the user's prompts without changing a word",
            QuoteRefusal::Pasted => "quote what the user typed, or record it as your own with `cerberus record`",
            QuoteRefusal::NotTyped => "record it as your own with `cerberus record`",
            QuoteRefusal::NotSeen => "quote it again later, or record it as your own with `cerberus record`",
            QuoteRefusal::TooLong => "record it in your own words with `cerberus record`",
            QuoteRefusal::TooShort => "quote it together with the sentence before it",
        }
    }
}

/// Where `quotation` stands in `prompt`, as whole sentences that the user typed.
pub fn prove(quotation: &str, prompt: &str) -> Result<Range<usize>, QuoteRefusal> {
    let prompt = clip(prompt, READ_BYTES_MAX);
    let typed = typed::typed(prompt);
    let Some(place) = find(quotation, &typed) else {
        return Err(if find(quotation, prompt).is_some() { QuoteRefusal::Pasted } else { QuoteRefusal::NotSaid });
    };
    if pasted::is_quoted(prompt, &place) {
        return Err(QuoteRefusal::Pasted);
    }
    let place = widened(&typed, &place)?;
    // Something pasted may stand between two lines of the user.
    let is_whole = typed[place.clone()] == prompt[place.clone()];
    if is_whole { Ok(place) } else { Err(QuoteRefusal::Pasted) }
}

/// Where `quotation` stands in `prompt`, as whole lines, whoever wrote them: what a tool printed and the user pasted may be
/// what blocks the work. It is never told as the user's words, and not at all if it reads like an instruction.
pub fn prove_pasted(quotation: &str, prompt: &str) -> Result<Range<usize>, QuoteRefusal> {
    let prompt = clip(prompt, READ_BYTES_MAX);
    let place = find(quotation, prompt).ok_or(QuoteRefusal::NotSaid)?;
    let start = prompt[..place.start].rfind('\n').map_or(0, |at| at + 1);
    let end = prompt[place.end..].find('\n').map_or(prompt.len(), |at| place.end + at);
    let fits = |place: &Range<usize>| prompt[place.clone()].chars().count() <= QUOTE_CHARS_MAX;
    let lines = trimmed(prompt, start..end);
    let whole = if fits(&lines) { lines } else { sentences::around(prompt, &place)[1].clone() };
    let whole = if fits(&whole) { whole } else { place };
    if is_instruction(&prompt[whole.clone()]) {
        return Err(QuoteRefusal::Pasted);
    }
    match word_count(&prompt[whole.clone()]) {
        _ if !fits(&whole) => Err(QuoteRefusal::TooLong),
        0..QUOTE_WORDS_MIN => Err(QuoteRefusal::TooShort),
        _ => Ok(whole),
    }
}

fn trimmed(text: &str, place: Range<usize>) -> Range<usize> {
    let inside = &text[place.clone()];
    let start = place.start + inside.len() - inside.trim_start().len();
    start..start + inside.trim().len()
}

/// The shortest stretch of `text` that contains all parts of `quotation` in their order.
fn find(quotation: &str, text: &str) -> Option<Range<usize>> {
    let parts = parts(quotation);
    if parts.is_empty() || parts.len() > PARTS_MAX {
        return None;
    }
    let folded = FoldedText::of(text);
    let (mut from, mut best): (usize, Option<(usize, usize)>) = (0, None);
    while let Some(start) = folded.find(&parts[0], from) {
        let mut end = start + parts[0].len();
        let is_there = parts[1..].iter().all(|part| {
            let found = folded.find(part, end);
            end = found.map_or(end, |at| at + part.len());
            found.is_some()
        });
        if !is_there {
            break;
        }
        if best.is_none_or(|(from, to)| end - start < to - from) {
            best = Some((start, end));
        }
        from = start + 1;
    }
    best.map(|(start, end)| folded.range(start, end))
}

/// The folded parts of a quotation, between its gaps.
fn parts(quotation: &str) -> Vec<Vec<char>> {
    let folded: String = FoldedText::of(clip(quotation, READ_BYTES_MAX)).chars.into_iter().collect();
    let trim = |c: char| {
        c.is_whitespace() || matches!(c, '.' | ',' | ';' | ':' | '!' | '?' | '。' | '！' | '？' | '[' | ']' | '-')
    };
    let parts = folded.split("...").map(|part| part.trim_matches(trim).chars().collect::<Vec<char>>());
    parts.filter(|part| !part.is_empty()).collect()
}

/// Whole sentences around `place`, with the sentence before or after if they are too short. Two words are enough if the
/// user typed nothing else.
fn widened(text: &str, place: &Range<usize>) -> Result<Range<usize>, QuoteRefusal> {
    let fits = |place: &Range<usize>| text[place.clone()].chars().count() <= QUOTE_CHARS_MAX;
    let whole = sentences::around(text, place).into_iter().find(fits).ok_or(QuoteRefusal::TooLong)?;
    if word_count(&text[whole.clone()]) >= QUOTE_WORDS_MIN {
        return Ok(whole);
    }
    let before = sentences::before(text, &whole).map(|before| before.start..whole.end);
    let after = sentences::after(text, &whole).map(|after| whole.start..after.end);
    if before.is_none() && after.is_none() && word_count(&text[whole.clone()]) >= ALONE_WORDS_MIN {
        return Ok(whole);
    }
    let says_enough = |both: &Range<usize>| word_count(&text[both.clone()]) >= QUOTE_WORDS_MIN && fits(both);
    before.into_iter().chain(after).find(says_enough).ok_or(QuoteRefusal::TooShort)
}

/// The sentences that the user typed in `prompt`, each on one line.
pub fn sentences(prompt: &str) -> Vec<String> {
    let typed = typed::typed(clip(prompt, READ_BYTES_MAX));
    let folded = |place: Range<usize>| typed[place].split_whitespace().collect::<Vec<_>>().join(" ");
    sentences::all(&typed).into_iter().map(folded).collect()
}

#[cfg(test)]
mod tests;
mod word_count;
