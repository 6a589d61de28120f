//! How the list of sessions and search results are printed.

use cerberus_recall::search::query::Query;
use cerberus_record::clean::text;
use cerberus_record::clean::text::printable;
use cerberus_record::session::SessionStatus;
use cerberus_store::browse::find::Lengths;
use cerberus_store::browse::log::ListedSession;
use cerberus_store::browse::search::SearchHit;
use cerberus_store::view::SessionRow;
use unicode_width::UnicodeWidthStr;

use super::columns::{self, Column, Fit};
use super::count;
use super::style::{Line, Screen, Style, wrapped};
use super::time::{LocalTime, duration};
use super::words;

/// A title with less room than this gets a line of its own.
const TITLE_COLUMNS_MIN: usize = 40;
const PROJECT_COLUMNS: usize = 12;
const BRANCH_CHARS_MAX: usize = 40;
/// Between two columns.
const GAP: usize = 2;

/// A sign for a state, always followed by its word where there is room.
pub fn sign(is_utf8: bool, status: SessionStatus) -> Line {
    let (utf8, ascii, style) = match status {
        SessionStatus::Active | SessionStatus::Idle => ("●", "*", Style::Live),
        SessionStatus::Crashed => ("✗", "x", Style::Bad),
        SessionStatus::Ended | SessionStatus::Completed => ("✓", "+", Style::Plain),
        SessionStatus::Recovered | SessionStatus::Archived => ("◌", "o", Style::Faint),
    };
    Line::of(style, if is_utf8 { utf8 } else { ascii })
}

/// The state for people: that a session is too old for a brief says nothing about how it went.
pub fn state(session: &SessionRow) -> SessionStatus {
    match session.state.status {
        SessionStatus::Archived => SessionStatus::Ended,
        status => status,
    }
}

/// The texts of one session in a list.
pub struct SessionCells {
    pub word: Line,
    pub when: String,
    pub project: Line,
    /// `9 files · 1 failing · 2 h · AGENT`.
    pub facts: Line,
}

/// What is shown of each session in a list.
#[derive(Clone, Copy, Debug)]
pub struct ListShape<'a> {
    pub parts: &'a [Column],
    /// The columns of the name of a project, if not all of it is shown.
    pub project: usize,
}

