//! Journal → view: everything since the last fold, with the new offset in the same transaction.
//!
//! Killed at any instant, a fold leaves the view as it was before or after a stretch, never between. Folding twice,
//! or by many processes at once, equals folding once.

use cerberus_core::model::event::Record;

use crate::erase::scan;
use crate::journal::{self, JournalError, Segment, Stretch};
use crate::os::fault;
use crate::os::home::Home;
use crate::store::{FoldTransaction, Store, StoreError, health};

#[derive(Debug, thiserror::Error)]
pub enum FoldError {
    #[error(transparent)]
    Journal(#[from] JournalError),
    #[error(transparent)]
    Store(#[from] StoreError),
}

/// Opens the view and brings it up to date. A damaged view is set aside and made anew.
pub fn open(home: &Home) -> Result<Store, FoldError> {
    match open_and_fold(home) {
        Err(FoldError::Store(error)) if error.is_damage() || health::is_obstructed(home) => {
            health::set_aside(home, &error);
            open_and_fold(home)
        }
        opened => opened,
    }
}

fn open_and_fold(home: &Home) -> Result<Store, FoldError> {
    // Nothing was ever captured: the view is still made, so that every question has one way to be asked.
    crate::os::home::create_dir(home.root())
        .map_err(|source| JournalError::Write { path: home.root().to_path_buf(), source })?;
    let mut store = Store::open(home)?.with_wishes(home.wishes());
    scan::finish(home, &mut store)?;
    fold(home, &mut store)?;
    Ok(store)
}

/// Folds what is new, unless another process does so already and takes long.
pub fn fold(home: &Home, store: &mut Store) -> Result<(), FoldError> {
    let folded = store.segments()?;
    let is_behind = |segment: &Segment| {
        !folded.iter().any(|(name, folded_bytes, ..)| *name == segment.name && *folded_bytes >= segment.bytes)
    };
    for segment in journal::segments(home)?.iter().filter(|segment| is_behind(segment)) {
        loop {
            let transaction = match store.begin_fold() {
                // Another process is folding; what it has committed so far is a consistent, slightly older view.
                Err(error) if error.is_busy() => return Ok(()),
                begun => begun?,
            };
            // Asked again under the lock: another process may have folded this stretch meanwhile.
            let offset = transaction.folded_bytes(&segment.name)?;
            let stretch = journal::read(home, &segment.name, offset)?;
            if stretch.next_offset == offset {
                break;
            }
            pass(home, "fold-apply")?;
            apply(&transaction, &segment.name, &stretch)?;
            pass(home, "fold-commit")?;
            transaction.commit()?;
            pass(home, "fold-done")?;
        }
    }
    store.checkpoint_if_long();
    Ok(())
}

/// Empties the view and folds the whole journal, as one change: readers see the old view until the new one stands.
pub fn rebuild(home: &Home, store: &mut Store) -> Result<(), FoldError> {
    let transaction = store.begin_fold()?;
    anew(home, &transaction)?;
    Ok(transaction.commit()?)
}

/// The view as the journal gives it, in place of what was there.
pub fn anew(home: &Home, transaction: &FoldTransaction) -> Result<(), FoldError> {
    transaction.clear()?;
    for segment in journal::segments(home)? {
        for stretch in journal::stretches(home, &segment.name) {
            apply(transaction, &segment.name, &stretch?.1)?;
        }
    }
    Ok(())
}

fn pass(home: &Home, label: &str) -> Result<(), JournalError> {
    fault::point(label).map(|_| ()).map_err(|source| JournalError::Read { path: home.journal_dir(), source })
}

fn apply(transaction: &FoldTransaction, segment: &str, stretch: &Stretch) -> Result<(), FoldError> {
    let (mut stumps, mut unknown) = (0, 0);
    for line in stretch.lines() {
        let Some(whole) = journal::decode(line) else {
            stumps += 1;
            continue;
        };
        match serde_json::from_slice::<Record>(whole) {
            Ok(record) => transaction.apply(&record)?,
            // Written by a newer version: kept in the journal for it.
            Err(_) => unknown += 1,
        }
    }
    Ok(transaction.set_folded(segment, stretch.next_offset, stumps, unknown)?)
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use cerberus_core::clean::text::{Clean, Keep};
    use cerberus_core::model::echo::{ECHO_MAX, timed_key};
    use cerberus_core::model::event::{Event, Place};
    use cerberus_core::model::id::{Agent, ProjectId};
    use cerberus_core::model::time::Timestamp;

    use super::*;

    fn ended(at: Timestamp, pid: u32, said: &str) -> Record<'static> {
        let word = Clean::word;
        let (name, root, cwd) = (word("p"), word("/p"), word("/p"));
        Record {
            at,
            key: Clean::new(timed_key(said, at), Keep::NAME),
            agent: Agent::ClaudeCode,
            imported: false,
            heard_by: Some(pid),
            session: word("s"),
            place: Place { project: ProjectId::of_anchor(b"/p"), name, root, cwd, branch: None },
            event: Event::End { reason: word("other") },
        }
    }

    #[test]
    fn the_first_of_two_hooks_counts_and_the_same_later_counts_again() {
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
            let mut keys = Vec::from_iter(store.event_keys(Agent::ClaudeCode, "s").unwrap().into_keys());
            keys.sort();
            assert_eq!(keys, ["x@1700000001000", "x@1700000006001", "y@1700000000000"]);
            let is_echo = |pid, at| store.is_echo(Agent::ClaudeCode, "s", &timed_key("x", at), pid, at).unwrap();
            assert_eq!((is_echo(1, now), is_echo(2, soon), is_echo(2, later.plus(ECHO_MAX))), (true, false, false));
            rebuild(&home, &mut store).unwrap();
        }
    }
}
