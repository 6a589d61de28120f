//! Sends this home's records: sealed once into the outbox, then sent as they are, however often it takes.

use std::collections::{BTreeMap, HashSet};

use cerberus_os::fault;
use cerberus_os::home::Home;
use cerberus_store::view::Store;

use super::batch::{self, Entry, Position, RECORDS_MAX};
use super::gather::{self, Gathered};
use super::local::{self, Device, Files, Shared, Space, StreamState};
use super::transport::{Put, Sealed, Transport};
use super::{Result, SyncError, crypto};

/// How many batches are sent at once.
const AT_ONCE_MAX: usize = 32;

/// How many small batches a stream may have before it is sealed anew.
const LOOSE_MAX: u64 = 100;

/// The result of sending.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Sent {
    All,
    /// Another home has written this stream with the same key: this one, or the other, is a copy.
    Forked,
    /// The hub has something else where this device writes. Nothing says who put it there.
    Occupied,
}

/// Seals what is new into the outbox. Begins a new generation if something that was sent is not here any more.
/// Returns how many records were sealed. The state is changed; the caller saves it when this returns.
pub fn seal_new(
    home: &Home,
    store: &Store,
    device: &Device,
    space: &Space,
    shared: &Shared,
    state: &mut StreamState,
) -> Result<usize> {
    let files = Files::new(home);
    let (generation, sealed) = (state.generation, state.sealed);
    // What an interrupted process sealed was never sent.
    files.drop_kept(space, shared, |kept, sequence| kept != generation || sequence > sealed)?;
    let mark = store.forgotten_mark()?;
    state.is_to_rewrite |= is_scattered(state);
    let is_checked = state.lists == mark && !state.is_to_rewrite && !shared.is_ending;
    let Gathered { entries, read } = match is_checked {
        true => gather::gather(home, store, space, shared, &state.folded)?,
        false if shared.is_ending => Gathered { entries: Vec::new(), read: BTreeMap::new() },
        false => gather::gather(home, store, space, shared, &BTreeMap::new())?,
    };
    let entries = if is_checked { entries } else { unsent(&files, space, shared, state, entries)? };
    let is_new = state.sealed == 0;
    let count = seal_all(&files, device, space, shared, state, &entries)?;
    if is_new {
        state.packed = state.sealed;
    }
    state.folded = read;
    state.lists = mark;
    state.is_to_rewrite = false;
    Ok(count)
}

/// Whether the records of a stream are in so many small batches that sealing them anew is worth reading it again.
fn is_scattered(state: &StreamState) -> bool {
    let (loose, needed) = (state.sealed.saturating_sub(state.packed), state.records / RECORDS_MAX as u64 + 1);
    loose >= LOOSE_MAX.max(4 * state.packed) && state.sealed > 2 * needed
}

/// Which of all records are not in the stream yet. If the stream holds others, it begins again.
fn unsent(
    files: &Files,
    space: &Space,
    shared: &Shared,
    state: &mut StreamState,
    mut entries: Vec<Entry>,
) -> Result<Vec<Entry>> {
    let sent: HashSet<(u64, u32)> = files.sent(space, shared, state.records)?.into_iter().collect();
    let all: HashSet<(u64, u32)> = entries.iter().map(identity).collect();
    if space.team.is_some() {
        gather::keep_newest_list(&mut entries);
    }
    let is_kept = sent.iter().all(|one| all.contains(one));
    if is_kept && !state.is_to_rewrite {
        return Ok(entries.into_iter().filter(|entry| !sent.contains(&identity(entry))).collect());
    }
    if state.sealed > 0 {
        let seen = std::mem::take(&mut state.seen);
        let (listing, base, replica_bytes) = (state.listing.clone(), state.base.clone(), state.replica_bytes);
        let generation = state.generation + 1;
        let forgotten_in = if is_kept { state.forgotten_in } else { Some(generation) };
        *state = StreamState { generation, seen, replica_bytes, forgotten_in, listing, base, ..StreamState::default() };
        files.drop_kept(space, shared, |_, _| true)?;
        files.clear_sent(space, shared)?;
    }
    Ok(entries)
}

fn identity(entry: &Entry) -> (u64, u32) {
    (entry.seq, crc32fast::hash(entry.json.as_bytes()))
}