impl<'a> ListShape<'a> {
    /// With these parts, and nothing else to spare.
    pub fn of(parts: &'a [Column]) -> ListShape<'a> {
        ListShape { parts, project: PROJECT_COLUMNS }
    }

    /// Names of projects have what would stay empty.
    pub fn fitting(fit: &Fit<'a>) -> ListShape<'a> {
        ListShape { parts: fit.parts, project: PROJECT_COLUMNS.saturating_add(fit.spare) }
    }
}

impl SessionCells {
    pub fn of(local: &LocalTime, listed: &ListedSession, shape: &ListShape) -> SessionCells {
        let has = |part: Column| shape.parts.contains(&part);
        let (session, state) = (&listed.session, state(&listed.session));
        let style = match state {
            SessionStatus::Crashed => Style::Bad,
            SessionStatus::Active | SessionStatus::Idle => Style::Live,
            _ => Style::Plain,
        };
        let name = Line::of(Style::Project, session.project_name.clone());
        let name = if has(Column::WholeProject) { name } else { name.cut(shape.project) };
        SessionCells {
            word: match has(if state == SessionStatus::Ended { Column::Ended } else { Column::Word }) {
                true => Line::of(style, state.word()),
                false => Line::new(),
            },
            when: match (has(Column::Date), has(Column::Clock)) {
                (true, _) => local.when(session.started_at),
                (false, true) => local.clock(session.started_at),
                (false, false) => String::new(),
            },
            project: if has(Column::Project) { name } else { Line::new() },
            facts: facts(listed, shape.parts),
        }
    }
}

fn facts(listed: &ListedSession, shown: &[Column]) -> Line {
    let has = |part: Column| shown.contains(&part);
    let session = &listed.session;
    let mut parts = Vec::new();
    if listed.files > 0 && has(Column::Files) {
        parts.push((Style::Faint, count(listed.files, "file")));
    }
    if listed.failing > 0 && has(Column::Failing) {
        parts.push((Style::Bad, format!("{} failing", listed.failing)));
    }
    if has(Column::Duration) {
        parts.push((Style::Faint, duration(listed.active)));
    }
    if has(Column::Agent) {
        parts.push((Style::Faint, session.agent.clone()));
        parts.extend(session.device.as_ref().map(|_| (Style::Faint, "other device".to_string())));
    }
    let branch = session.branch.as_deref().filter(|_| has(Column::Branch));
    parts.extend(branch.map(|branch| (Style::Faint, text::line(branch, BRANCH_CHARS_MAX))));
    parts
        .into_iter()
        .enumerate()
        .fold(Line::new(), |line, (at, (style, text))| line.faint(if at == 0 { "" } else { " · " }).add(style, text))
}

/// The width of each column.
pub struct Widths {
    pub word: usize,
    pub when: usize,
    pub project: usize,
    pub facts: usize,
}

impl Widths {
    pub fn of(local: &LocalTime, sessions: &[&ListedSession], shape: &ListShape) -> Widths {
        let cells: Vec<SessionCells> = sessions.iter().map(|listed| SessionCells::of(local, listed, shape)).collect();
        let widest = |of: &dyn Fn(&SessionCells) -> usize| cells.iter().map(of).max().unwrap_or(0);
        Widths {
            word: widest(&|cells| cells.word.width()),
            when: widest(&|cells| cells.when.width()),
            project: widest(&|cells| cells.project.width()),
            facts: widest(&|cells| cells.facts.width()),
        }
    }

    /// All columns, each with the gap beside it.
    pub fn total(&self) -> usize {
        let all = [self.word, self.when, self.project, self.facts].into_iter();
        all.filter(|width| *width > 0).map(|width| width + GAP).sum()
    }
}

/// A cell with the gap behind it; nothing if the column is empty.
fn before_title(line: Line, width: usize) -> Line {
    if width > 0 { line.pad(width + GAP) } else { Line::new() }
}

/// A cell with the gap in front of it; nothing if the column is empty.
pub fn after_title(line: Line, width: usize) -> Line {
    if width > 0 { Line::new().pad(GAP).join(line.pad(width)) } else { Line::new() }
}

/// `✓ `, `✗ crashed  `.
pub fn state_cell(is_utf8: bool, listed: &ListedSession, word: Line, width: usize) -> Line {
    sign(is_utf8, state(&listed.session)).plain(" ").join(before_title(word, width))
}

pub fn longest_title(sessions: &[&ListedSession]) -> usize {
    sessions.iter().map(|listed| printable(&listed.title).width()).max().unwrap_or(0)
}

/// The list, newest first.
pub fn list(screen: &Screen, local: &LocalTime, sessions: &[ListedSession], ids: &Lengths) -> Vec<Line> {
    let all: Vec<&ListedSession> = sessions.iter().collect();
    let parts = Column::all_but(&[Column::Branch]);
    let id_width = |parts: &[Column]| {
        all.iter().map(|listed| id(&listed.session, ids, parts.contains(&Column::WholeId)).width()).max().unwrap_or(0)
    };
    // The id with its gap, and the sign of the state.
    let beside = |parts: &[Column]| id_width(parts) + GAP + 2 + Widths::of(local, &all, &ListShape::of(parts)).total();
    let fit = columns::fit(screen.room(), longest_title(&all), &parts, beside);
    if fit.title < longest_title(&all).min(TITLE_COLUMNS_MIN) {
        return two_lines(screen, local, sessions, ids);
    }
    let shape = ListShape::fitting(&fit);
    let (widths, id_width) = (Widths::of(local, &all, &shape), id_width(fit.parts));
    let mut lines = Vec::new();
    let mut day = String::new();
    for listed in sessions {
        if !fit.has(Column::Date) && day != local.day(listed.session.started_at) {
            day = local.day(listed.session.started_at);
            lines.push(Line::of(Style::Heading, day.clone()));
        }
        let cells = SessionCells::of(local, listed, &shape);
        let line = Line::new().faint(id(&listed.session, ids, fit.has(Column::WholeId))).pad(id_width + GAP);
        let line = line.join(state_cell(screen.is_utf8, listed, cells.word, widths.word));
        let line = line.join(before_title(Line::new().plain(cells.when), widths.when));
        let line = line.join(before_title(cells.project, widths.project));
        let title = Line::of(Style::Strong, listed.title.clone()).cut(fit.title).pad(fit.title);
        lines.push(line.join(title).join(after_title(cells.facts, widths.facts)));
    }
    lines
}

/// On a narrow terminal the title has a line of its own.
fn two_lines(screen: &Screen, local: &LocalTime, sessions: &[ListedSession], ids: &Lengths) -> Vec<Line> {
    let parts = [Column::Word, Column::Project, Column::Date, Column::Failing, Column::Files];
    let about = |listed: &ListedSession| {
        let cells = SessionCells::of(local, listed, &ListShape::of(&parts));
        let id = Line::new().faint(id(&listed.session, ids, false));
        let cells = [id, cells.word, Line::new().faint(cells.when), cells.project, cells.facts];
        let cells = cells.into_iter().filter(|cell| cell.width() > 0).enumerate();
        cells.fold(Line::new().plain("  "), |line, (at, cell)| line.faint(if at == 0 { "" } else { " · " }).join(cell))
    };
    let lines = sessions.iter().flat_map(|listed| {
        let title = sign(screen.is_utf8, state(&listed.session)).plain(" ").add(Style::Strong, listed.title.clone());
        [title, about(listed)]
    });
    lines.map(|line| line.cut(screen.columns)).collect()
}

/// The id or its shortest unique beginning.
fn id<'a>(session: &'a SessionRow, ids: &Lengths, is_whole: bool) -> &'a str {
    let id = session.id.as_str();
    let len = ids.get(&session.row).filter(|_| !is_whole);
    len.and_then(|len| id.get(..*len)).unwrap_or(id)
}

