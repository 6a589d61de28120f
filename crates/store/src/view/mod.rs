//! The view of the journal, and the only access to it. The view can be deleted and folded again at any time.
//!
//! Rows are only added, each with its time, so that a query can be as of any time. Decisions are made elsewhere.

mod aside;
mod browse;
mod changed_twice;
mod checks;
mod content;
mod corrections;
mod digests;
mod entries;
mod error;
mod facts;
mod files;
pub mod fold;
mod forgotten;
mod history;
mod kinds;
mod known;
mod lessons;
mod marks;
mod memories;
mod moments;
mod named_sessions;
mod notes;
pub mod old_views;
mod projects;
mod read;
pub mod recorder;
mod search;
mod sessions;
mod summary;
mod team;
mod titles;
mod turns;
mod undone;
mod write;

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use cerberus_os::home::{Access, Home};
use cerberus_record::clean::Cleaner;
use cerberus_record::private::PrivacyRules;
use rusqlite::config::DbConfig;
use rusqlite::types::ValueRef;
use rusqlite::{Connection, OpenFlags, Transaction, TransactionBehavior};

use self::content::Content;

pub use browse::ReceiptRow;
pub use checks::{DecisionRow, PauseRow, RuleRow};
pub use content::ViewProblem;
pub use corrections::{CorrectionRow, EventOrigin, PromptRow};
pub use entries::{EntryQuery, FoundEntry};
pub use error::{Result, StoreError};
pub use facts::{CarriedFacts, EditedLine, FactFilter};
pub use files::{other_views, view_file};
pub use history::Asks;
pub use lessons::EndedSession;
pub use memories::MemoryRow;
pub use moments::{FailureRow, StepRow, TakeBack};
pub use notes::NotesRow;
pub use projects::{AnswerRow, RepositoryRow};
pub use read::SessionRow;
pub use search::{FoundRow, MemoryQuery};
pub use summary::SummaryRow;
pub use write::{FoldTransaction, MODEL_SOURCE, TEAM_SOURCE};

/// A longer write-ahead log slows down every open: it is read whole.
const LOG_BYTES_MAX: u64 = 512 * 1024;
/// The same at the end of a session, when nobody waits.
const ENDED_LOG_BYTES_MAX: u64 = 32 * 1024;

/// How long a command waits for another writer before it continues without folding.
const BUSY: Duration = Duration::from_millis(1_500);

/// How long a hook waits, once: the agent waits for the hook.
const HOOK_BUSY: Duration = Duration::from_millis(20);

// Earlier versions could corrupt a database when its write-ahead log was reset.
const _: () = assert!(rusqlite::ffi::SQLITE_VERSION_NUMBER >= 3_051_003);

/// Who opens the view.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Caller {
    /// May wait briefly for another process.
    Command,
    /// Does not wait, because an agent waits for it.
    Hook,
}

/// A fold repeats its statements for every record.
const STATEMENTS: usize = 64;

/// The root pages of the tables that a brief reads, and some more.
const FEW_PAGES: i64 = 48;

pub struct Store {
    connection: Connection,
    path: String,
    /// The write-ahead log.
    log: PathBuf,
    caller: Caller,
    /// How long this store has folded.
    fold_time: Duration,
    /// There was no time to complete the last fold.
    is_behind: bool,
    is_short_lived: bool,
    /// What must not be stored, for data that does not come through the journal.
    privacy_rules: Arc<PrivacyRules>,
    cleaner: Cleaner,
}

