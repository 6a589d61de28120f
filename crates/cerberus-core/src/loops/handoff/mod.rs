//! What a fresh context is told: the state of the work, typed, checked, and rendered within a budget.
//!
//! `gather` makes it from captured facts, `heard` and `written` add what the agent said itself, `check` holds it against git;
//! `render` and `fit` make the text. Every text in it is clean of secrets, and every item one line. What is told here never comes
//! back as evidence: [`without_handoff`] takes it out of whatever quotes it whole.

pub mod check;
mod fit;
mod gather;
pub mod heard;
mod render;
pub mod state;
pub mod written;

use std::borrow::Cow;

use self::state::PreservedState;
use super::preserve::Preserve;

pub use gather::{Evidence, gather};
pub use state::said;

/// The first line, by which a handoff is known.
const HEAD: &str = "# Context Handoff";
const INTRODUCTION: &str = "You are continuing work from a previous session. Here is the preserved context:";
/// The last line.
pub const CLOSING: &str = "Please continue working on the pending items.";

/// What the successor reads.
#[derive(Clone, Debug, PartialEq)]
pub struct Handoff {
    pub text: String,
    /// What had no room, part by part: its heading, and how many lines of it.
    pub left_out: Vec<(String, usize)>,
}

/// The state as text of at most `preserve.max_state_bytes`. Failing tests, open issues, what is pending and the closing
/// instruction always have a place in it.
pub fn compose(state: &PreservedState, preserve: &Preserve) -> Handoff {
    let bytes_max = preserve.max_state_bytes.max(Preserve::MIN_STATE_BYTES);
    let head = format!("{HEAD}\n\n{INTRODUCTION}\n");
    let end = format!("\n{CLOSING}\n");
    let fitted = fit::fit(&render::parts(state), bytes_max - head.len() - end.len());
    Handoff { text: format!("{head}{}{end}", fitted.text), left_out: fitted.left_out }
}

/// `text` without a handoff, or a request for one, that stands in it.
pub fn without_handoff(text: Cow<'_, str>) -> Cow<'_, str> {
    if !text.contains(HEAD) {
        return text;
    }
    let without = cut(&text, HEAD, CLOSING);
    let without = cut(&without, written::REQUEST_HEAD, written::REQUEST_END);
    if without.len() == text.len() { text } else { Cow::Owned(without.trim().to_string()) }
}

/// From the first line that is `first` to the last one that is `last`; where that is missing, to the end.
fn cut(text: &str, first: &str, last: &str) -> String {
    let lines: Vec<&str> = text.split_inclusive('\n').collect();
    let Some(from) = lines.iter().position(|line| line.trim() == first) else { return text.to_string() };
    let to = lines.iter().rposition(|line| line.trim() == last).filter(|to| *to > from).unwrap_or(lines.len() - 1);
    [&lines[..from], &lines[to + 1..]].concat().concat()
}

#[cfg(test)]
mod tests;
