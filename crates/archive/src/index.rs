//! The index of the archive: which conversation a block belongs to, where each line is stored, and which passages hold
//! which words. It follows from the segments and can be made anew; it holds no text but single words.
//!
//! It is brought up to date when the archive is opened for writing: blocks that a killed process left are indexed then.

use std::fs;
use std::io;
use std::path::PathBuf;
use std::time::Duration;

use cerberus_agents::conversation::PartKind;
use cerberus_os::home::{Access, Home, create_dir};
use cerberus_os::platform;
use cerberus_record::id::{Agent, ProjectId};
use cerberus_record::time::Timestamp;
use rusqlite::{Connection, ErrorCode, OpenFlags, OptionalExtension, params};

use crate::conversation::Conversation;
use crate::error::ArchiveError;
use crate::segment::lock;
use crate::segment::{self, Block, BlockHead, BlockPlace, FoundBlock, each_block, segments};
use crate::terms::{KINDS, LineTerms, PassageTerms};

/// With the number of the format.
const FILE: &str = "index-3.db";

/// How the files of every format begin.
const FILES: &str = "index-";

/// How long a writer or a reader waits for another.
const BUSY: Duration = Duration::from_secs(5);

/// A shorter line is not worth a reference.
pub const REFERENCE_BYTES_MIN: usize = 80;

/// Lines of a block are counted with this many bits.
const LINE_BITS: u32 = 20;

const SCHEMA: &str = include_str!("index.sql");

pub struct ArchiveIndex {
    pub connection: Connection,
}

/// Where a passage is.
#[derive(Clone, Copy, Debug)]
pub struct PassagePlace {
    pub block: i64,
    pub line: usize,
    pub part: usize,
    pub start: usize,
    pub kind: PartKind,
    pub at: Timestamp,
}

pub fn index_file(home: &Home) -> PathBuf {
    home.archive_dir().join(FILE)
}

/// Removes the index, also one that another version made. The next writer makes it anew.
pub fn remove(home: &Home) -> io::Result<()> {
    let entries = match fs::read_dir(home.archive_dir()) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
        entries => entries?,
    };
    for entry in entries {
        let entry = entry?;
        if !entry.file_name().to_string_lossy().starts_with(FILES) {
            continue;
        }
        match fs::remove_file(entry.path()) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
            _ => {}
        }
    }
    Ok(())
}

/// Whether there are segments and no index of them that can be read.
pub fn is_lost(home: &Home) -> Result<bool, ArchiveError> {
    let found = match ArchiveIndex::existing(home) {
        Ok(None) => return Ok(!segments(home)?.is_empty()),
        Ok(Some(index)) => index.cut_off(home),
        Err(error) => Err(error),
    };
    match found {
        Err(error) if is_damage(&error) => Ok(true),
        cut_off => Ok(!cut_off?.is_empty()),
    }
}

/// Makes the index anew from the segments.
pub fn make_anew(home: &Home) -> Result<(), ArchiveError> {
    let _lock = lock(home)?;
    remove(home)?;
    ArchiveIndex::open_writable(home).map(drop)
}

/// Whether the index itself is damaged.
pub fn is_damage(error: &ArchiveError) -> bool {
    let ArchiveError::Index(error) = error else { return false };
    matches!(error.sqlite_error_code(), Some(ErrorCode::NotADatabase | ErrorCode::DatabaseCorrupt))
}

fn is_refused(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::PermissionDenied | io::ErrorKind::ReadOnlyFilesystem)
}

/// A reference to a line that another block holds.
pub fn reference(hash: u64) -> String {
    format!("={hash:016x}")
}

pub fn referred(line: &str) -> Option<u64> {
    u64::from_str_radix(line.strip_prefix('=')?, 16).ok()
}

impl ArchiveIndex {
    /// For reading; `None` if the archive is empty. An index that is lost or damaged is made anew, which takes a while.
    pub fn open(home: &Home) -> Result<Option<ArchiveIndex>, ArchiveError> {
        if !is_lost(home)? {
            return ArchiveIndex::existing(home);
        }
        // Another process may make it meanwhile.
        let made = lock(home).map_err(ArchiveError::from).and_then(|_lock| ArchiveIndex::open_writable(home));
        match made {
            // Nothing can be written here.
            Err(ArchiveError::Io(error)) if is_refused(&error) => Ok(None),
            made => made.map(Some),
        }
    }

    pub fn existing(home: &Home) -> Result<Option<ArchiveIndex>, ArchiveError> {
        let path = index_file(home);
        if !path.is_file() {
            return Ok(None);
        }
        let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_NO_MUTEX;
        let connection = Connection::open_with_flags(path, flags)?;
        connection.busy_timeout(BUSY)?;
        // Another process may be making it.
        let sql = "SELECT 1 FROM sqlite_schema WHERE name = 'words'";
        let is_made = connection.query_row(sql, [], |_| Ok(())).optional()?.is_some();
        Ok(is_made.then_some(ArchiveIndex { connection }))
    }

