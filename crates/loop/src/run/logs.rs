//! Reads the stored output of a run's attempts, also while it grows.

use std::io::{self, Read, Seek, SeekFrom};
use std::path::PathBuf;

use cerberus_agents::stream::StreamEvent;
use cerberus_os::home::{Access, Home};

use super::ledger::{AttemptNumber, LoopLedger};
use crate::settings::Worker;

/// How much is read at a time.
const READ_BYTES_MAX: u64 = 1024 * 1024;

/// What an attempt printed.
#[derive(Clone, Debug, PartialEq)]
pub enum AttemptOutput {
    Said(StreamEvent),
    /// A line that is not part of the agent's format.
    Other(String),
}

/// The output of one attempt, and how far it was read.
#[derive(Debug)]
pub struct AttemptLog {
    pub number: AttemptNumber,
    worker: Worker,
    path: PathBuf,
    offset: u64,
    begun: Vec<u8>,
}

impl AttemptLog {
    pub fn new(ledger: &LoopLedger, worker: Worker, number: AttemptNumber) -> AttemptLog {
        AttemptLog { number, worker, path: ledger.output_path(number), offset: 0, begun: Vec::new() }
    }

    pub fn is_unread(&self) -> bool {
        self.offset == 0
    }

    pub fn is_there(&self) -> bool {
        self.path.exists()
    }

    /// What was printed since the last call; empty at the end. An incomplete line waits for its end.
    pub fn read_new(&mut self, home: &Home) -> io::Result<Vec<AttemptOutput>> {
        let mut file = home.open(&self.path, Access::Read)?;
        file.seek(SeekFrom::Start(self.offset))?;
        let mut added = Vec::new();
        file.take(READ_BYTES_MAX).read_to_end(&mut added)?;
        self.offset += added.len() as u64;
        let mut printed = Vec::new();
        for piece in added.split_inclusive(|byte| *byte == b'\n') {
            self.begun.extend_from_slice(piece);
            if piece.last() == Some(&b'\n') {
                printed.extend(self.line());
                self.begun.clear();
            }
        }
        Ok(printed)
    }

    fn line(&self) -> Vec<AttemptOutput> {
        let is_json = self.begun.trim_ascii_start().starts_with(b"{");
        match self.worker.read(&self.begun)[..] {
            [StreamEvent::Unknown] if !is_json => {
                vec![AttemptOutput::Other(String::from_utf8_lossy(&self.begun).trim_end().to_string())]
            }
            ref said => said.iter().cloned().map(AttemptOutput::Said).collect(),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use cerberus_record::id::ProjectId;

    use super::*;

    #[test]
    fn a_growing_file_is_read_line_by_line() {
        let dir = tempfile::tempdir().unwrap();
        let home = Home::new(dir.path().join("home"));
        let ledger = LoopLedger::new(&home, &ProjectId::of_anchor(b"/p"));
        let number = AttemptNumber { run: 1, iteration: 1, attempt: 1 };
        let mut log = AttemptLog::new(&ledger, Worker::COMMAND, number);
        assert!(!log.is_there() && log.read_new(&home).is_err());
        std::fs::create_dir_all(ledger.dir()).unwrap();
        let mut file = std::fs::File::create(ledger.output_path(number)).unwrap();
        let said = |words: &str| AttemptOutput::Said(StreamEvent::Text(words.to_string()));
        file.write_all(b"one\ntw").unwrap();
        assert_eq!(log.read_new(&home).unwrap(), [said("one")]);
        file.write_all(b"o\n").unwrap();
        assert_eq!(log.read_new(&home).unwrap(), [said("two")]);
        assert_eq!(log.read_new(&home).unwrap(), []);
    }
}
