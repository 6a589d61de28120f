//! Finds memories that cannot both be followed, by their words alone.
//!
//! Prefers misses over false alarms: one forbids what the other demands, or the same words stand in another order. It never
//! decides which of the two is right.

use super::same::ComparedSentence;

/// Two sentences are about the same thing from this likeness on.
const SAME_THING_MIN: f64 = 0.7;
/// The same words in another order have at most this likeness: "use let instead of var", "use var instead of let".
const OTHER_ORDER_MAX: f64 = 0.8;
/// Fewer words have no order that means something.
const ORDERED_WORDS_MIN: usize = 4;

/// Whether nobody can follow both.
pub fn contradicts(a: &str, b: &str) -> bool {
    let (one, other) = (ComparedSentence::of(a), ComparedSentence::of(b));
    let likeness = one.words.likeness(&other.words);
    if one.is_denial != other.is_denial {
        return likeness >= SAME_THING_MIN;
    }
    let is_reordered = one.words.share_in(&other.words) == 1.0 && other.words.share_in(&one.words) == 1.0;
    let is_long = one.words.len() >= ORDERED_WORDS_MIN;
    is_reordered && is_long && likeness <= OTHER_ORDER_MAX
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn these_cannot_both_be_followed() {
        for (a, b) in [
            ("Always use type hints", "Never use type hints"),
            ("Always run tests before committing", "Never run tests before committing"),
            ("Add comments", "Do not add comments"),
            ("Use let instead of var", "Use var instead of let"),
            ("Use tabs, not spaces, in Go files", "Use spaces, not tabs, in Go files"),
            ("Kommentare auf Deutsch schreiben", "Nie Kommentare auf Deutsch schreiben"),
        ] {
            assert!(contradicts(a, b) && contradicts(b, a), "{a} / {b}");
        }
    }

    #[test]
    fn these_can_both_be_followed() {
        for (a, b) in [
            ("Use tabs", "Use tabs in Makefiles"),
            ("Run the tests", "Run the linter"),
            ("Never push to main", "Never push to main without review"),
            ("Rule 1: keep feature 1 small", "Rule 2: keep feature 2 small"),
            ("Always write tests", "Always write tests"),
            ("Do not add comments", "Add a changelog entry"),
        ] {
            assert!(!contradicts(a, b) && !contradicts(b, a), "{a} / {b}");
        }
    }
}
