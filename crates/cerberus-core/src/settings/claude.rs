//! The hooks of Cerberus in the settings file of Claude Code.
//!
//! Invariants:
//! - [`install`] twice is [`install`] once, byte for byte;
//! - foreign hooks keep their text and order; ours go to the end of each list;
//! - ours are recognised by what they run, never by where they stand, so a file that was moved, reformatted or
//!   edited by hand can still be cleaned.
//!
//! It never judges foreign hooks: entries of an unknown shape are passed over.

use std::collections::{BTreeMap, BTreeSet};

use super::edit::{Editor, Json};
use super::json::{self, BOM, Item, Node};
use super::{Kind, SettingsError, TEXT_MAX_BYTES};

/// The events Cerberus listens to, in the order they are written.
pub const EVENTS: [&str; 12] = [
    "SessionStart",
    "UserPromptSubmit",
    "PostToolUse",
    "PostToolUseFailure",
    "Stop",
    "SubagentStop",
    "StopFailure",
    "PreCompact",
    "PostCompact",
    "TaskCreated",
    "TaskCompleted",
    "SessionEnd",
];

const ARGS: [&str; 2] = ["hook", "claude-code"];
const PROGRAM: &str = "cerberus";
const TIMEOUT_SECS: u32 = 10;

/// Which of our hooks a settings file holds.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Wiring {
    /// In the order of the file.
    pub hooks: Vec<WiredHook>,
}

/// One hook of ours.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WiredHook {
    pub event: String,
    /// Set only when somebody narrowed the hook by hand: ours are written without, for every tool and trigger.
    pub matcher: Option<String>,
    /// The program as it is written in the file; of a shell command, the part before the arguments.
    pub command: String,
}

impl Wiring {
    /// The events of [`EVENTS`] that nothing of ours listens to.
    pub fn missing_events(&self) -> Vec<&'static str> {
        let wired: BTreeSet<&str> = self.hooks.iter().map(|hook| hook.event.as_str()).collect();
        EVENTS.into_iter().filter(|event| !wired.contains(event)).collect()
    }

    /// The distinct programs the hooks run; more than one means that some are out of date.
    pub fn commands(&self) -> BTreeSet<&str> {
        self.hooks.iter().map(|hook| hook.command.as_str()).collect()
    }
}

/// The text with our hooks in it, running `command` (a path to the program `cerberus`, unquoted).
///
/// Hooks of ours that are there already are pointed to `command` where they stand: shell commands become
/// program and arguments, other members (a timeout somebody changed) stay, and repeated ones are dropped.
/// A blank file counts as `{}`.
pub fn install(text: &str, command: &str) -> Result<String, SettingsError> {
    if !is_program(command) {
        return Err(SettingsError::NotCerberus { command: command.to_owned() });
    }
    if json::is_blank(text) {
        let bom = if text.starts_with(BOM) { BOM } else { "" };
        let newline = if text.contains("\r\n") { "\r\n" } else { "\n" };
        return install(&format!("{bom}{{}}{newline}"), command);
    }
    let root = json::parse(text)?;
    let mut editor = Editor::new(text, &root);
    match hooks_of(text, &root)? {
        Some((_, hooks)) => wire(&mut editor, text, hooks, command)?,
        None => {
            let all = EVENTS.map(|event| (event, Json::Array(vec![entry(command)]))).to_vec();
            editor.append(&root, &Json::Object(vec![("hooks", Json::Object(all))]));
        }
    }
    let changed = editor.finish();
    // What could not be read again could not be taken out again.
    if changed.len() > TEXT_MAX_BYTES {
        return Err(SettingsError::TooLarge { bytes: changed.len() });
    }
    Ok(changed)
}

