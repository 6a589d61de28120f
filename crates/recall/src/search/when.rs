//! The dates that a question mentions, and whether something was written around them.
//!
//! Only unambiguous dates count: `7 May 2023`, `May 7, 2023`, `2023-05-07`, `May 2023`, and `in May`.

use std::time::Duration;

use cerberus_record::time::Timestamp;

const DAY: Duration = Duration::from_secs(86_400);
/// People write about a day soon after it, rarely before.
const DAYS_BEFORE: u32 = 3;
const DAYS_AFTER: u32 = 11;

const MONTHS: [&str; 12] = [
    "january",
    "february",
    "march",
    "april",
    "may",
    "june",
    "july",
    "august",
    "september",
    "october",
    "november",
    "december",
];

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TimeFilter {
    Between(Timestamp, Timestamp),
    /// From 1 to 12, in any year.
    Month(u8),
}

impl TimeFilter {
    pub fn covers(self, at: Timestamp) -> bool {
        match self {
            TimeFilter::Between(from, until) => from <= at && at < until,
            TimeFilter::Month(month) => at.month() == month,
        }
    }

    fn day(year: u16, month: u8, day: u8) -> Option<TimeFilter> {
        let day = Timestamp::parse(&format!("{year:04}-{month:02}-{day:02}T00:00:00Z")).ok()?;
        Some(TimeFilter::Between(day.minus(DAY * DAYS_BEFORE), day.plus(DAY * DAYS_AFTER)))
    }

    fn month(year: u16, month: u8) -> Option<TimeFilter> {
        let first = |year: u16, month: u8| Timestamp::parse(&format!("{year:04}-{month:02}-01T00:00:00Z")).ok();
        let next = if month == 12 { first(year + 1, 1) } else { first(year, month + 1) };
        Some(TimeFilter::Between(first(year, month)?, next?))
    }
}

/// The dates in a text, in order.
pub fn dates_in(text: &str) -> Vec<TimeFilter> {
    let words: Vec<&str> =
        text.split(|c: char| c.is_whitespace() || c == ',').filter(|word| !word.is_empty()).collect();
    let at = |at: Option<usize>| at.and_then(|at| words.get(at)).copied().unwrap_or_default();
    let mut found = Vec::new();
    for (here, word) in words.iter().enumerate() {
        let word = word.trim_matches(|c: char| !c.is_alphanumeric());
        let Some(month) = month_of(word) else {
            found.extend(written_in_digits(word));
            continue;
        };
        let (before, after) = (at(here.checked_sub(1)), at(Some(here + 1)));
        let (day, year) = match (day_of(before), day_of(after), year_of(after)) {
            (day @ Some(_), _, year @ Some(_)) => (day, year),
            (None, day @ Some(_), None) => (day, year_of(at(Some(here + 2)))),
            (day, _, year) => (day, year),
        };
        let is_name = word.starts_with(char::is_uppercase) && here > 0;
        found.extend(match (day, year) {
            (Some(day), Some(year)) => TimeFilter::day(year, month, day),
            (None, Some(year)) => TimeFilter::month(year, month),
            // `may` and `march` are also ordinary words.
            (_, None) => (is_name || day.is_some()).then_some(TimeFilter::Month(month)),
        });
    }
    found
}

fn month_of(word: &str) -> Option<u8> {
    let word = word.to_lowercase();
    MONTHS
        .iter()
        .position(|month| *month == word || (word.len() == 3 && month.starts_with(&word)))
        .map(|at| at as u8 + 1)
}

/// `7` or `7th`.
fn day_of(word: &str) -> Option<u8> {
    let digits = word.trim_matches(|c: char| !c.is_alphanumeric()).trim_end_matches(|c: char| c.is_ascii_lowercase());
    digits.parse().ok().filter(|day| (1..=31).contains(day))
}

fn year_of(word: &str) -> Option<u16> {
    let digits = word.trim_matches(|c: char| !c.is_alphanumeric());
    digits.parse().ok().filter(|year| (1970..2200).contains(year))
}

/// `2023-05-07` or `2023-05`.
fn written_in_digits(word: &str) -> Option<TimeFilter> {
    let mut parts = word.split('-');
    let (year, month) = (year_of(parts.next()?)?, parts.next()?.parse().ok()?);
    if !(1..=12).contains(&month) {
        return None;
    }
    match parts.next() {
        None => TimeFilter::month(year, month),
        Some(day) => TimeFilter::day(year, month, day_of(day)?),
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn dates_are_read_as_people_write_them() {
        let day = |text: &str| Timestamp::parse(&format!("{text}T12:00:00Z")).unwrap();
        for (text, inside, outside) in [
            ("What broke on 7 May 2023?", "2023-05-08", "2023-06-07"),
            ("What broke on May 7, 2023?", "2023-05-08", "2023-06-07"),
            ("after the 7th May, 2023", "2023-05-08", "2023-05-20"),
            ("the release of 2023-05-07", "2023-05-07", "2023-05-02"),
            ("What was decided in December 2023?", "2023-12-31", "2024-01-01"),
            ("What was decided in 2023-12?", "2023-12-01", "2023-11-30"),
            ("What was decided in May", "2021-05-30", "2021-06-01"),
            ("before 3 march", "2024-03-20", "2024-04-20"),
        ] {
            let when = dates_in(text);
            assert_eq!(when.len(), 1, "{text}: {when:?}");
            assert!(when[0].covers(day(inside)) && !when[0].covers(day(outside)), "{text}: {when:?}");
        }
        for text in ["how may I march on", "May I ask", "in 2023", "v2023-99-01", "2023-05-32", ""] {
            assert_eq!(dates_in(text), [], "{text}");
        }
    }

    proptest! {
        #[test]
        fn any_text_is_accepted(text in "\\PC{0,60}|([0-9]{1,5}|may|Dec|-|,| ){0,12}") {
            dates_in(&text);
        }
    }
}
