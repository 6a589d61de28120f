//! Projects in the view: what their repositories are, what the user said about them, and where they were seen.
//!
//! Rows are read in the order of their time and then of their key, so that the order in which records arrived does not
//! matter.

use cerberus_core::model::event::Record;
use cerberus_core::model::id::ProjectId;
use cerberus_core::model::repository::Repository;
use cerberus_core::model::time::Timestamp;
use rusqlite::{Row, params};

use super::read::time;
use super::write::{FoldTransaction, Source};
use super::{Result, Store};

/// More repositories than anybody works in; of more, those last looked at.
const REPOSITORIES_MAX: usize = 1_000;

/// What is known of a project's repository.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RepositoryRow {
    pub project: ProjectId,
    /// What people call the project.
    pub project_name: String,
    /// The top of the worktree from which somebody looked.
    pub root: String,
    pub at: Timestamp,
    pub folder: String,
    pub origin: Option<String>,
    pub root_commit: Option<String>,
    /// What its `.cerberus-project` says.
    pub name: Option<String>,
}

/// What the user said about two projects.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AnswerRow {
    pub project: ProjectId,
    pub other: ProjectId,
    pub is_same: bool,
}

const COLUMNS: &str = "project, project_name, root, at, folder, origin, root_commit, name";

impl FoldTransaction<'_> {
    pub(crate) fn repository(&self, source: &Source, record: &Record, found: &Repository) -> Result<()> {
        let sql =
            "INSERT INTO repository (event, project, at, key, project_name, root, folder, origin, root_commit, name)
            VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10)";
        let place = &record.place;
        self.run(
            sql,
            params![
                source.event,
                place.project.as_str(),
                source.at.millis(),
                &*record.key,
                &*place.name,
                &*place.root,
                &*found.folder,
                found.origin.as_deref(),
                found.root_commit.as_deref(),
                found.name.as_deref(),
            ],
        )?;
        Ok(())
    }

    pub(crate) fn answer(&self, source: &Source, record: &Record, other: &ProjectId, is_same: bool) -> Result<()> {
        let sql =
            "INSERT INTO project_answer (event, at, key, project, other, is_same) VALUES (?1, ?2, ?3, ?4, ?5, ?6)";
        let (project, at) = (record.place.project.as_str(), source.at.millis());
        self.run(sql, params![source.event, at, &*record.key, project, other.as_str(), is_same])?;
        Ok(())
    }
}

impl Store {
    /// The repository of every project as it was last known up to `now`.
    pub fn repositories(&self, now: Timestamp) -> Result<Vec<RepositoryRow>> {
        let sql = format!(
            "SELECT {COLUMNS} FROM repository AS known WHERE at <= ?1 AND NOT EXISTS (SELECT 1 FROM repository AS later
             WHERE later.project = known.project AND later.at <= ?1 AND (later.at, later.key) > (known.at, known.key))
             ORDER BY at DESC, key DESC LIMIT ?2"
        );
        self.rows(&sql, params![now.millis(), REPOSITORIES_MAX], repository_row)
    }

    /// The repository of one project as it was last known, whenever that was; and how often it was recorded.
    pub fn repository(&self, project: &ProjectId) -> Result<(Option<RepositoryRow>, usize)> {
        let sql = format!("SELECT {COLUMNS} FROM repository WHERE project = ?1 ORDER BY at, key");
        let mut found = self.rows(&sql, [project.as_str()], repository_row)?;
        let count = found.len();
        Ok((found.pop(), count))
    }

    /// Does any repository that was ever looked at begin with this commit?
    pub fn is_root_commit(&self, commit: &str) -> Result<bool> {
        Ok(!self.rows("SELECT 1 FROM repository WHERE root_commit = ?1 LIMIT 1", [commit], |_| Ok(()))?.is_empty())
    }

    /// Everything that the user said about projects up to `now`, in order.
    pub fn answers(&self, now: Timestamp) -> Result<Vec<AnswerRow>> {
        let sql = "SELECT project, other, is_same FROM project_answer WHERE at <= ?1 ORDER BY at, key";
        self.rows(sql, [now.millis()], |row| {
            let (project, other) = (ProjectId::from_stored(row.get(0)?), ProjectId::from_stored(row.get(1)?));
            Ok(AnswerRow { project, other, is_same: row.get(2)? })
        })
    }

    /// What a project was last called in a session, and the top of its worktree then.
    pub fn last_place(&self, project: &ProjectId, now: Timestamp) -> Result<Option<(String, String)>> {
        let sql = "SELECT project_name, root FROM session WHERE project = ?1 AND started_at <= ?2
            ORDER BY last_activity DESC, id DESC LIMIT 1";
        let found = self.rows(sql, params![project.as_str(), now.millis()], |row| Ok((row.get(0)?, row.get(1)?)))?;
        Ok(found.into_iter().next())
    }

    /// The project whose worktree had its top in this folder, which need not exist any more; the last if several had.
    pub fn project_at(&self, root: &str, now: Timestamp) -> Result<Option<ProjectId>> {
        let sql = "SELECT project, at, '' FROM repository WHERE root = ?1 AND at <= ?2
            UNION ALL SELECT project, last_activity, id FROM session WHERE root = ?1 AND started_at <= ?2
            ORDER BY 2 DESC, 3 DESC LIMIT 1";
        let found = self.rows(sql, params![root, now.millis()], |row| row.get(0))?;
        Ok(found.into_iter().next().map(ProjectId::from_stored))
    }

    /// Was git asked for the first commit when this was checked out?
    pub fn was_root_asked(&self, project: &ProjectId, head: &str) -> Result<bool> {
        let sql = "SELECT 1 FROM root_asked WHERE project = ?1 AND head = ?2";
        Ok(!self.rows(sql, [project.as_str(), head], |_| Ok(()))?.is_empty())
    }

    /// Remembers that it was. Whoever cannot write asks again.
    pub fn set_root_asked(&self, project: &ProjectId, head: &str) {
        let sql = "INSERT OR REPLACE INTO root_asked VALUES (?1, ?2)";
        let _ = self.connection.execute(sql, [project.as_str(), head]);
    }
}

fn repository_row(row: &Row) -> rusqlite::Result<RepositoryRow> {
    Ok(RepositoryRow {
        project: ProjectId::from_stored(row.get(0)?),
        project_name: row.get(1)?,
        root: row.get(2)?,
        at: time(row, 3)?,
        folder: row.get(4)?,
        origin: row.get(5)?,
        root_commit: row.get(6)?,
        name: row.get(7)?,
    })
}
