//! Finds secrets that were stored before the current rules knew them, and removes them in place.
//!
//! A record with a secret is rewritten like any other (`journal/rewrite.rs`), and the view is rebuilt. What
//! capabilities keep elsewhere, they clean themselves. The settings belong to the user and are left alone.

mod strings;

use std::collections::BTreeMap;
use std::fs::{self, OpenOptions};
use std::io;
use std::path::{Path, PathBuf};

use cerberus_os::clock::Clock;
use cerberus_os::home::Home;
use cerberus_os::platform;
use cerberus_os::replace::replace;
use cerberus_record::clean::Cleaner;
use cerberus_record::clean::secret::kinds_of;
use serde::de::IgnoredAny;

use crate::capability::{Capabilities, CapabilityError, Finding};
use crate::erase::forget;
use crate::journal::rewrite::LineChange;
use crate::journal::{self, JournalError, JournalLine, LinePosition};
use crate::view::fold::{self, FoldError};
use crate::view::{self, Store};

/// We write no larger text files.
const FILE_BYTES_MAX: u64 = 256 * 1024 * 1024;
/// How deep the home is searched.
const FOLDERS_MAX: usize = 4;

#[derive(Debug, thiserror::Error)]
pub enum ScanError {
    #[error(transparent)]
    Fold(#[from] FoldError),
    #[error("{0}")]
    Capability(CapabilityError),
    #[error("cannot scan or redact {path}: {source}")]
    File { path: PathBuf, source: io::Error },
}

impl From<JournalError> for ScanError {
    fn from(error: JournalError) -> Self {
        ScanError::Fold(error.into())
    }
}

/// Everything stored that looks like a secret by the current rules. `here` is the folder of the user.
pub fn scan(home: &Home, here: &Path, capabilities: Capabilities) -> Result<Vec<Finding>, ScanError> {
    let mut found: Vec<Finding> = records(home)?.into_iter().map(|fix| fix.finding).collect();
    for path in files(home) {
        let name = shown(home, &path);
        if is_view(&name) {
            found.extend(in_view(home.cleaner(), &path, &name));
        } else if let Some(text) = text(&path) {
            found.extend(in_text(home.cleaner(), &name, &text));
        }
    }
    for capability in capabilities {
        found.extend(capability.secrets(home, here).map_err(ScanError::Capability)?);
    }
    Ok(found)
}

/// Removes all of it. Returns what was found.
pub fn clean(home: &Home, clock: &Clock, here: &Path, capabilities: Capabilities) -> Result<Vec<Finding>, ScanError> {
    let found = scan(home, here, capabilities)?;
    if found.is_empty() {
        return Ok(found);
    }
    for capability in capabilities {
        capability.remove_secrets(home, here).map_err(ScanError::Capability)?;
    }
    let mut store = fold::open(home)?;
    let lines: Vec<_> = records(home)?.into_iter().map(|fix| (fix.position, fix.change)).collect();
    if !lines.is_empty() {
        forget::change(home, clock, &mut store, lines)?;
    }
    for path in files(home) {
        let name = shown(home, &path);
        let failed = |source| ScanError::File { path: path.clone(), source };
        if name.starts_with(&current_view(home)) {
            continue;
        } else if is_view(&name) {
            // A view of another version, which that version rebuilds from the journal.
            overwrite(&path).map_err(failed)?;
        } else if let Some(text) = text(&path)
            && let Some((cleaned, _)) = cleaned(home.cleaner(), &name, &text)
        {
            replace(&path, cleaned.as_bytes(), 0o600).map_err(failed)?;
        }
    }
    fold::rebuild(home, &mut store)?;
    store.wipe_deleted().map_err(FoldError::from)?;
    Ok(found)
}

/// A line of the journal that contains a secret.
struct SecretLine {
    finding: Finding,
    position: LinePosition,
    change: LineChange,
}

fn records(home: &Home) -> Result<Vec<SecretLine>, JournalError> {
    let mut fixes = Vec::new();
    journal::each_line(home, |position, line| {
        let found = match line {
            JournalLine::Whole(sealed) => clean_record(home.cleaner(), sealed.open_record()),
            // A torn line is useless.
            JournalLine::Broken(bytes) => {
                let text = String::from_utf8_lossy(bytes);
                let kinds = kinds_of(&home.cleaner().redact(&text), &text);
                (!kinds.is_empty()).then_some((LineChange::Remove, kinds))
            }
        };
        if let Some((change, kinds)) = found {
            let (file, at) = (format!("journal/{}", position.segment), format!("byte {}", position.offset));
            fixes.push(SecretLine { finding: Finding { file, at, kinds }, position, change });
        }
    })?;
    Ok(fixes)
}

/// The record without its secrets; `None` if it has none.
fn clean_record(cleaner: &Cleaner, open_record: &[u8]) -> Option<(LineChange, Vec<String>)> {
    let json = format!("{}}}", String::from_utf8_lossy(open_record));
    let (cleaned, kinds) = strings::cleaned(cleaner, &json)?;
    Some((LineChange::Replace(cleaned), kinds))
}

/// The files of the home except the journal, the settings, and what was found in the view's place and is not ours.
fn files(home: &Home) -> Vec<PathBuf> {
    // The archive is packed; its capability reads it.
    let left_alone = [home.journal_dir(), home.config(), home.paused(), home.key(), home.device(), home.archive_dir()];
    let mut folders = vec![(home.root().to_path_buf(), 0)];
    let mut found = Vec::new();
    while let Some((folder, depth)) = folders.pop() {
        for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
            let (path, kind) = (entry.path(), entry.file_type());
            match kind {
                _ if left_alone.contains(&path) => {}
                Ok(kind) if kind.is_dir() && depth < FOLDERS_MAX => folders.push((path, depth + 1)),
                Ok(kind) if kind.is_file() && !is_foreign(&shown(home, &path)) => found.push(path),
                // A symbolic link leads out of the home.
                _ => {}
            }
        }
    }
    found.sort();
    found
}

