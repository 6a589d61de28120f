//! Reads what the other devices of a place wrote. Nothing is stored before its whole way to a signed head was verified.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use cerberus_os::home::Home;
use cerberus_record::order::DeviceId;
use cerberus_record::time::Timestamp;
use cerberus_store::view::Store;

use super::ahead::Ahead;
use super::base::{self, Base};
use super::batch;
use super::chain::ChainState;
use super::crypto::{Key, hex};
use super::document::{self, Head, Reach, Unusable};
use super::incoming::IncomingRecords;
use super::listing::{self, Listed, Listing};
use super::local::{Device, Seen, Shared, Space, StreamState};
use super::replica::{self, Arriving, Held, LeftOut};
use super::transport::{BATCHES_AT_ONCE_MAX, Document, Place, Question, Range, Stream};
use super::{Result, SyncError};

/// A clock that differs by more is wrong.
pub const CLOCK_MAX: Duration = Duration::from_secs(24 * 60 * 60);
/// How many streams a container reads.
const CONTAINER_STREAMS_MAX: usize = 8;
/// After so much text, the rest is read by the next exchange.
const PULL_BYTES_MAX: u64 = 256 * 1024 * 1024;
/// The version of this program.
const PROGRAM: &str = env!("CARGO_PKG_VERSION");
/// How many batches a container asks for at once. It reads fewer, if they are full.
const CONTAINER_AT_ONCE: usize = 16;

/// Something about another device that is not as it should be. Nothing of what it concerns was stored.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum PullProblem {
    #[error("{0}: the hub shows an older state than before (rollback)")]
    Rollback(String),
    #[error("{device}: the hub withholds records that {by} has seen")]
    Withheld { device: String, by: String },
    #[error("{0} says that it has read more of this device than it wrote; ignored")]
    Claimed(String),
    #[error("{0}: not signed by a device of this space; ignored")]
    Stranger(String),
    #[error("{0}: the signature is wrong; ignored")]
    Forged(String),
    #[error("{device}: {reason}; nothing of it was read")]
    Broken { device: String, reason: String },
    #[error("{0}: written by a newer version of Cerberus; left until this one is updated")]
    Newer(String),
    #[error("{device}: its clock is {difference} {direction}")]
    Clock { device: String, difference: String, direction: &'static str },
    #[error("{device}: {count} records of it are of a kind that this version does not know; an update reads them")]
    Unknown { device: String, count: usize },
    #[error("{device}: {count} records of it are too large; they were left out")]
    Large { device: String, count: usize },
    #[error("{0}: it sends more than is allowed; nothing new of it was read")]
    TooMuch(String),
    #[error("more waits on the hub; run `cerberus sync` again")]
    More,
}

#[derive(Debug, Default)]
pub struct Pulled {
    pub records: usize,
    pub problems: Vec<PullProblem>,
    /// The hub has more of our own stream than we wrote: another home is a copy of this one, or this one was restored.
    pub is_forked: bool,
}

/// What a pull needs to know.
pub struct PullReading<'a> {
    pub home: &'a Home,
    pub wall: Timestamp,
    pub device: &'a Device,
    pub space: &'a Space,
    pub shared: &'a Shared,
    /// Who belongs to the space.
    pub trust: &'a ChainState,
    /// Device to name.
    pub names: &'a BTreeMap<String, String>,
    /// Devices whose streams are read in another space.
    pub skipped: &'a BTreeSet<String>,
    /// Read at most about so many records: the newest.
    pub records_max: Option<usize>,
}

/// A stream that has something new.
pub struct NewStream<'a> {
    pub device: &'a str,
    pub head: &'a Head,
    /// How far it was read.
    pub seen: Option<Reach>,
    /// It is read once more, because another version left something of it out.
    pub is_again: bool,
    /// How much of it was read before.
    pub bytes: u64,
}

/// Whether a base is read: by a container that has read nothing yet.
pub fn needs_base(space: &Space, state: &StreamState) -> bool {
    space.is_container() && state.seen.is_empty()
}

/// The batch after which a stream is read, and its hash, if it is known.
pub fn start(head: &Head, seen: Option<&Reach>, budget: Option<usize>) -> (u64, Option<Key>) {
    let seen = seen.filter(|seen| seen.generation == head.reach.generation);
    let (at, last) = seen.map_or((0, [0; 32]), |seen| (seen.sequence, seen.hash));
    // With a budget, only the end of the stream is read. The chain still leads to the signed head.
    let first = budget.map(|records| head.reach.sequence.saturating_sub(records.div_ceil(batch::RECORDS_MAX) as u64));
    match first {
        Some(first) if first > at => (first, None),
        _ => (at, Some(last)),
    }
}

