//! Codex's session file, of which the loop reads what `codex exec --json` does not tell: how full the context is.
//!
//! Everything else in it is skipped here; `wire::transcripts` reads what was done.

use serde::Deserialize;

use super::{Count, Said, Speaker};
use crate::wire::loose::{Object, Text};

#[derive(Default, Deserialize)]
#[serde(default)]
struct Line<'a> {
    #[serde(rename = "type", borrow)]
    kind: Text<'a>,
    #[serde(borrow)]
    payload: Object<Payload<'a>>,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct Payload<'a> {
    #[serde(rename = "type", borrow)]
    kind: Text<'a>,
    info: Object<TokenInfo>,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct TokenInfo {
    total_token_usage: Object<Tokens>,
    last_token_usage: Object<Tokens>,
    model_context_window: Count,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct Tokens {
    output_tokens: Count,
    total_tokens: Count,
}

/// What this line tells of the context; mostly nothing.
pub fn read(line: &[u8]) -> Vec<Said> {
    let Ok(Object(line)) = serde_json::from_slice::<Object<Line>>(line) else { return Vec::new() };
    match (line.kind.0.as_deref(), line.payload.0.kind.0.as_deref()) {
        (Some("compacted"), _) | (Some("event_msg"), Some("context_compacted")) => vec![Said::Compacted],
        (Some("event_msg"), Some("token_count")) => token_count(&line.payload.0.info.0),
        _ => Vec::new(),
    }
}

fn token_count(info: &TokenInfo) -> Vec<Said> {
    let mut said = Vec::new();
    if info.model_context_window.0 > 0 {
        said.push(Said::Window { model: String::new(), tokens: info.model_context_window.0 });
    }
    let last = &info.last_token_usage.0;
    if last.total_tokens.0 > 0 {
        let (context, output) = (last.total_tokens.0, last.output_tokens.0);
        said.push(Said::Usage { message: None, context, output, own: Speaker::Main });
    }
    if info.total_token_usage.0.total_tokens.0 > 0 {
        said.push(Said::Spent { tokens: info.total_token_usage.0.total_tokens.0, cost_usd: None });
    }
    said
}
