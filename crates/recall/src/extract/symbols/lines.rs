//! Finds definitions by lines: which line begins one, what encloses it and where it ends, by indentation.
//!
//! Indentation is robust against missing braces, so this also reads broken code. It expects conventionally
//! formatted code and misses the rest. It never reads a line twice.

use super::definition::Around;
use super::headers;
use super::patterns::{self, DefinitionShape, Extent, Patterns};
use super::{DEFINITIONS_MAX, Definition, Language, NESTING_MAX, Role, qualified};

/// Further lines are ignored.
const LINES_MAX: usize = 200_000;
const TAB_COLUMNS: usize = 4;

/// Everything `source` defines, in source order, outer before inner.
pub(super) fn definitions(language: Language, source: &str) -> Vec<Definition> {
    let mut lines: Vec<&str> = source.lines().take(LINES_MAX).collect();
    if matches!(language, Language::Vue | Language::Svelte) && source.contains("<script") {
        keep_script(&mut lines);
    }
    let mut scan = LineScan {
        patterns: patterns::of(language),
        found: Vec::new(),
        open: Vec::new(),
        attached: None,
        last_code: 0,
        quote: None,
        in_comment: false,
        in_dollars: false,
        in_attribute: 0,
    };
    for (at, line) in lines.iter().enumerate() {
        let next = lines[at + 1..].iter().take(3).map(|line| line.trim_start()).find(|line| !line.is_empty());
        scan.line(u32::try_from(at + 1).unwrap_or(u32::MAX), line, next.unwrap_or_default());
        if scan.found.len() >= DEFINITIONS_MAX {
            break;
        }
    }
    let last = scan.last_code;
    while let Some(open) = scan.open.pop() {
        scan.found[open.index].end = last.max(scan.found[open.index].start);
    }
    scan.found.retain(|found| found.role != Role::Object || found.has_members);
    scan.found
}

/// Empties the lines of a component that are not its script.
fn keep_script(lines: &mut [&str]) {
    let mut is_script = false;
    for line in lines {
        let tag = line.trim_start();
        let is_kept = is_script && !tag.starts_with("</script");
        is_script = is_kept || tag.starts_with("<script") && !line.contains("</script");
        if !is_kept {
            *line = "";
        }
    }
}

struct OpenDefinition {
    indent: usize,
    index: usize,
    /// Parentheses of the head that are still open.
    parens: i32,
}

struct LineScan {
    patterns: &'static Patterns,
    found: Vec<Definition>,
    open: Vec<OpenDefinition>,
    /// The lines of the most recent comments and attributes.
    attached: Option<(u32, u32)>,
    last_code: u32,
    /// The multi-line quote that is open.
    quote: Option<&'static str>,
    in_comment: bool,
    in_dollars: bool,
    /// Brackets of an attribute that are still open.
    in_attribute: i32,
}

impl LineScan {
    fn line(&mut self, number: u32, whole: &str, next: &str) {
        let text = whole.trim();
        if text.is_empty() {
            return;
        }
        if self.in_comment || self.quote.is_some() {
            self.go_on_quoted(number, text);
            return;
        }
        if self.is_aside(number, text) {
            return;
        }
        let indent = indent_of(whole);
        self.quote = self.open_quote(text);
        if self.patterns.extent == Extent::Statement {
            self.statement(number, text);
        } else {
            self.close(number, indent, text);
            self.begin(number, indent, text, next);
        }
        self.last_code = number;
    }

    /// Inside a block comment or a multi-line string.
    fn go_on_quoted(&mut self, number: u32, text: &str) {
        if self.in_comment {
            self.in_comment = !text.contains("*/");
            self.attach(number);
            return;
        }
        self.last_code = number;
        if let Some(quote) = self.quote
            && let Some((_, after)) = text.split_once(quote)
        {
            self.quote = self.open_quote(after);
        }
    }

