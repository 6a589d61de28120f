//! Claude Code: its settings files are edited as text, so that everything else in them stays as it is.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use cerberus_core::id::fnv1a;
use cerberus_core::settings::claude::{self, Wiring};
use cerberus_core::settings::{SettingsError, diff};
use serde::{Deserialize, Serialize};

use crate::home::{Home, create_dir};
use crate::replace::replace;

#[derive(Debug, thiserror::Error)]
pub enum InstallError {
    #[error("{path} was left alone: {source}")]
    Settings { path: PathBuf, source: SettingsError },
    #[error("{path} was left alone: it is not UTF-8 text")]
    NotText { path: PathBuf },
    #[error("cannot {doing} {path}: {source}")]
    Io { doing: &'static str, path: PathBuf, source: io::Error },
}

/// What a change to a settings file is, before it is made.
#[derive(Debug)]
pub struct Change {
    pub path: PathBuf,
    before: Option<String>,
    after: Option<String>,
    /// Kept so that uninstalling gives the very same bytes back.
    backup: Option<Backup>,
}

/// The file as it was before we came.
#[derive(Debug, Serialize, Deserialize)]
struct Backup {
    path: PathBuf,
    /// `None`: there was no file.
    text: Option<String>,
}

impl Change {
    pub fn is_none(&self) -> bool {
        self.before == self.after
    }

    pub fn diff(&self) -> String {
        diff(self.before.as_deref().unwrap_or_default(), self.after.as_deref().unwrap_or_default())
    }

    /// Makes the change: the backup first, then the file, each as a whole.
    pub fn apply(&self, home: &Home) -> Result<(), InstallError> {
        let backup_path = backup_path(home, &self.path);
        if let Some(backup) = &self.backup {
            let bytes = serde_json::to_vec_pretty(backup).unwrap_or_default();
            create_dir(&home.backups_dir())
                .and_then(|()| replace(&backup_path, &bytes, 0o600))
                .map_err(|source| InstallError::Io { doing: "write", path: backup_path.clone(), source })?;
        }
        if self.is_none() {
            return Ok(());
        }
        let (doing, done) = match &self.after {
            Some(text) => {
                let dir = self.path.parent().unwrap_or(Path::new("/"));
                ("write", fs::create_dir_all(dir).and_then(|()| replace(&self.path, text.as_bytes(), 0o600)))
            }
            None => ("remove", fs::remove_file(&self.path)),
        };
        done.map_err(|source| InstallError::Io { doing, path: self.path.clone(), source })
    }
}

/// Wires `command` into the settings file at `path`.
pub fn plan_install(path: &Path, command: &str) -> Result<Change, InstallError> {
    let before = read(path)?;
    let text = before.as_deref().unwrap_or_default();
    let settings_error = |source| InstallError::Settings { path: path.to_path_buf(), source };
    let after = claude::install(text, command).map_err(settings_error)?;
    // With ours in it already, the file is not the one of before we came.
    let is_first = claude::installed(text).map_err(settings_error)?.hooks.is_empty();
    let backup = is_first.then(|| Backup { path: path.to_path_buf(), text: before.clone() });
    Ok(Change { path: path.to_path_buf(), before, after: Some(after), backup })
}

/// Takes out what was put in.
pub fn plan_uninstall(home: &Home, path: &Path) -> Result<Change, InstallError> {
    let before = read(path)?;
    let Some(text) = &before else {
        return Ok(Change { path: path.to_path_buf(), before: None, after: None, backup: None });
    };
    let backup: Option<Backup> =
        fs::read(backup_path(home, path)).ok().and_then(|bytes| serde_json::from_slice(&bytes).ok());
    let backup_text = backup.as_ref().map(|backup| backup.text.as_deref().unwrap_or_default());
    let after = claude::uninstall(text, backup_text)
        .map_err(|source| InstallError::Settings { path: path.to_path_buf(), source })?;
    // A file that we made, and that nobody put anything into since, goes again.
    let was_made_by_us = backup.is_some_and(|backup| backup.text.is_none());
    let after = if was_made_by_us && matches!(after.trim(), "" | "{}") { None } else { Some(after) };
    Ok(Change { path: path.to_path_buf(), before, after, backup: None })
}

/// What is wired now.
pub fn wiring(path: &Path) -> Result<Wiring, InstallError> {
    let text = read(path)?.unwrap_or_default();
    claude::installed(&text).map_err(|source| InstallError::Settings { path: path.to_path_buf(), source })
}

fn read(path: &Path) -> Result<Option<String>, InstallError> {
    match fs::read(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(source) => Err(InstallError::Io { doing: "read", path: path.to_path_buf(), source }),
        Ok(bytes) => match String::from_utf8(bytes) {
            Ok(text) => Ok(Some(text)),
            Err(_) => Err(InstallError::NotText { path: path.to_path_buf() }),
        },
    }
}

fn backup_path(home: &Home, path: &Path) -> PathBuf {
    home.backups_dir().join(format!("claude-code-{:016x}.json", fnv1a(path.as_os_str().as_encoded_bytes())))
}

#[cfg(test)]
mod tests {
    use super::*;

    const COMMAND: &str = "/usr/local/bin/cerberus";

    #[test]
    fn install_and_uninstall_leave_the_file_as_it_was() {
        for before in [None, Some(""), Some("{}"), Some("{\n  // mine\n  \"model\": \"x\",\n  \"hooks\": {}\n}\n")] {
            let dir = tempfile::tempdir().unwrap();
            let home = Home::new(dir.path().join("home"));
            let path = dir.path().join(".claude/settings.json");
            if let Some(text) = before {
                fs::create_dir_all(path.parent().unwrap()).unwrap();
                fs::write(&path, text).unwrap();
            }
            let change = plan_install(&path, COMMAND).unwrap();
            assert!(!change.is_none());
            change.apply(&home).unwrap();
            assert_eq!(wiring(&path).unwrap().missing_events(), [""; 0]);
            let again = plan_install(&path, COMMAND).unwrap();
            assert!(again.is_none());
            again.apply(&home).unwrap();
            plan_uninstall(&home, &path).unwrap().apply(&home).unwrap();
            assert_eq!(fs::read_to_string(&path).ok().as_deref(), before);
        }
    }

    #[test]
    fn what_does_not_parse_is_left_alone() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("settings.json");
        fs::write(&path, "{ broken").unwrap();
        let error = plan_install(&path, COMMAND).unwrap_err().to_string();
        assert!(error.contains("was left alone"), "{error}");
        assert_eq!(fs::read_to_string(&path).unwrap(), "{ broken");
    }
}
