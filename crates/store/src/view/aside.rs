//! Decides whether the file in the view's place is the view, and deals with one that is not.
//!
//! The view can always be rebuilt from the journal, so a wrong file is renamed; it is never repaired or waited for. Our
//! own files contain prompts, so they are removed once they are of no use. Files that are not ours are left to the
//! user.

use std::collections::HashMap;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use cerberus_os::clock::Clock;
use cerberus_os::failures;
use cerberus_os::home::Home;
use cerberus_os::platform;
use cerberus_record::id::fnv1a;
use cerberus_record::time::Timestamp;
use rusqlite::Connection;

use super::files::{VIEW, view_file, with_suffix};
use super::fold::FoldError;
use super::{SCHEMA, SCHEMA_VERSION, Store, StoreError};
use crate::journal;

/// How long a damaged view is kept for inspection.
const DAMAGED_MAX: Duration = Duration::from_secs(30 * 24 * 60 * 60);

/// How long the view of another version is kept after its last change: that version may still be in use.
const UNUSED_MAX: Duration = Duration::from_secs(24 * 60 * 60);

/// How many names are tried for a file that is set aside.
const ASIDE_MAX: usize = 100;

/// The suffixes of the files that make up one database.
const PARTS: [&str; 3] = ["", "-wal", "-shm"];

/// Something in the view's place that is not the view.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ViewProblem {
    #[error("its tables do not match this version")]
    Altered,
    #[error("the file is a database of another program")]
    Foreign,
    #[error("the file cannot be used as a view: {0}")]
    NotAFile(String),
}

/// What a database contains.
pub(super) enum Content {
    Nothing,
    View,
    ViewProblem(ViewProblem),
}

/// Reads only the schema; changes nothing.
pub(super) fn inspect(connection: &Connection) -> rusqlite::Result<Content> {
    let number = |name: &str| connection.pragma_query_value(None, name, |row| row.get::<_, i32>(0));
    let (version, mark) = (number("user_version")?, number("application_id")?);
    let found = Definitions::read(connection)?;
    Ok(match (version, mark) {
        (0, 0) if found.count == 0 => Content::Nothing,
        _ if version == SCHEMA_VERSION as i32 && mark == found.mark() => Content::View,
        _ if found.has_segments => Content::ViewProblem(ViewProblem::Altered),
        _ => Content::ViewProblem(ViewProblem::Foreign),
    })
}

/// Creates all tables or none. Two first commands may race; the loser finds the tables in place.
pub(super) fn create(connection: &Connection) -> rusqlite::Result<()> {
    let transaction = rusqlite::Transaction::new_unchecked(connection, rusqlite::TransactionBehavior::Immediate)?;
    if let Content::Nothing = inspect(&transaction)? {
        transaction.execute_batch(&without_comments(SCHEMA))?;
        let mark = Definitions::read(&transaction)?.mark();
        transaction.execute_batch(&format!("PRAGMA user_version={SCHEMA_VERSION}; PRAGMA application_id={mark}"))?;
    }
    transaction.commit()
}

/// SQLite keeps the text of every definition and reads it whenever the view is opened.
fn without_comments(schema: &str) -> String {
    let lines = schema.lines().map(str::trim_start).filter(|line| !line.starts_with("--"));
    lines.collect::<Vec<_>>().join("\n")
}

/// All tables, indexes, triggers and views.
#[derive(Default)]
struct Definitions {
    count: usize,
    /// The sum of their hashes: SQLite returns them in any order.
    hash: u64,
    has_segments: bool,
}

impl Definitions {
    fn read(connection: &Connection) -> rusqlite::Result<Definitions> {
        let mut found = Definitions::default();
        let mut statement = connection.prepare("SELECT type, name, sql FROM sqlite_master")?;
        let mut rows = statement.query([])?;
        while let Some(row) = rows.next()? {
            let text = |column| -> rusqlite::Result<&str> { Ok(row.get_ref(column)?.as_str().unwrap_or_default()) };
            let (kind, name, sql) = (text(0)?, text(1)?, text(2)?);
            found.count += 1;
            found.hash = found.hash.wrapping_add(fnv1a(format!("{kind} {name} {sql}").as_bytes()));
            found.has_segments |= (kind, name) == ("table", "segment");
        }
        Ok(found)
    }

    /// A number that identifies the schema: other tables or another version give another number.
    fn mark(&self) -> i32 {
        const OURS: u64 = fnv1a(SCHEMA.as_bytes()).rotate_left(1);
        let hash = self.hash ^ OURS;
        // 0 is the default of a database without a mark.
        (((hash ^ (hash >> 32)) & 0x7fff_ffff) as i32).max(1)
    }
}

