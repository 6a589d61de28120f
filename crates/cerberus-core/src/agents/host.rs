//! The programs that call us: how much each lets a hook tell the model, and the one reply it accepts.

use serde_json::{Value, json};

use crate::brief::CLAUDE_CODE_CHARS_MAX;
use crate::brief::memories::BOTH_TOKENS;
use crate::model::id::Agent;

/// What a host lets through to the model.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Host {
    pub chars_max: usize,
    pub tokens_max: usize,
    /// Its payloads say when: two starts or ends of a session never have the same key, and one that is sent to two
    /// hooks has one key.
    pub has_exact_starts: bool,
}

/// What is answered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Occasion {
    Start,
    Prompt,
}

impl Host {
    pub fn of(agent: Agent) -> Host {
        let has_exact_starts = matches!(agent, Agent::Gemini | Agent::Opencode | Agent::Copilot);
        match agent {
            // Codex cuts at about 2,500 tokens, counted its own way.
            Agent::Codex => Host { chars_max: 8_000, tokens_max: 2_000, has_exact_starts },
            _ => Host { chars_max: CLAUDE_CODE_CHARS_MAX, tokens_max: BOTH_TOKENS, has_exact_starts },
        }
    }
}

/// What a hook prints so that the model sees `context`; `None` where the host takes nothing.
///
/// Exactly these fields: Codex rejects a reply with any other.
pub fn reply(agent: Agent, occasion: Occasion, context: &str) -> Option<String> {
    let named = |event: &str| json!({"hookSpecificOutput": {"hookEventName": event, "additionalContext": context}});
    let reply: Value = match (agent, occasion) {
        (Agent::ClaudeCode | Agent::Codex | Agent::Gemini, Occasion::Start) => named("SessionStart"),
        (Agent::ClaudeCode | Agent::Codex, Occasion::Prompt) => named("UserPromptSubmit"),
        (Agent::Gemini, Occasion::Prompt) => named("BeforeAgent"),
        (Agent::Copilot | Agent::Opencode, _) => json!({"additionalContext": context}),
        (Agent::Cursor, Occasion::Start) => json!({"additional_context": context}),
        // Its prompt hook can only stop a prompt.
        (Agent::Cursor, Occasion::Prompt) | (Agent::Manual | Agent::Seed, _) => return None,
    };
    Some(reply.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_reply_is_exactly_what_the_host_accepts() {
        let nested = |event: &str| {
            Some(json!({"hookSpecificOutput": {"hookEventName": event, "additionalContext": "a\n\"b\""}}))
        };
        let flat = |name: &str| Some(json!({name: "a\n\"b\""}));
        for (agent, at_start, at_prompt) in [
            (Agent::ClaudeCode, nested("SessionStart"), nested("UserPromptSubmit")),
            (Agent::Codex, nested("SessionStart"), nested("UserPromptSubmit")),
            (Agent::Gemini, nested("SessionStart"), nested("BeforeAgent")),
            (Agent::Copilot, flat("additionalContext"), flat("additionalContext")),
            (Agent::Opencode, flat("additionalContext"), flat("additionalContext")),
            (Agent::Cursor, flat("additional_context"), None),
            (Agent::Manual, None, None),
        ] {
            let value = |occasion| reply(agent, occasion, "a\n\"b\"").map(|text| serde_json::from_str(&text).unwrap());
            assert_eq!((value(Occasion::Start), value(Occasion::Prompt)), (at_start, at_prompt), "{agent}");
        }
    }

    #[test]
    fn no_host_is_told_more_than_it_takes() {
        for agent in Agent::ALL {
            let host = Host::of(agent);
            assert!(host.chars_max < 10_000 && host.tokens_max <= 2_500, "{agent}");
        }
    }
}
