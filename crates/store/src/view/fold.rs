//! The fold, journal → view: applies everything since the last fold, with the new offset in the same transaction.
//!
//! Killed at any instant, a fold leaves the view as it was before or after a stretch, never between. Folding twice, or
//! in many processes at once, equals folding once. The view depends only on the records and their places, not on when
//! they arrived: if a record arrives late, its session is folded again. So an incremental fold equals a rebuild.

use std::collections::{BTreeSet, HashMap, VecDeque};
use std::time::{Duration, Instant};

use cerberus_os::fault;
use cerberus_os::home::{Home, create_dir};
use cerberus_record::event::{Event, Record};
use cerberus_record::kind::EventKind;
use serde::Deserialize;

use super::write::{ApplyResult, FoldTransaction};
use super::{Caller, Store, StoreError, aside};
use crate::journal::{self, JournalError, Segment, Stretch, rank, rewrite};

/// The agent waits for its hook. The next fold does the rest.
const HOOK_FOLD_MAX: Duration = Duration::from_millis(500);

/// A hook looks at the time after this much: a few hundred records.
const HOOK_STRETCH_BYTES: u64 = 64 * 1024;

#[derive(Debug, thiserror::Error)]
pub enum FoldError {
    #[error(transparent)]
    Journal(#[from] JournalError),
    #[error(transparent)]
    Store(#[from] StoreError),
}

/// Opens the view and brings it up to date. A damaged view is set aside and rebuilt.
pub fn open(home: &Home) -> Result<Store, FoldError> {
    open_for(home, Caller::Command)
}

/// Opens the view for a hook, which never waits for a lock or a long fold. The hook then sees an older view.
pub fn open_in_hook(home: &Home) -> Result<Store, FoldError> {
    open_for(home, Caller::Hook).map(Store::short_lived)
}

fn open_for(home: &Home, caller: Caller) -> Result<Store, FoldError> {
    match open_and_fold(home, caller) {
        Err(FoldError::Store(error)) if error.is_damage() || aside::is_obstructed(home) => {
            aside::set_aside(home, &error);
            open_and_fold(home, caller)
        }
        opened => opened,
    }
}

fn open_and_fold(home: &Home, caller: Caller) -> Result<Store, FoldError> {
    // Nothing was captured yet. The view is created anyway, so that queries need no special case.
    create_dir(home.root()).map_err(|source| JournalError::Write { path: home.root().to_path_buf(), source })?;
    let mut store = Store::open(home, caller)?.with_privacy_rules(home);
    if caller == Caller::Command && rewrite::is_unfinished(home) {
        finish_rewrite(home, &mut store)?;
    }
    fold(home, &mut store)?;
    Ok(store)
}

/// Folds what is new, unless another process is already doing so and takes long.
pub fn fold(home: &Home, store: &mut Store) -> Result<(), FoldError> {
    match fold_all(home, store) {
        // What the other process has committed so far is a consistent, slightly older view.
        Err(FoldError::Store(error)) if error.is_busy() => Ok(()),
        folded => folded,
    }
}

/// Folds everything that is new. Fails if another process holds the view too long.
pub fn fold_all(home: &Home, store: &mut Store) -> Result<(), FoldError> {
    let left = HOOK_FOLD_MAX.saturating_sub(store.fold_time);
    let begun = Instant::now();
    let folded = match store.caller() {
        Caller::Command => fold_until(home, store, || false),
        Caller::Hook => fold_until(home, store, || begun.elapsed() > left),
    };
    store.fold_time += begun.elapsed();
    folded
}

/// Folds what is new, stretch by stretch, until the time is over. What is folded by then is complete in itself.
fn fold_until(home: &Home, store: &mut Store, mut is_over: impl FnMut() -> bool) -> Result<(), FoldError> {
    let caller = store.caller();
    let folded = store.segments()?;
    store.is_behind = false;
    let is_behind = |segment: &Segment| {
        !folded.iter().any(|(name, folded_bytes, ..)| *name == segment.name && *folded_bytes >= segment.bytes)
    };
    let mut behind: VecDeque<Segment> = journal::segments(home)?.into_iter().filter(is_behind).collect();
    while !behind.is_empty() {
        let result = match is_over() {
            true => FoldResult::TimeIsOver,
            false => fold_some(home, store.begin_fold()?, caller, &mut behind, &mut is_over)?,
        };
        match result {
            FoldResult::UpToHere => {}
            FoldResult::NeedsRebuild if caller == Caller::Command => return rebuild(home, store),
            // A hook has no time to rebuild the view.
            FoldResult::NeedsRebuild | FoldResult::TimeIsOver => {
                store.is_behind = true;
                return Ok(());
            }
        }
    }
    store.checkpoint_if_long();
    if caller == Caller::Command {
        remove_unwanted(home, store)?;
    }
    Ok(())
}

/// Folds a stretch. If a record in it is late, all that is new is folded as one change, so that the journal is read
/// again only once.
fn fold_some(
    home: &Home,
    transaction: FoldTransaction,
    caller: Caller,
    behind: &mut VecDeque<Segment>,
    is_over: &mut dyn FnMut() -> bool,
) -> Result<FoldResult, FoldError> {
    let mut late = LateRecords::default();
    while let Some(segment) = behind.front() {
        // Read again under the lock: another process may have folded this stretch meanwhile.
        let offset = transaction.folded_bytes(&segment.name)?;
        let stretch = match caller {
            Caller::Command => journal::read(home, &segment.name, offset)?,
            Caller::Hook => journal::read_little(home, &segment.name, offset, HOOK_STRETCH_BYTES)?,
        };
        let is_last = stretch.next_offset == offset || stretch.next_offset >= segment.bytes;
        if stretch.next_offset > offset {
            pass(home, "fold-apply")?;
            if let FoldResult::NeedsRebuild = apply(home, &transaction, &stretch, &mut late)? {
                return Ok(FoldResult::NeedsRebuild);
            }
        }
        if is_last {
            behind.pop_front();
        }
        if late.is_empty() {
            break;
        }
        if is_over() {
            return Ok(FoldResult::TimeIsOver);
        }
    }
    if !refold(home, &transaction, &late, is_over)? {
        return Ok(FoldResult::TimeIsOver);
    }
    pass(home, "fold-commit")?;
    transaction.commit()?;
    pass(home, "fold-done")?;
    Ok(FoldResult::UpToHere)
}

/// Empties the view and folds the whole journal, as one change: readers see the old view until the new one is complete.
pub fn rebuild(home: &Home, store: &mut Store) -> Result<(), FoldError> {
    let transaction = store.begin_fold()?;
    rebuild_within(home, &transaction)?;
    transaction.commit()?;
    remove_unwanted(home, store)
}

/// Replaces the contents of the view with what the journal gives.
pub fn rebuild_within(home: &Home, transaction: &FoldTransaction) -> Result<(), FoldError> {
    transaction.clear()?;
    // Lists of forgotten records come first: a list may be written after what it names.
    let mut lists = Vec::new();
    journal::each_line(home, |position, line| {
        if let journal::JournalLine::Whole(sealed) = line
            && sealed.json.windows(FORGOTTEN.len()).any(|window| window == FORGOTTEN)
            && let Some(record) = sealed.record()
            && let Event::Forgotten(names) = &record.event
        {
            lists.push((rank(&record, position.order(&sealed)), names.clone().into_owned()));
        }
    })?;
    for (rank, names) in &lists {
        transaction.forgotten(*rank, names)?;
    }
    let mut late = LateRecords::default();
    for segment in journal::segments(home)? {
        for stretch in journal::stretches(home, &segment.name) {
            apply(home, transaction, &stretch?, &mut late)?;
        }
    }
    refold(home, transaction, &late, &mut || false).map(drop)
}

/// How a list of forgotten records begins in JSON.
const FORGOTTEN: &[u8] = b"\"event\":{\"forgotten\":";

/// Completes an interrupted removal. The journal lists what was to be removed; the view is rebuilt and its deleted
/// pages are overwritten.
pub fn finish_rewrite(home: &Home, store: &mut Store) -> Result<(), FoldError> {
    let transaction = match store.begin_fold() {
        // The process that is doing it still holds the lock.
        Err(error) if error.is_busy() => return Ok(()),
        begun => begun?,
    };
    rebuild_within(home, &transaction)?;
    transaction.forget_terms()?;
    transaction.commit()?;
    remove_unwanted(home, store)?;
    store.wipe_deleted()?;
    Ok(rewrite::done(home)?)
}

/// Removes forgotten records from the journal that have arrived again.
fn remove_unwanted(home: &Home, store: &mut Store) -> Result<(), FoldError> {
    if !store.has_unwanted()? {
        return Ok(());
    }
    let transaction = match store.begin_fold() {
        Err(error) if error.is_busy() => return Ok(()),
        begun => begun?,
    };
    let unwanted = transaction.unwanted()?;
    rewrite::remove(home, &unwanted)?;
    transaction.clear_unwanted()?;
    transaction.commit()?;
    Ok(rewrite::done(home)?)
}

fn pass(home: &Home, label: &str) -> Result<(), JournalError> {
    fault::point(label).map(|_| ()).map_err(|source| JournalError::Read { path: home.journal_dir(), source })
}

/// The result of folding a stretch.
enum FoldResult {
    UpToHere,
    /// Something was forgotten that the view may contain.
    NeedsRebuild,
    TimeIsOver,
}

/// Records that belong before some that were already folded.
#[derive(Default)]
struct LateRecords {
    /// Agents and sessions.
    sessions: BTreeSet<(String, String)>,
    /// The first segment that has one of a session.
    first_segment: String,
    /// Some belong to no session.
    is_of_memories: bool,
}

impl LateRecords {
    fn is_empty(&self) -> bool {
        self.sessions.is_empty() && !self.is_of_memories
    }

    fn add(&mut self, record: &Record, segment: &str) {
        if !EventKind::of(&record.event).is_of_a_session() {
            self.is_of_memories = true;
            return;
        }
        if self.sessions.is_empty() || segment < self.first_segment.as_str() {
            self.first_segment = segment.to_string();
        }
        self.sessions.insert((record.agent.name().to_string(), record.session.to_string()));
    }

    /// Whether a line may be of a record that is folded again.
    fn may_have(&self, json: &[u8]) -> bool {
        let from = || serde_json::from_slice::<RecordSession>(json);
        self.is_of_memories || from().is_ok_and(|from| self.sessions.contains(&(from.agent, from.session)))
    }

    fn has(&self, record: &Record) -> bool {
        match EventKind::of(&record.event) {
            kind if kind.is_of_a_session() => {
                self.sessions.contains(&(record.agent.name().to_string(), record.session.to_string()))
            }
            // A new list of what is forgotten causes the whole view to be rebuilt.
            kind => self.is_of_memories && kind != EventKind::Forgotten,
        }
    }
}

fn apply(
    home: &Home,
    transaction: &FoldTransaction,
    stretch: &Stretch,
    late: &mut LateRecords,
) -> Result<FoldResult, FoldError> {
    let (mut broken, mut unknown) = (0, 0);
    let mut records = Vec::new();
    for (offset, line) in stretch.lines() {
        let Some(sealed) = journal::decode(line) else {
            broken += 1;
            continue;
        };
        match sealed.record() {
            Some(record) => {
                let rank = rank(&record, stretch.order(offset, &sealed));
                records.push((rank, offset, sealed, record));
            }
            // Written by a newer version, which can fold it later.
            None => unknown += 1,
        }
    }
    records.sort_by_key(|(rank, ..)| *rank);
    for (rank, offset, sealed, record) in &records {
        if let Event::Forgotten(names) = &record.event {
            if transaction.is_new_list(*rank, names)? {
                return Ok(FoldResult::NeedsRebuild);
            }
            continue;
        }
        if transaction.is_forgotten(home, record, sealed.open_record())? {
            transaction.add_unwanted(&stretch.position(*offset, sealed.json))?;
            continue;
        }
        if transaction.apply(*rank, &stretch.segment, record)? == ApplyResult::Late {
            late.add(record, &stretch.segment);
        }
    }
    transaction.set_folded(&stretch.segment, stretch.next_offset, broken, unknown)?;
    Ok(FoldResult::UpToHere)
}

/// The session of a record, parsed without the rest of the record.
#[derive(Deserialize)]
struct RecordSession {
    agent: String,
    session: String,
}

/// Folds the sessions and memories of late records again, in order. The journal is read once for all of them. Returns
/// whether there was time.
fn refold(
    home: &Home,
    transaction: &FoldTransaction,
    late: &LateRecords,
    is_over: &mut dyn FnMut() -> bool,
) -> Result<bool, FoldError> {
    if late.is_empty() {
        return Ok(true);
    }
    let mut first_segment = late.first_segment.clone();
    for (agent, session) in &late.sessions {
        if let Some(first) = transaction.clear_session(agent, session)? {
            first_segment = first_segment.min(first);
        }
    }
    if late.is_of_memories {
        transaction.clear_memories()?;
        first_segment.clear();
    }
    let folded: HashMap<String, u64> = transaction.segments()?.into_iter().collect();
    let mut lines: Vec<(i64, String, Vec<u8>)> = Vec::new();
    for segment in journal::segments(home)?.iter().filter(|segment| segment.name >= first_segment) {
        let Some(end) = folded.get(&segment.name) else { continue };
        for stretch in journal::stretches(home, &segment.name) {
            let stretch = stretch?;
            for (offset, line) in stretch.lines().filter(|(offset, _)| offset < end) {
                if is_over() {
                    return Ok(false);
                }
                let Some(sealed) = journal::decode(line).filter(|sealed| late.may_have(sealed.json)) else { continue };
                let Some(record) = sealed.record().filter(|record| late.has(record)) else { continue };
                if !transaction.is_forgotten(home, &record, sealed.open_record())? {
                    let rank = rank(&record, stretch.order(offset, &sealed));
                    lines.push((rank, segment.name.clone(), sealed.json.to_vec()));
                }
            }
        }
    }
    lines.sort_by_key(|(rank, ..)| *rank);
    for (rank, segment, json) in &lines {
        if is_over() {
            return Ok(false);
        }
        if let Some(record) = journal::decode(json).and_then(|sealed| sealed.record()) {
            transaction.apply(*rank, segment, &record)?;
        }
    }
    Ok(true)
}

#[cfg(test)]
mod tests {
    use std::io::Write;
    use std::time::Duration;

    use cerberus_agents::claude_code;
    use cerberus_record::clean::BUILT_IN;
    use cerberus_record::clean::text::{Clean, Keep};
    use cerberus_record::echo::{ECHO_MAX, timed_key};
    use cerberus_record::event::{Forgotten, ForgottenRecord, Location};
    use cerberus_record::id::ProjectId;
    use cerberus_record::order::{DeviceId, Order};
    use cerberus_record::time::Timestamp;

    use super::*;
    use crate::journal::forgotten::Namer;

    fn ended(at: Timestamp, pid: u32, said: &str) -> Record<'static> {
        let word = Clean::word;
        let (name, root, cwd) = (word("p"), word("/p"), word("/p"));
        Record {
            at,
            key: BUILT_IN.clean(timed_key(said, at), Keep::NAME),
            agent: claude_code::AGENT,
            imported: false,
            heard_by: Some(pid),
            by_agent: false,
            origin: None,
            session: word("s"),
            location: Location { project: ProjectId::of_anchor(b"/p"), name, root, cwd, branch: None },
            event: Event::End { reason: word("other") },
        }
    }

    #[test]
    fn a_list_of_forgotten_records_holds_for_what_came_before_it_and_for_what_comes_again() {
        let dir = tempfile::tempdir().unwrap();
        let home = Home::new(dir.path().join("home"));
        let now = Timestamp::from_millis(1_700_000_000_000);
        let after = |seconds| now.plus(Duration::from_secs(seconds));
        let records = [ended(after(1), 1, "early"), ended(after(9), 1, "forgotten"), ended(after(10), 1, "last")];
        let append = |record: &Record| {
            let order = Order { seq: journal::micros(record.at), device: DeviceId::from_bytes([7; 8]) };
            let line = journal::encode(record, order).unwrap();
            journal::append_to(&home, &journal::replica_of(now, 0, 0), &[line]).unwrap();
        };
        let keys = || {
            let store = open(&home).unwrap();
            let mut keys = Vec::from_iter(store.event_keys(claude_code::AGENT, "s").unwrap().into_keys());
            keys.sort();
            keys.into_iter().map(|key| key.split_once('@').unwrap().0.to_string()).collect::<Vec<_>>()
        };
        records[1..].iter().for_each(append);
        assert_eq!(keys(), ["forgotten", "last"]);
        let name = Namer::open(&home).unwrap().event(claude_code::AGENT.name(), "s", &records[1].key);
        let list = Forgotten { records: vec![ForgottenRecord { record: name, kept: None }], ..Forgotten::default() };
        append(&Record { event: Event::Forgotten(list), ..ended(after(20), 1, "list") });
        assert_eq!(keys(), ["last"]);
        // One of these belongs before what was folded, so the session is folded again.
        records.iter().for_each(append);
        assert_eq!(keys(), ["early", "last"]);
    }

    #[test]
    fn a_segment_of_several_stretches_is_folded_at_once() {
        let dir = tempfile::tempdir().unwrap();
        let home = Home::new(dir.path().join("home"));
        let now = Timestamp::from_millis(1_700_000_000_000);
        journal::append(&home, now, &ended(now, 1, "first")).unwrap();
        let segment = home.journal_dir().join(&journal::segments(&home).unwrap()[0].name);
        let mut damage = vec![b'x'; journal::CHUNK_BYTES as usize];
        damage.push(b'\n');
        std::fs::OpenOptions::new().append(true).open(segment).unwrap().write_all(&damage).unwrap();
        journal::append(&home, now, &ended(now, 1, "last")).unwrap();
        let keys = open(&home).unwrap().event_keys(claude_code::AGENT, "s").unwrap();
        assert_eq!(keys.len(), 2, "{keys:?}");
    }

    #[test]
    fn the_first_of_two_hooks_counts_and_a_later_repetition_is_new() {
        let dir = tempfile::tempdir().unwrap();
        let home = Home::new(dir.path().join("home"));
        let now = Timestamp::from_millis(1_700_000_000_000);
        let later = now.plus(ECHO_MAX + Duration::from_millis(1));
        let soon = now.plus(Duration::from_secs(1));
        for record in [ended(soon, 2, "x"), ended(now, 1, "x"), ended(now, 3, "y"), ended(later.plus(ECHO_MAX), 2, "x")]
        {
            journal::append(&home, now, &record).unwrap();
        }
        let mut store = open(&home).unwrap();
        for _ in 0..2 {
            let mut keys = Vec::from_iter(store.event_keys(claude_code::AGENT, "s").unwrap().into_keys());
            keys.sort();
            assert_eq!(keys, ["x@1700000001000", "x@1700000006001", "y@1700000000000"]);
            let reporters = |at| store.reporters(claude_code::AGENT, "s", &timed_key("x", at), at).unwrap();
            assert_eq!((reporters(now), reporters(soon), reporters(later.plus(ECHO_MAX))), (vec![2], vec![2], vec![2]));
            rebuild(&home, &mut store).unwrap();
        }
    }

    /// Records of sessions that all begin in the same second.
    fn of_sessions(names: &[&str], now: Timestamp) -> Vec<Record<'static>> {
        let one = |name: &&str| Record { session: BUILT_IN.clean(name.to_string(), Keep::NAME), ..ended(now, 1, name) };
        names.iter().map(one).collect()
    }

