//! Finds the functions and types that a change touched, from a file's text and the changed lines.
//!
//! Patterns over lines read sound code, broken code and fragments alike. Pure and bounded: every line is read once, and
//! at most `NAMES_MAX` names are returned. Never opens a file, never interprets a name, never fails: an unreadable source
//! has no names.

mod definition;
mod headers;
mod language;
mod lines;
mod patterns;
mod shapes;
#[cfg(test)]
mod tests;

use definition::{DEFINITIONS_MAX, Definition, NESTING_MAX, Role, normalized, qualified};

pub use language::Language;

/// More names than this are not informative.
pub const NAMES_MAX: usize = 64;

/// The names of the definitions around the changed lines (`ranges`, 1-based, inclusive) of `source`: the innermost
/// that enclose them, and all that lie entirely inside a range. Each once, in source order, at most `NAMES_MAX`.
///
/// No ranges means the whole file. A reversed range, as in `(10, 9)`, is a gap between two lines where lines were
/// deleted.
pub fn changed(language: Language, source: &str, ranges: &[(u32, u32)]) -> Vec<String> {
    let definitions = lines::definitions(language, source);
    if ranges.is_empty() {
        return all_names(&definitions);
    }
    let lines: Vec<&str> = source.lines().collect();
    let owners = owners(&definitions, lines.len());
    let mut chosen = vec![false; definitions.len()];
    for (from, to) in merged(ranges, lines.len()) {
        choose(&definitions, &owners, &lines, (from, to), &mut chosen);
    }
    for (from, to) in gaps(ranges, lines.len()) {
        let around = definitions.iter().rposition(|found| found.start <= from && to <= found.end);
        if let Some(index) = around {
            chosen[index] = true;
        }
    }
    let chosen = definitions.iter().zip(chosen).filter(|(_, chosen)| *chosen);
    limited(chosen.map(|(found, _)| found))
}

/// The line where something with this name is defined, if it is defined once.
pub fn line_of(language: Language, source: &str, name: &str) -> Option<u32> {
    let definitions = lines::definitions(language, source);
    let mut named = definitions.iter().filter(|found| found.name == name && found.role != Role::Extension);
    named.next().filter(|_| named.next().is_none()).map(|found| found.start)
}

fn all_names(definitions: &[Definition]) -> Vec<String> {
    limited(definitions.iter().filter(|found| found.is_worth_naming()))
}

/// Each name once, in source order. If there are too many, top-level names are preferred.
fn limited<'a>(definitions: impl Iterator<Item = &'a Definition>) -> Vec<String> {
    let mut seen = std::collections::HashSet::new();
    let mut kept: Vec<&Definition> = definitions.filter(|found| seen.insert(found.name.as_str())).collect();
    if kept.len() > NAMES_MAX {
        let outer = kept.iter().filter(|found| found.depth == 0).count();
        let mut outer_left = outer.min(NAMES_MAX);
        let mut inner_left = NAMES_MAX - outer_left;
        kept.retain(|found| {
            let left = if found.depth == 0 { &mut outer_left } else { &mut inner_left };
            let keeps = *left > 0;
            *left = left.saturating_sub(1);
            keeps
        });
    }
    kept.into_iter().map(|found| found.name.clone()).collect()
}

const NO_OWNER: u32 = u32::MAX;

/// For every line, the innermost definition it belongs to. Definitions are in source order, outer before inner.
fn owners(definitions: &[Definition], lines: usize) -> Vec<u32> {
    let mut owners = vec![NO_OWNER; lines];
    for (index, found) in definitions.iter().enumerate() {
        let first = (found.first.max(1) as usize - 1).min(lines);
        let end = (found.end as usize).clamp(first, lines);
        owners[first..end].fill(u32::try_from(index).unwrap_or(NO_OWNER));
    }
    owners
}

fn choose(definitions: &[Definition], owners: &[u32], lines: &[&str], (from, to): (u32, u32), chosen: &mut [bool]) {
    let is_inside = |found: &Definition| from <= found.start && found.end <= to;
    for (found, chosen) in definitions.iter().zip(chosen.iter_mut()) {
        *chosen |= is_inside(found) && found.is_worth_naming();
    }
    let range = from as usize - 1..to as usize;
    // A blank line or a closing brace next to a change is ignored, unless the change consists only of those.
    let any_content = lines[range.clone()].iter().any(|line| has_content(line));
    for (line, owner) in lines[range.clone()].iter().zip(&owners[range]) {
        if (any_content && !has_content(line)) || *owner == NO_OWNER {
            continue;
        }
        let owner = *owner as usize;
        chosen[owner] |= !is_inside(&definitions[owner]);
    }
}

fn has_content(line: &str) -> bool {
    let line = line.trim();
    line.contains(char::is_alphanumeric) && !matches!(line, "end" | "fi" | "done" | "esac" | "end;")
}

/// Ranges clamped to the file, sorted, with adjacent ones merged.
fn merged(ranges: &[(u32, u32)], lines: usize) -> Vec<(u32, u32)> {
    let last = u32::try_from(lines).unwrap_or(u32::MAX);
    let mut sorted: Vec<(u32, u32)> =
        ranges.iter().map(|(from, to)| ((*from).max(1), (*to).min(last))).filter(|(from, to)| from <= to).collect();
    sorted.sort_unstable();
    let mut merged: Vec<(u32, u32)> = Vec::with_capacity(sorted.len());
    for (from, to) in sorted {
        match merged.last_mut() {
            Some(before) if from <= before.1.saturating_add(1) => before.1 = before.1.max(to),
            _ => merged.push((from, to)),
        }
    }
    merged
}

/// Reversed ranges, as the two lines around the gap.
fn gaps(ranges: &[(u32, u32)], lines: usize) -> impl Iterator<Item = (u32, u32)> {
    let last = u32::try_from(lines).unwrap_or(u32::MAX);
    ranges.iter().filter(move |(from, to)| to < from && *from <= last).map(|(from, to)| ((*to).max(1), *from))
}
