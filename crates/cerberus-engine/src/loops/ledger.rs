//! The loop's own book: `loops/PROJECT/ledger.jsonl` in the home, one synced line ahead of every step.
//!
//! Beside the journal, since a run that is taken up again must not depend on anybody's fold. Lines are sealed like the
//! journal's; a stump is skipped. Whoever holds the lock beside it is the runner; a dead runner holds nothing.

use std::fs::{self, File, OpenOptions, TryLockError};
use std::io::{self, Read, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

use cerberus_core::id::ProjectId;
use cerberus_core::loops::history::{Entry, Step};
use cerberus_core::time::Timestamp;
use serde::{Deserialize, Serialize};

use crate::fault::{self, Writing};
use crate::home::{Home, create_dir, open_append};
use crate::journal;

#[derive(Debug, thiserror::Error)]
pub enum LedgerError {
    #[error("cannot write {path}: {source}")]
    Write { path: PathBuf, source: io::Error },
    #[error("cannot read {path}: {source}")]
    Read { path: PathBuf, source: io::Error },
}

/// More than a run of years leaves; what is longer is damaged.
const LEDGER_BYTES_MAX: u64 = 256 * 1024 * 1024;
const TRIES_MAX: usize = 3;

/// Where a project's loops are kept.
#[derive(Clone, Debug)]
pub struct Ledger {
    dir: PathBuf,
}

/// Held by the runner as long as it lives.
#[derive(Debug)]
pub struct Lock {
    _file: File,
}

/// What another terminal asks of the runner.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Request {
    Stop,
    StopNow,
}

impl Ledger {
    pub fn new(home: &Home, project: &ProjectId) -> Ledger {
        // A project's id is a hash of ours; anything else is not used as a name.
        let name: String = project.as_str().chars().filter(char::is_ascii_hexdigit).collect();
        Ledger { dir: home.loops_dir().join(name) }
    }

    pub fn path(&self) -> PathBuf {
        self.dir.join("ledger.jsonl")
    }

    pub fn dir(&self) -> &Path {
        &self.dir
    }

    /// What an attempt printed.
    pub fn output_path(&self, run: u32, iteration: u32, attempt: u32) -> PathBuf {
        self.dir.join(format!("output-{run}-{iteration}-{attempt}.log"))
    }

    pub fn append(&self, entry: &Entry) -> Result<(), LedgerError> {
        append_to(&self.path(), entry).map_err(|source| LedgerError::Write { path: self.path(), source })
    }

    /// Everything written up to `now`, in order.
    pub fn read(&self, now: Timestamp) -> Result<Vec<Entry>, LedgerError> {
        let mut bytes = Vec::new();
        match File::open(self.path()).and_then(|file| file.take(LEDGER_BYTES_MAX).read_to_end(&mut bytes)) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
            Err(source) => return Err(LedgerError::Read { path: self.path(), source }),
            Ok(_) => {}
        }
        let lines = bytes.split(|byte| *byte == b'\n').filter_map(journal::decode);
        let entries = lines.filter_map(|line| serde_json::from_slice::<Entry>(line).ok());
        Ok(entries.filter(|entry| entry.at <= now).collect())
    }

    /// The runner's lock, or `None` while another runner lives.
    pub fn lock(&self) -> Result<Option<Lock>, LedgerError> {
        let path = self.dir.join("lock");
        let write_error = |source| LedgerError::Write { path: path.clone(), source };
        create_dir(&self.dir).map_err(write_error)?;
        let file = OpenOptions::new().append(true).create(true).mode(0o600).open(&path).map_err(write_error)?;
        match file.try_lock() {
            Ok(()) => Ok(Some(Lock { _file: file })),
            Err(TryLockError::WouldBlock) => Ok(None),
            Err(TryLockError::Error(source)) => Err(write_error(source)),
        }
    }

    /// Is a runner at work?
    pub fn is_running(&self) -> Result<bool, LedgerError> {
        if !self.dir.join("lock").exists() {
            return Ok(false);
        }
        Ok(self.lock()?.is_none())
    }

    fn request_path(&self) -> PathBuf {
        self.dir.join("request")
    }

    pub fn ask(&self, request: Request) -> Result<(), LedgerError> {
        let path = self.request_path();
        let bytes = serde_json::to_vec(&request).unwrap_or_default();
        crate::replace::replace(&path, &bytes, 0o600).map_err(|source| LedgerError::Write { path, source })
    }

    pub fn asked(&self) -> Option<Request> {
        serde_json::from_slice(&fs::read(self.request_path()).ok()?).ok()
    }

    /// What was asked of an earlier runner is not asked of this one.
    pub fn forget_requests(&self) {
        let _ = fs::remove_file(self.request_path());
    }
}

