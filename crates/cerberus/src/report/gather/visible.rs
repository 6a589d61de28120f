//! Which sessions and memories may be shown: nothing of a project that is private or opted out now.

use std::collections::{HashMap, HashSet};
use std::path::Path;

use cerberus_os::home::Home;
use cerberus_record::id::ProjectId;
use cerberus_record::memory::Scope;
use cerberus_store::project::{identity, privacy};
use cerberus_store::view::{MemoryRow, SessionRow};

pub struct Visible<'a> {
    home: &'a Home,
    /// By the folder of the session.
    folders: HashMap<String, bool>,
    hidden: HashSet<ProjectId>,
    hidden_names: HashSet<String>,
    shown_names: HashSet<String>,
}

impl<'a> Visible<'a> {
    pub fn new(home: &'a Home) -> Visible<'a> {
        let (hidden, hidden_names, shown_names) = (HashSet::new(), HashSet::new(), HashSet::new());
        Visible { home, folders: HashMap::new(), hidden, hidden_names, shown_names }
    }

    pub fn shows(&mut self, session: &SessionRow) -> bool {
        let is_shown = self.shows_folder(&session.root) && self.shows_folder(&session.cwd);
        let names = if is_shown { &mut self.shown_names } else { &mut self.hidden_names };
        names.insert(session.project_name.clone());
        if !is_shown {
            self.hidden.insert(session.project.clone());
        }
        is_shown
    }

    fn shows_folder(&mut self, folder: &str) -> bool {
        if let Some(known) = self.folders.get(folder) {
            return *known;
        }
        // As it was recorded, and as it is now: it may be gone.
        let is_private = self.home.privacy_rules().is_private_project(folder);
        let is_shown =
            !is_private && privacy::permanent_block(self.home, &identity::locate(Path::new(folder))).is_none();
        self.folders.insert(folder.to_string(), is_shown);
        is_shown
    }

    /// To be asked after all sessions. A memory that does not say its project is known by the project's name.
    pub fn shows_memory(&self, row: &MemoryRow) -> bool {
        match (&row.memory.project, row.scope()) {
            (Some(project), _) => !self.hidden.contains(project),
            (None, Scope::Project(name)) => !self.hidden_names.contains(&name) || self.shown_names.contains(&name),
            (None, _) => true,
        }
    }
}
