//! Installs us into an agent's settings file and removes us again. A change is planned first, then made atomically.
//!
//! A backup of the original file is kept in the home, so that uninstalling restores the exact bytes. A file that is
//! read-only, not text or not understood is left alone, and so is one that its agent ignores. A plan is not applied if
//! the file has changed since. A symbolic link is never removed or replaced; changes go to the file it points to.

use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};

use cerberus_os::home::{Home, create_dir};
use cerberus_os::outside;
use cerberus_os::replace::{is_writable, replace, resolve};
use cerberus_record::id::{Agent, fnv1a};
use serde::{Deserialize, Serialize};

use super::SettingsFile;
use crate::settings::strict::{self, Extra};
use crate::settings::{self, EditorPosition, InstallTarget, Part, ProgramVersion, SettingsError, Wiring, diff};

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
    #[error("{path} was left alone: {at}: {extra} is not strict JSON, so the agent ignores the whole file")]
    Ignored { path: PathBuf, at: EditorPosition, extra: Extra },
    #[error("{path} was left alone: another program changed it at the same time")]
    Outrun { path: PathBuf },
    #[error("cannot {doing} {path}: {source}")]
    Io { doing: &'static str, path: PathBuf, source: io::Error },
}

/// A planned change to a settings file.
#[derive(Debug)]
pub struct SettingsChange {
    pub path: PathBuf,
    before: Option<String>,
    after: Option<String>,
    backup_path: PathBuf,
    /// The original file, so that uninstalling restores the exact bytes.
    backup: Option<Backup>,
    /// The file before comments and trailing commas were removed from it, and where it is kept.
    unrepaired: Option<(PathBuf, String)>,
    /// Folders that we created, to be removed with the file, innermost first.
    dirs_to_remove: Vec<PathBuf>,
}

/// Whether a file with comments or trailing commas that its agent refuses may be repaired.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Repair {
    No,
    Yes,
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
    /// Whether it was a symbolic link.
    #[serde(default)]
    is_link: bool,
}

impl SettingsChange {
    fn of(path: &Path, before: Option<String>, after: Option<String>, backup_path: PathBuf) -> SettingsChange {
        let path = path.to_path_buf();
        SettingsChange { path, before, after, backup_path, backup: None, unrepaired: None, dirs_to_remove: Vec::new() }
    }

    pub fn is_none(&self) -> bool {
        self.before == self.after
    }

    pub fn diff(&self) -> String {
        diff(self.before.as_deref().unwrap_or_default(), self.after.as_deref().unwrap_or_default())
    }

    /// Where the file is kept as it was before it was repaired.
    pub fn unrepaired(&self) -> Option<&Path> {
        self.unrepaired.as_ref().map(|(path, _)| path.as_path())
    }

    /// Makes the change: first the backup, then the file, each atomically.
    pub fn apply(&self, home: &Home) -> Result<(), WiringError> {
        if self.is_none() {
            return Ok(());
        }
        if read(&self.path)? != self.before {
            return Err(WiringError::Outrun { path: self.path.clone() });
        }
        let backup = self.backup.as_ref().map(|backup| serde_json::to_vec_pretty(backup).unwrap_or_default());
        let unrepaired = self.unrepaired.iter().map(|(path, text)| (path, text.as_bytes()));
        for (path, bytes) in backup.iter().map(|bytes| (&self.backup_path, &bytes[..])).chain(unrepaired) {
            create_dir(&home.backups_dir())
                .and_then(|()| home.replace(path, bytes))
                .map_err(|source| WiringError::Io { doing: "write", path: path.clone(), source })?;
        }
        let (doing, done) = match &self.after {
            Some(text) => {
                let dir = self.path.parent().unwrap_or(Path::new("/"));
                ("write", fs::create_dir_all(dir).and_then(|()| replace(&self.path, text.as_bytes(), 0o600)))
            }
            None => ("remove", resolve(&self.path).and_then(fs::remove_file)),
        };
        done.map_err(|source| WiringError::Io { doing, path: self.path.clone(), source })?;
        // Removes only empty folders; the others are in use.
        self.dirs_to_remove.iter().for_each(|dir| _ = fs::remove_dir(dir));
        Ok(())
    }
}

