//! Which sessions of the list match what was typed. Pure.

use cerberus_store::browse::find::START_CHARS_MIN;
use cerberus_store::browse::log::ListedSession;

/// A word may be spread over this many times its length: `prxy` finds `proxy`.
const SPREAD: usize = 2;

/// Whether every word of `text` occurs in the title, the project, the agent or the branch, perhaps with gaps, or begins
/// the id.
pub fn matches(text: &str, listed: &ListedSession) -> bool {
    let session = &listed.session;
    let branch = session.branch.as_deref().unwrap_or_default();
    let names = [listed.title.as_str(), &session.project_name, &session.agent, branch];
    // An id is mostly digits, which would match nearly any number.
    let is_id = |word: &str| word.len() >= START_CHARS_MIN && session.id.as_str().starts_with(word);
    text.split_whitespace().all(|word| names.iter().any(|name| is_in(word, name)) || is_id(word))
}

/// Whether the letters of `word` occur in `text` in this order and close together, in any case.
fn is_in(word: &str, text: &str) -> bool {
    let word: Vec<char> = word.chars().flat_map(char::to_lowercase).collect();
    let text: Vec<char> = text.chars().flat_map(char::to_lowercase).collect();
    let limit = word.len() * SPREAD;
    (0..text.len()).filter(|start| text.get(*start) == word.first()).any(|start| {
        let mut left = word.iter().peekable();
        for c in text[start..].iter().take(limit) {
            left.next_if_eq(&c);
        }
        left.peek().is_none()
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn letters_may_be_missing_but_not_far_apart() {
        for word in ["proxy", "PROXY", "prxy", "spl", "three", "pro"] {
            assert!(is_in(word, "Split proxy.go in three files"), "{word}");
        }
        for word in ["yxorp", "slf", "retry", "proxyz"] {
            assert!(!is_in(word, "Split proxy.go in three files"), "{word}");
        }
        assert!(is_in("größe", "die Größe ändern"));
    }
}
