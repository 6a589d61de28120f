//! Generated settings files, in every spelling that JSON with comments allows.

use std::fmt::Write as _;

use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::{Index, select, subsequence};
use serde_json::{Value, json};

use super::*;

/// A settings file, independent of its spelling.
#[derive(Debug, Clone)]
enum Tree {
    Raw(&'static str),
    Array(Vec<Tree>),
    Object(Vec<(&'static str, Tree)>),
}

/// How a tree is written. Everything else is decided by the dice, in a cycle.
#[derive(Debug, Clone)]
struct Spelling {
    is_one_line: bool,
    has_comments: bool,
    has_bom: bool,
    newline: &'static str,
    indent: &'static str,
    colon: &'static str,
    end: &'static str,
    dice: Vec<u8>,
}

struct Writer<'a> {
    spelling: &'a Spelling,
    throws: usize,
    out: String,
}

impl Writer<'_> {
    fn throw(&mut self, sides: u8) -> u8 {
        let throw = self.spelling.dice[self.throws % self.spelling.dice.len()];
        // Skip ahead: plain repetition would give all items of a list the same surroundings.
        self.throws += 1 + self.throws / self.spelling.dice.len();
        throw % sides
    }

    fn comment(&mut self) {
        if !self.spelling.has_comments {
            return;
        }
        let newline = self.spelling.newline;
        match self.throw(12) {
            0 => self.out.push_str("/* c, */"),
            1 => _ = write!(self.out, " // c \"]}} \t{newline}"),
            2 => _ = write!(self.out, "/* c{newline} d */ "),
            3 => _ = write!(self.out, "{newline}// c{newline}\t// d{newline}"),
            4 => self.out.push_str("  "),
            _ => {}
        }
    }

    fn line(&mut self, depth: usize) {
        if !self.spelling.is_one_line && (!self.spelling.has_comments || self.throw(8) > 0) {
            self.out.push_str(self.spelling.newline);
            self.out.push_str(&self.spelling.indent.repeat(depth));
        } else if self.throw(2) == 0 {
            self.out.push(' ');
        }
    }

    fn tree(&mut self, tree: &Tree, depth: usize) {
        let items: Vec<(Option<&str>, &Tree)> = match tree {
            Tree::Raw(raw) => return self.out.push_str(raw),
            Tree::Array(elements) => elements.iter().map(|element| (None, element)).collect(),
            Tree::Object(members) => members.iter().map(|(key, value)| (Some(*key), value)).collect(),
        };
        let (open, close) = if matches!(tree, Tree::Array(_)) { ('[', ']') } else { ('{', '}') };
        self.out.push(open);
        self.comment();
        for (index, (key, value)) in items.iter().enumerate() {
            self.line(depth + 1);
            self.comment();
            if let Some(key) = key {
                _ = write!(self.out, "\"{key}\"{}", self.spelling.colon);
            }
            self.tree(value, depth + 1);
            self.comment();
            if index + 1 < items.len() || self.throw(4) == 0 {
                self.out.push(',');
                self.comment();
            }
        }
        if !items.is_empty() || self.throw(4) == 0 {
            self.line(depth);
        }
        self.out.push(close);
    }
}

fn spell(tree: &Tree, spelling: &Spelling) -> String {
    let mut writer = Writer { spelling, throws: 0, out: String::new() };
    if spelling.has_bom {
        writer.out.push('\u{feff}');
    }
    writer.comment();
    writer.tree(tree, 0);
    writer.comment();
    writer.out + spelling.end
}

fn spellings() -> impl Strategy<Value = Spelling> {
    let flags = (any::<bool>(), any::<bool>(), any::<bool>());
    let newline = select(vec!["\n", "\r\n"]);
    let indent = select(vec!["  ", "    ", "\t", ""]);
    let colon = select(vec![": ", ":", " : "]);
    let end = select(vec!["", "\n", "\r\n", "\n\n"]);
    (flags, newline, indent, colon, end, vec(any::<u8>(), 16..48)).prop_map(
        |((is_one_line, has_comments, has_bom), newline, indent, colon, end, dice)| Spelling {
            is_one_line,
            has_comments,
            has_bom,
            newline,
            indent,
            colon,
            end,
            dice,
        },
    )
}

fn foreign_values() -> impl Strategy<Value = Tree> {
    let raw = select(vec!["1", "-2.50e3", "true", "null", "\"\"", "\"// no \\\" comment, }\"", "\"\u{e9}\\u00e9\""]);
    raw.prop_map(Tree::Raw).prop_recursive(2, 8, 3, |inner| {
        prop_oneof![
            vec(inner.clone(), 0..3).prop_map(Tree::Array),
            (subsequence(vec!["x", "hooks", "y z"], 0..=3), vec(inner, 3))
                .prop_map(|(keys, values)| Tree::Object(keys.into_iter().zip(values).collect())),
        ]
    })
}

fn our_handlers() -> impl Strategy<Value = Tree> {
    let args = Tree::Array(vec![Tree::Raw("\"hook\""), Tree::Raw("\"claude-code\"")]);
    let exec = |command| Tree::Object(vec![("command", Tree::Raw(command)), ("args", args.clone())]);
    let shell = "\"'/o p/cerberus' hook claude-code\"";
    select(vec![
        exec("\"/opt/bin/cerberus\""),
        exec("\"C:\\\\x\\\\cerberus.exe\""),
        Tree::Object(vec![("args", args.clone()), ("timeout", Tree::Raw("3")), ("command", Tree::Raw("\"cerberus\""))]),
        Tree::Object(vec![("type", Tree::Raw("\"command\"")), ("command", Tree::Raw(shell))]),
        Tree::Object(vec![("args", Tree::Array(Vec::new())), ("command", Tree::Raw(shell))]),
    ])
}

/// The entries of an event; ours have this weight among them.
fn entries(ours: u32) -> impl Strategy<Value = Tree> {
    let beep = Tree::Object(vec![("type", Tree::Raw("\"command\"")), ("command", Tree::Raw("\"beep\""))]);
    let handlers = prop_oneof![3 => Just(beep), 1 => foreign_values(), ours => our_handlers()];
    let whole = (select(vec!["", "\"*\"", "\"Bash\""]), vec(handlers, 0..4)).prop_map(|(matcher, handlers)| {
        let matcher = (!matcher.is_empty()).then_some(("matcher", Tree::Raw(matcher)));
        Tree::Object(matcher.into_iter().chain([("hooks", Tree::Array(handlers))]).collect())
    });
    let only_ours = our_handlers().prop_map(|ours| Tree::Object(vec![("hooks", Tree::Array(vec![ours]))]));
    prop_oneof![4 => whole, 1 => foreign_values(), ours => only_ours]
}

fn settings(ours: u32) -> impl Strategy<Value = Tree> {
    let names: Vec<&'static str> = events().into_iter().chain(["PreToolUse", "Notification"]).collect();
    let events = (subsequence(names, 0..4).prop_shuffle(), vec(vec(entries(ours), 0..4), 4))
        .prop_map(|(names, lists)| names.into_iter().zip(lists.into_iter().map(Tree::Array)).collect());
    let others = (subsequence(vec!["model", "env", "a b"], 0..=3).prop_shuffle(), vec(foreign_values(), 3));
    (proptest::option::weighted(0.7, events.prop_map(Tree::Object)), others, any::<Index>()).prop_map(
        |(hooks, (names, values), place)| {
            let mut members: Vec<(&'static str, Tree)> = names.into_iter().zip(values).collect();
            let place = place.index(members.len() + 1);
            members.splice(place..place, hooks.map(|hooks| ("hooks", hooks)));
            Tree::Object(members)
        },
    )
}

fn texts(ours: u32) -> impl Strategy<Value = String> {
    (settings(ours), spellings()).prop_map(|(tree, spelling)| spell(&tree, &spelling))
}

fn is_our_handler(handler: &Value) -> bool {
    let command = handler["command"].as_str().unwrap_or_default();
    command.contains("cerberus")
}

/// The expected value without our entries, and without the lists and objects that become empty.
fn foreign_part(mut settings: Value) -> Value {
    let Some(hooks) = settings.get_mut("hooks").and_then(Value::as_object_mut) else {
        return settings;
    };
    for list in hooks.values_mut().filter_map(Value::as_array_mut) {
        list.retain_mut(|entry| {
            let Some(handlers) = entry.get_mut("hooks").and_then(Value::as_array_mut) else {
                return true;
            };
            let count = handlers.len();
            handlers.retain(|handler| !is_our_handler(handler));
            count == handlers.len() || !handlers.is_empty()
        });
    }
    hooks.retain(|_, list| list != &json!([]));
    let is_empty = hooks.is_empty();
    settings.as_object_mut().unwrap().retain(|key, _| key != "hooks" || !is_empty);
    settings
}

/// The keys of the root and of `hooks`, in order.
fn key_order(text: &str) -> Vec<String> {
    let root = reader::parse(text).unwrap();
    let keys = |node: &reader::Node| node.items.iter().filter_map(|item| item.key.clone()).collect::<Vec<_>>();
    let hooks = root.member(text, "hooks").unwrap().map(|(_, item)| keys(&item.value));
    [keys(&root), hooks.unwrap_or_default()].concat()
}

/// Whether installing writes into an empty container, whose spelling is then lost.
fn writes_into_emptiness(text: &str) -> bool {
    let root = reader::parse(text).unwrap();
    let is_empty = |node: &reader::Node| node.items.is_empty() && !node.has_comments;
    let hooks = root.member(text, "hooks").unwrap().map(|(_, item)| &item.value);
    let is_event = |item: &&reader::Item| events().contains(&item.key.as_deref().unwrap_or_default());
    let lists = hooks.into_iter().flat_map(|hooks| hooks.items.iter().filter(is_event));
    is_empty(&root) || hooks.is_some_and(is_empty) || lists.map(|item| &item.value).any(is_empty)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 500, ..ProptestConfig::default() })]

    #[test]
    fn a_foreign_file_comes_back_byte_for_byte(text in texts(0)) {
        let after = set_up(&text);
        prop_assert_eq!(&set_up(&after), &after);
        prop_assert_eq!(&uninstall(&after, Some(&text)).unwrap(), &text);
        prop_assert_eq!(&uninstall(&text, None).unwrap(), &text);
        let structural = uninstall(&after, None).unwrap();
        if writes_into_emptiness(&text) {
            prop_assert_eq!(foreign_part(value_of(&structural)), foreign_part(value_of(&text)));
        } else {
            prop_assert_eq!(&structural, &text);
        }
    }

    #[test]
    fn installing_adds_our_entries_at_the_end_and_nothing_else(text in texts(0)) {
        let after = set_up(&text);
        let mut expected = value_of(&text);
        for event in events() {
            let list = &mut expected["hooks"][event];
            *list = list.as_array().into_iter().flatten().cloned().chain([our_entry()]).collect();
        }
        prop_assert_eq!(value_of(&after), expected);
        let mut order = key_order(&after);
        let old = key_order(&text);
        order.retain(|key| old.contains(key));
        prop_assert_eq!(order, old);
        prop_assert_eq!(text.contains("\r\n") && !text.replace("\r\n", "").contains('\n'),
            after.contains("\r\n") && !after.replace("\r\n", "").contains('\n'));
    }

    #[test]
    fn our_hooks_are_found_updated_and_removed_anywhere(text in texts(3)) {
        let after = set_up(&text);
        prop_assert_eq!(&set_up(&after), &after);
        let wiring = installed(&after).unwrap();
        prop_assert_eq!(&wiring.missing, &[""; 0]);
        prop_assert_eq!(wiring.commands().into_iter().collect::<Vec<_>>(), [COMMAND]);
        let foreign = foreign_part(value_of(&text));
        prop_assert_eq!(&foreign_part(value_of(&after)), &foreign);
        for installation in [&text, &after] {
            let cleaned = uninstall(installation, Some(&text)).unwrap();
            prop_assert_eq!(installed(&cleaned).unwrap().hooks, []);
            prop_assert_eq!(foreign_part(value_of(&cleaned)), foreign.clone());
            prop_assert_eq!(&uninstall(&cleaned, None).unwrap(), &cleaned);
        }
    }

    #[test]
    fn a_repaired_file_is_strict_and_says_the_same(text in texts(1)) {
        let repaired = repair(&text, Syntax::Strict).unwrap();
        let strict: Value = serde_json::from_str(repaired.trim_start_matches('\u{feff}')).unwrap();
        prop_assert_eq!(strict, value_of(&text));
        prop_assert_eq!(refused(&repaired, Syntax::Strict).unwrap(), None);
        prop_assert_eq!(refused(&text, Syntax::Strict).unwrap().is_none(), repaired == text);
    }

    #[test]
    fn damaged_files_are_rejected_or_stay_whole(text in texts(2), at in any::<Index>(), with in "[\\[\\]{}\",:/*\r\n 1\\\\é]{0,3}") {
        let mut damaged: Vec<char> = text.chars().collect();
        let place = at.index(damaged.len());
        damaged.splice(place..(place + 1).min(damaged.len()), with.chars());
        never_breaks(&damaged.into_iter().collect::<String>())?;
    }

    #[test]
    fn any_text_is_rejected_or_stays_whole(text in any::<String>(), jsonish in "[\\[\\]{}\",:/*\r\n 1a\\\\]{0,40}") {
        never_breaks(&text)?;
        never_breaks(&jsonish)?;
        never_breaks(&format!("{{{jsonish}}}"))?;
        never_breaks(&format!("{{\"hooks\":{{\"Stop\":[{jsonish}]{jsonish}}}}}"))?;
    }
}

fn never_breaks(text: &str) -> Result<(), TestCaseError> {
    let _ = (installed(text), crate::settings::diff(text, "{}"));
    if let Ok(after) = install(text, COMMAND) {
        prop_assert_eq!(&set_up(&after), &after);
        prop_assert_eq!(installed(&after).unwrap().missing, [""; 0]);
    }
    if let Ok(after) = uninstall(text, Some("{}")) {
        prop_assert_eq!(installed(&after).unwrap().hooks, []);
    }
    Ok(())
}
