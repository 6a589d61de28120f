//! Proposals with the words they come from: what the user said, when, and in which prompt.

use cerberus_agents::install::Surroundings;
use cerberus_record::time::Timestamp;

use crate::memory::change::MemoryWriter;
use crate::memory::distill;
use crate::view::fold::FoldError;
use crate::view::{MemoryRow, Store};

/// The user's words.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ListedQuote {
    pub text: String,
    /// `None` if the words are not in the view any more.
    pub at: Option<Timestamp>,
    /// The whole prompt; may be empty.
    pub prompt: String,
}

#[derive(Clone, Debug)]
pub struct ListedProposal {
    pub row: MemoryRow,
    pub quotes: Vec<ListedQuote>,
}

/// What waits for the user's decision, the newest first.
pub fn proposals(
    writer: &MemoryWriter,
    surroundings: &Surroundings,
    store: &mut Store,
) -> Result<Vec<ListedProposal>, FoldError> {
    let rows = distill::pending(writer, surroundings, store)?;
    let mut found = Vec::new();
    for row in rows {
        let mut quotes = Vec::new();
        for said in &row.memory.background.evidence {
            let (at, prompt) = store.prompt(&said.agent, &said.session, &said.key)?.unzip();
            quotes.push(ListedQuote { text: said.text.to_string(), at, prompt: prompt.unwrap_or_default() });
        }
        found.push(ListedProposal { row, quotes });
    }
    Ok(found)
}
