//! Whether anything may be stored here and now: not while paused, not for a private project, and not with a
//! `.nocerberus` at the top of the project.
//!
//! A hook pays for this with two checks for files that usually do not exist, and one for the settings. If a file cannot
//! be read, nothing is stored.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use cerberus_os::clock::Clock;
use cerberus_os::home::{Home, create_dir};
use cerberus_record::id::ProjectId;
use cerberus_record::time::Timestamp;
use serde::{Deserialize, Serialize};

use crate::project::identity::Located;
use crate::project::{past_pauses, tracked};

/// At the top of a project, or of the main worktree of a linked one: nothing is stored for the project, and no brief is given in it.
pub const OPT_OUT_FILE: &str = ".nocerberus";

/// A list of projects.
const PROJECTS_BYTES_MAX: u64 = 1024 * 1024;

/// Why nothing is stored.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum StorageBlock {
    Paused { scope: PauseScope, until: Option<Timestamp> },
    PrivateProject(PathBuf),
    OptedOut(PathBuf),
}

/// What a pause applies to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PauseScope {
    Everywhere,
    Project,
}

impl std::fmt::Display for StorageBlock {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            StorageBlock::Paused { scope, until } => {
                f.write_str(if *scope == PauseScope::Everywhere { "paused" } else { "paused for this project" })?;
                until.map_or(Ok(()), |until| write!(f, " until {until}"))
            }
            StorageBlock::PrivateProject(folder) => {
                write!(f, "nothing is stored for {}: it is listed in private.projects in config.toml", folder.display())
            }
            StorageBlock::OptedOut(file) => {
                write!(f, "nothing is stored for this project: it contains {}", file.display())
            }
        }
    }
}

/// Why hooks store and tell nothing here and now; `None` if they may.
pub fn storage_block(home: &Home, now: Timestamp, located: &Located) -> Option<StorageBlock> {
    permanent_block(home, located).or_else(|| paused_here(home, now, located))
}

/// The pause that holds here and now; `None` if there is none.
pub fn paused_here(home: &Home, now: Timestamp, located: &Located) -> Option<StorageBlock> {
    paused(home, now, Some(&located.project))
}

/// Why nothing of this project may ever be stored, not even by a command; `None` if it may.
pub fn permanent_block(home: &Home, located: &Located) -> Option<StorageBlock> {
    let roots = || [Some(&located.root), located.main_root.as_ref()].into_iter().flatten();
    let is_private = |folder: &&PathBuf| home.privacy_rules().is_private_project(&folder.to_string_lossy());
    if let Some(folder) = std::iter::once(&located.cwd).chain(roots()).find(is_private) {
        return Some(StorageBlock::PrivateProject(folder.clone()));
    }
    roots().map(|root| root.join(OPT_OUT_FILE)).find(|file| is_there(file)).map(StorageBlock::OptedOut)
}

/// The same, if the user wants it so: not by a `.nocerberus` that somebody committed and the user has not confirmed.
pub fn users_block(home: &Home, located: &Located) -> Option<StorageBlock> {
    permanent_block(home, located).filter(|_| unconfirmed_opt_out(home, located).is_none())
}

/// The `.nocerberus` that somebody committed and the user has not confirmed. Nothing is stored then, but checks stay on:
/// whoever writes to a repository must not switch off what the user wants. Reads git's index, but only if the file is
/// there.
pub fn unconfirmed_opt_out(home: &Home, located: &Located) -> Option<PathBuf> {
    let Some(StorageBlock::OptedOut(file)) = permanent_block(home, located) else { return None };
    let Located { root, git_dir, main_root, common_dir, .. } = located;
    let trees = [Some((root, git_dir)), main_root.as_ref().map(|root| (root, common_dir))];
    let mut with_file = trees.into_iter().flatten().filter(|(root, _)| is_there(&root.join(OPT_OUT_FILE)));
    let is_committed = with_file.all(|(_, git)| git.as_ref().is_some_and(|git| tracked::may_hold(git, OPT_OUT_FILE)));
    (is_committed && !confirmed(home).contains(&located.project)).then_some(file)
}

/// The user agrees with the `.nocerberus` that somebody committed here, once and for all. Does nothing if there is none.
pub fn confirm_opt_out(home: &Home, located: &Located) -> io::Result<()> {
    if unconfirmed_opt_out(home, located).is_none() {
        return Ok(());
    }
    let mut confirmed = confirmed(home);
    confirmed.push(located.project.clone());
    create_dir(home.root())?;
    home.replace(&home.confirmed(), &serde_json::to_vec(&confirmed)?)
}

