//! Restoring a checkpoint: files only, and nothing is overwritten or removed unless an object holds it.
//!
//! The current state is saved first. Then everything is checked before the first file is changed: that every object is
//! there, that nothing is in the way that no checkpoint holds, and that the files are still as they were saved.

use std::collections::{HashMap, HashSet};
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use cerberus_os::platform;
use cerberus_store::project::git::command::{command, printed_bytes};

use super::checkpoints::{TIME_MAX, next_number};
use super::entries::{LINK, PROGRAM, SUBMODULE, TreeEntry, fields};
use super::files::{KeepObject, look};
use super::saved::private_name;
use super::{CheckpointError, Checkpoints, SavedState, Snapshot};

/// How much git is asked for at once.
const BATCH_BYTES: u64 = 64 * 1024 * 1024;

/// What a restore changed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RestoredPaths {
    pub written: Vec<String>,
    pub removed: Vec<String>,
    /// The tag that holds the state before the restore.
    pub before: String,
    /// Files that differ and stay as they are, because the checkpoint does not contain them: large files and submodules.
    pub kept: Vec<String>,
}

/// A path that differs, as it is and as it is wanted.
pub(super) struct PathChange {
    path: PathBuf,
    from: Option<TreeEntry>,
    to: Option<TreeEntry>,
}

impl PathChange {
    fn name(&self) -> String {
        self.path.to_string_lossy().into_owned()
    }
}

