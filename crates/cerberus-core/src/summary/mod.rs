//! Summarises a session in two or three sentences written by a model: the request, checking the answer, and
//! rendering.
//!
//! The request contains only facts: bounded, without secrets, no files outside the project. The answer is not
//! trusted: `extract.rs` takes sentences out of it, `check.rs` drops those that the facts do not support, `items.rs`
//! and `render.rs` add facts and keep the budget. This module never talks to a model.

pub mod check;
pub mod extract;
pub mod items;
pub mod render;

use crate::brief::{Item, Section};
use crate::clean::Cleaner;
use crate::clean::text::{Clean, Keep, line};
use crate::language::tokens;
use crate::model::fact::Kind;

use check::Names;

/// A summary has two or three sentences.
const SENTENCES_MAX: usize = 3;

/// The maximum cost of the sentences; the other half of the budget is for the facts.
const TEXT_TOKENS_MAX: usize = 250;

/// A model needs no more of a fact than this.
const LINE_CHARS_MAX: usize = 160;

/// Far more than the lines below can add up to.
const PROMPT: Keep = Keep { head_bytes: 12_000, tail_bytes: 0 };

/// The input of a summary: what one session left.
#[derive(Debug)]
pub struct Material<'a> {
    pub project: &'a str,
    /// The open items, as in a brief of that session alone.
    pub items: &'a [Item],
    /// What was completed, as text, newest last.
    pub done: &'a [String],
}

impl Material<'_> {
    /// Without facts there is nothing to summarise.
    pub fn is_empty(&self) -> bool {
        self.items.is_empty() && self.done.is_empty()
    }
}

/// The request to the model.
pub fn prompt(cleaner: &Cleaner, material: &Material) -> Clean<'static> {
    let mut text = format!("Summarize this coding session in 2-3 sentences.\n\nProject: {}\n", material.project);
    let files: Vec<&str> = of_kind(material.items, Kind::File).filter(is_inside).map(shown).collect();
    let functions: Vec<&str> = of_kind(material.items, Kind::Function).map(shown).collect();
    let decisions: Vec<&str> = of_kind(material.items, Kind::Decision).map(|item| item.text.as_str()).collect();
    let blockers: Vec<&str> = of_kind(material.items, Kind::Blocker).map(|item| item.text.as_str()).collect();
    let next: Vec<&str> = of_kind(material.items, Kind::Next).map(|item| item.text.as_str()).collect();
    let done: Vec<&str> = material.done.iter().rev().map(String::as_str).collect();
    section(&mut text, &format!("Files modified: {}", files.len()), &files, 5);
    section(&mut text, "Functions changed:", &functions, 5);
    section(&mut text, "Done:", &done, 5);
    section(&mut text, "Key decisions:", &decisions, 3);
    section(&mut text, "Blockers:", &blockers, 5);
    section(&mut text, "To be done:", &next, 5);
    text.push_str(
        "\nOutput format (2-3 sentences of plain text, nothing else):\n1. What was accomplished\n\
         2. Key decisions made\n3. What's next (if clear)\n\n\
         Name no file or function that is not listed above. Keep it terse, imperative, AI-readable.",
    );
    cleaner.clean(text, PROMPT)
}

fn of_kind(items: &[Item], kind: Kind) -> impl Iterator<Item = &Item> {
    items.iter().filter(move |item| item.kind == kind)
}

/// A file elsewhere on the machine reveals more about the user than about the work.
fn is_inside(item: &&Item) -> bool {
    !item.path.as_deref().is_some_and(|path| path.starts_with('/'))
}

/// A code without its prefix.
fn shown(item: &Item) -> &str {
    item.code.strip_prefix(item.kind.prefix()).unwrap_or(&item.code)
}

fn section(text: &mut String, title: &str, lines: &[&str], lines_max: usize) {
    if lines.is_empty() {
        return;
    }
    text.push_str(&format!("\n{title}\n"));
    for item in lines.iter().take(lines_max) {
        text.push_str(&format!("- {}\n", line(item, LINE_CHARS_MAX)));
    }
}

/// The acceptable sentences of an answer as one text; `None` if there are none.
pub fn read(cleaner: &Cleaner, answer: &str, material: &Material) -> Option<Clean<'static>> {
    let names = Names::of(material);
    within_limits(cleaner, answer, |sentence| names.know(sentence))
}

/// The same for a stored text: written by us and checked, or by another tool without limits.
pub fn read_stored(cleaner: &Cleaner, text: &str) -> Option<Clean<'static>> {
    within_limits(cleaner, text, |_| true)
}

fn within_limits(cleaner: &Cleaner, answer: &str, is_supported: impl Fn(&str) -> bool) -> Option<Clean<'static>> {
    let mut text = String::new();
    let mut sentences = 0;
    for sentence in extract::sentences(answer) {
        if !check::is_acceptable(&sentence) || !is_supported(&sentence) {
            continue;
        }
        let sentence = sentence.replace('`', "");
        let longer = format!("{text}{}{sentence}", if text.is_empty() { "" } else { " " });
        if tokens::ceiling(&longer) > TEXT_TOKENS_MAX {
            continue;
        }
        text = longer;
        sentences += 1;
        if sentences == SENTENCES_MAX {
            break;
        }
    }
    (!text.is_empty()).then(|| cleaner.clean(text, Keep::MESSAGE))
}

/// The items of one section, in display order.
fn of_section(items: &[Item], section: Section) -> impl Iterator<Item = &Item> {
    items.iter().filter(move |item| item.section == section)
}

#[cfg(test)]
mod tests;
