//! Detects the same event reported by two hooks at once, for example by our plugin and by our hooks in the client's
//! settings.
//!
//! Events with the same key are the same event, so usually it is enough to ask which process reported it first. A
//! start or an end, however, may happen again later with an identical payload and then counts again. Its key therefore
//! includes the time, and two of them within [`ECHO_MAX`] with nothing in between are one. The journal's order decides
//! which is first, so exactly one process is.

use std::time::Duration;

use crate::time::Timestamp;

/// All hooks of one event start together, and nobody ends and restarts a session this fast.
pub const ECHO_MAX: Duration = Duration::from_secs(3);

const AT: char = '@';

/// The key of an event that may repeat with the same payload. `@` in the payload is replaced, so it cannot be mistaken
/// for the time.
pub fn timed_key(payload: &str, now: Timestamp) -> String {
    format!("{}{AT}{}", payload.replace(AT, "-"), now.millis())
}

/// The range of all timed keys with the same payload; `None` for other keys.
pub fn same_words(key: &str) -> Option<(String, String)> {
    let (payload, millis) = key.rsplit_once(AT)?;
    let is_number = !millis.is_empty() && millis.bytes().all(|byte| byte.is_ascii_digit());
    is_number.then(|| (format!("{payload}{AT}"), format!("{payload}{AT}:")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn timed_keys_of_the_same_payload_share_a_range() {
        let key = |payload, millis| timed_key(payload, Timestamp::from_millis(millis));
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
