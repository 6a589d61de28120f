//! How one session is shown: as a page, and beside the list of sessions.

use cerberus_recall::search::query::Query;
use cerberus_record::clean::text;
use cerberus_record::session::SessionStatus;
use cerberus_record::time::Timestamp;
use cerberus_store::browse::log::ListedSession;
use cerberus_store::browse::page::{FileWork, Page, SaidEntry, Tests, ToldLine};
use cerberus_store::browse::told::ToldText;

use super::sessions::{self, sign, state};
use super::style::{Line, Screen, Style, end_of_path, wrapped};
use super::time::{LocalTime, duration};
use super::words;
use super::{count, counted};

/// How many lines of one text, and how many items of one list, a page shows.
const TEXT_LINES_MAX: usize = 6;
const ITEMS_MAX: usize = 20;

/// The page of one session. `texts` are the words of the lines that it was told.
pub fn page(screen: &Screen, local: &LocalTime, page: &Page, texts: &[ToldText]) -> Vec<Line> {
    let (listed, session) = (&page.listed, &page.listed.session);
    let branch = session.branch.as_deref().map(|branch| format!(" · {branch}")).unwrap_or_default();
    let title = wrapped(&listed.title, screen.room());
    let mut lines: Vec<Line> = title.into_iter().map(|text| Line::of(Style::Strong, text)).collect();
    lines.extend([
        sign(screen.is_utf8, state(session)).plain(format!(" {} · ", state(session).word())).plain(format!(
            "{} · {}",
            local.when(session.started_at),
            duration(listed.active)
        )),
        Line::of(Style::Project, session.project_name.clone())
            .faint(format!(" · {}{branch} · {}", session.agent, session.id)),
    ]);
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
    pen.told(page, texts);
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
        self.lines.push(Line::new().plain("  ").join(tests_line(self.screen, tests)));
        for name in tests.failing.iter().take(ITEMS_MAX) {
            let is_new = if tests.regressed.contains(name) { "  (passed before)" } else { "" };
            self.lines.push(Line::new().add(Style::Bad, format!("  {red} {name}")).faint(is_new));
        }
        if !tests.fixed.is_empty() {
            self.lines.push(Line::new().plain(format!("  {green} fixed: {}", tests.fixed.join(", "))));
        }
    }

    fn told(&mut self, page: &Page, texts: &[ToldText]) {
        if page.told.is_empty() {
            return;
        }
        self.heading("told");
        let mut at = None;
        for (told, text) in page.told.iter().zip(texts) {
            // What was told later than at the start has its time.
            if at.is_some_and(|at| at != told.at) {
                self.lines.push(Line::new().faint(format!("  {}", self.local.clock(told.at))));
            }
            at = Some(told.at);
            let start = told_sign(self.screen, told).pad(TOLD_STATE_COLUMNS);
            let label = start.faint(words::told(&told.code)).pad(TOLD_STATE_COLUMNS + TOLD_LABEL_COLUMNS);
            let (text, style) = told_words(text);
            self.item(label, &text, style);
        }
    }
}

const TOLD_STATE_COLUMNS: usize = 10;
const TOLD_LABEL_COLUMNS: usize = 11;

/// Whether the user had to say a rule again.
pub fn told_sign(screen: &Screen, line: &ToldLine) -> Line {
    let no = if screen.is_utf8 { "✗" } else { "x" };
    if line.is_broken { Line::of(Style::Bad, format!(" {no} again")) } else { Line::new() }
}

/// The words of a line that was told, and how they look.
pub fn told_words(text: &ToldText) -> (String, Style) {
    match text {
        ToldText::Whole(text) => (text.clone(), Style::Plain),
        ToldText::Turn(text) => (format!("from: {}", text::line(text, TURN_CHARS_MAX)), Style::Plain),
        ToldText::NotKept => ("the state of the repository then; it is not kept".to_string(), Style::Faint),
        ToldText::Forgotten => ("forgotten since".to_string(), Style::Faint),
    }
}

