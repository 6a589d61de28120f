//! Claude Code: everything it sends, writes and accepts.

mod context;
pub mod install;
pub(super) mod payload;
mod rewind;
mod status;
pub(super) mod stream;
mod tool;
pub(super) mod transcript;
mod typed;

use cerberus_record::id::Agent;
use serde_json::Value;

use super::before::Asking;
use super::headless::{Headless, Input, Naming};
use super::host::{for_event, refusal};
use super::{Limits, Occasion, Profile};

pub const AGENT: Agent = Agent::new("claude-code");

pub(super) static PROFILE: Profile = Profile {
    agent: AGENT,
    title: "Claude Code",
    program: "claude",
    resume: &["--resume", "{}"],
    parse: payload::parse,
    is_sender: |_| false,
    transcript: Some(transcript::read),
    prompt_lines: &["\"user\""],
    is_headless: typed::is_headless,
    reply,
    refuse: |meant, reason| Some(refusal(meant, reason)),
    asking: Asking::If("CLAUDE_CODE_ENTRYPOINT", "cli"),
    // Claude Code shows the model only a preview of anything above 10,000 characters.
    limits: Limits { chars_max: 9_500, ..Limits::NONE },
    shows_notice: true,
    brief_occasion: Occasion::Start,
    forgets_when_resumed: false,
    has_exact_starts: false,
    // A plan that was rejected only to clear the context: the next session implements it.
    unreported_tool: Some("ExitPlanMode"),
    nesting_variables: &["CLAUDECODE", "CLAUDE_CODE_ENTRYPOINT"],
    has_plugin_process: false,
    command_variables: &["CLAUDECODE"],
    context: Some(context::read),
    status: Some(status::read),
    headless: Some(&HEADLESS),
};

static HEADLESS: Headless = Headless {
    args: &["-p", "--input-format", "stream-json", "--output-format", "stream-json", "--verbose"],
    last_args: &[],
    naming: Some(Naming {
        flag: "--session-id",
        users_own: &["--session-id", "--resume", "-r", "--continue", "-c", "--fork-session"],
    }),
    resume: None,
    input: Input::Messages(stream::prompt),
    ask_window: Some(stream::ask_window),
    budget_flag: Some("--max-budget-usd"),
    model_flags: &["--model", "-m"],
    read: stream::read,
};

fn reply(occasion: Occasion, context: &str) -> Option<Value> {
    Some(match occasion {
        Occasion::Start => for_event("SessionStart", context),
        Occasion::Prompt => for_event("UserPromptSubmit", context),
        Occasion::Failure => for_event("PostToolUseFailure", context),
    })
}
