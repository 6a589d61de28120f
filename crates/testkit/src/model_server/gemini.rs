//! Google's Gemini API, as far as Gemini CLI uses it.
//!
//! The model and the method are one segment of the path: `models/NAME:streamGenerateContent`. A main request is
//! streamed and declares functions; requests without streaming (who speaks next, which model fits) are side requests.
//! This module does not touch sockets or the script.

use serde_json::{Value, json};

use super::http::{Body, Event, Request, Response};
use super::protocol::{Ask, Block, Protocol, Words, pieces, request_text, tokens, unique_id};

const STREAM: &str = "streamGenerateContent";

pub(super) struct Gemini;

impl Protocol for Gemini {
    fn ask(&self, request: &Request, body: &Value) -> Option<Ask> {
        let (_, called) = request.path.split_once("/models/")?;
        let (_, verb) = called.split_once(':')?;
        let declares = |tool: &Value| tool["functionDeclarations"].as_array().is_some_and(|all| !all.is_empty());
        let offers_tools = || body["tools"].as_array().is_some_and(|tools| tools.iter().any(declares));
        match verb {
            STREAM | "generateContent" if !body["contents"].is_array() => {
                Some(Ask::Fixed(self.error(400, "contents: field required")))
            }
            STREAM if offers_tools() => Some(Ask::Main),
            STREAM | "generateContent" => Some(Ask::Side),
            "countTokens" => {
                let counted = json!({ "totalTokens": tokens(&request_text(body)) });
                Some(Ask::Fixed(Response { status: 200, body: Body::Json(counted) }))
            }
            _ => None,
        }
    }

    fn answer(&self, request: &Request, body: &Value, words: &Words) -> Response {
        let parts: Vec<Value> = words.blocks.iter().flat_map(parts).collect();
        let (input, output) = (words.read_tokens(body), tokens(&json!(parts).to_string()));
        let whole = json!({
            "responseId": unique_id("resp-"),
            "modelVersion": "scripted",
            "candidates": [{ "index": 0, "content": { "role": "model", "parts": parts }, "finishReason": "STOP" }],
            "usageMetadata": {
                "promptTokenCount": input, "candidatesTokenCount": output, "totalTokenCount": input + output,
            },
        });
        let body = if request.path.ends_with(STREAM) { Body::Events(events(&whole)) } else { Body::Json(whole) };
        Response { status: 200, body }
    }

    fn error(&self, status: u16, message: &str) -> Response {
        let body = json!({ "error": { "code": status, "status": "FAILED", "message": message } });
        Response { status, body: Body::Json(body) }
    }
}

/// The same answer part by part; only the last part has a finish reason.
fn events(whole: &Value) -> Vec<Event> {
    let parts = whole["candidates"][0]["content"]["parts"].as_array().cloned().unwrap_or_default();
    let last = parts.len().saturating_sub(1);
    let piece = |(at, part): (usize, &Value)| {
        let mut piece = whole.clone();
        piece["candidates"][0]["content"]["parts"] = json!([part]);
        if at < last {
            piece["candidates"][0]["finishReason"] = Value::Null;
        }
        Event::unnamed(piece)
    };
    parts.iter().enumerate().map(piece).collect()
}

fn parts(block: &Block) -> Vec<Value> {
    match block {
        Block::Text(text) => pieces(text).iter().map(|part| json!({ "text": part })).collect(),
        Block::Tool { name, input } => {
            vec![json!({ "functionCall": { "id": unique_id("call-"), "name": name, "args": input } })]
        }
    }
}
