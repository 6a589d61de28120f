//! The fold, journal → view: applies everything since the last fold, with the new offset in the same transaction.
//!
//! Killed at any instant, a fold leaves the view as it was before or after a stretch, never between. Folding twice, or
//! in many processes at once, equals folding once. The view depends only on the records and their places, not on when
//! they arrived: if a record arrives late, its session is folded again. So an incremental fold equals a rebuild.

use std::collections::{BTreeSet, HashMap};
use std::time::{Duration, Instant};

use cerberus_core::model::event::Event;
use cerberus_core::model::kind::EventKind;
use serde::Deserialize;

use super::write::{Applied, FoldTransaction};
use super::{Caller, Store, StoreError, health};
use crate::journal::{self, JournalError, Segment, Stretch, rank, rewrite};
use crate::os::fault;
use crate::os::home::{Home, create_dir};

/// The agent waits for its hook. The next fold does the rest.
const HOOK_FOLD_MAX: Duration = Duration::from_millis(500);

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
        Err(FoldError::Store(error)) if error.is_damage() || health::is_obstructed(home) => {
            health::set_aside(home, &error);
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
    let begun = Instant::now();
    let folded = store.segments()?;
    let is_behind = |segment: &Segment| {
        !folded.iter().any(|(name, folded_bytes, ..)| *name == segment.name && *folded_bytes >= segment.bytes)
    };
    for segment in journal::segments(home)?.iter().filter(|segment| is_behind(segment)) {
        loop {
            let caller = store.caller();
            if caller == Caller::Hook && begun.elapsed() > HOOK_FOLD_MAX {
                return Ok(());
            }
            let transaction = store.begin_fold()?;
            // Read again under the lock: another process may have folded this stretch meanwhile.
            let offset = transaction.folded_bytes(&segment.name)?;
            let stretch = journal::read(home, &segment.name, offset)?;
            if stretch.next_offset == offset {
                break;
            }
            pass(home, "fold-apply")?;
            match apply(home, &transaction, &stretch)? {
                Folded::UpToHere => {}
                // Something was forgotten. A hook has no time to rebuild the view.
                Folded::NeedsRebuild if caller == Caller::Hook => return Ok(()),
                Folded::NeedsRebuild => {
                    drop(transaction);
                    return rebuild(home, store);
                }
            }
            pass(home, "fold-commit")?;
            transaction.commit()?;
            pass(home, "fold-done")?;
            if stretch.next_offset >= segment.bytes {
                break;
            }
        }
    }
    store.checkpoint_if_long();
    if store.caller() == Caller::Command {
        remove_unwanted(home, store)?;
    }
    Ok(())
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
        if let journal::Line::Whole(sealed) = line
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
    for segment in journal::segments(home)? {
        for stretch in journal::stretches(home, &segment.name) {
            apply(home, transaction, &stretch?)?;
        }
    }
    Ok(())
}

/// How a list of forgotten records begins in JSON.
const FORGOTTEN: &[u8] = b"\"event\":{\"forgotten\":";

