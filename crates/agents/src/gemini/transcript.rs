//! Gemini CLI's chats: one message per line, repeated in full whenever it grows. Older files are one object with all
//! messages.
//!
//! The hooks report no tool use ids, so a tool use is identified by its arguments. Messages that the user rewound
//! still happened. A history rewritten for the model adds only its summary and the folder of the chat. If the folder
//! is missing, the caller may know it.

use std::borrow::Cow;
use std::collections::HashMap;

use cerberus_record::clean::Cleaner;
use cerberus_record::event::Outcome;
use serde::Deserialize;

use super::payload::without_context;
use crate::loose::{List, Object, RawJson, Text, TextOrList};
use crate::transcripts::tools::{ToolAnswer, ToolArguments, tool_use};
use crate::transcripts::{MESSAGES_MAX, Transcript, TranscriptBuilder, UseKey, each_line};

#[derive(Default, Deserialize)]
#[serde(default, bound = "'de: 'a")]
struct GeminiLine<'a> {
    #[serde(rename = "sessionId")]
    session: Text<'a>,
    kind: Text<'a>,
    directories: List<Text<'a>>,
    messages: List<Object<GeminiMessage<'a>>, MESSAGES_MAX>,
    /// The title of the chat.
    summary: Text<'a>,
    #[serde(rename = "$set")]
    set: Object<GeminiChange<'a>>,
    // A message on a line of its own.
    id: Text<'a>,
    timestamp: Text<'a>,
    #[serde(rename = "type")]
    role: Text<'a>,
    content: RawJson<'a>,
    #[serde(rename = "displayContent")]
    shown: RawJson<'a>,
    #[serde(rename = "toolCalls")]
    calls: List<Object<GeminiCall<'a>>>,
}

#[derive(Default, Deserialize)]
#[serde(default, bound = "'de: 'a")]
struct GeminiChange<'a> {
    summary: Text<'a>,
    messages: List<Object<GeminiMessage<'a>>, MESSAGES_MAX>,
}

#[derive(Default, Deserialize)]
#[serde(default, bound = "'de: 'a")]
struct GeminiMessage<'a> {
    id: Text<'a>,
    timestamp: Text<'a>,
    #[serde(rename = "type")]
    role: Text<'a>,
    content: RawJson<'a>,
    #[serde(rename = "displayContent")]
    shown: RawJson<'a>,
    #[serde(rename = "toolCalls")]
    calls: List<Object<GeminiCall<'a>>>,
}

#[derive(Default, Deserialize)]
#[serde(default, bound = "'de: 'a")]
struct GeminiCall<'a> {
    id: Text<'a>,
    name: Text<'a>,
    args: RawJson<'a>,
    status: Text<'a>,
    timestamp: Text<'a>,
    result: TextOrList<'a, Object<GeminiPart<'a>>>,
    #[serde(rename = "resultDisplay")]
    display: Object<GeminiDisplay<'a>>,
}

#[derive(Default, Deserialize)]
#[serde(default, bound = "'de: 'a")]
struct GeminiPart<'a> {
    text: Text<'a>,
    #[serde(rename = "functionResponse")]
    response: Object<GeminiFunctionResponse<'a>>,
}

#[derive(Default, Deserialize)]
#[serde(default, bound = "'de: 'a")]
pub(crate) struct GeminiFunctionResponse<'a> {
    pub id: Text<'a>,
    pub response: Object<GeminiResponse<'a>>,
}

#[derive(Default, Deserialize)]
#[serde(default, bound = "'de: 'a")]
pub(crate) struct GeminiResponse<'a> {
    pub output: Text<'a>,
    pub error: Text<'a>,
}

#[derive(Default, Deserialize)]
#[serde(default, bound = "'de: 'a")]
pub(crate) struct GeminiDisplay<'a> {
    #[serde(rename = "fileDiff")]
    pub diff: Text<'a>,
}

/// The role of a text that replaced the messages before it.
const SUMMARY: &str = "summary";

/// Parses a whole chat.
pub(crate) fn read<'a>(cleaner: &'a Cleaner, bytes: &'a [u8]) -> Transcript<'a> {
    let mut reader =
        GeminiReader { builder: TranscriptBuilder::new(cleaner), messages: Vec::new(), known: HashMap::new() };
    // An older file is one object, often over many lines.
    let damaged_lines = match serde_json::from_slice::<Object<GeminiLine>>(bytes) {
        Ok(Object(whole)) => {
            reader.line(whole);
            0
        }
        Err(_) => each_line(bytes, |Object(line)| reader.line(line)),
    };
    reader.finish(damaged_lines)
}

struct GeminiReader<'a> {
    builder: TranscriptBuilder<'a>,
    /// In the order in which they started, each in its latest version.
    messages: Vec<GeminiMessage<'a>>,
    known: HashMap<Cow<'a, str>, usize>,
}

impl<'a> GeminiReader<'a> {
    fn line(&mut self, line: GeminiLine<'a>) {
        let GeminiLine {
            session,
            kind,
            directories,
            messages,
            summary,
            set,
            id,
            timestamp,
            role,
            content,
            shown,
            calls,
        } = line;
        self.builder.set_title(summary.0);
        self.builder.set_title(set.0.summary.0);
        self.builder.session = self.builder.session.take().or(session.0);
        self.builder.is_subagent |= kind.0.as_deref() == Some("subagent");
        self.builder.set_cwd(directories.0.into_iter().find_map(|folder| folder.0));
        set.0.messages.0.into_iter().for_each(|rewritten| self.rewritten(rewritten.0));
        messages.0.into_iter().for_each(|message| self.message(message.0));
        self.message(GeminiMessage { id, timestamp, role, content, shown, calls });
    }

