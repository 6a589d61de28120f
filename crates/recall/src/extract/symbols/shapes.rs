//! Functions without a keyword: what a line defines by its shape, as in `int open(int x) {` or `open = (x) =>`.
//!
//! This is the weakest evidence, so each shape checks its surroundings: none is accepted inside a function body where
//! it could also be a call. No regex.

use cerberus_record::words::is_one_of;

use super::definition::{Around, DefinitionHeader, is_name_char};
use super::patterns::DefinitionShape;
use super::{Role, normalized};

/// The definition that begins on a line of this shape; `rest` is the line after its modifiers.
pub(super) fn shaped(
    shape: DefinitionShape,
    rest: &str,
    line: &str,
    is_constant: bool,
    around: Around,
) -> Option<DefinitionHeader> {
    let function = |name: &str| {
        let name = normalized(name).filter(|name| !is_control(name))?;
        Some(DefinitionHeader { name, role: Role::Function })
    };
    match shape {
        DefinitionShape::Typed => typed(line, around).and_then(function),
        DefinitionShape::Method => {
            if matches!(around.role, Some(Role::Function)) {
                return None;
            }
            function(method(rest, line, around)?)
        }
        DefinitionShape::Shell => {
            let (name, behind) = line.split_once('(')?;
            let (name, behind) = (name.trim_end(), behind.trim_start().strip_prefix(')')?);
            let is_name = !name.is_empty() && name.chars().all(|c| is_name_char(c) || "-.:".contains(c));
            let opens = behind.trim_start().starts_with(['{', '(']) || behind.trim().is_empty();
            if !(is_name && opens) {
                return None;
            }
            Some(DefinitionHeader { name: normalized(name)?, role: Role::Function })
        }
        DefinitionShape::Arrow => arrow(rest, is_constant, around),
        DefinitionShape::Assigned => {
            let (name, value) = rest.split_once("<-").or_else(|| rest.split_once('='))?;
            let is_name = name.trim_end().chars().all(|c| is_name_char(c) || matches!(c, '.' | ':'));
            let value = value.trim_start();
            let is_function = value.strip_prefix("function").is_some_and(|after| after.trim_start().starts_with('('))
                || value.starts_with("\\(");
            if is_name && is_function { function(name.trim_end()) } else { None }
        }
        DefinitionShape::ConstType => const_type(rest, line).filter(|_| is_constant),
        DefinitionShape::Property => property(rest, around).and_then(function),
        DefinitionShape::Equation => {
            let (name, behind) = rest.split_once('(')?;
            let (_, value) = behind.split_once(')')?;
            let value = value.trim_start();
            let is_name = !name.is_empty() && name.chars().all(|c| is_name_char(c) || matches!(c, '.' | '!'));
            let is_equation = value.starts_with('=') && !value.starts_with("==");
            if is_name && is_equation { function(name) } else { None }
        }
    }
}

/// The name in `Type Name => expression`, or in `Type Name` above a brace.
fn property<'a>(rest: &'a str, around: Around) -> Option<&'a str> {
    let (head, has_value) = match rest.split_once("=>") {
        Some((head, _)) => (head.trim_end(), true),
        None => (rest.trim_end(), false),
    };
    let is_plain = head.chars().all(|c| is_name_char(c) || " \t<>,[]?.".contains(c));
    let opens = has_value || around.next.starts_with('{');
    let (before, name) = head.rsplit_once([' ', '\t'])?;
    let is_typed = !before.trim().is_empty() && !before.split_whitespace().next().is_some_and(is_control);
    (around.role == Some(Role::Type) && is_plain && opens && is_typed && name.chars().all(is_name_char)).then_some(name)
}

/// `Name = struct {`, after `const`.
fn const_type(rest: &str, line: &str) -> Option<DefinitionHeader> {
    let (name, value) = rest.split_once('=')?;
    let value = value.trim_start();
    let value = value.strip_prefix("extern ").or(value.strip_prefix("packed ")).unwrap_or(value);
    let is_type = ["struct", "enum", "union", "opaque", "error"].iter().any(|word| value.starts_with(word));
    let is_plain = line.contains('{') && name.trim().chars().all(is_name_char);
    let name = normalized(name.trim())?;
    (is_type && is_plain).then_some(DefinitionHeader { name, role: Role::Type })
}

