//! How much context each host accepts from a hook, and the reply formats.

use serde_json::{Value, json};

/// How much of a hook's reply the host passes to the model.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ReplyLimits {
    pub chars_max: usize,
    pub tokens_max: usize,
}

impl ReplyLimits {
    /// The host has no known limit; only the brief's own budget applies.
    pub const NONE: ReplyLimits = ReplyLimits { chars_max: usize::MAX, tokens_max: usize::MAX };
}

/// Which event the hook replies to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Occasion {
    Start,
    Prompt,
    /// A subagent starts, in a context of its own.
    Subagent,
    /// A command has failed.
    Failure,
    /// A tool is about to run.
    Before,
}

/// `{"hookSpecificOutput": …}` with exactly these fields. Codex rejects a reply with any others.
pub(super) fn for_event(event: &str, context: &str) -> Value {
    json!({"hookSpecificOutput": {"hookEventName": event, "additionalContext": context}})
}

/// The reply in the protocol that several hosts share. `failure` is the event that a failed command is reported with, if
/// its reply reaches the model. Then what is said before a tool runs reaches it too, with the result.
pub(super) fn reply(occasion: Occasion, context: &str, failure: Option<&str>) -> Option<Value> {
    let event = match occasion {
        Occasion::Start => "SessionStart",
        Occasion::Prompt => "UserPromptSubmit",
        Occasion::Subagent => "SubagentStart",
        Occasion::Failure => failure?,
        Occasion::Before => failure.map(|_| "PreToolUse")?,
    };
    Some(for_event(event, context))
}

/// The reply of hosts that know their event. Nothing reaches the model before or after a tool.
pub(super) fn bare_reply(occasion: Occasion, context: &str) -> Option<Value> {
    (!matches!(occasion, Occasion::Failure | Occasion::Before)).then(|| json!({"additionalContext": context}))
}

/// The refusal in the protocol that several hosts share. Only some can ask.
pub(super) fn refusal(refusal: HookRefusal, reason: &str) -> Value {
    let decision = match refusal {
        HookRefusal::GoOn => return json!({"decision": "block", "reason": reason}),
        HookRefusal::Deny => "deny",
        HookRefusal::Ask => "ask",
    };
    json!({"hookSpecificOutput": {"hookEventName": "PreToolUse", "permissionDecision": decision,
        "permissionDecisionReason": reason}})
}

/// How an answer before a tool use, or at the end of a turn, is meant.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum HookRefusal {
    Deny,
    /// The host asks its user.
    Ask,
    /// The turn goes on.
    GoOn,
}

/// When a host can ask its user.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AskingTime {
    Never,
    Always,
    /// Only if this environment variable has this value.
    If(&'static str, &'static str),
}

/// The fields that reveal which host sent a payload in this format.
pub(crate) struct ClaudePromptMarks<'a> {
    pub transcript_name: Option<&'a str>,
    /// The folder that it is in.
    pub transcript_folder: Option<&'a str>,
    pub has_turn: bool,
    pub has_time: bool,
    pub has_conversation: bool,
}
