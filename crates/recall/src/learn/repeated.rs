//! Finds wishes that the user had to type again: nearly the same sentence in prompts of several sessions.
//!
//! Nothing is understood: sentences are compared by their words, in any language. What is repeated may be ordinary work
//! as well, so it waits for the user's decision.

use std::collections::{BTreeSet, HashMap};

use super::same::ComparedSentence;
use crate::said::{self, QUOTE_CHARS_MAX};

/// A prompt to compare.
#[derive(Clone, Copy, Debug)]
pub struct Prompt<'a> {
    /// Its session. The same sentence twice in one session is one conversation.
    pub session: i64,
    pub text: &'a str,
}

/// A sentence of a prompt.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Wish {
    /// The index of the prompt.
    pub prompt: usize,
    pub text: String,
}

/// A longer prompt describes a task.
const PROMPT_CHARS_MAX: usize = 400;
/// Shorter sentences are ordinary work: "run the tests", "commit and push".
const WORDS_MIN: usize = 6;
/// Sentences that are alike share one of their longest words.
const INDEXED_WORDS: usize = 3;

/// The same prompt once more is a second try; in this many sessions it is a wish.
const SESSIONS_MIN: usize = 3;

/// The sentences that were typed again in another session, in the order of the prompts.
pub fn repeated(prompts: &[Prompt]) -> Vec<Wish> {
    let wishes: Vec<(Wish, ComparedSentence)> = wishes(prompts);
    let mut by_word: HashMap<&str, Vec<usize>> = HashMap::new();
    let mut found: Vec<Repetition> = wishes.iter().map(|(wish, _)| Repetition::new(&prompts[wish.prompt])).collect();
    for (at, (wish, said)) in wishes.iter().enumerate() {
        let longest = longest(said);
        let candidates: BTreeSet<usize> =
            longest.iter().filter_map(|word| by_word.get(word)).flatten().copied().collect();
        for earlier in candidates {
            let (other, compared) = &wishes[earlier];
            let (one, two) = (&prompts[wish.prompt], &prompts[other.prompt]);
            if one.session != two.session && said.is_same(compared) {
                found[at].add(one, two);
                found[earlier].add(two, one);
            }
        }
        longest.into_iter().for_each(|word| by_word.entry(word).or_default().push(at));
    }
    let repeated = wishes.into_iter().zip(found).filter(|(_, found)| found.is_repeated());
    repeated.map(|((wish, _), _)| wish).collect()
}

/// Where else a sentence was typed.
struct Repetition {
    sessions: BTreeSet<i64>,
    /// In a prompt that is not the same as a whole.
    is_elsewhere: bool,
}

impl Repetition {
    fn new(prompt: &Prompt) -> Repetition {
        Repetition { sessions: BTreeSet::from([prompt.session]), is_elsewhere: false }
    }

    fn add(&mut self, own: &Prompt, other: &Prompt) {
        self.sessions.insert(other.session);
        self.is_elsewhere |= own.text.trim() != other.text.trim();
    }

    fn is_repeated(&self) -> bool {
        self.is_elsewhere || self.sessions.len() >= SESSIONS_MIN
    }
}

/// The longest words of a sentence.
fn longest(said: &ComparedSentence) -> Vec<&str> {
    let mut longest: Vec<&str> = said.words.iter().collect();
    longest.sort_by_key(|word| (std::cmp::Reverse(word.chars().count()), *word));
    longest.dedup();
    longest.truncate(INDEXED_WORDS);
    longest
}

fn wishes(prompts: &[Prompt]) -> Vec<(Wish, ComparedSentence)> {
    let mut found = Vec::new();
    for (prompt, Prompt { text, .. }) in prompts.iter().enumerate() {
        if text.chars().count() > PROMPT_CHARS_MAX {
            continue;
        }
        for sentence in said::sentences(text) {
            let compared = ComparedSentence::of(&sentence);
            let is_question = sentence.trim_end().ends_with(['?', '？']);
            if compared.words.len() >= WORDS_MIN && !is_question && sentence.chars().count() <= QUOTE_CHARS_MAX {
                found.push((Wish { prompt, text: sentence }, compared));
            }
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(prompts: &[(i64, &str)]) -> Vec<(usize, String)> {
        let prompts: Vec<Prompt> = prompts.iter().map(|(session, text)| Prompt { session: *session, text }).collect();
        repeated(&prompts).into_iter().map(|wish| (wish.prompt, wish.text)).collect()
    }

    #[test]
    fn a_wish_that_was_typed_again_is_found_in_any_language() {
        for (first, again) in [
            ("put the migration files into the db folder", "please put migration files into the db folder!"),
            ("schreib die Migrationen bitte in den Ordner db", "schreib die Migrationen in den Ordner db, bitte"),
            ("マイグレーションはdbフォルダに置いて", "マイグレーションはdbフォルダに置いてください"),
        ] {
            let other = "now the importer. And rename the helper module to tools please";
            let expected = [(0, first.to_string()), (2, again.to_string())];
            assert_eq!(found(&[(1, first), (1, other), (2, again)]), expected);
            assert_eq!(found(&[(1, first), (1, again)]), [], "in one conversation");
            assert_eq!(found(&[(1, first), (2, first)]), [], "the same prompt once more is a second try");
            assert_eq!(found(&[(1, first), (2, first), (3, first)]).len(), 3);
        }
    }

    #[test]
    fn ordinary_work_is_not() {
        for (first, again) in [
            ("commit and push", "ok, commit and push"),
            ("can you put the migration files into the db folder?", "can you put migration files into the db folder?"),
            ("never put the migration files into the db folder", "put the migration files into the db folder now"),
        ] {
            assert_eq!(found(&[(1, first), (2, again)]), [], "{first}");
        }
    }
}
