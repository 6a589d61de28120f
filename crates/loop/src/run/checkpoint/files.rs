//! The files of the worktree as git objects: every file exactly as it is on disk.
//!
//! The bytes of every file are hashed each time. Nothing is concluded from an index, a time or a size, and no filter
//! and no conversion of line endings is applied. So a checkpoint is right whatever happened within one tick of the
//! clock, and whatever the user's index claims about a file.

use std::collections::{BTreeMap, HashMap};
use std::fs::{self, Metadata};
use std::io;
use std::path::{Path, PathBuf};
use std::process::Command;

use cerberus_os::platform;
use cerberus_store::project::git;
use cerberus_store::project::git::command::command;
use cerberus_store::project::identity::locate;

use super::{CheckpointError, Checkpoints, Scratch};

/// A larger file is listed, not copied: every iteration would add another copy to the repository.
pub const FILE_BYTES_MAX: u64 = 50 * 1024 * 1024;

/// The modes of git's trees.
pub(super) const SUBMODULE: &str = "160000";
pub(super) const LINK: &str = "120000";
pub(super) const PROGRAM: &str = "100755";
const PLAIN: &str = "100644";

/// What a tree says about a path.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct TreeEntry {
    pub mode: String,
    pub blob: String,
}

impl TreeEntry {
    /// The mode and the blob as git prints them.
    pub fn new(mode: &str, blob: &str) -> TreeEntry {
        TreeEntry { mode: mode.to_string(), blob: blob.to_string() }
    }
}

/// Whether to keep what is hashed.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum KeepObject {
    Objects,
    Nothing,
}

/// The paths that git knows, relative to the worktree.
struct ListedPaths {
    tracked: BTreeMap<PathBuf, TreeEntry>,
    /// Neither tracked nor ignored.
    others: Vec<PathBuf>,
}

/// The paths of a worktree, sorted by what is done with each.
#[derive(Default)]
struct SortedPaths {
    saved: Vec<PathBuf>,
    large: Vec<PathBuf>,
    submodules: Vec<(PathBuf, TreeEntry)>,
}

