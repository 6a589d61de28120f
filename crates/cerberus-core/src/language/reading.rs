//! Parses words into the clauses of a meaning: what is said, whether it is wanted, and when.
//!
//! A clause is negative if an odd number of its words invert it: "no emojis" is negative, but "don't be verbose" means
//! the same as "be concise". What follows "before" or "when" is a condition. In "never X without Y", X is the
//! condition of Y. The tables in `concepts.rs` define the function of each word. Any text can be read; none is an
//! error.

use std::collections::BTreeSet;

use super::concepts::{self, Entry, REMOVE};
use super::meaning::{CONDITION, CONDITION_WEIGHT, Clause};
use super::stem::stem;

/// A concept mentioned only as a contrast weighs less: "tabs, not spaces".
const ASIDE_WEIGHT: f64 = 0.6;
/// The maximum number of words read; a longer text is not an instruction.
const WORDS_MAX: usize = 400;
/// The number of words in the longest phrase of the tables.
const PHRASE_WORDS_MAX: usize = 5;

/// The clauses of `text` that have a meaning.
pub(crate) fn clauses(text: &str) -> Vec<Clause> {
    let tokens = tokens(text);
    let clauses = Reader::default().read(&tokens);
    if !clauses.is_empty() {
        return clauses;
    }
    // There are only small words, so they are the content.
    Reader { reads_small_words: true, ..Reader::default() }.read(&tokens)
}

const NUMBERS: [(&str, &str); 7] =
    [("two", "2"), ("three", "3"), ("four", "4"), ("five", "5"), ("six", "6"), ("eight", "8"), ("ten", "10")];

#[derive(Debug, PartialEq)]
enum Token {
    Word(String),
    Comma,
    /// A full stop, a bracket, a line break.
    Stop,
}

/// The words of a text in lower case. Names of code and of files stay whole; other words are split at hyphens.
fn tokens(text: &str) -> Vec<Token> {
    let mut tokens = Vec::new();
    for chunk in text.split_whitespace().take(WORDS_MAX) {
        let chunk = chunk.replace('’', "'").to_lowercase();
        let body = chunk.trim_start_matches(|c: char| !is_word_start(c));
        let core = body.trim_end_matches(|c: char| !c.is_alphanumeric() && !matches!(c, '+' | '#'));
        if chunk.starts_with('(') || core.is_empty() {
            tokens.push(Token::Stop);
        }
        let tail = &body[core.len()..];
        let core = NUMBERS.iter().find(|(word, _)| *word == core).map_or(core, |(_, number)| number);
        let is_name = core.contains(['/', '_', '.', '\\']);
        let parts: Vec<&str> = if is_name { vec![core] } else { core.split(['-', '—']).collect() };
        tokens.extend(parts.into_iter().filter(|part| !part.is_empty()).map(|part| Token::Word(part.to_string())));
        match tail {
            "" => {}
            tail if tail.starts_with([',']) => tokens.push(Token::Comma),
            tail if tail.contains(['.', ';', ':', '!', '?', ')', '—']) => tokens.push(Token::Stop),
            _ => {}
        }
    }
    tokens
}

fn is_word_start(c: char) -> bool {
    c.is_alphanumeric() || c == '.' || c == '/'
}

/// A clause while it is being read.
#[derive(Default)]
struct Draft {
    concepts: Vec<(String, f64)>,
    conditions: Vec<(String, f64)>,
    negations: usize,
    /// Words of removal. They invert too, but are not a refusal.
    removals: usize,
    /// A refusal with "without" became the condition.
    is_gated: bool,
    has_opposite: bool,
    has_excess: bool,
    /// The current words belong to a condition.
    is_condition: bool,
    /// The clause is about what is not wanted: "instead of …".
    is_against: bool,
    /// It only contrasts with what is wanted.
    is_aside: bool,
    /// The last word had a meaning.
    is_meaningful: bool,
    is_before: bool,
    actions: BTreeSet<&'static str>,
}

impl Draft {
    fn add(&mut self, concept: &str, weight: f64) {
        self.is_meaningful = true;
        if self.is_condition {
            self.conditions.push((format!("{CONDITION}{concept}"), weight * CONDITION_WEIGHT));
        } else {
            self.concepts.push((concept.to_string(), weight));
        }
    }

    /// Everything read so far becomes the condition of what follows.
    fn turn_into_condition(&mut self) {
        let concepts = std::mem::take(&mut self.concepts);
        let as_condition = |(word, weight)| (format!("{CONDITION}{word}"), weight * CONDITION_WEIGHT);
        self.conditions.extend(concepts.into_iter().map(as_condition));
        self.removals = 0;
        self.actions.clear();
    }

