//! A hub that is a folder: a network drive, or one that another program copies between machines.
//!
//! `SPACE/PROJECT/heads/NAME` are documents, `SPACE/PROJECT/DEVICE/GENERATION/SEQUENCE` batches. A batch is written under
//! a temporary name and linked to its own, so it is there whole or not at all, and never replaced. Batches are read by
//! name: how many others there are costs nothing.
//!
//! Nothing in the folder is trusted: `inside.rs` says how it is opened. What stands where something of ours should be is
//! reported by its name and otherwise treated as if it were not there.

mod inside;

use std::io::{self, ErrorKind};
use std::path::PathBuf;
use std::sync::Arc;

use cerberus_os::platform::OpenFolder;

use self::inside::{FolderFailure, Inside, number};
use super::object::{self, Named, Oddities};
use super::{
    Document, Place, Put, Question, Range, Result, Sealed, Stream, Transport, TransportError, is_name, until_other,
};

const DOCUMENT_BYTES_MAX: u64 = 4 * 1024 * 1024;
const BATCH_BYTES_MAX: u64 = 2 * 1024 * 1024;
const HEADS: &str = "heads";

#[derive(Debug)]
pub struct Folder {
    root: PathBuf,
    top: Inside,
    odd: Oddities,
}

impl Folder {
    /// The folder must exist: one that does not may be a drive that is not mounted.
    pub fn open(root: PathBuf) -> Result<Folder> {
        let hub = root.display().to_string();
        match OpenFolder::open(&root) {
            Ok(folder) => Ok(Folder { root, top: Inside::top(folder), odd: Oddities::default() }),
            Err(error) if error.kind() == ErrorKind::NotADirectory => {
                Err(TransportError::Refused { hub, reason: "not a folder".to_string() })
            }
            Err(error) => Err(TransportError::Unreachable { hub, reason: error.to_string() }),
        }
    }

    /// A folder below that of a place, one step after another.
    fn walk(
        &self,
        place: &Place,
        steps: &[&str],
        step: impl Fn(&Inside, &str) -> Result<Inside, FolderFailure>,
    ) -> Result<Inside, FolderFailure> {
        let space = step(&self.top, &place.space)?;
        steps.iter().try_fold(step(&space, &place.project)?, |inside, name| step(&inside, name))
    }

    /// The files that may answer a question, in order.
    fn files(&self, question: &Question) -> Result<Named<BoundedFile>> {
        let walked = match question {
            Question::Heads(place, _) => self.walk(place, &[HEADS], Inside::enter),
            Question::After(Range { stream: Stream { place, device }, generation, .. }) => {
                self.walk(place, &[device, &number(*generation)], Inside::enter)
            }
        };
        let Some(inside) = self.found(walked)?.map(Arc::new) else { return Ok(Vec::new()) };
        let file = |name: String, bytes_max: u64| BoundedFile { inside: Arc::clone(&inside), name, bytes_max };
        match question {
            Question::Heads(_, max) => {
                let mut names = inside.names().map_err(|error| self.failed(error))?;
                names.retain(|name| is_name(name));
                names.sort();
                let names = if names.len() > *max { Vec::new() } else { names };
                Ok(names.into_iter().map(|name| (name.clone(), file(name, DOCUMENT_BYTES_MAX))).collect())
            }
            Question::After(range) => {
                let batch = |sequence: u64| (sequence.to_string(), file(number(sequence), BATCH_BYTES_MAX));
                Ok(range.sequences().map(batch).collect())
            }
        }
    }

    /// What was read; `None` if it is not there, or is something else.
    fn found<T>(&self, read: Result<T, FolderFailure>) -> Result<Option<T>> {
        match read {
            Ok(found) => Ok(Some(found)),
            Err(FolderFailure::Missing) => Ok(None),
            Err(FolderFailure::Odd(what)) => {
                self.odd.note([what]);
                Ok(None)
            }
            Err(FolderFailure::Io(error)) => Err(self.failed(error)),
        }
    }

    /// Why something could not be written.
    fn unwritten(&self, failure: FolderFailure) -> TransportError {
        match failure {
            FolderFailure::Missing => self.failed(ErrorKind::NotFound.into()),
            FolderFailure::Odd(what) => TransportError::InTheWay { hub: self.hub(), what },
            FolderFailure::Io(error) => self.failed(error),
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

    fn put_all(&self, stream: &Stream, generation: u64, batches: &[Sealed]) -> Result<Vec<Put>, FolderFailure> {
        let inside = self.walk(&stream.place, &[&stream.device, &number(generation)], Inside::make)?;
        let put = |batch: &Sealed| inside.put(&number(batch.sequence), &batch.bytes, BATCH_BYTES_MAX);
        let results = until_other(batches.iter().map(put))?;
        inside.sync()?;
        inside.tidy()?;
        Ok(results)
    }
}

/// A file, and how much of it is read at most.
struct BoundedFile {
    inside: Arc<Inside>,
    name: String,
    bytes_max: u64,
}

impl Transport for Folder {
    fn hub(&self) -> String {
        self.root.display().to_string()
    }

    /// Lists folders first, then reads all files together.
    fn answer(&mut self, questions: &[Question]) -> Result<Vec<Vec<Document>>> {
        let read = |file: &BoundedFile| self.found(file.inside.read(&file.name, file.bytes_max));
        object::read(questions, |question| self.files(question), read)
    }

    fn put(&mut self, stream: &Stream, generation: u64, batches: &[Sealed]) -> Result<Vec<Put>> {
        self.put_all(stream, generation, batches).map_err(|failure| self.unwritten(failure))
    }

    fn write(&mut self, place: &Place, name: &str, bytes: &[u8], generation: Option<u64>) -> Result<()> {
        let heads = self.walk(place, &[HEADS], Inside::make);
        let written = heads.and_then(|heads| heads.replace(name, bytes).and_then(|()| Ok(heads.tidy()?)));
        written.map_err(|failure| self.unwritten(failure))?;
        let Some(generation) = generation else { return Ok(()) };
        let stream = self.walk(place, &[name], Inside::enter);
        if let Some(odd) = self.found(stream.and_then(|stream| stream.remove_before(generation)))? {
            self.odd.note(odd);
        }
        Ok(())
    }

    fn oddities(&mut self) -> Vec<TransportError> {
        self.odd.told(&self.hub())
    }
}

#[cfg(test)]
mod tests;
