//! What the user of an interactive session is told when its context passes the soft redline.

use super::redline::{Fill, Redline};
use crate::meter::{Certainty, Measure, Meter, MeterReading, Windows};
use crate::stream::StreamEvent;

/// How full the context is, by the end of its transcript.
pub fn reading(events: &[StreamEvent], known: Windows) -> MeterReading {
    let mut meter = Meter::new(Measure::Usage, known, None);
    events.iter().for_each(|event| meter.observe(event));
    meter.reading()
}

/// `None` below the redline. A fill above the window means that the window was assumed too small.
pub fn notice(reading: &MeterReading, redline: &Redline) -> Option<String> {
    let (percent, tokens, window) = (reading.percent?, reading.tokens?, reading.window?);
    if redline.judge(reading) == Fill::Below || percent > 100.0 {
        return None;
    }
    let about = if reading.certainty <= Certainty::Derived { "" } else { "about " };
    let (percent, tokens, window) = (percent.floor(), tokens / 1000, window / 1000);
    Some(format!(
        "cerberus: context {about}{percent}% full ({tokens}k of {window}k) · /cerberus:handoff or `cerberus handoff`, then /clear"
    ))
}

#[cfg(test)]
mod tests {
    use cerberus_record::id::Agent;
    use serde_json::{Value, json};

    use super::*;
    use crate::{claude_code, context_size, qwen_code};

    fn said(agent: Agent, lines: &[Value], windows: Windows) -> Option<String> {
        let ending: String = lines.iter().map(|line| format!("{line}\n")).collect();
        let ending = format!("ut off\"}}\n{ending}");
        notice(&reading(&context_size(agent, ending.as_bytes()), windows), &Redline::default())
    }

    fn claude(tokens: u64) -> Value {
        json!({"type": "assistant", "sessionId": "s", "message": {"model": "claude-test-1", "usage":
            {"input_tokens": 9, "cache_read_input_tokens": tokens - 19, "cache_creation_input_tokens": 0, "output_tokens": 10}}})
    }

    #[test]
    fn the_last_size_of_the_main_context_counts() {
        let subagent = |tokens: u64| {
            let mut line = claude(tokens);
            line["isSidechain"] = json!(true);
            line
        };
        let compacted = json!({"type": "system", "subtype": "compact_boundary"});
        let made_up = json!({"type": "assistant", "message": {"model": "<synthetic>", "usage": {"input_tokens": 0}}});
        for (name, lines, is_said) in [
            ("nothing", vec![], false),
            ("below", vec![claude(139_000)], false),
            ("at it", vec![claude(140_000)], true),
            ("by the last one", vec![claude(10_000), claude(150_000)], true),
            ("a subagent's own", vec![claude(10_000), subagent(190_000)], false),
            ("a subagent's own, later", vec![claude(150_000), subagent(9_000)], true),
            ("compacted since", vec![claude(150_000), compacted], false),
            ("made up by the client", vec![claude(150_000), made_up], true),
            ("a larger window than assumed", vec![claude(210_000)], false),
        ] {
            assert_eq!(said(claude_code::AGENT, &lines, Windows::default()).is_some(), is_said, "{name}");
        }
    }

    #[test]
    fn the_message_says_how_certain_it_is() {
        let expected =
            "cerberus: context about 75% full (150k of 200k) · /cerberus:handoff or `cerberus handoff`, then /clear";
        assert_eq!(said(claude_code::AGENT, &[claude(150_000)], Windows::default()).as_deref(), Some(expected));
        let mut known = Windows::default();
        known.learn("claude-test-1", 160_000);
        let exact = said(claude_code::AGENT, &[claude(150_000)], known).unwrap();
        assert!(exact.contains("context 93% full (150k of 160k)") && exact.len() <= 120, "{exact}");
        let qwen = json!({"type": "assistant", "usageMetadata": {"promptTokenCount": 95_000, "candidatesTokenCount": 1_000},
            "contextWindowSize": 128_000});
        let told = said(qwen_code::AGENT, &[qwen], Windows::default()).unwrap();
        assert!(told.contains("context 75% full (96k of 128k)"), "{told}");
    }
}
