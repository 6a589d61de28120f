//! What a single line defines, from its first words and its shape.
//!
//! Sees one line and its container, nothing else. A definition that begins in the middle of a line is missed. No
//! regex, and only a few passes over each line.

use cerberus_record::words::is_one_of;

use super::definition::{Around, DefinitionHeader, is_name_char};
use super::patterns::{DefinitionShape, Extent, Patterns};
use super::shapes::shaped;
use super::{Role, normalized};

/// The maximum number of modifiers before a definition.
const WORDS_MAX: usize = 10;
/// Longer lines are data or generated.
const LINE_BYTES_MAX: usize = 2000;

/// The definition that begins on `line`, which is given without indentation.
pub(super) fn read(patterns: &Patterns, line: &str, around: Around) -> Option<DefinitionHeader> {
    if line.len() > LINE_BYTES_MAX || !line.starts_with(|c: char| !c.is_ascii_punctuation() || "_$#~@\"<`".contains(c))
    {
        return None;
    }
    let mut rest = line;
    let mut is_constant = false;
    for _ in 0..WORDS_MAX {
        let (word, after) = first_word(rest, patterns);
        if word.is_empty() {
            break;
        }
        match announced(patterns, word, after, line, around.next) {
            // A type inside a type is an associated type, which is part of it.
            HeaderWord::Definition(_) if word == "type" && around.role.is_some_and(|role| role != Role::Function) => {
                return None;
            }
            HeaderWord::Definition(header) => return Some(header),
            HeaderWord::Nothing => return None,
            HeaderWord::Other => {}
        }
        if patterns.bare.contains(&word) && after.starts_with(['(', '<', ' ']) {
            let name = word.trim_end_matches('?').to_string();
            return Some(DefinitionHeader { name, role: Role::Function });
        }
        if !is_modifier(word, patterns) || !after.starts_with([' ', '\t', '(']) {
            break;
        }
        is_constant |= matches!(word, "const" | "let" | "var");
        rest = skip_group(after).trim_start();
    }
    patterns.shapes.iter().find_map(|shape| shaped(*shape, rest, line, is_constant, around))
}

enum HeaderWord {
    Definition(DefinitionHeader),
    /// The word is there, but nothing is defined.
    Nothing,
    Other,
}

/// The definition that `word` announces.
fn announced(patterns: &Patterns, word: &str, after: &str, line: &str, next: &str) -> HeaderWord {
    let role = if contains(patterns.functions, word, patterns) {
        Role::Function
    } else if contains(patterns.types, word, patterns) {
        Role::Type
    } else if contains(patterns.reopens, word, patterns) {
        let goes_on = next.starts_with("for ") || after.ends_with('>');
        let head = if goes_on && !after.contains('{') { format!("{after} {next}") } else { after.to_string() };
        return match reopened(&head) {
            Some(name) => HeaderWord::Definition(DefinitionHeader { name, role: Role::Extension }),
            None => HeaderWord::Nothing,
        };
    } else {
        return HeaderWord::Other;
    };
    if patterns.extent == Extent::Statement && !first_word(line, patterns).0.eq_ignore_ascii_case("create") {
        return HeaderWord::Nothing;
    }
    // `enum class Name`, `static class func name`: the next word announces it.
    let next = first_word(after.trim_start(), patterns).0;
    if [patterns.functions, patterns.types].iter().any(|words| contains(words, next, patterns)) {
        return HeaderWord::Other;
    }
    let Some((name, rest)) = name_after(after, patterns) else {
        // `function (a) {`, Swift's `class var` and C's `struct {` define nothing here.
        return HeaderWord::Other;
    };
    if role == Role::Type && !is_type_body(patterns, word, rest) {
        return HeaderWord::Other;
    }
    HeaderWord::Definition(DefinitionHeader { name, role })
}

/// Is a type defined, and not only used as in `struct point *make(int x) {`?
fn is_type_body(patterns: &Patterns, word: &str, rest: &str) -> bool {
    let rest = rest.trim_start();
    if word == "type" {
        return !rest.starts_with(['.', '(', ',', '}']) && !rest.is_empty();
    }
    if !patterns.shapes.contains(&DefinitionShape::Typed) {
        return true;
    }
    let is_open = rest.is_empty() || rest.starts_with(['{', ':', '<', '(', '/', '@', '=']);
    let words = ["extends", "implements", "permits", "final", "where", "with", "on", "sealed"];
    (is_open || words.iter().any(|begin| rest.starts_with(begin))) && !rest.starts_with("::")
}

