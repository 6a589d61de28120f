//! The calls of a model that a transcript reports, with their tokens: what was spent, when, on which model.
//!
//! Agents write this in a few forms, which are recognised by themselves. A call that is reported several times counts
//! once, with the highest of each count, because the first reports are written before the answer is complete.

use std::collections::HashMap;

use cerberus_record::time::Timestamp;
use memchr::memmem;
use serde::de::IgnoredAny;
use serde_json::{Map, Value};

use crate::conversation::time_of;
use crate::stream::TokenUsage;

type CallFields = Map<String, Value>;

/// One request to a model and its answer; for an agent that reports only sums, all of them.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ModelCall {
    pub at: Option<Timestamp>,
    /// The same in every report of the call, also in the transcript of a session that was forked from this one.
    pub key: Option<String>,
    pub model: Option<String>,
    pub tokens: TokenUsage,
    /// What the agent itself says that it cost.
    pub cost_usd: Option<f64>,
}

/// What a line contains that may report a call, or the model of the next ones.
const MARKS: [&str; 6] = ["\"usage", "\"tokens\"", "token_count", "turn_context", "usageMetadata", "modelMetrics"];

/// All calls of a transcript, in its order.
pub fn read(bytes: &[u8]) -> Vec<ModelCall> {
    let mut reader = CallReader::default();
    let finders = MARKS.map(memmem::Finder::new);
    let mut lines = bytes.split(|byte| *byte == b'\n').filter(|line| !line.trim_ascii().is_empty()).peekable();
    let is_of_lines = lines.peek().is_some_and(|line| serde_json::from_slice::<IgnoredAny>(line).is_ok());
    if !is_of_lines {
        // One object, written on several lines.
        if let Ok(whole) = serde_json::from_slice(bytes) {
            reader.line(&whole);
        }
        return reader.found;
    }
    for line in lines.filter(|line| finders.iter().any(|finder| finder.find(line).is_some())) {
        if let Ok(line) = serde_json::from_slice(line) {
            reader.line(&line);
        }
    }
    reader.found
}

/// Adds a report to those of the same call.
pub fn merge(known: &mut ModelCall, other: ModelCall) {
    known.tokens = known.tokens.max(&other.tokens);
    known.at = known.at.or(other.at);
    known.model = known.model.take().or(other.model);
    known.cost_usd = known.cost_usd.or(other.cost_usd);
}

#[derive(Default)]
struct CallReader {
    found: Vec<ModelCall>,
    by_key: HashMap<String, usize>,
    /// The model that answers from now on.
    model: Option<String>,
    /// What the session had spent so far, for an agent that reports that.
    spent: TokenUsage,
}

impl CallReader {
    fn line(&mut self, line: &Value) {
        let Some(object) = line.as_object() else { return };
        if let Some(messages) = object.get("messages").and_then(Value::as_array) {
            messages.iter().for_each(|message| self.line(message));
        }
        let at = time_of(line);
        let part = |key: &str| object.get(key).and_then(Value::as_object);
        let model = text(object, "model");
        if let Some((message, usage)) = part("message").and_then(|it| Some((it, it.get("usage")?.as_object()?))) {
            let id = text(message, "id").map(|id| format!("{id}:{}", text(object, "requestId").unwrap_or_default()));
            let cost_usd = amount(object, "costUSD");
            self.push(ModelCall { at, key: id, model: owned(text(message, "model")), tokens: cached(usage), cost_usd });
        } else if let Some(payload) = part("payload") {
            self.rollout(at, text(object, "type"), payload);
        } else if let Some((info, counted)) = part("info").and_then(|it| Some((it, it.get("tokens")?.as_object()?))) {
            let (key, model) = (owned(text(info, "id")), owned(text(info, "modelID")));
            // It reports no cost for a model whose price it does not know.
            let cost_usd = amount(info, "cost").filter(|cost| *cost > 0.0);
            self.push(ModelCall { at, key, model, tokens: with_cache(counted), cost_usd });
        } else if let Some(counted) = part("tokens") {
            let key = owned(text(object, "id"));
            self.push(ModelCall { at, key, model: owned(model), tokens: with_total(counted), cost_usd: None });
        } else if let Some(counted) = part("usageMetadata") {
            let key = owned(text(object, "uuid"));
            self.push(ModelCall { at, key, model: owned(model), tokens: of_metadata(counted), cost_usd: None });
        } else if let Some(metrics) = part("data").and_then(|it| it.get("modelMetrics")?.as_object()) {
            for (name, usage) in metrics.iter().filter_map(|(name, of)| Some((name, of.get("usage")?.as_object()?))) {
                let key = text(object, "id").map(|id| format!("{id}:{name}"));
                self.push(ModelCall { at, key, model: owned(Some(name)), tokens: of_metrics(usage), cost_usd: None });
            }
        }
    }

