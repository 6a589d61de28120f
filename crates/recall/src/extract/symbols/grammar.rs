//! Finds definitions with a grammar: a bounded parse, one walk over the tree, and line patterns where the tree has
//! errors.
//!
//! The parse is bounded by tree-sitter's progress callback, which is called every hundred operations (0.27 offers no
//! other way; the old timeout in microseconds is gone), and by how often it requests text. Counting instead of reading
//! a clock keeps this pure: a source is cut off on every machine or on none. No queries are used: compiling one costs
//! more than the walk.

use std::borrow::Cow;
use std::cell::Cell;
use std::ops::ControlFlow;

use tree_sitter::{Node, ParseOptions, ParseState, Parser, Tree, TreeCursor};

use super::naming;
use super::tables::{self, Means, Rule};
use super::{DEFINITIONS_MAX, Definition, Language, NESTING_MAX, Role, lines, patterns, qualified};

/// Larger sources are read by line patterns.
const SOURCE_BYTES_MAX: usize = 1 << 20;
/// Calls of the progress callback, one per hundred operations. On code, a release build takes 20 to 45 µs for each, so
/// this is about 50 ms, or 6,000 lines; on long text that is not code, up to ten times that.
const PARSE_STEPS_MAX: u32 = 1_500;
/// How much of the source is handed over at a time, and how often. Steps do not count how far a grammar's own scanner
/// looks ahead, and some look to the end for every token. This limit counts what they read; it is also about 50 ms.
/// Files written by people need less than a third of it.
const READ_BYTES: usize = 256;
const PARSE_READS_MAX: u32 = 10_000;

/// Everything `source` defines, in source order, outer before inner.
pub(super) fn definitions(language: Language, source: &str) -> Vec<Definition> {
    let source = prepared(language, source);
    let by_lines = || lines::definitions(patterns::of(language), &source);
    let Some((grammar, rules)) = grammar_of(language) else {
        return by_lines();
    };
    let Some(tree) = parsed(&grammar, &source) else {
        return by_lines();
    };
    let read = Walk::over(&tree, &grammar, rules, &source);
    if read.unsound.is_empty() {
        return in_order(read.found.into_iter().map(|(found, _)| found).collect());
    }
    combined(read, by_lines())
}

fn grammar_of(language: Language) -> Option<(tree_sitter::Language, &'static [Rule])> {
    let (grammar, rules) = match language {
        #[cfg(feature = "all-grammars")]
        Language::Bash => (tree_sitter_bash::LANGUAGE, tables::BASH),
        Language::C => (tree_sitter_c::LANGUAGE, tables::C),
        #[cfg(feature = "all-grammars")]
        Language::Cpp => (tree_sitter_cpp::LANGUAGE, tables::CPP),
        #[cfg(feature = "all-grammars")]
        Language::CSharp => (tree_sitter_c_sharp::LANGUAGE, tables::C_SHARP),
        Language::Go => (tree_sitter_go::LANGUAGE, tables::GO),
        Language::Java => (tree_sitter_java::LANGUAGE, tables::JAVA),
        #[cfg(feature = "all-grammars")]
        Language::Php => (tree_sitter_php::LANGUAGE_PHP, tables::PHP),
        Language::Python => (tree_sitter_python::LANGUAGE, tables::PYTHON),
        #[cfg(feature = "all-grammars")]
        Language::Ruby => (tree_sitter_ruby::LANGUAGE, tables::RUBY),
        Language::Rust => (tree_sitter_rust::LANGUAGE, tables::RUST),
        // What JavaScript has, with and without JSX, TSX has too.
        Language::JavaScript | Language::Tsx => (tree_sitter_typescript::LANGUAGE_TSX, tables::TYPESCRIPT),
        Language::TypeScript | Language::Vue | Language::Svelte => {
            (tree_sitter_typescript::LANGUAGE_TYPESCRIPT, tables::TYPESCRIPT)
        }
        #[cfg(not(feature = "all-grammars"))]
        Language::Bash | Language::Cpp | Language::CSharp | Language::Php | Language::Ruby => return None,
        Language::Dart
        | Language::Elixir
        | Language::Julia
        | Language::Kotlin
        | Language::Lua
        | Language::Perl
        | Language::R
        | Language::Scala
        | Language::Sql
        | Language::Swift
        | Language::Zig => return None,
    };
    Some((grammar.into(), rules))
}