    /// Comments, attributes, preprocessor lines and labels: they neither open nor close anything.
    fn is_aside(&mut self, number: u32, text: &str) -> bool {
        if self.patterns.comments.iter().any(|begin| text.starts_with(begin)) && !self.is_attribute(text) {
            self.in_comment = text.starts_with("/*") && !text.contains("*/");
            if !text.starts_with("//!") {
                self.attach(number);
            }
            return true;
        }
        // `@cached(` and `@Component({` go on below.
        let left_open = self.in_attribute + unclosed(text);
        if self.in_attribute > 0 || self.is_attribute(text) && (left_open > 0 || !is_followed_by_code(text)) {
            self.in_attribute = left_open.max(0);
            self.attach(number);
            return true;
        }
        let is_braced = self.patterns.shapes.contains(&DefinitionShape::Typed);
        let is_label =
            text.ends_with(':') && text.trim_end_matches(':').chars().all(|c| c.is_alphanumeric() || c == '_');
        is_braced && (text.starts_with('#') || is_label)
    }

    fn is_attribute(&self, text: &str) -> bool {
        self.patterns.attributes.iter().any(|begin| text.starts_with(begin))
    }

    fn attach(&mut self, number: u32) {
        self.attached = match self.attached {
            Some((first, last)) if last + 1 >= number => Some((first, number)),
            _ => Some((number, number)),
        };
    }

    /// The multi-line quote that this line leaves open.
    fn open_quote(&self, text: &str) -> Option<&'static str> {
        if self.patterns.quotes.is_empty() {
            return None;
        }
        let comments = self.patterns.comments.iter().filter(|begin| **begin != "*");
        let mut rest = text;
        while let Some(at) = rest.find(['"', '\'', '`', '#', '/']) {
            rest = &rest[at..];
            if comments.clone().any(|begin| rest.starts_with(begin)) {
                return None;
            }
            if let Some(quote) = self.patterns.quotes.iter().find(|quote| rest.starts_with(**quote)) {
                match after_quote(&rest[quote.len()..], quote) {
                    Some(after) => rest = after,
                    None => return Some(quote),
                }
            } else if rest.starts_with(['"', '\'']) {
                rest = after_quote(&rest[1..], &rest[..1])?;
            } else {
                rest = &rest[1..];
            }
        }
        None
    }

    /// Ends the definitions that do not contain this line.
    fn close(&mut self, number: u32, indent: usize, text: &str) {
        while let Some(open) = self.open.last_mut() {
            let is_in_head = open.parens > 0;
            if is_in_head {
                open.parens += unclosed(text);
            }
            if indent > open.indent {
                return;
            }
            let is_exact = indent == open.indent;
            let closes = is_exact && is_closing(text);
            // `}: Props) => {`, `) -> Result {`, `{` and `where` on their own line belong to the head.
            if is_exact && (is_still_head(text) || is_in_head && closes) {
                return;
            }
            if self.patterns.extent == Extent::Package && self.found[open.index].role == Role::Type && !is_package(text)
            {
                return;
            }
            let end = if closes { number } else { self.last_code };
            let found = &mut self.found[open.index];
            found.end = end.max(found.start);
            self.open.pop();
            if closes {
                return;
            }
        }
    }

    fn begin(&mut self, number: u32, indent: usize, text: &str, next: &str) {
        if let Some(open) = self.open.last() {
            // The last line of the head so far, for a brace on its own line.
            let is_head = text.starts_with([')', ']', '>', '{']) || text.starts_with("where");
            if is_head && indent == open.indent {
                self.found[open.index].end = number;
                return;
            }
        }
        let innermost = self.open.last().and_then(|open| self.found.get(open.index));
        let around = Around {
            role: innermost.map(|found| found.role),
            name: innermost.map(Definition::own_name).unwrap_or_default(),
            next,
            is_indented: indent > 0,
        };
        let text = skip_attributes(text, self.patterns);
        let Some(header) = headers::read(self.patterns, text, around) else {
            return;
        };
        self.define(number, indent, &header.name, header.role);
        if let Some(open) = self.open.last_mut() {
            open.parens = unclosed(text);
        }
        let is_one_line = text.ends_with(['}', ';']) && self.patterns.extent != Extent::Package;
        if is_one_line && self.open.last().is_some_and(|open| open.indent == indent) {
            self.open.pop();
        }
    }

    fn define(&mut self, number: u32, indent: usize, name: &str, role: Role) {
        if self.open.len() >= NESTING_MAX {
            return;
        }
        let container = self.open.last().and_then(|open| self.found.get_mut(open.index)).map(|container| {
            container.has_members = true;
            container.name.as_str()
        });
        let name = qualified(container, name);
        let first = match self.attached {
            Some((first, last)) if last + 1 == number => first,
            _ => number,
        };
        self.open.push(OpenDefinition { indent, index: self.found.len(), parens: 0 });
        self.found.push(Definition {
            name,
            role,
            first,
            start: number,
            end: number,
            depth: self.open.len() - 1,
            has_members: false,
        });
    }

    /// A statement ends with its semicolon, outside `$$` and not between `begin` and `end`.
    fn statement(&mut self, number: u32, text: &str) {
        if self.open.is_empty() {
            let around = Around { role: None, name: "", next: "", is_indented: false };
            if let Some(header) = headers::read(self.patterns, text, around) {
                self.define(number, 0, &header.name, header.role);
                self.in_dollars = false;
            }
        }
        let Some(open) = self.open.last() else {
            return;
        };
        let found = &mut self.found[open.index];
        found.end = number;
        if text.matches("$$").count() % 2 == 1 {
            self.in_dollars = !self.in_dollars;
        }
        let lower = text.to_ascii_lowercase();
        // A routine without `$$` extends to its `end`, regardless of its statements.
        let is_routine = found.role == Role::Function && !text.contains('$') && !self.in_dollars;
        let ends = lower.ends_with(';')
            && !self.in_dollars
            && (!is_routine || lower.starts_with("end") || text.contains('\''));
        if ends {
            self.open.pop();
        }
    }
}

