//! What is known about the files of a worktree since the last turn, so that only those are read that may have changed.
//!
//! A file is taken for unchanged only if nothing that the system says about it has changed, the time of its last change
//! included, which nobody can set; and only if that time was already a minute old when it was hashed: within one tick of
//! the clock, or through a file that is mapped into memory, a file can change without a new time. If anything is missing
//! or does not fit together, every file is read.

use std::collections::HashMap;
use std::ffi::OsString;
use std::fs;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use cerberus_os::home::{Access, create_dir};
use cerberus_os::outside;
use cerberus_os::platform::{self, FileStamp};

use super::entries::{ByPath, InOrder, TreeEntry, fields};
use super::{CheckpointError, Checkpoints};

/// Two million files.
const SEEN_BYTES_MAX: u64 = 512 * 1024 * 1024;

/// The first word of the file, for a later version.
const FORMAT: &str = "seen-2";

/// A file as it was in the last turn.
#[derive(Debug)]
pub(super) struct SeenFile {
    pub entry: TreeEntry,
    stamp: Option<FileStamp>,
    /// It is still the same.
    is_recognised: bool,
}

/// The files of the last turn.
#[derive(Debug, Default)]
pub(super) struct SeenFiles {
    /// `None` if nothing is to be remembered.
    folder: Option<PathBuf>,
    tree: String,
    /// The index that the tree was made from.
    index: Option<FileStamp>,
    seen: ByPath<SeenFile>,
    /// Where the next one is looked for first.
    next: usize,
    /// The files of now.
    entries: ByPath<TreeEntry>,
    /// Those that were just hashed and have been the same for long enough.
    settled: HashMap<OsString, FileStamp>,
    /// The tree is not the one that was read.
    is_new: bool,
    /// What was changed later than this is not settled, in nanoseconds.
    settled_before: i64,
}

impl SeenFiles {
    /// What is known, if it is of the last turn's tree.
    pub fn read(checkpoints: &Checkpoints, last_tree: Option<&str>) -> SeenFiles {
        let Some(last_tree) = last_tree else { return SeenFiles::default() };
        let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
        let settled_before = now.saturating_sub(checkpoints.settled_after).as_nanos();
        let mut seen = SeenFiles {
            folder: Some(checkpoints.folder()),
            settled_before: i64::try_from(settled_before).unwrap_or_default(),
            ..SeenFiles::default()
        };
        if platform::STAMPS_ARE_EXACT && !last_tree.is_empty() {
            let file = checkpoints.home.open(&checkpoints.folder().join("seen"), Access::Read);
            let bytes = file.and_then(|file| outside::whole(file, SEEN_BYTES_MAX)).unwrap_or_default();
            if seen.parse(&bytes, last_tree).is_none() {
                seen.seen = ByPath::new();
            }
        }
        seen
    }

    fn parse(&mut self, bytes: &[u8], last_tree: &str) -> Option<()> {
        let mut fields = fields(bytes);
        let head = String::from_utf8_lossy(fields.next()?).into_owned();
        let mut words = head.split(' ');
        if words.next() != Some(FORMAT) || words.next() != Some(last_tree) {
            return None;
        }
        let index = parse_stamp(&mut words)?;
        while let Some(field) = fields.next() {
            let path = platform::path_of(fields.next()?).into_os_string();
            let text = std::str::from_utf8(field).ok()?;
            let mut words = text.split(' ');
            let entry = TreeEntry::new(words.next()?, words.next()?);
            let stamp = parse_stamp(&mut words)?;
            self.seen.push((path, SeenFile { entry, stamp, is_recognised: false }));
        }
        (self.tree, self.index) = (last_tree.to_string(), index);
        Some(())
    }

    /// The blob of a file, if it cannot have changed.
    pub fn blob(&mut self, path: &Path, stamp: &FileStamp) -> Option<&str> {
        // Usually they are asked for in their order.
        let at = match self.seen.get(self.next) {
            Some((next, _)) if next.as_os_str() == path.as_os_str() => self.next,
            _ => self.seen.binary_search_by(|(one, _)| one.as_os_str().cmp(path.as_os_str())).ok()?,
        };
        self.next = at + 1;
        let seen = &mut self.seen[at].1;
        seen.is_recognised = seen.stamp.as_ref() == Some(stamp);
        seen.is_recognised.then_some(seen.entry.blob.as_str())
    }

