//! Output of `codex exec --json`: one JSON object per line.
//!
//! Its usage covers the whole thread. The size of the context is only in the session file ([`super::rollout`]).

use serde::Deserialize;

use crate::loose::{List, Object, Text};
use crate::stream::{Count, Fault, Finish, StreamEvent, Wait, http_status, what};

#[derive(Default, Deserialize)]
#[serde(default, bound = "'de: 'a")]
struct CodexStreamLine<'a> {
    #[serde(rename = "type")]
    kind: Text<'a>,
    thread_id: Text<'a>,
    item: Object<CodexStreamItem<'a>>,
    usage: Object<CodexStreamUsage>,
    error: Object<CodexStreamProblem<'a>>,
    message: Text<'a>,
}

#[derive(Default, Deserialize)]
#[serde(default, bound = "'de: 'a")]
struct CodexStreamItem<'a> {
    #[serde(rename = "type")]
    kind: Text<'a>,
    text: Text<'a>,
    message: Text<'a>,
    command: Text<'a>,
    changes: List<Object<CodexStreamChange<'a>>>,
    server: Text<'a>,
    tool: Text<'a>,
    query: Text<'a>,
    status: Text<'a>,
}

#[derive(Default, Deserialize)]
#[serde(default, bound = "'de: 'a")]
struct CodexStreamChange<'a> {
    path: Text<'a>,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct CodexStreamUsage {
    input_tokens: Count,
    output_tokens: Count,
}

#[derive(Default, Deserialize)]
#[serde(default, bound = "'de: 'a")]
struct CodexStreamProblem<'a> {
    message: Text<'a>,
}

pub fn read(line: &[u8]) -> Vec<StreamEvent> {
    let Ok(Object(line)) = serde_json::from_slice::<Object<CodexStreamLine>>(line) else {
        return vec![StreamEvent::Unknown];
    };
    let events = match line.kind.0.as_deref() {
        Some("thread.started") => {
            let session = line.thread_id.0.filter(|thread| !thread.is_empty());
            session
                .map(|session| StreamEvent::Started { session: session.into_owned(), model: None })
                .into_iter()
                .collect()
        }
        Some("item.started") => started(&line.item.0).into_iter().collect(),
        Some("item.completed") => completed(line.item.0).into_iter().collect(),
        Some("turn.completed") => {
            let tokens = line.usage.0.input_tokens.0.saturating_add(line.usage.0.output_tokens.0);
            let spent = (tokens > 0).then_some(StreamEvent::Spent { tokens, cost_usd: None });
            spent.into_iter().chain([StreamEvent::Finished(Finish::Done { words: String::new() })]).collect()
        }
        Some("turn.failed") => {
            let words = line.error.0.message.0.unwrap_or_default().into_owned();
            let http_status = http_status(&words);
            vec![StreamEvent::Finished(Finish::Failed(Fault { kind: "turn.failed".to_string(), http_status, words }))]
        }
        // Codex retries; if it gives up, the turn fails.
        Some("error") => {
            let words = line.message.0.unwrap_or_default().into_owned();
            let fault = Fault { kind: "error".to_string(), http_status: http_status(&words), words };
            vec![StreamEvent::Waiting { wait: Wait::Unknown, fault }]
        }
        _ => Vec::new(),
    };
    if events.is_empty() { vec![StreamEvent::Unknown] } else { events }
}

fn started(item: &CodexStreamItem) -> Option<StreamEvent> {
    let (name, on) = match item.kind.0.as_deref()? {
        "command_execution" => ("command", item.command.0.as_deref().unwrap_or_default().to_string()),
        "mcp_tool_call" => {
            let named = [&item.server, &item.tool].map(|text| text.0.as_deref().unwrap_or_default());
            ("mcp", named.join(" "))
        }
        "web_search" => ("search", item.query.0.as_deref().unwrap_or_default().to_string()),
        _ => return None,
    };
    Some(StreamEvent::Tool { name: name.to_string(), what: what(&on) })
}

fn completed(item: CodexStreamItem) -> Option<StreamEvent> {
    match item.kind.0.as_deref()? {
        "agent_message" => {
            let text = item.text.0.filter(|text| !text.trim().is_empty())?;
            Some(StreamEvent::Text(text.into_owned()))
        }
        "file_change" => {
            let paths: Vec<&str> = item.changes.0.iter().filter_map(|change| change.0.path.0.as_deref()).collect();
            Some(StreamEvent::Tool { name: "edit".to_string(), what: what(&paths.join(" ")) })
        }
        "command_execution" | "mcp_tool_call" => match item.status.0.as_deref() {
            Some("failed") => Some(StreamEvent::ToolFailed),
            _ => Some(StreamEvent::ToolDone),
        },
        // Only a warning.
        "error" => item.message.0.map(|message| StreamEvent::Text(message.into_owned())),
        _ => None,
    }
}
