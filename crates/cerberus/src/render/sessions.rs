//! How the list of sessions, the page of one session and search results are printed.

use cerberus_recall::search::query::Query;
use cerberus_record::clean::text;
use cerberus_record::clean::text::printable;
use cerberus_record::session::SessionStatus;
use cerberus_store::browse::find::Lengths;
use cerberus_store::browse::log::ListedSession;
use cerberus_store::browse::page::{Page, SaidEntry};
use cerberus_store::browse::search::SearchHit;
use cerberus_store::view::SessionRow;
use unicode_width::UnicodeWidthStr;

use super::columns::{self, Column};
use super::style::{Line, Screen, Style, wrapped};
use super::time::{LocalTime, duration};
use super::{count, counted};

/// A title with less room than this gets a line of its own.
const TITLE_COLUMNS_MIN: usize = 40;
const PROJECT_COLUMNS: usize = 12;
const BRANCH_CHARS_MAX: usize = 40;
/// Between two columns.
const GAP: usize = 2;
/// How many lines of one text, and how many items of one list, a page shows.
const TEXT_LINES_MAX: usize = 6;
const ITEMS_MAX: usize = 20;
const LABEL_COLUMNS: usize = 9;

/// A sign for a state, always followed by its word where there is room.
pub fn sign(screen: &Screen, status: SessionStatus) -> Line {
    let (utf8, ascii, style) = match status {
        SessionStatus::Active | SessionStatus::Idle => ("●", "*", Style::Heading),
        SessionStatus::Crashed => ("✗", "x", Style::Bad),
        SessionStatus::Ended | SessionStatus::Completed => ("✓", "+", Style::Plain),
        SessionStatus::Recovered | SessionStatus::Archived => ("◌", "o", Style::Faint),
    };
    Line::of(style, if screen.is_utf8 { utf8 } else { ascii })
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
    pub project: String,
    /// `9 files · 1 failing · 2 h · AGENT`.
    pub facts: String,
}

impl SessionCells {
    pub fn of(local: &LocalTime, listed: &ListedSession, parts: &[Column]) -> SessionCells {
        let has = |part: Column| parts.contains(&part);
        let (session, state) = (&listed.session, state(&listed.session));
        let style = if state == SessionStatus::Crashed { Style::Bad } else { Style::Plain };
        let name = Line::new().plain(session.project_name.clone());
        let name = if has(Column::WholeProject) { name } else { name.cut(PROJECT_COLUMNS) };
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
            project: if has(Column::Project) { name.shown(false) } else { String::new() },
            facts: facts(listed, parts),
        }
    }
}

fn facts(listed: &ListedSession, shown: &[Column]) -> String {
    let has = |part: Column| shown.contains(&part);
    let session = &listed.session;
    let mut parts = Vec::new();
    if listed.files > 0 && has(Column::Files) {
        parts.push(count(listed.files, "file"));
    }
    if listed.failing > 0 && has(Column::Failing) {
        parts.push(format!("{} failing", listed.failing));
    }
    if has(Column::Duration) {
        parts.push(duration(listed.active));
    }
    if has(Column::Agent) {
        parts.push(session.agent.clone());
        parts.extend(session.device.as_ref().map(|_| "other device".to_string()));
    }
    let branch = session.branch.as_deref().filter(|_| has(Column::Branch));
    parts.extend(branch.map(|branch| text::line(branch, BRANCH_CHARS_MAX)));
    parts.join(" · ")
}

/// The width of each column.
pub struct Widths {
    pub word: usize,
    pub when: usize,
    pub project: usize,
    pub facts: usize,
}

