//! Small edits of a parsed text: replace values, append items, remove items.
//!
//! Invariants:
//! - bytes outside of the changed spans are copied, so foreign text cannot be reformatted by accident;
//! - removing what was just appended restores the old text byte for byte, unless the container held only whitespace;
//!   then it becomes `{}` or `[]`;
//! - a line comment never swallows what was on the next line.
//!
//! It never deletes a comment next to a removed item, only comments inside it.

use std::ops::Range;

use super::JsonKind;
use super::json::{Item, Node, is_whitespace, same_line_end};

/// The longest indentation that is copied, because it is repeated on every new line.
const INDENT_MAX_BYTES: usize = 256;

/// A value to write.
#[derive(Debug, Clone)]
pub enum Json<'a> {
    Bool(bool),
    Number(u32),
    Text(&'a str),
    Array(Vec<Json<'a>>),
    Object(Vec<(&'a str, Json<'a>)>),
}

/// How the items of a container are laid out.
#[derive(Debug, Clone)]
enum Layout {
    Inline,
    /// One item per line with this indentation, down to the innermost array. Agents write their settings this way, so
    /// our text stays the same when an agent rewrites its file.
    Lines(String),
}

/// The style of a file, which new text follows.
#[derive(Debug)]
struct FileStyle {
    newline: &'static str,
    indent_unit: String,
    /// A space follows colons, and commas within a line.
    is_spaced: bool,
}

impl FileStyle {
    fn of(text: &str, root: &Node) -> FileStyle {
        let newline = match text.find('\n') {
            Some(at) if text[..at].ends_with('\r') => "\r\n",
            _ => "\n",
        };
        let indent_unit = first_container(root, &|container| {
            let item = container.items.first().filter(|item| item.value.fresh_line)?;
            let outer = line_indent(text, container.span.start);
            let unit = line_indent(text, item.start).strip_prefix(outer)?;
            (!unit.is_empty()).then(|| unit.to_owned())
        });
        let is_spaced = first_container(root, &|container| {
            let item = container.items.first().filter(|item| item.key.is_some())?;
            let before_value = text[..item.value.span.start].bytes().next_back();
            Some(before_value.is_some_and(is_whitespace))
        });
        FileStyle {
            newline,
            indent_unit: indent_unit.unwrap_or_else(|| "  ".to_owned()),
            is_spaced: is_spaced.unwrap_or(true),
        }
    }

    /// The whitespace before an item of such a container.
    fn lead(&self, layout: &Layout) -> String {
        match layout {
            Layout::Inline if self.is_spaced => " ".to_owned(),
            Layout::Inline => String::new(),
            Layout::Lines(indent) => format!("{}{indent}", self.newline),
        }
    }

    fn value(&self, json: &Json<'_>, around: &Layout) -> String {
        let (open, close) = match json {
            Json::Bool(truth) => return truth.to_string(),
            Json::Number(number) => return number.to_string(),
            Json::Text(text) => return quoted(text),
            Json::Array(_) => ('[', ']'),
            Json::Object(_) => ('{', '}'),
        };
        let inside = match around {
            Layout::Inline => Layout::Inline,
            Layout::Lines(indent) => Layout::Lines(format!("{indent}{}", self.indent_unit)),
        };
        let items = self.items(json, &inside);
        if items.is_empty() {
            return format!("{open}{close}");
        }
        format!("{open}{}{close}", self.filling(&items, &inside, around))
    }

    /// The text between the brackets of a container with just these items.
    fn filling(&self, items: &[String], inside: &Layout, around: &Layout) -> String {
        let joined = items.join(&format!(",{}", self.lead(inside)));
        match inside {
            Layout::Inline => joined,
            Layout::Lines(_) => format!("{}{joined}{}", self.lead(inside), self.lead(around)),
        }
    }

    /// The members or elements as texts.
    fn items(&self, json: &Json<'_>, layout: &Layout) -> Vec<String> {
        let gap = if self.is_spaced { " " } else { "" };
        match json {
            Json::Bool(_) | Json::Number(_) | Json::Text(_) => Vec::new(),
            Json::Array(elements) => elements.iter().map(|element| self.value(element, layout)).collect(),
            Json::Object(members) => members
                .iter()
                .map(|(key, value)| format!("{}:{gap}{}", quoted(key), self.value(value, layout)))
                .collect(),
        }
    }
}

/// Collects changes to one text and applies them together, so that spans stay valid while planning.
#[derive(Debug)]
pub(super) struct Editor<'a> {
    text: &'a str,
    style: FileStyle,
    changes: Vec<(Range<usize>, String)>,
}

