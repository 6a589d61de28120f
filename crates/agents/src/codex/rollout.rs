//! Codex's session file. The loop reads from it what `codex exec --json` does not report: the size of the context.
//!
//! Codex writes it after processing the model's answer, so the size is not yet known while a tool runs. Everything
//! else is skipped here; `super::transcript` reads the events.

use cerberus_record::time::Timestamp;
use serde::Deserialize;

use crate::loose::{Object, Text};
use crate::stream::{Amount, Bill, Count, Fault, Speaker, StreamEvent, TokenUsage, Wait};

#[derive(Default, Deserialize)]
#[serde(default, bound = "'de: 'a")]
struct RolloutLine<'a> {
    #[serde(rename = "type")]
    kind: Text<'a>,
    payload: Object<RolloutPayload<'a>>,
}

#[derive(Default, Deserialize)]
#[serde(default, bound = "'de: 'a")]
struct RolloutPayload<'a> {
    #[serde(rename = "type")]
    kind: Text<'a>,
    model: Text<'a>,
    info: Object<TokenInfo>,
    rate_limits: Object<RateLimits<'a>>,
}

#[derive(Default, Deserialize)]
#[serde(default, bound = "'de: 'a")]
struct RateLimits<'a> {
    /// Which limit was reached; `None` if none was.
    rate_limit_reached_type: Text<'a>,
    primary: Object<RolloutRateLimit>,
    secondary: Object<RolloutRateLimit>,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct RolloutRateLimit {
    used_percent: Amount,
    resets_at: Count,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct TokenInfo {
    total_token_usage: Object<RolloutCounted>,
    last_token_usage: Object<RolloutCounted>,
    model_context_window: Count,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct RolloutCounted {
    /// Cached tokens included.
    input_tokens: Count,
    cached_input_tokens: Count,
    output_tokens: Count,
    total_tokens: Count,
}

impl RolloutCounted {
    fn tokens(&self) -> TokenUsage {
        let cache_read = self.cached_input_tokens.0.min(self.input_tokens.0);
        let (input, output) = (self.input_tokens.0 - cache_read, self.output_tokens.0);
        TokenUsage { input, cache_read, output, ..TokenUsage::default() }
    }
}

/// What this line reports about the context; usually nothing.
pub fn read(line: &[u8]) -> Vec<StreamEvent> {
    let Ok(Object(line)) = serde_json::from_slice::<Object<RolloutLine>>(line) else { return Vec::new() };
    match (line.kind.0.as_deref(), line.payload.0.kind.0.as_deref()) {
        (Some("compacted"), _) | (Some("event_msg"), Some("context_compacted")) => vec![StreamEvent::Compacted],
        (Some("turn_context"), _) => {
            let model = line.payload.0.model.0.filter(|model| !model.is_empty());
            model.map(|model| StreamEvent::Model(model.into_owned())).into_iter().collect()
        }
        (Some("event_msg"), Some("token_count")) => {
            let mut events = token_count(&line.payload.0.info.0);
            events.extend(limit_reached(&line.payload.0.rate_limits.0));
            events
        }
        _ => Vec::new(),
    }
}

fn token_count(info: &TokenInfo) -> Vec<StreamEvent> {
    let mut events = Vec::new();
    if info.model_context_window.0 > 0 {
        events.push(StreamEvent::Window { model: String::new(), tokens: info.model_context_window.0 });
    }
    let last = &info.last_token_usage.0;
    if last.total_tokens.0 > 0 {
        let (context, output) = (last.total_tokens.0, last.output_tokens.0);
        events.push(StreamEvent::Usage { message: None, context, output, own: Speaker::Main });
    }
    let total = &info.total_token_usage.0;
    if total.total_tokens.0 > 0 {
        events.push(StreamEvent::Spent { tokens: total.total_tokens.0, cost_usd: None });
        events.push(StreamEvent::Billed(Bill { tokens: total.tokens(), ..Bill::default() }));
    }
    events
}

/// Wait until the last exhausted limit resets.
fn limit_reached(limits: &RateLimits) -> Option<StreamEvent> {
    let kind = limits.rate_limit_reached_type.0.as_deref().filter(|kind| !kind.is_empty())?;
    let used_up = [&limits.primary.0, &limits.secondary.0].into_iter();
    let used_up = used_up.filter(|limit| limit.used_percent.0.is_some_and(|percent| percent >= 100.0));
    let secs = used_up.map(|limit| limit.resets_at.0).max().filter(|secs| *secs > 0);
    let wait =
        secs.map_or(Wait::Unknown, |secs| Wait::Until(Timestamp::from_millis(secs.saturating_mul(1_000) as i64)));
    Some(StreamEvent::Waiting { wait, fault: Fault::usage_limit(kind) })
}
