//! What of a record may be stored: nothing of private files, and nothing of other projects that the user opted out.
//!
//! A path is looked up on the disk at most once. Folders up to the top of the session's own project are looked at too,
//! because an opted-out repository may lie inside of another one.

use std::borrow::Cow;
use std::cell::RefCell;
use std::collections::{BTreeMap, HashMap};
use std::fs;
use std::path::{Path, PathBuf};

use cerberus_os::home::Home;
use cerberus_os::platform::real_path;
use cerberus_record::event::{Event, Location, Record};
use cerberus_record::private::projects::OtherProjects;

use super::identity::{locate, normal};
use super::privacy::{OPT_OUT_FILE, is_there, permanent_block};

pub struct OptedOut<'h> {
    home: &'h Home,
    /// The folders that were looked at, and whether they belong to a project of which nothing is stored.
    known: RefCell<BTreeMap<PathBuf, bool>>,
    named: RefCell<NamedPaths>,
}

/// The paths that texts of one folder name, as they are written, and whether they lead into such a project.
#[derive(Default)]
struct NamedPaths {
    root: PathBuf,
    cwd: PathBuf,
    known: HashMap<String, bool>,
}

/// How many paths are remembered, as they are written. A longer one is looked up again.
const NAMED_MAX: usize = 10_000;
const NAMED_BYTES_MAX: usize = 256;

impl<'h> OptedOut<'h> {
    pub fn new(home: &'h Home) -> OptedOut<'h> {
        OptedOut { home, known: RefCell::default(), named: RefCell::default() }
    }

    /// The record's event as it may be stored; `None` if all of it may.
    pub fn hidden<'a>(&self, record: &Record<'a>) -> Option<Event<'a>> {
        self.hidden_at(&record.location, &record.event)
    }

    /// The same for an event of a session in this place.
    pub fn hidden_at<'a>(&self, location: &Location, event: &Event<'a>) -> Option<Event<'a>> {
        let of_others = self.without_other_projects(location, event);
        let event = of_others.as_ref().unwrap_or(event);
        self.home.privacy_rules().hide(self.home.cleaner(), event).or(of_others)
    }

    fn without_other_projects<'a>(&self, location: &Location, event: &Event<'a>) -> Option<Event<'a>> {
        let (root, cwd) = (Path::new(&*location.root), Path::new(&*location.cwd));
        if !root.is_absolute() {
            return None;
        }
        let is_shut = |folder: &str, path: &str| self.leads_there(root, cwd, folder, path);
        OtherProjects { cleaner: self.home.cleaner(), root: &location.root, is_shut: &is_shut }.hide(event)
    }

    /// Whether a text of a session in this project and folder names a path in such a project.
    pub fn is_named_in(&self, root: &Path, cwd: &Path, text: &str) -> bool {
        let is_shut = |folder: &str, path: &str| self.leads_there(root, cwd, folder, path);
        OtherProjects { cleaner: self.home.cleaner(), root: &root.to_string_lossy(), is_shut: &is_shut }
            .is_named_in(text)
    }

    fn leads_there(&self, root: &Path, cwd: &Path, folder: &str, path: &str) -> bool {
        if !folder.is_empty() || path.len() > NAMED_BYTES_MAX {
            return self.is_shut_as_written(root, cwd, folder, path);
        }
        if let Some(known) = self.named.borrow().of(root, cwd).and_then(|known| known.get(path)) {
            return *known;
        }
        let is_shut = self.is_shut_as_written(root, cwd, folder, path);
        self.named.borrow_mut().note(root, cwd, path, is_shut);
        is_shut
    }

    fn is_shut_as_written(&self, root: &Path, cwd: &Path, folder: &str, path: &str) -> bool {
        let named = expanded(path);
        let is_shut_in = |base: &Path| match named.is_absolute() {
            true => self.is_shut(root, &normal(&named)),
            false => self.is_shut(root, &normal(&base.join(expanded(folder)).join(&named))),
        };
        // Tools print paths from the folder they run in, or from the top of the project.
        is_shut_in(cwd) || cwd != root && !path.starts_with(['/', '~', '$']) && is_shut_in(root)
    }

    /// Whether the file or folder belongs to a project of which nothing is stored, seen from the project at `root`.
    pub fn is_shut(&self, root: &Path, path: &Path) -> bool {
        if path == root {
            return false;
        }
        let is_private = |path: &Path| self.home.privacy_rules().is_private_project(&path.to_string_lossy());
        if is_private(path) {
            return true;
        }
        match fs::symlink_metadata(path) {
            // It may be the top of a project.
            Ok(found) if found.is_dir() && is_there(&path.join(OPT_OUT_FILE)) => return true,
            Ok(found) if found.is_symlink() => {
                if let Ok(real) = real_path(path) {
                    return self.is_shut(root, &real);
                }
            }
            _ => {}
        }
        let Some(folder) = path.parent() else { return false };
        if let Some(known) = self.known.borrow().get(folder) {
            return *known;
        }
        let is_shut = if folder.starts_with(root) {
            self.is_in_shut_below(root, folder)
        } else {
            let real = real_path(folder).unwrap_or_else(|_| folder.to_path_buf());
            (real != folder && is_private(&real)) || self.is_in_shut(root, &real)
        };
        self.known.borrow_mut().insert(folder.to_path_buf(), is_shut);
        is_shut
    }

    /// Looks at the folders below the session's own project, which is the usual case: two system calls for each.
    fn is_in_shut_below(&self, root: &Path, folder: &Path) -> bool {
        for above in folder.ancestors().take_while(|above| *above != root) {
            if fs::symlink_metadata(above).is_ok_and(|found| found.is_symlink()) {
                return real_path(folder).is_ok_and(|real| self.is_shut(root, &real));
            }
            if is_there(&above.join(OPT_OUT_FILE)) {
                return true;
            }
        }
        false
    }

    /// Looks at the folders from this one up to the top of its project.
    fn is_in_shut(&self, root: &Path, folder: &Path) -> bool {
        for folder in folder.ancestors().take_while(|folder| *folder != root) {
            if is_there(&folder.join(OPT_OUT_FILE)) {
                return true;
            }
            if is_there(&folder.join(".git")) {
                // A worktree of an opted-out project.
                return permanent_block(self.home, &locate(folder)).is_some();
            }
        }
        false
    }
}

impl NamedPaths {
    fn of(&self, root: &Path, cwd: &Path) -> Option<&HashMap<String, bool>> {
        (self.root.as_os_str() == root && self.cwd.as_os_str() == cwd).then_some(&self.known)
    }

    fn note(&mut self, root: &Path, cwd: &Path, path: &str, is_shut: bool) {
        if self.of(root, cwd).is_none() || self.known.len() >= NAMED_MAX {
            *self = NamedPaths { root: root.to_path_buf(), cwd: cwd.to_path_buf(), known: HashMap::new() };
        }
        self.known.insert(path.to_string(), is_shut);
    }
}

/// A path as a shell reads it.
fn expanded(path: &str) -> Cow<'_, Path> {
    let below_home = ["~", "$HOME", "${HOME}"].iter().find_map(|name| path.strip_prefix(name));
    let rest = below_home.filter(|rest| rest.is_empty() || rest.starts_with('/'));
    match rest.and_then(|rest| Some(std::env::home_dir()?.join(rest.trim_start_matches('/')))) {
        Some(path) => Cow::Owned(path),
        None => Cow::Borrowed(Path::new(path)),
    }
}
