//! A cheap scan for the names that new text defines: line by line, no grammar, no regex. It runs in the hook.
//!
//! It sees definitions that begin a line and misses the rest; it never reads what a name means.

use std::borrow::Cow;

use crate::text::{Clean, Keep};

/// Words that may stand before the defining one.
const MODIFIERS: &[&str] = &[
    "pub",
    "async",
    "export",
    "default",
    "static",
    "public",
    "private",
    "protected",
    "internal",
    "final",
    "abstract",
    "override",
    "unsafe",
    "const",
    "inline",
    "virtual",
    "declare",
    "open",
    "sealed",
    "data",
    "partial",
    "suspend",
];

const DEFINING: &[&str] = &[
    "fn",
    "def",
    "func",
    "function",
    "fun",
    "sub",
    "class",
    "struct",
    "enum",
    "trait",
    "interface",
    "module",
    "object",
];

/// Longer is not a name that anyone wrote.
const NAME_BYTES_MAX: usize = 100;

/// Appends the names defined in `text` to `names`, each once, `names_max` in all.
pub fn scan<'a>(text: &str, names_max: usize, names: &mut Vec<Clean<'a>>) {
    for line in text.split('\n') {
        if names.len() >= names_max {
            return;
        }
        if let Some(name) = defined(line) {
            let name = Clean::new(Cow::Owned(name.to_string()), Keep::NAME);
            if !names.contains(&name) {
                names.push(name);
            }
        }
    }
}

/// The name that a line defines.
fn defined(line: &str) -> Option<&str> {
    let mut rest = line.trim_start();
    // `pub(crate) async fn`: a few modifiers at most, each perhaps with an argument in parentheses.
    for _ in 0..5 {
        let (word, after) = word(rest)?;
        if DEFINING.contains(&word) {
            return name_after(after);
        }
        if !MODIFIERS.contains(&word) {
            return None;
        }
        rest = skip_parentheses(after).trim_start();
        if let Some(name) = arrow_function(word, rest) {
            return Some(name);
        }
    }
    None
}

/// The word at the beginning, and what follows it.
fn word(text: &str) -> Option<(&str, &str)> {
    let end = text
        .bytes()
        .position(|byte| !(byte.is_ascii_alphanumeric() || byte == b'_'))
        .unwrap_or(text.len());
    (end > 0).then(|| text.split_at(end))
}

fn skip_parentheses(text: &str) -> &str {
    match text.strip_prefix('(').and_then(|inside| inside.split_once(')')) {
        Some((_, after)) => after,
        None => text,
    }
}

/// `fn name`, and Go's `func (r *Receiver) name`.
fn name_after(text: &str) -> Option<&str> {
    let text = text.strip_prefix([' ', '\t', '*'])?.trim_start();
    let text = skip_parentheses(text).trim_start();
    let end = text
        .find(|c: char| !(c.is_alphanumeric() || matches!(c, '_' | '$' | '?' | '!')))
        .unwrap_or(text.len());
    let name = text[..end].trim_end_matches(['?', '!']);
    let begins_well = name
        .chars()
        .next()
        .is_some_and(|c| c.is_alphabetic() || matches!(c, '_' | '$'));
    (begins_well && name.len() <= NAME_BYTES_MAX).then_some(name)
}

/// `const name = (a) => …`, `const name = async function …`.
fn arrow_function<'a>(word: &str, rest: &'a str) -> Option<&'a str> {
    if word != "const" {
        return None;
    }
    let (name, value) = rest.split_once('=')?;
    let name = name.split(':').next()?.trim();
    let function =
        value.contains("=>") || value.trim_start().starts_with("function") || value.contains("async function");
    let plain = !name.is_empty()
        && name
            .bytes()
            .all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'$'));
    (function && plain && name.len() <= NAME_BYTES_MAX).then_some(name)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn names_what_a_line_defines() {
        for (line, expected) in [
            ("fn main() {", Some("main")),
            ("    pub(crate) async fn load<T>(x: T) {", Some("load")),
            ("def cluster_corrections(self):", Some("cluster_corrections")),
            ("\tasync def go():", Some("go")),
            ("func (s *Supervisor) Process() error {", Some("Process")),
            ("func Load(path string) {", Some("Load")),
            ("export default function App() {", Some("App")),
            ("function* gen() {", Some("gen")),
            ("export const useThing = (a) => {", Some("useThing")),
            ("const handler: Handler = async (a) => {", Some("handler")),
            ("const LIMIT = 5;", None),
            ("class SessionContextCapture:", Some("SessionContextCapture")),
            ("public static final class Foo<T> {", Some("Foo")),
            ("pub struct Größe {", Some("Größe")),
            ("def empty?", Some("empty")),
            ("fun main() {", Some("main")),
            ("the function of this", None),
            ("// fn commented()", None),
            ("default:", None),
            ("fn", None),
            ("fn 9lives", None),
            ("class: foo", None),
            ("", None),
        ] {
            assert_eq!(defined(line), expected, "{line}");
        }
    }

    #[test]
    fn each_name_once_and_not_too_many() {
        let mut names = Vec::new();
        scan("fn a() {}\nfn b() {}\nfn a() {}\nfn c() {}\nfn d() {}\n", 3, &mut names);
        assert_eq!(names.iter().map(|name| &**name).collect::<Vec<_>>(), ["a", "b", "c"]);
    }

    proptest! {
        #[test]
        fn any_text_is_survived(text in "\\PC*|((fn|def|const|pub) [\\PC\n]{0,30}\n)*") {
            let mut names = Vec::new();
            scan(&text, 64, &mut names);
            prop_assert!(names.iter().all(|name| !name.contains(char::is_control)));
        }
    }
}
