//! The states of a worktree between turns, `refs/cerberus/undo/N`: kept when something has changed, put back when the user
//! asks for it, removed when they are old.
//!
//! What a turn changed is the difference between its state and the one before. Putting one back keeps today's state first,
//! so that an undo can be undone. One process at a time works on a worktree's turns.

use cerberus_os::clock::Clock;
use cerberus_record::time::Timestamp;
use cerberus_store::project::git::command::command;
use std::fs::File;
use std::path::{Component, Path, PathBuf};

use super::files::SavedFiles;
use super::folder::folder;
use super::restore::RestoredPaths;
use super::{CheckpointError, Checkpoints, SavedState, Snapshot, TurnMoment, TurnSession, WorktreeId, room};

const UNDO: &str = "refs/cerberus/undo";

/// A state that is kept.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Turn {
    pub number: u32,
    /// Its reference.
    pub name: String,
    /// The tag that holds it.
    pub object: String,
    pub tree: String,
    pub at: Timestamp,
    pub saved: SavedState,
    /// The linked worktree whose files it holds; `None` for the main worktree.
    pub worktree: Option<WorktreeId>,
    /// How much was written for it; nothing once it is read back.
    new_bytes: u64,
}

impl Turn {
    pub fn moment(&self) -> TurnMoment {
        self.saved.moment.unwrap_or(TurnMoment::Turn)
    }

    /// `NAME`, and a tag as [`Checkpoints::tags`] has it printed.
    fn parse(fields: &[&str]) -> Option<Turn> {
        let [name, object, tree, secs, message] = fields[..] else { return None };
        let rest = name.strip_prefix(UNDO)?;
        let (worktree, number) = match rest.strip_prefix('-') {
            Some(rest) => {
                let (worktree, number) = rest.split_once('/')?;
                (Some(WorktreeId::parse(worktree)?), number)
            }
            None => (None, rest.strip_prefix('/')?),
        };
        Some(Turn {
            number: number.parse().ok()?,
            name: name.to_string(),
            object: object.to_string(),
            tree: tree.to_string(),
            at: Timestamp::from_millis(secs.parse::<i64>().ok()?.saturating_mul(1_000)),
            saved: SavedState::of_message(message),
            worktree,
            new_bytes: 0,
        })
    }

    fn snapshot(&self) -> Snapshot {
        let SavedState { left_out, private, .. } = self.saved.clone();
        Snapshot { object: self.object.clone(), tree: self.tree.clone(), left_out, private }
    }
}

/// What is kept, and why.
#[derive(Clone, Debug)]
pub struct TurnReason {
    pub moment: TurnMoment,
    pub session: Option<TurnSession>,
    /// In a few words, without anything that somebody said.
    pub title: String,
}

impl TurnReason {
    pub fn of(moment: TurnMoment) -> TurnReason {
        TurnReason { moment, session: None, title: format!("cerberus undo: {}", moment.word()) }
    }
}

