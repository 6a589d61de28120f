//! Which projects are the same as the project of a folder, because the folder was moved or cloned, or because the user said
//! so. `record` decides; this module gives it what the view and the disk know, and records the user's answers.

use std::collections::HashMap;
use std::hash::{BuildHasher, RandomState};
use std::path::Path;

use cerberus_os::clock::Clock;
use cerberus_os::home::Home;
use cerberus_record::event::Event;
use cerberus_record::id::{Agent, ProjectId};
use cerberus_record::memory::Scope;
use cerberus_record::project::join::{self, Groups, JoinAnswer, KnownProject, Reason};
use cerberus_record::time::Timestamp;

use crate::journal;
use crate::journal::own_record;
use crate::project::identity::{self, Located};
use crate::view::fold::{self, FoldError};
use crate::view::{self, RepositoryRow, SessionRow, Store};

/// All ids and names under which a project's sessions and memories are stored.
#[derive(Clone, Debug)]
pub struct JoinedProject {
    /// Its own id first. Includes the ids of projects that are known by name only.
    pub ids: Vec<ProjectId>,
    /// Its names in all of its folders, the current one first.
    pub names: Vec<String>,
}

/// The same project in another folder, or one that may be the same.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Member {
    pub project: ProjectId,
    /// Its name there.
    pub name: String,
    /// The top of its worktree. Empty if it is not known.
    pub root: String,
    /// Why it is the same. `None` if that is not certain.
    pub reason: Option<Reason>,
}

/// All ids and names of the project of a folder.
pub fn joined(store: &Store, located: &Located, now: Timestamp) -> view::Result<JoinedProject> {
    let mut ids = vec![located.project.clone()];
    let mut names = vec![located.name.clone()];
    for member in Projects::load(store, now)?.joined(store, &located.project)? {
        ids.push(member.project);
        if !member.name.is_empty() && !names.contains(&member.name) {
            names.push(member.name);
        }
    }
    ids.extend(names.iter().map(|name| ProjectId::of_name(name)));
    Ok(JoinedProject { ids, names })
}

impl JoinedProject {
    pub fn has(&self, project: &ProjectId) -> bool {
        self.ids.contains(project)
    }

    /// The scopes of memories that hold in this project alone.
    pub fn scopes(&self) -> Vec<String> {
        self.names.iter().map(|name| Scope::Project(name.clone()).to_string()).collect()
    }
}

/// What is known about all projects at one time.
pub struct Projects {
    repositories: HashMap<ProjectId, RepositoryRow>,
    groups: Groups,
    now: Timestamp,
}

impl Projects {
    pub fn load(store: &Store, now: Timestamp) -> view::Result<Projects> {
        let rows = store.repositories(now)?;
        let answers = store.answers(now)?.into_iter();
        let answers: Vec<JoinAnswer> = answers
            .map(|said| JoinAnswer {
                one: said.project,
                other: said.other,
                is_same: said.is_same,
                is_found: said.is_found,
            })
            .collect();
        let mut first_commits: HashMap<&str, usize> = HashMap::new();
        rows.iter().filter_map(|row| row.root_commit.as_deref()).for_each(|commit| {
            *first_commits.entry(commit).or_default() += 1;
        });
        // Whether a folder exists matters only if another repository has the same first commit.
        let may_be_moved =
            |row: &RepositoryRow| row.root_commit.as_deref().is_some_and(|commit| first_commits.get(commit) > Some(&1));
        let known = |row: &RepositoryRow| KnownProject {
            project: row.project.clone(),
            folder: row.folder.clone(),
            is_there: !may_be_moved(row) || Path::new(&row.folder).symlink_metadata().is_ok(),
            origin: row.origin.clone(),
            root_commit: row.root_commit.clone(),
            name: row.name.clone(),
        };
        let groups = join::groups(&rows.iter().map(known).collect::<Vec<_>>(), &answers);
        let repositories = rows.into_iter().map(|row| (row.project.clone(), row)).collect();
        Ok(Projects { repositories, groups, now })
    }

