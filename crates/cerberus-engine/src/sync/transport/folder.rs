//! A hub that is a folder: a network drive, or one that another program copies between machines.
//!
//! `SPACE/PROJECT/heads/NAME` are documents, `SPACE/PROJECT/DEVICE/GENERATION/SEQUENCE` batches. A batch is written under
//! a temporary name and linked to its own, so it is there whole or not at all, and never replaced. Batches are read by
//! name: how many others there are costs nothing.

use std::fs::{self, File};
use std::io::{self, ErrorKind, Write};
use std::path::{Path, PathBuf};

use super::at_once;
use super::object::{Object, answers};
use super::{Answer, Place, Put, Question, Sealed, Stream, Transport, TransportError, is_name};
use crate::os::{fault, outside, replace};

/// Documents of a place that are read; more than any space has devices.
const DOCUMENTS_MAX: usize = 100_000;
const DOCUMENT_BYTES_MAX: u64 = 4 * 1024 * 1024;
const BATCH_BYTES_MAX: u64 = 2 * 1024 * 1024;
const HEADS: &str = "heads";
/// Others of a team read these files; what they hold is sealed.
const FILE_MODE: u32 = 0o644;

#[derive(Debug)]
pub struct Folder {
    root: PathBuf,
}

impl Folder {
    /// The folder must exist: one that does not may be a drive that is not mounted.
    pub fn open(root: PathBuf) -> Result<Folder, TransportError> {
        let folder = Folder { root };
        match fs::metadata(&folder.root) {
            Ok(known) if known.is_dir() => Ok(folder),
            Ok(_) => Err(TransportError::Refused { hub: folder.hub(), reason: "not a folder".to_string() }),
            Err(error) => Err(TransportError::Unreachable { hub: folder.hub(), reason: error.to_string() }),
        }
    }

    fn hub(&self) -> String {
        self.root.display().to_string()
    }

    fn place(&self, place: &Place) -> Result<PathBuf, TransportError> {
        Ok(self.root.join(self.name(&place.space)?).join(self.name(&place.project)?))
    }

    fn generation(&self, stream: &Stream, generation: u64) -> Result<PathBuf, TransportError> {
        Ok(self.place(&stream.place)?.join(self.name(&stream.device)?).join(number(generation)))
    }

    fn name<'a>(&self, name: &'a str) -> Result<&'a str, TransportError> {
        match is_name(name) {
            true => Ok(name),
            false => Err(TransportError::Unexpected { hub: self.hub(), reason: format!("{name:?} is not a name") }),
        }
    }

    /// The files that may answer a question, in order.
    fn files(&self, question: &Question) -> Result<Vec<Object<Bounded>>, TransportError> {
        let (place, max) = match question {
            Question::Heads(place) => (place, usize::MAX),
            Question::Few(place, max) => (place, *max),
            Question::After(range) => {
                let dir = self.generation(&range.stream, range.generation)?;
                let batch = |sequence| {
                    let path = dir.join(number(sequence));
                    Object::batch(Bounded { path, bytes_max: BATCH_BYTES_MAX })
                };
                return Ok(range.sequences().map(batch).collect());
            }
        };
        let dir = self.place(place)?.join(HEADS);
        let entries = match fs::read_dir(&dir) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
            entries => entries.map_err(|error| self.failed(error))?,
        };
        let mut found = Vec::new();
        for entry in entries.take(DOCUMENTS_MAX) {
            let entry = entry.map_err(|error| self.failed(error))?;
            if let Some(name) = entry.file_name().to_str().filter(|name| is_name(name)) {
                found.push(Object::document(name, Bounded { path: entry.path(), bytes_max: DOCUMENT_BYTES_MAX }));
            }
            if found.len() > max {
                return Ok(Vec::new());
            }
        }
        found.sort_by(|a, b| a.name.cmp(&b.name));
        Ok(found)
    }

    /// What a file holds; `None` if there is none.
    fn content(&self, file: &Bounded) -> Result<Option<Vec<u8>>, TransportError> {
        match outside::bytes(&file.path, file.bytes_max) {
            Ok(bytes) => Ok(Some(bytes)),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            Err(error) => Err(self.failed(error)),
        }
    }

    fn failed(&self, error: io::Error) -> TransportError {
        let (hub, reason) = (self.hub(), error.to_string());
        match error.kind() {
            ErrorKind::StorageFull | ErrorKind::QuotaExceeded => TransportError::Full { hub, reason },
            ErrorKind::PermissionDenied | ErrorKind::ReadOnlyFilesystem => TransportError::Refused { hub, reason },
            ErrorKind::NotConnected
            | ErrorKind::HostUnreachable
            | ErrorKind::StaleNetworkFileHandle
            | ErrorKind::TimedOut => TransportError::Unreachable { hub, reason },
            _ => TransportError::Unexpected { hub, reason },
        }
    }
}

