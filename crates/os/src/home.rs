//! The home: the one folder that holds everything we store, readable by its owner only.
//!
//! Folders have mode 0700, files 0600. No file name is built from outside input. The home itself may be a symbolic
//! link, since that is the user's choice. Below it, symbolic links are never followed, because they could lead out of
//! the home.

use std::ffi::OsStr;
use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use cerberus_record::clean::Cleaner;
use cerberus_record::private::PrivacyRules;

use crate::outside;
use crate::platform;
pub use crate::platform::Access;
pub use crate::platform::create_dir;
use crate::replace::replace;

#[derive(Clone, Debug)]
pub struct Home {
    root: PathBuf,
    /// What must not be stored in it.
    privacy_rules: Arc<PrivacyRules>,
    /// Removes secrets.
    cleaner: Cleaner,
}

/// Why the home cannot be trusted: somebody else may have written its settings, which can name programs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum UnsafeHome {
    /// It belongs to another user.
    Foreign { root: PathBuf, owner: u32 },
    /// Other users may write to it.
    Writable { root: PathBuf, mode: u32 },
}

impl std::fmt::Display for UnsafeHome {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            UnsafeHome::Foreign { root, owner } => write!(f, "{} belongs to another user (id {owner})", root.display()),
            UnsafeHome::Writable { root, mode } => {
                write!(f, "{} can be written by other users (mode {mode:04o})", root.display())
            }
        }
    }
}

impl Home {
    pub fn new(root: PathBuf) -> Home {
        Home { root, privacy_rules: Arc::default(), cleaner: Cleaner::default() }
    }

    pub fn with_privacy_rules(self, cleaner: Cleaner, privacy_rules: PrivacyRules) -> Home {
        Home { privacy_rules: Arc::new(privacy_rules), cleaner, ..self }
    }

    pub fn privacy_rules(&self) -> &Arc<PrivacyRules> {
        &self.privacy_rules
    }

    /// Every text from outside passes through it before it is stored.
    pub fn cleaner(&self) -> &Cleaner {
        &self.cleaner
    }

    pub fn root(&self) -> &Path {
        &self.root
    }

    /// Why nothing in the home may be used; `None` if it is ours alone, or does not exist yet. One system call for the
    /// folder, because every hook asks.
    pub fn unsafe_home(&self) -> Option<UnsafeHome> {
        let known = std::fs::metadata(&self.root).ok()?;
        let root = || self.root.clone();
        match (platform::other_owner(&known), platform::mode(&known)) {
            (Some(owner), _) => Some(UnsafeHome::Foreign { root: root(), owner }),
            (None, mode) if mode & 0o022 != 0 => Some(UnsafeHome::Writable { root: root(), mode }),
            (None, _) => None,
        }
    }

    pub fn journal_dir(&self) -> PathBuf {
        self.root.join("journal")
    }

    pub fn failures(&self) -> PathBuf {
        self.root.join("failures.jsonl")
    }

    pub fn config(&self) -> PathBuf {
        self.root.join("config.toml")
    }

    /// The last report. Removed with anything that it may show.
    pub fn report(&self) -> PathBuf {
        self.root.join("report.html")
    }

    pub fn loops_dir(&self) -> PathBuf {
        self.root.join("loops")
    }

    /// Where checkpoints are switched on, and what they need to be made quickly. No contents of files.
    pub fn checkpoints_dir(&self) -> PathBuf {
        self.root.join("checkpoints")
    }

    /// Which projects are paused, and until when.
    pub fn paused(&self) -> PathBuf {
        self.root.join("paused.json")
    }

    /// The projects whose committed `.nocerberus` the user has confirmed.
    pub fn confirmed(&self) -> PathBuf {
        self.root.join("confirmed.json")
    }

    /// When what was paused.
    pub fn past_pauses(&self) -> PathBuf {
        self.root.join("pauses.json")
    }

    pub fn device(&self) -> PathBuf {
        self.root.join("device")
    }

    /// The key for the names of forgotten records.
    pub fn key(&self) -> PathBuf {
        self.root.join("key")
    }

    /// An empty file that exists while records are being rewritten.
    pub fn rewriting(&self) -> PathBuf {
        self.root.join("rewriting")
    }

    /// Locked while a memory is changed.
    pub fn memories_lock(&self) -> PathBuf {
        self.root.join("memories.lock")
    }

    /// The rules that hooks enforce. Exists only while there are any.
    pub fn checks(&self) -> PathBuf {
        self.root.join("checks")
    }

    /// What hooks denied lately. Removed with any record.
    pub fn denied(&self) -> PathBuf {
        self.root.join("denied")
    }

    /// Hashes of the folders in which several sessions are at work. Can be deleted.
    pub fn shared(&self) -> PathBuf {
        self.root.join("shared")
    }

    /// Hashes of the words that name files which something is known about. Can be deleted.
    pub fn noted(&self) -> PathBuf {
        self.root.join("noted")
    }

    pub fn backups_dir(&self) -> PathBuf {
        self.root.join("backups")
    }

    /// What was said and printed in sessions, cleaned, and the index of it. No hook opens it.
    pub fn archive_dir(&self) -> PathBuf {
        self.root.join("archive")
    }

    /// Keys, spaces and what waits to be sent to other devices.
    pub fn sync_dir(&self) -> PathBuf {
        self.root.join("sync")
    }

