//! Forgetting in the loop's ledger: removes handoffs, outputs and prompts, keeps numbers and times.
//!
//! Coarse on purpose: a handoff combines what many sessions left, so a run that is affected at all loses all its texts.
//! The ledger is replaced atomically, and never while a runner writes to it.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use cerberus_core::clean::text::Clean;
use cerberus_core::forget::ForgetRequest;
use cerberus_core::loops::handoff::state::{OneLine, Passage};
use cerberus_core::loops::history::{Entry, Step};
use cerberus_core::model::id::ProjectId;
use cerberus_core::model::time::Timestamp;

use super::checkpoint::SCRATCH;
use super::ledger::Ledger;
use crate::os::home::Home;

/// Forgets in every project's ledger.
pub fn forget(home: &Home, request: &ForgetRequest) -> io::Result<()> {
    for (ledger, dir) in ledgers(home)? {
        in_project(&ledger, request, &dir)?;
    }
    // No loop is running, so these are of one that was killed.
    match fs::remove_dir_all(home.loops_dir().join(SCRATCH)) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
        _ => Ok(()),
    }
}

/// The runs that a request affects, by project. `Runs::All` if the whole project is forgotten.
pub fn affected(home: &Home, request: &ForgetRequest) -> io::Result<Vec<(ProjectId, Runs)>> {
    if let ForgetRequest::Projects { ids, .. } = request {
        return Ok(ids.iter().map(|id| (id.clone(), Runs::All)).collect());
    }
    let mut found = Vec::new();
    for (ledger, _) in ledgers(home)? {
        let runs = affected_runs(&ledger, request, &ledger.read(Timestamp::LAST).map_err(io::Error::other)?);
        if !runs.is_empty() {
            found.push((ledger.project().clone(), Runs::Some(runs)));
        }
    }
    Ok(found)
}

/// Runs of a project's loops.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Runs {
    All,
    Some(Vec<u32>),
}

impl Runs {
    pub fn contain(&self, run: u32) -> bool {
        match self {
            Runs::All => true,
            Runs::Some(runs) => runs.contains(&run),
        }
    }
}

/// The ledgers of all projects, with their folders.
pub fn ledgers(home: &Home) -> io::Result<Vec<(Ledger, PathBuf)>> {
    let entries = match fs::read_dir(home.loops_dir()) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        entries => entries?,
    };
    let mut found = Vec::new();
    for entry in entries {
        let entry = entry?;
        let Some(name) = entry.file_name().to_str().map(str::to_string) else { continue };
        if entry.file_type()?.is_dir() && name.bytes().all(|byte| byte.is_ascii_hexdigit()) {
            found.push((Ledger::new(home, &ProjectId::from_stored(name)), entry.path()));
        }
    }
    Ok(found)
}

fn in_project(ledger: &Ledger, request: &ForgetRequest, dir: &Path) -> io::Result<()> {
    let Some(_lock) = ledger.lock().map_err(io::Error::other)? else {
        return Err(io::Error::other("a loop is running; stop it first with `cerberus loop stop`"));
    };
    if matches!(request, ForgetRequest::Projects { ids, .. } if ids.contains(ledger.project())) {
        return fs::remove_dir_all(dir);
    }
    let entries = ledger.read(Timestamp::LAST).map_err(io::Error::other)?;
    let runs = affected_runs(ledger, request, &entries);
    if runs.is_empty() {
        return Ok(());
    }
    for file in fs::read_dir(dir)? {
        let file = file?;
        let of_run = |run: &u32| file.file_name().to_string_lossy().starts_with(&format!("output-{run}-"));
        if runs.iter().any(of_run) {
            fs::remove_file(file.path())?;
        }
    }
    let kept: Vec<Entry> =
        entries.into_iter().map(|entry| if runs.contains(&entry.run) { without_texts(entry) } else { entry }).collect();
    ledger.replace(&kept)
}

fn affected_runs(ledger: &Ledger, request: &ForgetRequest, entries: &[Entry]) -> Vec<u32> {
    let mut runs: Vec<u32> =
        entries.iter().filter(|entry| is_covered(ledger, request, entry)).map(|entry| entry.run).collect();
    runs.dedup();
    runs
}

fn is_covered(ledger: &Ledger, request: &ForgetRequest, entry: &Entry) -> bool {
    match (request, &entry.step) {
        (ForgetRequest::Sessions(names) | ForgetRequest::Expired(names), Step::Session { id }) => {
            names.iter().any(|(_, name)| name.as_str() == &**id)
        }
        (ForgetRequest::Between(since, until), _) => (*since..*until).contains(&entry.at),
        // The agent's output and prompts may name any file.
        (ForgetRequest::Paths(paths), _) => paths.projects.contains(ledger.project()),
        _ => false,
    }
}

/// Keeps numbers, times and session ids; removes all text.
fn without_texts(mut entry: Entry) -> Entry {
    match &mut entry.step {
        Step::Run { layer, .. } => {
            (layer.prompt, layer.agent_args, layer.warm_up) = (None, None, None);
        }
        Step::Acknowledged { reboot: Some(reboot) } => reboot.handoff_message = Clean::word(""),
        Step::Ended(ended) => ended.failure = ended.failure.take().map(|_| "forgotten".to_string()),
        Step::Checked { result, .. } => *result = result.without_texts(),
        Step::Told { text } => *text = Passage::default(),
        Step::CheckFiles { command, files } => (*command, *files) = (OneLine::default(), Vec::new()),
        Step::Stopped { words, .. } => *words = Clean::word("forgotten"),
        _ => {}
    }
    entry
}
