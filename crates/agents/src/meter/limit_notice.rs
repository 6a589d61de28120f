//! What the user is told when the agent has reached its usage limit.

use crate::stream::{StreamEvent, Wait};

/// How long to wait, if the end of a transcript says that a limit is reached, and nothing was answered since.
pub fn reached(events: &[StreamEvent]) -> Option<Wait> {
    let last = events.iter().rev().find_map(|event| match event {
        StreamEvent::Waiting { wait, .. } => Some(Some(*wait)),
        StreamEvent::Usage { .. } => Some(None),
        _ => None,
    });
    last.flatten()
}

pub fn is_reached(events: &[StreamEvent]) -> bool {
    reached(events).is_some()
}

/// The command that goes on with the session elsewhere.
pub fn command(session: &str) -> String {
    format!("cerberus resume {session} --in AGENT")
}

pub fn notice(title: &str, session: &str) -> String {
    format!("cerberus: {title} has reached its usage limit · `{}` goes on in another agent", command(session))
}

#[cfg(test)]
mod tests {
    use cerberus_record::id::Agent;
    use cerberus_record::time::Timestamp;
    use serde_json::{Value, json};

    use super::*;
    use crate::{claude_code, codex, context_size};

    fn reached(agent: Agent, lines: &[&Value]) -> bool {
        let ending: String = lines.iter().map(|line| format!("{line}\n")).collect();
        is_reached(&context_size(agent, ending.as_bytes()))
    }

    #[test]
    fn the_last_answer_counts() {
        let none = json!({"input_tokens": 0, "output_tokens": 0});
        // As Claude Code 2.1.326 writes it.
        let refused = |error: &str| {
            json!({"type": "assistant", "isApiErrorMessage": true, "error": error, "isSidechain": false, "message": {
                "model": "<synthetic>", "usage": none, "content": [{"type": "text", "text": "You've hit your limit"}]}})
        };
        let answered = json!({"type": "assistant", "message": {"id": "m", "usage": {"input_tokens": 9}}});
        let asked = json!({"type": "user", "message": {"content": "Go on"}});
        let (limit, other) = (refused("rate_limit"), refused("server_error"));
        assert!(reached(claude_code::AGENT, &[&answered, &limit, &asked]));
        assert!(!reached(claude_code::AGENT, &[&limit, &asked, &answered]));
        assert!(!reached(claude_code::AGENT, &[&answered, &other, &asked]));
        let count = |reached: Value| {
            json!({"type": "event_msg", "payload": {"type": "token_count", "info": {"last_token_usage":
                {"total_tokens": 9}}, "rate_limits": {"rate_limit_reached_type": reached}}})
        };
        let (limit, answered) = (count(json!("usage_limit")), count(Value::Null));
        assert!(reached(codex::AGENT, &[&answered, &limit]));
        let ending = json!({"type": "event_msg", "payload": {"type": "token_count", "rate_limits": {
            "rate_limit_reached_type": "usage_limit", "primary": {"used_percent": 100.0, "resets_at": 1_769_083_200}}}});
        let until = Wait::Until(Timestamp::from_millis(1_769_083_200_000));
        let events = context_size(codex::AGENT, format!("{ending}\n").as_bytes());
        assert_eq!(super::reached(&events), Some(until));
        assert!(!reached(codex::AGENT, &[&limit, &answered]));
    }
}
