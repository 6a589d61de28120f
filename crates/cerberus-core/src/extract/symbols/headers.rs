//! What a single line defines, by the words it begins with and the shape it has.
//!
//! Sees one line and what it lies in, nothing else; a definition that begins in the middle of a line is missed. No
//! regex, and no line costs more than a few passes over it.

use super::patterns::{Extent, Patterns, Shape};
use super::{Role, told};

/// Modifiers before a definition, at most.
const WORDS_MAX: usize = 10;
/// Longer lines are data or were made by a machine.
const LINE_BYTES_MAX: usize = 2000;

pub(super) struct Header {
    /// Its parts separated by dots.
    pub name: String,
    pub role: Role,
}

/// What the line lies in.
#[derive(Clone, Copy)]
pub(super) struct Around<'a> {
    pub role: Option<Role>,
    /// The last part of the name of the definition around.
    pub name: &'a str,
    /// The text of the next line that is not empty.
    pub next: &'a str,
}

/// The definition that `line`, without its indentation, begins.
pub(super) fn read(patterns: &Patterns, line: &str, around: Around) -> Option<Header> {
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
        match announced(patterns, word, after, line) {
            Announced::Definition(header) => return Some(header),
            Announced::Nothing => return None,
            Announced::Other => {}
        }
        if patterns.bare.contains(&word) && after.starts_with(['(', '<', ' ']) {
            let name = word.trim_end_matches('?').to_string();
            return Some(Header { name, role: Role::Function });
        }
        if !contains(patterns.modifiers, word, patterns) || !after.starts_with([' ', '\t', '(']) {
            break;
        }
        is_constant |= matches!(word, "const" | "let" | "var");
        rest = skip_group(after).trim_start();
    }
    patterns.shapes.iter().find_map(|shape| shaped(*shape, rest, line, is_constant, around))
}

enum Announced {
    Definition(Header),
    /// The word was there, but nothing is defined.
    Nothing,
    Other,
}

/// A definition that `word` announces.
fn announced(patterns: &Patterns, word: &str, after: &str, line: &str) -> Announced {
    let role = if contains(patterns.functions, word, patterns) {
        Role::Function
    } else if contains(patterns.types, word, patterns) {
        Role::Type
    } else if contains(patterns.reopens, word, patterns) {
        return match reopened(after) {
            Some(name) => Announced::Definition(Header { name, role: Role::Reopened }),
            None => Announced::Nothing,
        };
    } else {
        return Announced::Other;
    };
    if patterns.extent == Extent::Statement && !first_word(line, patterns).0.eq_ignore_ascii_case("create") {
        return Announced::Nothing;
    }
    // `enum class Name`, `static class func name`: the next word announces it.
    let next = first_word(after.trim_start(), patterns).0;
    if [patterns.functions, patterns.types].iter().any(|words| contains(words, next, patterns)) {
        return Announced::Other;
    }
    let Some((name, rest)) = name_after(after, patterns) else {
        // `function (a) {` and Swift's `class var` define nothing here; C's `struct {` neither.
        return Announced::Other;
    };
    if role == Role::Type && !is_type_body(patterns, word, rest) {
        return Announced::Other;
    }
    Announced::Definition(Header { name, role })
}

/// Whether a type is defined and not only used: `struct point *make(int x) {`.
fn is_type_body(patterns: &Patterns, word: &str, rest: &str) -> bool {
    let rest = rest.trim_start();
    if word == "type" {
        return !rest.starts_with(['.', '(']) && !rest.is_empty();
    }
    if !patterns.shapes.contains(&Shape::Typed) {
        return true;
    }
    let is_open = rest.is_empty() || rest.starts_with(['{', ':', '<', '(', '/', '@', '=']);
    let words = ["extends", "implements", "permits", "final", "where", "with", "on", "sealed"];
    (is_open || words.iter().any(|begin| rest.starts_with(begin))) && !rest.starts_with("::")
}

/// The type that `impl<T> Trait for Type<T>` or `extension Type: Protocol` opens again.
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
    let what = what.strip_prefix("mut ").or(what.strip_prefix("dyn ")).unwrap_or(what);
    let what = match what.strip_prefix('\'').and_then(|lifetime| lifetime.split_once(' ')) {
        Some((_, what)) => what,
        None => what,
    };
    let end = what.find(|c: char| !(c.is_alphanumeric() || matches!(c, '_' | ':' | '.'))).unwrap_or(what.len());
    let path = what[..end].trim_end_matches([':', '.']);
    told(path.rsplit([':', '.']).next()?)
}

