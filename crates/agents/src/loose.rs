//! Deserializes values of unknown shape: a value of the expected type is taken, anything else is skipped without an
//! error.
//!
//! One pass over the bytes, no intermediate tree. Strings without escapes are borrowed.

use std::borrow::Cow;
use std::fmt;
use std::marker::PhantomData;

use serde::Deserialize;
use serde::de::value::MapAccessDeserializer;
use serde::de::{Deserializer, Error, IgnoredAny, MapAccess, SeqAccess, Visitor};
use serde_json::value::RawValue;

/// A string, or nothing. Numbers are taken as text, because ids come as both.
#[derive(Debug, Default)]
pub struct Text<'a>(pub Option<Cow<'a, str>>);

/// A string exactly as in the JSON text: without the quotes, with the escapes. Empty for anything else.
#[derive(Clone, Copy, Debug, Default)]
pub struct Escaped<'a>(pub &'a str);

/// Any value exactly as in the JSON text, not parsed; empty if missing.
#[derive(Debug, Default, Clone, Copy)]
pub struct RawJson<'a>(pub &'a str);

/// An object's entries, in order, at most [`LIST_MAX`]. `T` must not fail on any value.
#[derive(Debug)]
pub struct Entries<'a, T>(pub Vec<(Cow<'a, str>, T)>);

impl<T> Default for Entries<'_, T> {
    fn default() -> Self {
        Entries(Vec::new())
    }
}

/// The string values of an object, in order; other values are skipped.
#[derive(Debug, Default)]
pub struct Pairs<'a>(pub Vec<(Cow<'a, str>, Cow<'a, str>)>);

/// A string or a list. `T` must not fail on any value.
#[derive(Debug, Default)]
pub enum TextOrList<'a, T> {
    #[default]
    Neither,
    Text(Cow<'a, str>),
    List(Vec<T>),
}

/// `true`; anything else is false.
#[derive(Debug, Default)]
pub struct Flag(pub bool);

/// A non-negative integer; anything else is zero.
#[derive(Debug, Default)]
pub struct Number(pub u32);

/// An object read as `T`, or `T`'s default. `T` must not fail on any object.
#[derive(Debug, Default)]
pub struct Object<T>(pub T);

/// A list of at most `MAX` items; empty for anything else. `T` must not fail on any value.
#[derive(Debug)]
pub struct List<T, const MAX: usize = LIST_MAX>(pub Vec<T>);

impl<T, const MAX: usize> Default for List<T, MAX> {
    fn default() -> Self {
        List(Vec::new())
    }
}

const LIST_MAX: usize = 2_000;

/// Generates the visitor methods for types that are skipped.
macro_rules! skips {
    ($value:ty, $empty:expr; $($name:ident),*) => { $( skips!(@ $name, $value, $empty); )* };
    (@ bool, $value:ty, $empty:expr) => {
        fn visit_bool<E>(self, _: bool) -> Result<$value, E> { Ok($empty) }
    };
    (@ numbers, $value:ty, $empty:expr) => {
        fn visit_i64<E>(self, _: i64) -> Result<$value, E> { Ok($empty) }
        fn visit_u64<E>(self, _: u64) -> Result<$value, E> { Ok($empty) }
        fn visit_f64<E>(self, _: f64) -> Result<$value, E> { Ok($empty) }
    };
    (@ str, $value:ty, $empty:expr) => {
        fn visit_str<E>(self, _: &str) -> Result<$value, E> { Ok($empty) }
    };
    (@ unit, $value:ty, $empty:expr) => {
        fn visit_unit<E>(self) -> Result<$value, E> { Ok($empty) }
    };
    (@ seq, $value:ty, $empty:expr) => {
        fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<$value, A::Error> {
            while seq.next_element::<IgnoredAny>()?.is_some() {}
            Ok($empty)
        }
    };
    (@ map, $value:ty, $empty:expr) => {
        fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<$value, A::Error> {
            while map.next_entry::<IgnoredAny, IgnoredAny>()?.is_some() {}
            Ok($empty)
        }
    };
    (@ expecting, $value:ty, $empty:expr) => {
        fn expecting(&self, f: &mut fmt::Formatter) -> fmt::Result { f.write_str("any value") }
    };
}

