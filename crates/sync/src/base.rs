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

use super::Result;
use super::batch::Entry;
use super::document::{Head, Reach};
use super::local::{BaseState, Seen, StreamState};
use super::project::SharedProject;
use super::push::WholeStream;
use super::reading::{NewStream, PullReading};
use super::transport::{Place, Question, Range, Stream, Transport};
use crate::share::{self, Sharing};

/// So many new records are worth a new base.
pub const WORTH_RECORDS: u64 = 1_000;
/// How many records a base holds at most.
const BASE_RECORDS_MAX: usize = 2_000;
/// The same for each need.
const RECORDS_MAX: [usize; 3] = [500, 500, BASE_RECORDS_MAX];
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

/// Why a record may be needed.
#[derive(Clone, Copy)]
enum Need {
    /// It changes a memory.
    Memory,
    /// It states a decision, a blocker or a next step, or settles one.
    Stated,
    /// It only tells what happened.
    Recent,
}

/// The newest candidates of each need. Only what is chosen in the end is cleaned once more, which takes time.
#[derive(Default)]
struct Newest {
    by_need: [BinaryHeap<Reverse<CandidateRecord>>; 3],
}

impl Newest {
    fn add(&mut self, need: Need, seq: u64, device: DeviceId, json: impl FnOnce() -> Option<String>) {
        let (newest, most) = (&mut self.by_need[need as usize], RECORDS_MAX[need as usize]);
        let is_newer = newest.len() < most || newest.peek().is_some_and(|Reverse(oldest)| seq > oldest.0);
        if let Some(json) = is_newer.then(json).flatten() {
            newest.push(Reverse((seq, device, json)));
            if newest.len() > most {
                newest.pop();
            }
        }
    }

    /// The chosen ones, the oldest first. What only tells what happened fills the room that is left.
    fn chosen(self) -> Vec<CandidateRecord> {
        let [memories, stated, mut recent] = self.by_need;
        while memories.len() + stated.len() + recent.len() > BASE_RECORDS_MAX {
            recent.pop();
        }
        let mut all: Vec<_> = [memories, stated, recent].into_iter().flatten().map(|Reverse(one)| one).collect();
        all.sort();
        all
    }
}

/// The records that a container needs, each after the device that it comes from.
fn entries(reading: &PullReading, store: &Store, stream: &StreamState) -> Result<Vec<Entry>> {
    let (project, device) = (reading.project, reading.device);
    let ids = project.ids(store)?;
    let stated = store.stated(&ids)?;
    let covered = covers(reading, stream);
    let mut newest = Newest::default();
    let json = |record: &Record| serde_json::to_string(record).ok();
    project.each_own(store, &BTreeMap::new(), |seq, record| {
        newest.add(need(&record, &stated), seq, device.id, || json(&record));
    })?;
    project.each_line(|_, line| {
        let JournalLine::Whole(sealed) = line else { return };
        let (Some(order), Some(record)) = (sealed.order, sealed.record()) else { return };
        if covered.contains_key(&order.device.to_string()) {
            let need = need(&record, &stated);
            newest.add(need, order.seq, order.device, || json(&Record { origin: None, ..record }));
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
    let (place, seen, era) = (place(project), covers(reading, stream), stream.listing.era);
    let whole = WholeStream { device, key, place, generation, batches_max: BATCHES_MAX };
    if whole.write(hub, entries, |head| Head { at: wall, seen, era, ..head })? {
        stream.base = BaseState { generation, since: 0, since_at: Some(wall), is_outdated: false };
    }
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
pub fn newest(hub: &mut dyn Transport, reading: &PullReading, problems: &mut Vec<String>) -> Result<Option<Found>> {
    let newest = reading.newest(hub, &place(reading.project), problems)?;
    Ok(newest.map(|(author, head)| Found { author, head }))
}

/// Reads a base. One that cannot be read is a problem and no more: the streams themselves are there.
pub fn read(
    hub: &mut dyn Transport,
    reading: &PullReading,
    found: Found,
    problems: &mut Vec<String>,
) -> Result<Option<Base>> {
    let Found { author, head } = found;
    if head.reach.sequence > BATCHES_MAX {
        problems.push(reading.problem(&author, "its base is too large; nothing of it was read"));
        return Ok(None);
    }
    let place = place(reading.project);
    let stream = NewStream::whole(&author, &head);
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

#[cfg(test)]
mod tests {
    use super::*;

    /// How many are kept of each of these: what they are for, and how many there are; and the oldest that is.
    fn kept(given: &[(Need, u64)]) -> (Vec<usize>, Option<u64>) {
        let (device, mut newest, mut seq) = (DeviceId::parse("00000000000000aa").unwrap(), Newest::default(), 0);
        for (group, (need, count)) in given.iter().enumerate() {
            for _ in 0..*count {
                seq += 1;
                newest.add(*need, seq, device, || Some(group.to_string()));
            }
        }
        let chosen = newest.chosen();
        assert!(chosen.is_sorted());
        let of = |group: usize| chosen.iter().filter(|(.., json)| *json == group.to_string()).count();
        ((0..given.len()).map(of).collect(), chosen.first().map(|(seq, ..)| *seq))
    }

    #[test]
    fn memories_and_what_is_stated_stay_however_old_they_are() {
        let given = [(Need::Memory, 1), (Need::Stated, 1), (Need::Recent, 1), (Need::Recent, 5_000)];
        assert_eq!(kept(&given), (vec![1, 1, 0, 1_998], Some(1)));
    }

    #[test]
    fn each_need_has_its_own_limit_and_keeps_the_newest() {
        assert_eq!(kept(&[(Need::Memory, 600)]), (vec![500], Some(101)));
        let given = [(Need::Stated, 700), (Need::Memory, 700), (Need::Recent, 3_000)];
        assert_eq!(kept(&given), (vec![500, 500, 1_000], Some(201)));
        assert_eq!(kept(&[]), (vec![], None));
    }
}
