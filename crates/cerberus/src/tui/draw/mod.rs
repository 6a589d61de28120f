//! Draws the state. Every page is a list of lines that are cut to the width; what is selected is reversed.
//!
//! Colour is never the only sign: states have a sign and a word, the selection is reversed and marked with `>`. No
//! background colours, so that it is readable on light and dark terminals.

mod log;
#[cfg(feature = "loop")]
mod loops;
mod review;
mod row;
mod session;
mod told;

use self::row::{ScreenRow, rule, signs, titled_rule};
use super::frame::TerminalFrame;
use super::state::{Dialog, ScreenState, Tab};
use crate::render::style::{Line, Screen, Style, ascii, wrapped};

/// Below this nothing useful can be shown.
pub const COLUMNS_MIN: u16 = 40;
pub const ROWS_MIN: u16 = 10;
/// From this width on, the header has the program's name.
const NAMED_COLUMNS: usize = 60;

/// What a terminal of so many columns and rows shows.
pub fn draw(state: &ScreenState, size: (u16, u16)) -> TerminalFrame {
    let (columns, rows) = (usize::from(size.0), usize::from(size.1));
    let frame = |shown: Vec<ScreenRow>, caret: Option<usize>| {
        let rows = shown.into_iter().take(rows).map(|row| codes(state, row, columns)).collect();
        TerminalFrame { size, rows, caret: caret.map(|column| column.min(columns - 1)) }
    };
    if size.0 < COLUMNS_MIN || size.1 < ROWS_MIN {
        let small = format!("{COLUMNS_MIN}x{ROWS_MIN} is needed, this is {columns}x{rows}");
        return frame(vec![Line::new().plain(small).into(), Line::new().plain("q quits").into()], None);
    }
    let screen = Screen { columns, is_bounded: true, rows: Some(rows), is_colored: true, is_utf8: state.is_utf8 };
    let mut shown: Vec<ScreenRow> = vec![header(state, columns).into()];
    let footer = [rule(columns), footer(state, columns)];
    let room = rows - shown.len() - footer.len();
    let body = match &state.dialog {
        Some(Dialog::Help { scroll }) => help(state, columns).into_iter().skip(*scroll).collect(),
        Some(Dialog::Text { title, lines, scroll }) => text(title, lines, *scroll, columns),
        _ => page(state, &screen, room),
    };
    shown.extend(body.into_iter().take(room));
    shown.resize_with(rows - footer.len(), || Line::new().into());
    shown.extend(footer.map(ScreenRow::from));
    frame(shown, caret_column(state))
}

fn page(state: &ScreenState, screen: &Screen, room: usize) -> Vec<ScreenRow> {
    match state.tab {
        Tab::Log | Tab::Told if state.open.is_some() => session::rows(state, screen, room),
        Tab::Log => log::rows(state, screen, room),
        Tab::Told => told::rows(state, screen, room),
        Tab::Review => review::rows(state, screen),
        #[cfg(feature = "loop")]
        Tab::Loops => loops::rows(state, screen),
        #[cfg(not(feature = "loop"))]
        Tab::Loops => Vec::new(),
    }
}

fn header(state: &ScreenState, columns: usize) -> Line {
    // A narrow terminal has room for the tabs alone.
    let (name, gap) = if columns >= NAMED_COLUMNS { (" cerberus ", " ") } else { ("", "") };
    let mut line = Line::of(Style::Strong, name);
    for (number, tab) in Tab::ALL.into_iter().enumerate() {
        let count = match tab {
            Tab::Review => state.data.proposals.len(),
            Tab::Loops => state.data.loops.iter().filter(|run| run.is_running).count(),
            _ => 0,
        };
        let count = if count > 0 { format!(" {count}") } else { String::new() };
        let style = if tab == state.tab { Style::Chosen } else { Style::Plain };
        line = line.plain(gap).add(style, format!(" {} {}{count} ", number + 1, tab.name()));
    }
    if columns >= NAMED_COLUMNS { line.pad(columns - 8).faint("? help") } else { line }
}

/// What is being asked or typed, a message, or the keys of the page.
fn footer(state: &ScreenState, columns: usize) -> Line {
    if let Some(Dialog::Ask { question, .. }) = &state.dialog {
        return Line::of(Style::Strong, format!(" {question}")).plain("  y yes   any other key no");
    }
    if let Some((label, typed)) = typed(state) {
        return Line::new().faint(label).plain(end_of(typed, columns.saturating_sub(label.len() + 1)));
    }
    if let Some(message) = &state.message {
        return Line::of(Style::Strong, format!(" {message}"));
    }
    let keys = match (&state.dialog, state.tab) {
        (Some(_), _) => " ↑↓ scroll  any other key closes this",
        (None, Tab::Log | Tab::Told) if state.open.is_some() => {
            " ↑↓ scroll  ←→ sessions  r resume  b brief  d diffs  Esc back  ? help  q quit"
        }
        (None, Tab::Log) => " ↑↓ move  Enter open  / search  r resume  b brief  a project  ? help  q quit",
        (None, Tab::Told) => " ↑↓ lines  ←→ sessions  Enter open  x reject  a project  ? help  q quit",
        (None, Tab::Review) => " a approve  e edit  r reject  l later  s scope  u undo  ? help  q quit",
        (None, Tab::Loops) => " ↑↓ move  a project  ? help  q quit",
    };
    Line::new().faint(fitting(keys, columns))
}

