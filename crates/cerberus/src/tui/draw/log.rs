//! The log: sessions of all projects by day, and a preview of the selected one.

use cerberus_recall::search::query::Query;
use cerberus_record::clean::text;
use cerberus_store::browse::log::ListedSession;

use super::row::{ScreenRow, panes, rule, side_by_side, signs};
use crate::passages::FoundText;
use crate::render::columns::{Column, TITLE_COLUMNS_MIN, fit_with};
use crate::render::session_page::GlanceWriter;
use crate::render::sessions::{ListShape, SessionCells, Widths, after_title, longest_title, marked, state_cell};
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
/// Beside the list, the title is shown in whole.
const PANE_TITLE_COLUMNS: usize = 36;

pub fn rows(state: &ScreenState, screen: &Screen, room: usize) -> Vec<ScreenRow> {
    let sessions = state.sessions();
    let mut rows: Vec<ScreenRow> = vec![about(state, sessions.len()).into(), rule(screen.columns).into()];
    if sessions.is_empty() {
        rows.extend(nothing(state));
        return rows;
    }
    if let Some((left, right)) = panes(screen.columns) {
        let room = room - rows.len();
        let list = list(state, left - 1, PANE_TITLE_COLUMNS, &sessions, room);
        rows.extend(side_by_side(list, beside(state, &Screen { columns: right, ..*screen }, room), left, room));
        return rows;
    }
    let preview = if room >= PREVIEW_ROOM { preview(state, screen) } else { Vec::new() };
    let listed = room - rows.len() - preview.len();
    rows.extend(list(state, screen.columns, TITLE_COLUMNS_MIN, &sessions, listed));
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

/// What a line of the list is.
enum ListEntry {
    Day(String),
    Session(usize),
}

/// The sessions around the selected one that fit, with a heading for each day.
fn list(
    state: &ScreenState,
    columns: usize,
    title_min: usize,
    sessions: &[&ListedSession],
    room: usize,
) -> Vec<ScreenRow> {
    let first = state.log_at.saturating_sub(room);
    let last = sessions.len().min(state.log_at + room + 1);
    let mut entries: Vec<ListEntry> = Vec::new();
    let (mut day, mut chosen) = (String::new(), 0);
    for (at, listed) in sessions.iter().enumerate().take(last).skip(first) {
        let own = state.local.day(listed.session.started_at);
        if own != day {
            entries.push(ListEntry::Day(own.clone()));
            day = own;
        }
        chosen = if at == state.log_at { entries.len() } else { chosen };
        entries.push(ListEntry::Session(at));
    }
    let start = chosen.saturating_sub(room / 2).min(entries.len().saturating_sub(room));
    let shown: Vec<ListEntry> = entries.into_iter().skip(start).take(room).collect();
    // Columns are as wide as what can be seen needs.
    let visible: Vec<&ListedSession> = shown.iter().filter_map(|entry| entry.session(sessions)).collect();
    let parts = Column::all_but(&[Column::Date, Column::WholeId]);
    // The mark of the selected session, and the sign of the state.
    let beside = |parts: &[Column]| 3 + Widths::of(&state.local, &visible, &ListShape::of(parts)).total();
    let fit = fit_with(columns, longest_title(&visible), title_min, &parts, beside);
    let shape = ListShape::fitting(&fit);
    let widths = Widths::of(&state.local, &visible, &shape);
    let row = |entry: ListEntry| match entry {
        ListEntry::Day(day) => Line::of(Style::Heading, format!(" {day}")).into(),
        ListEntry::Session(at) => {
            let (listed, is_chosen) = (sessions[at], at == state.log_at);
            let cells = SessionCells::of(&state.local, listed, &shape);
            let line = Line::new().plain(if is_chosen { ">" } else { " " });
            let line = line.join(state_cell(state.is_utf8, listed, cells.word, widths.word));
            let title = Line::new().plain(listed.title.clone()).cut(fit.title).pad(fit.title);
            let end = after_title(cells.project, widths.project);
            let end = end.join(after_title(Line::new().plain(cells.when), widths.when));
            ScreenRow::list(line.join(title).join(end).join(after_title(cells.facts, widths.facts)), is_chosen)
        }
    };
    shown.into_iter().map(row).collect()
}

impl ListEntry {
    fn session<'a>(&self, sessions: &[&'a ListedSession]) -> Option<&'a ListedSession> {
        match self {
            ListEntry::Day(_) => None,
            ListEntry::Session(at) => sessions.get(*at).copied(),
        }
    }
}

/// The selected session, with what a search found in it first.
fn beside(state: &ScreenState, screen: &Screen, room: usize) -> Vec<Line> {
    let Some(listed) = state.selected() else { return Vec::new() };
    let mut glance = GlanceWriter::new(screen, &state.local);
    glance.head(listed);
    if let Some(found) = found(state, listed) {
        glance.found(&Query::parse(&state.filter.searched), &found.kind, found.at, &found.text);
    }
    if let Some(loaded) = state.page() {
        glance.page(&loaded.page, loaded.cost.as_deref());
    }
    glance.finish(room)
}

/// The text of a session that has the words that were searched for.
fn found(state: &ScreenState, listed: &ListedSession) -> Option<FoundText> {
    if state.filter.searched.is_empty() {
        return None;
    }
    let known = state.filter.passages.get(&listed.session.row).cloned();
    known.or_else(|| {
        // The best passages are of other sessions.
        let (query, page) = (Query::parse(&state.filter.searched), &state.page()?.page);
        let texts = [("prompt", &page.asked), ("said", &page.said)];
        let mut said = texts.into_iter().flat_map(|(kind, said)| said.iter().map(move |said| (kind, said)));
        let (kind, said) = said.find(|(_, said)| !query.matches(&said.text).is_empty())?;
        Some(FoundText { kind: kind.to_string(), text: said.text.clone(), at: said.at })
    })
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
        let found = state.selected().and_then(|listed| found(state, listed));
        let asked = Query::parse(&state.filter.searched);
        let found = found.map(|found| marked(&asked, &asked.snippet(&found.text), Style::Plain));
        let found = found.map(|found| Line::new().faint(" found").pad(8).join(found));
        let done = page.done.last().map(|text| label("done", text)).or(said);
        rows.extend(found.or(done).map(ScreenRow::from));
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
