//! Output of Claude Code with `--output-format stream-json`: one JSON object per line.
//!
//! A message is repeated for each of its blocks, with its usage every time. `result` ends a turn and has the totals
//! of the session. A subagent's lines name the tool use that started it; their usage is not part of the session's
//! context.
//!
//! With `--input-format stream-json` it also reads input. A line written during a turn is read when the next tool
//! ends, within the same turn, without a `result` of its own. A line written between turns starts a turn, with an
//! `init` of the same session. At end of input it finishes the turn and exits.

use std::borrow::Cow;
use std::time::Duration;

use cerberus_record::time::Timestamp;
use serde::Deserialize;
use serde_json::json;

use crate::loose::{Entries, Flag, List, Object, Pairs, Text, TextOrList};
use crate::stream::{
    Amount, Bill, Count, Fault, Finish, Speaker, StreamEvent, TokenUsage, Wait, http_status, subject, what,
};

#[derive(Default, Deserialize)]
#[serde(default, bound = "'de: 'a")]
struct ClaudeStreamLine<'a> {
    #[serde(rename = "type")]
    kind: Text<'a>,
    subtype: Text<'a>,
    session_id: Text<'a>,
    model: Text<'a>,
    parent_tool_use_id: Text<'a>,
    message: Object<ClaudeStreamMessage<'a>>,
    /// The kind of failure, if the message stands for one; for a retry, the cause.
    error: Text<'a>,
    error_status: Count,
    retry_delay_ms: Count,
    rate_limit_info: Object<ClaudeStreamRateLimit<'a>>,
    is_error: Flag,
    result: Text<'a>,
    terminal_reason: Text<'a>,
    permission_denials: List<Object<Denial<'a>>>,
    api_error_status: Count,
    total_cost_usd: Amount,
    usage: Object<ClaudeStreamUsage>,
    #[serde(rename = "modelUsage")]
    model_usage: Entries<'a, Object<ModelUsage>>,
    response: Object<Reply<'a>>,
}

#[derive(Default, Deserialize)]
#[serde(default, bound = "'de: 'a")]
struct Denial<'a> {
    tool_name: Text<'a>,
}

#[derive(Default, Deserialize)]
#[serde(default, bound = "'de: 'a")]
struct ClaudeStreamMessage<'a> {
    id: Text<'a>,
    model: Text<'a>,
    content: TextOrList<'a, Object<ClaudeStreamBlock<'a>>>,
    usage: Object<ClaudeStreamUsage>,
}

#[derive(Default, Deserialize)]
#[serde(default, bound = "'de: 'a")]
struct ClaudeStreamBlock<'a> {
    #[serde(rename = "type")]
    kind: Text<'a>,
    text: Text<'a>,
    thinking: Text<'a>,
    name: Text<'a>,
    input: Pairs<'a>,
    is_error: Flag,
}

impl ClaudeStreamBlock<'_> {
    /// How much the model wrote, in bytes.
    fn written_bytes(&self) -> usize {
        let texts = [&self.text, &self.thinking].map(|text| text.0.as_deref().map_or(0, str::len));
        texts.iter().sum::<usize>() + self.input.0.iter().map(|(name, value)| name.len() + value.len()).sum::<usize>()
    }
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct ClaudeStreamUsage {
    input_tokens: Count,
    cache_creation_input_tokens: Count,
    cache_read_input_tokens: Count,
    output_tokens: Count,
    cache_creation: Object<CacheCreation>,
}

/// How long the cache keeps what was written to it.
#[derive(Default, Deserialize)]
#[serde(default)]
struct CacheCreation {
    ephemeral_1h_input_tokens: Count,
}

impl ClaudeStreamUsage {
    fn context(&self) -> u64 {
        let cached = self.cache_creation_input_tokens.0.saturating_add(self.cache_read_input_tokens.0);
        self.input_tokens.0.saturating_add(cached)
    }

    fn tokens(&self) -> TokenUsage {
        let written = self.cache_creation_input_tokens.0;
        let cache_write_hour = self.cache_creation.0.ephemeral_1h_input_tokens.0.min(written);
        TokenUsage {
            input: self.input_tokens.0,
            cache_read: self.cache_read_input_tokens.0,
            cache_write: written - cache_write_hour,
            cache_write_hour,
            output: self.output_tokens.0,
        }
    }
}

