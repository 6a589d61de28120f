//! A stream of another device on its way: verified up to its signed head, then opened one batch after another, so that
//! memory does not grow with what somebody sends. Nothing of it is stored before the whole way was verified.

use std::collections::VecDeque;

use super::batch::{self, BatchError, Entry, Header, ProjectKey};
use super::crypto::{self, Key};
use super::document::Reach;
use super::reading::{NEWER, NewStream, PullReading, start, wanted, withheld};
use super::transport::{Place, Sealed, Stream, Transport};
use super::{Result, unreadable};

/// How much of a stream is kept until it is opened. The rest is asked for once more.
const HELD_BYTES_MAX: usize = 16 * 1024 * 1024;

/// Batches that lead to a signed head.
pub struct VerifiedStream {
    stream: Stream,
    generation: u64,
    keys: Vec<ProjectKey>,
    /// The batch before the next one.
    at: u64,
    hashes: VecDeque<Key>,
    /// The first of them, sealed.
    held: VecDeque<Vec<u8>>,
    held_bytes: usize,
    pub records: usize,
    /// How much text it holds.
    pub bytes: u64,
}

impl PullReading<'_> {
    /// Verifies what is new in a stream.
    pub fn verified(
        &self,
        hub: &mut dyn Transport,
        place: &Place,
        new: &NewStream,
        budget: &mut Option<usize>,
    ) -> Result<std::result::Result<VerifiedStream, String>> {
        let NewStream { device, head, .. } = *new;
        let Reach { generation, sequence, hash } = &head.reach;
        let (mut at, mut last) = start(head, new.seen.as_ref(), *budget);
        let problem = |what: &str| Ok(Err(self.problem(device, what)));
        let broken = |why: &str| problem(&format!("{why}; nothing of it was read"));
        let mut found = VerifiedStream {
            stream: Stream { place: place.clone(), device: device.to_string() },
            generation: *generation,
            keys: self.project.keys(),
            at,
            hashes: VecDeque::new(),
            held: VecDeque::new(),
            held_bytes: 0,
            records: 0,
            bytes: new.bytes,
        };
        while at < *sequence {
            let wanted = wanted(head, at);
            let batches = hub.after(&found.stream, *generation, at, wanted)?;
            if batches.is_empty() {
                return problem(&withheld("its own head"));
            }
            for sealed in batches.into_iter().take(wanted) {
                let (header, entries) = match batch::open(&found.keys, &found.stream, &sealed.bytes) {
                    Ok(opened) => opened,
                    Err(BatchError::NewerVersion(_)) => return problem(NEWER),
                    Err(error) => return broken(&error.to_string()),
                };
                if !is_next(&header, *generation, at, last) {
                    return broken("a batch is not in its place");
                }
                (at, last) = (at + 1, Some(crypto::hash(&sealed.bytes)));
                found.add(sealed, &entries);
                if found.bytes > new.bytes_max {
                    return problem("it sends more than is allowed; nothing new of it was read");
                }
            }
        }
        if found.records > 0 && last != Some(*hash) {
            return broken("its batches do not lead to its signed head");
        }
        if let Some(budget) = budget {
            *budget = budget.saturating_sub(found.records);
        }
        Ok(Ok(found))
    }
}

fn is_next(header: &Header, generation: u64, at: u64, last: Option<Key>) -> bool {
    (header.generation, header.sequence) == (generation, at + 1) && last.is_none_or(|last| last == header.previous)
}

impl VerifiedStream {
    fn add(&mut self, sealed: Sealed, entries: &[Entry]) {
        self.records += entries.len();
        self.bytes += entries.iter().map(|entry| entry.json.len() as u64).sum::<u64>();
        self.hashes.push_back(crypto::hash(&sealed.bytes));
        // What is held has no gap.
        let is_held = self.held.len() + 1 == self.hashes.len();
        if is_held && self.held_bytes + sealed.bytes.len() <= HELD_BYTES_MAX {
            self.held_bytes += sealed.bytes.len();
            self.held.push_back(sealed.bytes);
        }
    }

    /// The records of the next batch; `None` after the last.
    pub fn next(&mut self, hub: &mut dyn Transport) -> Result<Option<Vec<Entry>>> {
        let Some(hash) = self.hashes.pop_front() else { return Ok(None) };
        let changed = || unreadable("the hub shows another batch than a moment ago");
        let bytes = match self.held.pop_front() {
            Some(bytes) => bytes,
            None => hub.after(&self.stream, self.generation, self.at, 1)?.pop().ok_or_else(changed)?.bytes,
        };
        self.at += 1;
        if crypto::hash(&bytes) != hash {
            return Err(changed());
        }
        batch::open(&self.keys, &self.stream, &bytes).map(|(_, entries)| Some(entries)).map_err(|_| changed())
    }

    /// All records at once.
    pub fn all(mut self, hub: &mut dyn Transport) -> Result<Vec<Entry>> {
        let mut all = Vec::new();
        while let Some(entries) = self.next(hub)? {
            all.extend(entries);
        }
        Ok(all)
    }
}