    /// "not unless necessary": a condition without content leaves a plain refusal.
    fn restore_refusal(&mut self) {
        let bare =
            |(word, weight): (String, f64)| (word.trim_start_matches(CONDITION).to_string(), weight / CONDITION_WEIGHT);
        self.concepts = std::mem::take(&mut self.conditions).into_iter().map(bare).collect();
        self.negations = 1;
    }

    fn finish(mut self) -> Clause {
        if self.is_gated && self.concepts.is_empty() {
            self.restore_refusal();
        }
        let excess = usize::from(self.has_excess && self.negations == 0);
        let turns = self.negations + self.removals + usize::from(self.has_opposite) + excess;
        let scale = if self.is_aside { ASIDE_WEIGHT } else { 1.0 };
        let sign = if turns.is_multiple_of(2) { scale } else { -scale };
        let mut clause = Clause { actions: self.actions, is_before: self.is_before, ..Clause::default() };
        for (word, weight) in
            self.concepts.into_iter().map(|(word, weight)| (word, sign * weight)).chain(self.conditions)
        {
            if word.trim_start_matches(CONDITION).starts_with(|c: char| c.is_ascii_digit()) {
                clause.numbers.insert(word.clone());
            }
            clause.concepts.entry(word).or_insert(weight);
        }
        clause
    }
}

#[derive(Default)]
struct Reader {
    reads_small_words: bool,
    draft: Draft,
    clauses: Vec<Clause>,
}

impl Reader {
    fn read(mut self, tokens: &[Token]) -> Vec<Clause> {
        for sentence in tokens.split(|token| *token == Token::Stop) {
            self.read_sentence(sentence);
            self.close();
        }
        self.clauses
    }

    fn read_sentence(&mut self, sentence: &[Token]) {
        let has_number = sentence.iter().any(|token| matches!(token, Token::Word(word) if is_number(word)));
        let mut at = 0;
        let mut is_joint = false;
        while let Some(token) = sentence.get(at) {
            let Token::Word(word) = token else {
                is_joint = true;
                at += 1;
                continue;
            };
            let stems: Vec<String> =
                sentence[at..].iter().map_while(word_of).take(PHRASE_WORDS_MAX).map(stem).collect();
            let (mut entry, length) = match concepts::entry(&stems) {
                Some(found) => (Some(found.0), found.1),
                None => (concepts::mistyped(word), 1),
            };
            if is_limit(entry) && !has_number {
                entry = Some(if word == "over" && self.draft.is_meaningful { Entry::Against } else { Entry::Silent });
            }
            if is_joint || word == "but" {
                self.joint(entry);
            }
            self.take(word, &stems[0], entry);
            is_joint = word == "and" || word == "then" || (is_joint && entry == Some(Entry::Silent));
            at += length;
        }
    }

    /// An instruction may begin after a comma or an "and".
    fn joint(&mut self, next: Option<Entry>) {
        let begins = matches!(next, Some(Entry::Verb | Entry::Action(_) | Entry::Negation));
        let is_empty = self.draft.concepts.is_empty() && self.draft.conditions.is_empty();
        if !is_empty && next == Some(Entry::Contrast) {
            self.draft.is_meaningful = true;
        } else if !is_empty && (begins || self.draft.is_condition) {
            self.close();
        }
    }

    fn take(&mut self, word: &str, stemmed: &str, entry: Option<Entry>) {
        self.draft.is_before |= word == "before";
        let was_telling = std::mem::take(&mut self.draft.is_meaningful);
        match entry {
            Some(Entry::Concept(concept)) => self.draft.add(concept.name, concept.weight),
            Some(Entry::Opposite(concept)) => {
                self.draft.has_opposite |= !self.draft.is_condition;
                self.draft.add(concept.name, concept.weight);
            }
            None if word == "but" => {}
            None => self.draft.add(stemmed, 1.0),
            Some(Entry::Silent) if self.reads_small_words => self.draft.add(stemmed, 1.0),
            Some(Entry::Silent) => {}
            Some(Entry::Verb) => self.begin_instruction(),
            Some(Entry::Action(action)) => {
                self.begin_instruction();
                if !self.draft.is_condition {
                    self.draft.removals += usize::from(action == REMOVE);
                    self.draft.actions.insert(action);
                }
            }
            Some(Entry::Negation) => {
                self.begin_instruction();
                self.draft.negations += 1;
            }
            Some(Entry::Contrast) if was_telling => self.contrast(),
            Some(Entry::Contrast) => self.draft.negations += 1,
            Some(Entry::Against) => self.contrast(),
            Some(Entry::Excess) => self.draft.has_excess = true,
            Some(Entry::When) if word == "before" && self.is_refusal() => self.gate(),
            Some(Entry::When) => self.draft.is_condition = true,
            Some(Entry::Unless) if self.is_refusal() => self.gate(),
            Some(Entry::Unless) if word == "without" => {
                self.draft.turn_into_condition();
                self.draft.negations = 1;
            }
            Some(Entry::Unless) => self.draft.is_condition = true,
        }
    }

