//! Times as people write them: in the local zone, and relative to now.

use std::time::Duration;

use cerberus_record::time::Timestamp;
use jiff::civil::{Date, DateTime, Weekday};
use jiff::tz::TimeZone;

const MINUTE: u64 = 60;
const HOUR: u64 = 60 * MINUTE;
const DAY: u64 = 24 * HOUR;

/// The zone of the user, and the time it is there.
#[derive(Clone, Debug)]
pub struct LocalTime {
    zone: TimeZone,
    now: Timestamp,
}

impl LocalTime {
    pub fn new(now: Timestamp) -> LocalTime {
        LocalTime { zone: TimeZone::system(), now }
    }

    /// In UTC, so that a test does not depend on the machine.
    #[cfg(test)]
    pub fn utc(now: Timestamp) -> LocalTime {
        LocalTime { zone: TimeZone::UTC, now }
    }

    /// `today 11:40`, `yesterday 15:59`, `Mon 16:20`, `12 Nov 16:20`, `12 Nov 2025`.
    pub fn when(&self, at: Timestamp) -> String {
        let (then, now) = (self.civil(at), self.civil(self.now));
        let days = (now.date() - then.date()).get_days();
        let clock = format!("{:02}:{:02}", then.hour(), then.minute());
        match days {
            0 => format!("today {clock}"),
            1 => format!("yesterday {clock}"),
            2..=6 => format!("{} {clock}", weekday(then.weekday())),
            _ if then.year() == now.year() => format!("{} {} {clock}", then.day(), month(then.month())),
            _ => format!("{} {} {}", then.day(), month(then.month()), then.year()),
        }
    }

    /// `Today`, `Yesterday`, `Mon 16 Nov`, `12 Nov`, `12 Nov 2025`.
    pub fn day(&self, at: Timestamp) -> String {
        let (then, now) = (self.civil(at), self.civil(self.now));
        let date = format!("{} {}", then.day(), month(then.month()));
        match (now.date() - then.date()).get_days() {
            0 => "Today".to_string(),
            1 => "Yesterday".to_string(),
            2..=6 => format!("{} {date}", weekday(then.weekday())),
            _ if then.year() == now.year() => date,
            _ => format!("{date} {}", then.year()),
        }
    }

    /// `12 Nov 2025`.
    pub fn date(&self, at: Timestamp) -> String {
        let then = self.civil(at);
        format!("{} {} {}", then.day(), month(then.month()), then.year())
    }

    /// The day of a time, counted from 1970-01-01.
    pub fn day_number(&self, at: Timestamp) -> i64 {
        i64::from((self.civil(at).date() - EPOCH).get_days())
    }

    /// `12 Nov 2025`, of a day counted from 1970-01-01.
    pub fn date_of(&self, day: i64) -> String {
        let date = date_of(day);
        format!("{} {} {}", date.day(), month(date.month()), date.year())
    }

    /// `2025-11-12`, of a day counted from 1970-01-01.
    pub fn iso_date(&self, day: i64) -> String {
        date_of(day).to_string()
    }

    /// `Tue 17 Nov 2026`, of a day counted from 1970-01-01.
    pub fn weekday_of(&self, day: i64) -> String {
        format!("{} {}", weekday(date_of(day).weekday()), self.date_of(day))
    }

    /// When a day, counted from 1970-01-01, begins in the user's zone.
    pub fn start_of(&self, day: i64) -> Timestamp {
        let start = self.zone.to_ambiguous_zoned(date_of(day).to_datetime(jiff::civil::Time::midnight())).compatible();
        start.map_or(Timestamp::EPOCH, |start| Timestamp::from_millis(start.timestamp().as_millisecond()))
    }

    /// `Nov`, of a day counted from 1970-01-01.
    pub fn month_of(&self, day: i64) -> &'static str {
        month(date_of(day).month())
    }

    /// `11:40`.
    pub fn clock(&self, at: Timestamp) -> String {
        let then = self.civil(at);
        format!("{:02}:{:02}", then.hour(), then.minute())
    }

    /// `2 h ago`.
    pub fn ago(&self, at: Timestamp) -> String {
        match self.now.since(at).as_secs() {
            0..MINUTE => "just now".to_string(),
            _ => format!("{} ago", rough(self.now.since(at))),
        }
    }

    fn civil(&self, at: Timestamp) -> DateTime {
        let moment = jiff::Timestamp::from_millisecond(at.millis()).unwrap_or(jiff::Timestamp::UNIX_EPOCH);
        self.zone.to_datetime(moment)
    }
}

/// A day as lists name it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NamedDay {
    Today,
    Yesterday,
    /// The last day of this name, today included.
    Weekday(Weekday),
    /// The last such date if there is no year.
    Date {
        day: i8,
        month: i8,
        year: Option<i16>,
    },
}

const WEEKDAYS: [Weekday; 7] = [
    Weekday::Monday,
    Weekday::Tuesday,
    Weekday::Wednesday,
    Weekday::Thursday,
    Weekday::Friday,
    Weekday::Saturday,
    Weekday::Sunday,
];

