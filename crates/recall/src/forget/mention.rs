//! Finds paths that must be forgotten in the texts of events, and removes the sentences that name them.
//!
//! A sentence that names a path is removed as a whole, because the rest of it is about that path. A word that does not
//! look like a path never matches, so forgetting a folder called `secrets` leaves ordinary sentences with that word
//! alone.

use std::collections::HashSet;

use cerberus_record::clean::glob::Glob;
use cerberus_record::event::{Event, Record};
use cerberus_record::id::ProjectId;
use serde_json::Value;

use super::{RecordAction, rewrite};

/// Files of a project, selected by a pattern.
#[derive(Debug)]
pub struct Paths {
    pub glob: Glob,
    /// The projects the files belong to.
    pub projects: HashSet<ProjectId>,
    /// Base names that only matching files have.
    pub bases: HashSet<String>,
    /// The matching files that are known.
    pub files: Vec<String>,
    /// The sessions of other devices in these projects: the agent, and its own name for the session.
    pub elsewhere: Vec<(String, String)>,
}

impl Paths {
    pub fn action_for(&self, record: &Record) -> RecordAction {
        if !self.projects.contains(&record.location.project) {
            return RecordAction::Keep;
        }
        let mut kept = record.clone();
        match &mut kept.event {
            // Memories and receipts are handled later, once it is known which records are removed.
            Event::Memory(_) | Event::Receipt { .. } => return RecordAction::Keep,
            Event::Check(change) if change.rule.iter().any(|word| self.are_named_in(word)) => {
                return RecordAction::Remove;
            }
            Event::Check(_) => return RecordAction::Keep,
            // It contains no paths of files in the project.
            Event::Repository(_) => return RecordAction::Keep,
            Event::Named(named) if self.glob.matches(&named.path) => return RecordAction::Remove,
            Event::Tool(used) => {
                let touched = used.files.len();
                used.files.retain(|file| !self.glob.matches(&file.path));
                if used.files.len() < touched {
                    // It is unknown which of the files each name belongs to.
                    used.names.clear();
                }
                if used.files.is_empty() && touched > 0 {
                    return RecordAction::Remove;
                }
            }
            _ => {}
        }
        let Ok(mut event) = serde_json::to_value(&kept.event) else { return RecordAction::Remove };
        let has_lost = self.cut_in(&mut event, &record.location.root);
        match has_lost {
            LostWords::Nothing if kept == *record => RecordAction::Keep,
            LostWords::Nothing => rewrite(&kept),
            // A note or a task without its text has no meaning.
            LostWords::All if matches!(record.event, Event::Note(_) | Event::Quote(_) | Event::Task(_)) => {
                RecordAction::Remove
            }
            _ => self.rewritten(&kept, event),
        }
    }

    fn rewritten(&self, kept: &Record, event: Value) -> RecordAction {
        let Ok(mut whole) = serde_json::to_value(kept) else { return RecordAction::Remove };
        whole["event"] = event;
        let text = whole.to_string();
        match Record::read_json(text.as_bytes()) {
            Ok(record) => rewrite(&record),
            Err(_) => RecordAction::Remove,
        }
    }

    /// Removes the sentences that name a matching path from every text of an event.
    fn cut_in(&self, value: &mut Value, root: &str) -> LostWords {
        match value {
            Value::String(text) => {
                let Some(rest) = self.without(text, root) else { return LostWords::Nothing };
                let lost = if rest.trim().is_empty() { LostWords::All } else { LostWords::Some };
                *text = rest;
                lost
            }
            Value::Array(list) => {
                let before = list.len();
                let mut lost = LostWords::Nothing;
                list.retain_mut(|item| {
                    let of_item = match item {
                        // A question and its answer: neither makes sense without the other.
                        Value::Array(pair) => pair.iter_mut().map(|one| self.cut_in(one, root)).max(),
                        item => Some(self.cut_in(item, root)),
                    };
                    lost = lost.max(of_item.unwrap_or(LostWords::Nothing).min(LostWords::Some));
                    of_item != Some(LostWords::All)
                });
                if list.len() < before { LostWords::Some } else { lost }
            }
            Value::Object(map) => {
                map.values_mut().map(|value| self.cut_in(value, root)).max().unwrap_or(LostWords::Nothing)
            }
            _ => LostWords::Nothing,
        }
    }

    /// The text without the sentences that name a matching path, or `None` if there are none.
    fn without(&self, text: &str, root: &str) -> Option<String> {
        let names_one = |part: &str| words(part).any(|word| self.is_named_by(word, root));
        if !names_one(text) {
            return None;
        }
        let lines = text.lines().filter_map(|line| {
            if !names_one(line) {
                return Some(line.to_string());
            }
            let kept: String = line.split_inclusive(". ").filter(|sentence| !names_one(sentence)).collect();
            (!kept.trim().is_empty()).then_some(kept)
        });
        Some(lines.collect::<Vec<_>>().join("\n"))
    }

    pub fn are_named_in(&self, text: &str) -> bool {
        words(text).any(|word| self.is_named_by(word, ""))
    }

    fn is_named_by(&self, word: &str, root: &str) -> bool {
        if !word.contains(['/', '.']) {
            return false;
        }
        // A position in a file: `a.rs:12`, `a.rs:12:3`.
        let path = word.split(':').find(|part| part.contains(['/', '.'])).unwrap_or(word);
        let inside = path.strip_prefix(root).filter(|_| !root.is_empty()).unwrap_or(path);
        self.bases.contains(path) || self.glob.matches(inside)
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum LostWords {
    Nothing,
    Some,
    All,
}

/// The words of a text that may be paths, without surrounding punctuation.
fn words(text: &str) -> impl Iterator<Item = &str> {
    let is_mark =
        |c: char| c.is_whitespace() || matches!(c, '`' | '"' | '\'' | '(' | ')' | '[' | ']' | '<' | '>' | '=' | ',');
    text.split(is_mark)
        .map(|word| word.trim_matches(|c| matches!(c, '.' | ';' | ':' | '!' | '?' | '*')))
        // A name may begin with a dot: `.env`.
        .zip(text.split(is_mark))
        .flat_map(|(trimmed, whole)| [trimmed, whole.trim_end_matches(['.', ';', ':', '!', '?'])])
        .filter(|word| !word.is_empty())
}
