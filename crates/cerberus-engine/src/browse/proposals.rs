//! Proposals with the words they come from: what the user said, when, and what the agent had said before.

use cerberus_core::model::time::Timestamp;

use crate::agents::Surroundings;
use crate::memory::change::MemoryWriter;
use crate::memory::distill;
use crate::store::fold::FoldError;
use crate::store::{MemoryRow, Store};

/// Only this many of the last corrections are looked at.
const CORRECTIONS_MAX: usize = 1_000;

/// The user's words.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Quote {
    pub text: String,
    /// `None` if the words are not in the view any more.
    pub at: Option<Timestamp>,
    /// What the agent had said before them; may be empty.
    pub before: String,
}

#[derive(Clone, Debug)]
pub struct Proposal {
    pub row: MemoryRow,
    pub quotes: Vec<Quote>,
}

/// What waits for the user's decision, most certain first.
pub fn proposals(
    writer: &MemoryWriter,
    surroundings: &Surroundings,
    store: &mut Store,
) -> Result<Vec<Proposal>, FoldError> {
    let rows = distill::pending(writer, surroundings, store)?;
    if rows.is_empty() {
        return Ok(Vec::new());
    }
    let corrections = store.corrections(&[], CORRECTIONS_MAX, writer.clock.now)?;
    let quote = |said: &cerberus_core::model::memory::Evidence| {
        let correction = corrections
            .iter()
            .find(|one| one.agent == *said.agent && one.agent_session_id == *said.session && one.key == *said.key);
        Quote {
            text: said.text.to_string(),
            at: correction.map(|one| one.at),
            before: correction.map(|one| one.before.clone()).unwrap_or_default(),
        }
    };
    let proposal =
        |row: MemoryRow| Proposal { quotes: row.memory.background.evidence.iter().map(quote).collect(), row };
    Ok(rows.into_iter().map(proposal).collect())
}