    /// For writing, up to date with the segments. The caller holds the lock of the archive.
    pub fn open_writable(home: &Home) -> Result<ArchiveIndex, ArchiveError> {
        create_dir(&home.archive_dir())?;
        if !index_file(home).exists() {
            remove(home)?;
        }
        let open = || {
            let mut index = ArchiveIndex::create(home)?;
            let cut_off = index.cut_off(home)?;
            if !cut_off.is_empty() {
                drop(index);
                remove(home)?;
                index = ArchiveIndex::create(home)?;
            }
            index.catch_up(home)?;
            cut_off.into_iter().try_for_each(|(number, bytes)| index.set_cut_off(number, bytes))?;
            Ok(index)
        };
        open().or_else(|error| {
            if !is_damage(&error) {
                return Err(error);
            }
            remove(home)?;
            open()
        })
    }

    /// The segments of which less is there than was indexed, and how much is missing. What the index says of them would be
    /// found in other blocks.
    fn cut_off(&self, home: &Home) -> Result<Vec<(u32, u64)>, ArchiveError> {
        let mut statement = self.connection.prepare("SELECT number, indexed_to FROM segment")?;
        let rows = statement.query_map([], |row| Ok((row.get(0)?, row.get(1)?)))?;
        let mut found = Vec::new();
        for row in rows {
            let (number, indexed_to): (u32, u64) = row?;
            let length = fs::metadata(segment::segment_path(home, number)).map_or(0, |known| known.len());
            if length < indexed_to {
                found.push((number, indexed_to - length));
            }
        }
        Ok(found)
    }

    fn set_cut_off(&self, number: u32, bytes: u64) -> Result<(), ArchiveError> {
        let sql = "INSERT INTO segment VALUES (?1, 0, ?2) ON CONFLICT(number) DO UPDATE SET damaged = damaged + ?2";
        self.connection.execute(sql, params![number, bytes])?;
        Ok(())
    }

    fn create(home: &Home) -> Result<ArchiveIndex, ArchiveError> {
        let path = index_file(home);
        platform::with_mode(fs::OpenOptions::new().write(true).create(true).truncate(false), 0o600).open(&path)?;
        let connection = Connection::open(path)?;
        connection.busy_timeout(BUSY)?;
        connection
            .execute_batch("PRAGMA journal_mode = WAL; PRAGMA synchronous = NORMAL; PRAGMA cache_size = -8000;")?;
        connection.execute_batch(&format!("BEGIN; {SCHEMA} COMMIT;"))?;
        Ok(ArchiveIndex { connection })
    }

    pub fn begin(&self) -> Result<(), ArchiveError> {
        Ok(self.connection.execute_batch("BEGIN IMMEDIATE")?)
    }

    pub fn commit(&self) -> Result<(), ArchiveError> {
        Ok(self.connection.execute_batch("COMMIT")?)
    }

    /// Indexes blocks that are not indexed yet. What a killed writer left of a block is cut off.
    fn catch_up(&self, home: &Home) -> Result<(), ArchiveError> {
        let all = segments(home)?;
        let last = all.last().map(|(number, _)| *number);
        for (number, path) in all {
            let done = self.indexed_to(number)?;
            let length = fs::metadata(&path)?.len();
            if done >= length {
                continue;
            }
            let mut torn_from = None;
            self.begin()?;
            let is_torn = |from: u64| segment::is_torn(home, &path, from);
            each_block(home, number, &path, done, |found| {
                match found {
                    FoundBlock::Block(place, block) => {
                        let terms = |line: &String| referred(line).is_none().then(|| LineTerms::of(line));
                        self.add(place, &block.head, block.lines.iter().map(terms))?;
                    }
                    FoundBlock::Damaged { from, to } if to == length && Some(number) == last && is_torn(from)? => {
                        torn_from = Some(from);
                    }
                    FoundBlock::Damaged { from, to } => self.set_damaged(number, from, to)?,
                }
                Ok(())
            })?;
            self.commit()?;
            if let Some(from) = torn_from {
                home.open(&path, Access::Overwrite)?.set_len(from)?;
            }
        }
        Ok(())
    }

    fn indexed_to(&self, number: u32) -> Result<u64, ArchiveError> {
        let sql = "SELECT indexed_to FROM segment WHERE number = ?1";
        Ok(self.connection.query_row(sql, [number], |row| row.get(0)).optional()?.unwrap_or(0))
    }

    fn set_damaged(&self, number: u32, from: u64, to: u64) -> Result<(), ArchiveError> {
        let sql = "INSERT INTO segment VALUES (?1, ?3, ?3 - ?2)
            ON CONFLICT(number) DO UPDATE SET indexed_to = ?3, damaged = damaged + ?3 - ?2";
        self.connection.execute(sql, params![number, from, to])?;
        Ok(())
    }

