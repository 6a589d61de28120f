//! Cline: everything it sends, writes and accepts.

pub mod install;
pub(super) mod payload;
pub(super) mod transcript;

pub use payload::AGENT;

use super::{Profile, host};
use crate::transcripts::{TranscriptForm, TranscriptFormat, WholeReader};

pub(super) static PROFILE: Profile = Profile {
    agent: AGENT,
    install: &install::PROFILE,
    title: "Cline",
    program: "cline",
    resume: &["--id", "{}"],
    parse: payload::parse,
    transcript: Some(TranscriptFormat {
        form: TranscriptForm::Whole,
        begin: |cleaner| WholeReader::begin(cleaner, transcript::read),
    }),
    prompt_lines: &["\"user\""],
    reply: host::bare_reply,
    has_exact_starts: true,
    has_plugin_process: true,
    // It sets this for itself, and its commands inherit it.
    command_variables: &["CLINE_CONNECTOR_CLI_LAUNCH"],
    ..Profile::DEFAULT
};