impl Widths {
    pub fn of(local: &LocalTime, sessions: &[&ListedSession], parts: &[Column]) -> Widths {
        let cells: Vec<SessionCells> = sessions.iter().map(|listed| SessionCells::of(local, listed, parts)).collect();
        let widest =
            |of: &dyn Fn(&SessionCells) -> &str| cells.iter().map(|cells| of(cells).width()).max().unwrap_or(0);
        Widths {
            word: cells.iter().map(|cells| cells.word.width()).max().unwrap_or(0),
            when: widest(&|cells| &cells.when),
            project: widest(&|cells| &cells.project),
            facts: widest(&|cells| &cells.facts),
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
pub fn state_cell(screen: &Screen, listed: &ListedSession, word: Line, width: usize) -> Line {
    sign(screen, state(&listed.session)).plain(" ").join(before_title(word, width))
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
    let beside = |parts: &[Column]| id_width(parts) + GAP + 2 + Widths::of(local, &all, parts).total();
    let fit = columns::fit(screen.room(), longest_title(&all), &parts, beside);
    if fit.title < longest_title(&all).min(TITLE_COLUMNS_MIN) {
        return two_lines(screen, local, sessions, ids);
    }
    let (widths, id_width) = (Widths::of(local, &all, fit.parts), id_width(fit.parts));
    let mut lines = Vec::new();
    let mut day = String::new();
    for listed in sessions {
        if !fit.has(Column::Date) && day != local.day(listed.session.started_at) {
            day = local.day(listed.session.started_at);
            lines.push(Line::of(Style::Heading, day.clone()));
        }
        let cells = SessionCells::of(local, listed, fit.parts);
        let line = Line::new().faint(id(&listed.session, ids, fit.has(Column::WholeId))).pad(id_width + GAP);
        let line = line.join(state_cell(screen, listed, cells.word, widths.word));
        let line = line.join(before_title(Line::new().plain(cells.when), widths.when));
        let line = line.join(before_title(Line::new().faint(cells.project), widths.project));
        let title = Line::of(Style::Strong, listed.title.clone()).cut(fit.title).pad(fit.title);
        lines.push(line.join(title).join(after_title(Line::new().faint(cells.facts), widths.facts)));
    }
    lines
}

/// On a narrow terminal the title has a line of its own.
fn two_lines(screen: &Screen, local: &LocalTime, sessions: &[ListedSession], ids: &Lengths) -> Vec<Line> {
    let parts = [Column::Word, Column::Project, Column::Date, Column::Failing, Column::Files];
    let about = |listed: &ListedSession| {
        let cells = SessionCells::of(local, listed, &parts);
        let word = cells.word.shown(false);
        let texts = [id(&listed.session, ids, false).to_string(), word, cells.when, cells.project, cells.facts];
        texts.into_iter().filter(|text| !text.is_empty()).collect::<Vec<_>>().join(" · ")
    };
    let lines = sessions.iter().flat_map(|listed| {
        let title = sign(screen, state(&listed.session)).plain(" ").add(Style::Strong, listed.title.clone());
        [title, Line::new().plain("  ").faint(about(listed))]
    });
    lines.map(|line| line.cut(screen.columns)).collect()
}

/// The id or its shortest unique beginning.
fn id<'a>(session: &'a SessionRow, ids: &Lengths, is_whole: bool) -> &'a str {
    let id = session.id.as_str();
    let len = ids.get(&session.row).filter(|_| !is_whole);
    len.and_then(|len| id.get(..*len)).unwrap_or(id)
}

/// The page of one session.
pub fn page(screen: &Screen, local: &LocalTime, page: &Page) -> Vec<Line> {
    let (listed, session) = (&page.listed, &page.listed.session);
    let branch = session.branch.as_deref().map(|branch| format!(" · {branch}")).unwrap_or_default();
    let mut lines = vec![
        Line::of(Style::Strong, listed.title.clone()),
        sign(screen, state(session)).plain(format!(" {} · ", state(session).word())).plain(format!(
            "{} · {}",
            local.when(session.started_at),
            duration(listed.active)
        )),
        Line::new().faint(format!("{} · {}{branch} · {}", session.project_name, session.agent, session.id)),
    ];
    if let Some(device) = &session.device {
        lines.push(Line::new().faint(format!("on another device, {device}")));
    }
    if let Some((_, reason)) = session.state.ended.as_ref().filter(|_| state(session) == SessionStatus::Crashed) {
        lines.push(Line::of(Style::Bad, format!("crashed: {reason}")));
    }
    let mut pen = PageWriter { screen, local, lines };
    pen.text("summary", page.summary.as_deref());
    pen.said("asked", &page.asked);
    pen.texts("done", &page.done);
    pen.texts("decided", &page.decided);
    pen.texts("left", &page.left);
    pen.said("corrected", &page.corrected);
    pen.text("said", page.said.last().map(|said| said.text.as_str()));
    pen.files(page);
    pen.tests(page);
    pen.texts("commits", &page.commits);
    pen.told(page);
    pen.lines
}

/// Adds sections to a page. Empty ones are left out.
struct PageWriter<'a> {
    screen: &'a Screen,
    local: &'a LocalTime,
    lines: Vec<Line>,
}

