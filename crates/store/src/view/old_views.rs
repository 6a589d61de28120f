//! Removes views that are no longer of use: those of other versions, and damaged ones.
//!
//! They contain prompts, and everything in them can be rebuilt from the journal.

use std::collections::HashMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use cerberus_os::home::Home;
use cerberus_record::time::Timestamp;

use super::Store;
use super::files::{PARTS, VIEW, with_suffix};
use super::fold::FoldError;
use crate::journal;

/// How long a damaged view is kept for inspection.
const DAMAGED_MAX: Duration = Duration::from_secs(30 * 24 * 60 * 60);

/// How long the view of another version is kept after its last change: that version may still be in use.
const UNUSED_MAX: Duration = Duration::from_secs(24 * 60 * 60);

/// Removes views of other versions that are no longer in use, once this one is complete, and damaged views that were
/// kept long enough. If there are none, this costs one directory listing.
pub fn remove_old_views(home: &Home, store: &Store, wall: Timestamp) -> Result<(), FoldError> {
    let entries = fs::read_dir(home.root()).into_iter().flatten().flatten();
    let files = entries.filter(|entry| entry.file_type().is_ok_and(|kind| kind.is_file()));
    let named = files.map(|entry| (entry.file_name().to_string_lossy().into_owned(), entry.path()));
    let is_older = |path: &Path, limit: Duration| age(path, wall).is_none_or(|age| age > limit);
    let of_no_use = |(name, path): &(String, PathBuf)| match kind_of(name) {
        // Changes are written to the log first, so the newest file of a view says when it was used.
        Some(DamageKind::OtherVersion) => {
            let view = path.with_extension("db");
            PARTS.iter().all(|part| is_older(&with_suffix(&view, part), UNUSED_MAX))
        }
        Some(DamageKind::Damaged) => is_older(path, DAMAGED_MAX),
        None => false,
    };
    let doomed: Vec<(String, PathBuf)> = named.filter(of_no_use).collect();
    if !doomed.is_empty() && is_complete(home, store)? {
        doomed.iter().for_each(|(_, path)| drop(fs::remove_file(path)));
    }
    Ok(())
}

fn is_complete(home: &Home, store: &Store) -> Result<bool, FoldError> {
    let folded: HashMap<String, u64> = store.segments()?.into_iter().map(|(name, bytes, ..)| (name, bytes)).collect();
    for segment in journal::segments(home)? {
        let offset = folded.get(&segment.name).copied().unwrap_or(0);
        // A torn last line is never folded.
        if offset < segment.bytes && journal::read(home, &segment.name, offset)?.next_offset > offset {
            return Ok(false);
        }
    }
    Ok(true)
}

#[derive(Debug, PartialEq, Eq)]
enum DamageKind {
    OtherVersion,
    Damaged,
}

/// The kind of one of our view files, by its name.
fn kind_of(name: &str) -> Option<DamageKind> {
    let (version, rest) = name.strip_prefix("view-")?.split_once('.')?;
    if version.is_empty() || !version.bytes().all(|byte| byte.is_ascii_hexdigit()) {
        return None;
    }
    let plain = ["-wal", "-shm", "-journal"].iter().find_map(|part| rest.strip_suffix(part)).unwrap_or(rest);
    if plain == "db" {
        return (!name.starts_with(VIEW)).then_some(DamageKind::OtherVersion);
    }
    (plain.starts_with("damaged") && !plain.starts_with("damaged-foreign")).then_some(DamageKind::Damaged)
}

fn age(path: &Path, wall: Timestamp) -> Option<Duration> {
    let modified: SystemTime = fs::symlink_metadata(path).ok()?.modified().ok()?;
    let modified = modified.duration_since(UNIX_EPOCH).ok()?;
    Some(wall.since(Timestamp::from_millis(modified.as_millis().try_into().ok()?)))
}

#[cfg(test)]
mod tests {
    use cerberus_os::clock::Clock;

    use super::*;
    use crate::view::fold;

    #[test]
    fn file_names_decide_what_may_be_removed() {
        for (name, kind) in [
            ("view-1.db", Some(DamageKind::OtherVersion)),
            ("view-1.db-wal", Some(DamageKind::OtherVersion)),
            ("view-999.db-shm", Some(DamageKind::OtherVersion)),
            ("view-00c0ffee00c0ffee.db", Some(DamageKind::OtherVersion)),
            (VIEW, None),
            (&format!("{VIEW}-wal"), None),
            ("view-1.damaged", Some(DamageKind::Damaged)),
            ("view-5.damaged-2-wal", Some(DamageKind::Damaged)),
            ("view-00c0ffee00c0ffee.damaged", Some(DamageKind::Damaged)),
            ("view-5.damaged-foreign", None),
            ("view-5.damaged-foreign-2", None),
            ("view-x.db", None),
            ("view-1.txt", None),
            ("config.toml", None),
        ] {
            assert_eq!(kind_of(name), kind, "{name}");
        }
    }

    #[test]
    fn other_views_are_removed_once_all_whole_lines_are_folded() {
        let dir = tempfile::tempdir().unwrap();
        let home = Home::new(dir.path().join("home"));
        fs::create_dir_all(home.journal_dir()).unwrap();
        let old = home.root().join("view-1.db");
        let tidied = |journal: &str, store: &Store| {
            fs::write(&old, "").unwrap();
            fs::write(home.journal_dir().join("2026-01-02.jsonl"), journal).unwrap();
            let later = Clock::new(None).wall.millis() + 2 * 24 * 60 * 60 * 1000;
            remove_old_views(&home, store, Timestamp::from_millis(later)).unwrap();
            !old.exists()
        };
        fs::write(home.journal_dir().join("2026-01-01.jsonl"), "").unwrap();
        let store = fold::open(&home).unwrap();
        assert!(!tidied("a line that is not folded\n", &store));
        let store = fold::open(&home).unwrap();
        assert!(tidied("a line that is not folded\n", &store));
        assert!(tidied("a line that is not folded\nand one that was cut sh", &store));
    }
}
