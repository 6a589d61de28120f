//! The files of the worktree as git objects: every file exactly as it is on disk.
//!
//! Git's index is not asked what has changed, and no filter and no conversion of line endings is applied. A file is not
//! read again only if `seen.rs` proves that it cannot have changed. So a checkpoint is right whatever happened within one
//! tick of the clock, and whatever the user's index claims about a file.

use std::collections::HashMap;
use std::ffi::OsString;
use std::fs::{self, Metadata};
use std::io;
use std::path::{Path, PathBuf};
use std::process::Command;

use cerberus_os::platform::{self, FileStamp};
use cerberus_store::project::git;
use cerberus_store::project::git::command::command;
use cerberus_store::project::identity::locate;

use super::entries::{ByPath, InOrder, LINK, PLAIN, PROGRAM, SUBMODULE, TreeEntry, fields};
use super::saved::private_name;
use super::seen::SeenFiles;
use super::{CheckpointError, Checkpoints};

/// How often files are read again that changed while they were being saved.
const TRIES_MAX: usize = 3;

/// Whether to keep what is hashed.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum KeepObject {
    Objects,
    Nothing,
}

/// What was saved.
pub(super) struct SavedFiles {
    pub tree: String,
    /// Files that are too large, or did not stop changing.
    pub left_out: Vec<String>,
    pub private: Vec<String>,
    pub seen: SeenFiles,
    /// The size of what is not in the last tree.
    pub new_bytes: u64,
}

/// Files with what they were saved as, and those that did not stop changing.
type HashedFiles = (Vec<(PathBuf, TreeEntry, FileStamp)>, Vec<String>);

/// What the index says about a path.
struct TrackedPath {
    entry: TreeEntry,
    /// It is not meant to be on disk.
    is_sparse: bool,
}

/// A file or link that is to be saved, as it was when it was listed.
struct SavedPath {
    path: PathBuf,
    stamp: FileStamp,
    mode: &'static str,
}

/// The paths that git knows, relative to the worktree.
struct ListedPaths {
    tracked: ByPath<TrackedPath>,
    /// Neither tracked nor ignored.
    others: Vec<PathBuf>,
}

/// The paths of a worktree, sorted by what is done with each.
#[derive(Default)]
struct SortedPaths {
    saved: Vec<SavedPath>,
    /// With what the index says about it.
    large: Vec<(PathBuf, Option<TreeEntry>)>,
    submodules: Vec<(PathBuf, TreeEntry)>,
    sparse: Vec<(PathBuf, TreeEntry)>,
    private: Vec<String>,
}

