//! Gemini CLI's chats: one message a line, the whole message again whenever more is known of it. Older files are one
//! object that holds them all.
//!
//! Its hooks do not say which tool use they report on, so a use is known by what it was given. What the user took back
//! still happened. A history that was rewritten for the model tells nothing new but its summary, and which folder the chat
//! speaks of; where it does not, whoever found the file may know.

use std::borrow::Cow;
use std::collections::HashMap;

use serde::Deserialize;

use super::payload::without_context;
use crate::agents::loose::{List, Object, Raw, Text, TextOrList};
use crate::agents::transcripts::tools::{Answer, Arguments, tool_use};
use crate::agents::transcripts::{MESSAGES_MAX, Scribe, Transcript, UseKey, each_line};
use crate::clean::Cleaner;
use crate::model::event::Outcome;

#[derive(Default, Deserialize)]
#[serde(default)]
struct Line<'a> {
    #[serde(rename = "sessionId", borrow)]
    session: Text<'a>,
    #[serde(borrow)]
    kind: Text<'a>,
    #[serde(borrow)]
    directories: List<Text<'a>>,
    #[serde(borrow)]
    messages: List<Object<Message<'a>>, MESSAGES_MAX>,
    #[serde(rename = "$set", borrow)]
    set: Object<Change<'a>>,
    // A message stands on a line of its own.
    #[serde(borrow)]
    id: Text<'a>,
    #[serde(borrow)]
    timestamp: Text<'a>,
    #[serde(rename = "type", borrow)]
    role: Text<'a>,
    #[serde(borrow)]
    content: Raw<'a>,
    #[serde(rename = "displayContent", borrow)]
    shown: Raw<'a>,
    #[serde(rename = "toolCalls", borrow)]
    calls: List<Object<Call<'a>>>,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct Change<'a> {
    #[serde(borrow)]
    messages: List<Object<Message<'a>>, MESSAGES_MAX>,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct Message<'a> {
    #[serde(borrow)]
    id: Text<'a>,
    #[serde(borrow)]
    timestamp: Text<'a>,
    #[serde(rename = "type", borrow)]
    role: Text<'a>,
    #[serde(borrow)]
    content: Raw<'a>,
    #[serde(rename = "displayContent", borrow)]
    shown: Raw<'a>,
    #[serde(rename = "toolCalls", borrow)]
    calls: List<Object<Call<'a>>>,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct Call<'a> {
    #[serde(borrow)]
    id: Text<'a>,
    #[serde(borrow)]
    name: Text<'a>,
    #[serde(borrow)]
    args: Raw<'a>,
    #[serde(borrow)]
    status: Text<'a>,
    #[serde(borrow)]
    timestamp: Text<'a>,
    #[serde(borrow)]
    result: TextOrList<'a, Object<Part<'a>>>,
    #[serde(rename = "resultDisplay", borrow)]
    display: Object<Display<'a>>,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct Part<'a> {
    #[serde(borrow)]
    text: Text<'a>,
    #[serde(rename = "functionResponse", borrow)]
    response: Object<FunctionResponse<'a>>,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct FunctionResponse<'a> {
    #[serde(borrow)]
    response: Object<Response<'a>>,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct Response<'a> {
    #[serde(borrow)]
    output: Text<'a>,
    #[serde(borrow)]
    error: Text<'a>,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct Display<'a> {
    #[serde(rename = "fileDiff", borrow)]
    diff: Text<'a>,
}

/// The role of a text that took the place of the messages before it.
const SUMMARY: &str = "summary";

/// Reads a whole chat.
pub(in crate::agents) fn read<'a>(cleaner: &'a Cleaner, bytes: &'a [u8]) -> Transcript<'a> {
    let mut reader = Reader { scribe: Scribe::new(cleaner), messages: Vec::new(), known: HashMap::new() };
    // An older file is one object, often over many lines.
    let damaged_lines = match serde_json::from_slice::<Object<Line>>(bytes) {
        Ok(Object(whole)) => {
            reader.line(whole);
            0
        }
        Err(_) => each_line(bytes, |Object(line)| reader.line(line)),
    };
    reader.tell(damaged_lines)
}

struct Reader<'a> {
    scribe: Scribe<'a>,
    /// In the order in which they were begun, as they were last told.
    messages: Vec<Message<'a>>,
    known: HashMap<Cow<'a, str>, usize>,
}

impl<'a> Reader<'a> {
    fn line(&mut self, line: Line<'a>) {
        let Line { session, kind, directories, messages, set, id, timestamp, role, content, shown, calls } = line;
        self.scribe.session = self.scribe.session.take().or(session.0);
        self.scribe.is_subagent |= kind.0.as_deref() == Some("subagent");
        self.scribe.stands_in(directories.0.into_iter().find_map(|folder| folder.0));
        set.0.messages.0.into_iter().for_each(|rewritten| self.rewritten(rewritten.0));
        messages.0.into_iter().for_each(|message| self.message(message.0));
        self.message(Message { id, timestamp, role, content, shown, calls });
    }

    fn message(&mut self, message: Message<'a>) {
        let Some(id) = message.id.0.clone() else { return };
        match self.known.get(&id) {
            Some(known) => self.messages[*known] = message,
            None => {
                self.known.insert(id, self.messages.len());
                self.messages.push(message);
            }
        }
    }

    fn rewritten(&mut self, message: Message<'a>) {
        let words = spoken(message.content);
        if words.contains("<state_snapshot>") && message.id.0.as_ref().is_some_and(|id| !self.known.contains_key(id)) {
            self.message(Message { role: Text(Some(Cow::Borrowed(SUMMARY))), ..message });
        } else if self.scribe.cwd.is_none() && words.trim_start().starts_with("<session_context>") {
            self.scribe.stands_in(workspace(&words).map(Cow::Owned));
        }
    }

    fn tell(mut self, damaged_lines: usize) -> Transcript<'a> {
        for message in std::mem::take(&mut self.messages) {
            let id = message.id.0.unwrap_or_default();
            self.scribe.stands_at(message.timestamp.0);
            match message.role.0.as_deref() {
                Some("user") => {
                    let words = Some(spoken(message.shown)).filter(|shown| !shown.is_empty());
                    let words = words.unwrap_or_else(|| without_files(without_context(spoken(message.content))));
                    // A command to the client itself.
                    if !words.trim_start().starts_with(['/', '?']) && !words.trim().is_empty() {
                        self.scribe.finish_turn();
                        self.scribe.prompt(words, &id);
                    }
                }
                Some(SUMMARY) => self.scribe.compacted(spoken(message.content), &id),
                Some("gemini") => {
                    let is_at_work = !message.calls.0.is_empty();
                    message.calls.0.into_iter().for_each(|call| self.call(call.0));
                    self.scribe.says(spoken(message.content), id);
                    // It is asked again with what the tools returned.
                    if is_at_work {
                        self.scribe.uses_tool();
                    }
                }
                _ => {}
            }
        }
        self.scribe.finish();
        Transcript { damaged_lines, ..self.scribe.read }
    }

    fn call(&mut self, call: Call<'a>) {
        let (Some(id), Some(name)) = (call.id.0, call.name.0) else { return };
        self.scribe.stands_at(call.timestamp.0);
        let arguments = Arguments::read(call.args.0);
        let printed = match call.result {
            TextOrList::Text(text) => text,
            TextOrList::List(parts) => parts.into_iter().find_map(|part| part.0.printed()).unwrap_or_default(),
            TextOrList::Neither => Cow::Borrowed(""),
        };
        let answer = match call.status.0.as_deref() {
            Some("success") => {
                let (exit, output) = exit(&printed);
                Answer {
                    diff: call.display.0.diff.0.unwrap_or_default(),
                    ..Answer::exited(exit, Cow::Borrowed(output))
                }
            }
            Some("error") => Answer { outcome: Outcome::Failed, output: printed, ..Answer::default() },
            Some("cancelled") => Answer { outcome: Outcome::Interrupted, output: printed, ..Answer::default() },
            _ => {
                let key = UseKey::Given { arguments: call.args.0, id };
                return self.scribe.in_flight(key, self.scribe.at, &name, &arguments);
            }
        };
        let used = tool_use(self.scribe.cleaner, &name, &arguments, &answer);
        self.scribe.tool(UseKey::Given { arguments: call.args.0, id }, used);
    }
}

impl<'a> Part<'a> {
    fn printed(self) -> Option<Cow<'a, str>> {
        let response = self.response.0.response.0;
        response.output.0.or(response.error.0).or(self.text.0)
    }
}

/// What was said: a text, a part with one, or a list of either.
fn spoken(content: Raw<'_>) -> Cow<'_, str> {
    #[derive(Default, Deserialize)]
    #[serde(default)]
    struct Said<'a> {
        #[serde(borrow)]
        text: Text<'a>,
    }
    match serde_json::from_str::<TextOrList<Raw>>(content.0) {
        Ok(TextOrList::Text(text)) => text,
        Ok(TextOrList::List(parts)) => {
            let mut texts = parts.into_iter().map(spoken).filter(|text| !text.is_empty());
            let first = texts.next().unwrap_or_default();
            texts.fold(first, |all, text| Cow::Owned(format!("{all}\n{text}")))
        }
        _ => serde_json::from_str::<Object<Said>>(content.0).ok().and_then(|said| said.0.text.0).unwrap_or_default(),
    }
}

/// The folder that the client told the model it works in.
fn workspace(context: &str) -> Option<String> {
    let (_, listed) = context.split_once("Workspace Directories:**\n")?;
    listed.lines().next()?.trim().strip_prefix("- ").map(str::to_string)
}

/// Files that the user referred to are put behind the words; their contents are not words.
fn without_files(words: Cow<'_, str>) -> Cow<'_, str> {
    match words.split_once("\n--- Content from referenced files ---") {
        Some((said, _)) => Cow::Owned(said.to_string()),
        None => words,
    }
}

/// A command's output as the model was shown it: `Output: …`, then `Exit Code: 3` where it failed.
fn exit(printed: &str) -> (i64, &str) {
    let Some((_, output)) = printed.split_once("Output: ") else { return (0, printed) };
    let Some((output, rest)) = output.rsplit_once("\nExit Code: ") else {
        let output = output.split("\nProcess Group PGID: ").next().unwrap_or(output);
        return (0, output);
    };
    let code = rest.lines().next().and_then(|code| code.trim().parse().ok());
    (code.unwrap_or(0), output)
}
