//! The same event, told by two hooks at once: as when a client runs our plugin beside our hooks in its settings.
//!
//! The same key is the same event, so mostly nothing has to be done but to ask who heard it first. A start or an end may
//! come again later with the very same words, though, and then counts again: its key also holds when it was heard, and
//! two of them within [`ECHO_MAX`] with nothing between are one. The journal's order decides whose it is, so exactly one process is the first.

use std::time::Duration;

use crate::model::time::Timestamp;

/// Hooks of one event are started together. Nobody ends a session and starts it again this fast.
pub const ECHO_MAX: Duration = Duration::from_secs(3);

const AT: char = '@';

/// The key of what may be said again with the same words. What is said must not look like another one's time.
pub fn timed_key(said: &str, now: Timestamp) -> String {
    format!("{}{AT}{}", said.replace(AT, "-"), now.millis())
}

/// Between which two texts all timed keys of the same words lie; `None` for a key of another kind.
pub fn same_words(key: &str) -> Option<(String, String)> {
    let (said, millis) = key.rsplit_once(AT)?;
    let is_number = !millis.is_empty() && millis.bytes().all(|byte| byte.is_ascii_digit());
    is_number.then(|| (format!("{said}{AT}"), format!("{said}{AT}:")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_same_words_are_found_whenever_they_were_said() {
        let key = |said, millis| timed_key(said, Timestamp::from_millis(millis));
        let (low, high) = same_words(&key("a-b", 1234)).unwrap();
        for (other, is_same) in
            [(key("a-b", 0), true), (key("a-b", 9_999_999), true), (key("a", 1234), false), (key("a-b@1", 2), false)]
        {
            assert_eq!(low < other && other < high, is_same, "{other}");
        }
        for other in ["start", "end-1234", "prompt-0f-12", "x@", "x@1a", ""] {
            assert_eq!(same_words(other), None, "{other}");
        }
    }
}
