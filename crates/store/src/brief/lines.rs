//! Which functions were edited last and where they stand now, so that a session can go on there without reading the whole
//! file. The files are read when the brief is made, so a line is right or is not told.

use std::cmp::Reverse;
use std::path::{Component, Path};

use cerberus_os::outside;
use cerberus_recall::brief::{FunctionLine, KnownFact};
use cerberus_recall::extract::functions;
use cerberus_record::fact::{Fact, FactKind};
use cerberus_record::map::{FastMap, FastSet};

use crate::brief::subject::View;
use crate::view::{self, CarriedFacts, EditedLine, SessionRow};

/// So many files are read, none larger than this.
const FILES_MAX: usize = 4;
const SOURCE_BYTES_MAX: u64 = 128 * 1024;

/// The functions that were edited last, by the paths of their files. Those that no edit named are added to the facts.
pub(super) fn edited_last(
    view: &View,
    carried: &mut CarriedFacts,
    sessions: &[SessionRow],
    is_past: bool,
) -> view::Result<FastMap<String, FunctionLine>> {
    let mut lines = FastMap::default();
    // The files are as they are now.
    if is_past {
        return Ok(lines);
    }
    let edits = view.store.edited_lines(sessions, view.now)?;
    for path in last_paths(&carried.facts) {
        let Some(source) = source(view, &path) else { continue };
        let edits = edits.iter().filter(|edited| edited.path == path);
        let found: Vec<(&EditedLine, Option<&str>)> =
            edits.map(|edited| (edited, functions::around(&source, edited.line))).collect();
        carried.add(unnamed(&carried.facts, &path, &found));
        let of_file = |known: &&KnownFact| is_function(known) && known.fact.path.as_deref() == Some(&path);
        // Of several functions of one edit, the first.
        let functions = carried.facts.iter().rev().filter(of_file);
        let Some(last) = functions.max_by_key(|known| (known.at, known.event)) else { continue };
        // What was edited last is gone.
        let is_gone = |edited: &EditedLine| edited.line as usize > source.lines().count();
        if found.first().is_some_and(|(edited, _)| is_gone(edited) && (edited.at, edited.event) > (last.at, last.event))
        {
            continue;
        }
        let function = last.fact.text.clone();
        if let Some(line) = functions::line_of(&source, &function) {
            lines.insert(path, FunctionLine { function, line });
        }
    }
    Ok(lines)
}

/// The files that were edited last.
fn last_paths(facts: &[KnownFact]) -> Vec<String> {
    let mut edited: Vec<(&KnownFact, &str)> = facts
        .iter()
        .filter(|known| known.fact.kind == FactKind::File || is_function(known))
        .filter_map(|known| Some((known, known.fact.path.as_deref()?)))
        .collect();
    edited.sort_by_key(|(known, _)| Reverse((known.at, known.event)));
    let mut seen = FastSet::default();
    edited.retain(|(_, path)| seen.insert(*path));
    edited.into_iter().take(FILES_MAX).map(|(_, path)| path.to_string()).collect()
}

fn is_function(known: &KnownFact) -> bool {
    known.fact.kind == FactKind::Function
}

/// What stands where edits were made, if no edit named it. Each once, with its last edit.
fn unnamed(facts: &[KnownFact], path: &str, found: &[(&EditedLine, Option<&str>)]) -> Vec<KnownFact> {
    let mut added: Vec<KnownFact> = Vec::new();
    for (edited, function) in found {
        let Some(function) = function else { continue };
        let fact = Fact::function(function, Some(path));
        // Earlier versions recorded `Store.open`.
        let is_it = |known: &KnownFact| is_function(known) && known.fact.text.rsplit('.').next() == Some(function);
        let is_known = |known: &KnownFact| is_it(known) && known.fact.path == fact.path;
        let is_newer = |known: &KnownFact| is_known(known) && (known.at, known.event) >= (edited.at, edited.event);
        if !facts.iter().any(is_newer) && !added.iter().any(is_known) {
            added.push(KnownFact { fact, session: edited.session.clone(), at: edited.at, event: edited.event });
        }
    }
    added
}

fn source(view: &View, path: &str) -> Option<String> {
    let is_inside = Path::new(path).components().all(|part| matches!(part, Component::Normal(_)));
    if !is_inside || view.store.privacy_rules().is_private(path) {
        return None;
    }
    outside::text(&view.located.root.join(path), SOURCE_BYTES_MAX).ok()
}
