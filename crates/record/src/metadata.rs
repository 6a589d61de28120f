//! The metadata of an imported memory: a JSON object that is kept as it was written, digit by digit.
//!
//! Numbers are never converted, so none of them changes, however large or precise it is. Only blanks between the values
//! are dropped. Texts can be replaced, because outside text must be cleaned.

use std::collections::BTreeMap;

use serde::de::Error;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::value::RawValue;
use serde_json::{Map, Value};

/// Deeper metadata is refused: other programs could not read it.
const DEPTH_MAX: usize = 100;

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Metadata {
    /// An object without blanks between its values. Every text in it can be decoded.
    json: String,
}

impl Default for Metadata {
    fn default() -> Metadata {
        Metadata { json: "{}".to_string() }
    }
}

impl Metadata {
    pub fn is_empty(&self) -> bool {
        self.json == "{}"
    }

    pub fn json(&self) -> &str {
        &self.json
    }

    /// The same with other texts, keys included.
    pub fn with_texts(&self, change: impl FnMut(String) -> String) -> Metadata {
        // Every text was decoded before.
        rewritten(&self.json, change).map_or_else(|_| Metadata::default(), |json| Metadata { json })
    }

    /// For people and programs that need no exact numbers. A field with a number that no float holds becomes a text.
    pub fn shown(&self) -> Map<String, Value> {
        let fields: BTreeMap<String, &RawValue> = serde_json::from_slice(self.json.as_bytes()).unwrap_or_default();
        let value = |raw: &RawValue| serde_json::from_slice(raw.get().as_bytes());
        let shown = |raw: &RawValue| value(raw).unwrap_or_else(|_| Value::String(raw.get().to_string()));
        fields.into_iter().map(|(key, raw)| (key, shown(raw))).collect()
    }
}

impl Serialize for Metadata {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        RawValue::from_string(self.json.clone()).map_err(serde::ser::Error::custom)?.serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for Metadata {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Metadata, D::Error> {
        let raw = Box::<RawValue>::deserialize(deserializer)?;
        if !raw.get().starts_with('{') {
            return Err(D::Error::custom("the metadata is not an object"));
        }
        rewritten(raw.get(), |text| text).map(|json| Metadata { json }).map_err(D::Error::custom)
    }
}

/// Valid JSON without blanks between its values, and with its texts changed.
fn rewritten(json: &str, mut change: impl FnMut(String) -> String) -> Result<String, serde_json::Error> {
    let mut new = String::with_capacity(json.len());
    let (mut rest, mut depth) = (json, 0usize);
    while let Some(first) = rest.chars().next() {
        let length = if first == '"' { text_bytes(rest) } else { first.len_utf8() };
        let (piece, after) = rest.split_at(length);
        match first {
            '"' => new.push_str(&serde_json::to_string(&change(serde_json::from_slice(piece.as_bytes())?))?),
            ' ' | '\t' | '\n' | '\r' => {}
            _ => new.push_str(piece),
        }
        match first {
            '{' | '[' => depth += 1,
            '}' | ']' => depth = depth.saturating_sub(1),
            _ => {}
        }
        if depth > DEPTH_MAX {
            return Err(serde_json::Error::custom(format!("the metadata is nested more than {DEPTH_MAX} times")));
        }
        rest = after;
    }
    Ok(new)
}

/// The length of the text that `json` begins with, quotes included.
fn text_bytes(json: &str) -> usize {
    let mut bytes = json.bytes().enumerate().skip(1);
    while let Some((at, byte)) = bytes.next() {
        match byte {
            b'"' => return at + 1,
            b'\\' => drop(bytes.next()),
            _ => {}
        }
    }
    json.len()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn read(json: &str) -> Result<Metadata, serde_json::Error> {
        serde_json::from_slice(json.as_bytes())
    }

    #[test]
    fn numbers_come_back_as_they_were_written() {
        for number in [
            "0",
            "-0",
            "-0.0",
            "1.0",
            "1.50",
            "1e5",
            "1E+5",
            "1e400",
            "-1e-400",
            "0.1",
            "0.30000000000000004",
            "18446744073709551616",
            "123456789012345678901234567890",
            "9007199254740993",
            "3.141592653589793238462643",
            "2.2250738585072011e-308",
            "5e-324",
            "1.7976931348623157e308",
            "0.000000000000000000000000000000001",
        ] {
            let json = format!(r#"{{"n":{number},"list":[{number},{{"deep":{number}}}]}}"#);
            let metadata = read(&json).unwrap();
            assert_eq!(serde_json::to_string(&metadata).unwrap(), json);
            assert_eq!(metadata.with_texts(|text| text).json(), json);
        }
    }

    #[test]
    fn texts_are_replaced_and_blanks_dropped() {
        let metadata = read("{ \"a\\\"\" : [ \"b \\\\\", true , null ] ,\t\"ü\":{} }").unwrap();
        assert_eq!(metadata.json(), r#"{"a\"":["b \\",true,null],"ü":{}}"#);
        let changed = metadata.with_texts(|text| format!("<{text}>"));
        assert_eq!(changed.json(), r#"{"<a\">":["<b \\>",true,null],"<ü>":{}}"#);
        assert!(read("{}").unwrap().is_empty() && !metadata.is_empty());
    }

    #[test]
    fn what_cannot_be_cleaned_or_read_is_refused() {
        let deep = |depth: usize| format!("{{\"a\":{}{}}}", "[".repeat(depth), "]".repeat(depth));
        for wrong in ["[]", "1", "null", "\"x\"", "{\"a\":\"\\ud800\"}", "{\"\\ud800\":1}", &deep(DEPTH_MAX)] {
            assert!(read(wrong).is_err(), "{wrong}");
        }
        assert!(read(&deep(DEPTH_MAX - 1)).is_ok());
    }

    #[test]
    fn it_can_always_be_shown() {
        let shown = read(r#"{"n":1e400,"m":[1e400],"o":2.5,"t":"x"}"#).unwrap().shown();
        assert_eq!(Value::Object(shown), serde_json::json!({"n": "1e400", "m": "[1e400]", "o": 2.5, "t": "x"}));
    }

    proptest! {
        #[test]
        fn whatever_a_program_writes_is_read_back(
            numbers in proptest::collection::vec(proptest::num::f64::NORMAL | proptest::num::f64::SUBNORMAL, 0..9),
            texts in proptest::collection::vec("\\PC{0,9}", 0..9),
        ) {
            let json = serde_json::json!({"numbers": numbers, "texts": texts}).to_string();
            let metadata = read(&json).unwrap();
            prop_assert_eq!(serde_json::to_string(&metadata).unwrap(), json);
        }
    }
}
