//! What lies in a hub's folder. Everybody who can write there may put anything there: links, pipes, other folders. So
//! no link is followed on any step below the top, only regular files are read, an existing file is never written to, and
//! only names that we make are removed.

use std::ffi::OsString;
use std::hash::{BuildHasher, RandomState};
use std::io::{self, ErrorKind, Write};
use std::time::Duration;

use cerberus_os::home::Access;
use cerberus_os::platform::{self, EntryKind, OpenFolder};
use cerberus_os::{fault, outside};

use super::super::{NAME_CHARS_MAX, Put, is_name};

/// Names that are looked at in one folder; more than any space has devices, or a stream batches.
const NAMES_MAX: usize = 100_000;
/// Others of a team read these files; what they hold is sealed.
const FILE_MODE: u32 = 0o644;
const NUMBER_CHARS: usize = 16;
/// Nobody writes one file for so long.
const DRAFT_MAX: Duration = Duration::from_secs(24 * 60 * 60);

/// Why something was not done.
#[derive(Debug)]
pub enum FolderFailure {
    Missing,
    /// Something stands there that we never make. Says which and what.
    Odd(String),
    Io(io::Error),
}

impl From<io::Error> for FolderFailure {
    fn from(error: io::Error) -> FolderFailure {
        if error.kind() == ErrorKind::NotFound { FolderFailure::Missing } else { FolderFailure::Io(error) }
    }
}

/// A folder of the hub, and its path from the top.
#[derive(Debug)]
pub struct Inside {
    folder: OpenFolder,
    path: String,
}

/// The name of a generation or a batch.
pub fn number(number: u64) -> String {
    format!("{number:016x}")
}

fn read_number(name: &str) -> Option<u64> {
    u64::from_str_radix(name, 16).ok().filter(|found| number(*found) == name)
}

/// A name that nobody can know before.
fn draft_of(name: &str) -> String {
    format!(".{name}.{}.tmp", number(RandomState::new().hash_one(name)))
}

/// Whether a file was left by a process that was killed.
fn is_draft(name: &str) -> bool {
    let inner = name.strip_prefix('.').and_then(|name| name.strip_suffix(".tmp"));
    let is_random =
        |text: &str| (1..=NUMBER_CHARS).contains(&text.len()) && text.bytes().all(|b| b.is_ascii_hexdigit());
    inner.and_then(|inner| inner.split_once('.')).is_some_and(|(name, random)| is_name(name) && is_random(random))
}

impl Inside {
    pub fn top(folder: OpenFolder) -> Inside {
        Inside { folder, path: String::new() }
    }

    fn path_of(&self, name: &str) -> String {
        if self.path.is_empty() { name.to_string() } else { format!("{}/{name}", self.path) }
    }

    pub fn enter(&self, name: &str) -> Result<Inside, FolderFailure> {
        match self.folder.enter(name) {
            Ok(folder) => Ok(Inside { folder, path: self.path_of(name) }),
            Err(error) => Err(self.failure(name, EntryKind::Folder, error)),
        }
    }

    /// Enters a folder, which is made if it is missing.
    pub fn make(&self, name: &str) -> Result<Inside, FolderFailure> {
        match self.enter(name) {
            Err(FolderFailure::Missing) => {
                self.folder.make_folder(name)?;
                self.enter(name)
            }
            entered => entered,
        }
    }

    /// The names in it that may be ours.
    pub fn names(&self) -> io::Result<Vec<String>> {
        let names = self.folder.names()?.take(NAMES_MAX);
        let known = names.filter_map(|name| name.map(OsString::into_string).map(Result::ok).transpose());
        known.filter(|name| name.as_ref().map_or(true, |name| name.len() <= 2 * NAME_CHARS_MAX)).collect()
    }

    pub fn read(&self, name: &str, bytes_max: u64) -> Result<Vec<u8>, FolderFailure> {
        let file = self.folder.file(name, Access::Read).and_then(outside::regular);
        let read = file.and_then(|file| outside::whole(file, bytes_max));
        read.map_err(|error| self.failure(name, EntryKind::File, error))
    }

    /// Why a name cannot be opened: perhaps because of what it stands for.
    fn failure(&self, name: &str, expected: EntryKind, error: io::Error) -> FolderFailure {
        if error.kind() == ErrorKind::FileTooLarge {
            return FolderFailure::Odd(format!("{} is {error}", self.path_of(name)));
        }
        let what = match self.folder.kind(name) {
            Ok(kind) if kind == expected => return FolderFailure::Io(error),
            Ok(EntryKind::Link) => "a symbolic link",
            Ok(EntryKind::Folder) => "a folder",
            Ok(EntryKind::File) => "a file",
            Ok(EntryKind::Other) => "neither a file nor a folder",
            Err(_) => return error.into(),
        };
        FolderFailure::Odd(format!("{} is {what}", self.path_of(name)))
    }

