//! Reads opencode's database and never writes to it. Sessions come out as `opencode export` would print them.
//!
//! Rows that are not valid JSON are skipped and counted.

use std::path::Path;
use std::time::Duration;

use rusqlite::{Connection, OpenFlags, Row};

use crate::install::transcripts::{Database, ExportedSession, TranscriptDatabaseError};

type DatabaseResult<T> = std::result::Result<T, TranscriptDatabaseError>;

/// How many subagents of one session are read.
const SUBAGENTS_MAX: &str = "50";

pub(super) struct OpencodeDatabase {
    connection: Connection,
    path: String,
}

impl OpencodeDatabase {
    /// `busy` limits the wait for a lock that opencode holds.
    pub(super) fn open(path: &Path, busy: Duration) -> DatabaseResult<OpencodeDatabase> {
        let name = path.display().to_string();
        let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_NO_MUTEX | OpenFlags::SQLITE_OPEN_URI;
        let open = || -> rusqlite::Result<Connection> {
            let connection = Connection::open_with_flags(uri(path), flags)?;
            connection.busy_timeout(busy)?;
            connection.execute_batch("PRAGMA query_only=ON")?;
            Ok(connection)
        };
        match open() {
            Ok(connection) => Ok(OpencodeDatabase { connection, path: name }),
            Err(source) => Err(failed(&name, source)),
        }
    }

    fn rows<T>(&self, sql: &str, with: &[&str], read: fn(&Row) -> rusqlite::Result<T>) -> DatabaseResult<Vec<T>> {
        let ask = || {
            let mut statement = self.connection.prepare_cached(sql)?;
            let rows = statement.query_map(rusqlite::params_from_iter(with), read)?;
            rows.collect::<rusqlite::Result<Vec<T>>>()
        };
        ask().map_err(|source| failed(&self.path, source))
    }

    /// A session with as many of its newest messages as fit.
    fn newest(&self, session: &str, bytes_max: usize) -> DatabaseResult<ExportedSession> {
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
        let ids: Vec<String> = self.rows(
            "SELECT id FROM message WHERE session_id = ?1 ORDER BY time_created DESC, id DESC",
            &[session],
            |row| row.get(0),
        )?;
        let (mut damaged_rows, mut bytes, mut is_whole) = (0, 0, true);
        let mut exported = Vec::new();
        for id in &ids {
            bytes += self.bytes_of(id)?;
            if bytes > bytes_max {
                is_whole = false;
                break;
            }
            let message = self.rows("SELECT id, data FROM message WHERE id = ?1", &[id], pair)?.pop();
            let Some(info) = message.and_then(|(_, info)| json(&info, &mut damaged_rows)) else { continue };
            let parts = self.rows("SELECT id, data FROM part WHERE message_id = ?1 ORDER BY id", &[id], pair)?;
            let parts: Vec<_> = parts.iter().filter_map(|(_, part)| json(part, &mut damaged_rows)).collect();
            // Each message is checked separately, so that a damaged one does not lose the rest.
            exported.push(serde_json::json!({"id": id, "info": info, "parts": parts}));
        }
        exported.reverse();
        let info = serde_json::json!({"id": session, "parentID": parent, "directory": directory});
        let json = serde_json::json!({"info": info, "messages": exported}).to_string().into_bytes();
        Ok(ExportedSession { json, damaged_rows, is_whole })
    }

    fn bytes_of(&self, message: &str) -> DatabaseResult<usize> {
        let sql = "SELECT (SELECT sum(length(CAST(data AS BLOB))) FROM message WHERE id = ?1)
            + coalesce((SELECT sum(length(CAST(data AS BLOB))) FROM part WHERE message_id = ?1), 0)";
        let bytes = self.rows(sql, &[message], |row| row.get::<_, Option<i64>>(0))?;
        Ok(bytes.into_iter().flatten().map(|bytes| bytes as usize).sum())
    }
}

impl Database for OpencodeDatabase {
    fn sessions(&self) -> DatabaseResult<Vec<String>> {
        self.rows("SELECT id FROM session ORDER BY time_created, id", &[], |row| row.get(0))
    }

