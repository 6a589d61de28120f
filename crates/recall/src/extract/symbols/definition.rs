//! What a line defines: its name and its role.

use std::borrow::Cow;

use cerberus_record::clean::text;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Role {
    Type,
    Function,
    /// Extends an existing type (`impl`, `extension`). Its name is used for changes outside its members.
    Extension,
    /// An object literal that contains functions.
    Object,
}

/// One definition, its lines 1-based and inclusive.
#[derive(Clone, Debug)]
pub(super) struct Definition {
    /// Qualified.
    pub(super) name: String,
    pub(super) role: Role,
    /// The first line that belongs to it: the comment or attribute directly above.
    pub(super) first: u32,
    pub(super) start: u32,
    pub(super) end: u32,
    /// How many definitions enclose it.
    pub(super) depth: usize,
    pub(super) has_members: bool,
}

impl Definition {
    /// Does its name add something to the names of its members?
    pub(super) fn is_worth_naming(&self) -> bool {
        match self.role {
            Role::Type | Role::Function => true,
            Role::Extension => !self.has_members,
            Role::Object => false,
        }
    }

    pub(super) fn own_name(&self) -> &str {
        self.name.rsplit('.').next().unwrap_or_default()
    }
}

/// `name` as a member of `container`; only the innermost `PARTS_MAX` parts are kept.
pub(super) fn qualified(container: Option<&str>, name: &str) -> String {
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
pub(super) fn normalized(name: &str) -> Option<String> {
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

/// A source with more is generated or data.
pub(super) const DEFINITIONS_MAX: usize = 20_000;

/// The maximum nesting of definitions; deeper ones count as part of the innermost allowed.
pub(super) const NESTING_MAX: usize = 24;

pub(super) struct DefinitionHeader {
    /// Its parts, separated by dots.
    pub name: String,
    pub role: Role,
}

/// What surrounds the line.
#[derive(Clone, Copy)]
pub(super) struct Around<'a> {
    pub role: Option<Role>,
    /// The last part of the enclosing definition's name.
    pub name: &'a str,
    /// The text of the next non-empty line.
    pub next: &'a str,
    pub is_indented: bool,
}

pub(super) fn is_name_char(c: char) -> bool {
    c.is_alphanumeric() || matches!(c, '_' | '$')
}

/// `Outer.Inner.method`.
pub(super) const PARTS_MAX: usize = 3;

/// Anything longer is not a name that somebody wrote.
pub(super) const PART_CHARS_MAX: usize = 80;

/// `Store<T>::open(` as `Store::open`.
pub(super) fn without_generics(name: &str) -> Cow<'_, str> {
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