/// As many keys as fit, and always the one that shows them all.
fn fitting(keys: &str, columns: usize) -> String {
    let (first, last) = keys.split_at(keys.find("  ? help").unwrap_or(keys.len()));
    let mut shown: Vec<&str> = first.split("  ").collect();
    while shown.len() > 1 && Line::new().plain(shown.join("  ")).plain(last).width() > columns {
        shown.pop();
    }
    format!("{}{last}", shown.join("  "))
}

/// The line that is being typed, with its label.
fn typed(state: &ScreenState) -> Option<(&'static str, &str)> {
    match &state.dialog {
        Some(Dialog::Edit(words)) => Some((" Edit: ", words)),
        None if state.filter.is_typing => Some((" / ", &state.filter.text)),
        _ => None,
    }
}

/// The end of a text that is longer than this.
fn end_of(text: &str, columns: usize) -> &str {
    let mut starts = text.char_indices().map(|(at, _)| at);
    let fits = |at: &usize| Line::new().plain(&text[*at..]).width() <= columns;
    starts.find(fits).map_or("", |at| &text[at..])
}

fn caret_column(state: &ScreenState) -> Option<usize> {
    let (label, typed) = typed(state)?;
    Some(Line::new().plain(label).plain(typed).width())
}

/// A line of the screen with its escape codes.
fn codes(state: &ScreenState, row: ScreenRow, columns: usize) -> String {
    let Some((list, beside)) = row.beside else { return line_codes(state, row.line, columns, row.is_chosen) };
    let rest = line_codes(state, Line::new().faint("│ ").join(beside), columns.saturating_sub(list), false);
    // A column by its number: not every terminal agrees on how wide a letter is.
    format!("{}\u{1b}[{}G{rest}", line_codes(state, row.line, list, row.is_chosen), list + 1)
}

/// What is selected is reversed as a whole: colours in it would be hard to read.
fn line_codes(state: &ScreenState, line: Line, columns: usize, is_chosen: bool) -> String {
    let line = line.cut(columns);
    let line = if is_chosen { line.pad(columns) } else { line };
    let mut out = String::new();
    for (style, text) in line.spans() {
        let text = shown(state, text);
        let own = match style {
            Style::Strong | Style::Match => style.code(),
            _ if is_chosen => "",
            Style::Heading | Style::Bad | Style::Live | Style::Project if !state.is_colored => "",
            _ => style.code(),
        };
        match (own, is_chosen) {
            ("", false) => out.push_str(&text),
            ("", true) => out.push_str(&format!("\u{1b}[7m{text}\u{1b}[0m")),
            (own, false) => out.push_str(&format!("\u{1b}[{own}m{text}\u{1b}[0m")),
            (own, true) => out.push_str(&format!("\u{1b}[7;{own}m{text}\u{1b}[0m")),
        }
    }
    out
}

/// The text as this terminal can show it.
fn shown(state: &ScreenState, text: &str) -> String {
    let text = text.replace('\t', " ");
    if state.is_utf8 { text } else { text.chars().map(ascii).collect() }
}

fn text(title: &str, lines: &[String], scroll: usize, columns: usize) -> Vec<ScreenRow> {
    let mut rows: Vec<ScreenRow> = vec![titled_rule(title, columns).into()];
    let texts = lines.iter().skip(scroll).flat_map(|line| wrapped(line, columns.saturating_sub(2)));
    rows.extend(texts.map(|text| Line::new().plain(format!(" {text}")).into()));
    rows
}

/// Where the meaning of a key begins.
const HELP_COLUMN: usize = 17;

fn help(state: &ScreenState, columns: usize) -> Vec<ScreenRow> {
    let (done, bad, _) = signs(state);
    let keys = [
        ("1 2 3 4, Tab", "log, told, review, loops"),
        ("↑ ↓, j k", "move; PageUp, PageDown, Home and End too"),
        ("Enter, Esc", "open, back"),
        ("← →, h l", "the session or proposal before and after"),
        ("/", "search sessions: titles, projects, everything said"),
        ("a", "all projects, or only the one of this folder"),
        ("r", "leave, and resume the session in its own agent"),
        ("b", "what the next session in its folder would be told"),
        ("d", "in a session: what its turns changed, if `undo` is on"),
        ("x", "in Told: reject this rule for good (asks first)"),
        ("a e r l u", "in Review: approve, edit, reject, later, undo; s: scope"),
        ("q, Ctrl-C", "quit; Ctrl-Z suspends"),
    ];
    let (live, open) = if state.is_utf8 { ("●", "◌") } else { ("*", "o") };
    let signs =
        [(live, "active"), (done, "ended"), (bad, "crashed, failing or broken"), (open, "recovered or archived")];
    let mut rows: Vec<ScreenRow> = Vec::new();
    for (heading, meanings) in [(" Keys", &keys[..]), (" Signs", &signs[..])] {
        rows.push(Line::of(Style::Heading, heading).into());
        for (key, what) in meanings {
            for (at, text) in wrapped(what, columns.saturating_sub(HELP_COLUMN)).into_iter().enumerate() {
                let start = if at == 0 { format!("  {key}") } else { String::new() };
                rows.push(Line::new().plain(start).pad(HELP_COLUMN).faint(text).into());
            }
        }
    }
    rows
}
