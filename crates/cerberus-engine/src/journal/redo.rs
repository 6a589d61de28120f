//! Rewrites lines of the journal in place, so that a kill in between loses nothing.
//!
//! The new lines are first written to a file of their own, `redacting.jsonl`. Whoever opens the view next finishes what
//! that file says. A line keeps its place and its length, so that hooks may append meanwhile. The caller holds the
//! view's write lock, which keeps other processes from reading a line that is half rewritten.

use std::fs;
use std::io;
use std::os::unix::fs::FileExt;

use serde::{Deserialize, Serialize};

use super::{JournalError, segments};
use crate::os::fault;
use crate::os::home::{Access, Home};

/// Far more than a redaction of a whole journal would write.
const FILE_BYTES_MAX: u64 = 256 * 1024 * 1024;

/// One line as it is to be.
#[derive(Serialize, Deserialize)]
pub struct Redo {
    pub segment: String,
    pub offset: u64,
    /// Exactly as long as the line it replaces.
    pub line: String,
}

/// Rewrites these lines.
pub fn rewrite(home: &Home, redos: &[Redo]) -> Result<(), JournalError> {
    let path = home.redacting();
    let failed = |source| JournalError::Write { path: path.clone(), source };
    let mut plan = Vec::new();
    for redo in redos {
        plan.extend(serde_json::to_vec(redo)?);
        plan.push(b'\n');
    }
    home.replace(&path, &plan).map_err(failed)?;
    fault::point("redact-planned").map_err(failed)?;
    apply(home, redos)?;
    fs::remove_file(&path).map_err(failed)
}

/// Was a rewrite cut short?
pub fn is_unfinished(home: &Home) -> bool {
    fs::symlink_metadata(home.redacting()).is_ok()
}

/// Finishes a rewrite that was cut short. Another process may have done so already.
pub fn finish(home: &Home) -> Result<(), JournalError> {
    let path = home.redacting();
    let Ok(text) = home.text(&path, FILE_BYTES_MAX) else { return Ok(()) };
    let redos: Vec<Redo> = text.lines().filter_map(|line| serde_json::from_str(line).ok()).collect();
    apply(home, &redos)?;
    fs::remove_file(&path).map_err(|source| JournalError::Write { path, source })
}

fn apply(home: &Home, redos: &[Redo]) -> Result<(), JournalError> {
    let known: Vec<String> = segments(home)?.into_iter().map(|segment| segment.name).collect();
    for of_segment in redos.chunk_by(|a, b| a.segment == b.segment) {
        if !known.contains(&of_segment[0].segment) {
            continue;
        }
        let path = home.journal_dir().join(&of_segment[0].segment);
        let write = || -> io::Result<()> {
            let file = home.open(&path, Access::Overwrite)?;
            for redo in of_segment {
                file.write_all_at(redo.line.as_bytes(), redo.offset)?;
                fault::point("redact-written")?;
            }
            file.sync_data()
        };
        write().map_err(|source| JournalError::Write { path: path.clone(), source })?;
    }
    Ok(())
}
