//! Where to look for an agent's files: the environment variables and the project's folder.
//!
//! The caller passes a function that reads variables, so that tests need not change the environment.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

pub struct Surroundings<'a> {
    variable: &'a dyn Fn(&str) -> Option<OsString>,
    pub project: PathBuf,
    /// Whether the user asked for our status line.
    pub wants_status_line: bool,
}

impl<'a> Surroundings<'a> {
    pub fn new(variable: &'a dyn Fn(&str) -> Option<OsString>, project: PathBuf) -> Surroundings<'a> {
        Surroundings { variable, project, wants_status_line: false }
    }

    /// A folder below the user's home.
    pub fn in_home(&self, name: &str) -> Option<PathBuf> {
        Some(self.folder("HOME")?.join(name))
    }

    /// The folder that an environment variable names.
    pub fn folder(&self, variable: &str) -> Option<PathBuf> {
        let named = (self.variable)(variable).filter(|value| !value.is_empty())?;
        std::path::absolute(named).ok()
    }

    /// The program that a shell would start for this name.
    pub fn on_path(&self, name: &str) -> Option<PathBuf> {
        self.all_on_path(name).into_iter().next()
    }

    /// All programs with this name on PATH, in order.
    pub fn all_on_path(&self, name: &str) -> Vec<PathBuf> {
        let path = (self.variable)("PATH").unwrap_or_default();
        let dirs = std::env::split_paths(&path).filter(|dir| dir.is_absolute());
        dirs.map(|dir| dir.join(name)).filter(|file| is_program(file)).collect()
    }
}

pub(super) fn is_program(path: &Path) -> bool {
    use std::os::unix::fs::PermissionsExt;
    path.metadata().is_ok_and(|known| known.is_file() && known.permissions().mode() & 0o111 != 0)
}
