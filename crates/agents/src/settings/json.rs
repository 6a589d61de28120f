//! A parser for JSON with comments that records positions.
//!
//! Accepts JSON plus `//` and `/* */` comments, trailing commas and a byte order mark. Invariants:
//! - every span is on character boundaries of the parsed text, and children are inside their parent;
//! - recursion is limited by [`DEPTH_MAX`], so no text can exhaust the stack.
//!
//! It stores spans, not values: numbers keep their digits and strings their escapes, because nothing rewrites them.

use std::borrow::Cow;
use std::ops::Range;

use super::{DEPTH_MAX, EditorPosition, JsonKind, SettingsError, SyntaxProblem, TEXT_MAX_BYTES};

pub(super) const BOM: &str = "\u{feff}";

/// A value and its position.
#[derive(Debug)]
pub(super) struct Node {
    pub kind: JsonKind,
    /// The whole value, including brackets.
    pub span: Range<usize>,
    /// Members or elements in source order; empty for scalars.
    pub items: Vec<Item>,
    /// A line break precedes this value's item in its container.
    pub fresh_line: bool,
    /// There are comments directly inside, between the items.
    pub has_comments: bool,
}

/// A member of an object (with a key) or an element of an array (without).
#[derive(Debug)]
pub(super) struct Item {
    /// Start of the whitespace before the item: after the previous bracket, comma or comment.
    pub lead: usize,
    /// Whether a `//` comment ends at `lead`. It would swallow anything moved up behind it.
    pub after_line_comment: bool,
    /// Start of the key, or of the value of an element.
    pub start: usize,
    pub key: Option<String>,
    pub value: Node,
    /// The following comma, if any.
    pub comma: Option<usize>,
}

impl Item {
    pub fn end(&self) -> usize {
        self.value.span.end
    }
}

impl Node {
    /// The only member with this name, and its index.
    pub fn member(&self, text: &str, name: &str) -> Result<Option<(usize, &Item)>, SettingsError> {
        let mut named = self.items.iter().enumerate().filter(|(_, item)| item.key.as_deref() == Some(name));
        let first = named.next();
        match named.next() {
            None => Ok(first),
            Some((_, second)) => {
                Err(SettingsError::DuplicateKey { at: position(text, second.start), key: name.to_owned() })
            }
        }
    }

    /// The decoded string, if this is one.
    pub fn string(&self, text: &str) -> Option<String> {
        (self.kind == JsonKind::String).then(|| decode(&text[self.span.clone()]))
    }
}

/// Whether the text has only whitespace (and a byte order mark).
pub(super) fn is_blank(text: &str) -> bool {
    let text = text.strip_prefix(BOM).unwrap_or(text);
    text.bytes().all(is_whitespace)
}

/// The text, or an empty object if it is blank.
pub(super) fn or_empty_object(text: &str) -> Cow<'_, str> {
    if !is_blank(text) {
        return Cow::Borrowed(text);
    }
    let bom = if text.starts_with(BOM) { BOM } else { "" };
    let newline = if text.contains("\r\n") { "\r\n" } else { "\n" };
    Cow::Owned(format!("{bom}{{}}{newline}"))
}

pub(super) fn expect_kind(text: &str, node: &Node, path: &str, expected: JsonKind) -> Result<(), SettingsError> {
    if node.kind == expected {
        return Ok(());
    }
    let at = position(text, node.span.start);
    Err(SettingsError::WrongType { at, path: path.to_owned(), expected, found: node.kind })
}

/// Line and column of a byte offset.
pub(super) fn position(text: &str, offset: usize) -> EditorPosition {
    let before = &text[..offset];
    let line_start = before.rfind('\n').map_or(0, |at| at + 1);
    EditorPosition {
        line: 1 + before.bytes().filter(|&byte| byte == b'\n').count(),
        column: 1 + before[line_start..].trim_start_matches(BOM).chars().count(),
    }
}

/// Parses a whole text.
pub(super) fn parse(text: &str) -> Result<Node, SettingsError> {
    if text.len() > TEXT_MAX_BYTES {
        return Err(SettingsError::TooLarge { bytes: text.len() });
    }
    let at = if text.starts_with(BOM) { BOM.len() } else { 0 };
    let mut parser = Parser { text, at };
    parser.trivia()?;
    let mut root = parser.value(0)?;
    root.fresh_line = true;
    parser.trivia()?;
    match parser.peek() {
        None => Ok(root),
        Some(_) => Err(parser.unexpected()),
    }
}

