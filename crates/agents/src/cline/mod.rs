//! Cline: everything it sends, writes and accepts.

pub mod install;
pub(super) mod payload;
pub(super) mod transcript;

use cerberus_record::id::Agent;
use serde_json::json;

use super::{Asking, Limits, Occasion, Profile};

pub const AGENT: Agent = Agent::new("cline");

pub(super) static PROFILE: Profile = Profile {
    agent: AGENT,
    title: "Cline",
    program: "cline",
    resume: &["--id", "{}"],
    parse: payload::parse,
    is_sender: |_| false,
    transcript: Some(transcript::read),
    prompt_lines: &[],
    is_headless: |_, _| false,
    reply: |occasion, context| (occasion != Occasion::Failure).then(|| json!({"additionalContext": context})),
    refuse: |_, _| None,
    asking: Asking::Never,
    limits: Limits::NONE,
    shows_notice: false,
    brief_occasion: Occasion::Start,
    forgets_when_resumed: false,
    has_exact_starts: true,
    unreported_tool: None,
    nesting_variables: &[],
    has_plugin_process: true,
    // It sets this for itself, and its commands inherit it.
    command_variables: &["CLINE_CONNECTOR_CLI_LAUNCH"],
    context: None,
    status: None,
    headless: None,
};
