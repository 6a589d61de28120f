//! Installs us into an agent's settings file and removes us again. A change is planned first, then made atomically.
//!
//! A backup of the original file is kept in the home, so that uninstalling restores the exact bytes. A file that is
//! read-only, not text or not understood is left alone. A plan is not applied if the file has changed since.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use cerberus_core::model::id::{Agent, fnv1a};
use cerberus_core::settings::{self, SettingsError, Wiring, diff};
use serde::{Deserialize, Serialize};

use super::SettingsFile;
use crate::os::home::{Home, create_dir};
use crate::os::outside;
use crate::os::replace::{is_writable, replace};

/// Some agents keep more than settings in these files. Real ones are far smaller.
pub(crate) const SETTINGS_BYTES_MAX: u64 = 64 * 1024 * 1024;

#[derive(Debug, thiserror::Error)]
pub enum WiringError {
    #[error("{path} was left alone: {source}")]
    Settings { path: PathBuf, source: SettingsError },
    #[error("{path} was left alone: it is not UTF-8 text")]
    NotText { path: PathBuf },
    #[error("{path} was left alone: it is read-only")]
    ReadOnly { path: PathBuf },
    #[error("{path} was left alone: another program changed it at the same time")]
    Outrun { path: PathBuf },
    #[error("cannot {doing} {path}: {source}")]
    Io { doing: &'static str, path: PathBuf, source: io::Error },
}

/// A planned change to a settings file.
#[derive(Debug)]
pub struct Change {
    pub path: PathBuf,
    before: Option<String>,
    after: Option<String>,
    backup_path: PathBuf,
    /// The original file, so that uninstalling restores the exact bytes.
    backup: Option<Backup>,
    /// Folders that we created, to be removed with the file, innermost first.
    dirs_to_remove: Vec<PathBuf>,
}

/// The file before installation.
#[derive(Debug, Serialize, Deserialize)]
struct Backup {
    path: PathBuf,
    /// `None`: the file did not exist.
    text: Option<String>,
    /// Folders that did not exist, innermost first.
    #[serde(default)]
    made_dirs: Vec<PathBuf>,
}

impl Change {
    pub fn is_none(&self) -> bool {
        self.before == self.after
    }

    pub fn diff(&self) -> String {
        diff(self.before.as_deref().unwrap_or_default(), self.after.as_deref().unwrap_or_default())
    }

    /// Makes the change: first the backup, then the file, each atomically.
    pub fn apply(&self, home: &Home) -> Result<(), WiringError> {
        if self.is_none() {
            return Ok(());
        }
        if read(&self.path)? != self.before {
            return Err(WiringError::Outrun { path: self.path.clone() });
        }
        if let Some(backup) = &self.backup {
            let bytes = serde_json::to_vec_pretty(backup).unwrap_or_default();
            create_dir(&home.backups_dir())
                .and_then(|()| home.replace(&self.backup_path, &bytes))
                .map_err(|source| WiringError::Io { doing: "write", path: self.backup_path.clone(), source })?;
        }
        let (doing, done) = match &self.after {
            Some(text) => {
                let dir = self.path.parent().unwrap_or(Path::new("/"));
                ("write", fs::create_dir_all(dir).and_then(|()| replace(&self.path, text.as_bytes(), 0o600)))
            }
            None => ("remove", fs::remove_file(&self.path)),
        };
        done.map_err(|source| WiringError::Io { doing, path: self.path.clone(), source })?;
        // Removes only empty folders; the others are in use.
        self.dirs_to_remove.iter().for_each(|dir| _ = fs::remove_dir(dir));
        Ok(())
    }
}

/// Plans to install `command` into the file.
pub fn plan_install(home: &Home, agent: Agent, file: &SettingsFile, command: &str) -> Result<Change, WiringError> {
    let path = &file.path;
    let before = read(path)?;
    let text = before.as_deref().unwrap_or_default();
    let settings_error = |source| WiringError::Settings { path: path.clone(), source };
    let after = settings::install(file.parts, text, command).map_err(settings_error)?;
    // If our parts are already in the file, it is not the original.
    let is_first = settings::installed(file.parts, text).map_err(settings_error)?.is_empty();
    let made_dirs = path.ancestors().skip(1).take_while(|dir| !dir.exists()).map(Path::to_path_buf);
    let backup = is_first.then(|| Backup { path: path.clone(), text: before.clone(), made_dirs: made_dirs.collect() });
    let backup_path = backup_path(home, agent, path);
    check_writable(Change {
        path: path.clone(),
        before,
        after: Some(after),
        backup_path,
        backup,
        dirs_to_remove: Vec::new(),
    })
}

/// Plans to remove what was installed.
pub fn plan_uninstall(home: &Home, agent: Agent, file: &SettingsFile) -> Result<Change, WiringError> {
    let path = &file.path;
    let backup_path = backup_path(home, agent, path);
    let before = read(path)?;
    let settings_error = |source| WiringError::Settings { path: path.clone(), source };
    let text = before.as_deref().unwrap_or_default();
    // A file that does not mention us is not parsed, so errors in it do not matter here.
    if !text.contains("cerberus") || settings::installed(file.parts, text).map_err(settings_error)?.is_empty() {
        let (after, path) = (before.clone(), path.clone());
        return Ok(Change { path, before, after, backup_path, backup: None, dirs_to_remove: Vec::new() });
    }
    let backup = home.text(&backup_path, 2 * SETTINGS_BYTES_MAX).ok();
    let backup: Option<Backup> = backup.and_then(|text| serde_json::from_str(&text).ok());
    let backup_text = backup.as_ref().map(|backup| backup.text.as_deref().unwrap_or_default());
    let after = settings::uninstall(file.parts, text, backup_text).map_err(settings_error)?;
    // Remove a file that we created and that is otherwise empty.
    let was_made_by_us = backup.as_ref().is_some_and(|backup| backup.text.is_none());
    let was_there = backup.as_ref().is_some_and(|backup| backup.text.is_some());
    let is_gone = after.is_empty() && !was_there || was_made_by_us && matches!(after.trim(), "" | "{}");
    let dirs_to_remove = backup.filter(|_| is_gone).map_or_else(Vec::new, |backup| backup.made_dirs);
    let after = (!is_gone).then_some(after);
    check_writable(Change { path: path.clone(), before, after, backup_path, backup: None, dirs_to_remove })
}

/// What is installed now.
pub fn wiring(file: &SettingsFile) -> Result<Wiring, WiringError> {
    let text = read(&file.path)?.unwrap_or_default();
    settings::installed(file.parts, &text).map_err(|source| WiringError::Settings { path: file.path.clone(), source })
}

/// Fails early if the file is read-only.
fn check_writable(change: Change) -> Result<Change, WiringError> {
    if !change.is_none() && change.before.is_some() && !is_writable(&change.path) {
        return Err(WiringError::ReadOnly { path: change.path });
    }
    Ok(change)
}

fn read(path: &Path) -> Result<Option<String>, WiringError> {
    match outside::bytes(path, SETTINGS_BYTES_MAX) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(source) => Err(WiringError::Io { doing: "read", path: path.to_path_buf(), source }),
        Ok(bytes) => match String::from_utf8(bytes) {
            Ok(text) => Ok(Some(text)),
            Err(_) => Err(WiringError::NotText { path: path.to_path_buf() }),
        },
    }
}

fn backup_path(home: &Home, agent: Agent, path: &Path) -> PathBuf {
    home.backups_dir().join(format!("{agent}-{:016x}.json", fnv1a(path.as_os_str().as_encoded_bytes())))
}
