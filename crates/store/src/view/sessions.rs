//! The rows of sessions: finds or creates the row for a record, names sessions, and removes them to be folded again.

use std::collections::hash_map::Entry;
use std::collections::{HashMap, HashSet};

use cerberus_record::event::{Event, Record};
use cerberus_record::id::Agent;
use cerberus_record::kind::EventKind;
use cerberus_record::session::TIMEOUT;
use rusqlite::{OptionalExtension, params};

use super::Result;
use super::write::{FoldTransaction, json};

/// The tables whose rows belong to a session.
const TABLES_OF_SESSIONS: &str = "SELECT name FROM sqlite_schema WHERE type = 'table'
    AND EXISTS (SELECT 1 FROM pragma_table_info(sqlite_schema.name) WHERE name = 'session')";

/// The sessions of a second, from a row on.
const SESSIONS_FROM: &str = "SELECT row, wanted_id, id FROM session WHERE second = ?1 AND row >= ?2 ORDER BY row";

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
        for table in self.tables(TABLES_OF_SESSIONS)? {
            self.run(&format!("DELETE FROM {table} WHERE session = ?1"), [session])?;
        }
        self.run("DELETE FROM session WHERE row = ?1", [session])?;
        self.must_name(second, session);
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
        // Records that we write about a session are not its own activity, nor is an end that follows from silence.
        let is_timeout = matches!(&record.event, Event::End { reason } if **reason == *TIMEOUT);
        let is_activity = EventKind::of(&record.event).is_activity() && !is_timeout;
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
        self.must_name(second, row);
        Ok(row)
    }

    /// A session was added or removed at this row of a second.
    fn must_name(&self, second: String, row: i64) {
        self.unnamed.borrow_mut().entry(second).and_modify(|first| *first = row.min(*first)).or_insert(row);
    }

    /// Names the sessions that were added, and those after one that was added or removed: a name depends on those before
    /// it. Done once for all, before anybody sees them.
    pub(super) fn name_sessions(&self) -> Result<()> {
        let unnamed = std::mem::take(&mut *self.unnamed.borrow_mut());
        unnamed.iter().try_for_each(|(second, first)| self.name_sessions_from(second, *first))
    }

    /// Names the sessions that began in the same second, in order: `20260122-133514`, then `-2`, `-3`, … if free.
    fn name_sessions_from(&self, second: &str, first: i64) -> Result<()> {
        let read = || -> rusqlite::Result<Vec<(i64, String, String)>> {
            let mut all = self.transaction.prepare_cached(SESSIONS_FROM)?;
            all.query_map(params![second, first], |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?)))?.collect()
        };
        let mut before =
            self.with_path(self.transaction.prepare_cached("SELECT 1 FROM session WHERE id = ?1 AND row < ?2"))?;
        let mut taken: HashSet<String> = HashSet::new();
        // The number to try next: all before it are taken.
        let mut next: HashMap<String, u32> = HashMap::new();
        let mut renamed = Vec::new();
        for (row, wanted, id) in self.with_path(read())? {
            let number = match next.entry(wanted.clone()) {
                Entry::Occupied(known) => known.into_mut(),
                Entry::Vacant(vacant) => vacant.insert(self.next_number(second, &wanted, first)?),
            };
            let mut new_id = wanted.clone();
            while taken.contains(&new_id) || self.with_path(before.exists(params![new_id, first]))? {
                new_id = format!("{wanted}-{number}");
                *number += 1;
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

    /// One more than the number of the last session before `first` that wanted this id.
    fn next_number(&self, second: &str, wanted: &str, first: i64) -> Result<u32> {
        let sql = "SELECT id FROM session WHERE second = ?1 AND row < ?2 AND wanted_id = ?3 ORDER BY row DESC LIMIT 1";
        let mut last = self.with_path(self.transaction.prepare_cached(sql))?;
        let last = last.query_row(params![second, first, wanted], |row| row.get::<_, String>(0)).optional();
        let number =
            self.with_path(last)?.and_then(|id| id.strip_prefix(wanted)?.strip_prefix('-')?.parse::<u32>().ok());
        Ok(number.map_or(2, |number| number.saturating_add(1)))
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

#[cfg(test)]
impl super::Store {
    /// How many steps SQLite has made to read sessions that were to be named.
    pub fn naming_steps(&self) -> i32 {
        let statement = self.connection.prepare_cached(SESSIONS_FROM).unwrap();
        statement.get_status(rusqlite::StatementStatus::VmStep)
    }
}