/// The end of the last comment that starts on the same line as `from` (`from` itself if there is none), and whether
/// it is a `//` comment. `from` must be outside of strings and comments of a valid text.
pub(super) fn same_line_end(text: &str, from: usize) -> (usize, bool) {
    let mut parser = Parser { text, at: from };
    let mut end = from;
    loop {
        while matches!(parser.peek(), Some(b' ' | b'\t')) {
            parser.at += 1;
        }
        match parser.comment() {
            Ok(Some(Comment::Block)) => end = parser.at,
            Ok(Some(Comment::Line)) => return (parser.at, true),
            Ok(None) | Err(_) => return (end, false),
        }
    }
}

pub(super) fn is_whitespace(byte: u8) -> bool {
    matches!(byte, b' ' | b'\t' | b'\n' | b'\r')
}

fn decode(token: &str) -> String {
    // A lone surrogate is valid JSON but not a Rust string; the raw token then matches no name we look for.
    serde_json::from_slice(token.as_bytes()).unwrap_or_else(|_| token.to_owned())
}

enum Comment {
    Line,
    Block,
}

/// Whitespace and comments between two tokens.
struct Trivia {
    lead: usize,
    after_line_comment: bool,
    fresh_line: bool,
    has_comments: bool,
}

struct Parser<'a> {
    text: &'a str,
    at: usize,
}

