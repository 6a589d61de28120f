//! opencode's own database, only ever read: its sessions as `opencode export` would print them.
//!
//! What cannot be read as JSON is left out and counted.

use std::path::Path;

use rusqlite::{Connection, OpenFlags, Row};

use super::BUSY;

#[derive(Debug, thiserror::Error)]
#[error("opencode's database {path}: {source}")]
pub struct OpencodeError {
    path: String,
    source: rusqlite::Error,
}

type Result<T> = std::result::Result<T, OpencodeError>;

pub struct OpencodeStore {
    connection: Connection,
    path: String,
}

/// One session, as it is exported.
pub struct Exported {
    pub json: Vec<u8>,
    pub damaged_rows: usize,
}

impl OpencodeStore {
    pub fn open(path: &Path) -> Result<OpencodeStore> {
        let name = path.display().to_string();
        let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_NO_MUTEX | OpenFlags::SQLITE_OPEN_URI;
        let open = || -> rusqlite::Result<Connection> {
            let connection = Connection::open_with_flags(uri(&name), flags)?;
            connection.busy_timeout(BUSY)?;
            connection.execute_batch("PRAGMA query_only=ON")?;
            Ok(connection)
        };
        match open() {
            Ok(connection) => Ok(OpencodeStore { connection, path: name }),
            Err(source) => Err(OpencodeError { path: name, source }),
        }
    }

    /// The ids of all sessions, oldest first.
    pub fn sessions(&self) -> Result<Vec<String>> {
        self.rows("SELECT id FROM session ORDER BY time_created, id", &[], |row| row.get(0))
    }

    /// A session with all its messages. A subagent's names the session that it all began with.
    pub fn export(&self, session: &str) -> Result<Exported> {
        let described = self.rows(
            "WITH RECURSIVE above(id, parent, depth) AS (
                 SELECT id, parent_id, 0 FROM session WHERE id = ?1
                 UNION ALL
                 SELECT session.id, session.parent_id, depth + 1 FROM session JOIN above ON session.id = above.parent
                 WHERE depth < 20)
             SELECT directory, (SELECT id FROM above WHERE depth > 0 ORDER BY depth DESC LIMIT 1)
             FROM session WHERE id = ?1",
            &[session],
            |row| Ok((row.get::<_, String>(0)?, row.get::<_, Option<String>>(1)?)),
        )?;
        let (directory, parent) = described.into_iter().next().unwrap_or_default();
        let messages = self.rows(
            "SELECT id, data FROM message WHERE session_id = ?1 ORDER BY time_created, id",
            &[session],
            pair,
        )?;
        let mut damaged_rows = 0;
        let mut exported = Vec::new();
        for (id, info) in &messages {
            let Some(info) = json(info, &mut damaged_rows) else { continue };
            let parts = self.rows("SELECT id, data FROM part WHERE message_id = ?1 ORDER BY id", &[id], pair)?;
            let parts: Vec<_> = parts.iter().filter_map(|(_, part)| json(part, &mut damaged_rows)).collect();
            // Each is checked on its own, so that one that is damaged does not cost the rest.
            exported.push(serde_json::json!({"id": id, "info": info, "parts": parts}));
        }
        let info = serde_json::json!({"id": session, "parentID": parent, "directory": directory});
        let json = serde_json::json!({"info": info, "messages": exported}).to_string().into_bytes();
        Ok(Exported { json, damaged_rows })
    }

    fn rows<T>(&self, sql: &str, with: &[&str], read: fn(&Row) -> rusqlite::Result<T>) -> Result<Vec<T>> {
        let ask = || {
            let mut statement = self.connection.prepare_cached(sql)?;
            let rows = statement.query_map(rusqlite::params_from_iter(with), |row| read(row))?;
            rows.collect::<rusqlite::Result<Vec<T>>>()
        };
        ask().map_err(|source| OpencodeError { path: self.path.clone(), source })
    }
}

fn pair(row: &Row) -> rusqlite::Result<(String, String)> {
    Ok((row.get(0)?, row.get(1)?))
}

fn json(text: &str, damaged_rows: &mut usize) -> Option<serde_json::Value> {
    let read = serde_json::from_str(text).ok();
    *damaged_rows += usize::from(read.is_none());
    read
}

/// Without a log nobody is at work, and nothing beside the file may be made: it is then read as it lies there.
fn uri(path: &str) -> String {
    let escaped = path.replace('%', "%25").replace('?', "%3f").replace('#', "%23");
    let is_at_rest = !std::fs::metadata(format!("{path}-wal")).is_ok_and(|log| log.len() > 0);
    format!("file:{escaped}{}", if is_at_rest { "?immutable=1" } else { "" })
}
