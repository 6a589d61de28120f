//! Sends this home's records: sealed once into the outbox, then sent as they are, however often it takes.

use std::collections::{BTreeMap, HashSet};

use cerberus_store::view::Store;

use super::batch::{self, Entry, Position, ProjectKey, RECORDS_MAX};
use super::document::{self, Head, Reach};
use super::gather::{self, Gathered};
use super::local::{Device, StreamState};
use super::project::SharedProject;
use super::transport::{Place, Put, Sealed, Stream, Transport};
use super::{Result, SyncError, crypto, pass, random};

/// How many batches are sent at once.
const AT_ONCE_MAX: usize = 32;

/// How many small batches a stream may have before it is sealed anew.
const LOOSE_MAX: u64 = 100;

/// The result of sending.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Sent {
    All,
    /// The hub has something else where this device writes. Nothing says who put it there.
    Occupied,
}

/// Seals what is new into the outbox. Begins a new generation if something that was sent is not here any more.
/// Returns how many records were sealed. The state is changed; the caller saves it when this returns.
pub fn seal_new(project: SharedProject, store: &Store, device: &Device, state: &mut StreamState) -> Result<usize> {
    let (Reach { generation, sequence: sealed, .. }, is_ending) = (state.sealed.clone(), project.shared.is_ending);
    // What an interrupted process sealed was never sent.
    project.drop_kept(|kept, sequence| kept != generation || sequence > sealed)?;
    let mark = store.forgotten_mark()?;
    state.is_to_rewrite |= is_scattered(state);
    let is_checked = state.lists == mark && !state.is_to_rewrite && !is_ending;
    let Gathered { entries, read } = match is_checked {
        true => project.gather(store, &state.folded)?,
        false if is_ending => Gathered { entries: Vec::new(), read: BTreeMap::new() },
        false => project.gather(store, &BTreeMap::new())?,
    };
    let entries = if is_checked { entries } else { unsent(project, state, entries)? };
    let is_new = state.sealed.sequence == 0;
    let count = seal_all(project, device, state, &entries)?;
    if is_new {
        state.packed = state.sealed.sequence;
    }
    (state.folded, state.lists, state.is_to_rewrite) = (read, mark, false);
    Ok(count)
}

/// Whether the records of a stream are in so many small batches that sealing them anew is worth reading it again.
fn is_scattered(state: &StreamState) -> bool {
    let (sealed, needed) = (state.sealed.sequence, state.records / RECORDS_MAX as u64 + 1);
    sealed.saturating_sub(state.packed) >= LOOSE_MAX.max(4 * state.packed) && sealed > 2 * needed
}

/// Which of all records are not in the stream yet. If the stream holds others, it begins again.
fn unsent(project: SharedProject, state: &mut StreamState, mut entries: Vec<Entry>) -> Result<Vec<Entry>> {
    let sent: HashSet<(u64, u32)> = project.sent(state.records)?.into_iter().collect();
    let all: HashSet<(u64, u32)> = entries.iter().map(identity).collect();
    if project.space.team.is_some() {
        gather::keep_newest_list(&mut entries);
    }
    let is_kept = sent.iter().all(|one| all.contains(one));
    if is_kept && !state.is_to_rewrite {
        return Ok(entries.into_iter().filter(|entry| !sent.contains(&identity(entry))).collect());
    }
    if state.sealed.sequence > 0 {
        let seen = std::mem::take(&mut state.seen);
        let (listing, base, replica_bytes) = (state.listing.clone(), state.base.clone(), state.replica_bytes);
        let generation = state.sealed.generation + 1;
        let forgotten_in = if is_kept { state.forgotten_in } else { Some(generation) };
        let sealed = Reach { generation, ..Reach::default() };
        *state = StreamState { sealed, seen, replica_bytes, forgotten_in, listing, base, ..StreamState::default() };
        project.drop_kept(|_, _| true)?;
        project.clear_sent()?;
    }
    Ok(entries)
}

fn identity(entry: &Entry) -> (u64, u32) {
    (entry.seq, crc32fast::hash(entry.json.as_bytes()))
}

fn seal_all(project: SharedProject, device: &Device, state: &mut StreamState, entries: &[Entry]) -> Result<usize> {
    let keys = project.keys();
    let Some(key) = keys.first().filter(|_| !entries.is_empty()) else { return Ok(0) };
    let stream = project.space.stream(&project.shared.id, device.id);
    let (before, generation) = (state.records, state.sealed.generation);
    seal_each(key, &stream, &mut state.sealed, entries, |batch, sealed| {
        project.keep(generation, &batch)?;
        project.add_sent(state.records, &sealed.iter().map(identity).collect::<Vec<_>>())?;
        state.records += sealed.len() as u64;
        Ok(true)
    })?;
    Ok((state.records - before) as usize)
}

/// Seals entries into batches that continue a stream. `keep` takes each, with what it holds, and says whether to go on.
pub fn seal_each(
    key: &ProjectKey,
    stream: &Stream,
    reach: &mut Reach,
    mut rest: &[Entry],
    mut keep: impl FnMut(Sealed, &[Entry]) -> Result<bool>,
) -> Result<()> {
    while !rest.is_empty() {
        let position = Position { generation: reach.generation, sequence: reach.sequence + 1, previous: reach.hash };
        let Some((bytes, taken)) = batch::seal(key, stream, position, random()?, rest) else {
            // Larger than any batch may be. It stays on this device.
            rest = &rest[1..];
            continue;
        };
        let (sequence, hash) = (position.sequence, crypto::hash(&bytes));
        let (sealed, following) = rest.split_at(taken);
        rest = if keep(Sealed { sequence, bytes }, sealed)? { following } else { &[] };
        // Only what was kept is part of the stream.
        (reach.sequence, reach.hash) = (sequence, hash);
    }
    Ok(())
}

