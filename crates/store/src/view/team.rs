//! Lists of what is open in a project: those of teammates, and the last one that was made here for them.

use cerberus_recall::brief::TeamFact;
use cerberus_record::event::{OpenFacts, Record};
use cerberus_record::id::ProjectId;
use cerberus_record::time::Timestamp;
use rusqlite::{Row, params};

use super::write::{FoldTransaction, RowSource, json};
use super::{Result, Store};

impl FoldTransaction<'_> {
    pub(super) fn open_list(&self, source: &RowSource, record: &Record, list: &OpenFacts) -> Result<()> {
        let (device, author) = match &record.origin {
            Some(origin) => (Some(&*origin.device), origin.author.as_deref()),
            None => (None, None),
        };
        let sql = "INSERT OR REPLACE INTO open_list VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)";
        let (at, project, name) = (source.at.millis(), record.location.project.as_str(), &*record.location.name);
        self.run(sql, params![source.event, at, project, name, device, author, json(list)])?;
        Ok(())
    }
}

impl Store {
    /// What teammates have open in these projects (in all if empty), each with the name of its project, by the last
    /// list of each of their devices.
    pub fn team_facts(&self, projects: &[ProjectId], now: Timestamp) -> Result<Vec<(String, TeamFact)>> {
        let sql = "SELECT author, facts, project_name FROM open_list AS list WHERE author IS NOT NULL AND at <= ?1
            AND (?2 = '[]' OR project IN (SELECT value FROM json_each(?2)))
            AND NOT EXISTS (SELECT 1 FROM open_list AS later WHERE later.device = list.device
                AND later.project = list.project AND later.at <= ?1
                AND (later.at, later.event) > (list.at, list.event))
            ORDER BY project, device";
        let read = |row: &Row| Ok((row.get::<_, String>(0)?, row.get::<_, String>(1)?, row.get::<_, String>(2)?));
        let found = self.rows(sql, params![now.millis(), ids(projects)], read)?;
        let facts = found.into_iter().flat_map(|(author, facts, project)| {
            let list =
                serde_json::from_slice::<OpenFacts>(facts.as_bytes()).map(OpenFacts::into_owned).unwrap_or_default();
            list.facts.into_iter().map(move |fact| {
                let (author, code) = (author.clone(), fact.code.to_string());
                (project.clone(), TeamFact { author, kind: fact.kind, code, at: fact.at })
            })
        });
        Ok(facts.collect())
    }

    /// The last list that was made here.
    pub fn own_open_list(&self, projects: &[ProjectId], now: Timestamp) -> Result<Option<OpenFacts<'static>>> {
        let sql = "SELECT facts FROM open_list WHERE device IS NULL AND at <= ?1
            AND project IN (SELECT value FROM json_each(?2)) ORDER BY at DESC, event DESC LIMIT 1";
        let found = self.rows(sql, params![now.millis(), ids(projects)], |row| row.get::<_, String>(0))?.pop();
        Ok(found
            .and_then(|facts| serde_json::from_slice::<OpenFacts>(facts.as_bytes()).ok().map(OpenFacts::into_owned)))
    }
}

fn ids(projects: &[ProjectId]) -> String {
    json(&projects.iter().map(ProjectId::as_str).collect::<Vec<_>>())
}
