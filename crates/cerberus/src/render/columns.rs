//! Which columns a list of sessions has on a line of a given width.
//!
//! The title gets its room first. What else a list can say comes in by its value while room is left, so whatever is
//! missing is less important than everything that is there. Without a limit everything is there.

/// Before anything else, the title gets what it needs, up to this many columns,
pub const TITLE_COLUMNS_MIN: usize = 50;
/// or on a long line this many tenths of it without its beginning.
const TITLE_TENTHS: usize = 6;
const BEGINNING_COLUMNS: usize = 20;

/// What a list may say about a session beside its title and the sign of its state.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Column {
    /// The word of a state that is not the usual one.
    Word,
    /// The name of the project, cut if it is long.
    Project,
    /// The time, under a heading for each day.
    Clock,
    /// How many tests and commands fail.
    Failing,
    /// The day and the time; there are no headings.
    Date,
    WholeProject,
    Files,
    /// The word of the usual state.
    Ended,
    /// The id. Where it is shown without this, it is its shortest unique beginning.
    WholeId,
    Duration,
    Agent,
    Branch,
}

impl Column {
    /// The most valuable first.
    const ALL: [Column; 12] = [
        Column::Word,
        Column::Project,
        Column::Clock,
        Column::Failing,
        Column::Date,
        Column::WholeProject,
        Column::Files,
        Column::Ended,
        Column::WholeId,
        Column::Duration,
        Column::Agent,
        Column::Branch,
    ];

    /// The parts of a list without these, the most valuable first.
    pub fn all_but(others: &[Column]) -> Vec<Column> {
        Column::ALL.into_iter().filter(|part| !others.contains(part)).collect()
    }
}

/// What is shown, and how many columns the title has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Fit<'a> {
    pub parts: &'a [Column],
    pub title: usize,
    /// The columns that stay empty.
    pub spare: usize,
}

impl Fit<'_> {
    pub fn has(&self, part: Column) -> bool {
        self.parts.contains(&part)
    }
}

/// Decides for a list whose titles have up to `longest` columns. `beside` is the width of a line without its title if
/// these parts are shown.
pub fn fit<'a>(columns: usize, longest: usize, parts: &'a [Column], beside: impl Fn(&[Column]) -> usize) -> Fit<'a> {
    fit_with(columns, longest, TITLE_COLUMNS_MIN, parts, beside)
}

/// The same, where a title needs only `title_min` columns, because it is shown in whole beside the list.
pub fn fit_with<'a>(
    columns: usize,
    longest: usize,
    title_min: usize,
    parts: &'a [Column],
    beside: impl Fn(&[Column]) -> usize,
) -> Fit<'a> {
    let share = columns.saturating_sub(BEGINNING_COLUMNS).saturating_mul(TITLE_TENTHS) / 10;
    let wanted = longest.min(share.max(title_min));
    let shown = (0..=parts.len()).map(|count| &parts[..count]);
    let fitting = shown.take_while(|parts| parts.is_empty() || beside(parts).saturating_add(wanted) <= columns);
    let parts = fitting.last().unwrap_or_default();
    let room = columns.saturating_sub(beside(parts));
    let title = longest.min(room);
    Fit { parts, title, spare: room - title }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The columns that each part adds.
    fn added(part: Column) -> usize {
        match part {
            Column::Clock | Column::Date | Column::Project | Column::Files => 7,
            Column::Word | Column::Failing | Column::Duration => 8,
            Column::Ended => 0,
            Column::WholeProject | Column::WholeId => 4,
            Column::Agent | Column::Branch => 12,
        }
    }

    /// With an id of 11 columns and a sign.
    fn beside(parts: &[Column]) -> usize {
        13 + 2 + parts.iter().map(|part| added(*part)).sum::<usize>()
    }

    #[test]
    fn the_title_has_its_room_on_every_terminal() {
        let parts = Column::all_but(&[]);
        for columns in 40..=200 {
            for longest in [0, 10, 30, 50, 60, 90, 120] {
                let fit = fit(columns, longest, &parts, beside);
                assert!(beside(fit.parts) + fit.title <= columns, "{columns}: {fit:?}");
                let promised = longest.min(columns - beside(&[])).min(50);
                assert!(fit.title >= promised, "{columns}, {longest}: {fit:?}");
                let is_all = fit.parts.len() == parts.len();
                let share = ((columns - 20) * 6 / 10).max(50);
                let next = || beside(&parts[..fit.parts.len() + 1]) + longest.min(share);
                assert!(is_all || next() > columns, "{columns}, {longest}: there is room for more: {fit:?}");
            }
        }
        assert_eq!(fit(80, 90, &parts, beside).title, 50);
        assert!(fit(120, 90, &parts, beside).title >= 60);
        assert_eq!(
            fit(200, 90, &parts, beside),
            Fit { parts: &parts, title: 90, spare: 200 - beside(&parts) - 90 },
            "nothing is cut that would fit"
        );
        assert_eq!(fit(usize::MAX, 500, &parts, beside).title, 500);
        assert_eq!(fit_with(72, 90, 36, &parts, beside).title, 42, "in a pane, other columns come sooner");
    }

    #[test]
    fn the_least_valuable_is_dropped_first() {
        let parts = Column::all_but(&[]);
        let mut shown = parts.len();
        let mut dropped = Vec::new();
        for columns in (40..=200).rev() {
            let fit = fit(columns, 60, &parts, beside);
            dropped.extend(parts[fit.parts.len()..shown].iter().rev().copied());
            shown = fit.parts.len();
        }
        let place = |part: Column| dropped.iter().position(|one| *one == part).unwrap();
        let order =
            [Column::Branch, Column::Agent, Column::WholeId, Column::Ended, Column::Files, Column::Date, Column::Word];
        assert!(order.windows(2).all(|two| place(two[0]) < place(two[1])), "{dropped:?}");
    }
}
