//! Codex: everything it sends, writes and accepts.

mod calls;
pub mod install;
pub mod notes;
pub(super) mod payload;
pub mod rollout;
mod script;
pub(super) mod stream;
pub(super) mod transcript;

pub use payload::AGENT;

use super::Profile;
use super::headless::Headless;
use super::host::ReplyLimits;
use super::host::{self, refusal};
use crate::host::HookRefusal;
use crate::transcripts::{TranscriptForm, TranscriptFormat};

pub(super) static PROFILE: Profile = Profile {
    agent: AGENT,
    install: &install::PROFILE,
    title: "Codex",
    program: "codex",
    resume: &["resume", "{}"],
    parse: payload::parse,
    is_sender: |marks| {
        let has_rollout = marks.transcript_name.is_some_and(|name| name.starts_with("rollout-"));
        !marks.has_conversation && (marks.has_turn || has_rollout)
    },
    transcript: Some(TranscriptFormat { form: TranscriptForm::Lines, begin: transcript::begin }),
    prompt_lines: &["\"session_meta\"", "_started\"", "\"user_message\"", "\"UserMessage\""],
    reply: |occasion, context| host::reply(occasion, context, Some("PostToolUse")),
    refuse: |meant, reason| (meant != HookRefusal::Ask).then(|| refusal(meant, reason)),
    // Codex truncates at about 2,500 tokens by its own count.
    limits: ReplyLimits { chars_max: 8_000, tokens_max: 2_000 },
    shows_notice: true,
    unreported_tool: Some("update_plan"),
    command_variables: &["CODEX_THREAD_ID", "CODEX_SANDBOX", "CODEX_CI"],
    context: Some(rollout::read),
    headless: Some(&HEADLESS),
    ..Profile::DEFAULT
};

static HEADLESS: Headless = Headless {
    args: &["exec", "--json"],
    last_args: &["-"],
    resume: Some("resume"),
    read: stream::read,
    ..Headless::DEFAULT
};
