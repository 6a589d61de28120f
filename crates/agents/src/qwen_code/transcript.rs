//! Qwen Code's chats: one message per line, in the form of Gemini's API. A chat of a subagent is a file of its own.
//!
//! The hooks name a tool use differently, so it is identified by its arguments. A prompt is kept as the user typed it;
//! beside it stand the reminders of the client and the context of hooks.

use std::borrow::Cow;

use cerberus_record::clean::Cleaner;
use cerberus_record::event::Outcome;
use cerberus_record::source::MemorySource;
use cerberus_record::time::Timestamp;
use serde::Deserialize;

use super::payload::ending;
use crate::gemini::payload::ShownEdit;
use crate::gemini::transcript::{GeminiFunctionResponse, GeminiResponse};
use crate::loose::{Flag, List, Object, RawJson, Text};
use crate::stream::{Count, Speaker, StreamEvent};
use crate::transcripts::tools::{ToolAnswer, ToolArguments, tool_use};
use crate::transcripts::{MESSAGES_MAX, Pending, ReadTranscript, Transcript, TranscriptBuilder, UseKey};

#[derive(Default, Deserialize)]
#[serde(default, bound = "'de: 'a")]
struct QwenLine<'a> {
    uuid: Text<'a>,
    #[serde(rename = "sessionId")]
    session: Text<'a>,
    timestamp: Text<'a>,
    cwd: Text<'a>,
    #[serde(rename = "gitBranch")]
    branch: Text<'a>,
    #[serde(rename = "isSidechain")]
    is_subagent: Flag,
    #[serde(rename = "type")]
    kind: Text<'a>,
    subtype: Text<'a>,
    provenance: Text<'a>,
    message: Object<QwenMessage<'a>>,
    #[serde(rename = "systemPayload")]
    details: Object<Details<'a>>,
    #[serde(rename = "toolCallResult")]
    result: Object<CallResult<'a>>,
    #[serde(rename = "usageMetadata")]
    usage: Object<QwenUsage>,
    #[serde(rename = "contextWindowSize")]
    window: Count,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct QwenUsage {
    #[serde(rename = "promptTokenCount")]
    prompt: Count,
    #[serde(rename = "candidatesTokenCount")]
    answer: Count,
}

#[derive(Default, Deserialize)]
#[serde(default, bound = "'de: 'a")]
struct QwenMessage<'a> {
    parts: List<Object<QwenPart<'a>>>,
}

#[derive(Default, Deserialize)]
#[serde(default, bound = "'de: 'a")]
struct QwenPart<'a> {
    text: Text<'a>,
    thought: Flag,
    #[serde(rename = "functionCall")]
    call: Object<QwenCall<'a>>,
    #[serde(rename = "functionResponse")]
    response: Object<GeminiFunctionResponse<'a>>,
}

#[derive(Default, Deserialize)]
#[serde(default, bound = "'de: 'a")]
struct QwenCall<'a> {
    id: Text<'a>,
    name: Text<'a>,
    args: RawJson<'a>,
}

/// What the client knows about a line beside the message.
#[derive(Default, Deserialize)]
#[serde(default, bound = "'de: 'a")]
struct Details<'a> {
    /// The prompt as the user typed it.
    #[serde(rename = "displayText")]
    typed: Text<'a>,
    /// The messages that remain after compaction; the first holds the summary.
    #[serde(rename = "compressedHistory")]
    remaining: List<Object<QwenMessage<'a>>, MESSAGES_MAX>,
}

#[derive(Default, Deserialize)]
#[serde(default, bound = "'de: 'a")]
struct CallResult<'a> {
    status: Text<'a>,
    #[serde(rename = "resultDisplay")]
    display: Object<ShownEdit<'a>>,
}

pub(crate) fn begin(cleaner: &Cleaner) -> Box<dyn ReadTranscript + '_> {
    Box::new(QwenReader { builder: TranscriptBuilder::new(cleaner), open: Pending::default() })
}

/// What a line says about the size of the context. A subagent has a context of its own.
pub(crate) fn context(line: &[u8]) -> Vec<StreamEvent> {
    let Ok(Object(line)) = serde_json::from_slice::<Object<QwenLine>>(line) else { return Vec::new() };
    match (line.kind.0.as_deref(), line.subtype.0.as_deref()) {
        _ if line.is_subagent.0 => Vec::new(),
        (Some("system"), Some("chat_compression")) => vec![StreamEvent::Compacted],
        (Some("assistant"), _) if line.usage.0.prompt.0 > 0 => {
            let Object(QwenUsage { prompt, answer }) = line.usage;
            let context = prompt.0.saturating_add(answer.0);
            let usage = StreamEvent::Usage { message: None, context, output: answer.0, own: Speaker::Main };
            let window = StreamEvent::Window { model: String::new(), tokens: line.window.0 };
            if line.window.0 > 0 { vec![window, usage] } else { vec![usage] }
        }
        _ => Vec::new(),
    }
}

/// Where a message of the user is from, if nobody typed it.
fn untyped(subtype: Option<&str>, provenance: Option<&str>) -> Option<MemorySource> {
    match (subtype, provenance) {
        (Some("cron"), _) => Some(MemorySource::Scheduled),
        (None | Some("mid_turn_user_message"), None | Some("real_user")) => None,
        _ => Some(MemorySource::Client),
    }
}

