//! Our hooks in an agent's settings file, whatever that agent calls its events and however it nests them.
//!
//! Foreign hooks keep their text and order; ours go to the end of each list, so that a hook which an agent trusts by its
//! place keeps that place. It never judges foreign hooks: entries of an unknown shape are passed over.

use std::collections::{BTreeMap, BTreeSet};

use super::edit::{Editor, Json};
use super::json::{self, Item, Node, expect_kind};
use super::program::{is_program, shell_line, shell_program};
use super::{Kind, SettingsError, WiredHook, Wiring};
use crate::model::id::Agent;

/// How an agent writes hooks down.
#[derive(Debug)]
pub struct HookStyle {
    /// Who calls: `cerberus hook AGENT`.
    pub agent: Agent,
    /// The events we listen to, in the order they are written, each with its timeout in the agent's own unit.
    pub events: &'static [(&'static str, u32)],
    pub nesting: Nesting,
    pub form: Form,
    /// The member of a handler that says what is run.
    pub command_key: &'static str,
    /// The `version` the file must have.
    pub version: Option<u32>,
    /// A handler that runs this command within this timeout.
    pub handler: for<'a> fn(&'a str, u32) -> Json<'a>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Nesting {
    /// An event lists entries, each with an optional matcher and its list of `hooks`.
    Grouped,
    /// An event lists the handlers themselves.
    Flat,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Form {
    /// Program and `args`, without a shell.
    Program,
    /// A line for a shell.
    Line,
}

impl HookStyle {
    fn args(&self) -> [&str; 2] {
        ["hook", self.agent.name()]
    }

    /// What stands in the command member.
    fn command(&self, program: &str) -> String {
        match self.form {
            Form::Program => program.to_owned(),
            Form::Line => shell_line(program, &self.args()),
        }
    }

    fn entry<'a>(&self, command: &'a str, timeout: u32) -> Json<'a> {
        let handler = (self.handler)(command, timeout);
        match self.nesting {
            Nesting::Flat => handler,
            Nesting::Grouped => Json::Object(vec![("hooks", Json::Array(vec![handler]))]),
        }
    }
}

/// Hooks of ours that are there already are pointed to `program` where they stand: where the agent takes program and
/// arguments, shell lines become that; other members (a timeout somebody changed) stay, and repeated ones are dropped.
pub(super) fn install(style: &HookStyle, text: &str, program: &str) -> Result<String, SettingsError> {
    let text = &json::or_empty_object(text);
    let command = style.command(program);
    let root = json::parse(text)?;
    let mut editor = Editor::new(text, &root);
    let hooks = hooks_of(text, &root)?;
    let mut new = Vec::new();
    if let (Some(version), None) = (style.version, root.member(text, "version")?) {
        new.push(("version", Json::Number(version)));
    }
    match hooks {
        Some((_, hooks)) => wire(&mut editor, style, text, hooks, &command)?,
        None => {
            let list = |&(event, timeout)| (event, Json::Array(vec![style.entry(&command, timeout)]));
            new.push(("hooks", Json::Object(style.events.iter().map(list).collect())));
        }
    }
    editor.append(&root, &Json::Object(new));
    Ok(editor.finish())
}

pub(super) fn uninstall(style: &HookStyle, text: &str) -> Result<String, SettingsError> {
    if json::is_blank(text) {
        return Ok(text.to_owned());
    }
    let root = json::parse(text)?;
    let Some((hooks_index, hooks)) = hooks_of(text, &root)? else {
        return Ok(text.to_owned());
    };
    let ours = find_ours(style, text, hooks)?;
    let mut editor = Editor::new(text, &root);
    let emptied = remove_handlers(&mut editor, hooks, &ours);
    let is_all = !ours.is_empty() && emptied.len() == hooks.items.len();
    if !is_all || hooks.has_comments {
        editor.remove(hooks, &emptied);
        return Ok(editor.finish());
    }
    // A version of nothing says nothing.
    match (style.version, root.member(text, "version")?) {
        (Some(_), Some(_)) if root.items.len() == 2 => editor.remove(&root, &[0, 1]),
        _ => editor.remove(&root, &[hooks_index]),
    }
    Ok(editor.finish())
}

