//! When a limit is lifted, read from the words with which an agent reports it.
//!
//! `usage limit reached|1769083200`, `try again in 2 hours 5 minutes`, `resets 3pm (Europe/Berlin)`,
//! `try again at Nov 18th, 2026 3:45 PM`. A time of day is the next one, in the zone of this machine: the agent runs
//! here too.

use std::time::Duration;

use cerberus_agents::stream::Wait;
use cerberus_record::time::Timestamp;
use jiff::civil::{Date, DateTime, Time};
use jiff::tz::Offset;

/// The difference between local time and UTC.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct UtcOffset {
    pub seconds: i32,
}

/// Words that come before a time.
const MARKS: [&str; 7] =
    ["try again at", "try again in", "resets at", "resets in", "reset at", "resets", "retry after"];
const MONTHS: [&str; 12] = ["jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec"];
/// No agent's limit lasts longer.
const LONGEST: Duration = Duration::from_secs(31 * 24 * 60 * 60);
/// Times are told in whole minutes, perhaps rounded down.
const SLACK: Duration = Duration::from_secs(30);

/// How long the words say that the limit lasts.
pub fn wait(words: &str, now: Timestamp, offset: UtcOffset) -> Wait {
    let low = words.to_lowercase();
    let until = epoch(&low).or_else(|| {
        let after = MARKS.iter().find_map(|mark| low.split_once(mark))?.1.trim_start_matches([':', ' ']);
        timestamp(words, after.len())
            .or_else(|| span(after).map(|span| now.plus(span)))
            .or_else(|| moment(after, now, offset).map(|at| at.plus(SLACK)))
    });
    match until {
        Some(until) if until > now && until.since(now) <= LONGEST => Wait::Until(until),
        _ => Wait::Unknown,
    }
}

/// `…|1769083200`: seconds since 1970.
fn epoch(words: &str) -> Option<Timestamp> {
    let (_, number) = words.rsplit_once('|')?;
    let digits: String = number.trim().chars().take_while(char::is_ascii_digit).collect();
    let seconds: i64 = digits.parse().ok().filter(|_| (10..=11).contains(&digits.len()))?;
    Some(Timestamp::from_millis(seconds.saturating_mul(1_000)))
}

/// A full timestamp at the end of the words, `left` bytes from their end.
fn timestamp(words: &str, left: usize) -> Option<Timestamp> {
    let word = words.get(words.len().checked_sub(left)?..)?.split_whitespace().next()?;
    let word = word.trim_matches(|c: char| !c.is_alphanumeric());
    word.contains('T').then(|| Timestamp::parse(word).ok()).flatten()
}

/// `2 days 3 hours 5 minutes`, `1h30m`, `1.5s`, `20 seconds`.
fn span(words: &str) -> Option<Duration> {
    let mut seconds = 0.0;
    let mut rest = words;
    loop {
        rest = rest.trim_start_matches([' ', ',']).trim_start_matches("and ");
        let digits = rest.find(|c: char| !(c.is_ascii_digit() || c == '.')).unwrap_or(rest.len());
        let Ok(number) = rest[..digits].parse::<f64>() else { break };
        let unit = rest[digits..].trim_start();
        let end = unit.find(|c: char| !c.is_alphabetic()).unwrap_or(unit.len());
        seconds += number
            * match &unit[..end] {
                "ms" | "milliseconds" => 0.001,
                "s" | "sec" | "secs" | "second" | "seconds" => 1.0,
                "m" | "min" | "mins" | "minute" | "minutes" => 60.0,
                "h" | "hr" | "hrs" | "hour" | "hours" => 3_600.0,
                "d" | "day" | "days" => 86_400.0,
                _ => break,
            };
        rest = &unit[end..];
    }
    Duration::try_from_secs_f64(seconds).ok().filter(|span| !span.is_zero())
}

/// `3pm`, `3:45 pm`, `15:45`, with or without a date before it: `nov 18th, 2026 3:45 pm`, `nov 18 at 3pm`.
fn moment(words: &str, now: Timestamp, offset: UtcOffset) -> Option<Timestamp> {
    let offset = Offset::from_seconds(offset.seconds).ok()?;
    let today = offset.to_datetime(jiff::Timestamp::from_millisecond(now.millis()).ok()?);
    let (date, rest) = match date(words, today.date()) {
        Some((date, rest)) => (Some(date), rest),
        None => (None, words),
    };
    let time = time_of_day(rest)?;
    let at = |date: Date| {
        let moment = offset.to_timestamp(DateTime::from_parts(date, time)).ok()?;
        Some(Timestamp::from_millis(moment.as_millisecond()))
    };
    match date {
        Some(date) => at(date),
        None => at(today.date()).filter(|then| *then > now).or_else(|| at(today.date().tomorrow().ok()?)),
    }
}

