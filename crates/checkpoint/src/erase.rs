//! What is kept in the users' repositories: finds what a request to forget affects, and what contains secrets.
//!
//! A state is removed as a whole, because a tag cannot be edited. Only our own references are removed.

use std::collections::{BTreeSet, HashMap, HashSet};
use std::path::{Path, PathBuf};
use std::{fs, io};

use cerberus_os::home::Home;
use cerberus_os::outside;
use cerberus_recall::forget::ForgetRequest;
use cerberus_record::clean::Cleaner;
use cerberus_record::clean::secret::kinds_of;
use cerberus_record::id::ProjectId;
use cerberus_store::capability::{Capability, CapabilityError, Finding};
use cerberus_store::journal::{self, JournalError, JournalLine};
use cerberus_store::project::identity::{Located, locate};

use super::turns::Turn;
use super::{CheckpointError, Checkpoints};

/// Half a million references.
const PACKED_BYTES_MAX: u64 = 64 * 1024 * 1024;

#[derive(Debug, thiserror::Error)]
pub enum EraseError {
    #[error(transparent)]
    Journal(#[from] JournalError),
    #[error(transparent)]
    Checkpoint(#[from] CheckpointError),
    #[error("cannot read the loops: {0}")]
    Loops(#[from] std::io::Error),
}

/// Turns are kept in the users' repositories, and the names of their files in the home.
pub struct UndoCapability;

impl Capability for UndoCapability {
    fn forget(&self, home: &Home, _request: &ForgetRequest) -> io::Result<()> {
        let entries = match fs::read_dir(home.checkpoints_dir()) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
            entries => entries?,
        };
        // Where it is switched on stays; everything else is made again.
        for entry in entries {
            let entry = entry?;
            if entry.file_type()?.is_dir() {
                fs::remove_dir_all(entry.path())?;
            }
        }
        Ok(())
    }

    fn count_copies(&self, home: &Home, here: &Path, request: &ForgetRequest) -> Result<usize, CapabilityError> {
        Ok(meant(home, here, request)?.iter().map(|(_, turns)| turns.len()).sum())
    }

    fn remove_copies(&self, home: &Home, here: &Path, request: &ForgetRequest) -> Result<(), CapabilityError> {
        remove(home, &meant(home, here, request)?).map_err(Into::into)
    }

    fn secrets(&self, home: &Home, here: &Path) -> Result<Vec<Finding>, CapabilityError> {
        Ok(with_secrets(home, here)?.0)
    }

    fn remove_secrets(&self, home: &Home, here: &Path) -> Result<(), CapabilityError> {
        remove(home, &with_secrets(home, here)?.1).map_err(Into::into)
    }
}

/// Turns in one repository.
type RepositoryTurns = (Located, Vec<Turn>);

fn remove(home: &Home, found: &[RepositoryTurns]) -> Result<(), CheckpointError> {
    for (located, turns) in found {
        Checkpoints::new(home, located)?.forget(turns.iter().map(|turn| turn.name.as_str()))?;
    }
    Ok(())
}

/// The turns that a request affects. `here` is a folder that may not be in the journal yet.
fn meant(home: &Home, here: &Path, request: &ForgetRequest) -> Result<Vec<RepositoryTurns>, EraseError> {
    let mut found = Vec::new();
    let is_meant = |project: &ProjectId| match request {
        ForgetRequest::Projects { ids, .. } => ids.contains(project),
        ForgetRequest::Paths(paths) => paths.projects.contains(project),
        _ => true,
    };
    for (_, located) in repositories(home, here, is_meant)? {
        let checkpoints = Checkpoints::new(home, &located)?;
        let mut turns = Vec::new();
        for turn in checkpoints.every_turn()? {
            if is_affected(&checkpoints, &turn, request)? {
                turns.push(turn);
            }
        }
        if !turns.is_empty() {
            found.push((located, turns));
        }
    }
    Ok(found)
}

fn is_affected(checkpoints: &Checkpoints, turn: &Turn, request: &ForgetRequest) -> Result<bool, CheckpointError> {
    Ok(match request {
        ForgetRequest::Projects { .. } => true,
        ForgetRequest::Sessions(names) | ForgetRequest::Expired(names) => {
            let of = turn.saved.session.as_ref();
            of.is_some_and(|of| names.iter().any(|(agent, id)| agent.name() == of.agent && *id == of.id))
        }
        ForgetRequest::Between(since, until) => (*since..*until).contains(&turn.at),
        ForgetRequest::Paths(paths) => {
            checkpoints.files_since_base(&turn.name)?.iter().any(|(path, _)| paths.glob.matches(path))
        }
    })
}

/// The turns whose files contain a secret that is not in the commit they are based on.
fn with_secrets(home: &Home, here: &Path) -> Result<(Vec<Finding>, Vec<RepositoryTurns>), EraseError> {
    let (mut findings, mut found) = (Vec::new(), Vec::new());
    for (_, located) in repositories(home, here, |_| true)? {
        let checkpoints = Checkpoints::new(home, &located)?;
        // Most files are the same in many turns.
        let mut known: HashMap<String, Vec<String>> = HashMap::new();
        let mut turns = checkpoints.every_turn()?;
        let mut has_secret = HashSet::new();
        for turn in &turns {
            for (path, blob) in checkpoints.files_since_base(&turn.name)? {
                let kinds = known.entry(blob).or_insert_with_key(|blob| {
                    checkpoints.text_of(blob).map_or_else(Vec::new, |text| secrets_in(home.cleaner(), &text))
                });
                if !kinds.is_empty() {
                    has_secret.insert(turn.name.clone());
                    let file = format!("{} in {}", turn.name, located.root.display());
                    findings.push(Finding { file, at: path, kinds: kinds.clone() });
                }
            }
        }
        turns.retain(|turn| has_secret.contains(&turn.name));
        if !turns.is_empty() {
            found.push((located, turns));
        }
    }
    Ok((findings, found))
}

/// The kinds of secrets in a text.
pub fn secrets_in(cleaner: &Cleaner, text: &str) -> Vec<String> {
    kinds_of(&cleaner.redact(text), text)
}

/// The repositories of these projects, as far as they still exist. Worktrees share their references.
pub fn repositories(
    home: &Home,
    here: &Path,
    is_meant: impl Fn(&ProjectId) -> bool,
) -> Result<Vec<(ProjectId, Located)>, EraseError> {
    let mut roots = BTreeSet::from([here.to_path_buf()]);
    journal::each_line(home, |_, line| {
        if let JournalLine::Whole(sealed) = line
            && let Some(record) = sealed.record()
            && is_meant(&record.location.project)
            && !roots.contains(Path::new(&*record.location.root))
        {
            roots.insert(PathBuf::from(&*record.location.root));
        }
    })?;
    let mut found: Vec<(ProjectId, Located)> = Vec::new();
    for located in roots.iter().filter(|root| root.is_dir()).map(|root| locate(root)) {
        let is_new = found.iter().all(|(project, _)| *project != located.project);
        if may_have_references(&located) && is_meant(&located.project) && is_new {
            found.push((located.project.clone(), located));
        }
    }
    Ok(found)
}

/// A quick look, so that git is not needed where there is nothing of ours.
pub fn may_have_references(located: &Located) -> bool {
    let Some(common_dir) = &located.common_dir else { return false };
    let is_packed = |text: String| text.contains("refs/cerberus/");
    common_dir.join("refs/cerberus").is_dir()
        || common_dir.join("reftable").is_dir()
        || outside::text(&common_dir.join("packed-refs"), PACKED_BYTES_MAX).is_ok_and(is_packed)
}
