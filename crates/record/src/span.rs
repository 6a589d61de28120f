//! A duration as people write it: `500ms`, `90s`, `10m`, `2h`, `1d`, `12w`, or a plain number of seconds.

use std::fmt;
use std::str::FromStr;
use std::time::Duration;

use serde::{Deserialize, Serialize};

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(try_from = "Quoting", into = "String")]
pub struct Span(pub Duration);

#[derive(Debug, thiserror::Error, PartialEq, Eq)]
#[error("{0:?} is not a duration; write it as 500ms, 90s, 10m, 2h, 1d or 12w")]
pub struct NotASpan(String);

/// In a settings file, a plain number needs no quotes.
#[derive(Deserialize)]
#[serde(untagged)]
enum Quoting {
    Secs(u64),
    Text(String),
}

/// Longer than any wait or retention period.
const SECS_MAX: u64 = 100 * 366 * 24 * 60 * 60;

const UNITS_MILLIS: [(&str, u64); 7] =
    [("ms", 1), ("s", 1_000), ("m", 60_000), ("h", 3_600_000), ("d", 86_400_000), ("w", 604_800_000), ("", 1_000)];

impl Span {
    pub const fn secs(secs: u64) -> Span {
        Span(Duration::from_secs(secs))
    }
}

impl FromStr for Span {
    type Err = NotASpan;

    fn from_str(text: &str) -> Result<Span, NotASpan> {
        let wrong = || NotASpan(text.chars().take(40).collect());
        let trimmed = text.trim();
        let digits = trimmed.bytes().take_while(u8::is_ascii_digit).count();
        let number: u64 = trimmed[..digits].parse().map_err(|_| wrong())?;
        let unit = trimmed[digits..].trim();
        let (_, millis) = UNITS_MILLIS.iter().find(|(name, _)| *name == unit).ok_or_else(wrong)?;
        let span = number.checked_mul(*millis).filter(|millis| *millis <= SECS_MAX * 1_000).ok_or_else(wrong)?;
        Ok(Span(Duration::from_millis(span)))
    }
}

impl TryFrom<Quoting> for Span {
    type Error = NotASpan;

    fn try_from(written: Quoting) -> Result<Span, NotASpan> {
        match written {
            Quoting::Secs(secs) => secs.to_string().parse(),
            Quoting::Text(text) => text.parse(),
        }
    }
}

impl From<Span> for String {
    fn from(span: Span) -> String {
        span.to_string()
    }
}

/// Uses the largest unit that is exact.
impl fmt::Display for Span {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let millis = self.0.as_millis();
        let units = [("d", 86_400_000), ("h", 3_600_000), ("m", 60_000), ("s", 1_000)];
        let exact = units.into_iter().find(|(_, unit)| millis > 0 && millis.is_multiple_of(*unit));
        match exact {
            Some((name, unit)) => write!(f, "{}{name}", millis / unit),
            None if millis == 0 => f.write_str("0s"),
            None => write!(f, "{millis}ms"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn spans_are_read_as_people_write_them() {
        for (text, written) in [
            ("500ms", Some("500ms")),
            ("90s", Some("90s")),
            ("10 m", Some("10m")),
            ("120m", Some("2h")),
            ("1d", Some("1d")),
            ("7", Some("7s")),
            ("0", Some("0s")),
            ("", None),
            ("m", None),
            ("-1s", None),
            ("1.5h", None),
            ("3 weeks", None),
            ("99999999999999999999d", None),
            ("12w", Some("84d")),
            ("99999d", None),
        ] {
            assert_eq!(text.parse::<Span>().ok().map(|span| span.to_string()).as_deref(), written, "{text}");
        }
        assert_eq!(serde_json::from_str::<Span>("90").unwrap(), Span::secs(90));
        assert_eq!(serde_json::from_str::<Span>("\"2m\"").unwrap(), Span::secs(120));
        assert_eq!(serde_json::to_string(&Span::secs(60)).unwrap(), "\"1m\"");
    }
}