/// The generation of a device's stream that a head confirms.
fn confirms(head: &Head, device: &str) -> u64 {
    head.seen.get(device).map_or(0, |reach| reach.generation)
}

/// How many batches after this one are asked for.
pub fn wanted(head: &Head, at: u64) -> usize {
    usize::try_from(head.reach.sequence.saturating_sub(at)).unwrap_or(usize::MAX).min(BATCHES_AT_ONCE_MAX)
}

impl PullReading<'_> {
    pub fn pull(&self, hub: &mut Ahead, store: &mut Store, state: &mut StreamState) -> Result<Pulled> {
        let mut pulled = Pulled::default();
        let base = self.base(hub, state, &mut pulled.problems)?;
        let Listed { documents, is_whole } = listing::list(hub, self, &mut state.listing)?;
        let heads = self.heads(&self.place(), &documents, &mut pulled.problems);
        if is_whole && !self.shared.is_space() {
            state.listing.found(heads.values().map(|head| head.era), documents.len());
        }
        pulled.is_forked = self.is_forked(&heads, state);
        self.repair(&heads, is_whole, state);
        self.compare(&heads, is_whole, state, &mut pulled.problems);
        let own = self.device.id.to_string();
        let covers = base.as_ref().map(|base| &base.covers);
        let covered = covers.map(|covers| self.covered(covers, &heads, is_whole)).unwrap_or_default();
        let new = self.new_streams(&heads, &covered, state);
        let is_new = !new.is_empty() || base.is_some();
        let held = match is_new {
            true => Held::unless(state.replica_bytes, self.home, self.space, self.shared)?,
            false => None,
        };
        let (mut incoming, mut read) = (IncomingRecords::new(self, held), Vec::new());
        let based = self.take(base, covered, &mut incoming, &mut pulled)?;
        let mut budget = self.records_max;
        let mut bytes = 0;
        for (number, one) in new.iter().enumerate() {
            match budget {
                Some(_) if number >= CONTAINER_STREAMS_MAX => budget = Some(0),
                Some(_) => self.prepare(hub, &new[number..new.len().min(CONTAINER_STREAMS_MAX)], budget)?,
                None => self.prepare(hub, &new[number..], budget)?,
            }
            if bytes > PULL_BYTES_MAX {
                pulled.problems.push(PullProblem::More);
                break;
            }
            let verified = match self.verified(hub, &self.place(), one, &mut budget)? {
                Ok(verified) => verified,
                Err(problem) => {
                    pulled.problems.push(problem);
                    continue;
                }
            };
            pulled.records += verified.records;
            bytes += verified.bytes - one.bytes;
            let mut seen = Seen { bytes: verified.bytes, ..self.seen(one.head, &own) };
            let begins_again = self.begins_again(one, incoming.held.as_ref());
            state.base.is_outdated |= begins_again;
            let left_out = incoming.take(hub, store, one.device, verified, begins_again)?;
            seen.unknown_to = (left_out.unknown > 0).then(|| PROGRAM.to_string());
            self.tell_left_out(one.device, left_out, &mut pulled.problems);
            read.push((one.device.to_string(), seen));
        }
        incoming.finish(store, !read.is_empty())?;
        state.base.since += pulled.records as u64;
        state.seen.extend(based);
        state.seen.extend(read);
        if is_new {
            state.replica_bytes = replica::length(self.home, self.space, self.shared)?;
        }
        Ok(pulled)
    }

    fn tell_left_out(&self, device: &str, left_out: LeftOut, problems: &mut Vec<PullProblem>) {
        let LeftOut { unknown, large } = left_out;
        if unknown > 0 {
            problems.push(PullProblem::Unknown { device: self.name(device), count: unknown });
        }
        if large > 0 {
            problems.push(PullProblem::Large { device: self.name(device), count: large });
        }
    }

    fn seen(&self, head: &Head, own: &str) -> Seen {
        Seen {
            reach: head.reach.clone(),
            at: head.at,
            read_at: self.wall,
            confirmed: confirms(head, own),
            by: head.by().cloned(),
            bytes: 0,
            unknown_to: None,
            signature: hex::text(&head.signature),
        }
    }

    /// Whether what is stored of a stream is replaced by what was read of it: it began again, because something was
    /// forgotten, or a killed process stored something of it, perhaps of another generation.
    fn begins_again(&self, new: &NewStream, held: Option<&Held>) -> bool {
        match &new.seen {
            // It is not shared any more, and what was read of it stays.
            _ if new.head.is_kept => false,
            Some(seen) => seen.generation != new.head.reach.generation,
            None if new.is_again => true,
            None => self.records_max.is_none() && held.is_some_and(|held| held.has_any_of(new.device)),
        }
    }

    /// The streams that have something new, those written last first. Notes what the others say.
    fn new_streams<'h>(
        &self,
        heads: &'h BTreeMap<String, Head>,
        covered: &BTreeMap<String, Reach>,
        state: &mut StreamState,
    ) -> Vec<NewStream<'h>> {
        let own = self.device.id.to_string();
        let mut order: Vec<(&String, &Head)> = heads.iter().filter(|(device, _)| **device != own).collect();
        order.sort_by_key(|(device, head)| (std::cmp::Reverse(head.at), *device));
        let mut new = Vec::new();
        for (device, head) in order {
            let known = state.seen.get(device);
            let seen = covered.get(device).or(known.map(|seen| &seen.reach)).cloned();
            let is_again = known.and_then(|seen| seen.unknown_to.as_deref()).is_some_and(|program| program != PROGRAM);
            let is_continued = |known: &&Seen| !is_again && known.reach.generation == head.reach.generation;
            let bytes = known.filter(is_continued).map_or(0, |seen| seen.bytes);
            match seen {
                Some(seen) if !is_again && !head.reach.is_after(&seen) => {
                    self.note_unchanged(device, head, confirms(head, &own), state);
                }
                seen => new.push(NewStream { device, head, seen: seen.filter(|_| !is_again), is_again, bytes }),
            }
        }
        new
    }

    pub fn place(&self) -> Place {
        self.space.place(&self.shared.id)
    }

    /// The base of this project, for a container that has read nothing yet. The heads are asked for with it, or, if they
    /// are here, what is newer than the base.
    fn base(&self, hub: &mut Ahead, state: &mut StreamState, problems: &mut Vec<PullProblem>) -> Result<Option<Base>> {
        if !needs_base(self.space, state) {
            return Ok(None);
        }
        let Some(found) = base::newest(hub, self, problems)? else { return Ok(None) };
        let listing = match found.era() {
            0 => state.listing.clone(),
            era => Listing { era, whole_at: Some(self.wall) },
        };
        let mut questions = vec![found.question(self)];
        match hub.documents(&self.place()) {
            Some(documents) => {
                let heads = self.heads(&self.place(), documents, &mut Vec::new());
                let covered = self.covered(found.covers(), &heads, true);
                let new = self.new_streams(&heads, &covered, state);
                questions.extend(self.questions(&new[..new.len().min(CONTAINER_STREAMS_MAX)], self.records_max));
            }
            None => {
                let places = listing::first_places(&self.place(), &listing, self.wall);
                questions.extend(places.into_iter().map(Question::Heads));
            }
        }
        hub.prepare(questions)?;
        let base = base::read(hub, self, found, problems)?;
        if base.is_some() {
            state.listing = listing;
        }
        Ok(base)
    }

    /// Asks for what is new in the first of these streams and, in the same turn, in those that follow.
    fn prepare(&self, hub: &mut Ahead, new: &[NewStream], budget: Option<usize>) -> Result<()> {
        let is_here = |NewStream { device, head, .. }: &NewStream| {
            let stream = Stream { place: self.place(), device: device.to_string() };
            hub.has(&stream, head.reach.generation)
        };
        match new.first() {
            Some(first) if !is_here(first) => hub.prepare(self.questions(new, budget)),
            _ => Ok(()),
        }
    }

    /// What is asked to read the first of these streams and, if they are short, those that follow.
    fn questions(&self, new: &[NewStream], budget: Option<usize>) -> Vec<Question> {
        let range = |NewStream { device, head, seen, .. }: &NewStream| {
            let (sequence, _) = start(head, seen.as_ref(), budget);
            let stream = Stream { place: self.place(), device: device.to_string() };
            Range { stream, generation: head.reach.generation, sequence, limit: wanted(head, sequence) }
        };
        let mut room = if budget.is_some() { CONTAINER_AT_ONCE } else { BATCHES_AT_ONCE_MAX };
        let fits = |range: &Range| {
            let is_first = range.limit > 0 && room > 0;
            room = room.saturating_sub(range.limit);
            is_first
        };
        new.iter().map(range).take_while(fits).map(Question::After).collect()
    }

    /// What counts of the streams that a base covers: those that are still as they were. A stream that began again is
    /// read itself: what was forgotten in it must not come back.
    fn covered(
        &self,
        covers: &BTreeMap<String, Reach>,
        heads: &BTreeMap<String, Head>,
        is_whole: bool,
    ) -> BTreeMap<String, Reach> {
        let counts = |(device, reach): &(&String, &Reach)| {
            let is_valid = match heads.get(*device) {
                Some(head) => head.reach.generation == reach.generation && !reach.is_after(&head.reach),
                // It wrote nothing since, or it would be among the recent heads.
                None => !is_whole,
            };
            let is_another = **device != self.device.id.to_string() && !self.trust.gone.contains_key(*device);
            is_valid && is_another && DeviceId::parse(device).is_some()
        };
        covers.iter().filter(counts).map(|(device, reach)| (device.clone(), reach.clone())).collect()
    }

    /// Takes what a base holds of the streams that count. Returns how far they are read by that.
    fn take(
        &self,
        base: Option<Base>,
        covered: BTreeMap<String, Reach>,
        incoming: &mut IncomingRecords,
        pulled: &mut Pulled,
    ) -> Result<BTreeMap<String, Seen>> {
        let mut read = BTreeMap::new();
        let Some(Base { at, mut entries, .. }) = base else { return Ok(read) };
        for (device, reach) in covered {
            let entries = entries.remove(&device).unwrap_or_default();
            let mut left_out = LeftOut::default();
            let lines = self.arriving(&device)?.lines(&entries, &mut 0, &mut left_out)?;
            pulled.records += entries.len();
            self.tell_left_out(&device, left_out, &mut pulled.problems);
            incoming.add(lines)?;
            let (read_at, signature) = (self.wall, String::new());
            let (bytes, unknown_to) = (0, (left_out.unknown > 0).then(|| PROGRAM.to_string()));
            read.insert(device, Seen { reach, at, read_at, confirmed: 0, by: None, bytes, unknown_to, signature });
        }
        Ok(read)
    }

    pub fn arriving<'s>(&'s self, device: &str) -> Result<Arriving<'s>> {
        let wrong = || SyncError::Unreadable(format!("{device:?} is not a device id"));
        Ok(Arriving {
            home: self.home,
            space: self.space,
            shared: self.shared,
            device: DeviceId::parse(device).ok_or_else(wrong)?,
            author: self.names.get(device).map_or("", String::as_str),
            received: self.wall,
        })
    }

    pub fn name(&self, device: &str) -> String {
        self.names.get(device).filter(|name| !name.is_empty()).cloned().unwrap_or_else(|| device.to_string())
    }

    /// The heads that devices of this space signed.
    pub fn heads(
        &self,
        place: &Place,
        documents: &[Document],
        problems: &mut Vec<PullProblem>,
    ) -> BTreeMap<String, Head> {
        let mut heads = BTreeMap::new();
        for Document { name, bytes } in documents {
            let is_device = DeviceId::parse(name).is_some_and(|device| device.to_string() == *name);
            if !is_device || self.skipped.contains(name) || self.trust.gone.contains_key(name) {
                continue;
            }
            let head = match document::claimed::<Head>(bytes) {
                Ok(head) => head,
                Err(Unusable::Newer) => {
                    problems.push(PullProblem::Newer(self.name(name)));
                    continue;
                }
                Err(_) => {
                    problems.push(PullProblem::Forged(self.name(name)));
                    continue;
                }
            };
            // A container whose key was removed.
            if head.by().is_some_and(|by| self.trust.gone.contains_key(by)) {
                continue;
            }
            let sign = match self.trust.members.get(name) {
                Some(member) => Some(member.device.keys.sign),
                None => head.pass.as_ref().and_then(|pass| pass.key(self.trust, &self.space.id, &self.shared.id, name)),
            };
            let Some(sign) = sign else {
                problems.push(PullProblem::Stranger(self.name(name)));
                continue;
            };
            match document::verified::<Head>(&sign, place, name, bytes) {
                Ok(head) => drop(heads.insert(name.clone(), head)),
                Err(_) => problems.push(PullProblem::Forged(self.name(name))),
            }
        }
        heads
    }

    fn note_unchanged(&self, device: &str, head: &Head, confirmed: u64, state: &mut StreamState) {
        if let Some(seen) = state.seen.get_mut(device).filter(|seen| seen.reach == head.reach) {
            seen.at = head.at;
            seen.confirmed = seen.confirmed.max(confirmed);
            seen.by = head.by().cloned();
        }
    }
}