impl NamedDay {
    /// `yesterday`, `Mon`, `12 Nov`, `12 Nov 2025`.
    pub fn parse(text: &str) -> Option<NamedDay> {
        let lower = text.trim().to_lowercase();
        match lower.as_str() {
            "today" => return Some(NamedDay::Today),
            "yesterday" => return Some(NamedDay::Yesterday),
            _ => {}
        }
        let is_weekday =
            |day: &Weekday| [weekday(*day).to_lowercase(), format!("{day:?}").to_lowercase()].contains(&lower);
        if let Some(day) = WEEKDAYS.into_iter().find(is_weekday) {
            return Some(NamedDay::Weekday(day));
        }
        let mut words = lower.split_whitespace();
        let day = words.next()?.parse().ok()?;
        let named = words.next()?;
        let month = (1..=12).find(|number| named.starts_with(&month(*number).to_lowercase()))?;
        let year = words.next().map(str::parse).transpose().ok()?;
        Date::new(year.unwrap_or(2024), month, day).ok().filter(|_| words.next().is_none())?;
        Some(NamedDay::Date { day, month, year })
    }
}

impl LocalTime {
    /// When a day begins in the user's zone.
    pub fn beginning(&self, named: NamedDay) -> Timestamp {
        let today = self.civil(self.now).date();
        let back = |days: i64| today.checked_sub(jiff::Span::new().days(days)).unwrap_or(today);
        let date = match named {
            NamedDay::Today => today,
            NamedDay::Yesterday => back(1),
            NamedDay::Weekday(day) => back(i64::from(day.until(today.weekday()))),
            NamedDay::Date { day, month, year: Some(year) } => Date::new(year, month, day).unwrap_or(today),
            NamedDay::Date { day, month, year: None } => {
                let dates = (0..=LEAP_YEARS_APART).filter_map(|back| Date::new(today.year() - back, month, day).ok());
                dates.into_iter().find(|date| *date <= today).unwrap_or(today)
            }
        };
        let start = self.zone.to_ambiguous_zoned(date.to_datetime(jiff::civil::Time::midnight())).compatible();
        start.map_or(Timestamp::EPOCH, |start| Timestamp::from_millis(start.timestamp().as_millisecond()))
    }

    /// A text with its times as people write them.
    pub fn in_words(&self, text: &str) -> String {
        let word = |word: &str| {
            let bare = word.trim_end_matches([',', ';', ')', '.']);
            match Timestamp::parse(bare).ok().filter(|_| bare.contains('T')) {
                Some(at) => format!("{}{}", self.when(at), &word[bare.len()..]),
                None => word.to_string(),
            }
        };
        text.split(' ').map(word).collect::<Vec<_>>().join(" ")
    }
}

/// 29 February may be so many years ago.
const LEAP_YEARS_APART: i16 = 8;

/// `48 min`, `2 h 12 min`, `3 days`.
pub fn duration(span: Duration) -> String {
    match span.as_secs() {
        0..MINUTE => "under 1 min".to_string(),
        seconds @ MINUTE..HOUR => format!("{} min", seconds / MINUTE),
        seconds @ HOUR..DAY => match seconds % HOUR / MINUTE {
            0 => format!("{} h", seconds / HOUR),
            minutes => format!("{} h {minutes} min", seconds / HOUR),
        },
        _ => rough(span),
    }
}

/// In the largest unit that fits: `48 min`, `2 h`, `3 days`, `5 weeks`.
pub fn rough(span: Duration) -> String {
    let many = |count: u64, unit: &str| format!("{count} {unit}{}", if count == 1 { "" } else { "s" });
    match span.as_secs() {
        0..MINUTE => "under 1 min".to_string(),
        seconds @ MINUTE..HOUR => format!("{} min", seconds / MINUTE),
        seconds @ HOUR..DAY => format!("{} h", seconds / HOUR),
        seconds if seconds < 14 * DAY => many(seconds / DAY, "day"),
        seconds if seconds < 60 * DAY => many(seconds / (7 * DAY), "week"),
        seconds if seconds < 730 * DAY => many(seconds / (30 * DAY), "month"),
        seconds => many(seconds / (365 * DAY), "year"),
    }
}

const EPOCH: Date = Date::constant(1970, 1, 1);

/// The date of a day counted from 1970-01-01.
fn date_of(day: i64) -> Date {
    let span = jiff::Span::new().try_days(day).unwrap_or_default();
    EPOCH.checked_add(span).unwrap_or(EPOCH)
}

fn weekday(day: Weekday) -> &'static str {
    match day {
        Weekday::Monday => "Mon",
        Weekday::Tuesday => "Tue",
        Weekday::Wednesday => "Wed",
        Weekday::Thursday => "Thu",
        Weekday::Friday => "Fri",
        Weekday::Saturday => "Sat",
        Weekday::Sunday => "Sun",
    }
}

fn month(number: i8) -> &'static str {
    const NAMES: [&str; 12] = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"];
    NAMES[usize::from(number.unsigned_abs().clamp(1, 12)) - 1]
}

