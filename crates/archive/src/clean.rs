//! What of a transcript's line may be stored: everything but secrets, private passages, private files, other projects
//! that the user opted out, and the contents of files that were not asked for.

use std::borrow::Cow;
use std::cell::RefCell;
use std::path::Path;

use cerberus_agents::conversation::each_part;
use cerberus_agents::conversation::reduce::{KeepFiles, Reducer};
use cerberus_os::home::Home;
use cerberus_record::clean::tag::Passages;
use cerberus_record::clean::text::{Clean, Keep};
use cerberus_record::event::{Event, FileTouch, Location, Outcome, ToolUse, Touch};
use cerberus_record::map::FastMap;
use cerberus_store::project::opted_out::OptedOut;
use memchr::memmem;
use serde_json::Value;

use crate::escapes::remove_escapes;
use crate::terms::{LineTerms, StoredLine};

/// No id is longer.
const ID_BYTES_MAX: usize = 64;

/// Stands for what is private.
const PRIVATE: &str = "[private]";

/// Lines are limited, so texts need no limit of their own.
const WORDS: Keep = Keep::words(1 << 40, 0);

/// Stands for the session's own name, which is the only difference between the lines of a session and its forks. It is no
/// character of any text.
const OWN_NAME: char = '\u{fdd0}';

/// A name that is shorter is left as it is.
const SESSION_BYTES_MIN: usize = 8;

/// How much text of a line is remembered with what is left of it, and how much a text must have to be worth that.
const CLEANED_BYTES_MAX: usize = 1024 * 1024;
const CLEANED_BYTES_MIN: usize = 32;

/// Cleans the lines of one session.
pub(crate) struct LineCleaner<'h> {
    home: &'h Home,
    opted_out: OptedOut<'h>,
    session: String,
    location: Location<'static>,
    cleaned: RefCell<CleanedTexts>,
}

/// The texts of one line without secrets. Each is looked at more than once, and what a command printed is in the line
/// twice: for the model and for the screen.
#[derive(Default)]
struct CleanedTexts {
    bytes: usize,
    known: FastMap<String, CleanedText>,
}

struct CleanedText {
    clean: Clean<'static>,
    /// Whether it names a path in a project that the user opted out, if somebody asked.
    is_opted_out: Option<bool>,
    /// What is left without what is private, if somebody asked and something is.
    hidden: Option<Option<String>>,
}

