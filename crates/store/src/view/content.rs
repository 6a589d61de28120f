//! Decides by its tables whether a database is the view, and creates them in an empty one.

use std::io;

use cerberus_os::platform;
use cerberus_record::id::fnv1a;
use rusqlite::Connection;

/// Marks a view whose tables are complete.
const SCHEMA_VERSION: u32 = 10;

const SCHEMA: &str = include_str!("schema.sql");

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

#[cfg(test)]
mod tests {
    use super::*;

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
    fn a_vacuum_changes_nothing() {
        let connection = Connection::open_in_memory().unwrap();
        create(&connection).unwrap();
        connection.execute_batch("VACUUM").unwrap();
        assert!(matches!(inspect(&connection).unwrap(), Content::View));
    }
}