fn shown(home: &Home, path: &Path) -> String {
    path.strip_prefix(home.root()).unwrap_or(path).display().to_string()
}

fn current_view(home: &Home) -> String {
    shown(home, &view::view_file(home))
}

/// Whether the file is a view of any version, set aside or not, or its log.
fn is_view(name: &str) -> bool {
    name.starts_with("view-")
}

fn is_foreign(name: &str) -> bool {
    is_view(name) && name.contains(".damaged-foreign")
}

fn in_view(cleaner: &Cleaner, path: &Path, name: &str) -> Vec<Finding> {
    if name.ends_with("-wal") || name.ends_with("-shm") {
        return Vec::new();
    }
    let mut by_table: BTreeMap<String, Vec<String>> = BTreeMap::new();
    // A file that cannot be read as a view is skipped; its contents came from the journal.
    let _ = Store::every_text(path, |table, text| {
        let kinds = kinds_of(&cleaner.redact(text), text);
        if !kinds.is_empty() {
            by_table.entry(table.to_string()).or_default().extend(kinds);
        }
    });
    let finding = |(table, mut kinds): (String, Vec<String>)| {
        kinds.sort();
        kinds.dedup();
        Finding { file: name.to_string(), at: format!("table {table}"), kinds }
    };
    by_table.into_iter().map(finding).collect()
}

fn text(path: &Path) -> Option<String> {
    let known = fs::symlink_metadata(path).ok()?;
    if known.len() > FILE_BYTES_MAX {
        return None;
    }
    Some(String::from_utf8_lossy(&fs::read(path).ok()?).into_owned())
}

fn in_text(cleaner: &Cleaner, name: &str, text: &str) -> Vec<Finding> {
    let Some((_, kinds)) = cleaned(cleaner, name, text) else { return Vec::new() };
    let lines = text.lines().enumerate().filter(|(_, line)| cleaned(cleaner, name, line).is_some());
    let lines: Vec<String> = lines.take(3).map(|(number, _)| (number + 1).to_string()).collect();
    vec![Finding { file: name.to_string(), at: format!("line {}", lines.join(", ")), kinds }]
}

fn cleaned(cleaner: &Cleaner, name: &str, text: &str) -> Option<(String, Vec<String>)> {
    if name.ends_with(".jsonl") && text.trim_end().contains('\n') {
        return by_line(cleaner, name, text);
    }
    if let Some(sealed) = journal::decode(text.trim().as_bytes()) {
        return clean_sealed(cleaner, sealed.open_record());
    }
    if name.contains(".json") && serde_json::from_slice::<IgnoredAny>(text.as_bytes()).is_ok() {
        return strings::cleaned(cleaner, text);
    }
    let redacted = cleaner.redact(text);
    let kinds = kinds_of(&redacted, text);
    (!kinds.is_empty()).then(|| (redacted.into_owned(), kinds))
}

/// A line of a ledger, with the checksum of what is left.
fn clean_sealed(cleaner: &Cleaner, open_record: &[u8]) -> Option<(String, Vec<String>)> {
    let (cleaned, kinds) = strings::cleaned(cleaner, &format!("{}}}", String::from_utf8_lossy(open_record)))?;
    let open = cleaned.trim_end().strip_suffix('}')?;
    Some((format!("{open}{}\n", journal::seal(open.as_bytes())), kinds))
}

fn by_line(cleaner: &Cleaner, name: &str, text: &str) -> Option<(String, Vec<String>)> {
    let (mut out, mut all) = (String::new(), Vec::new());
    for line in text.split_inclusive('\n') {
        match cleaned(cleaner, name, line) {
            Some((line, kinds)) => {
                out.push_str(&line);
                all.extend(kinds);
            }
            None => out.push_str(line),
        }
    }
    all.sort();
    (!all.is_empty()).then_some((out, all))
}

/// Overwrites a file that can be rebuilt, then removes it.
fn overwrite(path: &Path) -> io::Result<()> {
    let zeros = vec![0; 64 * 1024];
    let file = OpenOptions::new().write(true).open(path)?;
    let length = file.metadata()?.len();
    let mut at = 0;
    while at < length {
        let bytes = zeros.len().min((length - at) as usize);
        platform::write_all_at(&file, &zeros[..bytes], at)?;
        at += bytes as u64;
    }
    file.sync_data()?;
    fs::remove_file(path)
}
