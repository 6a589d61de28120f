//! Payloads recorded from real clients of these versions, each with the event it must become.
//!
//! The tests that run the clients record them if `CERBERUS_RECORD` names a directory. Home paths are replaced and
//! long texts cut. If a client behaves differently from its documentation, the recording wins.

use cerberus_record::clean::BUILT_IN;
use cerberus_record::id::Agent;
use serde_json::{Value, json};

use super::{claude_code, cline, codex, copilot, gemini, opencode, parse, qwen_code};

const RECORDED: [(Agent, &str); 8] = [
    (claude_code::AGENT, include_str!("fixtures/claude-code-2.1.325.jsonl")),
    (codex::AGENT, include_str!("fixtures/codex-0.166.0.jsonl")),
    (gemini::AGENT, include_str!("fixtures/gemini-0.61.0.jsonl")),
    (opencode::AGENT, include_str!("fixtures/opencode-1.18.33.jsonl")),
    (copilot::AGENT, include_str!("fixtures/copilot-1.0.102.jsonl")),
    (qwen_code::AGENT, include_str!("fixtures/qwen-code-0.24.4.jsonl")),
    (qwen_code::AGENT, include_str!("fixtures/qwen-code-0.15.10.jsonl")),
    (cline::AGENT, include_str!("fixtures/cline-3.0.65.jsonl")),
];

#[test]
fn every_recorded_payload_becomes_its_event() {
    let mut wrong = Vec::new();
    for (agent, line) in RECORDED.iter().flat_map(|(agent, lines)| lines.lines().map(move |line| (*agent, line))) {
        let recorded: Value = serde_json::from_str(line).unwrap();
        let payload = recorded["payload"].to_string();
        let hook_event = parse(&BUILT_IN, agent, payload.as_bytes()).unwrap();
        let event = hook_event.map_or(Value::Null, |hook_event| {
            assert_eq!((hook_event.agent, &*hook_event.cwd), (agent, "/home/dev/project"), "{line}");
            json!(hook_event.event)
        });
        if event != recorded["event"] {
            wrong.push(format!("{agent} {}: {event}", recorded["name"].as_str().unwrap()));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}