impl<'h> LineCleaner<'h> {
    pub fn new(home: &'h Home, session: &str, location: Location<'static>) -> LineCleaner<'h> {
        let (opted_out, cleaned) = (OptedOut::new(home), RefCell::default());
        LineCleaner { home, opted_out, session: session.to_string(), location, cleaned }
    }

    /// Passes a reducer for the session's lines to `read`.
    pub fn reducer<T>(&self, keep: KeepFiles, read: impl FnOnce(Reducer<'_>) -> T) -> T {
        let is_private = |tool: &str, given: &Value| self.is_private_call(tool, given);
        let printed = |text: &str| self.hidden_output(text);
        read(Reducer::new(keep, &is_private, &printed))
    }

    /// The line as it is stored, and what is indexed of it.
    pub fn line(&self, reducer: &mut Reducer, mut line: Value) -> StoredLine {
        // First, because they may stand in the middle of a name or a secret.
        remove_escapes(&mut line);
        reducer.reduce(&mut line);
        self.clean("", &mut line);
        self.cleaned.take();
        let mut text = line.to_string();
        if text.contains(OWN_NAME) {
            text = text.replace(OWN_NAME, "");
        }
        // A short name may be a part of anything.
        if self.session.len() >= SESSION_BYTES_MIN {
            text = renamed(text, &self.session);
        }
        let mut is_renamed = false;
        each_part(&line, &mut |part| {
            is_renamed |= self.is_renamed(&part.text) || part.file.is_some_and(|file| self.is_renamed(&file));
        });
        let terms = match is_renamed {
            true => {
                drop(line);
                LineTerms::of(&text)
            }
            false => LineTerms::of_value(&text, &line),
        };
        StoredLine { text, terms }
    }

    /// Whether a text is stored with another name of the session.
    fn is_renamed(&self, text: &str) -> bool {
        text.contains(OWN_NAME) || self.session.len() >= SESSION_BYTES_MIN && text.contains(&self.session)
    }

    /// Says whether anything was cut.
    fn clean(&self, key: &str, value: &mut Value) -> bool {
        match value {
            Value::String(text) => self.clean_text(key, text),
            Value::Array(all) => {
                // A private passage may begin in one piece of a message and end in another.
                let (mut passages, mut is_cut) = (Passages::default(), false);
                for value in all {
                    is_cut |= cut_passages(&mut passages, value);
                    is_cut |= self.clean(key, value);
                }
                is_cut
            }
            Value::Object(object) => {
                object.iter_mut().fold(false, |is_cut, (key, value)| self.clean(key, value) | is_cut)
            }
            _ => false,
        }
    }

    fn clean_text(&self, key: &str, text: &mut String) -> bool {
        let mut is_cut = self.clean_inner(text);
        let is_id = text.len() <= ID_BYTES_MAX && !text.contains(char::is_whitespace) && holds_id(key);
        let clean = match is_id {
            true => self.home.cleaner().clean(text.as_str(), Keep::NAME),
            false => self.cleaned(text),
        };
        let hidden = if is_id { None } else { self.hidden_words(text, &clean) };
        if let Some(rest) = hidden.or_else(|| (*clean != **text).then(|| clean.to_string())) {
            is_cut |= *text != rest;
            *text = rest;
        }
        if self.names_opted_out(text) {
            *text = PRIVATE.to_string();
            return true;
        }
        is_cut
    }

    /// The text without secrets and private passages.
    fn cleaned<'t>(&self, text: &'t str) -> Clean<'t> {
        let clean = || self.home.cleaner().clean(text, WORDS);
        if !(CLEANED_BYTES_MIN..=CLEANED_BYTES_MAX).contains(&text.len()) {
            return clean();
        }
        if let Some(known) = self.cleaned.borrow().known.get(text) {
            return known.clean.clone();
        }
        let found = clean();
        let mut cleaned = self.cleaned.borrow_mut();
        if cleaned.bytes + text.len() <= CLEANED_BYTES_MAX {
            cleaned.bytes += text.len();
            let known = CleanedText { clean: found.clone().into_owned(), is_opted_out: None, hidden: None };
            cleaned.known.insert(text.to_string(), known);
        }
        found
    }

    /// Arguments of a call may be JSON in a text.
    fn clean_inner(&self, text: &mut String) -> bool {
        if !text.starts_with(['{', '[']) {
            return false;
        }
        let Ok(mut inner) = serde_json::from_slice::<Value>(text.as_bytes()) else { return false };
        let is_cut = self.clean("", &mut inner);
        if is_cut {
            *text = inner.to_string();
        }
        is_cut
    }

    fn is_private_call(&self, tool: &str, given: &Value) -> bool {
        let mut texts = Vec::new();
        collect(given, &mut texts);
        let tool = self.cleaned(tool).into_owned();
        texts.into_iter().any(|text| {
            let is_word = !text.contains(char::is_whitespace);
            if is_word && self.home.privacy_rules().is_private(text) {
                return true;
            }
            let clean = self.cleaned(text);
            let used = ToolUse { tool: tool.clone(), command: Some(clean.clone()), ..ToolUse::default() };
            let edited = || {
                let touched = FileTouch { path: clean, how: Touch::Edited, lines: Vec::new() };
                Event::Tool(ToolUse { tool: tool.clone(), files: vec![touched], ..ToolUse::default() })
            };
            self.hidden(&Event::Tool(used)).is_some()
                || is_word && text.contains('/') && self.hidden(&edited()).is_some()
        })
    }

    /// Stands for an output that names something private: it is unknown which of its lines belong to that. `None` if all
    /// of it may be kept.
    fn hidden_output(&self, text: &str) -> Option<String> {
        let output = Some(self.cleaned(text));
        let used = ToolUse { outcome: Outcome::Failed, output, ..ToolUse::default() };
        let is_hidden = self.hidden(&Event::Tool(used)).is_some() || self.names_opted_out(text);
        is_hidden.then(|| PRIVATE.to_string())
    }

    /// Whether a text names a path in another project that the user opted out.
    fn names_opted_out(&self, text: &str) -> bool {
        if let Some(known) = self.cleaned.borrow().known.get(text).and_then(|known| known.is_opted_out) {
            return known;
        }
        let (root, cwd) = (Path::new(&*self.location.root), Path::new(&*self.location.cwd));
        let found = text.contains(['/', '\\']) && self.opted_out.is_named_in(root, cwd, text);
        if let Some(known) = self.cleaned.borrow_mut().known.get_mut(text) {
            known.is_opted_out = Some(found);
        }
        found
    }

    /// What is left of a text without what is private; `None` if nothing is.
    fn hidden_words(&self, text: &str, clean: &Clean) -> Option<String> {
        if let Some(known) = self.cleaned.borrow().known.get(text).and_then(|known| known.hidden.clone()) {
            return known;
        }
        let hidden = self.hidden(&Event::Prompt { text: clean.borrowed() });
        let found = hidden.map(|hidden| match hidden {
            Event::Prompt { text } => text.to_string(),
            _ => String::new(),
        });
        if let Some(known) = self.cleaned.borrow_mut().known.get_mut(text) {
            known.hidden = Some(found.clone());
        }
        found
    }

    fn hidden<'a>(&self, event: &Event<'a>) -> Option<Event<'a>> {
        self.opted_out.hidden_at(&self.location, event)
    }
}

