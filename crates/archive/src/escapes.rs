//! What only says to a terminal how to show the rest: colours, links.

use serde_json::Value;

/// How it begins.
const ESCAPE: char = '\u{1b}';

/// How it begins in JSON.
const WRITTEN: &[u8] = b"\\u001b";

/// Takes it out of every text. Says whether there was any.
pub(crate) fn remove_escapes(value: &mut Value) -> bool {
    match value {
        Value::String(text) if text.contains(ESCAPE) => {
            *text = without_escapes(text);
            true
        }
        Value::String(text) if text.starts_with(['{', '[']) && is_written_in(text) => {
            let Ok(mut inner) = serde_json::from_slice::<Value>(text.as_bytes()) else { return false };
            let is_changed = remove_escapes(&mut inner);
            if is_changed {
                *text = inner.to_string();
            }
            is_changed
        }
        Value::Array(all) => all.iter_mut().fold(false, |changed, value| remove_escapes(value) | changed),
        Value::Object(object) => object.values_mut().fold(false, |changed, value| remove_escapes(value) | changed),
        _ => false,
    }
}

fn is_written_in(text: &str) -> bool {
    text.as_bytes().windows(WRITTEN.len()).any(|part| part.eq_ignore_ascii_case(WRITTEN))
}

/// The text without it.
pub(crate) fn without_escapes(text: &str) -> String {
    let mut pieces = text.split(ESCAPE);
    let mut left = pieces.next().unwrap_or_default().to_string();
    let mut is_link = false;
    for piece in pieces {
        let end = match piece.as_bytes().first() {
            Some(b'[') => {
                let end = piece.bytes().skip(1).position(|byte| !(0x20..0x40).contains(&byte));
                end.map(|end| end + 1 + usize::from((0x40..0x7f).contains(&piece.as_bytes()[end + 1])))
            }
            // An address ends with a bell, or with an escape and a backslash.
            Some(b']') => piece.find(['\u{7}', '\n']).map(|end| end + usize::from(piece[end..].starts_with('\u{7}'))),
            Some(b'(' | b')') => Some(piece.ceil_char_boundary(2)),
            Some(b'\\') if is_link => Some(1),
            _ => Some(0),
        };
        is_link = piece.starts_with(']') && end.is_none();
        left.push_str(end.map_or("", |end| &piece[end..]));
    }
    left
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn json_in_a_text_is_written_anew_only_if_something_is_taken_out() {
        let removed = |text: &str| {
            let mut value = Value::from(text);
            let is_changed = remove_escapes(&mut value);
            assert_eq!(is_changed, value != text);
            value.as_str().unwrap().to_string()
        };
        // Code that has the letters of an escape, large numbers, the same key twice, lines of its own.
        let code = "{\n  \"a\": 123456789012345678901234567890,\n  \"a\": \"\\\\u001b[1m\"\n}";
        assert_eq!(removed(code), code);
        assert_eq!(removed("[not JSON \\u001b[1m"), "[not JSON \\u001b[1m");
        for escape in ["\\u001b", "\\u001B"] {
            assert_eq!(removed(&format!("{{\"a\":\"{escape}[1mred{escape}[0m\"}}")), "{\"a\":\"red\"}");
        }
    }
}
