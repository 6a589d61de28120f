//! Lines for people: spans of text, each with a style, that are cut or wrapped to the width of the terminal.
//!
//! Colour is used only on a terminal, never alone: whatever is red also has a sign and a word. The text of a span may
//! come from outside; its control characters are made visible before the escape codes of its style are added.

use std::env;
use std::io::IsTerminal;

use cerberus_record::clean::text::printable;
use unicode_width::UnicodeWidthStr;

use crate::platform::{self, StandardStream};

/// Lines are not made longer than this, so that they stay readable.
const COLUMNS_MAX: usize = 200;
const COLUMNS_MIN: usize = 40;
/// A message of several sentences is read best in lines that are not longer.
const MESSAGE_COLUMNS_MAX: usize = 100;
/// If the output is not a terminal and `COLUMNS` is not set.
const COLUMNS_ELSEWHERE: usize = 120;

/// The width of a label in front of a text.
const LABEL_COLUMNS: usize = 10;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Style {
    Plain,
    /// What a line is about.
    Strong,
    /// What is less important.
    Faint,
    Heading,
    /// Something is wrong. Always together with a sign or a word.
    Bad,
    /// A session that is at work. Always together with a sign.
    Live,
    /// The name of a project.
    Project,
    /// What a search found.
    Match,
    /// What is selected.
    Chosen,
}

impl Style {
    /// What comes between `ESC [` and `m`; empty for plain text.
    pub fn code(self) -> &'static str {
        match self {
            Style::Plain => "",
            Style::Strong => "1",
            Style::Faint => "2",
            Style::Heading => "36",
            Style::Bad => "31",
            Style::Live => "32",
            Style::Project => "35",
            Style::Match => "1;4",
            Style::Chosen => "7",
        }
    }
}

/// One line.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Line(Vec<(Style, String)>);

impl Line {
    pub fn new() -> Line {
        Line::default()
    }

    pub fn of(style: Style, text: impl Into<String>) -> Line {
        Line::new().add(style, text)
    }

    pub fn add(mut self, style: Style, text: impl Into<String>) -> Line {
        self.0.push((style, printable(&text.into().replace('\n', " ")).into_owned()));
        self
    }

    pub fn plain(self, text: impl Into<String>) -> Line {
        self.add(Style::Plain, text)
    }

    pub fn faint(self, text: impl Into<String>) -> Line {
        self.add(Style::Faint, text)
    }

    pub fn join(mut self, other: Line) -> Line {
        self.0.extend(other.0);
        self
    }

    pub fn spans(&self) -> impl Iterator<Item = (Style, &str)> {
        self.0.iter().map(|(style, text)| (*style, text.as_str()))
    }

    pub fn width(&self) -> usize {
        self.0.iter().map(|(_, text)| text.width()).sum()
    }

    /// Adds blanks up to `columns`.
    pub fn pad(self, columns: usize) -> Line {
        let missing = columns.saturating_sub(self.width());
        if missing > 0 { self.plain(" ".repeat(missing)) } else { self }
    }

    /// Cut to at most `columns`, with a sign that something is missing.
    pub fn cut(self, columns: usize) -> Line {
        if self.width() <= columns {
            return self;
        }
        let mut left = columns.saturating_sub(1);
        let mut spans = Vec::new();
        for (style, text) in self.0 {
            let kept = cut_text(&text, left);
            left -= kept.width();
            let is_whole = kept.len() == text.len();
            spans.push((style, kept.to_string()));
            if !is_whole {
                break;
            }
        }
        if let Some((_, last)) = spans.last_mut() {
            *last = format!("{}…", last.trim_end());
        }
        Line(spans)
    }

    /// With escape codes if `is_colored`.
    pub fn shown(&self, is_colored: bool) -> String {
        let mut out = String::new();
        for (style, text) in &self.0 {
            match style.code() {
                "" => out.push_str(text),
                code if is_colored && !text.is_empty() => out.push_str(&format!("\u{1b}[{code}m{text}\u{1b}[0m")),
                _ => out.push_str(text),
            }
        }
        out.trim_end().to_string()
    }
}

/// The end of a path that fits into `columns`, with a sign that something is missing.
pub fn end_of_path(path: &str, columns: usize) -> String {
    if path.width() <= columns {
        return path.to_string();
    }
    let ends = path.char_indices().map(|(at, _)| &path[at..]);
    let fitting: Vec<&str> = ends.filter(|end| end.width() < columns).collect();
    // Whole names are easier to read.
    let whole = fitting.iter().find(|end| end.starts_with(['/', '\\'])).or(fitting.first());
    format!("…{}", whole.copied().unwrap_or_default())
}

/// The longest beginning of `text` that fits into `columns`.
fn cut_text(text: &str, columns: usize) -> &str {
    let mut end = 0;
    for (at, c) in text.char_indices() {
        let next = at + c.len_utf8();
        if text[..next].width() > columns {
            break;
        }
        end = next;
    }
    &text[..end]
}

/// A text in lines of at most `columns`, broken between words.
pub fn wrapped(text: &str, columns: usize) -> Vec<String> {
    let mut lines = Vec::new();
    for paragraph in printable(text).lines() {
        let mut line = String::new();
        for word in paragraph.split_whitespace() {
            let mut word = word;
            if !line.is_empty() && line.width() + 1 + word.width() > columns {
                lines.push(std::mem::take(&mut line));
            }
            if !line.is_empty() {
                line.push(' ');
            }
            // A word that is longer than a line is broken.
            while line.is_empty() && word.width() > columns {
                let start = cut_text(word, columns.max(1));
                let start = if start.is_empty() { word } else { start };
                lines.push(start.to_string());
                word = &word[start.len()..];
            }
            line.push_str(word);
        }
        lines.push(line);
    }
    while lines.last().is_some_and(String::is_empty) {
        lines.pop();
    }
    lines
}