/// A stream that is always written as a whole.
pub struct WholeStream<'a> {
    pub device: &'a Device,
    pub key: &'a ProjectKey,
    pub place: Place,
    pub generation: u64,
    pub batches_max: u64,
}

impl WholeStream<'_> {
    /// Writes it, and then the head that `complete` makes, which removes earlier generations. `false` if somebody else
    /// writes there.
    pub fn write(
        &self,
        hub: &mut dyn Transport,
        entries: &[Entry],
        complete: impl FnOnce(Head) -> Head,
    ) -> Result<bool> {
        let WholeStream { device, key, place, generation, batches_max } = self;
        let stream = Stream { place: place.clone(), device: device.id.to_string() };
        let (mut reach, mut batches) = (Reach { generation: *generation, ..Reach::default() }, Vec::new());
        let mut put = |batches: &mut Vec<Sealed>| -> Result<bool> {
            let results = hub.put_if_absent(&stream, *generation, &std::mem::take(batches))?;
            Ok(!results.contains(&Put::Other))
        };
        let mut is_ours = true;
        seal_each(key, &stream, &mut reach, entries, |batch, _| {
            let is_last = batch.sequence >= *batches_max;
            batches.push(batch);
            is_ours = batches.len() < AT_ONCE_MAX || put(&mut batches)?;
            Ok(is_ours && !is_last)
        })?;
        if !is_ours || !put(&mut batches)? {
            return Ok(false);
        }
        let head = Head::of(&device.secrets, place, &stream.device, reach).ok_or(SyncError::NoRandomBytes)?;
        publish(hub, device, place, &complete(head))?;
        Ok(true)
    }
}

/// Signs the head of a stream and writes it. Earlier generations leave the hub.
pub fn publish(hub: &mut dyn Transport, device: &Device, place: &Place, head: &Head) -> Result<Vec<u8>> {
    let name = device.id.to_string();
    let bytes = document::signed(&device.secrets, place, &name, head).ok_or(SyncError::NoRandomBytes)?;
    hub.replace(place, &name, &bytes, Some(head.reach.generation))?;
    Ok(bytes)
}

/// Sends what waits in the outbox. The caller saves the state after each call, whatever it returns.
pub fn send(project: SharedProject, hub: &mut dyn Transport, device: &Device, state: &mut StreamState) -> Result<Sent> {
    let waits = |(generation, batch): &(u64, Sealed)| {
        *generation == state.sealed.generation && batch.sequence > state.sent && batch.sequence <= state.sealed.sequence
    };
    let waiting: Vec<Sealed> = project.kept()?.into_iter().filter(waits).map(|(_, batch)| batch).collect();
    let stream = project.space.stream(&project.shared.id, device.id);
    for batches in waiting.chunks(AT_ONCE_MAX) {
        pass(project.home, "sync-send")?;
        let results = hub.put_if_absent(&stream, state.sealed.generation, batches)?;
        for (batch, put) in batches.iter().zip(&results) {
            match put {
                Put::Stored => state.sent = batch.sequence,
                Put::Other => return Ok(Sent::Occupied),
            }
        }
        pass(project.home, "sync-sent")?;
    }
    Ok(Sent::All)
}

/// Removes from the outbox what the hub has.
pub fn forget_sent(project: SharedProject, state: &StreamState) -> Result<()> {
    let (generation, sent) = (state.sealed.generation, state.sent);
    project.drop_kept(|kept, sequence| kept != generation || sequence <= sent)
}

#[cfg(test)]
mod tests {
    use cerberus_os::home::Home;

    use super::super::files::Files;
    use super::super::local::{Shared, Space};
    use super::super::transport::folder::Folder;
    use super::*;

    #[test]
    fn a_stream_is_sealed_anew_when_it_is_mostly_small_batches_and_less_often_the_longer_it_is() {
        let is = |sequence, packed, records| {
            let sealed = Reach { sequence, ..Reach::default() };
            is_scattered(&StreamState { sealed, packed, records, ..StreamState::default() })
        };
        assert!(is(101, 1, 200) && !is(100, 1, 200));
        assert!(!is(400, 0, 400 * RECORDS_MAX as u64), "they are full");
        assert!(!is(350, 100, 51_000) && is(500, 100, 51_000));
    }

    #[test]
    fn a_batch_that_somebody_else_wrote_in_our_place_stops_the_sending() {
        let dir = tempfile::tempdir().unwrap();
        let home = Home::new(dir.path().join("home"));
        std::fs::create_dir(home.root()).unwrap();
        let device = Files::new(&home).device().unwrap();
        let space = Space { id: "space".to_string(), ..Space::default() };
        let shared = Shared { id: "project".to_string(), ..Shared::default() };
        let project = SharedProject { home: &home, space: &space, shared: &shared };
        let batch = |sequence, bytes: &[u8]| Sealed { sequence, bytes: bytes.to_vec() };
        for (sequence, bytes) in [(1, b"1"), (2, b"2"), (3, b"3")] {
            project.keep(1, &batch(sequence, bytes)).unwrap();
        }
        let mut state = StreamState { sealed: Reach { sequence: 3, ..Reach::default() }, ..StreamState::default() };
        std::fs::create_dir(dir.path().join("hub")).unwrap();
        let mut hub = Folder::open(dir.path().join("hub")).unwrap();
        let stream = space.stream(&shared.id, device.id);
        hub.put_if_absent(&stream, 1, &[batch(1, b"1"), batch(2, b"other")]).unwrap();
        let sent = send(project, &mut hub, &device, &mut state).unwrap();
        assert_eq!((sent, state.sent), (Sent::Occupied, 1), "what is there already is as good as sent");
    }
}
