//! Sessions by day, as a calendar of weeks.

use super::ReportSession;
use super::scale::level;
use super::weeks::{WEEKS, Weeks, weekday};

/// One day of the calendar.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Day {
    pub day: i64,
    pub sessions: usize,
    pub crashes: usize,
    /// Its shade, see [`level`].
    pub level: u8,
}

/// The days of all weeks up to today, oldest first.
pub fn days(sessions: &[ReportSession], weeks: Weeks, today: i64) -> Vec<Day> {
    let count = usize::try_from(today - weeks.first_day + 1).unwrap_or(0).min(WEEKS * 7);
    let mut days: Vec<Day> =
        (0..count).map(|number| Day { day: weeks.first_day + number as i64, ..Day::default() }).collect();
    for session in sessions {
        let index = usize::try_from(session.day - weeks.first_day).ok();
        let Some(day) = index.and_then(|index| days.get_mut(index)) else { continue };
        day.sessions += 1;
        day.crashes += usize::from(session.has_crashed);
    }
    let max = days.iter().map(|day| day.sessions).max().unwrap_or(0);
    days.iter_mut().for_each(|day| day.level = level(day.sessions, max));
    days
}

/// The column and row of a day.
pub fn position(day: i64, weeks: Weeks) -> Option<(usize, usize)> {
    Some((weeks.of(day)?, weekday(day)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::figures::session;

    const WEDNESDAY: i64 = 20_775;

    #[test]
    fn days_are_counted_up_to_today() {
        let weeks = Weeks::until(WEDNESDAY);
        let mut crashed = session(WEDNESDAY - 7);
        crashed.has_crashed = true;
        let all = [session(WEDNESDAY), session(WEDNESDAY), crashed, session(WEDNESDAY - 400), session(WEDNESDAY + 1)];
        let days = days(&all, weeks, WEDNESDAY);
        assert_eq!(days.len(), 25 * 7 + 3);
        let seen: Vec<Day> = days.into_iter().filter(|day| day.sessions > 0).collect();
        let day = |day, sessions, crashes, level| Day { day, sessions, crashes, level };
        assert_eq!(seen, [day(WEDNESDAY - 7, 1, 1, 3), day(WEDNESDAY, 2, 0, 4)]);
        assert_eq!(position(WEDNESDAY, weeks), Some((25, 2)));
        assert_eq!(position(weeks.first_day - 1, weeks), None);
    }
}