/// Completes an interrupted removal. The journal lists what was to be removed; the view is rebuilt and its deleted
/// pages are overwritten.
pub(crate) fn finish_rewrite(home: &Home, store: &mut Store) -> Result<(), FoldError> {
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
enum Folded {
    UpToHere,
    /// Something was forgotten that the view may contain.
    NeedsRebuild,
}

fn apply(home: &Home, transaction: &FoldTransaction, stretch: &Stretch) -> Result<Folded, FoldError> {
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
    let mut late = BTreeSet::new();
    for (rank, offset, sealed, record) in &records {
        if let Event::Forgotten(names) = &record.event {
            if transaction.is_new_list(*rank, names)? {
                return Ok(Folded::NeedsRebuild);
            }
            continue;
        }
        if transaction.is_forgotten(home, record, sealed.open_record())? {
            transaction.add_unwanted(&stretch.position(*offset, sealed.json))?;
            continue;
        }
        if transaction.apply(*rank, &stretch.segment, record)? == Applied::Late {
            let is_of_a_session = EventKind::of(&record.event).is_of_a_session();
            late.insert((is_of_a_session, record.agent.name().to_string(), record.session.to_string()));
        }
    }
    transaction.set_folded(&stretch.segment, stretch.next_offset, broken, unknown)?;
    for (is_of_a_session, agent, session) in late {
        match is_of_a_session {
            true => refold_session(home, transaction, &agent, &session, &stretch.segment)?,
            false => refold_memories(home, transaction)?,
        }
    }
    Ok(Folded::UpToHere)
}

/// The session of a record, parsed without the rest of the record.
#[derive(Deserialize)]
struct RecordSession {
    agent: String,
    session: String,
}

/// Folds a session again, because a record of `segment` belongs before some that were already folded.
fn refold_session(
    home: &Home,
    transaction: &FoldTransaction,
    agent: &str,
    session: &str,
    segment: &str,
) -> Result<(), FoldError> {
    let Some(first_segment) = transaction.clear_session(agent, session)? else { return Ok(()) };
    let first_segment = first_segment.as_str().min(segment);
    let is_from = |json: &[u8]| {
        let from = serde_json::from_slice::<RecordSession>(json);
        from.is_ok_and(|from| from.agent == agent && from.session == session)
    };
    refold(home, transaction, first_segment, is_from, EventKind::is_of_a_session)
}

fn refold_memories(home: &Home, transaction: &FoldTransaction) -> Result<(), FoldError> {
    transaction.clear_memories()?;
    // Lists of what is forgotten are not folded here: a new one causes the whole view to be rebuilt.
    let is_meant = |kind: EventKind| !kind.is_of_a_session() && kind != EventKind::Forgotten;
    refold(home, transaction, "", |_| true, is_meant)
}

/// Applies the records that were folded before, in their order.
fn refold(
    home: &Home,
    transaction: &FoldTransaction,
    first_segment: &str,
    is_from: impl Fn(&[u8]) -> bool,
    is_meant: impl Fn(EventKind) -> bool,
) -> Result<(), FoldError> {
    let folded: HashMap<String, u64> = transaction.segments()?.into_iter().collect();
    let mut lines: Vec<(i64, String, Vec<u8>)> = Vec::new();
    for segment in journal::segments(home)?.iter().filter(|segment| segment.name.as_str() >= first_segment) {
        let Some(end) = folded.get(&segment.name) else { continue };
        for stretch in journal::stretches(home, &segment.name) {
            let stretch = stretch?;
            for (offset, line) in stretch.lines().filter(|(offset, _)| offset < end) {
                let Some(sealed) = journal::decode(line).filter(|sealed| is_from(sealed.json)) else { continue };
                let Some(record) = sealed.record().filter(|record| is_meant(EventKind::of(&record.event))) else {
                    continue;
                };
                if !transaction.is_forgotten(home, &record, sealed.open_record())? {
                    let rank = rank(&record, stretch.order(offset, &sealed));
                    lines.push((rank, segment.name.clone(), sealed.json.to_vec()));
                }
            }
        }
    }
    lines.sort_by_key(|(rank, ..)| *rank);
    for (rank, segment, json) in &lines {
        if let Some(record) = journal::decode(json).and_then(|sealed| sealed.record()) {
            transaction.apply(*rank, segment, &record)?;
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::io::Write;
    use std::time::Duration;

    use cerberus_core::agents::claude_code;
    use cerberus_core::clean::BUILT_IN;
    use cerberus_core::clean::text::{Clean, Keep};
    use cerberus_core::model::echo::{ECHO_MAX, timed_key};
    use cerberus_core::model::event::{Event, Forgotten, ForgottenRecord, Location, Record};
    use cerberus_core::model::id::ProjectId;
    use cerberus_core::model::order::{DeviceId, Order};
    use cerberus_core::model::time::Timestamp;

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
            let is_echo = |pid, at| store.is_echo(claude_code::AGENT, "s", &timed_key("x", at), pid, at).unwrap();
            assert_eq!((is_echo(1, now), is_echo(2, soon), is_echo(2, later.plus(ECHO_MAX))), (true, false, false));
            rebuild(&home, &mut store).unwrap();
        }
    }
}
