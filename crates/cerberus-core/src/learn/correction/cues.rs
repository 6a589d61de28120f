//! Matches the cues in `tables`: which words in which position correct the agent, the kind of correction, and the
//! confidence.
//!
//! A cue with `~` may be anywhere in an unconditional clause, one with `^` starts a sentence, one with `?` is a
//! question; any other starts a clause or a polite request. "Always show the date" describes the product:
//! instructions count only if they are about the agent's own work.

use std::sync::LazyLock;

use super::{CorrectionKind, Turn, tables};
use crate::language::form::is_imperative;
use crate::language::matcher::{Pattern, Set};
use crate::language::sentence::{Clause, Mood, Word, fillers};
use crate::language::speech::{DENYING, SUBJECTS, SUPPOSING, request};

/// Where a cue may appear.
enum Place {
    Anywhere,
    SentenceStart,
    ClauseStart,
    Question,
}

pub(crate) struct Cue {
    pub kind: CorrectionKind,
    pub confidence: f64,
    place: Place,
    pattern: Pattern,
}

/// Parses a line of a table; `None` if it is malformed.
fn cue(line: &'static str) -> Option<Cue> {
    let (kind, rest) = line.split_once(' ')?;
    let (hundredths, pattern) = rest.split_once(' ')?;
    let (place, pattern) = match pattern.split_at_checked(2)? {
        ("~ ", pattern) => (Place::Anywhere, pattern),
        ("^ ", pattern) => (Place::SentenceStart, pattern),
        ("? ", pattern) => (Place::Question, pattern),
        _ => (Place::ClauseStart, pattern),
    };
    let confidence = f64::from(hundredths.parse::<u8>().ok()?) / 100.0;
    Some(Cue { kind: CorrectionKind::from_word(kind)?, confidence, place, pattern: Pattern::new(pattern) })
}

fn table(text: &'static str) -> impl Iterator<Item = Cue> {
    text.lines().filter_map(cue)
}

static ANY: LazyLock<Vec<Cue>> = LazyLock::new(|| {
    let all = [tables::UNIVERSAL, tables::CUSTOMS, tables::PREFERENCES, tables::CONDUCT, tables::LOOKS];
    all.into_iter().flat_map(table).collect()
});
static AFTER: LazyLock<Vec<Cue>> = LazyLock::new(|| table(tables::AFTER).collect());
static OFFERED: LazyLock<Vec<Cue>> = LazyLock::new(|| table(tables::OFFERED).collect());
static STOPPED: LazyLock<Vec<Cue>> = LazyLock::new(|| table(tables::STOPPED).collect());

/// The cues that apply to this turn.
pub(crate) fn for_turn(turn: &Turn) -> impl Iterator<Item = &'static Cue> {
    let after = turn.has_acted().then_some(&*AFTER);
    let offered = turn.was_offered().then_some(&*OFFERED);
    let stopped = turn.is_interruption.then_some(&*STOPPED);
    [&*ANY].into_iter().chain(after).chain(offered).chain(stopped).flatten()
}

/// "Would you prefer …" asks for the agent's opinion.
static LIKING: LazyLock<Set> = LazyLock::new(|| Set::new("prefer|like|want|favour|favor"));

impl Cue {
    pub fn applies_to(&self, sentence: &[Word], clause: &Clause) -> bool {
        let words = &sentence[clause.start..];
        let own = &words[..clause.end - clause.start];
        match (&self.place, clause.mood) {
            (Place::Question, Mood::Question) => self.begins(words, fillers(own)),
            (Place::Question, _) | (_, Mood::Question) => false,
            (Place::ClauseStart, Mood::Request) => {
                let order = request(own);
                let is_order = own.get(order).is_some_and(|word| !SUBJECTS.has(&word.low) && !LIKING.has(&word.low));
                is_order && self.pattern.matches_at(words, order)
            }
            (Place::Anywhere | Place::SentenceStart, Mood::Request) => false,
            (Place::Anywhere, Mood::Statement) => {
                (0..own.len()).any(|at| self.pattern.matches_at(words, at) && is_meant(&own[..at]))
            }
            (Place::SentenceStart, Mood::Statement) => clause.start == 0 && self.begins(words, fillers(own)),
            (Place::ClauseStart, Mood::Statement) => {
                !continues_statement(sentence, clause) && self.begins(words, fillers(own))
            }
        }
    }

    /// Whether it follows at most `silent` filler words. After "I" it is no instruction: "I never saw it".
    fn begins(&self, words: &[Word], silent: usize) -> bool {
        let follows_speaker = |at: usize| at > 0 && words[at - 1].low == "i";
        (0..=silent).any(|at| !follows_speaker(at) && self.pattern.matches_at(words, at))
    }
}

/// "The flag is set but never read" continues about the flag; "run it once and never commit it" continues the
/// instruction.
fn continues_statement(sentence: &[Word], clause: &Clause) -> bool {
    let low = |at: usize| sentence.get(at).map_or("", |word| word.low.as_str());
    let goes_on = clause.start > 0
        && matches!(low(clause.start), "and" | "but" | "or")
        && matches!(low(clause.start + 1), "always" | "never" | "not");
    let opening = low(fillers(sentence));
    goes_on && !is_imperative(opening) && !matches!(opening, "you" | "don't" | "do" | "always" | "never")
}

/// Whether the words before it leave its meaning unchanged.
fn is_meant(before: &[Word]) -> bool {
    let near = &before[before.len().saturating_sub(3)..];
    !SUPPOSING.has_any(before) && !DENYING.has_any(near)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_line_of_the_tables_is_valid() {
        let all = [
            tables::UNIVERSAL,
            tables::CUSTOMS,
            tables::PREFERENCES,
            tables::CONDUCT,
            tables::LOOKS,
            tables::AFTER,
            tables::OFFERED,
            tables::STOPPED,
        ];
        for line in all.into_iter().flat_map(str::lines) {
            assert!(cue(line).is_some(), "{line}");
        }
    }
}
