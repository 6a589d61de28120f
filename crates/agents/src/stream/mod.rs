//! Parses an agent's output, line by line. Each agent has its own reader.
//!
//! A line that is torn or of an unknown kind is [`StreamEvent::Unknown`], never an error, because agents add events
//! with every release. Texts are not cleaned here; clean them before showing or storing them.

pub mod plain;

use std::time::Duration;

use cerberus_record::clean::text::line;
use cerberus_record::time::Timestamp;
use serde::{Deserialize, Deserializer};

use super::loose::Pairs;

/// What one line of an agent's output reports.
#[derive(Clone, Debug, PartialEq)]
pub enum StreamEvent {
    /// A session started. Some agents repeat this at every turn of the same session.
    Started {
        session: String,
        model: Option<String>,
    },
    /// Text from the agent.
    Text(String),
    /// A tool call: its name and what it works on.
    Tool {
        name: String,
        what: String,
    },
    /// A tool returned.
    ToolDone,
    ToolFailed,
    /// The token usage of one model call. The same message may be reported several times.
    Usage {
        message: Option<String>,
        context: u64,
        output: u64,
        own: Speaker,
    },
    /// The tokens of one model call by price class, or of the whole session so far.
    Billed(Bill),
    /// The model that answers from now on.
    Model(String),
    /// What the session has spent so far, including cached tokens and subagents.
    Spent {
        tokens: u64,
        cost_usd: Option<f64>,
    },
    /// The context window of this model. An empty name means the model that is running.
    Window {
        model: String,
        tokens: u64,
    },
    /// The context was replaced by a summary; its size is unknown until the next usage.
    Compacted,
    /// The model cannot be reached, and why. The agent retries, or reports next that it gave up.
    Waiting {
        wait: Wait,
        fault: Fault,
    },
    /// A tool was not permitted, and there is nobody to ask.
    Denied {
        tool: String,
    },
    /// The turn ended.
    Finished(Finish),
    Unknown,
}

/// Tokens to pay for.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Bill {
    /// The same message may be billed several times; `None` is the session as a whole.
    pub message: Option<String>,
    /// `None` is the model that is running.
    pub model: Option<String>,
    pub tokens: TokenUsage,
    /// An estimate of the answer in this line. Some agents count the output only when the whole turn is over.
    pub written: u64,
    /// What the agent itself says that it costs.
    pub cost_usd: Option<f64>,
}

/// Tokens by price class; each is in one class only.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct TokenUsage {
    pub input: u64,
    pub cache_read: u64,
    pub cache_write: u64,
    /// Written to the cache to stay there for an hour, which costs more.
    pub cache_write_hour: u64,
    pub output: u64,
}

impl TokenUsage {
    /// What the model read.
    pub fn prompt(&self) -> u64 {
        let cached = self.cache_read.saturating_add(self.cache_write).saturating_add(self.cache_write_hour);
        self.input.saturating_add(cached)
    }

    /// Everything that the model read and wrote.
    pub fn total(&self) -> u64 {
        self.prompt().saturating_add(self.output)
    }

    /// The larger count of each class.
    pub fn max(&self, other: &TokenUsage) -> TokenUsage {
        TokenUsage {
            input: self.input.max(other.input),
            cache_read: self.cache_read.max(other.cache_read),
            cache_write: self.cache_write.max(other.cache_write),
            cache_write_hour: self.cache_write_hour.max(other.cache_write_hour),
            output: self.output.max(other.output),
        }
    }
}

/// Whose context a message belongs to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Speaker {
    Main,
    Subagent,
}

/// How long the agent will wait.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Wait {
    Until(Timestamp),
    For(Duration),
    Unknown,
}

impl Wait {
    /// When it is over, if it began now; `None` if nobody knows.
    pub fn end(self, now: Timestamp) -> Option<Timestamp> {
        match self {
            Wait::Until(until) => Some(until),
            Wait::For(span) => Some(now.plus(span)),
            Wait::Unknown => None,
        }
    }
}

/// How a turn ended.
#[derive(Clone, Debug, PartialEq)]
pub enum Finish {
    /// The final text; empty if the agent sent it earlier.
    Done {
        words: String,
    },
    Failed(Fault),
}

/// A failure as the agent reports it. The loop decides what it means.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Fault {
    /// The agent's own name for it: `error_max_turns`, `rate_limit`, `turn.failed`, …
    pub kind: String,
    /// From the model's server, if known.
    pub http_status: Option<u16>,
    pub words: String,
}

impl Fault {
    pub fn usage_limit(kind: &str) -> Fault {
        Fault { kind: kind.to_string(), words: "the usage limit is reached".to_string(), http_status: None }
    }
}

/// Parses one line with `reader`. An empty line gives no events.
pub fn read(reader: fn(&[u8]) -> Vec<StreamEvent>, line: &[u8]) -> Vec<StreamEvent> {
    if line.trim_ascii().is_empty() { Vec::new() } else { reader(line) }
}

/// The fields of a tool's input that show what it works on, most useful first.
const SUBJECT_FIELDS: [&str; 10] =
    ["command", "file_path", "filePath", "notebook_path", "pattern", "path", "url", "query", "description", "prompt"];

pub(crate) fn subject<'a>(input: &'a Pairs) -> &'a str {
    let field = |name: &&str| input.0.iter().find(|(key, _)| key == name).map(|(_, value)| &**value);
    SUBJECT_FIELDS.iter().find_map(field).or(input.0.first().map(|(_, value)| &**value)).unwrap_or_default()
}

/// The longest description of a tool's input.
pub(crate) const WHAT_CHARS_MAX: usize = 120;

pub(crate) fn what(text: &str) -> String {
    line(text, WHAT_CHARS_MAX)
}

/// A token count, or zero. Implausible values are kept, not rejected.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd)]
pub(crate) struct Count(pub(crate) u64);

impl<'de> Deserialize<'de> for Count {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let amount = Amount::deserialize(deserializer)?;
        // The cast saturates.
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

/// The HTTP status named in an error message: `API Error: 529 {…}`, `unexpected status 401 Unauthorized`.
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
