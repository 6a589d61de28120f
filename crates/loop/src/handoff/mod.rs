//! What a fresh context starts with: the state of the work, typed, checked and rendered within a budget.
//!
//! `gather` builds it from captured facts, `messages`, `written` and `last_words` add what the agent wrote, `check` and
//! `claims` compare it with git and the disk, `render` and `fit` make the text. Every text is free of secrets, and every item is one line. A handoff
//! never counts as evidence: [`without_handoff`](cerberus_record::ours::without_handoff) removes it from any text
//! that quotes it.

pub mod check;
pub mod claims;
mod fit;
mod gather;
pub mod last_words;
pub mod messages;
mod render;
pub mod state;
mod urgent;
pub mod written;

use cerberus_record::ours::{HANDOFF_END, HANDOFF_HEAD};

use self::state::PreservedState;
use super::preserve::Preserve;

pub use gather::{HandoffEvidence, gather};

const INTRODUCTION: &str = "You are continuing work from a previous session. Here is the preserved context:";

/// What the successor reads.
#[derive(Clone, Debug, PartialEq)]
pub struct Handoff {
    pub text: String,
    /// What did not fit: the heading, and the number of missing lines.
    pub left_out: Vec<(String, usize)>,
}

/// Renders the state in at most `preserve.max_state_bytes`. Failing tests, open issues, pending items and the closing
/// instruction are always included.
pub fn compose(state: &PreservedState, preserve: &Preserve) -> Handoff {
    let bytes_max = preserve.max_state_bytes.max(Preserve::MIN_STATE_BYTES);
    let head = format!("{HANDOFF_HEAD}\n\n{INTRODUCTION}\n");
    let end = format!("\n{HANDOFF_END}\n");
    let fitted = fit::fit(&render::parts(state), bytes_max - head.len() - end.len());
    Handoff { text: format!("{head}{}{end}", fitted.text), left_out: fitted.left_out }
}

#[cfg(test)]
mod tests;
