//! Puts files in the order of how likely they are to be worked on, adds likely ones that no recent session changed, and
//! keeps what is told true: nothing of a file that is gone, and the branch of what was decided on another one.

use std::collections::HashMap;

use super::rank::Ranked;
use super::rank::weights::{FILES_MAX, FUNCTIONS_MAX};
use super::{Dropped, Item, Likely, Request, Section};
use crate::clean::text;
use crate::language::tokens;
use crate::model::fact::Kind;

/// Takes out what speaks of files that are gone, and marks decisions of branches that are not merged.
pub fn keep_true(items: &mut Vec<Item>, likely: &Likely, dropped: &mut Vec<Dropped>) {
    items.retain(|item| {
        let is_gone = item.path.as_ref().is_some_and(|path| likely.gone.contains(path));
        if is_gone {
            dropped.push(Dropped { code: item.code.clone(), reason: "its file no longer exists".to_string() });
        }
        !is_gone
    });
    for item in items.iter_mut().filter(|item| item.kind == Kind::Decision) {
        if let Some(branch) = item.session.as_ref().and_then(|session| likely.unmerged.get(session)) {
            item.code = format!("{}@{}", item.code, text::code(branch));
            item.tokens = tokens::line(&item.code);
        }
    }
}

/// What recent sessions changed stays `impl:`; what they did not, but is likely to be next, is `see:`.
pub fn place_files(items: &mut Vec<Item>, request: &Request, dropped: &mut Vec<Dropped>) {
    if request.likely.files.is_empty() {
        return;
    }
    let (files, others): (Vec<Item>, Vec<Item>) = items.drain(..).partition(|item| item.section == Section::Files);
    let (mut by_path, mut placed) = (HashMap::new(), Vec::new());
    let mut order = Vec::new();
    for item in files {
        match item.path.clone() {
            Some(path) => {
                order.push(path.clone());
                by_path.insert(path, item);
            }
            None => placed.push(item),
        }
    }
    // Who goes on hears only what others did since: what is merely likely is nothing new.
    let adds_others = request.known.is_none();
    for ranked in &request.likely.files {
        if placed.len() >= FILES_MAX {
            break;
        }
        match by_path.remove(&ranked.path) {
            Some(item) => placed.push(Item { place: Some(ranked.trace.why(request.now)), ..item }),
            None if adds_others => placed.push(seen(ranked, request)),
            None => {}
        }
    }
    for item in order.iter().filter_map(|path| by_path.remove(path)) {
        dropped.push(Dropped { code: item.code, reason: format!("less likely than {FILES_MAX} others") });
    }
    items.extend(placed);
    items.extend(others);
}

/// A file that is told though no recent session touched it.
pub fn seen(ranked: &Ranked, request: &Request) -> Item {
    let code = format!("{}{}", Kind::Read.prefix(), text::code(&ranked.path));
    Item {
        section: Section::Files,
        kind: Kind::Read,
        tokens: tokens::line(&code),
        code,
        text: text::name(&ranked.path).into_owned(),
        path: Some(ranked.path.clone()),
        session: ranked.trace.last_touch.as_ref().map(|(_, session)| session.clone()),
        at: ranked.trace.last_known().unwrap_or(request.now),
        times: ranked.trace.sessions_edited + ranked.trace.sessions_read,
        place: Some(ranked.trace.why(request.now)),
    }
}

/// The files say most of what functions say; the latest of them say where in the files.
pub fn trim_functions(items: &mut Vec<Item>, dropped: &mut Vec<Dropped>) {
    let mut told = 0;
    items.retain(|item| {
        told += usize::from(item.section == Section::Functions);
        let is_told = item.section != Section::Functions || told <= FUNCTIONS_MAX;
        if !is_told {
            dropped.push(Dropped { code: item.code.clone(), reason: format!("older than {FUNCTIONS_MAX} others") });
        }
        is_told
    });
}
