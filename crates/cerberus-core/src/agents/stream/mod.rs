//! One line of an agent's output becomes what it says. One file an agent.
//!
//! A line of a kind nobody knows, a torn one or none at all is [`Said::Unknown`], never an error: agents add events with
//! every release. Texts are as they came: whoever shows or stores one cleans it first.

pub mod plain;

use std::time::Duration;

use serde::{Deserialize, Deserializer};

use crate::clean::text::line;
use crate::model::time::Timestamp;

/// What one line of an agent's output says.
#[derive(Clone, Debug, PartialEq)]
pub enum Said {
    /// A session began, or, where the agent says so at every turn, goes on under the same name.
    Started {
        session: String,
        model: Option<String>,
    },
    /// The agent's words.
    Text(String),
    /// It uses a tool, on what.
    Tool {
        name: String,
        what: String,
    },
    /// A tool came back.
    ToolDone,
    ToolFailed,
    /// What the model was sent and answered. The same message may be told several times.
    Usage {
        message: Option<String>,
        context: u64,
        output: u64,
        own: Speaker,
    },
    /// All that the session spent so far, cached tokens and subagents included.
    Spent {
        tokens: u64,
        cost_usd: Option<f64>,
    },
    /// How much fits into a context of this model; an empty name is whichever model is running.
    Window {
        model: String,
        tokens: u64,
    },
    /// The context was replaced by a summary: how full it is now, nobody knows yet.
    Compacted,
    /// The model cannot be reached now, and why; the agent tries again by itself, or says next that it gave up.
    Waiting {
        wait: Wait,
        fault: Fault,
    },
    /// It was not allowed to use a tool, and nobody is there to be asked.
    Denied {
        tool: String,
    },
    /// The turn is over.
    Finished(Finish),
    Unknown,
}

/// Whose context a message fills.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Speaker {
    Main,
    Subagent,
}

/// How long there is nothing to be done.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Wait {
    Until(Timestamp),
    For(Duration),
    Unknown,
}

/// How a turn ended.
#[derive(Clone, Debug, PartialEq)]
pub enum Finish {
    /// With these last words; empty where the agent said them before.
    Done {
        words: String,
    },
    Failed(Fault),
}

/// What an agent says about its failure; what it means for the loop is decided elsewhere.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Fault {
    /// The agent's own word for it: `error_max_turns`, `rate_limit`, `turn.failed`, …
    pub kind: String,
    /// Of the model's server, where it is told.
    pub http_status: Option<u16>,
    pub words: String,
}

/// What a line says to `reader`; nothing when it is empty.
pub fn read(reader: fn(&[u8]) -> Vec<Said>, line: &[u8]) -> Vec<Said> {
    if line.trim_ascii().is_empty() { Vec::new() } else { reader(line) }
}

/// What is shown of a tool's input.
pub(crate) const WHAT_CHARS_MAX: usize = 120;

pub(crate) fn what(text: &str) -> String {
    line(text, WHAT_CHARS_MAX)
}

/// A count of tokens, or zero. Larger than any context is a mistake, yet no error.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd)]
pub(crate) struct Count(pub(crate) u64);

impl<'de> Deserialize<'de> for Count {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let amount = Amount::deserialize(deserializer)?;
        // A float beyond the range becomes its end.
        Ok(Count(amount.0.unwrap_or_default().max(0.0) as u64))
    }
}

/// A finite number, or nothing.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct Amount(pub(crate) Option<f64>);

impl<'de> Deserialize<'de> for Amount {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let value = serde_json::Value::deserialize(deserializer)?;
        Ok(Amount(value.as_f64().filter(|number| number.is_finite())))
    }
}

/// The HTTP status that an error's words begin with or name: `API Error: 529 {…}`, `unexpected status 401 Unauthorized`.
pub(crate) fn http_status(words: &str) -> Option<u16> {
    const MARKS: [&str; 5] =
        ["API Error: ", "API Error (", "Request rejected (", "unexpected status ", "last status: "];
    let status_after = |mark: &&str| {
        let (_, named) = words.split_once(*mark)?;
        let digits = named.len() - named.trim_start_matches(|c: char| c.is_ascii_digit()).len();
        named[..digits].parse().ok().filter(|status| (400..600).contains(status))
    };
    MARKS.iter().find_map(status_after)
}

#[cfg(test)]
mod tests;