    /// A session with all its messages. A subagent's export names the top-level session.
    fn export(&self, session: &str) -> DatabaseResult<ExportedSession> {
        self.newest(session, usize::MAX)
    }

    fn ending(&self, session: &str, bytes_max: usize) -> DatabaseResult<ExportedSession> {
        let ids: Vec<String> = self.rows(
            "WITH RECURSIVE below(id, depth) AS (
                 SELECT id, 0 FROM session WHERE id = ?1
                 UNION ALL
                 SELECT session.id, depth + 1 FROM session JOIN below ON session.parent_id = below.id WHERE depth < 20)
             SELECT id FROM below LIMIT CAST(?2 AS INTEGER)",
            &[session, SUBAGENTS_MAX],
            |row| row.get(0),
        )?;
        let mut ending = ExportedSession { json: Vec::new(), damaged_rows: 0, is_whole: true };
        for id in ids {
            let exported = self.newest(&id, bytes_max.saturating_sub(ending.json.len()))?;
            ending.json.extend(exported.json);
            ending.damaged_rows += exported.damaged_rows;
            ending.is_whole &= exported.is_whole;
        }
        Ok(ending)
    }
}

fn failed(path: &str, source: rusqlite::Error) -> TranscriptDatabaseError {
    TranscriptDatabaseError { name: "opencode", path: path.to_string(), source: Box::new(source) }
}

fn pair(row: &Row) -> rusqlite::Result<(String, String)> {
    Ok((row.get(0)?, row.get(1)?))
}

fn json(text: &str, damaged_rows: &mut usize) -> Option<serde_json::Value> {
    let read = serde_json::from_slice(text.as_bytes()).ok();
    *damaged_rows += usize::from(read.is_none());
    read
}

/// Without a log, opencode is not running. Then the file is opened as immutable, so that SQLite creates no files beside
/// it.
fn uri(path: &Path) -> String {
    let mut log = path.as_os_str().to_os_string();
    log.push("-wal");
    let is_at_rest = !std::fs::metadata(log).is_ok_and(|log| log.len() > 0);
    let mut uri = String::from("file:");
    for byte in path.as_os_str().as_encoded_bytes() {
        match byte {
            b'%' | b'?' | b'#' | 0x80.. => uri.push_str(&format!("%{byte:02x}")),
            plain => uri.push(char::from(*plain)),
        }
    }
    uri + if is_at_rest { "?immutable=1" } else { "" }
}

#[cfg(test)]
mod tests {
    use std::ffi::OsStr;
    use std::os::unix::ffi::OsStrExt;

    use serde_json::{Value, json};

    use super::*;

    const BUSY: Duration = Duration::from_millis(1_500);

    /// The tables that opencode creates, as far as we read them.
    fn database(path: &Path) -> Connection {
        let connection = Connection::open(path).unwrap();
        connection
            .execute_batch(
                "PRAGMA journal_mode=WAL; PRAGMA wal_autocheckpoint=0;
                 CREATE TABLE session (id TEXT PRIMARY KEY, parent_id TEXT, directory TEXT NOT NULL, time_created INTEGER);
                 CREATE TABLE message (id TEXT PRIMARY KEY, session_id TEXT, time_created INTEGER, data TEXT NOT NULL);
                 CREATE TABLE part (id TEXT PRIMARY KEY, message_id TEXT, session_id TEXT, data TEXT NOT NULL);
                 INSERT INTO session VALUES ('ses_2', 'ses_1', '/home/dev/hydra', 2), ('ses_1', NULL, '/home/dev/hydra', 1),
                     ('ses_3', 'ses_2', '/home/dev/hydra', 3);
                 INSERT INTO message VALUES ('msg_2', 'ses_1', 2, '{\"role\":\"assistant\"}'), ('msg_1', 'ses_1', 1, '{\"role\":\"user\"}'),
                     ('msg_3', 'ses_1', 3, 'damaged'), ('msg_4', 'ses_3', 4, '{\"role\":\"user\"}');
                 INSERT INTO part VALUES ('prt_1', 'msg_1', 'ses_1', '{\"type\":\"text\",\"text\":\"hi\"}'), ('prt_2', 'msg_2', 'ses_1', '{'),
                     ('prt_3', 'msg_2', 'ses_1', '{\"type\":\"text\",\"text\":\"ho\"}');",
            )
            .unwrap();
        connection
    }

