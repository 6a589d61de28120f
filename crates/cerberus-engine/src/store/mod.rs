//! The one door to SQLite: the journal's view, which can be deleted and folded again at any time.
//!
//! Rows are only ever added, each with its time, so that any moment can be asked for. Decisions are made elsewhere.

mod history;
mod memories;
mod opencode;
mod read;
mod search;
mod write;

use std::path::PathBuf;
use std::time::Duration;

use crate::home::{Access, Home};
use rusqlite::config::DbConfig;
use rusqlite::{Connection, OpenFlags, TransactionBehavior};

pub use memories::{CorrectionRow, MemoryRow};
pub use opencode::{Exported, OpencodeError, OpencodeStore};
pub use read::{Carried, SessionRow, UnnamedEdit};
pub use search::{Found, MemoryQuery};
pub use write::FoldTransaction;

/// Part of the view's file name; a new schema is a new file, folded from the journal.
pub const SCHEMA_VERSION: u32 = 5;

/// A longer write-ahead log makes every opening slower.
const LOG_BYTES_MAX: u64 = 512 * 1024;

/// How long a writer waits for another one before it goes on without.
const BUSY: Duration = Duration::from_millis(1_500);

// Earlier versions could corrupt a database when its write-ahead log was reset.
const _: () = assert!(rusqlite::ffi::SQLITE_VERSION_NUMBER >= 3_051_003);

#[derive(Debug, thiserror::Error)]
pub enum StoreError {
    #[error("the view {path}: {source}; `cerberus doctor --rebuild` makes it anew, nothing is lost")]
    Sqlite { path: String, source: rusqlite::Error },
}

impl StoreError {
    /// The file itself is damaged, or no database at all.
    pub fn is_damage(&self) -> bool {
        use rusqlite::ErrorCode::{DatabaseCorrupt, NotADatabase};
        let StoreError::Sqlite { source, .. } = self;
        matches!(source.sqlite_error_code(), Some(DatabaseCorrupt | NotADatabase))
    }

    pub fn is_busy(&self) -> bool {
        let StoreError::Sqlite { source, .. } = self;
        matches!(source.sqlite_error_code(), Some(rusqlite::ErrorCode::DatabaseBusy))
    }
}

pub type Result<T> = std::result::Result<T, StoreError>;

pub struct Store {
    connection: Connection,
    path: String,
}

impl Store {
    /// Opens the view, creating it empty when it is not there.
    pub fn open(home: &Home) -> Result<Store> {
        let path = view_path(home);
        let name = path.display().to_string();
        let open = || -> rusqlite::Result<Connection> {
            let flags = OpenFlags::SQLITE_OPEN_READ_WRITE
                | OpenFlags::SQLITE_OPEN_CREATE
                | OpenFlags::SQLITE_OPEN_NO_MUTEX
                | OpenFlags::SQLITE_OPEN_NOFOLLOW;
            // SQLite would make it readable by others; its log files take this one's mode.
            let _ = home.open(&home.view(), Access::AppendOrMake);
            let connection = Connection::open_with_flags(&path, flags)?;
            connection.busy_timeout(BUSY)?;
            // The journal is what must survive; the view may lose its last transaction and fold it again.
            // Checkpointing at every close would cost four syncs a session start; it is done when the log is long.
            connection.set_db_config(DbConfig::SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, true)?;
            connection.execute_batch(
                "PRAGMA journal_mode=WAL; PRAGMA synchronous=NORMAL; PRAGMA temp_store=MEMORY;
                 PRAGMA wal_autocheckpoint=0;",
            )?;
            connection.set_prepared_statement_cache_capacity(64);
            let version: u32 = connection.query_row("PRAGMA user_version", [], |row| row.get(0))?;
            if version == 0 {
                create(&connection)?;
            }
            Ok(connection)
        };
        match open() {
            Ok(connection) => Ok(Store { connection, path: name }),
            Err(source) => Err(StoreError::Sqlite { path: name, source }),
        }
    }

    /// Takes the write lock, or fails when another writer keeps it too long.
    pub fn begin_fold(&mut self) -> Result<FoldTransaction<'_>> {
        let path = self.path.clone();
        match self.connection.transaction_with_behavior(TransactionBehavior::Immediate) {
            Ok(transaction) => Ok(FoldTransaction::new(transaction, path)),
            Err(source) => Err(StoreError::Sqlite { path, source }),
        }
    }

    /// Empties the write-ahead log into the database when it has grown long. Others at work make it wait for next time.
    pub fn checkpoint_if_long(&self) {
        let log = format!("{}-wal", self.path);
        if std::fs::metadata(log).is_ok_and(|known| known.len() > LOG_BYTES_MAX) {
            let _ = self.connection.query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |_| Ok(()));
        }
    }

    /// Takes sessions out, free pages included.
    pub fn forget_sessions(&mut self, sessions: &[SessionRow]) -> Result<()> {
        let rows = sessions.iter().map(|session| session.row.to_string()).collect::<Vec<_>>().join(",");
        let tables =
            ["event", "mark", "fact", "run", "mention", "prompt", "unnamed", "closing", "receipt", "correction"];
        let mut sql = "BEGIN IMMEDIATE;".to_string();
        tables.iter().for_each(|table| sql.push_str(&format!("DELETE FROM {table} WHERE session IN ({rows});")));
        sql.push_str(&format!("DELETE FROM session WHERE row IN ({rows}); COMMIT;"));
        self.said(self.connection.execute_batch(&sql))?;
        self.wipe_deleted()
    }

    /// Writes the view anew without what was deleted: SQLite leaves it in pages, the log and the free list.
    pub fn wipe_deleted(&self) -> Result<()> {
        self.said(self.connection.execute_batch("VACUUM"))?;
        self.said(self.connection.query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |_| Ok(())))
    }

    /// SQLite's own word on the file's health.
    pub fn check(&self) -> Result<String> {
        self.said(self.connection.query_row("PRAGMA quick_check(1)", [], |row| row.get(0)))
    }

    fn said<T>(&self, result: rusqlite::Result<T>) -> Result<T> {
        result.map_err(|source| StoreError::Sqlite { path: self.path.clone(), source })
    }
}

/// SQLite follows no link in the whole of a name; those above the home are the user's own.
fn view_path(home: &Home) -> PathBuf {
    let view = home.view();
    match (home.root().canonicalize(), view.file_name()) {
        (Ok(root), Some(name)) => root.join(name),
        _ => view,
    }
}

fn create(connection: &Connection) -> rusqlite::Result<()> {
    // Two first commands may race; the loser finds the tables there.
    connection.execute_batch(concat!("BEGIN IMMEDIATE;", include_str!("schema.sql"), "COMMIT;"))?;
    connection.execute_batch(&format!("PRAGMA user_version={SCHEMA_VERSION}"))
}
