//! Retention: how long sessions are kept, and how much of them, as set in `[store]`. Nothing is removed by default.
//!
//! The oldest sessions are removed first, whole, from the journal and the view. Memories, and anything that a brief
//! still tells, are never removed. Never called by a hook.

use std::time::{Duration, SystemTime};

use cerberus_os::clock::Clock;
use cerberus_os::home::{Access, Home};
use cerberus_record::id::Agent;
use cerberus_record::session::CARRY_OVER;
use cerberus_record::time::Timestamp;

use crate::capability::Capabilities;
use crate::config::{Age, ByteSize, StoreConfig};
use crate::erase::forget::{self, ForgetMatches};
use crate::journal::{self, JournalError};
use crate::view::fold::FoldError;
use crate::view::{self, SessionRow, Store};

/// How much is stored now.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StoredAmount {
    pub journal_bytes: u64,
    pub view_bytes: u64,
}

impl StoredAmount {
    fn all_bytes(self) -> u64 {
        self.journal_bytes.saturating_add(self.view_bytes)
    }
}

pub fn stored(home: &Home) -> Result<StoredAmount, JournalError> {
    let length = |path: &std::path::Path| std::fs::symlink_metadata(path).map_or(0, |known| known.len());
    let view = view::view_file(home);
    let log = view.with_extension("db-wal");
    let journal_bytes = journal::segments(home)?.iter().map(|segment| segment.bytes).sum();
    Ok(StoredAmount { journal_bytes, view_bytes: length(&view) + length(&log) })
}

/// The sessions that the settings allow to remove now, oldest first.
pub fn due(home: &Home, store: &Store, config: StoreConfig, now: Timestamp) -> Result<Vec<SessionRow>, FoldError> {
    if config == StoreConfig::default() {
        return Ok(Vec::new());
    }
    let mut old = store.sessions(&[], Timestamp::EPOCH, now)?;
    // What a brief may tell is kept, whatever the settings say.
    old.retain(|session| session.last_activity < now.minus(CARRY_OVER));
    old.sort_by_key(|session| session.last_activity);
    let past = config.retention.map_or(Timestamp::EPOCH, |Age(age)| now.minus(age));
    let expired = old.iter().take_while(|session| session.last_activity < past).count();
    let crowded = match config.max_size {
        Some(size) => too_many(home, &old, size)?,
        None => 0,
    };
    old.truncate(expired.max(crowded));
    Ok(old)
}

/// How many of the oldest sessions must go for the rest to fit. Assumes that the view shrinks like the journal.
fn too_many(home: &Home, oldest_first: &[SessionRow], size: ByteSize) -> Result<usize, JournalError> {
    let stored = stored(home)?;
    if stored.all_bytes() <= size.bytes {
        return Ok(0);
    }
    let of_sessions = forget::bytes_of_sessions(home)?;
    let records_bytes: u64 = of_sessions.values().sum();
    let mut left_bytes = records_bytes;
    for (count, session) in oldest_first.iter().enumerate() {
        let share = left_bytes as f64 / records_bytes.max(1) as f64;
        if stored.all_bytes() as f64 * share <= size.bytes as f64 {
            return Ok(count);
        }
        let name = Agent::from_name(&session.agent).map(|agent| (agent, session.agent_session_id.clone()));
        left_bytes -= name.and_then(|name| of_sessions.get(&name)).copied().unwrap_or(0).min(left_bytes);
    }
    Ok(oldest_first.len())
}

/// Removes the sessions that are due. Returns what was removed.
pub fn apply(
    home: &Home,
    clock: &Clock,
    store: &mut Store,
    config: StoreConfig,
    capabilities: Capabilities,
) -> Result<ForgetMatches, FoldError> {
    let due = due(home, store, config, clock.now)?;
    if due.is_empty() {
        return Ok(ForgetMatches::default());
    }
    forget::forget(home, clock, store, &forget::of_expired(&due), capabilities)
}

/// Like [`apply`], at most once a day. Commands that maintain sessions call it.
pub fn apply_daily(
    home: &Home,
    clock: &Clock,
    store: &mut Store,
    config: StoreConfig,
    capabilities: Capabilities,
) -> Result<(), FoldError> {
    const DAY: Duration = Duration::from_secs(24 * 60 * 60);
    let mark = home.retention_mark();
    let now = SystemTime::UNIX_EPOCH + clock.wall.since(Timestamp::EPOCH);
    let last = std::fs::symlink_metadata(&mark).and_then(|known| known.modified());
    let is_recent = last.is_ok_and(|last| now.duration_since(last).is_ok_and(|age| age < DAY));
    if config == StoreConfig::default() || is_recent {
        return Ok(());
    }
    let touched = home.open(&mark, Access::AppendOrCreate).and_then(|file| file.set_modified(now));
    touched.map_err(|source| JournalError::Write { path: mark, source })?;
    apply(home, clock, store, config, capabilities).map(drop)
}