    fn exported(store: &OpencodeDatabase, session: &str) -> (Value, usize) {
        let exported = store.export(session).unwrap();
        (serde_json::from_slice(&exported.json).unwrap(), exported.damaged_rows)
    }

    fn names(folder: &Path) -> Vec<String> {
        let mut names: Vec<String> = std::fs::read_dir(folder)
            .unwrap()
            .map(|entry| entry.unwrap().file_name().to_string_lossy().into())
            .collect();
        names.sort();
        names
    }

    #[test]
    fn sessions_come_out_as_opencode_exports_them() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join(OsStr::from_bytes(b"odd %20 ?name#\xc3\xa4\xff.db"));
        let writer = database(&path);
        let check = || {
            let store = OpencodeDatabase::open(&path, BUSY).unwrap();
            assert_eq!(store.sessions().unwrap(), ["ses_1", "ses_2", "ses_3"]);
            let (text, said) = (json!({"type": "text", "text": "hi"}), json!({"type": "text", "text": "ho"}));
            let messages = json!([
                {"id": "msg_1", "info": {"role": "user"}, "parts": [text]},
                {"id": "msg_2", "info": {"role": "assistant"}, "parts": [said]},
            ]);
            let info = json!({"id": "ses_1", "parentID": null, "directory": "/home/dev/hydra"});
            assert_eq!(exported(&store, "ses_1"), (json!({"info": info, "messages": messages}), 2));
            assert_eq!(exported(&store, "ses_3").0["info"]["parentID"], "ses_1", "not the one in between");
        };
        // First while opencode is running, with its writes still in the log; then after it has closed the database.
        check();
        writer.execute_batch("PRAGMA wal_checkpoint(TRUNCATE)").unwrap();
        drop(writer);
        let before = names(folder.path());
        let bytes = std::fs::read(&path).unwrap();
        check();
        assert_eq!((names(folder.path()), std::fs::read(&path).unwrap()), (before, bytes), "nothing is written");
    }

    #[test]
    fn the_end_of_a_session_has_its_newest_messages_and_its_subagents() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("opencode.db");
        drop(database(&path));
        let store = OpencodeDatabase::open(&path, BUSY).unwrap();
        let told = |bytes_max| {
            let ending = store.ending("ses_1", bytes_max).unwrap();
            let exports = serde_json::Deserializer::from_slice(&ending.json).into_iter::<Value>();
            let ids = |export: &Value| {
                let messages = export["messages"].as_array().unwrap();
                messages.iter().map(|message| message["id"].as_str().unwrap().to_string()).collect::<Vec<_>>()
            };
            let exports: Vec<Value> = exports.map(|export| export.unwrap()).collect();
            (exports.iter().map(ids).collect::<Vec<_>>(), ending.is_whole)
        };
        let (all, is_whole) = told(10_000);
        assert_eq!(all, [vec!["msg_1", "msg_2"], vec![], vec!["msg_4"]]);
        assert!(is_whole);
        let (newest, is_whole) = told(70);
        assert_eq!((&newest[0], is_whole), (&vec!["msg_2".to_string()], false));
        assert_eq!(store.ending("ses_none", 10_000).unwrap().json, b"");
    }

    #[test]
    fn a_file_that_is_not_their_database_is_reported() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("opencode.db");
        std::fs::write(&path, "no database, but long enough to be taken for one at the first look").unwrap();
        let failed = OpencodeDatabase::open(&path, BUSY).and_then(|store| store.sessions()).unwrap_err().to_string();
        assert!(failed.starts_with("opencode's database"), "{failed}");
        assert!(OpencodeDatabase::open(&folder.path().join("absent.db"), BUSY).is_err());
        assert!(!folder.path().join("absent.db").exists());
    }
}
