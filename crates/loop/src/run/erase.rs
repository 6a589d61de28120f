//! The checkpoints of loops, which are in the users' repositories: finds those that a request to forget affects, and
//! those with secrets.
//!
//! A checkpoint is removed as a whole, because a commit cannot be edited. Only our own references are removed.

use std::collections::{HashMap, HashSet};
use std::path::Path;

use cerberus_checkpoint::erase::{EraseError, repositories, secrets_in};
use cerberus_checkpoint::{CheckpointError, Checkpoints, Reference};
use cerberus_os::home::Home;
use cerberus_recall::forget::ForgetRequest;
use cerberus_record::id::ProjectId;
use cerberus_store::capability::{Capability, CapabilityError, Finding};
use cerberus_store::project::identity::Located;
use cerberus_store::view::Store;

use crate::run::forget;
use crate::run::forget::affected;
use crate::run::ledger::LoopLedger;

/// Loops keep handoffs and outputs in their ledgers, and checkpoints in the users' repositories.
pub struct LoopCapability;

impl Capability for LoopCapability {
    fn forget(&self, home: &Home, request: &ForgetRequest) -> std::io::Result<()> {
        forget::forget(home, request)
    }

    fn count_copies(&self, home: &Home, here: &Path, request: &ForgetRequest) -> Result<usize, CapabilityError> {
        Ok(meant(home, here, request)?.iter().map(|repository| repository.references.len()).sum())
    }

    fn remove_copies(&self, home: &Home, here: &Path, request: &ForgetRequest) -> Result<(), CapabilityError> {
        for repository in meant(home, here, request)? {
            repository.remove(home)?;
        }
        Ok(())
    }

    fn forgotten_elsewhere(&self, home: &Home, store: &Store) -> Result<(), CapabilityError> {
        forget::forgotten_elsewhere(home, store)
    }

    fn secrets(&self, home: &Home, here: &Path) -> Result<Vec<Finding>, CapabilityError> {
        Ok(with_secrets(home, here)?.0)
    }

    fn remove_secrets(&self, home: &Home, here: &Path) -> Result<(), CapabilityError> {
        for repository in with_secrets(home, here)?.1 {
            repository.remove(home)?;
        }
        Ok(())
    }
}

/// References of ours in one repository.
#[derive(Debug)]
struct InRepository {
    located: Located,
    references: Vec<Reference>,
}

impl InRepository {
    fn remove(&self, home: &Home) -> Result<(), CheckpointError> {
        let checkpoints = Checkpoints::new(home, &self.located)?;
        checkpoints.forget(self.references.iter().map(|one| one.name.as_str()))
    }
}

/// The checkpoints of the runs that a request affects. `here` is a folder that may not be in the journal yet.
fn meant(home: &Home, here: &Path, request: &ForgetRequest) -> Result<Vec<InRepository>, EraseError> {
    let affected = affected(home, request)?;
    let mut found = Vec::new();
    for (project, located) in repositories(home, here, |project| affected.concerns(project))? {
        let checkpoints = Checkpoints::new(home, &located)?;
        let mut references = checkpoints.references()?;
        references.retain(|one| affected.contains(&project, one));
        if let ForgetRequest::Paths(paths) = request {
            let mut with_file = Vec::new();
            for one in references {
                if checkpoints.changed_files(&one)?.iter().any(|(path, _)| paths.glob.matches(path)) {
                    with_file.push(one);
                }
            }
            references = with_file;
        }
        if !references.is_empty() {
            found.push(InRepository { located, references });
        }
    }
    Ok(found)
}

/// The checkpoints whose files contain a secret that is not in the commit they are based on.
fn with_secrets(home: &Home, here: &Path) -> Result<(Vec<Finding>, Vec<InRepository>), EraseError> {
    let looped: HashSet<ProjectId> = LoopLedger::all(home)?.iter().map(|ledger| ledger.project().clone()).collect();
    let (mut findings, mut found) = (Vec::new(), Vec::new());
    for (_, located) in repositories(home, here, |project| looped.contains(project))? {
        let checkpoints = Checkpoints::new(home, &located)?;
        // Most files are the same in many checkpoints.
        let mut known: HashMap<String, Vec<String>> = HashMap::new();
        let mut references = checkpoints.references()?;
        let mut has_secret = HashSet::new();
        for one in &references {
            for (path, blob) in checkpoints.changed_files(one)? {
                let kinds = known.entry(blob).or_insert_with_key(|blob| {
                    checkpoints.text_of(blob).map_or_else(Vec::new, |text| secrets_in(home.cleaner(), &text))
                });
                if !kinds.is_empty() {
                    has_secret.insert(one.name.clone());
                    let file = format!("{} in {}", one.name, located.root.display());
                    findings.push(Finding { file, at: path, kinds: kinds.clone() });
                }
            }
        }
        references.retain(|one| has_secret.contains(&one.name));
        if !references.is_empty() {
            found.push(InRepository { located, references });
        }
    }
    Ok((findings, found))
}
