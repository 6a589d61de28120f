//! Reads what the other devices of a place wrote. Nothing is stored before its whole way to a signed head was verified.

use std::collections::BTreeMap;
use std::time::Duration;

use cerberus_record::order::DeviceId;
use cerberus_store::view::Store;

use super::Result;
use super::ahead::Ahead;
use super::base::{self, Base};
use super::crypto::hex;
use super::document::{Head, Reach};
use super::incoming::IncomingRecords;
use super::listing::{self, Listed};
use super::local::{Listing, Seen, Space, StreamState};
use super::reading::{NewStream, PullReading, StreamHeads, start, wanted};
use super::replica::{Held, LeftOut};
use super::transport::{BATCHES_AT_ONCE_MAX, Question, Range, Stream};

/// How many streams a container reads.
const CONTAINER_STREAMS_MAX: usize = 8;
/// How much one device of a teammate may send to all projects together, one container, and all containers of one key.
const TEAMMATE_BYTES_MAX: u64 = 16 * 1024 * 1024;
const CONTAINER_BYTES_MAX: u64 = 64 * 1024 * 1024;
const GRANT_BYTES_MAX: u64 = 1024 * 1024 * 1024;
/// How many containers may use one key.
const CONTAINERS_MAX: usize = 20_000;
/// After so much text, the rest is read by the next exchange.
const PULL_BYTES_MAX: u64 = 256 * 1024 * 1024;
/// The version of this program.
const PROGRAM: &str = env!("CARGO_PKG_VERSION");
/// How many batches a container asks for at once. It reads fewer, if they are full.
const CONTAINER_AT_ONCE: usize = 16;

#[derive(Debug, Default)]
pub struct Pulled {
    pub records: usize,
    pub problems: Vec<String>,
    /// The hub has more of our own stream than we wrote: another home is a copy of this one, or this one was restored.
    pub is_forked: bool,
}

/// How much a key of containers was used.
#[derive(Default)]
struct GrantUse {
    containers: usize,
    bytes: u64,
}

impl GrantUse {
    fn takes_one_more(&mut self) -> bool {
        self.containers += 1;
        self.containers <= CONTAINERS_MAX
    }
}

/// How much a stream may hold: of a device of which other projects hold so much, or of a container whose key others have
/// used for so much. What the user's own devices record has no limit.
fn bytes_max(is_team: bool, elsewhere: u64, by_others: Option<u64>) -> u64 {
    let left = by_others.map_or(u64::MAX, |bytes| CONTAINER_BYTES_MAX.min(GRANT_BYTES_MAX.saturating_sub(bytes)));
    if is_team { left.min(TEAMMATE_BYTES_MAX.saturating_sub(elsewhere)) } else { left }
}

/// Whether a base is read: by a container that has read nothing yet.
pub fn needs_base(space: &Space, state: &StreamState) -> bool {
    space.is_container() && state.seen.is_empty()
}

/// The generation of a device's stream that a head confirms.
fn confirms(head: &Head, device: &str) -> u64 {
    head.seen.get(device).map_or(0, |reach| reach.generation)
}