    /// Codex: a line names the model, others the sum so far, some of them twice.
    fn rollout(&mut self, at: Option<Timestamp>, kind: Option<&str>, payload: &CallFields) {
        if kind == Some("turn_context") {
            self.model = owned(text(payload, "model")).or(self.model.take());
        }
        let Some(info) = payload.get("info").and_then(Value::as_object) else { return };
        let of = |key: &str| info.get(key).and_then(Value::as_object).map(included);
        let Some(spent) = of("total_token_usage") else { return };
        let tokens = match minus(&spent, &self.spent) {
            Some(since) => since,
            // The sum began anew.
            None => of("last_token_usage").unwrap_or(spent),
        };
        self.spent = spent;
        self.push(ModelCall { at, key: None, model: self.model.clone(), tokens, cost_usd: None });
    }

    fn push(&mut self, call: ModelCall) {
        if call.tokens.total() == 0 {
            return;
        }
        if let Some(known) = call.key.as_ref().and_then(|key| self.by_key.get(key)) {
            return merge(&mut self.found[*known], call);
        }
        if let Some(key) = &call.key {
            self.by_key.insert(key.clone(), self.found.len());
        }
        self.found.push(call);
    }
}

fn text<'v>(object: &'v CallFields, key: &str) -> Option<&'v str> {
    object.get(key).and_then(Value::as_str).filter(|text| !text.is_empty())
}

fn owned(text: Option<&str>) -> Option<String> {
    text.map(str::to_string)
}

fn count(object: &CallFields, key: &str) -> u64 {
    object.get(key).and_then(Value::as_u64).unwrap_or_default()
}

fn amount(object: &CallFields, key: &str) -> Option<f64> {
    object.get(key).and_then(Value::as_f64).filter(|amount| amount.is_finite() && *amount >= 0.0)
}

/// Claude Code: what was cached is not part of the input.
fn cached(usage: &CallFields) -> TokenUsage {
    let written = count(usage, "cache_creation_input_tokens");
    let for_an_hour = usage.get("cache_creation").and_then(Value::as_object);
    let hour = for_an_hour.map_or(0, |kept| count(kept, "ephemeral_1h_input_tokens")).min(written);
    TokenUsage {
        input: count(usage, "input_tokens"),
        cache_read: count(usage, "cache_read_input_tokens"),
        cache_write: written - hour,
        cache_write_hour: hour,
        output: count(usage, "output_tokens"),
    }
}

/// Codex: what was read from the cache is part of the input, what was thought part of the output.
fn included(usage: &CallFields) -> TokenUsage {
    let (input, output) = (count(usage, "input_tokens"), count(usage, "output_tokens"));
    let cache_read = count(usage, "cached_input_tokens").min(input);
    TokenUsage { input: input - cache_read, cache_read, output, ..TokenUsage::default() }
}

/// opencode: every count stands for itself.
fn with_cache(counted: &CallFields) -> TokenUsage {
    let cache = counted.get("cache").and_then(Value::as_object);
    let cache = |key: &str| cache.map_or(0, |cache| count(cache, key));
    TokenUsage {
        input: count(counted, "input"),
        cache_read: cache("read"),
        cache_write: cache("write"),
        output: count(counted, "output").saturating_add(count(counted, "reasoning")),
        ..TokenUsage::default()
    }
}

/// Gemini CLI: the input includes what was cached, and what is missing to the total was written.
fn with_total(counted: &CallFields) -> TokenUsage {
    let input = count(counted, "input");
    let cache_read = count(counted, "cached").min(input);
    let output = count(counted, "total").saturating_sub(input);
    TokenUsage { input: input - cache_read, cache_read, output, ..TokenUsage::default() }
}

/// Qwen Code.
fn of_metadata(counted: &CallFields) -> TokenUsage {
    let input = count(counted, "promptTokenCount");
    let cache_read = count(counted, "cachedContentTokenCount").min(input);
    let output = count(counted, "candidatesTokenCount");
    let total = count(counted, "totalTokenCount").saturating_sub(input);
    TokenUsage { input: input - cache_read, cache_read, output: output.max(total), ..TokenUsage::default() }
}

/// Copilot CLI: the sums of a run, when it ends.
fn of_metrics(usage: &CallFields) -> TokenUsage {
    let input = count(usage, "inputTokens");
    let cache_read = count(usage, "cacheReadTokens").min(input);
    TokenUsage {
        input: input - cache_read,
        cache_read,
        cache_write: count(usage, "cacheWriteTokens"),
        output: count(usage, "outputTokens"),
        ..TokenUsage::default()
    }
}