impl Parser<'_> {
    fn peek(&self) -> Option<u8> {
        self.text.as_bytes().get(self.at).copied()
    }

    fn fail(&self, offset: usize, problem: SyntaxProblem) -> SettingsError {
        SettingsError::Syntax { at: position(self.text, offset), problem }
    }

    fn unexpected(&self) -> SettingsError {
        let problem = match self.text[self.at..].chars().next() {
            Some(found) => SyntaxProblem::UnexpectedCharacter(found),
            None => SyntaxProblem::UnexpectedEnd,
        };
        self.fail(self.at, problem)
    }

    fn trivia(&mut self) -> Result<Trivia, SettingsError> {
        let mut seen = Trivia { lead: self.at, after_line_comment: false, fresh_line: false, has_comments: false };
        loop {
            while let Some(byte) = self.peek().filter(|&byte| is_whitespace(byte)) {
                seen.fresh_line |= byte == b'\n' || byte == b'\r';
                self.at += 1;
            }
            let Some(comment) = self.comment()? else {
                return Ok(seen);
            };
            seen.lead = self.at;
            seen.after_line_comment = matches!(comment, Comment::Line);
            seen.has_comments = true;
        }
    }

    fn comment(&mut self) -> Result<Option<Comment>, SettingsError> {
        let rest = &self.text[self.at..];
        if rest.starts_with("//") {
            self.at += rest.find(['\n', '\r']).unwrap_or(rest.len());
            return Ok(Some(Comment::Line));
        }
        let Some(body) = rest.strip_prefix("/*") else {
            return Ok(None);
        };
        let Some(length) = body.find("*/") else {
            return Err(self.fail(self.at, SyntaxProblem::UnclosedComment));
        };
        self.at += "/*".len() + length + "*/".len();
        Ok(Some(Comment::Block))
    }

    fn value(&mut self, depth: usize) -> Result<Node, SettingsError> {
        match self.peek() {
            Some(b'{') => self.container(JsonKind::Object, depth),
            Some(b'[') => self.container(JsonKind::Array, depth),
            Some(b'"') => {
                let span = self.string()?;
                Ok(scalar(JsonKind::String, span))
            }
            Some(_) => self.word(),
            None => Err(self.unexpected()),
        }
    }

    fn container(&mut self, kind: JsonKind, depth: usize) -> Result<Node, SettingsError> {
        if depth == DEPTH_MAX {
            return Err(SettingsError::TooDeep { at: position(self.text, self.at) });
        }
        let start = self.at;
        let close = if kind == JsonKind::Object { b'}' } else { b']' };
        let mut items: Vec<Item> = Vec::new();
        let mut has_comments = false;
        self.at += 1;
        loop {
            let before = self.trivia()?;
            has_comments |= before.has_comments;
            if self.peek() == Some(close) {
                self.at += 1;
                break;
            }
            if items.last().is_some_and(|last| last.comma.is_none()) {
                return Err(self.unexpected());
            }
            let mut item = self.item(kind, depth, &before)?;
            let after_value = self.at;
            has_comments |= self.trivia()?.has_comments;
            if self.peek() == Some(b',') {
                item.comma = Some(self.at);
                self.at += 1;
            } else {
                // What follows belongs to the next item or the bracket, so it is read again there.
                self.at = after_value;
            }
            items.push(item);
        }
        Ok(Node { kind, span: start..self.at, items, fresh_line: false, has_comments })
    }

    fn item(&mut self, kind: JsonKind, depth: usize, before: &Trivia) -> Result<Item, SettingsError> {
        let start = self.at;
        let mut key = None;
        if kind == JsonKind::Object {
            if self.peek() != Some(b'"') {
                return Err(self.unexpected());
            }
            let span = self.string()?;
            key = Some(decode(&self.text[span]));
            self.trivia()?;
            if self.peek() != Some(b':') {
                return Err(self.unexpected());
            }
            self.at += 1;
            self.trivia()?;
        }
        let mut value = self.value(depth + 1)?;
        value.fresh_line = before.fresh_line;
        Ok(Item { lead: before.lead, after_line_comment: before.after_line_comment, start, key, value, comma: None })
    }

    fn string(&mut self) -> Result<Range<usize>, SettingsError> {
        let start = self.at;
        self.at += 1;
        loop {
            match self.peek() {
                None => return Err(self.fail(start, SyntaxProblem::UnclosedString)),
                Some(b'"') => break,
                Some(b'\\') => self.escape()?,
                Some(0..0x20) => return Err(self.fail(self.at, SyntaxProblem::ControlCharacter)),
                Some(_) => self.at += 1,
            }
        }
        self.at += 1;
        Ok(start..self.at)
    }

    fn escape(&mut self) -> Result<(), SettingsError> {
        let rest = &self.text.as_bytes()[self.at + 1..];
        let length = match rest {
            [b'"' | b'\\' | b'/' | b'b' | b'f' | b'n' | b'r' | b't', ..] => 1,
            [b'u', a, b, c, d, ..] if [a, b, c, d].iter().all(|digit| digit.is_ascii_hexdigit()) => 5,
            _ => return Err(self.fail(self.at, SyntaxProblem::BadEscape)),
        };
        self.at += 1 + length;
        Ok(())
    }

    fn word(&mut self) -> Result<Node, SettingsError> {
        let start = self.at;
        while self.peek().is_some_and(|byte| byte.is_ascii_alphanumeric() || b"+-.".contains(&byte)) {
            self.at += 1;
        }
        let word = &self.text[start..self.at];
        let kind = match word {
            "" => return Err(self.unexpected()),
            "null" => JsonKind::Null,
            "true" | "false" => JsonKind::Bool,
            _ if serde_json::from_slice::<serde::de::IgnoredAny>(word.as_bytes()).is_ok() => JsonKind::Number,
            _ => return Err(self.fail(start, SyntaxProblem::BadWord)),
        };
        Ok(scalar(kind, start..self.at))
    }
}

