//! The loop's ledger: `loops/PROJECT/ledger.jsonl` in the home, one synced line before every step.
//!
//! A linked worktree has a folder of its own, `loops/PROJECT-WORKTREE/`, so that loops in several worktrees of a
//! repository run side by side. It is separate from the journal, because resuming a run must not depend on a fold. Lines have a checksum like the
//! journal's; a torn line is skipped. The runner holds the lock file beside it; the lock of a dead runner is released.

use std::fs::{self, File, TryLockError};
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};

pub use cerberus_checkpoint::WorktreeId;
use cerberus_os::fault::{self, WriteFault};
use cerberus_os::home::{Access, Home, create_dir};
use cerberus_record::id::ProjectId;
use cerberus_record::time::Timestamp;
use cerberus_store::journal;
use cerberus_store::project::identity::Located;
use serde::{Deserialize, Serialize};

use crate::entry::{LedgerEntry, LedgerStep};

#[derive(Debug, thiserror::Error)]
pub enum LedgerError {
    #[error("cannot write {path}: {source}")]
    Write { path: PathBuf, source: io::Error },
    #[error("cannot read {path}: {source}")]
    Read { path: PathBuf, source: io::Error },
}

/// Years of runs stay below this. A larger file is damaged.
const LEDGER_BYTES_MAX: u64 = 256 * 1024 * 1024;
const TRIES_MAX: usize = 3;
const REQUEST_BYTES_MAX: u64 = 1024;

/// Run, iteration and attempt.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AttemptNumber {
    pub run: u32,
    pub iteration: u32,
    pub attempt: u32,
}

/// The files of a project's loops.
#[derive(Clone, Debug)]
pub struct LoopLedger {
    home: Home,
    project: ProjectId,
    worktree: Option<WorktreeId>,
    dir: PathBuf,
}

/// Held by the runner while it lives.
#[derive(Debug)]
pub struct Lock {
    _file: File,
}

/// A request from another terminal to the runner.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum RunnerRequest {
    Stop,
    StopNow,
}

impl LoopLedger {
    /// Of the project's main worktree.
    pub fn new(home: &Home, project: &ProjectId) -> LoopLedger {
        LoopLedger::with(home, project.clone(), None)
    }

    /// Of the worktree that a folder belongs to.
    pub fn at(home: &Home, located: &Located) -> LoopLedger {
        LoopLedger::with(home, located.project.clone(), WorktreeId::of(located))
    }

    pub(super) fn with(home: &Home, project: ProjectId, worktree: Option<WorktreeId>) -> LoopLedger {
        // A project's id is a hash of ours; other characters must not get into a file name.
        let name: String = project.as_str().chars().filter(char::is_ascii_hexdigit).collect();
        let name = worktree.as_ref().map_or(name.clone(), |worktree| format!("{name}-{worktree}"));
        LoopLedger { home: home.clone(), project, worktree, dir: home.loops_dir().join(name) }
    }

    /// By the name of its folder.
    pub fn named(home: &Home, name: &str) -> Option<LoopLedger> {
        let (project, worktree) = match name.split_once('-') {
            Some((project, worktree)) => (project, Some(WorktreeId::parse(worktree)?)),
            None => (name, None),
        };
        let is_id = !project.is_empty() && project.bytes().all(|byte| byte.is_ascii_hexdigit());
        is_id.then(|| LoopLedger::with(home, ProjectId::from_stored(project.to_string()), worktree))
    }

