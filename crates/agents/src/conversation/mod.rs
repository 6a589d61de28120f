//! What is said in a transcript, line by line, whichever agent wrote it. Agents write the same few forms: a message with
//! a role, a call of a tool with its arguments, an answer to a call. They are recognised by their form.

mod forms;
pub mod purpose;
pub mod reduce;

use std::borrow::Cow;

use cerberus_record::time::Timestamp;
use serde::Serialize;
use serde_json::Value;

use self::forms::{CallForm, Object};
use self::reduce::NOT_KEPT;
use crate::transcripts::is_from_client;
pub use forms::Call;

/// One piece of a conversation.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Part {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub at: Option<Timestamp>,
    pub kind: PartKind,
    pub text: String,
    /// The tool that is called or answers.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tool: Option<String>,
    /// The file that the call is about.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub file: Option<String>,
    /// What connects a call with its answer.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub call: Option<String>,
}

/// The same, as it is in the line: a text may be long.
pub struct PartRef<'v> {
    pub at: Option<Timestamp>,
    pub kind: PartKind,
    pub text: Cow<'v, str>,
    pub tool: Option<&'v str>,
    pub file: Option<String>,
    pub call: Option<&'v str>,
}

impl PartRef<'_> {
    pub fn into_owned(self) -> Part {
        let PartRef { at, kind, text, tool, file, call } = self;
        let owned = |text: Option<&str>| text.map(str::to_string);
        Part { at, kind, text: text.into_owned(), tool: owned(tool), file, call: owned(call) }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum PartKind {
    /// What the user typed.
    Prompt,
    /// What the agent said.
    Message,
    /// What the agent thought.
    Thought,
    /// The use of a tool: a command, or the arguments.
    Call,
    /// What a tool printed.
    Output,
    /// What a tool printed that failed.
    Error,
    /// What the client wrote into the conversation, in the user's name or as the system.
    Note,
}

/// Where the forms put what is said. What else a line has is the client's business.
const SAID_IN: [&str; 11] = [
    "message",
    "payload",
    "data",
    "content",
    "parts",
    "messages",
    "toolCalls",
    "summary",
    "$set",
    "functionCall",
    "functionResponse",
];

/// Whether a line has what a tool printed that did not fail.
pub fn has_output(line: &Value) -> bool {
    match line {
        Value::Array(all) => all.iter().any(has_output),
        Value::Object(object) => {
            let answers = match (forms::call(object), forms::answer(object)) {
                (Some(form), _) => form.answers,
                (_, Some(form)) => form.answers,
                _ => return SAID_IN.into_iter().filter_map(|key| object.get(key)).any(has_output),
            };
            answers.iter().any(|path| forms::at(object, path).is_some()) && !forms::has_failed(object, "")
        }
        _ => false,
    }
}

/// The parts of a conversation in one line of a transcript.
pub fn parts(line: &Value) -> Vec<Part> {
    let mut found = Vec::new();
    each_part(line, &mut |part| found.push(part.into_owned()));
    found
}

/// Passes on the same parts one by one, without a copy.
pub fn each_part(line: &Value, take: &mut dyn FnMut(PartRef)) {
    read_parts(line, &mut |part| {
        take(part);
        true
    });
}

/// Whether a line begins with what the user typed.
pub fn is_prompt(line: &Value) -> bool {
    let mut is_prompt = false;
    read_parts(line, &mut |part| {
        is_prompt = part.kind == PartKind::Prompt;
        false
    });
    is_prompt
}

fn read_parts(line: &Value, take: &mut dyn FnMut(PartRef) -> bool) {
    let Some(object) = line.as_object() else { return };
    let is_set = |key: &str| object.get(key) == Some(&Value::Bool(true));
    let is_clients = is_set("isMeta") || is_set("isCompactSummary");
    let mut reader = Reader { at: time_of(line), is_side: is_set("isSidechain"), take, is_enough: false };
    // Codex writes for its screen what it has written for the model.
    if forms::text(object, "type") != Some("event_msg") {
        reader.read(line, if is_clients { Role::Client } else { Role::Unknown });
    }
}

/// Who speaks.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Role {
    User,
    Agent,
    Client,
    Unknown,
}

struct Reader<'t> {
    at: Option<Timestamp>,
    /// An agent talks with its subagent: nobody typed that.
    is_side: bool,
    /// Says whether there may be more.
    take: &'t mut dyn FnMut(PartRef) -> bool,
    is_enough: bool,
}