/// The text without our hooks.
///
/// The text alone cannot tell an empty `"hooks": {}` that was there before from one that [`install`] made, nor
/// `{ }` from `{}`, nor an empty file from any of them. So the caller may pass the text it kept from before the
/// installation: if installing into that gives exactly this text, it is returned as it was. Without it, or when
/// anything else changed since, ours are taken out where they stand; lists and objects that then hold nothing
/// are removed with them, unless they hold comments. That too gives the old text back byte for byte, except
/// for containers (or a file) that were empty before.
pub fn uninstall(text: &str, before: Option<&str>) -> Result<String, SettingsError> {
    if json::is_blank(text) {
        return Ok(text.to_owned());
    }
    let root = json::parse(text)?;
    let Some((hooks_index, hooks)) = hooks_of(text, &root)? else {
        return Ok(text.to_owned());
    };
    let ours = find_ours(text, hooks)?;
    if let Some(before) = before.filter(|before| is_origin(text, &ours, before)) {
        return Ok(before.to_owned());
    }
    let mut editor = Editor::new(text, &root);
    let emptied = remove_handlers(&mut editor, hooks, &ours);
    let is_all = !ours.is_empty() && emptied.len() == hooks.items.len();
    if is_all && !hooks.has_comments {
        editor.remove(&root, &[hooks_index]);
    } else {
        editor.remove(hooks, &emptied);
    }
    Ok(editor.finish())
}

/// What of ours is in the text.
pub fn installed(text: &str) -> Result<Wiring, SettingsError> {
    if json::is_blank(text) {
        return Ok(Wiring::default());
    }
    let root = json::parse(text)?;
    let ours = match hooks_of(text, &root)? {
        Some((_, hooks)) => find_ours(text, hooks)?,
        None => Vec::new(),
    };
    let hooks = ours.into_iter().map(|ours| WiredHook {
        event: ours.event.to_owned(),
        matcher: ours.matcher,
        command: ours.program,
    });
    Ok(Wiring { hooks: hooks.collect() })
}

/// A handler of ours and the way to it.
struct Ours<'a> {
    event: &'a str,
    event_index: usize,
    entry_index: usize,
    handler_index: usize,
    /// The list the handler is in.
    handlers: &'a Node,
    handler: &'a Node,
    matcher: Option<String>,
    program: String,
    is_shell: bool,
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

fn expect_kind(text: &str, node: &Node, path: &str, expected: Kind) -> Result<(), SettingsError> {
    if node.kind == expected {
        return Ok(());
    }
    let at = json::position(text, node.span.start);
    Err(SettingsError::WrongType { at, path: path.to_owned(), expected, found: node.kind })
}

/// Everything of ours, under any event: also under those an older version listened to.
fn find_ours<'a>(text: &str, hooks: &'a Node) -> Result<Vec<Ours<'a>>, SettingsError> {
    for event in EVENTS {
        if let Some((_, item)) = hooks.member(text, event)? {
            expect_kind(text, &item.value, &format!("`hooks.{event}`"), Kind::Array)?;
        }
    }
    let mut found = Vec::new();
    for (event_index, event) in hooks.items.iter().enumerate() {
        for (entry_index, entry) in elements(&event.value) {
            let Some((_, handlers)) = entry.value.member(text, "hooks")? else {
                continue;
            };
            let handlers = &handlers.value;
            for (handler_index, handler) in elements(handlers) {
                let handler = &handler.value;
                let Some((program, is_shell)) = recognise(text, handler)? else {
                    continue;
                };
                found.push(Ours {
                    event: event.key.as_deref().unwrap_or_default(),
                    event_index,
                    entry_index,
                    handler_index,
                    handlers,
                    handler,
                    matcher: matcher(text, &entry.value)?,
                    program,
                    is_shell,
                });
            }
        }
    }
    Ok(found)
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
fn recognise(text: &str, handler: &Node) -> Result<Option<(String, bool)>, SettingsError> {
    let Some((_, command)) = handler.member(text, "command")? else {
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
        return Ok(shell_program(&command).map(|program| (program.to_owned(), true)));
    }
    let is_ours = args.iter().map(Option::as_deref).eq(ARGS.map(Some)) && is_program(&command);
    Ok(is_ours.then_some((command, false)))
}

/// Whether the file name is ours, in any folder of any system, quoted or not.
fn is_program(command: &str) -> bool {
    let name = command.trim().rsplit(['/', '\\']).next().unwrap_or_default();
    let name = name.trim_matches(['"', '\'']).to_ascii_lowercase();
    name.strip_suffix(".exe").unwrap_or(&name) == PROGRAM
}

/// The program of a shell command that is ours and nothing else.
fn shell_program(command: &str) -> Option<&str> {
    let mut rest = command.trim();
    for argument in ARGS.into_iter().rev() {
        let before = rest.strip_suffix(argument)?;
        rest = before.trim_end();
        if rest.len() == before.len() {
            return None;
        }
    }
    (is_program(rest) && is_one_word(rest)).then_some(rest)
}

