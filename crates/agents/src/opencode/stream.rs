//! Output of `opencode run --format json`: one JSON object per line.
//!
//! A step is one call of the model; its end has the tokens and the cost. The model is not named.

use serde::Deserialize;

use crate::loose::{Object, Pairs, Text};
use crate::stream::{Amount, Bill, Count, Fault, Finish, Speaker, StreamEvent, TokenUsage, http_status, subject, what};

#[derive(Default, Deserialize)]
#[serde(default, bound = "'de: 'a")]
struct OpencodeStreamLine<'a> {
    #[serde(rename = "type")]
    kind: Text<'a>,
    #[serde(rename = "sessionID")]
    session: Text<'a>,
    part: Object<OpencodeStreamPart<'a>>,
    error: Object<OpencodeStreamProblem<'a>>,
}

#[derive(Default, Deserialize)]
#[serde(default, bound = "'de: 'a")]
struct OpencodeStreamPart<'a> {
    id: Text<'a>,
    tool: Text<'a>,
    state: Object<ToolState<'a>>,
    text: Text<'a>,
    reason: Text<'a>,
    tokens: Object<OpencodeStreamCounted>,
    cost: Amount,
}

#[derive(Default, Deserialize)]
#[serde(default, bound = "'de: 'a")]
struct ToolState<'a> {
    status: Text<'a>,
    input: Pairs<'a>,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct OpencodeStreamCounted {
    input: Count,
    output: Count,
    reasoning: Count,
    cache: Object<CachedCount>,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct CachedCount {
    read: Count,
    write: Count,
}

#[derive(Default, Deserialize)]
#[serde(default, bound = "'de: 'a")]
struct OpencodeStreamProblem<'a> {
    name: Text<'a>,
    data: Object<ProblemData<'a>>,
}

#[derive(Default, Deserialize)]
#[serde(default, bound = "'de: 'a")]
struct ProblemData<'a> {
    message: Text<'a>,
    #[serde(rename = "statusCode")]
    status: Count,
}

pub(crate) fn read(line: &[u8]) -> Vec<StreamEvent> {
    let Ok(Object(line)) = serde_json::from_slice::<Object<OpencodeStreamLine>>(line) else {
        return vec![StreamEvent::Unknown];
    };
    let part = line.part.0;
    let events = match line.kind.0.as_deref() {
        Some("step_start") => {
            let session = line.session.0.filter(|session| !session.is_empty());
            let started = |session: String| StreamEvent::Started { session, model: None };
            session.map(|session| started(session.into_owned())).into_iter().collect()
        }
        Some("tool_use") => {
            let name = part.tool.0.unwrap_or_default().into_owned();
            let state = part.state.0;
            let ended = match state.status.0.as_deref() {
                Some("error") => StreamEvent::ToolFailed,
                _ => StreamEvent::ToolDone,
            };
            vec![StreamEvent::Tool { what: what(subject(&state.input)), name }, ended]
        }
        Some("text") => {
            let text = part.text.0.filter(|text| !text.trim().is_empty());
            text.map(|text| StreamEvent::Text(text.into_owned())).into_iter().collect()
        }
        Some("step_finish") => step_finish(part),
        Some("error") => {
            let (kind, data) = (line.error.0.name.0.unwrap_or_default().into_owned(), line.error.0.data.0);
            let words = data.message.0.unwrap_or_default().into_owned();
            let status = u16::try_from(data.status.0).ok().filter(|status| *status > 0);
            let http_status = status.or_else(|| http_status(&words));
            vec![StreamEvent::Finished(Finish::Failed(Fault { kind, http_status, words }))]
        }
        _ => Vec::new(),
    };
    if events.is_empty() { vec![StreamEvent::Unknown] } else { events }
}

fn step_finish(part: OpencodeStreamPart) -> Vec<StreamEvent> {
    let (counted, message) = (part.tokens.0, part.id.0.map(Into::into));
    let tokens = TokenUsage {
        input: counted.input.0,
        cache_read: counted.cache.0.read.0,
        cache_write: counted.cache.0.write.0,
        output: counted.output.0.saturating_add(counted.reasoning.0),
        ..TokenUsage::default()
    };
    // The answer is part of the context from then on.
    let context = tokens.total();
    let mut events = Vec::new();
    if context > 0 {
        // It reports no cost for a model whose price it does not know.
        let cost_usd = part.cost.0.filter(|cost| *cost > 0.0);
        let usage = StreamEvent::Usage { message: Option::clone(&message), context, output: 0, own: Speaker::Main };
        events.push(usage);
        events.push(StreamEvent::Billed(Bill { message, tokens, cost_usd, ..Bill::default() }));
    }
    if part.reason.0.as_deref() != Some("tool-calls") {
        events.push(StreamEvent::Finished(Finish::Done { words: String::new() }));
    }
    events
}
