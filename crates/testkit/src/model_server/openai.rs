//! The OpenAI Responses API, as far as Codex uses it.
//!
//! A main request offers a tool that the client runs itself; every other request for a response is a side request. A
//! tool that takes free text (`custom`) is called with a string, every other tool with JSON in a string; the request
//! says which it is. This module does not touch sockets or the script.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use serde_json::{Value, json};

use super::http::{Body, Event, Request, Response};
use super::protocol::{Ask, Block, Protocol, Words, pieces, tokens, unique_id};

/// How long a usage limit lasts.
const LIMIT: Duration = Duration::from_secs(3 * 60 * 60);

const FUNCTION: &str = "function";
const FREE_TEXT: &str = "custom";

pub(super) struct Responses;

impl Protocol for Responses {
    fn ask(&self, request: &Request, body: &Value) -> Option<Ask> {
        let offers_tools = || {
            let is_own = |tool: &Value| matches!(tool["type"].as_str(), Some(FUNCTION | FREE_TEXT));
            body["tools"].as_array().is_some_and(|tools| tools.iter().any(is_own))
        };
        match (request.method.as_str(), request.path.as_str()) {
            ("POST", "/v1/responses") if !body["input"].is_array() => {
                Some(Ask::Fixed(self.error(400, "input: field required")))
            }
            ("POST", "/v1/responses") if offers_tools() => Some(Ask::Main),
            ("POST", "/v1/responses") => Some(Ask::Side),
            _ => None,
        }
    }

    fn answer(&self, _: &Request, body: &Value, words: &Words) -> Response {
        let items: Vec<Value> = words.blocks.iter().map(|block| item(body, block)).collect();
        let (input, output) = (words.read_tokens(body), tokens(&json!(items).to_string()));
        let response = json!({
            "id": unique_id("resp_"),
            "object": "response",
            "model": body["model"],
            "status": "completed",
            "output": items,
            "usage": {
                "input_tokens": input,
                "input_tokens_details": { "cached_tokens": 0 },
                "output_tokens": output,
                "output_tokens_details": { "reasoning_tokens": 0 },
                "total_tokens": input + output,
            },
        });
        let body = match body["stream"].as_bool() {
            Some(true) => Body::Events(events(&response)),
            _ => Body::Json(response),
        };
        Response { status: 200, body }
    }

    fn error(&self, status: u16, message: &str) -> Response {
        let body = json!({ "error": { "type": "invalid_request_error", "code": null, "message": message } });
        Response { status, body: Body::Json(body) }
    }

    fn usage_limit(&self) -> Response {
        let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        let body = json!({ "error": { "type": "usage_limit_reached", "message": "The usage limit has been reached",
            "plan_type": "plus", "resets_at": (now + LIMIT).as_secs() } });
        Response { status: 429, body: Body::Json(body) }
    }
}

fn item(body: &Value, block: &Block) -> Value {
    match block {
        Block::Text(text) => json!({
            "type": "message",
            "id": unique_id("msg_"),
            "role": "assistant",
            "status": "completed",
            "content": [{ "type": "output_text", "text": text, "annotations": [] }],
        }),
        Block::Tool { name, input } if takes_free_text(body, name) => json!({
            "type": "custom_tool_call",
            "id": unique_id("ctc_"),
            "call_id": unique_id("call_"),
            "status": "completed",
            "name": name,
            "input": input,
        }),
        Block::Tool { name, input } => {
            let (namespace, name) = in_namespace(name);
            json!({
                "type": "function_call",
                "id": unique_id("fc_"),
                "call_id": unique_id("call_"),
                "status": "completed",
                "namespace": namespace,
                "name": name,
                "arguments": input.to_string(),
            })
        }
    }
}

/// `mcp__SERVER__TOOL` is the tool in the namespace `mcp__SERVER`.
fn in_namespace(name: &str) -> (Option<&str>, &str) {
    match name.rsplit_once("__") {
        Some((namespace, tool)) if namespace.starts_with("mcp__") => (Some(namespace), tool),
        _ => (None, name),
    }
}

fn takes_free_text(body: &Value, name: &str) -> bool {
    let is_it = |tool: &Value| tool["name"] == name && tool["type"] == FREE_TEXT;
    body["tools"].as_array().is_some_and(|tools| tools.iter().any(is_it))
}

/// The same response as a stream of events.
fn events(response: &Value) -> Vec<Event> {
    let mut created = response.clone();
    created["status"] = json!("in_progress");
    created["output"] = json!([]);
    created["usage"] = Value::Null;
    let mut events = vec![event("response.created", json!({ "response": created }))];
    for (index, item) in response["output"].as_array().into_iter().flatten().enumerate() {
        item_events(index, item, &mut events);
    }
    events.push(event("response.completed", json!({ "response": response })));
    events
}

fn item_events(index: usize, item: &Value, events: &mut Vec<Event>) {
    let mut begun = item.clone();
    begun["status"] = json!("in_progress");
    let (name, text) = if item["type"] == "message" {
        begun["content"] = json!([]);
        ("response.output_text.delta", &item["content"][0]["text"])
    } else if item["type"] == "custom_tool_call" {
        begun["input"] = json!("");
        ("response.custom_tool_call_input.delta", &item["input"])
    } else {
        begun["arguments"] = json!("");
        ("response.function_call_arguments.delta", &item["arguments"])
    };
    events.push(event("response.output_item.added", json!({ "output_index": index, "item": begun })));
    for part in pieces(text.as_str().unwrap_or_default()) {
        let delta = json!({ "output_index": index, "item_id": item["id"], "content_index": 0, "delta": part });
        events.push(event(name, delta));
    }
    events.push(event("response.output_item.done", json!({ "output_index": index, "item": item })));
}

fn event(name: &'static str, mut data: Value) -> Event {
    data["type"] = json!(name);
    Event::named(name, data)
}
