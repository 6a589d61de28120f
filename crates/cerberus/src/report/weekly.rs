//! The charts with one column per week: the calendar, tests, and files.

use maud::{Markup, html};

use super::charts::{Caption, WIDTH, figure, hatch, legend, n, sample, table};
use super::words::count;
use crate::render::time::LocalTime;
use crate::report::figures::calendar::{self, Day};
use crate::report::figures::files::{FileRow, most_edited, short_path};
use crate::report::figures::scale::{axis_end, level, part};
use crate::report::figures::weeks::{self, WEEKS, WeekRuns, Weeks};
use crate::report::gather::ReportData;

const CELL: f64 = 13.0;
const LEFT: f64 = 22.0;
const TOP: f64 = 14.0;

/// The names of months above the columns: the first week of each, if there is room for its name.
fn months(weeks: Weeks, local: &LocalTime) -> Vec<(usize, &'static str)> {
    let mut found: Vec<(usize, &'static str)> = Vec::new();
    for week in 0..WEEKS {
        let month = local.month_of(weeks.monday(week));
        if found.last().is_none_or(|(_, last)| *last != month) {
            // The first month may have only one week in view.
            if found.last().is_some_and(|(column, _)| week - column < 3) {
                found.pop();
            }
            found.push((week, month));
        }
    }
    found
}

/// Sessions by day.
pub fn calendar(report: &ReportData, local: &LocalTime) -> Markup {
    let days = calendar::days(&report.sessions, report.weeks, report.today);
    let drawing = html! {
        @for (column, month) in months(report.weeks, local) {
            text.s x=(n(LEFT + column as f64 * CELL)) y="9" { (month) }
        }
        @for (row, name) in [(0, "Mon"), (2, "Wed"), (4, "Fri"), (6, "Sun")] {
            text.s x="0" y=(n(TOP + f64::from(row) * CELL + 9.0)) { (name) }
        }
        @for day in &days { (cell(day, report.weeks, local)) }
    };
    let busy = days.iter().filter(|day| day.sessions > 0);
    let said = format!("{} on {}.", count(report.sessions.len(), "session"), count(busy.clone().count(), "day"),);
    let rows: Vec<Vec<String>> =
        busy.rev().map(|day| vec![local.date_of(day.day), day.sessions.to_string(), day.crashes.to_string()]).collect();
    let crash = html! { rect.l2 x="1" y="1" width="12" height="12" rx="2" {} path.crash d="M4 4L10 10M10 4L4 10" {} };
    let meaning = legend(&[
        (sample("l0"), "no session"),
        (sample("l1"), "few"),
        (sample("l4"), "most"),
        (crash, "a session crashed"),
    ]);
    let table = table(&["day", "sessions", "crashed"], &rows);
    figure(&Caption { title: "Sessions by day", text: &said }, TOP + 7.0 * CELL, &drawing, &meaning, &table)
}

fn cell(day: &Day, weeks: Weeks, local: &LocalTime) -> Markup {
    let Some((column, row)) = calendar::position(day.day, weeks) else { return Markup::default() };
    let (x, y) = (LEFT + column as f64 * CELL, TOP + row as f64 * CELL);
    html! {
        rect class={ "l" (day.level) } x=(n(x)) y=(n(y)) width="11" height="11" rx="2" {
            @if day.sessions > 0 { title { (local.date_of(day.day)) ": " (count(day.sessions, "session")) } }
        }
        @if day.crashes > 0 {
            path.crash d={ "M" (n(x + 3.0)) " " (n(y + 3.0)) "l5 5m0-5l-5 5" } {}
        }
    }
}

const PLOT: f64 = 104.0;

/// Tests, builds and lints by week: green above the line, red below it.
pub fn runs(report: &ReportData, local: &LocalTime) -> Markup {
    let runs = weeks::runs(&report.sessions, report.weeks);
    let (green, red) = runs.iter().fold((0, 0), |(green, red), week| (green + week.green, red + week.red));
    if green + red == 0 {
        return html! { p.soft { "No test, build or lint was seen in these weeks." } };
    }
    // One scale above and below the line, which is where both have room.
    let top = axis_end(runs.iter().map(|week| week.green).max().unwrap_or(0) as f64);
    let bottom = axis_end(runs.iter().map(|week| week.red).max().unwrap_or(0) as f64);
    let height = |count: f64| PLOT * part(count, top + bottom);
    let middle = TOP + height(top);
    let x = |week: usize| LEFT + week as f64 * CELL;
    let drawing = html! {
        (hatch("red-runs", "orange"))
        @for (column, month) in months(report.weeks, local) { text.s x=(n(x(column))) y="9" { (month) } }
        text.s.e x=(n(LEFT - 4.0)) y=(n(TOP + 8.0)) { (top) }
        text.s.e x=(n(LEFT - 4.0)) y=(n(middle + 3.0)) { "0" }
        text.s.e x=(n(LEFT - 4.0)) y=(n(TOP + PLOT)) { (bottom) }
        @for (week, WeekRuns { green, red }) in runs.iter().enumerate() {
            @if *green > 0 {
                @let height = height(*green as f64);
                rect.bar x=(n(x(week))) y=(n(middle - height)) width="11" height=(n(height)) {}
            }
            @if *red > 0 {
                rect fill="url(#red-runs)" x=(n(x(week))) y=(n(middle)) width="11" height=(n(height(*red as f64))) {}
            }
        }
        line.axis x1=(n(LEFT)) x2=(n(WIDTH)) y1=(n(middle)) y2=(n(middle)) {}
    };
    let busy = runs.iter().enumerate().rev().filter(|(_, week)| week.green + week.red > 0);
    let rows: Vec<Vec<String>> = busy
        .map(|(week, runs)| {
            vec![local.date_of(report.weeks.monday(week)), runs.green.to_string(), runs.red.to_string()]
        })
        .collect();
    let said = format!("{green} green and {red} red runs.");
    let meaning = legend(&[
        (sample("bar"), "green, above the line"),
        (html! { rect fill="url(#red-runs)" x="1" y="1" width="12" height="12" {} }, "red, below the line"),
    ]);
    let table = table(&["week from", "green", "red"], &rows);
    let caption = Caption { title: "Tests, builds and lints by week", text: &said };
    figure(&caption, TOP + PLOT + 2.0, &drawing, &meaning, &table)
}

const NAME: f64 = 128.0;
const NAME_CHARS: usize = 24;
const ROW: f64 = 13.0;

/// The most edited files by week.
pub fn files(report: &ReportData, local: &LocalTime) -> Markup {
    let rows = most_edited(&report.sessions, report.weeks);
    if rows.is_empty() {
        return html! { p.soft { "No edited file was seen in these weeks." } };
    }
    let step = (WIDTH - NAME) / WEEKS as f64;
    let max = rows.iter().flat_map(|row| &row.by_week).copied().max().unwrap_or(0);
    // Each project has its own heading, if there are several.
    let several = rows.iter().any(|row| row.project != rows[0].project);
    let is_first = |number: usize| several && (number == 0 || rows[number - 1].project != rows[number].project);
    let headings = |number: usize| (0..=number).filter(|row| is_first(*row)).count();
    let y = |number: usize| TOP + (number + headings(number)) as f64 * ROW;
    let drawing = html! {
        @for (column, month) in months(report.weeks, local) {
            text.s x=(n(NAME + column as f64 * step)) y="9" { (month) }
        }
        @for (number, row) in rows.iter().enumerate() {
            @if is_first(number) { text.s x="0" y=(n(y(number) - 4.0)) { (row.project) } }
            text x="0" y=(n(y(number) + 9.0)) { (short_path(&row.path, NAME_CHARS)) title { (row.path) } }
            (heat(row, max, y(number), step))
        }
    };
    let name = |row: &FileRow| if several { format!("{}: {}", row.project, row.path) } else { row.path.clone() };
    let table =
        table(&["file", "edits"], &rows.iter().map(|row| vec![name(row), row.edits.to_string()]).collect::<Vec<_>>());
    let most = rows.iter().max_by_key(|row| row.edits).unwrap_or(&rows[0]);
    let said = format!("{} was edited most: {}.", most.path, count(most.edits, "edit"));
    let meaning = legend(&[(sample("l0"), "no edit"), (sample("l1"), "few edits in a week"), (sample("l4"), "most")]);
    let caption = Caption { title: "The most edited files by week", text: &said };
    figure(&caption, y(rows.len() - 1) + ROW, &drawing, &meaning, &table)
}

/// One row of the heat map. Weeks without an edit share one background.
fn heat(row: &FileRow, max: usize, y: f64, step: f64) -> Markup {
    html! {
        rect.l0 x=(n(NAME)) y=(n(y)) width=(n(WIDTH - NAME)) height="11" rx="2" {}
        @for (week, edits) in row.by_week.iter().enumerate().filter(|(_, edits)| **edits > 0) {
            rect class={ "l" (level(*edits, max)) } x=(n(NAME + week as f64 * step)) y=(n(y)) width=(n(step - 1.0)) height="11"
                rx="1" { title { (count(*edits, "edit")) } }
        }
    }
}
