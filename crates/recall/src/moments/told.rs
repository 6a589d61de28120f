//! What receipts say was told in between.

use cerberus_record::fact::FactKind;
use cerberus_record::ours::{PAST, SEEN};

/// Joins a session and a file that it changed, in the code of a receipt.
const CHANGED: &str = " changed ";
/// Ends the code of a command that was held.
const UNCOMMITTED: &str = " has not committed";
/// Begins the code of what was told before an edit.
pub const EDIT: &str = "before editing ";
/// Comes before the signature of a failure.
const SIGNATURE: &str = " #";

/// What was told at a moment, as its receipt says it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ToldMoment<'a> {
    /// A failure was known, and this helped then.
    Seen { remedy: &'a str },
    /// Another session at work had changed this file.
    Changed { file: &'a str },
    /// A command was held, because another session at work had not committed.
    Held,
    /// What came out of this earlier session.
    Past { session: &'a str },
    /// What is known about a file, before it was edited.
    Edit { file: &'a str },
}

/// The code of a receipt for what helped against a failure.
pub fn seen_code(remedy: &str, signature: &str) -> String {
    format!("{SEEN}{remedy}{SIGNATURE}{signature}")
}

/// Whether a receipt is for this failure.
pub fn is_seen(code: &str, signature: &str) -> bool {
    code.starts_with(SEEN) && code.strip_suffix(signature).is_some_and(|rest| rest.ends_with(SIGNATURE))
}

/// The code of a receipt for a file that another session has changed.
pub fn changed_code(session: &str, file: &str) -> String {
    format!("{}{session}{CHANGED}{file}", FactKind::Live.prefix())
}

/// The code of a receipt for a command that was held.
pub fn held_code(session: &str) -> String {
    format!("{}{session}{UNCOMMITTED}", FactKind::Live.prefix())
}

/// The code of a receipt for an earlier session.
pub fn past_code(session: &str) -> String {
    format!("{PAST}{session}")
}

/// Whether a receipt is for this session.
pub fn is_past(code: &str, session: &str) -> bool {
    code.strip_prefix(PAST) == Some(session)
}

/// The code of a receipt for what is known about a file.
pub fn edit_code(file: &str) -> String {
    format!("{EDIT}{file}")
}

/// Reads the code of a receipt; `None` if it is for a line of a brief.
pub fn read(code: &str) -> Option<ToldMoment<'_>> {
    if let Some(rest) = code.strip_prefix(SEEN) {
        return Some(ToldMoment::Seen { remedy: rest.rsplit_once(SIGNATURE).map_or(rest, |(remedy, _)| remedy) });
    }
    if let Some(session) = code.strip_prefix(PAST) {
        return Some(ToldMoment::Past { session });
    }
    if let Some(file) = code.strip_prefix(EDIT) {
        return Some(ToldMoment::Edit { file });
    }
    let rest = code.strip_prefix(FactKind::Live.prefix())?;
    match rest.split_once(CHANGED) {
        Some((_, file)) => Some(ToldMoment::Changed { file }),
        None => rest.ends_with(UNCOMMITTED).then_some(ToldMoment::Held),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_code_says_what_was_told() {
        let seen = seen_code("npm ci #2", "0a1b");
        assert_eq!(read(&seen), Some(ToldMoment::Seen { remedy: "npm ci #2" }));
        assert!(is_seen(&seen, "0a1b") && !is_seen(&seen, "1b") && !is_seen(&seen, "0a1c"));
        assert_eq!(read(&changed_code("s", "a.rs")), Some(ToldMoment::Changed { file: "a.rs" }));
        assert_eq!(read(&held_code("s")), Some(ToldMoment::Held));
        assert_eq!(read(&past_code("s-1")), Some(ToldMoment::Past { session: "s-1" }));
        assert!(is_past("past:s-1", "s-1") && !is_past("past:s-12", "s-1"));
        assert_eq!(read(&edit_code("a b.rs")), Some(ToldMoment::Edit { file: "a b.rs" }));
        assert_eq!(read("live:s@2026-01-22T13:35:14Z"), None, "a line of a brief");
        assert_eq!(read("impl:a.rs"), None);
    }
}
