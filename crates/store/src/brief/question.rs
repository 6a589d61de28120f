//! What is asked of a brief: when, by whom, and within which limits.

use cerberus_recall::brief::memories::{BOTH_TOKENS, MEMORY_TOKENS};
use cerberus_recall::brief::{Brief, FIRST_LINE, GuideRule, MemoryItem};
use cerberus_recall::summary::render::{BESIDE_CODES_TOKENS, Format};
use cerberus_record::event::StartSource;
use cerberus_record::time::Timestamp;
use cerberus_text::tokens;

use crate::project::guides::UserFolders;
use crate::view::{Asks, SessionRow};

/// The request for a brief.
#[derive(Clone, Copy, Debug)]
pub struct Question<'a> {
    pub now: Timestamp,
    /// Another time than that of the files on disk: what git says now was not so then.
    pub is_past: bool,
    pub source: StartSource,
    pub budget: Budget,
    pub chars_max: usize,
    pub prompt: Option<&'a str>,
    /// Where to find the guides that the agent reads by itself.
    pub folders: &'a UserFolders,
    pub format: Format,
    /// Whether a project that nobody worked on for long gets a few lines about where it stopped.
    pub reminder: bool,
    /// The asking session; `None` when the user previews what the next session would be told.
    pub session: Option<&'a SessionRow>,
}

impl Question<'_> {
    /// Is this the session that asks?
    pub(super) fn is_from(&self, session: &SessionRow) -> bool {
        self.session.is_some_and(|own| own.row == session.row)
    }

    /// Does the context contain nothing yet?
    pub(super) fn is_fresh(&self) -> bool {
        matches!(self.source, StartSource::Startup | StartSource::Clear)
    }

    /// What the text begins with. A small budget has no room for it.
    pub(super) fn first_line(&self) -> &'static str {
        if self.budget.both_tokens >= INTRODUCED_MIN { FIRST_LINE } else { "" }
    }

    /// What is left for the session part.
    pub(super) fn tokens_after(&self, memories: &[MemoryItem]) -> usize {
        let left = self.budget.session_tokens.min(Brief::tokens_after(memories, self.budget.both_tokens));
        left.saturating_sub(tokens::line(self.first_line()))
    }

    /// The same with a summary, which takes nothing from the codes.
    pub(super) fn tokens_with_summary(&self, memories: &[MemoryItem]) -> usize {
        let session_tokens = self.budget.session_tokens.saturating_add(BESIDE_CODES_TOKENS);
        Question { budget: Budget { session_tokens, ..self.budget }, ..*self }.tokens_after(memories)
    }

    /// The same, in characters.
    pub(super) fn chars_after(&self, memories: &[MemoryItem]) -> usize {
        let memory_chars: usize = memories.iter().map(|item| item.code.chars().count() + 1).sum();
        self.chars_max.saturating_sub(memory_chars + 1 + self.first_line().len() + 1)
    }

    /// The same question, with what these sentences leave of the budget.
    pub(super) fn beside(&self, rules: &[GuideRule]) -> Self {
        let used: usize = rules.iter().map(|rule| rule.tokens).sum();
        let chars: usize = rules.iter().map(|rule| rule.code.chars().count() + 1).sum();
        let blank_line = if rules.is_empty() { 0 } else { tokens::line("") };
        let both_tokens = self.budget.both_tokens.saturating_sub(used + blank_line);
        let budget = Budget { both_tokens, ..self.budget };
        Question { budget, chars_max: self.chars_max.saturating_sub(chars + 1), ..*self }
    }

    /// The agent that asks, if that is known.
    pub(super) fn agent(&self) -> Option<&str> {
        self.session.map(|session| session.agent.as_str())
    }

    pub(super) fn asks(&self) -> Asks {
        if self.prompt.is_some() { Asks::Prompt } else { Asks::Nothing }
    }
}

/// Briefs with a smaller budget have no first line.
pub(super) const INTRODUCED_MIN: usize = 250;

/// The token limits of a brief.
#[derive(Clone, Copy, Debug)]
pub struct Budget {
    pub session_tokens: usize,
    pub memory_tokens: usize,
    pub both_tokens: usize,
}

impl Budget {
    /// The user's limit for the session part, and the default for memories.
    pub fn of_session(session_tokens: usize) -> Budget {
        Budget { session_tokens, memory_tokens: MEMORY_TOKENS, both_tokens: BOTH_TOKENS }
    }

    /// A limit for both parts, divided by default shares. The session part may use what memories leave.
    pub fn of_all(both_tokens: usize) -> Budget {
        let memory_tokens = (both_tokens * MEMORY_TOKENS / BOTH_TOKENS).min(MEMORY_TOKENS);
        Budget { session_tokens: both_tokens, memory_tokens, both_tokens }
    }
}