#[derive(Default, Deserialize)]
#[serde(default)]
#[serde(rename_all = "camelCase")]
struct ModelUsage {
    input_tokens: Count,
    output_tokens: Count,
    cache_read_input_tokens: Count,
    cache_creation_input_tokens: Count,
    context_window: Count,
}

#[derive(Default, Deserialize)]
#[serde(default, rename_all = "camelCase", bound = "'de: 'a")]
struct ClaudeStreamRateLimit<'a> {
    status: Text<'a>,
    resets_at: Count,
}

/// The answer to a `control_request`.
#[derive(Default, Deserialize)]
#[serde(default, bound = "'de: 'a")]
struct Reply<'a> {
    subtype: Text<'a>,
    response: Object<ContextUsage<'a>>,
}

/// The answer to `get_context_usage`.
#[derive(Default, Deserialize)]
#[serde(default)]
#[serde(rename_all = "camelCase", bound = "'de: 'a")]
struct ContextUsage<'a> {
    model: Text<'a>,
    max_tokens: Count,
}

/// An input line with a user message.
pub fn prompt(text: &str) -> String {
    let message = json!({ "role": "user", "content": text });
    format!("{}\n", json!({ "type": "user", "message": message }))
}

/// An input line that asks for the context usage. The answer contains the model's window, which is otherwise reported
/// only at the end of a turn. The client then counts tokens at its server, so use this only for models with an
/// unknown window.
pub fn ask_window(request_id: &str) -> String {
    let request = json!({ "subtype": "get_context_usage" });
    format!("{}\n", json!({ "type": "control_request", "request_id": request_id, "request": request }))
}

/// Approximate bytes of text per token.
const BYTES_PER_TOKEN: u64 = 4;

/// The model name of messages that stand for a failure.
const SYNTHETIC: &str = "<synthetic>";

pub fn read(line: &[u8]) -> Vec<StreamEvent> {
    let Ok(Object(line)) = serde_json::from_slice::<Object<ClaudeStreamLine>>(line) else {
        return vec![StreamEvent::Unknown];
    };
    let mut events = match line.kind.0.as_deref() {
        Some("system") => system(line),
        Some("assistant") => assistant(line),
        Some("user") => tool_results(line),
        Some("rate_limit_event") => rate_limit(&line.rate_limit_info.0),
        Some("result") => result(line),
        Some("control_response") => control_response(line.response.0),
        _ => Vec::new(),
    };
    if events.is_empty() {
        events.push(StreamEvent::Unknown);
    }
    events
}

fn system(line: ClaudeStreamLine) -> Vec<StreamEvent> {
    match line.subtype.0.as_deref() {
        Some("init") => {
            let session = line.session_id.0.filter(|session| !session.is_empty());
            let model = line.model.0.map(Cow::into_owned);
            session.map(|session| StreamEvent::Started { session: session.into_owned(), model }).into_iter().collect()
        }
        Some("compact_boundary") => vec![StreamEvent::Compacted],
        Some("api_retry") => {
            let fault = Fault {
                kind: line.error.0.unwrap_or_default().into_owned(),
                http_status: status(line.error_status),
                words: String::new(),
            };
            let wait = match line.retry_delay_ms.0 {
                0 => Wait::Unknown,
                millis => Wait::For(Duration::from_millis(millis)),
            };
            vec![StreamEvent::Waiting { wait, fault }]
        }
        _ => Vec::new(),
    }
}

