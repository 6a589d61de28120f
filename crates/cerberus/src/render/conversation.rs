//! A conversation to read: turn by turn, with long outputs folded; or as Markdown, whole.

use cerberus_agents::conversation::{Part, PartKind};
use cerberus_record::clean::text::printable;

use super::style::{Line, Screen, Style, wrapped};
use super::time::LocalTime;

/// Of a longer output, the beginning and the end are shown.
const OUTPUT_LINES_MAX: usize = 8;
const OUTPUT_ENDS: usize = 3;

/// What follows one prompt.
pub struct Turn {
    /// Counted from 1. What comes before the first prompt is turn 0.
    pub number: usize,
    pub parts: Vec<Part>,
}

/// Makes turns of the parts of a conversation, one at a time. Notes of the client are left out.
#[derive(Default)]
pub struct TurnReader {
    number: usize,
    open: Option<Turn>,
}

impl TurnReader {
    /// The turn before this part, if the part begins another.
    pub fn push(&mut self, part: Part) -> Option<Turn> {
        let begins = part.kind == PartKind::Prompt && !self.open.as_ref().is_some_and(|turn| is_more(turn, &part));
        match &mut self.open {
            _ if part.kind == PartKind::Note => None,
            Some(turn) if !begins => {
                turn.parts.push(part);
                None
            }
            open => {
                self.number += usize::from(begins);
                open.replace(Turn { number: self.number, parts: vec![part] })
            }
        }
    }

    /// The last turn.
    pub fn finish(self) -> Option<Turn> {
        self.open
    }
}

/// Whether a prompt is another piece of the one that the turn began with.
fn is_more(turn: &Turn, part: &Part) -> bool {
    part.at.is_some() && turn.parts.iter().all(|earlier| earlier.kind == PartKind::Prompt && earlier.at == part.at)
}

impl Turn {
    fn when(&self, local: &LocalTime) -> String {
        self.parts.iter().find_map(|part| part.at).map(|at| local.when(at)).unwrap_or_default()
    }
}

pub fn title_line(title: &str) -> Line {
    Line::of(Style::Strong, printable(title).into_owned())
}

pub fn lines(screen: &Screen, local: &LocalTime, turn: &Turn) -> Vec<Line> {
    let heading = Line::of(Style::Heading, format!("{}  {}", turn.number, turn.when(local)));
    [Line::new(), heading].into_iter().chain(turn.parts.iter().flat_map(|part| shown(screen, part))).collect()
}

fn shown(screen: &Screen, part: &Part) -> Vec<Line> {
    let text = text_of(part);
    let rows_of = |before: &str, style: Style| {
        let room = screen.room().saturating_sub(before.len()).max(20);
        let rows = text.lines().flat_map(|line| fitting(line, room)).collect::<Vec<_>>();
        rows.into_iter().map(|row| Line::new().faint(before.to_string()).add(style, row)).collect::<Vec<_>>()
    };
    match part.kind {
        PartKind::Prompt => rows_of("> ", Style::Strong),
        PartKind::Message => rows_of("", Style::Plain),
        PartKind::Thought => folded(rows_of("  ", Style::Faint)),
        PartKind::Call => {
            let tool = part.tool.as_deref().unwrap_or("tool");
            let mut rows = rows_of("    ", Style::Plain);
            rows.insert(0, Line::new().faint(format!("  {tool}")));
            folded(rows)
        }
        PartKind::Output | PartKind::Error | PartKind::Note => folded(rows_of("    | ", Style::Faint)),
    }
}

/// The text of a part. A carriage return, with which a command writes over its line, ends the line.
fn text_of(part: &Part) -> String {
    printable(&part.text.trim_end().replace("\r\n", "\n").replace('\r', "\n")).into_owned()
}

/// A line that fits keeps its indentation.
fn fitting(line: &str, room: usize) -> Vec<String> {
    match Line::new().plain(line).width() <= room {
        true => vec![line.to_string()],
        false => wrapped(line, room),
    }
}

fn folded(mut lines: Vec<Line>) -> Vec<Line> {
    if lines.len() <= OUTPUT_LINES_MAX {
        return lines;
    }
    let end = lines.split_off(lines.len() - OUTPUT_ENDS);
    let left_out = lines.len() - OUTPUT_ENDS;
    lines.truncate(OUTPUT_ENDS);
    lines.push(Line::new().faint(format!("    … {left_out} more lines")));
    lines.extend(end);
    lines
}

pub fn title_markdown(title: &str) -> String {
    format!("# {}", printable(title))
}

/// A turn as Markdown.
pub fn markdown(local: &LocalTime, turn: &Turn) -> String {
    let mut text = format!("\n## Turn {} ({})", turn.number, turn.when(local));
    for part in &turn.parts {
        let said = text_of(part);
        text.push_str(&match part.kind {
            PartKind::Prompt => format!("\n\n{}", quoted(&said)),
            PartKind::Message => format!("\n\n{said}"),
            PartKind::Thought => format!("\n\n<details><summary>thought</summary>\n\n{said}\n\n</details>"),
            PartKind::Call => format!("\n\n{}:\n\n{}", part.tool.as_deref().unwrap_or("tool"), fenced(&said)),
            PartKind::Output | PartKind::Error | PartKind::Note => format!("\n\n{}", fenced(&said)),
        });
    }
    text
}

fn quoted(said: &str) -> String {
    said.lines().map(|line| format!("> {line}")).collect::<Vec<_>>().join("\n")
}

/// A fence is longer than any in the text.
fn fenced(said: &str) -> String {
    let longest = said.lines().map(|line| line.trim_start().bytes().take_while(|byte| *byte == b'`').count()).max();
    let fence = "`".repeat(longest.unwrap_or(0).max(2) + 1);
    format!("{fence}\n{said}\n{fence}")
}