/// How much of a turn is shown where its sentences are not known.
const TURN_CHARS_MAX: usize = 400;

/// A session beside the list: what it is about, what was asked and done, and what is left.
pub struct GlanceWriter<'a> {
    pub screen: &'a Screen,
    pub local: &'a LocalTime,
    lines: Vec<Line>,
}

/// The width of the labels beside the list.
const GLANCE_COLUMNS: usize = 8;
/// How many items of one kind are shown beside the list, and how many lines of each.
const GLANCE_ITEMS_MAX: usize = 4;
const GLANCE_LINES_MAX: usize = 3;
const FOUND_LINES_MAX: usize = 12;

impl<'a> GlanceWriter<'a> {
    pub fn new(screen: &'a Screen, local: &'a LocalTime) -> GlanceWriter<'a> {
        GlanceWriter { screen, local, lines: Vec::new() }
    }

    /// What the session is, and when and where it was.
    pub fn head(&mut self, listed: &ListedSession) {
        let session = &listed.session;
        let title = wrapped(&listed.title, self.screen.columns).into_iter().take(GLANCE_LINES_MAX);
        self.lines.extend(title.map(|text| Line::of(Style::Strong, text)));
        let (when, took) = (self.local.when(session.started_at), duration(listed.active));
        let sign = sign(self.screen.is_utf8, state(session));
        let about = sign.plain(format!(" {} · {when} · {took}", state(session).word()));
        let branch = session.branch.as_deref().map(|branch| format!(" · {branch}")).unwrap_or_default();
        let place = Line::of(Style::Project, session.project_name.clone());
        self.lines.extend([about, place.faint(format!(" · {}{branch}", session.agent)), Line::new()]);
    }

    /// What a search found in it.
    pub fn found(&mut self, query: &Query, kind: &str, at: Timestamp, text: &str) {
        let about = Line::new().faint(format!("{}, {}", words::result(kind), self.local.when(at)));
        let lines = sessions::marked_lines(query, text, self.room(), FOUND_LINES_MAX);
        self.labelled("found", std::iter::once(about).chain(lines).collect());
        self.lines.push(Line::new());
    }

    pub fn page(&mut self, page: &Page, cost: Option<&str>) {
        let asked: Vec<String> = page.asked.iter().map(|said| said.text.clone()).collect();
        self.texts("asked", &asked, 2);
        self.texts("done", &page.done, GLANCE_ITEMS_MAX);
        self.texts("decided", &page.decided, GLANCE_ITEMS_MAX);
        self.texts("left", &page.left, GLANCE_ITEMS_MAX);
        self.tests(&page.tests);
        self.files(page);
        cost.filter(|cost| !cost.is_empty()).into_iter().for_each(|cost| self.text("cost", cost));
        let said: Vec<String> = page.said.last().map(|said| said.text.clone()).into_iter().collect();
        self.texts("said", &said, 1);
    }

    pub fn text(&mut self, label: &str, text: &str) {
        self.texts(label, &[text.to_string()], 1);
    }

    /// The lines that fit, with a hint if there are more.
    pub fn finish(mut self, room: usize) -> Vec<Line> {
        if self.lines.len() > room {
            self.lines.truncate(room.saturating_sub(1));
            self.lines.push(Line::new().faint("Enter shows all of it"));
        }
        self.lines
    }

    fn room(&self) -> usize {
        self.screen.columns.saturating_sub(GLANCE_COLUMNS)
    }

    fn labelled(&mut self, label: &str, lines: Vec<Line>) {
        for (at, line) in lines.into_iter().enumerate() {
            let start = if at == 0 { Line::of(Style::Heading, label) } else { Line::new() };
            self.lines.push(start.pad(GLANCE_COLUMNS).join(line));
        }
    }

    fn texts(&mut self, label: &str, texts: &[String], items_max: usize) {
        let mut lines = Vec::new();
        for text in texts.iter().take(items_max) {
            let mut wrapped = wrapped(&text::line(text, TURN_CHARS_MAX), self.room());
            if wrapped.len() > GLANCE_LINES_MAX {
                wrapped.truncate(GLANCE_LINES_MAX);
                wrapped.last_mut().into_iter().for_each(|last| last.push('…'));
            }
            lines.extend(wrapped.into_iter().map(|text| Line::new().plain(text)));
        }
        if texts.len() > items_max {
            lines.push(Line::new().faint(format!("and {} more", texts.len() - items_max)));
        }
        self.labelled(label, lines);
    }

    fn tests(&mut self, tests: &Tests) {
        if tests.runs.is_empty() && tests.failing.is_empty() {
            return;
        }
        let mut lines = vec![tests_line(self.screen, tests)];
        let red = if self.screen.is_utf8 { "✗" } else { "x" };
        let failing = tests.failing.iter().take(GLANCE_ITEMS_MAX);
        lines.extend(failing.map(|name| Line::of(Style::Bad, format!("{red} {name}"))));
        self.labelled("tests", lines);
    }

    fn files(&mut self, page: &Page) {
        let edited: Vec<&FileWork> = page.files.iter().filter(|work| work.edits > 0).collect();
        let shown = edited.iter().take(2 * GLANCE_ITEMS_MAX);
        let mut lines: Vec<Line> = shown
            .map(|work| {
                let edits = format!("  {}", count(work.edits, "edit"));
                let path = end_of_path(&work.path, self.room().saturating_sub(edits.len()));
                Line::new().plain(path).faint(edits)
            })
            .collect();
        let more = edited.len().saturating_sub(lines.len());
        if more > 0 {
            lines.push(Line::new().faint(format!("and {more} more")));
        }
        self.labelled("files", lines);
    }
}

