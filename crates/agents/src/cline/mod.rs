//! Cline: everything it sends, writes and accepts.

pub mod install;
pub(super) mod payload;
pub(super) mod transcript;

use cerberus_record::id::Agent;
use serde_json::json;

use super::Profile;

pub const AGENT: Agent = Agent::new("cline");

pub(super) static PROFILE: Profile = Profile {
    agent: AGENT,
    title: "Cline",
    program: "cline",
    resume: &["--id", "{}"],
    parse: payload::parse,
    transcript: Some(transcript::read),
    reply: |_, context| Some(json!({"additionalContext": context})),
    has_exact_starts: true,
    has_plugin_process: true,
    // It sets this for itself, and its commands inherit it.
    command_variables: &["CLINE_CONNECTOR_CLI_LAUNCH"],
    ..Profile::DEFAULT
};
