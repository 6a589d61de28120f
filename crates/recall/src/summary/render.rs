//! Renders a summary in the Markdown format of the original tool, within 500 tokens, alone or before the codes.
//!
//! The facts beside the sentences are those open at the time of rendering, not of writing: settled ones are gone, new
//! ones are included.

use cerberus_record::clean::text::{line, name};
use cerberus_record::ours::SUMMARY_TITLE;
use cerberus_record::words;
use cerberus_text::tokens;
use serde::{Deserialize, Serialize};

use super::items::{key_items, next_actions};
use crate::brief::{self, Brief, BriefLine, BriefRequest, DroppedLine, Section};

/// The budget of the summary with its facts.
pub const SUMMARY_TOKENS: usize = 500;
/// What a summary before the codes may cost besides their budget, which they use up. Prose costs a third of its maximum.
pub const BESIDE_CODES_TOKENS: usize = 300;

words! {
    /// The format of the session part.
    #[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
    #[serde(rename_all = "snake_case")]
    pub enum Format {
        #[default]
        Codes = "codes",
        Summary = "summary",
        Both = "both",
    }
}

/// A brief with these sentences about the latest session instead of most codes.
pub fn compose(request: &BriefRequest, text: &str) -> Brief {
    let BriefRequest { project, budget_tokens, chars_max, .. } = *request;
    instead(brief::compose(request), &SummaryInput { project, text, budget_tokens, chars_max })
}

/// The sentences and the budget.
#[derive(Clone, Copy, Debug)]
pub struct SummaryInput<'a> {
    pub project: &'a str,
    pub text: &'a str,
    pub budget_tokens: usize,
    pub chars_max: usize,
}

/// The title, the project and the sentences.
fn head(input: &SummaryInput) -> String {
    format!("{SUMMARY_TITLE}\n\n**Project:** {}\n\n**Summary:** {}", name(input.project), input.text)
}

/// The maximum cost of the head; a model may have written anything.
pub(super) fn head_tokens(input: &SummaryInput) -> usize {
    tokens::estimate(&head(&SummaryInput { text: "", ..*input })) + tokens::ceiling(input.text) + 1
}

/// The sentences with a few facts instead of the codes; the codes if not even the sentences fit.
pub(super) fn instead(codes: Brief, input: &SummaryInput) -> Brief {
    let budget_tokens = input.budget_tokens.min(SUMMARY_TOKENS);
    let mut context = key_items(&codes.items);
    let mut next = next_actions(&codes.items);
    // The item that is the summary itself is not repeated.
    next.retain(|item| item.text != input.text);
    let head = head(input);
    let text = loop {
        let text = markdown(&head, &context, &next);
        let facts_tokens = tokens::estimate(&text[head.len()..]);
        let is_over = head_tokens(input) + facts_tokens + facts_tokens / 4 > budget_tokens;
        if !is_over && text.chars().count() <= input.chars_max {
            break text;
        }
        // Blockers are dropped last.
        let is_blocked = context.last().is_none_or(|item| item.section == Section::Blockers);
        let dropped = if is_blocked && !next.is_empty() { next.pop() } else { context.pop() };
        if dropped.is_none() {
            return codes;
        }
    };
    let items: Vec<BriefLine> = context.into_iter().chain(next).cloned().collect();
    let rest = codes.items.iter().filter(|item| !items.contains(item));
    let rest = rest.map(|item| DroppedLine { code: item.code.clone(), reason: "covered by the summary".to_string() });
    let dropped = codes.dropped.iter().cloned().chain(rest).collect();
    Brief {
        tokens: tokens::estimate(&text),
        text,
        memories: codes.memories.clone(),
        items,
        dropped,
        ..Brief::default()
    }
}

/// The sentences before the codes, if there is room for them beside the codes: a summary only adds.
pub fn before(mut codes: Brief, input: &SummaryInput) -> Brief {
    if codes.text.is_empty() {
        return codes;
    }
    let tokens = codes.tokens + head_tokens(input) + 1;
    let chars = codes.text.chars().count() + head(input).chars().count() + 2;
    if tokens > input.budget_tokens || chars > input.chars_max {
        let reason = format!("over the budget of {} tokens", input.budget_tokens);
        codes.dropped.push(DroppedLine { code: format!("{SUMMARY}{}", line(input.text, ACTION_CHARS_MAX)), reason });
        return codes;
    }
    let text = format!("{}\n\n{}", head(input), codes.text);
    Brief { tokens: tokens::estimate(&text), text, ..codes }
}

/// What a summary is listed as that was not told.
pub const SUMMARY: &str = "summary:";

fn markdown(head: &str, context: &[&BriefLine], next: &[&BriefLine]) -> String {
    let mut text = head.to_string();
    if !context.is_empty() {
        text.push_str("\n\n**Context:**");
        context.iter().for_each(|item| text.push_str(&format!("\n- {}", item.told())));
    }
    if !next.is_empty() {
        text.push_str("\n\n**Next:**");
        next.iter().for_each(|item| text.push_str(&format!("\n- {}", action(item))));
    }
    text
}

const ACTION_CHARS_MAX: usize = 120;

/// A next step, in its original words.
pub fn action(item: &BriefLine) -> String {
    line(item.text.strip_prefix(item.kind.prefix()).unwrap_or(&item.text), ACTION_CHARS_MAX)
}
