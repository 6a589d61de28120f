//! opencode: everything it sends, writes and accepts.

pub mod install;
pub(super) mod payload;
pub(super) mod stream;
pub(super) mod transcript;

use cerberus_record::id::Agent;
use serde_json::json;

use super::before::{Asking, Refusal};
use super::headless::{Headless, Input};
use super::{Limits, Occasion, Profile};

pub const AGENT: Agent = Agent::new("opencode");

pub(super) static PROFILE: Profile = Profile {
    agent: AGENT,
    title: "opencode",
    program: "opencode",
    resume: &["--session", "{}"],
    parse: payload::parse,
    is_sender: |_| false,
    transcript: Some(transcript::read),
    prompt_lines: &[],
    is_headless: |_, _| false,
    reply: |occasion, context| (occasion != Occasion::Failure).then(|| json!({"additionalContext": context})),
    refuse: |meant, reason| (meant == Refusal::Deny).then(|| json!({"deny": reason})),
    asking: Asking::Never,
    limits: Limits::NONE,
    shows_notice: false,
    brief_occasion: Occasion::Start,
    forgets_when_resumed: false,
    has_exact_starts: true,
    unreported_tool: None,
    nesting_variables: &[],
    has_plugin_process: false,
    command_variables: &["OPENCODE"],
    context: None,
    status: None,
    headless: Some(&HEADLESS),
};

static HEADLESS: Headless = Headless {
    args: &["run", "--format", "json"],
    last_args: &[],
    naming: None,
    resume: Some("--session"),
    input: Input::Text,
    ask_window: None,
    budget_flag: None,
    model_flags: &["--model", "-m"],
    read: stream::read,
};