impl Checkpoints<'_> {
    /// Saves every file as a blob, and the tree that holds them. With the tree of the last turn, files that are as they
    /// were then are not read again; without one, all are.
    pub(super) fn save_files(&self, last_tree: Option<&str>) -> Result<SavedFiles, CheckpointError> {
        let mut tries = 1;
        loop {
            match self.saved_files(last_tree) {
                // A file may be gone, or shorter, since it was listed.
                Err(CheckpointError::Git { what: "hash-object", .. } | CheckpointError::Changed(_))
                    if tries < TRIES_MAX =>
                {
                    tries += 1;
                }
                saved => return saved,
            }
        }
    }

    fn saved_files(&self, last_tree: Option<&str>) -> Result<SavedFiles, CheckpointError> {
        let mut seen = SeenFiles::read(self, last_tree);
        let listed = self.listed()?;
        self.point("checkpoint-listed")?;
        let SortedPaths { saved, large, submodules, sparse, private } = self.sorted(listed)?;
        let known = submodules.into_iter().chain(sparse);
        let mut entries: ByPath<TreeEntry> = known.map(|(path, entry)| (path.into_os_string(), entry)).collect();
        let mut unseen = Vec::new();
        for SavedPath { path, stamp, mode } in saved {
            match seen.blob(&path, &stamp) {
                Some(blob) => entries.push((path.into_os_string(), TreeEntry { mode, blob: blob.to_string() })),
                None => unseen.push((path, stamp)),
            }
        }
        let (hashed, mut left_out) = self.hashed_while_quiet(unseen)?;
        self.point("checkpoint-hashed")?;
        let mut new_bytes = 0;
        for (path, entry, stamp) in hashed {
            new_bytes += if seen.is_new(&path, &entry) { stamp.bytes } else { 0 };
            seen.add(&path, stamp);
            entries.push((path.into_os_string(), entry));
        }
        for (path, tracked) in large {
            match tracked {
                Some(entry) if self.is_unchanged(&path, &entry)? => entries.push((path.into_os_string(), entry)),
                _ => left_out.push(path.to_string_lossy().into_owned()),
            }
        }
        entries.sort_unstable_by(|(one, _), (other, _)| one.cmp(other));
        let tree = self.tree(&mut seen, entries)?;
        self.point("checkpoint-tree")?;
        Ok(SavedFiles { tree, left_out, private, seen, new_bytes })
    }

    /// Hashes files until none of them changes meanwhile. One that does not stop is left out.
    fn hashed_while_quiet(&self, mut paths: Vec<(PathBuf, FileStamp)>) -> Result<HashedFiles, CheckpointError> {
        let mut done = Vec::new();
        for _ in 0..TRIES_MAX {
            let names: Vec<PathBuf> = paths.iter().map(|(path, _)| path.clone()).collect();
            let mut restless = Vec::new();
            for ((path, entry), (_, stamp)) in self.hashed(&names, KeepObject::Objects)?.into_iter().zip(paths) {
                match look(&self.located.root.join(&path))?.map(|known| platform::stamp(&known)) {
                    Some(after) if after == stamp => done.push((path, entry, stamp)),
                    Some(after) => restless.push((path, after)),
                    None => {}
                }
            }
            paths = restless;
        }
        Ok((done, paths.into_iter().map(|(path, _)| path.to_string_lossy().into_owned()).collect()))
    }

    /// The tree of these entries. Only what differs from the last one is told to git.
    fn tree(&self, seen: &mut SeenFiles, entries: ByPath<TreeEntry>) -> Result<String, CheckpointError> {
        let scratch = self.scratch_file("index")?;
        let (index, is_known) = match seen.index() {
            Some((path, is_known)) => (path, is_known),
            None => (scratch.path.clone(), false),
        };
        let before = if is_known { seen.entries() } else { &[] };
        let mut lines = Vec::new();
        let mut line = |start: String, path: &OsString| {
            lines.extend_from_slice(start.as_bytes());
            lines.extend_from_slice(path.as_encoded_bytes());
            lines.push(0);
        };
        // A file may now be a folder, so what is gone goes first.
        let mut now = InOrder::new(&entries);
        for (path, gone) in before.iter().filter(|(path, _)| now.find(path).is_none()) {
            line(format!("0 {}\t", "0".repeat(gone.entry.blob.len())), path);
        }
        let mut before = InOrder::new(before);
        for (path, entry) in &entries {
            if before.find(path).is_some_and(|seen| seen.entry == *entry) {
                continue;
            }
            line(format!("{} {}\t", entry.mode, entry.blob), path);
        }
        if is_known && lines.is_empty() {
            let tree = seen.tree().to_string();
            seen.set_tree(tree.clone(), entries);
            return Ok(tree);
        }
        let mut git = self.with_index(&index);
        git.args(["update-index", "-z", "--index-info"]);
        self.feed("update-index", git, &lines)?;
        let mut git = self.with_index(&index);
        // Of what a sparse worktree or a partial clone leaves out, the blob may be missing.
        git.args(["write-tree", "--missing-ok"]);
        let tree = self.run("write-tree", git)?.trim().to_string();
        seen.set_tree(tree.clone(), entries);
        Ok(tree)
    }

    /// The mode and the blob of each of these files and links, by their bytes.
    pub(super) fn hashed(
        &self,
        paths: &[PathBuf],
        keep: KeepObject,
    ) -> Result<Vec<(PathBuf, TreeEntry)>, CheckpointError> {
        let (mut list, mut modes, mut targets) = (Vec::new(), Vec::new(), Vec::new());
        for path in paths {
            let full = self.located.root.join(path);
            let failed = |source| CheckpointError::File { path: full.clone(), source };
            let known = full.symlink_metadata().map_err(failed)?;
            // Git would wait for a pipe.
            if !known.is_file() && !known.is_symlink() {
                return Err(CheckpointError::Changed(vec![path.to_string_lossy().into_owned()]));
            }
            if known.is_symlink() {
                // Git would hash the file that the link leads to.
                let target = self.scratch_file("link")?;
                let words = fs::read_link(&full).map_err(failed)?.into_os_string().into_encoded_bytes();
                fs::write(&target.path, words).map_err(failed)?;
                quote(&mut list, &target.path);
                targets.push(target);
            } else {
                quote(&mut list, path);
            }
            modes.push(mode(&known));
        }
        if paths.is_empty() {
            return Ok(Vec::new());
        }
        let mut git = command(&self.located.root);
        git.args(["hash-object", "--no-filters", "--stdin-paths"]);
        git.args((keep == KeepObject::Objects).then_some("-w"));
        let printed = self.feed("hash-object", git, &list)?;
        let printed = String::from_utf8_lossy(&printed);
        let entries: Vec<TreeEntry> =
            modes.iter().zip(printed.lines()).map(|(mode, blob)| TreeEntry::new(mode, blob)).collect();
        match entries.len() == paths.len() {
            true => Ok(paths.iter().cloned().zip(entries).collect()),
            false => {
                Err(CheckpointError::Git { what: "hash-object", words: "git did not hash every file".to_string() })
            }
        }
    }

    /// What git tracks and what it would track. If the index cannot be read, the last commit says what is tracked.
    fn listed(&self) -> Result<ListedPaths, CheckpointError> {
        self.listed_by(command(&self.located.root)).or_else(|error| {
            let index = self.scratch_file("index")?;
            let mut git = self.with_index(&index.path);
            git.args(["read-tree", "HEAD"]);
            self.run("read-tree", git).map_err(|_| error)?;
            self.listed_by(self.with_index(&index.path))
        })
    }

    fn listed_by(&self, mut git: Command) -> Result<ListedPaths, CheckpointError> {
        git.args(["ls-files", "-z", "--stage", "-t", "--others", "--exclude-standard"]);
        let printed = self.run_bytes("ls-files", git)?;
        let (mut tracked, mut others) = (ByPath::<TrackedPath>::new(), Vec::new());
        for line in fields(&printed) {
            if let Some(other) = line.strip_prefix(b"? ") {
                others.push(platform::path_of(other));
                continue;
            }
            let mut parts = line.splitn(2, |byte| *byte == b'\t');
            let (Some(stage), Some(path)) = (parts.next(), parts.next()) else { continue };
            let Ok(stage) = std::str::from_utf8(stage) else { continue };
            let mut words = stage.split(' ');
            if let (Some(tag), Some(mode), Some(blob)) = (words.next(), words.next(), words.next()) {
                let path = platform::path_of(path).into_os_string();
                // In a conflict, a path is listed several times in a row.
                tracked.pop_if(|(last, _)| *last == path);
                tracked.push((path, TrackedPath { entry: TreeEntry::new(mode, blob), is_sparse: tag == "S" }));
            }
        }
        Ok(ListedPaths { tracked, others })
    }

    fn sorted(&self, listed: ListedPaths) -> Result<SortedPaths, CheckpointError> {
        let mut sorted = SortedPaths::default();
        let is_sparse_worktree =
            listed.tracked.iter().any(|(_, tracked)| tracked.is_sparse) && self.is_sparse_worktree();
        let mut folders = RealFolders { root: &self.located.root, known: HashMap::new(), last: None };
        for (path, TrackedPath { entry, is_sparse }) in listed.tracked {
            let path = PathBuf::from(path);
            if sorted.is_private(self, &path) {
                continue;
            }
            match folders.look(&path)? {
                Some(known) if known.is_dir() && entry.mode == SUBMODULE => {
                    // One that was not cloned is an empty folder.
                    let folder = self.located.root.join(&path);
                    let own = Some(locate(&folder)).filter(|own| own.root == folder);
                    let head = own.and_then(|own| git::head(&own)).unwrap_or_else(|| entry.blob.clone());
                    let entry = TreeEntry::new(SUBMODULE, &head);
                    sorted.submodules.push((path, entry));
                }
                Some(known) => sorted.add(path, Some(entry), &known, self.limits.max_file_size.bytes),
                None if is_sparse && is_sparse_worktree => sorted.sparse.push((path, entry)),
                None => {}
            }
        }
        for path in listed.others {
            // Only a repository is listed as a folder. It is not a submodule, so its files are not ours to save.
            if !sorted.is_private(self, &path)
                && let Some(known) = folders.look(&path)?
            {
                sorted.add(path, None, &known, self.limits.max_file_size.bytes);
            }
        }
        Ok(sorted)
    }

    /// Whether files of the index are left out of this worktree on purpose.
    fn is_sparse_worktree(&self) -> bool {
        let mut git = command(&self.located.root);
        git.args(["config", "--type=bool", "core.sparseCheckout"]);
        self.run("config", git).is_ok_and(|value| value.trim() == "true")
    }

    /// Whether a file that is too large to copy is in the repository already.
    fn is_unchanged(&self, path: &Path, entry: &TreeEntry) -> Result<bool, CheckpointError> {
        let mut git = command(&self.located.root);
        git.args(["cat-file", "-s", &entry.blob]);
        let bytes = self.run("cat-file", git).ok().and_then(|bytes| bytes.trim().parse::<u64>().ok());
        let known = self.located.root.join(path).symlink_metadata();
        if known.ok().map(|known| known.len()) != bytes {
            return Ok(false);
        }
        let hashed = self.hashed(&[path.to_path_buf()], KeepObject::Nothing)?;
        Ok(hashed.iter().any(|(_, found)| found.blob == entry.blob))
    }

    /// The paths of the repository's submodules. Each is a repository of its own, whose files are not saved.
    pub fn submodules(&self) -> Vec<String> {
        if !self.located.root.join(".gitmodules").is_file() {
            return Vec::new();
        }
        let mut git = command(&self.located.root);
        git.args(["config", "--file", ".gitmodules", "-z", "--get-regexp", "^submodule\\..*\\.path$"]);
        let printed = self.run("config", git).unwrap_or_default();
        printed.split('\0').filter_map(|entry| Some(entry.split_once('\n')?.1.to_string())).collect()
    }

    /// Git with an index of ours. Whatever the repository's settings say, it writes nothing beside that index.
    fn with_index(&self, index: &Path) -> Command {
        let mut git = command(&self.located.root);
        git.env("GIT_INDEX_FILE", index);
        git.args(["-c", "core.splitIndex=false", "-c", "core.sparseCheckout=false", "-c", "index.skipHash=true"]);
        git
    }
}

