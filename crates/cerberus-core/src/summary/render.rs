//! How a summary is told: the markdown form of the original tool, within 500 tokens, alone or before the codes.
//!
//! The facts beside the sentences are those that are open when it is told, not when it was written: what was settled
//! since is gone, what was added since is there.

use serde::{Deserialize, Serialize};

use super::items::{key_items, next_actions};
use crate::brief::{self, Brief, Dropped, Item, Request, Section};
use crate::clean::text::{line, name};
use crate::extract::injected::SUMMARY_TITLE;
use crate::language::tokens;

/// What the summary and the facts beside it may cost.
pub const SUMMARY_TOKENS: usize = 500;

/// How the session part is told.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Format {
    #[default]
    Codes,
    Summary,
    Both,
}

impl Format {
    pub const ALL: [Format; 3] = [Format::Codes, Format::Summary, Format::Both];

    pub fn name(self) -> &'static str {
        match self {
            Format::Codes => "codes",
            Format::Summary => "summary",
            Format::Both => "both",
        }
    }

    pub fn from_name(name: &str) -> Option<Format> {
        Format::ALL.into_iter().find(|format| format.name() == name)
    }
}

/// A brief in this format, with these sentences about the session that worked last.
pub fn compose(request: &Request, format: Format, text: &str) -> Brief {
    let Request { project, budget_tokens, chars_max, .. } = *request;
    let told = Told { project, text, budget_tokens, chars_max };
    match format {
        Format::Summary => instead(brief::compose(request), &told),
        // Sentences that would leave the codes less than half are not worth it.
        Format::Both if head_tokens(&told) <= budget_tokens / 2 => {
            let budget_tokens = budget_tokens - head_tokens(&told) - 1;
            let chars_max = chars_max.saturating_sub(head(&told).chars().count() + 2);
            before(brief::compose(&Request { budget_tokens, chars_max, ..*request }), &told)
        }
        Format::Codes | Format::Both => brief::compose(request),
    }
}

/// The sentences, and what they may cost with all that stands beside them.
#[derive(Clone, Copy, Debug)]
pub(super) struct Told<'a> {
    pub project: &'a str,
    pub text: &'a str,
    pub budget_tokens: usize,
    pub chars_max: usize,
}

/// The title, the project and the sentences.
fn head(told: &Told) -> String {
    format!("{SUMMARY_TITLE}\n\n**Project:** {}\n\n**Summary:** {}", name(told.project), told.text)
}

/// What the head costs at most: a model may have written anything.
pub(super) fn head_tokens(told: &Told) -> usize {
    tokens::estimate(&head(&Told { text: "", ..*told })) + tokens::ceiling(told.text) + 1
}

/// The sentences with a few facts, instead of the codes; the codes when not even the sentences fit.
pub(super) fn instead(codes: Brief, told: &Told) -> Brief {
    let budget_tokens = told.budget_tokens.min(SUMMARY_TOKENS);
    let mut context = key_items(&codes.items);
    let mut next = next_actions(&codes.items);
    // What the summary itself was taken from need not stand beside it.
    next.retain(|item| item.text != told.text);
    let head = head(told);
    let text = loop {
        let text = markdown(&head, &context, &next);
        let facts_tokens = tokens::estimate(&text[head.len()..]);
        let is_over = head_tokens(told) + facts_tokens + facts_tokens / 4 > budget_tokens;
        if !is_over && text.chars().count() <= told.chars_max {
            break text;
        }
        // Blockers are the last to go.
        let is_blocked = context.last().is_none_or(|item| item.section == Section::Blockers);
        let dropped = if is_blocked && !next.is_empty() { next.pop() } else { context.pop() };
        if dropped.is_none() {
            return codes;
        }
    };
    let items: Vec<Item> = context.into_iter().chain(next).cloned().collect();
    let rest = codes.items.iter().filter(|item| !items.contains(item));
    let rest = rest.map(|item| Dropped { code: item.code.clone(), reason: "covered by the summary".to_string() });
    let dropped = codes.dropped.iter().cloned().chain(rest).collect();
    Brief { tokens: tokens::estimate(&text), text, memories: codes.memories.clone(), items, dropped }
}

/// The sentences before the codes.
pub(super) fn before(codes: Brief, told: &Told) -> Brief {
    if codes.text.is_empty() {
        return codes;
    }
    let text = format!("{}\n\n{}", head(told), codes.text);
    Brief { tokens: tokens::estimate(&text), text, ..codes }
}

fn markdown(head: &str, context: &[&Item], next: &[&Item]) -> String {
    let mut text = head.to_string();
    if !context.is_empty() {
        text.push_str("\n\n**Context:**");
        context.iter().for_each(|item| text.push_str(&format!("\n- {}", item.code)));
    }
    if !next.is_empty() {
        text.push_str("\n\n**Next:**");
        next.iter().for_each(|item| text.push_str(&format!("\n- {}", action(item))));
    }
    text
}

/// What is to be done, as it was said.
pub fn action(item: &Item) -> String {
    const ACTION_CHARS_MAX: usize = 120;
    line(item.text.strip_prefix(item.kind.prefix()).unwrap_or(&item.text), ACTION_CHARS_MAX)
}
