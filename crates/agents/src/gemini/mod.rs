//! Gemini CLI: everything it sends, writes and accepts.

pub mod install;
pub(super) mod payload;
pub mod stream;
pub(super) mod transcript;

pub use payload::AGENT;

use serde_json::{Value, json};

use super::Profile;
use super::headless::{Headless, SessionNaming};
use super::host::Occasion;
use super::host::for_event;
use crate::host::HookRefusal;
use crate::transcripts::{TranscriptForm, TranscriptFormat};

pub(super) static PROFILE: Profile = Profile {
    agent: AGENT,
    install: &install::PROFILE,
    title: "Gemini CLI",
    program: "gemini",
    resume: &["--resume", "{}"],
    begin: &["--prompt-interactive", "{}"],
    parse: payload::parse,
    is_sender: |marks| {
        let has_chat = marks.transcript_name.is_some_and(|name| name.starts_with("session-"));
        !marks.has_conversation && !marks.has_turn && marks.has_time && has_chat
    },
    transcript: Some(TranscriptFormat { form: TranscriptForm::Both, begin: transcript::begin }),
    reply,
    refuse: |meant, reason| (meant != HookRefusal::Ask).then(|| json!({"decision": "deny", "reason": reason})),
    shows_notice: true,
    // Its headless mode puts a start's context before the prompt in one message, and a resumed session drops messages
    // that begin with context. A prompt's context follows the prompt.
    brief_occasion: Occasion::Prompt,
    has_exact_starts: true,
    command_variables: &["GEMINI_CLI"],
    headless: Some(&HEADLESS),
    ..Profile::DEFAULT
};

static HEADLESS: Headless = Headless {
    args: &["--output-format", "stream-json"],
    naming: Some(SessionNaming {
        flag: "--session-id",
        users_own: &["--session-id", "--session-file", "--resume", "-r"],
    }),
    resume: Some("--resume"),
    read: stream::read,
    ..Headless::DEFAULT
};

fn reply(occasion: Occasion, context: &str) -> Option<Value> {
    Some(match occasion {
        Occasion::Start => for_event("SessionStart", context),
        Occasion::Prompt => for_event("BeforeAgent", context),
        Occasion::Subagent | Occasion::Before => return None,
        Occasion::Failure => for_event("AfterTool", context),
    })
}