impl SortedPaths {
    fn add(&mut self, path: PathBuf, tracked: Option<TreeEntry>, known: &Metadata, bytes_max: u64) {
        // Git saves nothing else: no folders, pipes or sockets.
        if known.is_file() && known.len() > bytes_max {
            self.large.push((path, tracked));
        } else if known.is_file() || known.is_symlink() {
            self.saved.push(SavedPath { path, stamp: platform::stamp(known), mode: mode(known) });
        }
    }

    /// Whether a file is private, tracked or not; if so, that is noted, so that a restore leaves it alone.
    fn is_private(&mut self, checkpoints: &Checkpoints, path: &Path) -> bool {
        let name = path.to_string_lossy();
        let is_private = checkpoints.privacy_rules.is_private(&name);
        if is_private {
            self.private.push(private_name(&name));
        }
        is_private
    }
}

/// Which folders of the worktree are folders, and not links to some.
struct RealFolders<'a> {
    root: &'a Path,
    known: HashMap<OsString, bool>,
    /// The folder of the last path: most files are in the same one as the last.
    last: Option<(OsString, bool)>,
}

impl RealFolders<'_> {
    /// What is at a path; `None` if nothing is there. What is behind a link is not at the path.
    fn look(&mut self, path: &Path) -> Result<Option<Metadata>, CheckpointError> {
        let folder = path.parent().unwrap_or(Path::new(""));
        let is_real = match &self.last {
            Some((last, is_real)) if last == folder.as_os_str() => *is_real,
            _ => {
                let is_real = self.is_real(folder);
                self.last = Some((folder.as_os_str().to_os_string(), is_real));
                is_real
            }
        };
        match is_real {
            true => look(&self.root.join(path)),
            false => Ok(None),
        }
    }

    fn is_real(&mut self, folder: &Path) -> bool {
        if folder.as_os_str().is_empty() {
            return true;
        }
        if let Some(known) = self.known.get(folder.as_os_str()) {
            return *known;
        }
        let is_folder = self.root.join(folder).symlink_metadata().is_ok_and(|known| known.is_dir());
        let is_real = is_folder && folder.parent().is_none_or(|above| self.is_real(above));
        self.known.insert(folder.as_os_str().to_os_string(), is_real);
        is_real
    }
}

/// What is at a path, which is not known if it cannot be looked at.
pub(super) fn look(path: &Path) -> Result<Option<Metadata>, CheckpointError> {
    use io::ErrorKind::{NotADirectory, NotFound};
    match path.symlink_metadata() {
        Ok(known) => Ok(Some(known)),
        Err(error) if matches!(error.kind(), NotFound | NotADirectory) => Ok(None),
        Err(source) => Err(CheckpointError::File { path: path.to_path_buf(), source }),
    }
}

fn mode(known: &Metadata) -> &'static str {
    match known.is_symlink() {
        true => LINK,
        false if platform::mode(known) & 0o100 != 0 => PROGRAM,
        false => PLAIN,
    }
}

/// Adds a path as a line that git reads back, whatever bytes it has.
fn quote(list: &mut Vec<u8>, path: &Path) {
    list.push(b'"');
    for byte in path.as_os_str().as_encoded_bytes() {
        match byte {
            b'"' | b'\\' => list.extend([b'\\', *byte]),
            b' '..=b'~' => list.push(*byte),
            _ => list.extend(format!("\\{byte:03o}").into_bytes()),
        }
    }
    list.extend(b"\"\n");
}
