//! Copilot CLI: everything it sends, writes and accepts.

pub mod install;
pub(super) mod payload;
pub(super) mod todos;
pub(super) mod transcript;

pub use payload::AGENT;

use serde_json::json;

use super::{Profile, host};
use crate::host::{AskingTime, HookRefusal};
use crate::transcripts::{TranscriptForm, TranscriptFormat};

pub(super) static PROFILE: Profile = Profile {
    agent: AGENT,
    install: &install::PROFILE,
    title: "Copilot CLI",
    program: "copilot",
    resume: &["--resume={}"],
    begin: &["--interactive", "{}"],
    parse: payload::parse,
    is_sender: |marks| {
        let has_events = marks.transcript_name.is_none_or(|name| name == "events.jsonl");
        !marks.has_conversation && !marks.has_turn && marks.has_time && has_events
    },
    transcript: Some(TranscriptFormat { form: TranscriptForm::Lines, begin: transcript::begin }),
    prompt_lines: &["\"session.start\"", "\"session.resume\"", "\"user.message\""],
    reply: host::bare_reply,
    refuse: |meant, reason| {
        Some(match meant {
            HookRefusal::GoOn => json!({"decision": "block", "reason": reason}),
            HookRefusal::Deny => json!({"permissionDecision": "deny", "permissionDecisionReason": reason}),
            HookRefusal::Ask => json!({"permissionDecision": "ask", "permissionDecisionReason": reason}),
        })
    },
    asking: AskingTime::Always,
    reports_words: false,
    forgets_when_resumed: true,
    has_exact_starts: true,
    command_variables: &["COPILOT_CLI", "COPILOT_AGENT", "COPILOT_AGENT_SESSION_ID"],
    ..Profile::DEFAULT
};
