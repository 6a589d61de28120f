//! Forgetting in the loop's ledger: removes handoffs, outputs and prompts, keeps numbers and times.
//!
//! Coarse on purpose: a handoff combines what many sessions left, so a run that is affected at all loses all its texts.
//! The ledger is replaced atomically, and never while a runner writes to it.

use std::collections::HashSet;
use std::path::Path;
use std::{fs, io};

use cerberus_checkpoint::Reference;
use cerberus_os::home::Home;
use cerberus_recall::forget::ForgetRequest;
use cerberus_record::clean::text::Clean;
use cerberus_record::id::{Agent, ProjectId};
use cerberus_record::time::Timestamp;
use cerberus_store::capability::CapabilityError;
use cerberus_store::journal::forgotten::Namer;
use cerberus_store::view::Store;

use super::ledger::LoopLedger;
use crate::entry::{LedgerEntry, LedgerStep};
use crate::texts::{OneLine, Passage};

/// Forgets in every project's ledger.
pub fn forget(home: &Home, request: &ForgetRequest) -> io::Result<()> {
    for ledger in LoopLedger::all(home)? {
        in_project(&ledger, request, ledger.dir())?;
    }
    Ok(())
}

/// All sessions that ledgers name.
pub fn sessions(home: &Home) -> io::Result<Vec<String>> {
    let mut found = Vec::new();
    for ledger in LoopLedger::all(home)? {
        for entry in ledger.read(Timestamp::LAST).map_err(io::Error::other)? {
            if let LedgerStep::Session { id } = entry.step {
                found.push(id.to_string());
            }
        }
    }
    Ok(found)
}

/// Removes from the ledgers of loops what other devices have forgotten: whole sessions, which are all that a list of
/// names says about a ledger.
pub fn forgotten_elsewhere(home: &Home, store: &Store) -> Result<(), CapabilityError> {
    let named = sessions(home)?;
    if named.is_empty() {
        return Ok(());
    }
    let namer = Namer::open(home)?;
    let mut gone = HashSet::new();
    for session in named {
        for agent in cerberus_agents::ALL.iter().map(|profile| profile.agent).chain([Agent::MANUAL]) {
            if store.is_session_forgotten(&namer, agent.name(), &session)? {
                gone.insert((agent, session.clone()));
            }
        }
    }
    if !gone.is_empty() {
        forget(home, &ForgetRequest::Sessions(gone))?;
    }
    Ok(())
}

/// The runs that a request affects.
pub fn affected(home: &Home, request: &ForgetRequest) -> io::Result<AffectedRuns> {
    if let ForgetRequest::Projects { ids, .. } = request {
        return Ok(AffectedRuns { projects: ids.iter().cloned().collect(), runs: Vec::new() });
    }
    let mut affected = AffectedRuns { projects: Vec::new(), runs: Vec::new() };
    for ledger in LoopLedger::all(home)? {
        let runs = affected_runs(&ledger, request, &ledger.read(Timestamp::LAST).map_err(io::Error::other)?);
        if !runs.is_empty() {
            affected.runs.push((ledger, runs));
        }
    }
    Ok(affected)
}

/// Runs of loops, in several projects and worktrees.
#[derive(Debug)]
pub struct AffectedRuns {
    /// All runs of these.
    projects: Vec<ProjectId>,
    runs: Vec<(LoopLedger, Vec<u32>)>,
}

impl AffectedRuns {
    pub fn concerns(&self, project: &ProjectId) -> bool {
        self.projects.contains(project) || self.runs.iter().any(|(ledger, _)| ledger.project() == project)
    }

    pub fn contains(&self, project: &ProjectId, reference: &Reference) -> bool {
        let is_of = |(ledger, runs): &(LoopLedger, Vec<u32>)| {
            ledger.project() == project
                && ledger.worktree() == reference.worktree.as_ref()
                && runs.contains(&reference.run)
        };
        self.projects.contains(project) || self.runs.iter().any(is_of)
    }
}

/// Whether the runs that a request affects have no texts any more.
fn is_done(ledger: &LoopLedger, request: &ForgetRequest) -> io::Result<bool> {
    let entries = ledger.read(Timestamp::LAST).map_err(io::Error::other)?;
    let runs = affected_runs(ledger, request, &entries);
    Ok(entries.into_iter().filter(|entry| runs.contains(&entry.run)).all(|entry| entry == without_texts(entry.clone())))
}

fn in_project(ledger: &LoopLedger, request: &ForgetRequest, dir: &Path) -> io::Result<()> {
    // Another device may have asked for it, more than once, while a loop is running here.
    if matches!(request, ForgetRequest::Sessions(_)) && is_done(ledger, request)? {
        return Ok(());
    }
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
    let kept: Vec<LedgerEntry> =
        entries.into_iter().map(|entry| if runs.contains(&entry.run) { without_texts(entry) } else { entry }).collect();
    ledger.replace(&kept)
}

fn affected_runs(ledger: &LoopLedger, request: &ForgetRequest, entries: &[LedgerEntry]) -> Vec<u32> {
    let mut runs: Vec<u32> =
        entries.iter().filter(|entry| is_covered(ledger, request, entry)).map(|entry| entry.run).collect();
    runs.dedup();
    runs
}

fn is_covered(ledger: &LoopLedger, request: &ForgetRequest, entry: &LedgerEntry) -> bool {
    match (request, &entry.step) {
        (ForgetRequest::Sessions(names) | ForgetRequest::Expired(names), LedgerStep::Session { id }) => {
            names.iter().any(|(_, name)| name.as_str() == &**id)
        }
        (ForgetRequest::Between(since, until), _) => (*since..*until).contains(&entry.at),
        // The agent's output and prompts may name any file.
        (ForgetRequest::Paths(paths), _) => paths.projects.contains(ledger.project()),
        _ => false,
    }
}

/// Keeps numbers, times and session ids; removes all text.
fn without_texts(mut entry: LedgerEntry) -> LedgerEntry {
    match &mut entry.step {
        LedgerStep::Run { layer, .. } => {
            (layer.prompt, layer.agent_args, layer.warm_up) = (None, None, None);
        }
        LedgerStep::Place(place) => (place.root, place.branch) = (Clean::word(""), None),
        LedgerStep::Waiting(waiting) => waiting.reason = Clean::word("forgotten"),
        LedgerStep::Acknowledged { reboot: Some(reboot) } => reboot.handoff_message = Clean::word(""),
        LedgerStep::Ended(ended) => ended.failure = ended.failure.take().map(|_| "forgotten".to_string()),
        LedgerStep::Checked { result, .. } => *result = result.without_texts(),
        LedgerStep::Told { text } => *text = Passage::default(),
        LedgerStep::CheckFiles { command, files } => (*command, *files) = (OneLine::default(), Vec::new()),
        LedgerStep::Stopped { words, .. } => *words = Clean::word("forgotten"),
        _ => {}
    }
    entry
}
