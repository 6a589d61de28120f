//! What the model is told when a tool use is not run: a fact that it can act on.

use cerberus_record::clean::text::line;

use super::decide::BrokenRule;
use super::{Check, CheckLevel, Rule};

/// How much of the user's sentence is quoted.
const SENTENCE_CHARS_MAX: usize = 240;

/// `Not run. Your user's rule (m-12ab): "Use pnpm, not npm". Run: pnpm install. …`
pub fn reason(check: &Check, hit: &BrokenRule, level: CheckLevel) -> String {
    let done = match check.rule {
        Rule::Stop { .. } => "Not finished yet.",
        Rule::Text { .. } => "Not written.",
        Rule::Path { .. } => "Not done.",
        _ => "Not run.",
    };
    let sentence = line(&check.sentence, SENTENCE_CHARS_MAX);
    let mut text = format!("{done} Your user's rule ({}): \"{}\".", check.id, sentence.trim_end_matches('.'));
    match &check.rule {
        Rule::Command { .. } | Rule::Prefix { .. } | Rule::Stop { .. } | Rule::Order { .. } => {}
        Rule::Commit { .. } => text.push_str(&format!(" {}.", hit.what)),
        _ => text.push_str(&format!(" This is about {}.", hit.what)),
    }
    if let Some(advice) = &hit.advice {
        text.push_str(&format!(" {}.", advice.trim_end_matches('.')));
    }
    if matches!(check.rule, Rule::Stop { .. }) {
        return text;
    }
    if level == CheckLevel::Remind {
        text.push_str(" If it is needed all the same, the identical call is let through.");
    }
    text.push_str(&format!(" If this is wrong, the user can run: cerberus check allow-once {}", check.id));
    text
}
