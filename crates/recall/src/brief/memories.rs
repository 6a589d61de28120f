//! The memory part of a brief: the memories that apply, ranked, one code per line, within its own budget.
//!
//! Leaves out what the agent's own guides already contain, what the session has already seen, and what a narrower
//! memory contradicts.

use std::collections::HashSet;

use cerberus_record::clean::text::{code as code_text, phrase, words};
use cerberus_record::id::MemoryId;
use cerberus_record::memory::{Memory, Scope};
use cerberus_record::source::MemorySource;
use cerberus_text::tokens;

use super::composed::RULE;
pub use super::composed::{GuideRule, MemoryItem};
use super::gather::quoted;
use super::{Brief, DroppedLine};
use crate::learn::conflict::contradicts;
use crate::learn::guide::GuideLines;

/// Budget of the memory part, in tokens. Both parts together get at most [`BOTH_TOKENS`].
pub const MEMORY_TOKENS: usize = 1_500;
pub const BOTH_TOKENS: usize = 2_500;

/// A truncated rule may mean something else; few are longer than this.
const CODE_CHARS_MAX: usize = 240;

/// A memory that may be included.
#[derive(Clone, Copy, Debug)]
pub struct MemoryCandidate<'a> {
    pub id: &'a MemoryId,
    pub memory: &'a Memory<'a>,
    pub why: &'a str,
}

/// Input of the memory part.
#[derive(Debug)]
pub struct MemoryRequest<'a> {
    /// The most useful first.
    pub candidates: &'a [MemoryCandidate<'a>],
    pub guides: &'a GuideLines,
    pub already_shown: &'a HashSet<MemoryId>,
    pub budget_tokens: usize,
    pub chars_max: usize,
}

impl Brief {
    /// Puts sentences of instruction files before everything else, next to memories.
    pub fn restating(mut self, rules: Vec<GuideRule>) -> Brief {
        if !rules.is_empty() {
            let lines = rules.iter().map(|rule| rule.code.as_str()).collect::<Vec<_>>().join("\n");
            let joint = if self.memories.is_empty() { "\n\n" } else { "\n" };
            self.text = if self.text.is_empty() { lines } else { format!("{lines}{joint}{}", self.text) };
            self.tokens = tokens::estimate(&self.text);
            self.rules = rules;
        }
        self
    }
}

/// Decides which memories to include.
pub fn choose(request: &MemoryRequest, dropped: &mut Vec<DroppedLine>) -> Vec<MemoryItem> {
    let mut items = Vec::new();
    let (mut tokens, mut chars) = (0, 0);
    let narrow: Vec<&MemoryCandidate> = request.candidates.iter().filter(|one| !is_universal(one.memory)).collect();
    for one in request.candidates.iter().filter(|one| !request.already_shown.contains(one.id)) {
        let code = code(one.memory);
        let mut drop = |reason: String| dropped.push(DroppedLine { code: code.clone(), reason });
        if let Some(guide) = request.guides.find(&one.memory.content) {
            drop(format!("already in {guide}"));
            continue;
        }
        if let Some(other) = narrow.iter().find(|other| is_overruled(one.memory, other.memory)) {
            drop(format!("contradicted by {} for {}", other.id, &*other.memory.scope));
            continue;
        }
        let (own_tokens, own_chars) = (tokens::line(&code), code.chars().count() + 1);
        if tokens + own_tokens > request.budget_tokens || chars + own_chars > request.chars_max {
            drop(format!("over the budget of {} tokens for memories", request.budget_tokens));
            continue;
        }
        tokens += own_tokens;
        chars += own_chars;
        items.push(MemoryItem {
            id: one.id.clone(),
            category: one.memory.category.to_string(),
            text: one.memory.content.to_string(),
            evidence: one.memory.background.evidence.iter().map(|evidence| evidence.text.to_string()).collect(),
            at: one.memory.updated_at,
            tokens: own_tokens,
            why: one.why.to_string(),
            code,
        });
    }
    items
}

/// `rule:Run the tests first`, `pref:Keep answers short`; anything else is a note.
pub fn code(memory: &Memory) -> String {
    let prefix = match &*memory.category {
        "preference" | "style" => "pref:",
        "note" => "note:",
        _ => RULE,
    };
    let words = phrase(&memory.content, CODE_CHARS_MAX);
    // Words that nobody changed are the user's own.
    let is_quote = MemorySource::named(&memory.source) == MemorySource::Prompt
        && memory.background.evidence.iter().any(|said| said.text == memory.content);
    match is_quote {
        true => code_text(&format!("{prefix}{}", quoted(&memory.content, memory.created_at))).into_owned(),
        false => code_text(&format!("{prefix}{words}")).into_owned(),
    }
}

fn is_universal(memory: &Memory) -> bool {
    *memory.scope == *Scope::Universal.to_string()
}

/// Whether a memory of a language or project contradicts a universal one.
fn is_overruled(broad: &Memory, narrow: &Memory) -> bool {
    // Comparing meanings is expensive; memories that contradict each other share a word.
    let shares_a_word = || {
        let broad_words: HashSet<String> = words(&broad.content).collect();
        words(&narrow.content).any(|word| word.len() > 2 && broad_words.contains(&word))
    };
    is_universal(broad) && shares_a_word() && contradicts(&broad.content, &narrow.content)
}
