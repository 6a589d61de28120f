//! How the list of sessions, the page of one session and search results are printed.

use cerberus_core::model::session::Status;
use cerberus_core::search::query::Query;
use cerberus_engine::browse::log::Listed;
use cerberus_engine::browse::page::{Page, Said};
use cerberus_engine::browse::search::Hit;
use cerberus_engine::store::SessionRow;

use super::style::{Line, Screen, Style, wrapped};
use super::time::{Local, duration};
use super::{count, counted};

/// Below this width a session takes two lines.
const ONE_LINE_COLUMNS: usize = 80;
/// A title gets at least this much, if it needs it; less important facts make room for it.
const TITLE_COLUMNS: usize = 44;
const PROJECT_COLUMNS_MAX: usize = 16;
/// How many lines of one text, and how many items of one list, a page shows.
const TEXT_LINES_MAX: usize = 6;
const ITEMS_MAX: usize = 20;
const LABEL_COLUMNS: usize = 9;

/// A sign for a state, always followed by its word where there is room.
pub fn sign(screen: &Screen, status: Status) -> Line {
    let (utf8, ascii, style) = match status {
        Status::Active | Status::Idle => ("●", "*", Style::Heading),
        Status::Crashed => ("✗", "x", Style::Bad),
        Status::Ended | Status::Completed => ("✓", "+", Style::Plain),
        Status::Recovered | Status::Archived => ("◌", "o", Style::Faint),
    };
    Line::of(style, if screen.is_utf8 { utf8 } else { ascii })
}

/// The state for people: that a session is too old for a brief says nothing about how it went.
fn state(session: &SessionRow) -> Status {
    match session.state.status {
        Status::Archived => Status::Ended,
        status => status,
    }
}

/// The list, newest first, one or two lines for each session.
pub fn list(screen: &Screen, local: &Local, sessions: &[Listed]) -> Vec<Line> {
    let widest = |of: &dyn Fn(&Listed) -> String| {
        sessions.iter().map(|listed| Line::new().plain(of(listed)).width()).max().unwrap_or(0)
    };
    let id = widest(&|listed| listed.session.id.to_string());
    let when = widest(&|listed| local.when(listed.session.started_at));
    let status = widest(&|listed| state(&listed.session).word().to_string());
    let project = widest(&|listed| listed.session.project_name.clone()).min(PROJECT_COLUMNS_MAX);
    let start = id + 2 + 2 + status + 2 + when + 2 + project + 2;
    let longest = widest(&|listed| listed.title.clone());
    let title = longest.min(TITLE_COLUMNS);
    let fits = |detail: &&Detail| start + title + 2 + widest(&|listed| facts(**detail, listed)) <= screen.columns;
    let detail = match screen.columns < ONE_LINE_COLUMNS {
        true => Detail::Duration,
        false => Detail::ALL.iter().find(fits).copied().unwrap_or(Detail::Counts),
    };
    let facts_columns = widest(&|listed| facts(detail, listed));
    let mut lines = Vec::new();
    for listed in sessions {
        let session = &listed.session;
        let start = Line::new().faint(session.id.to_string()).pad(id + 2).join(sign(screen, state(session)));
        if screen.columns < ONE_LINE_COLUMNS {
            lines.push(start.plain(format!(" {}", local.when(session.started_at))));
            let about = Line::new().plain("  ").add(Style::Strong, listed.title.clone());
            lines.push(about.cut(screen.columns));
            let about = format!("  {} · {}", session.project_name, facts(detail, listed));
            lines.push(Line::new().faint(about).cut(screen.columns));
            continue;
        }
        let word = if state(session) == Status::Crashed { Style::Bad } else { Style::Plain };
        let start = start.plain(" ").add(word, state(session).word()).pad(id + 2 + 2 + status + 2);
        let start = start.plain(local.when(session.started_at)).pad(id + 2 + 2 + status + 2 + when + 2);
        let name = Line::new().faint(session.project_name.clone()).cut(project).pad(project + 2);
        let start = start.join(name);
        let title = screen.columns.saturating_sub(start.width() + facts_columns + 2).min(longest);
        let line = start.join(Line::of(Style::Strong, listed.title.clone()).cut(title).pad(title + 2));
        lines.push(line.faint(facts(detail, listed)).cut(screen.columns));
    }
    lines
}

/// How much is said about a session beside its title.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd)]
enum Detail {
    Counts,
    Duration,
    Agent,
}

impl Detail {
    /// The most first.
    const ALL: [Detail; 3] = [Detail::Agent, Detail::Duration, Detail::Counts];
}

/// `2 h · 9 files · 1 failing · AGENT`.
fn facts(detail: Detail, listed: &Listed) -> String {
    let mut parts = Vec::new();
    if detail >= Detail::Duration {
        parts.push(duration(listed.duration()));
    }
    if listed.files > 0 {
        parts.push(count(listed.files, "file"));
    }
    if listed.failing > 0 {
        parts.push(format!("{} failing", listed.failing));
    }
    if detail >= Detail::Agent {
        parts.push(listed.session.agent.clone());
        parts.extend(listed.session.device.as_ref().map(|_| "other device".to_string()));
    }
    parts.join(" · ")
}

/// The page of one session.
pub fn page(screen: &Screen, local: &Local, page: &Page) -> Vec<Line> {
    let (listed, session) = (&page.listed, &page.listed.session);
    let branch = session.branch.as_deref().map(|branch| format!(" · {branch}")).unwrap_or_default();
    let mut lines = vec![
        Line::of(Style::Strong, listed.title.clone()),
        sign(screen, state(session)).plain(format!(" {} · ", state(session).word())).plain(format!(
            "{} · {}",
            local.when(session.started_at),
            duration(listed.duration())
        )),
        Line::new().faint(format!("{} · {}{branch} · {}", session.project_name, session.agent, session.id)),
    ];
    if let Some(device) = &session.device {
        lines.push(Line::new().faint(format!("on another device, {device}")));
    }
    if let Some((_, reason)) = session.state.ended.as_ref().filter(|_| state(session) == Status::Crashed) {
        lines.push(Line::of(Style::Bad, format!("crashed: {reason}")));
    }
    let mut pen = Pen { screen, local, lines };
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
struct Pen<'a> {
    screen: &'a Screen,
    local: &'a Local,
    lines: Vec<Line>,
}

impl Pen<'_> {
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

    fn said(&mut self, name: &str, said: &[Said]) {
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
pub fn hits(screen: &Screen, local: &Local, query: &Query, hits: &[Hit]) -> Vec<Line> {
    let mut lines: Vec<Line> = Vec::new();
    let mut shown: Vec<&str> = Vec::new();
    for hit in hits {
        match &hit.session {
            Some(session) if shown.contains(&session.id.as_str()) => continue,
            Some(session) => {
                shown.push(session.id.as_str());
                let title = hit.title.clone().unwrap_or_default();
                let start = Line::new().faint(format!("{}  ", session.id)).faint(format!("{}  ", session.project_name));
                let when = local.when(session.started_at);
                let room = screen.columns.saturating_sub(start.width() + when.len() + 2);
                match room >= MATCH_COLUMNS_MIN {
                    true => {
                        let title = marked(query, &title, Style::Strong).cut(room);
                        lines.push(start.join(title).plain("  ").faint(when));
                    }
                    false => {
                        lines.push(start.faint(when).cut(screen.columns));
                        lines.push(marked(query, &title, Style::Strong).cut(screen.columns));
                    }
                }
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

const MATCH_COLUMNS_MIN: usize = 20;

fn found(query: &Query, hit: &Hit) -> Line {
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