    fn ids(store: &Store) -> Vec<(String, String)> {
        let sessions = store.sessions(&[], Timestamp::EPOCH, Timestamp::from_millis(i64::MAX)).unwrap();
        let mut ids: Vec<_> =
            sessions.into_iter().map(|session| (session.agent_session_id, session.id.to_string())).collect();
        ids.sort();
        ids
    }

    #[test]
    fn a_hook_that_runs_out_of_time_keeps_what_it_folded() {
        let dir = tempfile::tempdir().unwrap();
        let home = Home::new(dir.path().join("home"));
        let now = Timestamp::from_millis(1_700_000_000_000);
        let names: Vec<String> = (0..1_000).map(|number| format!("s{number:04}")).collect();
        journal::append_all(&home, now, &of_sessions(&names.iter().map(String::as_str).collect::<Vec<_>>(), now))
            .unwrap();
        let segment = journal::segments(&home).unwrap().remove(0);
        let bytes = std::fs::read(home.journal_dir().join(&segment.name)).unwrap();
        let mut store = Store::open(&home, Caller::Hook).unwrap();
        let mut folded = Vec::new();
        while folded.last().is_none_or(|(folded_bytes, _)| *folded_bytes < segment.bytes) {
            let mut looks = 0;
            fold_until(&home, &mut store, || {
                looks += 1;
                looks > 1
            })
            .unwrap();
            let (_, folded_bytes, stumps, unknown) = store.segments().unwrap().remove(0);
            assert_eq!(store.is_behind(), folded_bytes < segment.bytes);
            assert_eq!((stumps, unknown), (0, 0), "no line is cut");
            assert_eq!(bytes[folded_bytes as usize - 1], b'\n');
            folded.push((folded_bytes, ids(&store).len()));
        }
        assert!(folded.len() > 2, "several stretches: {folded:?}");
        let pages: i64 = store.connection.query_row("PRAGMA wal_autocheckpoint", [], |row| row.get(0)).unwrap();
        assert_eq!(pages, 1_000, "the log of a hook that never has time does not grow without end");
        assert!(folded.is_sorted() && folded[0].1 > 0 && folded[0].1 < 1_000, "{folded:?}");
        let grown = ids(&store);
        assert_eq!(grown.len(), 1_000);
        rebuild(&home, &mut store).unwrap();
        assert_eq!(ids(&store), grown);
    }

