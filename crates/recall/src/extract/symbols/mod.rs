//! Finds the functions and types that a change touched, from a file's text and the changed lines.
//!
//! Patterns over lines read sound code, broken code and fragments alike. Pure and bounded: every line is read once, and
//! at most `NAMES_MAX` names are returned. Never opens a file, never interprets a name, never fails: an unreadable source
//! has no names.

mod headers;
mod language;
mod lines;
mod patterns;
mod shapes;
#[cfg(test)]
mod tests;

use std::borrow::Cow;

pub use language::Language;

use cerberus_record::clean::text;

/// More names than this are not informative.
pub const NAMES_MAX: usize = 64;
/// Anything longer is not a name that somebody wrote.
const PART_CHARS_MAX: usize = 80;
/// `Outer.Inner.method`.
const PARTS_MAX: usize = 3;
/// A source with more is generated or data.
const DEFINITIONS_MAX: usize = 20_000;
/// The maximum nesting of definitions; deeper ones count as part of the innermost allowed.
const NESTING_MAX: usize = 24;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Role {
    Type,
    Function,
    /// Extends an existing type (`impl`, `extension`). Its name is used for changes outside its members.
    Extension,
    /// An object literal that contains functions.
    Object,
}

/// One definition, its lines 1-based and inclusive.
#[derive(Clone, Debug)]
struct Definition {
    /// Qualified.
    name: String,
    role: Role,
    /// The first line that belongs to it: the comment or attribute directly above.
    first: u32,
    start: u32,
    end: u32,
    /// How many definitions enclose it.
    depth: usize,
    has_members: bool,
}

impl Definition {
    /// Does its name add something to the names of its members?
    fn is_worth_naming(&self) -> bool {
        match self.role {
            Role::Type | Role::Function => true,
            Role::Extension => !self.has_members,
            Role::Object => false,
        }
    }

    fn own_name(&self) -> &str {
        self.name.rsplit('.').next().unwrap_or_default()
    }
}

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

/// `name` as a member of `container`; only the innermost `PARTS_MAX` parts are kept.
fn qualified(container: Option<&str>, name: &str) -> String {
    let whole = match container {
        Some(container) => Cow::Owned(format!("{container}.{name}")),
        None => Cow::Borrowed(name),
    };
    match whole.rmatch_indices('.').nth(PARTS_MAX - 1) {
        Some((at, _)) => whole[at + 1..].to_string(),
        None => whole.into_owned(),
    }
}

/// The normalized form of a name: `::`, `:` and `\` between its parts become dots, quotes and generics are removed.
/// `None` if it is not a name.
fn normalized(name: &str) -> Option<String> {
    let name = without_generics(name.split(['\n', '\r']).next()?.trim());
    // `[Symbol.iterator]` is one part.
    let name = if name.starts_with('[') { name.rsplit('.').next()? } else { &name };
    let mut out = String::with_capacity(name.len());
    for part in name.split([':', '.', '\\']) {
        let part = part.trim_matches(['"', '\'', '`', '[', ']', ' ']);
        let part = part.split_whitespace().next().unwrap_or_default();
        if part.is_empty() {
            continue;
        }
        let is_plain = matches!(text::name(part), Cow::Borrowed(_)) && part.chars().nth(PART_CHARS_MAX).is_none();
        if !is_plain || !part.contains(|c: char| c.is_alphanumeric() || matches!(c, '_' | '$')) {
            return None;
        }
        if !out.is_empty() {
            out.push('.');
        }
        out.push_str(part);
    }
    (!out.is_empty()).then_some(out)
}

/// `Store<T>::open(` as `Store::open`.
fn without_generics(name: &str) -> Cow<'_, str> {
    let name = name.split('(').next().unwrap_or_default();
    if !name.contains('<') || name.contains("operator") {
        return Cow::Borrowed(name.split('<').next().unwrap_or_default());
    }
    let mut open = 0usize;
    let mut out = String::with_capacity(name.len());
    for c in name.chars() {
        match c {
            '<' => open += 1,
            '>' => open = open.saturating_sub(1),
            c if open == 0 => out.push(c),
            _ => {}
        }
    }
    Cow::Owned(out)
}