/// The source as its grammar expects it, with all lines in place.
fn prepared(language: Language, source: &str) -> Cow<'_, str> {
    match language {
        Language::Php if !source.contains("<?") => Cow::Owned(format!("<?php {source}")),
        Language::Vue | Language::Svelte if source.contains("<script") => Cow::Owned(script_alone(source)),
        _ => Cow::Borrowed(source),
    }
}

/// The script of a component; every other line is left empty.
fn script_alone(source: &str) -> String {
    let mut out = String::with_capacity(source.len());
    let mut is_script = false;
    for line in source.lines() {
        let tag = line.trim_start();
        if tag.starts_with("</script") {
            is_script = false;
        } else if is_script {
            out.push_str(line);
        } else if tag.starts_with("<script") {
            is_script = !line.contains("</script");
        }
        out.push('\n');
    }
    out
}

fn parsed(grammar: &tree_sitter::Language, source: &str) -> Option<Tree> {
    if source.len() > SOURCE_BYTES_MAX {
        return None;
    }
    let mut parser = Parser::new();
    parser.set_language(grammar).ok()?;
    let mut steps_left = PARSE_STEPS_MAX;
    let reads_left = Cell::new(PARSE_READS_MAX);
    let mut progress = |_: &ParseState| match steps_left.checked_sub(1) {
        Some(left) if reads_left.get() > 0 => {
            steps_left = left;
            ControlFlow::Continue(())
        }
        _ => ControlFlow::Break(()),
    };
    let options = ParseOptions::new().progress_callback(&mut progress);
    let bytes = source.as_bytes();
    let mut read = |at: usize, _| {
        reads_left.set(reads_left.get().saturating_sub(1));
        // An empty read ends any scan in progress.
        let read_bytes = if reads_left.get() > 0 { READ_BYTES } else { 0 };
        let end = bytes.len().min(at.saturating_add(read_bytes));
        bytes.get(at..end).unwrap_or_default()
    };
    let tree = parser.parse_with_options(&mut read, None, Some(options));
    tree.filter(|_| reads_left.get() > 0)
}

/// A definition that the cursor is inside.
struct Scope {
    tree_depth: usize,
    index: usize,
    is_doubtful: bool,
}

struct Walk<'t, 's> {
    source: &'s str,
    /// The meaning of a node, by the id of its kind.
    means: Vec<Option<Means>>,
    scopes: Vec<Scope>,
    /// Definitions, and whether the tree has an error in or around each.
    found: Vec<(Definition, bool)>,
    /// The lines of the most recent comments and attributes.
    attached: Option<(u32, u32)>,
    /// A value that was already named by its assignment.
    absorbed: Option<Node<'t>>,
    /// The depth of the outermost error the cursor is inside.
    error_depth: Option<usize>,
    /// The lines where the tree has errors, in order.
    unsound: Vec<(u32, u32)>,
}

impl<'t, 's> Walk<'t, 's> {
    fn over(tree: &'t Tree, grammar: &tree_sitter::Language, rules: &[Rule], source: &'s str) -> Walk<'t, 's> {
        let mut walk = Walk {
            source,
            means: meanings(grammar, rules),
            scopes: Vec::new(),
            found: Vec::new(),
            attached: None,
            absorbed: None,
            error_depth: None,
            unsound: Vec::new(),
        };
        let mut cursor = tree.walk();
        let mut tree_depth = 0;
        loop {
            walk.enter(cursor.node(), tree_depth);
            if cursor.goto_first_child() {
                tree_depth += 1;
            } else if !step_on(&mut cursor, &mut tree_depth) {
                break;
            }
        }
        walk.found.retain(|(found, _)| found.role != Role::Object || found.has_members);
        walk
    }

