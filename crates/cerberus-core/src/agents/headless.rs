//! How an agent is run without a terminal, and what it is told and says then.

use super::stream::Said;

/// What a loop has to know to run an agent.
#[derive(Debug)]
pub struct Headless {
    /// Before the user's own arguments, and after them.
    pub args: &'static [&'static str],
    pub last_args: &'static [&'static str],
    /// How it is told the name of its session.
    pub naming: Option<Naming>,
    /// The argument before the name of a session that it takes up again for one more turn.
    pub resume: Option<&'static str>,
    pub input: Input,
    /// What is written to it to ask how much fits into its context; the answer carries the given id.
    pub ask_window: Option<fn(request_id: &str) -> String>,
    pub tells_cost: bool,
    /// What a line of its output says.
    pub read: fn(line: &[u8]) -> Vec<Said>,
}

#[derive(Debug)]
pub struct Naming {
    pub flag: &'static str,
    /// Arguments of the user's that say already which session it is.
    pub users_own: &'static [&'static str],
}

/// How it is spoken to on standard input.
#[derive(Clone, Copy, Debug)]
pub enum Input {
    /// One text, then the end.
    Text,
    /// Messages in a form of its own, as many as there are, also while it works.
    Messages(fn(text: &str) -> String),
}

impl Headless {
    pub fn stays_open(&self) -> bool {
        matches!(self.input, Input::Messages(_))
    }

    /// A message as it is written to it.
    pub fn message(&self, text: &str) -> String {
        match self.input {
            Input::Text => text.to_string(),
            Input::Messages(form) => form(text),
        }
    }
}