/// The name that follows a word, and what stands behind it. Go's receiver becomes a part of it.
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
    text = text.strip_prefix("self.").unwrap_or(text);
    let is_quoted = text.starts_with(['"', '`', '[']) && patterns.extent == Extent::Statement;
    let end = text
        .find(|c: char| !(is_name_char(c) || matches!(c, '.' | ':' | '\\') || (is_quoted && "\"`[]".contains(c))))
        .unwrap_or(text.len());
    // A colon behind it is no part of the name: `class Name: Base`, `def name:`.
    let name = text[..end].trim_end_matches([':', '.']);
    let mut rest = &text[name.len()..];
    if !name.starts_with(|c: char| c.is_alphabetic() || "_$\"`[".contains(c)) {
        return None;
    }
    let mut name = told(name)?;
    if let Some(mark) = rest.chars().next().filter(|mark| matches!(mark, '?' | '!'))
        && patterns.comments == ["#"]
    {
        name.push(mark);
        rest = &rest[1..];
    }
    match receiver.and_then(told) {
        Some(receiver) => Some((format!("{receiver}.{name}"), rest)),
        None => Some((name, rest)),
    }
}

fn shaped(shape: Shape, rest: &str, line: &str, is_constant: bool, around: Around) -> Option<Header> {
    let function = |name: &str| {
        let name = told(name).filter(|name| !is_control(name))?;
        Some(Header { name, role: Role::Function })
    };
    match shape {
        Shape::Typed => typed(line, around).and_then(function),
        Shape::Method => {
            if matches!(around.role, Some(Role::Function)) {
                return None;
            }
            function(method(rest, around)?)
        }
        Shape::Shell => {
            let (name, behind) = line.split_once("()")?;
            let is_name = !name.is_empty() && name.chars().all(|c| is_name_char(c) || "-.:".contains(c));
            let opens = behind.trim_start().starts_with(['{', '(']) || behind.trim().is_empty();
            if !(is_name && opens) {
                return None;
            }
            Some(Header { name: told(name)?, role: Role::Function })
        }
        Shape::Arrow => arrow(rest, is_constant, around),
        Shape::Assigned => {
            let (name, value) = rest.split_once("<-").or_else(|| rest.split_once('='))?;
            let is_name = name.trim_end().chars().all(|c| is_name_char(c) || matches!(c, '.' | ':'));
            let value = value.trim_start();
            let is_function = value.strip_prefix("function").is_some_and(|after| after.trim_start().starts_with('('))
                || value.starts_with("\\(");
            if is_name && is_function { function(name.trim_end()) } else { None }
        }
        Shape::ConstType => {
            let (name, value) = rest.split_once('=')?;
            let value = value.trim_start();
            let value = value.strip_prefix("extern ").or(value.strip_prefix("packed ")).unwrap_or(value);
            let is_type = ["struct", "enum", "union", "opaque", "error"].iter().any(|word| value.starts_with(word));
            let is_plain = is_constant && line.contains('{') && name.trim().chars().all(is_name_char);
            let name = told(name.trim())?;
            (is_type && is_plain).then_some(Header { name, role: Role::Type })
        }
        Shape::Equation => {
            let (name, behind) = rest.split_once('(')?;
            let (_, value) = behind.split_once(')')?;
            let value = value.trim_start();
            let is_name = !name.is_empty() && name.chars().all(|c| is_name_char(c) || matches!(c, '.' | '!'));
            let is_equation = value.starts_with('=') && !value.starts_with("==");
            if is_name && is_equation { function(name) } else { None }
        }
    }
}

/// `Type name(args) {`: the name.
fn typed<'a>(line: &'a str, around: Around) -> Option<&'a str> {
    if around.role == Some(Role::Function) || line.starts_with('#') {
        return None;
    }
    let open = line.find('(')?;
    let before = line[..open].trim_end();
    let before = cut_generics(before);
    let start = before
        .rfind(|c: char| !(is_name_char(c) || matches!(c, ':' | '~' | '.')))
        .map_or(0, |at| at + before[at..].chars().next().map_or(1, char::len_utf8));
    let (prefix, name) = (before[..start].trim_end(), &before[start..]);
    let last = name.rsplit(['.', ':', '~']).next()?;
    let is_constructor = prefix.is_empty() && (last == around.name || name.contains("::"))
        || prefix.split_whitespace().all(is_visibility) && last == around.name;
    let is_plain = prefix.chars().all(|c| c.is_alphanumeric() || c.is_whitespace() || "_<>,[]*&?:@.".contains(c));
    let begins_well = !prefix.split_whitespace().next().is_some_and(is_control) && !prefix.ends_with([':', '.', ',']);
    if name.is_empty() || !is_plain || !begins_well || (prefix.is_empty() && !is_constructor) {
        return None;
    }
    let is_member = around.role == Some(Role::Type) || around.role == Some(Role::Reopened);
    let end = without_comment(line);
    let opens = end.ends_with('{') || end.ends_with('}') || end.contains("=>");
    let goes_on = end.ends_with(['(', ',']) || around.next.starts_with(['{', ':']) || around.next.starts_with("throws");
    (opens || (end.ends_with(';') && is_member) || (goes_on && !end.ends_with(';'))).then_some(name)
}

fn is_visibility(word: &str) -> bool {
    matches!(word, "public" | "private" | "protected" | "internal" | "const" | "factory" | "explicit" | "inline")
}