fn scalar(kind: JsonKind, span: Range<usize>) -> Node {
    Node { kind, span, items: Vec::new(), fresh_line: false, has_comments: false }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn problem_at(text: &str) -> (usize, usize, SyntaxProblem) {
        match parse(text) {
            Err(SettingsError::Syntax { at, problem }) => (at.line, at.column, problem),
            other => panic!("{text:?} gave {other:?}"),
        }
    }

    #[test]
    fn accepts_json_with_comments() {
        for text in [
            "{}",
            "\u{feff}{}",
            "[1, -0.5e+9, 1e999, true, false, null, \"\\ud800\\n\\u00e9\"]",
            "// a\n{ /* b */ \"k\" /* c */ : /* d */ 1 /* e */ , // f\r\n } // g",
            "[1,]",
            "{\"a\":{\"b\":[],},}",
            "\"just a string\"",
            "{\"\u{1f600}\": \"\u{7f}\"} /* end */",
        ] {
            assert!(parse(text).is_ok(), "{text:?}: {:?}", parse(text));
        }
    }

    #[test]
    fn errors_have_a_position() {
        use SyntaxProblem::{
            BadEscape, BadWord, ControlCharacter, UnclosedComment, UnclosedString, UnexpectedCharacter, UnexpectedEnd,
        };
        for (text, line, column, problem) in [
            ("", 1, 1, UnexpectedEnd),
            ("// only a comment", 1, 18, UnexpectedEnd),
            ("{\n  \"a\": 1\n  \"b\": 2\n}", 3, 3, UnexpectedCharacter('"')),
            ("\u{feff}{,}", 1, 2, UnexpectedCharacter(',')),
            ("[,]", 1, 2, UnexpectedCharacter(',')),
            ("[1,,]", 1, 4, UnexpectedCharacter(',')),
            ("[1}", 1, 3, UnexpectedCharacter('}')),
            ("{\"\u{e9}\u{e9}\" 1}", 1, 7, UnexpectedCharacter('1')),
            ("{a: 1}", 1, 2, UnexpectedCharacter('a')),
            ("{} x", 1, 4, UnexpectedCharacter('x')),
            ("{\u{a0}}", 1, 2, UnexpectedCharacter('\u{a0}')),
            ("{\"a\":", 1, 6, UnexpectedEnd),
            ("{ /* ", 1, 3, UnclosedComment),
            ("[\"ab", 1, 2, UnclosedString),
            ("[\"ab\\", 1, 5, BadEscape),
            ("[\"\\x\"]", 1, 3, BadEscape),
            ("[\"\\u12g4\"]", 1, 3, BadEscape),
            ("[\"a\nb\"]", 1, 4, ControlCharacter),
            ("[01]", 1, 2, BadWord),
            ("[1.]", 1, 2, BadWord),
            ("[NaN]", 1, 2, BadWord),
            ("[True]", 1, 2, BadWord),
            ("'a'", 1, 1, UnexpectedCharacter('\'')),
        ] {
            assert_eq!(problem_at(text), (line, column, problem), "{text:?}");
        }
    }

    #[test]
    fn nesting_and_size_are_limited() {
        let nested = |depth: usize| format!("{}{}", "[".repeat(depth), "]".repeat(depth));
        assert!(parse(&nested(DEPTH_MAX)).is_ok());
        let column = DEPTH_MAX + 1;
        let too_deep = SettingsError::TooDeep { at: EditorPosition { line: 1, column } };
        assert_eq!(parse(&nested(DEPTH_MAX + 1)).err(), Some(too_deep.clone()));
        assert_eq!(parse(&nested(100_000)).err(), Some(too_deep.clone()));
        assert_eq!(parse(&"[".repeat(100_000)).err(), Some(too_deep));
        assert!(matches!(parse(&"{\"a\":".repeat(100_000)), Err(SettingsError::TooDeep { .. })));
        let bytes = TEXT_MAX_BYTES + 1;
        assert_eq!(parse(&" ".repeat(bytes)).err(), Some(SettingsError::TooLarge { bytes }));
    }

    #[test]
    fn the_text_before_an_item_is_known() {
        let text = "[ // c  \n  1, /* d */ 2\n]";
        let root = parse(text).unwrap();
        let [one, two] = &root.items[..] else { panic!("two items") };
        assert_eq!(&text[..one.lead], "[ // c  ");
        assert!(one.after_line_comment && one.value.fresh_line && root.has_comments);
        assert_eq!(&text[..two.lead], "[ // c  \n  1, /* d */");
        assert!(!two.after_line_comment && !two.value.fresh_line);
        assert_eq!((one.comma.is_some(), two.comma), (true, None));
    }

    #[test]
    fn keys_are_compared_decoded_and_must_be_unique() {
        let text = "{\"hoo\\u006bs\": 1, \"a\": 2}";
        let root = parse(text).unwrap();
        assert_eq!(root.member(text, "hooks").unwrap().map(|(index, _)| index), Some(0));
        let twice = "{\"a\": 1,\n \"a\": 2}";
        let at = EditorPosition { line: 2, column: 2 };
        let error = parse(twice).unwrap().member(twice, "a").map(|found| found.is_some());
        assert_eq!(error, Err(SettingsError::DuplicateKey { at, key: "a".to_owned() }));
    }
}