impl<'de: 'a, 'a> Deserialize<'de> for Text<'a> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct V;
        impl<'de> Visitor<'de> for V {
            type Value = Text<'de>;
            fn visit_borrowed_str<E>(self, text: &'de str) -> Result<Text<'de>, E> {
                Ok(Text(Some(Cow::Borrowed(text))))
            }
            fn visit_str<E: Error>(self, text: &str) -> Result<Text<'de>, E> {
                self.visit_string(text.to_string())
            }
            fn visit_string<E>(self, text: String) -> Result<Text<'de>, E> {
                Ok(Text(Some(Cow::Owned(text))))
            }
            fn visit_u64<E: Error>(self, number: u64) -> Result<Text<'de>, E> {
                self.visit_string(number.to_string())
            }
            fn visit_i64<E: Error>(self, number: i64) -> Result<Text<'de>, E> {
                self.visit_string(number.to_string())
            }
            fn visit_f64<E>(self, _: f64) -> Result<Text<'de>, E> {
                Ok(Text(None))
            }
            skips!(Text<'de>, Text(None); bool, unit, seq, map, expecting);
        }
        deserializer.deserialize_any(V)
    }
}

impl<'a> Escaped<'a> {
    /// The text without escapes.
    pub fn unescaped(&self) -> Cow<'a, str> {
        match self.0.contains('\\') {
            true => serde_json::from_slice(format!("\"{}\"", self.0).as_bytes()).map_or(Cow::Borrowed(""), Cow::Owned),
            false => Cow::Borrowed(self.0),
        }
    }

    /// The lines, still escaped.
    pub fn lines(self) -> impl Iterator<Item = Escaped<'a>> {
        let mut rest = Some(self.0);
        std::iter::from_fn(move || {
            let text = rest?;
            let mut bytes = text.bytes().enumerate();
            let end = loop {
                match bytes.next() {
                    // Skip the escaped character, so that it does not start another escape.
                    Some((at, b'\\')) if bytes.next().is_some_and(|(_, escaped)| escaped == b'n') => break Some(at),
                    Some(_) => {}
                    None => break None,
                }
            };
            rest = end.map(|end| &text[end + 2..]);
            let line = &text[..end.unwrap_or(text.len())];
            Some(Escaped(line.strip_suffix("\\r").unwrap_or(line)))
        })
    }
}

impl<'de: 'a, 'a> Deserialize<'de> for Escaped<'a> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let raw = <&RawValue>::deserialize(deserializer)?.get();
        Ok(Escaped(raw.strip_prefix('"').and_then(|raw| raw.strip_suffix('"')).unwrap_or_default()))
    }
}

impl<'de: 'a, 'a> Deserialize<'de> for RawJson<'a> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        <&RawValue>::deserialize(deserializer).map(|raw| RawJson(raw.get()))
    }
}

impl<'de: 'a, 'a, T: Deserialize<'de>> Deserialize<'de> for Entries<'a, T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct V<T>(PhantomData<T>);
        impl<'de, T: Deserialize<'de>> Visitor<'de> for V<T> {
            type Value = Entries<'de, T>;
            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
                let mut entries = Vec::new();
                while let Some((Text(key), value)) = map.next_entry::<Text, T>()? {
                    if let Some(key) = key
                        && entries.len() < LIST_MAX
                    {
                        entries.push((key, value));
                    }
                }
                Ok(Entries(entries))
            }
            skips!(Self::Value, Entries(Vec::new()); bool, numbers, str, unit, seq, expecting);
        }
        deserializer.deserialize_any(V(PhantomData))
    }
}

impl<'de> Deserialize<'de> for Flag {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct V;
        impl<'de> Visitor<'de> for V {
            type Value = Flag;
            fn visit_bool<E>(self, value: bool) -> Result<Flag, E> {
                Ok(Flag(value))
            }
            skips!(Flag, Flag(false); numbers, str, unit, seq, map, expecting);
        }
        deserializer.deserialize_any(V)
    }
}

impl<'de> Deserialize<'de> for Number {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct V;
        impl<'de> Visitor<'de> for V {
            type Value = Number;
            fn visit_u64<E>(self, value: u64) -> Result<Number, E> {
                Ok(Number(value.min(u64::from(u32::MAX)) as u32))
            }
            fn visit_i64<E>(self, _: i64) -> Result<Number, E> {
                Ok(Number(0))
            }
            fn visit_f64<E>(self, _: f64) -> Result<Number, E> {
                Ok(Number(0))
            }
            skips!(Number, Number(0); bool, str, unit, seq, map, expecting);
        }
        deserializer.deserialize_any(V)
    }
}

impl<'de: 'a, 'a, T: Deserialize<'de>> Deserialize<'de> for TextOrList<'a, T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct V<T>(PhantomData<T>);
        impl<'de, T: Deserialize<'de>> Visitor<'de> for V<T> {
            type Value = TextOrList<'de, T>;
            fn visit_borrowed_str<E>(self, text: &'de str) -> Result<Self::Value, E> {
                Ok(TextOrList::Text(Cow::Borrowed(text)))
            }
            fn visit_str<E>(self, text: &str) -> Result<Self::Value, E> {
                Ok(TextOrList::Text(Cow::Owned(text.to_string())))
            }
            fn visit_seq<A: SeqAccess<'de>>(self, seq: A) -> Result<Self::Value, A::Error> {
                bounded(seq, LIST_MAX).map(TextOrList::List)
            }
            skips!(Self::Value, TextOrList::Neither; bool, numbers, unit, map, expecting);
        }
        deserializer.deserialize_any(V(PhantomData))
    }
}