fn assistant(line: ClaudeStreamLine) -> Vec<StreamEvent> {
    let message = line.message.0;
    // The client's own messages are repeated in the result.
    if message.model.0.as_deref() == Some(SYNTHETIC) {
        return Vec::new();
    }
    let own = if line.parent_tool_use_id.0.is_some() { Speaker::Subagent } else { Speaker::Main };
    let mut events = Vec::new();
    let blocks = match message.content {
        TextOrList::List(blocks) => blocks,
        TextOrList::Text(text) => {
            vec![Object(ClaudeStreamBlock {
                kind: Text(Some("text".into())),
                text: Text(Some(text)),
                ..ClaudeStreamBlock::default()
            })]
        }
        TextOrList::Neither => Vec::new(),
    };
    let written = blocks.iter().map(|block| block.0.written_bytes()).sum::<usize>() as u64 / BYTES_PER_TOKEN;
    for Object(block) in blocks {
        match block.kind.0.as_deref() {
            // A subagent's text is for the agent that started it.
            Some("text") if own == Speaker::Main => {
                events.extend(
                    block
                        .text
                        .0
                        .filter(|text| !text.trim().is_empty())
                        .map(|text| StreamEvent::Text(text.into_owned())),
                );
            }
            Some("tool_use") => {
                let name = block.name.0.unwrap_or_default().into_owned();
                events.push(StreamEvent::Tool { what: what(subject(&block.input)), name });
            }
            _ => {}
        }
    }
    let usage = message.usage.0;
    if usage.context() > 0 {
        let (context, output) = (usage.context(), usage.output_tokens.0);
        let (id, model) = (message.id.0.map(Cow::into_owned), message.model.0.map(Cow::into_owned));
        events.push(StreamEvent::Usage { message: id.clone(), context, output, own });
        events.push(StreamEvent::Billed(Bill { message: id, model, tokens: usage.tokens(), written, cost_usd: None }));
    }
    events
}

/// Tool results in the main conversation.
fn tool_results(line: ClaudeStreamLine) -> Vec<StreamEvent> {
    let blocks = match line.message.0.content {
        TextOrList::List(blocks) if line.parent_tool_use_id.0.is_none() => blocks,
        _ => Vec::new(),
    };
    let results = blocks.into_iter().filter(|block| block.0.kind.0.as_deref() == Some("tool_result"));
    results
        .map(|Object(block)| if block.is_error.0 { StreamEvent::ToolFailed } else { StreamEvent::ToolDone })
        .collect()
}

fn rate_limit(limit: &ClaudeStreamRateLimit) -> Vec<StreamEvent> {
    if limit.status.0.as_deref() != Some("rejected") {
        return Vec::new();
    }
    let wait = match limit.resets_at.0 {
        0 => Wait::Unknown,
        secs => Wait::Until(Timestamp::from_millis(secs.saturating_mul(1_000).min(i64::MAX as u64) as i64)),
    };
    vec![StreamEvent::Waiting { wait, fault: Fault::usage_limit("rate_limit") }]
}

fn result(line: ClaudeStreamLine) -> Vec<StreamEvent> {
    let mut events = Vec::new();
    let mut tokens = 0u64;
    for (model, Object(used)) in line.model_usage.0 {
        for count in
            [used.input_tokens, used.output_tokens, used.cache_read_input_tokens, used.cache_creation_input_tokens]
        {
            tokens = tokens.saturating_add(count.0);
        }
        if used.context_window.0 > 0 {
            events.push(StreamEvent::Window { model: model.into_owned(), tokens: used.context_window.0 });
        }
    }
    if tokens == 0 {
        tokens = line.usage.0.context().saturating_add(line.usage.0.output_tokens.0);
    }
    if tokens > 0 || line.total_cost_usd.0.is_some() {
        events.push(StreamEvent::Spent { tokens, cost_usd: line.total_cost_usd.0 });
    }
    let denied = line.permission_denials.0.into_iter().filter_map(|denial| denial.0.tool_name.0);
    events.extend(denied.map(|tool| StreamEvent::Denied { tool: what(&tool) }));
    let words = line.result.0.unwrap_or_default().into_owned();
    let subtype = line.subtype.0.unwrap_or_default();
    let finish = match line.is_error.0 || subtype.starts_with("error") {
        false => Finish::Done { words },
        true => {
            // A failure of the model's server has the subtype `success` and `is_error`.
            let kind = if subtype.starts_with("error") { subtype } else { line.terminal_reason.0.unwrap_or(subtype) };
            let http_status = status(line.api_error_status).or_else(|| http_status(&words));
            Finish::Failed(Fault { kind: kind.into_owned(), http_status, words })
        }
    };
    events.push(StreamEvent::Finished(finish));
    events
}

fn status(count: Count) -> Option<u16> {
    u16::try_from(count.0).ok().filter(|status| *status > 0)
}

fn control_response(reply: Reply) -> Vec<StreamEvent> {
    let usage = reply.response.0;
    if reply.subtype.0.as_deref() != Some("success") || usage.max_tokens.0 == 0 {
        return Vec::new();
    }
    vec![StreamEvent::Window { model: usage.model.0.unwrap_or_default().into_owned(), tokens: usage.max_tokens.0 }]
}