    /// Writes a file that must be new, whole or not at all.
    pub fn put(&self, name: &str, bytes: &[u8], bytes_max: u64) -> Result<Put, FolderFailure> {
        let draft = self.draft(name, bytes, "hub-write")?;
        let linked = fault::point("hub-link").and_then(|_| self.link(&draft, name));
        let _ = self.folder.remove_file(&draft);
        match linked {
            Ok(()) => Ok(Put::Stored),
            Err(error) if error.kind() == ErrorKind::AlreadyExists => {
                let found = self.read(name, bytes_max)?;
                Ok(Put::of(found == bytes))
            }
            Err(error) => Err(error.into()),
        }
    }

    /// Gives a file its name without replacing another.
    fn link(&self, draft: &str, name: &str) -> io::Result<()> {
        match self.folder.link(draft, name) {
            // Some file systems have no links. A stream has one writer, so nobody takes the name in between.
            Err(error) if error.kind() != ErrorKind::AlreadyExists && self.folder.kind(name).is_err() => {
                self.folder.rename(draft, name)
            }
            linked => linked,
        }
    }

    /// Replaces a file, whole or not at all. A link that has its name is replaced itself.
    pub fn replace(&self, name: &str, bytes: &[u8]) -> Result<(), FolderFailure> {
        let draft = self.draft(name, bytes, "hub-replace")?;
        if let Err(error) = self.folder.rename(&draft, name) {
            let _ = self.folder.remove_file(&draft);
            return Err(self.failure(name, EntryKind::File, error));
        }
        Ok(self.sync()?)
    }

    /// Writes a file under a temporary name.
    fn draft(&self, name: &str, bytes: &[u8], label: &str) -> io::Result<String> {
        let draft = draft_of(name);
        let mut file = self.folder.new_file(&draft)?;
        let mut write = || -> io::Result<()> {
            fault::point(label)?;
            file.write_all(bytes)?;
            platform::set_mode_of(&file, FILE_MODE)?;
            file.sync_all()
        };
        write().inspect_err(|_| drop(self.folder.remove_file(&draft)))?;
        Ok(draft)
    }

    /// Removes what killed processes left of files that they wrote. What is not old may still be written.
    pub fn tidy(&self) -> io::Result<()> {
        for name in self.names()?.into_iter().filter(|name| is_draft(name)) {
            let file = self.folder.file(&name, Access::Read).and_then(outside::regular);
            let written_at = file.and_then(|file| file.metadata()?.modified());
            if written_at.is_ok_and(|at| at.elapsed().is_ok_and(|age| age > DRAFT_MAX)) {
                self.folder.remove_file(&name)?;
            }
        }
        Ok(())
    }

    /// Makes the names in it as durable as the contents of its files.
    pub fn sync(&self) -> io::Result<()> {
        self.folder.sync()
    }

    /// Removes generations of a stream before this one: batches and what a killed process left of them. Returns what is
    /// left there because it is not ours.
    pub fn remove_before(&self, generation: u64) -> Result<Vec<String>, FolderFailure> {
        let mut odd = Vec::new();
        for name in self.names()? {
            if read_number(&name).is_none_or(|found| found >= generation) {
                continue;
            }
            match self.remove_generation(&name) {
                Ok(()) | Err(FolderFailure::Missing) => {}
                Err(FolderFailure::Odd(what)) => odd.push(what),
                Err(failure) => return Err(failure),
            }
        }
        Ok(odd)
    }

    fn remove_generation(&self, name: &str) -> Result<(), FolderFailure> {
        let old = self.enter(name)?;
        for file in old.names()? {
            let is_ours = read_number(&file).is_some() || is_draft(&file);
            if is_ours && old.folder.kind(&file)? == EntryKind::File {
                old.folder.remove_file(&file)?;
            }
        }
        match self.folder.remove_folder(name) {
            Err(error) if error.kind() == ErrorKind::DirectoryNotEmpty => {
                Err(FolderFailure::Odd(format!("{} holds something that Cerberus did not make", self.path_of(name))))
            }
            removed => Ok(removed?),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_names_that_are_written_as_we_write_them_are_ours() {
        for ours in ["0000000000000001", "00000000deadbeef"] {
            assert!(read_number(ours).is_some(), "{ours}");
        }
        for other in ["1", "deadbeef", "+000000000000001", "00000000DEADBEEF", "00000000000000010", "cafe", ""] {
            assert!(read_number(other).is_none(), "{other}");
        }
        let made = draft_of("00000000000000aa");
        for ours in [made.as_str(), ".0000000000000001.4711.tmp"] {
            assert!(is_draft(ours), "{ours}");
        }
        for other in [".bashrc", ".a.tmp", "a.1.tmp", ".a.1.tmp~", ".a..tmp", ".A.1.tmp", ".a.1.2.tmp", ".a.x.tmp"] {
            assert!(!is_draft(other), "{other}");
        }
        assert_ne!(made, draft_of("00000000000000aa"), "nobody knows it before");
    }
}
