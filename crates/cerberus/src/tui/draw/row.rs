//! The lines of the screen, and how they are put beside and below each other.

use crate::render::style::{Line, Style};
use crate::tui::state::ScreenState;

/// From this width on, what is selected is shown beside the list.
const TWO_PANES_COLUMNS: usize = 120;

/// One line of the screen.
pub struct ScreenRow {
    pub(super) line: Line,
    pub(super) is_chosen: bool,
    /// What stands beside it, and the columns that it then has.
    pub(super) beside: Option<(usize, Line)>,
}

impl From<Line> for ScreenRow {
    fn from(line: Line) -> ScreenRow {
        ScreenRow::list(line, false)
    }
}

impl ScreenRow {
    /// A line of a list.
    pub(super) fn list(line: Line, is_chosen: bool) -> ScreenRow {
        ScreenRow { line, is_chosen, beside: None }
    }
}

/// The widths of the list and of what is beside it, if there is room for both.
pub(super) fn panes(columns: usize) -> Option<(usize, usize)> {
    let list = columns * 3 / 5;
    // A line, and a blank on both sides of the text.
    (columns >= TWO_PANES_COLUMNS).then(|| (list, columns - list - 3))
}

/// A list of `list` columns, and lines beside it.
pub(super) fn side_by_side(rows: Vec<ScreenRow>, lines: Vec<Line>, list: usize, room: usize) -> Vec<ScreenRow> {
    let mut rows = rows.into_iter();
    let mut lines = lines.into_iter();
    (0..room)
        .map(|_| {
            let row = rows.next().unwrap_or_else(|| Line::new().into());
            ScreenRow { beside: Some((list, lines.next().unwrap_or_default())), ..row }
        })
        .collect()
}

pub(super) fn rule(columns: usize) -> Line {
    Line::new().faint("─".repeat(columns))
}

/// `─ Story ───`
pub(super) fn titled_rule(title: &str, columns: usize) -> Line {
    let line = Line::new().faint("─ ").add(Style::Heading, title).plain(" ");
    let left = columns.saturating_sub(line.width());
    line.faint("─".repeat(left))
}

/// The rows around the chosen one that fit.
pub(super) fn around(rows: Vec<ScreenRow>, room: usize) -> Vec<ScreenRow> {
    let chosen = rows.iter().position(|row| row.is_chosen).unwrap_or(0);
    let first = chosen.saturating_sub(room / 2).min(rows.len().saturating_sub(room));
    rows.into_iter().skip(first).take(room).collect()
}

/// `✓` or `+`, and so on.
pub(super) fn signs(state: &ScreenState) -> (&'static str, &'static str, &'static str) {
    if state.is_utf8 { ("✓", "✗", "·") } else { ("+", "x", "-") }
}
