//! What a line of Claude Code's transcript says about the size of the context, or that the usage limit is reached. A
//! subagent has a context of its own.

use serde::Deserialize;

use crate::loose::{Flag, Object, Text};
use crate::stream::{Count, Fault, Speaker, StreamEvent, Wait};

#[derive(Default, Deserialize)]
#[serde(default, bound = "'de: 'a")]
struct ContextLine<'a> {
    #[serde(rename = "type")]
    kind: Text<'a>,
    subtype: Text<'a>,
    #[serde(rename = "sessionId")]
    session: Text<'a>,
    #[serde(rename = "isSidechain")]
    is_subagent: Flag,
    /// The client made the message up, because the model refused.
    #[serde(rename = "isApiErrorMessage")]
    is_refusal: Flag,
    error: Text<'a>,
    message: Object<ContextMessage<'a>>,
}

#[derive(Default, Deserialize)]
#[serde(default, bound = "'de: 'a")]
struct ContextMessage<'a> {
    /// The same in every line of one answer.
    id: Text<'a>,
    model: Text<'a>,
    usage: Option<Object<ContextLineUsage>>,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct ContextLineUsage {
    input_tokens: Count,
    cache_creation_input_tokens: Count,
    cache_read_input_tokens: Count,
    output_tokens: Count,
}

pub(crate) fn read(line: &[u8]) -> Vec<StreamEvent> {
    let Ok(Object(line)) = serde_json::from_slice::<Object<ContextLine>>(line) else { return Vec::new() };
    match (line.kind.0.as_deref(), line.subtype.0.as_deref()) {
        _ if line.is_subagent.0 => Vec::new(),
        (Some("system"), Some("compact_boundary")) => vec![StreamEvent::Compacted],
        (Some("assistant"), _) if line.is_refusal.0 && line.error.0.as_deref() == Some("rate_limit") => {
            vec![StreamEvent::Waiting { wait: Wait::Unknown, fault: Fault::usage_limit("rate_limit") }]
        }
        (Some("assistant"), _) => {
            let Object(ContextMessage { id, model, usage }) = line.message;
            let Some(Object(usage)) = usage else { return Vec::new() };
            let cached = usage.cache_creation_input_tokens.0.saturating_add(usage.cache_read_input_tokens.0);
            // The answer is part of the context from then on.
            let context = usage.input_tokens.0.saturating_add(cached).saturating_add(usage.output_tokens.0);
            // A message that the client made up itself has no usage worth the name.
            if context == 0 {
                return Vec::new();
            }
            let (session, model) = (line.session.0.unwrap_or_default().into_owned(), model.0.map(Into::into));
            let (message, output) = (id.0.map(Into::into), usage.output_tokens.0);
            let usage = StreamEvent::Usage { message, context, output, own: Speaker::Main };
            vec![StreamEvent::Started { session, model }, usage]
        }
        _ => Vec::new(),
    }
}