    fn enter(&mut self, node: Node<'t>, tree_depth: usize) {
        while self.scopes.pop_if(|scope| scope.tree_depth >= tree_depth).is_some() {}
        self.error_depth = self.error_depth.filter(|depth| *depth < tree_depth);
        if node.is_error() {
            self.error_depth = self.error_depth.or(Some(tree_depth));
        }
        if node.is_error() || node.is_missing() {
            self.distrust(rows(node));
        }
        let Some(means) = self.means.get(usize::from(node.kind_id())).copied().flatten() else {
            return;
        };
        if !node.is_named() || self.absorbed == Some(node) {
            return;
        }
        let innermost = self.scopes.last().and_then(|scope| self.found.get(scope.index)).map(|(found, _)| found.role);
        match means {
            Means::Attached => self.attach(node),
            Means::Opaque if innermost != Some(Role::Function) => self.distrust(rows(node)),
            Means::Defines(role, name, when) if naming::holds(node, when, innermost) => {
                if let Some(name) = naming::name_of(node, name, self.source) {
                    self.define(node, tree_depth, role, &name);
                }
            }
            Means::Assigns { name, value, when } if naming::holds(node, when, innermost) => {
                self.assign(node, tree_depth, name, value);
            }
            Means::Default => {
                let value = node.child_by_field_name("value");
                let is_nameless = value.is_some_and(|value| {
                    matches!(value.kind(), "arrow_function" | "function_expression" | "class")
                        && value.child_by_field_name("name").is_none()
                });
                if is_nameless {
                    self.define(node, tree_depth, Role::Function, "default");
                }
            }
            Means::Defines(..) | Means::Assigns { .. } | Means::Opaque => {}
        }
    }

    fn assign(&mut self, node: Node<'t>, tree_depth: usize, name: &str, value: &str) {
        let (Some(target), Some(value)) = (node.child_by_field_name(name), node.child_by_field_name(value)) else {
            return;
        };
        let Some((role, value)) = naming::role_of_value(value, self.source) else {
            return;
        };
        if let Some(name) = naming::assigned_name(target, self.source) {
            self.absorbed = Some(value);
            self.define(node, tree_depth, role, &name);
        }
    }

    fn define(&mut self, node: Node, tree_depth: usize, role: Role, name: &str) {
        if self.found.len() >= DEFINITIONS_MAX || self.scopes.len() >= NESTING_MAX {
            return;
        }
        let (start, end) = rows(node);
        let outer = self.scopes.last();
        let is_doubtful =
            node.has_error() || self.error_depth.is_some() || outer.is_some_and(|outer| outer.is_doubtful);
        let container = outer.and_then(|outer| self.found.get_mut(outer.index)).map(|(container, _)| {
            container.has_members = true;
            container.name.as_str()
        });
        let name = qualified(container, name);
        let depth = self.scopes.len();
        self.scopes.push(Scope { tree_depth, index: self.found.len(), is_doubtful });
        let first = match self.attached {
            Some((first, last)) if last <= start && start <= last + 1 => first,
            _ => start,
        };
        let found = Definition { name, role, first, start, end, depth, has_members: false };
        self.found.push((found, is_doubtful));
        // Definitions swallowed by a function with an error can only be found by line patterns.
        if is_doubtful && role == Role::Function {
            self.distrust((start, end));
        }
    }

    /// Nodes are entered in source order, so the lines are in order too.
    fn distrust(&mut self, (first, last): (u32, u32)) {
        match self.unsound.last_mut() {
            Some(before) if first <= before.1 => before.1 = before.1.max(last),
            _ => self.unsound.push((first, last)),
        }
    }

