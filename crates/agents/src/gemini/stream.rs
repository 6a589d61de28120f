//! Output of Gemini CLI with `--output-format stream-json`: one JSON object per line.
//!
//! It prints its answers in small pieces and says nothing about the size of the context. Its chat file has both the
//! whole answers and the tokens of each, so these are read from there ([`chat`]).

use serde::Deserialize;

use crate::loose::{List, Object, Pairs, RawJson, Text};
use crate::stream::{Bill, Count, Fault, Finish, Speaker, StreamEvent, TokenUsage, Wait, http_status, subject, what};

#[derive(Default, Deserialize)]
#[serde(default, bound = "'de: 'a")]
struct GeminiStreamLine<'a> {
    #[serde(rename = "type")]
    kind: Text<'a>,
    session_id: Text<'a>,
    model: Text<'a>,
    tool_name: Text<'a>,
    parameters: Pairs<'a>,
    status: Text<'a>,
    severity: Text<'a>,
    message: Text<'a>,
    error: Object<GeminiStreamProblem<'a>>,
    stats: Object<GeminiStreamStats>,
}

#[derive(Default, Deserialize)]
#[serde(default, bound = "'de: 'a")]
struct GeminiStreamProblem<'a> {
    #[serde(rename = "type")]
    kind: Text<'a>,
    message: Text<'a>,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct GeminiStreamStats {
    total_tokens: Count,
    /// Cached ones included.
    input_tokens: Count,
    cached: Count,
}

pub(crate) fn read(line: &[u8]) -> Vec<StreamEvent> {
    let Ok(Object(line)) = serde_json::from_slice::<Object<GeminiStreamLine>>(line) else {
        return vec![StreamEvent::Unknown];
    };
    let events = match line.kind.0.as_deref() {
        Some("init") => {
            let session = line.session_id.0.filter(|session| !session.is_empty());
            let model = line.model.0.map(Into::into);
            session.map(|session| StreamEvent::Started { session: session.into_owned(), model }).into_iter().collect()
        }
        Some("tool_use") => {
            let name = line.tool_name.0.unwrap_or_default().into_owned();
            vec![StreamEvent::Tool { what: what(subject(&line.parameters)), name }]
        }
        Some("tool_result") => match line.status.0.as_deref() {
            Some("error") => vec![StreamEvent::ToolFailed],
            _ => vec![StreamEvent::ToolDone],
        },
        // It goes on, or its result says that it gave up.
        Some("error") if line.severity.0.as_deref() == Some("error") => {
            let words = line.message.0.unwrap_or_default().into_owned();
            let fault = Fault { kind: "error".to_string(), http_status: http_status(&words), words };
            vec![StreamEvent::Waiting { wait: Wait::Unknown, fault }]
        }
        Some("result") => result(line),
        _ => Vec::new(),
    };
    if events.is_empty() { vec![StreamEvent::Unknown] } else { events }
}

fn result(line: GeminiStreamLine) -> Vec<StreamEvent> {
    let (stats, mut events) = (line.stats.0, Vec::new());
    if stats.total_tokens.0 > 0 {
        let cache_read = stats.cached.0.min(stats.input_tokens.0);
        let output = stats.total_tokens.0.saturating_sub(stats.input_tokens.0);
        let tokens =
            TokenUsage { input: stats.input_tokens.0 - cache_read, cache_read, output, ..TokenUsage::default() };
        events.push(StreamEvent::Spent { tokens: stats.total_tokens.0, cost_usd: None });
        events.push(StreamEvent::Billed(Bill { tokens, ..Bill::default() }));
    }
    let finish = match line.status.0.as_deref() {
        Some("error") => {
            let problem = line.error.0;
            let words = problem.message.0.unwrap_or_default().into_owned();
            let kind = problem.kind.0.unwrap_or_default().into_owned();
            Finish::Failed(Fault { kind, http_status: http_status(&words), words })
        }
        _ => Finish::Done { words: String::new() },
    };
    events.push(StreamEvent::Finished(finish));
    events
}

/// A line of the chat file. A message is repeated in full when its tools have returned.
#[derive(Default, Deserialize)]
#[serde(default, bound = "'de: 'a")]
struct ChatLine<'a> {
    id: Text<'a>,
    #[serde(rename = "type")]
    role: Text<'a>,
    content: Text<'a>,
    model: Text<'a>,
    #[serde(rename = "toolCalls")]
    calls: List<RawJson<'a>>,
    tokens: Object<ChatTokens>,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct ChatTokens {
    /// Cached ones included.
    input: Count,
    cached: Count,
    total: Count,
}

/// What a line of the chat file says about the context, and the agent's text.
pub fn chat(line: &[u8]) -> Vec<StreamEvent> {
    let Ok(Object(line)) = serde_json::from_slice::<Object<ChatLine>>(line) else { return Vec::new() };
    if line.role.0.as_deref() != Some("gemini") {
        return Vec::new();
    }
    let mut events = Vec::new();
    let text = line.content.0.filter(|text| !text.trim().is_empty() && line.calls.0.is_empty());
    events.extend(text.map(|text| StreamEvent::Text(text.into_owned())));
    let counted = line.tokens.0;
    if counted.total.0 > 0 {
        let (message, model) = (line.id.0.map(Into::into), line.model.0.map(Into::into));
        let (context, output) = (counted.total.0, counted.total.0.saturating_sub(counted.input.0));
        let cache_read = counted.cached.0.min(counted.input.0);
        let tokens = TokenUsage { input: counted.input.0 - cache_read, cache_read, output, ..TokenUsage::default() };
        let usage = StreamEvent::Usage { message: Option::clone(&message), context, output: 0, own: Speaker::Main };
        events.push(usage);
        events.push(StreamEvent::Billed(Bill { message, model, tokens, ..Bill::default() }));
    }
    events
}
