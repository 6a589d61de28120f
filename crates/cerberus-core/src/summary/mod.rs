//! A session in two or three sentences of a model's: what it is asked, what of its answer is kept, how it is told.
//!
//! What goes out is facts and nothing else: bounded, secrets cut, no file outside the project. What comes back is
//! trusted with nothing: `extract.rs` takes sentences out of it, `check.rs` drops those that speak of what is not in the
//! facts, `items.rs` and `render.rs` put the facts beside them and keep the budget. Nothing here talks to a model.

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

/// A summary is two or three sentences.
const SENTENCES_MAX: usize = 3;

/// What the sentences may cost at the very most; the other half of the budget is for the facts beside them.
const TEXT_TOKENS_MAX: usize = 250;

/// As much of a fact as a model needs to tell it.
const LINE_CHARS_MAX: usize = 160;

/// Far more than the lines below can add up to.
const PROMPT: Keep = Keep { head_bytes: 12_000, tail_bytes: 0 };

/// What a summary is made from: what one session left.
#[derive(Debug)]
pub struct Material<'a> {
    pub project: &'a str,
    /// What is open, as a brief of that session alone would tell it.
    pub items: &'a [Item],
    /// What was finished, in words, the newest last.
    pub done: &'a [String],
}

impl Material<'_> {
    /// Without facts there is nothing to tell, and nothing to ask.
    pub fn is_empty(&self) -> bool {
        self.items.is_empty() && self.done.is_empty()
    }
}

/// What a model is asked.
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

/// A file elsewhere on the machine tells more about its user than about the work.
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
    for said in lines.iter().take(lines_max) {
        text.push_str(&format!("- {}\n", line(said, LINE_CHARS_MAX)));
    }
}

/// The sentences of an answer that can be told, as one text; nothing when none can.
pub fn read(cleaner: &Cleaner, answer: &str, material: &Material) -> Option<Clean<'static>> {
    let names = Names::of(material);
    within_limits(cleaner, answer, |sentence| names.know(sentence))
}

/// The same for a text that was stored: by us, checked, or by another tool, which had no limits.
pub fn read_stored(cleaner: &Cleaner, text: &str) -> Option<Clean<'static>> {
    within_limits(cleaner, text, |_| true)
}

fn within_limits(cleaner: &Cleaner, answer: &str, is_borne_out: impl Fn(&str) -> bool) -> Option<Clean<'static>> {
    let mut text = String::new();
    let mut sentences = 0;
    for sentence in extract::sentences(answer) {
        if !check::is_tellable(&sentence) || !is_borne_out(&sentence) {
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

/// The items of one section, in the order in which they are told.
fn of_section(items: &[Item], section: Section) -> impl Iterator<Item = &Item> {
    items.iter().filter(move |item| item.section == section)
}

#[cfg(test)]
mod tests;
