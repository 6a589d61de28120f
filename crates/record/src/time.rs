//! Timestamps in milliseconds since the epoch, always UTC.
//!
//! Nothing here reads the clock. No time zone data is loaded, so the hook can use it cheaply.

use std::fmt;
use std::time::Duration;

use jiff::civil::DateTime;
use jiff::tz::Offset;
use serde::{Deserialize, Serialize};

/// A point in time, in milliseconds since 1970-01-01T00:00:00Z.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Timestamp(i64);

/// The years a record may fall in. Anything else is a broken clock or a typo.
const MILLIS_RANGE: std::ops::RangeInclusive<i64> = 0..=253_402_207_199_999;

/// A text that is not an RFC 3339 time.
#[derive(Debug, thiserror::Error, PartialEq, Eq)]
#[error("{0:?} is not a time; write it as 2026-01-22T13:35:14Z")]
pub struct NotATime(String);

impl Timestamp {
    pub const EPOCH: Timestamp = Timestamp(0);

    /// The last time that can be written as a date.
    pub const LAST: Timestamp = Timestamp(*MILLIS_RANGE.end());

    /// The time nearest to `millis` that can be written as a date.
    pub fn from_millis(millis: i64) -> Timestamp {
        Timestamp(millis.clamp(*MILLIS_RANGE.start(), *MILLIS_RANGE.end()))
    }

    pub fn millis(self) -> i64 {
        self.0
    }

    pub fn parse(text: &str) -> Result<Timestamp, NotATime> {
        let text = text.trim();
        // The original tool wrote local times without an offset; they are read as UTC.
        let moment = text
            .parse::<jiff::Timestamp>()
            .or_else(|_| text.parse::<DateTime>().and_then(|civil| Offset::UTC.to_timestamp(civil)));
        match moment {
            Ok(moment) if MILLIS_RANGE.contains(&moment.as_millisecond()) => Ok(Timestamp(moment.as_millisecond())),
            _ => Err(NotATime(text.chars().take(40).collect())),
        }
    }

    pub fn plus(self, span: Duration) -> Timestamp {
        Timestamp::from_millis(self.0.saturating_add(span.as_millis().min(i64::MAX as u128) as i64))
    }

    pub fn minus(self, span: Duration) -> Timestamp {
        Timestamp::from_millis(self.0.saturating_sub(span.as_millis().min(i64::MAX as u128) as i64))
    }

    /// `now`, `5 min ago`, `2 h ago`, `yesterday`, `9 days ago`.
    pub fn ago(self, now: Timestamp) -> String {
        let minutes = now.since(self).as_secs() / 60;
        match (minutes, minutes / 60, minutes / (24 * 60)) {
            (0, ..) => "now".to_string(),
            (1..60, ..) => format!("{minutes} min ago"),
            (_, hours @ ..24, _) => format!("{hours} h ago"),
            (_, _, 1) => "yesterday".to_string(),
            (_, _, days) => format!("{days} days ago"),
        }
    }

    /// The time since `earlier`; zero if this is before it.
    pub fn since(self, earlier: Timestamp) -> Duration {
        Duration::from_millis(self.0.saturating_sub(earlier.0).max(0) as u64)
    }

    /// The date: `2026-01-22`.
    pub fn day(self) -> String {
        let date = self.civil().date();
        format!("{:04}-{:02}-{:02}", date.year(), date.month(), date.day())
    }

    /// The day as people write it: `12 Nov`.
    pub fn day_and_month(self) -> String {
        const MONTHS: [&str; 12] = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"];
        let date = self.civil().date();
        let month = usize::try_from(date.month() - 1).ok().and_then(|at| MONTHS.get(at)).copied().unwrap_or_default();
        format!("{} {month}", date.day())
    }

    /// The time as used in session names: `20260122-133514`.
    pub fn stamp(self) -> String {
        let at = self.civil();
        format!("{:04}{:02}{:02}-{:02}{:02}{:02}", at.year(), at.month(), at.day(), at.hour(), at.minute(), at.second())
    }

    /// From 1 to 12.
    pub fn month(self) -> u8 {
        self.civil().month().unsigned_abs()
    }

    fn civil(self) -> DateTime {
        let moment = jiff::Timestamp::from_millisecond(self.0).unwrap_or(jiff::Timestamp::UNIX_EPOCH);
        Offset::UTC.to_datetime(moment)
    }
}

/// RFC 3339 in UTC, without a fraction when it is zero: `2026-01-22T13:35:14Z`.
impl fmt::Display for Timestamp {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let at = self.civil();
        write!(f, "{:04}-{:02}-{:02}", at.year(), at.month(), at.day())?;
        write!(f, "T{:02}:{:02}:{:02}", at.hour(), at.minute(), at.second())?;
        match self.0.rem_euclid(1000) {
            0 => f.write_str("Z"),
            millis => write!(f, ".{millis:03}Z"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_and_writes_the_forms_people_and_tools_use() {
        for (text, written) in [
            ("2026-01-22T13:35:14Z", "2026-01-22T13:35:14Z"),
            ("2026-01-22T14:35:14+01:00", "2026-01-22T13:35:14Z"),
            ("2026-01-22T13:35:14.250Z", "2026-01-22T13:35:14.250Z"),
            ("2026-01-22T13:35:14.123456", "2026-01-22T13:35:14.123Z"),
            (" 2026-01-22T13:35:14 ", "2026-01-22T13:35:14Z"),
        ] {
            assert_eq!(Timestamp::parse(text).map(|t| t.to_string()), Ok(written.to_string()), "{text}");
        }
        for text in ["", "yesterday", "2026-13-01T00:00:00Z", "1900-01-01T00:00:00Z"] {
            assert!(Timestamp::parse(text).is_err(), "{text}");
        }
    }

    #[test]
    fn names_days_and_sessions() {
        let at = Timestamp::parse("2026-01-22T13:35:14Z").unwrap();
        assert_eq!(at.day(), "2026-01-22");
        assert_eq!(at.stamp(), "20260122-133514");
        assert_eq!(Timestamp::from_millis(i64::MAX).day(), "9999-12-30");
        assert_eq!(at.since(at.plus(Duration::from_secs(9))), Duration::ZERO);
    }
}