impl<'de: 'a, 'a> Deserialize<'de> for Pairs<'a> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let Entries(entries) = Entries::<Text>::deserialize(deserializer)?;
        Ok(Pairs(entries.into_iter().filter_map(|(key, value)| Some((key, value.0?))).collect()))
    }
}

impl<'de, T: Deserialize<'de> + Default> Deserialize<'de> for Object<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct V<T>(PhantomData<T>);
        impl<'de, T: Deserialize<'de> + Default> Visitor<'de> for V<T> {
            type Value = Object<T>;
            fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<Object<T>, A::Error> {
                T::deserialize(MapAccessDeserializer::new(map)).map(Object)
            }
            skips!(Object<T>, Object(T::default()); bool, numbers, str, unit, seq, expecting);
        }
        deserializer.deserialize_any(V(PhantomData))
    }
}

impl<'de, T: Deserialize<'de>, const MAX: usize> Deserialize<'de> for List<T, MAX> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct V<T, const MAX: usize>(PhantomData<T>);
        impl<'de, T: Deserialize<'de>, const MAX: usize> Visitor<'de> for V<T, MAX> {
            type Value = List<T, MAX>;
            fn visit_seq<A: SeqAccess<'de>>(self, seq: A) -> Result<Self::Value, A::Error> {
                bounded(seq, MAX).map(List)
            }
            skips!(Self::Value, List(Vec::new()); bool, numbers, str, unit, map, expecting);
        }
        deserializer.deserialize_any(V(PhantomData))
    }
}

/// The first items of a list; the rest is skipped.
fn bounded<'de, A: SeqAccess<'de>, T: Deserialize<'de>>(mut seq: A, items_max: usize) -> Result<Vec<T>, A::Error> {
    let mut items = Vec::new();
    while items.len() < items_max {
        match seq.next_element()? {
            Some(item) => items.push(item),
            None => return Ok(items),
        }
    }
    while seq.next_element::<IgnoredAny>()?.is_some() {}
    Ok(items)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Debug, Default, Deserialize)]
    #[serde(default, bound = "'de: 'a")]
    struct All<'a> {
        text: Text<'a>,
        escaped: Escaped<'a>,
        flag: Flag,
        number: Number,
        object: Object<Inner<'a>>,
        list: List<Text<'a>>,
        raw: RawJson<'a>,
        entries: Entries<'a, Text<'a>>,
    }

    #[derive(Debug, Default, Deserialize)]
    #[serde(default, bound = "'de: 'a")]
    struct Inner<'a> {
        text: Text<'a>,
    }

    #[test]
    fn takes_what_fits_and_skips_the_rest() {
        let odd = [r#""s""#, "7", "-7", "1.5", "true", "null", "[1,[2]]", r#"{"text":{"a":[]}}"#];
        for value in odd {
            let json = ["text", "escaped", "flag", "number", "object", "list", "raw", "entries"]
                .map(|name| format!("\"{name}\":{value}"))
                .join(",");
            let json = format!("{{{json}}}");
            let all: All = serde_json::from_str(&json).unwrap();
            assert_eq!(all.escaped.0, if value == r#""s""# { "s" } else { "" }, "{value}");
            assert_eq!(all.flag.0, value == "true", "{value}");
            assert_eq!(all.number.0, if value == "7" { 7 } else { 0 }, "{value}");
            assert_eq!(all.text.0.as_deref(), ["s", "7", "-7"].into_iter().find(|t| value.trim_matches('"') == *t));
            assert!(all.object.0.text.0.is_none());
            assert_eq!(all.raw.0, value);
            assert_eq!(all.entries.0.len(), usize::from(value.starts_with('{')), "{value}");
            assert_eq!(all.list.0.len(), if value.starts_with('[') { 2 } else { 0 });
        }
    }

    #[test]
    fn escaped_text_has_lines() {
        let lines = |text| Escaped(text).lines().map(|line| line.0).collect::<Vec<_>>();
        assert_eq!(lines(r"a\nb\r\n\\n\\\nc\n"), ["a", "b", r"\\n\\", "c", ""]);
        assert_eq!(lines(""), [""]);
        assert_eq!(lines(r"größe\"), [r"größe\"]);
    }

    #[test]
    fn lists_are_bounded() {
        let json = format!(r#"{{"list":[{}1]}}"#, "1,".repeat(LIST_MAX + 5));
        assert_eq!(serde_json::from_str::<All>(&json).unwrap().list.0.len(), LIST_MAX);
    }
}
