//! Where the user wants turns to be kept: `checkpoints/on` in the home. It is off everywhere until `cerberus undo --on`.

use std::collections::BTreeSet;
use std::fs;
use std::io;
use std::path::PathBuf;

use cerberus_os::home::{Home, create_dir};
use cerberus_record::id::ProjectId;
use serde::{Deserialize, Serialize};

/// Thousands of projects.
const SWITCH_BYTES_MAX: u64 = 1024 * 1024;

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct UndoSwitch {
    everywhere: bool,
    /// Projects that differ from the rest.
    except: BTreeSet<String>,
}

/// Which projects a change is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SwitchScope<'a> {
    Everywhere,
    Project(&'a ProjectId),
}

fn path(home: &Home) -> PathBuf {
    home.checkpoints_dir().join("on")
}

impl UndoSwitch {
    /// One system call while it is off: hooks ask.
    pub fn read(home: &Home) -> io::Result<UndoSwitch> {
        let path = path(home);
        if path.symlink_metadata().is_err_and(|error| error.kind() == io::ErrorKind::NotFound) {
            return Ok(UndoSwitch::default());
        }
        let text = home.text(&path, SWITCH_BYTES_MAX)?;
        serde_json::from_slice(text.as_bytes()).map_err(io::Error::other)
    }

    pub fn is_on(&self, project: &ProjectId) -> bool {
        self.everywhere != self.except.contains(project.as_str())
    }

    pub fn is_on_anywhere(&self) -> bool {
        self.everywhere || !self.except.is_empty()
    }

    #[must_use]
    pub fn with(mut self, scope: SwitchScope, is_on: bool) -> UndoSwitch {
        match scope {
            SwitchScope::Everywhere => UndoSwitch { everywhere: is_on, except: BTreeSet::new() },
            SwitchScope::Project(project) => {
                match self.everywhere == is_on {
                    true => self.except.remove(project.as_str()),
                    false => self.except.insert(project.as_str().to_string()),
                };
                self
            }
        }
    }

    pub fn write(&self, home: &Home) -> io::Result<()> {
        create_dir(&home.checkpoints_dir())?;
        if !self.is_on_anywhere() {
            return match fs::remove_file(path(home)) {
                Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
                _ => Ok(()),
            };
        }
        home.replace(&path(home), &serde_json::to_vec(self).map_err(io::Error::other)?)
    }
}

/// Whether the turns of this project are kept.
pub fn is_on(home: &Home, project: &ProjectId) -> bool {
    UndoSwitch::read(home).is_ok_and(|switch| switch.is_on(project))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_project_may_differ_from_the_rest() {
        let dir = tempfile::tempdir().unwrap();
        let home = Home::new(dir.path().join("home"));
        let [here, there] = [b"here", b"ther"].map(|anchor| ProjectId::of_anchor(anchor));
        let mut switch = UndoSwitch::read(&home).unwrap();
        use SwitchScope::{Everywhere, Project};
        for (scope, on, expected) in [
            (Project(&here), true, [true, false]),
            (Everywhere, true, [true, true]),
            (Project(&here), false, [false, true]),
            (Project(&here), true, [true, true]),
            (Everywhere, false, [false, false]),
        ] {
            switch = switch.with(scope, on);
            switch.write(&home).unwrap();
            assert_eq!(UndoSwitch::read(&home).unwrap(), switch);
            assert_eq!([is_on(&home, &here), is_on(&home, &there)], expected);
        }
        assert!(!path(&home).exists());
    }
}
