//! Folders that no longer exist, and the repositories whose worktrees they were. `record` decides what is certain; about the
//! rest the user is asked. A join is a record, so that it outlives the view, and the user's own answer about the two comes
//! before it.

use std::collections::{BTreeMap, HashSet};
use std::path::Path;

use cerberus_os::clock::Clock;
use cerberus_os::home::Home;
use cerberus_record::event::Event;
use cerberus_record::id::{Agent, ProjectId};
use cerberus_record::project::worktrees::{GoneFolder, StandingRepository, WorktreeFit, owner};
use cerberus_record::time::Timestamp;

use super::joined::Projects;
use super::repository::{Effort, record_changes};
use crate::journal;
use crate::journal::own_record;
use crate::project::identity::{self, Located};
use crate::project::{privacy, tracked};
use crate::view::fold::{self, FoldError};
use crate::view::{self, Store};

/// A folder that no longer exists.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GoneRoot {
    project: ProjectId,
    pub root: String,
}

/// A repository, and the folders about which nobody has answered.
#[derive(Debug)]
pub struct GoneWorktrees {
    pub repository: Located,
    /// They were its worktrees.
    pub certain: Vec<GoneRoot>,
    /// They look like its worktrees.
    pub likely: Vec<GoneRoot>,
}

/// Finds the worktrees that are gone, by repository.
pub fn gone(home: &Home, store: &Store, now: Timestamp) -> view::Result<Vec<GoneWorktrees>> {
    let (gone, standing) = folders(home, store, now)?;
    let projects = Projects::load(store, now)?;
    let answers = store.answers(now)?;
    let (repositories, mut located): (Vec<StandingRepository>, BTreeMap<ProjectId, Located>) =
        standing.into_iter().map(|(repository, located)| (repository, (located.project.clone(), located))).unzip();
    let mut found: BTreeMap<(&str, &ProjectId), [Vec<GoneRoot>; 2]> = BTreeMap::new();
    for folder in gone {
        let Some((owner, fit)) = owner(&folder, &repositories) else { continue };
        let pair = [&folder.project, &owner.project];
        let is_known = projects.representative(pair[0]) == projects.representative(pair[1])
            || answers.iter().any(|said| pair.contains(&&said.project) && pair.contains(&&said.other));
        if !is_known {
            let [certain, likely] = found.entry((&owner.name, &owner.project)).or_default();
            let of_fit = if fit == WorktreeFit::Certain { certain } else { likely };
            of_fit.push(GoneRoot { project: folder.project, root: folder.root });
        }
    }
    let of_repository = |((_, project), [certain, likely]): ((&str, &ProjectId), [Vec<GoneRoot>; 2])| {
        Some(GoneWorktrees { repository: located.remove(project)?, certain, likely })
    };
    Ok(found.into_iter().filter_map(of_repository).collect())
}

/// Who says that the folders were worktrees of the repository, or that they were not.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WorktreeAnswer {
    Found,
    Same,
    Other,
}

/// Records what became of folders that no longer exist.
pub fn answer(
    home: &Home,
    clock: &Clock,
    store: &mut Store,
    repository: &Located,
    folders: &[GoneRoot],
    answer: WorktreeAnswer,
) -> Result<(), FoldError> {
    let record = |GoneRoot { project: other, .. }: &GoneRoot| {
        let (word, event) = match answer {
            WorktreeAnswer::Found => ("worktree", Event::SameProject { other: other.clone(), is_found: true }),
            WorktreeAnswer::Same => ("same", Event::SameProject { other: other.clone(), is_found: false }),
            WorktreeAnswer::Other => ("separate", Event::SeparateProject { other: other.clone() }),
        };
        let key = format!("{word}-{}-{}", other.as_str(), repository.project.as_str());
        own_record(home, clock, Agent::MANUAL, "", repository.location(home.cleaner()), key, event)
    };
    journal::append_all(home, clock.wall, &folders.iter().map(record).collect::<Vec<_>>())?;
    fold::fold(home, store)?;
    // The repository gives them all its name.
    if answer != WorktreeAnswer::Other {
        record_changes(home, clock, store, repository, Effort::WithGit)?;
    }
    Ok(())
}

type Standing = Vec<(StandingRepository, Located)>;

/// The folders of this device's sessions that are gone, and those that are repositories.
fn folders(home: &Home, store: &Store, now: Timestamp) -> view::Result<(Vec<GoneFolder>, Standing)> {
    let mut roots: BTreeMap<ProjectId, (String, bool)> = BTreeMap::new();
    for session in store.sessions(&[], Timestamp::EPOCH, now)? {
        if session.device.is_none() {
            let known = roots.entry(session.project).or_default();
            *known = (session.root, known.1 || session.branch.is_some());
        }
    }
    let (mut gone, mut standing) = (Vec::new(), Vec::new());
    for (project, (root, had_branch)) in roots {
        let located = identity::locate(Path::new(&root));
        if privacy::permanent_block(home, &located).is_some() {
            continue;
        }
        let named = store.all_files(std::slice::from_ref(&project))?;
        let is_inside = |file: &String| !file.starts_with('/');
        if Path::new(&root).symlink_metadata().is_err() {
            let files = named.into_iter().filter(is_inside).collect();
            gone.push(GoneFolder { project, root, had_branch, files });
        } else if let Some(git_dir) = located.git_dir.clone().filter(|_| located.project == project) {
            let files: HashSet<String> = named.into_iter().filter(is_inside).chain(tracked::paths(&git_dir)).collect();
            let name = located.name.clone();
            standing.push((StandingRepository { project, name, files }, located));
        }
    }
    Ok((gone, standing))
}