/// One line, durably: when this returns it survives the machine going down.
pub fn append_to(path: &Path, entry: &Entry) -> io::Result<()> {
    let line = journal::seal(entry).map_err(io::Error::other)?;
    let mut file = match open_append(path, false) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            let dir = path.parent().unwrap_or(Path::new("."));
            create_dir(dir)?;
            let file = open_append(path, true)?;
            File::open(dir)?.sync_all()?;
            file
        }
        opened => opened?,
    };
    let label = label(&entry.step);
    for _ in 0..TRIES_MAX {
        let written = match fault::point(&format!("{label}-write"))? {
            Writing::Whole => file.write(&line)?,
            Writing::Short => file.write(&line[..line.len() / 2])?,
        };
        if written == line.len() {
            file.sync_data()?;
            fault::point(&format!("{label}-done"))?;
            return Ok(());
        }
    }
    Err(io::Error::other("the line could not be written in one piece; is the disk full?"))
}

/// The labelled points before and after each step is written are named after it.
fn label(step: &Step) -> &'static str {
    match step {
        Step::Run { .. } => "loop-run",
        Step::Begun { .. } => "loop-begun",
        Step::Launched { .. } => "loop-launched",
        Step::Session { .. } => "loop-session",
        Step::Acknowledged { .. } => "loop-acknowledged",
        Step::Ended(_) => "loop-ended",
        Step::Stopped { .. } => "loop-stopped",
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use cerberus_core::loops::settings::Worker;
    use cerberus_core::text::Clean;

    fn entry(at: i64, run: u32) -> Entry {
        let (token, layer) = (Clean::word("t"), Box::default());
        let step = Step::Run { worker: Worker::Codex, token, runner: None, is_resumed: false, layer };
        Entry { at: Timestamp::from_millis(at), run, step }
    }

    #[test]
    fn lines_survive_stumps_and_what_came_later_does_not_exist() {
        let dir = tempfile::tempdir().unwrap();
        let ledger = Ledger::new(&Home::new(dir.path().join("home")), &ProjectId::of_anchor(b"/p"));
        assert_eq!(ledger.read(Timestamp::from_millis(99)).unwrap(), []);
        ledger.append(&entry(1, 1)).unwrap();
        fs::OpenOptions::new().append(true).open(ledger.path()).unwrap().write_all(b"\n{\"at\":2,\"ru").unwrap();
        ledger.append(&entry(3, 2)).unwrap();
        assert_eq!(ledger.read(Timestamp::from_millis(99)).unwrap(), [entry(1, 1), entry(3, 2)]);
        assert_eq!(ledger.read(Timestamp::from_millis(2)).unwrap(), [entry(1, 1)]);
    }

    #[test]
    fn one_runner_at_a_time_and_requests_are_heard_once() {
        let dir = tempfile::tempdir().unwrap();
        let ledger = Ledger::new(&Home::new(dir.path().join("home")), &ProjectId::of_anchor(b"/p"));
        assert!(!ledger.is_running().unwrap());
        let lock = ledger.lock().unwrap();
        assert!(lock.is_some() && ledger.lock().unwrap().is_none() && ledger.is_running().unwrap());
        ledger.ask(Request::StopNow).unwrap();
        assert_eq!(ledger.asked(), Some(Request::StopNow));
        ledger.forget_requests();
        assert_eq!(ledger.asked(), None);
        drop(lock);
        assert!(!ledger.is_running().unwrap());
    }
}