/// Plans to install into the file.
pub fn plan_install(
    home: &Home,
    agent: Agent,
    file: &SettingsFile,
    target: &InstallTarget<'_>,
    repair: Repair,
) -> Result<SettingsChange, WiringError> {
    if !target.has_server && file.parts.iter().all(Part::is_server) {
        // Nothing of ours belongs into it. Trust in hooks stays.
        return plan_uninstall(home, agent, &SettingsFile { trusts: None, ..file.clone() });
    }
    let path = &file.path;
    let before = read(path)?;
    let settings_error = |source| WiringError::Settings { path: path.clone(), source };
    let mut original = before.clone();
    let mut unrepaired = None;
    match (check_syntax(file, before.as_deref().unwrap_or_default()), &before) {
        (Err(WiringError::Ignored { .. }), Some(text)) if repair == Repair::Yes => {
            original = Some(strict::repair(text, file.syntax).map_err(settings_error)?);
            unrepaired = Some((backup_path(home, agent, path).with_extension("unrepaired"), text.clone()));
        }
        (checked, _) => checked?,
    }
    let text = original.as_deref().unwrap_or_default();
    let after = settings::install(file.parts, text, target).map_err(settings_error)?;
    // If our parts are already in the file, it is not the original.
    let is_first = settings::installed(file.parts, text, None).map_err(settings_error)?.is_empty();
    let made_dirs = path.ancestors().skip(1).take_while(|dir| !dir.exists()).map(Path::to_path_buf);
    let backup = is_first.then(|| Backup {
        path: path.clone(),
        text: original.clone(),
        made_dirs: made_dirs.collect(),
        is_link: path.is_symlink(),
    });
    let backup_path = backup_path(home, agent, path);
    check_writable(SettingsChange { backup, unrepaired, ..SettingsChange::of(path, before, Some(after), backup_path) })
}

/// Plans to remove what was installed, and the user's trust in it.
pub fn plan_uninstall(home: &Home, agent: Agent, file: &SettingsFile) -> Result<SettingsChange, WiringError> {
    let path = &file.path;
    let backup_path = backup_path(home, agent, path);
    let before = read(path)?;
    let settings_error = |source| WiringError::Settings { path: path.clone(), source };
    let text = before.as_deref().unwrap_or_default();
    // A file that does not mention us is not parsed, so errors in it do not matter here.
    let trusted = trusted_keys(file).into_iter().filter(|key| text.contains(key)).collect::<Vec<_>>();
    let untrusted = match trusted.is_empty() {
        true => text.to_owned(),
        false => settings::without_trust(text, &trusted).map_err(settings_error)?,
    };
    let is_wired =
        text.contains("cerberus") && !settings::installed(file.parts, text, None).map_err(settings_error)?.is_empty();
    if !is_wired {
        let after = before.as_ref().map(|_| untrusted);
        return check_writable(SettingsChange::of(path, before, after, backup_path));
    }
    let backup = home.text(&backup_path, 2 * SETTINGS_BYTES_MAX).ok();
    let backup: Option<Backup> = backup.and_then(|text| serde_json::from_slice(text.as_bytes()).ok());
    let backup_text = backup.as_ref().map(|backup| backup.text.as_deref().unwrap_or_default());
    let after = settings::uninstall(file.parts, &untrusted, backup_text).map_err(settings_error)?;
    // Remove a file that we created and that is otherwise empty. If it has become the target of a link since, somebody
    // moved it, and it stays.
    let was_made_by_us = backup.as_ref().is_some_and(|backup| backup.text.is_none());
    let was_there = backup.as_ref().is_some_and(|backup| backup.text.is_some());
    let is_moved = path.is_symlink() && !backup.as_ref().is_some_and(|backup| backup.is_link);
    let is_empty = after.is_empty() && !was_there || was_made_by_us && matches!(after.trim(), "" | "{}");
    let is_gone = is_empty && !is_moved;
    let dirs_to_remove = backup.filter(|_| is_gone).map_or_else(Vec::new, |backup| backup.made_dirs);
    let after = (!is_gone).then_some(after);
    check_writable(SettingsChange { dirs_to_remove, ..SettingsChange::of(path, before, after, backup_path) })
}

