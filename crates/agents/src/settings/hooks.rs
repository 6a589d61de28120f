//! Our hooks in an agent's settings file, for any names and nesting of events.
//!
//! Foreign hooks keep their text and order. Ours are appended to each list, because some agents trust a hook by its
//! position. Foreign entries of an unknown form are skipped.

use std::collections::{BTreeMap, BTreeSet};

use cerberus_record::id::Agent;

use super::edit::{Editor, Json};
use super::json::{self, Item, Node, expect_kind};
use super::program::{is_program, shell_line, shell_program};
use super::{InstallTarget, JsonKind, ProgramVersion, SettingsError, WiredHook, Wiring};

/// How an agent writes hooks.
#[derive(Debug)]
pub struct HookStyle {
    /// The agent in `cerberus hook AGENT`.
    pub agent: Agent,
    /// The events we need, in file order, each with its timeout in the agent's unit.
    pub events: &'static [(&'static str, u32)],
    /// The event before a tool use, used only while something needs it.
    pub checks: Option<CheckHook>,
    /// The events that only newer versions of the agent know, each with the first version that does. They come last
    /// in `events`, in this order, so that adding them later gives the same text.
    pub since: &'static [(&'static str, ProgramVersion)],
    pub nesting: Nesting,
    /// The key of a handler's command.
    pub command_key: &'static str,
    /// The `version` that the file must have.
    pub version: Option<u32>,
    /// Builds a handler with this command and timeout.
    pub handler: for<'a> fn(&'a str, u32) -> Json<'a>,
}

/// The hook before a tool use, which enforces rules.
#[derive(Debug)]
pub struct CheckHook {
    pub event: &'static str,
    pub timeout: u32,
    /// The tools that it is about, where the agent can restrict a hook to some.
    pub matcher: Option<&'static str>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Nesting {
    /// An event lists groups, each with an optional matcher and a list of `hooks`.
    Grouped,
    /// An event lists the handlers directly.
    Flat,
}

impl HookStyle {
    /// As in Claude Code. What a style does not say is as here.
    pub const DEFAULT: HookStyle = HookStyle {
        agent: Agent::MANUAL,
        events: &[],
        checks: None,
        since: &[],
        nesting: Nesting::Grouped,
        command_key: "command",
        version: None,
        handler: |command, timeout| {
            Json::Object(vec![
                ("type", Json::Text("command")),
                ("command", Json::Text(command)),
                ("timeout", Json::Number(timeout)),
            ])
        },
    };

    fn args(&self) -> [&str; 2] {
        ["hook", self.agent.name()]
    }

    /// The events that this version of the agent knows.
    pub fn events_for(&self, client: Option<ProgramVersion>) -> impl Iterator<Item = &'static (&'static str, u32)> {
        self.events.iter().filter(move |(event, _)| self.is_known(event, client))
    }

    /// Whether this version knows the event, as far as we can tell.
    fn is_known(&self, event: &str, client: Option<ProgramVersion>) -> bool {
        let since = self.since.iter().find(|(newer, _)| *newer == event);
        since.is_none_or(|(_, since)| client.is_some_and(|client| client >= *since))
    }

    /// The value of the command key. A shell line is the one form that every version of every agent understands.
    fn command(&self, program: &str) -> String {
        shell_line(program, &self.args())
    }

    fn entry<'a>(&self, command: &'a str, timeout: u32, matcher: Option<&'static str>) -> Json<'a> {
        let handler = (self.handler)(command, timeout);
        let hooks = || ("hooks", Json::Array(vec![(self.handler)(command, timeout)]));
        match (self.nesting, matcher) {
            (Nesting::Flat, _) => handler,
            (Nesting::Grouped, None) => Json::Object(vec![hooks()]),
            (Nesting::Grouped, Some(matcher)) => Json::Object(vec![("matcher", Json::Text(matcher)), hooks()]),
        }
    }

    /// The events to install, each with its entry.
    fn entries<'a>(&self, command: &'a str, target: &InstallTarget<'_>) -> Vec<(&'static str, Json<'a>)> {
        let plain =
            self.events_for(target.client).map(|(event, timeout)| (*event, self.entry(command, *timeout, None)));
        let check = self.checks.iter().filter(|_| target.checks);
        let check = check.map(|hook| (hook.event, self.entry(command, hook.timeout, hook.matcher)));
        plain.chain(check).collect()
    }

    /// Whether this event is not needed now.
    fn is_idle(&self, event: &str, target: &InstallTarget<'_>) -> bool {
        !target.checks && self.checks.as_ref().is_some_and(|hook| hook.event == event)
    }
}