/// Search results, the hits of one session together.
pub fn hits(screen: &Screen, local: &LocalTime, query: &Query, hits: &[SearchHit], ids: &Lengths) -> Vec<Line> {
    let mut lines: Vec<Line> = Vec::new();
    let mut shown: Vec<&str> = Vec::new();
    for hit in hits {
        match &hit.session {
            Some(session) if shown.contains(&session.id.as_str()) => continue,
            Some(session) => {
                shown.push(session.id.as_str());
                let title = hit.title.clone().unwrap_or_default();
                let start = Line::new().faint(format!("{}  ", id(session, ids, !screen.is_bounded)));
                let end = Line::new().faint(format!("  {}", session.project_name));
                let end = end.faint(format!("  {}", local.when(session.started_at)));
                let title = marked(query, &title, Style::Strong);
                let room = screen.room().saturating_sub(start.width());
                // The title is cut last.
                let rest = room.saturating_sub(title.width());
                lines.push(start.join(title.cut(room)).join(if rest > 2 { end.cut(rest) } else { Line::new() }));
                let own = hits.iter().filter(|other| {
                    other.session.as_ref().is_some_and(|of| of.id == session.id) && other.kind != "title"
                });
                lines.extend(own.map(|hit| found(query, hit)));
            }
            None if hit.memory.is_none() => {
                let author = hit.author.clone().unwrap_or_default();
                lines.push(Line::new().faint(format!("{}  ", hit.project)).plain(format!("open at {author}")));
                lines.push(found(query, hit));
            }
            None => {
                let id = hit.memory.clone().unwrap_or_default();
                lines.push(Line::new().faint(format!("{id}  {}  ", hit.project)).plain("memory"));
                lines.push(found(query, hit));
            }
        }
    }
    lines
}

/// The width of the word for the kind of a result, with its indent.
const KIND_COLUMNS: usize = 12;

fn found(query: &Query, hit: &SearchHit) -> Line {
    Line::new().faint(format!("  {}", words::result(&hit.kind))).pad(KIND_COLUMNS).join(marked(
        query,
        &hit.snippet,
        Style::Plain,
    ))
}

/// A text in which the words that were searched for stand out.
pub fn marked(query: &Query, text: &str, style: Style) -> Line {
    let mut line = Line::new();
    let mut rest = 0;
    for found in query.matches(text) {
        line = line.add(style, &text[rest..found.start]).add(Style::Match, &text[found.clone()]);
        rest = found.end;
    }
    line.add(style, &text[rest..])
}

/// The lines of a text around the first word that was searched for, with every such word marked.
pub fn marked_lines(query: &Query, text: &str, columns: usize, lines_max: usize) -> Vec<Line> {
    let lines = wrapped(text, columns);
    let first = lines.iter().position(|line| !query.matches(line).is_empty()).unwrap_or(0);
    let first = first.saturating_sub(LINES_BEFORE).min(lines.len().saturating_sub(lines_max));
    lines.iter().skip(first).take(lines_max).map(|line| marked(query, line, Style::Plain)).collect()
}

/// So many lines of a passage are shown before the first word that was searched for.
const LINES_BEFORE: usize = 2;
