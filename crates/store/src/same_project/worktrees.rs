//! Joins folders that no longer exist with the repository whose worktrees they were. The core decides; the join is a
//! record, so that it outlives the view, and the user's own answer about the two comes before it.

use std::collections::{BTreeMap, HashSet};
use std::path::Path;

use cerberus_os::clock::Clock;
use cerberus_os::home::Home;
use cerberus_record::event::Event;
use cerberus_record::id::{Agent, ProjectId};
use cerberus_record::project::worktrees::{GoneFolder, StandingRepository, owner};
use cerberus_record::time::Timestamp;

use super::joined::Projects;
use super::repository::{Effort, record_changes};
use crate::journal;
use crate::journal::own_record;
use crate::project::identity::{self, Located};
use crate::project::{privacy, tracked};
use crate::view::fold::{self, FoldError};
use crate::view::{self, Store};

/// A repository, and the folders that were joined with it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct JoinedWorktrees {
    pub name: String,
    pub folders: Vec<String>,
}

/// Joins what can be joined. Returns what is new.
pub fn join_gone(home: &Home, clock: &Clock, store: &mut Store) -> Result<Vec<JoinedWorktrees>, FoldError> {
    let (gone, standing) = folders(home, store, clock.now)?;
    let projects = Projects::load(store, clock.now)?;
    let answers = store.answers(clock.now)?;
    let repositories: Vec<StandingRepository> = standing.iter().map(|(repository, _)| repository.clone()).collect();
    let mut joined: BTreeMap<String, Vec<String>> = BTreeMap::new();
    let (mut records, mut owners) = (Vec::new(), BTreeMap::new());
    for folder in &gone {
        let Some(found) = owner(folder, &repositories) else { continue };
        let pair = [&folder.project, &found.project];
        let is_known = projects.representative(pair[0]) == projects.representative(pair[1])
            || answers.iter().any(|said| pair.contains(&&said.project) && pair.contains(&&said.other));
        let located = standing.iter().find(|(repository, _)| repository.project == found.project);
        let Some((_, located)) = located.filter(|_| !is_known) else { continue };
        let key = format!("worktree-{}-{}", folder.project.as_str(), found.project.as_str());
        let event = Event::SameProject { other: folder.project.clone(), is_found: true };
        let location = located.location(home.cleaner());
        records.push(own_record(home, clock, Agent::MANUAL, "", location, key, event));
        owners.insert(&found.project, located);
        joined.entry(found.name.clone()).or_default().push(folder.root.clone());
    }
    journal::append_all(home, clock.wall, &records)?;
    fold::fold(home, store)?;
    // The repository gives them all its name.
    for located in owners.into_values() {
        record_changes(home, clock, store, located, Effort::WithGit)?;
    }
    Ok(joined.into_iter().map(|(name, folders)| JoinedWorktrees { name, folders }).collect())
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