pub(super) fn installed(style: &HookStyle, text: &str, wiring: &mut Wiring) -> Result<(), SettingsError> {
    let mut ours = Vec::new();
    if !json::is_blank(text) {
        let root = json::parse(text)?;
        if let Some((_, hooks)) = hooks_of(text, &root)? {
            let wired = |ours: Ours<'_>| WiredHook {
                event: ours.event.to_owned(),
                matcher: ours.matcher,
                command: ours.program,
            };
            ours.extend(find_ours(style, text, hooks)?.into_iter().map(wired));
        }
    }
    let wired: BTreeSet<&str> = ours.iter().map(|hook| hook.event.as_str()).collect();
    wiring.missing.extend(style.events.iter().map(|(event, _)| *event).filter(|event| !wired.contains(event)));
    wiring.hooks.extend(ours);
    Ok(())
}

/// A handler of ours and the way to it.
struct Ours<'a> {
    event: &'a str,
    event_index: usize,
    entry_index: usize,
    /// `None` when it is the entry itself.
    group: Option<Place<'a>>,
    handler: &'a Node,
    matcher: Option<String>,
    program: String,
    is_line: bool,
}

/// The `hooks` object with its index in the root.
fn hooks_of<'a>(text: &str, root: &'a Node) -> Result<Option<(usize, &'a Node)>, SettingsError> {
    expect_kind(text, root, "the file", Kind::Object)?;
    let Some((index, hooks)) = root.member(text, "hooks")? else {
        return Ok(None);
    };
    expect_kind(text, &hooks.value, "`hooks`", Kind::Object)?;
    Ok(Some((index, &hooks.value)))
}

/// Everything of ours, under any event: also under those an older version listened to.
fn find_ours<'a>(style: &HookStyle, text: &str, hooks: &'a Node) -> Result<Vec<Ours<'a>>, SettingsError> {
    for (event, _) in style.events {
        if let Some((_, item)) = hooks.member(text, event)? {
            expect_kind(text, &item.value, &format!("`hooks.{event}`"), Kind::Array)?;
        }
    }
    let mut found = Vec::new();
    for (event_index, event) in hooks.items.iter().enumerate() {
        for (entry_index, entry) in elements(&event.value) {
            for (group, handler) in handlers(style, text, &entry.value)? {
                let Some((program, is_line)) = recognise(style, text, handler)? else {
                    continue;
                };
                let matcher = matcher(text, &entry.value)?;
                let event = event.key.as_deref().unwrap_or_default();
                found.push(Ours { event, event_index, entry_index, group, handler, matcher, program, is_line });
            }
        }
    }
    Ok(found)
}

/// The group a handler is in, and its index there.
type Place<'a> = (&'a Node, usize);

type Handler<'a> = (Option<Place<'a>>, &'a Node);

fn handlers<'a>(style: &HookStyle, text: &str, entry: &'a Node) -> Result<Vec<Handler<'a>>, SettingsError> {
    if style.nesting == Nesting::Flat {
        return Ok(vec![(None, entry)]);
    }
    let Some((_, group)) = entry.member(text, "hooks")? else {
        return Ok(Vec::new());
    };
    let group = &group.value;
    Ok(elements(group).map(|(index, handler)| (Some((group, index)), &handler.value)).collect())
}

fn elements(node: &Node) -> impl Iterator<Item = (usize, &Item)> {
    let items = if node.kind == Kind::Array { &node.items[..] } else { &[] };
    items.iter().enumerate()
}

/// What narrows an entry down; the spellings of "everything" count as nothing.
fn matcher(text: &str, entry: &Node) -> Result<Option<String>, SettingsError> {
    let matcher = entry.member(text, "matcher")?.and_then(|(_, item)| item.value.string(text));
    Ok(matcher.filter(|matcher| !matcher.is_empty() && matcher != "*"))
}