/// `name(args) {` within a class or an object, or where nothing around is known: the name.
fn method<'a>(rest: &'a str, around: Around) -> Option<&'a str> {
    let open = rest.find('(')?;
    let name = cut_generics(rest[..open].trim_end());
    let name = name.trim_start_matches(['*', ' ']);
    let is_name = !name.is_empty() && name.chars().all(|c| is_name_char(c) || c == '#');
    let end = without_comment(rest);
    let holds_callback = rest[open..].contains("=>") && !rest[open..].contains("):");
    let opens =
        end.ends_with('{') || (end.ends_with(['(', ',']) && around.role == Some(Role::Type)) || end.ends_with("{}");
    let is_whole = !rest[open..].contains("function") && !end.ends_with("({");
    (is_name && opens && is_whole && !holds_callback).then_some(name)
}

/// `name = (a) => …`, `a.b = function`, `name: async (a) => {`.
fn arrow(rest: &str, is_constant: bool, around: Around) -> Option<Header> {
    let in_type = matches!(around.role, Some(Role::Type));
    let in_object = matches!(around.role, Some(Role::Object));
    let (left, value) = match (rest.split_once('='), rest.split_once(':')) {
        (Some((left, value)), _) if !value.starts_with(['=', '>']) => (left, value),
        (_, Some((left, value))) if in_object => (left, value),
        _ => return None,
    };
    let left = left.split(':').next()?.trim_end().trim_end_matches('?');
    let is_path = left.contains('.') && !left.starts_with("this.");
    if !(is_constant || in_type || in_object || is_path) {
        return None;
    }
    if left.is_empty() || !left.chars().all(|c| is_name_char(c) || matches!(c, '.' | '#')) {
        return None;
    }
    let value = value.trim();
    let head = value.strip_prefix("async").map_or(value, str::trim_start);
    let begins = head.starts_with("function") || head.starts_with('(') || head.starts_with('<');
    let one = head.split("=>").next().unwrap_or_default().trim();
    let is_short = head.contains("=>") && !one.is_empty() && one.chars().all(is_name_char);
    let is_wrapped = ["memo(", "forwardRef(", "useCallback(", "React.memo(", "React.forwardRef("]
        .iter()
        .any(|begin| head.starts_with(begin));
    let is_function = head.starts_with("function")
        || (begins && (head.contains("=>") || head.ends_with('(')))
        || is_short
        || is_wrapped;
    let path: Vec<&str> =
        left.split('.').filter(|part| !matches!(*part, "prototype" | "exports" | "module" | "this")).collect();
    let name = told(&path.join("."))?;
    if is_function {
        return Some(Header { name, role: Role::Function });
    }
    let is_object = value == "{" || value.ends_with("({");
    (is_object && around.role != Some(Role::Function)).then_some(Header { name, role: Role::Object })
}

/// The word at the beginning, and what follows it.
fn first_word<'a>(text: &'a str, patterns: &Patterns) -> (&'a str, &'a str) {
    let end = text.find(|c: char| !(is_name_char(c) || "@!-\"?".contains(c))).unwrap_or(text.len());
    let (mut word, mut after) = text.split_at(end);
    if word.is_empty() && text.starts_with("<?php") && patterns.modifiers.contains(&"<?php") {
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

fn skip_group(text: &str) -> &str {
    match text.strip_prefix('(').and_then(|inside| inside.split_once(')')) {
        Some((_, after)) => after,
        None => text,
    }
}

/// What follows `<…>`, brackets within brackets counted.
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

/// `name<T>` without what is in brackets.
fn cut_generics(text: &str) -> &str {
    if !text.ends_with('>') {
        return text;
    }
    let mut open = 0usize;
    for (at, byte) in text.bytes().enumerate().rev() {
        match byte {
            b'>' => open += 1,
            b'<' => open = open.saturating_sub(1),
            _ => {}
        }
        if open == 0 {
            return text[..at].trim_end();
        }
    }
    text
}

fn without_comment(line: &str) -> &str {
    line.split(" //").next().unwrap_or(line).trim_end()
}

fn is_name_char(c: char) -> bool {
    c.is_alphanumeric() || matches!(c, '_' | '$')
}

fn is_control(word: &str) -> bool {
    matches!(
        word,
        "if" | "for"
            | "while"
            | "switch"
            | "return"
            | "do"
            | "else"
            | "sizeof"
            | "case"
            | "catch"
            | "throw"
            | "new"
            | "foreach"
            | "using"
            | "lock"
            | "fixed"
            | "await"
            | "yield"
            | "delete"
            | "with"
            | "super"
            | "this"
            | "assert"
            | "match"
            | "try"
            | "when"
            | "typeof"
            | "function"
            | "synchronized"
            | "goto"
            | "package"
            | "import"
            | "typedef"
            | "where"
            | "constexpr"
            | "describe"
            | "it"
            | "test"
            | "expect"
            | "beforeEach"
            | "afterEach"
    )
}