    fn message(&mut self, message: GeminiMessage<'a>) {
        let Some(id) = message.id.0.clone() else { return };
        match self.known.get(&id) {
            Some(known) => self.messages[*known] = message,
            None => {
                self.known.insert(id, self.messages.len());
                self.messages.push(message);
            }
        }
    }

    fn rewritten(&mut self, message: GeminiMessage<'a>) {
        let words = text_of(message.content);
        if words.contains("<state_snapshot>") && message.id.0.as_ref().is_some_and(|id| !self.known.contains_key(id)) {
            self.message(GeminiMessage { role: Text(Some(Cow::Borrowed(SUMMARY))), ..message });
        } else if self.builder.cwd.is_none() && words.trim_start().starts_with("<session_context>") {
            self.builder.set_cwd(workspace(&words).map(Cow::Owned));
        }
    }

    fn finish(mut self, damaged_lines: usize) -> Transcript<'a> {
        for message in std::mem::take(&mut self.messages) {
            let id = message.id.0.unwrap_or_default();
            self.builder.set_time(message.timestamp.0);
            match message.role.0.as_deref() {
                Some("user") => {
                    let words = Some(text_of(message.shown)).filter(|shown| !shown.is_empty());
                    let words = words.unwrap_or_else(|| without_files(without_context(text_of(message.content))));
                    // A command to the client itself.
                    if !words.trim_start().starts_with(['/', '?']) && !words.trim().is_empty() {
                        self.builder.finish_turn();
                        self.builder.prompt(words, &id);
                    }
                }
                Some(SUMMARY) => self.builder.compacted(text_of(message.content), &id),
                Some("gemini") => {
                    let is_at_work = !message.calls.0.is_empty();
                    message.calls.0.into_iter().for_each(|call| self.call(call.0));
                    self.builder.agent_message(text_of(message.content), id);
                    // It is asked again with what the tools returned.
                    if is_at_work {
                        self.builder.uses_tool();
                    }
                }
                _ => {}
            }
        }
        self.builder.finish();
        Transcript { damaged_lines, ..self.builder.read }
    }

    fn call(&mut self, call: GeminiCall<'a>) {
        let (Some(id), Some(name)) = (call.id.0, call.name.0) else { return };
        self.builder.set_time(call.timestamp.0);
        let arguments = ToolArguments::read(call.args.0);
        let printed = match call.result {
            TextOrList::Text(text) => text,
            TextOrList::List(parts) => parts.into_iter().find_map(|part| part.0.printed()).unwrap_or_default(),
            TextOrList::Neither => Cow::Borrowed(""),
        };
        let answer = match call.status.0.as_deref() {
            Some("success") => {
                let (exit, output) = exit(&printed);
                ToolAnswer {
                    diff: call.display.0.diff.0.unwrap_or_default(),
                    ..ToolAnswer::exited(exit, Cow::Borrowed(output))
                }
            }
            Some("error") => ToolAnswer { outcome: Outcome::Failed, output: printed, ..ToolAnswer::default() },
            Some("cancelled") => ToolAnswer { outcome: Outcome::Interrupted, output: printed, ..ToolAnswer::default() },
            _ => {
                let key = UseKey::Given { arguments: call.args.0, id };
                return self.builder.in_flight(key, self.builder.at, &name, &arguments);
            }
        };
        let used = tool_use(self.builder.cleaner, &name, &arguments, &answer);
        self.builder.tool(UseKey::Given { arguments: call.args.0, id }, used);
    }
}

impl<'a> GeminiPart<'a> {
    fn printed(self) -> Option<Cow<'a, str>> {
        let response = self.response.0.response.0;
        response.output.0.or(response.error.0).or(self.text.0)
    }
}

/// The text of a message: a string, a part with a text, or a list of either.
fn text_of(content: RawJson<'_>) -> Cow<'_, str> {
    #[derive(Default, Deserialize)]
    #[serde(default, bound = "'de: 'a")]
    struct TextPart<'a> {
        text: Text<'a>,
    }
    match serde_json::from_slice::<TextOrList<RawJson>>(content.0.as_bytes()) {
        Ok(TextOrList::Text(text)) => text,
        Ok(TextOrList::List(parts)) => {
            let mut texts = parts.into_iter().map(text_of).filter(|text| !text.is_empty());
            let first = texts.next().unwrap_or_default();
            texts.fold(first, |all, text| Cow::Owned(format!("{all}\n{text}")))
        }
        _ => serde_json::from_slice::<Object<TextPart>>(content.0.as_bytes())
            .ok()
            .and_then(|part| part.0.text.0)
            .unwrap_or_default(),
    }
}

/// The folder that the client named to the model.
fn workspace(context: &str) -> Option<String> {
    let (_, listed) = context.split_once("Workspace Directories:**\n")?;
    listed.lines().next()?.trim().strip_prefix("- ").map(str::to_string)
}

/// The contents of files the user referred to follow the prompt; they are not part of it.
fn without_files(words: Cow<'_, str>) -> Cow<'_, str> {
    match words.split_once("\n--- Content from referenced files ---") {
        Some((before, _)) => Cow::Owned(before.to_string()),
        None => words,
    }
}

/// A command's output as the model saw it: `Output: …`, then `Exit Code: 3` if it failed.
fn exit(printed: &str) -> (i64, &str) {
    let Some((_, output)) = printed.split_once("Output: ") else { return (0, printed) };
    let Some((output, rest)) = output.rsplit_once("\nExit Code: ") else {
        let output = output.split("\nProcess Group PGID: ").next().unwrap_or(output);
        return (0, output);
    };
    let code = rest.lines().next().and_then(|code| code.trim().parse().ok());
    (code.unwrap_or(0), output)
}
