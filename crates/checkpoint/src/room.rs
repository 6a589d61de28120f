//! The room that checkpoints take in a repository: those of loops and of turns, in all its worktrees. When they take more than
//! the user allows, the oldest go.
//!
//! Git keeps what nothing leads to for two weeks, and longer if nobody runs `git gc`. So what only removed checkpoints held is
//! removed here too: loose objects to which, as git says, nothing leads, which no other lost object needs, such as a
//! dropped stash, and which nobody has written again lately.

use std::collections::{HashMap, HashSet};
use std::fs;
use std::path::PathBuf;
use std::thread;
use std::time::{Duration, SystemTime};

use cerberus_os::home::create_dir;
use cerberus_record::time::Timestamp;
use cerberus_store::project::git::command::{command, printed};
use serde::{Deserialize, Serialize};

use super::checkpoints::{TIME_MAX, tree_of};
use super::folder::folder_of;
use super::saved::{EMAIL, NAME};
use super::{CheckpointError, Checkpoints, SavedState};

/// How long the question for the room may last when a person waits for it.
const ASKED_TIME_MAX: Duration = Duration::from_secs(2);

/// A turn that wrote more is reason to look at the room. Smaller ones wait for the next look.
const LARGE_BYTES: u64 = 1 << 20;
const LOOK_EVERY: u32 = 16;

/// This part of the allowed room is made free at once, so that the next checkpoint does not need more.
const FREE_PART: u64 = 8;

/// What is forgotten does not wait for so long. It waits for commands that are running: `git add` renews an object first, and
/// refers to it a moment later.
const FORGOTTEN_UNUSED_FOR: Duration = Duration::from_secs(2);

const NOTE_BYTES_MAX: u64 = 1024;

/// The tags of a few thousand checkpoints.
const TAGS_BYTES_MAX: u64 = 64 * 1024 * 1024;

/// What was removed for the room, and when.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct RemovedForRoom {
    pub at: Timestamp,
    pub checkpoints: usize,
}

/// The room that is taken, of how much.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RoomTaken {
    /// `None` if git does not say in time.
    pub bytes: Option<u64>,
    pub bytes_max: u64,
    pub removed: Option<RemovedForRoom>,
}

/// Anything that a reference of ours holds.
struct HeldState {
    name: String,
    object: String,
    at: i64,
    base: Option<String>,
}

impl HeldState {
    /// `NAME`, and a tag as [`Checkpoints::tags`] has it printed.
    fn parse(fields: &[&str]) -> Option<HeldState> {
        let [name, object, _, secs, message] = fields[..] else { return None };
        let base = SavedState::of_message(message).base;
        Some(HeldState { name: name.to_string(), object: object.to_string(), at: secs.parse().ok()?, base })
    }

    /// The turns or the loops of one worktree.
    fn series(&self) -> &str {
        self.name.split('/').nth(2).unwrap_or_default()
    }

    /// Its place among those of the same second.
    fn number(&self) -> u32 {
        self.name.rsplit('/').next().and_then(|number| number.parse().ok()).unwrap_or_default()
    }
}

/// Loose objects that only removed checkpoints held.
#[derive(Default)]
struct LostObjects {
    unused: Vec<PathBuf>,
    /// How many somebody may be about to refer to.
    in_use: usize,
}

impl LostObjects {
    /// What cannot be removed is left to git.
    fn remove(self) {
        self.unused.into_iter().for_each(|path| drop(fs::remove_file(path)));
    }
}

/// Whether to look at the room after a turn.
pub(super) fn is_due(number: u32, new_bytes: u64) -> bool {
    new_bytes >= LARGE_BYTES || number.is_multiple_of(LOOK_EVERY)
}

/// How many of the oldest have to go so that the rest takes no more than is wanted. `room_without` says what is left without
/// so many.
fn excess(removable: usize, wanted: u64, mut room_without: impl FnMut(usize) -> Option<u64>) -> Option<usize> {
    let (mut few, mut many) = (0, removable);
    while few < many {
        let middle = few + (many - few) / 2;
        match room_without(middle)? <= wanted {
            true => many = middle,
            false => few = middle + 1,
        }
    }
    Some(few)
}