/// The last runs of tests in order, and how many tests pass and fail. Not every run says which tests it ran.
fn tests_line(screen: &Screen, tests: &Tests) -> Line {
    let (green, red) = if screen.is_utf8 { ("✓", "✗") } else { ("+", "x") };
    let runs = tests.runs.iter().skip(tests.runs.len().saturating_sub(RUNS_MAX));
    let line = runs.fold(Line::new(), |line, is_green| match is_green {
        true => line.plain(green),
        false => line.add(Style::Bad, red),
    });
    let passing = counted(tests.passing.len(), "test passes", "tests pass");
    let is_red = tests.runs.last() == Some(&false);
    match (tests.passing.len(), tests.failing.len()) {
        (0, 0) if is_red => line.plain("  ").add(Style::Bad, "the last run failed"),
        (0, 0) => line.plain("  the last run passed"),
        (0, failing) => line.plain("  ").add(Style::Bad, format!("{failing} failing")),
        (_, 0) if is_red => line.plain(format!("  {passing}, ")).add(Style::Bad, "the last run failed"),
        (_, 0) => line.plain(format!("  {passing}")),
        (_, failing) => line.plain(format!("  {passing}, ")).add(Style::Bad, format!("{failing} failing")),
    }
}

/// So many runs of tests are shown.
const RUNS_MAX: usize = 20;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_run_that_names_no_test_is_said_in_words() {
        let screen = Screen { columns: 80, is_bounded: true, rows: None, is_colored: false, is_utf8: true };
        let names = |number: usize| vec!["TestStop".to_string(); number];
        for (passing, failing, runs, expected) in [
            (0, 0, &[true, false][..], "✓✗  the last run failed"),
            (0, 0, &[false, true], "✗✓  the last run passed"),
            (0, 2, &[false], "✗  2 failing"),
            (1, 0, &[true], "✓  1 test passes"),
            (3, 0, &[true, false], "✓✗  3 tests pass, the last run failed"),
            (3, 2, &[true, false], "✓✗  3 tests pass, 2 failing"),
        ] {
            let tests =
                Tests { passing: names(passing), failing: names(failing), runs: runs.to_vec(), ..Tests::default() };
            assert_eq!(tests_line(&screen, &tests).shown(false), expected, "{passing} {failing} {runs:?}");
        }
    }
}
