//! What agents wrote into their own memory about a project. Of each agent on each device, the last row by time and place
//! counts.

use cerberus_recall::brief::AgentNotes;
use cerberus_record::event::Record;
use cerberus_record::id::{ProjectId, SessionId};
use cerberus_record::time::Timestamp;
use rusqlite::{Row, params};

use super::read::time;
use super::write::{FoldTransaction, RowSource, json};
use super::{Result, Store};

/// The last notes of an agent, and the key of their record.
#[derive(Debug)]
pub struct NotesRow {
    pub notes: AgentNotes,
    pub key: String,
}

impl FoldTransaction<'_> {
    pub(super) fn agent_notes(&self, source: &RowSource, record: &Record, text: &str) -> Result<()> {
        let (at, project, agent) = (source.at.millis(), record.location.project.as_str(), record.agent.name());
        let device = record.origin.as_ref().map(|origin| &*origin.device);
        let sql = "INSERT INTO agent_notes VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)";
        self.run(sql, params![source.event, source.session, at, project, agent, device, text])?;
        Ok(())
    }
}

impl Store {
    /// What agents have noted about these projects, the newest first.
    pub fn agent_notes(&self, projects: &[ProjectId], now: Timestamp) -> Result<Vec<NotesRow>> {
        let sql = "SELECT notes.agent, session.id, notes.at, text, notes.device, event.key FROM agent_notes AS notes
            JOIN session ON session.row = notes.session JOIN event ON event.row = notes.event
            WHERE notes.project IN (SELECT value FROM json_each(?2)) AND notes.at <= ?1
            AND NOT EXISTS (SELECT 1 FROM agent_notes AS later WHERE later.agent = notes.agent
                AND later.device IS notes.device AND later.project IN (SELECT value FROM json_each(?2))
                AND later.at <= ?1 AND (later.at, later.event) > (notes.at, notes.event))
            ORDER BY notes.at DESC, notes.event DESC";
        let read = |row: &Row| {
            let is_of_other_device = row.get::<_, Option<String>>(4)?.is_some();
            let (agent, session, text) = (row.get(0)?, SessionId::new(row.get::<_, String>(1)?), row.get(3)?);
            let notes = AgentNotes { agent, session, at: time(row, 2)?, text, is_of_other_device };
            Ok(NotesRow { notes, key: row.get(5)? })
        };
        let ids: Vec<&str> = projects.iter().map(ProjectId::as_str).collect();
        self.rows(sql, params![now.millis(), json(&ids)], read)
    }
}
