//! Cline's sessions: one object with all messages, in the form of Anthropic's API. A subagent has a file of its own,
//! which names the session that started it. The folder of the session is in another file.
//!
//! Tool uses and prompts have the same ids as in the plugin's messages.

use std::borrow::Cow;

use cerberus_record::clean::Cleaner;
use cerberus_record::source::MemorySource;
use cerberus_record::time::Timestamp;
use serde::Deserialize;

use super::payload::{tool_use, typed};
use crate::loose::{Flag, List, Object, RawJson, Text};
use crate::transcripts::tools::ToolArguments;
use crate::transcripts::{MESSAGES_MAX, Transcript, TranscriptBuilder, UseKey};

#[derive(Default, Deserialize)]
#[serde(default, bound = "'de: 'a")]
struct ClineFile<'a> {
    #[serde(rename = "sessionId")]
    session: Text<'a>,
    origin: Object<ClineOrigin<'a>>,
    messages: List<Object<ClineMessage<'a>>, MESSAGES_MAX>,
}

#[derive(Default, Deserialize)]
#[serde(default, bound = "'de: 'a")]
struct ClineOrigin<'a> {
    #[serde(rename = "parentThreadId")]
    parent: Text<'a>,
    mode: Text<'a>,
}

#[derive(Default, Deserialize)]
#[serde(default, bound = "'de: 'a")]
struct ClineMessage<'a> {
    id: Text<'a>,
    role: Text<'a>,
    content: List<Object<ClineBlock<'a>>>,
    #[serde(rename = "ts")]
    at: Text<'a>,
    metadata: Object<ClineMetadata<'a>>,
}

#[derive(Default, Deserialize)]
#[serde(default, bound = "'de: 'a")]
struct ClineMetadata<'a> {
    /// How many prompts the message stands for; `0` if the client or a hook wrote it.
    #[serde(rename = "userRunSpan")]
    prompts: Text<'a>,
}

#[derive(Default, Deserialize)]
#[serde(default, bound = "'de: 'a")]
struct ClineBlock<'a> {
    #[serde(rename = "type")]
    kind: Text<'a>,
    text: Text<'a>,
    id: Text<'a>,
    name: Text<'a>,
    input: RawJson<'a>,
    #[serde(rename = "tool_use_id")]
    answers: Text<'a>,
    content: RawJson<'a>,
    is_error: Flag,
}

/// The result of a tool, or of one command.
#[derive(Default, Deserialize)]
#[serde(default, bound = "'de: 'a")]
struct ClineOutcome<'a> {
    /// The command.
    query: Text<'a>,
    result: Text<'a>,
    error: Text<'a>,
}

#[derive(Default, Deserialize)]
#[serde(default, bound = "'de: 'a")]
struct ClineCommands<'a> {
    commands: List<Text<'a>>,
}

/// A tool use whose result has not been read yet.
struct ClineCall<'a> {
    id: Cow<'a, str>,
    name: Cow<'a, str>,
    input: &'a str,
    at: Option<Timestamp>,
}

/// Parses one session.
pub(crate) fn read(cleaner: &Cleaner, bytes: &[u8]) -> Option<Transcript> {
    let Object(file) = serde_json::from_slice(bytes).ok()?;
    Some(session(cleaner, file))
}

/// Where the prompts of a session are from, if nobody types them. Its schedules and event handlers are automation.
fn untyped(mode: Option<&str>) -> Option<MemorySource> {
    match mode {
        None | Some("user") => None,
        Some("automation") => Some(MemorySource::Scheduled),
        Some(_) => Some(MemorySource::Client),
    }
}