/// What was spent since an earlier sum; `None` if this is no later one.
fn minus(sum: &TokenUsage, earlier: &TokenUsage) -> Option<TokenUsage> {
    Some(TokenUsage {
        input: sum.input.checked_sub(earlier.input)?,
        cache_read: sum.cache_read.checked_sub(earlier.cache_read)?,
        output: sum.output.checked_sub(earlier.output)?,
        ..TokenUsage::default()
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn calls(lines: &[&str]) -> Vec<(String, [u64; 5], Option<f64>)> {
        let found = read(lines.join("\n").as_bytes()).into_iter();
        let numbers = |tokens: TokenUsage| {
            [tokens.input, tokens.cache_read, tokens.cache_write, tokens.cache_write_hour, tokens.output]
        };
        found.map(|call| (call.model.unwrap_or_default(), numbers(call.tokens), call.cost_usd)).collect()
    }

    #[test]
    fn a_call_counts_once_with_its_last_report_and_its_hour_in_the_cache() {
        let line = |output: u64| {
            format!(
                r#"{{"type":"assistant","requestId":"r","timestamp":"2026-11-12T10:00:00Z","isSidechain":true,"message":{{"id":"m","model":"claude-x","usage":{{"input_tokens":3,"cache_creation_input_tokens":100,"cache_read_input_tokens":50,"cache_creation":{{"ephemeral_1h_input_tokens":60}},"output_tokens":{output}}}}}}}"#
            )
        };
        let made_up = r#"{"message":{"id":"n","model":"<synthetic>","usage":{"input_tokens":0,"output_tokens":0}}}"#;
        assert_eq!(
            calls(&[&line(1), "not JSON", &line(90), made_up]),
            [("claude-x".into(), [3, 50, 40, 60, 90], None)]
        );
        assert_eq!(calls(&[r#"{"type":"user"}"#, &line(2)]).len(), 1, "the first line says nothing");
    }

    #[test]
    fn sums_become_what_was_spent_since_the_one_before() {
        let sum = |input: u64, cached: u64, output: u64, last: u64| {
            format!(
                r#"{{"timestamp":"2026-11-12T10:00:00Z","type":"event_msg","payload":{{"type":"token_count","info":{{"total_token_usage":{{"input_tokens":{input},"cached_input_tokens":{cached},"output_tokens":{output}}},"last_token_usage":{{"input_tokens":{last},"output_tokens":1}}}}}}}}"#
            )
        };
        let model = |name: &str| format!(r#"{{"type":"turn_context","payload":{{"model":"{name}"}}}}"#);
        let lines = [
            model("a"),
            sum(100, 40, 10, 100),
            sum(100, 40, 10, 100),
            model("b"),
            sum(300, 90, 15, 200),
            sum(50, 0, 1, 50),
        ];
        let lines: Vec<&str> = lines.iter().map(String::as_str).collect();
        assert_eq!(
            calls(&lines),
            [
                ("a".into(), [60, 40, 0, 0, 10], None),
                ("b".into(), [150, 50, 0, 0, 5], None),
                ("b".into(), [50, 0, 0, 0, 1], None),
            ]
        );
    }

    #[test]
    fn every_agents_form_is_read_as_lines_and_as_one_object() {
        let opencode = r#"{"info":{"id":"m1","modelID":"gpt-x","cost":0.5,"tokens":{"input":7,"output":5,"reasoning":2,"cache":{"read":90,"write":3}}}}"#;
        let gemini = r#"{"id":"g","type":"gemini","model":"gemini-x","tokens":{"input":100,"cached":60,"output":5,"thoughts":2,"total":107}}"#;
        let qwen = r#"{"uuid":"q","model":"qwen-x","usageMetadata":{"promptTokenCount":100,"cachedContentTokenCount":60,"candidatesTokenCount":7}}"#;
        let copilot = r#"{"id":"c","type":"session.shutdown","data":{"modelMetrics":{"gpt-y":{"usage":{"inputTokens":100,"cacheReadTokens":60,"outputTokens":7}}}}}"#;
        for (line, model, numbers, cost) in [
            (opencode, "gpt-x", [7, 90, 3, 0, 7], Some(0.5)),
            (gemini, "gemini-x", [40, 60, 0, 0, 7], None),
            (qwen, "qwen-x", [40, 60, 0, 0, 7], None),
            (copilot, "gpt-y", [40, 60, 0, 0, 7], None),
        ] {
            let expected = [(model.to_string(), numbers, cost)];
            assert_eq!(calls(&[line, line]), expected, "reported twice");
            assert_eq!(calls(&["{", "\"messages\": [", line, "]}"]), expected, "one object");
        }
        for odd in ["", "[]", "{\"message\":{\"usage\":[]}}", "{\"tokens\":{\"input\":-1}}", "{\"usage"] {
            assert_eq!(calls(&[odd]), [], "{odd}");
        }
    }
}