/// Existing hooks of ours are updated in place to run `program`; a program with `args` becomes a shell line. Other
/// members (such as a changed timeout) stay; duplicates are removed.
pub(super) fn install(style: &HookStyle, text: &str, target: &InstallTarget<'_>) -> Result<String, SettingsError> {
    let text = &json::or_empty_object(text);
    let text = &without_unused_events(style, text, target)?;
    let command = style.command(target.command);
    let root = json::parse(text)?;
    let mut editor = Editor::new(text, &root);
    let hooks = hooks_of(text, &root)?;
    let mut new = Vec::new();
    if let (Some(version), None) = (style.version, root.member(text, "version")?) {
        new.push(("version", Json::Number(version)));
    }
    match hooks {
        Some((_, hooks)) => wire(&mut editor, style, text, hooks, &command, target)?,
        None => {
            let list = |(event, entry)| (event, Json::Array(vec![entry]));
            new.push(("hooks", Json::Object(style.entries(&command, target).into_iter().map(list).collect())));
        }
    }
    editor.append(&root, &Json::Object(new));
    Ok(editor.finish())
}

/// An event that a client does not know can make it ignore the whole file. One for rules costs time at every tool use.
fn without_unused_events(style: &HookStyle, text: &str, target: &InstallTarget<'_>) -> Result<String, SettingsError> {
    let root = json::parse(text)?;
    let mut editor = Editor::new(text, &root);
    if let Some((_, hooks)) = hooks_of(text, &root)? {
        let mut doomed = find_ours(style, text, hooks)?;
        doomed.retain(|ours| !style.is_known(ours.event, target.client) || style.is_idle(ours.event, target));
        let emptied = remove_handlers(&mut editor, hooks, &doomed);
        editor.remove(hooks, &emptied);
    }
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
    // A version alone has no meaning.
    match (style.version, root.member(text, "version")?) {
        (Some(_), Some(_)) if root.items.len() == 2 => editor.remove(&root, &[0, 1]),
        _ => editor.remove(&root, &[hooks_index]),
    }
    Ok(editor.finish())
}

pub(super) fn installed(
    style: &HookStyle,
    text: &str,
    client: Option<ProgramVersion>,
    wiring: &mut Wiring,
) -> Result<(), SettingsError> {
    let mut ours = Vec::new();
    if !json::is_blank(text) {
        let root = json::parse(text)?;
        if let Some((_, hooks)) = hooks_of(text, &root)? {
            let wired = |ours: OurHandler<'_>| WiredHook {
                event: ours.event.to_owned(),
                matcher: ours.matcher,
                command: ours.program,
                has_args: !ours.is_line,
                is_unknown: client.is_some() && !style.is_known(ours.event, client),
                position: (ours.entry_index, ours.group.map_or(0, |(_, index)| index)),
            };
            ours.extend(find_ours(style, text, hooks)?.into_iter().map(wired));
        }
    }
    let wired: BTreeSet<&str> = ours.iter().map(|hook| hook.event.as_str()).collect();
    wiring.missing.extend(style.events_for(client).map(|(event, _)| *event).filter(|event| !wired.contains(event)));
    wiring.hooks.extend(ours);
    Ok(())
}

/// One of our handlers and its position.
struct OurHandler<'a> {
    event: &'a str,
    event_index: usize,
    entry_index: usize,
    /// `None` if the handler is the entry itself.
    group: Option<GroupPosition<'a>>,
    handler: &'a Node,
    matcher: Option<String>,
    program: String,
    is_line: bool,
}

/// The `hooks` object and its index in the root.
fn hooks_of<'a>(text: &str, root: &'a Node) -> Result<Option<(usize, &'a Node)>, SettingsError> {
    expect_kind(text, root, "the file", JsonKind::Object)?;
    let Some((index, hooks)) = root.member(text, "hooks")? else {
        return Ok(None);
    };
    expect_kind(text, &hooks.value, "`hooks`", JsonKind::Object)?;
    Ok(Some((index, &hooks.value)))
}