impl Store {
    /// Opens the view; creates an empty one if it is missing.
    pub fn open(home: &Home, caller: Caller) -> Result<Store> {
        let path = files::resolved_view(home);
        let name = path.display().to_string();
        // SQLite would create a file that others can read, and would block on a pipe. Its log files inherit this file's
        // mode.
        if let Err(error) = home.open(&view_file(home), Access::UpdateOrCreate)
            && let Some(problem) = content::view_problem(&error)
        {
            return Err(StoreError::ViewProblem { path: name, problem });
        }
        let open = || -> rusqlite::Result<(Connection, Content)> {
            let flags = OpenFlags::SQLITE_OPEN_READ_WRITE
                | OpenFlags::SQLITE_OPEN_CREATE
                | OpenFlags::SQLITE_OPEN_NO_MUTEX
                | OpenFlags::SQLITE_OPEN_NOFOLLOW;
            let connection = Connection::open_with_flags(&path, flags)?;
            connection.busy_timeout(if caller == Caller::Hook { HOOK_BUSY } else { BUSY })?;
            // In one transaction: another process may be creating the tables.
            let reading = connection.unchecked_transaction()?;
            let found = content::inspect(&reading)?;
            reading.finish()?;
            if let Content::ViewProblem(_) = found {
                return Ok((connection, found));
            }
            // A checkpoint at every close would cost four syncs per session start, so it is done only when the log is
            // long.
            connection.set_db_config(DbConfig::SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, true)?;
            // Keeps the query plan whatever values are bound: a statement is not prepared again for every new value.
            connection.set_db_config(DbConfig::SQLITE_DBCONFIG_ENABLE_QPSG, true)?;
            // The journal is durable; the view may lose its last transaction and fold it again.
            connection.execute_batch("PRAGMA synchronous=NORMAL; PRAGMA temp_store=MEMORY")?;
            connection.set_prepared_statement_cache_capacity(STATEMENTS);
            if let Content::Nothing = found {
                // The file keeps this.
                connection.execute_batch("PRAGMA journal_mode=WAL")?;
                content::create(&connection)?;
            }
            Ok((connection, found))
        };
        match open() {
            Ok((_, Content::ViewProblem(problem))) => Err(StoreError::ViewProblem { path: name, problem }),
            Ok((connection, _)) => {
                let log = files::with_suffix(&path, "-wal");
                let (privacy_rules, cleaner) = (Arc::default(), Cleaner::default());
                Ok(Store {
                    connection,
                    path: name,
                    log,
                    caller,
                    fold_time: Duration::ZERO,
                    is_behind: false,
                    is_short_lived: false,
                    privacy_rules,
                    cleaner,
                })
            }
            Err(source) => Err(StoreError::Sqlite { path: name, source }),
        }
    }

    /// For a process that ends when it has used the view once. It keeps few pages and no statements: it needs nearly
    /// every statement once, and pays more for new memory than for reading a page again.
    pub fn short_lived(self) -> Store {
        let _ = self.connection.pragma_update(None, "cache_size", FEW_PAGES);
        Store { is_short_lived: true, ..self }
    }

    /// Frees what was read, unless the process ends soon: then the memory goes at once, and not piece by piece.
    pub fn free<T>(&self, read: T) {
        if self.is_short_lived {
            std::mem::forget(read);
        }
    }

    /// Closes the view, unless the process ends soon.
    pub fn close(self) {
        if self.is_short_lived {
            std::mem::forget(self);
        }
    }