    #[test]
    fn late_records_are_folded_within_a_hooks_time_and_at_once() {
        let dir = tempfile::tempdir().unwrap();
        let home = Home::new(dir.path().join("home"));
        let now = Timestamp::from_millis(1_700_000_000_000);
        let names: Vec<String> = (0..1_000).map(|number| format!("s{number:04}")).collect();
        let sessions = of_sessions(&names.iter().map(String::as_str).collect::<Vec<_>>(), now);
        let append = |project: u32, said: &str, after: u64| {
            let order = |seq| Order { seq: journal::micros(now) + after + seq, device: DeviceId::from_bytes([7; 8]) };
            let record = |one: &Record<'static>| Record { key: ended(now, 1, said).key, ..one.clone() };
            let line = |(seq, one)| journal::encode(&record(one), order(seq as u64)).unwrap();
            let lines: Vec<Vec<u8>> = sessions.iter().enumerate().map(line).collect();
            journal::append_to(&home, &journal::replica_of(now, 0, project), &lines).unwrap();
        };
        append(1, "last", 10_000);
        let store = open(&home).unwrap();
        let before = ids(&store);
        // All of these are late, and they are several stretches.
        append(2, "first", 0);
        drop(store);
        let mut hook = Store::open(&home, Caller::Hook).unwrap();
        let bytes = journal::segments(&home).unwrap().last().unwrap().bytes;
        let mut all = 0;
        fold_until(&home, &mut hook, || {
            all += 1;
            all > 50
        })
        .unwrap();
        assert!(hook.is_behind(), "the time was over");
        assert_eq!(ids(&hook), before, "nothing is half folded");
        let mut looks = 0;
        fold_until(&home, &mut hook, || {
            looks += 1;
            false
        })
        .unwrap();
        let stretches = bytes / HOOK_STRETCH_BYTES;
        assert!(stretches > 2 && looks < 5_000, "{stretches} stretches, {looks} lines");
        assert!(!hook.is_behind());
        assert_eq!(hook.event_keys(claude_code::AGENT, "s0500").unwrap().len(), 2);
        let grown = ids(&hook);
        rebuild(&home, &mut hook).unwrap();
        assert_eq!(ids(&hook), grown);
    }