/// All of our handlers, including those of events that only an older version used.
fn find_ours<'a>(style: &HookStyle, text: &str, hooks: &'a Node) -> Result<Vec<OurHandler<'a>>, SettingsError> {
    for (event, _) in style.events {
        if let Some((_, item)) = hooks.member(text, event)? {
            expect_kind(text, &item.value, &format!("`hooks.{event}`"), JsonKind::Array)?;
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
                found.push(OurHandler { event, event_index, entry_index, group, handler, matcher, program, is_line });
            }
        }
    }
    Ok(found)
}

/// The group of a handler, and its index there.
type GroupPosition<'a> = (&'a Node, usize);

type Handler<'a> = (Option<GroupPosition<'a>>, &'a Node);

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
    let items = if node.kind == JsonKind::Array { &node.items[..] } else { &[] };
    items.iter().enumerate()
}

/// The matcher of an entry; the spellings of "everything" count as none.
fn matcher(text: &str, entry: &Node) -> Result<Option<String>, SettingsError> {
    let matcher = entry.member(text, "matcher")?.and_then(|(_, item)| item.value.string(text));
    Ok(matcher.filter(|matcher| !matcher.is_empty() && matcher != "*"))
}

/// The program of our handler and whether it runs through a shell; `None` for foreign handlers.
fn recognise(style: &HookStyle, text: &str, handler: &Node) -> Result<Option<(String, bool)>, SettingsError> {
    let Some((_, command)) = handler.member(text, style.command_key)? else {
        return Ok(None);
    };
    let Some(command) = command.value.string(text) else {
        return Ok(None);
    };
    let args = match handler.member(text, "args")? {
        Some((_, args)) if args.value.kind != JsonKind::Array => return Ok(None),
        Some((_, args)) => args.value.items.iter().map(|item| item.value.string(text)).collect(),
        None => Vec::new(),
    };
    if args.is_empty() {
        return Ok(shell_program(&command, &style.args()).map(|program| (program, true)));
    }
    let is_ours = args.iter().map(Option::as_deref).eq(style.args().map(Some)) && is_program(&command);
    Ok(is_ours.then_some((command, false)))
}

/// Updates an existing `hooks` object.
fn wire(
    editor: &mut Editor<'_>,
    style: &HookStyle,
    text: &str,
    hooks: &Node,
    command: &str,
    target: &InstallTarget<'_>,
) -> Result<(), SettingsError> {
    let ours = find_ours(style, text, hooks)?;
    let mut seen = BTreeSet::new();
    let (kept, repeated): (Vec<OurHandler<'_>>, Vec<OurHandler<'_>>) =
        ours.into_iter().partition(|ours| seen.insert((ours.event_index, ours.matcher.clone())));
    for ours in &kept {
        update(editor, style, text, ours, command)?;
    }
    // The first handler of each event stays, so no list becomes empty.
    remove_handlers(editor, hooks, &repeated);
    let wired: BTreeSet<&str> = kept.iter().map(|ours| ours.event).collect();
    let mut missing = Vec::new();
    for (event, entry) in style.entries(command, target).into_iter().filter(|(event, _)| !wired.contains(event)) {
        let list = Json::Array(vec![entry]);
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
    ours: &OurHandler<'_>,
    command: &str,
) -> Result<(), SettingsError> {
    if let Some((_, item)) = ours.handler.member(text, style.command_key)?
        && item.value.string(text).as_deref() != Some(command)
    {
        editor.replace(&item.value, &Json::Text(command));
    }
    // Clients that ignore `args` would run the bare program.
    if let Some((index, _)) = ours.handler.member(text, "args")? {
        editor.remove(ours.handler, &[index]);
    }
    Ok(())
}

/// Removes handlers and the entries that become empty. Returns the indexes of events that would become empty; the
/// caller removes them as a whole.
fn remove_handlers(editor: &mut Editor<'_>, hooks: &Node, doomed: &[OurHandler<'_>]) -> Vec<usize> {
    let mut by_event: BTreeMap<usize, BTreeMap<usize, Vec<GroupPosition<'_>>>> = BTreeMap::new();
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