fn session(cleaner: &Cleaner, file: ClineFile) -> Transcript {
    let untyped = untyped(file.origin.0.mode.0.as_deref());
    let parent = file.origin.0.parent.0;
    let is_subagent = parent.is_some();
    let session = parent.or(file.session.0).map(Cow::into_owned);
    let mut builder = TranscriptBuilder { session, is_subagent, untyped, ..TranscriptBuilder::new(cleaner) };
    let mut calls = Vec::new();
    for Object(message) in file.messages.0 {
        let at = message.at.0.as_deref().and_then(|millis| millis.parse().ok()).map(Timestamp::from_millis);
        builder.at = at.or(builder.at);
        let is_users = message.role.0.as_deref() == Some("user");
        let mut words = Cow::Borrowed("");
        let mut is_at_work = false;
        for Object(block) in message.content.0 {
            match block.kind.0.as_deref() {
                Some("text") => {
                    let text = block.text.0.unwrap_or_default();
                    words = if words.is_empty() { text } else { Cow::Owned(format!("{words}\n{text}")) };
                }
                Some("tool_use") => {
                    let (Some(id), Some(name)) = (block.id.0, block.name.0) else { continue };
                    calls.push(ClineCall { id, name, input: block.input.0, at: builder.at });
                    is_at_work = true;
                }
                Some("tool_result") => answered(&mut builder, &mut calls, &block),
                _ => {}
            }
        }
        let id = message.id.0.unwrap_or_default();
        if !is_users {
            builder.agent_message(words, &id);
        } else if message.metadata.0.prompts.0.as_deref() != Some("0") && !words.trim().is_empty() {
            builder.finish_turn();
            builder.prompt(typed(words), &id);
        }
        if is_at_work {
            builder.uses_tool();
        }
    }
    for call in calls {
        unanswered(&mut builder, call);
    }
    builder.finish();
    builder.read
}

fn answered(builder: &mut TranscriptBuilder, calls: &mut Vec<ClineCall>, block: &ClineBlock) {
    let Some(index) = calls.iter().position(|call| Some(&call.id) == block.answers.0.as_ref()) else { return };
    let ClineCall { id, name, input, .. } = calls.remove(index);
    let content = block.content.0;
    if name == "run_commands" && content.starts_with('[') {
        let List(outcomes) =
            serde_json::from_slice::<List<Object<ClineOutcome>>>(content.as_bytes()).unwrap_or_default();
        for (index, Object(outcome)) in outcomes.iter().enumerate() {
            let input = command_input(outcome.query.0.as_deref().unwrap_or_default());
            let result = outcome.result.0.as_deref().unwrap_or_default();
            let used = tool_use(builder.cleaner, &name, &input, result, outcome.error.0.as_deref());
            builder.tool(UseKey::Id(&numbered(&id, index)), used);
        }
        return;
    }
    // The result of one tool is an object inside a string; an answer of the user is plain text.
    let Text(text) = serde_json::from_slice(content.as_bytes()).unwrap_or_default();
    let text = text.unwrap_or_default();
    let Object(outcome) = serde_json::from_slice::<Object<ClineOutcome>>(text.as_bytes()).unwrap_or_default();
    let result = outcome.result.0.as_deref().unwrap_or(&text);
    let error = outcome.error.0.as_deref().or(block.is_error.0.then_some(&*text));
    let used = tool_use(builder.cleaner, &name, input, result, error);
    builder.tool(UseKey::Id(&id), used);
}

fn unanswered(builder: &mut TranscriptBuilder, call: ClineCall) {
    let ClineCall { id, name, input, at } = call;
    let Object(ClineCommands { commands }) = serde_json::from_slice(input.as_bytes()).unwrap_or_default();
    for (index, command) in commands.0.into_iter().filter_map(|command| command.0).enumerate() {
        let input = command_input(&command);
        builder.in_flight(UseKey::Id(&numbered(&id, index)), at, &name, &ToolArguments::read(&input));
    }
    if name != "run_commands" {
        builder.in_flight(UseKey::Id(&id), at, &name, &ToolArguments::read(input));
    }
}

/// The key of the n-th command of one use; the plugin makes the same.
fn numbered<'a>(id: &Cow<'a, str>, index: usize) -> Cow<'a, str> {
    if index == 0 { id.clone() } else { Cow::Owned(format!("{id}.{index}")) }
}

fn command_input(command: &str) -> String {
    serde_json::json!({ "command": command }).to_string()
}
