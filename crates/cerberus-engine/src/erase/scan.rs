//! Finds secrets that were stored before today's rules knew them, and cleans them where they stand.
//!
//! A record keeps its place and its length in the journal (blanks fill what a cut leaves), so that hooks may append
//! meanwhile, offsets hold, and the order of records is never changed. What is to be written is first written down
//! beside the journal, without the secrets: killed in between, the next command finishes it. The view is then made anew
//! and its free pages are overwritten. Settings, and their backups, are the user's own and left alone.

mod strings;

use std::collections::BTreeMap;
use std::fs::{self, OpenOptions};
use std::io;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};

use cerberus_core::clean::secret::{kinds, redact};
use serde::de::IgnoredAny;
use serde::{Deserialize, Serialize};

use crate::journal::{self, JournalError, SEAL_BYTES, seal};
use crate::os::fault;
use crate::os::home::{Access, Home};
use crate::os::replace::replace;
use crate::store::Store;
use crate::store::fold;
use crate::store::fold::FoldError;

/// A file that is larger is no text of ours.
const FILE_BYTES_MAX: u64 = 256 * 1024 * 1024;
/// How deep the home is looked into.
const FOLDERS_MAX: usize = 4;

#[derive(Debug, thiserror::Error)]
pub enum ScanError {
    #[error(transparent)]
    Fold(#[from] FoldError),
    #[error("cannot clean {path}: {source}")]
    File { path: PathBuf, source: io::Error },
}

impl From<JournalError> for ScanError {
    fn from(error: JournalError) -> Self {
        ScanError::Fold(error.into())
    }
}

/// Secrets in one place: which sorts, never the secrets themselves.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Finding {
    /// The file, in the home.
    pub file: String,
    /// Where in it: the byte at which a record begins, the line of a text, the table of a view.
    pub at: String,
    pub kinds: Vec<String>,
}

/// All that is stored and looks like a secret today.
pub fn scan(home: &Home) -> Result<Vec<Finding>, ScanError> {
    let mut found: Vec<Finding> = records(home)?.into_iter().map(|fix| fix.finding).collect();
    for path in files(home) {
        let name = shown(home, &path);
        if is_view(&name) {
            found.extend(in_view(&path, &name));
        } else if let Some(text) = text(&path) {
            found.extend(in_text(&name, &text));
        }
    }
    Ok(found)
}

/// Cuts all of it; what was found.
pub fn clean(home: &Home) -> Result<Vec<Finding>, ScanError> {
    let found = scan(home)?;
    if found.is_empty() {
        return Ok(found);
    }
    let mut store = fold::open(home)?;
    clean_journal(home, &mut store)?;
    for path in files(home) {
        let name = shown(home, &path);
        let failed = |source| ScanError::File { path: path.clone(), source };
        if name.starts_with(&current_view(home)) {
            continue;
        } else if is_view(&name) {
            // Of another version, which makes it anew from the journal when it is asked.
            overwrite(&path).map_err(failed)?;
        } else if let Some(text) = text(&path)
            && let Some((cleaned, _)) = cleaned(&name, &text)
        {
            replace(&path, cleaned.as_bytes(), 0o600).map_err(failed)?;
        }
    }
    fold::rebuild(home, &mut store)?;
    store.wipe_deleted().map_err(FoldError::from)?;
    Ok(found)
}

/// A line of the journal as it shall be.
struct Fix {
    finding: Finding,
    redo: Redo,
}

#[derive(Serialize, Deserialize)]
struct Redo {
    segment: String,
    offset: u64,
    line: String,
}

fn records(home: &Home) -> Result<Vec<Fix>, JournalError> {
    let mut fixes = Vec::new();
    for segment in journal::segments(home)? {
        for stretch in journal::stretches(home, &segment.name) {
            let (mut offset, stretch) = stretch?;
            for bytes in stretch.bytes.split(|byte| *byte == b'\n') {
                if let Some((line, kinds)) = clean_line(bytes) {
                    let (file, at) = (format!("journal/{}", segment.name), format!("byte {offset}"));
                    let redo = Redo { segment: segment.name.clone(), offset, line };
                    fixes.push(Fix { finding: Finding { file, at, kinds }, redo });
                }
                offset += bytes.len() as u64 + 1;
            }
        }
    }
    Ok(fixes)
}

/// The line without its secrets, exactly as long; `None` when it has none.
fn clean_line(bytes: &[u8]) -> Option<(String, Vec<String>)> {
    let line = String::from_utf8_lossy(bytes);
    if journal::decode(bytes).is_none() {
        // A stump tells nobody anything.
        let kinds = kinds_of(&redact(&line), &line);
        return (!kinds.is_empty()).then(|| ("\n".repeat(bytes.len()), kinds));
    }
    let body = &line[..line.len() - SEAL_BYTES];
    let (cleaned, kinds) = strings::cleaned(body)?;
    // A mark may be longer than what it stands for.
    let fits = |text: String| (text.len() <= body.len()).then_some(text);
    let shorter = |mark: &str| fits(strings::with_marks(&cleaned, body, mark));
    let mut fitted = fits(cleaned.clone()).or_else(|| shorter("[redacted]")).or_else(|| shorter("***"))?;
    fitted.push_str(&" ".repeat(body.len() - fitted.len()));
    let seal = seal(fitted.as_bytes());
    Some((fitted + &seal, kinds))
}

