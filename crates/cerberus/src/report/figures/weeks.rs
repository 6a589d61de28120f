//! The weeks that the report covers, and what happened in each.

use super::ReportSession;

/// How many weeks the report covers.
pub const WEEKS: usize = 26;
const DAYS: i64 = 7;

/// Weeks from Monday to Sunday; the last one contains today.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Weeks {
    /// The Monday of the first week.
    pub first_day: i64,
}

impl Weeks {
    pub fn until(today: i64) -> Weeks {
        let monday = today - weekday(today) as i64;
        Weeks { first_day: monday - (WEEKS as i64 - 1) * DAYS }
    }

    /// The number of the week of a day, from 0.
    pub fn of(self, day: i64) -> Option<usize> {
        let week = usize::try_from((day - self.first_day).div_euclid(DAYS)).ok()?;
        (week < WEEKS).then_some(week)
    }

    pub fn monday(self, week: usize) -> i64 {
        self.first_day + week as i64 * DAYS
    }
}

/// From 0 for Monday to 6 for Sunday.
pub fn weekday(day: i64) -> usize {
    // 1970-01-01 was a Thursday.
    (day + 3).rem_euclid(DAYS) as usize
}

/// How many runs were green and red in a week.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct WeekRuns {
    pub green: usize,
    pub red: usize,
}

/// The tests, builds and lints of each week.
pub fn runs(sessions: &[ReportSession], weeks: Weeks) -> Vec<WeekRuns> {
    let mut counted = vec![WeekRuns::default(); WEEKS];
    for session in sessions {
        let Some(week) = weeks.of(session.day).and_then(|week| counted.get_mut(week)) else { continue };
        week.green += session.runs.iter().filter(|is_green| **is_green).count();
        week.red += session.runs.iter().filter(|is_green| !**is_green).count();
    }
    counted
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::figures::session;

    // 2026-11-16 is a Monday.
    const MONDAY: i64 = 20_773;

    #[test]
    fn weeks_begin_on_monday_and_end_with_today() {
        assert_eq!((weekday(0), weekday(MONDAY), weekday(MONDAY - 1), weekday(-4)), (3, 0, 6, 6));
        for today in MONDAY..MONDAY + 7 {
            let weeks = Weeks::until(today);
            assert_eq!((weeks.of(today), weeks.of(MONDAY - 1), weeks.of(MONDAY + 7)), (Some(25), Some(24), None));
            assert_eq!((weeks.of(weeks.first_day), weeks.of(weeks.first_day - 1)), (Some(0), None));
            assert_eq!(weeks.monday(25), MONDAY);
        }
    }

    #[test]
    fn runs_are_counted_by_week_and_result() {
        let mut first = session(MONDAY);
        first.runs = vec![true, false, true];
        let mut second = session(MONDAY - 1);
        second.runs = vec![false];
        let mut old = session(MONDAY - 1000);
        old.runs = vec![true];
        let counted = runs(&[first, second, old], Weeks::until(MONDAY));
        assert_eq!((counted[25], counted[24]), (WeekRuns { green: 2, red: 1 }, WeekRuns { green: 0, red: 1 }));
        assert_eq!(counted.iter().map(|week| week.green + week.red).sum::<usize>(), 4);
    }
}