    #[test]
    fn a_hook_reads_a_record_that_is_longer_than_its_stretch() {
        let dir = tempfile::tempdir().unwrap();
        let home = Home::new(dir.path().join("home"));
        let now = Timestamp::from_millis(1_700_000_000_000);
        let text = Clean::from_stored("x".repeat(2 * HOOK_STRETCH_BYTES as usize));
        let long = Record { event: Event::Prompt { text }, ..ended(now, 1, "long") };
        journal::append_all(&home, now, &[long, ended(now, 1, "last")]).unwrap();
        let keys = open_in_hook(&home).unwrap().event_keys(claude_code::AGENT, "s").unwrap();
        assert_eq!(keys.len(), 2);
    }

    #[test]
    fn naming_reads_only_what_is_new() {
        let steps = |count: usize| {
            let dir = tempfile::tempdir().unwrap();
            let home = Home::new(dir.path().join("home"));
            let now = Timestamp::from_millis(1_700_000_000_000);
            let mut store = open(&home).unwrap();
            let names: Vec<String> = (0..count).map(|number| format!("s{number:04}")).collect();
            for some in names.chunks(20) {
                let some: Vec<&str> = some.iter().map(String::as_str).collect();
                journal::append_all(&home, now, &of_sessions(&some, now)).unwrap();
                fold(&home, &mut store).unwrap();
            }
            let found = ids(&store);
            assert_eq!((found.len(), found[count - 1].1.as_str()), (count, &*format!("{}-{count}", now.stamp())));
            store.naming_steps()
        };
        let (few, many) = (steps(100), steps(400));
        assert!(few > 0 && many <= 5 * few, "{few} steps for 100 sessions, {many} for 400");
    }