impl<'a> Editor<'a> {
    pub fn new(text: &'a str, root: &Node) -> Self {
        Editor { text, style: FileStyle::of(text, root), changes: Vec::new() }
    }

    /// The changed text. Changes must not overlap; callers never change anything inside what they remove.
    pub fn finish(mut self) -> String {
        self.changes.sort_by_key(|(span, _)| span.start);
        let mut changed = String::with_capacity(self.text.len());
        let mut copied = 0;
        for (span, replacement) in &self.changes {
            debug_assert!(copied <= span.start, "overlapping changes at byte {}", span.start);
            changed.push_str(self.text.get(copied..span.start).unwrap_or_default());
            changed.push_str(replacement);
            copied = span.end;
        }
        changed.push_str(self.text.get(copied..).unwrap_or_default());
        changed
    }

    pub fn replace(&mut self, node: &Node, with: &Json<'_>) {
        let text = self.style.value(with, &Layout::Inline);
        self.change(node.span.clone(), text);
    }

    /// Appends the members (or elements) of `new` to a container of the same kind.
    pub fn append(&mut self, container: &Node, new: &Json<'_>) {
        let open_end = container.span.start + 1;
        let layout = self.layout(container);
        let items = self.style.items(new, &layout);
        if items.is_empty() {
            return;
        }
        let lead = self.style.lead(&layout);
        let joined = format!("{lead}{}", items.join(&format!(",{lead}")));
        match container.items.last() {
            None if container.has_comments => {
                let (at, _) = same_line_end(self.text, open_end);
                self.change(at..at, joined);
            }
            None => {
                let around = Layout::Lines(line_indent(self.text, container.span.start).to_owned());
                let filling = self.style.filling(&items, &layout, &around);
                self.change(inside(container), filling);
            }
            Some(Item { comma: Some(comma), .. }) => {
                let (at, _) = same_line_end(self.text, comma + 1);
                self.change(at..at, format!("{joined},"));
            }
            Some(last) => {
                // The comma goes directly after the value, because a comment after it may be a line comment.
                self.change(last.end()..last.end(), ",".to_owned());
                let (at, _) = same_line_end(self.text, last.end());
                self.change(at..at, joined);
            }
        }
    }

    /// Removes the items at these ascending indexes, with their commas and whitespace.
    pub fn remove(&mut self, container: &Node, doomed: &[usize]) {
        if doomed.is_empty() {
            return;
        }
        let items = &container.items;
        let is_doomed = |index: usize| doomed.binary_search(&index).is_ok();
        let survivor = (0..items.len()).rev().find(|&index| !is_doomed(index));
        if survivor.is_none() && !container.has_comments {
            return self.change(inside(container), String::new());
        }
        for &index in doomed {
            let Some(item) = items.get(index) else {
                continue;
            };
            let end = self.end_with_comma(item);
            let next = items.get(index + 1).filter(|next| next.lead == end && !is_doomed(index + 1));
            if let (0, Some(next)) = (index, next) {
                // Keep the whitespace of the first item: `[ours, b]` becomes `[b]`.
                self.change(item.start..next.start, String::new());
                continue;
            }
            let keep_newline = item.after_line_comment && !self.is_line_over(items, index, &is_doomed);
            let left = if keep_newline { self.style.newline } else { "" };
            self.change(item.lead..end, left.to_owned());
            if let Some(comma) = item.comma.filter(|&comma| comma >= end) {
                self.change(comma..comma + 1, String::new());
            }
        }
        // If our item was last and had no comma, its predecessor's comma only separated the two.
        let last_has_comma = items.last().is_some_and(|last| last.comma.is_some());
        let predecessor = survivor.filter(|&index| index + 1 < items.len()).and_then(|index| items.get(index));
        if let (false, Some(comma)) = (last_has_comma, predecessor.and_then(|item| item.comma)) {
            self.change(comma..comma + 1, String::new());
        }
    }

