//! opencode: everything it sends, writes and accepts.

pub mod install;
pub(super) mod payload;
pub(super) mod stream;
pub(super) mod transcript;

pub use payload::AGENT;

use serde_json::json;

use super::headless::Headless;
use super::{Profile, host};
use crate::host::HookRefusal;
use crate::transcripts::{TranscriptForm, TranscriptFormat, WholeReader};

pub(super) static PROFILE: Profile = Profile {
    agent: AGENT,
    install: &install::PROFILE,
    title: "opencode",
    program: "opencode",
    resume: &["--session", "{}"],
    begin: &["--prompt", "{}"],
    parse: payload::parse,
    transcript: Some(TranscriptFormat {
        form: TranscriptForm::Whole,
        begin: |cleaner| WholeReader::begin(cleaner, transcript::read),
    }),
    reply: host::bare_reply,
    refuse: |meant, reason| (meant == HookRefusal::Deny).then(|| json!({"deny": reason})),
    has_exact_starts: true,
    command_variables: &["OPENCODE"],
    headless: Some(&HEADLESS),
    ..Profile::DEFAULT
};

static HEADLESS: Headless =
    Headless { args: &["run", "--format", "json"], resume: Some("--session"), read: stream::read, ..Headless::DEFAULT };