    #[test]
    fn late_sessions_of_a_second_get_the_names_that_a_rebuild_gives() {
        let dir = tempfile::tempdir().unwrap();
        let home = Home::new(dir.path().join("home"));
        let now = Timestamp::from_millis(1_700_000_000_000);
        let append = |seq: u64, name: &str| {
            let order = Order { seq: journal::micros(now) + seq, device: DeviceId::from_bytes([7; 8]) };
            let line = journal::encode(&of_sessions(&[name], now)[0], order).unwrap();
            journal::append_to(&home, &journal::replica_of(now, 0, 0), &[line]).unwrap();
        };
        let mut store = open(&home).unwrap();
        for (seq, name) in [(5, "e"), (3, "c"), (9, "i"), (1, "a"), (7, "g"), (2, "g"), (4, "i"), (6, "f"), (8, "h")] {
            append(seq, name);
            fold(&home, &mut store).unwrap();
            let grown = ids(&store);
            rebuild(&home, &mut store).unwrap();
            assert_eq!(ids(&store), grown, "after {name}");
        }
        // Several late sessions in one stretch are folded again together.
        for (seq, name) in [(20, "x"), (21, "y"), (11, "x"), (10, "y"), (0, "c")] {
            append(seq, name);
        }
        fold(&home, &mut store).unwrap();
        let grown = ids(&store);
        rebuild(&home, &mut store).unwrap();
        assert_eq!(ids(&store), grown);
    }

    #[test]
    fn an_agent_waits_only_for_the_newest_sessions() {
        let dir = tempfile::tempdir().unwrap();
        let home = Home::new(dir.path().join("home"));
        let now = Timestamp::from_millis(1_700_000_000_000);
        let names: Vec<String> = (0..600).map(|number| format!("s{number:04}")).collect();
        journal::append_all(&home, now, &of_sessions(&names.iter().map(String::as_str).collect::<Vec<_>>(), now))
            .unwrap();
        let store = open(&home).unwrap();
        let project = [ProjectId::of_anchor(b"/p")];
        assert_eq!(store.sessions(&project, Timestamp::EPOCH, now).unwrap().len(), 600);
        let newest = store.newest_sessions(&project, Timestamp::EPOCH, now).unwrap();
        assert_eq!((newest.len(), &*newest[0].agent_session_id), (500, "s0100"));
    }
}