    /// The position after the item's comma, or after its value if there is no comma or comments come between.
    fn end_with_comma(&self, item: &Item) -> usize {
        match item.comma {
            Some(comma) if self.text[item.end()..comma].bytes().all(is_whitespace) => comma + 1,
            _ => item.end(),
        }
    }

    /// Whether a line break follows once this item and those removed directly after it are gone.
    fn is_line_over(&self, items: &[Item], index: usize, is_doomed: &impl Fn(usize) -> bool) -> bool {
        let Some(mut end) = items.get(index).map(|item| self.end_with_comma(item)) else {
            return true;
        };
        for (next_index, next) in items.iter().enumerate().skip(index + 1) {
            if next.lead != end || !is_doomed(next_index) {
                break;
            }
            end = self.end_with_comma(next);
        }
        self.text[end..].trim_start_matches([' ', '\t']).starts_with(['\n', '\r'])
    }

    fn layout(&self, container: &Node) -> Layout {
        let nested = || {
            let outer = line_indent(self.text, container.span.start);
            Layout::Lines(format!("{outer}{}", self.style.indent_unit))
        };
        let has_line_break = || self.text[inside(container)].contains(['\n', '\r']);
        match container.items.last() {
            Some(last) if last.value.fresh_line => Layout::Lines(line_indent(self.text, last.start).to_owned()),
            Some(last) => {
                let behind = last.comma.map_or(last.end(), |comma| comma + 1);
                let (_, is_line_comment) = same_line_end(self.text, behind);
                if is_line_comment { nested() } else { Layout::Inline }
            }
            None if has_line_break() || (container.fresh_line && !container.has_comments) => nested(),
            None => Layout::Inline,
        }
    }

    fn change(&mut self, span: Range<usize>, replacement: String) {
        self.changes.push((span, replacement));
    }
}

fn quoted(text: &str) -> String {
    serde_json::Value::from(text).to_string()
}

/// The range between the brackets.
fn inside(container: &Node) -> Range<usize> {
    debug_assert!(matches!(container.kind, JsonKind::Object | JsonKind::Array), "only containers have an inside");
    container.span.start + 1..container.span.end - 1
}

/// The indentation of the line at this offset, up to the maximum length.
fn line_indent(text: &str, offset: usize) -> &str {
    let line_start = text[..offset].rfind(['\n', '\r']).map_or(0, |at| at + 1);
    let line = &text[line_start..offset];
    let length = line.bytes().take(INDENT_MAX_BYTES).take_while(|byte| matches!(byte, b' ' | b'\t')).count();
    &line[..length]
}

