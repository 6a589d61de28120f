//! The log: sessions of all projects by day, and a preview of the selected one.

use cerberus_record::clean::text;
use cerberus_store::browse::log::ListedSession;

use super::{ScreenRow, around, rule, signs};
use crate::render::columns::{self, Column};
use crate::render::sessions::{SessionCells, Widths, after_title, longest_title, state_cell};
use crate::render::style::{Line, Screen, Style};
use crate::render::time::duration;
use crate::render::{count, counted};
use crate::tui::state::ScreenState;

/// Below this width the preview has no agent and no duration.
const ABOUT_COLUMNS: usize = 60;
/// Below this height there is no preview.
const PREVIEW_ROOM: usize = 14;
const PREVIEW_ROWS: usize = 5;
const TEXT_CHARS_MAX: usize = 300;

pub fn rows(state: &ScreenState, screen: &Screen, room: usize) -> Vec<ScreenRow> {
    let sessions = state.sessions();
    let mut rows: Vec<ScreenRow> = vec![about(state, sessions.len()).into(), rule(screen.columns).into()];
    if sessions.is_empty() {
        rows.extend(nothing(state));
        return rows;
    }
    let preview = if room >= PREVIEW_ROOM { preview(state, screen) } else { Vec::new() };
    let listed = room - rows.len() - preview.len();
    rows.extend(around(list(state, screen, &sessions, listed), listed));
    rows.resize_with(room - preview.len(), || Line::new().into());
    rows.extend(preview);
    rows
}

/// Which sessions are shown.
fn about(state: &ScreenState, shown: usize) -> Line {
    let scope = if state.is_only_here { state.here.1.as_str() } else { "all projects" };
    let line = Line::of(Style::Strong, format!(" {}", text::line(scope, 30)));
    match state.filter.text.trim() {
        "" => line.plain(format!("   {}", count(shown, "session"))).faint("   / search"),
        typed => {
            let of = format!("   {shown} of {}   ", count(state.data.sessions.len(), "session"));
            line.plain(of).faint("/ ").add(Style::Match, typed).faint("   Esc shows all")
        }
    }
}

fn nothing(state: &ScreenState) -> Vec<ScreenRow> {
    let lines = match state.data.sessions.is_empty() {
        true => &[
            " No session is known yet.",
            "",
            " cerberus import    reads the transcripts that your agents keep",
            " cerberus install   records new sessions as they happen",
        ][..],
        false => &[" No session matches. Esc shows all, a changes the project."],
    };
    lines.iter().map(|line| Line::new().plain(*line).into()).collect()
}

/// The sessions around the selected one, with a heading for each day.
fn list(state: &ScreenState, screen: &Screen, sessions: &[&ListedSession], room: usize) -> Vec<ScreenRow> {
    let first = state.log_at.saturating_sub(room);
    let window = &sessions[first..sessions.len().min(state.log_at + room + 1)];
    let parts = Column::all_but(&[Column::Date, Column::WholeId]);
    // The mark of the selected session, and the sign of the state.
    let beside = |parts: &[Column]| 3 + Widths::of(&state.local, window, parts).total();
    let fit = columns::fit(screen.columns, longest_title(window), &parts, beside);
    let widths = Widths::of(&state.local, window, fit.parts);
    let mut rows: Vec<ScreenRow> = Vec::new();
    let mut day = String::new();
    for (at, listed) in window.iter().enumerate() {
        let own = state.local.day(listed.session.started_at);
        if own != day {
            rows.push(Line::of(Style::Heading, format!(" {own}")).into());
            day = own;
        }
        let is_chosen = first + at == state.log_at;
        let cells = SessionCells::of(&state.local, listed, fit.parts);
        let line = Line::new().plain(if is_chosen { ">" } else { " " });
        let line = line.join(state_cell(screen, listed, cells.word, widths.word));
        let title = Line::new().plain(listed.title.clone()).cut(fit.title).pad(fit.title);
        let end = after_title(Line::new().faint(cells.project), widths.project);
        let end = end.join(after_title(Line::new().plain(cells.when), widths.when));
        let end = end.join(after_title(Line::new().faint(cells.facts), widths.facts));
        rows.push(ScreenRow { line: line.join(title).join(end), is_chosen });
    }
    rows
}

/// The selected session in four lines.
fn preview(state: &ScreenState, screen: &Screen) -> Vec<ScreenRow> {
    let mut rows: Vec<ScreenRow> = vec![rule(screen.columns).into()];
    if let Some(listed) = state.selected() {
        let session = &listed.session;
        let branch = session.branch.as_deref().map(|branch| format!("  {branch}")).unwrap_or_default();
        let about = match screen.columns < ABOUT_COLUMNS {
            true => String::new(),
            false => format!("   {}  {}{branch}", session.agent, duration(listed.active)),
        };
        let title = screen.columns.saturating_sub(Line::new().plain(&about).width() + 1);
        let title = Line::of(Style::Strong, format!(" {}", listed.title)).cut(title);
        rows.push(title.faint(about).into());
    }
    if let Some(loaded) = state.page() {
        let page = &loaded.page;
        let label = |name: &str, text: &str| {
            Line::new().faint(format!(" {name}")).pad(8).plain(text::line(text, TEXT_CHARS_MAX))
        };
        let said = page.said.last().map(|said| label("said", &said.text));
        // What was searched for comes before what the session did.
        let found = state.selected().and_then(|listed| state.filter.passages.get(&listed.session.row));
        let done = page.done.last().map(|text| label("done", text)).or(said);
        rows.extend(found.map(|text| label("found", text)).or(done).map(ScreenRow::from));
        rows.extend(page.left.first().map(|text| label("left", text).into()));
        let (green, red, _) = signs(state);
        let runs = page.tests.runs.iter().rev().take(10).rev();
        let runs: String = runs.map(|is_green| if *is_green { green } else { red }).collect();
        let paths = page.files.iter().filter(|work| work.edits > 0).take(5).map(|work| work.path.as_str());
        let paths = paths.collect::<Vec<_>>().join("  ");
        if !paths.is_empty() || !runs.is_empty() {
            let failing = counted(page.tests.failing.len(), "test failing", "tests failing");
            let tests = if page.tests.failing.is_empty() { runs } else { format!("{runs} {failing}") };
            let tests = if tests.is_empty() { tests } else { format!("{tests}   ") };
            rows.push(label("work", &format!("{tests}{paths}")).into());
        }
    }
    rows.resize_with(PREVIEW_ROWS, || Line::new().into());
    rows
}
