//! Where to look for an agent's files: the environment variables and the project's folder.
//!
//! The caller passes a function that reads variables, so that tests need not change the environment.

use std::ffi::OsString;
use std::path::PathBuf;

use cerberus_os::platform;

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
        Some(self.folder(platform::USER_FOLDER)?.join(name))
    }

    /// The user whose files are the caller's own, as a number.
    pub fn user(&self) -> Option<u32> {
        platform::user(self.folder(platform::USER_FOLDER).as_deref())
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
        let files = platform::program_files(name);
        let found = dirs.flat_map(|dir| files.iter().map(move |file| dir.join(file)).collect::<Vec<_>>());
        found.filter(|file| platform::is_program(file)).collect()
    }
}