impl Checkpoints<'_> {
    /// Turns the state `before`, which was just saved, into the wanted one, as far as a path is meant.
    pub(super) fn put_back(
        &self,
        before: &Snapshot,
        wanted: &str,
        is_meant: impl Fn(&str) -> bool,
    ) -> Result<RestoredPaths, CheckpointError> {
        let SavedState { mut left_out, private, .. } = self.saved(wanted);
        left_out.extend(before.left_out.iter().cloned());
        let (mut changes, mut kept) = self.differences(&before.object, wanted)?;
        // Neither state is known of a file that was left out of either.
        let is_unknown = |path: &String| {
            let private_name = private_name(path);
            left_out.contains(path)
                || private.contains(&private_name)
                || before.private.contains(&private_name)
                || self.privacy_rules.is_private(path)
        };
        changes.retain(|change| !is_unknown(&change.name()) && is_meant(&change.name()));
        kept.extend(left_out.iter().cloned());
        kept.retain(|path| is_meant(path));
        kept.sort();
        kept.dedup();
        let (written, removed) = self.replace(&changes)?;
        Ok(RestoredPaths { written, removed, before: before.object.clone(), kept })
    }

    /// Checks everything, then changes the files. Returns those that were written and those that were removed.
    pub(super) fn replace(&self, changes: &[PathChange]) -> Result<(Vec<String>, Vec<String>), CheckpointError> {
        let sizes = self.sizes(changes)?;
        self.refuse_loss(changes)?;
        self.refuse_changed(changes)?;
        self.point("restore-checked")?;
        let (gone, new): (Vec<&PathChange>, Vec<&PathChange>) = changes.iter().partition(|change| change.to.is_none());
        for change in &gone {
            self.remove(&change.path)?;
        }
        self.point("restore-removed")?;
        self.write(&new, &sizes)?;
        let names = |changes: Vec<&PathChange>| changes.into_iter().map(PathChange::name).collect();
        Ok((names(new), names(gone)))
    }

    /// The changes that turn one state into the other, and the submodules that differ, which stay as they are.
    pub(super) fn differences(&self, from: &str, to: &str) -> Result<(Vec<PathChange>, Vec<String>), CheckpointError> {
        let printed = self.raw_differences(from, to)?;
        let (mut changes, mut submodules) = (Vec::new(), Vec::new());
        let mut fields = fields(&printed);
        while let (Some(entry), Some(path)) = (fields.next(), fields.next()) {
            let entry = String::from_utf8_lossy(entry).into_owned();
            let words: Vec<&str> = entry.trim_start_matches(':').split(' ').collect();
            let [old_mode, new_mode, old, new, status] = words[..] else { continue };
            let path = platform::path_of(path);
            if [old_mode, new_mode].contains(&SUBMODULE) {
                submodules.push(path.to_string_lossy().into_owned());
                continue;
            }
            let from = (status != "A").then(|| TreeEntry::new(old_mode, old));
            let to = (status != "D").then(|| TreeEntry::new(new_mode, new));
            changes.push(PathChange { path, from, to });
        }
        Ok((changes, submodules))
    }

    /// The size of every blob that is to be written. All of them must exist.
    fn sizes(&self, changes: &[PathChange]) -> Result<HashMap<String, u64>, CheckpointError> {
        let mut git = command(&self.located.root);
        git.args(["cat-file", "--batch-check=%(objectname) %(objectsize)"]);
        let blobs: String =
            changes.iter().filter_map(|change| change.to.as_ref()).map(|to| format!("{}\n", to.blob)).collect();
        let printed = self.feed("cat-file", git, blobs.as_bytes())?;
        let mut sizes = HashMap::new();
        for line in String::from_utf8_lossy(&printed).lines() {
            let (blob, size) = line.split_once(' ').unwrap_or_default();
            sizes.extend(size.parse().ok().map(|size| (blob.to_string(), size)));
        }
        let is_lost = |change: &&PathChange| change.to.as_ref().is_some_and(|to| !sizes.contains_key(&to.blob));
        let lost: Vec<String> = changes.iter().filter(is_lost).map(PathChange::name).collect();
        if lost.is_empty() { Ok(sizes) } else { Err(CheckpointError::Lost(lost)) }
    }

    /// Everything that the restore overwrites must be in the checkpoint that was just made.
    fn refuse_loss(&self, changes: &[PathChange]) -> Result<(), CheckpointError> {
        let gone: HashSet<&Path> =
            changes.iter().filter(|change| change.to.is_none()).map(|change| change.path.as_path()).collect();
        let root = &self.located.root;
        let (mut in_the_way, mut unsaved) = (Vec::new(), Vec::new());
        for change in changes.iter().filter(|change| change.to.is_some()) {
            let path = root.join(&change.path);
            // The path is new to the worktree, yet something is there: an ignored file, of which no copy exists. A
            // folder is only in the way if it does not disappear with its files.
            let is_other = match look(&path)? {
                Some(found) if found.is_dir() => !is_emptied(&path, root, &gone),
                Some(_) => {
                    unsaved.extend(change.from.is_none().then_some(change));
                    false
                }
                None => false,
            };
            if is_other || blocked(&change.path, root, &gone) {
                in_the_way.push(change.name());
            }
        }
        let paths: Vec<PathBuf> = unsaved.iter().map(|change| change.path.clone()).collect();
        let found = self.hashed(&paths, KeepObject::Nothing)?;
        // Nothing is lost where the same is written again.
        let is_other = |(change, (_, found)): &(&&PathChange, &(PathBuf, TreeEntry))| change.to.as_ref() != Some(found);
        in_the_way.extend(unsaved.iter().zip(&found).filter(is_other).map(|(change, _)| change.name()));
        in_the_way.sort();
        in_the_way.dedup();
        if in_the_way.is_empty() { Ok(()) } else { Err(CheckpointError::InTheWay(in_the_way)) }
    }

    /// What is overwritten or removed must still be what was saved.
    fn refuse_changed(&self, changes: &[PathChange]) -> Result<(), CheckpointError> {
        let saved = || changes.iter().filter_map(|change| Some((change, change.from.as_ref()?)));
        let paths: Vec<PathBuf> = saved().map(|(change, _)| change.path.clone()).collect();
        let found = self.hashed(&paths, KeepObject::Nothing)?;
        let differs = saved().zip(&found).filter(|((_, saved), (_, found))| *saved != found);
        let changed: Vec<String> = differs.map(|((change, _), _)| change.name()).collect();
        if changed.is_empty() { Ok(()) } else { Err(CheckpointError::Changed(changed)) }
    }

    fn remove(&self, path: &Path) -> Result<(), CheckpointError> {
        let full = self.located.root.join(path);
        match fs::remove_file(&full) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => {
                return Err(CheckpointError::File { path: full, source: error });
            }
            _ => {}
        }
        // Git keeps no empty folders.
        let folders = full.ancestors().skip(1).take_while(|folder| *folder != self.located.root);
        for folder in folders {
            if fs::remove_dir(folder).is_err() {
                break;
            }
        }
        Ok(())
    }

    fn write(&self, changes: &[&PathChange], sizes: &HashMap<String, u64>) -> Result<(), CheckpointError> {
        let mut wanted = changes.iter().filter_map(|change| Some((&change.path, change.to.as_ref()?))).peekable();
        while wanted.peek().is_some() {
            let (mut batch, mut bytes) = (Vec::new(), 0);
            let size = |to: &TreeEntry| sizes.get(&to.blob).copied().unwrap_or_default();
            while let Some((path, to)) = wanted.next_if(|(_, to)| batch.is_empty() || bytes + size(to) <= BATCH_BYTES) {
                bytes += size(to);
                batch.push((path, to));
            }
            let contents = self.contents(batch.iter().map(|(_, to)| to.blob.as_str()), bytes)?;
            for ((path, to), contents) in batch.iter().zip(&contents) {
                let full = self.located.root.join(path);
                write(&full, to, contents).map_err(|source| CheckpointError::File { path: full, source })?;
            }
        }
        Ok(())
    }

    /// The contents of these blobs, which have `bytes` altogether.
    pub(super) fn contents<'b>(
        &self,
        blobs: impl Iterator<Item = &'b str>,
        bytes: u64,
    ) -> Result<Vec<Vec<u8>>, CheckpointError> {
        /// More than the line before the contents of a blob.
        const HEAD_BYTES: usize = 128;
        let list: String = blobs.map(|blob| format!("{blob}\n")).collect();
        let (count, input) = (list.lines().count(), self.scratch_input(list.as_bytes())?);
        let mut git = command(&self.located.root);
        git.args(["cat-file", "--batch"]).stdin(input);
        let broken = || CheckpointError::Git { what: "cat-file", words: "git did not print every object".to_string() };
        let printed = printed_bytes(git, TIME_MAX, bytes as usize + (count + 1) * HEAD_BYTES).ok_or_else(broken)?;
        let (mut found, mut rest) = (Vec::new(), printed.as_slice());
        while found.len() < count {
            let head = rest.iter().position(|byte| *byte == b'\n').ok_or_else(broken)?;
            let size = String::from_utf8_lossy(&rest[..head]).rsplit(' ').next().and_then(|size| size.parse().ok());
            let size: usize = size.ok_or_else(broken)?;
            let contents = rest.get(head + 1..head + 1 + size).ok_or_else(broken)?;
            found.push(contents.to_vec());
            rest = rest.get(head + size + 2..).ok_or_else(broken)?;
        }
        Ok(found)
    }
}

