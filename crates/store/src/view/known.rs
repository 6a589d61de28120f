//! What the view already knows about a session that is being imported.

use std::collections::{HashMap, HashSet};

use cerberus_record::id::Agent;
use cerberus_record::kind::EventKind;
use cerberus_record::time::Timestamp;
use rusqlite::Row;

use super::{Result, Store};

impl Store {
    /// The keys of all of a session's events, and when they happened.
    pub fn event_keys(&self, agent: Agent, agent_session_id: &str) -> Result<HashMap<String, Timestamp>> {
        let mut all = HashMap::new();
        self.each_event_key(agent, agent_session_id, |key, at| {
            all.insert(key.to_string(), at);
        })?;
        Ok(all)
    }

    /// Passes them on one by one.
    pub fn each_event_key(
        &self,
        agent: Agent,
        agent_session_id: &str,
        mut take: impl FnMut(&str, Timestamp),
    ) -> Result<()> {
        let sql = "SELECT key, at FROM event JOIN session ON session.row = event.session
            WHERE agent = ?1 AND agent_session_id = ?2";
        let read = |row: &Row| {
            let at = Timestamp::from_millis(row.get(1)?);
            take(row.get_ref(0)?.as_str()?, at);
            Ok(())
        };
        self.rows(sql, [agent.name(), agent_session_id], read).map(drop)
    }

    /// The agent of each session that is known, and the agent's own id for it.
    pub fn known_sessions(&self) -> Result<HashSet<(String, String)>> {
        let names =
            self.rows("SELECT agent, agent_session_id FROM session", [], |row| Ok((row.get(0)?, row.get(1)?)))?;
        Ok(names.into_iter().collect())
    }

    /// When events of a session were recorded, in order.
    pub fn event_times(&self, agent: Agent, agent_session_id: &str) -> Result<Vec<Timestamp>> {
        let sql = "SELECT at FROM event JOIN session ON session.row = event.session
            WHERE agent = ?1 AND agent_session_id = ?2";
        let mut times =
            self.rows(sql, [agent.name(), agent_session_id], |row| Ok(Timestamp::from_millis(row.get(0)?)))?;
        times.sort_unstable();
        Ok(times)
    }

    /// The kinds of a session's events, and when they happened.
    pub fn event_kinds(&self, agent: Agent, agent_session_id: &str) -> Result<Vec<(Timestamp, EventKind)>> {
        let sql = "SELECT at, kind FROM event JOIN session ON session.row = event.session
            WHERE agent = ?1 AND agent_session_id = ?2";
        let read = |row: &Row| {
            let at = Timestamp::from_millis(row.get(0)?);
            Ok(EventKind::from_word(row.get_ref(1)?.as_str()?).map(|kind| (at, kind)))
        };
        Ok(self.rows(sql, [agent.name(), agent_session_id], read)?.into_iter().flatten().collect())
    }

    /// Whether a hook reported the start of the session.
    pub fn has_started(&self, agent: Agent, agent_session_id: &str) -> Result<bool> {
        let sql = "SELECT 1 FROM event JOIN session ON session.row = event.session
            WHERE agent = ?1 AND agent_session_id = ?2 AND kind = 'start' LIMIT 1";
        Ok(!self.rows(sql, [agent.name(), agent_session_id], |_| Ok(()))?.is_empty())
    }
}
