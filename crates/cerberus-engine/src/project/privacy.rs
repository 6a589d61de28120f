//! May anything be stored here and now? Not while it is paused, not of a private project, not where a `.nocerberus`
//! stands at the top of the project.
//!
//! A hook pays for this with two looks at files that are not there, and one for the settings. What cannot be read counts as a no.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use cerberus_core::model::id::ProjectId;
use cerberus_core::model::time::Timestamp;
use serde::{Deserialize, Serialize};

use crate::os::home::{Home, create_dir};
use crate::project::identity::Located;

/// At the top of a project, or of the main worktree of a linked one: nothing of the project is stored or told.
pub const OPT_OUT_FILE: &str = ".nocerberus";

/// A line for every project that is paused.
const PAUSED_BYTES_MAX: u64 = 1024 * 1024;

/// Why nothing is stored.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Shut {
    Paused { whose: Reach, until: Option<Timestamp> },
    PrivateProject(PathBuf),
    OptedOut(PathBuf),
}

/// What a pause holds for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reach {
    Everywhere,
    Project,
}

impl std::fmt::Display for Shut {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Shut::Paused { whose, until } => {
                f.write_str(if *whose == Reach::Everywhere { "paused" } else { "paused for this project" })?;
                until.map_or(Ok(()), |until| write!(f, " until {until}"))
            }
            Shut::PrivateProject(folder) => {
                write!(f, "nothing is stored for {}: it is listed in private.projects in config.toml", folder.display())
            }
            Shut::OptedOut(file) => write!(f, "nothing is stored for this project: it contains {}", file.display()),
        }
    }
}

/// Why hooks store and tell nothing here and now.
pub fn shut(home: &Home, now: Timestamp, located: &Located) -> Option<Shut> {
    never_stored(home, located).or_else(|| paused(home, now, located))
}

/// Why nothing of this project is ever stored, whoever asks.
pub fn never_stored(home: &Home, located: &Located) -> Option<Shut> {
    let roots = || [Some(&located.root), located.main_root.as_ref()].into_iter().flatten();
    let is_private = |folder: &&PathBuf| home.privacy_rules().is_private_project(&folder.to_string_lossy());
    if let Some(folder) = std::iter::once(&located.cwd).chain(roots()).find(is_private) {
        return Some(Shut::PrivateProject(folder.clone()));
    }
    roots().map(|root| root.join(OPT_OUT_FILE)).find(|file| is_there(file)).map(Shut::OptedOut)
}

fn is_there(path: &Path) -> bool {
    !matches!(fs::symlink_metadata(path), Err(error) if is_absence(&error))
}

fn is_absence(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory)
}

/// The file of pauses.
#[derive(Debug, Default, Serialize, Deserialize)]
struct Paused {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    everywhere: Option<Pause>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    projects: Vec<ProjectPause>,
}

#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
struct Pause {
    /// None: until it is lifted.
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

fn paused(home: &Home, now: Timestamp, located: &Located) -> Option<Shut> {
    if !is_there(&home.paused()) {
        return None;
    }
    let text = home.text(&home.paused(), PAUSED_BYTES_MAX).unwrap_or_default();
    // A damaged file: the user asked for silence, for how long is lost.
    let Ok(paused) = serde_json::from_str::<Paused>(&text) else {
        return Some(Shut::Paused { whose: Reach::Everywhere, until: None });
    };
    let of_project = paused.projects.iter().filter(|known| known.project == located.project).map(|known| known.pause);
    let pauses = paused.everywhere.into_iter().map(|pause| (Reach::Everywhere, pause));
    let mut pauses = pauses.chain(of_project.map(|pause| (Reach::Project, pause)));
    let (whose, pause) = pauses.find(|(_, pause)| pause.holds(now))?;
    Some(Shut::Paused { whose, until: pause.until })
}

/// From now on hooks store and tell nothing, until then or until it is lifted. It outlives every restart.
pub fn pause(home: &Home, now: Timestamp, located: &Located, reach: Reach, until: Option<Timestamp>) -> io::Result<()> {
    let mut paused = still_paused(home, now);
    match reach {
        Reach::Everywhere => paused.everywhere = Some(Pause { until }),
        Reach::Project => {
            paused.projects.retain(|known| known.project != located.project);
            paused.projects.push(ProjectPause { project: located.project.clone(), pause: Pause { until } });
        }
    }
    write(home, &paused)
}

/// Lifts the pause of this project, or every pause.
pub fn unpause(home: &Home, now: Timestamp, located: &Located, reach: Reach) -> io::Result<()> {
    let mut paused = still_paused(home, now);
    paused.projects.retain(|known| known.project != located.project);
    if reach == Reach::Everywhere || (paused.everywhere.is_none() && paused.projects.is_empty()) {
        return match fs::remove_file(home.paused()) {
            Err(error) if !is_absence(&error) => Err(error),
            _ => Ok(()),
        };
    }
    write(home, &paused)
}

/// The pauses that have not run out.
fn still_paused(home: &Home, now: Timestamp) -> Paused {
    let text = home.text(&home.paused(), PAUSED_BYTES_MAX).unwrap_or_default();
    let mut paused: Paused = serde_json::from_str(&text).unwrap_or_default();
    paused.projects.retain(|known| known.pause.holds(now));
    paused.everywhere = paused.everywhere.filter(|pause| pause.holds(now));
    paused
}

fn write(home: &Home, paused: &Paused) -> io::Result<()> {
    create_dir(home.root())?;
    home.replace(&home.paused(), &serde_json::to_vec(paused)?)
}
