//! Comments and trailing commas, which some agents refuse: such an agent ignores the whole file.
//!
//! Finds the first of them, and removes all of them if the user wants that.

use std::ops::Range;

use super::{EditorPosition, SettingsError, json};

/// What an agent accepts in its JSON files.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Syntax {
    /// Neither comments nor trailing commas.
    Strict,
    /// Comments, but no trailing commas.
    Comments,
    /// Both.
    Lenient,
}

/// Something that is not strict JSON.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum Extra {
    #[error("a comment")]
    Comment,
    #[error("a trailing comma")]
    TrailingComma,
}

impl Syntax {
    fn accepts(self, extra: Extra) -> bool {
        match self {
            Syntax::Strict => false,
            Syntax::Comments => extra == Extra::Comment,
            Syntax::Lenient => true,
        }
    }
}

/// The first thing in the text that the agent refuses.
pub fn refused(text: &str, syntax: Syntax) -> Result<Option<(EditorPosition, Extra)>, SettingsError> {
    if syntax == Syntax::Lenient || json::is_blank(text) {
        return Ok(None);
    }
    json::parse(text)?;
    let first = extras(text).into_iter().find(|(_, extra)| !syntax.accepts(*extra));
    Ok(first.map(|(span, extra)| (json::position(text, span.start), extra)))
}

/// The text without anything that the agent refuses. A line with nothing else on it is removed as a whole.
pub fn repair(text: &str, syntax: Syntax) -> Result<String, SettingsError> {
    json::parse(text)?;
    let mut repaired = text.to_owned();
    for (span, _) in extras(text).into_iter().rev().filter(|(_, extra)| !syntax.accepts(*extra)) {
        let mut start = text[..span.start].trim_end_matches([' ', '\t']).len();
        let mut end = span.end;
        let starts_line = start == 0 || text[..start].ends_with('\n');
        let rest = &repaired[end..];
        let ends_line = rest.trim_start_matches([' ', '\t']).starts_with(['\n', '\r']);
        if starts_line && ends_line {
            end += rest.find('\n').map_or(rest.len(), |at| at + 1);
        } else if !ends_line {
            start = span.start;
        }
        repaired.replace_range(start..end, "");
    }
    Ok(repaired)
}

/// Everything in a valid text that is not strict JSON, in order.
fn extras(text: &str) -> Vec<(Range<usize>, Extra)> {
    let bytes = text.as_bytes();
    let mut found = Vec::new();
    let mut comma = None;
    let mut at = 0;
    while let Some(&byte) = bytes.get(at) {
        let rest = &text[at..];
        let length = match byte {
            b'"' => string_length(rest),
            b'/' if rest.starts_with("//") => rest.find(['\n', '\r']).unwrap_or(rest.len()),
            b'/' => rest.find("*/").map_or(rest.len(), |end| end + 2),
            _ => rest.chars().next().map_or(1, char::len_utf8),
        };
        match byte {
            b'/' => found.push((at..at + length, Extra::Comment)),
            b',' => comma = Some(at),
            b'}' | b']' => found.extend(comma.take().map(|comma| (comma..comma + 1, Extra::TrailingComma))),
            _ if json::is_whitespace(byte) => {}
            _ => comma = None,
        }
        at += length;
    }
    found.sort_by_key(|(span, _)| span.start);
    found
}

/// The length of the string that the text begins with, including its quotes.
fn string_length(text: &str) -> usize {
    let mut is_escaped = false;
    let end = text.bytes().skip(1).position(|byte| {
        let ends = byte == b'"' && !is_escaped;
        is_escaped = byte == b'\\' && !is_escaped;
        ends
    });
    end.map_or(text.len(), |end| end + 2)
}

#[cfg(test)]
mod tests {
    use serde_json::Value;

    use super::*;

    #[test]
    fn the_first_refused_thing_is_found_and_all_are_removed() {
        for (text, refused_at, repaired) in [
            ("{}", None, "{}"),
            ("", None, ""),
            ("{\"a\": \"// no, /* comment */ ,]\"}", None, "{\"a\": \"// no, /* comment */ ,]\"}"),
            ("{\"a\\\\\": [1, 2]}\n", None, "{\"a\\\\\": [1, 2]}\n"),
            ("{\"a\": 1,}", Some((1, 8, Extra::TrailingComma)), "{\"a\": 1}"),
            ("{\n  // mine\n  \"a\": 1\n}\n", Some((2, 3, Extra::Comment)), "{\n  \"a\": 1\n}\n"),
            ("// top\n{\"a\": [1, 2,],} // end\n", Some((1, 1, Extra::Comment)), "{\"a\": [1, 2]}\n"),
            ("{\r\n  \"a\": 1, // one\r\n}\r\n", Some((2, 9, Extra::TrailingComma)), "{\r\n  \"a\": 1\r\n}\r\n"),
            ("{\"a\": /* b */ 1}", Some((1, 7, Extra::Comment)), "{\"a\":  1}"),
            ("{\n  \"a\": 1 /* b\n */ ,\n}", Some((2, 10, Extra::Comment)), "{\n  \"a\": 1\n}"),
            ("\u{feff}{\"é\": 1,}", Some((1, 8, Extra::TrailingComma)), "\u{feff}{\"é\": 1}"),
        ] {
            let found = refused(text, Syntax::Strict).unwrap();
            assert_eq!(found.map(|(at, extra)| (at.line, at.column, extra)), refused_at, "{text:?}");
            assert_eq!(refused(text, Syntax::Lenient).unwrap(), None);
            if !text.is_empty() {
                assert_eq!(repair(text, Syntax::Strict).unwrap(), repaired, "{text:?}");
                assert_eq!(repair(text, Syntax::Lenient).unwrap(), text);
                let strict = repaired.trim_start_matches('\u{feff}');
                assert!(serde_json::from_str::<Value>(strict).is_ok(), "{repaired}");
            }
        }
        let both = "{\n  // mine\n  \"a\": 1,\n}";
        assert_eq!(refused(both, Syntax::Comments).unwrap().unwrap().1, Extra::TrailingComma);
        assert_eq!(repair(both, Syntax::Comments).unwrap(), "{\n  // mine\n  \"a\": 1\n}");
        assert!(refused("{ // never\n", Syntax::Strict).is_err() && repair("{", Syntax::Strict).is_err());
    }
}