fn date(words: &str, today: Date) -> Option<(Date, &str)> {
    let month = MONTHS.iter().position(|month| words.starts_with(month))?;
    let (_, rest) = words.split_once(' ')?;
    let digits = rest.find(|c: char| !c.is_ascii_digit()).unwrap_or(rest.len());
    let day: i8 = rest[..digits].parse().ok()?;
    let rest = rest[digits..].trim_start_matches(|c: char| c.is_alphabetic()).trim_start_matches([',', ' ']);
    let year = rest.split(' ').next().filter(|word| word.len() == 4).and_then(|word| word.parse::<i16>().ok());
    let rest = if year.is_some() { rest[4..].trim_start_matches([',', ' ']) } else { rest };
    let rest = rest.trim_start_matches("at ");
    let month = i8::try_from(month + 1).ok()?;
    let of_year = |year: i16| Date::new(year, month, day).ok();
    let date = match year {
        Some(year) => of_year(year),
        // In December, a day in January is of the next year.
        None => of_year(today.year()).filter(|date| *date >= today).or_else(|| of_year(today.year() + 1)),
    };
    Some((date?, rest))
}

fn time_of_day(words: &str) -> Option<Time> {
    let digits = |text: &str| text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len());
    let (hour, rest) = words.split_at(digits(words));
    let mut hour: i8 = hour.parse().ok()?;
    let (minute, rest) = match rest.strip_prefix(':') {
        Some(rest) => rest.split_at(digits(rest)),
        None => ("", rest),
    };
    let rest = rest.trim_start();
    match (rest.starts_with("am"), rest.starts_with("pm")) {
        (true, _) if hour == 12 => hour = 0,
        (_, true) if hour < 12 => hour += 12,
        // A number alone is not a time.
        (false, false) if minute.is_empty() => return None,
        _ => {}
    }
    let minute = if minute.is_empty() { 0 } else { minute.parse().ok()? };
    Time::new(hour, minute, 0, 0).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_end_of_a_limit_is_read_from_the_agents_words() {
        let now = Timestamp::parse("2026-11-16T20:30:00Z").unwrap();
        // Two hours east of UTC, it is 22:30.
        let offset = UtcOffset { seconds: 7_200 };
        for (words, until) in [
            ("Claude AI usage limit reached|1794870000", Some("2026-11-16T23:00:00Z")),
            ("You've hit your limit · resets 3am (Europe/Helsinki)", Some("2026-11-17T01:00:30Z")),
            ("You have hit your usage limit. Resets 11pm", Some("2026-11-16T21:00:30Z")),
            ("Your limit will reset at 10:15 PM.", Some("2026-11-17T20:15:30Z")),
            ("hit your usage limit. Try again at 23:05.", Some("2026-11-16T21:05:30Z")),
            ("try again at Nov 18th, 2026 3:45 PM.", Some("2026-11-18T13:45:30Z")),
            ("weekly limit reached ∙ resets Dec 2 at 12am", Some("2026-12-01T22:00:30Z")),
            ("or try again in 2 days 3 hours 5 minutes.", Some("2026-11-18T23:35:00Z")),
            ("Rate limit reached for gpt-5. Please try again in 1.5s.", Some("2026-11-16T20:30:01.500Z")),
            ("retry after 1h30m", Some("2026-11-16T22:00:00Z")),
            ("resets at 2026-11-16T21:00:00Z", Some("2026-11-16T21:00:00Z")),
            ("try again in a while", None),
            ("resets 5", None),
            ("API Error: 529 Overloaded", None),
            ("resets at 2020-01-01T00:00:00Z", None),
            ("try again in 400 days", None),
            ("resets 99:99", None),
            ("ümläut|zahlen try again in ∙", None),
        ] {
            let expected = until.map_or(Wait::Unknown, |until| Wait::Until(Timestamp::parse(until).unwrap()));
            assert_eq!(wait(words, now, offset), expected, "{words}");
        }
    }
}
