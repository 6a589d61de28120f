//! Words and numbers that all sections write in the same way.

use std::time::Duration;

use crate::render::time::duration;

pub(super) const UNKNOWN: &str = "unknown";

/// Whether words of prompts may be in the report: titles, requests, open points, memories.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PromptsShown {
    Shown,
    Hidden,
}

/// `1 session`, `3 sessions`, `2 memories`.
pub(super) fn count(number: usize, what: &str) -> String {
    match (number, what.strip_suffix('y')) {
        (1, _) => format!("1 {what}"),
        (_, Some(stem)) if stem.ends_with('r') => format!("{number} {stem}ies"),
        _ => format!("{number} {what}s"),
    }
}

/// Long sums are in hours: days would be misread as working days.
pub(super) fn hours(time: Duration) -> String {
    match time.as_secs() / 3600 {
        0..10 => duration(time),
        hours => format!("{hours} h"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_are_words() {
        for (number, what, text) in [(1, "session", "1 session"), (0, "day", "0 days"), (2, "memory", "2 memories")] {
            assert_eq!(count(number, what), text);
        }
    }
}
