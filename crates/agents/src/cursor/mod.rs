//! Cursor: everything it sends, writes and accepts.

pub mod install;
pub(super) mod payload;

pub use payload::AGENT;

use serde_json::{Value, json};

use super::Profile;
use super::host::Occasion;
use crate::host::HookRefusal;

pub(super) static PROFILE: Profile = Profile {
    agent: AGENT,
    install: &install::PROFILE,
    title: "Cursor",
    program: "cursor-agent",
    resume: &["--resume", "{}"],
    parse: payload::parse,
    is_sender: |marks| marks.has_conversation,
    reply,
    refuse: |meant, reason| {
        (meant == HookRefusal::Deny)
            .then(|| json!({"permission": "deny", "user_message": reason, "agent_message": reason}))
    },
    command_variables: &["CURSOR_AGENT"],
    ..Profile::DEFAULT
};

fn reply(occasion: Occasion, context: &str) -> Option<Value> {
    match occasion {
        Occasion::Start => Some(json!({"additional_context": context})),
        // Cursor's prompt hook can only block a prompt.
        Occasion::Prompt | Occasion::Subagent | Occasion::Failure | Occasion::Before => None,
    }
}