#[cfg(test)]
mod tests {
    use super::*;

    fn local(offset_hours: i8, now: &str) -> LocalTime {
        let zone = TimeZone::fixed(jiff::tz::Offset::constant(offset_hours));
        LocalTime { zone, now: Timestamp::parse(now).unwrap() }
    }

    #[test]
    fn times_are_local_and_relative() {
        let here = local(2, "2026-11-15T10:00:00Z");
        for (at, when, ago) in [
            ("2026-11-15T09:59:31Z", "today 11:59", "just now"),
            ("2026-11-14T22:30:00Z", "today 00:30", "11 h ago"),
            ("2026-11-14T21:30:00Z", "yesterday 23:30", "12 h ago"),
            ("2026-11-12T08:00:00Z", "Thu 10:00", "3 days ago"),
            ("2026-11-08T08:00:00Z", "8 Nov 10:00", "7 days ago"),
            ("2025-12-31T23:00:00Z", "1 Jan 01:00", "10 months ago"),
            ("2025-06-01T12:00:00Z", "1 Jun 2025", "17 months ago"),
        ] {
            let at = Timestamp::parse(at).unwrap();
            assert_eq!((here.when(at), here.ago(at)), (when.to_string(), ago.to_string()));
        }
    }

    #[test]
    fn a_day_is_found_by_the_name_that_lists_give_it() {
        // A Sunday.
        let here = local(2, "2026-11-15T10:00:00Z");
        for (text, begins) in [
            ("today", "2026-11-14T22:00:00Z"),
            ("Yesterday", "2026-11-13T22:00:00Z"),
            ("Sun", "2026-11-14T22:00:00Z"),
            ("mon", "2026-11-08T22:00:00Z"),
            ("Thursday", "2026-11-11T22:00:00Z"),
            ("12 Nov", "2026-11-11T22:00:00Z"),
            ("20 Nov", "2025-11-19T22:00:00Z"),
            ("29 Feb", "2024-02-28T22:00:00Z"),
            ("12 November 2025", "2025-11-11T22:00:00Z"),
        ] {
            let begun = NamedDay::parse(text).map(|day| here.beginning(day));
            assert_eq!(begun, Some(Timestamp::parse(begins).unwrap()), "{text}");
        }
        for text in ["", "nov", "32 Nov", "12 Nov 2025 x", "monkey", "7d", "12", "31 Jun"] {
            assert_eq!(NamedDay::parse(text), None, "{text}");
        }
    }

    #[test]
    fn times_in_a_text_are_as_people_write_them() {
        let here = local(2, "2026-11-15T10:00:00Z");
        let text = "open 2026-11-15T09:06:00.123Z, 2 times (since 2026-11-14T08:00:00Z)";
        assert_eq!(here.in_words(text), "open today 11:06, 2 times (since yesterday 10:00)");
        assert_eq!(here.in_words("released 2026-11-15 as v1.2"), "released 2026-11-15 as v1.2");
    }

    #[test]
    fn days_have_names() {
        let here = local(2, "2026-11-15T10:00:00Z");
        let days = ["2026-11-14T22:30:00Z", "2026-11-14T21:30:00Z", "2026-11-12T08:00:00Z", "2026-11-02T08:00:00Z"];
        let named = days.map(|at| here.day(Timestamp::parse(at).unwrap()));
        assert_eq!(named, ["Today", "Yesterday", "Thu 12 Nov", "2 Nov"]);
        assert_eq!(here.day(Timestamp::parse("2025-06-01T12:00:00Z").unwrap()), "1 Jun 2025");
    }

    #[test]
    fn days_are_counted_in_the_zone_of_the_user() {
        let here = local(2, "2026-11-15T10:00:00Z");
        let day = |at: &str| here.day_number(Timestamp::parse(at).unwrap());
        assert_eq!((day("1970-01-01T00:00:00Z"), day("2026-11-15T21:59:00Z")), (0, 20_772));
        assert_eq!(day("2026-11-15T22:00:00Z"), 20_773, "it is the next day there");
        assert_eq!((here.date_of(20_773).as_str(), here.month_of(20_773)), ("16 Nov 2026", "Nov"));
        assert_eq!(here.date_of(i64::MAX), "1 Jan 1970");
        assert_eq!(here.weekday_of(20_773), "Mon 16 Nov 2026");
        assert_eq!(here.start_of(20_773), Timestamp::parse("2026-11-15T22:00:00Z").unwrap());
    }

    #[test]
    fn durations_are_written_as_people_do() {
        for (seconds, precise, roughly) in [
            (30, "under 1 min", "under 1 min"),
            (48 * 60 + 5, "48 min", "48 min"),
            (2 * 3600, "2 h", "2 h"),
            (2 * 3600 + 720, "2 h 12 min", "2 h"),
            (86_400, "1 day", "1 day"),
            (20 * 86_400, "2 weeks", "2 weeks"),
        ] {
            let span = Duration::from_secs(seconds);
            assert_eq!((duration(span), rough(span)), (precise.to_string(), roughly.to_string()));
        }
    }
}