/// The keys of the user's trust in our hooks.
fn trusted_keys(file: &SettingsFile) -> Vec<String> {
    let Some(hooks) = &file.trusts else { return Vec::new() };
    let text = read(&hooks.path).ok().flatten().unwrap_or_default();
    let wired = settings::installed(hooks.parts, &text, None).unwrap_or_default().hooks;
    wired.iter().map(|hook| (hooks.key)(&hooks.path, hook)).collect()
}

/// What is installed now, as this version of the agent reads it.
pub fn wiring(file: &SettingsFile, client: Option<ProgramVersion>) -> Result<Wiring, WiringError> {
    let text = read(&file.path)?.unwrap_or_default();
    let settings_error = |source| WiringError::Settings { path: file.path.clone(), source };
    let wiring = settings::installed(file.parts, &text, client).map_err(settings_error)?;
    if !wiring.is_empty() {
        check_syntax(file, &text)?;
    }
    Ok(wiring)
}

/// Whether the file exists and its mode forbids writing.
pub fn is_read_only(file: &SettingsFile) -> bool {
    file.path.exists() && !is_writable(&file.path)
}

/// Only one process at a time changes settings files: two that read the same original would lose one change.
pub fn lock(home: &Home) -> Result<File, WiringError> {
    let path = home.backups_dir().join("lock");
    home.lock(&path).map_err(|source| WiringError::Io { doing: "lock", path, source })
}

/// What the user decided about an agent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AgentMark {
    /// We were uninstalled from it.
    Uninstalled,
    /// Our MCP server is not wanted in it.
    NoServer,
}

/// Remembers a decision, or that it no longer holds.
pub fn set_mark(home: &Home, agent: Agent, mark: AgentMark, holds: bool) -> io::Result<()> {
    let mark = mark_path(home, agent, mark);
    match holds {
        true => create_dir(&home.backups_dir()).and_then(|()| home.replace(&mark, b"")),
        false => match fs::remove_file(mark) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
            _ => Ok(()),
        },
    }
}

pub fn has_mark(home: &Home, agent: Agent, mark: AgentMark) -> bool {
    mark_path(home, agent, mark).exists()
}

/// Removes the backups of the files that are meant. Uninstalling then removes our entries from such a file in place.
pub fn forget_backups(home: &Home, is_meant: impl Fn(&Path) -> bool) -> io::Result<()> {
    for entry in fs::read_dir(home.backups_dir()).into_iter().flatten() {
        let path = entry?.path();
        let text = home.text(&path, 2 * SETTINGS_BYTES_MAX).unwrap_or_default();
        if serde_json::from_slice::<Backup>(text.as_bytes()).is_ok_and(|backup| is_meant(&backup.path)) {
            match fs::remove_file(path.with_extension("unrepaired")) {
                Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
                _ => fs::remove_file(&path)?,
            }
        }
    }
    Ok(())
}

fn mark_path(home: &Home, agent: Agent, mark: AgentMark) -> PathBuf {
    let name = match mark {
        AgentMark::Uninstalled => "uninstalled",
        AgentMark::NoServer => "no-mcp",
    };
    home.backups_dir().join(format!("{agent}.{name}"))
}

fn check_syntax(file: &SettingsFile, text: &str) -> Result<(), WiringError> {
    // TOML and scripts have comments of their own.
    if file.path.extension().is_none_or(|extension| extension != "json") {
        return Ok(());
    }
    let path = || file.path.clone();
    match strict::refused(text, file.syntax) {
        Err(source) => Err(WiringError::Settings { path: path(), source }),
        Ok(Some((at, extra))) => Err(WiringError::Ignored { path: path(), at, extra }),
        Ok(None) => Ok(()),
    }
}

/// Fails early if the file is read-only.
fn check_writable(change: SettingsChange) -> Result<SettingsChange, WiringError> {
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
