//! Everything that differs from agent to agent in what it sends and accepts, as one table.

use cerberus_record::clean::Cleaner;
use cerberus_record::id::Agent;
use serde_json::Value;

use crate::headless::Headless;
use crate::hook_event::{HookEvent, PayloadError};
use crate::host::{AskingTime, ClaudePromptMarks, HookRefusal, Occasion, ReplyLimits};
use crate::install;
use crate::status::ReadStatus;
use crate::stream::StreamEvent;
use crate::transcripts::TranscriptFormat;

/// Parses a line of a transcript for what it says about the size of the context.
pub type ReadContext = fn(line: &[u8]) -> Vec<StreamEvent>;

/// Says whether a program runs a session, by the environment of its hook.
type IsHeadless = fn(session: &str, variable: &dyn Fn(&str) -> Option<String>) -> bool;

/// Everything we know about one agent.
#[derive(Debug)]
pub struct Profile {
    pub agent: Agent,
    /// How Cerberus is installed into it, and where it keeps its files.
    pub install: &'static install::Profile,
    /// The display name.
    pub title: &'static str,
    /// The name of the executable on PATH.
    pub program: &'static str,
    /// The arguments that continue a session on a terminal; `{}` is its id.
    pub(crate) resume: &'static [&'static str],
    /// The arguments that begin a session on a terminal with a prompt, which is `{}`.
    pub(crate) begin: &'static [&'static str],
    /// Parses a hook payload. Returns `None` for events we do not capture.
    pub(crate) parse: for<'a> fn(&'a Cleaner, &'a [u8]) -> Result<Option<HookEvent<'a>>, PayloadError>,
    /// Whether this agent sent a payload that arrived through another agent's hook.
    pub(crate) is_sender: fn(&ClaudePromptMarks) -> bool,
    /// Parses the agent's own transcript, if it writes one.
    pub(crate) transcript: Option<TranscriptFormat>,
    /// What a line of the transcript contains if it says who sent a prompt; empty if no line says that.
    pub prompt_lines: &'static [&'static str],
    /// What a line of the transcript contains if it has words that no hook reports; empty if there are none.
    pub unreported_words: &'static str,
    /// Whether a line of the transcript says that the user ended the turn; `None` if it is not about that.
    pub(crate) ends_turn: fn(line: &[u8]) -> Option<bool>,
    /// Whether the hook's environment says that a program runs the session with this id.
    pub(crate) is_headless: IsHeadless,
    /// The hook output that passes the context to the model; `None` if the host accepts no context.
    pub(crate) reply: fn(Occasion, context: &str) -> Option<Value>,
    /// The hook output that refuses a tool use or the end of a turn; `None` if the host cannot be told so.
    pub(crate) refuse: fn(HookRefusal, reason: &str) -> Option<Value>,
    /// When the host can ask its user about a tool use.
    pub(crate) asking: AskingTime,
    pub limits: ReplyLimits,
    /// Whether a reply may have a `systemMessage`, which the host shows to its user.
    pub shows_notice: bool,
    /// Which reply carries the brief of a session: the one to its start, or the one to its first prompt.
    pub brief_occasion: Occasion,
    /// Whether the end of a turn is reported with the agent's last message. Otherwise only the transcript has it.
    pub reports_words: bool,
    /// Whether a resumed session has lost what hooks told it before, so that it is told everything again.
    pub forgets_when_resumed: bool,
    /// Whether payloads carry a timestamp. If so, two starts or ends of a session never share a key, and one event
    /// sent to two hooks has the same key in both.
    pub has_exact_starts: bool,
    /// A tool that the hooks do not always report, but the transcript does. Its uses are added at a session's end.
    pub unreported_tool: Option<&'static str>,
    /// Environment variables by which the agent detects that it runs inside itself, and refuses to.
    pub nesting_variables: &'static [&'static str],
    /// Whether it runs plugins in a process of their own, so that our hook is not called by the agent itself but by a child
    /// of it.
    pub has_plugin_process: bool,
    /// Environment variables that the agent sets for the commands it runs, and nobody else does.
    pub command_variables: &'static [&'static str],
    /// What a line of its transcript says about the size of the context, if transcripts say that.
    pub(crate) context: Option<ReadContext>,
    /// Parses what the agent passes to the command of a status line, if it has one.
    pub(crate) status: Option<ReadStatus>,
    /// How a loop runs the agent, if it supports that.
    pub headless: Option<&'static Headless>,
}

impl Profile {
    /// An agent of which nothing is known. What a profile does not say is as here.
    pub(crate) const DEFAULT: Profile = Profile {
        agent: Agent::MANUAL,
        install: &install::Profile::DEFAULT,
        title: "",
        program: "",
        resume: &[],
        begin: &["{}"],
        parse: |_, _| Ok(None),
        is_sender: |_| false,
        transcript: None,
        prompt_lines: &[],
        unreported_words: "",
        ends_turn: |_| None,
        is_headless: |_, _| false,
        reply: |_, _| None,
        refuse: |_, _| None,
        asking: AskingTime::Never,
        limits: ReplyLimits::NONE,
        shows_notice: false,
        brief_occasion: Occasion::Start,
        reports_words: true,
        forgets_when_resumed: false,
        has_exact_starts: false,
        unreported_tool: None,
        nesting_variables: &[],
        has_plugin_process: false,
        command_variables: &[],
        context: None,
        status: None,
        headless: None,
    };

    pub(crate) fn command(&self, arguments: &[&str], value: &str) -> Vec<String> {
        let arguments = arguments.iter().map(|argument| argument.replace("{}", value));
        std::iter::once(self.program.to_string()).chain(arguments).collect()
    }
}