fn is_package(text: &str) -> bool {
    text.starts_with("package ") || text.starts_with("class ") || text.starts_with("__END__")
}

/// A line at the indentation of a definition that still belongs to its head.
fn is_still_head(text: &str) -> bool {
    let opens = text.ends_with(['{', '(', '[', ',']) || text.ends_with("=>") || text.ends_with("do");
    let closes = text.starts_with([')', ']', '>']);
    let is_python_head = closes && text.ends_with(':');
    let is_brace = text.starts_with('{');
    (closes && opens) || is_python_head || is_brace || text == "where" || text.starts_with("where ")
}

/// How many more parentheses and square brackets a line opens than it closes.
fn unclosed(text: &str) -> i32 {
    let step = |byte| match byte {
        b'(' | b'[' => 1,
        b')' | b']' => -1,
        _ => 0,
    };
    text.bytes().map(step).sum()
}

/// The text after the closing quote. Escaped quotes are skipped.
fn after_quote<'a>(text: &'a str, quote: &str) -> Option<&'a str> {
    let mut from = 0;
    loop {
        let at = from + text.get(from..)?.find(quote)?;
        let backslashes = text.as_bytes()[..at].iter().rev().take_while(|byte| **byte == b'\\').count();
        if backslashes % 2 == 0 {
            return text.get(at + quote.len()..);
        }
        from = at + 1;
    }
}

/// `@Test void runs() {` and `#[test] fn runs() {` have a definition on the attribute's line.
fn is_followed_by_code(text: &str) -> bool {
    text.ends_with(['{', ';', ':', '}', ',']) || text.starts_with("@interface")
}

fn skip_attributes<'a>(mut text: &'a str, patterns: &Patterns) -> &'a str {
    for _ in 0..4 {
        let is_attribute =
            patterns.attributes.iter().any(|begin| text.starts_with(begin)) && !text.starts_with("@interface");
        if !is_attribute {
            return text;
        }
        let close = if text.starts_with('@') || text.starts_with("template") { ' ' } else { ']' };
        let close = if text.starts_with("template") { '>' } else { close };
        text = match text.split_once(close) {
            Some((_, after)) => after.trim_start_matches([']', ' ', '\t']),
            None => return text,
        };
    }
    text
}

/// A line that only closes what was open.
fn is_closing(text: &str) -> bool {
    text.starts_with(['}', ')', ']'])
        || text == "end"
        || text.starts_with("end ")
        || text.starts_with("end)")
        || text == "end,"
}

fn indent_of(line: &str) -> usize {
    let mut columns = 0;
    for byte in line.bytes() {
        match byte {
            b' ' => columns += 1,
            b'\t' => columns = (columns / TAB_COLUMNS + 1) * TAB_COLUMNS,
            _ => break,
        }
    }
    columns
}
