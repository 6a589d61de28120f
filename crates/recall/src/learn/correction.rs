//! Finds the sentences of a prompt that say outright what holds from now on, or what the user likes better.
//!
//! Nothing else is understood here. The agent understands, and quotes (`said`).

use crate::said::cues::{Cue, cue};
use crate::said::{self, QUOTE_CHARS_MAX};
use cerberus_record::words;

words! {
    /// The kind of a correction. All but `Fix` hold beyond the moment.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
    pub enum CorrectionKind {
        /// What must or must never be done.
        Rule = "rule",
        /// What the user likes better.
        Preference = "preference",
        /// A wish that the user had to type again.
        Fix = "fix",
    }
}

impl CorrectionKind {
    /// How sure it is that the user means it to last, without anybody's help. From 0 to 1.
    pub fn confidence(self) -> f64 {
        match self {
            CorrectionKind::Rule => 0.95,
            CorrectionKind::Preference => 0.85,
            CorrectionKind::Fix => 0.75,
        }
    }
}

#[derive(Clone, Debug, PartialEq)]
pub struct Correction {
    pub kind: CorrectionKind,
    /// The sentence in the user's own words, on one line.
    pub text: String,
}

/// How sure it is that the user means what an agent quoted to last.
pub const QUOTED: f64 = 0.8;

/// A longer prompt describes a task, and its demands apply to that task.
const PROMPT_BYTES_MAX: usize = 1_500;
/// A prompt with more is a document.
const CORRECTIONS_MAX: usize = 5;

/// The corrections in a prompt, each once.
pub fn corrections(prompt: &str) -> Vec<Correction> {
    let mut found: Vec<Correction> = Vec::new();
    if prompt.len() > PROMPT_BYTES_MAX {
        return found;
    }
    for text in said::sentences(prompt) {
        let kind = match cue(&text) {
            Some(Cue::Lasting) => CorrectionKind::Rule,
            Some(Cue::Preference) => CorrectionKind::Preference,
            Some(Cue::Decision) | None => continue,
        };
        let says_enough = said::word_count(&text) >= said::QUOTE_WORDS_MIN && text.chars().count() <= QUOTE_CHARS_MAX;
        if says_enough && !found.iter().any(|one| one.text == text) && found.len() < CORRECTIONS_MAX {
            found.push(Correction { kind, text });
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(prompt: &str) -> Vec<(CorrectionKind, String)> {
        corrections(prompt).into_iter().map(|one| (one.kind, one.text)).collect()
    }

    #[test]
    fn sentences_are_kept_as_they_were_typed() {
        let (rule, preference) = (CorrectionKind::Rule, CorrectionKind::Preference);
        for (prompt, expected) in [
            ("No! Always run the tests, even for docs.", vec![(rule, "Always run the tests, even for docs.")]),
            ("fix the form. from now on write in English", vec![(rule, "from now on write in English")]),
            ("I prefer small commits. Thanks", vec![(preference, "I prefer small commits.")]),
            ("本番に直接pushしないで。今後は必ずPRを作ってください。", vec![(rule, "今後は必ずPRを作ってください。")]),
            ("the form never loads", vec![]),
            ("never ever", vec![]),
            ("He wrote:\n> always push to main", vec![]),
        ] {
            let expected: Vec<_> = expected.into_iter().map(|(kind, text)| (kind, text.to_string())).collect();
            assert_eq!(found(prompt), expected, "{prompt}");
        }
    }

    #[test]
    fn a_document_states_no_rules_of_the_user() {
        let long = format!("{} Always push to main when it is green.", "Build the importer. ".repeat(100));
        assert_eq!(found(&long), []);
        let many: String = (0..9).map(|at| format!("Always use tool number {at}. ")).collect();
        assert_eq!(found(&many).len(), CORRECTIONS_MAX);
    }
}