    /// Whether the last tree has something else at a path.
    pub fn is_new(&self, path: &Path, entry: &TreeEntry) -> bool {
        let found = self.seen.binary_search_by(|(one, _)| one.as_os_str().cmp(path.as_os_str()));
        found.is_err() || found.is_ok_and(|at| self.seen[at].1.entry != *entry)
    }

    /// A file that was just hashed.
    pub fn add(&mut self, path: &Path, stamp: FileStamp) {
        if stamp.changed.max(stamp.modified) < self.settled_before {
            self.settled.insert(path.as_os_str().to_os_string(), stamp);
        }
    }

    /// The entries of the last tree.
    pub fn entries(&self) -> &[(OsString, SeenFile)] {
        &self.seen
    }

    pub fn tree(&self) -> &str {
        &self.tree
    }

    /// The index that the tree was made from, and whether it is still that one. One that is not is removed.
    pub fn index(&self) -> Option<(PathBuf, bool)> {
        let path = self.folder.as_ref()?.join("index");
        // Nobody else makes it, so a lock is of a process that was killed.
        let _ = fs::remove_file(path.with_extension("lock"));
        let is_known = self.index.is_some() && stamp_of(&path) == self.index;
        if !is_known {
            let _ = fs::remove_file(&path);
        }
        Some((path, is_known))
    }

    pub fn set_tree(&mut self, tree: String, entries: ByPath<TreeEntry>) {
        self.is_new = tree != self.tree;
        (self.tree, self.entries) = (tree, entries);
    }

    /// Whether there is more to remember than was read.
    fn has_news(&self) -> bool {
        self.is_new || !self.settled.is_empty()
    }

    /// Keeps it for the next turn, once the turn itself is kept.
    pub fn write(mut self, checkpoints: &Checkpoints) -> Result<(), CheckpointError> {
        let Some(folder) = self.folder.take().filter(|_| self.has_news()) else { return Ok(()) };
        let path = folder.join("seen");
        let failed = |source| CheckpointError::File { path: path.clone(), source };
        create_dir(&folder).map_err(failed)?;
        let mut bytes = Vec::new();
        write!(bytes, "{FORMAT} {}", self.tree).map_err(failed)?;
        write_stamp(&mut bytes, stamp_of(&folder.join("index")).as_ref()).map_err(failed)?;
        bytes.push(0);
        let mut seen = InOrder::new(&self.seen);
        for (path, entry) in &self.entries {
            write!(bytes, "{} {}", entry.mode, entry.blob).map_err(failed)?;
            let known = seen.find(path).filter(|seen| seen.is_recognised).and_then(|seen| seen.stamp.as_ref());
            write_stamp(&mut bytes, known.or_else(|| self.settled.get(path))).map_err(failed)?;
            bytes.push(0);
            bytes.extend(path.as_encoded_bytes());
            bytes.push(0);
        }
        checkpoints.home.replace(&path, &bytes).map_err(failed)
    }
}

fn stamp_of(path: &Path) -> Option<FileStamp> {
    path.symlink_metadata().ok().map(|known| platform::stamp(&known))
}

fn write_stamp(bytes: &mut Vec<u8>, stamp: Option<&FileStamp>) -> io::Result<()> {
    match stamp {
        None => Ok(()),
        Some(FileStamp { bytes: size, modified, changed, inode, device }) => {
            write!(bytes, " {size} {modified} {changed} {inode} {device}")
        }
    }
}

/// The rest of an entry, which may have none. `None` if it is damaged.
fn parse_stamp<'w>(words: &mut impl Iterator<Item = &'w str>) -> Option<Option<FileStamp>> {
    let Some(bytes) = words.next() else { return Some(None) };
    Some(Some(FileStamp {
        bytes: bytes.parse().ok()?,
        modified: words.next()?.parse().ok()?,
        changed: words.next()?.parse().ok()?,
        inode: words.next()?.parse().ok()?,
        device: words.next()?.parse().ok()?,
    }))
}
