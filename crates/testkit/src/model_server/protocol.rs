//! What a protocol is: it classifies requests and encodes replies. And what every protocol needs for that.

use std::sync::OnceLock;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{SystemTime, UNIX_EPOCH};

use serde_json::Value;

use super::http::{Request, Response};

/// The fields of a request, in any protocol, that contain what the model reads.
const PROMPT_FIELDS: [&str; 6] = ["system", "messages", "instructions", "input", "systemInstruction", "contents"];

/// Keys whose strings are structure, not text.
const STRUCTURE_KEYS: [&str; 8] =
    ["type", "role", "id", "tool_use_id", "call_id", "cache_control", "signature", "thoughtSignature"];

/// Inside these keys, the keys belong to a tool's input.
const TOOL_INPUT_KEYS: [&str; 2] = ["input", "args"];

/// A streamed text or tool input that is long enough is sent in at least this many pieces.
const STREAM_PIECES: usize = 3;

const CHARS_PER_TOKEN: usize = 4;

/// The content of a reply.
#[derive(Clone, Debug)]
pub(super) struct Words {
    pub blocks: Vec<Block>,
    /// The reported number of input tokens; if not set, estimated from the request.
    pub read_tokens: Option<usize>,
}

impl Words {
    pub fn read_tokens(&self, body: &Value) -> usize {
        self.read_tokens.unwrap_or_else(|| tokens(&request_text(body)))
    }
}

/// One piece of a reply's content.
#[derive(Clone, Debug)]
pub(super) enum Block {
    Text(String),
    /// If the tool takes free text, the input is a string.
    Tool {
        name: String,
        input: Value,
    },
}

/// What a request asks for.
pub(super) enum Ask {
    /// The next turn of the script.
    Main,
    /// A fixed text.
    Side,
    /// Something that the protocol answers without the script.
    Fixed(Response),
}

/// One model API: classifies its requests and encodes replies.
pub(super) trait Protocol: Sync {
    /// `None` if the path does not belong to this protocol.
    fn ask(&self, request: &Request, body: &Value) -> Option<Ask>;
    fn answer(&self, request: &Request, body: &Value, words: &Words) -> Response;
    fn error(&self, status: u16, message: &str) -> Response;

    fn usage_limit(&self) -> Response {
        self.error(429, "usage limit reached")
    }
}

/// Everything that the model reads in this request (system and messages, tool inputs and results), one text per line.
pub fn request_text(request: &Value) -> String {
    let mut texts = Vec::new();
    for field in PROMPT_FIELDS {
        collect_text(&request[field], &mut texts);
    }
    texts.join("\n")
}

fn collect_text<'a>(value: &'a Value, texts: &mut Vec<&'a str>) {
    match value {
        Value::String(text) => texts.push(text),
        Value::Array(items) => items.iter().for_each(|item| collect_text(item, texts)),
        Value::Object(fields) => {
            for (key, field) in fields {
                match key.as_str() {
                    key if TOOL_INPUT_KEYS.contains(&key) => collect_strings(field, texts),
                    key if STRUCTURE_KEYS.contains(&key) => {}
                    _ => collect_text(field, texts),
                }
            }
        }
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
}

/// Every string of a tool's input, whatever its key.
fn collect_strings<'a>(value: &'a Value, texts: &mut Vec<&'a str>) {
    match value {
        Value::String(text) => texts.push(text),
        Value::Array(items) => items.iter().for_each(|item| collect_strings(item, texts)),
        Value::Object(fields) => fields.values().for_each(|field| collect_strings(field, texts)),
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
}

/// The text in pieces, split at character boundaries, so that clients must join them.
pub(super) fn pieces(text: &str) -> Vec<String> {
    let chars: Vec<char> = text.chars().collect();
    let size = chars.len().div_ceil(STREAM_PIECES).max(1);
    chars.chunks(size).map(|part| part.iter().collect()).collect()
}

/// A rough count; never zero.
pub(super) fn tokens(text: &str) -> usize {
    text.chars().count() / CHARS_PER_TOKEN + 1
}

/// An id that is unique across servers and processes: clients join sessions by them.
pub(super) fn unique_id(prefix: &str) -> String {
    static COUNTER: AtomicU64 = AtomicU64::new(0);
    static STARTED: OnceLock<u128> = OnceLock::new();
    let started =
        STARTED.get_or_init(|| SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_nanos()));
    let count = COUNTER.fetch_add(1, Ordering::Relaxed);
    format!("{prefix}{:08x}{started:x}{count:06x}", std::process::id())
}