/// The name in `Type name(args) {`.
fn typed<'a>(line: &'a str, around: Around) -> Option<&'a str> {
    if around.role == Some(Role::Function) || line.starts_with('#') {
        return None;
    }
    let open = line.find('(')?;
    let before = line[..open].trim_end();
    let before = cut_generics(before);
    let mut start = name_start(before);
    // `Store<T>::open(`: the type before the generics is part of the name.
    if before[start..].starts_with("::") && before[..start].ends_with('>') {
        start = name_start(cut_generics(&before[..start]));
    }
    let (prefix, name) = (before[..start].trim_end(), &before[start..]);
    let last = name.rsplit(['.', ':', '~']).next()?;
    let is_constructor = prefix.is_empty() && (last == around.name || name.contains("::"))
        || prefix.split_whitespace().all(is_visibility) && last == around.name;
    let is_plain = prefix.chars().all(|c| c.is_alphanumeric() || c.is_whitespace() || "_<>,[]*&?:@.".contains(c));
    // The return type is on its own line: `name(args)` in the first column, or with the brace below it.
    let is_in_first_column = around.role.is_none() && !around.is_indented;
    let is_alone = prefix.is_empty()
        && (is_in_first_column && line.ends_with([',', '{', '('])
            || (is_in_first_column || around.role.is_some()) && around.next.starts_with('{') && line.ends_with(')'));
    let begins_well = !prefix.split_whitespace().next().is_some_and(is_control) && !prefix.ends_with([':', '.', ',']);
    if name.is_empty() || !is_plain || !begins_well || (prefix.is_empty() && !is_constructor && !is_alone) {
        return None;
    }
    let is_member = around.role == Some(Role::Type) || around.role == Some(Role::Extension);
    let end = without_comment(line);
    let opens = end.ends_with('{') || end.ends_with('}') || end.contains("=>");
    let goes_on = end.ends_with(['(', ',']) || around.next.starts_with(['{', ':']) || around.next.starts_with("throws");
    (opens || (end.ends_with(';') && is_member) || (goes_on && !end.ends_with(';'))).then_some(name)
}

fn is_visibility(word: &str) -> bool {
    matches!(word, "public" | "private" | "protected" | "internal" | "const" | "factory" | "explicit" | "inline")
}

/// The name in `name(args) {` inside a class or an object, or where the container is unknown.
fn method<'a>(rest: &'a str, line: &str, around: Around) -> Option<&'a str> {
    let open = rest.find('(')?;
    let name = cut_generics(rest[..open].trim_end());
    let name = name.trim_start_matches(['*', ' ']);
    let is_name = !name.is_empty() && name.chars().all(|c| is_name_char(c) || c == '#');
    let end = without_comment(rest);
    let holds_callback = rest[open..].contains("=>") && !rest[open..].contains("):");
    let has_body = end.ends_with('}') && [") {", "){", "): "].iter().any(|begin| rest[open..].contains(begin));
    let goes_on = end.ends_with(['(', ',']) || end.ends_with("({");
    let is_abstract = end.ends_with(';') && line[..line.len() - rest.len()].contains("abstract");
    let opens = end.ends_with('{') || has_body || is_abstract || (goes_on && around.role == Some(Role::Type));
    let is_whole = !rest[open..].contains("function") && (!end.ends_with("({") || around.role == Some(Role::Type));
    (is_name && opens && is_whole && !holds_callback).then_some(name)
}

/// `name = (a) => …`, `a.b = function`, `name: async (a) => {`.
fn arrow(rest: &str, is_constant: bool, around: Around) -> Option<DefinitionHeader> {
    let in_type = matches!(around.role, Some(Role::Type));
    let in_object = matches!(around.role, Some(Role::Object));
    let (left, value) = match (assigned(rest), rest.split_once(':')) {
        (Some(parts), _) => parts,
        (_, Some(parts)) if in_object => parts,
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
        || (begins && (head.contains("=>") || !head.contains(')')))
        || is_short
        || is_wrapped;
    let path: Vec<&str> =
        left.split('.').filter(|part| !matches!(*part, "prototype" | "exports" | "module" | "this")).collect();
    let name = normalized(&path.join("."))?;
    if is_function {
        return Some(DefinitionHeader { name, role: Role::Function });
    }
    let is_object = value == "{" || value.ends_with("({");
    (is_object && around.role != Some(Role::Function)).then_some(DefinitionHeader { name, role: Role::Object })
}

/// The two sides of an assignment. The type on the left may have arrows: `name: (a: A) => B = (a) => …`.
fn assigned(text: &str) -> Option<(&str, &str)> {
    let mut places = text.match_indices('=').map(|(at, _)| text.split_at(at));
    let (left, value) =
        places.find(|(left, value)| !left.ends_with(['=', '!', '<', '>']) && !value[1..].starts_with(['=', '>']))?;
    Some((left, &value[1..]))
}

/// Where the name at the end of a text begins.
fn name_start(text: &str) -> usize {
    text.rfind(|c: char| !(is_name_char(c) || matches!(c, ':' | '~' | '.')))
        .map_or(0, |at| at + text[at..].chars().next().map_or(1, char::len_utf8))
}

/// `name<T>` without the part in brackets.
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

fn is_control(word: &str) -> bool {
    is_one_of(
        word,
        "if for while switch return do else sizeof case catch throw new foreach using lock fixed await yield \
             delete with super this assert match try when typeof function synchronized goto package import \
             typedef where constexpr describe it test expect beforeEach afterEach",
    )
}
