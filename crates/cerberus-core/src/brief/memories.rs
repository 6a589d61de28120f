//! The memory part of a brief: what holds here, ranked, one code a line, within its own budget.
//!
//! Never told: what the agent's own guides say already, what it was told before, and what a narrower memory contradicts.

use std::collections::HashSet;

use super::Dropped;
use crate::clean::text::{code as code_text, slug, words};
use crate::language::tokens;
use crate::learn::conflict::contradicts;
use crate::learn::guide::GuideLines;
use crate::model::id::MemoryId;
use crate::model::memory::{Memory, Scope};
use crate::model::time::Timestamp;

/// The memory part's budget, in tokens; both parts together have at most [`BOTH_TOKENS`].
pub const MEMORY_TOKENS: usize = 1_500;
pub const BOTH_TOKENS: usize = 2_500;

/// A rule cut short may say something else; few are longer than this.
const CODE_CHARS_MAX: usize = 240;

/// A memory that may be told.
#[derive(Clone, Copy, Debug)]
pub struct Remembered<'a> {
    pub id: &'a MemoryId,
    pub memory: &'a Memory<'a>,
    pub why: &'a str,
}

/// What the memory part is made from.
#[derive(Debug)]
pub struct MemoryRequest<'a> {
    /// The most useful first.
    pub candidates: &'a [Remembered<'a>],
    pub guides: &'a GuideLines,
    pub told: &'a HashSet<MemoryId>,
    pub budget_tokens: usize,
    pub chars_max: usize,
}

/// One line of the memory part.
#[derive(Clone, Debug, PartialEq)]
pub struct MemoryItem {
    pub id: MemoryId,
    pub category: String,
    pub code: String,
    pub text: String,
    /// What the user said.
    pub evidence: Vec<String>,
    pub at: Timestamp,
    pub tokens: usize,
    pub why: String,
}

/// Decides which memories are told.
pub fn choose(request: &MemoryRequest, dropped: &mut Vec<Dropped>) -> Vec<MemoryItem> {
    let mut items = Vec::new();
    let (mut tokens, mut chars) = (0, 0);
    let narrow: Vec<&Remembered> = request.candidates.iter().filter(|one| !is_universal(one.memory)).collect();
    for one in request.candidates.iter().filter(|one| !request.told.contains(one.id)) {
        let code = code(one.memory);
        let mut drop = |reason: String| dropped.push(Dropped { code: code.clone(), reason });
        if let Some(guide) = request.guides.says(&one.memory.content) {
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
            evidence: one.memory.background.evidence.iter().map(|said| said.text.to_string()).collect(),
            at: one.memory.updated_at,
            tokens: own_tokens,
            why: one.why.to_string(),
            code,
        });
    }
    items
}

/// `rule:Run-the-tests-first`, `pref:Keep-answers-short`; what is neither is a note.
pub fn code(memory: &Memory) -> String {
    let prefix = match &*memory.category {
        "preference" | "style" => "pref:",
        "note" => "note:",
        _ => "rule:",
    };
    code_text(&format!("{prefix}{}", slug(&memory.content, CODE_CHARS_MAX))).into_owned()
}

fn is_universal(memory: &Memory) -> bool {
    *memory.scope == *Scope::Universal.to_string()
}

/// Does what holds for a language or project say the opposite of what holds everywhere?
fn is_overruled(broad: &Memory, narrow: &Memory) -> bool {
    // Comparing meanings costs; what contradicts shares a word.
    let shares_a_word = || {
        let said: HashSet<String> = words(&broad.content).collect();
        words(&narrow.content).any(|word| word.len() > 2 && said.contains(&word))
    };
    is_universal(broad) && shares_a_word() && contradicts(&broad.content, &narrow.content)
}
