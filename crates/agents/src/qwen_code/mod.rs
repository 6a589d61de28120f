//! Qwen Code: everything it sends, writes and accepts.

pub mod install;
pub(super) mod payload;
pub(super) mod transcript;

pub use payload::AGENT;

use super::Profile;
use super::host::Occasion;
use super::host::{self, refusal};
use crate::host::HookRefusal;
use crate::transcripts::{TranscriptForm, TranscriptFormat};

pub(super) static PROFILE: Profile = Profile {
    agent: AGENT,
    install: &install::PROFILE,
    title: "Qwen Code",
    program: "qwen",
    resume: &["--resume", "{}"],
    begin: &["--prompt-interactive", "{}"],
    parse: payload::parse,
    is_sender: |marks| {
        let is_its_chat = marks.transcript_folder == Some("chats")
            && marks.transcript_name.is_some_and(|name| !name.starts_with("session-"));
        !marks.has_conversation && !marks.has_turn && marks.has_time && is_its_chat
    },
    transcript: Some(TranscriptFormat { form: TranscriptForm::Lines, begin: transcript::begin }),
    prompt_lines: &["\"user\""],
    reply: |occasion, context| host::reply(occasion, context, None),
    refuse: |meant, reason| (meant != HookRefusal::Ask).then(|| refusal(meant, reason)),
    shows_notice: true,
    // Older versions send no start from a headless session.
    brief_occasion: Occasion::Prompt,
    has_exact_starts: true,
    command_variables: &["QWEN_CODE"],
    context: Some(transcript::context),
    ..Profile::DEFAULT
};
