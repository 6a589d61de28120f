//! Writes approved memories of a project into its instruction files, in a marked block, or removes that block.
//!
//! `AGENTS.md` gets it, and every other instruction file that exists at the top of the project, unless that includes or
//! links to `AGENTS.md`. A symbolic link is not followed: it may lead out of the project.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use cerberus_agents::install;
use cerberus_os::{outside, replace};
use cerberus_recall::learn::publish::{PublishError, published};
use cerberus_record::memory::{MemoryStatus, Scope};
use cerberus_record::time::Timestamp;
use cerberus_record::words;

use crate::project::identity::Located;
use crate::same_project::joined::joined;
use crate::view::{self, MemoryRow, Store, StoreError};

/// The file that most agents read.
const SHARED: &str = "AGENTS.md";
/// A larger file is not a guide.
const FILE_BYTES_MAX: u64 = 1024 * 1024;
const MODE_IF_NEW: u32 = 0o644;

#[derive(Debug, thiserror::Error)]
pub enum PublishingError {
    #[error("{path} is a symbolic link")]
    Link { path: PathBuf },
    #[error("{path}: {source}")]
    Damaged { path: PathBuf, source: PublishError },
    #[error("cannot read {path}: {source}")]
    Read { path: PathBuf, source: io::Error },
    #[error("cannot write {path}: {source}")]
    Write { path: PathBuf, source: io::Error },
    #[error(transparent)]
    Store(#[from] StoreError),
}

/// What becomes of a file.
#[derive(Debug, PartialEq, Eq)]
pub struct PublishedFile {
    pub path: PathBuf,
    pub kind: ChangeKind,
    /// The whole new text; `None` if the file is removed.
    pub text: Option<String>,
}

words! {
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub enum ChangeKind {
        Created = "created",
        Updated = "updated",
        Unchanged = "unchanged",
        Removed = "removed",
    }
}

/// The memories that may be published: approved, for this project alone, and not replaced by a newer one.
pub fn publishable(store: &Store, located: &Located, now: Timestamp) -> view::Result<Vec<MemoryRow>> {
    let joined = joined(store, located, now)?;
    let mut rows = store.memories(MemoryStatus::Approved, now)?;
    rows.retain(|row| {
        let is_here = match (&row.memory.project, row.scope()) {
            (Some(project), Scope::Project(_)) => joined.has(project),
            (None, Scope::Project(name)) => joined.names.contains(&name),
            _ => false,
        };
        is_here && row.superseded_by.is_none()
    });
    Ok(rows)
}

/// What publishing these rules would change. Without rules, the blocks are removed.
pub fn plan(located: &Located, rules: &[&str]) -> Result<Vec<PublishedFile>, PublishingError> {
    // Files of one person, and those in folders of an agent, are not for teammates.
    let is_for_all = |name: &&&str| !name.contains('/') && !name.starts_with('.') && !name.contains(".local.");
    let names = install::all().flat_map(|profile| profile.guides).filter(is_for_all);
    let others = names.map(|name| located.root.join(name));
    let mut changes: Vec<PublishedFile> = Vec::new();
    for path in std::iter::once(located.root.join(SHARED)).chain(others) {
        let is_shared = path.ends_with(SHARED);
        let is_new = changes.iter().all(|change| change.path != path);
        if is_new && (is_shared || is_used(&path)) {
            changes.extend(change(path, rules)?);
        }
    }
    Ok(changes)
}

/// Makes the changes, each file as a whole.
pub fn make(changes: &[PublishedFile]) -> Result<(), PublishingError> {
    for change in changes.iter().filter(|change| change.kind != ChangeKind::Unchanged) {
        let path = change.path.clone();
        let done = match &change.text {
            Some(text) => replace::replace(&path, text.as_bytes(), MODE_IF_NEW),
            None => fs::remove_file(&path),
        };
        done.map_err(|source| PublishingError::Write { path, source })?;
    }
    Ok(())
}

/// Is this an instruction file that says more than "see the other one"?
fn is_used(path: &Path) -> bool {
    let Ok(known) = fs::symlink_metadata(path) else { return false };
    let leads_to_shared = fs::read_link(path).is_ok_and(|target| target.ends_with(SHARED));
    let text = if known.is_file() { outside::text(path, FILE_BYTES_MAX).unwrap_or_default() } else { String::new() };
    let included = text.split_whitespace().filter_map(|word| word.strip_prefix('@'));
    let includes_shared = included.into_iter().any(|name| name.trim_end_matches(['.', ',', ')', ';']) == SHARED);
    !leads_to_shared && !includes_shared
}

fn change(path: PathBuf, rules: &[&str]) -> Result<Option<PublishedFile>, PublishingError> {
    let old = match fs::symlink_metadata(&path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => None,
        Err(source) => return Err(PublishingError::Read { path, source }),
        Ok(known) if known.is_symlink() => return Err(PublishingError::Link { path }),
        Ok(_) => match outside::text(&path, FILE_BYTES_MAX) {
            Ok(text) => Some(text),
            Err(source) => return Err(PublishingError::Read { path, source }),
        },
    };
    let text = match published(old.as_deref(), rules) {
        Ok(text) => text,
        Err(source) => return Err(PublishingError::Damaged { path, source }),
    };
    let kind = match (&old, &text) {
        (None, None) => return Ok(None),
        (None, Some(_)) => ChangeKind::Created,
        (Some(_), None) => ChangeKind::Removed,
        (Some(old), Some(new)) if old == new => ChangeKind::Unchanged,
        (Some(_), Some(_)) => ChangeKind::Updated,
    };
    if kind == ChangeKind::Updated && !replace::is_writable(&path) {
        let source = io::Error::new(io::ErrorKind::PermissionDenied, "the file is read-only");
        return Err(PublishingError::Write { path, source });
    }
    Ok(Some(PublishedFile { path, kind, text }))
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::{PermissionsExt, symlink};

    use super::*;
    use crate::project::identity::locate;

    fn done(root: &Path, rules: &[&str]) -> Result<Vec<(String, &'static str)>, PublishingError> {
        let changes = plan(&locate(root), rules)?;
        make(&changes)?;
        let name = |path: &Path| path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        Ok(changes.iter().map(|change| (name(&change.path), change.kind.word())).collect())
    }

    #[test]
    fn the_shared_file_is_made_and_others_are_used_where_they_exist() {
        let dir = tempfile::tempdir().unwrap();
        let file = |name: &str| dir.path().join(name);
        assert_eq!(done(dir.path(), &["a"]).unwrap(), [("AGENTS.md".to_string(), "created")]);
        assert_eq!(done(dir.path(), &["a"]).unwrap(), [("AGENTS.md".to_string(), "unchanged")]);
        fs::write(file("CLAUDE.md"), "# Own").unwrap();
        let both = [("AGENTS.md".to_string(), "unchanged"), ("CLAUDE.md".to_string(), "updated")];
        assert_eq!(done(dir.path(), &["a"]).unwrap(), both);
        assert!(fs::read_to_string(file("CLAUDE.md")).unwrap().contains("\n- a\n"));
        let both = [("AGENTS.md".to_string(), "removed"), ("CLAUDE.md".to_string(), "updated")];
        assert_eq!(done(dir.path(), &[]).unwrap(), both);
        assert_eq!((fs::read(file("CLAUDE.md")).unwrap(), file("AGENTS.md").exists()), (b"# Own".to_vec(), false));
        fs::write(file("CLAUDE.md"), "See @AGENTS.md").unwrap();
        assert_eq!(done(dir.path(), &["a"]).unwrap(), [("AGENTS.md".to_string(), "created")]);
        fs::remove_file(file("CLAUDE.md")).unwrap();
        symlink("AGENTS.md", file("CLAUDE.md")).unwrap();
        assert_eq!(done(dir.path(), &["a"]).unwrap(), [("AGENTS.md".to_string(), "unchanged")]);
    }

    #[test]
    fn links_and_read_only_files_are_refused_before_anything_is_written() {
        let dir = tempfile::tempdir().unwrap();
        let (shared, other) = (dir.path().join("AGENTS.md"), dir.path().join("CLAUDE.md"));
        symlink("/etc/hosts", &other).unwrap();
        assert!(matches!(done(dir.path(), &["a"]), Err(PublishingError::Link { .. })));
        assert!(!shared.exists());
        fs::remove_file(&other).unwrap();
        fs::write(&other, "x\n").unwrap();
        fs::set_permissions(&other, fs::Permissions::from_mode(0o444)).unwrap();
        assert!(matches!(done(dir.path(), &["a"]), Err(PublishingError::Write { .. })));
        assert!(!shared.exists());
        fs::set_permissions(&other, fs::Permissions::from_mode(0o644)).unwrap();
        fs::write(&other, b"\xff\n").unwrap();
        assert!(matches!(done(dir.path(), &["a"]), Err(PublishingError::Read { .. })));
    }
}
