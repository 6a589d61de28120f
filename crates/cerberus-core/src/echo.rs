//! The same event, told by two hooks at once: as when a client runs our plugin and our hooks in its settings.
//!
//! A start or an end may come again later with the very same words and then counts again, so its key also holds when and
//! by which of our processes it was heard. Two of them that say the same within [`ECHO_MAX`] are one event; the journal's
//! order decides whose it is, so exactly one process knows that it was first.

use std::time::Duration;

use crate::time::Timestamp;

/// Hooks of one event are started together. Nobody ends a session and starts it again this fast.
pub const ECHO_MAX: Duration = Duration::from_secs(3);

/// The key of what was heard now, by the process with this number.
pub fn heard_key(said: &str, now: Timestamp, pid: u32) -> String {
    format!("{said}-{}.{pid}", now.millis())
}

/// What all keys of the same words begin with; `None` for keys of another kind.
pub fn said_prefix(key: &str) -> Option<&str> {
    let dash = key.rfind('-')?;
    let (millis, pid) = key[dash + 1..].split_once('.')?;
    let is_number = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    (is_number(millis) && is_number(pid)).then_some(&key[..=dash])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_said_is_told_from_when_and_by_whom() {
        let key = heard_key("a-b", Timestamp::from_millis(1234), 5);
        assert_eq!((key.as_str(), said_prefix(&key)), ("a-b-1234.5", Some("a-b-")));
        for other in ["start", "end-1234", "end-explicit-12", "prompt-0f-1e", "x-1.", "x-.1", "x-a.1", ""] {
            assert_eq!(said_prefix(other), None, "{other}");
        }
    }
}