/// The type that `impl<T> Trait for Type<T>` or `extension Type: Protocol` extends.
fn reopened(after: &str) -> Option<String> {
    if !after.starts_with([' ', '<']) {
        return None;
    }
    let after = skip_generics(after.trim_start()).trim_start();
    let what = match after.find(" for ") {
        Some(at) if !after[..at].contains('{') => &after[at + 5..],
        _ => after,
    };
    let what = what.trim_start().trim_start_matches(['&', '*']).trim_start();
    let what = match what.strip_prefix('\'').and_then(|lifetime| lifetime.split_once(' ')) {
        Some((_, what)) => what,
        None => what,
    };
    let what = what.strip_prefix("mut ").or(what.strip_prefix("dyn ")).unwrap_or(what);
    let end = what.find(|c: char| !(c.is_alphanumeric() || matches!(c, '_' | ':' | '.'))).unwrap_or(what.len());
    let path = what[..end].trim_end_matches([':', '.']);
    normalized(path.rsplit([':', '.']).next()?)
}

/// The name after a word, and the rest. Go's receiver becomes part of the name.
fn name_after<'a>(after: &'a str, patterns: &Patterns) -> Option<(String, &'a str)> {
    let text = after.strip_prefix([' ', '\t', '*'])?.trim_start().trim_start_matches('*').trim_start();
    let mut text = skip_generics(text).trim_start();
    let mut receiver = None;
    if let Some((inside, behind)) = text.strip_prefix('(').and_then(|inside| inside.split_once(')')) {
        let of = inside.split_whitespace().last()?.trim_start_matches('*');
        receiver = Some(of.split('[').next()?);
        text = behind.trim_start();
    }
    if patterns.extent == Extent::Statement {
        for word in ["if not exists ", "IF NOT EXISTS "] {
            text = text.strip_prefix(word).unwrap_or(text);
        }
    }
    text = text.strip_prefix("self.").or(text.strip_prefix("self::")).unwrap_or(text);
    let is_quoted = text.starts_with(['"', '`', '[']) && patterns.extent == Extent::Statement;
    let end = text
        .find(|c: char| !(is_name_char(c) || matches!(c, '.' | ':' | '\\') || (is_quoted && "\"`[]".contains(c))))
        .unwrap_or(text.len());
    // A colon after it is not part of the name: `class Name: Base`, `def name:`.
    let name = text[..end].trim_end_matches([':', '.']);
    let mut rest = &text[name.len()..];
    if !name.starts_with(|c: char| c.is_alphabetic() || "_$\"`[".contains(c)) {
        return None;
    }
    let mut name = normalized(name)?;
    // Ruby: `empty?`, `save!`, `name=(value)`.
    let is_marked = rest.starts_with(['?', '!']) || rest.starts_with("=(");
    if let Some(mark) = rest.chars().next().filter(|_| is_marked)
        && patterns.comments == ["#"]
    {
        name.push(mark);
        rest = &rest[1..];
    }
    match receiver.and_then(normalized) {
        Some(receiver) => Some((format!("{receiver}.{name}"), rest)),
        None => Some((name, rest)),
    }
}

/// The first word, and the rest.
fn first_word<'a>(text: &'a str, patterns: &Patterns) -> (&'a str, &'a str) {
    let end = text.find(|c: char| !(is_name_char(c) || "@!-\"?".contains(c))).unwrap_or(text.len());
    let (mut word, mut after) = text.split_at(end);
    if word.is_empty() && text.starts_with("<?php") && is_one_of("<?php", patterns.modifiers) {
        (word, after) = text.split_at(5);
    }
    (word, after)
}

fn contains(words: &[&str], word: &str, patterns: &Patterns) -> bool {
    if patterns.extent == Extent::Statement {
        return words.iter().any(|known| known.eq_ignore_ascii_case(word));
    }
    words.contains(&word)
}

fn is_modifier(word: &str, patterns: &Patterns) -> bool {
    match patterns.extent {
        Extent::Statement => patterns.modifiers.split_ascii_whitespace().any(|known| known.eq_ignore_ascii_case(word)),
        _ => is_one_of(word, patterns.modifiers),
    }
}

fn skip_group(text: &str) -> &str {
    match text.strip_prefix('(').and_then(|inside| inside.split_once(')')) {
        Some((_, after)) => after,
        None => text,
    }
}

/// The text after `<…>`, which may be nested.
fn skip_generics(text: &str) -> &str {
    if !text.starts_with('<') {
        return text;
    }
    let mut open = 0usize;
    for (at, byte) in text.bytes().enumerate() {
        match byte {
            b'<' => open += 1,
            b'>' if at > 0 && text.as_bytes()[at - 1] == b'-' => {}
            b'>' => open -= 1,
            _ => {}
        }
        if open == 0 {
            return &text[at + 1..];
        }
    }
    text
}
