//! Qwen Code: everything it sends, writes and accepts.

pub mod install;
pub(super) mod payload;
pub(super) mod transcript;

use cerberus_record::id::Agent;
use serde_json::Value;

use super::before::{Asking, Refusal};
use super::host::{for_event, refusal};
use super::{Limits, Occasion, Profile};

pub const AGENT: Agent = Agent::new("qwen-code");

pub(super) static PROFILE: Profile = Profile {
    agent: AGENT,
    title: "Qwen Code",
    program: "qwen",
    resume: &["--resume", "{}"],
    parse: payload::parse,
    is_sender: |marks| {
        let is_its_chat = marks.transcript_folder == Some("chats")
            && marks.transcript_name.is_some_and(|name| !name.starts_with("session-"));
        !marks.has_conversation && !marks.has_turn && marks.has_time && is_its_chat
    },
    transcript: Some(transcript::read),
    prompt_lines: &[],
    is_headless: |_, _| false,
    reply,
    refuse: |meant, reason| (meant != Refusal::Ask).then(|| refusal(meant, reason)),
    asking: Asking::Never,
    limits: Limits::NONE,
    shows_notice: true,
    // Older versions send no start from a headless session.
    brief_occasion: Occasion::Prompt,
    forgets_when_resumed: false,
    has_exact_starts: true,
    unreported_tool: None,
    nesting_variables: &[],
    has_plugin_process: false,
    command_variables: &["QWEN_CODE"],
    context: Some(transcript::context),
    status: None,
    headless: None,
};

fn reply(occasion: Occasion, context: &str) -> Option<Value> {
    Some(match occasion {
        Occasion::Start => for_event("SessionStart", context),
        Occasion::Prompt => for_event("UserPromptSubmit", context),
        Occasion::Failure => return None,
    })
}
