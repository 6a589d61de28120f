//! When a context is full enough to be replaced: at the soft redline with a handoff written by the session, at the
//! hard one at once.
//!
//! Levels are a percentage of the window, or tokens. A context of unknown fill crosses no line.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

use crate::meter::MeterReading;

/// A level: `70%`, or `140000` tokens.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub enum RedlineLevel {
    Percent(f64),
    Tokens(u64),
}

#[derive(Debug, thiserror::Error, PartialEq, Eq)]
#[error("{0:?} is not a fill level; write a percentage of the window like 70%, or tokens like 140000 or 140k")]
pub struct NotALevel(String);

impl FromStr for RedlineLevel {
    type Err = NotALevel;

    fn from_str(text: &str) -> Result<RedlineLevel, NotALevel> {
        let wrong = || NotALevel(text.chars().take(40).collect());
        let text = text.trim().replace('_', "");
        if let Some(percent) = text.strip_suffix('%') {
            let percent: f64 = percent.trim().parse().map_err(|_| wrong())?;
            return if percent > 0.0 && percent <= 100.0 { Ok(RedlineLevel::Percent(percent)) } else { Err(wrong()) };
        }
        let (digits, unit) = match text.strip_suffix(['k', 'K']) {
            Some(digits) => (digits, 1_000),
            None => (text.as_str(), 1),
        };
        let tokens: u64 = digits.trim().parse().map_err(|_| wrong())?;
        tokens.checked_mul(unit).filter(|tokens| *tokens > 0).map(RedlineLevel::Tokens).ok_or_else(wrong)
    }
}

impl TryFrom<String> for RedlineLevel {
    type Error = NotALevel;

    fn try_from(text: String) -> Result<RedlineLevel, NotALevel> {
        text.parse()
    }
}

impl From<RedlineLevel> for String {
    fn from(level: RedlineLevel) -> String {
        level.to_string()
    }
}

impl fmt::Display for RedlineLevel {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            RedlineLevel::Percent(percent) => write!(f, "{percent}%"),
            RedlineLevel::Tokens(tokens) => write!(f, "{tokens}"),
        }
    }
}

impl RedlineLevel {
    fn is_reached(self, reading: &MeterReading) -> bool {
        match self {
            RedlineLevel::Percent(level) => reading.percent.is_some_and(|percent| percent >= level),
            RedlineLevel::Tokens(level) => reading.tokens.is_some_and(|tokens| tokens >= level),
        }
    }
}

/// The two lines.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Redline {
    /// The session is asked for its handoff.
    pub soft: RedlineLevel,
    /// It is stopped.
    pub hard: RedlineLevel,
}

impl Default for Redline {
    fn default() -> Redline {
        Redline { soft: RedlineLevel::Percent(70.0), hard: RedlineLevel::Percent(85.0) }
    }
}

/// Which redline a context has crossed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Fill {
    Below,
    Soft,
    Hard,
}

#[derive(Debug, thiserror::Error, PartialEq)]
#[error("the soft redline ({soft}) must be below the hard redline ({hard})")]
pub struct OutOfOrder {
    pub soft: RedlineLevel,
    pub hard: RedlineLevel,
}

impl Redline {
    /// A percentage and a token count are not compared, because the window may differ between sessions.
    pub fn new(soft: RedlineLevel, hard: RedlineLevel) -> Result<Redline, OutOfOrder> {
        let is_ordered = match (soft, hard) {
            (RedlineLevel::Percent(soft), RedlineLevel::Percent(hard)) => soft < hard,
            (RedlineLevel::Tokens(soft), RedlineLevel::Tokens(hard)) => soft < hard,
            _ => true,
        };
        if is_ordered { Ok(Redline { soft, hard }) } else { Err(OutOfOrder { soft, hard }) }
    }

    pub fn judge(&self, reading: &MeterReading) -> Fill {
        match (self.hard.is_reached(reading), self.soft.is_reached(reading)) {
            (true, _) => Fill::Hard,
            (false, true) => Fill::Soft,
            (false, false) => Fill::Below,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::meter::Certainty;

    fn reading(tokens: u64, window: Option<u64>) -> MeterReading {
        let percent = window.map(|window| tokens as f64 * 100.0 / window as f64);
        MeterReading { tokens: Some(tokens), window, percent, certainty: Certainty::Direct }
    }

    #[test]
    fn levels_are_percent_or_tokens() {
        for (text, level) in [
            ("70%", Some(RedlineLevel::Percent(70.0))),
            (" 72.5 %", Some(RedlineLevel::Percent(72.5))),
            ("100%", Some(RedlineLevel::Percent(100.0))),
            ("140000", Some(RedlineLevel::Tokens(140_000))),
            ("140_000", Some(RedlineLevel::Tokens(140_000))),
            ("140k", Some(RedlineLevel::Tokens(140_000))),
            ("0", None),
            ("0%", None),
            ("101%", None),
            ("NaN%", None),
            ("-5", None),
            ("soft", None),
            ("", None),
            ("99999999999999999999k", None),
        ] {
            assert_eq!(text.parse().ok(), level, "{text}");
        }
        let kept: RedlineLevel = serde_json::from_str("\"85%\"").unwrap();
        assert_eq!((kept, serde_json::to_string(&kept).unwrap()), (RedlineLevel::Percent(85.0), "\"85%\"".to_string()));
    }

    #[test]
    fn the_hard_line_wins_and_an_unknown_fill_crosses_none() {
        let unknown = MeterReading { tokens: None, window: Some(100), percent: None, certainty: Certainty::Unknown };
        let standard = Redline::default();
        let tokens = Redline::new(RedlineLevel::Tokens(1_000), RedlineLevel::Tokens(2_000)).unwrap();
        for (redline, reading, fill) in [
            (standard, reading(69_999, Some(100_000)), Fill::Below),
            (standard, reading(70_000, Some(100_000)), Fill::Soft),
            (standard, reading(84_999, Some(100_000)), Fill::Soft),
            (standard, reading(85_000, Some(100_000)), Fill::Hard),
            (standard, reading(300_000, Some(100_000)), Fill::Hard),
            (standard, reading(70_000, None), Fill::Below),
            (standard, unknown, Fill::Below),
            (tokens, reading(999, None), Fill::Below),
            (tokens, reading(1_000, None), Fill::Soft),
            (tokens, reading(2_000, Some(1_000_000)), Fill::Hard),
            (tokens, unknown, Fill::Below),
        ] {
            assert_eq!(redline.judge(&reading), fill, "{redline:?} {reading:?}");
        }
    }

    #[test]
    fn lines_out_of_order_are_rejected() {
        for (soft, hard, is_fine) in [
            ("70%", "85%", true),
            ("85%", "85%", false),
            ("90%", "85%", false),
            ("90k", "80k", false),
            ("90k", "50%", true),
        ] {
            let redline = Redline::new(soft.parse().unwrap(), hard.parse().unwrap());
            assert_eq!(redline.is_ok(), is_fine, "{soft} {hard}");
        }
    }
}