/// Where the output goes, and what it may look like there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Screen {
    pub columns: usize,
    /// Whether the width is known, so that long texts should be wrapped.
    pub is_bounded: bool,
    /// `None` if the output is not a terminal.
    pub rows: Option<usize>,
    pub is_colored: bool,
    /// Whether signs outside of ASCII can be shown.
    pub is_utf8: bool,
}

impl Screen {
    /// The columns of a line: nothing is cut for a file or a pipe, unless its width is known.
    pub fn room(&self) -> usize {
        if self.is_bounded { self.columns } else { usize::MAX }
    }

    /// A text after a label, in as many lines as it needs.
    pub fn labelled(&self, label: &str, text: &str) -> Vec<Line> {
        let texts = wrapped(&text.replace('\n', " "), self.room().saturating_sub(LABEL_COLUMNS));
        let label = |at: usize| Line::new().faint(if at == 0 { label } else { "" }).pad(LABEL_COLUMNS);
        texts.into_iter().enumerate().map(|(at, text)| label(at).plain(text)).collect()
    }

    /// How wide messages may be; `None` if nobody reads them on a screen.
    pub fn stderr_columns() -> Option<usize> {
        let size = platform::terminal_size(StandardStream::Error).filter(|size| size.columns > 0);
        size.filter(|_| std::io::stderr().is_terminal())
            .map(|size| usize::from(size.columns).clamp(COLUMNS_MIN, MESSAGE_COLUMNS_MAX))
    }

    pub fn of_stdout() -> Screen {
        let stdout = std::io::stdout();
        let is_terminal = stdout.is_terminal();
        let size = is_terminal.then(|| platform::terminal_size(StandardStream::Output)).flatten();
        let size = size.filter(|size| size.columns > 0 && size.rows > 0);
        let set = |name: &str| env::var(name).ok().filter(|value| !value.is_empty());
        let asked = set("COLUMNS").and_then(|columns| columns.parse::<usize>().ok()).filter(|columns| *columns > 0);
        let columns = size.map(|size| usize::from(size.columns)).or(asked).unwrap_or(COLUMNS_ELSEWHERE);
        let is_plain = set("NO_COLOR").is_some() || set("TERM").is_none_or(|term| term == "dumb");
        let locale = ["LC_ALL", "LC_CTYPE", "LANG"].into_iter().find_map(set);
        Screen {
            columns: columns.clamp(COLUMNS_MIN, COLUMNS_MAX),
            is_bounded: size.is_some() || asked.is_some(),
            rows: is_terminal.then(|| size.map_or(24, |size| usize::from(size.rows))),
            is_colored: is_terminal && !is_plain,
            is_utf8: locale.is_none_or(|locale| is_utf8(&locale)),
        }
    }
}

/// The character on a terminal that shows only ASCII, as wide as before.
pub fn ascii(c: char) -> char {
    match c {
        c if c.is_ascii() => c,
        '─' | '·' | '–' | '—' => '-',
        '…' => '~',
        '“' | '”' => '"',
        '‘' | '’' => '\'',
        '█' => '#',
        '░' => '.',
        '↑' => '^',
        '↓' => 'v',
        '←' => '<',
        '→' => '>',
        _ => '?',
    }
}

fn is_utf8(locale: &str) -> bool {
    let locale = locale.to_ascii_lowercase();
    locale.contains("utf-8") || locale.contains("utf8")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_is_cut_by_columns() {
        let line = || Line::of(Style::Strong, "Fix the race").plain(" in process.go");
        assert_eq!(line().cut(40).shown(false), "Fix the race in process.go");
        assert_eq!(line().cut(10).shown(false), "Fix the r…");
        assert_eq!(Line::of(Style::Plain, "修复登录页面").cut(7).shown(false), "修复登…");
        assert_eq!(line().pad(30).plain("x").width(), 31);
    }

    #[test]
    fn escape_codes_are_ours_alone() {
        let line = Line::of(Style::Bad, "a\u{1b}[2Jb\nc");
        assert!(!line.shown(false).contains('\u{1b}'));
        let shown = line.shown(true);
        assert!(shown.starts_with("\u{1b}[31m") && shown.ends_with("\u{1b}[0m"), "{shown:?}");
        assert_eq!(shown.matches('\u{1b}').count(), 2);
    }

    #[test]
    fn text_is_wrapped_between_words() {
        assert_eq!(wrapped("one two three", 7), ["one two", "three"]);
        assert_eq!(wrapped("abcdefghij kl", 4), ["abcd", "efgh", "ij", "kl"]);
        assert_eq!(wrapped("a\n\nb\n\n", 9), ["a", "", "b"]);
    }

    #[test]
    fn a_long_path_keeps_its_end() {
        assert_eq!(end_of_path("src/store.rs", 12), "src/store.rs");
        assert_eq!(end_of_path("crates/store/src/view/fold.rs", 16), "…/view/fold.rs");
        assert_eq!(end_of_path("averylongnamewithoutfolders.rs", 10), "…olders.rs");
        assert_eq!(end_of_path("資料/登録/修復.rs", 9), "…/修復.rs");
    }

    #[test]
    fn locales_without_utf_8_are_recognized() {
        assert!(is_utf8("en_US.UTF-8") && is_utf8("C.utf8") && !is_utf8("C") && !is_utf8("de_DE.ISO-8859-1"));
    }
}
