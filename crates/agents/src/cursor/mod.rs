//! Cursor: everything it sends, writes and accepts.

pub mod install;
pub(super) mod payload;

use cerberus_record::id::Agent;
use serde_json::{Value, json};

use super::before::{Asking, Refusal};
use super::{Limits, Occasion, Profile};

pub const AGENT: Agent = Agent::new("cursor");

pub(super) static PROFILE: Profile = Profile {
    agent: AGENT,
    title: "Cursor",
    program: "cursor-agent",
    resume: &["--resume", "{}"],
    parse: payload::parse,
    is_sender: |marks| marks.has_conversation,
    transcript: None,
    prompt_lines: &[],
    is_headless: |_, _| false,
    reply,
    refuse: |meant, reason| {
        (meant == Refusal::Deny).then(|| json!({"permission": "deny", "user_message": reason, "agent_message": reason}))
    },
    asking: Asking::Never,
    limits: Limits::NONE,
    shows_notice: false,
    brief_occasion: Occasion::Start,
    forgets_when_resumed: false,
    has_exact_starts: false,
    unreported_tool: None,
    nesting_variables: &[],
    has_plugin_process: false,
    command_variables: &["CURSOR_AGENT"],
    context: None,
    status: None,
    headless: None,
};

fn reply(occasion: Occasion, context: &str) -> Option<Value> {
    match occasion {
        Occasion::Start => Some(json!({"additional_context": context})),
        // Cursor's prompt hook can only block a prompt.
        Occasion::Prompt | Occasion::Failure => None,
    }
}
