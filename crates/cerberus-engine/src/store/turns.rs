//! Conversations in the view: what was asked, and the message with which the agent finished.

use std::cmp::Reverse;

use cerberus_core::brief::digest;
use cerberus_core::brief::stopped::{Quotable, SESSIONS_MAX, TURNS_MAX, Turn};
use cerberus_core::model::id::SessionId;
use cerberus_core::model::source::Source;
use cerberus_core::model::time::Timestamp;
use rusqlite::{OptionalExtension, Row, params};

use super::read::time;
use super::{Result, SessionRow, Store};

impl Store {
    /// The last turns of the last of these sessions, oldest first.
    pub fn turns(&self, sessions: &[SessionRow], now: Timestamp) -> Result<Vec<Quotable>> {
        let mut newest: Vec<&SessionRow> = sessions.iter().collect();
        newest.sort_by_key(|session| Reverse((session.last_activity, session.row)));
        let sql = "SELECT turns FROM digest WHERE session = ?1 AND until <= ?2";
        let mut packed = self.with_path(self.connection.prepare(sql))?;
        let mut found: Vec<Vec<Quotable>> = Vec::new();
        for session in newest {
            if found.len() == SESSIONS_MAX {
                break;
            }
            let unpacked = |row: &Row| Ok(digest::unpack_turns(row.get_ref(0)?.as_blob()?, &session.id));
            let turns = packed.query_row([session.row, now.millis()], unpacked).optional();
            found.push(match self.with_path(turns)?.flatten() {
                Some(turns) => turns,
                None => self.session_turns(session.row, &session.id, now)?,
            });
            found.retain(|turns| !turns.is_empty());
        }
        Ok(found.into_iter().rev().flatten().collect())
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
        let rows = self.rows(sql, params![row, now.millis(), TURNS_MAX], |row| {
            let sender = row.get::<_, Option<String>>(4)?.map(|word| Source::from_word(&word));
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
        turns.drain(..turns.len().saturating_sub(TURNS_MAX));
        Ok(turns.iter().map(Quotable::of).collect())
    }
}
