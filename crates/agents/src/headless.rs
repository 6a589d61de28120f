//! How to run an agent without a terminal, and how to exchange messages with it.

use super::stream::StreamEvent;

/// What a loop needs to run an agent.
#[derive(Debug)]
pub struct Headless {
    /// Arguments before the user's own; `last_args` follow them.
    pub args: &'static [&'static str],
    pub last_args: &'static [&'static str],
    /// How to set the session id.
    pub naming: Option<SessionNaming>,
    /// The flag that resumes a given session for one more turn.
    pub resume: Option<&'static str>,
    pub input: StandardInput,
    /// The input line that asks for the size of the context window. The answer carries the given id.
    pub ask_window: Option<fn(request_id: &str) -> String>,
    /// The flag that limits what a session may spend, in dollars.
    pub budget_flag: Option<&'static str>,
    /// The flags with which the user chooses the model.
    pub model_flags: &'static [&'static str],
    /// Parses one line of output.
    pub read: fn(line: &[u8]) -> Vec<StreamEvent>,
}

#[derive(Debug)]
pub struct SessionNaming {
    pub flag: &'static str,
    /// User arguments that already choose the session.
    pub users_own: &'static [&'static str],
}

/// What the agent reads from standard input.
#[derive(Clone, Copy, Debug)]
pub enum StandardInput {
    /// One text, then end of file.
    Text,
    /// Any number of messages in the agent's own format, also while it works.
    Messages(fn(text: &str) -> String),
}

impl Headless {
    /// What the agents' programs have in common. What a profile does not say is as here.
    pub const DEFAULT: Headless = Headless {
        args: &[],
        last_args: &[],
        naming: None,
        resume: None,
        input: StandardInput::Text,
        ask_window: None,
        budget_flag: None,
        model_flags: &["--model", "-m"],
        read: |_| Vec::new(),
    };

    /// The model that the user's arguments choose.
    pub fn model<'a>(&self, args: &'a [String]) -> Option<&'a str> {
        let value = |flag: &&str| {
            let joined = args.iter().find_map(|arg| arg.strip_prefix(*flag)?.strip_prefix('='));
            let at = args.iter().position(|arg| arg == *flag);
            joined.or_else(|| args.get(at? + 1).map(String::as_str))
        };
        self.model_flags.iter().find_map(value)
    }

    pub fn stays_open(&self) -> bool {
        matches!(self.input, StandardInput::Messages(_))
    }

    /// The text in the agent's input format.
    pub fn message(&self, text: &str) -> String {
        match self.input {
            StandardInput::Text => text.to_string(),
            StandardInput::Messages(form) => form(text),
        }
    }
}