/// Why the file in the view's place cannot be opened. `None` if the cause is not the file itself, such as a full disk
/// or too many open files.
pub(super) fn view_problem(error: &io::Error) -> Option<ViewProblem> {
    use io::ErrorKind::{InvalidInput, IsADirectory, Other, PermissionDenied};
    let is_file_error =
        matches!(error.kind(), PermissionDenied | InvalidInput | IsADirectory | Other) || platform::is_no_file(error);
    is_file_error.then(|| ViewProblem::NotAFile(error.to_string()))
}

/// Whether one of the view's files is not a regular file. SQLite opens its logs without our checks.
pub(super) fn is_obstructed(home: &Home) -> bool {
    let view = view_file(home);
    PARTS.iter().any(|part| fs::symlink_metadata(with_suffix(&view, part)).is_ok_and(|known| !known.is_file()))
}

/// Renames what is in the view's place and notes it for `doctor`.
pub(super) fn set_aside(home: &Home, error: &StoreError) {
    let view = view_file(home);
    let is_file = fs::symlink_metadata(&view).is_ok_and(|known| known.is_file());
    let is_ours = is_file && !matches!(error, StoreError::ViewProblem { problem: ViewProblem::Foreign, .. });
    let name = if is_ours { "damaged" } else { "damaged-foreign" };
    let names = (1..=ASIDE_MAX).map(|number| if number == 1 { name.to_string() } else { format!("{name}-{number}") });
    let is_free = |aside: &PathBuf| PARTS.iter().all(|part| fs::symlink_metadata(with_suffix(aside, part)).is_err());
    let Some(aside) = names.map(|name| view.with_extension(name)).find(is_free) else { return };
    let moved = PARTS.map(|part| fs::rename(with_suffix(&view, part), with_suffix(&aside, part)));
    if moved.iter().all(Result::is_err) {
        return;
    }
    if is_ours {
        // From now on, its age counts.
        platform::touch(&aside);
    }
    let detail =
        format!("{error}; the old file was renamed to {}", aside.file_name().unwrap_or_default().to_string_lossy());
    failures::note(home, Clock::new(None).wall, "the view was rebuilt", &detail);
}

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
    use super::*;

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
    fn any_other_table_column_trigger_or_version_is_detected() {
        let made = || {
            let connection = Connection::open_in_memory().unwrap();
            create(&connection).unwrap();
            connection
        };
        assert!(matches!(inspect(&made()).unwrap(), Content::View));
        assert!(matches!(inspect(&Connection::open_in_memory().unwrap()).unwrap(), Content::Nothing));
        for (change, problem) in [
            ("CREATE TABLE other (x)", ViewProblem::Altered),
            ("ALTER TABLE fact ADD COLUMN x TEXT", ViewProblem::Altered),
            ("CREATE VIEW seen AS SELECT 1", ViewProblem::Altered),
            ("CREATE TRIGGER t AFTER INSERT ON fact BEGIN DELETE FROM fact; END", ViewProblem::Altered),
            ("DROP INDEX fact_said", ViewProblem::Altered),
            ("PRAGMA user_version=0", ViewProblem::Altered),
            ("PRAGMA user_version=99", ViewProblem::Altered),
            ("PRAGMA application_id=0", ViewProblem::Altered),
            ("DROP TABLE segment", ViewProblem::Foreign),
        ] {
            let connection = made();
            connection.execute_batch(change).unwrap();
            assert!(
                matches!(inspect(&connection).unwrap(), Content::ViewProblem(found) if found == problem),
                "{change}"
            );
        }
        let foreign = Connection::open_in_memory().unwrap();
        foreign.execute_batch("CREATE TABLE fact (x)").unwrap();
        create(&foreign).unwrap();
        assert!(
            matches!(inspect(&foreign).unwrap(), Content::ViewProblem(ViewProblem::Foreign)),
            "it is left as it is"
        );
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
        let store = super::super::fold::open(&home).unwrap();
        assert!(!tidied("a line that is not folded\n", &store));
        let store = super::super::fold::open(&home).unwrap();
        assert!(tidied("a line that is not folded\n", &store));
        assert!(tidied("a line that is not folded\nand one that was cut sh", &store));
    }

    #[test]
    fn a_vacuum_changes_nothing() {
        let connection = Connection::open_in_memory().unwrap();
        create(&connection).unwrap();
        connection.execute_batch("VACUUM").unwrap();
        assert!(matches!(inspect(&connection).unwrap(), Content::View));
    }
}