/// The first match in document order. The parser limits the depth of the recursion.
fn first_container<T>(node: &Node, ask: &impl Fn(&Node) -> Option<T>) -> Option<T> {
    let nested = || node.items.iter().find_map(|item| first_container(&item.value, ask));
    ask(node).or_else(nested)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::settings::json::parse;

    fn appended(text: &str) -> String {
        let root = parse(text).unwrap();
        let mut editor = Editor::new(text, &root);
        let value = Json::Array(vec![Json::Number(1)]);
        match root.kind {
            JsonKind::Array => editor.append(&root, &Json::Array(vec![value.clone(), value])),
            _ => editor.append(&root, &Json::Object(vec![("y", value.clone()), ("z", value)])),
        }
        editor.finish()
    }

    fn removed(text: &str, doomed: &[usize]) -> String {
        let root = parse(text).unwrap();
        let mut editor = Editor::new(text, &root);
        editor.remove(&root, doomed);
        let changed = editor.finish();
        assert!(parse(&changed).is_ok(), "{text:?} became {changed:?}");
        changed
    }

    #[test]
    fn appends_in_the_style_of_the_file_and_removes_again() {
        for (text, expected) in [
            ("{}", "{\n  \"y\": [\n    1\n  ],\n  \"z\": [\n    1\n  ]\n}"),
            ("{\"a\":1}", "{\"a\":1,\"y\":[1],\"z\":[1]}"),
            ("{ \"a\": 1 }", "{ \"a\": 1, \"y\": [1], \"z\": [1] }"),
            ("[1,2,]", "[1,2, [1], [1],]"),
            ("[{\"a\":1}]", "[{\"a\":1},[1],[1]]"),
            (
                "{\r\n\t\"a\": 1\r\n}\r\n",
                "{\r\n\t\"a\": 1,\r\n\t\"y\": [\r\n\t\t1\r\n\t],\r\n\t\"z\": [\r\n\t\t1\r\n\t]\r\n}\r\n",
            ),
            (
                "{\n    \"a\":1,\n}",
                "{\n    \"a\":1,\n    \"y\":[\n        1\n    ],\n    \"z\":[\n        1\n    ],\n}",
            ),
            (
                "{\n \"a\": 1 // note, \n // end\n}",
                "{\n \"a\": 1, // note, \n \"y\": [\n  1\n ],\n \"z\": [\n  1\n ]\n // end\n}",
            ),
            ("{\"a\": 1 /* b */ }", "{\"a\": 1, /* b */ \"y\": [1], \"z\": [1] }"),
            ("{\"a\": 1 // b\n}", "{\"a\": 1, // b\n  \"y\": [\n    1\n  ],\n  \"z\": [\n    1\n  ]\n}"),
            ("{ // b\n}", "{ // b\n  \"y\": [\n    1\n  ],\n  \"z\": [\n    1\n  ]\n}"),
            ("{ /* b */ }", "{ /* b */ \"y\": [1], \"z\": [1] }"),
            ("{\"a\": 1 /* b */ , /* c */ }", "{\"a\": 1 /* b */ , /* c */ \"y\": [1], \"z\": [1], }"),
        ] {
            let after = appended(text);
            assert_eq!(after, expected);
            let count = parse(&after).unwrap().items.len();
            assert_eq!(removed(&after, &[count - 2, count - 1]), text);
        }
    }

    #[test]
    fn a_container_with_only_whitespace_becomes_empty() {
        for text in ["{ }", "{\n}", "{\n\n}"] {
            assert_eq!(removed(&appended(text), &[0, 1]), "{}");
        }
    }

    #[test]
    fn removes_an_item_with_its_comma_and_whitespace() {
        for (text, doomed, expected) in [
            ("[1, 2, 3]", &[0][..], "[2, 3]"),
            ("[1, 2, 3]", &[1], "[1, 3]"),
            ("[1, 2, 3]", &[2], "[1, 2]"),
            ("[1, 2, 3,]", &[2], "[1, 2,]"),
            ("[ 1, 2 ]", &[0, 1], "[]"),
            ("[\n  1,\n  2\n]", &[0], "[\n  2\n]"),
            ("[\n  1,\n  2\n]", &[1], "[\n  1\n]"),
            ("[1, // a\n 2]", &[1], "[1 // a\n]"),
            ("[// a\n 1, 2]", &[0], "[// a\n 2]"),
            ("[// a\n 1,\n 2]", &[0, 1], "[// a\n]"),
            ("[// a\n 1, /* b\n */ 2]", &[0, 1], "[// a\n /* b\n */]"),
            ("[// a\n 1 /* b\n */, 2]", &[0], "[// a\n /* b\n */ 2]"),
            ("[0, // a\r\n 1 /* b\r\n */, 2]", &[1, 2], "[0 // a\r\n /* b\r\n */]"),
            ("[1 // a\n, 2]", &[1], "[1 // a\n]"),
            ("[1, 2 /* of two */]", &[1], "[1 /* of two */]"),
        ] {
            assert_eq!(removed(text, doomed), expected, "{text:?}");
        }
    }

    #[test]
    fn a_very_long_indentation_is_not_repeated() {
        let text = format!("{{\n{}\"a\": 1\n}}", " ".repeat(100_000));
        assert!(appended(&text).len() < text.len() + 10_000);
    }
}