/// Replaces a file or a link by another one, at once.
fn write(path: &Path, entry: &TreeEntry, contents: &[u8]) -> io::Result<()> {
    let folder = path.parent().unwrap_or(path);
    fs::create_dir_all(folder)?;
    let new = folder.join(format!(".cerberus-restore-{}-{}", std::process::id(), next_number()));
    let made = || -> io::Result<()> {
        if entry.mode == LINK {
            platform::link(&platform::path_of(contents), &new)?;
        } else {
            fs::write(&new, contents)?;
        }
        if entry.mode == PROGRAM {
            // Whoever may read it may run it.
            let mode = platform::mode(&new.symlink_metadata()?);
            platform::set_mode(&new, mode | (mode & 0o444) >> 2)?;
        }
        if path.symlink_metadata().is_ok_and(|known| known.is_dir()) {
            remove_empty(path)?;
        }
        fs::rename(&new, path)
    };
    made().inspect_err(|_| drop(fs::remove_file(&new)))
}

/// Removes a folder with the folders in it. Fails if there is a file.
fn remove_empty(folder: &Path) -> io::Result<()> {
    for entry in fs::read_dir(folder)? {
        let entry = entry?;
        if entry.file_type()?.is_dir() {
            remove_empty(&entry.path())?;
        }
    }
    fs::remove_dir(folder)
}

/// Whether a folder is empty once these files are gone.
fn is_emptied(folder: &Path, root: &Path, gone: &HashSet<&Path>) -> bool {
    let Ok(entries) = fs::read_dir(folder) else { return false };
    entries.flatten().all(|entry| {
        let path = entry.path();
        match entry.file_type() {
            Ok(kind) if kind.is_dir() => is_emptied(&path, root, gone),
            Ok(_) => gone.contains(path.strip_prefix(root).unwrap_or(&path)),
            Err(_) => false,
        }
    })
}

/// Whether something other than a folder is where one is needed.
fn blocked(path: &Path, root: &Path, gone: &HashSet<&Path>) -> bool {
    let folders = path.ancestors().skip(1).filter(|folder| !folder.as_os_str().is_empty());
    let mut folders = folders.filter(|folder| !gone.contains(folder));
    folders.any(|folder| root.join(folder).symlink_metadata().is_ok_and(|found| !found.is_dir()))
}