    /// "when you add a parser write tests": the second verb is the instruction.
    fn begin_instruction(&mut self) {
        if self.draft.is_condition && !self.draft.conditions.is_empty() && self.draft.concepts.is_empty() {
            self.draft.is_condition = false;
        } else if self.draft.is_against && !self.draft.concepts.is_empty() {
            self.close();
        }
    }

    fn is_refusal(&self) -> bool {
        self.draft.negations > 0 && !self.draft.concepts.is_empty() && !self.draft.is_condition
    }

    /// "never commit without asking": asking is wanted, and committing is the condition.
    fn gate(&mut self) {
        self.draft.turn_into_condition();
        self.draft.negations = 0;
        self.draft.is_gated = true;
    }

    fn contrast(&mut self) {
        let was_wanted = self.draft.negations == 0 && !self.draft.concepts.is_empty();
        self.close();
        self.draft.negations = 1;
        self.draft.is_against = true;
        self.draft.is_aside = was_wanted;
    }

    fn close(&mut self) {
        let draft = std::mem::take(&mut self.draft);
        let is_empty = draft.concepts.is_empty() && draft.conditions.is_empty();
        if !is_empty {
            self.clauses.push(draft.finish());
        } else if let Some(before) = self.clauses.last_mut().filter(|_| draft.is_against) {
            // "comments not needed": the negation applies to what came before.
            before.concepts.values_mut().for_each(|weight| *weight = -*weight);
        }
    }
}

fn word_of(token: &Token) -> Option<&str> {
    match token {
        Token::Word(word) => Some(word),
        _ => None,
    }
}

fn is_number(word: &str) -> bool {
    word.starts_with(|c: char| c.is_ascii_digit())
}

fn is_limit(entry: Option<Entry>) -> bool {
    matches!(entry, Some(Entry::Concept(concept) | Entry::Opposite(concept)) if concept.name == "limit")
}

#[cfg(test)]
mod tests {
    use super::*;

    /// `+tab -space ?makefile`: clauses separated by bars, concepts ordered by name.
    fn read(text: &str) -> String {
        let shown = |(concept, weight): (&String, &f64)| match concept.starts_with(CONDITION) {
            true => concept.clone(),
            false => format!("{}{concept}", if *weight < 0.0 { '-' } else { '+' }),
        };
        let clause = |clause: &Clause| clause.concepts.iter().map(shown).collect::<Vec<_>>().join(" ");
        clauses(text).iter().map(clause).collect::<Vec<_>>().join(" | ")
    }

    #[test]
    fn clauses_know_what_is_wanted_and_when() {
        for (text, clauses) in [
            ("use tabs", "+tab"),
            ("use tabs, not spaces", "+tab | -space"),
            ("use tabs instead of spaces", "+tab | -space"),
            ("prefer tabs over spaces", "+tab | -space"),
            ("instead of mocks use fakes", "-mock | +fak"),
            ("don't use globals or emojis", "-emoji -global"),
            ("don't use tabs, use spaces", "-tab | +space"),
            ("don't be verbose", "+concise"),
            ("your answers are too long", "+concise +talk"),
            ("not too short", "-concise"),
            ("never skip the tests", "+test"),
            ("you forgot the tests", "+test"),
            ("comments not needed", "-comment"),
            ("never commit", "-commit"),
            ("never commit without asking", "?commit +ask"),
            ("don't commit before the tests pass", "?commit +pass +test"),
            ("commit without asking", "?commit -ask"),
            ("ask before you commit", "?commit +ask"),
            ("before you commit, run the linter", "?commit | +lint"),
            ("when you add a parser write tests", "?parser +test"),
            ("no files over 200 lines", "+200 +file +limit +line"),
            ("go over the parser", "+parser"),
            ("Be brief. No emojis!", "+concise | -emoji"),
            ("do that", "+that"),
            ("", ""),
        ] {
            assert_eq!(read(text), clauses, "{text}");
        }
    }
}
