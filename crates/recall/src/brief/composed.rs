//! A composed brief.

use cerberus_record::clean::instruction::harmless;
use cerberus_record::clean::text;
use cerberus_record::id::MemoryId;
use cerberus_record::time::Timestamp;
use cerberus_text::tokens;

use super::line::{BriefLine, DroppedLine};

/// One line of the memory part.
#[derive(Clone, Debug, PartialEq)]
pub struct MemoryItem {
    pub id: MemoryId,
    pub category: String,
    pub code: String,
    pub text: String,
    /// Quotes from the user.
    pub evidence: Vec<String>,
    pub at: Timestamp,
    pub tokens: usize,
    pub why: String,
}

impl MemoryItem {
    /// A rule is about the work; a preference is about how the user likes it.
    pub fn is_rule(&self) -> bool {
        self.code.starts_with(RULE)
    }
}

/// A sentence of an instruction file that is told again after a compaction.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GuideRule {
    /// The name of the file.
    pub guide: String,
    pub sentence: String,
    /// The line that is told.
    pub code: String,
    pub tokens: usize,
}

#[derive(Clone, Debug, Default, PartialEq)]
pub struct Brief {
    pub text: String,
    pub tokens: usize,
    pub rules: Vec<GuideRule>,
    pub memories: Vec<MemoryItem>,
    pub items: Vec<BriefLine>,
    pub dropped: Vec<DroppedLine>,
}

impl Brief {
    /// The tokens that these memories leave for the session part, which they are put before with a blank line.
    pub fn tokens_after(memories: &[MemoryItem], budget_tokens: usize) -> usize {
        let used: usize = memories.iter().map(|item| item.tokens).sum();
        let blank_line = if memories.is_empty() { 0 } else { tokens::line("") };
        budget_tokens.saturating_sub(used + blank_line)
    }

    /// Says first what the text is. An empty brief stays empty.
    pub fn introduced(mut self, first_line: &str) -> Brief {
        if !self.text.is_empty() && !first_line.is_empty() {
            self.text = format!("{first_line}\n{}", self.text);
            self.tokens = tokens::estimate(&self.text);
        }
        self
    }

    /// Adds a line that has a budget of its own.
    pub fn add_line(&mut self, line: &str) {
        let parts = [std::mem::take(&mut self.text), line.to_string()];
        self.text = parts.into_iter().filter(|part| !part.is_empty()).collect::<Vec<_>>().join("\n");
        self.tokens = tokens::estimate(&self.text);
    }

    /// Puts memories before the session part, separated by a blank line.
    pub fn after(self, memories: Vec<MemoryItem>, mut dropped: Vec<DroppedLine>) -> Brief {
        let lines: Vec<&str> = memories.iter().map(|item| item.code.as_str()).collect();
        let parts = [lines.join("\n"), self.text];
        let text = parts.into_iter().filter(|part| !part.is_empty()).collect::<Vec<_>>().join("\n\n");
        dropped.extend(self.dropped);
        Brief { tokens: tokens::estimate(&text), text, rules: self.rules, memories, items: self.items, dropped }
    }
}

impl Brief {
    /// Adds a line at the end, or says why there is no room for it.
    pub(super) fn add_last(
        &mut self,
        project: &str,
        above: Option<&str>,
        item: BriefLine,
        room: &EndRoom,
    ) -> Option<&'static str> {
        let code = above.map_or_else(|| item.code.clone(), |above| format!("{above}\n{}", item.code));
        let line = match self.text.is_empty() {
            true => format!("{}\n{code}", header(project)),
            false => format!("\n{code}"),
        };
        if self.tokens + tokens::estimate(line.trim_start_matches('\n')) > room.budget_tokens {
            return Some("over the budget");
        }
        if self.text.chars().count() + line.chars().count() > room.chars_max {
            return Some("over the limit of the agent");
        }
        self.text.push_str(&line);
        self.tokens = tokens::estimate(&self.text);
        self.items.push(item);
        None
    }
}

/// How much may be added at the end of a session part.
#[derive(Clone, Copy, Debug)]
pub struct EndRoom {
    /// The budget of the whole session part.
    pub budget_tokens: usize,
    pub chars_max: usize,
    pub now: Timestamp,
}

pub(crate) const RULE: &str = "rule:";

/// The line that every session part begins with.
pub(super) fn header(project: &str) -> String {
    format!("proj:{}", text::code(&harmless(project, "a project")))
}