impl PullReading<'_> {
    pub fn pull(&self, hub: &mut Ahead, store: &mut Store, state: &mut StreamState) -> Result<Pulled> {
        let mut pulled = Pulled::default();
        let base = self.base(hub, state, &mut pulled.problems)?;
        let Listed { documents, is_whole } = listing::list(hub, self, &mut state.listing)?;
        let heads = self.heads(&self.project.place(), &documents, &mut pulled.problems);
        if is_whole && !self.project.shared.is_space() {
            state.listing.found(heads.values().map(|head| head.era), documents.len());
        }
        pulled.is_forked = self.is_forked(&heads, state);
        self.repair(&heads, is_whole, state);
        self.compare(&heads, is_whole, state, &mut pulled.problems);
        let own = self.device.id.to_string();
        let covers = base.as_ref().map(|base| &base.covers);
        let covered = covers.map(|covers| self.covered(covers, &heads, is_whole)).unwrap_or_default();
        let new = self.new_streams(&heads, &covered, state, &mut pulled.problems);
        let is_new = !new.is_empty() || base.is_some();
        let held = match is_new {
            true => Held::unless(state.replica_bytes, self.project)?,
            false => None,
        };
        let (mut incoming, mut read) = (IncomingRecords::new(self, held), Vec::new());
        let based = self.take(base, covered, &mut incoming, &mut pulled)?;
        let mut budget = self.records_max;
        for (number, one) in new.iter().enumerate() {
            match budget {
                Some(_) if number >= CONTAINER_STREAMS_MAX => budget = Some(0),
                Some(_) => self.prepare(hub, &new[number..new.len().min(CONTAINER_STREAMS_MAX)], budget)?,
                None => self.prepare(hub, &new[number..], budget)?,
            }
            if self.limits.read.get() > PULL_BYTES_MAX {
                pulled.problems.push("more waits on the hub; run `cerberus sync` again".to_string());
                break;
            }
            let verified = match self.verified(hub, &self.project.place(), one, &mut budget)? {
                Ok(verified) => verified,
                Err(problem) => {
                    pulled.problems.push(problem);
                    continue;
                }
            };
            pulled.records += verified.records;
            self.limits.read.set(self.limits.read.get() + verified.bytes - one.bytes);
            let mut seen = Seen { bytes: verified.bytes, ..self.seen(one.head, &own) };
            let begins_again = self.begins_again(one, incoming.held.as_ref());
            state.base.is_outdated |= begins_again;
            let left_out = incoming.take(hub, store, one, verified, begins_again)?;
            seen.unknown_to = (left_out.unknown > 0).then(|| PROGRAM.to_string());
            self.tell_left_out(one.device, left_out, &mut pulled.problems);
            read.push((one.device.to_string(), seen));
        }
        incoming.finish(store, !read.is_empty())?;
        state.base.since += pulled.records as u64;
        state.seen.extend(based);
        state.seen.extend(read);
        if is_new {
            state.replica_bytes = self.project.replica_bytes()?;
        }
        Ok(pulled)
    }

    fn tell_left_out(&self, device: &str, left_out: LeftOut, problems: &mut Vec<String>) {
        let LeftOut { unknown, large } = left_out;
        let why = "of a kind that this version does not know; an update reads them";
        for (count, why) in [(unknown, why), (large, "too large; they were left out")] {
            if count > 0 {
                problems.push(self.problem(device, format!("{count} records of it are {why}")));
            }
        }
    }

    fn seen(&self, head: &Head, own: &str) -> Seen {
        let (reach, by, signature) = (head.reach.clone(), head.by().cloned(), hex::text(&head.signature));
        let (confirmed, read_at) = (confirms(head, own), self.wall);
        Seen { reach, at: head.at, read_at, confirmed, by, bytes: 0, unknown_to: None, signature }
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
        heads: &'h StreamHeads,
        covered: &BTreeMap<String, Reach>,
        state: &mut StreamState,
        problems: &mut Vec<String>,
    ) -> Vec<NewStream<'h>> {
        let own = self.device.id.to_string();
        let mut grants: BTreeMap<String, GrantUse> = BTreeMap::new();
        for seen in state.seen.values() {
            if let Some(by) = &seen.by {
                let used = grants.entry(by.clone()).or_default();
                (used.containers, used.bytes) = (used.containers + 1, used.bytes + seen.bytes);
            }
        }
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
                seen => {
                    let mut used = head.by().map(|by| grants.entry(by.clone()).or_default());
                    if known.is_none() && used.as_mut().is_some_and(|used| !used.takes_one_more()) {
                        continue;
                    }
                    let is_team = self.project.space.team.is_some();
                    let elsewhere = self.limits.elsewhere.get(device).copied().unwrap_or(0);
                    let by_others = used.map(|used| used.bytes.saturating_sub(bytes));
                    let bytes_max = bytes_max(is_team, elsewhere, by_others);
                    let (seen, behind) = (seen.filter(|_| !is_again), self.behind(head, heads, state));
                    new.push(NewStream { device, head, seen, is_again, bytes, bytes_max, behind });
                }
            }
        }
        let full = grants.iter().filter(|(_, used)| used.containers > CONTAINERS_MAX);
        problems.extend(full.map(|(grant, _)| {
            let why = "more containers use it than may; what they send is left out. Remove it, and print a new one";
            format!("the key {grant}: {why}")
        }));
        new
    }

    /// The base of this project, for a container that has read nothing yet. The heads are asked for with it, or, if they
    /// are here, what is newer than the base.
    fn base(&self, hub: &mut Ahead, state: &mut StreamState, problems: &mut Vec<String>) -> Result<Option<Base>> {
        if !needs_base(self.project.space, state) {
            return Ok(None);
        }
        let Some(found) = base::newest(hub, self, problems)? else { return Ok(None) };
        let listing = match found.era() {
            0 => state.listing.clone(),
            era => Listing::of_base(era, self.wall),
        };
        let mut questions = vec![found.question(self)];
        match hub.documents(&self.project.place()) {
            Some(documents) => {
                let heads = self.heads(&self.project.place(), documents, &mut Vec::new());
                let covered = self.covered(found.covers(), &heads, true);
                let new = self.new_streams(&heads, &covered, state, &mut Vec::new());
                questions.extend(self.questions(&new[..new.len().min(CONTAINER_STREAMS_MAX)], self.records_max));
            }
            None => questions.extend(listing::first_questions(&self.project.place(), &listing, self.wall)),
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
            let stream = Stream { place: self.project.place(), device: device.to_string() };
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
            let stream = Stream { place: self.project.place(), device: device.to_string() };
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
        heads: &StreamHeads,
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
            let lines = self.arriving(&device, Duration::ZERO)?.lines(&entries, &mut 0, &mut left_out)?;
            pulled.records += entries.len();
            self.tell_left_out(&device, left_out, &mut pulled.problems);
            incoming.add(lines)?;
            let (read_at, signature) = (self.wall, String::new());
            let (bytes, unknown_to) = (0, (left_out.unknown > 0).then(|| PROGRAM.to_string()));
            read.insert(device, Seen { reach, at, read_at, confirmed: 0, by: None, bytes, unknown_to, signature });
        }
        Ok(read)
    }

    fn note_unchanged(&self, device: &str, head: &Head, confirmed: u64, state: &mut StreamState) {
        if let Some(seen) = state.seen.get_mut(device).filter(|seen| seen.reach == head.reach) {
            seen.at = head.at;
            seen.confirmed = seen.confirmed.max(confirmed);
            seen.by = head.by().cloned();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_others_send_has_a_limit_for_each_of_them_and_for_each_key() {
        const MIB: u64 = 1024 * 1024;
        for (is_team, elsewhere, by_others, allowed) in [
            (false, 900 * MIB, None, u64::MAX),
            (true, 0, None, 16 * MIB),
            (true, 10 * MIB, None, 6 * MIB),
            (true, 17 * MIB, None, 0),
            (false, 900 * MIB, Some(0), 64 * MIB),
            (false, 0, Some(1_000 * MIB), 24 * MIB),
            (false, 0, Some(2_000 * MIB), 0),
            (true, 10 * MIB, Some(0), 6 * MIB),
        ] {
            assert_eq!(bytes_max(is_team, elsewhere, by_others), allowed, "{is_team} {elsewhere} {by_others:?}");
        }
        let mut used = GrantUse { containers: CONTAINERS_MAX - 1, bytes: 0 };
        assert!(used.takes_one_more() && !used.takes_one_more());
    }
}
