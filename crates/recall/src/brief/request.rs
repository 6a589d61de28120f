//! What a brief is composed of.

use std::collections::HashSet;

use cerberus_record::id::SessionId;
use cerberus_record::time::Timestamp;

use super::composed::MemoryItem;
use super::evidence::Likely;
use super::gather::LastWork;
use super::known::{KnownFact, Settlement};
use super::live::LiveSession;

/// Input of a brief. Facts are in chronological order.
#[derive(Debug)]
pub struct BriefRequest<'a> {
    pub project: &'a str,
    pub facts: &'a [KnownFact],
    pub settlements: &'a [Settlement],
    pub likely: &'a Likely,
    pub now: Timestamp,
    /// `usize::MAX` for everything that is open, however much it is.
    pub budget_tokens: usize,
    pub chars_max: usize,
    /// The prompt the session is about to answer, if known.
    pub prompt: Option<&'a str>,
    /// Memories shown before this part.
    pub memories: &'a [MemoryItem],
    /// What this session already knows; `None` at a fresh start.
    pub known: Option<&'a AlreadyKnown>,
    /// The conversations of the last sessions, oldest first.
    pub turns: &'a [super::stopped::Quotable],
    /// Sessions that are at work now, in another window.
    pub live: &'a [LiveSession],
    /// The sessions that changed something; items that they passed over fade out.
    pub worked: &'a [LastWork],
}

/// What a session already has in its context.
#[derive(Debug, Default)]
pub struct AlreadyKnown {
    pub shown_codes: HashSet<String>,
    /// Its own session, and its parent if it was forked.
    pub own_sessions: HashSet<SessionId>,
    /// Files that it read or edited itself.
    pub own_files: HashSet<String>,
}