    /// The ledgers of all projects and worktrees.
    pub fn all(home: &Home) -> io::Result<Vec<LoopLedger>> {
        let entries = match fs::read_dir(home.loops_dir()) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
            entries => entries?,
        };
        let mut found = Vec::new();
        for entry in entries {
            let entry = entry?;
            let ledger = entry.file_name().to_str().and_then(|name| LoopLedger::named(home, name));
            found.extend(ledger.filter(|_| entry.file_type().is_ok_and(|kind| kind.is_dir())));
        }
        Ok(found)
    }

    /// The name of its folder.
    pub fn name(&self) -> String {
        self.dir.file_name().unwrap_or_default().to_string_lossy().into_owned()
    }

    pub fn worktree(&self) -> Option<&WorktreeId> {
        self.worktree.as_ref()
    }

    pub fn dir(&self) -> &Path {
        &self.dir
    }

    fn path(&self) -> PathBuf {
        self.dir.join("ledger.jsonl")
    }

    pub fn home(&self) -> &Home {
        &self.home
    }

    pub fn project(&self) -> &ProjectId {
        &self.project
    }

    /// The file for the output of an attempt.
    pub fn output_path(&self, number: AttemptNumber) -> PathBuf {
        let AttemptNumber { run, iteration, attempt } = number;
        self.dir.join(format!("output-{run}-{iteration}-{attempt}.log"))
    }

    pub fn append(&self, entry: &LedgerEntry) -> Result<(), LedgerError> {
        self.append_synced(entry).map_err(|source| LedgerError::Write { path: self.path(), source })
    }

    /// All entries up to `now`, in order.
    pub fn read(&self, now: Timestamp) -> Result<Vec<LedgerEntry>, LedgerError> {
        let mut bytes = Vec::new();
        match self
            .home
            .open(&self.path(), Access::Read)
            .and_then(|file| file.take(LEDGER_BYTES_MAX).read_to_end(&mut bytes))
        {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
            Err(source) => return Err(LedgerError::Read { path: self.path(), source }),
            Ok(_) => {}
        }
        let lines = bytes.split(|byte| *byte == b'\n').filter_map(journal::decode);
        let entries = lines.filter_map(|line| serde_json::from_slice::<LedgerEntry>(line.json).ok());
        Ok(entries.filter(|entry| entry.at <= now).collect())
    }

    /// Takes the runner's lock; `None` while another runner holds it.
    pub fn lock(&self) -> Result<Option<Lock>, LedgerError> {
        let path = self.dir.join("lock");
        let write_error = |source| LedgerError::Write { path: path.clone(), source };
        create_dir(&self.dir).map_err(write_error)?;
        let file = self.home.open(&path, Access::AppendOrCreate).map_err(write_error)?;
        match file.try_lock() {
            Ok(()) => Ok(Some(Lock { _file: file })),
            Err(TryLockError::WouldBlock) => Ok(None),
            Err(TryLockError::Error(source)) => Err(write_error(source)),
        }
    }

    /// Whether a runner holds the lock.
    pub fn is_running(&self) -> Result<bool, LedgerError> {
        if !self.dir.join("lock").exists() {
            return Ok(false);
        }
        Ok(self.lock()?.is_none())
    }

    /// Appends one line durably: when this returns, the line survives a crash of the machine.
    fn append_synced(&self, entry: &LedgerEntry) -> io::Result<()> {
        let line = journal::sealed_line(entry).map_err(io::Error::other)?;
        let mut file = match self.home.open(&self.path(), Access::Append) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                create_dir(&self.dir)?;
                let file = self.home.open(&self.path(), Access::AppendOrCreate)?;
                self.home.sync_folder(&self.dir)?;
                file
            }
            opened => opened?,
        };
        let label = label(&entry.step);
        for _ in 0..TRIES_MAX {
            let written = match fault::point(&format!("{label}-write"))? {
                WriteFault::Whole => file.write(&line)?,
                WriteFault::Short => file.write(&line[..line.len() / 2])?,
            };
            if written == line.len() {
                file.sync_data()?;
                fault::point(&format!("{label}-done"))?;
                return Ok(());
            }
        }
        Err(io::Error::other("the line could not be written in one piece; is the disk full?"))
    }

    /// Replaces the whole ledger. The caller must hold the lock.
    pub fn replace(&self, entries: &[LedgerEntry]) -> io::Result<()> {
        let lines: Result<Vec<Vec<u8>>, _> = entries.iter().map(journal::sealed_line).collect();
        cerberus_os::replace::replace(&self.path(), &lines.map_err(io::Error::other)?.concat(), 0o600)
    }

    fn request_path(&self) -> PathBuf {
        self.dir.join("request")
    }

    pub fn write_request(&self, request: RunnerRequest) -> Result<(), LedgerError> {
        let path = self.request_path();
        let bytes = serde_json::to_vec(&request).unwrap_or_default();
        cerberus_os::replace::replace(&path, &bytes, 0o600).map_err(|source| LedgerError::Write { path, source })
    }

    pub fn request(&self) -> Option<RunnerRequest> {
        serde_json::from_slice(self.home.text(&self.request_path(), REQUEST_BYTES_MAX).ok()?.as_bytes()).ok()
    }

    /// Discards requests to an earlier runner.
    pub fn forget_requests(&self) {
        let _ = fs::remove_file(self.request_path());
    }
}

