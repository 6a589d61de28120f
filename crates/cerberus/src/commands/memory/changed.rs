//! What is said about a change of memories.

use cerberus_store::memory::change::ChangeError;
use cerberus_store::view::MemoryRow;

use crate::failure::{self, Hint, Result};
use crate::render;

/// Adds a hint to a change that failed.
pub fn changed<T>(result: std::result::Result<T, ChangeError>) -> Result<T> {
    let hint = match &result {
        Err(ChangeError::ChangedMeanwhile(id)) => {
            format!("look at the new version with `cerberus memory show {id}`, then try again")
        }
        Err(ChangeError::TooManySuggestions) => {
            "the user can decide about them with `cerberus memory review`, or remove them with `cerberus memory forget \
             --source mcp`"
                .to_string()
        }
        _ => failure::DOCTOR.to_string(),
    };
    result.hint(hint)
}

pub(super) fn print_superseded(rows: &[MemoryRow]) {
    for row in rows {
        render::talk(&format!("replaces {}: {}", row.id, cerberus_record::clean::text::line(&row.memory.content, 120)));
    }
}
