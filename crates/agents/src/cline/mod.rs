//! Cline: everything it sends, writes and accepts.

pub mod install;
pub(super) mod payload;
pub(super) mod transcript;

pub use payload::AGENT;

use super::{Profile, host};

pub(super) static PROFILE: Profile = Profile {
    agent: AGENT,
    title: "Cline",
    program: "cline",
    resume: &["--id", "{}"],
    parse: payload::parse,
    transcript: Some(transcript::read),
    reply: host::bare_reply,
    has_exact_starts: true,
    has_plugin_process: true,
    // It sets this for itself, and its commands inherit it.
    command_variables: &["CLINE_CONNECTOR_CLI_LAUNCH"],
    ..Profile::DEFAULT
};