/// Cuts what is in a private passage from one piece of a message. A passage begins in what is said; while it is open,
/// every text is in it.
fn cut_passages(passages: &mut Passages, piece: &mut Value) -> bool {
    match piece {
        Value::String(text) => cut_passage(passages, text),
        piece => match piece.get_mut("text") {
            Some(Value::String(text)) => cut_passage(passages, text),
            _ => passages.is_open() && hide("", piece, passages),
        },
    }
}

fn cut_passage(passages: &mut Passages, text: &mut String) -> bool {
    let Cow::Owned(rest) = passages.outside(text) else { return false };
    let is_cut = *text != rest;
    *text = rest;
    is_cut
}

/// Cuts every text of a piece, but not what says which piece it is.
fn hide(key: &str, value: &mut Value, passages: &mut Passages) -> bool {
    match value {
        Value::String(text) if !holds_id(key) && key != "type" => cut_passage(passages, text),
        Value::Array(all) => all.iter_mut().fold(false, |is_cut, value| hide(key, value, passages) | is_cut),
        Value::Object(object) => {
            object.iter_mut().fold(false, |is_cut, (key, value)| hide(key, value, passages) | is_cut)
        }
        _ => false,
    }
}

/// Whether a field holds an id, which looks like a secret: `uuid`, `parentUuid`, `tool_use_id`, `requestId`.
fn holds_id(key: &str) -> bool {
    let key = key.to_lowercase();
    key.ends_with("id") || key.ends_with("ids")
}

/// The line with [`OWN_NAME`] for the name of its session. In place: the line may be long.
fn renamed(line: String, session: &str) -> String {
    let own = OWN_NAME.to_string();
    let mut bytes = line.into_bytes();
    let (mut to, mut from) = (0, 0);
    while let Some(found) = memmem::find(&bytes[from..], session.as_bytes()) {
        bytes.copy_within(from..from + found, to);
        to += found;
        bytes[to..to + own.len()].copy_from_slice(own.as_bytes());
        to += own.len();
        from += found + session.len();
    }
    if from > 0 {
        bytes.copy_within(from.., to);
        bytes.truncate(to + bytes.len() - from);
    }
    String::from_utf8(bytes).unwrap_or_else(|error| String::from_utf8_lossy(error.as_bytes()).into_owned())
}

/// The line as the agent wrote its session's name.
pub fn with_name(line: &str, session: &str) -> String {
    line.replace(OWN_NAME, session)
}

fn collect<'v>(value: &'v Value, found: &mut Vec<&'v str>) {
    match value {
        Value::String(text) => found.push(text),
        Value::Array(all) => all.iter().for_each(|value| collect(value, found)),
        Value::Object(object) => object.values().for_each(|value| collect(value, found)),
        _ => {}
    }
}