impl Checkpoints<'_> {
    fn held(&self) -> Result<Vec<HeldState>, CheckpointError> {
        let mut held = self.tags(HeldState::parse)?;
        held.sort_by_key(|one| (one.at, one.number()));
        Ok(held)
    }

    /// The room that all checkpoints of the repository take.
    pub fn room(&self) -> Result<RoomTaken, CheckpointError> {
        let bytes = self.room_bytes(&self.held()?.iter().collect::<Vec<_>>(), ASKED_TIME_MAX);
        let removed = self.home.text(&self.note_path(), NOTE_BYTES_MAX).ok();
        let removed = removed.and_then(|note| serde_json::from_slice(note.as_bytes()).ok());
        Ok(RoomTaken { bytes, bytes_max: self.limits.max_room.bytes, removed })
    }

    /// Removes the oldest checkpoints if all together take more room than the user allows. The newest of every worktree, and
    /// of every kind, stays.
    pub fn limit_room(&self, now: Timestamp) -> Result<Option<RemovedForRoom>, CheckpointError> {
        let bytes_max = self.limits.max_room.bytes;
        let held = self.held()?;
        let room = |held: &[&HeldState]| self.room_bytes(held, TIME_MAX);
        if room(&held.iter().collect::<Vec<_>>()).is_none_or(|bytes| bytes <= bytes_max) {
            return Ok(None);
        }
        let newest: HashMap<&str, &str> = held.iter().map(|one| (one.series(), one.name.as_str())).collect();
        let is_newest = |one: &&HeldState| newest.get(one.series()) == Some(&one.name.as_str());
        let (kept, removable): (Vec<&HeldState>, Vec<&HeldState>) = held.iter().partition(is_newest);
        let without = |count: usize| room(&[&kept, &removable[count..]].concat());
        let Some(count) = excess(removable.len(), bytes_max - bytes_max / FREE_PART, without) else { return Ok(None) };
        if count == 0 {
            return Ok(None);
        }
        self.remove_references(removable[..count].iter().map(|one| one.name.as_str()))?;
        let removed = RemovedForRoom { at: now, checkpoints: count };
        self.note_removed(&removed)?;
        self.free()?;
        Ok(Some(removed))
    }

    /// The bytes that only these need; `None` if git does not say in time.
    fn room_bytes(&self, held: &[&HeldState], time_max: Duration) -> Option<u64> {
        if held.is_empty() {
            return Some(0);
        }
        let mut bases: Vec<&str> = held.iter().filter_map(|one| one.base.as_deref()).collect();
        bases.sort_unstable();
        bases.dedup();
        let mut list: String = held.iter().map(|one| format!("{}\n", one.object)).collect();
        // They are not commits, so git must be told the trees that they have in common with some.
        list.extend(bases.into_iter().map(|base| format!("^{}\n", tree_of(base))));
        let mut git = command(&self.located.root);
        git.args(["rev-list", "--objects", "--disk-usage", "--ignore-missing", "--missing=allow-any", "--stdin"]);
        git.stdin(self.scratch_input(list.as_bytes()).ok()?);
        printed(git, time_max)?.trim().parse().ok()
    }

    /// One for all worktrees.
    fn note_path(&self) -> PathBuf {
        folder_of(self.home, &self.located.project, None).join("room")
    }

    fn note_removed(&self, removed: &RemovedForRoom) -> Result<(), CheckpointError> {
        let path = self.note_path();
        let folder = folder_of(self.home, &self.located.project, None);
        let written = || self.home.replace(&path, &serde_json::to_vec(removed).map_err(std::io::Error::other)?);
        create_dir(&folder).and_then(|()| written()).map_err(|source| CheckpointError::File { path, source })
    }

    /// Removes references, and what only they held. What somebody may be about to refer to gets a moment; what is still in
    /// use then is left to git.
    pub fn forget<'n>(mut self, names: impl Iterator<Item = &'n str>) -> Result<(), CheckpointError> {
        self.unused_for = FORGOTTEN_UNUSED_FOR;
        self.remove_references(names)?;
        let mut lost = self.lost()?;
        if lost.in_use > 0 {
            thread::sleep(FORGOTTEN_UNUSED_FOR);
            lost = self.lost()?;
        }
        lost.remove();
        Ok(())
    }

    /// Removes the loose objects that only removed checkpoints of ours held. Those in packs go with git's next `gc`.
    pub fn free(&self) -> Result<(), CheckpointError> {
        self.lost()?.remove();
        Ok(())
    }

    fn lost(&self) -> Result<LostObjects, CheckpointError> {
        let begun = SystemTime::now();
        let is_index_in_use = self.git_dir.join("index.lock").exists();
        let mut git = command(&self.located.root);
        git.args(["prune", "--dry-run", "--expire=now"]);
        // Where git prunes nothing, neither do we.
        let Ok(printed) = self.run("prune", git) else { return Ok(LostObjects::default()) };
        let lost: HashMap<&str, &str> = printed.lines().filter_map(|line| line.split_once(' ')).collect();
        let tags: Vec<&str> = lost.iter().filter(|(_, kind)| **kind == "tag").map(|(object, _)| *object).collect();
        let is_ours = |text: &Vec<u8>| {
            let text = String::from_utf8_lossy(text);
            text.contains(&format!("\ntype tree\ntag cerberus\ntagger {NAME} <{EMAIL}> "))
        };
        let texts = self.contents(tags.iter().copied(), TAGS_BYTES_MAX)?;
        let ours: Vec<&str> = tags.iter().zip(&texts).filter(|(_, text)| is_ours(text)).map(|(tag, _)| *tag).collect();
        let held = self.reached(&ours)?;
        // Somebody may want these back.
        let is_other = |(object, kind): &(&&str, &&str)| **kind != "blob" && !held.contains(**object);
        let others: Vec<&str> = lost.iter().filter(is_other).map(|(object, _)| *object).collect();
        let needed = self.reached(&others)?;
        let common_dir = self.located.common_dir.as_deref().unwrap_or(self.git_dir);
        let mut found = LostObjects::default();
        for object in lost.keys().filter(|object| held.contains(**object) && !needed.contains(**object)) {
            let (folder, name) = object.split_at(2);
            let path = common_dir.join("objects").join(folder).join(name);
            // Whoever writes an object that exists renews its time, and git has not looked since we asked.
            let Ok(written) = path.metadata().and_then(|known| known.modified()) else { continue };
            match !is_index_in_use && begun.duration_since(written).is_ok_and(|age| age >= self.unused_for) {
                true => found.unused.push(path),
                false => found.in_use += 1,
            }
        }
        Ok(found)
    }

    /// Everything that these lead to, themselves included.
    fn reached(&self, objects: &[&str]) -> Result<HashSet<String>, CheckpointError> {
        if objects.is_empty() {
            return Ok(HashSet::new());
        }
        let mut git = command(&self.located.root);
        git.args(["rev-list", "--objects", "--no-object-names", "--ignore-missing", "--missing=allow-any", "--stdin"]);
        let list: String = objects.iter().map(|object| format!("{object}\n")).collect();
        let printed = self.feed("rev-list", git, list.as_bytes())?;
        Ok(String::from_utf8_lossy(&printed).lines().map(str::to_string).collect())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_more_go_than_have_to() {
        let sizes = [30, 30, 1, 30, 9];
        let room = |count: usize| Some(sizes[count..].iter().sum::<u64>());
        for (wanted, count) in [(100, 0), (70, 1), (69, 2), (40, 2), (39, 3), (8, 5), (0, 5)] {
            assert_eq!(excess(sizes.len(), wanted, room), Some(count), "{wanted}");
        }
        assert_eq!(excess(3, 0, |_| None), None, "git does not say");
    }

    #[test]
    fn the_room_is_looked_at_now_and_then() {
        assert!(is_due(16, 0) && is_due(3, 30 << 20) && !is_due(3, 9));
    }
}