    /// The same project in other folders.
    pub fn joined(&self, store: &Store, project: &ProjectId) -> view::Result<Vec<Member>> {
        let joined = self.groups.joined(project).into_iter();
        joined.map(|(other, reason)| self.member(store, other, Some(reason))).collect()
    }

    /// Projects that may be the same and that the user has not answered about.
    pub fn questions(&self, store: &Store, project: &ProjectId) -> view::Result<Vec<Member>> {
        self.groups.questions(project).into_iter().map(|other| self.member(store, other, None)).collect()
    }

    /// One fixed member of the project's group, the same for all members.
    pub fn representative<'a>(&'a self, project: &'a ProjectId) -> &'a ProjectId {
        self.groups.representative(project)
    }

    /// The names of all projects that are in several folders.
    pub fn names(&self) -> SharedNames<'_> {
        let mut rows: Vec<&RepositoryRow> = self.repositories.values().collect();
        rows.sort_by_key(|row| (row.at, row.event));
        // The repository that was seen last names them all.
        let names = rows.into_iter().map(|row| (self.representative(&row.project), row.project_name.as_str()));
        SharedNames { projects: self, names: names.collect() }
    }

    /// What is known about a project's repository.
    pub fn repository(&self, project: &ProjectId) -> Option<&RepositoryRow> {
        self.repositories.get(project)
    }

    fn member(&self, store: &Store, project: &ProjectId, reason: Option<Reason>) -> view::Result<Member> {
        let (name, root) = match self.repositories.get(project) {
            Some(row) => (row.project_name.clone(), row.root.clone()),
            None => store.last_place(project, self.now)?.unwrap_or_default(),
        };
        Ok(Member { project: project.clone(), name, root, reason })
    }
}

/// Which folders are one project, and what it is called.
pub struct SharedNames<'p> {
    projects: &'p Projects,
    /// By the project that stands for its group.
    names: HashMap<&'p ProjectId, &'p str>,
}

impl SharedNames<'_> {
    /// The project of a session, whichever of its folders the session ran in: an id that all of them share, and the name
    /// of the folder that is a repository, if one of them is known to be.
    pub fn of<'a>(&'a self, session: &'a SessionRow) -> (&'a ProjectId, &'a str) {
        let shared = self.projects.representative(&session.project);
        (shared, self.names.get(shared).copied().unwrap_or(session.project_name.as_str()))
    }
}

/// Finds a project by its id, or by its folder, which may no longer exist.
pub fn find(store: &Store, cwd: &Path, meant: &str, now: Timestamp) -> view::Result<Option<ProjectId>> {
    let id = ProjectId::from_stored(meant.to_string());
    if store.repository(&id)?.is_some() || store.last_place(&id, now)?.is_some() {
        return Ok(Some(id));
    }
    let path = cwd.join(meant);
    if path.is_dir() {
        return Ok(Some(identity::locate(&path).project));
    }
    store.project_at(&identity::normal(&path).to_string_lossy(), now)
}

/// Records the user's answer about this project and another. The last answer holds.
pub fn answer(
    home: &Home,
    clock: &Clock,
    store: &mut Store,
    located: &Located,
    other: &ProjectId,
    is_same: bool,
) -> Result<(), FoldError> {
    // Unique, because the user may give the same answer again.
    let unique = RandomState::new().hash_one((std::process::id(), clock.wall.millis()));
    let key = format!("project-{unique:016x}");
    let other = other.clone();
    let event = if is_same { Event::SameProject { other, is_found: false } } else { Event::SeparateProject { other } };
    let record = own_record(home, clock, Agent::MANUAL, "", located.location(home.cleaner()), key, event);
    journal::append(home, clock.wall, &record)?;
    fold::fold(home, store)
}