/// A file, and how much of it is read at most.
struct Bounded {
    path: PathBuf,
    bytes_max: u64,
}

fn number(number: u64) -> String {
    format!("{number:016x}")
}

impl Transport for Folder {
    /// Lists folders first, then reads all files together.
    fn ask(&mut self, questions: &[Question]) -> Result<Vec<Answer>, TransportError> {
        let named = at_once::each(questions, |question| self.files(question))?;
        let all: Vec<_> = named.iter().flatten().collect();
        let contents = at_once::each(&all, |object| self.content(&object.at))?;
        Ok(answers(questions, named, contents))
    }

    fn put_if_absent(
        &mut self,
        stream: &Stream,
        generation: u64,
        batches: &[Sealed],
    ) -> Result<Vec<Put>, TransportError> {
        let dir = self.generation(stream, generation)?;
        fs::create_dir_all(&dir).map_err(|error| self.failed(error))?;
        let mut results = Vec::new();
        for batch in batches {
            let put = put(&dir, &number(batch.sequence), &batch.bytes).map_err(|error| self.failed(error))?;
            results.push(put);
            if put == Put::Other {
                break;
            }
        }
        File::open(&dir).and_then(|dir| dir.sync_all()).map_err(|error| self.failed(error))?;
        Ok(results)
    }

    fn replace(
        &mut self,
        place: &Place,
        name: &str,
        bytes: &[u8],
        generation: Option<u64>,
    ) -> Result<(), TransportError> {
        let place = self.place(place)?;
        let name = self.name(name)?;
        let dir = place.join(HEADS);
        let write = || -> io::Result<()> {
            fs::create_dir_all(&dir)?;
            fault::point("hub-replace")?;
            replace::replace(&dir.join(name), bytes, FILE_MODE)
        };
        write().map_err(|error| self.failed(error))?;
        match generation {
            Some(generation) => remove_before(&place.join(name), generation).map_err(|error| self.failed(error)),
            None => Ok(()),
        }
    }
}

/// Writes a file that must be new, whole or not at all.
fn put(dir: &Path, name: &str, bytes: &[u8]) -> io::Result<Put> {
    let (path, draft) = (dir.join(name), dir.join(format!(".{name}.{}.tmp", std::process::id())));
    let write = || -> io::Result<()> {
        let mut file = File::create(&draft)?;
        fault::point("hub-write")?;
        file.write_all(bytes)?;
        file.sync_all()?;
        fault::point("hub-link")?;
        link(&draft, &path)
    };
    let written = write();
    let _ = fs::remove_file(&draft);
    match written {
        Ok(()) => Ok(Put::Stored),
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {
            let found = outside::bytes(&path, BATCH_BYTES_MAX)?;
            Ok(if found == bytes { Put::Same } else { Put::Other })
        }
        Err(error) => Err(error),
    }
}

/// Gives a file its name without replacing another.
fn link(draft: &Path, path: &Path) -> io::Result<()> {
    match fs::hard_link(draft, path) {
        // Some file systems have no links. A stream has one writer, so nobody takes the name in between.
        Err(error) if error.kind() != io::ErrorKind::AlreadyExists && !path.exists() => fs::rename(draft, path),
        linked => linked,
    }
}

/// Removes the batches of earlier generations.
fn remove_before(stream: &Path, generation: u64) -> io::Result<()> {
    let entries = match fs::read_dir(stream) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
        entries => entries?,
    };
    for entry in entries {
        let entry = entry?;
        let is_older = |name: &str| u64::from_str_radix(name, 16).is_ok_and(|found| found < generation);
        if entry.file_name().to_str().is_some_and(is_older) && entry.file_type()?.is_dir() {
            fs::remove_dir_all(entry.path())?;
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::super::Document;
    use super::*;

    #[test]
    fn a_folder_that_is_not_there_is_never_created() {
        let dir = tempfile::tempdir().unwrap();
        let missing = dir.path().join("unmounted");
        assert!(matches!(Folder::open(missing.clone()), Err(TransportError::Unreachable { .. })));
        assert!(!missing.exists());
        fs::write(&missing, "").unwrap();
        assert!(matches!(Folder::open(missing), Err(TransportError::Refused { .. })));
    }

    #[test]
    fn what_others_put_into_the_folder_is_left_alone() {
        let dir = tempfile::tempdir().unwrap();
        let mut folder = Folder::open(dir.path().to_path_buf()).unwrap();
        let place = Place { space: "s".to_string(), project: "p".to_string() };
        folder.replace(&place, "a", b"head", None).unwrap();
        fs::write(dir.path().join("s/p/heads/.a.1.tmp"), "half").unwrap();
        fs::write(dir.path().join("s/p/heads/a.sync-conflict"), "other").unwrap();
        assert_eq!(folder.heads(&place).unwrap(), [Document { name: "a".to_string(), bytes: b"head".to_vec() }]);
    }
}