struct QwenReader<'c> {
    builder: TranscriptBuilder<'c>,
    open: Pending<QwenOpen>,
}

/// A call that has no result yet.
struct QwenOpen {
    name: String,
    /// JSON.
    arguments: String,
    began_at: Option<Timestamp>,
}

impl ReadTranscript for QwenReader<'_> {
    fn line(&mut self, line: &[u8]) -> Option<()> {
        self.take(serde_json::from_slice::<Object<QwenLine>>(line).ok()?.0);
        Some(())
    }

    fn finish(&mut self) {
        for (id, QwenOpen { name, arguments, began_at }) in self.open.take() {
            let key = UseKey::Given { arguments: &arguments, id: &id };
            self.builder.in_flight(key, began_at, &name, &ToolArguments::read(&arguments));
        }
        self.builder.finish();
    }

    fn read(&mut self) -> &mut Transcript {
        &mut self.builder.read
    }
}

impl QwenReader<'_> {
    fn take(&mut self, line: QwenLine) {
        let builder = &mut self.builder;
        builder.session = line.session.0.map(Cow::into_owned).or(builder.session.take());
        builder.set_time(line.timestamp.0);
        builder.set_cwd(line.cwd.0);
        builder.set_branch(line.branch.0);
        builder.is_subagent = line.is_subagent.0;
        let id = line.uuid.0.unwrap_or_default();
        let Object(QwenMessage { parts }) = line.message;
        builder.untyped = untyped(line.subtype.0.as_deref(), line.provenance.0.as_deref());
        match (line.kind.0.as_deref(), line.subtype.0.as_deref()) {
            (Some("user"), _) if builder.untyped.is_some() => _ = builder.saw_prompt(typed(parts), &id),
            (Some("user"), None) => {
                let words = line.details.0.typed.0.unwrap_or_else(|| typed(parts));
                // A command to the client itself.
                if !words.trim_start().starts_with('/') && !words.trim().is_empty() {
                    builder.finish_turn();
                    builder.prompt(words, &id);
                }
            }
            (Some("assistant"), None) => self.assistant(parts, &id),
            (Some("tool_result"), _) => self.results(parts, &line.result.0),
            (Some("system"), Some("chat_compression")) => {
                let first = line.details.0.remaining.0.into_iter().next();
                builder.compacted(first.map(|Object(message)| spoken(message.parts)).unwrap_or_default(), &id);
            }
            _ => {}
        }
    }

    fn assistant(&mut self, parts: List<Object<QwenPart>>, id: &str) {
        let (calls, texts): (Vec<_>, Vec<_>) =
            parts.0.into_iter().partition(|Object(part)| part.call.0.name.0.is_some());
        self.builder.agent_message(spoken(List(texts)), id);
        for Object(part) in calls {
            let Object(QwenCall { id, name, args }) = part.call;
            if let (Some(id), Some(name)) = (id.0, name.0) {
                let (name, arguments, began_at) = (name.into_owned(), args.0.to_string(), self.builder.at);
                self.open.insert(&id, arguments.len(), QwenOpen { name, arguments, began_at });
            }
            self.builder.uses_tool();
        }
    }

    fn results(&mut self, parts: List<Object<QwenPart>>, result: &CallResult) {
        for Object(part) in parts.0 {
            let Object(response) = part.response;
            let Some(id) = response.id.0 else { continue };
            let Some(QwenOpen { name, arguments, .. }) = self.open.remove(&id) else { continue };
            let Object(GeminiResponse { output, error }) = response.response;
            let printed = output.0.or(error.0).unwrap_or_default();
            let answer = match (result.status.0.as_deref(), &*name) {
                (Some("cancelled"), _) => ToolAnswer::ended(Outcome::Interrupted, printed),
                (_, "run_shell_command") => {
                    let (exit, output) = ending(&printed);
                    ToolAnswer::exit(exit, Cow::Owned(output))
                }
                (Some("error"), _) => ToolAnswer::ended(Outcome::Failed, printed),
                _ => ToolAnswer { output: printed, diff: result.display.0.diff, ..ToolAnswer::default() },
            };
            let used = tool_use(self.builder.cleaner, &name, &ToolArguments::read(&arguments), &answer);
            self.builder.tool(UseKey::Given { arguments: &arguments, id: &id }, used);
        }
    }
}

/// What the agent said, without what it thought.
fn spoken<'a>(parts: List<Object<QwenPart<'a>>>) -> Cow<'a, str> {
    joined(parts.0.into_iter().filter(|Object(part)| !part.thought.0).filter_map(|Object(part)| part.text.0))
}

/// What the user typed, without what the client and hooks put beside it.
fn typed<'a>(parts: List<Object<QwenPart<'a>>>) -> Cow<'a, str> {
    let is_beside = |text: &Cow<str>| text.starts_with("<system-reminder>") || text.starts_with("<qwen:");
    joined(parts.0.into_iter().filter_map(|Object(part)| part.text.0).filter(|text| !is_beside(text)))
}

fn joined<'a>(mut texts: impl Iterator<Item = Cow<'a, str>>) -> Cow<'a, str> {
    let first = texts.next().unwrap_or_default();
    texts.fold(first, |all, text| Cow::Owned(format!("{all}\n{text}")))
}
