//! The base of a project: what a new container needs, in a few batches, so that it need not read every stream.
//!
//! A base is a stream of its own in the place `PROJECT-base`, sealed, chained and signed like any other. Every writing of
//! it is a new generation. Its head names how far it covers the other streams. Devices of the user's own space write one
//! when enough is new, and at once when something in their last one was forgotten. Only containers read one: it is as
//! trustworthy as the device that wrote it, which must be one that may read the whole space. Teams have none: nobody
//! speaks there for somebody else, and streams are short.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BinaryHeap};

use cerberus_record::event::{Event, Record};
use cerberus_record::order::DeviceId;
use cerberus_record::time::Timestamp;
use cerberus_store::journal::JournalLine;
use cerberus_store::view::Store;

use super::batch::Entry;
use super::document::{self, Head, Reach};
use super::local::{BaseState, Seen, StreamState};
use super::project::SharedProject;
use super::push::seal_each;
use super::reading::{NewStream, PullProblem, PullReading};
use super::transport::{Place, Put, Question, Range, Stream, Transport};
use super::{Result, SyncError};
use crate::share::base::{BASE_RECORDS_MAX, Need, kept};
use crate::share::{self, Sharing};

/// So many new records are worth a new base.
const WORTH_RECORDS: u64 = 1_000;
/// No base has more batches.
const BATCHES_MAX: u64 = 16;
/// Streams that a base covers: those written last.
const COVERED_MAX: usize = 1_000;

/// A base as it was read.
pub struct Base {
    pub at: Timestamp,
    /// Device to how far its stream is covered.
    pub covers: BTreeMap<String, Reach>,
    /// Device to its records.
    pub entries: BTreeMap<String, Vec<Entry>>,
}

pub fn place(project: SharedProject) -> Place {
    project.space.place(&format!("{}-base", project.shared.id))
}

/// Writes a base if it is time for one.
pub fn keep_up(hub: &mut dyn Transport, reading: &PullReading, store: &Store, stream: &mut StreamState) -> Result<()> {
    let (wall, SharedProject { space, shared, .. }) = (reading.wall, reading.project);
    if space.team.is_some() || space.is_container() || shared.is_space() {
        return Ok(());
    }
    let must = stream.base.is_outdated && stream.base.generation > 0;
    if !must {
        stream.base.is_outdated = false;
        if stream.base.since < WORTH_RECORDS || shared.is_ending {
            return Ok(());
        }
        // Another device may have written one.
        let newest = newest(hub, reading, &mut Vec::new())?.map(|newest| newest.head.at);
        if newest > stream.base.since_at && newest.is_some_and(|at| at <= wall) {
            (stream.base.since, stream.base.since_at) = (0, newest);
            return Ok(());
        }
    }
    let entries = if shared.is_ending { Vec::new() } else { entries(reading, store, stream)? };
    write(hub, reading, stream, &entries)
}

/// How far this device has read the streams of the place, its own included.
fn covers(reading: &PullReading, stream: &StreamState) -> BTreeMap<String, Reach> {
    let mut seen: Vec<(&String, &Seen)> = stream.seen.iter().collect();
    seen.sort_by_key(|(device, seen)| (std::cmp::Reverse(seen.at), *device));
    let others = seen.into_iter().take(COVERED_MAX).map(|(device, seen)| (device.clone(), seen.reach.clone()));
    let own = Reach { sequence: stream.sent, ..stream.sealed.clone() };
    others.chain([(reading.device.id.to_string(), own)]).collect()
}

/// A record that may be needed, as the journal has it.
type CandidateRecord = (u64, DeviceId, String);

/// The newest candidates of each need. Only what is chosen in the end is cleaned once more, which takes time.
#[derive(Default)]
struct Newest {
    by_need: [BinaryHeap<Reverse<CandidateRecord>>; 3],
}

impl Newest {
    fn add(&mut self, need: Need, seq: u64, device: DeviceId, record: &Record) {
        let newest = &mut self.by_need[need as usize];
        let is_newer = newest.len() < BASE_RECORDS_MAX || newest.peek().is_some_and(|Reverse(oldest)| seq > oldest.0);
        if is_newer && let Ok(json) = serde_json::to_string(record) {
            newest.push(Reverse((seq, device, json)));
            if newest.len() > BASE_RECORDS_MAX {
                newest.pop();
            }
        }
    }

    /// The chosen ones, the oldest first.
    fn chosen(self) -> Vec<CandidateRecord> {
        let needs = [Need::Memory, Need::Stated, Need::Recent].into_iter().zip(self.by_need);
        let mut all: Vec<(CandidateRecord, Need)> =
            needs.flat_map(|(need, newest)| newest.into_iter().map(move |Reverse(one)| (one, need))).collect();
        all.sort_by(|(one, _), (other, _)| one.cmp(other));
        let needs: Vec<Need> = all.iter().map(|(_, need)| *need).collect();
        all.into_iter().zip(kept(&needs)).filter(|(_, is_kept)| *is_kept).map(|((one, _), _)| one).collect()
    }
}

