//! The Anthropic Messages API, as far as coding agents use it.
//!
//! A main request is one turn of a conversation that can act: it offers a tool that the client runs itself, and its
//! model is not one of the small, fast ones. Every other request for a message (a title, a search by the server) is a
//! side request. Subagents, which run concurrently with their conversation, and the request for a summary at compaction
//! offer such tools and are main; a conversation on a small model is not. This module does not touch sockets or the
//! script.

use serde_json::{Value, json};

use super::http::{Body, Event, Request, Response};
use super::protocol::{Ask, Block, Protocol, Words, pieces, request_text, tokens, unique_id};

/// Parts of the names of models that clients use for side requests.
const SMALL_MODEL: &str = "haiku";

pub(super) struct Anthropic;

impl Protocol for Anthropic {
    fn ask(&self, request: &Request, body: &Value) -> Option<Ask> {
        match (request.method.as_str(), request.path.as_str()) {
            ("POST", "/v1/messages") if !body["messages"].is_array() => {
                Some(Ask::Fixed(self.error(400, "messages: field required")))
            }
            ("POST", "/v1/messages") if is_main(body) => Some(Ask::Main),
            ("POST", "/v1/messages") => Some(Ask::Side),
            ("POST", "/v1/messages/count_tokens") => {
                let counted = json!({ "input_tokens": tokens(&request_text(body)) });
                Some(Ask::Fixed(Response { status: 200, body: Body::Json(counted) }))
            }
            _ => None,
        }
    }

    fn answer(&self, _: &Request, body: &Value, words: &Words) -> Response {
        let message = message(body, words);
        let body = match body["stream"].as_bool() {
            Some(true) => Body::Events(events(&message)),
            _ => Body::Json(message),
        };
        Response { status: 200, body }
    }

    fn error(&self, status: u16, message: &str) -> Response {
        let kind = match status {
            400 => "invalid_request_error",
            404 => "not_found_error",
            _ => "api_error",
        };
        let body = json!({ "type": "error", "error": { "type": kind, "message": message } });
        Response { status, body: Body::Json(body) }
    }
}

fn is_main(body: &Value) -> bool {
    let offers_tools = body["tools"].as_array().is_some_and(|tools| tools.iter().any(is_own_tool));
    let model = body["model"].as_str().unwrap_or_default();
    offers_tools && !model.contains(SMALL_MODEL)
}

/// Tools that the server would run have a specific type, such as `web_search_20250305`.
fn is_own_tool(tool: &Value) -> bool {
    matches!(tool["type"].as_str(), None | Some("custom"))
}

/// The complete message, as in a response without streaming.
fn message(body: &Value, words: &Words) -> Value {
    let blocks = &words.blocks;
    let content: Vec<Value> = blocks.iter().map(content_block).collect();
    let calls_a_tool = blocks.iter().any(|block| matches!(block, Block::Tool { .. }));
    let output: usize = content.iter().map(|block| tokens(&block.to_string())).sum();
    json!({
        "id": unique_id("msg_"),
        "type": "message",
        "role": "assistant",
        "model": body["model"],
        "content": content,
        "stop_reason": if calls_a_tool { "tool_use" } else { "end_turn" },
        "stop_sequence": null,
        "usage": {
            "input_tokens": words.read_tokens(body),
            "cache_creation_input_tokens": 0,
            "cache_read_input_tokens": 0,
            "output_tokens": output,
        },
    })
}

fn content_block(block: &Block) -> Value {
    match block {
        Block::Text(text) => json!({ "type": "text", "text": text }),
        Block::Tool { name, input } => {
            json!({ "type": "tool_use", "id": unique_id("toolu_"), "name": name, "input": input })
        }
    }
}

/// The same message as a stream of events.
fn events(message: &Value) -> Vec<Event> {
    let mut start = message.clone();
    start["content"] = json!([]);
    start["stop_reason"] = Value::Null;
    start["usage"]["output_tokens"] = json!(1);
    let mut events = vec![event("message_start", json!({ "message": start }))];
    for (index, block) in message["content"].as_array().into_iter().flatten().enumerate() {
        block_events(index, block, &mut events);
    }
    let delta = json!({ "stop_reason": message["stop_reason"], "stop_sequence": null });
    events.push(event("message_delta", json!({ "delta": delta, "usage": message["usage"] })));
    events.push(event("message_stop", json!({})));
    events
}

fn block_events(index: usize, block: &Value, events: &mut Vec<Event>) {
    let mut empty = block.clone();
    let deltas: Vec<Value> = if block["type"] == "tool_use" {
        empty["input"] = json!({});
        let input = block["input"].to_string();
        pieces(&input).iter().map(|part| json!({ "type": "input_json_delta", "partial_json": part })).collect()
    } else {
        empty["text"] = json!("");
        let text = block["text"].as_str().unwrap_or_default();
        pieces(text).iter().map(|part| json!({ "type": "text_delta", "text": part })).collect()
    };
    events.push(event("content_block_start", json!({ "index": index, "content_block": empty })));
    for delta in deltas {
        events.push(event("content_block_delta", json!({ "index": index, "delta": delta })));
    }
    events.push(event("content_block_stop", json!({ "index": index })));
}

fn event(name: &'static str, mut data: Value) -> Event {
    data["type"] = json!(name);
    Event::named(name, data)
}
