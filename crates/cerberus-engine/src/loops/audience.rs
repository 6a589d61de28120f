//! Who watches a loop, and what they are told.

use std::time::Duration;

use cerberus_core::agents::stream::StreamEvent;
use cerberus_core::loops::meter::Certainty;
use cerberus_core::loops::stop::Stop;
use cerberus_core::loops::totals::Ended;

/// Whoever shows a loop to somebody.
pub trait Audience {
    fn hear(&mut self, report: &Report);
}

/// Something that happened. Texts of the agent's are as they came: whoever shows them cleans them.
#[derive(Debug)]
pub enum Report<'a> {
    Begun {
        iteration: u32,
        attempt: u32,
    },
    Session(&'a str),
    Said(&'a StreamEvent),
    /// A line of the agent's error output.
    Error(&'a str),
    Checking(&'a str),
    Told(&'a str),
    Ended(&'a Ended),
    Status(&'a Status),
    Stopped(&'a Stop),
}

/// How a loop stands, a few times a second.
#[derive(Clone, Debug, PartialEq)]
pub struct Status {
    pub iteration: u32,
    pub iterations_max: Option<u32>,
    pub phase: String,
    pub fill_percent: Option<f64>,
    pub certainty: Option<Certainty>,
    pub tokens: u64,
    pub cost_usd: Option<f64>,
    pub elapsed: Duration,
}
