//! Summarises a session in two or three sentences written by a model: the request, checking the answer, and
//! rendering.
//!
//! The request contains facts: bounded, without secrets, no files outside the project, and no words of prompts. Only if
//! the user allows it, it also contains the session's digest (`digest.rs`), and the answer contains items (`typed.rs`).
//! The answer is not
//! trusted: `extract.rs` takes sentences out of it, `guard` drops those that the facts do not support, `items.rs` and
//! `render.rs` add facts and keep the budget. This module never talks to a model.

pub mod check;
pub mod digest;
pub mod extract;
pub mod guard;
pub mod items;
mod material;
pub mod render;
pub mod typed;

use cerberus_record::clean::Cleaner;
use cerberus_record::clean::text::{Clean, Keep, line};
use cerberus_record::fact::FactKind;
use cerberus_text::tokens;
use guard::Guard;

use crate::brief::{BriefLine, Section};
pub use material::SummaryMaterial;
use material::{failing_kind, is_failing, of_kind};

/// A summary has two or three sentences.
const SENTENCES_MAX: usize = 3;

/// The maximum cost of the sentences; the other half of the budget is for the facts.
const TEXT_TOKENS_MAX: usize = 250;

/// A model needs no more of a fact than this.
const LINE_CHARS_MAX: usize = 160;

/// Far more than the lines below can add up to.
const PROMPT: Keep = Keep::words(12_000, 0);

/// The request to the model.
pub fn prompt(cleaner: &Cleaner, material: &SummaryMaterial) -> Clean<'static> {
    let mut text = format!("Summarize this coding session in 2-3 sentences.\n\n{}", listed(material));
    text.push_str(&format!(
        "\nOutput format (2-3 sentences of plain text, nothing else):\n1. What was accomplished\n\
         2. Key decisions made\n3. What's next (if clear)\n\n{RULES}"
    ));
    cleaner.clean(text, PROMPT)
}

/// What every answer must keep to. The guard drops what does not.
const RULES: &str = "Use only the facts listed above, in their words. Claim nothing that is not listed: what is failing, \
     blocked or to be done is not done. Report in the past tense, in the third person. Give no instructions. Name no \
     file or function that is not listed. Keep it terse.";

/// The facts, as the model sees them.
fn listed(material: &SummaryMaterial) -> String {
    let mut text = format!("Project: {}\n", material.project);
    let items = material.shared;
    let texts = |kind| of_kind(items, kind).map(|item| item.text.as_str());
    let files: Vec<&str> = of_kind(items, FactKind::File).filter(is_inside).map(shown).collect();
    let functions: Vec<&str> = of_kind(items, FactKind::Function).map(shown).collect();
    let decisions: Vec<&str> = texts(FactKind::Decision).collect();
    let failing: Vec<&str> = items.iter().filter(|item| is_failing(item)).map(|item| item.text.as_str()).collect();
    let blockers = of_kind(items, FactKind::Blocker).filter(|item| !is_failing(item)).map(|item| item.text.as_str());
    let blockers: Vec<&str> = blockers.collect();
    let next: Vec<&str> = texts(FactKind::Next).collect();
    let done: Vec<&str> = material.done.iter().rev().map(String::as_str).collect();
    let passing: Vec<&str> = material.passing.iter().map(|(_, command)| command.as_str()).collect();
    section(&mut text, &format!("Files modified: {}", files.len()), &files, 5);
    section(&mut text, "Functions changed:", &functions, 5);
    section(&mut text, "Done:", &done, 5);
    section(&mut text, "Passing:", &passing, 3);
    section(&mut text, "Failing:", &failing, 5);
    section(&mut text, "Key decisions:", &decisions, 3);
    section(&mut text, "Blockers:", &blockers, 5);
    section(&mut text, "To be done:", &next, 5);
    section(&mut text, "Goal:", &texts(FactKind::Objective).collect::<Vec<_>>(), 1);
    section(&mut text, "Notes:", &texts(FactKind::Note).collect::<Vec<_>>(), 3);
    text
}

/// A file elsewhere on the machine reveals more about the user than about the work.
fn is_inside(item: &&BriefLine) -> bool {
    !item.path.as_deref().is_some_and(|path| path.starts_with('/'))
}

/// A code without its prefix.
fn shown(item: &BriefLine) -> &str {
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
pub fn read(cleaner: &Cleaner, answer: &str, material: &SummaryMaterial) -> Option<Clean<'static>> {
    let guard = Guard::of(material);
    within_limits(cleaner, answer, |sentence| guard.check(sentence).is_ok())
}

/// The same for a stored text: written by us and checked, or by an older version or another tool. The facts of that time
/// are gone, so only its form is checked again.
pub fn read_stored(cleaner: &Cleaner, text: &str) -> Option<Clean<'static>> {
    within_limits(cleaner, text, |sentence| !guard::is_addressed(sentence) && !guard::has_tag(sentence))
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
fn of_section(items: &[BriefLine], section: Section) -> impl Iterator<Item = &BriefLine> {
    items.iter().filter(move |item| item.section == section)
}

#[cfg(test)]
mod tests;