/// The name of a step in the labels of its fault points.
fn label(step: &LedgerStep) -> &'static str {
    match step {
        LedgerStep::Run { .. } => "loop-run",
        LedgerStep::Place(_) => "loop-place",
        LedgerStep::Begun { .. } => "loop-begun",
        LedgerStep::Launched { .. } => "loop-launched",
        LedgerStep::Session { .. } => "loop-session",
        LedgerStep::Acknowledged { .. } => "loop-acknowledged",
        LedgerStep::Waiting(_) => "loop-waiting",
        LedgerStep::Ended(_) => "loop-ended",
        LedgerStep::CheckFiles { .. } => "loop-check-files",
        LedgerStep::Checked { .. } => "loop-checked",
        LedgerStep::Files { .. } => "loop-files",
        LedgerStep::Told { .. } => "loop-told",
        LedgerStep::Changed { .. } => "loop-changed",
        LedgerStep::Stopped { .. } => "loop-stopped",
    }
}

#[cfg(test)]
mod tests {
    use cerberus_record::clean::text::Clean;

    use super::*;
    use crate::settings::Worker;

    fn entry(at: i64, run: u32) -> LedgerEntry {
        let (token, layer) = (Clean::word("t"), Box::default());
        let step =
            LedgerStep::Run { worker: Worker::COMMAND, token, runner: None, is_resumed: false, layer, base: None };
        LedgerEntry { at: Timestamp::from_millis(at), run, step }
    }

    #[test]
    fn torn_lines_are_skipped_and_later_entries_are_ignored() {
        let dir = tempfile::tempdir().unwrap();
        let ledger = LoopLedger::new(&Home::new(dir.path().join("home")), &ProjectId::of_anchor(b"/p"));
        assert_eq!(ledger.read(Timestamp::from_millis(99)).unwrap(), []);
        ledger.append(&entry(1, 1)).unwrap();
        fs::OpenOptions::new().append(true).open(ledger.path()).unwrap().write_all(b"\n{\"at\":2,\"ru").unwrap();
        ledger.append(&entry(3, 2)).unwrap();
        assert_eq!(ledger.read(Timestamp::from_millis(99)).unwrap(), [entry(1, 1), entry(3, 2)]);
        assert_eq!(ledger.read(Timestamp::from_millis(2)).unwrap(), [entry(1, 1)]);
    }

    #[test]
    fn ledgers_are_found_by_the_names_of_their_folders() {
        let dir = tempfile::tempdir().unwrap();
        let home = Home::new(dir.path().join("home"));
        assert!(LoopLedger::all(&home).unwrap().is_empty());
        for name in ["0123abcd", "0123abcd-77ff", "scratch", "0123-", "-77", "0123-x"] {
            fs::create_dir_all(home.loops_dir().join(name)).unwrap();
        }
        let mut names: Vec<String> = LoopLedger::all(&home).unwrap().iter().map(LoopLedger::name).collect();
        names.sort();
        assert_eq!(names, ["0123abcd", "0123abcd-77ff"]);
        let ledger = LoopLedger::named(&home, "0123abcd-77ff").unwrap();
        assert_eq!((ledger.project().as_str(), ledger.worktree().unwrap().to_string()), ("0123abcd", "77ff".into()));
    }

    #[test]
    fn one_runner_at_a_time_and_requests_are_read_once() {
        let dir = tempfile::tempdir().unwrap();
        let ledger = LoopLedger::new(&Home::new(dir.path().join("home")), &ProjectId::of_anchor(b"/p"));
        assert!(!ledger.is_running().unwrap());
        let lock = ledger.lock().unwrap();
        assert!(lock.is_some() && ledger.lock().unwrap().is_none() && ledger.is_running().unwrap());
        ledger.write_request(RunnerRequest::StopNow).unwrap();
        assert_eq!(ledger.request(), Some(RunnerRequest::StopNow));
        ledger.forget_requests();
        assert_eq!(ledger.request(), None);
        drop(lock);
        // A child that another test has just forked may hold the file for a moment.
        let pause = || std::thread::sleep(std::time::Duration::from_millis(5));
        let is_free = (0..1_000).any(|_| !ledger.is_running().unwrap() || (pause(), false).1);
        assert!(is_free);
    }
}
