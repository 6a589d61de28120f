//! Forgotten records, as the journal lists them, and the journal lines that contain them again.

use std::collections::HashMap;

use cerberus_agents::transcripts::shared_part;
use cerberus_os::home::Home;
use cerberus_record::event::{Event, Forgotten, Record};
use cerberus_record::kind::EventKind;
use cerberus_record::time::Timestamp;
use rusqlite::{OptionalExtension, params};

use super::fold::FoldError;
use super::write::FoldTransaction;
use super::{Result, Store};
use crate::journal::LinePosition;
use crate::journal::forgotten::Namer;

impl FoldTransaction<'_> {
    /// Stores a list. If two lists name the same record, the later one in the journal's order wins.
    pub fn forgotten(&self, rank: i64, names: &Forgotten) -> Result<()> {
        let sql = "INSERT INTO forgotten VALUES (?1, ?2, ?3, ?4, ?5) ON CONFLICT (name) DO UPDATE SET
            rank = excluded.rank, kept = excluded.kept, until = excluded.until, is_taken_back = excluded.is_taken_back
            WHERE excluded.rank > rank";
        for forgotten in &names.records {
            let kept = forgotten.kept.as_deref();
            self.run(sql, params![&*forgotten.record, rank, kept, None::<i64>, names.is_taken_back])?;
        }
        for (session, until) in &names.sessions {
            self.run(sql, params![&**session, rank, None::<String>, until.millis(), names.is_taken_back])?;
        }
        Ok(())
    }

    /// Whether the list contains anything new.
    pub fn is_new_list(&self, rank: i64, names: &Forgotten) -> Result<bool> {
        let mut known =
            self.with_path(self.transaction.prepare_cached("SELECT rank >= ?2 FROM forgotten WHERE name = ?1"))?;
        let all =
            names.records.iter().map(|forgotten| &*forgotten.record).chain(names.sessions.iter().map(|(s, _)| &**s));
        for name in all {
            let is_known = known.query_row(params![name, rank], |row| row.get::<_, bool>(0)).optional();
            if self.with_path(is_known)? != Some(true) {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// Whether this record, or a version of it, was forgotten.
    pub fn is_forgotten(
        &self,
        home: &Home,
        record: &Record,
        open_record: &[u8],
    ) -> std::result::Result<bool, FoldError> {
        let Some(namer) = self.namer(home)? else { return Ok(false) };
        for namer in namer.all() {
            if self.is_forgotten_by(namer, record, open_record)? {
                return Ok(true);
            }
        }
        Ok(false)
    }

    fn is_forgotten_by(&self, namer: &Namer, record: &Record, open_record: &[u8]) -> Result<bool> {
        let forgotten = self.forgotten_named(&namer.record(record, open_record))?;
        if let Some((kept, _)) = forgotten
            && kept.as_deref() != Some(&namer.version(open_record))
        {
            return Ok(true);
        }
        let whole = match &record.event {
            Event::Memory(change) => namer.memory(&change.id),
            event if !EventKind::of(event).is_of_a_session() => return Ok(false),
            _ => namer.session(record.agent.name(), &record.session),
        };
        let whole = self.forgotten_named(&whole)?;
        Ok(whole.is_some_and(|(_, until)| until.is_some_and(|until| record.at < until)))
    }

    /// Loaded once, and only if anything was ever forgotten.
    fn namer(&self, home: &Home) -> std::result::Result<Option<&Namer>, FoldError> {
        if self.namer.get().is_none() {
            let sql = "SELECT EXISTS (SELECT 1 FROM forgotten)";
            let is_any: bool = self.with_path(self.transaction.query_row(sql, [], |row| row.get(0)))?;
            let namer = if is_any { Some(Namer::open(home)?) } else { None };
            let _ = self.namer.set(namer);
        }
        Ok(self.namer.get().and_then(Option::as_ref))
    }

    fn forgotten_named(&self, name: &str) -> Result<Option<(Option<String>, Option<Timestamp>)>> {
        let sql = "SELECT kept, until FROM forgotten WHERE name = ?1 AND NOT is_taken_back";
        let mut find = self.with_path(self.transaction.prepare_cached(sql))?;
        let read = |row: &rusqlite::Row| Ok((row.get(0)?, row.get::<_, Option<i64>>(1)?.map(Timestamp::from_millis)));
        self.with_path(find.query_row([name], read).optional())
    }

    /// Marks a line for removal from the journal.
    pub fn add_unwanted(&self, position: &LinePosition) -> Result<()> {
        let sql = "INSERT OR IGNORE INTO unwanted VALUES (?1, ?2, ?3)";
        self.run(sql, params![position.segment, position.offset, position.length])?;
        Ok(())
    }

    pub fn unwanted(&self) -> Result<Vec<LinePosition>> {
        let read = || -> rusqlite::Result<Vec<LinePosition>> {
            let mut all = self.transaction.prepare("SELECT segment, offset, length FROM unwanted ORDER BY 1, 2")?;
            all.query_map([], |row| {
                Ok(LinePosition { segment: row.get(0)?, offset: row.get(1)?, length: row.get(2)? })
            })?
            .collect()
        };
        self.with_path(read())
    }

    pub fn clear_unwanted(&self) -> Result<()> {
        self.run("DELETE FROM unwanted", [])?;
        Ok(())
    }
}

impl Store {
    pub fn has_unwanted(&self) -> Result<bool> {
        Ok(!self.rows("SELECT 1 FROM unwanted LIMIT 1", [], |_| Ok(()))?.is_empty())
    }

    /// Whether a whole session was forgotten, here or on another device.
    pub fn is_session_forgotten(&self, namer: &Namer, agent: &str, session: &str) -> Result<bool> {
        let sql = "SELECT 1 FROM forgotten WHERE name = ?1 AND NOT is_taken_back AND until IS NOT NULL";
        for namer in namer.all() {
            let name = namer.session(agent, session);
            if !self.rows(sql, [&*name], |_| Ok(()))?.is_empty() {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// Filters a session's events, given by key and time, for those that were forgotten.
    pub fn forgotten_events<'k>(
        &self,
        namer: &Namer,
        agent: &str,
        session: &str,
        events: impl Iterator<Item = (&'k str, Timestamp)>,
    ) -> Result<Vec<&'k str>> {
        let sql = "SELECT until FROM forgotten WHERE name = ?1 AND NOT is_taken_back AND kept IS NULL";
        let until = |name: &str| self.rows(sql, [name], |row| row.get::<_, Option<i64>>(0));
        let mut whole = None;
        for namer in namer.all() {
            whole = whole.max(until(&namer.session(agent, session))?.into_iter().flatten().max());
        }
        let mut found = Vec::new();
        for (key, at) in events {
            let is_before = |until: i64| at.millis() < until;
            let mut is_forgotten = whole.is_some_and(is_before);
            for namer in namer.all() {
                let alike = match shared_part(key) {
                    Some(shared) => until(&namer.shared(agent, session, shared))?.into_iter().flatten().max(),
                    None => None,
                };
                is_forgotten |= alike.is_some_and(is_before) || !until(&namer.event(agent, session, key))?.is_empty();
            }
            if is_forgotten {
                found.push(key);
            }
        }
        Ok(found)
    }

    /// The names of everything of which nothing may be left up to a time.
    pub fn forgotten_until(&self) -> Result<HashMap<String, Timestamp>> {
        let sql = "SELECT name, until FROM forgotten WHERE until IS NOT NULL AND NOT is_taken_back";
        let read = |row: &rusqlite::Row| Ok((row.get(0)?, Timestamp::from_millis(row.get(1)?)));
        Ok(self.rows(sql, [], read)?.into_iter().collect())
    }

    /// Changes whenever something is forgotten or taken back.
    pub fn forgotten_mark(&self) -> Result<String> {
        let sql = "SELECT count(*) || '/' || coalesce(max(rank), 0) FROM forgotten";
        Ok(self.rows(sql, [], |row| row.get(0))?.pop().unwrap_or_default())
    }

    /// Whether anything was ever forgotten.
    pub fn has_forgotten(&self) -> Result<bool> {
        Ok(!self.rows("SELECT 1 FROM forgotten WHERE NOT is_taken_back LIMIT 1", [], |_| Ok(()))?.is_empty())
    }
}