    /// How many bytes of the segments cannot be read.
    pub fn damaged_bytes(&self) -> Result<u64, ArchiveError> {
        Ok(self.connection.query_row("SELECT coalesce(sum(damaged), 0) FROM segment", [], |row| row.get(0))?)
    }

    /// How many bytes of the segments are not in the index: there was no room for it, or they are being written.
    pub fn missing_bytes(&self, home: &Home) -> Result<u64, ArchiveError> {
        let mut missing = 0;
        for (number, path) in segments(home)? {
            missing += fs::metadata(path)?.len().saturating_sub(self.indexed_to(number)?);
        }
        Ok(missing)
    }

    /// Indexes one block: the terms of its lines, `None` for one that another session had first, where it is found.
    pub fn add(
        &self,
        place: BlockPlace,
        head: &BlockHead,
        lines: impl Iterator<Item = Option<LineTerms>>,
    ) -> Result<(), ArchiveError> {
        let conversation = self.conversation_id(head)?;
        let BlockHead { source, is_main, to, first_at, last_at, text_bytes, .. } = head;
        let millis = |at: &Option<Timestamp>| at.map(Timestamp::millis);
        self.connection
            .prepare_cached(
                "INSERT INTO block VALUES (NULL, ?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10,
                (SELECT coalesce(max(id), 0) + 1 FROM passage))",
            )?
            .execute(params![
                place.segment,
                place.offset,
                place.bytes,
                conversation,
                source,
                is_main,
                to,
                millis(first_at),
                millis(last_at),
                text_bytes
            ])?;
        let id = self.connection.last_insert_rowid();
        let mut at = first_at.unwrap_or(Timestamp::EPOCH);
        for (number, terms) in lines.enumerate() {
            let Some(terms) = terms else { continue };
            let place = (id << LINE_BITS) | number as i64;
            if terms.bytes >= REFERENCE_BYTES_MIN {
                let sql = "INSERT OR IGNORE INTO line VALUES (?1, ?2)";
                self.connection.prepare_cached(sql)?.execute(params![terms.hash as i64, place])?;
            }
            at = terms.at.unwrap_or(at);
            self.add_terms(&terms, place, conversation, at)?;
        }
        let sql = "INSERT INTO segment VALUES (?1, ?2, 0) ON CONFLICT(number) DO UPDATE SET indexed_to = ?2";
        self.connection.prepare_cached(sql)?.execute(params![place.segment, place.offset + place.bytes])?;
        Ok(())
    }

    fn add_terms(&self, terms: &LineTerms, place: i64, conversation: i64, at: Timestamp) -> Result<(), ArchiveError> {
        for file in &terms.files {
            let sql = "INSERT OR IGNORE INTO file VALUES (?1, ?2)";
            self.connection.prepare_cached(sql)?.execute(params![file, conversation])?;
        }
        for PassageTerms { part, start, kind, words } in &terms.passages {
            self.connection
                .prepare_cached("INSERT INTO passage VALUES (NULL, ?1, ?2, ?3, ?4, ?5)")?
                .execute(params![place, part, start, kind, at.millis()])?;
            let id = self.connection.last_insert_rowid();
            self.connection
                .prepare_cached("INSERT INTO words(rowid, text) VALUES (?1, ?2)")?
                .execute(params![id, words])?;
        }
        Ok(())
    }

    fn conversation_id(&self, head: &BlockHead) -> Result<i64, ArchiveError> {
        let sql = "SELECT id FROM conversation WHERE agent = ?1 AND session = ?2";
        let name = params![head.agent.name(), head.session];
        if let Some(id) = self.connection.prepare_cached(sql)?.query_row(name, |row| row.get(0)).optional()? {
            return Ok(id);
        }
        let sql = "INSERT INTO conversation VALUES (NULL, ?1, ?2, ?3, ?4)";
        self.connection.execute(sql, params![head.agent.name(), head.session, head.project.as_str(), head.root])?;
        Ok(self.connection.last_insert_rowid())
    }

    /// Where a line is stored.
    pub fn line_place(&self, hash: u64) -> Result<Option<(i64, usize)>, ArchiveError> {
        let sql = "SELECT place FROM line WHERE hash = ?1";
        let found = self.connection.prepare_cached(sql)?.query_row([hash as i64], |row| row.get(0)).optional()?;
        Ok(found.map(split_place))
    }

    pub fn block_place(&self, id: i64) -> Result<Option<BlockPlace>, ArchiveError> {
        let sql = "SELECT segment, start, bytes FROM block WHERE id = ?1";
        Ok(self.connection.prepare_cached(sql)?.query_row([id], block_place).optional()?)
    }

    /// The blocks of a conversation, in the order in which they were written, with their sources.
    pub fn blocks_of(&self, agent: Agent, session: &str) -> Result<Vec<(BlockPlace, String, bool)>, ArchiveError> {
        let sql = "SELECT segment, start, bytes, source, is_main FROM block WHERE conversation =
            (SELECT id FROM conversation WHERE agent = ?1 AND session = ?2) ORDER BY block.id";
        let mut statement = self.connection.prepare_cached(sql)?;
        let rows = statement
            .query_map(params![agent.name(), session], |row| Ok((block_place(row)?, row.get(3)?, row.get(4)?)))?;
        Ok(rows.collect::<Result<_, _>>()?)
    }

    /// The last block of a source that can be read.
    pub fn last_block(
        &self,
        home: &Home,
        agent: Agent,
        session: &str,
        source: &str,
    ) -> Result<Option<Block>, ArchiveError> {
        let sql = "SELECT segment, start, bytes FROM block WHERE source = ?3 AND conversation =
            (SELECT id FROM conversation WHERE agent = ?1 AND session = ?2) ORDER BY block.id DESC";
        let mut statement = self.connection.prepare_cached(sql)?;
        for place in statement.query_map(params![agent.name(), session, source], block_place)? {
            if let Some(block) = segment::block(home, place?)? {
                return Ok(Some(block));
            }
        }
        Ok(None)
    }

    /// What the archive has, newest first; of one session if it is named.
    pub fn conversations(&self, only: Option<(Agent, &str)>) -> Result<Vec<Conversation>, ArchiveError> {
        let sql = "SELECT agent, session, project, root, min(first_at), max(last_at), sum(text_bytes),
                json_group_array(source ORDER BY last_at DESC, last DESC) FILTER (WHERE is_main),
                json_group_array(source ORDER BY last) FILTER (WHERE NOT is_main),
                json_group_array(last_at ORDER BY last_at DESC, last DESC) FILTER (WHERE is_main)
            FROM (SELECT conversation, source, is_main, min(first_at) AS first_at, max(last_at) AS last_at,
                    sum(text_bytes) AS text_bytes, max(id) AS last
                FROM block GROUP BY conversation, source, is_main) AS read
            JOIN conversation ON conversation.id = read.conversation
            WHERE ?1 IS NULL OR agent = ?1 AND session = ?2 GROUP BY conversation.id ORDER BY max(last_at) DESC";
        let mut statement = self.connection.prepare_cached(sql)?;
        let (agent, session) = only.unzip();
        let rows = statement.query_map(params![agent.map(|agent| agent.name().to_string()), session], |row| {
            let time = |at: Option<i64>| at.map(Timestamp::from_millis);
            let (own, of_subagents, ends): (String, String, String) = (row.get(7)?, row.get(8)?, row.get(9)?);
            let ends: Vec<Option<i64>> = serde_json::from_slice(ends.as_bytes()).unwrap_or_default();
            Ok(Conversation {
                agent: Agent::from_name(&row.get::<_, String>(0)?).unwrap_or(Agent::MANUAL),
                session: row.get(1)?,
                project: ProjectId::from_stored(row.get(2)?),
                root: row.get(3)?,
                first_at: time(row.get(4)?),
                last_at: time(row.get(5)?),
                text_bytes: row.get(6)?,
                own_sources: paths(&own),
                complete_sources: ends.iter().filter(|end| Some(*end) == ends.first()).count(),
                subagent_sources: paths(&of_subagents),
            })
        })?;
        Ok(rows.collect::<Result<_, _>>()?)
    }

    pub fn passage(&self, id: i64) -> Result<Option<PassagePlace>, ArchiveError> {
        let sql = "SELECT place, part, start, kind, at FROM passage WHERE id = ?1";
        let place = |row: &rusqlite::Row| {
            let (block, line) = split_place(row.get(0)?);
            let kind = KINDS.get(row.get::<_, usize>(3)?).copied().unwrap_or(PartKind::Note);
            let at = Timestamp::from_millis(row.get(4)?);
            Ok(PassagePlace { block, line, part: row.get(1)?, start: row.get(2)?, kind, at })
        };
        Ok(self.connection.prepare_cached(sql)?.query_row([id], place).optional()?)
    }
}

fn block_place(row: &rusqlite::Row) -> rusqlite::Result<BlockPlace> {
    Ok(BlockPlace { segment: row.get(0)?, offset: row.get(1)?, bytes: row.get(2)? })
}

fn paths(json: &str) -> Vec<PathBuf> {
    serde_json::from_slice::<Vec<PathBuf>>(json.as_bytes()).unwrap_or_default()
}

fn split_place(place: i64) -> (i64, usize) {
    (place >> LINE_BITS, (place & ((1 << LINE_BITS) - 1)) as usize)
}
