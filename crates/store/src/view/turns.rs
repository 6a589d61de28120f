//! Conversations in the view: what was asked, and the message with which the agent finished.

use cerberus_recall::brief::digest;
use cerberus_recall::brief::stopped::{
    self, QUOTES_TOKENS_MAX, Quotable, SESSIONS_MAX, TURNS_READ_MAX, Turn, WorkDone,
};
use cerberus_record::id::{ProjectId, SessionId};
use cerberus_record::reading::only_reads;
use cerberus_record::source::MemorySource;
use cerberus_record::time::Timestamp;
use rusqlite::{OptionalExtension, Row, params};

use super::read::time;
use super::write::json;
use super::{Result, SessionRow, Store};

/// More sessions are not read, however short.
const SESSIONS_READ_MAX: usize = 24;

/// Of more commands, the last ones show what a session did.
const COMMANDS_READ_MAX: usize = 200;

impl Store {
    /// The last turns of the newest of these sessions, in the order in which they happened. `newest` begins with the newest
    /// session. The last session at work is among those that are read, however many only talked since; `part` is what the
    /// tools of a session did.
    pub fn turns(
        &self,
        newest: &[&SessionRow],
        part: impl Fn(&SessionRow) -> Result<WorkDone>,
        now: Timestamp,
    ) -> Result<Vec<Quotable>> {
        let sql = "SELECT turns FROM digest WHERE session = ?1 AND until <= ?2";
        let mut packed = self.with_path(self.connection.prepare(sql))?;
        let mut found: Vec<Vec<Quotable>> = Vec::new();
        let (mut count, mut tokens, mut idle, mut has_work) = (0, 0, 0, false);
        for session in newest.iter().copied() {
            let part = part(session)?;
            let is_enough = count >= SESSIONS_MAX && tokens >= QUOTES_TOKENS_MAX || count + idle >= SESSIONS_READ_MAX;
            if is_enough && (has_work || part != WorkDone::Work) {
                continue;
            }
            let unpacked = |row: &Row| Ok(digest::unpack_turns(row.get_ref(0)?.as_blob()?, &session.id));
            let turns = packed.query_row([session.row, now.millis()], unpacked).optional();
            let mut turns = match self.with_path(turns)?.flatten() {
                Some(turns) => turns,
                None => self.session_turns(session.row, &session.id, now)?,
            };
            stopped::take_part(&mut turns, part);
            match turns.first().map(|turn| turn.part) {
                None => continue,
                Some(WorkDone::Idle) => idle += 1,
                Some(part) => {
                    count += 1;
                    tokens += turns.iter().map(Quotable::tokens).sum::<usize>();
                    has_work |= part == WorkDone::Work;
                }
            }
            found.push(turns);
        }
        Ok(stopped::oldest_first(found))
    }

    /// What the tools of a session did, as far as its commands show: whether one did more than to look at something.
    pub fn ran(&self, session: &SessionRow, now: Timestamp) -> Result<WorkDone> {
        let sql = "SELECT text FROM command WHERE session = ?1 AND at <= ?2 ORDER BY at DESC LIMIT ?3";
        let commands = self
            .repeated_rows(sql, params![session.row, now.millis(), COMMANDS_READ_MAX], |row| row.get::<_, String>(0))?;
        if commands.iter().any(|command| !only_reads(command)) {
            return Ok(WorkDone::Work);
        }
        let sql = "SELECT 1 FROM event WHERE session = ?1 AND at <= ?2 AND kind = 'tool' LIMIT 1";
        let has_used = !self.repeated_rows(sql, params![session.row, now.millis()], |_| Ok(()))?.is_empty();
        Ok(if has_used { WorkDone::Talk } else { WorkDone::Idle })
    }

    /// The session of these projects that ran a command last which did more than to look at something, and when.
    pub fn last_ran(&self, projects: &[ProjectId], now: Timestamp) -> Result<Option<(SessionId, Timestamp)>> {
        let projects: Vec<&str> = projects.iter().map(ProjectId::as_str).collect();
        let sql = "SELECT session.id, command.at, text FROM command JOIN session ON session.row = command.session
            WHERE project IN (SELECT value FROM json_each(?1)) AND command.at <= ?2 ORDER BY event DESC LIMIT ?3";
        let found = self.rows(sql, params![json(&projects), now.millis(), COMMANDS_READ_MAX], |row| {
            Ok((SessionId::new(row.get::<_, String>(0)?), time(row, 1)?, row.get::<_, String>(2)?))
        })?;
        let ran = found.into_iter().find(|(_, _, command)| !only_reads(command));
        Ok(ran.map(|(session, at, _)| (session, at)))
    }

    /// The last turns of a session, from its rows.
    pub(super) fn session_turns(&self, row: i64, id: &SessionId, now: Timestamp) -> Result<Vec<Quotable>> {
        let sql = "SELECT * FROM (
                SELECT * FROM (SELECT event, at, text, 1, (SELECT source FROM event JOIN untyped USING (session, key)
                    WHERE event.row = prompt.event) FROM prompt WHERE session = ?1 AND at <= ?2
                    ORDER BY at DESC, event DESC LIMIT ?3)
                UNION ALL SELECT * FROM (SELECT event, at, text, 0, NULL FROM message WHERE session = ?1 AND at <= ?2
                    ORDER BY at DESC, event DESC LIMIT ?3)
            ) ORDER BY 2, 1";
        let rows = self.rows(sql, params![row, now.millis(), TURNS_READ_MAX], |row| {
            let sender = row.get::<_, Option<String>>(4)?.map(|word| MemorySource::named(&word));
            Ok((time(row, 1)?, row.get::<_, String>(2)?, row.get::<_, bool>(3)?, sender))
        })?;
        let mut turns: Vec<Turn> = Vec::new();
        for (at, text, is_prompt, sender) in rows {
            match turns.last_mut() {
                Some(turn) if !is_prompt => turn.reply = text,
                _ => {
                    let (request, reply) = if is_prompt { (text, String::new()) } else { (String::new(), text) };
                    turns.push(Turn { session: id.clone(), at, request, sender, reply });
                }
            }
        }
        Ok(stopped::last_turns(turns.iter().map(Quotable::of).collect()))
    }
}
