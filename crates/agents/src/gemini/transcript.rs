//! Gemini CLI's chats: one message per line, repeated in full whenever it grows. Older files are one object with all
//! messages.
//!
//! The hooks report no tool use ids, so a tool use is identified by its arguments. Messages that the user rewound
//! still happened. A history rewritten for the model adds only its summary and the folder of the chat. If the folder
//! is missing, the caller may know it.

use std::borrow::Cow;
use std::collections::{HashSet, VecDeque};

use cerberus_record::clean::Cleaner;
use cerberus_record::event::Outcome;
use cerberus_record::id::fnv1a;
use serde::Deserialize;

use super::payload::{ShownEdit, without_context};
use crate::loose::{List, Object, RawJson, Text, TextOrList};
use crate::transcripts::tools::{ToolAnswer, ToolArguments, tool_use};
use crate::transcripts::{MESSAGES_MAX, ReadTranscript, Transcript, TranscriptBuilder, UseKey};

#[derive(Default, Deserialize)]
#[serde(default, bound = "'de: 'a")]
struct GeminiLine<'a> {
    #[serde(rename = "sessionId")]
    session: Text<'a>,
    kind: Text<'a>,
    directories: List<Text<'a>>,
    messages: List<RawJson<'a>, MESSAGES_MAX>,
    /// The title of the chat.
    summary: Text<'a>,
    #[serde(rename = "$set")]
    set: Object<GeminiChange<'a>>,
    /// Set if the line is a message.
    id: Text<'a>,
}

#[derive(Default, Deserialize)]
#[serde(default, bound = "'de: 'a")]
struct GeminiChange<'a> {
    summary: Text<'a>,
    messages: List<RawJson<'a>, MESSAGES_MAX>,
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
    display: Object<ShownEdit<'a>>,
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

/// How many of the last messages may still grow, and how long they may be together.
const GROWING_MAX: usize = 64;
const GROWING_BYTES_MAX: usize = 16 * 1024 * 1024;

pub(crate) fn begin(cleaner: &Cleaner) -> Box<dyn ReadTranscript + '_> {
    let (growing, known) = (VecDeque::new(), HashSet::new());
    Box::new(GeminiReader { builder: TranscriptBuilder::new(cleaner), growing, growing_bytes: 0, known })
}

struct GeminiReader<'c> {
    builder: TranscriptBuilder<'c>,
    /// The last messages in the order in which they started, each in its latest version.
    growing: VecDeque<Growing>,
    growing_bytes: usize,
    /// The ids of all messages, as hashes.
    known: HashSet<u64>,
}

struct Growing {
    id: String,
    json: String,
    /// It replaced the messages before it.
    is_summary: bool,
}

impl ReadTranscript for GeminiReader<'_> {
    fn line(&mut self, line: &[u8]) -> Option<()> {
        let text = std::str::from_utf8(line).ok()?;
        let Object(GeminiLine { session, kind, directories, messages, summary, set, id }) =
            serde_json::from_slice(line).ok()?;
        self.builder.set_title(summary.0);
        self.builder.set_title(set.0.summary.0);
        self.builder.set_session(session.0);
        self.builder.is_subagent |= kind.0.as_deref() == Some("subagent");
        self.builder.set_cwd(directories.0.into_iter().find_map(|folder| folder.0));
        set.0.messages.0.into_iter().for_each(|rewritten| self.rewritten(rewritten.0));
        for RawJson(message) in messages.0 {
            let Object(GeminiMessage { id, .. }) = parsed(message);
            self.message(id, message, false);
        }
        self.message(id, text, false);
        Some(())
    }

    fn finish(&mut self) {
        while let Some(grown) = self.growing.pop_front() {
            self.grown(&grown);
        }
        self.builder.finish();
    }

    fn read(&mut self) -> &mut Transcript {
        &mut self.builder.read
    }
}

impl GeminiReader<'_> {
    fn message(&mut self, id: Text, json: &str, is_summary: bool) {
        let Some(id) = id.0 else { return };
        let message = Growing { id: id.into_owned(), json: json.to_string(), is_summary };
        self.growing_bytes += json.len();
        if let Some(known) = self.growing.iter_mut().rfind(|known| known.id == message.id) {
            self.growing_bytes -= known.json.len();
            *known = message;
        } else if self.known.insert(fnv1a(message.id.as_bytes())) {
            self.growing.push_back(message);
        } else {
            self.growing_bytes -= json.len();
        }
        while self.growing.len() > GROWING_MAX || self.growing_bytes > GROWING_BYTES_MAX {
            let Some(grown) = self.growing.pop_front() else { break };
            self.growing_bytes -= grown.json.len();
            self.grown(&grown);
        }
    }

    fn rewritten(&mut self, json: &str) {
        let Object(GeminiMessage { id, content, .. }) = parsed(json);
        let words = text_of(content);
        let is_new = id.0.as_ref().is_some_and(|id| !self.known.contains(&fnv1a(id.as_bytes())));
        if words.contains("<state_snapshot>") && is_new {
            self.message(id, json, true);
        } else if self.builder.cwd.is_none() && words.trim_start().starts_with("<session_context>") {
            self.builder.set_cwd(workspace(&words).map(Cow::Owned));
        }
    }

    /// Takes a message in its last version.
    fn grown(&mut self, Growing { id, json, is_summary }: &Growing) {
        let Object(message) = parsed(json);
        self.builder.set_time(message.timestamp.0);
        match message.role.0.as_deref() {
            _ if *is_summary => self.builder.compacted(text_of(message.content), id),
            Some("user") => {
                let words = Some(text_of(message.shown)).filter(|shown| !shown.is_empty());
                let words = words.unwrap_or_else(|| without_files(without_context(text_of(message.content))));
                // A command to the client itself.
                if !words.trim_start().starts_with(['/', '?']) && !words.trim().is_empty() {
                    self.builder.finish_turn();
                    self.builder.prompt(words, id);
                }
            }
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

    fn call(&mut self, call: GeminiCall) {
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
                ToolAnswer { diff: call.display.0.diff, ..ToolAnswer::exited(exit, Cow::Borrowed(output)) }
            }
            Some("error") => ToolAnswer::ended(Outcome::Failed, printed),
            Some("cancelled") => ToolAnswer::ended(Outcome::Interrupted, printed),
            _ => {
                let key = UseKey::Given { arguments: call.args.0, id: &id };
                return self.builder.in_flight(key, self.builder.at, &name, &arguments);
            }
        };
        let used = tool_use(self.builder.cleaner, &name, &arguments, &answer);
        self.builder.tool(UseKey::Given { arguments: call.args.0, id: &id }, used);
    }
}

impl<'a> GeminiPart<'a> {
    fn printed(self) -> Option<Cow<'a, str>> {
        let response = self.response.0.response.0;
        response.output.0.or(response.error.0).or(self.text.0)
    }
}

fn parsed(json: &str) -> Object<GeminiMessage<'_>> {
    serde_json::from_slice(json.as_bytes()).unwrap_or_default()
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
