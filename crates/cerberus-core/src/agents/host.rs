//! The programs that call us: how much each lets a hook tell the model, and the forms of reply that they accept.

use serde_json::{Value, json};

/// What a host lets through to the model of a hook's reply.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    pub chars_max: usize,
    pub tokens_max: usize,
}

impl Limits {
    /// No limit of the host's is known; a brief keeps its own.
    pub const NONE: Limits = Limits { chars_max: usize::MAX, tokens_max: usize::MAX };
}

/// What is answered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Occasion {
    Start,
    Prompt,
}

/// `{"hookSpecificOutput": …}`, with exactly these fields: Codex rejects a reply with any other.
pub(super) fn for_event(event: &str, context: &str) -> Value {
    json!({"hookSpecificOutput": {"hookEventName": event, "additionalContext": context}})
}