/// Rewrites what holds a secret, under the lock that keeps others from reading it meanwhile.
fn clean_journal(home: &Home, store: &mut Store) -> Result<(), ScanError> {
    let transaction = store.begin_fold().map_err(FoldError::from)?;
    let redos: Vec<Redo> = records(home)?.into_iter().map(|fix| fix.redo).collect();
    let path = home.redacting();
    let failed = |source| ScanError::File { path: path.clone(), source };
    let mut plan = Vec::new();
    for redo in &redos {
        plan.extend(serde_json::to_vec(redo).map_err(JournalError::from)?);
        plan.push(b'\n');
    }
    home.replace(&path, &plan).map_err(failed)?;
    fault::point("redact-planned").map_err(failed)?;
    apply(home, &redos)?;
    fs::remove_file(&path).map_err(failed)?;
    transaction.commit().map_err(FoldError::from)?;
    Ok(())
}

/// Finishes what a killed process began.
pub fn finish(home: &Home, store: &mut Store) -> Result<(), FoldError> {
    let path = home.redacting();
    if fs::symlink_metadata(&path).is_err() {
        return Ok(());
    }
    let transaction = store.begin_fold()?;
    // Another process may have finished it while we waited.
    if let Ok(text) = home.text(&path, FILE_BYTES_MAX) {
        let redos: Vec<Redo> = text.lines().filter_map(|line| serde_json::from_str(line).ok()).collect();
        apply(home, &redos)?;
        fs::remove_file(&path).map_err(|source| JournalError::Write { path, source })?;
    }
    Ok(transaction.commit()?)
}

fn apply(home: &Home, redos: &[Redo]) -> Result<(), JournalError> {
    let known: Vec<String> = journal::segments(home)?.into_iter().map(|segment| segment.name).collect();
    for of_segment in redos.chunk_by(|a, b| a.segment == b.segment) {
        if !known.contains(&of_segment[0].segment) {
            continue;
        }
        let path = home.journal_dir().join(&of_segment[0].segment);
        let write = || -> io::Result<()> {
            let file = home.open(&path, Access::Overwrite)?;
            for redo in of_segment {
                file.write_all_at(redo.line.as_bytes(), redo.offset)?;
                fault::point("redact-written")?;
            }
            file.sync_data()
        };
        write().map_err(|source| JournalError::Write { path: path.clone(), source })?;
    }
    Ok(())
}

/// The files of the home that are neither the journal, nor settings, nor their backups.
fn files(home: &Home) -> Vec<PathBuf> {
    let left_alone = [home.journal_dir(), home.backups_dir(), home.config(), home.paused(), home.redacting()];
    let mut folders = vec![(home.root().to_path_buf(), 0)];
    let mut found = Vec::new();
    while let Some((folder, depth)) = folders.pop() {
        for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
            let (path, kind) = (entry.path(), entry.file_type());
            match kind {
                _ if left_alone.contains(&path) => {}
                Ok(kind) if kind.is_dir() && depth < FOLDERS_MAX => folders.push((path, depth + 1)),
                Ok(kind) if kind.is_file() => found.push(path),
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
    shown(home, &home.view())
}

/// A view of any version, set aside or not, and its log.
fn is_view(name: &str) -> bool {
    name.starts_with("view-")
}

fn in_view(path: &Path, name: &str) -> Vec<Finding> {
    if name.ends_with("-wal") || name.ends_with("-shm") {
        return Vec::new();
    }
    let mut by_table: BTreeMap<String, Vec<String>> = BTreeMap::new();
    // What cannot be read as a view tells nothing; what is in it came from the journal.
    let _ = Store::every_text(path, |table, text| {
        let kinds = kinds_of(&redact(text), text);
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
    if known.len() > FILE_BYTES_MAX { None } else { fs::read_to_string(path).ok() }
}

fn in_text(name: &str, text: &str) -> Vec<Finding> {
    let Some((_, kinds)) = cleaned(name, text) else { return Vec::new() };
    let lines = text.lines().enumerate().filter(|(_, line)| cleaned(name, line).is_some());
    let lines: Vec<String> = lines.take(3).map(|(number, _)| (number + 1).to_string()).collect();
    vec![Finding { file: name.to_string(), at: format!("line {}", lines.join(", ")), kinds }]
}

fn cleaned(name: &str, text: &str) -> Option<(String, Vec<String>)> {
    if name.ends_with(".jsonl") && text.trim_end().contains('\n') {
        return by_line(name, text);
    }
    if name.contains(".json") && serde_json::from_str::<IgnoredAny>(text).is_ok() {
        return strings::cleaned(text);
    }
    let redacted = redact(text);
    let kinds = kinds_of(&redacted, text);
    (!kinds.is_empty()).then(|| (redacted.into_owned(), kinds))
}

fn by_line(name: &str, text: &str) -> Option<(String, Vec<String>)> {
    let (mut out, mut all) = (String::new(), Vec::new());
    for line in text.split_inclusive('\n') {
        match cleaned(name, line) {
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

/// The sorts of secrets that were cut from `text`, and not before.
fn kinds_of(redacted: &str, text: &str) -> Vec<String> {
    let mut found: Vec<String> = kinds(redacted).map(str::to_string).collect();
    for before in kinds(text) {
        if let Some(at) = found.iter().position(|kind| kind == before) {
            found.remove(at);
        }
    }
    found.sort();
    found
}

/// A file that can be made anew: overwritten, then gone.
fn overwrite(path: &Path) -> io::Result<()> {
    static CHUNK: [u8; 64 * 1024] = [0; 64 * 1024];
    let file = OpenOptions::new().write(true).open(path)?;
    let length = file.metadata()?.len();
    let mut at = 0;
    while at < length {
        let bytes = CHUNK.len().min((length - at) as usize);
        file.write_all_at(&CHUNK[..bytes], at)?;
        at += bytes as u64;
    }
    file.sync_data()?;
    fs::remove_file(path)
}
