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

/// The turns of a conversation. Notes of the client are left out.
pub fn turns(parts: Vec<Part>) -> Vec<Turn> {
    let mut turns: Vec<Turn> = Vec::new();
    let mut number = 0;
    for part in parts {
        match part.kind {
            PartKind::Note => continue,
            PartKind::Prompt if !turns.last().is_some_and(|turn| is_more(turn, &part)) => {
                number += 1;
                turns.push(Turn { number, parts: vec![part] });
            }
            _ => match turns.last_mut() {
                Some(turn) => turn.parts.push(part),
                None => turns.push(Turn { number, parts: vec![part] }),
            },
        }
    }
    turns
}

/// Whether a prompt is another piece of the one that the turn began with.
fn is_more(turn: &Turn, part: &Part) -> bool {
    part.at.is_some() && turn.parts.iter().all(|earlier| earlier.kind == PartKind::Prompt && earlier.at == part.at)
}

pub fn lines(screen: &Screen, local: &LocalTime, title: &str, turns: &[Turn]) -> Vec<Line> {
    let mut lines = vec![Line::of(Style::Strong, printable(title).into_owned())];
    for turn in turns {
        let at = turn.parts.iter().find_map(|part| part.at).map(|at| local.when(at)).unwrap_or_default();
        lines.push(Line::new());
        lines.push(Line::of(Style::Heading, format!("{}  {at}", turn.number)));
        for part in &turn.parts {
            lines.extend(shown(screen, part));
        }
    }
    lines
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

/// A conversation as Markdown.
pub fn markdown(local: &LocalTime, title: &str, turns: &[Turn]) -> String {
    let mut text = format!("# {}\n", printable(title));
    for turn in turns {
        let at = turn.parts.iter().find_map(|part| part.at).map(|at| local.when(at)).unwrap_or_default();
        text.push_str(&format!("\n## Turn {} ({at})\n", turn.number));
        for part in &turn.parts {
            let said = text_of(part);
            text.push_str(&match part.kind {
                PartKind::Prompt => format!("\n{}\n", quoted(&said)),
                PartKind::Message => format!("\n{said}\n"),
                PartKind::Thought => format!("\n<details><summary>thought</summary>\n\n{said}\n\n</details>\n"),
                PartKind::Call => {
                    format!("\n{}:\n\n{}\n", part.tool.as_deref().unwrap_or("tool"), fenced(&said))
                }
                PartKind::Output | PartKind::Error | PartKind::Note => format!("\n{}\n", fenced(&said)),
            });
        }
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
