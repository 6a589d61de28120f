//! The checkpoints of loops: one per iteration of a run, `refs/cerberus/loop/RUN/N`.

use std::collections::HashSet;
use std::fs;

use cerberus_record::time::Timestamp;
use cerberus_store::project::git::command::command;

use super::reference::{self, Reference};
use super::restore::RestoredPaths;
use super::{CheckpointError, Checkpoints, Snapshot, WorktreeId};

/// An existing checkpoint.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Checkpoint {
    pub run: u32,
    pub number: u32,
    /// The tag that holds it.
    pub object: String,
    pub at: Timestamp,
}

/// A new checkpoint, and the files that were too large for it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NewCheckpoint {
    pub checkpoint: Checkpoint,
    pub left_out: Vec<String>,
}

impl Checkpoints<'_> {
    /// Saves the worktree as iteration `number` of `run`. Replaces a checkpoint of the same number.
    pub fn save(&self, run: u32, number: u32, now: Timestamp) -> Result<NewCheckpoint, CheckpointError> {
        let Snapshot { object, left_out, .. } =
            self.snapshot(format!("cerberus loop: run {run}, iteration {number}"), now)?;
        self.set_reference(&format!("{}/{run}/{number}", self.prefix), &object)?;
        Ok(NewCheckpoint { checkpoint: Checkpoint { run, number, object, at: now }, left_out })
    }

    /// A run's checkpoints, in order.
    pub fn list(&self, run: u32) -> Result<Vec<Checkpoint>, CheckpointError> {
        let mut found: Vec<Checkpoint> = self.all()?.into_iter().filter(|one| one.run == run).collect();
        found.sort_by_key(|one| one.number);
        Ok(found)
    }

    /// One checkpoint of a run.
    pub fn find(&self, run: u32, number: u32) -> Result<Checkpoint, CheckpointError> {
        let found = self.list(run)?.into_iter().find(|one| one.number == number);
        found.ok_or(CheckpointError::Missing { run, number })
    }

    /// The states before and after an iteration. Before is the last checkpoint with a smaller number.
    pub fn around(&self, run: u32, number: u32) -> Result<(Checkpoint, Checkpoint), CheckpointError> {
        let after = self.find(run, number)?;
        let before = self.list(run)?.into_iter().rfind(|one| one.number < number);
        Ok((before.ok_or(CheckpointError::Missing { run, number: number.saturating_sub(1) })?, after))
    }

    /// Restores the files of a checkpoint. The state before is kept under a reference of its own.
    pub fn restore(&self, run: u32, number: u32, now: Timestamp) -> Result<RestoredPaths, CheckpointError> {
        let wanted = self.find(run, number)?.object;
        let title = format!("cerberus loop: before restoring run {run}, iteration {number}");
        let before = self.snapshot(title, now)?;
        self.set_reference(&format!("{}/{run}/before-{}", self.prefix, now.millis()), &before.object)?;
        self.put_back(&before, &wanted, |_| true)
    }

    /// This worktree's references to all but the last runs, states saved before a restore included.
    pub fn old_references(&self, runs_kept: usize) -> Result<Vec<Reference>, CheckpointError> {
        let own = WorktreeId::of(self.located);
        let mut all = self.references()?;
        all.retain(|one| one.worktree == own);
        let mut runs: Vec<u32> = all.iter().map(|one| one.run).collect();
        runs.sort_unstable();
        runs.dedup();
        let gone: HashSet<u32> = runs.iter().rev().skip(runs_kept).copied().collect();
        all.retain(|one| gone.contains(&one.run));
        Ok(all)
    }

    /// References of worktrees that do not exist any more.
    pub fn references_of_removed_worktrees(&self) -> Result<Vec<Reference>, CheckpointError> {
        let mut all = self.references()?;
        let is_removed = self.removed_worktrees();
        all.retain(|one| one.worktree.as_ref().is_some_and(&is_removed));
        Ok(all)
    }

    /// Whether a linked worktree does not exist any more.
    pub(super) fn removed_worktrees(&self) -> impl Fn(&WorktreeId) -> bool + use<> {
        let common_dir = self.located.common_dir.as_deref().unwrap_or(self.git_dir);
        let entries = fs::read_dir(common_dir.join("worktrees")).into_iter().flatten().flatten();
        let existing: Vec<WorktreeId> = entries.filter_map(|entry| WorktreeId::of_git_dir(&entry.path())).collect();
        move |worktree| !existing.contains(worktree)
    }

    /// Everything that we hold in the repository: checkpoints of all worktrees, and states saved before a restore.
    pub fn references(&self) -> Result<Vec<Reference>, CheckpointError> {
        let mut git = command(&self.located.root);
        git.args(["for-each-ref", "--format=%(refname)", reference::ALL]);
        Ok(self.run("for-each-ref", git)?.lines().filter_map(Reference::parse).collect())
    }

    fn all(&self) -> Result<Vec<Checkpoint>, CheckpointError> {
        let mut git = command(&self.located.root);
        let format = "--format=%(refname) %(objectname) %(creatordate:unix)";
        git.args(["for-each-ref", format, &format!("{}/", self.prefix)]);
        let printed = self.run("for-each-ref", git)?;
        Ok(printed.lines().filter_map(checkpoint).map(|(_, checkpoint)| checkpoint).collect())
    }
}

/// Parses `NAME OBJECT SECS`.
fn checkpoint(line: &str) -> Option<(Reference, Checkpoint)> {
    let mut words = line.split(' ');
    let reference = Reference::parse(words.next()?)?;
    let (run, number) = (reference.run, reference.number()?);
    let (object, secs) = (words.next()?.to_string(), words.next()?.parse::<i64>().ok()?);
    let at = Timestamp::from_millis(secs.saturating_mul(1_000));
    Some((reference, Checkpoint { run, number, object, at }))
}
