//! What of a transcript's line may be stored: everything but secrets, private passages, private files, other projects
//! that the user opted out, and the contents of files that were not asked for.

use std::path::Path;

use cerberus_agents::conversation::reduce::{KeepFiles, Reducer};
use cerberus_os::home::Home;
use cerberus_record::clean::text::{Clean, Keep};
use cerberus_record::event::{Event, FileTouch, Location, Outcome, Record, ToolUse, Touch};
use cerberus_record::id::Agent;
use cerberus_record::time::Timestamp;
use cerberus_store::project::opted_out::OptedOut;
use serde_json::Value;

/// No id is longer.
const ID_BYTES_MAX: usize = 64;

/// Stands for what is private.
const PRIVATE: &str = "[private]";

/// Lines are limited, so texts need no limit of their own.
const WORDS: Keep = Keep::words(1 << 40, 0);

/// Stands for the session's own name, which is the only difference between the lines of a session and its forks. It is no
/// character of any text.
const OWN_NAME: char = '\u{fdd0}';

/// Cleans the lines of one session.
pub struct LineCleaner<'h> {
    home: &'h Home,
    opted_out: OptedOut<'h>,
    agent: Agent,
    session: String,
    location: Location<'static>,
}

impl<'h> LineCleaner<'h> {
    pub fn new(home: &'h Home, agent: Agent, session: &str, location: Location<'static>) -> LineCleaner<'h> {
        LineCleaner { home, opted_out: OptedOut::new(home), agent, session: session.to_string(), location }
    }

    /// Passes a reducer for the session's lines to `read`.
    pub fn reducer<T>(&self, keep: KeepFiles, read: impl FnOnce(Reducer<'_>) -> T) -> T {
        let is_private = |tool: &str, given: &Value| self.is_private_call(tool, given);
        let printed = |text: &str| self.hidden_output(text);
        read(Reducer::new(keep, &is_private, &printed))
    }

    /// The line as it is stored.
    pub fn line(&self, reducer: &mut Reducer, line: &mut Value) -> String {
        reducer.reduce(line);
        self.clean("", line);
        let line = line.to_string().replace(OWN_NAME, "");
        match self.session.len() {
            // A short name may be a part of anything.
            0..8 => line,
            _ => line.replace(&self.session, OWN_NAME.encode_utf8(&mut [0; 4])),
        }
    }

    fn clean(&self, key: &str, value: &mut Value) {
        match value {
            Value::String(text) => self.clean_text(key, text),
            Value::Array(all) => all.iter_mut().for_each(|value| self.clean(key, value)),
            Value::Object(object) => object.iter_mut().for_each(|(key, value)| self.clean(key, value)),
            _ => {}
        }
    }

    fn clean_text(&self, key: &str, text: &mut String) {
        self.clean_inner(text);
        let is_id = text.len() <= ID_BYTES_MAX && !text.contains(char::is_whitespace) && holds_id(key);
        let clean = self.home.cleaner().clean(text.as_str(), if is_id { Keep::NAME } else { WORDS });
        let hidden = if is_id { None } else { self.hidden_words(&clean) };
        if let Some(rest) = hidden {
            *text = rest;
        } else if *clean != **text {
            *text = clean.to_string();
        }
        if self.names_opted_out(text) {
            *text = PRIVATE.to_string();
        }
    }

    /// Arguments of a call may be JSON in a text.
    fn clean_inner(&self, text: &mut String) {
        if !text.starts_with(['{', '[']) {
            return;
        }
        let Ok(given) = serde_json::from_str::<Value>(text) else { return };
        let mut inner = given.clone();
        self.clean("", &mut inner);
        if inner != given {
            *text = inner.to_string();
        }
    }

    fn is_private_call(&self, tool: &str, given: &Value) -> bool {
        let mut texts = Vec::new();
        collect(given, &mut texts);
        let clean = |text: &str| self.home.cleaner().clean(text.to_string(), WORDS);
        texts.into_iter().any(|text| {
            let is_file = !text.contains(char::is_whitespace) && self.home.privacy_rules().is_private(text);
            is_file || {
                let used = ToolUse { tool: clean(tool), command: Some(clean(text)), ..ToolUse::default() };
                let touched = FileTouch { path: clean(text), how: Touch::Edited, lines: Vec::new() };
                let edited = ToolUse { tool: clean(tool), files: vec![touched], ..ToolUse::default() };
                let is_path = !text.contains(char::is_whitespace) && text.contains('/');
                self.hidden(Event::Tool(used)).is_some() || is_path && self.hidden(Event::Tool(edited)).is_some()
            }
        })
    }

    /// Stands for an output that names something private: it is unknown which of its lines belong to that. `None` if all
    /// of it may be kept.
    fn hidden_output(&self, text: &str) -> Option<String> {
        let clean = || Some(self.home.cleaner().clean(text.to_string(), WORDS));
        let used = ToolUse { outcome: Outcome::Failed, error: clean(), output: clean(), ..ToolUse::default() };
        let is_hidden = self.hidden(Event::Tool(used)).is_some() || self.names_opted_out(text);
        is_hidden.then(|| PRIVATE.to_string())
    }

    /// Whether a text names a path in another project that the user opted out.
    fn names_opted_out(&self, text: &str) -> bool {
        let (root, cwd) = (Path::new(&*self.location.root), Path::new(&*self.location.cwd));
        text.contains(['/', '\\']) && self.opted_out.is_named_in(root, cwd, text)
    }

    fn hidden_words(&self, text: &Clean) -> Option<String> {
        match self.hidden(Event::Prompt { text: text.clone() })? {
            Event::Prompt { text } => Some(text.to_string()),
            _ => Some(String::new()),
        }
    }

    fn hidden<'a>(&self, event: Event<'a>) -> Option<Event<'a>> {
        let record = Record {
            at: Timestamp::EPOCH,
            key: Clean::word(""),
            agent: self.agent,
            imported: false,
            heard_by: None,
            by_agent: false,
            origin: None,
            session: Clean::word(""),
            location: self.location.clone(),
            event,
        };
        self.opted_out.hidden(&record)
    }
}

/// Whether a field holds an id, which looks like a secret: `uuid`, `parentUuid`, `tool_use_id`, `requestId`.
fn holds_id(key: &str) -> bool {
    let key = key.to_lowercase();
    key.ends_with("id") || key.ends_with("ids")
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