impl Reader<'_> {
    fn read(&mut self, value: &Value, role: Role) {
        if self.is_enough {
            return;
        }
        let object = match value {
            Value::Array(all) => return all.iter().for_each(|value| self.read(value, role)),
            Value::Object(object) => object,
            _ => return,
        };
        if let Some(form) = forms::call(object) {
            return self.call(object, &form);
        }
        if let Some(form) = forms::answer(object) {
            return self.answer(object, form.id, None, form.answers);
        }
        let role = role_of(object, role);
        if let Some(thought) = forms::text(object, "thinking") {
            return self.push(PartKind::Thought, thought);
        }
        if let Some(said) = forms::text(object, "text") {
            let is_thought = object.get("thought") == Some(&Value::Bool(true))
                || matches!(forms::text(object, "type"), Some("reasoning" | "summary_text"));
            return match is_thought {
                true => self.push(PartKind::Thought, said),
                false => self.say(role, said),
            };
        }
        if let Some(said) = forms::text(object, "content") {
            self.say(role, said);
        }
        for key in SAID_IN {
            if let Some(value @ (Value::Array(_) | Value::Object(_))) = object.get(key) {
                self.read(value, role);
            }
        }
    }

    fn say(&mut self, role: Role, said: &str) {
        let kind = match role {
            Role::Agent => PartKind::Message,
            Role::User if self.is_side => PartKind::Message,
            Role::User if !is_from_client(said) => PartKind::Prompt,
            Role::User | Role::Client | Role::Unknown => PartKind::Note,
        };
        self.push(kind, said);
    }

    fn call(&mut self, object: &Object, form: &CallForm) {
        let given = forms::at(object, form.arguments).map(forms::arguments).unwrap_or_default();
        let call = forms::awaited(form.tool, &given);
        let text = forms::command(&given).unwrap_or_else(|| spelled(&given, call.file.as_deref()));
        let (at, kind, tool, id) = (self.at, PartKind::Call, Some(form.tool), Some(form.id));
        self.take(PartRef { at, kind, text: text.into(), tool, file: call.file, call: id });
        if !form.answers.is_empty() {
            self.answer(object, form.id, Some(form.tool), form.answers);
        }
    }

    fn answer(&mut self, object: &Object, id: &str, tool: Option<&str>, answers: &[&[&str]]) {
        let mut texts = answers.iter().filter_map(|path| forms::at(object, path)).map(forms::printed);
        // A client may repeat an answer for its screen.
        let text = texts.find(|text| !text.is_empty()).unwrap_or_default();
        if text.is_empty() || text.starts_with(NOT_KEPT) {
            return;
        }
        let kind = if forms::has_failed(object, &text) { PartKind::Error } else { PartKind::Output };
        self.take(PartRef { at: self.at, kind, text, tool, file: None, call: Some(id) });
    }

    fn push(&mut self, kind: PartKind, text: &str) {
        if !text.trim().is_empty() {
            self.take(PartRef { at: self.at, kind, text: text.into(), tool: None, file: None, call: None });
        }
    }

    fn take(&mut self, part: PartRef) {
        if !self.is_enough {
            self.is_enough = !(self.take)(part);
        }
    }
}

fn role_of(object: &Object, role: Role) -> Role {
    if role == Role::Client {
        return role;
    }
    let info = object.get("info").and_then(Value::as_object);
    let named = forms::text(object, "role").or(info.and_then(|info| forms::text(info, "role")));
    match named.or(forms::text(object, "type")) {
        Some("user" | "user.message") => Role::User,
        Some("assistant" | "model" | "gemini" | "assistant.message") => Role::Agent,
        Some("system" | "developer" | "system.message" | "info") => Role::Client,
        _ => role,
    }
}

/// The arguments of a call, one below the other: of a file its path, and what is kept of its content.
fn spelled(given: &Value, file: Option<&str>) -> String {
    match given {
        Value::Object(object) if file.is_some() => {
            let texts = object.values().filter_map(Value::as_str);
            let kept = texts.filter(|text| !text.starts_with(NOT_KEPT) && Some(*text) != file);
            file.into_iter().chain(kept).collect::<Vec<_>>().join("\n")
        }
        Value::String(text) => text.clone(),
        Value::Object(object) => {
            let shown = |(key, value): (&String, &Value)| match value {
                Value::String(text) => format!("{key}: {text}"),
                value => format!("{key}: {value}"),
            };
            object.iter().map(shown).collect::<Vec<_>>().join("\n")
        }
        value => value.to_string(),
    }
}

/// When the line was written.
pub fn time_of(line: &Value) -> Option<Timestamp> {
    let object = line.as_object()?;
    if let Some(at) = forms::text(object, "timestamp").and_then(|at| Timestamp::parse(at).ok()) {
        return Some(at);
    }
    let paths: [&[&str]; 4] = [&["ts"], &["timestamp"], &["info", "time", "created"], &["time", "created"]];
    paths.into_iter().find_map(|path| forms::at(object, path)?.as_i64()).map(Timestamp::from_millis)
}
