//! What a fresh context is told: the state of the work, typed, checked, and rendered within a budget.
//!
//! `gather` makes it from captured facts, `heard` and `written` add what the agent said itself, `check` holds it against git;
//! `render` and `fit` make the text. Every text in it is clean of secrets, and every item one line. What is told here never comes
//! back as evidence: [`without_handoff`](crate::extract::injected::without_handoff) takes it out of whatever quotes it whole.

pub mod check;
mod fit;
mod gather;
pub mod heard;
mod render;
pub mod state;
pub mod written;

use self::state::PreservedState;
use super::preserve::Preserve;
use crate::extract::injected::{HANDOFF_END, HANDOFF_HEAD};

pub use gather::{Evidence, gather};

const INTRODUCTION: &str = "You are continuing work from a previous session. Here is the preserved context:";

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
    let head = format!("{HANDOFF_HEAD}\n\n{INTRODUCTION}\n");
    let end = format!("\n{HANDOFF_END}\n");
    let fitted = fit::fit(&render::parts(state), bytes_max - head.len() - end.len());
    Handoff { text: format!("{head}{}{end}", fitted.text), left_out: fitted.left_out }
}

#[cfg(test)]
mod tests;