impl Checkpoints<'_> {
    /// Saves every file as a blob. Returns the tree that holds them, and the files that are too large for it.
    pub(super) fn save_files(&self) -> Result<(String, Vec<String>), CheckpointError> {
        let listed = self.listed()?;
        let SortedPaths { saved, large, submodules } = self.sorted(&listed)?;
        let mut entries = self.hashed(&saved, KeepObject::Objects)?;
        entries.extend(submodules);
        let mut left_out = Vec::new();
        for path in large {
            match listed.tracked.get(&path) {
                Some(entry) if self.is_unchanged(&path, entry)? => entries.push((path, entry.clone())),
                _ => left_out.push(path.to_string_lossy().into_owned()),
            }
        }
        let mut lines = Vec::new();
        for (path, TreeEntry { mode, blob }) in &entries {
            lines.extend_from_slice(format!("{mode} {blob}\t").as_bytes());
            lines.extend_from_slice(path.as_os_str().as_encoded_bytes());
            lines.push(0);
        }
        let index = self.scratch_file("index")?;
        let mut git = self.with_index(&index);
        git.args(["update-index", "-z", "--index-info"]);
        self.feed("update-index", git, &lines)?;
        let mut git = self.with_index(&index);
        git.arg("write-tree");
        Ok((self.run("write-tree", git)?.trim().to_string(), left_out))
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
        self.listed_by(|| command(&self.located.root)).or_else(|error| {
            let index = self.scratch_file("index")?;
            let mut git = self.with_index(&index);
            git.args(["read-tree", "HEAD"]);
            self.run("read-tree", git).map_err(|_| error)?;
            self.listed_by(|| self.with_index(&index))
        })
    }

    fn listed_by(&self, git: impl Fn() -> Command) -> Result<ListedPaths, CheckpointError> {
        let list = |args: &[&str]| {
            let mut git = git();
            git.args(["ls-files", "-z"]).args(args);
            self.run_bytes("ls-files", git)
        };
        let mut tracked = BTreeMap::new();
        for line in fields(&list(&["--stage"])?) {
            let mut parts = line.splitn(2, |byte| *byte == b'\t');
            let (Some(stage), Some(path)) = (parts.next(), parts.next()) else { continue };
            if let [mode, blob, _] = String::from_utf8_lossy(stage).split(' ').collect::<Vec<_>>()[..] {
                tracked.insert(platform::path_of(path), TreeEntry::new(mode, blob));
            }
        }
        let others = list(&["--others", "--exclude-standard"])?;
        Ok(ListedPaths { tracked, others: fields(&others).map(platform::path_of).collect() })
    }

    fn sorted(&self, listed: &ListedPaths) -> Result<SortedPaths, CheckpointError> {
        let mut sorted = SortedPaths::default();
        let mut folders = RealFolders { root: &self.located.root, known: HashMap::new() };
        for (path, entry) in &listed.tracked {
            match folders.look(path)? {
                Some(known) if known.is_dir() && entry.mode == SUBMODULE => {
                    // One that was not cloned is an empty folder.
                    let folder = self.located.root.join(path);
                    let own = Some(locate(&folder)).filter(|own| own.root == folder);
                    let head = own.and_then(|own| git::head(&own)).unwrap_or_else(|| entry.blob.clone());
                    let entry = TreeEntry::new(SUBMODULE, &head);
                    sorted.submodules.push((path.clone(), entry));
                }
                Some(known) => sorted.add(path, &known),
                None => {}
            }
        }
        for path in &listed.others {
            // Only a repository is listed as a folder. It is not a submodule, so its files are not ours to save.
            let is_private = self.privacy_rules.is_private(&path.to_string_lossy());
            if let Some(known) = folders.look(path)?.filter(|_| !is_private) {
                sorted.add(path, &known);
            }
        }
        Ok(sorted)
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
    pub(super) fn with_index(&self, index: &Scratch) -> Command {
        let mut git = command(&self.located.root);
        git.env("GIT_INDEX_FILE", &index.path);
        git.args(["-c", "core.splitIndex=false", "-c", "core.sparseCheckout=false"]);
        git
    }
}

impl SortedPaths {
    fn add(&mut self, path: &Path, known: &Metadata) {
        // Git saves nothing else: no folders, pipes or sockets.
        if known.is_file() && known.len() > FILE_BYTES_MAX {
            self.large.push(path.to_path_buf());
        } else if known.is_file() || known.is_symlink() {
            self.saved.push(path.to_path_buf());
        }
    }
}

/// Which folders of the worktree are folders, and not links to some.
struct RealFolders<'a> {
    root: &'a Path,
    known: HashMap<PathBuf, bool>,
}

impl RealFolders<'_> {
    /// What is at a path; `None` if nothing is there. What is behind a link is not at the path.
    fn look(&mut self, path: &Path) -> Result<Option<Metadata>, CheckpointError> {
        match path.parent().is_none_or(|folder| self.is_real(folder)) {
            true => look(&self.root.join(path)),
            false => Ok(None),
        }
    }

    fn is_real(&mut self, folder: &Path) -> bool {
        if folder.as_os_str().is_empty() {
            return true;
        }
        if let Some(known) = self.known.get(folder) {
            return *known;
        }
        let is_folder = self.root.join(folder).symlink_metadata().is_ok_and(|known| known.is_dir());
        let is_real = is_folder && folder.parent().is_none_or(|above| self.is_real(above));
        self.known.insert(folder.to_path_buf(), is_real);
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

/// The parts of a list that git ends with zeros.
pub(super) fn fields(printed: &[u8]) -> impl Iterator<Item = &[u8]> {
    printed.split(|byte| *byte == 0).filter(|field| !field.is_empty())
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
