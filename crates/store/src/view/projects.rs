//! Projects in the view: the state of their repositories, the user's answers about them, and where they were seen.
//!
//! Rows are ordered by time and then by their place in the journal, so the order in which records arrive does not matter.

use cerberus_record::event::Record;
use cerberus_record::id::ProjectId;
use cerberus_record::repository::Repository;
use cerberus_record::time::Timestamp;
use rusqlite::{Row, params};

use super::read::time;
use super::write::{FoldTransaction, RowSource};
use super::{Result, Store};

/// If there are more repositories, the ones recorded last are used.
const REPOSITORIES_MAX: usize = 1_000;

/// The state of a project's repository.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RepositoryRow {
    /// The place of its record in the journal's order.
    pub event: i64,
    pub project: ProjectId,
    /// The name of its folder.
    pub project_name: String,
    /// The top of its main worktree, or of the one from which it was recorded.
    pub root: String,
    pub at: Timestamp,
    pub folder: String,
    pub origin: Option<String>,
    pub root_commit: Option<String>,
    /// The content of its `.cerberus-project`.
    pub name: Option<String>,
}

/// The user's answer about two projects.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AnswerRow {
    pub project: ProjectId,
    pub other: ProjectId,
    pub is_same: bool,
    /// Nobody said it: it was recognised.
    pub is_found: bool,
}

const COLUMNS: &str = "event, project, project_name, root, at, folder, origin, root_commit, name";

impl FoldTransaction<'_> {
    pub(super) fn repository(&self, source: &RowSource, record: &Record, found: &Repository) -> Result<()> {
        let sql = "INSERT INTO repository (event, project, at, project_name, root, folder, origin, root_commit, name)
            VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9)";
        let location = &record.location;
        self.run(
            sql,
            params![
                source.event,
                location.project.as_str(),
                source.at.millis(),
                &*location.name,
                &*location.root,
                &*found.folder,
                found.origin.as_deref(),
                found.root_commit.as_deref(),
                found.name.as_deref(),
            ],
        )?;
        Ok(())
    }

    pub(super) fn answer(
        &self,
        source: &RowSource,
        record: &Record,
        other: &ProjectId,
        is_same: bool,
        is_found: bool,
    ) -> Result<()> {
        let sql = "INSERT INTO project_answer (event, at, project, other, is_same, is_found)
            VALUES (?1, ?2, ?3, ?4, ?5, ?6)";
        let (project, at) = (record.location.project.as_str(), source.at.millis());
        self.run(sql, params![source.event, at, project, other.as_str(), is_same, is_found])?;
        Ok(())
    }
}

impl Store {
    /// The latest state of every repository up to `now`.
    pub fn repositories(&self, now: Timestamp) -> Result<Vec<RepositoryRow>> {
        let sql = format!(
            "SELECT {COLUMNS} FROM repository AS known WHERE at <= ?1 AND NOT EXISTS (SELECT 1 FROM repository AS later
             WHERE later.project = known.project AND later.at <= ?1 AND (later.at, later.event) > (known.at, known.event))
             ORDER BY at DESC, event DESC LIMIT ?2"
        );
        self.repeated_rows(&sql, params![now.millis(), REPOSITORIES_MAX], repository_row)
    }

    /// The latest state of one repository at any time.
    pub fn repository(&self, project: &ProjectId) -> Result<Option<RepositoryRow>> {
        let sql = format!("SELECT {COLUMNS} FROM repository WHERE project = ?1 ORDER BY at DESC, event DESC LIMIT 1");
        Ok(self.rows(&sql, [project.as_str()], repository_row)?.pop())
    }

    /// Whether this is the first commit of any known repository.
    pub fn is_root_commit(&self, commit: &str) -> Result<bool> {
        Ok(!self.rows("SELECT 1 FROM repository WHERE root_commit = ?1 LIMIT 1", [commit], |_| Ok(()))?.is_empty())
    }

    /// The user's answers about projects up to `now`, oldest first.
    pub fn answers(&self, now: Timestamp) -> Result<Vec<AnswerRow>> {
        let sql = "SELECT project, other, is_same, is_found FROM project_answer WHERE at <= ?1 ORDER BY at, event";
        self.rows(sql, [now.millis()], |row| {
            let (project, other) = (ProjectId::from_stored(row.get(0)?), ProjectId::from_stored(row.get(1)?));
            Ok(AnswerRow { project, other, is_same: row.get(2)?, is_found: row.get(3)? })
        })
    }

    /// The name and worktree of a project in its last session.
    pub fn last_place(&self, project: &ProjectId, now: Timestamp) -> Result<Option<(String, String)>> {
        let sql = "SELECT project_name, root FROM session WHERE project = ?1 AND started_at <= ?2
            ORDER BY last_activity DESC, id DESC LIMIT 1";
        let found = self.rows(sql, params![project.as_str(), now.millis()], |row| Ok((row.get(0)?, row.get(1)?)))?;
        Ok(found.into_iter().next())
    }

    /// The project that last had its worktree in this folder, which may no longer exist.
    pub fn project_at(&self, root: &str, now: Timestamp) -> Result<Option<ProjectId>> {
        let sql = "SELECT project, at, '' FROM repository WHERE root = ?1 AND at <= ?2
            UNION ALL SELECT project, last_activity, id FROM session WHERE root = ?1 AND started_at <= ?2
            ORDER BY 2 DESC, 3 DESC LIMIT 1";
        let found = self.rows(sql, params![root, now.millis()], |row| row.get(0))?;
        Ok(found.into_iter().next().map(ProjectId::from_stored))
    }

    /// Whether git was already asked for the first commit while this commit was checked out.
    pub fn was_root_asked(&self, project: &ProjectId, head: &str) -> Result<bool> {
        let sql = "SELECT 1 FROM root_asked WHERE project = ?1 AND head = ?2";
        Ok(!self.rows(sql, [project.as_str(), head], |_| Ok(()))?.is_empty())
    }

    /// Remembers that git was asked. If that fails, it is asked again.
    pub fn set_root_asked(&self, project: &ProjectId, head: &str) {
        let sql = "INSERT OR REPLACE INTO root_asked VALUES (?1, ?2)";
        let _ = self.connection.execute(sql, [project.as_str(), head]);
    }
}

