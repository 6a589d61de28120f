//! opencode's sessions as printed by `opencode export`: one object with the session and all its messages.
//!
//! Several exports may follow one another. A tool use has the same id as in the plugin's payloads.

use std::borrow::Cow;

use cerberus_record::clean::Cleaner;
use cerberus_record::event::Outcome;
use cerberus_record::time::Timestamp;
use serde::Deserialize;

use crate::loose::{Escaped, Flag, List, Object, RawJson, Text};
use crate::transcripts::tools::{ToolAnswer, ToolArguments, tool_use};
use crate::transcripts::{MESSAGES_MAX, Transcript, TranscriptBuilder, UseKey};

#[derive(Default, Deserialize)]
#[serde(default, bound = "'de: 'a")]
struct OpencodeExport<'a> {
    info: Object<OpencodeSession<'a>>,
    messages: List<Object<OpencodeMessage<'a>>, MESSAGES_MAX>,
}

#[derive(Default, Deserialize)]
#[serde(default, bound = "'de: 'a")]
struct OpencodeSession<'a> {
    id: Text<'a>,
    #[serde(rename = "parentID")]
    parent: Text<'a>,
    directory: Text<'a>,
    title: Text<'a>,
}

#[derive(Default, Deserialize)]
#[serde(default, bound = "'de: 'a")]
struct OpencodeMessage<'a> {
    /// Set if `info` does not contain it.
    id: Text<'a>,
    info: Object<Info<'a>>,
    parts: List<Object<OpencodePart<'a>>>,
}

#[derive(Default, Deserialize)]
#[serde(default, bound = "'de: 'a")]
struct Info<'a> {
    id: Text<'a>,
    role: Text<'a>,
    time: Object<Times<'a>>,
    summary: Flag,
}

#[derive(Default, Deserialize)]
#[serde(default, bound = "'de: 'a")]
struct Times<'a> {
    created: Text<'a>,
    completed: Text<'a>,
    end: Text<'a>,
}

#[derive(Default, Deserialize)]
#[serde(default, bound = "'de: 'a")]
struct OpencodePart<'a> {
    #[serde(rename = "type")]
    kind: Text<'a>,
    text: Text<'a>,
    /// Text from the client, or text that is no longer part of the conversation.
    synthetic: Flag,
    ignored: Flag,
    #[serde(rename = "callID")]
    call: Text<'a>,
    tool: Text<'a>,
    state: Object<OpencodeState<'a>>,
}

#[derive(Default, Deserialize)]
#[serde(default, bound = "'de: 'a")]
struct OpencodeState<'a> {
    status: Text<'a>,
    input: RawJson<'a>,
    output: Text<'a>,
    error: Text<'a>,
    metadata: Object<OpencodeMetadata<'a>>,
    time: Object<Times<'a>>,
}

#[derive(Default, Deserialize)]
#[serde(default, bound = "'de: 'a")]
struct OpencodeMetadata<'a> {
    exit: Text<'a>,
    diff: Escaped<'a>,
    answers: List<List<Text<'a>>>,
}

/// Parses one or more exported sessions.
pub(crate) fn read(cleaner: &Cleaner, bytes: &[u8]) -> Option<Transcript> {
    let mut read = Transcript::default();
    for export in serde_json::Deserializer::from_slice(bytes).into_iter::<Object<OpencodeExport>>() {
        match export {
            Ok(Object(export)) => {
                let one = session(cleaner, export);
                read.cwd = read.cwd.or(one.cwd);
                read.events.extend(one.events);
                read.in_flight.extend(one.in_flight);
            }
            Err(_) => read.damaged_lines += 1,
        }
    }
    Some(read)
}

fn session(cleaner: &Cleaner, export: OpencodeExport) -> Transcript {
    let OpencodeSession { id, parent, directory, title } = export.info.0;
    let is_subagent = parent.0.is_some();
    let session = parent.0.or(id.0).map(Cow::into_owned);
    let mut builder = TranscriptBuilder { session, is_subagent, ..TranscriptBuilder::new(cleaner) };
    builder.set_cwd(directory.0);
    // The name of a session that has no title yet.
    builder.set_title(title.0.filter(|title| !title.starts_with("New session - ")));
    for Object(message) in export.messages.0 {
        let info = message.info.0;
        let id = info.id.0.or(message.id.0).unwrap_or_default();
        set_time(&mut builder, &info.time.0.created);
        let is_users = match info.role.0.as_deref() {
            Some("user") => true,
            Some("assistant") => false,
            _ => continue,
        };
        let mut words = Cow::Borrowed("");
        let mut is_at_work = false;
        for Object(part) in message.parts.0 {
            match part.kind.0.as_deref() {
                Some("text") if !part.synthetic.0 && !part.ignored.0 => {
                    let text = part.text.0.unwrap_or_default();
                    let text = if is_users { unquoted(text) } else { text };
                    words = if words.is_empty() { text } else { Cow::Owned(format!("{words}\n{text}")) };
                    is_at_work = false;
                }
                Some("tool") => {
                    used(&mut builder, part);
                    is_at_work = true;
                }
                _ => {}
            }
        }
        if is_users && !words.trim().is_empty() {
            builder.finish_turn();
            builder.prompt(words, &id);
        } else if !is_users {
            set_time(&mut builder, &info.time.0.completed);
            match info.summary.0 {
                true => builder.compacted(words, &id),
                false => builder.agent_message(words, &id),
            }
            if is_at_work {
                builder.uses_tool();
            }
        }
    }
    builder.finish();
    builder.read
}

/// `opencode run` puts an argument that has spaces in quotes; our plugin takes them off too.
fn unquoted(text: Cow<'_, str>) -> Cow<'_, str> {
    let inside = text.strip_prefix('"').and_then(|rest| rest.strip_suffix('"')).filter(|inside| !inside.contains('"'));
    match inside {
        Some(inside) => Cow::Owned(inside.to_string()),
        None => text,
    }
}

fn set_time(builder: &mut TranscriptBuilder<'_>, millis: &Text<'_>) {
    let at = millis.0.as_deref().and_then(|millis| millis.parse().ok()).map(Timestamp::from_millis);
    builder.at = at.or(builder.at);
}

fn used(builder: &mut TranscriptBuilder, part: OpencodePart) {
    let (Some(call), Some(tool)) = (part.call.0, part.tool.0) else { return };
    let state = part.state.0;
    let arguments = ToolArguments::read(state.input.0);
    let answer = match state.status.0.as_deref() {
        Some("completed") => {
            let exit = state.metadata.0.exit.0.and_then(|code| code.parse().ok()).unwrap_or(0);
            let joined =
                |texts: List<Text>| texts.0.into_iter().filter_map(|text| text.0).collect::<Vec<_>>().join(", ");
            let chosen = state.metadata.0.answers.0.into_iter().map(|texts| Cow::Owned(joined(texts))).collect();
            let diff = state.metadata.0.diff;
            ToolAnswer { diff, chosen, ..ToolAnswer::exited(exit, state.output.0.unwrap_or_default()) }
        }
        Some("error") => {
            let error = state.error.0.unwrap_or_default();
            let is_stopped = error.starts_with("The user rejected") || error.contains("aborted");
            let outcome = if is_stopped { Outcome::Interrupted } else { Outcome::Failed };
            ToolAnswer::ended(outcome, error)
        }
        _ => return builder.in_flight(UseKey::Id(&call), builder.at, &tool, &arguments),
    };
    set_time(builder, &state.time.0.end);
    builder.tool(UseKey::Id(&call), tool_use(builder.cleaner, &tool, &arguments, &answer));
}