/// The program a handler of ours runs and whether it does so by a shell; `None` for foreign handlers.
fn recognise(style: &HookStyle, text: &str, handler: &Node) -> Result<Option<(String, bool)>, SettingsError> {
    let Some((_, command)) = handler.member(text, style.command_key)? else {
        return Ok(None);
    };
    let Some(command) = command.value.string(text) else {
        return Ok(None);
    };
    let args = match handler.member(text, "args")? {
        Some((_, args)) if args.value.kind != Kind::Array => return Ok(None),
        Some((_, args)) => args.value.items.iter().map(|item| item.value.string(text)).collect(),
        None => Vec::new(),
    };
    if args.is_empty() {
        return Ok(shell_program(&command, &style.args()).map(|program| (program, true)));
    }
    let is_ours = style.form == Form::Program
        && args.iter().map(Option::as_deref).eq(style.args().map(Some))
        && is_program(&command);
    Ok(is_ours.then_some((command, false)))
}

fn args(style: &HookStyle) -> Json<'_> {
    Json::Array(style.args().map(Json::Text).to_vec())
}

/// Brings an existing `hooks` object up to date.
fn wire(
    editor: &mut Editor<'_>,
    style: &HookStyle,
    text: &str,
    hooks: &Node,
    command: &str,
) -> Result<(), SettingsError> {
    let ours = find_ours(style, text, hooks)?;
    let mut seen = BTreeSet::new();
    let (kept, repeated): (Vec<Ours<'_>>, Vec<Ours<'_>>) =
        ours.into_iter().partition(|ours| seen.insert((ours.event_index, ours.matcher.clone())));
    for ours in &kept {
        update(editor, style, text, ours, command)?;
    }
    // The first of each event stays, so no list is emptied by this.
    remove_handlers(editor, hooks, &repeated);
    let wired: BTreeSet<&str> = kept.iter().map(|ours| ours.event).collect();
    let mut missing = Vec::new();
    for &(event, timeout) in style.events.iter().filter(|(event, _)| !wired.contains(event)) {
        let list = Json::Array(vec![style.entry(command, timeout)]);
        match hooks.member(text, event)? {
            Some((_, item)) => editor.append(&item.value, &list),
            None => missing.push((event, list)),
        }
    }
    editor.append(hooks, &Json::Object(missing));
    Ok(())
}

fn update(
    editor: &mut Editor<'_>,
    style: &HookStyle,
    text: &str,
    ours: &Ours<'_>,
    command: &str,
) -> Result<(), SettingsError> {
    if let Some((_, item)) = ours.handler.member(text, style.command_key)?
        && item.value.string(text).as_deref() != Some(command)
    {
        editor.replace(&item.value, &Json::Text(command));
    }
    if ours.is_line && style.form == Form::Program {
        match ours.handler.member(text, "args")? {
            Some((_, item)) => editor.replace(&item.value, &args(style)),
            None => editor.append(ours.handler, &Json::Object(vec![("args", args(style))])),
        }
    }
    Ok(())
}

/// Removes handlers, and the entries they leave empty. Returns the indexes of the events that would be left
/// empty, untouched: the caller removes them whole.
fn remove_handlers(editor: &mut Editor<'_>, hooks: &Node, doomed: &[Ours<'_>]) -> Vec<usize> {
    let mut by_event: BTreeMap<usize, BTreeMap<usize, Vec<Place<'_>>>> = BTreeMap::new();
    for ours in doomed {
        by_event.entry(ours.event_index).or_default().entry(ours.entry_index).or_default().extend(ours.group);
    }
    let mut emptied_events = Vec::new();
    for (event_index, by_entry) in by_event {
        let Some(event) = hooks.items.get(event_index) else {
            continue;
        };
        let mut emptied_entries = Vec::new();
        for (entry_index, grouped) in by_entry {
            match grouped.first() {
                Some((group, _)) if grouped.len() < group.items.len() => {
                    let indexes: Vec<usize> = grouped.iter().map(|(_, index)| *index).collect();
                    editor.remove(group, &indexes);
                }
                _ => emptied_entries.push(entry_index),
            }
        }
        if emptied_entries.len() == event.value.items.len() && !event.value.has_comments {
            emptied_events.push(event_index);
        } else {
            editor.remove(&event.value, &emptied_entries);
        }
    }
    emptied_events
}