    /// A comment or attribute at the start of a line belongs to the definition below it.
    fn attach(&mut self, node: Node) {
        let before = self.source.get(..node.start_byte()).unwrap_or_default();
        let begins_line = before.bytes().rev().take_while(|byte| *byte != b'\n').all(|byte| byte.is_ascii_whitespace());
        let is_of_file = naming::text(node, self.source).starts_with("//!");
        let (first, last) = rows(node);
        // `template <class T>` and decorators may be on the same line as their definition.
        if is_of_file || (!begins_line && node.kind().contains("comment")) {
            return;
        }
        self.attached = match self.attached {
            Some((above, end)) if first <= end + 1 => Some((above, last)),
            _ => Some((first, last)),
        };
    }
}

fn meanings(grammar: &tree_sitter::Language, rules: &[Rule]) -> Vec<Option<Means>> {
    let kinds = u16::try_from(grammar.node_kind_count()).unwrap_or(u16::MAX);
    let meaning = |id| {
        let kind = grammar.node_kind_for_id(id)?;
        rules.iter().find(|rule| rule.kind == kind).map(|rule| rule.means)
    };
    (0..kinds).map(meaning).collect()
}

/// Moves to the next node in source order that is not below this one.
fn step_on(cursor: &mut TreeCursor, tree_depth: &mut usize) -> bool {
    while !cursor.goto_next_sibling() {
        if !cursor.goto_parent() {
            return false;
        }
        *tree_depth = tree_depth.saturating_sub(1);
    }
    true
}

/// The first and the last line of a node, 1-based. A node that includes its line break ends on its own line.
fn rows(node: Node) -> (u32, u32) {
    let (start, end) = (node.start_position(), node.end_position());
    let last = if end.column == 0 && end.row > start.row { end.row - 1 } else { end.row };
    let line = |row: usize| u32::try_from(row).map_or(u32::MAX, |row| row.saturating_add(1));
    (line(start.row), line(last))
}

/// The tree's definitions, plus those found by line patterns where the tree has errors. If both find a definition and
/// the tree has an error there, the line patterns win for its end and its container: they use indentation, which is
/// robust against a missing brace.
fn combined(read: Walk, by_lines: Vec<Definition>) -> Vec<Definition> {
    let mut out: Vec<Definition> = Vec::with_capacity(read.found.len());
    let mut taken = vec![false; by_lines.len()];
    for (found, is_doubtful) in read.found {
        let begin = by_lines.partition_point(|line| line.start < found.start);
        let same = by_lines[begin..]
            .iter()
            .take_while(|line| line.start == found.start)
            .position(|line| line.own_name() == found.own_name())
            .map(|at| begin + at);
        if let Some(same) = same {
            taken[same] = true;
        }
        match same {
            Some(same) if is_doubtful => out.push(by_lines[same].clone()),
            _ => out.push(found),
        }
    }
    let is_unsound = |line: u32| {
        let after = read.unsound.partition_point(|(from, _)| *from <= line);
        after > 0 && line <= read.unsound[after - 1].1
    };
    for (line, taken) in by_lines.into_iter().zip(taken) {
        if !taken && is_unsound(line.start) {
            out.push(line);
        }
    }
    in_order(out)
}

fn in_order(mut definitions: Vec<Definition>) -> Vec<Definition> {
    definitions.sort_by(|a, b| (a.start, b.end).cmp(&(b.start, a.end)));
    definitions
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_kind_and_field_of_the_tables_is_known_to_its_grammar() {
        for language in Language::ALL {
            let Some((grammar, rules)) = grammar_of(language) else {
                continue;
            };
            for rule in rules {
                assert_ne!(grammar.id_for_node_kind(rule.kind, true), 0, "{language:?}: {}", rule.kind);
            }
        }
    }
}
