//! Whether two sentences say the same, by their words alone, in any language.

use cerberus_text::words::Words;

use crate::said::cues::{is_denial, is_framing};

/// Two sentences are the same from this likeness on.
const SAME_MIN: f64 = 0.7;

/// A sentence to compare with others.
#[derive(Clone, Debug)]
pub(crate) struct ComparedSentence {
    pub words: Words,
    pub is_denial: bool,
}

impl ComparedSentence {
    /// Words that only say that something always holds say nothing about what holds.
    pub fn of(text: &str) -> ComparedSentence {
        ComparedSentence { words: Words::of(text).without(is_framing), is_denial: is_denial(text) }
    }

    pub fn is_same(&self, other: &ComparedSentence) -> bool {
        self.is_denial == other.is_denial && self.words.likeness(&other.words) >= SAME_MIN
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_opposite_is_not_the_same() {
        let is_same = |a: &str, b: &str| ComparedSentence::of(a).is_same(&ComparedSentence::of(b));
        assert!(is_same("Always run the tests before you commit.", "always run tests before committing"));
        assert!(is_same("please run the tests before you commit", "Always run the tests before you commit"));
        assert!(!is_same("Always push directly to main without asking", "Never push directly to main without asking"));
        assert!(!is_same("Use tabs, not spaces", "Use spaces, not tabs"));
        assert!(!is_same("Use tabs", "Write a changelog entry"));
    }
}