fn seal_all(
    files: &Files,
    device: &Device,
    space: &Space,
    shared: &Shared,
    state: &mut StreamState,
    entries: &[Entry],
) -> Result<usize> {
    let keys = space.project_keys(&shared.id);
    let Some(key) = keys.first().filter(|_| !entries.is_empty()) else { return Ok(0) };
    let stream = space.stream(&shared.id, device.id);
    let (mut rest, mut count) = (entries, 0);
    while !rest.is_empty() {
        let position = Position { generation: state.generation, sequence: state.sealed + 1, previous: state.hash };
        let Some((bytes, taken)) = batch::seal(key, &stream, position, local::random()?, rest) else {
            // Larger than any batch may be. It stays on this device.
            rest = &rest[1..];
            continue;
        };
        let hash = crypto::hash(&bytes);
        files.keep(space, shared, state.generation, &Sealed { sequence: position.sequence, bytes })?;
        let records: Vec<(u64, u32)> = rest[..taken].iter().map(identity).collect();
        files.add_sent(space, shared, state.records, &records)?;
        (state.sealed, state.hash) = (position.sequence, hash);
        state.records += taken as u64;
        count += taken;
        rest = &rest[taken..];
    }
    Ok(count)
}

/// Sends what waits in the outbox. The caller saves the state after each call, whatever it returns.
pub fn send(
    home: &Home,
    hub: &mut dyn Transport,
    device: &Device,
    space: &Space,
    shared: &Shared,
    state: &mut StreamState,
) -> Result<Sent> {
    let files = Files::new(home);
    let waiting = files.kept(space, shared)?.into_iter();
    let waiting: Vec<Sealed> = waiting
        .filter(|(generation, batch)| {
            *generation == state.generation && batch.sequence > state.sent && batch.sequence <= state.sealed
        })
        .map(|(_, batch)| batch)
        .collect();
    let stream = space.stream(&shared.id, device.id);
    for batches in waiting.chunks(AT_ONCE_MAX) {
        pass(home, "sync-send")?;
        let results = hub.put_if_absent(&stream, state.generation, batches)?;
        for (batch, put) in batches.iter().zip(&results) {
            match put {
                Put::Stored | Put::Same => state.sent = batch.sequence,
                Put::Other => return Ok(Sent::Occupied),
            }
        }
        pass(home, "sync-sent")?;
    }
    Ok(Sent::All)
}

/// Removes from the outbox what the hub has.
pub fn forget_sent(home: &Home, space: &Space, shared: &Shared, state: &StreamState) -> Result<()> {
    let (generation, sent) = (state.generation, state.sent);
    Files::new(home).drop_kept(space, shared, |kept, sequence| kept != generation || sequence <= sent)
}

pub fn pass(home: &Home, label: &str) -> Result<()> {
    fault::point(label).map(drop).map_err(|source| SyncError::Local { path: home.sync_dir(), source })
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::super::transport::folder::Folder;
    use super::*;

    #[test]
    fn a_stream_is_sealed_anew_when_it_is_mostly_small_batches_and_less_often_the_longer_it_is() {
        let is =
            |sealed, packed, records| is_scattered(&StreamState { sealed, packed, records, ..StreamState::default() });
        assert!(is(101, 1, 200) && !is(100, 1, 200));
        assert!(!is(400, 0, 400 * RECORDS_MAX as u64), "they are full");
        assert!(!is(350, 100, 51_000) && is(500, 100, 51_000));
    }

    #[test]
    fn a_batch_that_somebody_else_wrote_in_our_place_stops_the_sending() {
        let dir = tempfile::tempdir().unwrap();
        let home = Home::new(dir.path().join("home"));
        std::fs::create_dir(home.root()).unwrap();
        let files = Files::new(&home);
        let device = files.device().unwrap();
        let space: Space = serde_json::from_value(json!({
            "number": 0, "id": "space", "hub": "", "name": "",
        }))
        .unwrap();
        let shared = json!({"number": 0, "id": "project", "project": "", "name": "", "root": ""});
        let shared: Shared = serde_json::from_value(shared).unwrap();
        let batch = |sequence, bytes: &[u8]| Sealed { sequence, bytes: bytes.to_vec() };
        for (sequence, bytes) in [(1, b"1"), (2, b"2"), (3, b"3")] {
            files.keep(&space, &shared, 1, &batch(sequence, bytes)).unwrap();
        }
        let mut state = StreamState { sealed: 3, ..StreamState::default() };
        std::fs::create_dir(dir.path().join("hub")).unwrap();
        let mut hub = Folder::open(dir.path().join("hub")).unwrap();
        let stream = space.stream(&shared.id, device.id);
        hub.put_if_absent(&stream, 1, &[batch(1, b"1"), batch(2, b"other")]).unwrap();
        let sent = send(&home, &mut hub, &device, &space, &shared, &mut state).unwrap();
        assert_eq!((sent, state.sent), (Sent::Occupied, 1), "what is there already is as good as sent");
    }
}
