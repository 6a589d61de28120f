//! What a pull needs to know, what it finds on the hub, and what may be wrong with that.

use std::cell::Cell;
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Display;
use std::time::Duration;

use cerberus_record::order::DeviceId;
use cerberus_record::time::Timestamp;

use super::batch;
use super::chain::ChainState;
use super::crypto::Key;
use super::document::{self, Head, Reach, Unusable};
use super::local::Device;
use super::project::SharedProject;
use super::replica::Arriving;
use super::transport::{BATCHES_AT_ONCE_MAX, Document, Place, Transport};
use super::{Result, unreadable};

/// Device to its head.
pub type StreamHeads = BTreeMap<String, Head>;

/// A clock that differs by more is wrong.
pub const CLOCK_MAX: Duration = Duration::from_secs(24 * 60 * 60);

const FORGED: &str = "the signature is wrong; ignored";
/// What is said of a device whose documents are newer than this program.
pub const NEWER: &str = "written by a newer version of Cerberus; left until this one is updated";

/// What is said of a device whose records the hub does not show here.
pub fn withheld(by: &str) -> String {
    format!("the hub withholds records that {by} has seen")
}

/// What a pull needs to know.
pub struct PullReading<'a> {
    pub project: SharedProject<'a>,
    pub wall: Timestamp,
    pub device: &'a Device,
    /// Who belongs to the space.
    pub trust: &'a ChainState,
    /// Device to name.
    pub names: &'a BTreeMap<String, String>,
    /// Devices whose streams are read in another space.
    pub skipped: &'a BTreeSet<String>,
    /// Read at most about so many records: the newest.
    pub records_max: Option<usize>,
    pub limits: &'a PullLimits,
}

/// What was read already, for the limits that are not of one stream.
#[derive(Default)]
pub struct PullLimits {
    /// Device to how much text of it is held in other projects of the space.
    pub elsewhere: BTreeMap<String, u64>,
    /// How much text this exchange has read.
    pub read: Cell<u64>,
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
    /// How much it may hold.
    pub bytes_max: u64,
    /// How far the clock of its device is behind.
    pub behind: Duration,
}

impl<'a> NewStream<'a> {
    /// All of a stream that a device of the user wrote.
    pub fn whole(device: &'a str, head: &'a Head) -> NewStream<'a> {
        let (bytes_max, behind) = (u64::MAX, Duration::ZERO);
        NewStream { device, head, seen: None, is_again: false, bytes: 0, bytes_max, behind }
    }
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

/// How many batches after this one are asked for.
pub fn wanted(head: &Head, at: u64) -> usize {
    usize::try_from(head.reach.sequence.saturating_sub(at)).unwrap_or(usize::MAX).min(BATCHES_AT_ONCE_MAX)
}

impl PullReading<'_> {
    pub fn arriving<'s>(&'s self, device: &str, behind: Duration) -> Result<Arriving<'s>> {
        let wrong = || unreadable(format!("{device:?} is not a device id"));
        let author = self.names.get(device).map_or("", String::as_str);
        let is_container = !self.trust.members.contains_key(device);
        let device = DeviceId::parse(device).ok_or_else(wrong)?;
        Ok(Arriving { project: self.project, device, is_container, author, received: self.wall, behind })
    }

    pub fn name(&self, device: &str) -> String {
        self.names.get(device).filter(|name| !name.is_empty()).cloned().unwrap_or_else(|| device.to_string())
    }

    /// Something about another device that is not as it should be. Nothing of what it concerns was stored.
    pub fn problem(&self, device: &str, what: impl Display) -> String {
        format!("{}: {what}", self.name(device))
    }

    /// The newest head of a place that a member signed and that leads to something.
    pub fn newest(
        &self,
        hub: &mut dyn Transport,
        place: &Place,
        problems: &mut Vec<String>,
    ) -> Result<Option<(String, Head)>> {
        let documents = hub.heads(place)?;
        let heads = self.heads(place, &documents, problems).into_iter();
        let counts = |(by, head): &(String, Head)| self.trust.members.contains_key(by) && head.reach.sequence > 0;
        Ok(heads.filter(counts).max_by_key(|(by, head)| (head.at.min(self.wall), by.clone())))
    }

    /// The heads that devices of this space signed.
    pub fn heads(&self, place: &Place, documents: &[Document], problems: &mut Vec<String>) -> StreamHeads {
        let (space, project) = (&self.project.space.id, &self.project.shared.id);
        let mut heads = BTreeMap::new();
        for Document { name, bytes } in documents {
            let is_device = DeviceId::parse(name).is_some_and(|device| device.to_string() == *name);
            if !is_device || self.skipped.contains(name) || self.trust.gone.contains_key(name) {
                continue;
            }
            let member = self.trust.members.get(name).map(|member| member.device.keys.sign);
            let is_by = |sign: Key| document::is_signed(&sign, place, name, bytes);
            let problem = match document::claimed::<Head>(bytes) {
                // A container whose key was removed.
                Ok(head) if head.by().is_some_and(|by| self.trust.gone.contains_key(by)) => continue,
                Ok(head) => {
                    let container = || head.pass.as_ref()?.key(self.trust, space, project, name);
                    match member.or_else(container).map(is_by) {
                        Some(true) => {
                            heads.insert(name.clone(), head);
                            continue;
                        }
                        Some(false) => FORGED,
                        None => "not signed by a device of this space; ignored",
                    }
                }
                // Of a container, only a newer version knows the key.
                Err(Unusable::Newer) if member.is_none_or(is_by) => NEWER,
                Err(_) => FORGED,
            };
            problems.push(self.problem(name, problem));
        }
        heads
    }
}
