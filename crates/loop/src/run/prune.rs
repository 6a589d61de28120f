//! Removes what old runs left: their checkpoints in the repository, and the output of their attempts.

use std::fs;
use std::io;
use std::path::PathBuf;

use cerberus_checkpoint::{CheckpointError, Checkpoints, Reference};
use cerberus_os::home::Home;
use cerberus_record::time::Timestamp;
use cerberus_store::project::identity::Located;

use super::ledger::{LedgerError, LoopLedger};

/// How many of the last runs a loop keeps by itself.
pub const RUNS_KEPT: usize = 5;

#[derive(Debug, thiserror::Error)]
pub enum PruneError {
    #[error(transparent)]
    Ledger(#[from] LedgerError),
    #[error(transparent)]
    Checkpoint(#[from] CheckpointError),
    #[error("cannot remove {path}: {source}")]
    Output { path: PathBuf, source: io::Error },
}

/// What can be removed.
#[derive(Debug, Default)]
pub struct Prunable {
    pub references: Vec<Reference>,
    pub outputs: Vec<PathBuf>,
}

/// Everything of all but the last runs of this worktree.
pub fn of_old_runs(home: &Home, located: &Located, runs_kept: usize) -> Result<Prunable, PruneError> {
    let references = match Checkpoints::new(home, located) {
        Ok(checkpoints) => checkpoints.old_references(runs_kept)?,
        Err(_) => Vec::new(),
    };
    let ledger = LoopLedger::at(home, located);
    let mut runs: Vec<u32> = ledger.read(Timestamp::LAST)?.iter().map(|entry| entry.run).collect();
    runs.sort_unstable();
    runs.dedup();
    let kept: Vec<u32> = runs.into_iter().rev().take(runs_kept).collect();
    let files = fs::read_dir(ledger.dir()).into_iter().flatten().flatten().map(|entry| entry.path());
    let outputs = files.filter(|path| run_of_output(path).is_some_and(|run| !kept.contains(&run))).collect();
    Ok(Prunable { references, outputs })
}

/// The checkpoints of worktrees that were removed.
pub fn of_removed_worktrees(home: &Home, located: &Located) -> Result<Prunable, PruneError> {
    let references = match Checkpoints::new(home, located) {
        Ok(checkpoints) => checkpoints.references_of_removed_worktrees()?,
        Err(_) => Vec::new(),
    };
    Ok(Prunable { references, outputs: Vec::new() })
}

impl Prunable {
    pub fn remove(&self, home: &Home, located: &Located) -> Result<(), PruneError> {
        if !self.references.is_empty() {
            let checkpoints = Checkpoints::new(home, located)?;
            checkpoints.remove_references(self.references.iter().map(|one| one.name.as_str()))?;
            checkpoints.free()?;
        }
        for path in &self.outputs {
            fs::remove_file(path).map_err(|source| PruneError::Output { path: path.clone(), source })?;
        }
        Ok(())
    }
}

/// `output-RUN-ITERATION-ATTEMPT.log`
fn run_of_output(path: &std::path::Path) -> Option<u32> {
    path.file_name()?.to_str()?.strip_prefix("output-")?.split('-').next()?.parse().ok()
}