fn repository_row(row: &Row) -> rusqlite::Result<RepositoryRow> {
    Ok(RepositoryRow {
        event: row.get(0)?,
        project: ProjectId::from_stored(row.get(1)?),
        project_name: row.get(2)?,
        root: row.get(3)?,
        at: time(row, 4)?,
        folder: row.get(5)?,
        origin: row.get(6)?,
        root_commit: row.get(7)?,
        name: row.get(8)?,
    })
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use cerberus_os::home::Home;
    use cerberus_record::clean::text::Clean;
    use cerberus_record::event::{Event, Location};
    use cerberus_record::id::Agent;

    use super::*;
    use crate::journal;
    use crate::view::fold;

    fn record(at: i64, key: &'static str, event: Event<'static>) -> Record<'static> {
        let root = || Clean::word("/p");
        let location = Location {
            project: ProjectId::of_anchor(b"/p"),
            name: Clean::word("p"),
            root: root(),
            cwd: root(),
            branch: None,
        };
        let (at, key, session) = (Timestamp::from_millis(at), Clean::word(key), Clean::word(""));
        Record {
            at,
            key,
            agent: Agent::MANUAL,
            imported: false,
            heard_by: None,
            by_agent: false,
            origin: None,
            session,
            location,
            event,
        }
    }

    fn repository(at: i64, key: &'static str, origin: &'static str) -> Record<'static> {
        let origin = Some(Clean::word(origin));
        record(
            at,
            key,
            Event::Repository(Repository { folder: Clean::word("/p/.git"), origin, ..Repository::default() }),
        )
    }

    #[test]
    fn rows_do_not_depend_on_the_order_in_which_records_arrive() {
        let other = || ProjectId::of_anchor(b"/q");
        // Each record is written on its own day. Keys say nothing about the order.
        let records = [
            repository(1, "r2", "a"),
            repository(2, "r1", "b"),
            repository(2, "r0", "c"),
            record(3, "p1", Event::SameProject { other: other(), is_found: false }),
            record(3, "p0", Event::SeparateProject { other: other() }),
        ];
        let begun = Timestamp::from_millis(1_700_000_000_000);
        for turn in 0..records.len() {
            let dir = tempfile::tempdir().unwrap();
            let home = Home::new(dir.path().to_path_buf());
            let mut arriving: Vec<_> = records.iter().zip(0u64..).collect();
            arriving.rotate_left(turn);
            for (record, day) in arriving.iter().chain(&arriving) {
                journal::append(&home, begun.plus(Duration::from_secs(day * 86_400)), record).unwrap();
                fold::open(&home).unwrap();
            }
            let store = fold::open(&home).unwrap();
            let origin = |now| {
                let found = store.repositories(Timestamp::from_millis(now)).unwrap();
                found.iter().map(|row| row.origin.clone().unwrap()).collect::<Vec<_>>()
            };
            assert_eq!((origin(0), origin(1), origin(2)), (vec![], vec!["a".into()], vec!["c".into()]), "{turn}");
            let last = store.repository(&ProjectId::of_anchor(b"/p")).unwrap();
            assert_eq!(last.unwrap().origin.as_deref(), Some("c"));
            let said = store.answers(Timestamp::LAST).unwrap();
            assert_eq!(said.iter().map(|said| said.is_same).collect::<Vec<_>>(), [true, false], "{turn}");
            assert_eq!(store.answers(Timestamp::from_millis(2)).unwrap(), []);
        }
    }
}
