//! The words in a line of JSON.

use cerberus_record::clean::text::text_without;
use serde_json::Value;

use crate::escapes::without_escapes;

/// What separates words where a text has other text as JSON.
const WRITTEN: [(&str, &str); 6] = [
    ("\\n", "\n"),
    ("\\r", "\n"),
    ("\\t", "\t"),
    ("\\\"", "\""),
    // Earlier versions kept what only shows words in colours.
    ("\\u001b", "\u{1b}"),
    ("\\u001B", "\u{1b}"),
];

/// A line of JSON as the words in it: paths are not glued to what escapes a line break, or shows them in colours.
pub fn words(line: &str) -> String {
    let value = serde_json::from_slice(line.as_bytes()).unwrap_or_else(|_| Value::from(line));
    let mut found = String::with_capacity(line.len());
    spell(&value, &mut found);
    found
}

fn spell(value: &Value, found: &mut String) {
    match value {
        Value::String(text) => match inner(text) {
            Some(inner) => spell(&inner, found),
            None => {
                let text = WRITTEN.iter().fold(text.clone(), |text, (from, to)| text.replace(from, to));
                found.extend([&without_escapes(&text), "\n"]);
            }
        },
        Value::Array(all) => all.iter().for_each(|value| spell(value, found)),
        Value::Object(object) => object.iter().for_each(|(key, value)| {
            found.extend([key, "\n"]);
            spell(value, found);
        }),
        _ => {}
    }
}

/// JSON in a text.
fn inner(text: &str) -> Option<Value> {
    text.starts_with(['{', '[']).then(|| serde_json::from_slice(text.as_bytes()).ok()).flatten()
}

/// The line without words; `None` if it does not have them.
pub(crate) fn without(line: &str, said: &str) -> Option<String> {
    let mut value = serde_json::from_slice::<Value>(line.as_bytes()).ok()?;
    cut_words(&mut value, said).then(|| value.to_string())
}

fn cut_words(value: &mut Value, said: &str) -> bool {
    match value {
        Value::String(text) => {
            let mut is_changed = false;
            if said.split_whitespace().any(|word| !text.contains(word)) {
                return false;
            }
            while let Some(rest) = text_without(text, said) {
                *text = rest;
                is_changed = true;
            }
            is_changed
        }
        Value::Array(all) => all.iter_mut().fold(false, |changed, value| cut_words(value, said) | changed),
        Value::Object(object) => object.values_mut().fold(false, |changed, value| cut_words(value, said) | changed),
        _ => false,
    }
}
