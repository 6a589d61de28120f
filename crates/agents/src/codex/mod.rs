//! Codex: everything it sends, writes and accepts.

mod calls;
pub mod install;
pub mod notes;
pub(super) mod payload;
pub mod rollout;
mod script;
pub(super) mod stream;
pub(super) mod transcript;

use cerberus_record::id::Agent;
use serde_json::Value;

use super::before::{Asking, Refusal};
use super::headless::{Headless, Input};
use super::host::{for_event, refusal};
use super::{Limits, Occasion, Profile};

pub const AGENT: Agent = Agent::new("codex");

pub(super) static PROFILE: Profile = Profile {
    agent: AGENT,
    title: "Codex",
    program: "codex",
    resume: &["resume", "{}"],
    parse: payload::parse,
    is_sender: |marks| {
        let has_rollout = marks.transcript_name.is_some_and(|name| name.starts_with("rollout-"));
        !marks.has_conversation && (marks.has_turn || has_rollout)
    },
    transcript: Some(transcript::read),
    prompt_lines: &["\"session_meta\"", "_started\"", "\"user_message\"", "\"UserMessage\""],
    is_headless: |_, _| false,
    reply,
    refuse: |meant, reason| (meant != Refusal::Ask).then(|| refusal(meant, reason)),
    asking: Asking::Never,
    // Codex truncates at about 2,500 tokens by its own count.
    limits: Limits { chars_max: 8_000, tokens_max: 2_000 },
    shows_notice: true,
    brief_occasion: Occasion::Start,
    forgets_when_resumed: false,
    has_exact_starts: false,
    unreported_tool: Some("update_plan"),
    nesting_variables: &[],
    has_plugin_process: false,
    command_variables: &["CODEX_THREAD_ID", "CODEX_SANDBOX", "CODEX_CI"],
    context: Some(rollout::read),
    status: None,
    headless: Some(&HEADLESS),
};

static HEADLESS: Headless = Headless {
    args: &["exec", "--json"],
    last_args: &["-"],
    naming: None,
    resume: Some("resume"),
    input: Input::Text,
    ask_window: None,
    budget_flag: None,
    model_flags: &["--model", "-m"],
    read: stream::read,
};

fn reply(occasion: Occasion, context: &str) -> Option<Value> {
    Some(match occasion {
        Occasion::Start => for_event("SessionStart", context),
        Occasion::Prompt => for_event("UserPromptSubmit", context),
        Occasion::Failure => for_event("PostToolUse", context),
    })
}
