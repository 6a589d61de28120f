//! Claude Code: everything it sends, writes and accepts.

mod context;
pub mod install;
mod line;
pub(super) mod payload;
mod rewind;
mod status;
pub(super) mod stream;
mod titles;
pub(super) mod tool;
pub(super) mod transcript;
mod typed;

pub use payload::AGENT;

use super::Profile;
use super::headless::{Headless, SessionNaming, StandardInput};
use super::host::ReplyLimits;
use super::host::{self, refusal};
use crate::host::AskingTime;
use crate::transcripts::{TranscriptForm, TranscriptFormat};

pub(super) static PROFILE: Profile = Profile {
    agent: AGENT,
    install: &install::PROFILE,
    title: "Claude Code",
    program: "claude",
    resume: &["--resume", "{}"],
    parse: |cleaner, payload| payload::parse(cleaner, payload, |_| None),
    transcript: Some(TranscriptFormat { form: TranscriptForm::Lines, begin: transcript::begin }),
    prompt_lines: &["\"user\""],
    unreported_words: "\"userFeedback\":",
    ends_turn: transcript::ends_turn,
    is_headless: typed::is_headless,
    reply: |occasion, context| host::reply(occasion, context, Some("PostToolUseFailure")),
    refuse: |meant, reason| Some(refusal(meant, reason)),
    asking: AskingTime::If("CLAUDE_CODE_ENTRYPOINT", "cli"),
    // Claude Code shows the model only a preview of anything above 10,000 characters.
    limits: ReplyLimits { chars_max: 9_500, ..ReplyLimits::NONE },
    shows_notice: true,
    // A plan that was rejected only to clear the context: the next session implements it.
    unreported_tool: Some("ExitPlanMode"),
    nesting_variables: &["CLAUDECODE", "CLAUDE_CODE_ENTRYPOINT"],
    command_variables: &["CLAUDECODE"],
    context: Some(context::read),
    status: Some(status::read),
    headless: Some(&HEADLESS),
    ..Profile::DEFAULT
};

static HEADLESS: Headless = Headless {
    args: &["-p", "--input-format", "stream-json", "--output-format", "stream-json", "--verbose"],
    naming: Some(SessionNaming {
        flag: "--session-id",
        users_own: &["--session-id", "--resume", "-r", "--continue", "-c", "--fork-session"],
    }),
    resume: None,
    input: StandardInput::Messages(stream::prompt),
    ask_window: Some(stream::ask_window),
    budget_flag: Some("--max-budget-usd"),
    read: stream::read,
    ..Headless::DEFAULT
};