/// Whether a shell would read this as one word. `notify && cerberus` is not: removing it would take somebody's
/// own command along.
fn is_one_word(command: &str) -> bool {
    let mut quote = None;
    let mut characters = command.chars();
    while let Some(character) = characters.next() {
        match (quote, character) {
            (Some(open), _) if open == character => quote = None,
            (Some(_), _) => {}
            (None, '"' | '\'') => quote = Some(character),
            (None, '\\') => _ = characters.next(),
            (None, _) if character.is_whitespace() || ";&|<>()`".contains(character) => {
                return false;
            }
            (None, _) => {}
        }
    }
    quote.is_none()
}

fn entry(command: &str) -> Json<'_> {
    let handler = vec![
        ("type", Json::Text("command")),
        ("command", Json::Text(command)),
        ("args", args()),
        ("timeout", Json::Number(TIMEOUT_SECS)),
    ];
    Json::Object(vec![("hooks", Json::Array(vec![Json::Object(handler)]))])
}

fn args() -> Json<'static> {
    Json::Array(ARGS.map(Json::Text).to_vec())
}

/// Brings an existing `hooks` object up to date.
fn wire(editor: &mut Editor<'_>, text: &str, hooks: &Node, command: &str) -> Result<(), SettingsError> {
    let ours = find_ours(text, hooks)?;
    let mut seen = BTreeSet::new();
    let (kept, repeated): (Vec<Ours<'_>>, Vec<Ours<'_>>) =
        ours.into_iter().partition(|ours| seen.insert((ours.event_index, ours.matcher.clone())));
    for ours in &kept {
        update(editor, text, ours, command)?;
    }
    // The first of each event stays, so no list is emptied by this.
    remove_handlers(editor, hooks, &repeated);
    let wired: BTreeSet<&str> = kept.iter().map(|ours| ours.event).collect();
    let mut missing = Vec::new();
    for event in EVENTS.into_iter().filter(|event| !wired.contains(event)) {
        let list = Json::Array(vec![entry(command)]);
        match hooks.member(text, event)? {
            Some((_, item)) => editor.append(&item.value, &list),
            None => missing.push((event, list)),
        }
    }
    editor.append(hooks, &Json::Object(missing));
    Ok(())
}

fn update(editor: &mut Editor<'_>, text: &str, ours: &Ours<'_>, command: &str) -> Result<(), SettingsError> {
    if let Some((_, item)) = ours.handler.member(text, "command")?
        && item.value.string(text).as_deref() != Some(command)
    {
        editor.replace(&item.value, &Json::Text(command));
    }
    if ours.is_shell {
        match ours.handler.member(text, "args")? {
            Some((_, item)) => editor.replace(&item.value, &args()),
            None => editor.append(ours.handler, &Json::Object(vec![("args", args())])),
        }
    }
    Ok(())
}

/// Removes handlers, and the entries they leave empty. Returns the indexes of the events that would be left
/// empty, untouched: the caller removes them whole.
fn remove_handlers(editor: &mut Editor<'_>, hooks: &Node, doomed: &[Ours<'_>]) -> Vec<usize> {
    let mut by_event: BTreeMap<usize, BTreeMap<usize, Vec<&Ours<'_>>>> = BTreeMap::new();
    for ours in doomed {
        by_event.entry(ours.event_index).or_default().entry(ours.entry_index).or_default().push(ours);
    }
    let mut emptied_events = Vec::new();
    for (event_index, by_entry) in by_event {
        let Some(event) = hooks.items.get(event_index) else {
            continue;
        };
        let mut emptied_entries = Vec::new();
        for (entry_index, ours) in by_entry {
            match ours.first().map(|first| first.handlers) {
                Some(handlers) if ours.len() < handlers.items.len() => {
                    let indexes: Vec<usize> = ours.iter().map(|ours| ours.handler_index).collect();
                    editor.remove(handlers, &indexes);
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

/// Whether installing into `before` is what made this text.
fn is_origin(text: &str, ours: &[Ours<'_>], before: &str) -> bool {
    let Some(first) = ours.first() else {
        return false;
    };
    // Somebody's older installation in there must not come back by an uninstall.
    installed(before).is_ok_and(|wiring| wiring.hooks.is_empty())
        && install(before, &first.program).is_ok_and(|after| after == text)
}