impl Checkpoints<'_> {
    /// Where it is remembered what the files of this worktree were.
    pub(super) fn folder(&self) -> PathBuf {
        folder(self.home, self.located)
    }

    fn lock(&self) -> Result<File, CheckpointError> {
        let path = self.folder().join("lock");
        self.home.lock(&path).map_err(|source| CheckpointError::File { path, source })
    }

    /// The states of this worktree, oldest first.
    pub fn turns(&self) -> Result<Vec<Turn>, CheckpointError> {
        let own = WorktreeId::of(self.located);
        let mut turns = self.every_turn()?;
        turns.retain(|turn| turn.worktree == own);
        Ok(turns)
    }

    /// Those of all worktrees.
    pub fn every_turn(&self) -> Result<Vec<Turn>, CheckpointError> {
        let mut turns = self.tags(Turn::parse)?;
        turns.sort_by_key(|turn| turn.number);
        Ok(turns)
    }

    /// Everything that we hold in the repository: reference, tag, tree, time and message.
    pub(super) fn tags<T>(&self, parse: impl Fn(&[&str]) -> Option<T>) -> Result<Vec<T>, CheckpointError> {
        const FIELDS: usize = 5;
        let mut git = command(&self.located.root);
        let fields = ["refname", "objectname", "*objectname", "creatordate:unix", "contents"];
        let format: String = fields.iter().map(|field| format!("%({field})%00")).collect();
        git.args(["for-each-ref", &format!("--format={format}"), "refs/cerberus/"]);
        let printed = self.run("for-each-ref", git)?;
        // Every entry ends with a zero and a line break.
        let fields: Vec<&str> = printed.split('\0').map(|field| field.trim_start_matches('\n')).collect();
        Ok(fields.chunks_exact(FIELDS).filter_map(parse).collect())
    }

    /// Keeps the files as they are, if they are not as they were in the last turn. Nothing is kept otherwise.
    pub fn keep(&self, reason: TurnReason, now: Timestamp) -> Result<Option<Turn>, CheckpointError> {
        let _lock = self.lock()?;
        let last = self.turns()?.pop();
        let files = self.save_files(Some(last.as_ref().map_or("", |last| &last.tree)))?;
        let is_same = |last: &Turn| last.tree == files.tree && last.saved.left_out == files.left_out;
        if last.as_ref().is_some_and(is_same) {
            files.seen.write(self)?;
            return Ok(None);
        }
        let number = last.map_or(0, |last| last.number).saturating_add(1);
        let TurnReason { moment, session, title } = reason;
        let SavedFiles { tree, left_out, private, seen, new_bytes } = files;
        let saved = SavedState { title, moment: Some(moment), session, left_out, private, base: None };
        let Snapshot { object, tree, .. } = self.tagged(tree, saved.clone(), now)?;
        let worktree = WorktreeId::of(self.located);
        let of_worktree = worktree.as_ref().map_or(String::new(), |worktree| format!("-{worktree}"));
        let name = format!("{UNDO}{of_worktree}/{number}");
        self.create_reference(&name, &object)?;
        self.point("checkpoint-kept")?;
        seen.write(self)?;
        self.point("checkpoint-seen")?;
        Ok(Some(Turn { number, name, object, tree, at: now, saved, worktree, new_bytes }))
    }

    /// The state before a turn.
    pub fn before<'t>(&self, turns: &'t [Turn], number: u32) -> Result<&'t Turn, CheckpointError> {
        match turns.iter().position(|turn| turn.number == number) {
            None => Err(CheckpointError::NoTurn(number)),
            Some(0) => Err(CheckpointError::NothingBefore(number)),
            Some(at) => Ok(&turns[at - 1]),
        }
    }

    /// Puts back the files of a turn, all of them or one file or folder. `found` is the state of now, which was just kept.
    pub fn undo(&self, found: &Turn, wanted: &Turn, path: Option<&str>) -> Result<RestoredPaths, CheckpointError> {
        let _lock = self.lock()?;
        self.put_back(&found.snapshot(), &wanted.object, |name| path.is_none_or(|path| is_below(name, path)))
    }

    /// Removes what is older than the user wants to keep, what is more, what is of worktrees that are gone, and what takes
    /// too much room. `kept` is the state that was just kept.
    pub fn prune(&self, kept: Option<&Turn>, clock: &Clock) -> Result<(), CheckpointError> {
        let limits = &self.limits;
        let _lock = self.lock()?;
        let (own, gone) = (WorktreeId::of(self.located), self.removed_worktrees());
        let every = self.every_turn()?;
        let excess = every.iter().filter(|turn| turn.worktree == own).count().saturating_sub(limits.turns);
        let of_own = |turn: &&Turn| turn.worktree == own;
        let mut old: Vec<&Turn> = every.iter().filter(of_own).take(excess).collect();
        let is_old = |turn: &&Turn| clock.of_deletion().is_some_and(|now| now.since(turn.at) > limits.keep.0);
        old.extend(every.iter().filter(of_own).skip(excess).filter(is_old));
        old.extend(every.iter().filter(|turn| turn.worktree.as_ref().is_some_and(&gone)));
        self.remove_references(old.iter().map(|turn| turn.name.as_str()))?;
        if kept.is_some_and(|kept| room::is_due(kept.number, kept.new_bytes)) {
            self.limit_room(clock.now)?;
        }
        Ok(())
    }

    /// Removes references. Git itself removes the objects later, when nothing else needs them.
    pub fn remove_references<'n>(&self, names: impl Iterator<Item = &'n str>) -> Result<(), CheckpointError> {
        let input: String = names.map(|name| format!("delete {name}\n")).collect();
        if input.is_empty() {
            return Ok(());
        }
        let mut git = command(&self.located.root);
        git.args(["update-ref", "--stdin"]);
        self.feed("update-ref", git, input.as_bytes()).map(drop)
    }
}

/// Whether a file is this path, or is in this folder.
pub fn is_below(name: &str, path: &str) -> bool {
    name.strip_prefix(path).is_some_and(|rest| rest.is_empty() || path.is_empty() || rest.starts_with('/'))
}

/// A path as a checkpoint names it; `None` if it is outside the worktree.
pub fn inside(root: &Path, cwd: &Path, path: &Path) -> Option<String> {
    let mut full = PathBuf::new();
    for part in cwd.join(path).components() {
        match part {
            Component::ParentDir => drop(full.pop()),
            Component::CurDir => {}
            part => full.push(part),
        }
    }
    full.strip_prefix(root).ok().map(cerberus_os::platform::with_slashes)
}
