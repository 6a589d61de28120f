//! The rows of sessions: finds or creates the row for a record, names sessions, and removes them to be folded again.

use std::collections::HashSet;

use cerberus_core::model::event::{Event, Record};
use cerberus_core::model::id::Agent;
use cerberus_core::model::kind::EventKind;
use rusqlite::{OptionalExtension, params};

use super::Result;
use super::write::{FoldTransaction, json};

/// The tables whose rows belong to a session.
const OF_SESSIONS: [&str; 19] = [
    "event",
    "mark",
    "fact",
    "run",
    "digest",
    "lesson",
    "mention",
    "prompt",
    "message",
    "unnamed",
    "closing",
    "receipt",
    "decision",
    "correction",
    "untyped",
    "summary",
    "title",
    "command",
    "unindexed",
];

impl FoldTransaction<'_> {
    /// Removes a session, so that it can be folded again. Returns the first segment that contains a record of it.
    pub fn clear_session(&self, agent: &str, agent_session_id: &str) -> Result<Option<String>> {
        let sql = "SELECT row, first_segment, second FROM session WHERE agent = ?1 AND agent_session_id = ?2";
        let read =
            |row: &rusqlite::Row| Ok((row.get::<_, i64>(0)?, row.get::<_, String>(1)?, row.get::<_, String>(2)?));
        let found = self.transaction.query_row(sql, [agent, agent_session_id], read).optional();
        let Some((session, first_segment, second)) = self.with_path(found)? else { return Ok(None) };
        self.run("DELETE FROM memory_use WHERE event IN (SELECT row FROM event WHERE session = ?1)", [session])?;
        self.clear_entries(session)?;
        for table in OF_SESSIONS {
            self.run(&format!("DELETE FROM {table} WHERE session = ?1"), [session])?;
        }
        self.run("DELETE FROM session WHERE row = ?1", [session])?;
        self.name_sessions(&second)?;
        Ok(Some(first_segment))
    }

    /// The row of a record's session; `None` if the record belongs before one that was already folded.
    pub(super) fn session(&self, rank: i64, segment: &str, record: &Record) -> Result<Option<i64>> {
        let sql = "SELECT row, last_rank FROM session WHERE agent = ?1 AND agent_session_id = ?2";
        let mut find = self.with_path(self.transaction.prepare_cached(sql))?;
        let read = |row: &rusqlite::Row| Ok((row.get::<_, i64>(0)?, row.get::<_, i64>(1)?));
        let found = find.query_row(params![record.agent.name(), &*record.session], read).optional();
        let row = match self.with_path(found)? {
            Some((_, last_rank)) if rank < last_rank => return Ok(None),
            Some((row, _)) => row,
            None => self.new_session(rank, segment, record)?,
        };
        // Records that we write about a session are not its own activity.
        let is_activity = EventKind::of(&record.event).is_activity();
        let sql = "UPDATE session SET last_rank = ?2, first_segment = min(first_segment, ?3),
            branch = iif(?4 AND ?5 >= last_activity, coalesce(?6, branch), branch),
            last_activity = iif(?4, max(last_activity, ?5), last_activity),
            started_at = iif(?4, min(started_at, ?5), started_at),
            device = iif(?4, ?7, device) WHERE row = ?1";
        let (at, branch) = (record.at.millis(), record.location.branch.as_deref());
        let device = record.origin.as_ref().map(|origin| &*origin.device);
        self.run(sql, params![row, rank, segment, is_activity, at, branch, device])?;
        if let Event::Start { phase, process, transcript, .. } = &record.event {
            let sql =
                "UPDATE session SET phase = coalesce(?2, phase), process = ?3, transcript = coalesce(?4, transcript)
                WHERE row = ?1";
            let process = process.as_ref().map(json);
            self.run(sql, params![row, phase.as_deref(), process, transcript.as_deref()])?;
        }
        Ok(Some(row))
    }

    fn new_session(&self, rank: i64, segment: &str, record: &Record) -> Result<i64> {
        let location = &record.location;
        let mut row = rank;
        let mut taken = self.with_path(self.transaction.prepare_cached("SELECT 1 FROM session WHERE row = ?1"))?;
        while self.with_path(taken.exists([row]))? {
            row += 1;
        }
        let (wanted_id, second) = wanted_id(record);
        let sql = "INSERT INTO session (row, id, agent, agent_session_id, project, project_name, root, cwd, branch,
            started_at, last_activity, wanted_id, second, last_rank, first_segment, device)
            VALUES (?1, '~' || ?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?9, ?10, ?11, ?12, ?13, ?14)";
        self.run(
            sql,
            params![
                row,
                record.agent.name(),
                &*record.session,
                location.project.as_str(),
                &*location.name,
                &*location.root,
                &*location.cwd,
                location.branch.as_deref(),
                record.at.millis(),
                wanted_id,
                second,
                rank,
                segment,
                record.origin.as_ref().map(|origin| &*origin.device),
            ],
        )?;
        self.empty_digest(row)?;
        self.name_sessions(&second)?;
        Ok(row)
    }

    /// Names the sessions that began in the same second, in order: `20260122-133514`, then `-2`, `-3`, … if free.
    fn name_sessions(&self, second: &str) -> Result<()> {
        let read = || -> rusqlite::Result<Vec<(i64, String, String)>> {
            let sql = "SELECT row, wanted_id, id FROM session WHERE second = ?1 ORDER BY row";
            let mut all = self.transaction.prepare_cached(sql)?;
            all.query_map([second], |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?)))?.collect()
        };
        let mut taken: HashSet<String> = HashSet::new();
        let mut renamed = Vec::new();
        for (row, wanted, id) in self.with_path(read())? {
            let mut new_id = wanted.clone();
            for number in 2.. {
                if !taken.contains(&new_id) {
                    break;
                }
                new_id = format!("{wanted}-{number}");
            }
            taken.insert(new_id.clone());
            if new_id != id {
                renamed.push((row, new_id));
            }
        }
        // Two sessions may swap ids.
        for (row, _) in &renamed {
            self.run("UPDATE session SET id = '~' || row WHERE row = ?1", [row])?;
        }
        for (row, id) in &renamed {
            self.run("UPDATE session SET id = ?2 WHERE row = ?1", params![row, id])?;
        }
        Ok(())
    }
}

/// The id a session would get if it were free, and the second it is named after. An imported session file keeps its id.
fn wanted_id(record: &Record) -> (String, String) {
    let seed_id = record.session.split('/').next_back().unwrap_or_default();
    let wanted = match record.agent {
        Agent::SEED if is_stamp(seed_id) => seed_id.to_string(),
        _ => record.at.stamp(),
    };
    let second = wanted.split('-').take(2).collect::<Vec<_>>().join("-");
    (wanted, second)
}

fn is_stamp(text: &str) -> bool {
    let (day, rest) = text.split_once('-').unwrap_or_default();
    let time = rest.split('-').next().unwrap_or_default();
    day.len() == 8 && time.len() == 6 && rest.len() <= 10 && text.bytes().all(|b| b.is_ascii_digit() || b == b'-')
}