    /// One empty file per session whose summary has been started.
    pub fn claims_dir(&self) -> PathBuf {
        self.root.join("summaries")
    }

    /// An empty file. Its modification time says when retention was last applied.
    pub fn retention_mark(&self) -> PathBuf {
        self.root.join("retention")
    }

    /// Where the original tool stored its sessions.
    pub fn seeds_dir(&self) -> PathBuf {
        self.root.join("memory").join("sessions")
    }

    /// Waits until no other process holds the lock on this file, and takes it. Never called by a hook.
    pub fn lock(&self, path: &Path) -> io::Result<File> {
        path.parent().map_or(Ok(()), create_dir)?;
        let file = self.open(path, Access::AppendOrCreate)?;
        file.lock()?;
        Ok(file)
    }

    /// Opens a regular file below the home. Follows no symbolic link, neither on the way nor at the end.
    pub fn open(&self, path: &Path, access: Access) -> io::Result<File> {
        let (folder, name) = self.inside(path)?;
        let opened = platform::open_below(&self.root, folder, name, access);
        outside::regular(opened.map_err(|error| self.explain(error, path))?)
    }

    /// Reads a file below the home as text.
    pub fn text(&self, path: &Path, bytes_max: u64) -> io::Result<String> {
        let bytes = outside::whole(self.open(path, Access::Read)?, bytes_max)?;
        String::from_utf8(bytes).map_err(|_| io::Error::new(io::ErrorKind::InvalidData, "not UTF-8 text"))
    }

    /// Replaces a file below the home atomically. Refuses a symbolic link.
    pub fn replace(&self, path: &Path, bytes: &[u8]) -> io::Result<()> {
        match self.open(path, Access::Read) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
            _ => replace(path, bytes, 0o600),
        }
    }

    /// Opens a folder below the home without following symbolic links.
    pub fn open_folder(&self, path: &Path) -> io::Result<File> {
        let (folder, name) = self.inside(path)?;
        platform::open_folder_below(&self.root, folder, name).map_err(|error| self.explain(error, path))
    }

    /// Makes the names in a folder below the home as durable as the contents of its files.
    pub fn sync_folder(&self, path: &Path) -> io::Result<()> {
        platform::sync_folder(&self.open_folder(path)?)
    }

    /// The folder of a path, relative to the home, and its last component.
    fn inside<'a>(&self, path: &'a Path) -> io::Result<(&'a Path, &'a OsStr)> {
        let not_ours = || io::Error::other(format!("{} is not inside the home", path.display()));
        let inside = path.strip_prefix(&self.root).map_err(|_| not_ours())?;
        let name = inside.file_name().ok_or_else(not_ours)?;
        Ok((inside.parent().unwrap_or(Path::new("")), name))
    }

    /// Explains the errors that the system returns for a symbolic link.
    fn explain(&self, error: io::Error, path: &Path) -> io::Error {
        let mut inside = path.ancestors().take_while(|part| *part != self.root);
        let mut is_link = || inside.any(|part| part.symlink_metadata().is_ok_and(|known| known.is_symlink()));
        match platform::may_be_link(&error) && is_link() {
            true => io::Error::other(
                "this is a symbolic link, and Cerberus does not follow links out of the home; replace it with the real file or folder",
            ),
            false => error,
        }
    }
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::symlink;

    use super::*;

    #[test]
    fn the_home_may_be_a_link_but_nothing_in_it_may() {
        let dir = tempfile::tempdir().unwrap();
        let (real, elsewhere) = (dir.path().join("real"), dir.path().join("elsewhere"));
        fs::create_dir_all(real.join("journal")).unwrap();
        fs::create_dir(&elsewhere).unwrap();
        fs::write(elsewhere.join("file"), "theirs").unwrap();
        symlink(&real, dir.path().join("home")).unwrap();
        let home = Home::new(dir.path().join("home"));
        let inside = home.journal_dir().join("day");
        home.open(&inside, Access::AppendOrCreate).unwrap();
        home.open_folder(&home.journal_dir()).unwrap();
        assert!(real.join("journal/day").is_file());
        symlink(elsewhere.join("file"), real.join("file")).unwrap();
        symlink(elsewhere.join("new"), real.join("new")).unwrap();
        symlink(&elsewhere, real.join("folder")).unwrap();
        for access in [Access::Read, Access::Overwrite, Access::Append, Access::AppendOrCreate, Access::UpdateOrCreate]
        {
            for name in ["file", "new", "folder/file"] {
                let error = home.open(&home.root().join(name), access).unwrap_err();
                assert!(error.to_string().contains("symbolic link"), "{name}: {error}");
                assert!(home.replace(&home.root().join(name), b"ours").is_err(), "{name}");
            }
        }
        home.replace(&inside, b"ours").unwrap();
        assert_eq!(fs::read(real.join("journal/day")).unwrap(), b"ours");
        assert!(home.open_folder(&home.root().join("folder")).is_err());
        assert!(home.open(&elsewhere.join("file"), Access::Read).is_err());
        assert!(home.open(&home.journal_dir(), Access::Read).is_err(), "a folder is not a file");
        assert_eq!(
            (fs::read(elsewhere.join("file")).unwrap(), elsewhere.join("new").exists()),
            (b"theirs".into(), false)
        );
    }
}
