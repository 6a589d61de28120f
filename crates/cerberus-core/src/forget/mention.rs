//! Paths that are to be forgotten, and where texts name them.
//!
//! A sentence that names one goes whole, since its other words speak of it. What looks like no path never matches, so a
//! folder called `secrets` does not take every sentence with that word along.

use std::collections::HashSet;

use serde_json::Value;

use super::{Fate, becomes};
use crate::clean::glob::Glob;
use crate::model::event::{Event, Record};
use crate::model::id::ProjectId;

/// Files of a project.
#[derive(Debug)]
pub struct Paths {
    pub glob: Glob,
    /// The projects that they are in.
    pub projects: HashSet<ProjectId>,
    /// Last parts of paths that only files of these have.
    pub bases: HashSet<String>,
}

impl Paths {
    pub fn fate(&self, record: &Record) -> Fate {
        if !self.projects.contains(&record.place.project) {
            return Fate::Stays;
        }
        let mut kept = record.clone();
        match &mut kept.event {
            // Who is told what, and what is remembered, is looked at once it is known what goes.
            Event::Memory(_) | Event::Receipt { .. } => return Fate::Stays,
            // It contains no paths of files in the project.
            Event::Repository(_) => return Fate::Stays,
            Event::Named(named) if self.glob.matches(&named.path) => return Fate::Goes,
            Event::Tool(used) => {
                let touched = used.files.len();
                used.files.retain(|file| !self.glob.matches(&file.path));
                if used.files.len() < touched {
                    // Nobody says which of several files a name is of.
                    used.names.clear();
                }
                if used.files.is_empty() && touched > 0 {
                    return Fate::Goes;
                }
            }
            _ => {}
        }
        let Ok(mut event) = serde_json::to_value(&kept.event) else { return Fate::Goes };
        let has_lost = self.cut_in(&mut event, &record.place.root);
        match has_lost {
            Lost::Nothing if kept == *record => Fate::Stays,
            Lost::Nothing => becomes(&kept),
            // A note or a task without its words says nothing.
            Lost::All if matches!(record.event, Event::Note(_) | Event::Task(_)) => Fate::Goes,
            _ => self.rewritten(&kept, event),
        }
    }

    fn rewritten(&self, kept: &Record, event: Value) -> Fate {
        let Ok(mut whole) = serde_json::to_value(kept) else { return Fate::Goes };
        whole["event"] = event;
        let text = whole.to_string();
        match serde_json::from_str::<Record>(&text) {
            Ok(record) => becomes(&record),
            Err(_) => Fate::Goes,
        }
    }

    /// Takes the sentences that name one out of every text of an event.
    fn cut_in(&self, value: &mut Value, root: &str) -> Lost {
        match value {
            Value::String(text) => {
                let Some(rest) = self.without(text, root) else { return Lost::Nothing };
                let lost = if rest.trim().is_empty() { Lost::All } else { Lost::Some };
                *text = rest;
                lost
            }
            Value::Array(list) => {
                let before = list.len();
                let mut lost = Lost::Nothing;
                list.retain_mut(|item| {
                    let of_item = match item {
                        // A question and its answer: without one the other says nothing.
                        Value::Array(pair) => pair.iter_mut().map(|one| self.cut_in(one, root)).max(),
                        item => Some(self.cut_in(item, root)),
                    };
                    lost = lost.max(of_item.unwrap_or(Lost::Nothing).min(Lost::Some));
                    of_item != Some(Lost::All)
                });
                if list.len() < before { Lost::Some } else { lost }
            }
            Value::Object(map) => map.values_mut().map(|value| self.cut_in(value, root)).max().unwrap_or(Lost::Nothing),
            _ => Lost::Nothing,
        }
    }

    /// The text without the sentences that name one; nothing when none does.
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
        // A place in a file: `a.rs:12`, `a.rs:12:3`.
        let path = word.split(':').find(|part| part.contains(['/', '.'])).unwrap_or(word);
        let inside = path.strip_prefix(root).filter(|_| !root.is_empty()).unwrap_or(path);
        self.bases.contains(path) || self.glob.matches(inside)
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Lost {
    Nothing,
    Some,
    All,
}

/// What may be a path in a text, without the marks around it.
fn words(text: &str) -> impl Iterator<Item = &str> {
    let is_mark =
        |c: char| c.is_whitespace() || matches!(c, '`' | '"' | '\'' | '(' | ')' | '[' | ']' | '<' | '>' | '=' | ',');
    text.split(is_mark)
        .map(|word| word.trim_matches(|c| matches!(c, '.' | ';' | ':' | '!' | '?' | '*')))
        // A name may begin with a point: `.env`.
        .zip(text.split(is_mark))
        .flat_map(|(trimmed, whole)| [trimmed, whole.trim_end_matches(['.', ';', ':', '!', '?'])])
        .filter(|word| !word.is_empty())
}