/// The records that a container needs, each after the device that it comes from.
fn entries(reading: &PullReading, store: &Store, stream: &StreamState) -> Result<Vec<Entry>> {
    let (project, device) = (reading.project, reading.device);
    let ids = project.ids(store)?;
    let stated = store.stated(&ids)?;
    let covered = covers(reading, stream);
    let mut newest = Newest::default();
    project.each_own(store, &BTreeMap::new(), |seq, record| {
        newest.add(need(&record, &stated), seq, device.id, &record);
    })?;
    project.each_line(|_, line| {
        let JournalLine::Whole(sealed) = line else { return };
        let (Some(order), Some(record)) = (sealed.order, sealed.record()) else { return };
        if covered.contains_key(&order.device.to_string()) {
            newest.add(need(&record, &stated), order.seq, order.device, &Record { origin: None, ..record });
        }
    })?;
    let sharing = Sharing { space: share::ShareAudience::Me, ids: &ids, names: &[], cleaner: project.home.cleaner() };
    let entry = |(seq, device, json): CandidateRecord| {
        let record = Record::read_json(json.as_bytes()).ok()?;
        let json = serde_json::to_string(&share::shared(&record, &sharing)?).ok()?;
        Some(Entry { seq, json: format!("{device} {json}") })
    };
    Ok(newest.chosen().into_iter().filter_map(entry).collect())
}

type Stated = cerberus_record::map::FastSet<(String, String, String)>;

fn need(record: &Record, stated: &Stated) -> Need {
    let name = || (record.agent.name().to_string(), record.session.to_string(), record.key.to_string());
    match &record.event {
        Event::Memory(_) => Need::Memory,
        Event::Note(_) | Event::Quote(_) | Event::AgentNotes { .. } => Need::Stated,
        _ if stated.contains(&name()) => Need::Stated,
        _ => Need::Recent,
    }
}

fn write(hub: &mut dyn Transport, reading: &PullReading, stream: &mut StreamState, entries: &[Entry]) -> Result<()> {
    let PullReading { project, device, wall, .. } = *reading;
    let keys = project.keys();
    let Some(key) = keys.first() else { return Ok(()) };
    // An attempt that was cut off has used its generation up.
    let generation = wall.millis().unsigned_abs().max(stream.base.generation + 1);
    stream.base.generation = generation;
    project.files().save_stream(project.space, project.shared, stream)?;
    let (place, name) = (place(project), device.id.to_string());
    let target = Stream { place: place.clone(), device: name.clone() };
    let (mut reach, mut batches) = (Reach { generation, sequence: 0, hash: [0; 32] }, Vec::new());
    seal_each(key, &target, &mut reach, entries, |batch, _| {
        let is_last = batch.sequence >= BATCHES_MAX;
        batches.push(batch);
        Ok(!is_last)
    })?;
    if hub.put_if_absent(&target, generation, &batches)?.contains(&Put::Other) {
        return Ok(());
    }
    let head = Head::of(&device.secrets, &place, &name, reach).ok_or(SyncError::NoRandomBytes)?;
    let head = Head { at: wall, seen: covers(reading, stream), era: stream.listing.era, ..head };
    let bytes = document::signed(&device.secrets, &place, &name, &head).ok_or(SyncError::NoRandomBytes)?;
    hub.replace(&place, &name, &bytes, Some(generation))?;
    stream.base = BaseState { generation, since: 0, since_at: Some(wall), is_outdated: false };
    Ok(())
}

/// A base that was found, and the device that wrote it.
pub struct Found {
    author: String,
    head: Head,
}

impl Found {
    /// Which list of recent heads was the newest when it was written.
    pub fn era(&self) -> u64 {
        self.head.era
    }

    /// How far it says that it covers the streams.
    pub fn covers(&self) -> &BTreeMap<String, Reach> {
        &self.head.seen
    }

    /// What is asked to read it.
    pub fn question(&self, reading: &PullReading) -> Question {
        let stream = Stream { place: place(reading.project), device: self.author.clone() };
        let Reach { generation, sequence, .. } = self.head.reach;
        let limit = usize::try_from(sequence.min(BATCHES_MAX)).unwrap_or(0);
        Question::After(Range { stream, generation, sequence: 0, limit })
    }
}

/// The newest base that a member wrote.
pub fn newest(
    hub: &mut dyn Transport,
    reading: &PullReading,
    problems: &mut Vec<PullProblem>,
) -> Result<Option<Found>> {
    let place = place(reading.project);
    let documents = hub.heads(&place)?;
    let heads = reading.heads(&place, &documents, problems).into_iter();
    let is_member = |device: &str| reading.trust.members.contains_key(device);
    let usable = heads.filter(|(device, head)| is_member(device) && head.reach.sequence > 0);
    let newest = usable.max_by_key(|(device, head)| (head.at.min(reading.wall), device.clone()));
    Ok(newest.map(|(author, head)| Found { author, head }))
}

/// Reads a base. One that cannot be read is a problem and no more: the streams themselves are there.
pub fn read(
    hub: &mut dyn Transport,
    reading: &PullReading,
    found: Found,
    problems: &mut Vec<PullProblem>,
) -> Result<Option<Base>> {
    let Found { author, head } = found;
    if head.reach.sequence > BATCHES_MAX {
        let reason = "its base is too large".to_string();
        problems.push(PullProblem::Broken { device: reading.name(&author), reason });
        return Ok(None);
    }
    let place = place(reading.project);
    let stream = NewStream { device: &author, head: &head, seen: None, is_again: false, bytes: 0 };
    let lines = match reading.verified(hub, &place, &stream, &mut None)? {
        Ok(verified) => verified.all(hub)?,
        Err(problem) => {
            problems.push(problem);
            return Ok(None);
        }
    };
    let mut entries: BTreeMap<String, Vec<Entry>> = BTreeMap::new();
    for Entry { seq, json } in lines {
        if let Some((device, json)) = json.split_once(' ') {
            entries.entry(device.to_string()).or_default().push(Entry { seq, json: json.to_string() });
        }
    }
    Ok(Some(Base { at: head.at, covers: head.seen, entries }))
}