    /// Until it is dropped, everything is read as of one moment, and the view is locked once instead of for every
    /// statement. Nothing is kept that is written meanwhile. `None` inside a transaction, which does the same.
    fn snapshot(&self) -> Result<Option<Transaction<'_>>> {
        if !self.connection.is_autocommit() {
            return Ok(None);
        }
        self.with_path(self.connection.unchecked_transaction()).map(Some)
    }

    pub fn with_privacy_rules(self, home: &Home) -> Store {
        Store { privacy_rules: Arc::clone(home.privacy_rules()), cleaner: home.cleaner().clone(), ..self }
    }

    pub fn cleaner(&self) -> &Cleaner {
        &self.cleaner
    }

    pub fn caller(&self) -> Caller {
        self.caller
    }

    /// Whether there was no time to fold every record.
    pub fn is_behind(&self) -> bool {
        self.is_behind
    }

    pub fn privacy_rules(&self) -> &PrivacyRules {
        &self.privacy_rules
    }

    /// Takes the write lock. Fails if another writer holds it too long.
    pub fn begin_fold(&mut self) -> Result<FoldTransaction<'_>> {
        let path = self.path.clone();
        let begun = rusqlite::Transaction::new_unchecked(&self.connection, TransactionBehavior::Immediate);
        match begun.map_err(|source| StoreError::Sqlite { path: path.clone(), source }) {
            Err(error) if error.is_busy() && self.caller == Caller::Hook => {
                // A hook does not wait a second time.
                self.with_path(self.connection.busy_timeout(Duration::ZERO))?;
                Err(error)
            }
            begun => begun.map(|transaction| FoldTransaction::new(transaction, path)),
        }
    }

    /// A fold that is seen by this store and undone when it is dropped.
    fn begin_preview(&self) -> Result<FoldTransaction<'_>> {
        let begun = rusqlite::Transaction::new_unchecked(&self.connection, TransactionBehavior::Immediate);
        self.with_path(begun).map(|transaction| FoldTransaction::new(transaction, self.path.clone()))
    }

    /// Moves a long write-ahead log into the database. If others are using the view, this is left for next time.
    ///
    /// A hook whose time is over does without. Its log does not grow without end: a commit that leaves a thousand pages in
    /// the log moves them by itself, and the next one begins the log anew. This only keeps the log shorter than that.
    pub fn checkpoint_if_long(&self) {
        self.checkpoint_above(LOG_BYTES_MAX);
    }

    /// The same at the end of a session: leaves a short log for the next one.
    pub fn checkpoint_at_end(&self) {
        self.checkpoint_above(ENDED_LOG_BYTES_MAX);
    }

    fn checkpoint_above(&self, bytes: u64) {
        if std::fs::metadata(&self.log).is_ok_and(|known| known.len() > bytes) {
            let _ = self.connection.query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |_| Ok(()));
        }
    }

    /// Rewrites the view without deleted data, which SQLite would leave in pages, the log and the free list.
    pub fn wipe_deleted(&self) -> Result<()> {
        self.with_path(self.connection.execute_batch("VACUUM"))?;
        let empty_log = || {
            self.connection.query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |row| {
                // A concurrent reader keeps the log alive, but its contents must not stay.
                match row.get::<_, i64>(0)? {
                    0 => Ok(()),
                    _ => Err(rusqlite::Error::SqliteFailure(
                        rusqlite::ffi::Error::new(rusqlite::ffi::SQLITE_BUSY),
                        Some("another process is reading the view; deleted data may still be in its log".to_string()),
                    )),
                }
            })
        };
        self.with_path(empty_log().or_else(|_| empty_log()))
    }

    /// Calls `each` with every text in a view of any version, and its table. The file is not changed.
    pub fn every_text(path: &Path, mut each: impl FnMut(&str, &str)) -> Result<()> {
        let mut read = || -> rusqlite::Result<()> {
            let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_NOFOLLOW;
            let connection = Connection::open_with_flags(path, flags)?;
            connection.busy_timeout(BUSY)?;
            let mut tables = connection.prepare("SELECT name FROM sqlite_master WHERE type = 'table'")?;
            let tables: Vec<String> = tables.query_map([], |row| row.get(0))?.collect::<rusqlite::Result<_>>()?;
            for table in tables {
                // An index that stores its text elsewhere has nothing to read.
                let Ok(mut rows) = connection.prepare(&format!("SELECT * FROM \"{}\"", table.replace('"', "\"\"")))
                else {
                    continue;
                };
                let columns = rows.column_count();
                let mut rows = rows.query([])?;
                while let Ok(Some(row)) = rows.next() {
                    for column in 0..columns {
                        // Digests are bytes with whole texts in them.
                        if let Ok(ValueRef::Text(text) | ValueRef::Blob(text)) = row.get_ref(column) {
                            each(&table, &String::from_utf8_lossy(text));
                        }
                    }
                }
            }
            Ok(())
        };
        read().map_err(|source| StoreError::Sqlite { path: path.display().to_string(), source })
    }

    /// Differs from the last answer if the view has changed since, through this store or another process.
    pub fn version(&self) -> Result<(i64, u64)> {
        let others = self.connection.query_row("PRAGMA data_version", [], |row| row.get(0));
        Ok((self.with_path(others)?, self.connection.total_changes()))
    }

    /// SQLite's own integrity check.
    pub fn check(&self) -> Result<String> {
        self.with_path(self.connection.query_row("PRAGMA quick_check(1)", [], |row| row.get(0)))
    }

    fn with_path<T>(&self, result: rusqlite::Result<T>) -> Result<T> {
        result.map_err(|source| StoreError::Sqlite { path: self.path.clone(), source })
    }
}