/// What cannot be read is not the user's word.
fn confirmed(home: &Home) -> Vec<ProjectId> {
    let text = home.text(&home.confirmed(), PROJECTS_BYTES_MAX).unwrap_or_default();
    serde_json::from_slice(text.as_bytes()).unwrap_or_default()
}

pub(super) fn is_there(path: &Path) -> bool {
    !matches!(fs::symlink_metadata(path), Err(error) if is_absence(&error))
}

fn is_absence(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory)
}

/// The contents of the file of pauses.
#[derive(Debug, Default, Serialize, Deserialize)]
struct PauseFile {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    everywhere: Option<Pause>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    projects: Vec<ProjectPause>,
}

#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
struct Pause {
    /// `None`: until the user lifts it.
    until: Option<Timestamp>,
}

impl Pause {
    fn holds(self, now: Timestamp) -> bool {
        self.until.is_none_or(|until| now < until)
    }
}

#[derive(Debug, Serialize, Deserialize)]
struct ProjectPause {
    project: ProjectId,
    #[serde(flatten)]
    pause: Pause,
}

/// Why nothing is stored anywhere now; `None` unless everything is paused.
pub fn paused_everywhere(home: &Home, now: Timestamp) -> Option<StorageBlock> {
    paused(home, now, None)
}

fn paused(home: &Home, now: Timestamp, project: Option<&ProjectId>) -> Option<StorageBlock> {
    if !is_there(&home.paused()) {
        return None;
    }
    // Whoever sets the time does not end a pause with it.
    let now = now.min(Clock::new(None).wall);
    let text = home.text(&home.paused(), PROJECTS_BYTES_MAX).unwrap_or_default();
    // The file is damaged: the user asked for a pause, but until when is lost.
    let Ok(paused) = serde_json::from_slice::<PauseFile>(text.as_bytes()) else {
        return Some(StorageBlock::Paused { scope: PauseScope::Everywhere, until: None });
    };
    let of_project = paused.projects.iter().filter(|known| Some(&known.project) == project).map(|known| known.pause);
    let pauses = paused.everywhere.into_iter().map(|pause| (PauseScope::Everywhere, pause));
    let mut pauses = pauses.chain(of_project.map(|pause| (PauseScope::Project, pause)));
    let (scope, pause) = pauses.find(|(_, pause)| pause.holds(now))?;
    Some(StorageBlock::Paused { scope, until: pause.until })
}

/// Pauses hooks until the given time, or until the pause is lifted. A pause survives restarts.
pub fn pause(
    home: &Home,
    now: Timestamp,
    located: &Located,
    scope: PauseScope,
    until: Option<Timestamp>,
) -> io::Result<()> {
    let mut paused = still_paused(home, now);
    match scope {
        PauseScope::Everywhere => paused.everywhere = Some(Pause { until }),
        PauseScope::Project => {
            paused.projects.retain(|known| known.project != located.project);
            paused.projects.push(ProjectPause { project: located.project.clone(), pause: Pause { until } });
        }
    }
    write(home, &paused)?;
    past_pauses::begin(home, now, scope_project(located, scope), until)
}

/// Lifts the pause of this project, or every pause.
pub fn unpause(home: &Home, now: Timestamp, located: &Located, scope: PauseScope) -> io::Result<()> {
    past_pauses::end(home, now, scope_project(located, scope))?;
    let mut paused = still_paused(home, now);
    paused.projects.retain(|known| known.project != located.project);
    if scope == PauseScope::Everywhere || (paused.everywhere.is_none() && paused.projects.is_empty()) {
        return match fs::remove_file(home.paused()) {
            Err(error) if !is_absence(&error) => Err(error),
            _ => Ok(()),
        };
    }
    write(home, &paused)
}

fn scope_project(located: &Located, scope: PauseScope) -> Option<&ProjectId> {
    (scope == PauseScope::Project).then_some(&located.project)
}

/// The pauses that have not expired.
fn still_paused(home: &Home, now: Timestamp) -> PauseFile {
    let text = home.text(&home.paused(), PROJECTS_BYTES_MAX).unwrap_or_default();
    let mut paused: PauseFile = serde_json::from_slice(text.as_bytes()).unwrap_or_default();
    paused.projects.retain(|known| known.pause.holds(now));
    paused.everywhere = paused.everywhere.filter(|pause| pause.holds(now));
    paused
}

fn write(home: &Home, paused: &PauseFile) -> io::Result<()> {
    create_dir(home.root())?;
    home.replace(&home.paused(), &serde_json::to_vec(paused)?)
}