impl PageWriter<'_> {
    fn heading(&mut self, name: &str) {
        self.lines.push(Line::new());
        self.lines.push(Line::of(Style::Heading, name));
    }

    fn item(&mut self, label: Line, text: &str, style: Style) {
        let indent = label.width() + 2;
        let columns = self.screen.columns.saturating_sub(indent).max(20);
        let mut texts = wrapped(text, columns);
        if texts.len() > TEXT_LINES_MAX {
            texts.truncate(TEXT_LINES_MAX);
            texts.push("…".to_string());
        }
        for (at, text) in texts.into_iter().enumerate() {
            let start = if at == 0 { label.clone().pad(indent) } else { Line::new().pad(indent) };
            self.lines.push(start.add(style, text));
        }
    }

    fn texts(&mut self, name: &str, texts: &[String]) {
        if texts.is_empty() {
            return;
        }
        self.heading(name);
        for text in texts.iter().take(ITEMS_MAX) {
            self.item(Line::new().plain(" -"), text, Style::Plain);
        }
        self.more(texts.len());
    }

    fn text(&mut self, name: &str, text: Option<&str>) {
        if let Some(text) = text.filter(|text| !text.trim().is_empty()) {
            self.heading(name);
            self.item(Line::new(), text, Style::Plain);
        }
    }

    fn said(&mut self, name: &str, said: &[SaidEntry]) {
        if said.is_empty() {
            return;
        }
        self.heading(name);
        for said in said.iter().take(ITEMS_MAX) {
            self.item(Line::new().faint(format!(" {}", self.local.clock(said.at))), &said.text, Style::Plain);
        }
        self.more(said.len());
    }

    fn more(&mut self, of: usize) {
        if of > ITEMS_MAX {
            self.lines.push(Line::new().faint(format!("  and {} more; --json has all", of - ITEMS_MAX)));
        }
    }

    fn files(&mut self, page: &Page) {
        if page.files.is_empty() {
            return;
        }
        self.heading("files");
        for work in page.files.iter().take(ITEMS_MAX) {
            let edits = (work.edits > 0).then(|| count(work.edits, "edit"));
            let reads = (work.reads > 0).then(|| count(work.reads, "read"));
            let counts = edits.into_iter().chain(reads).collect::<Vec<_>>().join(", ");
            let line = Line::new().plain(format!("  {}  ", work.path)).faint(counts);
            let functions = work.functions.join(", ");
            self.lines.push(line.faint(if functions.is_empty() { String::new() } else { format!("  {functions}") }));
        }
        self.more(page.files.len());
    }

    fn tests(&mut self, page: &Page) {
        let tests = &page.tests;
        if tests.runs.is_empty() && tests.failing.is_empty() && tests.passing.is_empty() {
            return;
        }
        self.heading("tests");
        let (green, red) = if self.screen.is_utf8 { ("✓", "✗") } else { ("+", "x") };
        let runs: String = tests.runs.iter().map(|is_green| if *is_green { green } else { red }).collect();
        let passing = counted(tests.passing.len(), "test passes", "tests pass");
        let line = Line::new().plain(format!("  {runs}  {passing}"));
        self.lines.push(match tests.failing.len() {
            0 => line,
            failing => line.plain(", ").add(Style::Bad, format!("{red} {failing} failing")),
        });
        for name in tests.failing.iter().take(ITEMS_MAX) {
            let is_new = if tests.regressed.contains(name) { "  (passed before)" } else { "" };
            self.lines.push(Line::new().add(Style::Bad, format!("  {red} {name}")).faint(is_new));
        }
        if !tests.fixed.is_empty() {
            self.lines.push(Line::new().plain(format!("  {green} fixed: {}", tests.fixed.join(", "))));
        }
    }

    fn told(&mut self, page: &Page) {
        if page.told.is_empty() {
            return;
        }
        let used = page.told.iter().filter(|line| line.is_used).count();
        self.heading(&format!("told ({used} of {} used)", page.told.len()));
        let (yes, no) = if self.screen.is_utf8 { ("✓", "·") } else { ("+", "-") };
        for told in page.told.iter().take(ITEMS_MAX) {
            let label = format!("  {} ", if told.is_used { yes } else { no });
            let label = Line::new().plain(label).plain(if told.is_used { "used" } else { "" });
            self.item(label.pad(LABEL_COLUMNS - 2), &told.code, Style::Plain);
        }
        self.more(page.told.len());
    }
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

fn found(query: &Query, hit: &SearchHit) -> Line {
    Line::new().faint(format!("  {:<9} ", hit.kind)).join(marked(query, &hit.snippet, Style::Plain))
}

/// A text in which the words that were searched for stand out.
fn marked(query: &Query, text: &str, style: Style) -> Line {
    let mut line = Line::new();
    let mut rest = 0;
    for found in query.matches(text) {
        line = line.add(style, &text[rest..found.start]).add(Style::Match, &text[found.clone()]);
        rest = found.end;
    }
    line.add(style, &text[rest..])
}
